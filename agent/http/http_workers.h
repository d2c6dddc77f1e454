/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Threads that compute an HTTP server's responses, so that the thread of its connections never waits.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A unit of work. Owned by the caller; must live until `run` is called. */
struct http_job {
	void (*run)(struct http_job *job);
	struct http_job *next; /* private to http_workers.c */
};

struct http_workers;

/* Starts `n` threads. The caller owns *ret. 0 or -errno. */
int http_workers_start(unsigned n, struct http_workers **ret);

/* Runs the job once, in one of the threads, after the jobs that were added before have started. */
void http_workers_add(struct http_workers *w, struct http_job *job);

/* Waits for the end of all jobs and threads. Accepts NULL. */
void http_workers_free(struct http_workers *w);

static inline void http_workers_freep(struct http_workers **w)
{
	http_workers_free(*w);
	*w = NULL;
}

/* The jobs of one part of a server, which may end before the workers do. */
struct http_jobs {
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t changed;
	bool ends;
	size_t n_begun;  /* jobs that have not ended */
	size_t n_unsent; /* jobs whose response was not sent yet, including n_begun */
};

void http_jobs_init(struct http_jobs *j);
void http_jobs_release(struct http_jobs *j);

/* Counts a job. False after http_jobs_drain(): then the job must not be added to the workers. */
bool http_jobs_begin(struct http_jobs *j);
void http_jobs_end(struct http_jobs *j);  /* the last call of the job's `run` */
void http_jobs_sent(struct http_jobs *j); /* its response was sent, or the client has disconnected */

/* Allows no further job. Waits until all jobs have ended, and up to `ms` until their responses are sent. */
void http_jobs_drain(struct http_jobs *j, unsigned ms);

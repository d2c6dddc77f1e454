/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Threads that work out what an HTTP server answers: the thread of its connections never waits.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Something to be done. It is the caller's, and must live until `run` is called. */
struct http_job {
	void (*run)(struct http_job *job);
	struct http_job *next; /* of http_workers.c */
};

struct http_workers;

/* *ret is the caller's. 0 or -errno. */
int http_workers_start(unsigned n, struct http_workers **ret);

/* The job is run once, by one of the threads, after those that were added before have begun. */
void http_workers_add(struct http_workers *w, struct http_job *job);

/* Wait for the end of all jobs and threads. NULL is fine. */
void http_workers_free(struct http_workers *w);

static inline void http_workers_freep(struct http_workers **w)
{
	http_workers_free(*w);
	*w = NULL;
}

/* The jobs of one part of a server that may end before the workers do. */
struct http_jobs {
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	bool ends;
	size_t n_begun;  /* and not ended */
	size_t n_unsent; /* these, and answers that were not sent yet */
};

void http_jobs_init(struct http_jobs *j);
void http_jobs_release(struct http_jobs *j);

/* One more. False once they are drained: it must not be added to the workers then. */
bool http_jobs_begin(struct http_jobs *j);
void http_jobs_end(struct http_jobs *j);  /* the last thing that its `run` does */
void http_jobs_sent(struct http_jobs *j); /* its answer is sent, or the client has gone */

/* No job begins any more. Wait until all have ended, and up to `ms` until their answers are sent. */
void http_jobs_drain(struct http_jobs *j, unsigned ms);

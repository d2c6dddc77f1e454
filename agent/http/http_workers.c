/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/http/http_workers.h"

#include <stdlib.h>
#include <time.h>

#include "agent/base/thread.h"
#include "common/cleanup.h"
#include "common/xalloc.h"

struct http_workers {
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t changed;
	struct http_job *first, **last; /* not started */
	bool ends;
	pthread_t *threads;
	unsigned n_threads;
};

/* The next job; NULL = the workers end. */
static struct http_job *wait_for_job(struct http_workers *w)
{
	struct http_job *job;

	pthread_mutex_lock(&w->lock);
	while (!w->first && !w->ends)
		pthread_cond_wait(&w->changed, &w->lock);
	job = w->first;
	if (job)
		w->first = job->next;
	if (!w->first)
		w->last = &w->first;
	pthread_mutex_unlock(&w->lock);
	return job;
}

static void *run_worker(void *arg)
{
	struct http_workers *w = arg;
	struct http_job *job;

	while ((job = wait_for_job(w)))
		job->run(job);
	return NULL;
}

int http_workers_start(unsigned n, struct http_workers **ret)
{
	CLEANUP(http_workers_freep) struct http_workers *w = xcalloc(1, sizeof(*w));
	int r = 0;

	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	w->last = &w->first;
	w->threads = xcalloc(n, sizeof(*w->threads));
	while (w->n_threads < n && r == 0) {
		r = thread_start(&w->threads[w->n_threads], run_worker, w);
		w->n_threads += r == 0;
	}
	if (r < 0)
		return r;
	*ret = TAKE(w);
	return 0;
}

void http_workers_add(struct http_workers *w, struct http_job *job)
{
	job->next = NULL;
	pthread_mutex_lock(&w->lock);
	*w->last = job;
	w->last = &job->next;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

void http_workers_free(struct http_workers *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->ends = true;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
	for (unsigned i = 0; i < w->n_threads; i++)
		thread_join(w->threads[i]);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->changed);
	free(w->threads);
	free(w);
}

/* ---- the jobs of a part */

void http_jobs_init(struct http_jobs *j)
{
	pthread_condattr_t attributes;

	*j = (struct http_jobs){.n_begun = 0};
	pthread_mutex_init(&j->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&j->changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

void http_jobs_release(struct http_jobs *j)
{
	pthread_mutex_destroy(&j->lock);
	pthread_cond_destroy(&j->changed);
}

bool http_jobs_begin(struct http_jobs *j)
{
	bool ends;

	pthread_mutex_lock(&j->lock);
	ends = j->ends;
	j->n_begun += !ends;
	j->n_unsent += !ends;
	pthread_mutex_unlock(&j->lock);
	return !ends;
}

static void count_down(struct http_jobs *j, size_t *n)
{
	pthread_mutex_lock(&j->lock);
	(*n)--;
	pthread_cond_broadcast(&j->changed);
	pthread_mutex_unlock(&j->lock);
}

void http_jobs_end(struct http_jobs *j)
{
	count_down(j, &j->n_begun);
}

void http_jobs_sent(struct http_jobs *j)
{
	count_down(j, &j->n_unsent);
}

void http_jobs_drain(struct http_jobs *j, unsigned ms)
{
	struct timespec until;
	int r = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&j->lock);
	j->ends = true;
	while (j->n_begun > 0)
		pthread_cond_wait(&j->changed, &j->lock);
	while (j->n_unsent > 0 && r == 0)
		r = pthread_cond_timedwait(&j->changed, &j->lock, &until);
	pthread_mutex_unlock(&j->lock);
}

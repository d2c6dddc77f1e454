/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/run/worker.h"

#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/io/thread.h"
#include "common/xalloc.h"

#define EARLY_DIVISOR 10u /* of the coalescing time, after the first run that published nothing */

/* ---- when a run is due */

void schedule_mark(struct schedule *s, uint64_t now)
{
	if (s->marked)
		return;
	s->marked = true;
	s->marked_at = now;
}

static uint64_t max_of(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t of_two = a > b ? a : b;

	return of_two > c ? of_two : c;
}

static uint64_t coalescing_time(const struct schedule *s)
{
	return s->idle_runs == 1 ? s->coalesce_ms / EARLY_DIVISOR : s->coalesce_ms;
}

uint64_t schedule_due(const struct schedule *s)
{
	uint64_t due = SCHEDULE_NEVER;

	if (s->running)
		return SCHEDULE_NEVER;
	if (!s->has_run)
		return 0;
	if (s->marked)
		due = max_of(s->marked_at, s->last_run + coalescing_time(s), budget_at(&s->changes));
	if (s->poll_ms > 0 && s->last_run + s->poll_ms < due)
		due = s->last_run + s->poll_ms;
	return s->requested_at < due ? s->requested_at : due;
}

void schedule_start(struct schedule *s, uint64_t now, uint64_t *ret_since)
{
	*ret_since = s->marked ? s->marked_at : now;
	/* After a pause no marks are coalesced. */
	if (!s->has_run || now - s->last_run > 2 * s->coalesce_ms)
		s->idle_runs = 0;
	s->marked = false;
	s->running = s->has_run = true;
	s->last_run = now;
	s->requested_at = SCHEDULE_NEVER;
}

void schedule_end(struct schedule *s, bool published, uint64_t again_at)
{
	if (published)
		budget_take(&s->changes, s->last_run);
	s->idle_runs = published ? 0 : s->idle_runs + 1;
	s->running = false;
	schedule_request(s, again_at);
}

void schedule_request(struct schedule *s, uint64_t at)
{
	if (at < s->requested_at)
		s->requested_at = at;
}

/* ---- the thread */

struct worker {
	pthread_t thread;
	int fd;
	struct reconciler *reconciler; /* used only by the thread */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	/* The members below are protected by `lock`. */
	bool wanted;   /* a run was requested and has not begun */
	bool stop;     /* the thread must return */
	bool ended;    /* `result` is of a run that has ended, and was not taken */
	bool finished; /* the thread has returned, or will do so without waiting */
	bool forget;
	uint64_t since_ms, now_ms;
	struct reconcile_result result;
};

static void *run_thread(void *arg)
{
	struct worker *w = arg;

	pthread_mutex_lock(&w->lock);
	while (!w->stop) {
		struct reconcile_result result = {0};
		bool forget = w->forget;
		uint64_t since_ms = w->since_ms, now_ms = w->now_ms, one = 1;

		if (!w->wanted) {
			pthread_cond_wait(&w->wake, &w->lock);
			continue;
		}
		w->wanted = false;
		pthread_mutex_unlock(&w->lock);
		reconcile(w->reconciler, forget, since_ms, now_ms, &result);
		pthread_mutex_lock(&w->lock);
		reconcile_result_release(&w->result);
		w->result = result;
		w->ended = true;
		/* Never blocks: the loop reads it after each run. */
		while (write(w->fd, &one, sizeof(one)) < 0 && errno == EINTR)
			;
	}
	w->finished = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

int worker_new(struct reconciler *reconciler, struct worker **ret, struct err *err)
{
	struct worker *w = xcalloc(1, sizeof(*w));
	pthread_condattr_t attributes;
	int r;

	w->reconciler = reconciler;
	w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = w->fd < 0 ? -errno : 0;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&w->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	if (r == 0)
		r = thread_start(&w->thread, run_thread, w);
	if (r == 0) {
		*ret = w;
		return 0;
	}
	closep(&w->fd);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	free(w);
	return err_set(err, r, "cannot start a thread: %s", strerror(-r));
}

/* Whether the thread finishes in time. */
static bool wait_for_thread(struct worker *w)
{
	struct timespec until;
	int r = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += WORKER_END_MS / 1000;
	while (!w->finished && r == 0)
		r = pthread_cond_timedwait(&w->wake, &w->lock, &until);
	return w->finished;
}

bool worker_free(struct worker *w)
{
	bool finished;

	if (!w)
		return true;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->wake);
	finished = wait_for_thread(w);
	pthread_mutex_unlock(&w->lock);
	if (!finished)
		return false;
	thread_join(w->thread);
	reconcile_result_release(&w->result);
	close(w->fd);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	free(w);
	return true;
}

int worker_fd(const struct worker *w)
{
	return w->fd;
}

void worker_run(struct worker *w, bool forget, uint64_t since_ms, uint64_t now_ms)
{
	pthread_mutex_lock(&w->lock);
	w->wanted = true;
	w->forget = forget;
	w->since_ms = since_ms;
	w->now_ms = now_ms;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
}

bool worker_take(struct worker *w, struct reconcile_result *ret)
{
	uint64_t count;
	bool ended;

	while (read(w->fd, &count, sizeof(count)) < 0 && errno == EINTR)
		;
	pthread_mutex_lock(&w->lock);
	ended = w->ended;
	if (ended) {
		*ret = w->result;
		w->result = (struct reconcile_result){0};
		w->ended = false;
	}
	pthread_mutex_unlock(&w->lock);
	return ended;
}

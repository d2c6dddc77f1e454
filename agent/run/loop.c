/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/run/loop.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "agent/run/lock.h"
#include "agent/run/resident.h"
#include "common/io/thread.h"
#include "common/io/time.h"

#include "agent/run/watch.h"
#include "agent/run/worker.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/text.h"

#define TRIM_MS       60000u  /* interval of trimming memory while no run sends a request */
#define TICK_MS       1000u   /* interval of retries (lock, HTTP address) and of checks of the worker */
#define RUN_MAX_MS    150000u /* more than the sum of one run's deadlines */
#define STALE_MAX_MS  60000u  /* after failing for this time nrtd is not ready */
#define HEARTBEAT_MS  10000u
#define READY_MAX_MS  30000u /* READY is sent after this time, even if nothing is published */
#define ACCURACY_US   1000u
#define REPEAT_LOG_MS 60000u

enum cause { CAUSE_START, CAUSE_FILES, CAUSE_TIMER, CAUSE_RELOAD, CAUSE_HARDWARE };

/* Read by the HTTP server's thread. */
struct health {
	pthread_mutex_t lock;
	uint64_t heartbeat;     /* when the loop last ran */
	bool worker_stuck;      /* the current run exceeds its maximum duration */
	bool waiting;           /* another nrtd holds the lock */
	bool published;         /* at least once since the start */
	uint64_t failing_since; /* 0 = not failing */
	uint64_t run_since;     /* beginning of the current run; 0 = none */
	struct err reason;      /* the last failure */
};

struct logged_failure {
	struct err err;
	uint64_t at;
};

struct loop {
	const struct loop_config *config;
	sd_event *event;
	sd_event_source *timer, *tick;
	struct schedule schedule;
	struct watch *watch;
	struct worker *worker;
	struct http_server *http;
	struct health health;
	int lock_fd, uevents_fd;
	bool forget;                   /* the next run reads and writes everything again */
	bool http_failed, lock_waited; /* and this was logged */
	uint64_t
		ready_by; /* when READY is sent at the latest, after the start or a reload; 0 = READY was sent */
	bool trim_due; /* a run has sent a request since memory was last trimmed, or has ended TRIM_MS later */
	uint64_t trimmed_at;
	uint64_t since;        /* first sign of the change that the current run answers */
	bool changed;          /* the current run answers a change */
	bool answer_due;       /* the pod-resources API has not answered the last run yet */
	uint64_t run_at;       /* beginning of the current run */
	bool failing;          /* a run has failed since the last success */
	bool recovery_due;     /* and the failure was logged, so that the recovery is logged, too */
	struct err last_error; /* the last logged failure */
	struct err end;        /* why the loop ends by itself */
	struct logged_failure logged[4];
};

static uint64_t now_ms(void)
{
	return (uint64_t)clock_ms(CLOCK_MONOTONIC);
}

static uint64_t or_default(uint64_t value, uint64_t otherwise)
{
	return value > 0 ? value : otherwise;
}

/* ---- /healthz, /readyz and /metrics, in the HTTP server's thread */

static bool loop_is_healthy(void *ctx, struct strbuf *line)
{
	struct loop *l = ctx;
	bool late, stuck;

	pthread_mutex_lock(&l->health.lock);
	late = now_ms() - l->health.heartbeat > HEARTBEAT_MS;
	stuck = l->health.worker_stuck;
	pthread_mutex_unlock(&l->health.lock);
	if (late)
		strbuf_addstr(line, "the loop is stuck");
	else if (stuck)
		strbuf_addstr(line, "a run does not end");
	else
		strbuf_addstr(line, "ok");
	return !late && !stuck;
}

static bool loop_is_ready(void *ctx, struct strbuf *line)
{
	struct loop *l = ctx;
	uint64_t failing, running, max = or_default(l->config->stale_ms, STALE_MAX_MS);
	struct err reason;
	bool published, waiting, ok;

	pthread_mutex_lock(&l->health.lock);
	published = l->health.published;
	waiting = l->health.waiting;
	failing = l->health.failing_since ? now_ms() - l->health.failing_since : 0;
	running = l->health.run_since ? now_ms() - l->health.run_since : 0;
	reason = l->health.reason;
	pthread_mutex_unlock(&l->health.lock);
	ok = published && failing <= max && running <= max;
	if (ok)
		strbuf_addstr(line, "ok");
	else if (waiting)
		strbuf_addstr(line, "another nrtd publishes for this node");
	else if (running > max)
		strbuf_addf(line, "a run has not ended for %" PRIu64 " s", running / 1000);
	else if (!published)
		strbuf_addf(line, "nothing is published yet%s%s", *reason.text ? ": " : "", reason.text);
	else
		strbuf_addf(line, "the published state is %" PRIu64 " s out of date: %s", failing / 1000,
			reason.text);
	return ok;
}

static int print_loop_metrics(void *ctx, struct strbuf *text)
{
	struct loop *l = ctx;
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(1024);
	const struct metrics_moment now = {.monotonic_s = (double)now_ms() / 1000,
		.wall_s = clock_s(CLOCK_REALTIME),
		.ready = loop_is_ready(l, &line)};

	return metrics_render(l->config->metrics, &now, text);
}

/* ---- runs */

static void mark_changed(struct loop *l, enum cause cause)
{
	metrics_count(l->config->metrics, METRIC_DIRTY_MARKS, cause, 0);
	schedule_mark(&l->schedule, now_ms());
}

static int set_timer(sd_event_source *timer, uint64_t at_ms)
{
	int r = sd_event_source_set_time(timer, at_ms > UINT64_MAX / 1000 ? UINT64_MAX : at_ms * 1000);

	if (r < 0)
		return r;
	return sd_event_source_set_enabled(timer, at_ms == SCHEDULE_NEVER ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
}

static void set_running(struct loop *l, uint64_t since)
{
	pthread_mutex_lock(&l->health.lock);
	l->health.run_since = since;
	pthread_mutex_unlock(&l->health.lock);
}

/* Starts a run if one is due, and sets the timer for the next one. */
static int run_if_due(struct loop *l)
{
	uint64_t now = now_ms();

	if (!l->worker)
		return 0;
	if (schedule_due(&l->schedule) <= now) {
		uint64_t since;

		l->changed = l->schedule.marked;
		schedule_start(&l->schedule, now, &since);
		/* A run for a late answer completes the answer to the same change. */
		if (l->changed || !l->answer_due)
			l->since = since;
		l->run_at = now;
		set_running(l, now);
		worker_run(l->worker, l->forget, l->since, now);
		l->forget = false;
	}
	return set_timer(l->timer, schedule_due(&l->schedule));
}

static bool wrote_object(const struct reconcile_result *result)
{
	return result->publish.nrt == PUBLISH_WRITTEN || result->publish.numatopology == PUBLISH_WRITTEN;
}

/* Logs a failure when it begins and then once a minute, even if it alternates with other failures. */
static void log_failure(struct loop *l, const struct err *err, uint64_t now)
{
	struct logged_failure *oldest = &l->logged[0];

	l->failing = true;
	for (size_t i = 0; i < ARRAY_SIZE(l->logged); i++) {
		struct logged_failure *logged = &l->logged[i];

		if (logged->at && now - logged->at < REPEAT_LOG_MS &&
			text_same_but_numbers(err->text, logged->err.text))
			return;
		if (logged->at < oldest->at)
			oldest = logged;
	}
	log_error("%s", err->text);
	*oldest = (struct logged_failure){*err, now};
	l->last_error = *err;
	l->recovery_due = true;
}

static void report_result(struct loop *l, const struct reconcile_result *result, uint64_t now)
{
	bool current = result->observed && result->publish.current;

	if (result->err.text[0]) {
		log_failure(l, &result->err, now);
	} else if (current) {
		if (l->recovery_due)
			log_info("recovered from: %s", l->last_error.text);
		l->failing = l->recovery_due = false;
	}
	if (wrote_object(result))
		log_info("published after_ms=%" PRIu64, now - l->since);
	/* Between two attempts the error of the first one is still current. */
	if (!current && l->failing)
		sd_notifyf(0, "STATUS=%s", l->last_error.text);
	else
		sd_notifyf(0, "STATUS=%s", result->status);
	/* A run that began before SIGHUP does not complete the reload. */
	if (current && !l->forget && l->ready_by > 0) {
		sd_notify(0, "READY=1");
		l->ready_by = 0;
	}
}

static void expect_ready(struct loop *l, uint64_t now)
{
	l->ready_by = now + or_default(l->config->ready_ms, READY_MAX_MS);
}

/* A boot, and whoever starts the service, must not wait for an API server or a right that is missing. */
static void end_wait_for_ready(struct loop *l, uint64_t now)
{
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(1024);

	if (l->ready_by == 0 || now < l->ready_by)
		return;
	if (!loop_is_ready(l, &line))
		sd_notifyf(0, "STATUS=%s", line.text);
	sd_notify(0, "READY=1");
	l->ready_by = 0;
}

static void update_health(struct loop *l, const struct reconcile_result *result, uint64_t now)
{
	bool failed = result->err.text[0] != '\0';
	enum publish_outcome nrt = result->publish.nrt;
	bool nrt_failed = nrt != PUBLISH_UNCHANGED && nrt != PUBLISH_DEFERRED && nrt != PUBLISH_WRITTEN;

	pthread_mutex_lock(&l->health.lock);
	if (result->observed && !nrt_failed && !failed && (result->publish.current || wrote_object(result)))
		l->health.published = true;
	/* A run during a backoff neither fails nor recovers. */
	if (result->observed && result->publish.current)
		l->health.failing_since = 0;
	else if (failed && l->health.failing_since == 0)
		l->health.failing_since = now;
	if (failed)
		l->health.reason = result->err;
	pthread_mutex_unlock(&l->health.lock);
}

static void watch_files(struct loop *l, const struct reconcile_result *result)
{
	struct err err = {""};
	bool changed = false;

	if (result->files.n_items == 0 || !l->watch)
		return;
	if (watch_set(l->watch, &result->files, &changed, &err) < 0)
		log_warning("%s", err.text);
	if (changed)
		mark_changed(l, CAUSE_FILES);
}

/* Stops pinging the watchdog while a run exceeds its maximum duration. */
static void check_worker(struct loop *l, uint64_t now)
{
	bool stuck = l->schedule.running && now - l->run_at > or_default(l->config->run_max_ms, RUN_MAX_MS);
	bool pings = sd_event_get_watchdog(l->event) > 0, must_ping = !stuck;

	if (pings != must_ping)
		sd_event_set_watchdog(l->event, must_ping);
	pthread_mutex_lock(&l->health.lock);
	l->health.heartbeat = now;
	l->health.worker_stuck = stuck;
	pthread_mutex_unlock(&l->health.lock);
}

static bool sent_request(enum publish_outcome outcome)
{
	return outcome != PUBLISH_UNCHANGED && outcome != PUBLISH_DEFERRED;
}

static bool run_sent_request(const struct publish_result *p)
{
	return sent_request(p->nrt) || sent_request(p->node) || sent_request(p->taint) ||
	       sent_request(p->numatopology) || sent_request(p->pods);
}

static int on_run_ended(sd_event_source *source, int fd, uint32_t events, void *user)
{
	CLEANUP(reconcile_result_release) struct reconcile_result result = {0};
	struct loop *l = user;
	uint64_t now = now_ms();

	(void)source;
	(void)fd;
	(void)events;
	if (!worker_take(l->worker, &result))
		return 0;
	set_running(l, 0);
	if (result.renamed) {
		l->end = result.err;
		return sd_event_exit(l->event, -ESTALE);
	}
	schedule_end(&l->schedule, wrote_object(&result), result.call_again_ms);
	l->answer_due = result.answer_due;
	check_worker(l, now);
	if (run_sent_request(&result.publish) ||
		now - l->trimmed_at >= or_default(l->config->trim_ms, TRIM_MS))
		l->trim_due = true;
	if (wrote_object(&result) && l->changed)
		metrics_observe(l->config->metrics, METRIC_CHANGE_SECONDS, 0,
			(double)(result.published_ms - l->since) / 1000);
	update_health(l, &result, now);
	report_result(l, &result, now);
	watch_files(l, &result);
	return run_if_due(l);
}

/* ---- events */

static int on_files(sd_event_source *source, int fd, uint32_t events, void *user)
{
	struct loop *l = user;
	struct err err = {""};
	bool changed = false;

	(void)source;
	(void)fd;
	(void)events;
	if (watch_read(l->watch, &changed, &err) < 0)
		log_warning("%s", err.text);
	if (changed)
		mark_changed(l, CAUSE_FILES);
	return run_if_due(l);
}

static int on_uevents(sd_event_source *source, int fd, uint32_t events, void *user)
{
	struct loop *l = user;
	struct err err = {""};
	bool changed = false;
	int r = uevents_read(fd, &changed, &err);

	(void)source;
	(void)events;
	if (r < 0) {
		log_warning("%s; polling for changed hardware", err.text);
		return r; /* disables the event source */
	}
	if (changed)
		mark_changed(l, CAUSE_HARDWARE);
	return run_if_due(l);
}

/* The pod-resources API has answered after the run that asked has ended. */
static int on_late_answer(sd_event_source *source, int fd, uint32_t events, void *user)
{
	struct loop *l = user;
	uint64_t count;

	(void)source;
	(void)events;
	while (read(fd, &count, sizeof(count)) < 0 && errno == EINTR)
		;
	schedule_request(&l->schedule, now_ms());
	return run_if_due(l);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *user)
{
	struct loop *l = user;

	(void)source;
	(void)usec;
	if (!l->schedule.marked)
		metrics_count(l->config->metrics, METRIC_DIRTY_MARKS, CAUSE_TIMER, 0);
	return run_if_due(l);
}

static int on_reload(sd_event_source *source, const struct signalfd_siginfo *info, void *user)
{
	struct loop *l = user;

	(void)source;
	(void)info;
	log_info("SIGHUP: reading everything again");
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, now_ms() * 1000);
	l->forget = true;
	expect_ready(l, now_ms());
	mark_changed(l, CAUSE_RELOAD);
	return run_if_due(l);
}

static int on_stop(sd_event_source *source, const struct signalfd_siginfo *info, void *user)
{
	struct loop *l = user;

	(void)source;
	log_info("signal %u: ending", info->ssi_signo);
	sd_notify(0, "STOPPING=1");
	cancel_request(l->config->cancel);
	return sd_event_exit(l->event, 0);
}

/* ---- the lock and the HTTP endpoint, which may have to wait for the end of another nrtd of this node */

static int start_worker(struct loop *l)
{
	struct err err = {""};
	int r = worker_new(l->config->reconciler, &l->worker, &err);

	if (r == 0)
		r = sd_event_add_io(l->event, NULL, worker_fd(l->worker), EPOLLIN, on_run_ended, l);
	if (r < 0) {
		log_error("%s", err.text[0] ? err.text : strerror(-r));
		return r;
	}
	mark_changed(l, CAUSE_START);
	return run_if_due(l);
}

/* Starts the worker once nrtd has the lock. While another nrtd holds the lock, returns 0: on_tick() tries again. */
static int try_lock(struct loop *l)
{
	struct err err = {""};
	int r = l->config->lock ? lock_try(l->config->lock, &l->lock_fd, &err) : 0;

	if (r == -EWOULDBLOCK) {
		if (!l->lock_waited)
			log_warning("waiting: %s", err.text);
		l->lock_waited = true;
		sd_notifyf(0, "STATUS=waiting: %s", err.text);
	} else if (r < 0) {
		log_error("%s", err.text);
		return r;
	}
	pthread_mutex_lock(&l->health.lock);
	l->health.waiting = r < 0;
	pthread_mutex_unlock(&l->health.lock);
	return r < 0 ? 0 : start_worker(l);
}

static void try_http(struct loop *l)
{
	static const struct http_callbacks callbacks = {
		.healthy = loop_is_healthy, .ready = loop_is_ready, .metrics = print_loop_metrics};
	const struct http_listen *listen = &l->config->http;
	struct err err = {""};

	if (listen->off || l->http)
		return;
	if (http_server_start(listen->address, listen->port, NULL, &callbacks, l, &l->http, &err) < 0) {
		if (!l->http_failed)
			log_warning("%s; retrying", err.text);
		l->http_failed = true;
		return;
	}
	l->http_failed = false;
	log_info("serving /healthz, /readyz and /metrics address='%s' port=%u", listen->address,
		http_server_port(l->http));
}

/* An inotify instance, or a watch, may have become available since the last try. */
static int try_watch(struct loop *l)
{
	struct err err = {""};
	int r;

	if (l->watch && !watch_retry(l->watch))
		return 0;
	if (!l->watch) {
		if (watch_new(&l->watch, &err) < 0)
			return 0;
		r = sd_event_add_io(l->event, NULL, watch_fd(l->watch), EPOLLIN, on_files, l);
		if (r < 0)
			return r;
	}
	log_info("inotify is available: watching files");
	if (l->worker)
		mark_changed(l, CAUSE_FILES); /* the run finds the files to watch */
	return run_if_due(l);
}

/* A request touches a third of the resident memory, consecutive requests twice as much, and other runs add up. The
 * memory is released between runs, even if changes never end. */
static void trim_memory(struct loop *l)
{
	if (!l->trim_due || l->schedule.running)
		return;
	resident_trim();
	l->trimmed_at = now_ms();
	l->trim_due = false;
}

static int on_tick(sd_event_source *source, uint64_t usec, void *user)
{
	struct loop *l = user;
	uint64_t now = now_ms(), wait = TICK_MS;
	int r = 0;

	(void)usec;
	check_worker(l, now);
	end_wait_for_ready(l, now);
	trim_memory(l);
	if (!l->worker)
		r = try_lock(l);
	if (r == 0)
		r = try_watch(l);
	if (r < 0)
		return sd_event_exit(l->event, r);
	try_http(l);
	/* Less often if nothing has to be retried: an idle process should not wake up every second. */
	if (l->worker && !l->http_failed)
		wait = or_default(l->config->check_ms, HEARTBEAT_MS / 2);
	if (l->ready_by > now && l->ready_by - now < wait)
		wait = l->ready_by - now;
	r = sd_event_source_set_time(source, (now + wait) * 1000);
	return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* ---- set-up */

static int add_signals(struct loop *l)
{
	static const struct {
		int number;
		sd_event_signal_handler_t handler;
	} signals[] = {{SIGTERM, on_stop}, {SIGINT, on_stop}, {SIGHUP, on_reload}};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(signals) && r >= 0; i++)
		r = sd_event_add_signal(l->event, NULL, signals[i].number, signals[i].handler, l);
	return r;
}

static int add_file_events(struct loop *l)
{
	int r = sd_event_add_io(
		l->event, NULL, l->config->reconciler->sources.late_fd, EPOLLIN, on_late_answer, l);

	if (r >= 0 && l->watch)
		r = sd_event_add_io(l->event, NULL, watch_fd(l->watch), EPOLLIN, on_files, l);
	if (r < 0 || l->uevents_fd < 0)
		return r;
	return sd_event_add_io(l->event, NULL, l->uevents_fd, EPOLLIN, on_uevents, l);
}

static int add_timers(struct loop *l)
{
	int r = sd_event_add_time(l->event, &l->timer, CLOCK_MONOTONIC, UINT64_MAX, ACCURACY_US, on_timer, l);

	if (r < 0)
		return r;
	r = sd_event_source_set_enabled(l->timer, SD_EVENT_OFF);
	if (r < 0)
		return r;
	r = sd_event_add_time(l->event, &l->tick, CLOCK_MONOTONIC, 0, ACCURACY_US, on_tick, l);
	return r < 0 ? r : sd_event_set_watchdog(l->event, true);
}

static int run_events(struct loop *l)
{
	int r = signals_hold();

	if (r < 0)
		return r;
	r = sd_event_default(&l->event);
	if (r < 0)
		return r;
	r = add_signals(l);
	if (r < 0)
		return r;
	r = add_file_events(l);
	if (r < 0)
		return r;
	r = add_timers(l);
	return r < 0 ? r : sd_event_loop(l->event);
}

static void loop_release(struct loop *l)
{
	/* First the threads, which use the other members. */
	http_server_free(l->http);
	if (!worker_free(l->worker)) {
		log_warning("a run has not ended %d s after nrtd was asked to end: ending without the run",
			WORKER_END_MS / 1000);
		lock_release(l->config->lock, &l->lock_fd);
		_exit(*l->end.text ? EXIT_FAILURE : EXIT_SUCCESS);
	}
	watch_free(l->watch);
	sd_event_source_unref(l->timer);
	sd_event_source_unref(l->tick);
	sd_event_unref(l->event);
	closep(&l->uevents_fd);
	lock_release(l->config->lock, &l->lock_fd);
	pthread_mutex_destroy(&l->health.lock);
}

int loop_run(const struct loop_config *config, struct err *err)
{
	CLEANUP(loop_release)
	struct loop l = {
		.config = config,
		.schedule = {.coalesce_ms = config->coalesce_ms,
			.changes = config->changes,
			.poll_ms = config->poll_ms,
			.requested_at = SCHEDULE_NEVER},
		.health = {.lock = PTHREAD_MUTEX_INITIALIZER, .heartbeat = now_ms()},
		.lock_fd = -1,
		.uevents_fd = -1,
		.trimmed_at = now_ms(),
	};
	int r;

	expect_ready(&l, now_ms());
	resident_prepare();
	r = observe_prepare(&config->reconciler->config->observe, err); /* no thread runs yet */
	if (r == 0)
		r = sources_call_in_background(&config->reconciler->sources, err);
	if (r < 0)
		return r;
	r = watch_new(&l.watch, err);
	/* Inotify instances are limited per user, and on a node with many containers root may have none
	 * left. */
	if (r == -EMFILE)
		log_warning(
			"%s (fs.inotify.max_user_instances); polling for changes until one is available, poll_ms=%" PRIu64,
			err->text, config->poll_ms);
	else if (r < 0)
		return r;
	l.uevents_fd = uevents_open(err);
	if (l.uevents_fd < 0)
		log_info("%s; polling for changed hardware", err->text);
	r = run_events(&l);
	if (*l.end.text)
		return err_set(err, r, "%s", l.end.text);
	return r < 0 ? err_set(err, r, "the event loop failed: %s", strerror(-r)) : 0;
}

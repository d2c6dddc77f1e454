/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread makes one request at a time: a list, or a watch that continues after the previous list or watch.
 * The outcome decides the next request and the delay before it.
 */
#include "common/kube/reflector.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "common/io/json.h"
#include "common/io/thread.h"
#include "common/io/time.h"
#include "common/kube/api_client.h"
#include "common/kube/backoff.h"

#include "common/cleanup.h"
#include "common/log.h"
#include "common/text.h"
#include "common/xalloc.h"

#define PAGE                    500u
#define WATCH_S                 300u
#define IDLE_MS                 90000u
#define PATH_BYTES              8000u
#define UNAVAILABLE_RETRIES_MAX 8 /* then list again: the API server may have been restored from a backup */
#define SHORT_WATCH_MS          1000 /* a watch that ends sooner without data counts as failed */

enum outcome {
	OUTCOME_DONE,        /* the list is complete, or the watch ended normally */
	OUTCOME_EXPIRED,     /* 410 Gone: list again */
	OUTCOME_UNAVAILABLE, /* no response, a truncated response, 429 or 5xx: retry the same request */
	OUTCOME_DENIED,      /* any other status: list again */
	OUTCOME_BROKEN,      /* bad data, or a callback failed: list again */
	OUTCOME_CANCELLED
};

struct counters {
	_Atomic uint64_t lists, watches, objects, events, bookmarks, expired, errors;
};

struct reflector {
	pthread_t thread;
	struct reflector_options options; /* without `path` and `query` */
	char *path, *query;
	const char *name; /* "pods" */
	struct reflector_events events;
	void *ctx;
	const struct cancel *cancel;
	struct credentials *credentials;
	struct api_client *client;
	struct api_response response;
	struct counters counts;
	bool watch_next; /* the next request is a watch */
	char *version;   /* resourceVersion of the list, the last event or the last bookmark */
	char *next;      /* continue token; NULL = last page */
	bool in_watch;   /* the members down to error_code describe the current request */
	bool opened;     /* the response has begun */
	bool delivered;  /* an event or a bookmark was received */
	bool page_ended;
	bool silent;              /* no data for idle_ms after the response began */
	int error_code;           /* code of an ERROR event; 0 = none */
	unsigned failures;        /* in a row */
	unsigned logged_outcomes; /* bits by enum outcome, since the last success */
	bool failure_logged;      /* and the recovery is not logged yet */
	struct json_stream *stream;
};

/* ---- responses */

static void alive(const struct reflector *r)
{
	r->events.alive(r->ctx);
}

/* The end of a page: a List, or a document without items, which is a List whose items are null. */
static int end_page(struct reflector *r, const struct doc *list, struct err *err)
{
	const struct doc *metadata = doc_get(list, "metadata");
	const char *version = doc_string(doc_get(metadata, "resourceVersion"));
	const char *next = doc_string(doc_get(metadata, "continue"));

	if (r->page_ended || !version)
		return err_set(err, -EBADMSG, "the API server's answer is not a list");
	r->page_ended = true;
	free(TAKE(r->next));
	text_set(&r->version, version);
	if (next && *next)
		text_set(&r->next, next);
	return 0;
}

static int deliver_object(struct reflector *r, int (*fn)(void *ctx, struct doc *object), struct doc *object,
	_Atomic uint64_t *count, struct err *err)
{
	int x = fn(r->ctx, object);

	if (x < 0)
		return err_set(err, -EBADMSG, "cannot process an object: %s", strerror(-x));
	atomic_fetch_add(count, 1);
	return 0;
}

static int on_list_part(
	enum json_stream_part what, struct doc *part, const struct doc *list, void *data, struct err *err)
{
	struct reflector *r = data;

	(void)list;
	return what == JSON_STREAM_ITEM ? deliver_object(r, r->events.object, part, &r->counts.objects, err)
					: end_page(r, part, err);
}

static int on_error_event(struct reflector *r, const struct doc *status, struct err *err)
{
	const char *message = doc_string(doc_get(status, "message"));
	int64_t code = 0;

	if (doc_int64(doc_get(status, "code"), &code) < 0 || code < 1 || code > 999)
		code = 500;
	r->error_code = (int)code;
	return err_set(err, -EREMOTEIO, "the API server ended the watch (%d): %.*s", r->error_code,
		API_MESSAGE_MAX, message ? message : "(no message)");
}

static int on_change(struct reflector *r, const char *type, struct doc *object, struct err *err)
{
	const char *given = doc_string(doc_get(doc_get(object, "metadata"), "resourceVersion"));
	CLEANUP(freep) char *version = given ? xstrdup(given) : NULL; /* the callback may modify the object */
	int x = 0;

	if (!strcmp(type, "ADDED") || !strcmp(type, "MODIFIED"))
		x = deliver_object(r, r->events.object, object, &r->counts.events, err);
	else if (!strcmp(type, "DELETED"))
		x = deliver_object(r, r->events.deleted, object, &r->counts.events, err);
	else if (!strcmp(type, "BOOKMARK"))
		atomic_fetch_add(&r->counts.bookmarks, 1);
	else
		x = err_set(err, -EBADMSG, "unknown event type '%.40s'", type);
	/* Without a version a later watch continues after the previous event. */
	if (x < 0 || !version)
		return x;
	free(r->version);
	r->version = TAKE(version);
	return 0;
}

static void reset_failures(struct reflector *r)
{
	r->failures = 0;
	r->logged_outcomes = 0;
}

static int on_event(
	enum json_stream_part what, struct doc *part, const struct doc *list, void *data, struct err *err)
{
	struct reflector *r = data;
	const char *type = doc_string(doc_get(part, "type"));
	struct doc *object = NULL;
	int x;

	(void)list;
	DOC_FOREACH (member, part)
		if (member->key && !strcmp(member->key, "object") && member->kind == DOC_MAP)
			object = member;
	if (what != JSON_STREAM_DOCUMENT || !type || !object)
		return err_set(err, -EBADMSG, "the API server's answer is not a watch");
	if (!strcmp(type, "ERROR"))
		return on_error_event(r, object, err);
	x = on_change(r, type, object, err);
	if (x < 0)
		return x;
	r->delivered = true;
	reset_failures(r);
	alive(r);
	return 0;
}

static void on_skipped_object(void *data, const struct err *why)
{
	struct reflector *r = data;

	r->events.skip(r->ctx, why);
	r->delivered = true;
	alive(r);
}

/* An api_stream_fn. A piece without bytes begins the response. */
static int on_piece(const char *piece, size_t len, void *data, struct err *err)
{
	struct reflector *r = data;

	if (len > 0)
		return json_stream_feed(r->stream, piece, len, err);
	r->opened = true;
	alive(r);
	if (!r->in_watch)
		return 0;
	atomic_fetch_add(&r->counts.watches, 1);
	if (r->failure_logged)
		log_info("watching %s again", r->name);
	r->failure_logged = false;
	return 0;
}

/* ---- requests */

static enum outcome outcome_of_errno(int x)
{
	switch (-x) {
	case ECANCELED:
		return OUTCOME_CANCELLED;
	case ECONNREFUSED:
	case ECONNRESET:
	case EHOSTUNREACH:
	case EPROTO:
	case ETIMEDOUT:
		return OUTCOME_UNAVAILABLE;
	default:
		return OUTCOME_BROKEN;
	}
}

static void reset_request(struct reflector *r, bool in_watch)
{
	r->in_watch = in_watch;
	r->opened = r->delivered = r->page_ended = r->silent = false;
	r->error_code = 0;
	r->response.retry_after_s = -1;
}

/* Sends one request and passes the response to `fn` in parts. */
static enum outcome stream_request(struct reflector *r, const char *path, json_stream_fn *fn, struct err *err)
{
	CLEANUP(json_stream_release) struct json_stream stream;
	struct api_request get = {.method = "GET", .path = path, .idle_ms = r->options.idle_ms};
	char message[API_MESSAGE_MAX];
	int x;

	json_stream_init(&stream, fn, r);
	stream.skip = on_skipped_object;
	r->stream = &stream;
	x = api_client_stream(r->client, &get, on_piece, r, &r->response, err);
	r->silent = x == -ETIMEDOUT && r->opened;
	if (x < 0)
		return outcome_of_errno(x);
	/* A response that has not begun for on_piece() is not 2xx. */
	if (!r->opened) {
		int status = r->response.status;

		api_response_message(&r->response, message);
		err_set(err, 0, "the API server answers %d: %s", status, message);
		if (status == HTTP_GONE)
			return OUTCOME_EXPIRED;
		return status == HTTP_TOO_MANY_REQUESTS || status / 100 == 5 ? OUTCOME_UNAVAILABLE
									     : OUTCOME_DENIED;
	}
	return json_stream_end(&stream, err) < 0 ? OUTCOME_UNAVAILABLE : OUTCOME_DONE;
}

static void add_parameter(struct strbuf *path, const char *name, const char *value)
{
	strbuf_addf(path, "&%s=", name);
	api_path_escape(path, value);
}

static enum outcome send_list_or_watch(
	struct reflector *r, struct strbuf *path, json_stream_fn *fn, struct err *err)
{
	if (*r->query)
		strbuf_addf(path, "&%s", r->query);
	if (strbuf_error(path) < 0) {
		err_set(err, 0, "the request would be longer than %u bytes", PATH_BYTES);
		return OUTCOME_BROKEN;
	}
	return stream_request(r, path->text, fn, err);
}

static enum outcome list_page(struct reflector *r, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(PATH_BYTES);
	enum outcome outcome;

	reset_request(r, false);
	strbuf_addf(&path, "%s?limit=%u", r->path, r->options.page);
	if (r->next)
		add_parameter(&path, "continue", r->next);
	outcome = send_list_or_watch(r, &path, on_list_part, err);
	if (outcome != OUTCOME_DONE || r->page_ended)
		return outcome;
	err_set(err, 0, "the API server's answer is empty");
	return OUTCOME_BROKEN;
}

static enum outcome list_objects(struct reflector *r, struct err *err)
{
	enum outcome outcome;
	int x;

	reset_request(r, false);
	x = r->events.begin(r->ctx);
	free(TAKE(r->next));
	do
		outcome = x < 0 ? OUTCOME_BROKEN : list_page(r, err);
	while (outcome == OUTCOME_DONE && r->next);
	if (outcome == OUTCOME_DONE)
		x = r->events.end(r->ctx, r->version);
	if (x < 0) {
		err_set(err, x, "cannot process the list: %s", strerror(-x));
		return OUTCOME_BROKEN;
	}
	if (outcome == OUTCOME_DONE) {
		atomic_fetch_add(&r->counts.lists, 1);
		r->watch_next = true;
	}
	return outcome;
}

static enum outcome watch_objects(struct reflector *r, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(PATH_BYTES);
	int64_t from = clock_ms(CLOCK_MONOTONIC);
	enum outcome outcome;

	reset_request(r, true);
	strbuf_addf(&path, "%s?watch=true&allowWatchBookmarks=true&timeoutSeconds=%u", r->path,
		r->options.watch_s);
	add_parameter(&path, "resourceVersion", r->version);
	outcome = send_list_or_watch(r, &path, on_event, err);
	if (r->error_code)
		return r->error_code == HTTP_GONE ? OUTCOME_EXPIRED : OUTCOME_DENIED;
	if (r->silent) {
		/* A dead connection, or a server without bookmarks and without events. */
		reset_failures(r);
		return OUTCOME_DONE;
	}
	if (outcome != OUTCOME_DONE)
		return outcome;
	if (!r->delivered && clock_ms(CLOCK_MONOTONIC) - from < SHORT_WATCH_MS) {
		err_set(err, 0, "the API server ends each watch immediately");
		return OUTCOME_UNAVAILABLE;
	}
	alive(r);
	reset_failures(r);
	return OUTCOME_DONE;
}

/* ---- the thread */

static bool is_cancelled(const struct reflector *r)
{
	return cancel_requested(r->cancel);
}

static void wait_ms(const struct reflector *r, uint64_t ms)
{
	int64_t until = clock_ms(CLOCK_MONOTONIC) + (int64_t)ms;

	for (int64_t left = (int64_t)ms; left > 0 && !is_cancelled(r);
		left = until - clock_ms(CLOCK_MONOTONIC))
		(void)cancel_poll(r->cancel, -1, 0, (int)left);
}

/* Logs the first failure of each outcome since the last success, not each attempt. */
static void log_watch_failure(struct reflector *r, enum outcome outcome, const struct err *err)
{
	if (r->logged_outcomes & 1u << outcome)
		return;
	r->logged_outcomes |= 1u << outcome;
	if (outcome == OUTCOME_EXPIRED) {
		log_info("listing %s again: %s", r->name, err->text);
		return;
	}
	log_warning("cannot %s %s, retrying: %s", r->in_watch ? "watch" : "list", r->name, err->text);
	r->failure_logged = true;
}

/* Decides whether the next request is a watch or a list, and waits before it. */
static void handle_failure(struct reflector *r, enum outcome outcome, const struct err *err)
{
	atomic_fetch_add(outcome == OUTCOME_EXPIRED ? &r->counts.expired : &r->counts.errors, 1);
	r->watch_next =
		r->watch_next && outcome == OUTCOME_UNAVAILABLE && r->failures < UNAVAILABLE_RETRIES_MAX;
	log_watch_failure(r, outcome, err);
	if (r->failures++ == 0 && outcome == OUTCOME_EXPIRED)
		return; /* list again at once: an expired resourceVersion is normal */
	wait_ms(r, backoff_after_ms(r->failures, r->response.retry_after_s, r->options.random()));
}

static void *run_reflector(void *arg)
{
	struct reflector *r = arg;

	while (!is_cancelled(r)) {
		struct err err = {""};
		enum outcome outcome = r->watch_next ? watch_objects(r, &err) : list_objects(r, &err);

		if (outcome != OUTCOME_DONE && outcome != OUTCOME_CANCELLED)
			handle_failure(r, outcome, &err);
	}
	return NULL;
}

/* ---- life */

static void reflector_release(struct reflector *r)
{
	if (!r)
		return;
	api_client_free(r->client);
	credentials_free(r->credentials);
	api_response_release(&r->response);
	free(r->path);
	free(r->query);
	free(r->version);
	free(r->next);
	free(r);
}

static void reflector_releasep(struct reflector **r)
{
	reflector_release(*r);
}

int reflector_new(const struct reflector_options *options, const struct credentials_options *credentials,
	const struct reflector_events *events, void *ctx, const struct cancel *cancel, struct reflector **ret,
	struct err *err)
{
	const struct api_client_options how = {.cancel = cancel};
	CLEANUP(reflector_releasep) struct reflector *r = xcalloc(1, sizeof(*r));
	int x;

	api_response_init(&r->response);
	r->events = *events;
	r->ctx = ctx;
	r->cancel = cancel;
	text_set(&r->path, options->path);
	text_set(&r->query, options->query ? options->query : "");
	r->name = strrchr(r->path, '/') + 1;
	r->options.random = options->random ? options->random : backoff_random;
	r->options.page = options->page ? options->page : PAGE;
	r->options.watch_s = options->watch_s ? options->watch_s : WATCH_S;
	r->options.idle_ms = options->idle_ms ? options->idle_ms : IDLE_MS;
	x = credentials_new(credentials, &r->credentials, err);
	if (x == 0)
		x = api_client_new(r->credentials, &how, &r->client, err);
	if (x < 0)
		return x;
	x = thread_start(&r->thread, run_reflector, r);
	if (x < 0)
		return err_set(err, x, "cannot start a thread: %s", strerror(-x));
	*ret = TAKE(r);
	return 0;
}

void reflector_free(struct reflector *r)
{
	if (!r)
		return;
	thread_join(r->thread);
	reflector_release(r);
}

void reflector_counts(const struct reflector *r, struct reflector_counts *ret)
{
	const struct counters *c = &r->counts;

	*ret = (struct reflector_counts){.lists = atomic_load(&c->lists),
		.watches = atomic_load(&c->watches),
		.objects = atomic_load(&c->objects),
		.events = atomic_load(&c->events),
		.bookmarks = atomic_load(&c->bookmarks),
		.expired = atomic_load(&c->expired),
		.errors = atomic_load(&c->errors)};
}

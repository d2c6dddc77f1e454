/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/server.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cluster/object_input.h"
#include "agent/extender/skipped_objects.h"
#include "agent/extender/stats.h"
#include "agent/extender/work_limit.h"
#include "agent/http/exposition.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/text.h"
#include "common/xalloc.h"

static const char *const kind_names[CACHE_KIND_COUNT] = {"NodeResourceTopologies", "Nodes", "Pods"};
static const char *const kind_labels[CACHE_KIND_COUNT] = {"noderesourcetopologies", "nodes", "pods"};

struct server {
	struct server_config config;
	pthread_mutex_t lock; /* of the members up to `state_lock`; held while a request is answered */
	struct cluster_cache cache;
	struct stats stats;
	struct work_namespaces namespaces;
	uint64_t next_limit_log_ms; /* no line about the work limit is logged before */
	/* Of all members below; never held for long. Lock order: `lock` before `state_lock`. */
	pthread_mutex_t state_lock;
	struct process_stats process;
	struct skipped_objects skipped[CACHE_KIND_COUNT];
	bool listed[CACHE_KIND_COUNT]; /* at least one list was complete */
	uint64_t alive_ms[CACHE_KIND_COUNT];
	const struct lease *lease;
	char *holder; /* identity of the lease's holder, "" = none; for messages */
	char *url;    /* of the holder if the holder is another replica; "" = not known */
	bool from_file, was_ready;
};

/* CLOCK_BOOTTIME includes the time in suspend, during which the cache becomes outdated. */
static uint64_t now_ms(void)
{
	return (uint64_t)clock_ms(CLOCK_BOOTTIME);
}

void server_new(const struct server_config *config, const struct lease *lease, struct server **ret)
{
	CLEANUP(server_freep) struct server *s = xcalloc(1, sizeof(*s));

	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->state_lock, NULL);
	s->config = *config;
	process_stats_init(&s->process);
	s->lease = lease;
	text_set(&s->holder, "");
	text_set(&s->url, "");
	cache_init(&s->cache, &config->cache);
	*ret = TAKE(s);
}

void server_free(struct server *s)
{
	if (!s)
		return;
	cache_release(&s->cache);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->state_lock);
	free(s->holder);
	free(s->url);
	free(s);
}

static void unlock(pthread_mutex_t **lock)
{
	pthread_mutex_unlock(*lock);
}

/* Holds the lock until the end of the block. */
#define HOLD(name, lock)                                                        \
	CLEANUP(unlock) __attribute__((unused)) pthread_mutex_t *name = (lock); \
	pthread_mutex_lock(name)
#define LOCKED(s)       HOLD(locked_, &(s)->lock)
#define STATE_LOCKED(s) HOLD(state_locked_, &(s)->state_lock)

/* ---- cache updates */

void server_list_begin(struct server *s, enum cache_kind kind)
{
	LOCKED(s);
	cache_list_begin(&s->cache, kind);
}

static void note_skipped(struct server *s, enum cache_kind kind, const struct err *why)
{
	STATE_LOCKED(s);
	skipped_objects_note(&s->skipped[kind], kind_names[kind], why, now_ms());
}

void server_skip(struct server *s, enum cache_kind kind, const struct err *why)
{
	{
		LOCKED(s);
		cache_skip(&s->cache, kind);
	}
	note_skipped(s, kind, why);
}

void server_update(struct server *s, enum cache_kind kind, struct doc *object)
{
	struct err err = {""};
	LOCKED(s);

	if (cache_update(&s->cache, kind, object, now_ms(), &err) == 0)
		return;
	cache_skip(&s->cache, kind);
	note_skipped(s, kind, &err);
}

void server_delete(struct server *s, enum cache_kind kind, const struct doc *object)
{
	LOCKED(s);

	cache_delete(&s->cache, kind, object, now_ms());
}

void server_list_end(struct server *s, enum cache_kind kind, uint64_t version)
{
	{
		LOCKED(s);
		cache_list_end(&s->cache, kind, version, now_ms());
	}
	STATE_LOCKED(s);
	s->listed[kind] = true;
}

void server_api_alive(struct server *s, enum cache_kind kind)
{
	STATE_LOCKED(s);
	s->alive_ms[kind] = now_ms();
}

static int load_object(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	static const enum cache_kind kinds[OBJECT_KIND_COUNT] = {
		[OBJECT_NRT] = CACHE_NRT, [OBJECT_NODE] = CACHE_NODE, [OBJECT_POD] = CACHE_POD};
	struct server *s = data;

	return cache_update(&s->cache, kinds[kind], object, now_ms(), err);
}

int server_load(struct server *s, const char *path, struct err *err)
{
	LOCKED(s);

	{
		STATE_LOCKED(s);
		s->from_file = true;
	}
	return object_input_read(
		path, 1u << OBJECT_NRT | 1u << OBJECT_NODE | 1u << OBJECT_POD, load_object, s, err);
}

/* ---- readiness */

/* Time since the API server last sent anything about a kind; the maximum over the kinds. */
static uint64_t silence_ms(const struct server *s)
{
	uint64_t now = now_ms(), longest = 0;

	for (size_t k = 0; k < CACHE_KIND_COUNT && !s->from_file; k++)
		if (now - s->alive_ms[k] > longest)
			longest = now - s->alive_ms[k];
	return longest;
}

static bool is_stale(const struct server *s)
{
	return silence_ms(s) > s->config.max_stale_ms;
}

/* Whether every node passes because the cache is stale (--stale=open). */
static bool passes_stale(struct server *s)
{
	STATE_LOCKED(s);
	return s->config.stale_open && is_stale(s);
}

/* Why requests are neither answered nor forwarded; "" if they are. */
static void find_unready_reason(const struct server *s, struct strbuf *line)
{
	for (size_t k = 0; k < CACHE_KIND_COUNT && !s->from_file; k++)
		if (!s->listed[k]) {
			strbuf_addf(line, "the %s are not listed yet", kind_names[k]);
			return;
		}
	if (!s->lease || lease_held(s->lease) || *s->url)
		return;
	if (*s->holder)
		strbuf_addf(
			line, "'%s' holds the lease, but its address is not known (--advertise)", s->holder);
	else
		strbuf_addf(line, "no replica holds the lease");
}

/* Where requests are forwarded; NULL = this replica answers. */
static const char *forward_url(const struct server *s)
{
	return s->lease && !lease_held(s->lease) && *s->url ? s->url : NULL;
}

void server_set_leader(struct server *s, const char *holder, const char *url)
{
	STATE_LOCKED(s);

	text_set(&s->holder, holder);
	text_set(&s->url, url ? url : "");
	text_one_line(s->holder);
}

bool server_has_lists(struct server *s)
{
	STATE_LOCKED(s);

	return s->from_file || (s->listed[CACHE_NRT] && s->listed[CACHE_NODE] && s->listed[CACHE_POD]);
}

void server_healthy(void *ctx, struct strbuf *line)
{
	(void)ctx;
	strbuf_addf(line, "ok");
}

bool server_ready(void *ctx, struct strbuf *line)
{
	struct server *s = ctx;
	size_t before = line->len;
	STATE_LOCKED(s);

	find_unready_reason(s, line);
	if (line->len == before && is_stale(s) && !s->config.stale_open)
		strbuf_addf(line, "the API server has sent nothing for %llu s",
			(unsigned long long)silence_ms(s) / 1000);
	if (line->len > before)
		return false;
	if (forward_url(s))
		strbuf_addf(line, "ok: requests are forwarded to '%s', which holds the lease", s->holder);
	else
		strbuf_addf(line, "ok");
	return true;
}

static void note_readiness(struct server *s)
{
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(1024);
	bool ready = server_ready(s, &line);
	STATE_LOCKED(s);

	if (ready != s->was_ready)
		log_info("%s: %s", ready ? "ready" : "not ready",
			!ready           ? line.text
			: forward_url(s) ? "requests are forwarded to the replica that holds the lease"
					 : "requests are answered");
	s->was_ready = ready;
}

void server_tick(struct server *s)
{
	note_readiness(s);
	LOCKED(s);
	cache_expire(&s->cache, now_ms());
}

/* ---- requests */

struct request {
	const struct extender_pod *pod;
	size_t n_nodes;
	uint64_t begun_ns; /* the thread's CPU time before the request was parsed */
};

/* Parsing counts as work, but leaves at least half of the limit for the nodes. */
static void begin_work(struct server *s, const struct request *request)
{
	uint64_t limit = s->config.work_ms * 1000000, now = work_limit_now_ns();

	s->cache.work = (struct work_limit){0};
	if (limit == 0)
		return;
	if (request->n_nodes > SERVER_WORK_NODES)
		limit = limit * request->n_nodes / SERVER_WORK_NODES;
	s->cache.work.until_ns =
		request->begun_ns + limit > now + limit / 2 ? request->begun_ns + limit : now + limit / 2;
	s->cache.work.cached_only = !work_namespaces_may(&s->namespaces, request->pod->namespace, now_ms());
}

#define LIMIT_LOG_INTERVAL_MS 10000u

static void end_work(struct server *s, const struct request *request, const struct work_limit *work,
	struct pod_class *class, size_t unreached)
{
	uint64_t now = now_ms();

	s->stats.unreached_nodes += unreached;
	if (!work->reached)
		return;
	if (!work->cached_only)
		work_namespaces_note(&s->namespaces, request->pod->namespace, now,
			(work_limit_now_ns() - request->begun_ns) / 1000000 + 1);
	if (class->limit_logged || now < s->next_limit_log_ms)
		return;
	class->limit_logged = true;
	s->next_limit_log_ms = now + LIMIT_LOG_INTERVAL_MS;
	log_warning(
		"pod '%s/%s': reached the CPU time limit per request: %zu of %zu nodes are not judged yet",
		request->pod->namespace, request->pod->name, unreached, request->n_nodes);
}

/* The lock is held in the answer_*() functions. */
static enum result answer_filter(struct server *s, struct extender_args *args, const struct request *request,
	struct verb_answer *answer)
{
	struct work_limit work;
	int r;

	begin_work(s, request);
	r = extender_filter(&s->cache, &s->config.verbs, args, now_ms(), answer);
	work = s->cache.work;
	if (r < 0)
		return RESULT_FAILED;
	end_work(s, request, &work, answer->class, answer->counts.n_unreached);
	s->stats.unknown_nodes += answer->counts.n_unknown;
	if (s->config.log_answers)
		log_info("pod '%s/%s': %zu of %zu nodes admit the pod%s%s", args->pod.namespace,
			args->pod.name, answer->counts.n_admitting, answer->counts.n_nodes,
			answer->counts.assumed_node ? "; assumed on " : "",
			answer->counts.assumed_node ? answer->counts.assumed_node : "");
	return answer->counts.assumed_node    ? RESULT_ASSUMED
	       : answer->counts.n_passing > 0 ? RESULT_PASSED
					      : RESULT_UNSCHEDULABLE;
}

static enum result reply_filter(
	struct server *s, struct extender_args *args, const struct request *request, struct strbuf *reply)
{
	struct verb_answer answer = {0};
	enum result result;
	LOCKED(s);

	if (passes_stale(s)) {
		answer.verdicts = xcalloc(args->n_names + 1, sizeof(*answer.verdicts));
		result = RESULT_STALE;
	} else
		result = answer_filter(s, args, request, &answer);
	if (result != RESULT_FAILED && extender_filter_print(args, answer.verdicts, reply) < 0)
		result = RESULT_FAILED;
	verb_answer_release(&answer, &s->cache);
	return result;
}

static enum result answer_prioritize(struct server *s, struct extender_args *args,
	const struct request *request, struct verb_answer *answer)
{
	begin_work(s, request);
	if (extender_prioritize(&s->cache, &s->config.verbs, args, answer) < 0)
		return RESULT_FAILED;
	end_work(s, request, &s->cache.work, answer->class, answer->counts.n_unreached);
	return RESULT_PASSED;
}

static enum result reply_prioritize(
	struct server *s, struct extender_args *args, const struct request *request, struct strbuf *reply)
{
	struct verb_answer answer = {0};
	enum result result;
	LOCKED(s);

	if (passes_stale(s)) {
		/* the same score for each node */
		answer.scores = xcalloc(args->n_names + 1, sizeof(*answer.scores));
		result = RESULT_STALE;
	} else
		result = answer_prioritize(s, args, request, &answer);
	if (result != RESULT_FAILED && extender_priorities_print(args, answer.scores, reply) < 0)
		result = RESULT_FAILED;
	verb_answer_release(&answer, &s->cache);
	return result;
}

static enum result answer_preempt(
	struct server *s, struct extender_preemption *args, const struct request *request, size_t *ret_kept)
{
	struct verb_counts counts = {0};
	struct pod_class *class;
	int r;

	pod_classes_take(&s->cache.classes, &args->pod.template.pod, &class);
	begin_work(s, request);
	r = extender_preempt(&s->cache, &s->config.verbs, args, class, &counts);
	if (r == 0)
		end_work(s, request, &s->cache.work, class, counts.n_unreached);
	pod_classes_drop(&s->cache.classes, class);
	*ret_kept = counts.n_passing;
	return r < 0 ? RESULT_FAILED : counts.n_passing > 0 ? RESULT_PASSED : RESULT_UNSCHEDULABLE;
}

static enum result reply_preempt(struct server *s, struct extender_preemption *args,
	const struct request *request, struct strbuf *reply)
{
	size_t n_passing = args->n_items;
	enum result result = RESULT_STALE; /* the scheduler's victims, unchanged */
	LOCKED(s);

	if (!passes_stale(s))
		result = answer_preempt(s, args, request, &n_passing);
	if (result != RESULT_FAILED && extender_preemption_print(args->items, n_passing, reply) < 0)
		result = RESULT_FAILED;
	return result;
}

static enum result handle_preempt(struct server *s, const char *body, size_t len, uint64_t begun_ns,
	struct strbuf *reply, struct err *err)
{
	CLEANUP(extender_preemption_release) struct extender_preemption args = {0};
	int r = extender_preemption_parse(body, len, &args, err);
	const struct request request = {.pod = &args.pod, .n_nodes = args.n_items, .begun_ns = begun_ns};

	if (r < 0)
		return RESULT_BAD;
	return reply_preempt(s, &args, &request, reply);
}

static enum result handle_verb(
	struct server *s, enum verb verb, const char *body, size_t len, struct strbuf *reply, struct err *err)
{
	CLEANUP(extender_args_release) struct extender_args args = {0};
	struct request request = {.pod = &args.pod, .begun_ns = work_limit_now_ns()};
	int r;

	if (verb == VERB_PREEMPT)
		return handle_preempt(s, body, len, request.begun_ns, reply, err);
	r = extender_args_parse(body, len, &args, err);
	if (r < 0)
		return RESULT_BAD;
	request.n_nodes = args.n_names;
	return verb == VERB_FILTER ? reply_filter(s, &args, &request, reply)
				   : reply_prioritize(s, &args, &request, reply);
}

/* Writes why requests are not answered to *ret_text, or where they are forwarded to *ret_url. Both stay empty if this replica
 * answers. */
static void find_unready_reason_or_url(struct server *s, struct strbuf *ret_text, struct strbuf *ret_url)
{
	const char *url;
	STATE_LOCKED(s);

	find_unready_reason(s, ret_text);
	url = ret_text->len == 0 ? forward_url(s) : NULL;
	if (url)
		strbuf_addstr(ret_url, url);
	else if (ret_text->len == 0 && is_stale(s) && !s->config.stale_open)
		strbuf_addf(ret_text, "the API server has sent nothing for %llu s",
			(unsigned long long)silence_ms(s) / 1000);
}

#define STATUS_OK          200
#define STATUS_FORWARDED   307
#define STATUS_BAD         400
#define STATUS_NOT_FOUND   404
#define STATUS_FAILED      500
#define STATUS_UNAVAILABLE 503

int server_post(void *ctx, const char *path, const char *body, size_t len, struct strbuf *reply)
{
	struct server *s = ctx;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1024);
	CLEANUP(strbuf_release) struct strbuf url = STRBUF_INIT(1024);
	double begun = clock_s(CLOCK_MONOTONIC);
	struct err err = {""};
	enum result result;
	enum verb verb = 0;

	while (verb < VERB_COUNT && (*path != '/' || strcmp(path + 1, verb_names[verb]) != 0))
		verb++;
	if (verb == VERB_COUNT)
		return STATUS_NOT_FOUND;
	find_unready_reason_or_url(s, &text, &url);
	if (url.len > 0) {
		strbuf_addf(reply, "%s%s", url.text, path);
		result = RESULT_FORWARDED;
	} else if (text.len > 0) {
		extender_error_print(text.text, reply);
		result = RESULT_STALE;
	} else {
		result = handle_verb(s, verb, body, len, reply, &err);
		if (result == RESULT_BAD)
			extender_error_print(err.text, reply);
	}
	LOCKED(s);
	stats_count(&s->stats, verb, result, clock_s(CLOCK_MONOTONIC) - begun);
	if (text.len > 0)
		return STATUS_UNAVAILABLE;
	if (result == RESULT_FORWARDED)
		return STATUS_FORWARDED;
	return result == RESULT_BAD ? STATUS_BAD : result == RESULT_FAILED ? STATUS_FAILED : STATUS_OK;
}

/* ---- metrics */

/* A Node without a NodeResourceTopology object counts as unknown. */
static void print_nodes(const struct cluster_cache *cache, struct strbuf *text)
{
	size_t n[CLUSTER_BASIS_COUNT] = {0};

	for (size_t i = 0; i < cache->n_nodes; i++) {
		const struct node_info *node = cache->nodes[i];

		if (node && (node->has_object || node->has_node))
			n[node->has_object ? node->object.basis : CLUSTER_UNKNOWN]++;
	}
	exposition_head(text, "nrtd_extender_nodes",
		"Nodes, by basis of their verdicts: exact, estimated or unknown.", GAUGE);
	for (size_t i = 0; i < CLUSTER_BASIS_COUNT; i++)
		strbuf_addf(text, "nrtd_extender_nodes{state=\"%s\"} %zu\n", cluster_basis_names[i], n[i]);
}

static void print_skipped(const struct server *s, struct strbuf *text)
{
	static const char name[] = "nrtd_extender_skipped_objects_total";

	exposition_head(text, name, "Unreadable objects that were skipped, by kind.", COUNTER);
	for (size_t k = 0; k < CACHE_KIND_COUNT; k++)
		strbuf_addf(text, "%s{kind=\"%s\"} %" PRIu64 "\n", name, kind_labels[k], s->skipped[k].n);
}

int server_metrics(void *ctx, struct strbuf *text)
{
	struct server *s = ctx;
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(1024);
	bool ready = server_ready(s, &line);
	LOCKED(s);
	STATE_LOCKED(s);
	const struct cluster_cache *cache = &s->cache;
	const struct {
		const char *name, *help;
		enum exposition_kind kind;
		double value;
	} families[] = {
		{"nrtd_extender_ready", "Whether /readyz returns 200 (1) or not (0).", GAUGE, ready},
		{"nrtd_extender_pods", "Pods bound to a node or assumed on a node.", GAUGE,
			(double)cache->n_pods},
		{"nrtd_extender_assumed_pods", "Pods assumed on a node and not bound yet.", GAUGE,
			(double)cache->n_assumed},
		{"nrtd_extender_assumed_pods_expired_total",
			"Assumed pods forgotten because they were not bound within --assume-timeout.",
			COUNTER, (double)cache->n_expired},
		{"nrtd_extender_rejected_pods_total",
			"Pods rejected by kubelets, including pods not assumed by this replica.", COUNTER,
			(double)cache->n_rejected},
		{"nrtd_extender_silence_seconds",
			"Seconds since the API server last sent anything; the maximum over the watched kinds.",
			GAUGE, (double)silence_ms(s) / 1000},
	};

	process_stats_print(&s->process, text);
	stats_print(&s->stats, text);
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		exposition_one(text, families[i].name, families[i].help, families[i].kind, families[i].value);
	print_nodes(cache, text);
	print_skipped(s, text);
	broken_assumptions_print(&cache->broken_assumptions, text);
	return strbuf_error(text);
}

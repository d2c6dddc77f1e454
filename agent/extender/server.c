/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/server.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/exposition.h"
#include "agent/cluster/object_input.h"
#include "agent/daemon/process_stats.h"
#include "agent/extender/skipped_objects.h"
#include "agent/extender/stats.h"
#include "agent/extender/work_limit.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/text.h"

static const char *const kind_names[CACHE_KIND_COUNT] = {"NodeResourceTopologies", "Nodes", "Pods"};
static const char *const kind_labels[CACHE_KIND_COUNT] = {"noderesourcetopologies", "nodes", "pods"};

struct server {
	struct server_config config;
	pthread_mutex_t
		lock; /* of the cluster cache and all to `state_lock`: held for as long as a question takes */
	struct cluster_cache cache;
	struct stats stats;
	struct work_namespaces namespaces;
	uint64_t say_limit_from_ms; /* the next line about the work limit may be written then */
	/* Of all below: held for a moment. It may be taken while `lock` is held, not the other way round. */
	pthread_mutex_t state_lock;
	struct process_stats process;
	struct skipped_objects skipped[CACHE_KIND_COUNT];
	bool listed[CACHE_KIND_COUNT]; /* completely, once */
	uint64_t alive_ms[CACHE_KIND_COUNT];
	const struct lease *lease;
	char *holder; /* of the lease, "" = nobody; for people */
	char *url;    /* where it answers, when it is another replica; "" = not known */
	bool from_file, was_ready;
};

/* It counts the time in which the machine was suspended: what was known before is old then. */
static uint64_t now_ms(void)
{
	return (uint64_t)clock_ms(CLOCK_BOOTTIME);
}

int server_new(const struct server_config *config, const struct lease *lease, struct server **ret)
{
	CLEANUP(server_freep) struct server *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->state_lock, NULL);
	s->config = *config;
	process_stats_init(&s->process);
	s->lease = lease;
	if (text_set(&s->holder, "") < 0 || text_set(&s->url, "") < 0)
		return -ENOMEM;
	cache_init(&s->cache, &config->cache);
	*ret = TAKE(s);
	return 0;
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

/* Until the end of the block. */
#define HOLD(name, lock)                                                        \
	CLEANUP(unlock) __attribute__((unused)) pthread_mutex_t *name = (lock); \
	pthread_mutex_lock(name)
#define LOCKED(s)       HOLD(locked_, &(s)->lock)
#define STATE_LOCKED(s) HOLD(state_locked_, &(s)->state_lock)

/* ---- what is known */

int server_list_begin(struct server *s, enum cache_kind kind)
{
	LOCKED(s);
	cache_list_begin(&s->cache, kind);
	return 0;
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

/* One object that cannot be read must not keep the others away. The lock is held. */
static int tolerate(struct server *s, enum cache_kind kind, int r, const struct err *err)
{
	if (r == -ENOMEM || r == 0)
		return r;
	cache_skip(&s->cache, kind);
	note_skipped(s, kind, err);
	return 0;
}

int server_object(struct server *s, enum cache_kind kind, struct doc *object)
{
	struct err err = {""};
	LOCKED(s);

	return tolerate(s, kind, cache_update(&s->cache, kind, object, now_ms(), &err), &err);
}

int server_gone(struct server *s, enum cache_kind kind, const struct doc *object)
{
	struct err err = {""};
	LOCKED(s);

	return tolerate(s, kind, cache_delete(&s->cache, kind, object, now_ms(), &err), &err);
}

int server_list_end(struct server *s, enum cache_kind kind, uint64_t version)
{
	struct err err = {""};
	int r;

	{
		LOCKED(s);
		r = tolerate(s, kind, cache_list_end(&s->cache, kind, version, now_ms(), &err), &err);
	}
	STATE_LOCKED(s);
	s->listed[kind] = true;
	return r;
}

void server_alive(struct server *s, enum cache_kind kind)
{
	STATE_LOCKED(s);
	s->alive_ms[kind] = now_ms();
}

static int take_object(enum object_kind kind, struct doc *object, void *data, struct err *err)
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
		path, 1u << OBJECT_NRT | 1u << OBJECT_NODE | 1u << OBJECT_POD, take_object, s, err);
}

/* ---- whether it answers */

/* Since when nothing came of the API server, of the kind that is silent for the longest. */
static uint64_t silent_ms(const struct server *s)
{
	uint64_t now = now_ms(), longest = 0;

	for (size_t k = 0; k < CACHE_KIND_COUNT && !s->from_file; k++)
		if (now - s->alive_ms[k] > longest)
			longest = now - s->alive_ms[k];
	return longest;
}

static bool is_stale(const struct server *s)
{
	return silent_ms(s) > s->config.max_stale_ms;
}

/* What it has is too old, and it is to answer as if it were not there. */
static bool is_open(struct server *s)
{
	STATE_LOCKED(s);
	return s->config.stale_open && is_stale(s);
}

/* Why no question is answered or sent on, "" when they are. */
static void find_reason(const struct server *s, struct strbuf *line)
{
	for (size_t k = 0; k < CACHE_KIND_COUNT && !s->from_file; k++)
		if (!s->listed[k]) {
			strbuf_addf(line, "the %s are not listed yet", kind_names[k]);
			return;
		}
	if (!s->lease || lease_held(s->lease) || *s->url)
		return;
	if (*s->holder)
		strbuf_addf(line, "'%s' has the lease, and it is not known where that answers", s->holder);
	else
		strbuf_addf(line, "nobody holds the lease");
}

/* To whom questions are to be sent, NULL = they are answered here. */
static const char *sent_on(const struct server *s)
{
	return s->lease && !lease_held(s->lease) && *s->url ? s->url : NULL;
}

int server_led_by(struct server *s, const char *holder, const char *url)
{
	STATE_LOCKED(s);

	if (text_set(&s->holder, holder) < 0 || text_set(&s->url, url ? url : "") < 0)
		return -ENOMEM;
	text_one_line(s->holder);
	return 0;
}

bool server_listed(struct server *s)
{
	STATE_LOCKED(s);

	return s->from_file || (s->listed[CACHE_NRT] && s->listed[CACHE_NODE] && s->listed[CACHE_POD]);
}

bool server_healthy(void *ctx, struct strbuf *line)
{
	(void)ctx;
	strbuf_addf(line, "ok");
	return true;
}

bool server_ready(void *ctx, struct strbuf *line)
{
	struct server *s = ctx;
	size_t before = line->len;
	STATE_LOCKED(s);

	find_reason(s, line);
	if (line->len == before && is_stale(s) && !s->config.stale_open)
		strbuf_addf(line, "nothing came from the API server for %llu s",
			(unsigned long long)silent_ms(s) / 1000);
	if (line->len > before)
		return false;
	if (sent_on(s))
		strbuf_addf(line, "ok: '%s' holds the lease, and questions are sent on to it", s->holder);
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
			!ready       ? line.text
			: sent_on(s) ? "questions are sent on to who holds the lease"
				     : "questions are answered");
	s->was_ready = ready;
}

void server_tick(struct server *s)
{
	note_readiness(s);
	LOCKED(s);
	cache_expire(&s->cache, now_ms());
}

/* ---- questions */

/* A question as it is answered. */
struct question {
	const struct extender_pod *pod;
	size_t n_nodes;
	uint64_t begun_ns; /* before it was parsed: the thread's CPU time */
};

/* A user's pods may take long to parse too: then half of the time is left for the nodes. */
static void begin_work(struct server *s, const struct question *q)
{
	uint64_t limit = s->config.work_ms * 1000000, now = work_limit_now_ns();

	s->cache.work = (struct work_limit){0};
	if (limit == 0)
		return;
	if (q->n_nodes > SERVER_WORK_NODES)
		limit = limit * q->n_nodes / SERVER_WORK_NODES;
	s->cache.work.until_ns =
		q->begun_ns + limit > now + limit / 2 ? q->begun_ns + limit : now + limit / 2;
	s->cache.work.kept_only = !work_namespaces_may(&s->namespaces, q->pod->namespace, now_ms());
}

#define SAY_LIMIT_MS 10000u

static void end_work(struct server *s, const struct question *q, const struct work_limit *work,
	struct pod_class *class, size_t unreached)
{
	uint64_t now = now_ms();

	s->stats.unreached_nodes += unreached;
	if (!work->reached)
		return;
	if (!work->kept_only)
		work_namespaces_note(&s->namespaces, q->pod->namespace, now,
			(work_limit_now_ns() - q->begun_ns) / 1000000 + 1);
	if (class->limit_logged || now < s->say_limit_from_ms)
		return;
	class->limit_logged = true;
	s->say_limit_from_ms = now + SAY_LIMIT_MS;
	log_warning(
		"pod '%s/%s': what the kubelets of its %zu nodes say takes too long to work out: %zu are left for the "
		"next question",
		q->pod->namespace, q->pod->name, q->n_nodes, unreached);
}

/* The lock is held, as for the next two. */
static enum result find_nodes(
	struct server *s, struct extender_args *args, const struct question *q, struct answer *answer)
{
	struct work_limit work;
	int r;

	begin_work(s, q);
	r = answer_filter(&s->cache, &s->config.answer, args, now_ms(), answer);
	work = s->cache.work;
	if (r < 0)
		return RESULT_FAILED;
	end_work(s, q, &work, answer->class, answer->counts.n_unreached);
	s->stats.unknown_nodes += answer->counts.n_unknown;
	if (s->config.log_answers)
		log_info("pod '%s/%s': %zu nodes asked, %zu take it%s%s", args->pod.namespace, args->pod.name,
			answer->counts.n_asked, answer->counts.n_taking,
			answer->counts.node ? ", assumed on " : "",
			answer->counts.node ? answer->counts.node : "");
	return answer->counts.node            ? RESULT_ASSUMED
	       : answer->counts.n_passing > 0 ? RESULT_PASSED
					      : RESULT_UNSCHEDULABLE;
}

static enum result filter(
	struct server *s, struct extender_args *args, const struct question *q, struct strbuf *reply)
{
	struct answer answer = {0};
	enum result result;
	LOCKED(s);

	if (is_open(s)) {
		answer.verdicts = calloc(args->n_names + 1, sizeof(*answer.verdicts));
		result = answer.verdicts ? RESULT_STALE : RESULT_FAILED;
	} else {
		result = find_nodes(s, args, q, &answer);
	}
	if (result != RESULT_FAILED && extender_filter_print(args, answer.verdicts, reply) < 0)
		result = RESULT_FAILED;
	answer_release(&answer, &s->cache);
	return result;
}

static enum result find_scores(
	struct server *s, struct extender_args *args, const struct question *q, struct answer *answer)
{
	begin_work(s, q);
	if (answer_prioritize(&s->cache, &s->config.answer, args, answer) < 0)
		return RESULT_FAILED;
	end_work(s, q, &s->cache.work, answer->class, answer->counts.n_unreached);
	return RESULT_PASSED;
}

static enum result prioritize(
	struct server *s, struct extender_args *args, const struct question *q, struct strbuf *reply)
{
	struct answer answer = {0};
	enum result result;
	LOCKED(s);

	if (is_open(s)) { /* no node before another */
		answer.scores = calloc(args->n_names + 1, sizeof(*answer.scores));
		result = answer.scores ? RESULT_STALE : RESULT_FAILED;
	} else {
		result = find_scores(s, args, q, &answer);
	}
	if (result != RESULT_FAILED && extender_priorities_print(args, answer.scores, reply) < 0)
		result = RESULT_FAILED;
	answer_release(&answer, &s->cache);
	return result;
}

static enum result find_victims(
	struct server *s, struct extender_preemption *args, const struct question *q, size_t *ret_kept)
{
	struct answer_counts counts = {0};
	struct pod_class *class;
	int r = pod_classes_take(&s->cache.classes, &args->pod.template.pod, &class);

	if (r < 0)
		return RESULT_FAILED;
	begin_work(s, q);
	r = answer_preempt(&s->cache, &s->config.answer, args, class, &counts);
	if (r == 0)
		end_work(s, q, &s->cache.work, class, counts.n_unreached);
	pod_classes_drop(&s->cache.classes, class);
	*ret_kept = counts.n_passing;
	return r < 0 ? RESULT_FAILED : counts.n_passing > 0 ? RESULT_PASSED : RESULT_UNSCHEDULABLE;
}

static enum result preempt(
	struct server *s, struct extender_preemption *args, const struct question *q, struct strbuf *reply)
{
	size_t kept = args->n_items;
	enum result result = RESULT_STALE; /* the scheduler's own victims */
	LOCKED(s);

	if (!is_open(s))
		result = find_victims(s, args, q, &kept);
	if (result != RESULT_FAILED && extender_preemption_print(args->items, kept, reply) < 0)
		result = RESULT_FAILED;
	return result;
}

static enum result answer_preemption(struct server *s, const char *body, size_t len, uint64_t begun_ns,
	struct strbuf *reply, struct err *err)
{
	CLEANUP(extender_preemption_release) struct extender_preemption args = {0};
	int r = extender_preemption_parse(body, len, &args, err);
	const struct question q = {.pod = &args.pod, .n_nodes = args.n_items, .begun_ns = begun_ns};

	if (r < 0)
		return r == -ENOMEM ? RESULT_FAILED : RESULT_BAD;
	return preempt(s, &args, &q, reply);
}

static enum result answer_verb(
	struct server *s, enum verb verb, const char *body, size_t len, struct strbuf *reply, struct err *err)
{
	CLEANUP(extender_args_release) struct extender_args args = {0};
	struct question q = {.pod = &args.pod, .begun_ns = work_limit_now_ns()};
	int r;

	if (verb == VERB_PREEMPT)
		return answer_preemption(s, body, len, q.begun_ns, reply, err);
	r = extender_args_parse(body, len, &args, err);
	if (r < 0)
		return r == -ENOMEM ? RESULT_FAILED : RESULT_BAD;
	q.n_nodes = args.n_names;
	return verb == VERB_FILTER ? filter(s, &args, &q, reply) : prioritize(s, &args, &q, reply);
}

/* Why there is no answer now, in *ret_text, or to whom the question is sent on, in *ret_url. Both are empty when it is
 * answered here. */
static void find_answerer(struct server *s, struct strbuf *ret_text, struct strbuf *ret_url)
{
	const char *url;
	STATE_LOCKED(s);

	find_reason(s, ret_text);
	url = ret_text->len == 0 ? sent_on(s) : NULL;
	if (url)
		strbuf_addstr(ret_url, url);
	else if (ret_text->len == 0 && is_stale(s) && !s->config.stale_open)
		strbuf_addf(ret_text, "nothing came from the API server for %llu s",
			(unsigned long long)silent_ms(s) / 1000);
}

#define STATUS_OK          200
#define STATUS_SENT_ON     307
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
	find_answerer(s, &text, &url);
	if (url.len > 0) {
		strbuf_addf(reply, "%s%s", url.text, path);
		result = RESULT_FORWARDED;
	} else if (text.len > 0) {
		extender_error_print(text.text, reply);
		result = RESULT_STALE;
	} else {
		result = answer_verb(s, verb, body, len, reply, &err);
		if (result == RESULT_BAD)
			extender_error_print(err.text, reply);
	}
	LOCKED(s);
	stats_count(&s->stats, verb, result, clock_s(CLOCK_MONOTONIC) - begun);
	if (text.len > 0)
		return STATUS_UNAVAILABLE;
	if (result == RESULT_FORWARDED)
		return STATUS_SENT_ON;
	return result == RESULT_BAD ? STATUS_BAD : result == RESULT_FAILED ? STATUS_FAILED : STATUS_OK;
}

/* ---- numbers */

/* Of a Node without an object nothing is known. */
static void print_nodes(const struct cluster_cache *cache, struct strbuf *text)
{
	size_t n[CLUSTER_BASIS_COUNT] = {0};

	for (size_t i = 0; i < cache->n_nodes; i++) {
		const struct node_info *node = cache->nodes[i];

		if (node && (node->has_object || node->has_node))
			n[node->has_object ? node->object.basis : CLUSTER_UNKNOWN]++;
	}
	exposition_head(text, "nrtd_extender_nodes", "Nodes, by what the kubelet's answers rest on.", GAUGE);
	for (size_t i = 0; i < CLUSTER_BASIS_COUNT; i++)
		strbuf_addf(text, "nrtd_extender_nodes{state=\"%s\"} %zu\n", cluster_basis_names[i], n[i]);
}

static void print_skipped(const struct server *s, struct strbuf *text)
{
	static const char name[] = "nrtd_extender_skipped_objects_total";

	exposition_head(text, name, "Objects that could not be read and were passed over.", COUNTER);
	for (size_t k = 0; k < CACHE_KIND_COUNT; k++)
		strbuf_addf(text, "%s{kind=\"%s\"} %" PRIu64 "\n", name, kind_labels[k], s->skipped[k].n);
}

int server_metrics(void *ctx, struct strbuf *text)
{
	struct server *s = ctx;
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(1024);
	bool is_ready = server_ready(s, &line);
	LOCKED(s);
	STATE_LOCKED(s);
	const struct cluster_cache *cache = &s->cache;
	const struct {
		const char *name, *help;
		enum exposition_kind kind;
		double value;
	} families[] = {
		{"nrtd_extender_ready", "1 while /readyz answers 200, else 0.", GAUGE, is_ready},
		{"nrtd_extender_pods", "Pods that have a node, or are promised one.", GAUGE,
			(double)cache->n_pods},
		{"nrtd_extender_assumed_pods", "Promises to pods that are not bound yet.", GAUGE,
			(double)cache->n_assumed},
		{"nrtd_extender_assumed_pods_expired_total", "Promises whose pods were not bound in time.",
			COUNTER, (double)cache->n_expired},
		{"nrtd_extender_rejected_pods_total", "Pods that a node's kubelet rejected, promised or not.",
			COUNTER, (double)cache->n_rejected},
		{"nrtd_extender_silence_seconds", "How long nothing came from the API server.", GAUGE,
			(double)silent_ms(s) / 1000},
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

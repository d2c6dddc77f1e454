/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/extender/server.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/extender/work_limit.h"
#include "cluster/objects/extender_record.h"
#include "cluster/objects/object_input.h"
#include "cluster/objects/pod_status.h"
#include "common/cleanup.h"
#include "common/io/time.h"
#include "common/log.h"
#include "common/text.h"
#include "common/xalloc.h"

static const char *const kind_names[CLUSTER_KINDS] = {
	"NodeResourceTopologies", "Nodes", "Pods", "PodDisruptionBudgets"};

#define SKIP_LOG_INTERVAL_MS 60000u

struct server {
	struct server_config config;
	_Atomic uint64_t n_arrived;  /* requests */
	pthread_cond_t pods_changed; /* with `lock` */
	pthread_mutex_t lock;        /* of the members up to `state_lock`; held while a request is answered */
	struct cluster cluster;
	struct verdicts verdicts;
	struct request_counts requests;
	struct work_history work;
	struct nominations nominations;
	pthread_cond_t nominations_changed; /* with `lock` */
	bool nominations_end;
	bool logged_whole;        /* that requests hold more nodes than the default sample */
	int64_t no_wait_until_ms; /* wait_for_victims() */
	/* Protects all members below; never held while a request is answered. Lock order: `lock` before `state_lock`. */
	pthread_mutex_t state_lock;
	struct process_stats process;
	uint64_t skipped[CLUSTER_KINDS];        /* unreadable objects */
	uint64_t skipped_logged[CLUSTER_KINDS]; /* the part of `skipped` that log lines have reported */
	uint64_t next_skip_log_ms[CLUSTER_KINDS];
	bool listed[CLUSTER_KINDS]; /* at least one list was complete */
	uint64_t alive_ms[CLUSTER_KINDS];
	const struct lease *lease;
	struct extender_record record; /* nodes_version: 0 while the Nodes are listed */
	char *holder;                  /* identity of the lease's holder, "" = none; for messages */
	char *url;                     /* of the holder if the holder is another replica; "" = not known */
	uint64_t answers_since_ms;     /* when this replica began to answer; 0 = it does not answer */
	bool from_file, was_ready;
	bool logged_budgets; /* that the PodDisruptionBudgets are not known */
};

/* CLOCK_BOOTTIME includes the time in suspend, during which the cluster becomes outdated. */
static uint64_t now_ms(void)
{
	return (uint64_t)clock_ms(CLOCK_BOOTTIME);
}

static void cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attributes);
	pthread_condattr_destroy(&attributes);
}

void server_new(const struct server_config *config, const struct lease *lease, struct server **ret)
{
	CLEANUP(server_freep) struct server *s = xcalloc(1, sizeof(*s));

	cond_init(&s->pods_changed);
	cond_init(&s->nominations_changed);
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->state_lock, NULL);
	s->config = *config;
	process_stats_init(&s->process);
	s->nominations.on = config->nominate;
	s->lease = lease;
	text_set(&s->holder, "");
	text_set(&s->url, "");
	cluster_init(&s->cluster, &config->cluster);
	verdicts_init(&s->verdicts, &s->cluster);
	s->verdicts.max_kubelet_ns = config->max_kubelet_ns;
	*ret = TAKE(s);
}

void server_free(struct server *s)
{
	if (!s)
		return;
	verdicts_release(&s->verdicts);
	cluster_release(&s->cluster);
	nominations_release(&s->nominations);
	pthread_cond_destroy(&s->pods_changed);
	pthread_cond_destroy(&s->nominations_changed);
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

/* Waits with the lock for a change, until this time of CLOCK_MONOTONIC. Whether a change was signalled. */
static bool wait_until(struct server *s, pthread_cond_t *changed, int64_t until_ms)
{
	const struct timespec until = {
		.tv_sec = (time_t)(until_ms / 1000), .tv_nsec = (long)(until_ms % 1000) * 1000000};

	return pthread_cond_timedwait(changed, &s->lock, &until) == 0;
}

/* ---- updates of the cluster */

void server_list_begin(struct server *s, enum object_kind kind)
{
	LOCKED(s);
	STATE_LOCKED(s);

	cluster_list_begin(&s->cluster, kind);
	if (kind == OBJECT_NODE)
		s->record.nodes_version = 0;
}

/* Logs at most one line a minute: users can create any number of unreadable objects. */
static void note_skipped(struct server *s, enum object_kind kind, const struct err *why)
{
	uint64_t now = now_ms(), n;
	STATE_LOCKED(s);

	s->skipped[kind]++;
	if (now < s->next_skip_log_ms[kind])
		return;
	n = s->skipped[kind] - s->skipped_logged[kind];
	if (n == 1)
		log_warning("%s: skipped an object: %s", kind_names[kind], why->text);
	else
		log_warning("%s: skipped %" PRIu64 " objects, the last one because: %s", kind_names[kind], n,
			why->text);
	s->skipped_logged[kind] = s->skipped[kind];
	s->next_skip_log_ms[kind] = now + SKIP_LOG_INTERVAL_MS;
}

void server_skip(struct server *s, enum object_kind kind, const struct err *why)
{
	{
		LOCKED(s);
		cluster_skip(&s->cluster, kind);
	}
	note_skipped(s, kind, why);
}

/* The version of a Node that a watch has delivered. The objects of a list have versions in any order. */
static void note_version(struct server *s, enum object_kind kind, uint64_t version)
{
	STATE_LOCKED(s);

	if (kind == OBJECT_NODE && s->record.nodes_version > 0 && version > s->record.nodes_version)
		s->record.nodes_version = version;
}

/* Before the cluster gets the Pod. */
static void update_nomination(struct server *s, const struct doc *object, uint64_t version)
{
	const struct doc *metadata = doc_get(object, "metadata");
	const struct nominated_pod pod = {.uid = doc_text(metadata, "uid"),
		.namespace = doc_text(metadata, "namespace"),
		.name = doc_text(metadata, "name"),
		.node = pod_node_name(object),
		.nominated = pod_nominated_node(object),
		.message = pod_scheduler_message(object),
		.version = version};

	if (pod_has_ended(object))
		nominations_end(&s->nominations, pod.uid);
	else if (nominations_update(&s->nominations, &pod, now_ms()))
		cluster_forget_pod(&s->cluster, pod.uid);
	if (s->nominations.n_wanted > 0)
		pthread_cond_signal(&s->nominations_changed);
}

void server_update(struct server *s, enum object_kind kind, struct doc *object)
{
	uint64_t version = resource_version_parse(doc_text(doc_get(object, "metadata"), "resourceVersion"));
	CLEANUP(object_content_release) struct object_content content;
	char known_hash[HASH_TEXT_SIZE] = "";
	struct err err = {""};

	if (kind == OBJECT_NRT || kind == OBJECT_NODE) {
		LOCKED(s);
		snprintf(known_hash, sizeof(known_hash), "%s", cluster_known_hash(&s->cluster, kind, object));
	}
	object_content_read(kind, object, known_hash, &content);
	LOCKED(s);
	if (kind == OBJECT_POD)
		update_nomination(s, object, version);
	if (cluster_update_read(&s->cluster, kind, object, &content, now_ms(), &err) < 0)
		note_skipped(s, kind, &err);
	else
		note_version(s, kind, version);
}

void server_delete(struct server *s, enum object_kind kind, const struct doc *object)
{
	LOCKED(s);

	cluster_delete(&s->cluster, kind, object, now_ms());
	if (kind != OBJECT_POD)
		return;
	nominations_end(&s->nominations, doc_text(doc_get(object, "metadata"), "uid"));
	pthread_cond_broadcast(&s->pods_changed);
}

void server_list_end(struct server *s, enum object_kind kind, uint64_t version)
{
	{
		LOCKED(s);
		cluster_list_end(&s->cluster, kind, version, now_ms());
	}
	STATE_LOCKED(s);
	if (kind == OBJECT_NODE)
		s->record.nodes_version = version;
	s->listed[kind] = true;
}

void server_api_alive(struct server *s, enum object_kind kind)
{
	STATE_LOCKED(s);
	s->alive_ms[kind] = now_ms();
}

struct loading {
	struct server *server;
	size_t n_read;
	struct err skipped; /* why the last object was skipped; "" = none was */
};

static int load_object(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	struct loading *l = data;

	(void)err;
	if (cluster_update(&l->server->cluster, kind, object, now_ms(), &l->skipped) < 0)
		note_skipped(l->server, kind, &l->skipped);
	else
		l->n_read++;
	return 0;
}

int server_load(struct server *s, const char *path, struct err *err)
{
	struct loading loading = {.server = s};
	int r;
	LOCKED(s);

	{
		STATE_LOCKED(s);
		s->from_file = true;
	}
	s->cluster.budgets.known = true;
	r = object_input_read(path,
		1u << OBJECT_NRT | 1u << OBJECT_NODE | 1u << OBJECT_POD | 1u << OBJECT_PDB, load_object,
		&loading, err);
	if (r == 0 && loading.n_read == 0 && loading.skipped.text[0])
		r = err_set(err, -EINVAL, "%s: %s", path, loading.skipped.text);
	return r;
}

/* ---- readiness */

/* Time since the API server last sent anything about a kind; the maximum over the required kinds. */
static uint64_t silence_ms(const struct server *s)
{
	uint64_t now = now_ms(), longest = 0;

	for (size_t k = 0; k < CLUSTER_KINDS_REQUIRED && !s->from_file; k++)
		if (now - s->alive_ms[k] > longest)
			longest = now - s->alive_ms[k];
	return longest;
}

static bool is_stale(const struct server *s)
{
	return silence_ms(s) > s->config.max_stale_ms;
}

/* Whether the cluster is stale and --stale=open lets every node pass. */
static bool passes_stale(struct server *s)
{
	STATE_LOCKED(s);
	return s->config.stale_open && is_stale(s);
}

/* How long requests are still rejected after this replica has begun to answer. Called at least every second. */
static uint64_t takeover_left_ms(struct server *s)
{
	uint64_t now = now_ms();

	if (s->from_file)
		return 0;
	if (s->lease && !lease_held(s->lease)) {
		s->answers_since_ms = 0;
		return 0;
	}
	if (s->answers_since_ms == 0)
		s->answers_since_ms = now;
	return now < s->answers_since_ms + s->config.takeover_ms
		       ? s->answers_since_ms + s->config.takeover_ms - now
		       : 0;
}

/* Writes why requests are neither answered nor forwarded; nothing if requests are answered or forwarded. */
static void find_unready_reason(struct server *s, struct strbuf *line)
{
	uint64_t takeover_ms;

	for (size_t k = 0; k < CLUSTER_KINDS_REQUIRED && !s->from_file; k++)
		if (!s->listed[k]) {
			strbuf_addf(line, "the %s are not listed yet", kind_names[k]);
			return;
		}
	takeover_ms = takeover_left_ms(s);
	if (takeover_ms > 0)
		strbuf_addf(line,
			"this replica answers in %llu ms: pods that the replica before it has assumed may not be bound yet",
			(unsigned long long)takeover_ms);
	else if (!s->lease || lease_held(s->lease) || *s->url)
		return;
	else if (*s->holder)
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
	text_set(&s->url, text_or_empty(url));
	text_one_line(s->holder);
}

void server_annotate_lease(struct server *s, const struct doc *before, struct doc *ret)
{
	struct extender_record earlier = {.n_schedulers = 0};
	STATE_LOCKED(s);

	extender_record_read(&earlier, before, clock_ms(CLOCK_REALTIME) / 1000);
	for (size_t i = 0; i < earlier.n_schedulers; i++)
		extender_record_add(&s->record, earlier.schedulers[i].name, earlier.schedulers[i].asked_s);
	extender_record_write(&s->record, ret);
}

bool server_has_lists(struct server *s)
{
	STATE_LOCKED(s);

	return s->from_file || (s->listed[OBJECT_NRT] && s->listed[OBJECT_NODE] && s->listed[OBJECT_POD]);
}

bool server_ready(struct server *s, struct strbuf *line)
{
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
	cluster_expire(&s->cluster, now_ms());
	nominations_expire(&s->nominations, now_ms());
}

/* ---- requests that this replica does not answer */

/* Writes to `ret_text` why requests are not answered, or to `ret_url` where requests are forwarded. Writes nothing if
 * this replica answers. */
static void find_unready_reason_or_url(struct server *s, struct strbuf *ret_text, struct strbuf *ret_url)
{
	const char *url;
	STATE_LOCKED(s);

	find_unready_reason(s, ret_text);
	if (ret_text->len > 0)
		return;
	url = forward_url(s);
	if (url)
		strbuf_addstr(ret_url, url);
	else if (is_stale(s) && !s->config.stale_open)
		strbuf_addf(ret_text, "the API server has sent nothing for %llu s",
			(unsigned long long)silence_ms(s) / 1000);
}

#define RESULT_UNAVAILABLE RESULT_COUNT /* counts as RESULT_STALE, with the status 503 */

/* If this replica does not answer, writes to `reply` why, or where the request is forwarded. */
static bool decline(struct server *s, enum verb verb, struct strbuf *reply, enum result *ret)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1024);
	CLEANUP(strbuf_release) struct strbuf url = STRBUF_INIT(1024);

	find_unready_reason_or_url(s, &text, &url);
	if (url.len > 0)
		strbuf_addf(reply, "%s/%s", url.text, verb_names[verb]);
	else if (text.len > 0)
		extender_error_print(text.text, reply);
	*ret = url.len > 0 ? RESULT_FORWARDED : RESULT_UNAVAILABLE;
	return url.len + text.len > 0;
}

#define STATUS_OK          200
#define STATUS_FORWARDED   307
#define STATUS_BAD         400
#define STATUS_NOT_FOUND   404
#define STATUS_FAILED      500
#define STATUS_UNAVAILABLE 503

/* ---- nominations */

/* Whether this replica answers requests. */
static bool answers(struct server *s)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1024);
	CLEANUP(strbuf_release) struct strbuf url = STRBUF_INIT(1024);

	find_unready_reason_or_url(s, &text, &url);
	return text.len + url.len == 0;
}

bool server_next_nomination(struct server *s, uint64_t ms, struct nomination_write *ret)
{
	uint64_t end_ms = now_ms() + ms, now, wait_ms = UINT64_MAX;
	LOCKED(s);

	while (!s->nominations_end && (now = now_ms()) < end_ms) {
		if (s->nominations.n_wanted > 0 && answers(s) &&
			nominations_take(&s->nominations, now, ret, &wait_ms))
			return true;
		if (wait_ms > end_ms - now)
			wait_ms = end_ms - now;
		wait_until(s, &s->nominations_changed, clock_ms(CLOCK_MONOTONIC) + (int64_t)wait_ms);
	}
	return false;
}

void server_end_nominations(struct server *s)
{
	LOCKED(s);

	s->nominations_end = true;
	pthread_cond_signal(&s->nominations_changed);
}

void server_nomination_written(
	struct server *s, const struct nomination_write *w, int status, uint64_t version)
{
	LOCKED(s);

	if (nominations_written(&s->nominations, w, status, version, now_ms()))
		cluster_forget_pod(&s->cluster, w->uid);
	if (s->config.log_answers && status == STATUS_OK)
		log_info("pod '%s/%s': nominated node '%s'", w->namespace, w->name, w->node);
}

void server_set_nomination_right(struct server *s, enum nomination_right right)
{
	LOCKED(s);

	s->nominations.right = right;
}

enum nomination_right server_nomination_right(struct server *s)
{
	LOCKED(s);

	return s->nominations.right;
}

/* No node of the sample admits the pod, answer->outside does. */
static void name_outside(struct server *s, const struct extender_args *args, struct verb_answer *answer)
{
	answer->outside_reason =
		nominations_try(&s->nominations, &args->pod, answer->outside->name, now_ms());
	for (size_t i = 0; i < args->n_names; i++)
		answer->failures[i] = (struct extender_failure){answer->outside_reason, true};
	pthread_cond_signal(&s->nominations_changed);
}

/* Counts requests that hold more nodes than the scheduler's default sample. Logs the first one. */
static void count_whole(struct server *s, const struct extender_args *args)
{
	if (!exceeds_default_sample(args->n_names, s->cluster.n_with_node))
		return;
	s->requests.whole++;
	if (s->nominations.right == RIGHT_GRANTED && !s->logged_whole)
		log_info(
			"a scheduler sends %zu of %zu Nodes: with --nominate=on percentageOfNodesToScore may be omitted from its configuration",
			args->n_names, s->cluster.n_with_node);
	s->logged_whole |= s->nominations.right == RIGHT_GRANTED;
}

/* ---- requests */

static void begin_work(struct server *s, const struct work_request *request)
{
	uint64_t now = now_ms();

	s->verdicts.projections.now_ms = now;
	s->verdicts.projections.work = work_begin(&s->work, request, s->config.work_ms, now);
}

static void end_work(
	struct server *s, const struct work_request *request, const struct pod_class *class, size_t unreached)
{
	s->requests.unreached_nodes += unreached;
	work_end(&s->work, request, &s->verdicts.projections.work, class->number, unreached, now_ms());
}

/* The lock is held in the answer_*() functions. */
static enum result answer_filter(struct server *s, struct extender_args *args,
	const struct work_request *request, struct verb_answer *answer)
{
	struct work_request work = *request;

	args->search_outside = nominations_begin(&s->nominations, args, s->cluster.n_with_node, now_ms());
	if (args->search_outside && work.n_nodes < s->cluster.n_with_node)
		work.n_nodes = s->cluster.n_with_node;
	begin_work(s, &work);
	extender_filter(&s->verdicts, &s->config.verbs, args, now_ms(), answer);
	end_work(s, request, answer->class, answer->counts.n_unreached);
	if (answer->outside)
		name_outside(s, args, answer);
	count_whole(s, args);
	s->requests.unknown_nodes += answer->counts.n_unknown;
	s->requests.slow_nodes += answer->counts.n_slow;
	if (s->config.log_answers)
		log_info("pod '%s/%s': %s%zu of %zu nodes admit the pod%s%s", args->pod.namespace,
			args->pod.name, answer->counts.n_bounded > 0 ? "at least " : "",
			answer->counts.n_admitting, answer->counts.n_nodes,
			answer->counts.assumed_node ? "; assumed on "
			: answer->outside           ? "; outside of the sample, so does "
						    : "",
			answer->counts.assumed_node ? answer->counts.assumed_node
			: answer->outside           ? answer->outside->name
						    : "");
	return answer->counts.assumed_node    ? RESULT_ASSUMED
	       : answer->counts.n_passing > 0 ? RESULT_PASSED
					      : RESULT_UNSCHEDULABLE;
}

/* The lock is held, but not while this function waits. It waits a tenth of the time at most: the scheduler asks about no other pod
 * meanwhile, and victims may take long to end. */
static void wait_for_victims(struct server *s, const struct extender_args *args)
{
	int64_t begun_ms = clock_ms(CLOCK_MONOTONIC), until_ms = begun_ms + (int64_t)s->config.victims_ms,
		now;

	if (begun_ms < s->no_wait_until_ms)
		return;
	while (extender_has_victims(&s->cluster, args) && wait_until(s, &s->pods_changed, until_ms))
		;
	now = clock_ms(CLOCK_MONOTONIC);
	s->no_wait_until_ms = now + 9 * (now - begun_ms);
}

static enum result reply_filter(struct server *s, struct extender_args *args,
	const struct work_request *request, struct strbuf *reply)
{
	struct verb_answer answer = {0};
	enum result result;
	LOCKED(s);

	wait_for_victims(s, args);
	if (decline(s, VERB_FILTER, reply, &result))
		return result;
	if (passes_stale(s)) {
		answer.failures = xcalloc(args->n_names + 1, sizeof(*answer.failures));
		result = RESULT_STALE;
	} else
		result = answer_filter(s, args, request, &answer);
	if (extender_filter_print(args, answer.failures, reply) < 0)
		result = RESULT_FAILED;
	verb_answer_release(&answer, &s->cluster);
	return result;
}

static enum result reply_prioritize(struct server *s, struct extender_args *args,
	const struct work_request *request, struct strbuf *reply)
{
	struct verb_answer answer = {0};
	enum result result;
	LOCKED(s);

	if (decline(s, VERB_PRIORITIZE, reply, &result))
		return result;
	result = RESULT_STALE;
	if (passes_stale(s)) {
		/* the same score for each node */
		answer.scores = xcalloc(args->n_names + 1, sizeof(*answer.scores));
	} else {
		begin_work(s, request);
		extender_prioritize(&s->verdicts, &s->config.verbs, args, &answer);
		end_work(s, request, answer.class, answer.counts.n_unreached);
		result = RESULT_PASSED;
	}
	if (extender_priorities_print(args, answer.scores, reply) < 0)
		result = RESULT_FAILED;
	verb_answer_release(&answer, &s->cluster);
	return result;
}

/* Notes whether the cached PodDisruptionBudgets are current. Logs once if they are not: administrators may not know that the right to
 * list them is missing. */
static void check_budgets(struct server *s)
{
	struct disruption_budgets *budgets = &s->cluster.budgets;
	STATE_LOCKED(s);

	budgets->outdated = !s->from_file && now_ms() - s->alive_ms[OBJECT_PDB] > s->config.max_stale_ms;
	if (!s->logged_budgets && !disruption_budgets_current(budgets))
		log_warning(
			"the PodDisruptionBudgets are not known: each victim that /preempt adds counts as a violation");
	s->logged_budgets = !disruption_budgets_current(budgets);
}

static enum result answer_preempt(struct server *s, struct extender_preemption *args,
	const struct work_request *request, size_t *ret_kept)
{
	struct verb_counts counts = {0};
	struct pod_class *class;

	if (nominations_refuse_preemption(&s->nominations, args->pod.uid, now_ms())) {
		*ret_kept = 0;
		return RESULT_UNSCHEDULABLE;
	}
	class = pod_classes_take(&s->cluster.classes, &args->pod.template.pod);
	check_budgets(s);
	begin_work(s, request);
	extender_preempt(&s->verdicts, &s->config.verbs, args, class, now_ms(), &counts);
	end_work(s, request, class, counts.n_unreached);
	pod_classes_drop(&s->cluster.classes, class);
	*ret_kept = counts.n_passing;
	if (counts.settling)
		return RESULT_SETTLING;
	return counts.n_passing > 0 ? RESULT_PASSED : RESULT_UNSCHEDULABLE;
}

#define SETTLING \
	"the pod's victims have ended on its nominated node, whose object does not report yet which other pods started before"

static enum result reply_preempt(struct server *s, struct extender_preemption *args,
	const struct work_request *request, struct strbuf *reply)
{
	size_t n_passing = args->n_items;
	enum result result;
	LOCKED(s);

	if (decline(s, VERB_PREEMPT, reply, &result))
		return result;
	result = RESULT_STALE; /* the scheduler's victims, unchanged */
	if (!passes_stale(s))
		result = answer_preempt(s, args, request, &n_passing);
	if (result == RESULT_SETTLING)
		extender_error_print(SETTLING, reply);
	else if (extender_preemption_print(args->items, n_passing, reply) < 0)
		result = RESULT_FAILED;
	return result;
}

static enum result handle_preempt(struct server *s, const char *body, size_t len, uint64_t begun_ns,
	struct strbuf *reply, struct err *err)
{
	CLEANUP(extender_preemption_release) struct extender_preemption args = {0};
	int r = extender_preemption_parse(body, len, &args, err);
	const struct work_request request = {.namespace = args.pod.namespace,
		.name = args.pod.name,
		.n_nodes = args.n_items,
		.begun_ns = begun_ns};

	if (r < 0)
		return RESULT_BAD;
	return reply_preempt(s, &args, &request, reply);
}

static void note_scheduler(struct server *s, const char *scheduler)
{
	STATE_LOCKED(s);

	extender_record_add(&s->record, scheduler, clock_ms(CLOCK_REALTIME) / 1000);
}

static enum result handle_verb(
	struct server *s, enum verb verb, const char *body, size_t len, struct strbuf *reply, struct err *err)
{
	CLEANUP(extender_args_release) struct extender_args args = {0};
	struct work_request request = {.begun_ns = work_now_ns()};
	uint64_t arrival = atomic_fetch_add(&s->n_arrived, 1) + 1;
	enum result result;
	int r;

	if (verb == VERB_PREEMPT)
		return handle_preempt(s, body, len, request.begun_ns, reply, err);
	r = extender_args_parse(body, len, &args, err);
	if (r < 0)
		return RESULT_BAD;
	args.pod.arrival = arrival;
	request.namespace = args.pod.namespace;
	request.name = args.pod.name;
	request.n_nodes = args.n_names;
	if (verb == VERB_PRIORITIZE)
		return reply_prioritize(s, &args, &request, reply);
	result = reply_filter(s, &args, &request, reply);
	if (result == RESULT_ASSUMED || result == RESULT_PASSED || result == RESULT_UNSCHEDULABLE)
		note_scheduler(s, args.pod.scheduler);
	return result;
}

int server_post(struct server *s, const char *path, const char *body, size_t len, struct strbuf *reply)
{
	double begun = clock_s(CLOCK_MONOTONIC);
	struct err err = {""};
	enum result result;
	enum verb verb = 0;

	while (verb < VERB_COUNT && (*path != '/' || strcmp(path + 1, verb_names[verb]) != 0))
		verb++;
	if (verb == VERB_COUNT)
		return STATUS_NOT_FOUND;
	/* Before the body is parsed; again with the lock, for which the request may have waited. */
	if (!decline(s, verb, reply, &result)) {
		result = handle_verb(s, verb, body, len, reply, &err);
		if (result == RESULT_BAD)
			extender_error_print(err.text, reply);
	}
	LOCKED(s);
	request_counts_add(&s->requests, verb, result == RESULT_UNAVAILABLE ? RESULT_STALE : result,
		clock_s(CLOCK_MONOTONIC) - begun);
	if (result == RESULT_UNAVAILABLE || result == RESULT_SETTLING)
		return STATUS_UNAVAILABLE;
	if (result == RESULT_FORWARDED)
		return STATUS_FORWARDED;
	return result == RESULT_BAD ? STATUS_BAD : result == RESULT_FAILED ? STATUS_FAILED : STATUS_OK;
}

/* ---- metrics */

int server_metrics(struct server *s, struct metrics_source *from, struct strbuf *text)
{
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(1024);
	bool ready = server_ready(s, &line);
	LOCKED(s);
	STATE_LOCKED(s);

	from->process = &s->process;
	from->requests = &s->requests;
	from->cluster = &s->cluster;
	from->skipped = s->skipped;
	from->ready = ready;
	from->silence_s = (double)silence_ms(s) / 1000;
	from->lease = s->lease;
	from->nominations = s->nominations.on ? &s->nominations.counts : NULL;
	metrics_print(from, text);
	return strbuf_error(text);
}

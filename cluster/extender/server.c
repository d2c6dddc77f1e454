/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/extender/server.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/extender/api_v1.h"
#include "cluster/extender/work_limit.h"
#include "cluster/objects/extender_record.h"
#include "cluster/objects/object_input.h"
#include "cluster/objects/pod_status.h"
#include "common/cleanup.h"
#include "common/io/thread.h"
#include "common/io/time.h"
#include "common/kube/api_client.h"
#include "common/log.h"
#include "common/text.h"
#include "common/xalloc.h"

#define LOG_INTERVAL_MS 60000u

/* A line about what others can cause any number of times. */
struct limited_line {
	uint64_t n; /* since the last line */
	uint64_t next_ms;
};

struct server {
	struct server_config config;
	struct replica replica;
	_Atomic uint64_t n_arrived; /* requests */
	pthread_mutex_t
		lock; /* of all members below; held while a request is answered, before replica.lock */
	pthread_cond_t pods_changed;
	struct cluster cluster;
	struct verdicts verdicts;
	struct process_stats process;
	struct request_counts requests;
	struct work_history work;
	uint64_t skipped[CLUSTER_KINDS]; /* unreadable objects */
	struct limited_line skipped_line[CLUSTER_KINDS], forbidden_line;
	struct nominations nominations;
	pthread_cond_t nominations_changed;
	bool nominations_end;
	bool logged_whole;        /* that requests hold more nodes than the default sample */
	bool logged_budgets;      /* that the PodDisruptionBudgets are not known */
	int64_t no_wait_until_ms; /* wait_for_victims() */
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
	s->config = *config;
	process_stats_init(&s->process);
	s->nominations.on = config->nominate;
	replica_init(&s->replica, &config->replica, lease);
	cluster_init(&s->cluster, &config->cluster);
	verdicts_init(&s->verdicts, &s->cluster);
	s->verdicts.projections.max_kubelet_ns = config->max_kubelet_ns;
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
	replica_release(&s->replica);
	free(s);
}

struct replica *server_replica(struct server *s)
{
	return &s->replica;
}

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

	cluster_list_begin(&s->cluster, kind);
	replica_list_begin(&s->replica, kind);
}

/* Counts one more. Returns how many the line is about that is to be logged now; 0 = the last line was less than a minute ago. */
static uint64_t count_for_line(struct limited_line *l)
{
	uint64_t now = now_ms(), n = ++l->n;

	if (now < l->next_ms)
		return 0;
	*l = (struct limited_line){.next_ms = now + LOG_INTERVAL_MS};
	return n;
}

/* With the lock. */
static void note_skipped(struct server *s, enum object_kind kind, const struct err *why)
{
	uint64_t n = count_for_line(&s->skipped_line[kind]);

	s->skipped[kind]++;
	if (n == 1)
		log_warning("%s: skipped an object: %s", cluster_kind_names[kind], why->text);
	else if (n > 1)
		log_warning("%s: skipped %" PRIu64 " objects, the last one because: %s",
			cluster_kind_names[kind], n, why->text);
}

void server_skip(struct server *s, enum object_kind kind, const struct err *why)
{
	LOCKED(s);

	cluster_skip(&s->cluster, kind);
	note_skipped(s, kind, why);
}

/* Passes a Pod to the nominations, before the cluster gets the Pod: a pod whose nomination is lost must not stay assumed. */
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
	object_content_read(kind, object, known_hash, &content); /* without the lock: this may take long */
	LOCKED(s);
	if (kind == OBJECT_POD)
		update_nomination(s, object, version);
	if (cluster_update_read(&s->cluster, kind, object, &content, now_ms(), &err) < 0)
		note_skipped(s, kind, &err);
	else
		replica_note_version(&s->replica, kind, version);
	if (kind == OBJECT_POD) /* a victim has ended */
		pthread_cond_broadcast(&s->pods_changed);
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
		pthread_cond_broadcast(&s->pods_changed);
	}
	replica_list_end(&s->replica, kind, version);
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

	replica_set_from_file(&s->replica);
	s->cluster.budgets.known = true;
	r = object_input_read(path,
		1u << OBJECT_NRT | 1u << OBJECT_NODE | 1u << OBJECT_POD | 1u << OBJECT_PDB, load_object,
		&loading, err);
	if (r == 0 && loading.n_read == 0 && loading.skipped.text[0])
		r = err_set(err, -EINVAL, "%s: %s", path, loading.skipped.text);
	return r;
}

void server_tick(struct server *s)
{
	LOCKED(s);

	cluster_expire(&s->cluster, now_ms());
	nominations_expire(&s->nominations, now_ms());
}

/* ---- requests that this replica does not answer */

#define RESULT_UNAVAILABLE RESULT_COUNT /* as RESULT_STALE, with the status 503 */

static enum result counted_as(enum result result)
{
	return result == RESULT_UNAVAILABLE ? RESULT_STALE : result;
}

static bool is_v1(enum verb verb)
{
	return verb == VERB_CHOOSE || verb == VERB_ADMIT || verb == VERB_FORGET;
}

static void print_error(enum verb verb, const char *message, struct strbuf *reply)
{
	if (is_v1(verb))
		v1_error_print(message, reply);
	else
		extender_error_print(message, reply);
}

/* Whether this replica does not answer: writes to `reply` why, or the URL to which the request is forwarded, and sets *ret. */
static bool decline(struct server *s, enum verb verb, struct strbuf *reply, enum result *ret)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1024);
	enum replica_role role = replica_role(&s->replica, &text);

	if (role == REPLICA_FORWARDS)
		strbuf_addf(reply, "%s%s", text.text, verb_paths[verb]);
	else if (role == REPLICA_UNAVAILABLE)
		print_error(verb, text.text, reply);
	*ret = role == REPLICA_FORWARDS ? RESULT_FORWARDED : RESULT_UNAVAILABLE;
	return role != REPLICA_ANSWERS;
}

/* ---- nominations */

/* Whether this replica answers requests. */
static bool is_answering(struct server *s)
{
	CLEANUP(strbuf_release) struct strbuf ignored = STRBUF_INIT(1024);

	return replica_role(&s->replica, &ignored) == REPLICA_ANSWERS;
}

bool server_next_nomination(struct server *s, uint64_t ms, struct nomination_write *ret)
{
	uint64_t end_ms = now_ms() + ms, wait_ms = UINT64_MAX; /* wait_ms: until the next write is due */
	LOCKED(s);

	for (uint64_t now = now_ms(); !s->nominations_end && now < end_ms; now = now_ms()) {
		if (s->nominations.n_wanted > 0 && is_answering(s) &&
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
	if (s->config.log_answers && status == HTTP_OK)
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

/* ---- requests. The answer_*() functions are called with the lock. */

/* A request while it is answered. */
struct scheduler_request {
	enum verb verb;
	uint64_t arrival;                      /* numbers the requests */
	struct extender_args args;             /* of all verbs but /preempt */
	struct extender_preemption preemption; /* of /preempt */
	struct work_request work;
	struct verb_answer answer;
};

static void scheduler_request_release(struct scheduler_request *q)
{
	extender_args_release(&q->args);
	extender_preemption_release(&q->preemption);
}

static int parse_request(struct scheduler_request *q, const char *body, size_t len, struct err *err)
{
	static const unsigned members[VERB_COUNT] = {
		[VERB_CHOOSE] = V1_NODES | V1_CHOICE, [VERB_ADMIT] = V1_NODES};
	const struct extender_pod *pod = q->verb == VERB_PREEMPT ? &q->preemption.pod : &q->args.pod;
	int r;

	if (q->verb == VERB_PREEMPT) {
		r = extender_preemption_parse(body, len, &q->preemption, err);
		q->preemption.pod.arrival = q->arrival;
	} else {
		r = is_v1(q->verb) ? extender_v1_parse(body, len, members[q->verb], &q->args, err)
				   : extender_args_parse(body, len, &q->args, err);
		q->args.pod.arrival = q->arrival;
	}
	q->work.namespace = pod->namespace;
	q->work.name = pod->name;
	q->work.n_nodes = q->verb == VERB_PREEMPT ? q->preemption.n_items : q->args.n_names;
	return r;
}

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

/* Counts and logs an answer of /filter, /v1/choose or /v1/admit. */
static enum result note_answer(
	struct server *s, const struct extender_pod *pod, const struct verb_answer *answer)
{
	const struct verb_counts *counts = &answer->counts;
	const char *where = "", *node = "";

	s->requests.unknown_nodes += counts->n_unknown;
	s->requests.slow_nodes += counts->n_slow;
	replica_note_scheduler(&s->replica, pod->scheduler);
	if (counts->assumed_node) {
		where = "; assumed on ";
		node = counts->assumed_node;
	} else if (answer->outside) {
		where = "; outside of the sample, so does ";
		node = answer->outside->name;
	}
	if (s->config.log_answers)
		log_info("pod '%s/%s': %s%zu of %zu nodes admit the pod%s%s", pod->namespace, pod->name,
			counts->n_bounded > 0 ? "at least " : "", counts->n_admitting, counts->n_nodes, where,
			node);
	if (counts->assumed_node)
		return RESULT_ASSUMED;
	return answer->passes_all || counts->n_passing > 0 ? RESULT_PASSED : RESULT_UNSCHEDULABLE;
}

static enum result answer_filter(struct server *s, struct scheduler_request *q)
{
	struct extender_args *args = &q->args;
	struct work_request work = q->work; /* q->work keeps the number of requested nodes */

	args->search_outside = nominations_begin(&s->nominations, args, s->cluster.n_with_node, now_ms());
	if (args->search_outside && work.n_nodes < s->cluster.n_with_node)
		work.n_nodes = s->cluster.n_with_node;
	begin_work(s, &work);
	extender_filter(&s->verdicts, &s->config.verbs, args, now_ms(), &q->answer);
	end_work(s, &q->work, q->answer.class, q->answer.counts.n_unreached);
	if (q->answer.outside)
		name_outside(s, args, &q->answer);
	count_whole(s, args);
	return note_answer(s, &args->pod, &q->answer);
}

static enum result answer_prioritize(struct server *s, struct scheduler_request *q)
{
	begin_work(s, &q->work);
	extender_prioritize(&s->verdicts, &s->config.verbs, &q->args, &q->answer);
	end_work(s, &q->work, q->answer.class, q->answer.counts.n_unreached);
	return RESULT_PASSED;
}

static enum result answer_v1(struct server *s, struct scheduler_request *q)
{
	if (q->args.all_nodes) /* the request is for every node and names none */
		q->work.n_nodes = s->cluster.n_with_node;
	begin_work(s, &q->work);
	if (q->verb == VERB_CHOOSE)
		extender_choose(&s->verdicts, &s->config.verbs, &q->args, now_ms(), &q->answer);
	else
		extender_admit(&s->verdicts, &s->config.verbs, &q->args, now_ms(), &q->answer);
	end_work(s, &q->work, q->answer.class, q->answer.counts.n_unreached);
	return note_answer(s, &q->args.pod, &q->answer);
}

static enum result answer_forget(struct server *s, struct scheduler_request *q)
{
	extender_forget(&s->cluster, &q->args.pod);
	replica_note_scheduler(&s->replica, q->args.pod.scheduler);
	return RESULT_PASSED;
}

/* Notes whether the cached PodDisruptionBudgets are current. Logs once if they are not: administrators may not know that the right to
 * list them is missing. */
static void check_budgets(struct server *s)
{
	struct disruption_budgets *budgets = &s->cluster.budgets;

	budgets->outdated = !replica_is_current(&s->replica, OBJECT_PDB);
	if (!s->logged_budgets && !disruption_budgets_current(budgets))
		log_warning(
			"the PodDisruptionBudgets are not known: each victim that /preempt adds counts as a violation");
	s->logged_budgets = !disruption_budgets_current(budgets);
}

static enum result answer_preempt(struct server *s, struct scheduler_request *q)
{
	struct extender_preemption *args = &q->preemption;
	struct verb_counts *counts = &q->answer.counts;

	if (nominations_refuse_preemption(&s->nominations, args->pod.uid, now_ms()))
		return RESULT_UNSCHEDULABLE;
	q->answer.class = pod_classes_take(&s->cluster.classes, &args->pod.template.pod);
	check_budgets(s);
	begin_work(s, &q->work);
	extender_preempt(&s->verdicts, &s->config.verbs, args, q->answer.class, now_ms(), counts);
	end_work(s, &q->work, q->answer.class, counts->n_unreached);
	if (counts->settling)
		return RESULT_SETTLING;
	return counts->n_passing > 0 ? RESULT_PASSED : RESULT_UNSCHEDULABLE;
}

static enum result (*const answers[VERB_COUNT])(struct server *, struct scheduler_request *) = {
	[VERB_FILTER] = answer_filter,
	[VERB_PRIORITIZE] = answer_prioritize,
	[VERB_PREEMPT] = answer_preempt,
	[VERB_CHOOSE] = answer_v1,
	[VERB_ADMIT] = answer_v1,
	[VERB_FORGET] = answer_forget,
};

/* The answer while the cluster is stale and every node passes: with the same score, and with the scheduler's victims, unchanged. */
static enum result pass_all(struct scheduler_request *q)
{
	q->answer.passes_all = true;
	q->answer.failures = xcalloc(q->args.n_names + 1, sizeof(*q->answer.failures));
	q->answer.scores = xcalloc(q->args.n_names + 1, sizeof(*q->answer.scores));
	q->answer.counts.n_passing = q->preemption.n_items;
	return RESULT_STALE;
}

static int print(const struct scheduler_request *q, struct strbuf *reply)
{
	const struct verb_answer *answer = &q->answer;

	switch (q->verb) {
	case VERB_FILTER:
		return extender_filter_print(&q->args, answer->failures, reply);
	case VERB_PRIORITIZE:
		return extender_priorities_print(&q->args, answer->scores, reply);
	case VERB_PREEMPT:
		return extender_preemption_print(q->preemption.items, answer->counts.n_passing, reply);
	case VERB_CHOOSE:
		return v1_choose_print(&q->args, answer, reply);
	case VERB_ADMIT:
		return v1_admit_print(&q->args, answer, reply);
	case VERB_FORGET:
	case VERB_COUNT:
		break;
	}
	strbuf_addstr(reply, "{}");
	return strbuf_error(reply);
}

/* Waits for the deletion of the pod's victims, at most config.victims_ms, and releases the lock meanwhile. Such waits take at most a tenth of the
 * time: meanwhile the scheduler requests nothing for other pods, and victims may take long to end. */
static void wait_for_victims(struct server *s, const struct extender_args *args)
{
	int64_t begun_ms = clock_ms(CLOCK_MONOTONIC), until_ms = begun_ms + (int64_t)s->config.victims_ms,
		now;

	if (begun_ms < s->no_wait_until_ms)
		return;
	while (extender_has_victims(&s->cluster, args) && wait_until(s, &s->pods_changed, until_ms))
		;
	now = clock_ms(CLOCK_MONOTONIC);
	s->no_wait_until_ms = now + 9 * (now - begun_ms); /* no wait for nine times as long as this one */
}

#define SETTLING \
	"the pod's victims have ended on its nominated node, whose object does not report yet which other pods started before"

static enum result answer(struct server *s, struct scheduler_request *q, struct strbuf *reply)
{
	enum result result;
	LOCKED(s);

	if (q->verb == VERB_FILTER || q->verb == VERB_CHOOSE)
		wait_for_victims(s, &q->args);
	/* Again: the request may have waited for the lock. */
	if (decline(s, q->verb, reply, &result))
		return result;
	if (q->verb != VERB_FORGET && replica_passes_stale(&s->replica))
		result = pass_all(q);
	else
		result = answers[q->verb](s, q);
	if (result == RESULT_SETTLING)
		extender_error_print(SETTLING, reply);
	else if (print(q, reply) < 0)
		result = RESULT_FAILED;
	verb_answer_release(&q->answer, &s->cluster);
	return result;
}

/* The HTTP server itself answers RESULT_FORBIDDEN. */
static const int statuses[RESULT_COUNT + 1] = {
	[RESULT_ASSUMED] = HTTP_OK,
	[RESULT_PASSED] = HTTP_OK,
	[RESULT_UNSCHEDULABLE] = HTTP_OK,
	[RESULT_STALE] = HTTP_OK,
	[RESULT_FORWARDED] = 307,
	[RESULT_BAD] = 400,
	[RESULT_FAILED] = 500,
	[RESULT_SETTLING] = 503,
	[RESULT_UNAVAILABLE] = 503,
};

/* VERB_COUNT = there is no such path. */
static enum verb find_verb(const char *path)
{
	enum verb verb = 0;

	while (verb < VERB_COUNT && strcmp(path, verb_paths[verb]) != 0)
		verb++;
	return verb;
}

void server_forbidden(struct server *s, const char *path, const char *address, const char *problem)
{
	enum verb verb = find_verb(path);
	uint64_t n;
	LOCKED(s);

	if (verb == VERB_COUNT)
		return;
	request_counts_add(&s->requests, verb, RESULT_FORBIDDEN, 0);
	n = count_for_line(&s->forbidden_line);
	if (n > 0)
		log_warning(
			"refused %" PRIu64
			" request%s, the last one from %s, which has %s: the scheduler needs a client certificate of --tls-client-ca",
			n, n == 1 ? "" : "s", address, problem);
}

int server_post(struct server *s, const char *path, const char *body, size_t len, struct strbuf *reply)
{
	double begun = clock_s(CLOCK_MONOTONIC);
	CLEANUP(scheduler_request_release)
	struct scheduler_request q = {.work = {.begun_ns = work_now_ns()}};
	struct err err = {""};
	enum result result;

	q.verb = find_verb(path);
	if (q.verb == VERB_COUNT)
		return HTTP_NOT_FOUND;
	if (!decline(s, q.verb, reply, &result)) {
		q.arrival = atomic_fetch_add(&s->n_arrived, 1) + 1;
		result = parse_request(&q, body, len, &err) < 0 ? RESULT_BAD : answer(s, &q, reply);
		if (result == RESULT_BAD)
			print_error(q.verb, err.text, reply);
	}
	LOCKED(s);
	request_counts_add(&s->requests, q.verb, counted_as(result), clock_s(CLOCK_MONOTONIC) - begun);
	return statuses[result];
}

/* ---- metrics */

int server_metrics(struct server *s, struct metrics_source *from, struct strbuf *text)
{
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(1024);
	bool ready = replica_ready(&s->replica, &line);
	LOCKED(s);

	from->process = &s->process;
	from->requests = &s->requests;
	from->cluster = &s->cluster;
	from->skipped = s->skipped;
	from->ready = ready;
	from->silence_s = (double)replica_silence_ms(&s->replica) / 1000;
	from->lease = s->replica.lease;
	from->nominations = s->nominations.on ? &s->nominations.counts : NULL;
	metrics_print(from, text);
	return strbuf_error(text);
}

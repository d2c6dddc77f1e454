/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes one cluster (cluster/model/cluster.h) with a sequence of objects and scheduler requests.
 *
 * The input is a sequence of operations: a byte selects the operation, and the following bytes select names, amounts, phases and
 * annotations (tests/fuzz/objects.h). An operation can also contain an object as JSON, or a node state as text.
 */
#include "tests/fuzz/fuzz.h"

#include <errno.h>

#include "cluster/extender/api_v1.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/log.h"
#include "tests/fuzz/objects.h"

#define OBJECT_MAX     ((size_t)1 << 20)
#define REPLY_MAX      ((size_t)1 << 20)
#define OPERATIONS_MAX 100u /* further operations of an input are ignored */

static const struct cluster_config cluster_config = {
	.assume_ms = 60000, .rejection_ms = 30000, .namespace_assumed_max = 4, .keep_constraints = true};

#define LISTED 1u /* the resourceVersion of each list */

struct run {
	struct objects_input in;
	struct cluster cluster;
	struct verdicts verdicts;
	uint64_t now_ms;
	bool deleted[OBJECTS_UIDS]; /* the UID's last event was a deletion */
};

/* ---- invariants of the cluster */

static void check_pod(const struct node_info *node, const struct pod_info *pod)
{
	fuzz_require(pod->node == node && pod->uid && pod->name && pod->class && pod->class->users > 0);
	for (size_t i = 0; i < node->n_pods; i++)
		fuzz_require(node->pods[i] == pod || strcmp(node->pods[i]->uid, pod->uid) != 0);
}

/* Per resource of the Node, `requested` is the sum over the node's pods. */
static void check_requested(const struct node_info *node)
{
	for (size_t i = 0; i < node->allocatable.n_items; i++) {
		const char *name = node->allocatable.items[i].name;
		qty_t sum = 0;

		for (size_t k = 0; k < node->n_pods; k++)
			sum += resource_list_amount(&node->pods[k]->class->wanted, name);
		fuzz_require(resource_list_amount(&node->requested, name) == sum);
	}
}

static void check_cache(const struct run *run)
{
	const struct cluster *cluster = &run->cluster;
	size_t pods = 0, assumed = 0, nominated = 0, rejections = 0;

	for (size_t i = 0; i < cluster->n_nodes; i++) {
		const struct node_info *node = cluster->nodes[i];

		if (!node)
			continue;
		fuzz_require(node->slot == i && cluster_find_node(cluster, node->name) == node);
		fuzz_require(node->has_object || node->has_node || node->n_pods > 0);
		for (size_t k = 0; k < node->n_pods; k++) {
			check_pod(node, node->pods[k]);
			assumed += !node->pods[k]->bound && !node->pods[k]->is_reservation;
			pods += !node->pods[k]->is_reservation;
			nominated += node->pods[k]->is_reservation;
		}
		check_requested(node);
		rejections += node->n_rejections;
		fuzz_require(node->n_ended <= ENDED_PODS_MAX);
	}
	fuzz_require(pods == cluster->n_pods && assumed == cluster->n_assumed);
	fuzz_require(nominated == cluster->n_nominations);
	fuzz_require(cluster->classes.n <= pods + nominated + rejections + CLASSES_IDLE);
}

/* ---- requests */

static char *names[OBJECTS_NODES];

/* Each name in the reply is in the request, and at most once in the reply. */
static void check_reply(const struct strbuf *reply, size_t n_passing)
{
	CLEANUP(doc_release) struct doc doc = DOC_INIT;
	const struct doc *answered;
	size_t next = 0;

	fuzz_require(json_parse(reply->text, reply->len, &doc, NULL) == 0);
	answered = doc_get(&doc, "NodeNames");
	fuzz_require(answered && answered->n_items == n_passing);
	DOC_FOREACH (name, answered) {
		while (next < OBJECTS_NODES && strcmp(names[next], doc_string(name)) != 0)
			next++;
		fuzz_require(next++ < OBJECTS_NODES);
	}
}

static const struct pod_info *find_assumed(const struct cluster *cluster, const char *uid)
{
	for (size_t i = 0; i < cluster->n_nodes; i++)
		for (size_t k = 0; cluster->nodes[i] && k < cluster->nodes[i]->n_pods; k++)
			if (!cluster->nodes[i]->pods[k]->bound &&
				!strcmp(cluster->nodes[i]->pods[k]->uid, uid))
				return cluster->nodes[i]->pods[k];
	return NULL;
}

/* The pod is assumed on the answer's node or nowhere, and a deleted pod is not assumed. */
static void check_assumed(const struct run *run, const struct extender_pod *pod, const struct verb_answer *a)
{
	const struct cluster *cluster = &run->cluster;
	const struct pod_info *assumed = find_assumed(cluster, pod->uid);
	unsigned uid;
	char behind;

	if (!assumed || !a->class->aligned)
		return;
	fuzz_require(a->counts.assumed_node && !strcmp(assumed->node->name, a->counts.assumed_node));
	if (sscanf(pod->uid, "uid-%u%c", &uid, &behind) == 1 && uid < OBJECTS_UIDS)
		fuzz_require(!run->deleted[uid] || pod->version > cluster->pending.version);
}

static void ask_filter(struct run *run, const struct verb_config *config, struct extender_args *args)
{
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(REPLY_MAX);
	struct verb_answer a = {0};
	size_t passing = 0;

	extender_filter(&run->verdicts, config, args, run->now_ms, &a);
	for (size_t i = 0; i < args->n_names; i++)
		passing += !a.failures[i].reason;
	fuzz_require(passing == a.counts.n_passing && a.counts.n_nodes == args->n_names);
	fuzz_require(extender_filter_print(args, a.failures, &reply) == 0);
	check_reply(&reply, passing);
	check_assumed(run, &args->pod, &a);
	verb_answer_release(&a, &run->cluster);
}

static void ask_prioritize(struct run *run, const struct verb_config *config, struct extender_args *args)
{
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(REPLY_MAX);
	CLEANUP(doc_release) struct doc doc = DOC_INIT;
	struct verb_answer a = {0};

	extender_prioritize(&run->verdicts, config, args, &a);
	for (size_t i = 0; i < args->n_names; i++)
		fuzz_require(a.scores[i] >= 0 && a.scores[i] <= EXTENDER_SCORE_MAX);
	fuzz_require(extender_priorities_print(args, a.scores, &reply) == 0 &&
		     json_parse(reply.text, reply.len, &doc, NULL) == 0 && doc.n_items == args->n_names);
	verb_answer_release(&a, &run->cluster);
}

static void parse_v1(const struct strbuf *text, uint64_t version, struct extender_args *ret)
{
	struct err err = {""};

	*ret = (struct extender_args){0};
	fuzz_require(extender_v1_parse(text->text, text->len, V1_NODES | V1_CHOICE, ret, &err) == 0);
	ret->pod.version = version;
}

/* /v1/choose returns nodes that pass /v1/admit: if nodes with an unknown verdict do not pass, as many as the limit allows. */
static void ask_v1(
	struct run *run, const struct verb_config *config, const struct strbuf *text, uint64_t version)
{
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(REPLY_MAX);
	struct verb_answer chosen = {0}, admitted = {0};
	CLEANUP(extender_args_release) struct extender_args args = {0};
	size_t limit;

	parse_v1(text, version, &args);
	extender_admit(&run->verdicts, config, &args, run->now_ms, &admitted);
	fuzz_require(v1_admit_print(&args, &admitted, &reply) == 0 && !admitted.counts.assumed_node);
	check_cache(run);
	extender_args_release(&args);
	parse_v1(text, version, &args);
	limit = args.limit;
	extender_choose(&run->verdicts, config, &args, run->now_ms, &chosen);
	fuzz_require(v1_choose_print(&args, &chosen, &reply) == 0 && chosen.n_chosen <= limit);
	fuzz_require(chosen.passes_all == admitted.passes_all);
	for (size_t i = 0; i < chosen.n_chosen && !args.all_nodes; i++)
		fuzz_require(!admitted.failures[chosen.chosen[i]].reason);
	if (!config->pass_unknown && !args.assume && !args.all_nodes && !chosen.passes_all)
		fuzz_require(chosen.n_chosen ==
			     (admitted.counts.n_passing < limit ? admitted.counts.n_passing : limit));
	check_assumed(run, &args.pod, &chosen);
	check_cache(run);
	verb_answer_release(&admitted, &run->cluster);
	verb_answer_release(&chosen, &run->cluster);
	if (config->all)
		extender_forget(&run->cluster, &args.pod);
	fuzz_require(!config->all || !find_assumed(&run->cluster, args.pod.uid));
}

/* Each victim is a pod of the node with a lower priority, or a victim of the request. */
static void check_victims(const struct cluster *cluster, const struct extender_victims *v, int32_t priority)
{
	const struct node_info *node = cluster_find_node(cluster, v->node);

	fuzz_require(v->pdb_violations >= 0 && (size_t)v->pdb_violations <= v->n_uids);
	for (size_t i = 0; i < v->n_uids; i++) {
		bool known = !strcmp(v->uids[i], "uid-0");

		for (size_t k = 0; node && k < node->n_pods && !known; k++)
			known = !strcmp(node->pods[k]->uid, v->uids[i]) && node->pods[k]->priority < priority;
		fuzz_require(known);
	}
}

static void ask_preempt(struct run *run, const struct verb_config *config, const char *pod)
{
	CLEANUP(extender_preemption_release) struct extender_preemption args = {0};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(OBJECT_MAX);
	CLEANUP(strbuf_release) struct strbuf reply = STRBUF_INIT(REPLY_MAX);
	CLEANUP(doc_release) struct doc doc = DOC_INIT;
	struct verb_counts counts = {0};
	struct pod_class *class;
	bool aligned;

	strbuf_addf(&text, "{\"Pod\":%s,\"NodeNameToMetaVictims\":{", pod);
	for (size_t i = 0; i < OBJECTS_NODES; i++)
		strbuf_addf(&text, "%s\"%s\":{\"Pods\":[%s]}", i > 0 ? "," : "", names[i],
			i % 2 ? "{\"UID\":\"uid-0\"}" : "");
	strbuf_addstr(&text, "}}");
	if (extender_preemption_parse(text.text, text.len, &args, NULL) < 0)
		return;
	class = pod_classes_take(&run->cluster.classes, &args.pod.template.pod);
	aligned = class->aligned;
	extender_preempt(&run->verdicts, config, &args, class, run->now_ms, &counts);
	pod_classes_drop(&run->cluster.classes, class);
	fuzz_require(counts.n_passing <= args.n_items && args.n_items == OBJECTS_NODES);
	for (size_t i = 0; i < counts.n_passing; i++) {
		fuzz_require(!aligned || args.items[i].n_uids > 0);
		check_victims(&run->cluster, &args.items[i], args.pod.priority);
	}
	fuzz_require(extender_preemption_print(args.items, counts.n_passing, &reply) == 0 &&
		     json_parse(reply.text, reply.len, &doc, NULL) == 0);
}

/* Sends all requests for a pod of the input. */
static void ask(struct run *run)
{
	CLEANUP(strbuf_release) struct strbuf pod = STRBUF_INIT(OBJECT_MAX);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(OBJECT_MAX);
	CLEANUP(extender_args_release) struct extender_args args = {0};
	uint8_t how = objects_take(&run->in), uid = how % OBJECTS_UIDS;
	const struct verb_config config = {.strategy = objects_take(&run->in) % (VERB_STRATEGY_VOLCANO + 1),
		.all = how & 8,
		.pass_unknown = how & 16};
	struct err err = {""};

	objects_pod(&run->in, &pod, uid);
	strbuf_addf(&text, "{\"Pod\":%s,\"NodeNames\":[", pod.text);
	for (size_t i = 0; i < OBJECTS_NODES; i++)
		strbuf_addf(&text, "%s\"%s\"", i > 0 ? "," : "", names[i]);
	strbuf_addstr(&text, "]}");
	fuzz_require(strbuf_error(&text) == 0);
	if (extender_args_parse(text.text, text.len, &args, &err) < 0) {
		fuzz_check_line(err.text);
		return;
	}
	/* Each request consumes `args`, which is parsed again. */
	ask_prioritize(run, &config, &args);
	check_cache(run);
	extender_args_release(&args);
	args = (struct extender_args){0};
	fuzz_require(extender_args_parse(text.text, text.len, &args, &err) == 0);
	args.pod.version = how & 64 ? LISTED : LISTED + 1;
	ask_filter(run, &config, &args);
	check_cache(run);
	if (how & 32)
		ask_preempt(run, &config, pod.text);
	check_cache(run);
	strbuf_reset(&text);
	strbuf_addf(&text, "{\"pod\":%s,\"limit\":%u,\"assume\":%s", pod.text, 1u + how % 3,
		how & 64 ? "true" : "false");
	if (how & 128)
		strbuf_addf(&text, ",\"nodeNames\":[\"%s\",\"%s\"]", names[0], names[1]);
	strbuf_addch(&text, '}');
	ask_v1(run, &config, &text, how & 32 ? LISTED : LISTED + 1);
}

/* ---- operations */

/* As in the extender, an object is parsed JSON. */
static void deliver(struct run *run, enum object_kind kind, const struct strbuf *text, bool deleted)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	struct err err = {""};
	int r = 0;

	if (strbuf_error(text) < 0 || json_parse(text->text, text->len, &object, NULL) < 0)
		return;
	if (deleted)
		cluster_delete(&run->cluster, kind, &object, run->now_ms);
	else
		r = cluster_update(&run->cluster, kind, &object, run->now_ms, &err);
	fuzz_require(r == 0 || r == -EINVAL || r == -ERANGE);
	if (r < 0)
		fuzz_check_line(err.text);
}

static void change(struct run *run, enum object_kind kind, bool deleted)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(OBJECT_MAX);
	uint8_t who = objects_take(&run->in);

	if (kind == OBJECT_POD) {
		objects_pod(&run->in, &text, who % OBJECTS_UIDS);
		run->deleted[who % OBJECTS_UIDS] = deleted;
	} else if (kind == OBJECT_NODE) {
		objects_node(&run->in, &text, objects_node_name(who));
	} else if (kind == OBJECT_PDB) {
		objects_pdb(&run->in, &text, who);
	} else {
		objects_nrt(&run->in, &text, objects_node_name(who));
	}
	deliver(run, kind, &text, deleted);
}

/* An object from the input: its length, then its JSON. */
static void change_raw(struct run *run)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(OBJECT_MAX);
	uint8_t how = objects_take(&run->in);
	size_t len = objects_take(&run->in), left;

	len = len << 8 | objects_take(&run->in);
	left = (size_t)(run->in.end - run->in.at);
	len = len < left ? len : left;
	strbuf_add(&text, (const char *)run->in.at, len);
	run->in.at += len;
	deliver(run, how % CLUSTER_KINDS, &text, how & 4);
	/* The object may have any UID. */
	if (!(how & 4))
		memset(run->deleted, 0, sizeof(run->deleted));
}

static void operate(struct run *run)
{
	uint8_t operation = objects_take(&run->in);
	enum object_kind kind = operation / 16 % CLUSTER_KINDS;

	switch (operation % 16) {
	case 0:
		cluster_list_begin(&run->cluster, kind);
		break;
	case 1:
		cluster_list_end(&run->cluster, kind, LISTED, run->now_ms);
		break;
	case 2:
		run->now_ms += (uint64_t)objects_take(&run->in) * 500;
		cluster_expire(&run->cluster, run->now_ms);
		break;
	case 3:
		change_raw(run);
		break;
	case 4:
	case 5:
	case 6:
		change(run, kind, true);
		break;
	default:
		change(run, kind, false);
	}
	check_cache(run);
}

/* After empty lists the cache is empty. */
static void check_end(struct run *run)
{
	for (enum object_kind kind = 0; kind < CLUSTER_KINDS; kind++) {
		cluster_list_begin(&run->cluster, kind);
		cluster_list_end(&run->cluster, kind, LISTED, run->now_ms);
		check_cache(run);
	}
	cluster_expire(&run->cluster, run->now_ms + cluster_config.assume_ms + cluster_config.rejection_ms);
	fuzz_require(run->cluster.n_pods == 0 && run->cluster.n_assumed == 0);
	for (size_t i = 0; i < run->cluster.n_nodes; i++)
		fuzz_require(!run->cluster.nodes[i]);
	fuzz_require(run->cluster.classes.n <= CLASSES_IDLE);
	fuzz_require(run->cluster.budgets.by_namespace.n == 0);
}

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct run run = {.in = {data, data + size}};

	log_set_level(LOG_LEVEL_ERROR);
	for (size_t i = 0; i < OBJECTS_NODES; i++)
		names[i] = (char *)(uintptr_t)objects_node_name((uint8_t)i);
	cluster_init(&run.cluster, &cluster_config);
	verdicts_init(&run.verdicts, &run.cluster);
	cluster_list_begin(&run.cluster, OBJECT_POD);
	cluster_list_end(&run.cluster, OBJECT_POD, LISTED, 0);
	for (unsigned i = 0; i < OPERATIONS_MAX && run.in.at < run.in.end; i++) {
		operate(&run);
		ask(&run);
	}
	check_end(&run);
	verdicts_release(&run.verdicts);
	cluster_release(&run.cluster);
}

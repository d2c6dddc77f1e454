/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers /filter, /prioritize, /v1/choose and /v1/admit: judges nodes, and finds and assumes the best node.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/constraints/scheduling_constraints.h"
#include "cluster/extender/verbs.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define NO_NODE "the extender knows no Node or NodeResourceTopology object of this name"
#define OTHER_POLICY \
	"the node's topology manager policy is not the one in the pod's annotation volcano.sh/numa-topology-policy"
#define NOT_BEST "the extender chose another node"
#define OUTDATED "a newer request for this pod has been answered already"
#define EXCLUDED "the Node's taints, cordon, readiness, labels or amounts exclude the pod"
#define NAMESPACE_FULL \
	"the pod's namespace has reached the limit of assumed pods: pods that have a node and are not bound yet"

/* A node that is judged. */
struct candidate {
	struct node_info *node; /* NULL = not in the cluster */
	const struct verdict
		*verdict; /* NULL if `node` is NULL, or if the pod's Volcano policy excludes the node */
	size_t index;     /* in verb_answer.nodes */
	bool reserved;    /* the node has a reservation that the pod may use */
};

/* Judges the nodes of an answer, and finds the best nodes that admit the pod. */
struct search {
	struct verdicts *verdicts;
	const struct verb_config *config;
	const struct extender_pod *pod;
	struct verb_answer *answer;
	bool all; /* as verb_config.all: each node that admits the pod is to be found */
	const struct doc *
		object; /* the Pod, whose constraints and amounts the best nodes must satisfy; NULL = the scheduler has checked them */
	bool *unknown;  /* per node: the verdict is unknown */
	struct candidate *best; /* the best first: at most `limit`, which is at least 1 */
	size_t n_best, limit;
	/* Nodes that have not been judged yet: `verdict` is an upper bound. A list, then a heap (next_bounded()). */
	struct candidate *bounded;
	size_t n_bounded, bounded_size;
	unsigned n_taken; /* from `bounded` */
	/* Nodes that must be projected. They are judged last, so that costly projections leave time for all other nodes. */
	struct candidate *disturbed;
	size_t n_disturbed, disturbed_size;
};

void verb_answer_release(struct verb_answer *a, struct cluster *cluster)
{
	free(a->failures);
	free(a->scores);
	free(a->nodes);
	free(a->chosen);
	free(a->outside_reason);
	pod_classes_drop(&cluster->classes, a->class);
	*a = (struct verb_answer){0};
}

static void search_release(struct search *s)
{
	free(s->unknown);
	free(s->best);
	free(s->bounded);
	free(s->disturbed);
}

/* Prepares the answer for at most `n_nodes` nodes. The caller sets `all` and `limit` (with the size of `best`) if they differ from false and 1. */
static void search_init(struct search *s, struct verdicts *verdicts, const struct verb_config *config,
	const struct extender_pod *pod, size_t n_nodes, struct verb_answer *answer)
{
	*s = (struct search){.verdicts = verdicts,
		.config = config,
		.pod = pod,
		.answer = answer,
		.unknown = xcalloc(n_nodes + 1, sizeof(*s->unknown)),
		.best = xcalloc(1, sizeof(*s->best)),
		.limit = 1};
	answer->failures = xcalloc(n_nodes + 1, sizeof(*answer->failures));
	answer->scores = xcalloc(n_nodes + 1, sizeof(*answer->scores));
	answer->nodes = xcalloc(n_nodes + 1, sizeof(struct node_info *));
}

/* Adds the Nodes that are not in `requested` (by slot; NULL = no such nodes), and that are not refused. A cluster without any Node, from a
 * file, has the nodes of its NodeResourceTopology objects instead. */
static void add_nodes(const struct cluster *cluster, const bool *requested, const struct strv *refused,
	struct verb_answer *answer)
{
	for (size_t i = 0; i < cluster->n_nodes; i++) {
		struct node_info *node = cluster->nodes[i];

		if (!node || (requested && requested[i]) || strv_contains(refused, node->name))
			continue;
		if (node->has_node || (cluster->n_with_node == 0 && node->has_object))
			answer->nodes[answer->counts.n_nodes++] = node;
	}
}

/* Prepares `answer`, without nodes; the pod's requests move to answer->class. */
static void search_begin(struct search *s, struct verdicts *verdicts, const struct verb_config *config,
	struct extender_args *args, struct verb_answer *answer)
{
	size_t n_nodes = args->all_nodes ? verdicts->cluster->n_nodes : args->n_names;

	search_init(s, verdicts, config, &args->pod, n_nodes, answer);
	answer->class = pod_classes_take(&verdicts->cluster->classes, &args->pod.template.pod);
}

/* Adds the nodes of the request. They are valid until a Node, an object or a pod of the cluster is removed. */
static void add_requested_nodes(
	const struct cluster *cluster, const struct extender_args *args, struct verb_answer *answer)
{
	if (args->all_nodes)
		add_nodes(cluster, NULL, &args->refused, answer);
	for (size_t i = 0; i < args->n_names; i++)
		answer->nodes[answer->counts.n_nodes++] = cluster_find_node(cluster, args->names[i]);
}

static enum strategy strategy_of(const struct verb_config *config)
{
	return config->strategy == VERB_STRATEGY_VOLCANO ? STRATEGY_LEAST_NUMA_NODES
							 : (enum strategy)config->strategy;
}

/* Volcano places a pod that names a policy only on nodes of that policy. */
static bool volcano_excludes(
	const struct verb_config *config, const struct extender_pod *pod, const struct node_info *node)
{
	enum topology_manager_policy policy = pod->template.volcano_policy;

	return config->strategy == VERB_STRATEGY_VOLCANO && policy != TOPOLOGY_MANAGER_UNKNOWN &&
	       policy != TOPOLOGY_MANAGER_NONE && node->has_object &&
	       node->object.state.inventory.topology.policy != policy;
}

/* ---- the best nodes */

static bool is_better(const struct candidate *a, const struct candidate *b)
{
	if (a->reserved != b->reserved)
		return a->reserved;
	return verdict_is_better(a->verdict, a->node->name, b->verdict, b->node->name);
}

/* Whether a constraint of kube-scheduler or the Node's amounts exclude the pod from the node. */
static bool is_excluded(const struct search *s, const struct node_info *node)
{
	CLEANUP(freep) char *violation = NULL;

	if (!s->object || !node->has_node)
		return false;
	violation = scheduling_constraints_of_node(s->object, &node->constraints, false);
	return *violation || !verdict_has_amounts(node, s->answer->class) ||
	       verdict_lacks(s->verdicts->cluster, s->answer->class, node);
}

/* Whether the candidate, which may be bounded, is better than the last of the best nodes, or there are fewer than the limit. */
static bool may_be_best(const struct search *s, const struct candidate *candidate)
{
	return s->n_best < s->limit || is_better(candidate, &s->best[s->n_best - 1]);
}

static void add_best(struct search *s, const struct candidate *candidate)
{
	size_t at = s->n_best < s->limit ? s->n_best++ : s->n_best - 1;

	for (; at > 0 && is_better(candidate, &s->best[at - 1]); at--)
		s->best[at] = s->best[at - 1];
	s->best[at] = *candidate;
}

/*
 * Makes an admitting candidate one of the best nodes if it is better than the last of them. verdict_confirm() costs more than a
 * verdict, so only candidates that may be among the best are confirmed, unless all nodes are to be found.
 */
static void compare_with_best(struct search *s, struct candidate *candidate)
{
	struct verb_answer *answer = s->answer;
	bool is_best = may_be_best(s, candidate);

	if (is_best || s->all)
		candidate->verdict = verdict_confirm(s->verdicts, answer->class, candidate->node);
	if (candidate->verdict->answer != KUBELET_ADMITS) {
		answer->failures[candidate->index].reason = candidate->verdict->reason;
		return;
	}
	if (is_best && is_excluded(s, candidate->node)) {
		answer->failures[candidate->index].reason = EXCLUDED;
		return;
	}
	answer->counts.n_admitting++;
	answer->counts.n_aligning += candidate->verdict->numa_nodes > 0;
	answer->scores[candidate->index] = candidate->verdict->score * EXTENDER_SCORE_MAX / 100;
	if (is_best)
		add_best(s, candidate);
}

/* ---- judging */

static const struct verdict *judge(const struct search *s, const struct candidate *candidate)
{
	return verdict_of(s->verdicts, s->answer->class, candidate->node, strategy_of(s->config));
}

/* Counts a candidate that has been judged, or that needs no verdict. */
static void finish_candidate(struct search *s, struct candidate *candidate)
{
	const struct verdict *v = candidate->verdict;
	const char **reason = &s->answer->failures[candidate->index].reason;
	struct verb_counts *counts = &s->answer->counts;
	bool is_unreached = v && v->unreached;
	/* A node that was not judged before the work limit does not pass by --unknown=pass. */
	bool is_unknown = !candidate->node || (v && v->answer == KUBELET_UNKNOWN && !is_unreached);

	s->unknown[candidate->index] = is_unknown;
	counts->n_unknown += is_unknown;
	if (v && v->answer != KUBELET_ADMITS)
		*reason = v->reason;
	if (!*reason)
		compare_with_best(s, candidate);
	/* compare_with_best() may have changed candidate->verdict. */
	counts->n_unreached += candidate->verdict && candidate->verdict->unreached;
	counts->n_slow += candidate->verdict && candidate->verdict->too_slow;
}

/* Moves the element down to its place, so that no element is better than its parent. The elements below `at` are in order. */
static void sift_down(struct candidate *heap, size_t n, size_t at)
{
	for (size_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
		struct candidate moved = heap[at];

		if (child + 1 < n && is_better(&heap[child + 1], &heap[child]))
			child++;
		if (!is_better(&heap[child], &moved))
			return;
		heap[at] = heap[child];
		heap[child] = moved;
		at = child;
	}
}

/* Whether the node of the bound may be among the best, or may be the first whose kubelet aligns the pod: then nodes with an unknown verdict do not
 * pass. */
static bool must_be_judged(const struct search *s, const struct candidate *bounded)
{
	return may_be_best(s, bounded) || s->best[0].verdict->numa_nodes == 0;
}

/* Drops the bounded candidates that cannot be among the best, and moves the highest bound to the first place. */
static void keep_possible(struct search *s)
{
	struct candidate *list = s->bounded;
	size_t n = 0, first = 0;

	for (size_t i = 0; i < s->n_bounded; i++) {
		if (!must_be_judged(s, &list[i]))
			continue;
		list[n] = list[i];
		if (n > 0 && is_better(&list[n], &list[first]))
			first = n;
		n++;
	}
	s->n_bounded = n;
	if (first > 0) {
		struct candidate moved = list[0];

		list[0] = list[first];
		list[first] = moved;
	}
}

/* Most requests judge few nodes: a list is searched so often before it becomes a heap. */
#define LIST_SEARCHES 4u

/* Takes the candidate with the highest bound. False if no bounded candidate can be among the best: nodes that do not pass because other
 * nodes are better need no reason. */
static bool next_bounded(struct search *s, struct candidate *ret)
{
	struct candidate *heap = s->bounded;

	if (s->n_taken <= LIST_SEARCHES)
		keep_possible(s);
	if (s->n_taken == LIST_SEARCHES) /* the list becomes a heap */
		for (size_t i = s->n_bounded / 2; i-- > 0;)
			sift_down(heap, s->n_bounded, i);
	if (s->n_bounded == 0 || !must_be_judged(s, &heap[0]))
		return false;
	*ret = heap[0];
	heap[0] = heap[--s->n_bounded];
	if (s->n_taken >= LIST_SEARCHES)
		sift_down(heap, s->n_bounded, 0);
	s->n_taken++;
	s->answer->counts.n_bounded--;
	return true;
}

/* Whether verdict_of() would have to compute what pods will hold. */
static bool is_disturbed(const struct node_info *node)
{
	return project_node_possible(node) && !project_node_changes_nothing(node);
}

/* Sets candidate->verdict to a verdict or, if the best nodes suffice, to an upper bound; or the reason of a node that needs none. False for a
 * disturbed node whose verdict is not cached. */
static bool begin_candidate(struct search *s, bool only_best, struct candidate *candidate)
{
	struct extender_failure *failure = &s->answer->failures[candidate->index];

	*failure = (struct extender_failure){NULL, false};
	if (!candidate->node) {
		failure->reason = NO_NODE;
		return true;
	}
	if (volcano_excludes(s->config, s->pod, candidate->node)) {
		*failure = (struct extender_failure){OTHER_POLICY, true};
		return true;
	}
	candidate->reserved = cluster_has_usable_reservation(candidate->node);
	candidate->verdict = verdict_at_hand(
		s->verdicts, s->answer->class, candidate->node, strategy_of(s->config), only_best);
	if (!candidate->verdict && is_disturbed(candidate->node))
		return false;
	if (!candidate->verdict)
		candidate->verdict = judge(s, candidate);
	return true;
}

static void push_candidate(
	struct candidate **list, size_t *n, size_t *size, const struct candidate *candidate)
{
	*(struct candidate *)vec_push(list, n, size, sizeof(*candidate)) = *candidate;
}

/*
 * Writes the verdict and the score of each node to the answer, and finds the best nodes. With `only_best`, judges only the nodes that may
 * be among them. A node with a cached verdict is finished at once; one with an upper bound waits until the bounds are known, and is judged
 * if its bound is still good enough; one that must be projected comes last.
 */
static void judge_nodes(struct search *s, bool only_best)
{
	struct verb_answer *answer = s->answer;
	struct candidate candidate;

	for (size_t i = 0; i < answer->counts.n_nodes; i++) {
		candidate = (struct candidate){.node = answer->nodes[i], .index = i};
		if (!begin_candidate(s, only_best, &candidate)) {
			push_candidate(&s->disturbed, &s->n_disturbed, &s->disturbed_size, &candidate);
		} else if (!candidate.verdict || !candidate.verdict->is_bound) {
			finish_candidate(s, &candidate);
		} else {
			answer->counts.n_bounded++;
			if (must_be_judged(s, &candidate))
				push_candidate(&s->bounded, &s->n_bounded, &s->bounded_size, &candidate);
		}
	}
	while (next_bounded(s, &candidate)) {
		candidate.verdict = judge(s, &candidate);
		finish_candidate(s, &candidate);
	}
	for (size_t i = 0; i < s->n_disturbed; i++) {
		s->disturbed[i].verdict = judge(s, &s->disturbed[i]);
		finish_candidate(s, &s->disturbed[i]);
	}
}

/* ---- /filter */

/* With --unknown=pass: nodes with an unknown verdict pass, unless a kubelet aligns the pod and only the best node is wanted. */
static void pass_unknown(const struct search *s)
{
	struct verb_answer *answer = s->answer;

	if (!s->config->pass_unknown || (answer->counts.n_aligning > 0 && !s->all))
		return;
	for (size_t i = 0; i < answer->counts.n_nodes; i++)
		if (s->unknown[i])
			answer->failures[i].reason = NULL;
}

/*
 * Whether only the best node passes and the pod is assumed there: if a kubelet aligns the pod, or if no other node
 * passes (the node may then assign devices without NUMA affinity). If several nodes pass and none aligns the pod, the
 * scheduler chooses.
 */
static bool passes_only_best(const struct search *s)
{
	const struct verb_answer *a = s->answer;

	if (a->counts.n_aligning > 0)
		return true;
	if (s->n_best == 0)
		return false;
	return s->best[0].reserved || (!a->failures[s->best[0].index].reason && a->counts.n_passing == 1);
}

static void reject_all(struct verb_answer *answer, const char *reason)
{
	for (size_t i = 0; i < answer->counts.n_nodes; i++)
		answer->failures[i].reason = reason;
	answer->counts.n_passing = 0;
}

static void pass_best(struct verb_answer *answer, const struct candidate *best)
{
	for (size_t i = 0; i < answer->counts.n_nodes; i++)
		if (i != best->index && !answer->failures[i].reason)
			answer->failures[i].reason = NOT_BEST;
	answer->counts.n_passing = 1;
}

/* The pod's node, on which it is assumed now; NULL = the pod is bound already, or known to be deleted. */
static const char *assume_pod(const struct search *s, struct node_info *node, uint64_t now_ms)
{
	const struct extender_pod *pod = s->pod;
	const struct assume_request request = {.uid = pod->uid,
		.namespace = pod->namespace,
		.name = pod->name,
		.class = s->answer->class,
		.priority = pod->priority,
		.resource_version = pod->version,
		.arrival = pod->arrival,
		.has_volumes = pod->has_volumes,
		.gang = pod->gang};
	const struct pod_info *assumed =
		project_assume_pod(&s->verdicts->projections, &request, node, now_ms);

	return assumed ? assumed->node->name : NULL;
}

/* No node passes. */
static void mark_unresolvable(const struct search *s)
{
	struct verb_answer *answer = s->answer;
	unsigned n_tested = 0;

	for (size_t i = 0; i < answer->counts.n_nodes; i++)
		if (answer->nodes[i] &&
			verdict_is_unresolvable(s->verdicts, answer->nodes[i], answer->class, &n_tested))
			answer->failures[i].unresolvable = true;
}

static bool namespace_is_full(const struct search *s)
{
	return cluster_namespace_is_full(s->verdicts->cluster, s->pod->namespace, s->pod->uid);
}

/* ---- nodes that are not in the request */

/* Adds nodes with an unknown verdict to the best nodes, behind all others. */
static void add_unknown(struct search *s)
{
	const struct verb_answer *answer = s->answer;

	if (!s->config->pass_unknown || answer->counts.n_aligning > 0)
		return;
	for (size_t i = 0; s->n_best < s->limit && i < answer->counts.n_nodes; i++)
		if (s->unknown[i] && !(s->object && is_excluded(s, answer->nodes[i])))
			s->best[s->n_best++] = (struct candidate){.node = answer->nodes[i], .index = i};
}

/* Finds the best nodes of the answer. With `text`, a Pod as JSON, constraints and amounts of the Nodes must allow the pod. */
static void find_best(struct search *s, const struct json_piece *text)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;

	if (text && json_parse(text->text, text->len, &object, NULL) < 0)
		return;
	s->object = text ? &object : NULL;
	judge_nodes(s, true);
	add_unknown(s);
	s->object = NULL; /* `object` ends with this function */
}

/* Whether the node's kubelet is known to admit the pod. */
static bool admits(const struct candidate *c)
{
	return c->verdict && c->verdict->answer == KUBELET_ADMITS;
}

/* As verb_answer.outside. `sample`: the search of the requested nodes. *ret_admits: the node's kubelet is known to admit the pod. */
static struct node_info *find_outside(
	const struct search *sample, const struct extender_args *args, bool *ret_admits)
{
	const struct cluster *cluster = sample->verdicts->cluster;
	CLEANUP(freep) bool *requested = xcalloc(cluster->n_nodes + 1, sizeof(*requested));
	CLEANUP(search_release) struct search s = {0};
	struct verb_answer outside = {.class = sample->answer->class};
	struct node_info *found;

	for (size_t i = 0; i < sample->answer->counts.n_nodes; i++)
		if (sample->answer->nodes[i])
			requested[sample->answer->nodes[i]->slot] = true;
	search_init(&s, sample->verdicts, sample->config, sample->pod, cluster->n_nodes, &outside);
	add_nodes(cluster, requested, &args->refused, &outside);
	find_best(&s, &args->pod_text);
	found = s.n_best > 0 ? s.best[0].node : NULL;
	*ret_admits = found && admits(&s.best[0]);
	outside.class = NULL; /* a reference of `sample` */
	verb_answer_release(&outside, sample->verdicts->cluster);
	return found;
}

static void choose_outside(const struct search *s, const struct extender_args *args, uint64_t now_ms)
{
	bool is_admitted;

	if (!args->search_outside || namespace_is_full(s))
		return;
	s->answer->outside = find_outside(s, args, &is_admitted);
	if (s->answer->outside && is_admitted)
		assume_pod(s, s->answer->outside, now_ms);
}

static void count_passing(struct verb_answer *answer)
{
	for (size_t i = 0; i < answer->counts.n_nodes; i++)
		answer->counts.n_passing += !answer->failures[i].reason;
}

static void hide_reverted(
	struct cluster *cluster, const struct extender_pod *pod, const struct verb_answer *answer)
{
	for (size_t i = 0; *pod->gang && i < answer->counts.n_nodes; i++)
		if (answer->nodes[i])
			cluster_hide_reverted(cluster, pod->namespace, pod->gang, answer->nodes[i]);
}

bool extender_is_outdated(const struct cluster *cluster, const struct extender_pod *pod)
{
	const struct pod_info *cached = cluster_find_pod(cluster, pod->uid);

	return cached && !cached->bound && cached->arrival > pod->arrival;
}

static bool requests_node(const struct extender_args *args, const char *name)
{
	for (size_t i = 0; i < args->n_names && !args->all_nodes; i++)
		if (!strcmp(args->names[i], name))
			return true;
	return args->all_nodes;
}

bool extender_has_victims(const struct cluster *cluster, const struct extender_args *args)
{
	const struct node_info *node =
		*args->pod.nominated ? cluster_find_node(cluster, args->pod.nominated) : NULL;

	if (!node || !requests_node(args, node->name))
		return false;
	for (size_t i = 0; i < node->n_pods; i++) {
		const struct pod_info *pod = node->pods[i];

		if (pod->terminating && pod->priority < args->pod.priority && pod_info_is_managed(pod))
			return true;
	}
	return false;
}

/* Begins the request of a pod that kubelets align. False: every node has its answer already. */
static bool begin_request(struct search *s, struct verdicts *verdicts, const struct verb_config *config,
	struct extender_args *args, uint64_t now_ms, struct verb_answer *ret)
{
	struct cluster *cluster = verdicts->cluster;
	bool outdated = extender_is_outdated(cluster, &args->pod);

	search_begin(s, verdicts, config, args, ret);
	ret->passes_all = !ret->class->aligned;
	/* This can remove the last pod of a deleted Node, which ends with it. */
	if (!ret->passes_all && !outdated)
		cluster_begin_request(cluster, args->pod.namespace, args->pod.gang, args->pod.uid, now_ms);
	add_requested_nodes(cluster, args, ret);
	if (ret->passes_all) {
		ret->counts.n_admitting = ret->counts.n_passing = ret->counts.n_nodes;
		return false;
	}
	if (outdated) {
		reject_all(ret, OUTDATED);
		return false;
	}
	hide_reverted(cluster, &args->pod, ret);
	hide_for(cluster, &args->pod, ret->class);
	return true;
}

static void end_request(struct cluster *cluster, const struct extender_pod *pod)
{
	cluster_end_request(cluster, pod->namespace, pod->gang, pod->uid);
}

void extender_filter(struct verdicts *verdicts, const struct verb_config *config, struct extender_args *args,
	uint64_t now_ms, struct verb_answer *ret)
{
	CLEANUP(search_release) struct search s = {0};

	if (!begin_request(&s, verdicts, config, args, now_ms, ret))
		return;
	s.all = config->all; /* then a request of one node is about the node that the scheduler has chosen */
	judge_nodes(&s, !s.all);
	pass_unknown(&s);
	count_passing(ret);
	if (ret->counts.n_passing == 0) {
		choose_outside(&s, args, now_ms);
		if (!ret->outside)
			mark_unresolvable(&s);
	} else if (passes_only_best(&s) && !(s.all && args->n_names > 1)) {
		if (namespace_is_full(&s)) {
			reject_all(ret, NAMESPACE_FULL);
		} else {
			pass_best(ret, &s.best[0]);
			ret->counts.assumed_node = assume_pod(&s, s.best[0].node, now_ms);
		}
	}
	end_request(verdicts->cluster, &args->pod);
}

/* ---- /v1 */

/* Sets ret->chosen to the best nodes, and assumes the pod on the first if args->assume is set. */
static void choose_nodes(
	struct search *s, const struct extender_args *args, uint64_t now_ms, struct verb_answer *ret)
{
	find_best(s, args->all_nodes ? &args->pod_text : NULL);
	ret->chosen = xcalloc(s->n_best + 1, sizeof(*ret->chosen));
	for (size_t i = 0; i < s->n_best; i++)
		ret->chosen[i] = s->best[i].index;
	ret->n_chosen = ret->counts.n_passing = s->n_best;
	if (!args->assume || s->n_best == 0 || !admits(&s->best[0]))
		return;
	ret->counts.assumed_node = assume_pod(s, s->best[0].node, now_ms);
}

void extender_choose(struct verdicts *verdicts, const struct verb_config *config, struct extender_args *args,
	uint64_t now_ms, struct verb_answer *ret)
{
	CLEANUP(search_release) struct search s = {0};

	if (!begin_request(&s, verdicts, config, args, now_ms, ret))
		return;
	s.limit = args->limit;
	s.best = xreallocarray(s.best, s.limit, sizeof(*s.best));
	if (args->assume && namespace_is_full(&s))
		reject_all(ret, NAMESPACE_FULL);
	else
		choose_nodes(&s, args, now_ms, ret);
	end_request(verdicts->cluster, &args->pod);
}

void extender_admit(struct verdicts *verdicts, const struct verb_config *config, struct extender_args *args,
	uint64_t now_ms, struct verb_answer *ret)
{
	CLEANUP(search_release) struct search s = {0};

	if (!begin_request(&s, verdicts, config, args, now_ms, ret))
		return;
	s.all = true;
	judge_nodes(&s, false);
	pass_unknown(&s);
	count_passing(ret);
	end_request(verdicts->cluster, &args->pod);
}

void extender_forget(struct cluster *cluster, const struct extender_pod *pod)
{
	if (extender_is_outdated(cluster, pod))
		return;
	cluster_forget_gang_pod(cluster, pod->namespace, pod->gang, pod->uid);
	cluster_forget_pod(cluster, pod->uid);
}

/* ---- /prioritize */

void extender_prioritize(struct verdicts *verdicts, const struct verb_config *config,
	struct extender_args *args, struct verb_answer *ret)
{
	CLEANUP(search_release) struct search s = {0};

	search_begin(&s, verdicts, config, args, ret);
	add_requested_nodes(verdicts->cluster, args, ret);
	s.all = config->all;
	if (ret->class->aligned)
		judge_nodes(&s, false);
}

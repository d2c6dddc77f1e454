/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers /filter and /prioritize: judges the requested nodes, and finds and assumes the best node.
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
#define NAMESPACE_FULL \
	"the pod's namespace has reached the limit of assumed pods: pods that have a node and are not bound yet"

/* A requested node. */
struct candidate {
	struct node_info *node; /* NULL = not in the cluster */
	const struct verdict
		*verdict; /* NULL if `node` is NULL, or if the pod's Volcano policy excludes the node */
	size_t index;     /* in the request */
	bool reserved;    /* the node has a reservation that the pod may use */
};

/* The results of judging the requested nodes. */
struct candidates {
	bool *unknown;         /* per requested node: the verdict is unknown */
	struct candidate best; /* best.node is NULL if no node admits the pod */
	/* Nodes that have not been judged yet: `verdict` is an upper bound. */
	struct candidate *bounded;
	size_t n_bounded, bounded_size;
	/* Nodes that must be projected. They are judged last, so that costly projections leave time for all other nodes. */
	struct candidate *disturbed;
	size_t n_disturbed, disturbed_size;
	const struct doc *
		pod; /* the best node's constraints must allow the pod; NULL = the scheduler has checked the constraints */
};

void verb_answer_release(struct verb_answer *a, struct cluster *cluster)
{
	free(a->failures);
	free(a->scores);
	free(a->nodes);
	free(a->outside_reason);
	pod_classes_drop(&cluster->classes, a->class);
	*a = (struct verb_answer){0};
}

static void candidates_release(struct candidates *c)
{
	free(c->unknown);
	free(c->bounded);
	free(c->disturbed);
	*c = (struct candidates){0};
}

static void candidates_init(struct candidates *c, size_t n_nodes, struct verb_answer *answer)
{
	*c = (struct candidates){.unknown = xcalloc(n_nodes + 1, sizeof(*c->unknown))};
	answer->failures = xcalloc(n_nodes + 1, sizeof(*answer->failures));
	answer->scores = xcalloc(n_nodes + 1, sizeof(*answer->scores));
	answer->nodes = xcalloc(n_nodes + 1, sizeof(struct node_info *));
	answer->counts.n_nodes = n_nodes;
}

/* Prepares `answer` for the nodes of `args`; the pod's requests move to answer->class. */
static void begin_answer(struct candidates *c, struct verdicts *verdicts, struct extender_args *args,
	struct verb_answer *answer)
{
	candidates_init(c, args->n_names, answer);
	answer->class = pod_classes_take(&verdicts->cluster->classes, &args->pod.template.pod);
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

/* ret->reason stays NULL if the node admits the pod, and for an upper bound. */
static void set_verdict(struct candidate *candidate, const struct verdict *v, struct extender_failure *ret)
{
	candidate->verdict = v;
	if (v->answer != KUBELET_ADMITS && !v->is_bound)
		ret->reason = v->reason;
}

static bool is_unreached(const struct candidate *c)
{
	return c->verdict && c->verdict->unreached;
}

/* False for a node that was not judged before the work limit: --unknown=pass must not let this node pass. */
static bool is_unknown(const struct candidate *c)
{
	if (is_unreached(c))
		return false;
	return !c->node || (c->verdict && c->verdict->answer == KUBELET_UNKNOWN);
}

static bool is_better(const struct candidate *a, const struct candidate *b)
{
	if (a->reserved != b->reserved)
		return a->reserved;
	return verdict_is_better(a->verdict, a->node->name, b->verdict, b->node->name);
}

/* Whether a constraint of kube-scheduler excludes the pod from the node. */
static bool is_excluded(const struct doc *pod, const struct node_info *node)
{
	CLEANUP(freep) char *violation = scheduling_constraints_of_node(pod, &node->constraints, false);

	return *violation;
}

/*
 * Makes an admitting candidate the best one if it is better than the best candidate so far. verdict_confirm() costs more than a
 * verdict, so only candidates that may become the best are confirmed, unless `confirm_all` is set.
 */
static void compare_with_best(struct candidates *c, struct verdicts *verdicts, bool confirm_all,
	struct candidate *candidate, struct verb_answer *answer)
{
	bool is_best = !c->best.node || is_better(candidate, &c->best);

	if (is_best || confirm_all)
		candidate->verdict = verdict_confirm(verdicts, answer->class, candidate->node);
	if (candidate->verdict->answer != KUBELET_ADMITS) {
		answer->failures[candidate->index].reason = candidate->verdict->reason;
		return;
	}
	if (is_best && c->pod && is_excluded(c->pod, candidate->node))
		return;
	answer->counts.n_admitting++;
	answer->counts.n_aligning += candidate->verdict->numa_nodes > 0;
	answer->scores[candidate->index] = candidate->verdict->score * EXTENDER_SCORE_MAX / 100;
	if (is_best)
		c->best = *candidate;
}

/* Counts a candidate that has been judged, or that needs no verdict. */
static void finish_candidate(struct candidates *c, struct verdicts *verdicts, bool confirm_all,
	struct candidate *candidate, struct verb_answer *answer)
{
	c->unknown[candidate->index] = is_unknown(candidate);
	answer->counts.n_unknown += is_unknown(candidate);
	if (!answer->failures[candidate->index].reason)
		compare_with_best(c, verdicts, confirm_all, candidate, answer);
	answer->counts.n_unreached += is_unreached(candidate);
	answer->counts.n_slow += candidate->verdict && candidate->verdict->too_slow;
}

/* Moves the heap's element to its place: no element is better than its parent. */
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

/* Whether the node of the bound may be better than the best node, or may decide whether nodes with an unknown verdict pass. */
static bool may_be_best(const struct candidates *c, const struct candidate *bounded)
{
	return !c->best.node || c->best.verdict->numa_nodes == 0 || is_better(bounded, &c->best);
}

/* Judges the bounded candidates, the highest bound first, until no other can be the best. The nodes that are not judged have no
 * reason: they do not pass because another node is better. */
static void judge_bounded(struct candidates *c, struct verdicts *verdicts, const struct verb_config *config,
	struct verb_answer *answer)
{
	struct candidate *heap = c->bounded;
	size_t n = c->n_bounded;

	for (size_t i = n / 2; i-- > 0;)
		sift_down(heap, n, i);
	for (; n > 0 && may_be_best(c, &heap[0]); answer->counts.n_bounded--) {
		struct candidate candidate = heap[0];

		heap[0] = heap[--n];
		sift_down(heap, n, 0);
		set_verdict(&candidate,
			verdict_of(verdicts, answer->class, candidate.node, strategy_of(config)),
			&answer->failures[candidate.index]);
		finish_candidate(c, verdicts, false, &candidate, answer);
	}
}

/* Whether verdict_of() would have to compute what pods will hold. */
static bool is_disturbed(const struct node_info *node)
{
	return project_node_possible(node) && !project_node_changes_nothing(node);
}

/* Sets candidate->verdict to a verdict or, if the best node suffices, to an upper bound; or the reason of a node that needs none. False for a
 * disturbed node whose verdict is not cached. */
static bool begin_candidate(struct verdicts *verdicts, const struct verb_config *config,
	const struct extender_pod *pod, const struct pod_class *class, bool only_best,
	struct candidate *candidate, struct extender_failure *ret)
{
	const struct verdict *v;

	*ret = (struct extender_failure){NULL, false};
	if (!candidate->node) {
		ret->reason = NO_NODE;
	} else if (volcano_excludes(config, pod, candidate->node)) {
		*ret = (struct extender_failure){OTHER_POLICY, true};
	} else {
		candidate->reserved = cluster_has_usable_reservation(candidate->node);
		v = verdict_at_hand(verdicts, class, candidate->node, strategy_of(config), only_best);
		if (!v && is_disturbed(candidate->node))
			return false;
		set_verdict(candidate,
			v ? v : verdict_of(verdicts, class, candidate->node, strategy_of(config)), ret);
	}
	return true;
}

static void push_candidate(
	struct candidate **list, size_t *n, size_t *size, const struct candidate *candidate)
{
	*(struct candidate *)vec_push(list, n, size, sizeof(*candidate)) = *candidate;
}

static void judge_disturbed(struct candidates *c, struct verdicts *verdicts, const struct verb_config *config,
	struct verb_answer *answer)
{
	for (size_t i = 0; i < c->n_disturbed; i++) {
		struct candidate *candidate = &c->disturbed[i];

		set_verdict(candidate,
			verdict_of(verdicts, answer->class, candidate->node, strategy_of(config)),
			&answer->failures[candidate->index]);
		finish_candidate(c, verdicts, config->all, candidate, answer);
	}
}

/* Writes the verdict and the score of each requested node to `answer`, and finds the best node. With `only_best`, judges only the nodes
 * that may be the best. */
static void judge_nodes(struct candidates *c, struct verdicts *verdicts, const struct verb_config *config,
	const struct extender_args *args, bool only_best, struct verb_answer *answer)
{
	for (size_t i = 0; i < args->n_names; i++) {
		struct candidate candidate = {
			.node = cluster_find_node(verdicts->cluster, args->names[i]), .index = i};
		bool begun = begin_candidate(verdicts, config, &args->pod, answer->class, only_best,
			&candidate, &answer->failures[i]);

		answer->nodes[i] = candidate.node;
		if (!begun) {
			push_candidate(&c->disturbed, &c->n_disturbed, &c->disturbed_size, &candidate);
		} else if (!candidate.verdict || !candidate.verdict->is_bound) {
			finish_candidate(c, verdicts, config->all, &candidate, answer);
		} else {
			answer->counts.n_bounded++;
			if (may_be_best(c, &candidate))
				push_candidate(&c->bounded, &c->n_bounded, &c->bounded_size, &candidate);
		}
	}
	judge_bounded(c, verdicts, config, answer);
	judge_disturbed(c, verdicts, config, answer);
}

/* ---- /filter */

static void pass_unknown(const struct verb_config *config, const bool *unknown, struct verb_answer *answer)
{
	if (!config->pass_unknown || (answer->counts.n_aligning > 0 && !config->all))
		return;
	for (size_t i = 0; i < answer->counts.n_nodes; i++)
		if (unknown[i])
			answer->failures[i].reason = NULL;
}

/*
 * Whether only the best node passes and the pod is assumed there: if a kubelet aligns the pod, or if no other node
 * passes (the node may then assign devices without NUMA affinity). If several nodes pass and none aligns the pod, the
 * scheduler chooses.
 */
static bool passes_only_best(const struct verb_answer *a, const struct candidate *best)
{
	return a->counts.n_aligning > 0 || best->reserved ||
	       (best->node && !a->failures[best->index].reason && a->counts.n_passing == 1);
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
	answer->counts.assumed_node = best->node->name;
}

static void assume_pod(struct verdicts *verdicts, const struct extender_pod *pod, struct pod_class *class,
	struct node_info *node, uint64_t now_ms)
{
	const struct assume_request request = {.uid = pod->uid,
		.namespace = pod->namespace,
		.name = pod->name,
		.class = class,
		.priority = pod->priority,
		.resource_version = pod->version,
		.arrival = pod->arrival,
		.has_volumes = pod->has_volumes,
		.gang = pod->gang};

	project_assume_pod(&verdicts->projections, &request, node, now_ms);
}

/* No node passes. */
static void mark_unresolvable(struct verdicts *verdicts, struct verb_answer *ret)
{
	unsigned n_tested = 0;

	for (size_t i = 0; i < ret->counts.n_nodes; i++)
		if (ret->nodes[i] && verdict_is_unresolvable(verdicts, ret->nodes[i], ret->class, &n_tested))
			ret->failures[i].unresolvable = true;
}

/* ---- nodes that are not in the request */

/* The names of the Nodes that are not in the request, and that are not refused. The names are borrowed. */
static void list_outside(const struct cluster *cluster, const struct extender_args *args,
	const struct verb_answer *answer, struct extender_args *ret)
{
	CLEANUP(freep) bool *requested = xcalloc(cluster->n_nodes + 1, sizeof(*requested));

	for (size_t i = 0; i < args->n_names; i++)
		if (answer->nodes[i])
			requested[answer->nodes[i]->slot] = true;
	ret->names = xcalloc(cluster->n_nodes + 1, sizeof(*ret->names));
	for (size_t i = 0; i < cluster->n_nodes; i++) {
		const struct node_info *node = cluster->nodes[i];

		if (node && node->has_node && !requested[i] && !strv_contains(&args->refused, node->name))
			ret->names[ret->n_names++] = node->name;
	}
}

static struct node_info *find_unknown(const struct candidates *c, const struct verb_answer *answer)
{
	for (size_t i = 0; i < answer->counts.n_nodes; i++)
		if (c->unknown[i] && verdict_has_amounts(answer->nodes[i], answer->class) &&
			!is_excluded(c->pod, answer->nodes[i]))
			return answer->nodes[i];
	return NULL;
}

/* As verb_answer.outside. *ret_admits = the node's kubelet is known to admit the pod. */
static struct node_info *find_outside(struct verdicts *verdicts, const struct verb_config *config,
	const struct extender_args *args, const struct verb_answer *answer, bool *ret_admits)
{
	CLEANUP(candidates_release) struct candidates c = {0};
	CLEANUP(doc_release) struct doc pod = DOC_INIT;
	struct extender_args others = {.names = NULL};
	struct verb_answer judged = {0};
	struct node_info *found = NULL;

	list_outside(verdicts->cluster, args, answer, &others);
	if (others.n_names > 0 && json_parse(args->pod_text.text, args->pod_text.len, &pod, NULL) == 0) {
		candidates_init(&c, others.n_names, &judged);
		c.pod = &pod;
		judged.class = answer->class;
		judge_nodes(&c, verdicts, config, &others, true, &judged);
		found = c.best.node || !config->pass_unknown ? c.best.node : find_unknown(&c, &judged);
		judged.class = NULL;
	}
	*ret_admits = c.best.node;
	verb_answer_release(&judged, verdicts->cluster);
	free(others.names);
	return found;
}

static void choose_outside(struct verdicts *verdicts, const struct verb_config *config,
	const struct extender_args *args, uint64_t now_ms, struct verb_answer *ret)
{
	bool admits;

	if (!args->search_outside ||
		cluster_namespace_is_full(verdicts->cluster, args->pod.namespace, args->pod.uid))
		return;
	ret->outside = find_outside(verdicts, config, args, ret, &admits);
	if (ret->outside && admits)
		assume_pod(verdicts, &args->pod, ret->class, ret->outside, now_ms);
}

static void choose_nodes(struct candidates *c, struct verdicts *verdicts, const struct verb_config *config,
	struct extender_args *args, uint64_t now_ms, struct verb_answer *ret)
{
	judge_nodes(c, verdicts, config, args, !config->all, ret);
	pass_unknown(config, c->unknown, ret);
	for (size_t i = 0; i < args->n_names; i++)
		ret->counts.n_passing += !ret->failures[i].reason;
	if (ret->counts.n_passing == 0) {
		choose_outside(verdicts, config, args, now_ms, ret);
		if (!ret->outside)
			mark_unresolvable(verdicts, ret);
	} else if ((config->all && args->n_names > 1) || !passes_only_best(ret, &c->best)) {
		return;
	} else if (cluster_namespace_is_full(verdicts->cluster, args->pod.namespace, args->pod.uid)) {
		reject_all(ret, NAMESPACE_FULL);
	} else {
		pass_best(ret, &c->best);
		assume_pod(verdicts, &args->pod, ret->class, c->best.node, now_ms);
	}
}

static void hide_reverted(struct cluster *cluster, const struct extender_args *args)
{
	for (size_t i = 0; *args->pod.gang && i < args->n_names; i++) {
		struct node_info *node = cluster_find_node(cluster, args->names[i]);

		if (node)
			cluster_hide_reverted(cluster, args->pod.namespace, args->pod.gang, node);
	}
}

/* Whether the pod is assumed by a later request. Then the scheduler has given this request up, and may be binding the pod. */
static bool is_outdated(const struct cluster *cluster, const struct extender_pod *pod)
{
	const struct pod_info *cached = cluster_find_pod(cluster, pod->uid);

	return cached && !cached->bound && cached->arrival > pod->arrival;
}

bool extender_has_victims(const struct cluster *cluster, const struct extender_args *args)
{
	const struct node_info *node =
		*args->pod.nominated ? cluster_find_node(cluster, args->pod.nominated) : NULL;
	bool asked = false, found = false;

	for (size_t i = 0; node && i < args->n_names && !asked; i++)
		asked = !strcmp(args->names[i], node->name);
	for (size_t i = 0; asked && i < node->n_pods && !found; i++)
		found = node->pods[i]->terminating && node->pods[i]->priority < args->pod.priority &&
			pod_info_is_managed(node->pods[i]);
	return found;
}

void extender_filter(struct verdicts *verdicts, const struct verb_config *config, struct extender_args *args,
	uint64_t now_ms, struct verb_answer *ret)
{
	CLEANUP(candidates_release) struct candidates c = {0};

	begin_answer(&c, verdicts, args, ret);
	if (!ret->class->aligned) {
		ret->counts.n_admitting = ret->counts.n_passing = args->n_names;
		return;
	}
	if (is_outdated(verdicts->cluster, &args->pod)) {
		reject_all(ret, OUTDATED);
		return;
	}
	cluster_begin_request(verdicts->cluster, args->pod.namespace, args->pod.gang, args->pod.uid, now_ms);
	hide_reverted(verdicts->cluster, args);
	hide_for(verdicts->cluster, &args->pod, ret->class);
	choose_nodes(&c, verdicts, config, args, now_ms, ret);
	cluster_end_request(verdicts->cluster, args->pod.namespace, args->pod.gang, args->pod.uid);
}

/* ---- /prioritize */

void extender_prioritize(struct verdicts *verdicts, const struct verb_config *config,
	struct extender_args *args, struct verb_answer *ret)
{
	CLEANUP(candidates_release) struct candidates c = {0};

	begin_answer(&c, verdicts, args, ret);
	if (ret->class->aligned)
		judge_nodes(&c, verdicts, config, args, false, ret);
}

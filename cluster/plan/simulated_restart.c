/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restarts kubelets while their pods run. Read in 1.34.4, 1.35.4, 1.36.3 and 1.37.2, pkg/kubelet/kubelet.go:
 * HandlePodAdditions() admits every pod that has not ended, in the order of creation, by the same handlers as a new
 * pod: the managers, which find in their state files what the pod holds, then the amounts, the node's labels and its
 * taints (lifecycle/predicate.go). Static pods come before or after the others, whichever the kubelet hears of first. A
 * rejected pod fails, and its containers are killed. What the pod held stays in the files until all pods have been admitted
 * (removeStaleState()).
 */
#include "cluster/plan/simulate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/resource.h"
#include "common/xalloc.h"
#include "scoring/node/kubelet_restart.h"
#include "scoring/node/manager_state.h"
#include "scoring/node/projected_state.h"
#include "scoring/node_mask.h"

#define EARLIER_UNKNOWN "the verdict on a pod that is admitted earlier is unknown"

/* One node's restart. */
struct restart {
	struct simulated_cluster *c;
	struct simulation *s;
	size_t node;
	struct settings before; /* policies and release only */
	struct kubelet_restart files;
	const char *
		undecided; /* why verdicts on pods that get a new assignment are unknown; NULL = the verdicts are known */
	bool has_unknown; /* the verdict on a pod is unknown; the pod stays, and its requests count */
	struct node_admission admission; /* of the node's state; state NULL = not made */
};

static void discard_admission(struct restart *r)
{
	if (r->admission.state)
		node_admission_release(&r->admission);
}

static void restart_release(struct restart *r)
{
	discard_admission(r);
	kubelet_restart_release(&r->files);
}

/* ---- the kubelet starts */

static char *print_action(const struct kubelet_restart *files)
{
	if (!files->cpus && !files->memory)
		return NULL;
	return xasprintf("remove %s%s%s: %s", files->cpus ? "cpu_manager_state" : "",
		files->cpus && files->memory ? " and " : "", files->memory ? "memory_manager_state" : "",
		files->cpus ? files->cpus : files->memory);
}

/*
 * Changes the node's settings as the restarted kubelet finds them, without the state files that must be removed, and prepares the
 * admission. -errno with one line: the kubelet does not start, or verdicts are unknown.
 */
static int start_kubelet(struct restart *r, const struct simulate_options *options, struct err *err)
{
	struct simulated_node *n = &r->c->nodes[r->node];
	struct node_state *state = &n->info->object.state;
	struct simulated_setting_change change;
	int result;

	r->before = state->settings;
	/* simulated_begin_state() sets the allocations again, also in simulation_derive_node(). */
	allocations_view_release(&n->state.allocations);
	result = simulation_change_settings(options, state, &change, err);
	if (result < 0) {
		simulated_begin_state(r->c, n);
		return result;
	}
	result = simulation_derive_node(r->c, n, err);
	if (result == 0)
		result = kubelet_restart_check(&r->before, state, &change.changes, &r->files, err);
	if (result < 0)
		return result;
	simulation_change_allocatable(n, &change);
	allocations_view_release(&n->state.allocations);
	result = projected_state_remove_files(state, r->files.cpus != NULL, r->files.memory != NULL, err);
	if (result < 0) {
		simulated_begin_state(r->c, n);
		return result;
	}
	result = simulation_derive_node(r->c, n, err); /* again, without the removed files */
	if (result < 0)
		return result;
	node_admission_init(&r->admission, &n->state);
	return r->admission.kubelet.unknown.text[0]
		       ? err_set(err, -EINVAL, "%s", r->admission.kubelet.unknown.text)
		       : 0;
}

/* ---- what pods hold */

struct held_items {
	const struct allocation **items; /* per container of the pod */
	bool certain;                    /* false: which container holds which item is not known */
};

static void held_items_release(struct held_items *h)
{
	free(h->items);
}

static bool is_plugin_resource(const struct allocations *a, const char *name)
{
	for (size_t i = 0; i < a->n_registered; i++)
		if (!strcmp(a->registered[i].resource, name))
			return true;
	return false;
}

static bool requests_memory(const struct container_request *c)
{
	for (size_t i = 0; i < c->requests.n_items; i++)
		if ((!strcmp(c->requests.items[i].name, "memory") ||
			    resource_name_is_hugepages(c->requests.items[i].name)) &&
			c->requests.items[i].quantity.nano > 0)
			return true;
	return false;
}

/* Whether the managers had assigned something to the container before the restart. */
static bool is_holder(
	const struct restart *r, const struct simulated_pod *p, const struct container_request *c)
{
	const struct allocations *a = &r->c->nodes[r->node].state.allocations;
	bool guaranteed = p->class->qos == QOS_GUARANTEED && !p->class->pod.has_pod_resources;

	if (guaranteed && r->before.cpu_manager == CPU_MANAGER_STATIC &&
		kubelet_exclusive_cpus(c, p->class->qos) > 0)
		return true;
	if (guaranteed && r->before.memory_manager == MEMORY_MANAGER_STATIC && requests_memory(c))
		return true;
	for (size_t i = 0; i < c->limits.n_items; i++)
		if (c->limits.items[i].quantity.nano > 0 && is_plugin_resource(a, c->limits.items[i].name))
			return true;
	return false;
}

struct holder {
	const char *name;
	size_t container; /* position in the pod */
};

static int compare_holders(const void *a, const void *b)
{
	return strcmp(((const struct holder *)a)->name, ((const struct holder *)b)->name);
}

/* The containers that hold something, by name; without ordinary init containers unless `inits`. Returns their number. */
static size_t list_holders(
	const struct restart *r, const struct simulated_pod *p, bool inits, struct holder *ret)
{
	const struct pod_request *pod = &p->class->pod;
	size_t n = 0;

	for (size_t i = 0; i < pod->n_containers; i++)
		if ((inits || pod->containers[i].kind != CONTAINER_INIT) &&
			is_holder(r, p, &pod->containers[i]))
			ret[n++] = (struct holder){pod->containers[i].name, i};
	if (n > 1)
		qsort(ret, n, sizeof(*ret), compare_holders);
	return n;
}

/*
 * An object lists what a pod's containers hold in the order of the containers' names, without the names. The state files have no
 * init containers if only the pod-resources API was read.
 */
static void find_held(const struct restart *r, const struct simulated_pod *p, struct held_items *ret)
{
	const struct allocations *a = &r->c->nodes[r->node].state.allocations;
	size_t n_containers = p->class->pod.n_containers, n_items = 0, n;
	CLEANUP(freep) const struct allocation **items = xcalloc(a->n_items + 1, sizeof(*items));
	CLEANUP(freep) struct holder *holders = xcalloc(n_containers + 1, sizeof(*holders));

	*ret = (struct held_items){.items = xcalloc(n_containers + 1, sizeof(*ret->items))};
	for (size_t i = 0; i < a->n_items; i++)
		if (pod_names_match(&p->names, &a->items[i]))
			items[n_items++] = &a->items[i];
	n = list_holders(r, p, true, holders);
	if (n != n_items)
		n = list_holders(r, p, false, holders);
	ret->certain = n == n_items;
	for (size_t i = 0; i < n && ret->certain; i++)
		ret->items[holders[i].container] = items[i];
}

/* ---- the kubelet's verdict */

/* The verdict on a running pod after the restart. */
struct readmission {
	enum kubelet_answer answer;
	char *reason;          /* one sentence; NULL = none */
	bool assigned;         /* the managers have assigned something anew, even if the pod is rejected */
	bool assignment_known; /* false: what they have assigned to a rejected pod is not known */
};

static void readmission_release(struct readmission *v)
{
	free(v->reason);
}

/* The first resource of which too little is left after the pods admitted before; NULL = none. */
static const char *find_short(const struct simulated_node *n, const struct pod_class *class)
{
	const struct resource_quantity *pods = resource_list_find(&n->info->allocatable, "pods");

	if (pods && (qty_t)(n->n_pods + 1) * QTY_UNIT > pods->quantity.nano)
		return "pods";
	for (size_t i = 0; i < class->wanted.n_items; i++) {
		const struct resource_quantity *wanted = &class->wanted.items[i];
		const struct resource_quantity *own = resource_list_find(&n->info->allocatable, wanted->name);

		/* The kubelet adds held devices to what the Node has (UpdatePluginResources()). */
		if (own && resource_name_is_native(wanted->name) &&
			resource_list_amount(&n->requested, wanted->name) + wanted->quantity.nano >
				own->quantity.nano)
			return wanted->name;
	}
	return NULL;
}

/* The last check: amounts, labels and taints. */
static void judge_predicates(const struct restart *r, size_t pod, struct readmission *v)
{
	const struct simulated_node *n = &r->c->nodes[r->node];
	const struct simulated_pod *p = &r->c->pods[pod];
	const char *resource = find_short(n, p->class);
	CLEANUP(freep) char *constraint = NULL;

	if (resource && r->has_unknown) {
		v->answer = KUBELET_UNKNOWN;
		v->reason = xstrdup(EARLIER_UNKNOWN);
		return;
	}
	if (resource) {
		/* A priority that is not known may be critical. */
		bool critical = p->names.mirror || !p->priority_known || p->priority >= POD_PRIORITY_CRITICAL;

		v->answer = critical ? KUBELET_UNKNOWN : KUBELET_REJECTS;
		v->reason = xasprintf(
			critical ? "OutOf%s: the kubelet evicts other pods for a critical pod" : "OutOf%s",
			resource);
		return;
	}
	constraint =
		scheduling_constraints_of_node(&r->c->constraints[p->constraints]->object, &n->node, true);
	if (!*constraint || p->names.mirror) /* the kubelet ignores taints for static pods */
		return;
	v->answer = KUBELET_REJECTS;
	v->reason = TAKE(constraint);
}

/* Whether the managers assign something anew, not what their files list. */
static bool is_assigned_anew(const struct restart *r, const struct kubelet_verdict *v)
{
	for (size_t i = 0; i < v->n_placements; i++)
		if ((r->files.cpus && v->placements[i].exclusive_cpus > 0) ||
			(r->files.memory && v->placements[i].memory_nodes))
			return true;
	return false;
}

/* Whether the managers may assign something anew to the pod. */
static bool may_be_assigned_anew(const struct restart *r, const struct pod_class *class)
{
	const struct settings *s = &r->c->nodes[r->node].state.settings;

	return class->aligned && class->qos == QOS_GUARANTEED &&
	       ((r->files.cpus && s->cpu_manager == CPU_MANAGER_STATIC) ||
		       (r->files.memory && s->memory_manager == MEMORY_MANAGER_STATIC));
}

static void judge_managers(
	struct restart *r, size_t pod, struct kubelet_verdict *managers, struct readmission *v)
{
	const struct simulated_pod *p = &r->c->pods[pod];
	CLEANUP(held_items_release) struct held_items held = {0};
	struct kubelet_held files = {.cpus = !r->files.cpus, .memory = !r->files.memory};

	find_held(r, p, &held);
	files.containers = held.items;
	files.cpus_complete = r->c->nodes[r->node].state.allocations.shared != NULL;
	kubelet_judge_again(
		&r->admission.kubelet, r->admission.ws, &p->class->pod, p->class->qos, &files, managers);
	v->answer = managers->answer;
	v->assigned = is_assigned_anew(r, managers);
	/* A container that could not be allocated may have got its CPUs before. */
	v->assignment_known = managers->rejection != KUBELET_UNEXPECTED_ADMISSION;
	if (v->answer == KUBELET_REJECTS && managers->rejection != KUBELET_NOT_REJECTED)
		v->reason = xasprintf(
			"%s: %s", kubelet_rejection_names[managers->rejection], managers->reason.text);
	else if (managers->reason.text[0])
		v->reason = xstrdup(managers->reason.text);
	if (p->class->aligned && !held.certain) {
		free(v->reason);
		v->answer = KUBELET_UNKNOWN;
		v->reason = xstrdup("which of the pod's containers hold what is not known");
	}
}

/* Why the kubelet's verdict on the pod is unknown without judging the pod; NULL = it is judged. */
static const char *find_unknown(const struct restart *r, const struct simulated_pod *p)
{
	if (p->unreadable)
		return "the pod's requests cannot be read";
	if (p->class->too_large)
		return POD_CLASS_TOO_LARGE;
	if (p->class->pod.has_claims)
		return "resourceClaims are not evaluated";
	return may_be_assigned_anew(r, p->class) ? r->undecided : NULL;
}

/* Judges the pod again; unknown if a part of the verdict is unknown. *managers: the managers' verdict, which borrows
 * from r->admission. */
static void judge_readmission(
	struct restart *r, size_t pod, struct kubelet_verdict *managers, struct readmission *v)
{
	const char *unknown = find_unknown(r, &r->c->pods[pod]);

	*managers = (struct kubelet_verdict){.answer = KUBELET_UNKNOWN};
	*v = (struct readmission){.answer = KUBELET_UNKNOWN, .assignment_known = true};
	if (unknown) {
		v->reason = xstrdup(unknown);
		return;
	}
	judge_managers(r, pod, managers, v);
	if (v->answer == KUBELET_ADMITS)
		judge_predicates(r, pod, v);
}

/* ---- all pods */

/* If a manager's state file was removed, what a pod gets depends on all pods admitted before. */
static void note_undecided(struct restart *r, size_t pod, const struct readmission *v)
{
	if (r->undecided || !may_be_assigned_anew(r, r->c->pods[pod].class))
		return;
	if (v->answer == KUBELET_UNKNOWN)
		r->undecided = EARLIER_UNKNOWN;
	else if (v->answer == KUBELET_REJECTS && !v->assignment_known)
		r->undecided = "what a rejected pod holds until all pods are admitted is unknown";
}

/* The pod stays on the node with what it holds, or gets what the verdict assigns anew. */
static void keep_pod(struct restart *r, size_t pod, const struct kubelet_verdict *anew)
{
	struct simulated_node *n = &r->c->nodes[r->node];

	if (!anew) {
		simulated_add_to_node(r->c, r->node, pod, n->n_pods);
		return;
	}
	simulated_assign(r->c, r->node, pod, &r->admission, anew);
	discard_admission(r);
	node_admission_init(&r->admission, &n->state);
}

/* What was assigned to a rejected pod is not free until all pods have been admitted: only the pod leaves the node's list. */
static void keep_assignment(struct restart *r, size_t pod, const struct kubelet_verdict *anew)
{
	keep_pod(r, pod, anew);
	simulated_remove_from_node(r->c, pod);
}

/* What becomes of one pod. */
struct outcome {
	struct readmission readmission;
	unsigned n_numa; /* afterwards */
};

static void readmit_pod(struct restart *r, size_t pod, struct readmission *v)
{
	struct kubelet_verdict managers;

	judge_readmission(r, pod, &managers, v);
	note_undecided(r, pod, v);
	r->has_unknown = r->has_unknown || v->answer == KUBELET_UNKNOWN;
	if (v->answer != KUBELET_REJECTS)
		keep_pod(r, pod, v->answer == KUBELET_ADMITS && v->assigned ? &managers : NULL);
	else if (v->assigned && v->assignment_known)
		keep_assignment(r, pod, &managers);
}

/* Admits the static pods before or after the other pods, and otherwise in the order of the list. */
static void readmit_pods(
	struct restart *r, const size_t *pods, size_t n_pods, bool static_first, struct outcome *ret)
{
	for (int round = 0; round < 2; round++) {
		bool is_static = round == 0 ? static_first : !static_first; /* the pods of this round */

		for (size_t i = 0; i < n_pods; i++)
			if (r->c->pods[pods[i]].names.mirror == is_static)
				readmit_pod(r, pods[i], &ret[i].readmission);
	}
	for (size_t i = 0; i < n_pods; i++)
		if (ret[i].readmission.answer != KUBELET_REJECTS)
			ret[i].n_numa = node_mask_count(simulation_find_numa(r->c, pods[i]));
}

/* Whether the node has static pods and other pods: what pods get may depend on which of them the kubelet admits first. */
static bool depends_on_order(const struct restart *r, const size_t *pods, size_t n_pods)
{
	size_t n_static = 0;

	for (size_t i = 0; i < n_pods; i++)
		n_static += r->c->pods[pods[i]].names.mirror;
	return n_static > 0 && n_static < n_pods;
}

/*
 * Takes all pods from the node, as before the first one was admitted again. simulated_undo() takes back assignments and requires that
 * each assigned pod is on the node, so the pods that readmit_pods() removed return first. Pods that kept what they held are not in
 * the log: they leave last.
 */
static void rewind_pods(struct restart *r, const size_t *pods, size_t n_pods, size_t mark)
{
	struct simulated_node *n = &r->c->nodes[r->node];

	for (size_t i = 0; i < n_pods; i++)
		if (r->c->pods[pods[i]].node == SIMULATED_NOWHERE)
			simulated_add_to_node(r->c, r->node, pods[i], n->n_pods);
	simulated_undo(r->c, mark);
	while (n->n_pods > 0)
		simulated_remove_from_node(r->c, n->pods[n->n_pods - 1]);
	r->undecided = NULL;
	r->has_unknown = false;
	discard_admission(r);
	node_admission_init(&r->admission, &n->state);
}

/* The verdict becomes unknown if the other order of admission gives another answer or another number of NUMA nodes. */
static void merge_outcomes(struct outcome *to, const struct outcome *other)
{
	struct readmission *v = &to->readmission;

	if (v->answer == KUBELET_UNKNOWN ||
		(v->answer == other->readmission.answer && to->n_numa == other->n_numa))
		return;
	v->answer = KUBELET_UNKNOWN;
	free(v->reason);
	v->reason = xstrdup("static pods are admitted before or after the other pods");
}

static struct outcome *outcomes_new(size_t n_pods)
{
	return xcalloc(n_pods + 1, sizeof(struct outcome));
}

static void outcomes_free(struct outcome *outcomes, size_t n_pods)
{
	for (size_t i = 0; i < n_pods; i++)
		readmission_release(&outcomes[i].readmission);
	free(outcomes);
}

/* The pods of a kubelet that does not start keep running, but no verdict on them is known. */
static void leave_pods(struct restart *r, const size_t *pods, size_t n_pods)
{
	r->c->nodes[r->node].obstacle = SIMULATED_NOT_EXACT;
	for (size_t i = 0; i < n_pods; i++) {
		keep_pod(r, pods[i], NULL);
		simulation_count_lost(r->s, r->c, pods[i], r->node, KUBELET_UNKNOWN,
			simulation_find_numa(r->c, pods[i]), xstrdup(r->s->nodes[r->node].problem));
	}
}

static void count_pod(struct restart *r, size_t pod, uint64_t before, struct readmission *v)
{
	if (v->answer == KUBELET_ADMITS)
		simulation_count_kept(r->s, r->c, pod, r->node, before);
	else
		simulation_count_lost(r->s, r->c, pod, r->node, v->answer, before,
			v->reason ? TAKE(v->reason) : xstrdup(""));
}

/* Admits all pods again and counts what becomes of them. If static pods may come first or last, both orders must agree on a verdict. */
static void admit_pods(struct restart *r, const size_t *pods, const uint64_t *before, size_t n_pods)
{
	struct outcome *outcomes = outcomes_new(n_pods);
	size_t mark = simulated_mark(r->c);

	readmit_pods(r, pods, n_pods, true, outcomes);
	if (depends_on_order(r, pods, n_pods)) {
		struct outcome *static_first = outcomes;

		outcomes = outcomes_new(n_pods);
		rewind_pods(r, pods, n_pods, mark);
		readmit_pods(r, pods, n_pods, false, outcomes);
		for (size_t i = 0; i < n_pods; i++)
			merge_outcomes(&outcomes[i], &static_first[i]);
		outcomes_free(static_first, n_pods);
	}
	for (size_t i = 0; i < n_pods; i++) {
		bool stays = r->c->pods[pods[i]].node != SIMULATED_NOWHERE;

		count_pod(r, pods[i], before[i], &outcomes[i].readmission);
		if (!stays) { /* all pods have been admitted: what the pod held becomes free */
			keep_pod(r, pods[i], NULL);
			simulated_evict(r->c, pods[i]);
		}
	}
	outcomes_free(outcomes, n_pods);
}

void simulation_restart_node(struct simulated_cluster *c, size_t node, const struct simulate_options *options,
	struct simulation *s)
{
	CLEANUP(restart_release) struct restart r = {.c = c, .s = s, .node = node};
	struct simulated_node *n = &c->nodes[node];
	size_t n_pods = n->n_pods;
	CLEANUP(freep) size_t *pods = simulation_list_pods(n);
	CLEANUP(freep) uint64_t *before = xcalloc(n_pods + 1, sizeof(*before));
	struct err err = {""};

	if (n->adds_unreported) { /* the kubelet's files have what the object does not report yet */
		n->obstacle = SIMULATED_UNSETTLED;
		return;
	}
	for (size_t i = 0; i < n_pods; i++) {
		before[i] = simulation_find_numa(c, pods[i]);
		simulated_remove_from_node(c, pods[i]);
	}
	s->nodes[node].changed = true;
	if (start_kubelet(&r, options, &err) < 0) {
		s->nodes[node].problem = xstrdup(err.text);
		leave_pods(&r, pods, n_pods);
		return;
	}
	s->nodes[node].action = print_action(&r.files);
	admit_pods(&r, pods, before, n_pods);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/plan/simulate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/objects/node_status.h"
#include "cluster/objects/pod_parse.h"
#include "cluster/plan/simulated_reasons.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/kubelet_hazards.h"
#include "scoring/node/manager_state.h"
#include "scoring/node/node_derive.h"
#include "scoring/node/projected_state.h"
#include "scoring/node/settings_change.h"

const char *const simulated_effect_names[SIMULATED_EFFECT_COUNT] = {
	"rejected", "unknown", "no place", "moved", "more NUMA nodes"};

void simulation_release(struct simulation *s)
{
	for (size_t i = 0; i < s->n_nodes; i++) {
		free(s->nodes[i].problem);
		free(s->nodes[i].hazard);
		free(s->nodes[i].action);
	}
	for (size_t i = 0; i < s->n_events; i++)
		free(s->events[i].reason);
	for (size_t i = 0; i < s->n_losses; i++) {
		free(s->losses[i].unplaced);
		free(s->losses[i].reason);
	}
	free(s->losses);
	free(s->nodes);
	free(s->events);
	free(s->proposed);
	strv_release(&s->not_evaluated);
	*s = (struct simulation){0};
}

/* ---- amounts */

static size_t count_free_cpus(const struct inventory *inv)
{
	int cpu = inventory_resource(inv, "cpu");
	size_t n = 0;

	for (size_t i = 0; i < inv->n_nodes && cpu >= 0; i++) {
		const struct inventory_amount *amount = inventory_amount(inv, i, (size_t)cpu);

		if (amount->present && amount->available > 0)
			n += (size_t)(amount->available / QTY_UNIT);
	}
	return n;
}

/* What is free on the node, after subtracting the pods in flight, which the object's inventory does not have. Unknown with an obstacle. */
static struct simulated_amounts measure(
	struct simulated_cluster *c, size_t node, const struct pod_template *shape)
{
	const struct simulated_node *n = &c->nodes[node];
	CLEANUP(exclusive_cpus_admitted_release) struct exclusive_cpus_admitted admitted = {0};
	CLEANUP(node_admission_release) struct node_admission a = {0};
	CLEANUP(resource_list_release) struct resource_list requestable = {0};
	CLEANUP(inventory_release) struct inventory inv;
	struct simulated_amounts ret = {.known = false};
	struct node_state state;

	inventory_init(&inv);
	if (n->obstacle != SIMULATED_NO_OBSTACLE)
		return ret;
	state = n->state;
	node_derive_inventory(&state, &inv, NULL);
	state.inventory = inv;
	node_admission_init(&a, &state);
	requestable_amounts(&n->info->allocatable, &n->requested, NULL, &requestable);
	node_admission_limit(&a, &requestable);
	ret.free = count_free_cpus(&inv);
	exclusive_cpus_find(&a.kubelet, &admitted);
	ret.known = true;
	for (unsigned i = 0; i < 2; i++)
		ret.known = node_admission_largest(&a, &admitted, i + 1, &ret.largest[i]) && ret.known;
	if (ret.known)
		ret.stranded = node_admission_stranded_cpus(&a, &admitted);
	if (shape)
		node_admission_copies(&a, &shape->pod, &ret.copies);
	return ret;
}

/* ---- pods */

/* Starts the pod again on its node, and counts what changes for the pod. `anyway`: without the change the kubelet would reject the
 * pod, too, if all pods of the node were admitted again. */
static void start_again(struct simulated_cluster *c, struct simulation *s, size_t node, size_t pod,
	size_t before, bool anyway)
{
	bool unreadable = c->pods[pod].unreadable, rejects;
	enum kubelet_answer answer = unreadable ? KUBELET_UNKNOWN : simulated_judge(c, node, pod).answer;
	CLEANUP(freep) char *reason = NULL;

	if (answer == KUBELET_ADMITS) {
		simulated_start(c, node, pod);
		simulation_count_kept(s, c, pod, node, before);
		return;
	}
	rejects = answer == KUBELET_REJECTS;
	s->nodes[node].n_rejected_anyway += rejects && anyway;
	if (unreadable)
		reason = xstrdup("the pod's requests cannot be read");
	else if (s->nodes[node].problem)
		reason = xstrdup(s->nodes[node].problem);
	else
		reason = simulated_explain(c, node, pod);
	simulation_count_lost(s, c, pod, node, answer, before,
		xasprintf("%s%s", rejects && anyway ? "also without the change: " : "", reason));
}

/* ---- other settings */

/* The node with the changed settings and without pods. */
static int empty_node(
	struct simulated_cluster *c, size_t node, const struct simulate_options *options, struct err *err)
{
	struct simulated_node *n = &c->nodes[node];
	struct node_state *state = &n->info->object.state;
	struct simulated_setting_change change;
	int r;

	while (n->n_pods > 0)
		simulated_remove_from_node(c, n->pods[n->n_pods - 1]);
	allocations_view_release(&n->state.allocations);
	r = simulation_change_settings(options, state, &change, err);
	r = r < 0 ? r : projected_state_empty(state, err);
	if (r < 0) {
		simulated_begin_state(c, n); /* the allocations of the state have been released */
		return r;
	}
	r = simulation_derive_node(c, n, err);
	if (r < 0)
		return r;
	simulation_change_allocatable(n, &change);
	return 0;
}

/* Which of the node's pods the kubelet would reject if all of them ended and were admitted again without any change: an earlier pod may
 * get what a later pod needs. Leaves the cluster as it was. */
static bool *find_rejected_anyway(struct simulated_cluster *c, size_t node, const size_t *pods, size_t n_pods)
{
	bool *ret = xcalloc(n_pods + 1, sizeof(*ret));
	size_t mark = simulated_mark(c);

	for (size_t i = 0; i < n_pods; i++)
		simulated_evict(c, pods[i]);
	for (size_t i = 0; i < n_pods; i++)
		if (!c->pods[pods[i]].unreadable && !simulated_start(c, node, pods[i]))
			ret[i] = simulated_judge(c, node, pods[i]).answer == KUBELET_REJECTS;
	simulated_undo(c, mark);
	return ret;
}

/* A node that cannot be simulated has no pods afterwards, and an obstacle. */
static void change_node(struct simulated_cluster *c, size_t node, const struct simulate_options *options,
	struct simulation *s)
{
	struct simulated_node *n = &c->nodes[node];
	size_t n_pods = n->n_pods;
	CLEANUP(freep) size_t *pods = simulation_list_pods(n);
	CLEANUP(freep) uint64_t *before = xcalloc(n_pods + 1, sizeof(*before));
	CLEANUP(freep) bool *anyway = find_rejected_anyway(c, node, pods, n_pods);
	struct err err = {""};

	for (size_t i = 0; i < n_pods; i++)
		before[i] = simulation_find_numa(c, pods[i]);
	s->nodes[node].changed = true;
	if (empty_node(c, node, options, &err) < 0) {
		s->nodes[node].problem = xstrdup(err.text);
		n->obstacle = SIMULATED_NOT_EXACT;
	}
	for (size_t i = 0; i < n_pods; i++)
		start_again(c, s, node, pods[i], before[i], anyway[i]);
}

/* ---- nodes that are gone */

struct displaced_pod {
	size_t pod, node;
	uint64_t before; /* NUMA nodes */
};

static int compare_priorities(const void *va, const void *vb, void *cluster)
{
	size_t a = ((const struct displaced_pod *)va)->pod, b = ((const struct displaced_pod *)vb)->pod;
	const struct simulated_cluster *c = cluster;

	if (c->pods[a].priority != c->pods[b].priority)
		return c->pods[a].priority > c->pods[b].priority ? -1 : 1;
	return (a > b) - (a < b);
}

struct displaced {
	struct displaced_pod *items;
	size_t n_items, items_size;
};

static void displaced_release(struct displaced *d)
{
	free(d->items);
}

/* Ends the node's pods, and adds to `d` those that start on other nodes: not pods of DaemonSets, static pods and pods that end anyway, nor
 * pods that cannot be judged. */
static void empty_gone_node(struct simulated_cluster *c, size_t node, struct displaced *d)
{
	struct simulated_node *n = &c->nodes[node];
	size_t n_pods = n->n_pods;
	CLEANUP(freep) size_t *pods = simulation_list_pods(n);

	for (size_t i = 0; i < n_pods; i++) {
		const struct simulated_pod *p = &c->pods[pods[i]];
		uint64_t before = simulation_find_numa(c, pods[i]);

		simulated_evict(c, pods[i]);
		if (!p->daemon && !p->names.mirror && !p->unreadable && !p->terminating)
			*(struct displaced_pod *)vec_push(
				&d->items, &d->n_items, &d->items_size, sizeof(*d->items)) =
				(struct displaced_pod){.pod = pods[i], .node = node, .before = before};
	}
}

#define EXPLAINED_MAX 100000u /* verdicts on nodes that are explained, of 10 to 100 us each */
#define REASONS_MAX   3u      /* per pod */

/* Why pods have no place. Pods with equal requests and constraints have equal reasons until another pod starts. */
struct explained {
	const struct pod_class *class;
	size_t constraints, n_verdicts;
	uint64_t version;
	char *text;
};

static void explained_release(struct explained *e)
{
	free(e->text);
}

static char *print_reasons(const struct node_reasons *reasons)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1u << 16);

	strbuf_addstr(&text, "no node takes the pod");
	for (size_t i = 0; i < reasons->n_items && i < REASONS_MAX; i++)
		strbuf_addf(&text, "%s%zu node%s: %s", i == 0 ? ": " : "; ", reasons->items[i].n_nodes,
			reasons->items[i].n_nodes == 1 ? "" : "s", reasons->items[i].text);
	if (reasons->n_items > REASONS_MAX)
		strbuf_addf(&text, "; and %zu more", reasons->n_items - REASONS_MAX);
	return xstrdup(text.text);
}

/* Why no node takes the pod. `last`: the reasons of the pod before, which are used again for an equal pod. */
static char *explain_no_place(
	struct simulated_cluster *c, size_t pod, const bool *gone, struct explained *last)
{
	const struct simulated_pod *p = &c->pods[pod];
	CLEANUP(node_reasons_release) struct node_reasons reasons = {0};

	if (last->class == p->class && last->constraints == p->constraints &&
		last->version == c->placement_version)
		return xstrdup(last->text);
	/* Beyond the limit the text has no reasons. */
	if (last->n_verdicts + c->n_nodes <= EXPLAINED_MAX) {
		simulated_reasons_find(c, pod, gone, &reasons);
		last->n_verdicts += c->n_nodes;
	}
	free(last->text);
	last->text = print_reasons(&reasons);
	last->class = p->class;
	last->constraints = p->constraints;
	last->version = c->placement_version;
	return xstrdup(last->text);
}

static void place_displaced(struct simulated_cluster *c, struct displaced *d, struct simulation *s)
{
	CLEANUP(explained_release) struct explained explained = {.class = NULL};
	CLEANUP(freep) bool *gone = xcalloc(c->n_nodes + 1, sizeof(*gone));

	for (size_t i = 0; i < c->n_nodes; i++)
		gone[i] = s->nodes[i].is_gone;
	vec_sort(d->items, d->n_items, sizeof(*d->items), compare_priorities, c);
	for (size_t i = 0; i < d->n_items; i++) {
		const struct displaced_pod *item = &d->items[i];
		size_t pod = item->pod, place = simulated_find_place(c, pod, gone);

		if (place != SIMULATED_NOWHERE && simulated_start(c, place, pod)) {
			simulation_add_event(
				s, SIMULATED_MOVED, c, pod, item->node, item->before, xstrdup(""));
			continue;
		}
		s->nodes[item->node].n_rejected++;
		simulation_add_event(s, SIMULATED_NO_PLACE, c, pod, item->node, item->before,
			explain_no_place(c, pod, gone, &explained));
	}
}

/* Marks the nodes of --without-node. */
static int mark_gone_nodes(struct simulated_cluster *c, const struct simulate_options *options,
	struct simulation *s, struct err *err)
{
	for (size_t i = 0; i < options->n_without; i++) {
		size_t node = simulated_cluster_find(c, options->without[i]);

		if (node == SIMULATED_NOWHERE)
			return err_set(err, -EINVAL, "no such node: '%.60s'", options->without[i]);
		s->nodes[node].is_gone = c->nodes[node].gone = true;
	}
	return 0;
}

/* ---- the loss of each node alone */

/* The pods of the node end and start on other nodes, as far as these take them. The caller reverts the changes of the cluster. */
static void lose_node(struct simulated_cluster *c, struct simulation *s, size_t node, bool *gone,
	struct explained *explained)
{
	CLEANUP(displaced_release) struct displaced displaced = {0};
	struct simulated_loss *loss = vec_push(&s->losses, &s->n_losses, &s->losses_size, sizeof(*loss));

	loss->node = node;
	gone[node] = c->nodes[node].gone = true;
	empty_gone_node(c, node, &displaced);
	vec_sort(displaced.items, displaced.n_items, sizeof(*displaced.items), compare_priorities, c);
	for (size_t i = 0; i < displaced.n_items; i++) {
		size_t pod = displaced.items[i].pod, place = simulated_find_place(c, pod, gone);

		if (place != SIMULATED_NOWHERE && simulated_start(c, place, pod)) {
			loss->n_moved++;
			continue;
		}
		if (!loss->reason)
			loss->reason = explain_no_place(c, pod, gone, explained);
		*(size_t *)vec_push(&loss->unplaced, &loss->n_unplaced, &loss->unplaced_size,
			sizeof(*loss->unplaced)) = pod;
	}
	gone[node] = c->nodes[node].gone = false;
}

void simulate_losses(struct simulated_cluster *c, struct simulation *s)
{
	CLEANUP(explained_release) struct explained explained = {.class = NULL};
	CLEANUP(freep) bool *gone = xcalloc(c->n_nodes + 1, sizeof(*gone));

	for (size_t i = 0; i < c->n_nodes; i++)
		gone[i] = s->nodes[i].is_gone;
	for (size_t i = 0; i < c->n_nodes; i++) {
		size_t mark = simulated_mark(c);

		simulated_show_progress(c, "losses of nodes simulated", i, c->n_nodes);
		if (gone[i] || !c->nodes[i].info->has_object || c->nodes[i].obstacle != SIMULATED_NO_OBSTACLE)
			continue;
		lose_node(c, s, i, gone, &explained);
		simulated_undo(c, mark);
		explained.class = NULL; /* the reasons are those of another cluster */
	}
}

size_t simulation_count_bad_losses(const struct simulation *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_losses; i++)
		n += s->losses[i].n_unplaced > 0;
	return n;
}

size_t simulation_count_actions(const struct simulation *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_nodes; i++)
		n += s->nodes[i].action != NULL;
	return n;
}

/* ---- all nodes */

/* Sets what the nodes have before the change, and which are added or unusable. Before the change an added machine has nothing. */
static void measure_before(struct simulated_cluster *c, const struct simulate_options *options,
	size_t n_before, struct simulation *s)
{
	for (size_t i = 0; i < n_before; i++) {
		simulated_show_progress(c, "nodes measured before the change", i, n_before);
		s->nodes[i].before = measure(c, i, options->shape);
	}
	for (size_t i = n_before; i < c->n_nodes; i++) {
		s->nodes[i].added = true;
		s->nodes[i].before.known = true;
		s->nodes[i].before.copies.known = options->shape != NULL;
	}
	for (size_t i = 0; i < c->n_nodes; i++)
		s->nodes[i].unusable = c->nodes[i].info->has_node && !node_is_usable(&c->nodes[i].node);
	simulation_place_copies(c, options, s, false);
}

static void measure_after(
	struct simulated_cluster *c, const struct simulate_options *options, struct simulation *s)
{
	for (size_t i = 0; i < c->n_nodes; i++) {
		simulated_show_progress(c, "nodes measured after the change", i, c->n_nodes);
		if (!s->nodes[i].is_gone)
			s->nodes[i].after = measure(c, i, options->shape);
	}
	simulation_place_copies(c, options, s, true);
}

static bool is_changed(const struct simulated_cluster *c, const struct simulate_options *options, size_t node)
{
	return options->n_settings > 0 && options->n_additions == 0 &&
	       c->nodes[node].obstacle == SIMULATED_NO_OBSTACLE;
}

static char *find_proposed(const struct simulate_options *options)
{
	for (size_t i = 0; i < options->n_settings; i++)
		if (settings_change_is_proposed(options->settings[i]))
			return xstrdup(options->settings[i]);
	return NULL;
}

/* Sets the first hazard of each kubelet that is changed or added: how pods could crash or hang the kubelet. */
static void set_hazards(const struct simulated_cluster *c, struct simulation *s)
{
	for (size_t i = 0; i < s->n_nodes; i++) {
		struct kubelet_hazard hazards[KUBELET_HAZARDS_MAX];
		CLEANUP(node_admission_release) struct node_admission admission = {0};

		if ((!s->nodes[i].changed && !s->nodes[i].added) || s->nodes[i].problem)
			continue;
		node_admission_init(&admission, &c->nodes[i].state);
		if (kubelet_find_hazards(&admission.kubelet, hazards) > 0)
			s->nodes[i].hazard =
				xasprintf("%s; remedy: %s", hazards[0].what.text, hazards[0].remedy);
	}
}

int simulate(struct simulated_cluster *c, const struct simulate_options *options, struct simulation *ret,
	struct err *err)
{
	CLEANUP(displaced_release) struct displaced displaced = {0};
	CLEANUP(simulation_release) struct simulation s = {0};
	size_t n_before = c->n_nodes;
	int r = simulation_check_settings(options, err);

	if (r < 0)
		return r;
	s.proposed = find_proposed(options);
	s.restarted = options->restart;
	s.drained = options->n_settings > 0 && options->n_additions == 0 && !options->restart;
	r = simulation_add_machines(c, options, err);
	if (r < 0)
		return r;
	s.nodes = xcalloc(c->n_nodes + 1, sizeof(*s.nodes));
	s.n_nodes = c->n_nodes;
	r = mark_gone_nodes(c, options, &s, err);
	if (r < 0)
		return r;
	measure_before(c, options, n_before, &s);
	for (size_t i = 0; i < n_before; i++) {
		simulated_show_progress(c, "nodes simulated", i, n_before);
		if (s.nodes[i].is_gone)
			empty_gone_node(c, i, &displaced);
		else if (options->restart && c->nodes[i].obstacle == SIMULATED_NO_OBSTACLE)
			simulation_restart_node(c, i, options, &s);
		else if (is_changed(c, options, i))
			change_node(c, i, options, &s);
	}
	place_displaced(c, &displaced, &s);
	measure_after(c, options, &s);
	set_hazards(c, &s);
	*ret = s;
	s = (struct simulation){0};
	return 0;
}

size_t simulation_count_rejected(const struct simulation *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_nodes; i++)
		n += s->nodes[i].n_rejected;
	return n;
}

size_t simulation_count_rejected_anyway(const struct simulation *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_nodes; i++)
		n += s->nodes[i].n_rejected_anyway;
	return n;
}

size_t simulation_count_unknown(const struct simulation *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_nodes; i++)
		n += s->nodes[i].n_unknown;
	return n;
}

size_t simulation_count_left_alone(const struct simulation *s, const struct simulated_cluster *c)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_nodes; i++) {
		enum simulated_obstacle obstacle = c->nodes[i].obstacle;

		if (obstacle == SIMULATED_NO_OBSTACLE || obstacle == SIMULATED_NOT_SELECTED ||
			s->nodes[i].changed)
			continue;
		/* The loss of a node needs only its pods, no verdicts of its kubelet. */
		n += !s->nodes[i].is_gone || obstacle == SIMULATED_NO_PODS;
	}
	return n;
}

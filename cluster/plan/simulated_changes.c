/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What simulations of drained nodes and of restarted kubelets have in common: events, and the settings of one node.
 */
#include "cluster/plan/simulate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/node/node_derive.h"
#include "scoring/node/node_start.h"
#include "scoring/node_mask.h"

/* ---- pods */

uint64_t simulation_find_numa(const struct simulated_cluster *c, size_t pod)
{
	CLEANUP(pod_held_release) struct pod_held held = {0};
	uint64_t mask = 0;

	simulated_held(c, pod, &held);
	if (held.found)
		node_mask_from_bitmap(held.numa, &mask);
	return mask;
}

void simulation_add_event(struct simulation *s, enum simulated_effect effect,
	const struct simulated_cluster *c, size_t pod, size_t node, uint64_t before, char *reason)
{
	*(struct simulated_event *)vec_push(&s->events, &s->n_events, &s->events_size, sizeof(*s->events)) =
		(struct simulated_event){.effect = effect,
			.pod = pod,
			.node = node,
			.to = c->pods[pod].node == node ? SIMULATED_NOWHERE : c->pods[pod].node,
			.before = before,
			.after = simulation_find_numa(c, pod),
			.reason = reason};
}

void simulation_count_lost(struct simulation *s, const struct simulated_cluster *c, size_t pod, size_t node,
	enum kubelet_answer answer, uint64_t before, char *reason)
{
	bool rejects = answer == KUBELET_REJECTS;

	s->nodes[node].n_rejected += rejects;
	s->nodes[node].n_unknown += !rejects;
	simulation_add_event(
		s, rejects ? SIMULATED_REJECTED : SIMULATED_UNKNOWN, c, pod, node, before, reason);
}

void simulation_count_kept(
	struct simulation *s, const struct simulated_cluster *c, size_t pod, size_t node, uint64_t before)
{
	unsigned n_before = node_mask_count(before);
	unsigned n_after = node_mask_count(simulation_find_numa(c, pod));
	bool is_wider = n_before > 0 && n_after > n_before;

	s->nodes[node].n_wider += is_wider;
	s->nodes[node].n_narrower += n_after > 0 && n_after < n_before;
	if (is_wider)
		simulation_add_event(s, SIMULATED_WIDER, c, pod, node, before, xstrdup(""));
}

static int compare_indexes(const void *va, const void *vb)
{
	size_t a = *(const size_t *)va, b = *(const size_t *)vb;

	return (a > b) - (a < b);
}

/* Indexes of pods are in the order of their creation. */
size_t *simulation_list_pods(const struct simulated_node *n)
{
	size_t *pods = xcalloc(n->n_pods + 1, sizeof(*pods));

	if (n->n_pods > 0)
		memcpy(pods, n->pods, n->n_pods * sizeof(*pods));
	qsort(pods, n->n_pods, sizeof(*pods), compare_indexes);
	return pods;
}

/* ---- settings */

static int change_settings(const struct simulate_options *options, struct settings *s,
	struct settings_changes *ret, struct err *err)
{
	for (size_t i = 0; i < options->n_settings; i++) {
		int r = settings_change(s, options->settings[i], ret, err);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Whether both begin with the same KEY=. */
static bool is_same_key(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return a[n] == '=' && !strncmp(a, b, n + 1);
}

int simulation_check_settings(const struct simulate_options *options, struct err *err)
{
	CLEANUP(settings_release) struct settings scratch;
	struct settings_changes changes = {false};

	settings_init(&scratch);
	for (size_t i = 0; i < options->n_settings; i++)
		for (size_t k = 0; k < i; k++)
			if (is_same_key(options->settings[i], options->settings[k]))
				return err_set(err, -EINVAL, "--set: %.*s is given twice",
					(int)strcspn(options->settings[i], "="), options->settings[i]);
	return change_settings(options, &scratch, &changes, err);
}

static void reduce_allocatable(struct simulated_node *n, const char *resource, qty_t amount)
{
	const struct resource_quantity *own = resource_list_find(&n->info->allocatable, resource);
	struct quantity q;

	if (!own)
		return;
	q = own->quantity;
	q.nano -= amount;
	resource_list_set(&n->info->allocatable, resource, q);
}

/* What the kubelet subtracts from the CPU capacity for the Node's allocatable CPUs, in nano-CPUs: the number of CPUs that
 * reservedSystemCPUs lists, else kubeReserved plus systemReserved (only the CPU manager rounds these up to whole CPUs). If these are not
 * known: the number of CPUs that are known as reserved. */
static qty_t reserved_cpu(const struct node_state *state)
{
	const struct settings *s = &state->settings;
	bool listed = s->reserved_system_cpus && !hwloc_bitmap_iszero(s->reserved_system_cpus);

	if (s->reserved_known && !listed)
		return s->kube_reserved_cpu + s->system_reserved_cpu;
	return (qty_t)cpuset_size(listed ? s->reserved_system_cpus : state->reserved.cpus) * QTY_UNIT;
}

static qty_t reserved_memory(const struct node_state *state)
{
	return state->settings.kube_reserved_memory + state->settings.system_reserved_memory;
}

void simulation_change_allocatable(struct simulated_node *n, const struct simulated_setting_change *change)
{
	const struct node_state *state = &n->info->object.state;

	if (change->changes.reserved_cpus)
		reduce_allocatable(n, "cpu", reserved_cpu(state) - change->reserved_cpu);
	reduce_allocatable(n, "memory", reserved_memory(state) - change->reserved_memory);
}

int simulation_change_settings(const struct simulate_options *options, struct node_state *state,
	struct simulated_setting_change *ret, struct err *err)
{
	int r;

	*ret = (struct simulated_setting_change){
		.reserved_cpu = reserved_cpu(state), .reserved_memory = reserved_memory(state)};
	r = change_settings(options, &state->settings, &ret->changes, err);
	if (r < 0)
		return r;
	r = settings_change_memory(state, &ret->changes, err);
	/* CPUs that were observed as reserved say nothing about changed settings. */
	if (r == 0 && options->n_settings > 0)
		r = node_start_check(state,
			state->reserved.observed && !ret->changes.reserved_cpus ? state->reserved.cpus : NULL,
			err);
	if (r < 0)
		return r;
	/* Else node_derive() would take the reserved CPUs from the kubelet's earlier allocatable CPUs. */
	if (ret->changes.reserved_cpus && state->allocatable_cpus)
		hwloc_bitmap_zero(state->allocatable_cpus);
	return 0;
}

int simulation_derive_node(struct simulated_cluster *c, struct simulated_node *n, struct err *err)
{
	static const struct derive_config config = {.reserved_named = false};
	struct node_state *state = &n->info->object.state;
	int r;

	reserved_cpus_release(&state->reserved);
	inventory_release(&state->inventory);
	inventory_init(&state->inventory);
	r = node_derive(&config, state, NULL, err);
	/* Also after a failure: n->state must not borrow what has been released. */
	simulated_begin_state(c, n);
	return r;
}

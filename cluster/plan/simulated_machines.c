/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds machines that do not exist yet.
 */
#include "cluster/plan/simulate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/resource.h"
#include "common/settings_table.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/node/node_derive.h"
#include "scoring/node/projected_state.h"

#define HOSTNAME          "kubernetes.io/hostname"
#define CONTROLLER_TAINTS "node.kubernetes.io/" /* not-ready, unschedulable, ... */
#define DEFAULT_PODS      110                   /* the kubelet's default of maxPods */

/* ---- settings */

static void set_defaults(struct settings *s)
{
	for (enum setting what = 0; what < SETTING_COUNT; what++)
		if (settings_table[what].kind == SETTING_IS_CHOICE)
			setting_set_choice(s, what, settings_table[what].fallback);
	s->reserved_known = true;
	s->eviction_hard_memory = xstrdup(EVICTION_HARD_DEFAULT);
}

/*
 * Copies the node's settings. The kubelet reserves the same number of CPUs, but chooses which CPUs. A reservation of memory on a
 * NUMA node that the machine does not have moves to the machine's first NUMA node.
 */
static void copy_settings(const struct node_state *like, const struct machine *m, struct settings *to)
{
	settings_copy(&like->settings, to);
	hwloc_bitmap_free(to->reserved_system_cpus);
	to->reserved_system_cpus = NULL;
	freep(&to->from[SETTING_RESERVED_SYSTEM_CPUS]);
	to->reserved_known = like->reserved.cpus != NULL || to->reserved_known;
	to->kube_reserved_cpu = (qty_t)cpuset_size(like->reserved.cpus) * QTY_UNIT;
	to->system_reserved_cpu = 0;
	for (size_t i = 0; i < to->n_memory_reservations; i++)
		if (machine_node_index(m, to->memory_reservations[i].node) < 0)
			to->memory_reservations[i].node = m->nodes[0].id;
}

/* ---- the node state */

static void copy_devices(const struct allocations *from, struct allocations *to)
{
	for (size_t i = 0; i < from->n_registered; i++) {
		const struct device_block *b = &from->registered[i];

		for (size_t d = 0; d < b->ids.n_items; d++)
			device_blocks_add(&to->registered, &to->n_registered, &to->registered_size,
				b->resource, b->nodes, b->nodes_unknown, b->ids.items[d]);
	}
	to->registered_known = true;
}

/* Why no verdict on the node's kubelet is possible, for example because it would not start; "" = one is possible. */
static struct err find_problem(const struct node_state *state)
{
	CLEANUP(node_admission_release) struct node_admission a = {0};

	node_admission_init(&a, state);
	return *a.kubelet.unknown.text ? a.kubelet.unknown : a.kubelet.cpu_unknown;
}

/* `like`: NULL = the kubelet's defaults. */
static int make_state(const struct node_state *hardware, const struct node_state *like,
	const struct simulate_options *options, struct node_state *ret, struct err *err)
{
	static const struct derive_config config = {.reserved_named = false};
	struct simulated_setting_change ignored;
	struct err problem;
	int r;

	machine_copy(&hardware->machine, &ret->machine);
	copy_devices(&hardware->allocations, &ret->allocations);
	if (like)
		copy_settings(like, &ret->machine, &ret->settings);
	else
		set_defaults(&ret->settings);
	r = simulation_change_settings(options, ret, &ignored, err);
	if (r < 0)
		return r;
	r = projected_state_empty(ret, err);
	if (r < 0)
		return r;
	r = node_derive(&config, ret, NULL, err);
	if (r < 0)
		return r;
	problem = find_problem(ret);
	return *problem.text ? err_set(err, -EINVAL, "%s", problem.text) : 0;
}

/* ---- the Node */

static void set_amount(struct resource_list *list, const char *name, qty_t nano, enum quantity_format format)
{
	resource_list_set(list, name, (struct quantity){.nano = nano, .format = format});
}

/* Makes the allocatable amounts of the Node of an empty machine. pods and ephemeral-storage, which a node state does not have, are those of
 * `like`. */
static void make_allocatable(
	const struct node_state *state, const struct resource_list *like, struct resource_list *ret)
{
	CLEANUP(node_admission_release) struct node_admission a = {0};
	const struct resource_quantity *storage = resource_list_find(like, "ephemeral-storage"),
				       *pods = resource_list_find(like, "pods");

	node_admission_init(&a, state);
	for (size_t i = 0; i < a.free.n_items; i++)
		set_amount(ret, a.free.items[i].name, a.free.items[i].quantity.nano,
			a.free.items[i].quantity.format);
	set_amount(ret, "pods", pods ? pods->quantity.nano : (qty_t)DEFAULT_PODS * QTY_UNIT,
		QUANTITY_DECIMAL_SI);
	if (storage)
		resource_list_set(ret, storage->name, storage->quantity);
}

static void set_text(struct doc *map, const char *key, const char *text)
{
	for (size_t i = 0; i < map->n_items; i++)
		if (!strcmp(map->items[i].key, key)) {
			doc_set_text(&map->items[i], DOC_STRING, text, strlen(text));
			return;
		}
	doc_add_string(map, key, text);
}

/* The taints of the Node `like`, without those that the node controller sets. */
static void copy_taints(const struct doc *like, struct doc *spec)
{
	const struct doc *taints = doc_get(doc_get(like, "spec"), "taints");
	struct doc *copies = doc_add_list(spec, "taints");

	DOC_FOREACH_ITEM (taint, taints)
		if (strncmp(doc_text(taint, "key"), CONTROLLER_TAINTS, strlen(CONTROLLER_TAINTS)) != 0)
			doc_copy(taint, doc_add(copies, NULL));
}

/* A Node with this name that is ready and not cordoned, and has the labels and taints of the Node `like`. */
static void make_node(const struct doc *like, const char *name, struct doc *ret)
{
	struct doc *metadata;

	*ret = (struct doc){.kind = DOC_MAP};
	if (like) {
		doc_copy_member(like, "metadata", ret);
		copy_taints(like, doc_add_map(ret, "spec"));
	}
	metadata = doc_find_or_add_map(ret, "metadata");
	set_text(metadata, "name", name);
	set_text(doc_find_or_add_map(metadata, "labels"), HOSTNAME, name);
}

/* ---- all machines */

/* A name that no node has. *last_number: the number in the last name that was tried, 0 at first. */
static char *choose_name(const struct simulated_cluster *c, unsigned *last_number)
{
	for (;;) {
		CLEANUP(freep) char *name = xasprintf("new-%u", ++*last_number);

		if (simulated_cluster_find(c, name) == SIMULATED_NOWHERE)
			return TAKE(name);
	}
}

/*
 * Adds one node. `like`: the node whose settings, taints and labels the node gets; SIMULATED_NOWHERE = the kubelet's defaults.
 * `last_number`: as choose_name().
 */
static int add_machine(struct simulated_cluster *c, const struct node_state *hardware, size_t like,
	const struct simulate_options *options, unsigned *last_number, struct err *err)
{
	static const struct resource_list nothing = {0};
	const struct simulated_node *model = like == SIMULATED_NOWHERE ? NULL : &c->nodes[like];
	CLEANUP(node_state_release) struct node_state state;
	CLEANUP(resource_list_release) struct resource_list allocatable = {0};
	CLEANUP(doc_release) struct doc node = DOC_INIT;
	CLEANUP(freep) char *name = choose_name(c, last_number);
	int r;

	node_state_init(&state);
	text_set(&state.node_name, name);
	r = make_state(hardware, model ? &model->info->object.state : NULL, options, &state, err);
	if (r < 0) /* -EINVAL, because the flags ask for a machine that cannot be */
		return err_wrap(err, -EINVAL, "--add");
	make_allocatable(&state, model ? &model->info->allocatable : &nothing, &allocatable);
	make_node(model && model->info->has_node ? &model->node : NULL, name, &node);
	simulated_cluster_add_empty_node(c, &state, &node, &allocatable);
	return 0;
}

static int find_like(const struct simulated_cluster *c, const char *name, size_t *ret, struct err *err)
{
	*ret = name ? simulated_cluster_find(c, name) : SIMULATED_NOWHERE;
	if (name && *ret == SIMULATED_NOWHERE)
		return err_set(err, -EINVAL, "--like: no such node: '%.60s'", name);
	if (name && (!c->nodes[*ret].info->has_object || c->nodes[*ret].info->object.basis != CLUSTER_EXACT))
		return err_set(err, -EINVAL, "--like: the settings of node '%.60s' are not known", name);
	return 0;
}

int simulation_add_machines(
	struct simulated_cluster *c, const struct simulate_options *options, struct err *err)
{
	unsigned last_number = 0;
	size_t like;
	int r = find_like(c, options->like, &like, err);

	for (size_t i = 0; i < options->n_additions && r == 0; i++)
		for (size_t k = 0; k < options->additions[i].n && r == 0; k++)
			r = add_machine(c, &options->additions[i].hardware, like, options, &last_number, err);
	return r;
}

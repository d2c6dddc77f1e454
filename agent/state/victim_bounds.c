/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/state/victim_bounds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/resource_name.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/request.h"

#define MAX_PLACES 512 /* of one need; where there are more sets of NUMA nodes it is left out */

void victim_bounds_release(struct victim_bounds *b)
{
	for (size_t i = 0; i < b->n_places; i++)
		free(b->places[i].frees);
	free(b->places);
	free(b->most);
	*b = (struct victim_bounds){0};
}

static struct victim_place *add_place(struct victim_bounds *b, qty_t missing)
{
	struct victim_place *p = vec_push(&b->places, &b->n_places, &b->places_size, sizeof(*p));

	p->need = b->n_needs;
	p->missing = missing;
	p->frees = xcalloc(b->n_holders + 1, sizeof(*p->frees));
	return p;
}

/* ---- what a holder has */

static qty_t block_units(const struct allocation *item, const char *type, int node)
{
	qty_t sum = 0;

	for (size_t i = 0; i < item->n_memory; i++)
		if (!strcmp(item->memory[i].type, type) &&
			(node < 0 || hwloc_bitmap_isset(item->memory[i].nodes, (unsigned)node)))
			sum += (qty_t)item->memory[i].bytes * QTY_UNIT;
	return sum;
}

static qty_t device_units(const struct allocation *item, const char *resource)
{
	qty_t sum = 0;

	for (size_t i = 0; i < item->n_devices; i++)
		if (!strcmp(item->devices[i].resource, resource))
			sum += (qty_t)item->devices[i].ids.n_items * QTY_UNIT;
	return sum;
}

/* Of memory, hugepages or a device resource; on one NUMA node, or -1 = anywhere. */
static qty_t units_of(const struct allocations *a, const struct holder *h, const char *name, int node)
{
	qty_t sum = 0;

	for (size_t i = h->first; i < h->end; i++)
		sum += resource_name_is_native(name) ? block_units(&a->items[i], name, node)
						     : device_units(&a->items[i], name);
	return sum;
}

/* ---- the node as a whole */

static void need_of_node(struct victim_bounds *b, const struct node_admission *admission,
	const struct resource_quantity *wanted, const struct holder *holders)
{
	const struct resource_quantity *free = resource_list_find(&admission->free, wanted->name);
	const struct resource_quantity *unsure = resource_list_find(&admission->unsure, wanted->name);
	struct victim_place *p;

	if (!free || wanted->quantity.nano == 0)
		return;
	p = add_place(b, wanted->quantity.nano - free->quantity.nano - (unsure ? unsure->quantity.nano : 0));
	for (size_t h = 0; h < b->n_holders; h++)
		p->frees[h] = !strcmp(wanted->name, "cpu") ? (qty_t)holders[h].cpus * QTY_UNIT
							   : units_of(&admission->state->allocations,
								     &holders[h], wanted->name, -1);
	b->n_needs++;
}

/* ---- NUMA nodes that are to be few */

static qty_t count_in(hwloc_const_bitmap_t set, hwloc_const_bitmap_t own, hwloc_const_bitmap_t but)
{
	qty_t n = 0;

	for (int id = hwloc_bitmap_first(set); id >= 0; id = hwloc_bitmap_next(set, id))
		n += hwloc_bitmap_isset(own, (unsigned)id) && !(but && hwloc_bitmap_isset(but, (unsigned)id));
	return n;
}

/* CPUs by NUMA node: all, free, and of each holder. */
struct cpu_table {
	size_t n_nodes;
	qty_t *all, *free;
	qty_t *held; /* [node][holder] */
};

static void cpu_table_release(struct cpu_table *t)
{
	free(t->all);
	free(t->free);
	free(t->held);
}

static void cpu_table_init(
	struct cpu_table *t, const struct node_admission *admission, const struct holder *holders, size_t n)
{
	const struct machine *m = &admission->state->machine;
	const struct allocations *a = &admission->state->allocations;

	*t = (struct cpu_table){.n_nodes = m->n_nodes,
		.all = xcalloc(m->n_nodes + 1, sizeof(*t->all)),
		.free = xcalloc(m->n_nodes + 1, sizeof(*t->free)),
		.held = xcalloc(m->n_nodes * n + 1, sizeof(*t->held))};
	for (size_t i = 0; i < m->n_nodes; i++) {
		CLEANUP(cpuset_freep) hwloc_bitmap_t own = NULL;

		machine_own_cpus(m, i, &own);
		t->all[i] = count_in(own, own, NULL);
		t->free[i] = count_in(admission->known.node.shared, own, admission->state->reserved.cpus);
		for (size_t h = 0; h < n; h++)
			for (size_t k = holders[h].first; k < holders[h].end; k++)
				t->held[i * n + h] += count_in(a->items[k].cpus, own, NULL);
	}
}

static int descending(const void *va, const void *vb)
{
	qty_t a = *(const qty_t *)va, b = *(const qty_t *)vb;

	return (a < b) - (a > b);
}

/* How few NUMA nodes could have so many CPUs, if all were free; 0 = all together have not. */
static void fewest_nodes(const struct cpu_table *t, qty_t cpus, size_t *ret)
{
	CLEANUP(freep) qty_t *sizes = xcalloc(t->n_nodes + 1, sizeof(*sizes));
	size_t n = 0;

	memcpy(sizes, t->all, t->n_nodes * sizeof(*sizes));
	qsort(sizes, t->n_nodes, sizeof(*sizes), descending);
	while (n < t->n_nodes && cpus > 0)
		cpus -= sizes[n++];
	*ret = cpus > 0 ? 0 : n;
}

/* A place for each set of `width` NUMA nodes. */
static void add_cpu_places(struct victim_bounds *b, const struct cpu_table *t, qty_t cpus, size_t width)
{
	CLEANUP(freep) size_t *at = xcalloc(width + 1, sizeof(*at));
	size_t k = 0;

	for (size_t i = 0; i < width; i++)
		at[i] = i;
	for (;;) {
		struct victim_place *p = add_place(b, 0);

		p->missing = cpus * QTY_UNIT;
		for (size_t i = 0; i < width; i++) {
			p->missing -= t->free[at[i]] * QTY_UNIT;
			for (size_t h = 0; h < b->n_holders; h++)
				p->frees[h] += t->held[at[i] * b->n_holders + h] * QTY_UNIT;
		}
		for (k = width; k > 0 && at[k - 1] == t->n_nodes - width + k - 1;)
			k--;
		if (k == 0)
			return;
		for (at[k - 1]++; k < width; k++)
			at[k] = at[k - 1] + 1;
	}
}

static size_t sets_of(size_t n, size_t width)
{
	size_t sets = 1;

	for (size_t i = 0; i < width && sets <= MAX_PLACES; i++)
		sets = sets * (n - i) / (i + 1);
	return sets;
}

/* The exclusive CPUs of one merge of hints, where these have to be on as few NUMA nodes as possible. */
static void need_of_cpus(struct victim_bounds *b, const struct node_admission *admission,
	const struct cpu_table *t, size_t cpus)
{
	size_t width = 1;

	if (admission->settings.topology.policy == TOPOLOGY_MANAGER_RESTRICTED)
		fewest_nodes(t, (qty_t)cpus, &width);
	if (cpus == 0 || width == 0 || sets_of(t->n_nodes, width) > MAX_PLACES)
		return;
	add_cpu_places(b, t, (qty_t)cpus, width);
	b->n_needs++;
}

static void needs_of_cpus(struct victim_bounds *b, const struct node_admission *admission,
	const struct pod_request *pod, const struct holder *holders)
{
	CLEANUP(cpu_table_release) struct cpu_table t = {0};
	enum qos_class qos = request_qos(pod);

	if (admission->settings.cpu_manager != CPU_MANAGER_STATIC ||
		admission->settings.cpu_options.align_by_socket || !admission->known.node.shared)
		return;
	cpu_table_init(&t, admission, holders, b->n_holders);
	if (admission->settings.topology.scope == TOPOLOGY_SCOPE_POD) {
		need_of_cpus(b, admission, &t, kubelet_pod_exclusive_cpus(pod, qos));
		return;
	}
	for (size_t i = 0; i < pod->n_containers; i++)
		need_of_cpus(b, admission, &t, kubelet_exclusive_cpus(&pod->containers[i], qos));
}

/* Memory of one container on one NUMA node. */
static void needs_of_memory(struct victim_bounds *b, const struct node_admission *admission,
	const struct container_request *c, const struct holder *holders)
{
	const struct memory_state *m = &admission->state->allocations.memory;

	for (size_t i = 0; i < c->requests.n_items; i++) {
		const struct resource_quantity *q = &c->requests.items[i];

		if ((strcmp(q->name, "memory") != 0 && !resource_name_is_hugepages(q->name)) ||
			q->quantity.nano == 0)
			continue;
		for (size_t k = 0; k < m->n_nodes; k++) {
			const struct memory_table *table = memory_node_table(&m->nodes[k], q->name);
			struct victim_place *p =
				add_place(b, q->quantity.nano - (table ? (qty_t)table->free * QTY_UNIT : 0));

			for (size_t h = 0; h < b->n_holders; h++)
				p->frees[h] = units_of(&admission->state->allocations, &holders[h], q->name,
					(int)m->nodes[k].id);
		}
		b->n_needs++;
	}
}

/* ---- all of them */

void victim_bounds_init(struct victim_bounds *b, const struct node_admission *admission,
	const struct pod_request *pod, const struct holder *holders, size_t n_holders)
{
	CLEANUP(resource_list_release) struct resource_list wanted = {0};
	enum topology_manager_policy policy = admission->settings.topology.policy;
	bool memory = admission->kubelet.memory_static && admission->state->allocations.memory_known &&
		      policy == TOPOLOGY_MANAGER_SINGLE_NUMA_NODE && request_qos(pod) == QOS_GUARANTEED;

	request_of_node(pod, &wanted);
	b->n_holders = n_holders;
	b->most = xcalloc(n_holders + 1, sizeof(*b->most));
	for (size_t i = 0; i < wanted.n_items; i++)
		need_of_node(b, admission, &wanted.items[i], holders);
	if (policy == TOPOLOGY_MANAGER_RESTRICTED || policy == TOPOLOGY_MANAGER_SINGLE_NUMA_NODE)
		needs_of_cpus(b, admission, pod, holders);
	for (size_t i = 0; i < pod->n_containers && memory; i++)
		needs_of_memory(b, admission, &pod->containers[i], holders);
}

bool victim_bounds_concern(const struct victim_bounds *b, size_t holder)
{
	for (size_t i = 0; i < b->n_places; i++)
		if (b->places[i].frees[holder] > 0)
			return true;
	return false;
}

/* The sum of the `picks` largest of frees[from..]. */
static qty_t largest(const struct victim_bounds *b, const qty_t *frees, size_t from, size_t picks)
{
	size_t n = 0;
	qty_t sum = 0;

	for (size_t h = from; h < b->n_holders && picks > 0; h++) {
		size_t at;

		if (frees[h] == 0 || (n == picks && frees[h] <= b->most[n - 1]))
			continue;
		n += n < picks;
		for (at = n - 1; at > 0 && b->most[at - 1] < frees[h]; at--)
			b->most[at] = b->most[at - 1];
		b->most[at] = frees[h];
	}
	for (size_t i = 0; i < n; i++)
		sum += b->most[i];
	return sum;
}

bool victim_bounds_allow(const struct victim_bounds *b, const bool *chosen, size_t from, size_t picks)
{
	bool met = true;

	for (size_t i = 0; i < b->n_places; i++) {
		const struct victim_place *p = &b->places[i];
		qty_t missing = p->missing;

		if (i == 0 || p->need != p[-1].need) {
			if (!met)
				return false;
			met = false;
		}
		for (size_t h = 0; h < b->n_holders && missing > 0 && !met; h++)
			missing -= chosen[h] ? p->frees[h] : 0;
		met = met || missing <= 0 || missing <= largest(b, p->frees, from, picks);
	}
	return met;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/node/node_admission.h"

#include <string.h>

#include "common/allocation.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/resource.h"
#include "scoring/combinations.h"
#include "scoring/cpu_manager.h"
#include "scoring/kubelet.h"
#include "scoring/node/known_machine.h"
#include "scoring/node/node_derive.h"
#include "scoring/node_mask.h"
#include "scoring/request.h"

/* ---- amounts of the whole node */

/* Bounds of what pods hold of one resource, in units of the resource. */
struct held {
	uint64_t sum;  /* upper bound: of all containers */
	uint64_t sure; /* lower bound: of one container per pod, as the others may be init containers */
};

/* The end of the pod whose first item is `first`: items are sorted by pod. */
static size_t pod_end(const struct allocations *a, size_t first)
{
	size_t end = first + 1;

	/* Version 1 of cpu_manager_state has no pod UIDs: every container is a pod of its own. */
	while (end < a->n_items && *a->items[first].pod_uid &&
		!strcmp(a->items[end].pod_uid, a->items[first].pod_uid))
		end++;
	return end;
}

/*
 * Counts a CPU once per pod that holds the CPU, and also a reserved CPU that a pod holds, because the kubelet
 * adds up the requests of the pods.
 */
static struct held held_cpus(const struct node_state *node)
{
	const struct allocations *a = &node->allocations;
	CLEANUP(cpuset_freep) hwloc_bitmap_t pod = cpuset_new();
	struct held held = {0};

	for (size_t first = 0, end; first < a->n_items; first = end) {
		size_t most = 0;

		end = pod_end(a, first);
		hwloc_bitmap_zero(pod);
		for (size_t i = first; i < end; i++) {
			size_t own = cpuset_size(a->items[i].cpus);

			cpuset_or(pod, pod, a->items[i].cpus);
			most = own > most ? own : most;
		}
		held.sum += cpuset_size(pod);
		held.sure += most;
	}
	/* A resized container keeps its CPUs, but the kubelet counts what the container requests now. */
	if (kubelet_gate_on(&node->settings, KUBELET_RESIZE_CPUS))
		held.sure = 0;
	return held;
}

static uint64_t block_bytes(const struct allocation *item, const char *type)
{
	uint64_t sum = 0;

	for (size_t b = 0; b < item->n_memory; b++)
		if (!strcmp(item->memory[b].type, type))
			sum += item->memory[b].bytes;
	return sum;
}

/* Memory, or hugepages of one size, that the memory manager has given to containers. */
static struct held held_bytes(const struct node_state *node, const char *type)
{
	const struct allocations *a = &node->allocations;
	struct held held = {0};

	for (size_t first = 0, end; a->memory_known && first < a->n_items; first = end) {
		uint64_t most = 0;

		end = pod_end(a, first);
		for (size_t i = first; i < end; i++) {
			uint64_t bytes = block_bytes(&a->items[i], type);

			held.sum += bytes;
			most = bytes > most ? bytes : most;
		}
		held.sure += most;
	}
	/* As in held_cpus(): a resized container keeps its memory. */
	if (!strcmp(type, "memory") && kubelet_gate_on(&node->settings, KUBELET_RESIZE_MEMORY))
		held.sure = 0;
	return held;
}

/* The node's allocatable memory, which is not in hugepages. */
static qty_t allocatable_memory(const struct node_state *node)
{
	const struct settings *s = &node->settings;
	const struct known_memory known = known_machine_memory(node);

	return ((qty_t)known.bytes - (qty_t)known.hugepages) * QTY_UNIT - s->kube_reserved_memory -
	       s->system_reserved_memory - node_derive_eviction_threshold(node);
}

static void set_free_amounts(
	struct node_admission *a, const char *name, qty_t free, struct held held, enum quantity_format format)
{
	qty_t unsure = (qty_t)(held.sum - held.sure) * QTY_UNIT;

	resource_list_set(&a->free, name, (struct quantity){.nano = free, .format = format});
	resource_list_set(&a->unsure, name, (struct quantity){.nano = unsure, .format = format});
}

/*
 * CPUs that the kubelet counts, minus what is reserved for the system, in nano-CPUs: the number of CPUs that reservedSystemCPUs lists;
 * without the list kubeReserved plus systemReserved, which need not be whole CPUs. A different number of reserved CPUs that the running
 * kubelet reports has priority: the settings are then not this kubelet's. `machine`: the kubelet's.
 */
static qty_t allocatable_cpu(const struct node_state *node, const struct machine *machine)
{
	const struct settings *s = &node->settings;
	bool listed = s->reserved_system_cpus && !hwloc_bitmap_iszero(s->reserved_system_cpus);
	CLEANUP(cpuset_freep) hwloc_bitmap_t all = machine_counted_cpus(machine);
	CLEANUP(cpuset_freep) hwloc_bitmap_t reserved = NULL;
	CLEANUP(cpuset_freep)
	hwloc_bitmap_t known = node->reserved.observed ? NULL : known_machine_cpus(node);
	qty_t sum = s->kube_reserved_cpu + s->system_reserved_cpu;

	/* CPUs that appeared after the kubelet's start do not count. If observed, the reserved CPUs include them. */
	if (known) {
		CLEANUP(cpuset_freep) hwloc_bitmap_t added = machine_counted_cpus(&node->machine);

		cpuset_andnot(added, added, known);
		cpuset_andnot(all, all, added);
	}
	if (node->reserved.observed) {
		reserved = cpuset_dup(node->reserved.cpus);
		cpuset_and(reserved, reserved, all);
	} else if (s->reserved_system_cpus) {
		reserved = cpuset_dup(s->reserved_system_cpus);
	}
	if (s->reserved_known && !listed &&
		(!reserved || cpuset_size(reserved) == cpu_manager_reserved_count(sum)))
		return (qty_t)cpuset_size(all) * QTY_UNIT - sum;
	return ((qty_t)cpuset_size(all) - (qty_t)(reserved ? cpuset_size(reserved) : 0)) * QTY_UNIT;
}

/* Adds the free hugepages of this name ("hugepages-1Gi"), unless they have been added. Without the machine's pools: those of the zones. */
static void add_free_pages_of(struct node_admission *a, const char *name)
{
	const struct inventory *zones = &a->state->inventory;
	int resource = inventory_resource(zones, name);
	qty_t free = 0;

	if (resource_list_find(&a->free, name))
		return;
	if (!node_derive_free_pages(a->state, name, &free))
		for (size_t i = 0; i < zones->n_nodes && resource >= 0; i++)
			free = qty_add(free, inventory_amount(zones, i, (size_t)resource)->available);
	set_free_amounts(a, name, free, held_bytes(a->state, name), QUANTITY_BINARY_SI);
}

#define MAX_ZONE_PAGES 64 /* sizes of hugepages in the zones; machines have four at most */

/* The hugepages of each size that the node has. */
static void add_free_pages(struct node_admission *a)
{
	const struct machine *m = &a->state->machine;
	const struct inventory *zones = &a->state->inventory;
	size_t left = MAX_ZONE_PAGES;

	for (uint64_t page = machine_next_page_size(m, 0); page > 0; page = machine_next_page_size(m, page)) {
		char name[RESOURCE_NAME_HUGEPAGES_SIZE];

		resource_name_of_hugepages(page, name);
		add_free_pages_of(a, name);
	}
	for (size_t i = 0; i < zones->n_resources && left > 0; i++)
		if (resource_name_is_hugepages(zones->resources[i])) {
			add_free_pages_of(a, zones->resources[i]);
			left--;
		}
}

static void add_free_devices(struct node_admission *a)
{
	for (size_t i = 0; i < a->devices.n_resources; i++) {
		const struct device_resource *resource = &a->devices.resources[i];
		size_t n = 0;

		for (size_t d = 0; d < resource->n_devices; d++)
			n += resource->devices[d].healthy && !resource->devices[d].allocated;
		resource_list_set(&a->free, resource->name, quantity_from_units((int64_t)n));
	}
}

/* ---- devices */

static uint64_t mask_of_nodes(hwloc_const_bitmap_t nodes)
{
	uint64_t mask = 0;

	for (int id = hwloc_bitmap_first(nodes); id >= 0 && id <= NODE_MASK_MAX_ID;
		id = hwloc_bitmap_next(nodes, id))
		mask |= node_mask_of((unsigned)id);
	return mask;
}

/*
 * The end of the run of one resource's devices that begins at `first`; *ret_all_known: the NUMA nodes of all
 * are known.
 */
static size_t resource_end(const struct device_index *index, size_t first, bool *ret_all_known)
{
	size_t end = first;

	*ret_all_known = true;
	for (; end < index->n_items &&
		!strcmp(index->items[end].block->resource, index->items[first].block->resource);
		end++)
		*ret_all_known = *ret_all_known && !index->items[end].block->nodes_unknown;
	return end;
}

/* Adds the devices of the resources for which the NUMA nodes of all devices are known. The registered devices are sorted by resource. */
static void list_counted_devices(const struct allocations *a, struct device_inventory *ret)
{
	CLEANUP(device_index_release) struct device_index registered = {0};
	CLEANUP(device_index_release) struct device_index held = {0};
	bool all_nodes_known = false; /* of the resource whose devices end at `end` */

	device_index_registered(a, &registered);
	device_index_held(a, &held);
	for (size_t i = 0, end = 0; i < registered.n_items; i++) {
		const struct device_ref *d = &registered.items[i];
		const struct device device = {.nodes = mask_of_nodes(d->block->nodes),
			.healthy = true,
			.allocated = device_index_find(&held, d->block->resource, d->id) != NULL};

		if (i == end)
			end = resource_end(&registered, i, &all_nodes_known);
		if (all_nodes_known)
			device_inventory_add(ret, d->block->resource, device);
	}
}

enum device_knowledge node_admission_devices(const struct node_admission *a, const char *resource)
{
	const struct allocations *all = &a->state->allocations;

	if (resource_name_is_native(resource) || device_inventory_find(&a->devices, resource))
		return DEVICES_KNOWN;
	for (size_t i = 0; i < all->n_registered; i++)
		if (!strcmp(all->registered[i].resource, resource))
			return DEVICES_UNKNOWN;
	return all->registered_known ? DEVICES_ABSENT : DEVICES_UNKNOWN;
}

/* ---- the kubelet */

hwloc_const_bitmap_t node_shared_cpus(const struct node_state *state)
{
	const struct allocations *a = &state->allocations;

	if (!a->cpus_known || (a->shared && !hwloc_bitmap_iszero(a->shared)))
		return a->shared;
	for (size_t i = 0; i < a->n_items; i++)
		if (!hwloc_bitmap_iszero(a->items[i].cpus))
			return a->shared;
	return state->machine.online;
}

/* The machine as the kubelet knows it: the node's own, or `known`, which the caller releases in either case. */
static const struct machine *find_machine(const struct node_state *state, struct machine *known)
{
	machine_init(known);
	return known_machine_differs(state, known) ? known : &state->machine;
}

/* The machine and the reserved CPUs as the kubelet knows them. */
static void set_known_machine(struct node_admission *a)
{
	const struct reserved_cpus *reserved = &a->state->reserved;

	a->machine = find_machine(a->state, &a->known);
	if (!reserved->observed)
		return;
	a->reserved = cpuset_dup(reserved->cpus);
	cpuset_and(a->reserved, a->reserved, a->machine->online);
}

static void release_kubelet(struct node_admission *a)
{
	kubelet_workspace_freep(&a->ws);
	kubelet_release(&a->kubelet);
}

static void init_kubelet(struct node_admission *a)
{
	const struct node_state *state = a->state;
	const struct kubelet_node node = {
		.machine = a->machine,
		.present = &state->machine,
		.settings = &a->settings,
		.shared = node_shared_cpus(state),
		.reserved = a->reserved,
		.memory = state->allocations.memory_known ? &state->allocations.memory : NULL,
		.devices = &a->devices,
		.eviction_known = state->settings.eviction_hard_memory != NULL,
		.eviction = node_derive_eviction_threshold(state),
	};

	kubelet_init(&a->kubelet, &node);
	a->ws = kubelet_workspace_new(&a->kubelet);
	a->handlers = (struct admit_handlers){.kubelet = &a->kubelet,
		.ws = a->ws,
		.free = &a->free,
		.unsure = &a->unsure,
		.max_kubelet_ns = KUBELET_TIME_MAX};
}

void node_admission_init(struct node_admission *a, const struct node_state *state)
{
	struct held held;

	*a = (struct node_admission){
		.state = state, .settings = state->settings, .work_limit = KUBELET_WORK_MAX};
	list_counted_devices(&state->allocations, &a->devices);
	set_known_machine(a);
	held = held_cpus(state);
	set_free_amounts(a, "cpu", allocatable_cpu(state, a->machine) - (qty_t)held.sum * QTY_UNIT, held,
		QUANTITY_DECIMAL_SI);
	held = held_bytes(state, "memory");
	if (state->machine.memory_bytes > 0)
		set_free_amounts(a, "memory", allocatable_memory(state) - (qty_t)held.sum * QTY_UNIT, held,
			QUANTITY_BINARY_SI);
	add_free_devices(a);
	add_free_pages(a);
	init_kubelet(a);
}

void node_admission_release(struct node_admission *a)
{
	release_kubelet(a);
	device_inventory_release(&a->devices);
	machine_release(&a->known);
	hwloc_bitmap_free(a->reserved);
	resource_list_release(&a->free);
	resource_list_release(&a->unsure);
	*a = (struct node_admission){0};
}

void node_admission_what_if(struct node_admission *a, const struct topology_manager_config *config)
{
	release_kubelet(a);
	a->settings.topology = *config;
	init_kubelet(a);
}

/* ---- what is left of all that pods request */

static void set_amount_left(struct resource_list *ret, const struct resource_list *requested,
	const char *name, qty_t allocatable, enum quantity_format format)
{
	resource_list_set(ret, name,
		(struct quantity){
			.nano = allocatable - resource_list_amount(requested, name), .format = format});
}

/* The pages of a size on a NUMA node that the kubelet counted at its start, in bytes. */
static uint64_t counted_pages(
	const struct node_state *state, const struct numa_node *node, uint64_t page_bytes, const char *name)
{
	const struct memory_table *table =
		memory_node_table(allocations_memory_node(&state->allocations, node->id), name);

	return table ? table->total : machine_node_pages(node, page_bytes);
}

static void add_pages_left(
	const struct node_state *state, const struct resource_list *requested, struct resource_list *ret)
{
	const struct machine *m = &state->machine;
	CLEANUP(cpuset_freep) hwloc_bitmap_t known = known_machine_nodes(state);

	for (uint64_t page = machine_next_page_size(m, 0); page > 0; page = machine_next_page_size(m, page)) {
		char name[RESOURCE_NAME_HUGEPAGES_SIZE];
		uint64_t sum = 0;

		resource_name_of_hugepages(page, name);
		for (size_t i = 0; i < m->n_nodes; i++)
			if (hwloc_bitmap_isset(known, m->nodes[i].id))
				sum += counted_pages(state, &m->nodes[i], page, name);
		set_amount_left(ret, requested, name, (qty_t)sum * QTY_UNIT, QUANTITY_BINARY_SI);
	}
}

void node_admission_requestable(
	const struct node_state *state, const struct resource_list *requested, struct resource_list *ret)
{
	CLEANUP(device_inventory_release) struct device_inventory devices = {0};
	CLEANUP(machine_release) struct machine known;
	const struct machine *machine;

	machine = find_machine(state, &known);
	*ret = (struct resource_list){0};
	if (!kubelet_gate_on(&state->settings, KUBELET_RESIZE_CPUS))
		set_amount_left(ret, requested, "cpu", allocatable_cpu(state, machine), QUANTITY_DECIMAL_SI);
	if (state->machine.memory_bytes > 0 && !kubelet_gate_on(&state->settings, KUBELET_RESIZE_MEMORY))
		set_amount_left(ret, requested, "memory", allocatable_memory(state), QUANTITY_BINARY_SI);
	add_pages_left(state, requested, ret);
	list_counted_devices(&state->allocations, &devices);
	for (size_t i = 0; i < devices.n_resources; i++)
		set_amount_left(ret, requested, devices.resources[i].name,
			(qty_t)devices.resources[i].n_devices * QTY_UNIT, QUANTITY_DECIMAL_SI);
}

/* Per item of `requestable` the minimum of the item and of what may be free by the node's state. */
static void lower_to_own(
	const struct node_admission *a, const struct resource_list *requestable, struct resource_list *ret)
{
	for (size_t i = 0; i < requestable->n_items; i++) {
		const char *name = requestable->items[i].name;
		const struct resource_quantity *free = resource_list_find(&a->free, name);
		qty_t unsure = resource_list_amount(&a->unsure, name);
		struct quantity q = requestable->items[i].quantity;
		qty_t own = !free ? QTY_MAX : qty_add(free->quantity.nano, unsure);

		if (own < q.nano)
			q.nano = own;
		resource_list_append(ret, name, q);
	}
}

/* A resource in `requestable` has no unsure amount: the requests of every pod are known, so it does not
 * matter which holders are init containers. */
void node_admission_limit(struct node_admission *a, const struct resource_list *requestable)
{
	CLEANUP(resource_list_release) struct resource_list lowered = {0};

	lower_to_own(a, requestable, &lowered);
	resource_list_override(&a->free, &lowered);
	for (size_t i = 0; i < a->unsure.n_items; i++)
		if (resource_list_find(requestable, a->unsure.items[i].name))
			a->unsure.items[i].quantity.nano = 0;
}

char *node_admission_explain_amounts(const struct kubelet_verdict *v)
{
	if (v->short_of)
		return xasprintf("insufficient %s", v->short_of);
	return v->unsure_of ? xasprintf("perhaps insufficient %s", v->unsure_of) : xstrdup("unknown");
}

void node_admission_judge(
	struct node_admission *a, const struct pod_request *pod, struct kubelet_verdict *ret)
{
	a->ws->work.limit = a->work_limit;
	admit_judge(&a->handlers, pod, request_qos(pod), ret);
	a->steps = a->ws->work.steps;
}

const char *node_admission_unknown_device(const struct node_admission *a, const struct resource_list *wanted)
{
	for (size_t i = 0; i < wanted->n_items; i++)
		if (wanted->items[i].quantity.nano > 0 &&
			node_admission_devices(a, wanted->items[i].name) == DEVICES_UNKNOWN)
			return wanted->items[i].name;
	return NULL;
}

/* ---- copies of a pod, and the largest pod */

/* What is known about the requested device resources together. DEVICES_ABSENT takes precedence over DEVICES_UNKNOWN: no scheduler sends the
 * pod to a node without the resource, whatever the other devices are. */
static enum device_knowledge requested_device_knowledge(
	const struct node_admission *a, const struct resource_list *wanted)
{
	enum device_knowledge together = DEVICES_KNOWN;

	for (size_t i = 0; i < wanted->n_items && together != DEVICES_ABSENT; i++) {
		enum device_knowledge devices = node_admission_devices(a, wanted->items[i].name);

		if (wanted->items[i].quantity.nano > 0 && devices != DEVICES_KNOWN)
			together = devices;
	}
	return together;
}

void node_admission_copies(struct node_admission *a, const struct pod_request *pod, struct pod_copies *ret)
{
	CLEANUP(resource_list_release) struct resource_list wanted = {0};
	struct admit_copies copies = {0};
	struct kubelet_verdict first = {.answer = KUBELET_REJECTS};
	enum device_knowledge devices;

	*ret = (struct pod_copies){0};
	request_of_node(pod, &wanted);
	devices = requested_device_knowledge(a, &wanted);
	if (devices == DEVICES_UNKNOWN)
		return;
	/* If a device is absent, no copy fits: `first` stays a rejection. */
	if (devices == DEVICES_KNOWN)
		node_admission_judge(a, pod, &first);
	if (first.answer == KUBELET_ADMITS)
		admit_copies(&a->handlers, pod, request_qos(pod), &copies);
	if (first.answer != KUBELET_UNKNOWN)
		*ret = (struct pod_copies){.known = true, .at_least = copies.at_least, .n = copies.n};
}

/* The largest number of CPUs that are free together on `n_nodes` NUMA nodes or fewer. */
static size_t find_most_free(const struct inventory *inv, size_t cpu, unsigned n_nodes)
{
	qty_t most[COMBINATION_MAX_NODES] = {0}; /* the `n_nodes` largest amounts, descending */
	qty_t sum = 0;

	if (n_nodes > COMBINATION_MAX_NODES)
		n_nodes = COMBINATION_MAX_NODES;
	for (size_t i = 0; i < inv->n_nodes; i++) {
		const struct inventory_amount *amount = inventory_amount(inv, i, cpu);
		qty_t inserted = amount->present ? amount->available : 0;

		/* Each amount that the inserted amount replaces is inserted behind it; the smallest drops out. */
		for (unsigned at = 0; at < n_nodes && inserted > 0; at++) {
			qty_t replaced = most[at];

			if (inserted > replaced) {
				most[at] = inserted;
				inserted = replaced;
			}
		}
	}
	for (unsigned at = 0; at < n_nodes; at++)
		sum = qty_add(sum, most[at]);
	return (size_t)(sum / QTY_UNIT);
}

size_t node_admission_requestable_cpus(const struct node_admission *a)
{
	qty_t cpus = resource_list_amount(&a->free, "cpu") + resource_list_amount(&a->unsure, "cpu");

	return cpus > 0 ? (size_t)(cpus / QTY_UNIT) : 0;
}

bool node_admission_largest(const struct node_admission *a, const struct exclusive_cpus_admitted *admitted,
	unsigned n_nodes, size_t *ret)
{
	const struct inventory *inv = &a->state->inventory;
	int cpu = inventory_resource(inv, "cpu");
	size_t limit = node_admission_requestable_cpus(a), free;

	if (cpu < 0 || admitted->unknown.text[0] || admitted->step == 0)
		return false;
	free = find_most_free(inv, (size_t)cpu, n_nodes);
	*ret = exclusive_cpus_largest(admitted, free < limit ? free : limit);
	return true;
}

static size_t sum_free_cpus(const struct inventory *inv)
{
	int cpu = inventory_resource(inv, "cpu");
	size_t free = 0;

	for (size_t i = 0; i < inv->n_nodes && cpu >= 0; i++) {
		const struct inventory_amount *amount = inventory_amount(inv, i, (size_t)cpu);

		if (amount->present && amount->available > 0)
			free += (size_t)(amount->available / QTY_UNIT);
	}
	return free;
}

size_t node_admission_stranded_cpus(
	const struct node_admission *a, const struct exclusive_cpus_admitted *admitted)
{
	size_t usable = exclusive_cpus_usable(&a->kubelet, a->ws, admitted);
	size_t limit = node_admission_requestable_cpus(a), free = sum_free_cpus(&a->state->inventory);

	usable = usable < limit ? usable : limit;
	return free > usable ? free - usable : 0;
}

bool node_admission_copies_stranded_cpus(const struct node_admission *a, const struct pod_request *pod,
	const struct pod_copies *copies, size_t *ret)
{
	CLEANUP(resource_list_release) struct resource_list wanted = {0};
	const struct resource_quantity *cpus;
	size_t used, free = sum_free_cpus(&a->state->inventory);

	request_of_node(pod, &wanted);
	cpus = resource_list_find(&wanted, "cpu");
	if (!cpus || cpus->quantity.nano <= 0 || !copies->known || copies->at_least)
		return false;
	used = (size_t)(cpus->quantity.nano * (qty_t)copies->n / QTY_UNIT);
	*ret = free > used ? free - used : 0;
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/peers.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/resource.h"
#include "scoring/cpu_assignment.h"

/* `count` bits from bit `from` on. */
static uint64_t run(unsigned from, unsigned count)
{
	return count == 0 ? 0 : combination_first(count) << from;
}

bool combination_next_lexicographic(uint64_t *set, unsigned n)
{
	unsigned tail = 0; /* members that already stand at the end */

	while (tail < n && *set & UINT64_C(1) << (n - 1 - tail))
		tail++;
	for (unsigned i = n - tail; i-- > 0;) {
		if (!(*set & UINT64_C(1) << i))
			continue;
		*set = (*set & run(0, i)) | run(i + 1, tail + 1);
		return true;
	}
	return false;
}

bool request_is_exclusive(enum qos_class qos, const char *resource, qty_t amount, const struct inventory *inv)
{
	if (!resource_name_is_native(resource))
		return inventory_resource(inv, resource) >= 0;
	if (qos != QOS_GUARANTEED || amount <= 0)
		return false;
	if (!strcmp(resource, "cpu"))
		return request_whole_cpus(amount) > 0;
	return resource_name_is_numa_affine(resource);
}

bool request_pod_is_exclusive(const struct pod_request *pod, const struct inventory *inv)
{
	enum qos_class qos = request_qos(pod);

	for (size_t i = 0; i < pod->n_containers; i++) {
		const struct container_request *c = &pod->containers[i];

		for (size_t j = 0; j < c->requests.n_items && c->kind != CONTAINER_INIT; j++) {
			const struct resource_quantity *q = &c->requests.items[j];

			if (request_is_exclusive(qos, q->name, q->quantity.nano, inv))
				return true;
		}
	}
	return false;
}

const char *const eviction_messages[] = {
	"",
	"eviction simulation in NRT is not possible:no resources to add, cannot process eviction simulation",
	"eviction simulation in NRT is not possible:resource release request exceeds NUMA allocatable",
};

static_assert(ARRAY_SIZE(eviction_messages) == EVICTION_VERDICT_COUNT, "a message for each verdict");

/* Add one victim's exclusive amounts to `added` (laid out like inv->amounts); true when there were any. */
static bool add_victim(const struct inventory *inv, const struct eviction_victim *v, qty_t *added)
{
	enum qos_class qos = request_qos(v->pod);
	bool any = false;

	if (v->numa_id < 0 || v->container->kind == CONTAINER_INIT)
		return false;
	for (size_t i = 0; i < v->container->requests.n_items; i++) {
		const struct resource_quantity *q = &v->container->requests.items[i];
		int r = inventory_resource(inv, q->name);

		if (!request_is_exclusive(qos, q->name, q->quantity.nano, inv))
			continue;
		any = true;
		for (size_t node = 0; node < inv->n_nodes && r >= 0; node++) {
			qty_t *sum = &added[node * inv->n_resources + (size_t)r];

			if (inv->nodes[node].id == (unsigned)v->numa_id)
				*sum = qty_add(*sum, q->quantity.nano);
		}
	}
	return any;
}

int eviction_simulate(struct inventory *inv, const struct eviction_victim *victims, size_t n_victims)
{
	size_t n = inv->n_nodes * inv->n_resources;
	CLEANUP(freep) qty_t *added = calloc(n + 1, sizeof(*added));
	bool any = false;

	for (size_t i = 0; i < n_victims; i++)
		if (add_victim(inv, &victims[i], added))
			any = true;
	if (!any)
		return EVICTION_NOTHING_TO_ADD;
	for (size_t i = 0; i < n; i++)
		if (added[i] != 0 && inv->amounts[i].present &&
			qty_add(inv->amounts[i].available, added[i]) > inv->amounts[i].allocatable)
			return EVICTION_EXCEEDS;
	for (size_t i = 0; i < n; i++)
		if (inv->amounts[i].present)
			inv->amounts[i].available = qty_add(inv->amounts[i].available, added[i]);
	return EVICTION_DONE;
}

/* The sets that are compared. */
struct check {
	hwloc_bitmap_t all;   /* the machine's CPUs, without the strictly reserved */
	hwloc_bitmap_t known; /* the shared pool and every allocation */
	hwloc_bitmap_t reserved, overlap;
};

static void check_release(struct check *c)
{
	hwloc_bitmap_free(c->all);
	hwloc_bitmap_free(c->known);
	hwloc_bitmap_free(c->reserved);
	hwloc_bitmap_free(c->overlap);
}

static int check_init(struct check *c, const struct cpu_manager *cm, const struct allocations *a)
{
	const struct cpu_topology *t = cm->topology;

	*c = (struct check){.all = hwloc_bitmap_alloc(),
		.known = a->shared ? hwloc_bitmap_dup(a->shared) : hwloc_bitmap_alloc(),
		.reserved = hwloc_bitmap_alloc(),
		.overlap = hwloc_bitmap_alloc()};
	cpu_set_to_bitmap(t, cm->reserved, c->reserved);
	for (size_t i = 0; i < t->n_cpus; i++)
		if (!(cm->options.strict_cpu_reservation && cm->reserved[i]) &&
			hwloc_bitmap_set(c->all, t->ids[i]) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < a->n_items; i++)
		if (hwloc_bitmap_or(c->known, c->known, a->items[i].cpus) < 0)
			return -ENOMEM;
	return 0;
}

/* Two sets as text, both or neither. */
static void print_sets(hwloc_const_bitmap_t a, hwloc_const_bitmap_t b, char **ret_a, char **ret_b)
{
	*ret_a = cpuset_print(a);
	*ret_b = cpuset_print(b);
}

static int check_reserved(
	const struct cpu_manager *cm, const struct check *c, hwloc_const_bitmap_t shared, struct err *err)
{
	CLEANUP(freep) char *one = NULL;
	CLEANUP(freep) char *two = NULL;

	hwloc_bitmap_and(c->overlap, c->reserved, shared);
	if (cm->options.strict_cpu_reservation) {
		if (hwloc_bitmap_iszero(c->overlap))
			return 0;
		print_sets(c->overlap, shared, &one, &two);
		return err_set(err, -EINVAL,
			"some of strictly reserved cpus: \"%s\" are present in defaultCpuSet: \"%s\"", one,
			two);
	}
	if (hwloc_bitmap_isequal(c->overlap, c->reserved))
		return 0;
	print_sets(c->reserved, shared, &one, &two);
	return err_set(
		err, -EINVAL, "not all reserved cpus: \"%s\" are present in defaultCpuSet: \"%s\"", one, two);
}

static int check_assignments(const struct check *c, const struct allocations *a, struct err *err)
{
	CLEANUP(freep) char *one = NULL;
	CLEANUP(freep) char *two = NULL;

	for (size_t i = 0; i < a->n_items; i++) {
		if (!hwloc_bitmap_intersects(a->shared, a->items[i].cpus))
			continue;
		print_sets(a->items[i].cpus, a->shared, &one, &two);
		return err_set(err, -EINVAL,
			"pod: %s, container: %s cpuset: \"%s\" overlaps with default cpuset \"%s\"",
			a->items[i].pod_uid, a->items[i].container, one, two);
	}
	if (hwloc_bitmap_isequal(c->known, c->all))
		return 0;
	print_sets(c->all, c->known, &one, &two);
	return err_set(err, -EINVAL,
		"current set of available CPUs \"%s\" doesn't match with CPUs in state \"%s\"", one, two);
}

int cpu_manager_check_state(
	const struct cpu_manager *cm, const struct allocations *a, bool *shared, struct err *err)
{
	CLEANUP(check_release) struct check c = {0};
	int r = check_init(&c, cm, a);

	if (r < 0)
		return r;
	if (!a->shared || hwloc_bitmap_iszero(a->shared)) {
		for (size_t i = 0; i < a->n_items; i++)
			if (!hwloc_bitmap_iszero(a->items[i].cpus))
				return err_set(err, -EINVAL, "default cpuset cannot be empty");
		cpu_set_from_bitmap(cm->topology, c.all, shared);
		return 0;
	}
	r = check_reserved(cm, &c, a->shared, err);
	if (r == 0)
		r = check_assignments(&c, a, err);
	if (r == 0)
		cpu_set_from_bitmap(cm->topology, a->shared, shared);
	return r;
}

void cpu_manager_remove(
	const struct cpu_topology *t, const bool *released, const bool *held_by_siblings, bool *shared)
{
	for (size_t i = 0; i < t->n_cpus; i++)
		shared[i] = shared[i] || (released[i] && !held_by_siblings[i]);
}

void cpu_manager_hints_again(
	const struct cpu_manager *cm, const bool *allocated, size_t n, struct topology_hints *ret_hints)
{
	topology_hints_clear(ret_hints);
	if (cpu_set_size(cm->topology, allocated) == n)
		cpu_manager_hints(cm, allocated, NULL, n, ret_hints);
}

void memory_manager_hints_again(const struct memory_block *blocks, size_t n_blocks,
	const struct memory_needs *needs, size_t need, struct topology_hints *ret_hints)
{
	topology_hints_clear(ret_hints);
	ret_hints->no_preference = true;
	if (n_blocks != needs->n_items)
		return;
	for (size_t b = 0; b < n_blocks; b++) {
		size_t i = 0;

		while (i < needs->n_items && strcmp(needs->items[i].name, blocks[b].type) != 0)
			i++;
		if (i == needs->n_items || needs->items[i].bytes != blocks[b].bytes)
			return;
	}
	for (size_t b = 0; b < n_blocks; b++) {
		uint64_t nodes;

		if (strcmp(needs->items[need].name, blocks[b].type) != 0)
			continue;
		if (!node_mask_from_bitmap(blocks[b].nodes, &nodes))
			return;
		topology_hints_add(ret_hints, nodes, true);
		ret_hints->no_preference = false;
	}
}

void device_manager_hints_again(const struct device_manager *dm, struct device_books *books, size_t r,
	const bool *held, size_t n, struct topology_hints *ret_hints)
{
	size_t n_held = 0;

	/* As if the devices it holds were the only free ones. */
	for (size_t i = 0; i < dm->inventory->resources[r].n_devices; i++) {
		books->allocated[dm->first[r] + i] = !held[i];
		books->reusable[dm->first[r] + i] = false;
		n_held += held[i];
	}
	device_manager_hints(dm, books, r, n_held == n ? n : SIZE_MAX, ret_hints);
	device_books_reset(books, dm);
}

unsigned topology_hints_narrowest(const struct topology_hints *hints)
{
	unsigned narrowest = 0;
	bool found = false;

	for (size_t i = 0; i < hints->n_items; i++) {
		unsigned n = node_mask_count(hints->items[i].nodes);

		if (hints->items[i].any_node || (found && n >= narrowest))
			continue;
		narrowest = n;
		found = true;
	}
	return narrowest;
}

void node_mask_print_binary(uint64_t mask, char text[NODE_MASK_BINARY_MAX])
{
	unsigned width = mask ? 64 - (unsigned)__builtin_clzll(mask) : 0;

	width = width <= 2 ? 2 : width + width % 2;
	for (unsigned i = 0; i < width; i++)
		text[i] = (mask >> (width - 1 - i)) & 1 ? '1' : '0';
	text[width] = '\0';
}

static const char *first_value(const struct nrt_attribute *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i].name, name))
			return list[i].value;
	return NULL;
}

const char *nrt_fingerprint(const struct nrt_attribute *attributes, size_t n_attributes,
	const struct nrt_attribute *annotations, size_t n_annotations, bool *ret_exclusive_only)
{
	const char *value = first_value(attributes, n_attributes, "nodeTopologyPodsFingerprint");
	const char *method = first_value(attributes, n_attributes, "nodeTopologyPodsFingerprintMethod");

	*ret_exclusive_only = value && method && !strcmp(method, "with-exclusive-resources");
	return value ? value : first_value(annotations, n_annotations, "topology.node.k8s.io/fingerprint");
}

size_t cpu_take_order(struct cpu_workspace *ws, enum cpu_level level, bool whole, const bool *available,
	const uint32_t **ret_list)
{
	const struct cpu_take_rules rules = {.version = kubelet_version_of(36)};

	cpu_accumulator_start(ws, &ws->packed, available, 0, ws->inner_taken);
	*ret_list = ws->lists[level];
	return whole ? cpu_accumulator_order_whole(ws, &rules, &ws->packed, level)
		     : cpu_accumulator_order(ws, &ws->packed, level);
}

size_t cpu_take_cpu_order(struct cpu_workspace *ws, const struct cpu_take_rules *rules, const bool *available,
	const uint32_t **ret_list)
{
	cpu_accumulator_start(ws, &ws->packed, available, 0, ws->inner_taken);
	*ret_list = ws->cpu_list;
	return cpu_accumulator_order_cpus(ws, rules, &ws->packed);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/node/pod_alignment.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/node/node_admission.h"
#include "scoring/node/pci_pair.h"
#include "scoring/node/pod_names.h"
#include "scoring/node/projected_state.h"
#include "scoring/request.h"

const char *const alignment_names[ALIGNMENT_COUNT] = {
	"aligned", "spans-necessary", "unknown", "roots-apart", "spans", "spans-avoidable", "remote"};

bool alignment_is_misaligned(enum alignment a)
{
	return a >= ALIGNMENT_ROOTS_APART;
}

void pod_alignments_release(struct pod_alignments *p)
{
	for (size_t i = 0; i < p->n_items; i++) {
		hwloc_bitmap_free(p->items[i].cpus);
		hwloc_bitmap_free(p->items[i].cpu_nodes);
		hwloc_bitmap_free(p->items[i].memory_nodes);
		hwloc_bitmap_free(p->items[i].device_nodes);
		hwloc_bitmap_free(p->items[i].core.pods);
		hwloc_bitmap_free(p->items[i].l3.pods);
		strv_release(&p->items[i].roots);
	}
	free(p->items);
	*p = (struct pod_alignments){0};
}

/* ---- claims */

/* Whether a claim's pod is the pod of this item. An object has hashes of the names instead of names. */
static bool is_pod_of(const struct pod_ref *ref, const struct allocation *item)
{
	struct pod_names names = pod_names_of_item(item);
	char hash[POD_NAMES_HASH_SIZE];

	if (ref->name[0] == '#')
		return !strcmp(ref->name, names.pod);
	pod_names_hash_pod(ref->namespace, ref->name, hash);
	return !strcmp(hash, names.pod);
}

static bool is_same_pod(const struct pod_ref *a, const struct pod_ref *b)
{
	return !strcmp(a->namespace, b->namespace) && !strcmp(a->name, b->name);
}

/* Whether the claim is of the pod, which has items or the reference of another claim. */
static bool is_claim_of(const struct pod_alignment *p, const struct claim *c)
{
	for (size_t i = 0; i < c->n_pods; i++)
		if (p->n_items > 0 ? is_pod_of(&c->pods[i], p->items) : is_same_pod(&c->pods[i], p->ref))
			return true;
	return false;
}

static bool intersects(hwloc_const_bitmap_t a, hwloc_const_bitmap_t b)
{
	return hwloc_bitmap_intersects(a, b) > 0;
}

/* ---- what is held */

/* What a container or a whole pod holds. */
struct unit {
	const struct allocation *items;
	size_t n_items;
	const struct claim **claims; /* of the pod; the unit is the whole pod then */
	size_t n_claims;
	hwloc_bitmap_t cpus, cpu_nodes, memory_nodes;
	hwloc_bitmap_t
		*claim_sets; /* per device of a claim the NUMA nodes near it, as far as they are known */
	size_t n_claim_sets, claim_sets_size;
	const struct claim *unplaced_claim; /* a claim with a device whose NUMA node is unknown, or NULL */
	bool is_cpu_unplaced;               /* a CPU has no known NUMA node */
};

static void unit_release(struct unit *u)
{
	hwloc_bitmap_free(u->cpus);
	hwloc_bitmap_free(u->cpu_nodes);
	hwloc_bitmap_free(u->memory_nodes);
	for (size_t i = 0; i < u->n_claim_sets; i++)
		hwloc_bitmap_free(u->claim_sets[i]);
	free(u->claim_sets);
}

static void add_unit_cpus(struct unit *u, const struct machine *m, hwloc_const_bitmap_t cpus)
{
	cpuset_or(u->cpus, u->cpus, cpus);
	for (int id = hwloc_bitmap_first(cpus); id >= 0; id = hwloc_bitmap_next(cpus, id)) {
		const struct cpu *cpu = machine_cpu(m, (unsigned)id);

		if (cpu && cpu->numa != MACHINE_NONE)
			cpuset_set(u->cpu_nodes, (unsigned)cpu->numa);
		else
			u->is_cpu_unplaced = true;
	}
}

static void add_unit_memory(struct unit *u, const struct memory_block *blocks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		cpuset_or(u->memory_nodes, u->memory_nodes, blocks[i].nodes);
}

/* The devices of drivers that report neither CPUs nor memory, such as GPUs. */
static size_t count_claim_devices(const struct claim *c)
{
	return hwloc_bitmap_iszero(c->cpus) && c->n_memory == 0 ? c->devices.n_items : 0;
}

/* `nodes` moves. */
static void add_claim_set(struct unit *u, hwloc_bitmap_t nodes)
{
	*(hwloc_bitmap_t *)vec_push(&u->claim_sets, &u->n_claim_sets, &u->claim_sets_size, sizeof(nodes)) =
		nodes;
}

/* Adds the NUMA nodes of a claim's devices, by the ResourceSlices, else by the PCI addresses. */
static void add_claim_sets(struct unit *u, const struct machine *m, const struct claim *c)
{
	size_t before = u->n_claim_sets;

	if (count_claim_devices(c) == 0)
		return;
	for (size_t i = 0; i < c->n_places; i++)
		if (c->places[i].nodes)
			add_claim_set(u, cpuset_dup(c->places[i].nodes));
	for (size_t i = 0; i < c->n_addresses && c->n_places == 0; i++) {
		const struct pci_device *d = pci_devices_find(&m->pci, &c->addresses[i]);

		if (!d || d->numa == MACHINE_NONE)
			continue; /* counted below as a device without a set */
		add_claim_set(u, cpuset_new());
		cpuset_set(u->claim_sets[u->n_claim_sets - 1], (unsigned)d->numa);
	}
	if (u->n_claim_sets - before < count_claim_devices(c))
		u->unplaced_claim = c;
}

/* Fills in what the unit's items and claims hold; the caller has set these. */
static void unit_init(struct unit *u, const struct machine *m)
{
	u->cpus = cpuset_new();
	u->cpu_nodes = cpuset_new();
	u->memory_nodes = cpuset_new();
	for (size_t i = 0; i < u->n_items; i++) {
		add_unit_cpus(u, m, u->items[i].cpus);
		add_unit_memory(u, u->items[i].memory, u->items[i].n_memory);
	}
	for (size_t i = 0; i < u->n_claims; i++) {
		add_unit_cpus(u, m, u->claims[i]->cpus);
		add_unit_memory(u, u->claims[i]->memory, u->claims[i]->n_memory);
		add_claim_sets(u, m, u->claims[i]);
	}
}

/* Whether a block of the items before `block` has the device. The loop ends at `block`, which is one of these blocks. */
static bool is_held_before(const struct allocation *items, const struct device_block *block, const char *id)
{
	for (const struct allocation *item = items;; item++)
		for (size_t d = 0; d < item->n_devices; d++) {
			const struct device_block *b = &item->devices[d];

			if (b == block)
				return false;
			for (size_t k = 0; !strcmp(b->resource, block->resource) && k < b->ids.n_items; k++)
				if (!strcmp(b->ids.items[k], id))
					return true;
		}
}

/* The block's devices that no earlier block of the items has: a container may get the devices of an init container. */
static size_t count_new_devices(const struct allocation *items, const struct device_block *block)
{
	size_t n = 0;

	for (size_t i = 0; i < block->ids.n_items; i++)
		n += !is_held_before(items, block, block->ids.items[i]);
	return n;
}

/* ---- would one NUMA node do? */

static void add_to_request(struct container_request *c, const char *name, qty_t nano)
{
	struct quantity q = {.nano = nano};
	const struct resource_quantity *before = resource_list_find(&c->limits, name);

	if (before)
		q.nano = qty_add(before->quantity.nano, nano);
	resource_list_set(&c->requests, name, q);
	resource_list_set(&c->limits, name, q);
}

/* A pod of one container that requests what the unit holds, also devices if `devices` is set, and is Guaranteed. */
static void make_request(const struct unit *u, bool devices, struct pod_request *ret)
{
	size_t n_cpus = cpuset_size(u->cpus);
	struct container_request *c = pod_request_add(ret, CONTAINER_APP, "app");

	/* Guaranteed requires limits of CPU and memory: a unit without exclusive CPUs or memory gets small ones. */
	add_to_request(c, "cpu", n_cpus > 0 ? (qty_t)n_cpus * QTY_UNIT : QTY_UNIT / 10);
	for (size_t i = 0; i < u->n_items; i++) {
		const struct allocation *item = &u->items[i];

		for (size_t k = 0; k < item->n_memory; k++)
			add_to_request(c, item->memory[k].type, (qty_t)item->memory[k].bytes * QTY_UNIT);
		for (size_t k = 0; k < item->n_devices && devices; k++)
			add_to_request(c, item->devices[k].resource,
				(qty_t)count_new_devices(u->items, &item->devices[k]) * QTY_UNIT);
	}
	if (!resource_list_find(&c->limits, "memory"))
		add_to_request(c, "memory", (qty_t)QTY_UNIT << 20);
}

/* A node whose kubelet has the policy single-numa-node. */
struct strict_node {
	struct projected_state projected;
	struct node_admission admission;
};

static void strict_node_release(struct strict_node *n)
{
	node_admission_release(&n->admission);
	projected_state_release(&n->projected);
}

/*
 * The node without the items whose excluded[i] is set. A unit is judged as a pod of one container, for which both scopes decide alike; the
 * node's own scope may be unknown.
 */
static void strict_node_init(struct strict_node *n, const struct node_state *state, const bool *excluded)
{
	struct topology_manager_config config = state->settings.topology;

	config.policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	config.scope = TOPOLOGY_SCOPE_CONTAINER;
	projected_state_init(&n->projected, state, excluded);
	node_admission_init(&n->admission, &n->projected.state);
	node_admission_what_if(&n->admission, &config);
}

/* Whether the kubelet would admit what the unit holds. *ret_node: on which NUMA node, -1 = any. */
static enum kubelet_answer judge_request(
	struct strict_node *n, const struct unit *u, bool devices, int *ret_node)
{
	CLEANUP(pod_request_release) struct pod_request request;
	struct kubelet_verdict v;

	pod_request_init(&request);
	make_request(u, devices, &request);
	kubelet_judge(&n->admission.kubelet, n->admission.ws, &request, QOS_GUARANTEED, &v);
	*ret_node = -1;
	if (v.answer == KUBELET_ADMITS && v.n_placements > 0 && !v.placements[0].hint.any_node)
		*ret_node = __builtin_ctzll(v.placements[0].hint.nodes);
	return v.answer;
}

/* The node whose pods are judged. */
struct alignment_search {
	const struct node_state *state;
	struct strict_node empty; /* without any pods; made when the first unit spans */
	bool has_empty;
};

static void alignment_search_release(struct alignment_search *s)
{
	if (s->has_empty)
		strict_node_release(&s->empty);
}

/* The verdict of the node without its pods on the unit's request; of CPUs and memory alone unless `with_devices`. */
static enum kubelet_answer judge_empty(struct alignment_search *s, const struct unit *u, bool with_devices)
{
	CLEANUP(freep) bool *excluded = NULL;
	size_t n = s->state->allocations.n_items + 1;
	int node;

	if (!s->has_empty) {
		excluded = xmalloc(n);
		memset(excluded, true, n);
		strict_node_init(&s->empty, s->state, excluded);
		s->has_empty = true;
	}
	return judge_request(&s->empty, u, with_devices, &node);
}

/* The answer as if the unit's items had ended, and the pod's init containers from which the unit took over CPUs. */
static enum kubelet_answer judge_instead(
	const struct alignment_search *s, const struct unit *u, int *ret_node)
{
	CLEANUP(strict_node_release) struct strict_node node = {.projected = {.state = {.node_name = NULL}}};
	const struct allocations *a = &s->state->allocations;
	CLEANUP(freep) bool *excluded = xcalloc(a->n_items + 1, sizeof(*excluded));

	for (size_t i = 0; i < a->n_items; i++) {
		const struct allocation *item = &a->items[i];

		excluded[i] = (item >= u->items && item < u->items + u->n_items) ||
			      (allocation_same_pod(item, u->items) && intersects(item->cpus, u->cpus));
	}
	strict_node_init(&node, s->state, excluded);
	return judge_request(&node, u, true, ret_node);
}

/* Of a unit that spans: why it does, and whether one NUMA node would be enough. */
static enum alignment judge_spanning_unit(struct alignment_search *s, const struct unit *u, struct err *ret)
{
	enum kubelet_answer answer;
	int node;

	if (u->n_claims > 0) {
		err_set(ret, 0, "whether one NUMA node has room for the claims is unknown");
		return ALIGNMENT_SPANS;
	}
	if (judge_empty(s, u, true) == KUBELET_REJECTS) {
		err_set(ret, 0, "%s",
			judge_empty(s, u, false) == KUBELET_REJECTS ? "larger than a NUMA node"
								    : "no NUMA node has all its devices");
		return ALIGNMENT_SPANS_NECESSARY;
	}
	answer = judge_instead(s, u, &node);
	if (answer == KUBELET_ADMITS && node >= 0)
		err_set(ret, 0, "NUMA node %d has room now", node);
	else if (answer == KUBELET_ADMITS)
		err_set(ret, 0, "one NUMA node has room now");
	else
		err_set(ret, 0,
			answer == KUBELET_REJECTS ? "no NUMA node has room now"
						  : "whether one NUMA node has room is unknown");
	return answer == KUBELET_ADMITS ? ALIGNMENT_SPANS_AVOIDABLE : ALIGNMENT_SPANS;
}

/* ---- the alignment */

static bool is_apart(hwloc_const_bitmap_t a, hwloc_const_bitmap_t b)
{
	return !hwloc_bitmap_iszero(a) && !hwloc_bitmap_iszero(b) && !intersects(a, b);
}

static void say_apart(const struct unit *u, const char *what, hwloc_const_bitmap_t nodes, struct err *ret)
{
	CLEANUP(freep) char *cpu_nodes = cpuset_print(u->cpu_nodes), *other = cpuset_print(nodes);

	err_set(ret, 0, "CPUs on NUMA node%s %.40s, %.60s on %.40s", cpuset_size(u->cpu_nodes) > 1 ? "s" : "",
		cpu_nodes, what, other);
}

/* Memory or a device that is on none of the NUMA nodes of the CPUs. */
static bool find_remote_nodes(const struct unit *u, struct err *ret)
{
	if (is_apart(u->cpu_nodes, u->memory_nodes)) {
		say_apart(u, "memory", u->memory_nodes, ret);
		return true;
	}
	for (size_t i = 0; i < u->n_claim_sets; i++)
		if (is_apart(u->cpu_nodes, u->claim_sets[i])) {
			say_apart(u, "a claim's device", u->claim_sets[i], ret);
			return true;
		}
	for (size_t i = 0; i < u->n_items; i++)
		for (size_t d = 0; d < u->items[i].n_devices; d++) {
			const struct device_block *block = &u->items[i].devices[d];

			if (!is_apart(u->cpu_nodes, block->nodes))
				continue;
			say_apart(u, block->resource, block->nodes, ret);
			return true;
		}
	return false;
}

/* The NUMA nodes on which everything is: a device near several NUMA nodes is on each. No bit is set if the unit spans. */
static void find_common_nodes(const struct unit *u, hwloc_bitmap_t ret)
{
	hwloc_bitmap_fill(ret);
	if (!hwloc_bitmap_iszero(u->cpu_nodes))
		cpuset_and(ret, ret, u->cpu_nodes);
	if (!hwloc_bitmap_iszero(u->memory_nodes))
		cpuset_and(ret, ret, u->memory_nodes);
	for (size_t i = 0; i < u->n_claim_sets; i++)
		cpuset_and(ret, ret, u->claim_sets[i]);
	for (size_t i = 0; i < u->n_items; i++)
		for (size_t d = 0; d < u->items[i].n_devices; d++)
			if (!hwloc_bitmap_iszero(u->items[i].devices[d].nodes))
				cpuset_and(ret, ret, u->items[i].devices[d].nodes);
}

static bool unit_spans(const struct unit *u)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t common = cpuset_new();

	find_common_nodes(u, common);
	return cpuset_size(u->cpu_nodes) > 1 || cpuset_size(u->memory_nodes) > 1 ||
	       hwloc_bitmap_iszero(common);
}

/* Whether the unit's NUMA nodes are unknown; then *ret says which. */
static bool has_unknown_nodes(const struct unit *u, struct err *ret)
{
	if (u->is_cpu_unplaced) {
		err_set(ret, 0, "the NUMA nodes of some CPUs are unknown");
		return true;
	}
	for (size_t i = 0; i < u->n_items; i++)
		for (size_t d = 0; d < u->items[i].n_devices; d++)
			if (u->items[i].devices[d].nodes_unknown) {
				err_set(ret, 0, "the NUMA nodes of %.100s are unknown",
					u->items[i].devices[d].resource);
				return true;
			}
	if (!u->unplaced_claim)
		return false;
	err_set(ret, 0, "the NUMA nodes of the devices of DRA driver %.100s are unknown",
		u->unplaced_claim->driver);
	return true;
}

static enum alignment judge_alignment_unit(struct alignment_search *s, const struct unit *u, struct err *ret)
{
	if (find_remote_nodes(u, ret))
		return ALIGNMENT_REMOTE;
	if (unit_spans(u))
		return judge_spanning_unit(s, u, ret);
	if (u->n_claims == 0 && pci_pair_is_apart(s->state, u->items, u->n_items, ret))
		return ALIGNMENT_ROOTS_APART;
	return has_unknown_nodes(u, ret) ? ALIGNMENT_UNKNOWN : ALIGNMENT_ALIGNED;
}

/* ---- pods */

/* Replaces the pod's alignment by that of these items and claims, if theirs is worse. */
static void judge_aligned_items(struct alignment_search *s, const struct allocation *items, size_t n,
	const struct claim **claims, size_t n_claims, struct pod_alignment *ret)
{
	CLEANUP(unit_release)
	struct unit u = {.items = items, .n_items = n, .claims = claims, .n_claims = n_claims};
	struct err reason = {""};
	enum alignment alignment;

	unit_init(&u, &s->state->machine);
	alignment = judge_alignment_unit(s, &u, &reason);
	if (alignment <= ret->alignment)
		return;
	ret->alignment = alignment;
	ret->reason = reason;
}

/* A pod is one unit if the kubelet aligns pods, or if the pod has claims, which belong to no container. */
static void judge_alignment(
	struct alignment_search *s, struct pod_alignment *p, const struct claim **claims, size_t n_claims)
{
	bool is_one_unit = n_claims > 0 || s->state->settings.topology.scope == TOPOLOGY_SCOPE_POD;

	if (is_one_unit)
		judge_aligned_items(s, p->items, p->n_items, claims, n_claims, p);
	for (size_t i = 0; i < p->n_items && !is_one_unit; i++)
		judge_aligned_items(s, &p->items[i], 1, NULL, 0, p);
	for (size_t i = 0; i < p->n_items && p->alignment != ALIGNMENT_REMOTE; i++)
		if (p->items[i].remote_memory) {
			p->alignment = ALIGNMENT_REMOTE;
			err_set(&p->reason, 0,
				"more than %u %% of its memory is on NUMA nodes without its CPUs",
				POD_MEMORY_REMOTE_PERCENT);
		}
}

static void add_alignment_root(const struct machine *m, const struct pci_address *address, struct strv *roots)
{
	const struct pci_device *d = address ? pci_devices_find(&m->pci, address) : NULL;
	char text[PCI_ROOT_SIZE];

	if (!d || !d->root_known)
		return;
	pci_root_print(&d->root, text);
	strv_push_new(roots, text);
}

static void fill_alignment_roots(
	const struct node_state *state, struct pod_alignment *p, const struct claim **claims, size_t n_claims)
{
	for (size_t i = 0; i < p->n_items && state->device_addresses.n_items > 0; i++)
		for (size_t d = 0; d < p->items[i].n_devices; d++) {
			const struct device_block *b = &p->items[i].devices[d];

			for (size_t k = 0; k < b->ids.n_items; k++)
				add_alignment_root(&state->machine,
					device_addresses_find(
						&state->device_addresses, b->resource, b->ids.items[k]),
					&p->roots);
		}
	for (size_t i = 0; i < n_claims; i++) {
		for (size_t k = 0; k < claims[i]->n_addresses; k++)
			add_alignment_root(&state->machine, &claims[i]->addresses[k], &p->roots);
		for (size_t k = 0; k < claims[i]->n_places; k++)
			if (*claims[i]->places[k].root)
				strv_push_new(&p->roots, claims[i]->places[k].root);
	}
	strv_sort(&p->roots);
}

/* What the pod holds in all. */
static void fill_alignment_amounts(
	const struct machine *m, struct pod_alignment *p, const struct claim **claims, size_t n_claims)
{
	struct unit u = {.items = p->items, .n_items = p->n_items, .claims = claims, .n_claims = n_claims};

	unit_init(&u, m); /* its sets move to the pod */
	p->cpus = u.cpus;
	p->cpu_nodes = u.cpu_nodes;
	p->memory_nodes = u.memory_nodes;
	p->device_nodes = cpuset_new();
	/* What the pod does not take over is released here, instead of by unit_release(). */
	for (size_t i = 0; i < u.n_claim_sets; i++) {
		cpuset_or(p->device_nodes, p->device_nodes, u.claim_sets[i]);
		hwloc_bitmap_free(u.claim_sets[i]);
	}
	free(u.claim_sets);
	p->is_claim_unplaced = u.unplaced_claim != NULL;
	for (size_t i = 0; i < p->n_items; i++) {
		const struct allocation *item = &p->items[i];

		for (size_t k = 0; k < item->n_memory; k++)
			p->memory_bytes += item->memory[k].bytes;
		for (size_t k = 0; k < item->n_devices; k++) {
			cpuset_or(p->device_nodes, p->device_nodes, item->devices[k].nodes);
			p->n_devices += count_new_devices(p->items, &item->devices[k]);
		}
	}
	for (size_t i = 0; i < n_claims; i++) {
		for (size_t k = 0; k < claims[i]->n_memory; k++)
			p->memory_bytes += claims[i]->memory[k].bytes;
		p->n_claim_devices += count_claim_devices(claims[i]);
	}
}

#define NOBODY SIZE_MAX

/* The position of the pod that holds each CPU, in the order of m->cpus. A new array. */
static size_t *find_cpu_owners(const struct machine *m, const struct pod_alignments *all)
{
	size_t *owners = xcalloc(m->n_cpus + 1, sizeof(*owners));

	for (size_t i = 0; i < m->n_cpus; i++)
		owners[i] = NOBODY;
	for (size_t i = 0; i < all->n_items; i++)
		for (int id = hwloc_bitmap_first(all->items[i].cpus); id >= 0;
			id = hwloc_bitmap_next(all->items[i].cpus, id)) {
			const struct cpu *cpu = machine_cpu(m, (unsigned)id);

			if (cpu)
				owners[cpu - m->cpus] = i;
		}
	return owners;
}

static void add_hardware_owner(struct shared_hardware *h, size_t owner)
{
	h->sharing = SHARING_OTHERS;
	if (owner == NOBODY) {
		h->pool = true;
		return;
	}
	if (!h->pods)
		h->pods = cpuset_new();
	cpuset_set(h->pods, (unsigned)owner);
}

/* The CPUs of the sockets that have several L3 caches, which the kubelet calls uncore caches (struct cpu). */
static hwloc_bitmap_t cpus_of_divided_sockets(const struct machine *m)
{
	hwloc_bitmap_t divided = cpuset_new();

	for (size_t s = 0; s < m->n_sockets; s++) {
		hwloc_const_bitmap_t cpus = m->sockets[s].cpus;
		const struct cpu *first = machine_cpu(m, (unsigned)hwloc_bitmap_first(cpus));

		for (int id = hwloc_bitmap_first(cpus); id >= 0; id = hwloc_bitmap_next(cpus, id)) {
			const struct cpu *cpu = machine_cpu(m, (unsigned)id);

			if (!cpu || !first || cpu->uncore == first->uncore)
				continue;
			cpuset_or(divided, divided, cpus);
			break;
		}
	}
	return divided;
}

/*
 * Sets who else has CPUs of the pod's cores and L3 caches. `owners`: per CPU; `divided`: cpus_of_divided_sockets(), whose L3 caches
 * alone are known.
 */
static void set_sharing(
	const struct machine *m, struct pod_alignment *p, const size_t *owners, hwloc_const_bitmap_t divided)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t cores = cpuset_new(), caches = cpuset_new();

	for (int id = hwloc_bitmap_first(p->cpus); id >= 0; id = hwloc_bitmap_next(p->cpus, id)) {
		const struct cpu *cpu = machine_cpu(m, (unsigned)id);

		if (cpu)
			cpuset_set(cores, cpu->hardware_core);
		if (cpu && hwloc_bitmap_isset(divided, cpu->id) && cpu->uncore != MACHINE_NONE)
			cpuset_set(caches, (unsigned)cpu->uncore);
	}
	if (hwloc_bitmap_iszero(caches) && !hwloc_bitmap_iszero(p->cpus))
		p->l3.sharing = SHARING_UNKNOWN;
	for (size_t i = 0; i < m->n_cpus; i++) {
		const struct cpu *cpu = &m->cpus[i];

		if (hwloc_bitmap_isset(p->cpus, cpu->id))
			continue;
		if (hwloc_bitmap_isset(cores, cpu->hardware_core))
			add_hardware_owner(&p->core, owners[i]);
		if (hwloc_bitmap_isset(divided, cpu->id) && cpu->uncore != MACHINE_NONE &&
			hwloc_bitmap_isset(caches, (unsigned)cpu->uncore))
			add_hardware_owner(&p->l3, owners[i]);
	}
}

/* Adds and judges the pod of these items; without items, the pod `ref` of a claim. */
static void add_alignment(struct pod_alignments *all, struct alignment_search *s,
	const struct allocation *items, size_t n_items, const struct pod_ref *ref)
{
	const struct node_state *state = s->state;
	CLEANUP(freep) const struct claim **claims = xcalloc(state->claims.n_items + 1, sizeof(*claims));
	struct pod_alignment p = {.items = items, .n_items = n_items, .ref = ref}, *added;
	size_t n_claims = 0;

	for (size_t i = 0; i < state->claims.n_items; i++)
		if (is_claim_of(&p, &state->claims.items[i]))
			claims[n_claims++] = &state->claims.items[i];
	added = vec_push(&all->items, &all->n_items, &all->items_size, sizeof(*added));
	if (n_items == 0) {
		p.namespace = ref->namespace;
		p.name = ref->name;
	} else {
		p.namespace = items->namespace;
		p.name = *items->pod ? items->pod : items->pod_uid;
	}
	*added = p;
	fill_alignment_amounts(&state->machine, added, claims, n_claims);
	fill_alignment_roots(state, added, claims, n_claims);
	judge_alignment(s, added, claims, n_claims);
}

static bool is_listed_pod(const struct pod_alignments *all, const struct pod_ref *ref)
{
	for (size_t i = 0; i < all->n_items; i++) {
		const struct pod_alignment *p = &all->items[i];

		if (p->n_items > 0 ? is_pod_of(ref, p->items) : is_same_pod(p->ref, ref))
			return true;
	}
	return false;
}

void pod_alignments_find(const struct node_state *state, struct pod_alignments *ret)
{
	CLEANUP(alignment_search_release) struct alignment_search search = {.state = state};
	CLEANUP(freep) size_t *owners = NULL;
	CLEANUP(cpuset_freep) hwloc_bitmap_t divided = cpus_of_divided_sockets(&state->machine);
	const struct allocations *a = &state->allocations;

	*ret = (struct pod_alignments){0};
	for (size_t first = 0, end; first < a->n_items; first = end) {
		bool holds_something = false;

		for (end = first; end < a->n_items && allocation_same_pod(&a->items[first], &a->items[end]);
			end++)
			holds_something = holds_something || !allocation_is_empty(&a->items[end]);
		if (holds_something)
			add_alignment(ret, &search, &a->items[first], end - first, NULL);
	}
	for (size_t i = 0; i < state->claims.n_items; i++) {
		const struct claim *c = &state->claims.items[i];

		for (size_t k = 0; k < c->n_pods; k++)
			if (!is_listed_pod(ret, &c->pods[k]))
				add_alignment(ret, &search, NULL, 0, &c->pods[k]);
	}
	owners = find_cpu_owners(&state->machine, ret);
	for (size_t i = 0; i < ret->n_items; i++)
		set_sharing(&state->machine, &ret->items[i], owners, divided);
}

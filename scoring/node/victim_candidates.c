/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/node/victim_candidates.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/strbuf.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/combinations.h"
#include "scoring/node_mask.h"
#include "scoring/request.h"

void victim_candidates_release(struct victim_candidates *c)
{
	for (size_t i = 0; i < c->n_items; i++)
		free(c->items[i].kind);
	for (size_t i = 0; i < c->n_places; i++)
		free(c->places[i].frees);
	free(c->items);
	free(c->places);
	free(c->largest);
	*c = (struct victim_candidates){0};
}

/* From the highest bits: violations, pods, priorities from INT32_MIN on, CPUs. Sums of all candidates do not overflow into the next part. */
victims_cost victim_cost(bool violates, int32_t priority, size_t cpus)
{
	victims_cost priority_cost = (victims_cost)((int64_t)priority - INT32_MIN) << 24;

	return ((victims_cost)violates << 92) + ((victims_cost)1 << 72) + priority_cost + cpus;
}

/* ---- candidates */

void victim_candidates_add(struct victim_candidates *c, size_t pod, victims_cost cost)
{
	struct victim_candidate *added = vec_push(&c->items, &c->n_items, &c->items_size, sizeof(*added));

	*added = (struct victim_candidate){.pod = pod, .cost = cost};
}

int victim_pod_compare(const struct victim_pod *a, const struct victim_pod *b)
{
	int c = strcmp(a->namespace, b->namespace);

	if (c == 0)
		c = strcmp(a->name, b->name);
	return c ? c : strcmp(a->uid, b->uid);
}

/* The order of victim_candidates_sort(). */
static int compare_candidate_costs(const void *va, const void *vb, void *data)
{
	const struct victim_candidate *a = va, *b = vb;
	const struct victim_pods *pods = data;
	int c = 0;

	if (a->cost != b->cost)
		return a->cost < b->cost ? -1 : 1;
	if (a->kind && b->kind)
		c = strcmp(a->kind, b->kind);
	if (c == 0 && pods)
		c = victim_pod_compare(&pods->items[a->pod], &pods->items[b->pod]);
	return c ? c : (a->pod > b->pod) - (a->pod < b->pod);
}

void victim_candidates_sort(struct victim_candidates *c, const struct victim_pods *pods)
{
	struct victim_pods all = pods ? *pods : (struct victim_pods){0}; /* vec_sort() takes no const */

	vec_sort(c->items, c->n_items, sizeof(*c->items), compare_candidate_costs, pods ? &all : NULL);
}

/* ---- what must become free */

struct victims_place *victim_candidates_add_place(struct victim_candidates *c, bool new_need, qty_t missing)
{
	size_t last_need = c->n_places > 0 ? c->places[c->n_places - 1].need : 0;
	size_t need = c->n_places > 0 && new_need ? last_need + 1 : last_need; /* the first need is 0 */
	struct victims_place *p = vec_push(&c->places, &c->n_places, &c->places_size, sizeof(*p));

	if (!c->largest)
		c->largest = xcalloc(c->n_items + 1, sizeof(*c->largest));
	p->need = need;
	p->missing = missing;
	p->frees = xcalloc(c->n_items + 1, sizeof(*p->frees));
	return p;
}

/* The sum of the `more` largest of frees[from..]. */
static qty_t sum_largest(const struct victim_candidates *c, const qty_t *frees, size_t from, size_t more)
{
	bool sums_all = more >= c->n_items - from;
	size_t n = 0; /* of c->largest, which is descending */
	qty_t sum = 0;

	for (size_t i = from; i < c->n_items && sums_all; i++)
		sum += frees[i];
	for (size_t i = from; i < c->n_items && !sums_all && more > 0; i++) {
		size_t at;

		if (frees[i] == 0 || (n == more && frees[i] <= c->largest[n - 1]))
			continue;
		if (n < more)
			n++;
		for (at = n - 1; at > 0 && c->largest[at - 1] < frees[i]; at--)
			c->largest[at] = c->largest[at - 1];
		c->largest[at] = frees[i];
	}
	for (size_t i = 0; i < n; i++)
		sum += c->largest[i];
	return sum;
}

bool victim_candidates_may_free(
	const struct victim_candidates *c, const bool *leaves, size_t from, size_t more)
{
	bool met = true; /* the current need, at one of its places so far; true before the first need */

	for (size_t i = 0; i < c->n_places; i++) {
		const struct victims_place *p = &c->places[i];
		qty_t missing = p->missing;
		bool begins_need = i == 0 || p->need != p[-1].need;

		if (begins_need && !met)
			return false;
		if (begins_need)
			met = false;
		for (size_t k = 0; k < c->n_items && missing > 0 && !met; k++)
			missing -= leaves[c->items[k].pod] ? p->frees[k] : 0;
		met = met || missing <= 0 || missing <= sum_largest(c, p->frees, from, more);
	}
	return met;
}

#define MIN_COST_WORK 16384u /* steps */
#define COST_MAX      ((victims_cost)-1)

/* The knapsack problem: lowest[units] is the lowest cost of candidates, of those considered so far, that free this many units. */
void victim_candidates_set_min_cost(struct victim_candidates *c)
{
	const struct victims_place *p = &c->places[0];
	size_t missing = c->n_places == 1 && p->missing > 0 ? (size_t)p->missing : 0;
	/* In larger units, what is missing is rounded down, and what pods free is rounded up. */
	size_t unit = missing * c->n_items / MIN_COST_WORK + 1, needed = missing / unit;
	CLEANUP(freep) victims_cost *lowest = xcalloc(needed + 1, sizeof(*lowest));

	for (size_t units = 1; units <= needed; units++)
		lowest[units] = COST_MAX;
	for (size_t i = 0; i < c->n_items; i++) {
		size_t frees = ((size_t)p->frees[i] + unit - 1) / unit;

		/* Descending, so that the candidate counts once. */
		for (size_t units = needed; frees > 0 && units > 0; units--) {
			victims_cost others = lowest[units > frees ? units - frees : 0];

			if (others < COST_MAX && others + c->items[i].cost < lowest[units])
				lowest[units] = others + c->items[i].cost;
		}
	}
	c->min_cost = lowest[needed];
}

/* ---- the needs of a pod */

#define VICTIMS_PLACES_MAX 512u /* per need; a need with more sets of NUMA nodes is left out */

/* What the candidates of a node hold. */
struct held_by_candidates {
	const struct node_admission *admission;
	const struct allocations *allocations; /* of the admission's state */
	const struct victim_pods *pods;
	size_t *candidates; /* by item: index of the candidate, SIZE_MAX = none */
	struct victim_candidates *ret;
};

/* What an item has of memory or hugepages on one NUMA node (-1 = anywhere), or of a device resource anywhere. */
static qty_t held_units(const struct allocation *item, const char *name, int node)
{
	bool is_memory = resource_name_is_native(name);
	qty_t sum = 0;

	for (size_t i = 0; i < item->n_memory && is_memory; i++)
		if (!strcmp(item->memory[i].type, name) &&
			(node < 0 || hwloc_bitmap_isset(item->memory[i].nodes, (unsigned)node)))
			sum += (qty_t)item->memory[i].bytes * QTY_UNIT;
	for (size_t i = 0; i < item->n_devices && !is_memory; i++)
		if (!strcmp(item->devices[i].resource, name))
			sum += (qty_t)item->devices[i].ids.n_items * QTY_UNIT;
	return sum;
}

/* If the item's pod is a candidate, the pod frees these units at the place. */
static void add_freed(
	const struct held_by_candidates *held, size_t item, qty_t units, struct victims_place *p)
{
	if (held->candidates[item] != SIZE_MAX)
		p->frees[held->candidates[item]] += units;
}

static void add_held_units(
	const struct held_by_candidates *held, const char *name, int node, struct victims_place *p)
{
	for (size_t i = 0; i < held->allocations->n_items; i++)
		add_freed(held, i, held_units(&held->allocations->items[i], name, node), p);
}

/* Two needs of the whole node: what can be held exclusively (`free`), and what pods can request in all (`requestable`). */
static void add_needs_of_node(const struct held_by_candidates *held, const struct resource_quantity *wanted)
{
	const struct resource_quantity *free = resource_list_find(&held->admission->free, wanted->name);
	const struct resource_list *limit = held->pods->by_requests ? held->pods->requestable : NULL;
	const struct resource_quantity *requestable = limit ? resource_list_find(limit, wanted->name) : NULL;
	qty_t unsure = resource_list_amount(&held->admission->unsure, wanted->name);
	bool is_cpu = !strcmp(wanted->name, "cpu");
	struct victims_place *p;

	if (wanted->quantity.nano == 0)
		return;
	if (free) {
		p = victim_candidates_add_place(
			held->ret, true, wanted->quantity.nano - free->quantity.nano - unsure);
		if (!is_cpu)
			add_held_units(held, wanted->name, -1, p);
		for (size_t i = 0; i < held->ret->n_items && is_cpu; i++)
			p->frees[i] = (qty_t)held->ret->items[i].cpus * QTY_UNIT;
	}
	if (!requestable)
		return;
	p = victim_candidates_add_place(held->ret, true, wanted->quantity.nano - requestable->quantity.nano);
	for (size_t i = 0; i < held->ret->n_items; i++) {
		const struct resource_list *own = held->pods->items[held->ret->items[i].pod].requests;

		p->frees[i] = own ? resource_list_amount(own, wanted->name) : 0;
	}
}

static int descending_sizes(const void *va, const void *vb)
{
	size_t a = *(const size_t *)va, b = *(const size_t *)vb;

	return (a < b) - (a > b);
}

/* The fewest NUMA nodes that have this number of CPUs, free or not; 0 = all together have fewer. */
static size_t fewest_nodes_of_size(const struct machine *m, size_t cpus)
{
	CLEANUP(freep) size_t *sizes = xcalloc(m->n_nodes + 1, sizeof(*sizes));
	size_t n = 0, sum = 0;

	for (size_t i = 0; i < m->n_nodes; i++) {
		CLEANUP(cpuset_freep) hwloc_bitmap_t own = machine_own_cpus(m, i);

		sizes[i] = cpuset_size(own);
	}
	qsort(sizes, m->n_nodes, sizeof(*sizes), descending_sizes);
	while (n < m->n_nodes && sum < cpus)
		sum += sizes[n++];
	return sum < cpus ? 0 : n;
}

/* The number of sets of `width` NUMA nodes, counted up to a little more than VICTIMS_PLACES_MAX. */
static size_t count_node_combinations(size_t n, size_t width)
{
	size_t sets = 1;

	for (size_t i = 0; i < width && sets <= VICTIMS_PLACES_MAX; i++)
		sets = sets * (n - i) / (i + 1);
	return sets;
}

/* Adds the place of a need of `cpus` exclusive CPUs: the NUMA nodes at these positions together. */
static void add_place_of_cpus(
	const struct held_by_candidates *held, bool new_need, size_t cpus, uint64_t positions)
{
	const struct node_state *state = held->admission->state;
	struct victims_place *p = victim_candidates_add_place(held->ret, new_need, (qty_t)cpus * QTY_UNIT);
	CLEANUP(cpuset_freep) hwloc_bitmap_t all = cpuset_new(), free = cpuset_dup(node_shared_cpus(state));

	for (size_t i = 0; i < state->machine.n_nodes; i++) {
		CLEANUP(cpuset_freep) hwloc_bitmap_t own = machine_own_cpus(&state->machine, i);

		if (positions >> i & 1)
			cpuset_or(all, all, own);
	}
	if (state->reserved.cpus)
		cpuset_andnot(free, free, state->reserved.cpus);
	p->missing -= (qty_t)cpuset_count_common(free, all) * QTY_UNIT;
	for (size_t i = 0; i < state->allocations.n_items; i++)
		add_freed(held, i,
			(qty_t)cpuset_count_common(state->allocations.items[i].cpus, all) * QTY_UNIT, p);
}

/* Adds the need of the exclusive CPUs for which hints are merged once. Restricted admits only as few NUMA nodes as can have the CPUs,
 * single-numa-node only one. Needs whose sets of NUMA nodes are too many are left out. */
static void add_need_of_merge(const struct held_by_candidates *held, size_t cpus)
{
	const struct machine *m = &held->admission->state->machine;
	bool restricted = held->admission->settings.topology.policy == TOPOLOGY_MANAGER_RESTRICTED;
	size_t width = restricted ? fewest_nodes_of_size(m, cpus) : 1;
	struct node_mask_walk walk;
	uint64_t positions;

	if (cpus == 0 || width == 0 || m->n_nodes > COMBINATION_MAX_NODES ||
		count_node_combinations(m->n_nodes, width) > VICTIMS_PLACES_MAX)
		return;
	node_mask_walk_start_at(&walk, combination_first((unsigned)m->n_nodes), (unsigned)width);
	for (bool new_need = true; node_mask_walk_next(&walk, &positions) && walk.size == width;
		new_need = false)
		add_place_of_cpus(held, new_need, cpus, positions);
}

/* The hints are merged once per pod, or once per container. With align-by-socket the hints are sets of sockets: no need is known. */
static void add_needs_of_cpus(const struct held_by_candidates *held, const struct pod_request *pod)
{
	const struct settings *settings = &held->admission->settings;
	enum qos_class qos = request_qos(pod);

	if (settings->cpu_manager != CPU_MANAGER_STATIC || settings->cpu_options.align_by_socket ||
		!node_shared_cpus(held->admission->state))
		return;
	if (settings->topology.scope == TOPOLOGY_SCOPE_POD) {
		add_need_of_merge(held, kubelet_pod_exclusive_cpus(pod, qos));
		return;
	}
	for (size_t i = 0; i < pod->n_containers; i++)
		add_need_of_merge(held, kubelet_exclusive_cpus(&pod->containers[i], qos));
}

/* Per type of memory the need of one container, whose places are the single NUMA nodes. */
static void add_needs_of_memory(const struct held_by_candidates *held, const struct container_request *c)
{
	const struct memory_state *m = &held->allocations->memory;

	for (size_t i = 0; i < c->requests.n_items; i++) {
		const struct resource_quantity *q = &c->requests.items[i];

		if ((strcmp(q->name, "memory") != 0 && !resource_name_is_hugepages(q->name)) ||
			q->quantity.nano == 0)
			continue;
		for (size_t k = 0; k < m->n_nodes; k++) {
			const struct memory_table *table = memory_node_table(&m->nodes[k], q->name);
			struct victims_place *p = victim_candidates_add_place(held->ret, k == 0,
				q->quantity.nano - (table ? (qty_t)table->free * QTY_UNIT : 0));

			add_held_units(held, q->name, (int)m->nodes[k].id, p);
		}
	}
}

/* Adds the conditions without which the kubelet rejects the pod. The places of NUMA nodes hold only for policies that reject pods. */
static void add_needs(const struct held_by_candidates *held, const struct pod_request *pod)
{
	const struct node_admission *admission = held->admission;
	enum topology_manager_policy policy = admission->settings.topology.policy;
	bool aligns_memory = admission->kubelet.memory_static && held->allocations->memory_known &&
			     policy == TOPOLOGY_MANAGER_SINGLE_NUMA_NODE &&
			     request_qos(pod) == QOS_GUARANTEED;
	CLEANUP(resource_list_release) struct resource_list wanted = {0};

	request_of_node(pod, &wanted);
	for (size_t i = 0; i < wanted.n_items; i++)
		add_needs_of_node(held, &wanted.items[i]);
	if (policy == TOPOLOGY_MANAGER_RESTRICTED || policy == TOPOLOGY_MANAGER_SINGLE_NUMA_NODE)
		add_needs_of_cpus(held, pod);
	for (size_t i = 0; i < pod->n_containers && aligns_memory; i++)
		add_needs_of_memory(held, &pod->containers[i]);
}

/* ---- the kinds of pods */

static void print_set(struct strbuf *out, const char *before, hwloc_const_bitmap_t set)
{
	CLEANUP(freep) char *text = cpuset_print(set);

	strbuf_addf(out, "%s%s", before, text ? text : "?");
}

/* The number of CPUs per cache. CPUs of a core that is held in part are listed, because verdicts then depend on the core's other CPUs. */
static void print_cpus(struct strbuf *out, const struct machine *m, hwloc_const_bitmap_t cpus)
{
	const struct cpu *last = NULL;
	size_t whole = 0;

	for (int id = hwloc_bitmap_first(cpus); id >= 0; id = hwloc_bitmap_next(cpus, id)) {
		const struct cpu *c = machine_cpu(m, (unsigned)id);
		bool partial = !c; /* a CPU that the machine does not have is listed too */

		for (size_t i = 0; i < m->n_cpus && !partial; i++)
			partial = m->cpus[i].core == c->core && !hwloc_bitmap_isset(cpus, m->cpus[i].id);
		if (partial) {
			strbuf_addf(out, "cpu %d;", id);
			continue;
		}
		if (last && (last->numa != c->numa || last->uncore != c->uncore)) {
			strbuf_addf(out, "%zu in %d.%d;", whole, last->numa, last->uncore);
			whole = 0;
		}
		whole++;
		last = c;
	}
	if (last)
		strbuf_addf(out, "%zu in %d.%d;", whole, last->numa, last->uncore);
}

#define VICTIM_KIND_MAX (1u << 20) /* bytes */

static void print_item(const struct allocation *item, struct strbuf *out)
{
	for (size_t b = 0; b < item->n_memory; b++) {
		strbuf_addf(out, "%s %llu", item->memory[b].type, (unsigned long long)item->memory[b].bytes);
		print_set(out, "@", item->memory[b].nodes);
	}
	for (size_t b = 0; b < item->n_devices; b++) {
		strbuf_addf(out, ";%s %zu", item->devices[b].resource, item->devices[b].ids.n_items);
		print_set(out, "@", item->devices[b].nodes);
	}
}

/* The kind is a text of everything that the pod holds or requests and that can affect a verdict. */
static void add_candidate(const struct node_state *state, const struct victim_pods *pods, size_t pod,
	struct victim_candidates *ret)
{
	CLEANUP(strbuf_release) struct strbuf kind = STRBUF_INIT(VICTIM_KIND_MAX);
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = cpuset_new();
	const struct victim_pod *p = &pods->items[pod];
	struct victim_candidate *c = vec_push(&ret->items, &ret->n_items, &ret->items_size, sizeof(*c));

	for (size_t i = 0; i < state->allocations.n_items; i++)
		if (pods->owners[i] == pod) {
			cpuset_or(cpus, cpus, state->allocations.items[i].cpus);
			print_item(&state->allocations.items[i], &kind);
		}
	print_cpus(&kind, &state->machine, cpus);
	for (size_t i = 0; pods->by_requests && p->requests && i < p->requests->n_items; i++)
		strbuf_addf(&kind, ";%s %lld", p->requests->items[i].name,
			(long long)(p->requests->items[i].quantity.nano / 1000000));
	*c = (struct victim_candidate){.pod = pod, .cpus = cpuset_size(cpus)};
	c->cost = victim_cost(p->violates, p->priority, c->cpus > p->cpus ? c->cpus : p->cpus);
	/* The kind's text is too long: the pod gets a kind of its own. */
	if (strbuf_error(&kind) < 0) {
		strbuf_reset(&kind);
		strbuf_addf(&kind, "pod %zu", pod);
	}
	c->kind = strbuf_detach(&kind);
}

/* ---- the pods of a node */

void victim_pods_release(struct victim_pods *pods)
{
	free(pods->items);
	free(pods->owners);
	*pods = (struct victim_pods){0};
}

struct victim_pod *victim_pods_add(
	struct victim_pods *pods, const char *namespace, const char *name, const char *uid)
{
	const struct victim_pod named = {
		.namespace = namespace, .name = name, .uid = uid, .may_leave = *name || *uid};
	size_t i = 0;

	while (i < pods->n_items && victim_pod_compare(&pods->items[i], &named) != 0)
		i++;
	if (i == pods->n_items)
		*(struct victim_pod *)vec_push(
			&pods->items, &pods->n_items, &pods->items_size, sizeof(*pods->items)) = named;
	return &pods->items[i];
}

struct victim_pod *victim_pods_add_item(
	struct victim_pods *pods, size_t item, const char *namespace, const char *name, const char *uid)
{
	struct victim_pod *owner = victim_pods_add(pods, namespace, name, uid);

	vec_grow(&pods->owners, &pods->owners_size, item + 1, sizeof(*pods->owners));
	pods->owners[item] = (size_t)(owner - pods->items);
	return owner;
}

/* Sets held->candidates: the candidate that holds the item, by its position in held->ret. */
static void set_item_candidates(struct held_by_candidates *held, const size_t *owners)
{
	for (size_t i = 0; i < held->allocations->n_items; i++) {
		held->candidates[i] = SIZE_MAX;
		for (size_t k = 0; k < held->ret->n_items; k++)
			if (held->ret->items[k].pod == owners[i])
				held->candidates[i] = k;
	}
}

static void forget_places(struct victim_candidates *c)
{
	while (c->n_places > 0)
		free(c->places[--c->n_places].frees);
}

/* Removes candidates that free nothing of what is requested; and all places, whose frees[] have the candidates' previous positions. */
static void keep_useful(struct victim_candidates *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->n_items; i++) {
		bool frees = false;

		for (size_t k = 0; k < c->n_places && !frees; k++)
			frees = c->places[k].frees[i] > 0;
		if (frees)
			c->items[kept++] = c->items[i];
		else
			free(c->items[i].kind);
	}
	c->n_items = kept;
	forget_places(c);
}

void victim_candidates_find(const struct node_admission *admission, const struct pod_request *wanted,
	const struct victim_pods *pods, struct victim_candidates *ret)
{
	const struct node_state *state = admission->state;
	CLEANUP(freep) size_t *candidates = xcalloc(state->allocations.n_items + 1, sizeof(*candidates));
	struct held_by_candidates held = {.admission = admission,
		.allocations = &state->allocations,
		.pods = pods,
		.candidates = candidates,
		.ret = ret};

	*ret = (struct victim_candidates){0};
	for (size_t i = 0; i < pods->n_items; i++)
		if (pods->items[i].may_leave)
			add_candidate(state, pods, i, ret);
	set_item_candidates(&held, pods->owners);
	add_needs(&held, wanted);
	keep_useful(ret);
	victim_candidates_sort(ret, pods);
	/* Again, because the candidates have other positions now. */
	set_item_candidates(&held, pods->owners);
	add_needs(&held, wanted);
}

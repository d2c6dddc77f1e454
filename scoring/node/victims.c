/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/node/victims.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/resource.h"
#include "common/strbuf.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/node/node_admission.h"
#include "scoring/node/projected_state.h"
#include "scoring/request.h"

void victims_release(struct victims *v)
{
	for (size_t i = 0; i < v->n_pods; i++) {
		free(v->pods[i].namespace);
		free(v->pods[i].name);
		free(v->pods[i].uid);
	}
	free(v->pods);
	*v = (struct victims){0};
}

/* A pod that holds something: items first..end-1 of the allocations. */
struct holder {
	size_t first, end;
	size_t cpus;
	char *kind; /* ending any pod of one kind has the same effect on every verdict */
};

/*
 * ---- bounds: what must become free at least, and which holders could free it
 *
 * The pod has several needs. Each need must be met at one of its places (the whole node, a set of NUMA
 * nodes). Bounds are necessary, not sufficient.
 */

#define MAX_PLACES 512 /* per need; a need with more sets of NUMA nodes is left out */

struct place {
	size_t need;
	qty_t missing; /* at most 0: enough is free here */
	qty_t *frees;  /* [holder], upper bounds */
};

struct bounds {
	size_t n_holders, n_needs;
	struct place *places; /* by need */
	size_t n_places;
	size_t places_size;
	qty_t *largest; /* scratch */
};

static void bounds_release(struct bounds *b)
{
	for (size_t i = 0; i < b->n_places; i++)
		free(b->places[i].frees);
	free(b->places);
	free(b->largest);
	*b = (struct bounds){0};
}

static struct place *add_need_place(struct bounds *b, qty_t missing)
{
	struct place *p = vec_push(&b->places, &b->n_places, &b->places_size, sizeof(*p));

	p->need = b->n_needs;
	p->missing = missing;
	p->frees = xcalloc(b->n_holders + 1, sizeof(*p->frees));
	return p;
}

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

/* What a holder has of memory, hugepages or a device resource; on one NUMA node, or -1 = anywhere. */
static qty_t held_units(const struct allocations *a, const struct holder *h, const char *name, int node)
{
	qty_t sum = 0;

	for (size_t i = h->first; i < h->end; i++)
		sum += resource_name_is_native(name) ? block_units(&a->items[i], name, node)
						     : device_units(&a->items[i], name);
	return sum;
}

/* An amount of the whole node. */
static void add_need_of_node(struct bounds *b, const struct node_admission *admission,
	const struct resource_quantity *wanted, const struct holder *holders)
{
	const struct resource_quantity *free = resource_list_find(&admission->free, wanted->name);
	qty_t unsure = resource_list_amount(&admission->unsure, wanted->name);
	struct place *p;

	if (!free || wanted->quantity.nano == 0)
		return;
	p = add_need_place(b, wanted->quantity.nano - free->quantity.nano - unsure);
	for (size_t h = 0; h < b->n_holders; h++)
		p->frees[h] = !strcmp(wanted->name, "cpu") ? (qty_t)holders[h].cpus * QTY_UNIT
							   : held_units(&admission->state->allocations,
								     &holders[h], wanted->name, -1);
	b->n_needs++;
}

/* CPUs of `set` that are in `own` and not in `excluded`, which may be NULL. */
static qty_t count_own_cpus(hwloc_const_bitmap_t set, hwloc_const_bitmap_t own, hwloc_const_bitmap_t excluded)
{
	qty_t n = 0;

	for (int id = hwloc_bitmap_first(set); id >= 0; id = hwloc_bitmap_next(set, id))
		n += hwloc_bitmap_isset(own, (unsigned)id) &&
		     !(excluded && hwloc_bitmap_isset(excluded, (unsigned)id));
	return n;
}

/* CPUs per NUMA node: all, free, and of each holder. */
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

		own = machine_own_cpus(m, i);
		t->all[i] = count_own_cpus(own, own, NULL);
		t->free[i] = count_own_cpus(
			node_shared_cpus(admission->state), own, admission->state->reserved.cpus);
		for (size_t h = 0; h < n; h++)
			for (size_t k = holders[h].first; k < holders[h].end; k++)
				t->held[i * n + h] += count_own_cpus(a->items[k].cpus, own, NULL);
	}
}

static int descending_amounts(const void *va, const void *vb)
{
	qty_t a = *(const qty_t *)va, b = *(const qty_t *)vb;

	return (a < b) - (a > b);
}

/* The fewest NUMA nodes that have this number of CPUs, free or not; 0 = all together have fewer. */
static size_t fewest_nodes_of_size(const struct cpu_table *t, qty_t cpus)
{
	CLEANUP(freep) qty_t *sizes = xcalloc(t->n_nodes + 1, sizeof(*sizes));
	size_t n = 0;

	memcpy(sizes, t->all, t->n_nodes * sizeof(*sizes));
	qsort(sizes, t->n_nodes, sizeof(*sizes), descending_amounts);
	while (n < t->n_nodes && cpus > 0)
		cpus -= sizes[n++];
	return cpus > 0 ? 0 : n;
}

/* A place for each set of `width` NUMA nodes. */
static void add_cpu_places(struct bounds *b, const struct cpu_table *t, qty_t cpus, size_t width)
{
	CLEANUP(freep) size_t *at = xcalloc(width + 1, sizeof(*at));
	size_t k = 0;

	for (size_t i = 0; i < width; i++)
		at[i] = i;
	for (;;) {
		struct place *p = add_need_place(b, 0);

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

/* The number of sets of `width` NUMA nodes, counted up to a little more than MAX_PLACES. */
static size_t count_node_combinations(size_t n, size_t width)
{
	size_t sets = 1;

	for (size_t i = 0; i < width && sets <= MAX_PLACES; i++)
		sets = sets * (n - i) / (i + 1);
	return sets;
}

/* The exclusive CPUs of one merge of hints, which must be on as few NUMA nodes as possible. */
static void add_need_of_cpus(
	struct bounds *b, const struct node_admission *admission, const struct cpu_table *t, size_t cpus)
{
	size_t width = 1;

	if (admission->settings.topology.policy == TOPOLOGY_MANAGER_RESTRICTED)
		width = fewest_nodes_of_size(t, (qty_t)cpus);
	if (cpus == 0 || width == 0 || count_node_combinations(t->n_nodes, width) > MAX_PLACES)
		return;
	add_cpu_places(b, t, (qty_t)cpus, width);
	b->n_needs++;
}

static void add_needs_of_cpus(struct bounds *b, const struct node_admission *admission,
	const struct pod_request *pod, const struct holder *holders)
{
	CLEANUP(cpu_table_release) struct cpu_table t = {0};
	enum qos_class qos = request_qos(pod);

	if (admission->settings.cpu_manager != CPU_MANAGER_STATIC ||
		admission->settings.cpu_options.align_by_socket || !node_shared_cpus(admission->state))
		return;
	cpu_table_init(&t, admission, holders, b->n_holders);
	if (admission->settings.topology.scope == TOPOLOGY_SCOPE_POD) {
		add_need_of_cpus(b, admission, &t, kubelet_pod_exclusive_cpus(pod, qos));
		return;
	}
	for (size_t i = 0; i < pod->n_containers; i++)
		add_need_of_cpus(b, admission, &t, kubelet_exclusive_cpus(&pod->containers[i], qos));
}

/* Memory of one container on one NUMA node. */
static void add_needs_of_memory(struct bounds *b, const struct node_admission *admission,
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
			struct place *p = add_need_place(
				b, q->quantity.nano - (table ? (qty_t)table->free * QTY_UNIT : 0));

			for (size_t h = 0; h < b->n_holders; h++)
				p->frees[h] = held_units(&admission->state->allocations, &holders[h], q->name,
					(int)m->nodes[k].id);
		}
		b->n_needs++;
	}
}

static void bounds_init(struct bounds *b, const struct node_admission *admission,
	const struct pod_request *pod, const struct holder *holders, size_t n_holders)
{
	CLEANUP(resource_list_release) struct resource_list wanted = {0};
	enum topology_manager_policy policy = admission->settings.topology.policy;
	bool memory = admission->kubelet.memory_static && admission->state->allocations.memory_known &&
		      policy == TOPOLOGY_MANAGER_SINGLE_NUMA_NODE && request_qos(pod) == QOS_GUARANTEED;

	request_of_node(pod, &wanted);
	b->n_holders = n_holders;
	b->largest = xcalloc(n_holders + 1, sizeof(*b->largest));
	for (size_t i = 0; i < wanted.n_items; i++)
		add_need_of_node(b, admission, &wanted.items[i], holders);
	if (policy == TOPOLOGY_MANAGER_RESTRICTED || policy == TOPOLOGY_MANAGER_SINGLE_NUMA_NODE)
		add_needs_of_cpus(b, admission, pod, holders);
	for (size_t i = 0; i < pod->n_containers && memory; i++)
		add_needs_of_memory(b, admission, &pod->containers[i], holders);
}

/* Whether the holder has something that the pod requests. */
static bool bounds_concern(const struct bounds *b, size_t holder)
{
	for (size_t i = 0; i < b->n_places; i++)
		if (b->places[i].frees[holder] > 0)
			return true;
	return false;
}

/* The sum of the `picks` largest of frees[from..]. */
static qty_t sum_largest(const struct bounds *b, const qty_t *frees, size_t from, size_t picks)
{
	size_t n = 0;
	qty_t sum = 0;

	for (size_t h = from; h < b->n_holders && picks > 0; h++) {
		size_t at;

		if (frees[h] == 0 || (n == picks && frees[h] <= b->largest[n - 1]))
			continue;
		n += n < picks;
		for (at = n - 1; at > 0 && b->largest[at - 1] < frees[h]; at--)
			b->largest[at] = b->largest[at - 1];
		b->largest[at] = frees[h];
	}
	for (size_t i = 0; i < n; i++)
		sum += b->largest[i];
	return sum;
}

/* Whether the chosen holders plus any `picks` holders from `from` on may free enough. */
static bool bounds_allow(const struct bounds *b, const bool *chosen, size_t from, size_t picks)
{
	bool met = true;

	for (size_t i = 0; i < b->n_places; i++) {
		const struct place *p = &b->places[i];
		qty_t missing = p->missing;

		if (i == 0 || p->need != p[-1].need) {
			if (!met)
				return false;
			met = false;
		}
		for (size_t h = 0; h < b->n_holders && missing > 0 && !met; h++)
			missing -= chosen[h] ? p->frees[h] : 0;
		met = met || missing <= 0 || missing <= sum_largest(b, p->frees, from, picks);
	}
	return met;
}

/* ---- the search */

struct search {
	const struct node_state *state;
	const struct pod_request *pod;
	struct victims_known known;
	struct holder *holders;
	size_t n_holders;
	size_t holders_size;
	struct bounds bounds;
	unsigned *core_sizes; /* CPUs of each core, by its id */
	bool *excluded;       /* by item, scratch */
	bool *chosen;         /* by holder */
	bool *best;           /* by holder */
	size_t n_best;        /* 0 = none yet */
	size_t best_cpus;
	size_t verdicts, steps;
	bool gave_up;
};

static void victim_search_release(struct search *s)
{
	for (size_t i = 0; i < s->n_holders; i++)
		free(s->holders[i].kind);
	free(s->holders);
	bounds_release(&s->bounds);
	free(s->core_sizes);
	free(s->excluded);
	free(s->chosen);
	free(s->best);
}

static void print_set(struct strbuf *out, const char *before, hwloc_const_bitmap_t set)
{
	CLEANUP(freep) char *text = cpuset_print(set);

	strbuf_addf(out, "%s%s", before, text ? text : "?");
}

/* CPUs by cache, or each CPU if its core is held in part: the rest of the core matters then. */
static void print_cpus(
	struct strbuf *out, const struct machine *m, const unsigned *core_sizes, hwloc_const_bitmap_t cpus)
{
	const struct cpu *last = NULL;
	size_t whole = 0;

	for (int id = hwloc_bitmap_first(cpus); id >= 0; id = hwloc_bitmap_next(cpus, id)) {
		const struct cpu *c = machine_cpu(m, (unsigned)id);
		unsigned held = 0;

		for (int k = hwloc_bitmap_first(cpus); c && k >= 0; k = hwloc_bitmap_next(cpus, k)) {
			const struct cpu *other = machine_cpu(m, (unsigned)k);

			held += other && other->core == c->core;
		}
		if (!c || held < core_sizes[c->core]) {
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

#define KIND_MAX (1u << 20) /* bytes */

/* The kind is a text of everything in the holder's resources that can affect a verdict. */
static void set_holder_kind(const struct search *s, struct holder *h)
{
	const struct node_state *state = s->state;
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = cpuset_new();
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(KIND_MAX);

	for (size_t i = h->first; i < h->end; i++) {
		const struct allocation *item = &state->allocations.items[i];

		cpuset_or(cpus, cpus, item->cpus);
		for (size_t b = 0; b < item->n_memory; b++) {
			strbuf_addf(&text, "%s %llu", item->memory[b].type,
				(unsigned long long)item->memory[b].bytes);
			print_set(&text, "@", item->memory[b].nodes);
		}
		for (size_t b = 0; b < item->n_devices; b++) {
			strbuf_addf(
				&text, ";%s %zu", item->devices[b].resource, item->devices[b].ids.n_items);
			print_set(&text, "@", item->devices[b].nodes);
		}
	}
	h->cpus = cpuset_size(cpus);
	print_cpus(&text, &state->machine, s->core_sizes, cpus);
	if (strbuf_error(&text) < 0) { /* a kind of its own */
		strbuf_reset(&text);
		strbuf_addf(&text, "item %zu", h->first);
	}
	h->kind = strbuf_detach(&text);
}

/* Few CPUs first; within a kind by name. */
static int by_cpus(const void *va, const void *vb, void *data)
{
	const struct search *s = data;
	const struct holder *a = va, *b = vb;
	const struct allocation *x = &s->state->allocations.items[a->first];
	const struct allocation *y = &s->state->allocations.items[b->first];
	int c;

	if (a->cpus != b->cpus)
		return a->cpus < b->cpus ? -1 : 1;
	c = strcmp(a->kind, b->kind);
	if (c == 0)
		c = strcmp(x->namespace, y->namespace);
	if (c == 0)
		c = strcmp(x->pod, y->pod);
	return c ? c : strcmp(x->pod_uid, y->pod_uid);
}

static void list_victim_holders(struct search *s)
{
	const bool *stays = s->known.stays;
	const struct allocations *a = &s->state->allocations;
	const struct machine *m = &s->state->machine;

	s->core_sizes = xcalloc(m->n_cpus ? m->cpus[m->n_cpus - 1].id + 1 : 1, sizeof(*s->core_sizes));
	for (size_t i = 0; i < m->n_cpus; i++)
		s->core_sizes[m->cpus[i].core]++;
	for (size_t first = 0, end; first < a->n_items; first = end) {
		const struct allocation *item = &a->items[first];
		bool stays_here = !*item->pod_uid && !*item->pod;
		struct holder *h;

		for (end = first; end < a->n_items && allocation_same_pod(item, &a->items[end]); end++)
			stays_here = stays_here || (stays && stays[end]);
		if (stays_here)
			continue;
		h = vec_push(&s->holders, &s->n_holders, &s->holders_size, sizeof(*h));
		h->first = first;
		h->end = end;
		set_holder_kind(s, h);
	}
}

/* Keep the holders that have something of what the pod requests, sorted. */
static void pick_holders(struct search *s, const struct node_admission *admission)
{
	size_t kept = 0;

	bounds_init(&s->bounds, admission, s->pod, s->holders, s->n_holders);
	for (size_t i = 0; i < s->n_holders; i++) {
		struct holder h = s->holders[i];

		if (bounds_concern(&s->bounds, i))
			s->holders[kept++] = h;
		else
			free(h.kind);
	}
	s->n_holders = kept;
	vec_sort(s->holders, kept, sizeof(*s->holders), by_cpus, s);
	bounds_release(&s->bounds);
	bounds_init(&s->bounds, admission, s->pod, s->holders, kept);
}

/* Limit the admission to what can be requested of the whole node without the chosen pods. */
static void limit_without(const struct search *s, struct node_admission *admission)
{
	CLEANUP(resource_list_release) struct resource_list requestable = {0};

	if (!s->known.requestable)
		return;
	resource_list_add(&requestable, s->known.requestable, 1);
	for (size_t i = 0; i < requestable.n_items; i++) {
		struct resource_quantity *q = &requestable.items[i];

		for (size_t h = 0; h < s->n_holders && s->known.requests; h++) {
			const struct resource_list *own = s->known.requests[s->holders[h].first];

			if (own && s->chosen[h])
				q->quantity.nano =
					qty_add(q->quantity.nano, resource_list_amount(own, q->name));
		}
	}
	node_admission_limit(admission, &requestable);
}

/* The kubelet's answer on the node without the chosen pods. */
static enum kubelet_answer judge_without_chosen(struct search *s)
{
	CLEANUP(projected_state_release) struct projected_state without = {0};
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	struct admission a;

	memset(s->excluded, 0, s->state->allocations.n_items * sizeof(*s->excluded));
	for (size_t h = 0; h < s->n_holders; h++)
		for (size_t i = s->holders[h].first; i < s->holders[h].end && s->chosen[h]; i++)
			s->excluded[i] = true;
	s->verdicts++;
	projected_state_init(&without, s->state, s->excluded);
	projected_state_finish(&without);
	node_admission_init(&admission, &without.state);
	limit_without(s, &admission);
	node_admission_judge(&admission, s->pod, &a);
	return a.answer;
}

static bool is_enough(struct search *s)
{
	return judge_without_chosen(s) == KUBELET_ADMITS;
}

static void keep_best(struct search *s)
{
	s->n_best = s->best_cpus = 0;
	for (size_t h = 0; h < s->n_holders; h++) {
		s->best[h] = s->chosen[h];
		s->n_best += s->chosen[h];
		s->best_cpus += s->chosen[h] ? s->holders[h].cpus : 0;
	}
}

/* Whether a set of this size with these CPUs would be the best so far. */
static bool is_better_set(const struct search *s, size_t size, size_t cpus)
{
	return size < s->n_best || (size == s->n_best && cpus < s->best_cpus);
}

/*
 * Start with the set of all candidates, which is enough, and drop each pod that need not leave: pods with few
 * CPUs first, or pods with many.
 */
static void shrink(struct search *s, bool few_first)
{
	size_t n = s->n_holders, size = 0, cpus = 0;

	memset(s->chosen, 1, n * sizeof(*s->chosen));
	for (size_t i = 0; i < n; i++) {
		size_t h = few_first ? i : n - 1 - i;
		bool enough;

		s->chosen[h] = false;
		enough = bounds_allow(&s->bounds, s->chosen, 0, 0) && is_enough(s);
		s->chosen[h] = !enough;
		size += !enough;
		cpus += enough ? 0 : s->holders[h].cpus;
	}
	if (is_better_set(s, size, cpus))
		keep_best(s);
	memset(s->chosen, 0, n * sizeof(*s->chosen));
}

/* Try all sets of `size` holders that consist of the chosen ones, which hold `cpus` CPUs, and of `picks` more among holders[from...]. */
static void try_sets(struct search *s, size_t size, size_t picks, size_t from, size_t cpus)
{
	for (size_t h = from; h + picks <= s->n_holders && !s->gave_up; h++) {
		const struct holder *holder = &s->holders[h];

		if (!is_better_set(s, size, cpus + picks * holder->cpus))
			break;
		/* Of holders of one kind, which are equal, the first ones are chosen. */
		if (h > 0 && !s->chosen[h - 1] && !strcmp(holder->kind, s->holders[h - 1].kind))
			continue;
		s->chosen[h] = true;
		if (++s->steps >= VICTIMS_STEPS || s->verdicts >= VICTIMS_VERDICTS)
			s->gave_up = true;
		else if (picks > 1 && bounds_allow(&s->bounds, s->chosen, h + 1, picks - 1))
			try_sets(s, size, picks - 1, h + 1, cpus + holder->cpus);
		else if (picks == 1 && bounds_allow(&s->bounds, s->chosen, h + 1, 0) && is_enough(s))
			keep_best(s);
		s->chosen[h] = false;
	}
}

/* Small sets first, until one is found; then all other sets of that size. */
static void find_smallest(struct search *s)
{
	for (size_t size = 1; size <= s->n_best && !s->gave_up; size++)
		if (bounds_allow(&s->bounds, s->chosen, 0, size))
			try_sets(s, size, size, 0, 0);
}

static int by_name(const void *va, const void *vb)
{
	const struct victim *a = va, *b = vb;
	int c = strcmp(a->namespace, b->namespace);

	if (c == 0)
		c = strcmp(a->name, b->name);
	return c ? c : strcmp(a->uid, b->uid);
}

static void report_best(const struct search *s, struct victims *ret)
{
	for (size_t h = 0; h < s->n_holders; h++) {
		const struct allocation *item = &s->state->allocations.items[s->holders[h].first];
		struct victim *p;

		if (!s->best[h])
			continue;
		p = vec_push(&ret->pods, &ret->n_pods, &ret->pods_size, sizeof(*p));
		*p = (struct victim){.namespace = xstrdup(item->namespace),
			.name = xstrdup(item->pod),
			.uid = xstrdup(item->pod_uid),
			.cpus = s->holders[h].cpus};
	}
	ret->cpus = s->best_cpus;
	if (ret->n_pods > 0)
		qsort(ret->pods, ret->n_pods, sizeof(*ret->pods), by_name);
}

/* Whether the pod requests a device whose free devices are unknown; verdicts ignore such a device. */
static bool has_unknown_device(const struct search *s, const struct node_admission *admission)
{
	CLEANUP(resource_list_release) struct resource_list wanted = {0};
	bool unknown = false;

	request_of_node(s->pod, &wanted);
	for (size_t i = 0; i < wanted.n_items && !unknown; i++)
		unknown = node_admission_devices(admission, wanted.items[i].name) == DEVICES_UNKNOWN;
	return unknown;
}

/*
 * Whether some set is enough: the verdict on the node without all candidates. A device that verdicts ignore
 * can turn an admission into a rejection. For a pod of several containers, the device can also turn a
 * rejection into an admission, because one container goes to other NUMA nodes and leaves its place to another
 * container.
 */
static enum victims_answer judge_without_all(struct search *s, const struct node_admission *admission)
{
	bool unknown = has_unknown_device(s, admission);
	enum kubelet_answer answer = KUBELET_REJECTS;

	memset(s->chosen, 1, s->n_holders * sizeof(*s->chosen));
	if (s->n_holders > 0)
		answer = judge_without_chosen(s);
	if (answer == KUBELET_UNKNOWN || (unknown && (answer == KUBELET_ADMITS || s->pod->n_containers > 1)))
		return VICTIMS_UNKNOWN;
	return answer == KUBELET_ADMITS ? VICTIMS_SET : VICTIMS_NO_SET;
}

/* The kubelet rejects the pod on the node as it is. */
static void run_search(struct search *s, const struct node_admission *admission, struct victims *ret)
{
	list_victim_holders(s);
	pick_holders(s, admission);
	s->excluded = xcalloc(s->state->allocations.n_items + 1, sizeof(*s->excluded));
	s->chosen = xcalloc(s->n_holders + 1, sizeof(*s->chosen));
	s->best = xcalloc(s->n_holders + 1, sizeof(*s->best));
	ret->answer = judge_without_all(s, admission);
	if (ret->answer == VICTIMS_SET) {
		keep_best(s);
		shrink(s, true);
		shrink(s, false);
		find_smallest(s);
		report_best(s, ret);
	}
	ret->gave_up = s->gave_up;
	ret->movable = s->n_holders;
	ret->verdicts = s->verdicts;
}

static enum kubelet_answer judge_now(const struct search *s)
{
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	struct admission a;

	node_admission_init(&admission, s->state);
	if (s->known.requestable)
		node_admission_limit(&admission, s->known.requestable);
	node_admission_judge(&admission, s->pod, &a);
	return a.answer;
}

void victims_find(const struct node_state *state, const struct pod_request *pod,
	const struct victims_known *known, struct victims *ret)
{
	CLEANUP(victim_search_release) struct search s = {.state = state, .pod = pod};
	/* Without the limit, because the bounds are on what is held exclusively. */
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	enum kubelet_answer answer;

	*ret = (struct victims){0};
	if (known)
		s.known = *known;
	answer = judge_now(&s);
	if (answer != KUBELET_REJECTS) {
		ret->answer = answer == KUBELET_ADMITS ? VICTIMS_NOTHING : VICTIMS_UNKNOWN;
		return;
	}
	node_admission_init(&admission, state);
	run_search(&s, &admission, ret);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/state/victims.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/state/give_back.h"
#include "agent/state/inventory_build.h"
#include "agent/state/victim_bounds.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/resource_name.h"
#include "common/strbuf.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/request.h"

void victims_release(struct victims *w)
{
	for (size_t i = 0; i < w->n_pods; i++) {
		free(w->pods[i].namespace);
		free(w->pods[i].name);
		free(w->pods[i].uid);
	}
	free(w->pods);
	*w = (struct victims){0};
}

struct search {
	const struct node_state *state;
	const struct pod_request *pod;
	struct victims_known known;
	struct holder *holders;
	size_t n_holders;
	size_t holders_size;
	struct victim_bounds bounds;
	unsigned *core_sizes; /* CPUs of each core, by its id */
	bool *gone;           /* by item, scratch */
	bool *chosen;         /* by holder */
	bool *best;           /* by holder */
	size_t n_best;        /* 0 = none yet */
	size_t best_cpus;
	size_t verdicts, steps;
	bool gave_up;
};

static void holders_release(struct search *s)
{
	for (size_t i = 0; i < s->n_holders; i++)
		free(s->holders[i].kind);
	free(s->holders);
}

static void search_release(struct search *s)
{
	holders_release(s);
	victim_bounds_release(&s->bounds);
	free(s->core_sizes);
	free(s->gone);
	free(s->chosen);
	free(s->best);
}

/* ---- who holds something */

static void add_set(struct strbuf *out, const char *before, hwloc_const_bitmap_t set)
{
	CLEANUP(freep) char *text = cpuset_print(set);

	strbuf_addf(out, "%s%s", before, text ? text : "?");
}

/* CPUs by cache, or the CPUs themselves where a core is held in part: the rest of it matters then. */
static void add_cpus(
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

/* What the holder's kind is: all that a verdict could see of what it frees. */
static void find_kind(const struct search *s, struct holder *h)
{
	const struct node_state *state = s->state;
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = cpuset_new();
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1u << 20);

	for (size_t i = h->first; i < h->end; i++) {
		const struct allocation *item = &state->allocations.items[i];

		cpuset_or(cpus, cpus, item->cpus);
		for (size_t b = 0; b < item->n_memory; b++) {
			strbuf_addf(&text, "%s %llu", item->memory[b].type,
				(unsigned long long)item->memory[b].bytes);
			add_set(&text, "@", item->memory[b].nodes);
		}
		for (size_t b = 0; b < item->n_devices; b++) {
			strbuf_addf(
				&text, ";%s %zu", item->devices[b].resource, item->devices[b].ids.n_items);
			add_set(&text, "@", item->devices[b].nodes);
		}
	}
	h->cpus = cpuset_size(cpus);
	add_cpus(&text, &state->machine, s->core_sizes, cpus);
	h->kind = strbuf_error(&text) == 0 ? xstrdup(text.text) : NULL;
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

static void list_holders(struct search *s)
{
	const bool *stays = s->known.stays;
	const struct allocations *a = &s->state->allocations;
	const struct machine *m = &s->state->machine;

	s->core_sizes = xcalloc(m->n_cpus ? m->cpus[m->n_cpus - 1].id + 1 : 1, sizeof(*s->core_sizes));
	for (size_t i = 0; i < m->n_cpus; i++)
		s->core_sizes[m->cpus[i].core]++;
	for (size_t first = 0, end; first < a->n_items; first = end) {
		const struct allocation *item = &a->items[first];
		bool stay = !*item->pod_uid && !*item->pod;
		struct holder *h;

		for (end = first; end < a->n_items && allocation_same_pod(item, &a->items[end]); end++)
			stay = stay || (stays && stays[end]);
		if (stay)
			continue;
		h = vec_push(&s->holders, &s->n_holders, &s->holders_size, sizeof(*h));
		h->first = first;
		h->end = end;
		find_kind(s, h);
	}
}

/* Only those that have something of what is asked for, in their order. */
static void pick_holders(struct search *s, const struct node_admission *admission)
{
	size_t kept = 0;

	victim_bounds_init(&s->bounds, admission, s->pod, s->holders, s->n_holders);
	for (size_t i = 0; i < s->n_holders; i++) {
		struct holder h = s->holders[i];

		if (victim_bounds_concern(&s->bounds, i))
			s->holders[kept++] = h;
		else
			free(h.kind);
	}
	s->n_holders = kept;
	if (kept > 0)
		qsort_r(s->holders, kept, sizeof(*s->holders), by_cpus, s);
	victim_bounds_release(&s->bounds);
	victim_bounds_init(&s->bounds, admission, s->pod, s->holders, kept);
}

static void search_init(struct search *s, const struct node_admission *admission)
{
	list_holders(s);
	pick_holders(s, admission);
	s->gone = xcalloc(s->state->allocations.n_items + 1, sizeof(*s->gone));
	s->chosen = xcalloc(s->n_holders + 1, sizeof(*s->chosen));
	s->best = xcalloc(s->n_holders + 1, sizeof(*s->best));
}

/* ---- the kubelet, asked on the node without the chosen pods */

/* What can be requested of the whole node once the chosen pods are gone. */
static void limit_without(const struct search *s, struct node_admission *admission)
{
	CLEANUP(resource_list_release) struct resource_list most = {0};

	if (!s->known.most)
		return;
	for (size_t i = 0; i < s->known.most->n_items; i++) {
		const struct resource_quantity *q = &s->known.most->items[i];
		struct quantity left = q->quantity;

		for (size_t h = 0; h < s->n_holders; h++) {
			const struct resource_list *own =
				s->known.requests ? s->known.requests[s->holders[h].first] : NULL;
			const struct resource_quantity *more =
				own && s->chosen[h] ? resource_list_find(own, q->name) : NULL;

			left.nano = qty_add(left.nano, more ? more->quantity.nano : 0);
		}
		resource_list_set(&most, q->name, left);
	}
	node_admission_limit(admission, &most);
}

static void ask_without(const struct search *s, enum kubelet_answer *ret)
{
	CLEANUP(allocations_view_release) struct allocations view = {0};
	CLEANUP(inventory_release) struct inventory inventory;
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	const struct node_state *state = s->state;
	struct node_state without = *state; /* borrows */
	struct admission a;

	allocations_view_without(&state->allocations, s->gone, &view);
	inventory_init(&inventory);
	inventory_build(&state->machine, &state->settings, &view, &state->claims, state->reserved.cpus,
		&inventory, NULL);
	without.allocations = view;
	without.inventory = inventory;
	node_admission_init(&admission, &without);
	limit_without(s, &admission);
	node_admission_judge(&admission, s->pod, &a);
	*ret = a.answer;
}

/* The verdict without the chosen pods. */
static void ask_chosen(struct search *s, enum kubelet_answer *ret)
{
	memset(s->gone, 0, s->state->allocations.n_items * sizeof(*s->gone));
	for (size_t h = 0; h < s->n_holders; h++)
		for (size_t i = s->holders[h].first; i < s->holders[h].end && s->chosen[h]; i++)
			s->gone[i] = true;
	s->verdicts++;
	ask_without(s, ret);
}

/* Whether the chosen pods are enough. */
static void try(struct search *s, bool *ret)
{
	enum kubelet_answer answer;

	ask_chosen(s, &answer);
	*ret = answer == KUBELET_ADMITS;
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

/* ---- the search */

/* So far no set of this size is better. */
static bool is_better(const struct search *s, size_t size, size_t cpus)
{
	return size < s->n_best || (size == s->n_best && cpus < s->best_cpus);
}

/* From all pods, which are enough, let back in who can stay: those with few CPUs first, or with many. */
static void shrink(struct search *s, bool few_first)
{
	size_t n = s->n_holders, size = 0, cpus = 0;

	memset(s->chosen, 1, n * sizeof(*s->chosen));
	for (size_t i = 0; i < n; i++) {
		size_t h = few_first ? i : n - 1 - i;
		bool enough = false;

		s->chosen[h] = false;
		if (victim_bounds_allow(&s->bounds, s->chosen, 0, 0))
			try(s, &enough);
		s->chosen[h] = !enough;
		size += !enough;
		cpus += enough ? 0 : s->holders[h].cpus;
	}
	if (is_better(s, size, cpus))
		keep_best(s);
	memset(s->chosen, 0, n * sizeof(*s->chosen));
}

/* Sets of `size` pods: the chosen ones, which hold `cpus`, and `picks` more of those from `from` on. */
static void walk(struct search *s, size_t size, size_t picks, size_t from, size_t cpus)
{
	for (size_t h = from; h + picks <= s->n_holders && !s->gave_up; h++) {
		const struct holder *holder = &s->holders[h];
		bool enough = false;

		if (!is_better(s, size, cpus + picks * holder->cpus))
			break;
		if (h > 0 && !s->chosen[h - 1] && !strcmp(holder->kind, s->holders[h - 1].kind))
			continue;
		s->chosen[h] = true;
		if (++s->steps >= VICTIMS_STEPS || s->verdicts >= VICTIMS_VERDICTS)
			s->gave_up = true;
		else if (!victim_bounds_allow(&s->bounds, s->chosen, h + 1, picks - 1))
			;
		else if (picks > 1)
			walk(s, size, picks - 1, h + 1, cpus + holder->cpus);
		else
			try(s, &enough);
		if (enough)
			keep_best(s);
		s->chosen[h] = false;
	}
}

/* Small sets first, until one is found; sets of its size are all looked at. */
static void find(struct search *s)
{
	for (size_t size = 1; size <= s->n_best && !s->gave_up; size++)
		if (victim_bounds_allow(&s->bounds, s->chosen, 0, size))
			walk(s, size, size, 0, 0);
}

static int by_name(const void *va, const void *vb)
{
	const struct freed_pod *a = va, *b = vb;
	int c = strcmp(a->namespace, b->namespace);

	if (c == 0)
		c = strcmp(a->name, b->name);
	return c ? c : strcmp(a->uid, b->uid);
}

static void take_best(const struct search *s, struct victims *w)
{
	for (size_t h = 0; h < s->n_holders; h++) {
		const struct allocation *item = &s->state->allocations.items[s->holders[h].first];
		struct freed_pod *p;

		if (!s->best[h])
			continue;
		p = vec_push(&w->pods, &w->n_pods, &w->pods_size, sizeof(*p));
		*p = (struct freed_pod){.namespace = xstrdup(item->namespace),
			.name = xstrdup(item->pod),
			.uid = xstrdup(item->pod_uid),
			.cpus = s->holders[h].cpus};
	}
	w->cpus = s->best_cpus;
	if (w->n_pods > 0)
		qsort(w->pods, w->n_pods, sizeof(*w->pods), by_name);
}

/* The pod asks for a device that is not known, which verdicts pass over. */
static void is_in_part_unknown(const struct search *s, const struct node_admission *admission, bool *ret)
{
	CLEANUP(resource_list_release) struct resource_list wanted = {0};

	request_of_node(s->pod, &wanted);
	*ret = false;
	for (size_t i = 0; i < wanted.n_items; i++)
		*ret = *ret || (!resource_name_is_native(wanted.items[i].name) &&
				       node_kubelet_device(&admission->known, s->state,
					       wanted.items[i].name) == NODE_DEVICE_UNKNOWN);
}

/* Whether some set is enough, by the verdict without all who may go. A device that verdicts pass over can make the
 * answer no, and of a pod with several containers also yes: one goes elsewhere and leaves another its room. */
static void begin(struct search *s, const struct node_admission *admission, enum victims_answer *ret)
{
	enum kubelet_answer answer = KUBELET_REJECTS;
	bool in_part = false;

	is_in_part_unknown(s, admission, &in_part);
	memset(s->chosen, 1, s->n_holders * sizeof(*s->chosen));
	if (s->n_holders > 0)
		ask_chosen(s, &answer);
	if (answer == KUBELET_UNKNOWN || (in_part && (answer == KUBELET_ADMITS || s->pod->n_containers > 1)))
		*ret = VICTIMS_UNKNOWN;
	else
		*ret = answer == KUBELET_ADMITS ? VICTIMS_SET : VICTIMS_NO_SET;
}

/* The node rejects the pod. */
static void search(struct search *s, const struct node_admission *admission, struct victims *w)
{
	search_init(s, admission);
	begin(s, admission, &w->answer);
	if (w->answer == VICTIMS_SET) {
		keep_best(s);
		shrink(s, true);
		shrink(s, false);
		find(s);
		take_best(s, w);
	}
	w->gave_up = s->gave_up;
	w->movable = s->n_holders;
	w->verdicts = s->verdicts;
}

/* The verdict on the node as it is. */
static void ask_now(const struct search *s, enum kubelet_answer *ret)
{
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	struct admission a;

	node_admission_init(&admission, s->state);
	if (s->known.most)
		node_admission_limit(&admission, s->known.most);
	node_admission_judge(&admission, s->pod, &a);
	*ret = a.answer;
}

void victims_find(const struct node_state *state, const struct pod_request *pod,
	const struct victims_known *known, struct victims *ret)
{
	CLEANUP(victims_release) struct victims w = {0};
	CLEANUP(search_release) struct search s = {.state = state, .pod = pod};
	/* The bounds are of what is held exclusively, so what is known beside the state does not limit them. */
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	enum kubelet_answer answer = KUBELET_UNKNOWN;

	node_admission_init(&admission, state);
	if (known)
		s.known = *known;
	ask_now(&s, &answer);
	if (answer == KUBELET_REJECTS)
		search(&s, &admission, &w);
	else
		w.answer = answer == KUBELET_ADMITS ? VICTIMS_NOTHING : VICTIMS_UNKNOWN;
	*ret = w;
	w = (struct victims){0};
}

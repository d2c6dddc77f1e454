/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/report/show_holders.h"

#include <errno.h>

#include "agent/report/show_amount.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/strbuf.h"
#include "common/vec.h"

#define LINE_MAX_BYTES (1u << 20)
#define SHORT_UID      8 /* characters of a pod's UID that are shown where its name is not known */

void show_holders_release(struct show_view *v)
{
	for (size_t i = 0; i < v->n_holders; i++) {
		free(v->holders[i].name);
		free(v->holders[i].holds);
		hwloc_bitmap_free(v->holders[i].cpus);
	}
	free(v->holders);
	v->holders = NULL;
	v->n_holders = v->holders_size = 0;
}

static bool holds_something(const struct allocation *a)
{
	return !hwloc_bitmap_iszero(a->cpus) || a->n_memory > 0 || a->n_devices > 0;
}

static char *name_of(const struct show_holder *h)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(LINE_MAX_BYTES);
	const struct allocation *pod = h->items;
	size_t n = 0;

	if (*pod->pod)
		strbuf_addf(&out, "%s%s%s", pod->namespace, *pod->namespace ? "/" : "", pod->pod);
	else if (*pod->pod_uid)
		strbuf_addf(&out, "pod %.*s", SHORT_UID, pod->pod_uid);
	else
		strbuf_addstr(&out, "a pod without name");
	for (size_t i = 0; i < h->n_items; i++) {
		if (!*h->items[i].container || !holds_something(&h->items[i]))
			continue;
		strbuf_addf(&out, "%s%s", n++ > 0 ? ", " : " (", h->items[i].container);
	}
	if (n > 0)
		strbuf_addch(&out, ')');
	return strbuf_detach(&out);
}

/* ---- "8 CPUs 1-4,49-52; memory 16Gi on node 0; 2 vendor.com/nic on node 0" */

/* Amounts of one thing on one set of NUMA nodes. */
struct part {
	const char *what;
	hwloc_const_bitmap_t nodes; /* borrowed; NULL or empty = unknown */
	uint64_t amount;
};

struct parts {
	struct part *items;
	size_t n_items;
	size_t items_size;
};

static void parts_release(struct parts *p)
{
	free(p->items);
}

static bool same_nodes(hwloc_const_bitmap_t a, hwloc_const_bitmap_t b)
{
	return a == b || (a && b && hwloc_bitmap_isequal(a, b));
}

static void add_part(struct parts *p, const char *what, hwloc_const_bitmap_t nodes, uint64_t amount)
{
	struct part *part;

	for (size_t i = 0; i < p->n_items; i++) {
		part = &p->items[i];
		if (strcmp(part->what, what) != 0 || !same_nodes(part->nodes, nodes))
			continue;
		if (__builtin_add_overflow(part->amount, amount, &part->amount))
			part->amount = UINT64_MAX;
		return;
	}
	part = vec_push(&p->items, &p->n_items, &p->items_size, sizeof(*part));
	*part = (struct part){.what = what, .nodes = nodes, .amount = amount};
}

static void add_nodes(struct strbuf *out, hwloc_const_bitmap_t nodes)
{
	CLEANUP(freep) char *list = NULL;

	if (!nodes || hwloc_bitmap_iszero(nodes))
		return;
	list = cpuset_print(nodes);
	strbuf_addf(out, " on node%s %s", cpuset_size(nodes) > 1 ? "s" : "", list);
}

/* The containers of a pod may name the same device: the kubelet hands an init container's on. */
static bool named_before(const struct show_holder *h, const struct device_block *block, const char *id)
{
	for (size_t i = 0; i < h->n_items; i++)
		for (size_t d = 0; d < h->items[i].n_devices; d++) {
			const struct device_block *b = &h->items[i].devices[d];

			if (b == block)
				return false;
			if (strcmp(b->resource, block->resource) != 0)
				continue;
			for (size_t k = 0; k < b->ids.n_items; k++)
				if (!strcmp(b->ids.items[k], id))
					return true;
		}
	return false;
}

static size_t count_devices(const struct show_holder *h, const struct device_block *block)
{
	size_t n = 0;

	for (size_t i = 0; i < block->ids.n_items; i++)
		n += !named_before(h, block, block->ids.items[i]);
	return n;
}

static void collect_parts(const struct show_holder *h, struct parts *memory, struct parts *devices)
{
	for (size_t i = 0; i < h->n_items; i++) {
		const struct allocation *a = &h->items[i];

		for (size_t k = 0; k < a->n_memory; k++)
			add_part(memory, a->memory[k].type, a->memory[k].nodes, a->memory[k].bytes);
		for (size_t k = 0; k < a->n_devices; k++)
			add_part(devices, a->devices[k].resource, a->devices[k].nodes,
				count_devices(h, &a->devices[k]));
	}
}

static void add_cpus(struct strbuf *out, hwloc_const_bitmap_t cpus)
{
	CLEANUP(freep) char *list = cpuset_print(cpus);
	size_t n = cpuset_size(cpus);

	if (n > 0)
		strbuf_addf(out, "%zu %s %s", n, n > 1 ? "CPUs" : "CPU", list);
}

static void add_memory(struct strbuf *out, const struct parts *memory)
{
	for (size_t i = 0; i < memory->n_items; i++) {
		const struct part *p = &memory->items[i];
		char amount[SHOW_AMOUNT_SIZE];

		show_amount_text(SHOW_BYTES, (qty_t)p->amount * QTY_UNIT, amount);
		strbuf_addf(out, "%s%s %s", out->len > 0 ? "; " : "", p->what, amount);
		add_nodes(out, p->nodes);
	}
}

static char *holds_text(const struct show_holder *h)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(LINE_MAX_BYTES);
	CLEANUP(parts_release) struct parts memory = {0};
	CLEANUP(parts_release) struct parts devices = {0};

	collect_parts(h, &memory, &devices);
	add_cpus(&out, h->cpus);
	add_memory(&out, &memory);
	for (size_t i = 0; i < devices.n_items; i++) {
		const struct part *p = &devices.items[i];

		strbuf_addf(
			&out, "%s%llu %s", out.len > 0 ? "; " : "", (unsigned long long)p->amount, p->what);
		add_nodes(&out, p->nodes);
	}
	return strbuf_detach(&out);
}

/* ---- the list */

static int by_first_cpu(const void *va, const void *vb)
{
	const struct show_holder *a = va, *b = vb;
	/* No CPU is -1, which is the highest here. */
	unsigned x = (unsigned)hwloc_bitmap_first(a->cpus), y = (unsigned)hwloc_bitmap_first(b->cpus);

	if (x != y)
		return x < y ? -1 : 1;
	return strcmp(a->name, b->name);
}

static void add_holder(struct show_view *v, const struct allocation *items, size_t n_items)
{
	struct show_holder *h = vec_push(&v->holders, &v->n_holders, &v->holders_size, sizeof(*h));

	h->items = items;
	h->n_items = n_items;
	h->cpus = cpuset_new();
	for (size_t i = 0; i < n_items; i++)
		cpuset_or(h->cpus, h->cpus, items[i].cpus);
	h->name = name_of(h);
	h->holds = holds_text(h);
}

/* ---- claims */

/* "claim team/cpus (dra.cpu, pod team/web)" */
static char *claim_name(const struct claim *c)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(LINE_MAX_BYTES);

	if (*c->name)
		strbuf_addf(&out, "claim %s%s%s", c->namespace, *c->namespace ? "/" : "", c->name);
	else if (*c->uid)
		strbuf_addf(&out, "claim %.*s", SHORT_UID, c->uid);
	else
		strbuf_addstr(&out, "a claim");
	strbuf_addf(&out, " (%s", c->driver);
	for (size_t i = 0; i < c->n_pods; i++)
		strbuf_addf(&out, ", pod %s%s%s", c->pods[i].namespace, *c->pods[i].namespace ? "/" : "",
			c->pods[i].name);
	strbuf_addch(&out, ')');
	return strbuf_detach(&out);
}

/* "4 CPUs 0-3; memory 1Gi on node 0; device node-a/gpu-0" */
static char *claim_holds(const struct claim *c)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(LINE_MAX_BYTES);
	CLEANUP(parts_release) struct parts memory = {0};

	add_cpus(&out, c->cpus);
	for (size_t i = 0; i < c->n_memory; i++)
		add_part(&memory, c->memory[i].type, c->memory[i].nodes, c->memory[i].bytes);
	add_memory(&out, &memory);
	for (size_t i = 0; i < c->devices.n_items; i++)
		strbuf_addf(&out, "%s%s",
			i > 0         ? ", "
			: out.len > 0 ? "; device "
				      : "device ",
			c->devices.items[i]);
	return strbuf_detach(&out);
}

static void add_claim(struct show_view *v, const struct claim *c)
{
	struct show_holder *h = vec_push(&v->holders, &v->n_holders, &v->holders_size, sizeof(*h));

	h->cpus = cpuset_dup(c->cpus);
	h->name = claim_name(c);
	h->holds = claim_holds(c);
}

void show_holders_fill(struct show_view *v, const struct allocations *a, const struct claims *claims)
{
	for (size_t first = 0, end; first < a->n_items; first = end) {
		bool any = false;

		for (end = first; end < a->n_items && allocation_same_pod(&a->items[first], &a->items[end]);
			end++)
			any = any || holds_something(&a->items[end]);
		if (any)
			add_holder(v, &a->items[first], end - first);
	}
	for (size_t i = 0; i < claims->n_items; i++)
		add_claim(v, &claims->items[i]);
	if (v->n_holders > 0)
		qsort(v->holders, v->n_holders, sizeof(*v->holders), by_first_cpu);
	for (size_t i = 0; i < v->n_holders; i++)
		v->holders[i].key = i < sizeof(SHOW_KEYS) - 1 ? SHOW_KEYS[i] : SHOW_KEY_MORE;
}

char show_key(const struct show_view *v, int holder, char nobody)
{
	return holder >= 0 && (size_t)holder < v->n_holders ? v->holders[holder].key : nobody;
}

/* ---- devices */

static struct show_devices *devices_at(struct show_view *v, int node, const char *resource)
{
	for (size_t n = 0; n < v->n_nodes; n++)
		for (size_t r = 0; v->nodes[n].id == node && r < v->n_resources; r++)
			if (!strcmp(v->resources[r].name, resource))
				return &v->nodes[n].devices[r];
	return NULL;
}

static void place_devices(struct show_devices *devices, size_t holder, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int *slot = vec_push(
			&devices->holders, &devices->n_holders, &devices->holders_size, sizeof(*slot));

		*slot = (int)holder;
	}
}

/* As the inventory has it, a device near several nodes is on each of them. */
static void place_block(struct show_view *v, size_t holder, const struct device_block *block)
{
	size_t n = count_devices(&v->holders[holder], block);

	for (int id = hwloc_bitmap_first(block->nodes); id >= 0; id = hwloc_bitmap_next(block->nodes, id)) {
		struct show_devices *devices = devices_at(v, id, block->resource);

		if (devices)
			place_devices(devices, holder, n);
	}
}

void show_devices_fill(struct show_view *v)
{
	for (size_t h = 0; h < v->n_holders; h++)
		for (size_t i = 0; i < v->holders[h].n_items; i++) {
			const struct allocation *a = &v->holders[h].items[i];

			for (size_t d = 0; d < a->n_devices; d++)
				place_block(v, h, &a->devices[d]);
		}
}

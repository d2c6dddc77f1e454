/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/show.h"

#include <limits.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/resource.h"
#include "common/strbuf.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/node/pod_alignment.h"

#define LINE_MAX_BYTES (1u << 20) /* of a line of text; the list of every second of 8192 CPUs has 25 KiB */
#define SHORT_UID      8          /* characters of a UID, shown if the pod's name is unknown */

static void holders_release(struct show_view *v)
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

static char *holder_name(const struct show_holder *h)
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
		if (!*h->items[i].container || allocation_is_empty(&h->items[i]))
			continue;
		strbuf_addf(&out, "%s%s", n++ > 0 ? ", " : " (", h->items[i].container);
	}
	if (n > 0)
		strbuf_addch(&out, ')');
	return strbuf_detach(&out);
}

/* ---- "8 CPUs 1-4,49-52; memory 16Gi on node 0; 2 vendor.com/nic on node 0" */

/* The amount of one resource on one set of NUMA nodes. */
struct part {
	const char *resource;
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

static void add_part(struct parts *p, const char *resource, hwloc_const_bitmap_t nodes, uint64_t amount)
{
	struct part *part;

	for (size_t i = 0; i < p->n_items; i++) {
		part = &p->items[i];
		if (strcmp(part->resource, resource) != 0 || !same_nodes(part->nodes, nodes))
			continue;
		if (__builtin_add_overflow(part->amount, amount, &part->amount))
			part->amount = UINT64_MAX;
		return;
	}
	part = vec_push(&p->items, &p->n_items, &p->items_size, sizeof(*part));
	*part = (struct part){.resource = resource, .nodes = nodes, .amount = amount};
}

static void add_nodes(struct strbuf *out, hwloc_const_bitmap_t nodes)
{
	CLEANUP(freep) char *list = NULL;

	if (!nodes || hwloc_bitmap_iszero(nodes))
		return;
	list = cpuset_print(nodes);
	strbuf_addf(out, " on node%s %s", cpuset_size(nodes) > 1 ? "s" : "", list);
}

/* The holder's devices, each once: the kubelet passes an init container's devices on to other containers. */
static void index_devices(const struct show_holder *h, struct device_index *ret)
{
	*ret = (struct device_index){0};
	for (size_t i = 0; i < h->n_items; i++)
		device_index_add(ret, &h->items[i]);
	device_index_sort(ret);
}

static void collect_parts(const struct show_holder *h, struct parts *memory, struct parts *devices)
{
	CLEANUP(device_index_release) struct device_index index;

	for (size_t i = 0; i < h->n_items; i++)
		for (size_t k = 0; k < h->items[i].n_memory; k++) {
			const struct memory_block *block = &h->items[i].memory[k];

			add_part(memory, block->type, block->nodes, block->bytes);
		}
	index_devices(h, &index);
	for (size_t i = 0; i < index.n_items; i++)
		add_part(devices, index.items[i].block->resource, index.items[i].block->nodes, 1);
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
		strbuf_addf(out, "%s%s %s", out->len > 0 ? "; " : "", p->resource, amount);
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

		strbuf_addf(&out, "%s%llu %s", out.len > 0 ? "; " : "", (unsigned long long)p->amount,
			p->resource);
		add_nodes(&out, p->nodes);
	}
	return strbuf_detach(&out);
}

/* ---- the list of holders */

static int compare_holders(const void *va, const void *vb)
{
	const struct show_holder *a = va, *b = vb;
	/* hwloc_bitmap_first() of an empty set is -1, the highest unsigned number: holders without CPUs come last. */
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
	h->name = holder_name(h);
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
	h->claim = c;
}

static const struct pod_memory *find_pod_memory(const struct pods_memory *all, const struct allocation *a)
{
	for (size_t i = 0; i < all->n_items; i++) {
		const struct pod_memory *p = &all->items[i];

		if (!p->unknown && !strcmp(p->pod_uid, a->pod_uid) && !strcmp(p->namespace, a->namespace) &&
			!strcmp(p->pod, a->pod))
			return p;
	}
	return NULL;
}

/* Appends "; uses 12Gi, 3Gi of it remote (25%) on node 1" to what the pod holds. */
static void add_used_memory(const struct node_state *state, struct show_holder *h)
{
	const struct pod_memory *p = find_pod_memory(&state->pods_memory, h->items);
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(LINE_MAX_BYTES);
	CLEANUP(cpuset_freep) hwloc_bitmap_t remote_nodes = NULL;
	char amount[SHOW_AMOUNT_SIZE];
	uint64_t total, remote;

	if (!p)
		return;
	remote = pod_memory_remote(p, &state->machine, &total);
	show_amount_text(SHOW_BYTES, (qty_t)total * QTY_UNIT, amount);
	strbuf_addf(&out, "%s%suses %s", h->holds, *h->holds ? "; " : "", amount);
	if (remote > 0) {
		remote_nodes = cpuset_new();
		for (size_t i = 0; i < state->machine.n_nodes; i++)
			if (p->memory[i] + p->hugepages[i] > 0)
				cpuset_set(remote_nodes, state->machine.nodes[i].id);
		cpuset_andnot(remote_nodes, remote_nodes, p->near);
		show_amount_text(SHOW_BYTES, (qty_t)remote * QTY_UNIT, amount);
		strbuf_addf(&out, ", %s of it remote (%u%%)", amount,
			pod_memory_remote_percent(p, &state->machine));
		add_nodes(&out, remote_nodes);
	} else if (total > 0)
		strbuf_addstr(&out, ", all local");
	free(h->holds);
	h->holds = strbuf_detach(&out);
}

/* Adds the alignment to what each pod holds, unless the pod is aligned: "; remote: CPUs on NUMA node 0, memory on 1". Pods with only claims have
 * n_items 0, and are no holders. */
static void add_alignments(struct show_view *v, const struct node_state *state)
{
	CLEANUP(pod_alignments_release) struct pod_alignments all = {0};

	pod_alignments_find(state, &all);
	for (size_t i = 0; i < all.n_items; i++)
		for (size_t h = 0; h < v->n_holders; h++) {
			const struct pod_alignment *p = &all.items[i];
			struct show_holder *holder = &v->holders[h];
			char *holds = holder->holds;

			if (p->n_items == 0 || holder->items != p->items || p->alignment == ALIGNMENT_ALIGNED)
				continue;
			holder->holds = xasprintf("%s; %s%s%s", holds, alignment_names[p->alignment],
				*p->reason.text ? ": " : "", p->reason.text);
			free(holds);
		}
}

static void fill_holders(struct show_view *v, const struct node_state *state)
{
	const struct allocations *a = &state->allocations;
	const struct claims *claims = &state->claims;

	for (size_t first = 0, end; first < a->n_items; first = end) {
		bool holds_any = false;

		for (end = first; end < a->n_items && allocation_same_pod(&a->items[first], &a->items[end]);
			end++)
			holds_any = holds_any || !allocation_is_empty(&a->items[end]);
		if (!holds_any)
			continue;
		add_holder(v, &a->items[first], end - first);
		add_used_memory(state, &v->holders[v->n_holders - 1]);
	}
	for (size_t i = 0; i < claims->n_items; i++)
		add_claim(v, &claims->items[i]);
	add_alignments(v, state);
	if (v->n_holders > 0)
		qsort(v->holders, v->n_holders, sizeof(*v->holders), compare_holders);
	for (size_t i = 0; i < v->n_holders; i++)
		v->holders[i].key = i < sizeof(SHOW_KEYS) - 1 ? SHOW_KEYS[i] : SHOW_KEY_MORE;
}

/* ---- devices */

static struct show_devices *devices_at(struct show_view *v, int node, const char *resource)
{
	for (size_t n = 0; n < v->n_nodes; n++) {
		if (v->nodes[n].id != node)
			continue;
		for (size_t r = 0; r < v->n_resources; r++)
			if (!strcmp(v->resources[r].name, resource))
				return &v->nodes[n].devices[r];
	}
	return NULL;
}

/* As in the inventory, a device with affinity to several NUMA nodes appears on each of these nodes. */
static void add_held_device(struct show_view *v, size_t holder, const struct device_block *block)
{
	for (int id = hwloc_bitmap_first(block->nodes); id >= 0; id = hwloc_bitmap_next(block->nodes, id)) {
		struct show_devices *devices = devices_at(v, id, block->resource);
		int *slot;

		if (!devices)
			continue;
		slot = vec_push(
			&devices->holders, &devices->n_holders, &devices->holders_size, sizeof(*slot));
		*slot = (int)holder;
	}
}

static void add_all_held_devices(struct show_view *v)
{
	for (size_t h = 0; h < v->n_holders; h++) {
		CLEANUP(device_index_release) struct device_index index;

		index_devices(&v->holders[h], &index);
		for (size_t i = 0; i < index.n_items; i++)
			add_held_device(v, h, index.items[i].block);
	}
}

void show_view_init(struct show_view *v)
{
	*v = (struct show_view){0};
}

static void node_release(struct show_node *n, size_t n_resources)
{
	for (size_t i = 0; n->devices && i < n_resources; i++)
		free(n->devices[i].holders);
	free(n->devices);
	free(n->amounts);
	free(n->cpus);
	free(n->cpu_list);
	free(n->cpu_short);
}

void show_view_release(struct show_view *v)
{
	for (size_t i = 0; i < v->n_nodes; i++)
		node_release(&v->nodes[i], v->n_resources);
	for (size_t i = 0; i < v->n_groups; i++)
		free(v->groups[i].title);
	for (size_t i = 0; i < v->n_resources; i++) {
		free(v->resources[i].label);
		free(v->resources[i].short_label);
	}
	holders_release(v);
	free(v->pci);
	free(v->roots);
	free(v->nodes);
	free(v->groups);
	free(v->resources);
	free(v->machine);
	free(v->kubelet);
	free(v->reserved);
	free(v->offline);
	show_view_init(v);
}

/* ---- resources */

static bool has_any(const struct inventory *inv, size_t resource)
{
	for (size_t i = 0; i < inv->n_nodes; i++)
		if (inventory_amount(inv, i, resource)->capacity > 0)
			return true;
	return false;
}

static enum show_kind kind_of(const char *name)
{
	if (!strcmp(name, "cpu"))
		return SHOW_CPUS;
	return !strcmp(name, "memory") || resource_name_is_hugepages(name) ? SHOW_BYTES : SHOW_DEVICES;
}

static void add_resource(struct show_view *v, const char *name)
{
	struct show_resource *r;

	for (size_t i = 0; i < v->n_resources; i++)
		if (!strcmp(v->resources[i].name, name))
			return;
	r = vec_push(&v->resources, &v->n_resources, &v->resources_size, sizeof(*r));
	r->name = name;
	r->kind = kind_of(name);
}

/* 0 for memory, so that memory comes before the hugepages. */
static qty_t page_size(const struct show_resource *r)
{
	struct quantity q = {0};

	if (resource_name_is_hugepages(r->name) && quantity_parse(strchr(r->name, '-') + 1, &q, NULL) < 0)
		return QTY_MAX;
	return q.nano;
}

static int by_kind(const void *va, const void *vb)
{
	const struct show_resource *a = va, *b = vb;
	qty_t x = page_size(a), y = page_size(b);

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (x != y)
		return x < y ? -1 : 1;
	return strcmp(a->name, b->name);
}

static const char *base_name(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash ? slash + 1 : name;
}

/* The label of a device resource is the name without the domain, unless two resources would have the same label. */
static void label_device(const struct show_view *v, struct show_resource *r)
{
	const char *label = base_name(r->name);

	for (size_t i = 0; i < v->n_resources; i++)
		if (&v->resources[i] != r && !strcmp(base_name(v->resources[i].name), base_name(r->name)))
			label = r->name;
	r->label = xstrdup(label);
	r->short_label = xstrdup(label);
}

static void label_resource(const struct show_view *v, struct show_resource *r)
{
	if (r->kind == SHOW_DEVICES) {
		label_device(v, r);
		return;
	}
	if (resource_name_is_hugepages(r->name)) {
		r->short_label = xstrdup(strchr(r->name, '-') + 1);
		r->label = xasprintf("%s pages", r->short_label);
		return;
	}
	r->label = xstrdup(r->name);
	r->short_label = xstrdup(r->kind == SHOW_CPUS ? r->name : "mem");
}

/* The resources of the inventory, except hugepage pools without pages, and the devices that pods hold. */
static void fill_resources(struct show_view *v, const struct node_state *state)
{
	const struct inventory *inv = &state->inventory;

	for (size_t i = 0; i < inv->n_resources; i++)
		if (!resource_name_is_hugepages(inv->resources[i]) || has_any(inv, i))
			add_resource(v, inv->resources[i]);
	for (size_t i = 0; i < state->allocations.n_items; i++) {
		const struct allocation *a = &state->allocations.items[i];

		for (size_t d = 0; d < a->n_devices; d++)
			add_resource(v, a->devices[d].resource);
	}
	if (v->n_resources > 0)
		qsort(v->resources, v->n_resources, sizeof(*v->resources), by_kind);
	for (size_t i = 0; i < v->n_resources; i++)
		label_resource(v, &v->resources[i]);
}

/* ---- NUMA nodes and their sockets */

/* The position of a NUMA node in the picture. */
struct node_place {
	int id;
	int socket;                /* the lowest logical index of `sockets`, INT_MAX = none */
	hwloc_bitmap_t sockets;    /* of the CPUs, by logical index */
	hwloc_const_bitmap_t cpus; /* borrowed */
	size_t row;                /* in the inventory; SIZE_MAX = none */
};

struct places {
	struct node_place *items;
	size_t n_items;
	size_t items_size;
	hwloc_bitmap_t cpus_without_node;   /* CPUs outside every NUMA node */
	const struct socket_info **sockets; /* by logical index, borrowed */
	size_t n_sockets;                   /* 0 = a socket's id serves as its index */
};

static void places_release(struct places *p)
{
	for (size_t i = 0; i < p->n_items; i++)
		hwloc_bitmap_free(p->items[i].sockets);
	free(p->items);
	free(p->sockets);
	hwloc_bitmap_free(p->cpus_without_node);
}

static int by_first_cpu(const void *va, const void *vb)
{
	const struct socket_info *const *a = va, *const *b = vb;
	int x = hwloc_bitmap_first((*a)->cpus), y = hwloc_bitmap_first((*b)->cpus);

	return (x > y) - (x < y);
}

static bool has_socket(const struct machine *m, int id)
{
	for (size_t i = 0; i < m->n_sockets; i++)
		if (m->sockets[i].id == id)
			return true;
	return false;
}

/* Orders the sockets by their CPUs, as lstopo does; not if the socket of a NUMA node is not listed, because the socket's CPUs are unknown. */
static void order_sockets(const struct machine *m, struct places *p)
{
	for (size_t i = 0; i < m->n_nodes; i++)
		if (m->nodes[i].socket >= 0 && !has_socket(m, m->nodes[i].socket))
			return;
	p->sockets = xcalloc(m->n_sockets + 1, sizeof(*p->sockets));
	for (size_t i = 0; i < m->n_sockets; i++)
		p->sockets[p->n_sockets++] = &m->sockets[i];
	if (p->n_sockets > 0)
		qsort(p->sockets, p->n_sockets, sizeof(*p->sockets), by_first_cpu);
}

static unsigned logical_socket(const struct places *p, int id)
{
	for (unsigned i = 0; i < p->n_sockets; i++)
		if (p->sockets[i]->id == id)
			return i;
	return (unsigned)id;
}

static void add_place(
	struct places *p, const struct machine *m, int id, int socket, hwloc_const_bitmap_t cpus, size_t row)
{
	struct node_place *place = vec_push(&p->items, &p->n_items, &p->items_size, sizeof(*place));

	*place = (struct node_place){.id = id, .cpus = cpus, .row = row, .sockets = cpuset_new()};
	for (int c = hwloc_bitmap_first(cpus); c >= 0; c = hwloc_bitmap_next(cpus, c)) {
		const struct cpu *cpu = machine_cpu(m, (unsigned)c);

		if (cpu && cpu->socket >= 0)
			cpuset_set(place->sockets, logical_socket(p, cpu->socket));
	}
	/* An object without CPU lists may still have the socket. */
	if (hwloc_bitmap_iszero(place->sockets) && socket >= 0)
		cpuset_set(place->sockets, logical_socket(p, socket));
	place->socket = hwloc_bitmap_iszero(place->sockets) ? INT_MAX : hwloc_bitmap_first(place->sockets);
}

static int by_socket(const void *va, const void *vb)
{
	const struct node_place *a = va, *b = vb;
	int r = hwloc_bitmap_compare(a->sockets, b->sockets);

	if (a->socket != b->socket)
		return a->socket < b->socket ? -1 : 1;
	if (r != 0)
		return r;
	/* As unsigned, the id -1 of the CPUs outside every NUMA node comes last. */
	return (unsigned)a->id < (unsigned)b->id ? -1 : (unsigned)a->id > (unsigned)b->id;
}

static void find_places(const struct node_state *state, struct places *ret)
{
	const struct machine *m = &state->machine;

	order_sockets(m, ret);
	ret->cpus_without_node = cpuset_new();
	for (size_t i = 0; i < m->n_cpus; i++)
		if (m->cpus[i].numa == MACHINE_NONE)
			cpuset_set(ret->cpus_without_node, m->cpus[i].id);
	for (size_t i = 0; i < m->n_nodes; i++)
		add_place(ret, m, (int)m->nodes[i].id, m->nodes[i].socket, m->nodes[i].cpus,
			i < state->inventory.n_nodes ? i : SIZE_MAX);
	if (!hwloc_bitmap_iszero(ret->cpus_without_node))
		add_place(ret, m, MACHINE_NONE, MACHINE_NONE, ret->cpus_without_node, SIZE_MAX);
	if (ret->n_items > 0)
		qsort(ret->items, ret->n_items, sizeof(*ret->items), by_socket);
}

/* "socket 0"; if logical index and OS index differ, both, as in lstopo: "socket L#1 (P#36)". */
static char *print_sockets(const struct places *p, hwloc_const_bitmap_t sockets)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t ids = cpuset_new();
	CLEANUP(freep) char *indexes = cpuset_print(sockets), *id_list = NULL;
	const char *plural = cpuset_size(sockets) > 1 ? "s" : "";

	for (int i = hwloc_bitmap_first(sockets); i >= 0; i = hwloc_bitmap_next(sockets, i)) {
		int id = p->n_sockets > 0 ? p->sockets[i]->id : i;

		cpuset_set(ids, (unsigned)id);
	}
	id_list = cpuset_print(ids);
	return hwloc_bitmap_isequal(ids, sockets)
		       ? xasprintf("socket%s %s", plural, indexes)
		       : xasprintf("socket%s L#%s (P#%s)", plural, indexes, id_list);
}

/* Adds the place to the last group if the sockets are the same, else to a new group. */
static void add_to_group(struct show_view *v, const struct machine *m, const struct places *p, size_t at)
{
	const struct node_place *place = &p->items[at];
	struct show_group *g;

	if (at > 0 && hwloc_bitmap_isequal(place->sockets, p->items[at - 1].sockets)) {
		v->groups[v->n_groups - 1].n_nodes++;
		return;
	}
	g = vec_push(&v->groups, &v->n_groups, &v->groups_size, sizeof(*g));
	g->first = at;
	g->n_nodes = 1;
	if (place->socket == INT_MAX)
		g->title = xstrdup(m->n_sockets > 0 ? "no socket" : "sockets not known");
	else
		g->title = print_sockets(p, place->sockets);
}

/* ---- CPUs */

static int by_core(const void *va, const void *vb)
{
	const struct show_cpu *a = va, *b = vb;

	if (a->l3_rank != b->l3_rank)
		return a->l3_rank < b->l3_rank ? -1 : 1;
	if (a->core != b->core)
		return a->core < b->core ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

static enum show_state state_of(const struct node_state *state, unsigned id, int holder)
{
	if (holder != SHOW_NOBODY)
		return SHOW_EXCLUSIVE;
	if (state->reserved.cpus && hwloc_bitmap_isset(state->reserved.cpus, id))
		return SHOW_RESERVED;
	if (state->settings.cpu_manager == CPU_MANAGER_NONE ||
		(state->allocations.shared && hwloc_bitmap_isset(state->allocations.shared, id)))
		return SHOW_SHARED;
	return SHOW_UNKNOWN;
}

/*
 * Ranks the L3 caches in the order of their lowest CPU. The node's CPUs are still in ascending order; the caller sorts them by this
 * rank. If the NUMA node has only one L3 cache, or an L3 cache is unknown, the CPUs get no L3 cache.
 */
static void rank_l3(struct show_node *node)
{
	size_t n = 0;
	bool known = true;

	for (size_t i = 0; i < node->n_cpus; i++) {
		size_t first = 0;

		while (node->cpus[first].l3 != node->cpus[i].l3)
			first++;
		node->cpus[i].l3_rank = first < i ? node->cpus[first].l3_rank : n++;
		known = known && node->cpus[i].l3 != MACHINE_NONE;
	}
	if (n >= 2 && known)
		return;
	for (size_t i = 0; i < node->n_cpus; i++) {
		node->cpus[i].l3 = MACHINE_NONE;
		node->cpus[i].l3_rank = 0;
	}
}

static void fill_cpus(struct show_view *v, const struct node_state *state, const int *holder_of,
	hwloc_const_bitmap_t cpus, struct show_node *node)
{
	node->cpu_list = cpuset_print(cpus);
	node->cpu_short = cpuset_print_short(cpus);
	node->cpus = xcalloc(cpuset_size(cpus) + 1, sizeof(*node->cpus));
	for (int id = hwloc_bitmap_first(cpus); id >= 0; id = hwloc_bitmap_next(cpus, id)) {
		const struct cpu *cpu = machine_cpu(&state->machine, (unsigned)id);
		struct show_cpu *c = &node->cpus[node->n_cpus];

		if (!cpu)
			continue;
		*c = (struct show_cpu){.id = cpu->id,
			.core = cpu->hardware_core,
			.l3 = cpu->l3,
			.holder = holder_of[cpu->id]};
		c->state = state_of(state, c->id, c->holder);
		v->states[c->state] = true;
		node->n_cpus++;
	}
	rank_l3(node);
	v->l3_borders = v->l3_borders || (node->n_cpus > 0 && node->cpus[0].l3 != MACHINE_NONE);
	if (node->n_cpus > 1)
		qsort(node->cpus, node->n_cpus, sizeof(*node->cpus), by_core);
}

/* The holder per CPU id, up to the highest id; the caller frees the array. */
static int *map_holders(const struct show_view *v, const struct machine *m)
{
	size_t n = m->n_cpus > 0 ? m->cpus[m->n_cpus - 1].id + 1 : 1;
	int *map = xmalloc(n * sizeof(*map));

	for (size_t id = 0; id < n; id++)
		map[id] = SHOW_NOBODY;
	for (size_t h = 0; h < v->n_holders; h++)
		for (int id = hwloc_bitmap_first(v->holders[h].cpus); id >= 0 && (size_t)id < n;
			id = hwloc_bitmap_next(v->holders[h].cpus, id))
			map[id] = (int)h;
	return map;
}

/* Copies the amounts of row `row` of the inventory, per resource of the view. SIZE_MAX, for CPUs outside of all NUMA nodes: none is present. */
static void fill_amounts(
	const struct show_view *v, const struct node_state *state, size_t row, struct show_node *node)
{
	node->amounts = xcalloc(v->n_resources + 1, sizeof(*node->amounts));
	for (size_t i = 0; row != SIZE_MAX && i < v->n_resources; i++) {
		int at = inventory_resource(&state->inventory, v->resources[i].name);

		if (at >= 0)
			node->amounts[i] = *inventory_amount(&state->inventory, row, (size_t)at);
	}
}

static void fill_nodes(struct show_view *v, const struct node_state *state)
{
	CLEANUP(places_release) struct places places = {0};
	CLEANUP(freep) int *holder_of = map_holders(v, &state->machine);

	find_places(state, &places);
	for (size_t i = 0; i < places.n_items; i++) {
		const struct node_place *place = &places.items[i];
		struct show_node *node = vec_push(&v->nodes, &v->n_nodes, &v->nodes_size, sizeof(*node));

		node->id = place->id;
		node->devices =
			xcalloc(v->n_resources + 1, sizeof(*node->devices)); /* see add_all_held_devices() */
		add_to_group(v, &state->machine, &places, i);
		fill_amounts(v, state, place->row, node);
		fill_cpus(v, state, holder_of, place->cpus, node);
	}
}

/* ---- the lines of text */

static void add_count(struct strbuf *out, size_t n, const char *one, const char *many)
{
	if (n > 0)
		strbuf_addf(out, "%s%zu %s", out->len > 0 ? ", " : "", n, n == 1 ? one : many);
}

/* The number of the machine's CPUs; for an object without CPU lists, from which the machine has none, the number in the inventory. */
static size_t count_cpus(const struct node_state *state)
{
	int cpu = inventory_resource(&state->inventory, "cpu");
	qty_t sum = 0;

	for (size_t i = 0; cpu >= 0 && i < state->inventory.n_nodes; i++)
		sum = qty_add(sum, inventory_amount(&state->inventory, i, (size_t)cpu)->capacity);
	return show_max(state->machine.n_cpus, sum > 0 ? (size_t)(sum / QTY_UNIT) : 0);
}

static void fill_machine_line(struct show_view *v, const struct node_state *state)
{
	const struct machine *m = &state->machine;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(LINE_MAX_BYTES);
	char memory[SHOW_AMOUNT_SIZE];
	qty_t bytes = 0;

	for (size_t i = 0; i < m->n_nodes; i++)
		bytes = qty_add(bytes, (qty_t)m->nodes[i].memory_bytes * QTY_UNIT);
	show_amount_text(SHOW_BYTES, bytes, memory);
	add_count(&out, m->n_sockets, "socket", "sockets");
	add_count(&out, m->n_nodes, "NUMA node", "NUMA nodes");
	add_count(&out, m->n_cores, "core", "cores");
	add_count(&out, count_cpus(state), "CPU", "CPUs");
	if (bytes > 0)
		strbuf_addf(&out, "%s%s memory", out.len > 0 ? ", " : "", memory);
	v->machine = strbuf_detach(&out);
}

static void add_options(struct strbuf *out, const char *options)
{
	if (options && *options)
		strbuf_addf(out, " (%s)", options);
}

static void fill_kubelet_line(struct show_view *v, const struct settings *s)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(LINE_MAX_BYTES);

	strbuf_addf(&out, "CPU manager %s", cpu_manager_policy_names[s->cpu_manager]);
	add_options(&out, s->cpu_options_text);
	strbuf_addf(&out, ", memory manager %s", memory_manager_policy_names[s->memory_manager]);
	strbuf_addf(&out, ", topology manager %s", topology_manager_policy_names[s->topology.policy]);
	add_options(&out, s->topology_options_text);
	strbuf_addf(&out, ", scope %s", topology_manager_scope_names[s->topology.scope]);
	v->kubelet = strbuf_detach(&out);
}

static void fill_lines(struct show_view *v, const struct node_state *state)
{
	fill_machine_line(v, state);
	fill_kubelet_line(v, &state->settings);
	v->n_offline = cpuset_size(state->machine.offline);
	v->offline = state->machine.offline ? cpuset_print(state->machine.offline) : xstrdup("");
	if (state->reserved.cpus)
		v->reserved = cpuset_print(state->reserved.cpus);
}

void show_view(const struct node_state *state, const struct notes *notes, struct show_view *ret)
{
	CLEANUP(show_view_release) struct show_view v;

	show_view_init(&v);
	v.node_name = state->node_name;
	v.cores_known = state->machine.n_cores > 0;
	v.notes = notes;
	v.distances = state->machine.distances;
	v.distance_nodes = state->machine.nodes;
	v.n_distances = state->machine.distances && state->machine.n_nodes > 1 ? state->machine.n_nodes : 0;
	fill_resources(&v, state);
	fill_holders(&v, state);
	fill_nodes(&v, state);
	add_all_held_devices(&v);
	show_fill_pci(&v, state);
	fill_lines(&v, state);
	v.states[SHOW_OFFLINE] = v.n_offline > 0;
	*ret = v;
	show_view_init(&v);
}

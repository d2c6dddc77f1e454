/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What pods and DRA claims hold, as sections of the node state: pods by their hashes, containers in their
 * order.
 */
#include "scoring/node/node_state_sections.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/node/pod_names.h"

#define HASH_CHARS  (POD_NAMES_HASH_SIZE - 2) /* without '#' and the closing NUL */
#define DRIVER_SIZE 128 /* longer names are cut; a valid name has 63 characters at most */
#define NO_DRIVER   "-"

/* ---- printing pods */

struct printed_item {
	struct pod_names names;
	const struct allocation *item;
};

static bool are_of_same_pod(const struct printed_item *a, const struct printed_item *b)
{
	return !strcmp(a->names.uid, b->names.uid) && !strcmp(a->names.pod, b->names.pod);
}

/* By the hashes, then as they are listed. */
static int compare_printed_items(const void *va, const void *vb)
{
	const struct printed_item *a = va, *b = vb;
	int r = strcmp(a->names.uid, b->names.uid);

	if (r != 0)
		return r;
	r = strcmp(a->names.pod, b->names.pod);
	return r != 0 ? r : (a->item > b->item) - (a->item < b->item);
}

/* A new array of the items that hold something, in the order of the text. */
static struct printed_item *sort_printed_items(const struct allocations *a, size_t *ret_n)
{
	struct printed_item *items = xcalloc(a->n_items + 1, sizeof(*items));
	size_t n = 0;

	for (size_t i = 0; i < a->n_items; i++)
		if (!allocation_is_empty(&a->items[i]))
			items[n++] = (struct printed_item){pod_names_of_item(&a->items[i]), &a->items[i]};
	if (n > 0)
		qsort(items, n, sizeof(*items), compare_printed_items);
	*ret_n = n;
	return items;
}

/* The NUMA nodes of the item's CPUs: the default of its memory's nodes. */
static hwloc_bitmap_t nodes_of_item_cpus(const struct machine *m, const struct allocation *item)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = cpuset_new();

	for (int id = hwloc_bitmap_first(item->cpus); id >= 0; id = hwloc_bitmap_next(item->cpus, id)) {
		const struct cpu *cpu = machine_cpu(m, (unsigned)id);

		if (cpu && cpu->numa != MACHINE_NONE)
			cpuset_set(nodes, (unsigned)cpu->numa);
	}
	return TAKE(nodes);
}

static void print_item_memory(const struct node_state_printer *p, const struct allocation *item)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t near = NULL;

	if (item->n_memory > 0)
		near = nodes_of_item_cpus(&p->state->machine, item);
	for (size_t i = 0; i < item->n_memory; i++) {
		const struct memory_block *b = &item->memory[i];

		strbuf_addch(p->out, '/');
		if (strcmp(b->type, "memory") != 0)
			token_add_letters(p->out, 'a', node_state_type(p, b->type));
		token_add_bytes(p->out, b->bytes);
		if (!hwloc_bitmap_isequal(near, b->nodes)) {
			strbuf_addch(p->out, '@');
			token_add_set(p->out, b->nodes, MACHINE_MAX_NODES - 1);
		}
	}
}

/* The position of a held device among the devices of its resource; SIZE_MAX = none. */
static size_t device_position(const struct node_state_printer *p, size_t resource, const char *id)
{
	const struct printed_resource *d = &p->printed[resource];
	const char *name = p->resources.items[resource];
	const struct device_ref *at = device_index_find(&p->registered, name, id);

	if (at)
		return (size_t)(at - p->registered.items) - d->first;
	at = device_index_find(&p->held, name, id);
	return at ? d->n + (size_t)(at - p->held.items) - d->first_held_only : SIZE_MAX;
}

/* The devices of one resource that the item holds, if any. */
static void print_item_devices(
	const struct node_state_printer *p, const struct allocation *item, size_t resource)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = NULL;

	for (size_t b = 0; b < item->n_devices; b++) {
		const struct device_block *block = &item->devices[b];

		if (strcmp(block->resource, p->resources.items[resource]) != 0)
			continue;
		if (!set)
			set = cpuset_new();
		for (size_t i = 0; i < block->ids.n_items; i++) {
			size_t at = device_position(p, resource, block->ids.items[i]);

			if (at != SIZE_MAX)
				cpuset_set(set, (unsigned)at);
			else if (!p->out->error)
				p->out->error = -EFBIG; /* nobody may publish a text that lacks the device */
		}
	}
	if (!set || hwloc_bitmap_iszero(set))
		return;
	strbuf_addch(p->out, '/');
	token_add_letters(p->out, 'A', resource);
	token_add_set(p->out, set, NODE_STATE_MAX_DEVICES - 1);
}

static void print_hash(struct strbuf *out, const char *hash)
{
	strbuf_addstr(out, *hash ? hash + 1 : "?");
}

static bool print_pods(const struct node_state_printer *p)
{
	size_t n;
	CLEANUP(freep) struct printed_item *items = sort_printed_items(&p->state->allocations, &n);

	for (size_t i = 0; i < n; i++) {
		const struct allocation *item = items[i].item;

		if (i > 0 && are_of_same_pod(&items[i - 1], &items[i]))
			strbuf_addch(p->out, '+');
		else {
			strbuf_addstr(p->out, i > 0 ? "|" : "");
			print_hash(p->out, items[i].names.uid);
			print_hash(p->out, items[i].names.pod);
			strbuf_addch(p->out, ':');
		}
		token_add_set(p->out, item->cpus, MACHINE_MAX_CPUS - 1);
		print_item_memory(p, item);
		for (size_t k = 0; k < p->resources.n_items && item->n_devices > 0; k++)
			print_item_devices(p, item, k);
	}
	return n > 0;
}

/* ---- parsing pods */

static bool is_hash_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
	       c == '_';
}

/* The text has hashes without their '#'. */
static void read_hash(struct token_reader *r, char ret[POD_NAMES_HASH_SIZE])
{
	size_t n = 0;

	while (n < HASH_CHARS && is_hash_digit(r->at[n]))
		n++;
	*ret = '\0';
	if (n < HASH_CHARS) {
		token_reader_fail(r, "a hash of %d characters is missing", HASH_CHARS);
		return;
	}
	snprintf(ret, POD_NAMES_HASH_SIZE, "#%.*s", HASH_CHARS, r->at);
	r->at += HASH_CHARS;
}

/* A hash, or "?" for "". */
static void read_optional_hash(struct token_reader *r, char ret[POD_NAMES_HASH_SIZE])
{
	*ret = '\0';
	if (!token_reader_skip(r, '?'))
		read_hash(r, ret);
}

/* A block of memory. `near`: the NUMA nodes of the item's CPUs, which are the default of the block's nodes. */
static void read_item_memory(struct node_state_parser *p, struct allocation *item, hwloc_const_bitmap_t near)
{
	struct token_reader *r = &p->reader;
	bool has_type = *r->at >= 'a' && *r->at <= 'z'; /* otherwise the type is memory */
	size_t type = has_type ? token_reader_letters(r, 'a', p->types.n_items) : 0;
	uint64_t bytes = token_reader_bytes(r);
	struct memory_block *block;

	if (r->error)
		return;
	block = vec_push(&item->memory, &item->n_memory, &item->memory_size, sizeof(*block));
	block->bytes = bytes;
	block->type = xstrdup(has_type ? p->types.items[type] : "memory");
	if (token_reader_skip(r, '@'))
		block->nodes = token_reader_set(r, MACHINE_MAX_NODES - 1);
	else
		block->nodes = cpuset_dup(near);
}

/* Adds the resource's device at position `at` to the item: to the item's last block if this is of the device's run, which has one set of
 * NUMA nodes, otherwise to a new block. */
static void hold_device(
	struct node_state_parser *p, struct allocation *item, size_t resource, size_t at, bool is_run_of_last)
{
	const struct parsed_run *run = &p->runs[p->run_of[p->first_device[resource] + at]];
	struct device_block *block;
	char id[NODE_STATE_ID_SIZE];

	if (!is_run_of_last) {
		block = vec_push(&item->devices, &item->n_devices, &item->devices_size, sizeof(*block));
		block->nodes_unknown = run->nodes_unknown;
		block->resource = xstrdup(p->resources.items[resource]);
		block->nodes = cpuset_dup(run->nodes);
	}
	block = &item->devices[item->n_devices - 1];
	node_state_id(at, id);
	strv_push(&block->ids, id);
}

static void read_item_devices(struct node_state_parser *p, struct allocation *item)
{
	struct token_reader *r = &p->reader;
	size_t resource = token_reader_letters(r, 'A', p->resources.n_items), first, n;
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = NULL;
	int last = -1; /* the previous device */

	if (r->error)
		return;
	first = p->first_device[resource];
	n = p->first_device[resource + 1] - first;
	set = token_reader_set(r, (unsigned)n - 1);
	if (r->error)
		return;
	p->n_held += (size_t)hwloc_bitmap_weight(set);
	if (p->n_held > NODE_STATE_MAX_HELD)
		token_reader_fail(r, "more than %u devices are held", NODE_STATE_MAX_HELD);
	for (int at = hwloc_bitmap_first(set); at >= 0 && !r->error; at = hwloc_bitmap_next(set, at)) {
		bool is_run_of_last =
			last >= 0 && p->run_of[first + (size_t)last] == p->run_of[first + (size_t)at];

		hold_device(p, item, resource, (size_t)at, is_run_of_last);
		last = at;
	}
}

/* The `n`-th container of the pod: "0-3/1g/A0-1", CPUs, and blocks of memory or devices. */
static void read_pod_item(struct node_state_parser *p, const char *uid, const char *pod, size_t n)
{
	struct token_reader *r = &p->reader;
	CLEANUP(cpuset_freep) hwloc_bitmap_t near = NULL;
	struct allocation *item;
	char name[NODE_STATE_ID_SIZE];

	node_state_id(n, name);
	item = allocations_add_container(&p->state.allocations, uid, name);
	text_set(&item->pod, pod);
	hwloc_bitmap_free(item->cpus);
	item->cpus = token_reader_set(r, MACHINE_MAX_CPUS - 1);
	p->n_held_cpus += cpuset_size(item->cpus);
	if (p->n_held_cpus > NODE_STATE_MAX_HELD)
		token_reader_fail(r, "more than %u CPUs are held", NODE_STATE_MAX_HELD);
	near = r->error ? NULL : nodes_of_item_cpus(&p->state.machine, item);
	while (token_reader_skip(r, '/'))
		if (*r->at >= 'A' && *r->at <= 'Z')
			read_item_devices(p, item);
		else
			read_item_memory(p, item, near);
}

static void read_pod_items(struct node_state_parser *p)
{
	struct token_reader *r = &p->reader;
	const struct allocations *a = &p->state.allocations;
	char uid[POD_NAMES_HASH_SIZE], pod[POD_NAMES_HASH_SIZE];
	size_t n = 0;

	read_optional_hash(r, uid);
	read_optional_hash(r, pod);
	token_reader_expect(r, ':');
	if (a->n_items > 0 && !r->error) {
		const struct allocation *last = &a->items[a->n_items - 1];
		int order = strcmp(last->pod_uid, uid);

		if (order > 0 || (order == 0 && strcmp(last->pod, pod) >= 0))
			token_reader_fail(r, "pods are not in ascending order");
	}
	if (r->error)
		return;
	do
		read_pod_item(p, uid, pod, n++);
	while (token_reader_skip(r, '+'));
}

static void parse_pods(struct node_state_parser *p)
{
	do
		read_pod_items(p);
	while (token_reader_skip(&p->reader, '|'));
}

/* ---- printing claims */

static void print_claim_pod(struct strbuf *out, const struct pod_ref *pod)
{
	char hash[POD_NAMES_HASH_SIZE];

	if (*pod->name == '#')
		snprintf(hash, sizeof(hash), "%s", pod->name);
	else
		pod_names_hash_pod(pod->namespace, pod->name, hash);
	strbuf_addstr(out, hash + 1);
}

/* "cpu.example.com:Ab12_-:0-3/a1g@0*2": the driver, the hashes of the pods, CPUs, blocks of memory, and the number of devices. */
static void print_pod_claim(const struct node_state_printer *p, const struct claim *c)
{
	struct strbuf *out = p->out;
	char driver[DRIVER_SIZE];

	snprintf(driver, sizeof(driver), "%s", *c->driver ? c->driver : NO_DRIVER);
	token_add_name(out, driver);
	strbuf_addch(out, ':');
	for (size_t i = 0; i < c->n_pods; i++)
		print_claim_pod(out, &c->pods[i]);
	strbuf_addch(out, ':');
	token_add_set(out, c->cpus, MACHINE_MAX_CPUS - 1);
	for (size_t i = 0; i < c->n_memory; i++) {
		strbuf_addch(out, '/');
		token_add_letters(out, 'a', node_state_type(p, c->memory[i].type));
		token_add_bytes(out, c->memory[i].bytes);
		strbuf_addch(out, '@');
		token_add_set(out, c->memory[i].nodes, MACHINE_MAX_NODES - 1);
	}
	if (c->devices.n_items > 0)
		strbuf_addf(out, "*%zu", c->devices.n_items);
}

static bool print_claims(const struct node_state_printer *p)
{
	const struct claims *claims = &p->state->claims;

	for (size_t i = 0; i < claims->n_items; i++) {
		strbuf_addstr(p->out, i > 0 ? "|" : "");
		print_pod_claim(p, &claims->items[i]);
	}
	return claims->n_items > 0;
}

/* ---- parsing claims */

static void read_claim_pods(struct token_reader *r, struct claim *c)
{
	while (!r->error && *r->at && *r->at != ':') {
		char name[POD_NAMES_HASH_SIZE];

		read_hash(r, name);
		if (!r->error)
			claim_add_pod(c, "", name);
	}
}

static void read_claim_block(struct node_state_parser *p, struct claim *c)
{
	struct token_reader *r = &p->reader;
	size_t type = token_reader_letters(r, 'a', p->types.n_items);
	uint64_t bytes = token_reader_bytes(r);
	struct memory_block *block;

	token_reader_expect(r, '@');
	if (r->error)
		return;
	block = vec_push(&c->memory, &c->n_memory, &c->memory_size, sizeof(*block));
	p->n_claim_blocks++;
	block->bytes = bytes;
	block->type = xstrdup(p->types.items[type]);
	block->nodes = token_reader_set(r, MACHINE_MAX_NODES - 1);
}

/* The text has only the number of a claim's devices, so they get numbers as names. */
static void read_claim_devices(struct node_state_parser *p, struct claim *c)
{
	struct token_reader *r = &p->reader;
	uint64_t n = token_reader_number(r, NODE_STATE_MAX_DEVICES);

	p->n_held += (size_t)n;
	if (n == 0 || p->n_held > NODE_STATE_MAX_HELD)
		token_reader_fail(r, "no device, or more than %u are held", NODE_STATE_MAX_HELD);
	for (size_t i = 0; i < n && !r->error; i++) {
		char id[NODE_STATE_ID_SIZE];

		node_state_id(i, id);
		strv_push(&c->devices, id);
	}
}

static void read_pod_claim(struct node_state_parser *p)
{
	struct token_reader *r = &p->reader;
	CLEANUP(freep) char *driver = token_reader_name(r);
	CLEANUP(claim_release) struct claim c = {0};

	token_reader_expect(r, ':');
	if (r->error)
		return;
	claim_init(&c, driver, "", "", "");
	read_claim_pods(r, &c);
	token_reader_expect(r, ':');
	if (r->error)
		return;
	hwloc_bitmap_free(c.cpus);
	c.cpus = token_reader_set(r, MACHINE_MAX_CPUS - 1);
	p->n_held_cpus += cpuset_size(c.cpus);
	if (p->n_held_cpus > NODE_STATE_MAX_HELD)
		token_reader_fail(r, "more than %u CPUs are held", NODE_STATE_MAX_HELD);
	while (token_reader_skip(r, '/'))
		read_claim_block(p, &c);
	if (token_reader_skip(r, '*'))
		read_claim_devices(p, &c);
	if (!r->error)
		claims_append(&p->state.claims, &c);
}

static void parse_claims(struct node_state_parser *p)
{
	do
		read_pod_claim(p);
	while (token_reader_skip(&p->reader, '|'));
	/* The work of deriving the inventory: per type of memory (also cpu), NUMA node, and claim or block of a claim. */
	if ((p->n_page_sizes + 2) * p->state.machine.n_nodes * (p->n_claim_blocks + p->state.claims.n_items) >
		NODE_STATE_MAX_WORK)
		token_reader_fail(&p->reader, "too many claims on too many NUMA nodes");
}

/* ---- remote memory: pods by their positions in the text */

static bool print_remote(const struct node_state_printer *p)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t remote = cpuset_new();
	size_t n, pod = 0; /* position of the item's pod */
	CLEANUP(freep) struct printed_item *items = sort_printed_items(&p->state->allocations, &n);

	for (size_t i = 0; i < n; i++) {
		if (i > 0 && !are_of_same_pod(&items[i - 1], &items[i]))
			pod++;
		if (items[i].item->remote_memory)
			cpuset_set(remote, (unsigned)pod);
	}
	token_add_set(p->out, remote, NODE_STATE_MAX_HELD - 1);
	return p->state->allocations.remote_memory_known;
}

/* The section "pods" was parsed before. */
static void parse_remote(struct node_state_parser *p)
{
	struct allocations *a = &p->state.allocations;
	CLEANUP(cpuset_freep)
	hwloc_bitmap_t remote = token_reader_set(&p->reader, NODE_STATE_MAX_HELD - 1);
	size_t pod = 0; /* position of the item's pod */

	if (p->reader.error)
		return;
	a->remote_memory_known = true;
	for (size_t i = 0; i < a->n_items; i++) {
		if (i > 0 && !allocation_same_pod(&a->items[i - 1], &a->items[i]))
			pod++;
		a->items[i].remote_memory = hwloc_bitmap_isset(remote, (unsigned)pod);
	}
	if (hwloc_bitmap_last(remote) > (int)pod || (a->n_items == 0 && !hwloc_bitmap_iszero(remote)))
		token_reader_fail(&p->reader, "there is no such pod");
}

const struct node_state_section node_state_pods_sections[] = {
	{"pods", false, print_pods, parse_pods},
	{"claims", false, print_claims, parse_claims},
	{"?remote", false, print_remote, parse_remote},
	{0},
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/render/pod_placement.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/hash.h"
#include "common/xalloc.h"

#define HASHED_MAX (64u << 10)
#define VECTOR_MAX (1u << 20)
#define NO_NODE    (-1)

/* ---- placement: LEB89, 64 characters that end a number, 25 that continue one */

#define LEB89_TERMINALS     64u
#define LEB89_CONTINUATIONS 25u
#define LEB89_DIGITS_MAX    8 /* base-25 digits of 2^32 / 64, rounded up */

static const char leb89_alphabet[] =
	"!#$%'()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcde" /* terminal */
	"fghijklmnopqrstuvwxyz{|}~";                                       /* continuation */

_Static_assert(sizeof(leb89_alphabet) == LEB89_TERMINALS + LEB89_CONTINUATIONS + 1, "LEB89 has 89 symbols");

/* A number below 64 is one terminal character. Of a larger number minus 64, the remainder by 64 is the terminal
 * character, and the quotient stands before it in base 25, highest digit first. */
void placement_leb89(uint32_t value, struct strbuf *out)
{
	char digits[LEB89_DIGITS_MAX]; /* lowest first */
	uint32_t terminal = value;
	size_t n = 0;

	if (value >= LEB89_TERMINALS) {
		uint32_t rest = (value - LEB89_TERMINALS) / LEB89_TERMINALS;

		terminal = (value - LEB89_TERMINALS) % LEB89_TERMINALS;
		do {
			digits[n++] = leb89_alphabet[LEB89_TERMINALS + rest % LEB89_CONTINUATIONS];
			rest /= LEB89_CONTINUATIONS;
		} while (rest);
	}
	while (n > 0)
		strbuf_addch(out, digits[--n]);
	strbuf_addch(out, leb89_alphabet[terminal]);
}

/* ---- placement: containers */

struct container {
	uint64_t hash;
	unsigned node;
	const struct allocation *allocation;
};

int placement_hash(const char *namespace, const char *pod, const char *container, uint64_t *ret)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(HASHED_MAX);

	strbuf_addstr(&text, namespace);
	strbuf_addch(&text, '\0');
	strbuf_addstr(&text, pod);
	strbuf_addch(&text, '\0');
	strbuf_addstr(&text, container);
	if (strbuf_error(&text) < 0)
		return strbuf_error(&text);
	*ret = hash_bytes(text.text, text.len, 0);
	return 0;
}

static int set_container_error(const struct allocation *a, const char *why, struct err *err)
{
	return err_set(
		err, -EINVAL, "container '%s' of pod '%s/%s' %s", a->container, a->namespace, a->pod, why);
}

/* The node of the CPUs; NO_NODE without CPUs. */
static int node_of_cpus(const struct allocation *a, const struct machine *m, int *ret, struct err *err)
{
	int node = NO_NODE;

	for (int id = hwloc_bitmap_first(a->cpus); id >= 0; id = hwloc_bitmap_next(a->cpus, id)) {
		const struct cpu *cpu = machine_cpu(m, (unsigned)id);

		if (!cpu || cpu->numa == MACHINE_NONE)
			return set_container_error(a, "holds a CPU of no NUMA node", err);
		if (node != NO_NODE && node != cpu->numa)
			return set_container_error(a, "holds CPUs of several NUMA nodes", err);
		node = cpu->numa;
	}
	*ret = node;
	return 0;
}

/* The only node of a block. */
static int node_of_block(
	const struct allocation *a, hwloc_const_bitmap_t nodes, const char *why, int *ret, struct err *err)
{
	if (hwloc_bitmap_weight(nodes) != 1)
		return set_container_error(a, why, err);
	*ret = hwloc_bitmap_first(nodes);
	return 0;
}

/* The container's node; NO_NODE if it is unknown. */
static int container_node(const struct allocation *a, const struct machine *m, int *ret, struct err *err)
{
	if (!hwloc_bitmap_iszero(a->cpus))
		return node_of_cpus(a, m, ret, err);
	for (size_t i = 0; i < a->n_devices; i++)
		if (a->devices[i].ids.n_items > 0 && !hwloc_bitmap_iszero(a->devices[i].nodes))
			return node_of_block(
				a, a->devices[i].nodes, "holds a device of several NUMA nodes", ret, err);
	for (size_t i = 0; i < a->n_memory; i++)
		if (!hwloc_bitmap_iszero(a->memory[i].nodes))
			return node_of_block(
				a, a->memory[i].nodes, "holds memory of several NUMA nodes", ret, err);
	*ret = NO_NODE;
	return 0;
}

/* Appends the container to `list` if it has a node. */
static int add_placed_container(const struct allocation *a, const struct machine *m, unsigned n_nodes,
	struct container *list, size_t *n, struct err *err)
{
	struct container c = {.allocation = a};
	int node = NO_NODE;
	int r = container_node(a, m, &node, err);

	if (r < 0 || node == NO_NODE)
		return r;
	if ((unsigned)node >= n_nodes || machine_node_index(m, (unsigned)node) < 0)
		return set_container_error(a, "is on a NUMA node that is not published", err);
	if (!*a->namespace || !*a->pod || a->named_by_logs)
		return err_set(err, -EINVAL, "the names of the pods that hold something are not known");
	c.node = (unsigned)node;
	r = placement_hash(a->namespace, a->pod, a->container, &c.hash);
	if (r < 0)
		return err_set(err, r, "the name of pod '%.60s/%.60s' is too long", a->namespace, a->pod);
	list[(*n)++] = c;
	return 0;
}

static int compare_placed_containers(const void *va, const void *vb)
{
	const struct container *a = va, *b = vb;

	return (a->hash > b->hash) - (a->hash < b->hash);
}

/* A container that is listed twice counts once, and must be on one node. */
static int remove_duplicates(struct container *list, size_t *n, struct err *err)
{
	size_t kept = 0;

	for (size_t i = 0; i < *n; i++) {
		if (kept > 0 && list[kept - 1].hash == list[i].hash) {
			if (list[kept - 1].node != list[i].node)
				return set_container_error(
					list[i].allocation, "is listed on several NUMA nodes", err);
			continue;
		}
		list[kept++] = list[i];
	}
	*n = kept;
	return 0;
}

/* ---- placement: vectors */

/* The lowest node with the most containers. Counts the containers per node in `counts`. */
static unsigned find_busiest_node(const struct container *list, size_t n, unsigned n_nodes, size_t *counts)
{
	unsigned busiest = 0;

	for (size_t i = 0; i < n; i++)
		counts[list[i].node]++;
	for (unsigned node = 1; node < n_nodes; node++)
		if (counts[node] > counts[busiest])
			busiest = node;
	return busiest;
}

/* The numbers of one node's containers: the first, then the differences. */
static char *make_vector(const struct container *list, size_t n, unsigned node)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(VECTOR_MAX);
	size_t previous = 0;

	for (size_t i = 0; i < n; i++) {
		if (list[i].node != node)
			continue;
		placement_leb89((uint32_t)(i - previous), &text);
		previous = i;
	}
	return strbuf_detach(&text);
}

void placement_release(struct placement *p)
{
	for (unsigned i = 0; p->vectors && i < p->n_nodes; i++)
		free(p->vectors[i]);
	free(p->vectors);
	*p = (struct placement){0};
}

int placement_encode(const struct allocations *a, const struct machine *m, unsigned n_nodes,
	struct placement *ret, struct err *err)
{
	CLEANUP(placement_release) struct placement p = {.n_nodes = n_nodes};
	CLEANUP(freep) struct container *list = xcalloc(a->n_items + 1, sizeof(*list));
	CLEANUP(freep) size_t *counts = xcalloc(n_nodes + 1u, sizeof(*counts));
	unsigned busiest;
	size_t n = 0;
	int r = 0;

	p.vectors = xcalloc(n_nodes + 1u, sizeof(*p.vectors));
	/* Without a container's name the item is of the pod as a whole. */
	for (size_t i = 0; r == 0 && i < a->n_items; i++)
		if (*a->items[i].container && !a->items[i].unlisted)
			r = add_placed_container(&a->items[i], m, n_nodes, list, &n, err);
	if (r < 0)
		return r;
	qsort(list, n, sizeof(*list), compare_placed_containers);
	r = remove_duplicates(list, &n, err);
	if (r < 0)
		return r;
	busiest = find_busiest_node(list, n, n_nodes, counts);
	for (unsigned node = 0; node < n_nodes; node++) {
		if (node == busiest || counts[node] == 0)
			continue;
		p.vectors[node] = make_vector(list, n, node);
	}
	snprintf(p.metadata, sizeof(p.metadata), "npv0v001::ve=leb89::cc=%zu::nn=%u::bn=%u", n, n_nodes,
		busiest);
	*ret = p;
	p = (struct placement){0};
	return 0;
}

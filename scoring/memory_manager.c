/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/memory_manager.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/resource.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/request.h"

static size_t find_type(const struct memory_manager *mm, const char *name)
{
	size_t at = vec_lower_bound(mm->types, mm->n_types, sizeof(*mm->types), 0, name);

	return at < mm->n_types && !strcmp(mm->types[at], name) ? at : mm->n_types;
}

/* The names of all types on any node, sorted. */
static void collect_memory_types(struct memory_manager *mm, const struct memory_state *state)
{
	size_t n = 0;

	for (size_t i = 0; i < state->n_nodes; i++)
		n += state->nodes[i].n_tables;
	mm->types = xcalloc(n + 1, sizeof(*mm->types));
	mm->nodes_with = xcalloc(n + 1, sizeof(*mm->nodes_with));
	for (size_t i = 0; i < state->n_nodes; i++)
		for (size_t k = 0; k < state->nodes[i].n_tables; k++) {
			const char *name = state->nodes[i].tables[k].type;
			size_t at = vec_lower_bound(mm->types, mm->n_types, sizeof(*mm->types), 0, name);

			if (at < mm->n_types && !strcmp(mm->types[at], name))
				continue;
			memmove(mm->types + at + 1, mm->types + at, (mm->n_types - at) * sizeof(*mm->types));
			mm->types[at] = name;
			mm->n_types++;
		}
}

int memory_manager_init(
	struct memory_manager *mm, const struct memory_state *state, const struct kubelet_version *version)
{
	memset(mm, 0, sizeof(*mm));
	mm->version = *version;
	mm->n_nodes = state->n_nodes;
	collect_memory_types(mm, state);
	memory_books_init(&mm->now, mm);
	for (size_t i = 0; i < state->n_nodes; i++) {
		const struct memory_node *node = &state->nodes[i];

		if (node->id > NODE_MASK_MAX_ID ||
			!node_mask_from_bitmap(node->cells, &mm->now.use[i].cells)) {
			memory_manager_release(mm);
			return -ERANGE;
		}
		mm->nodes |= node_mask_of(node->id);
		mm->now.use[i].assignments = node->assignments;
		for (size_t k = 0; k < node->n_tables; k++) {
			size_t type = find_type(mm, node->tables[k].type);

			mm->nodes_with[type] |= node_mask_of(node->id);
			mm->now.amounts[i * mm->n_types + type] = (struct memory_amount){
				.allocatable = node->tables[k].allocatable, .free = node->tables[k].free};
		}
	}
	return 0;
}

void memory_manager_release(struct memory_manager *mm)
{
	memory_books_release(&mm->now);
	free(mm->types);
	free(mm->nodes_with);
	memset(mm, 0, sizeof(*mm));
}

void memory_books_init(struct memory_books *books, const struct memory_manager *mm)
{
	unsigned n_walked = mm->n_nodes <= NODE_MASK_WALK_MAX ? (unsigned)mm->n_nodes : 0;

	*books = (struct memory_books){
		.amounts = xcalloc(mm->n_nodes * mm->n_types + 1, sizeof(*books->amounts)),
		.use = xcalloc(mm->n_nodes + 1, sizeof(*books->use)),
		.fits = xcalloc((size_t)1 << n_walked, 1)};
}

void memory_books_release(struct memory_books *books)
{
	free(books->amounts);
	free(books->use);
	free(books->reuse);
	free(books->fits);
	memset(books, 0, sizeof(*books));
}

void memory_books_begin_pod(struct memory_books *books)
{
	books->n_reuse = 0;
}

void memory_books_reset(struct memory_books *books, const struct memory_manager *mm)
{
	if (mm->n_nodes > 0) {
		memcpy(books->amounts, mm->now.amounts, mm->n_nodes * mm->n_types * sizeof(*books->amounts));
		memcpy(books->use, mm->now.use, mm->n_nodes * sizeof(*books->use));
	}
	memory_books_begin_pod(books);
}

void memory_books_reserve(struct memory_books *books, size_t n_needs)
{
	vec_grow(&books->reuse, &books->reuse_size, books->n_reuse + n_needs, sizeof(*books->reuse));
}

void memory_needs_release(struct memory_needs *needs)
{
	free(needs->items);
	request_entries_release(&needs->entries);
	memset(needs, 0, sizeof(*needs));
}

/* Add a need of 0 bytes. */
static struct memory_need *add_need(
	const struct memory_manager *mm, struct memory_needs *needs, const char *name)
{
	struct memory_need *need;

	vec_grow(&needs->items, &needs->items_size, needs->n_items + 1, sizeof(*needs->items));
	need = &needs->items[needs->n_items++];
	*need = (struct memory_need){.name = name, .type = find_type(mm, name)};
	return need;
}

static bool is_memory_type(const char *name)
{
	return !strcmp(name, "memory") || resource_name_is_hugepages(name);
}

/* Quantity.AsInt64(): a whole number of bytes. */
static bool whole_bytes(struct quantity q, uint64_t *ret_bytes)
{
	qty_t bytes = q.nano / QTY_UNIT;

	if (q.nano < 0 || q.nano % QTY_UNIT != 0 || bytes > INT64_MAX)
		return false;
	*ret_bytes = (uint64_t)bytes;
	return true;
}

int memory_needs_of_container(const struct memory_manager *mm, const struct container_request *container,
	struct memory_needs *ret_needs)
{
	ret_needs->n_items = 0;
	for (size_t i = 0; i < container->requests.n_items; i++) {
		const struct resource_quantity *q = &container->requests.items[i];
		struct memory_need *need;

		if (!is_memory_type(q->name))
			continue;
		need = add_need(mm, ret_needs, q->name);
		if (!whole_bytes(q->quantity, &need->bytes))
			return -EINVAL;
	}
	return 0;
}

/*
 * The most of one type that a pod's containers hold at one time, from the entries of that type. Returns 0;
 * -EINVAL as memory_needs_of_container().
 */
static int find_peak(const struct pod_request *pod, const struct request_entry *entries, size_t n,
	uint64_t *ret_bytes, size_t *ret_first_app)
{
	struct request_peak peak = {0};

	*ret_first_app = pod->n_containers;
	for (size_t i = 0; i < n; i++) {
		enum container_kind kind = pod->containers[entries[i].container].kind;
		uint64_t bytes;

		if (!whole_bytes(entries[i].item->quantity, &bytes))
			return -EINVAL;
		request_peak_add(&peak, kind, (qty_t)bytes);
		if (kind == CONTAINER_APP && *ret_first_app == pod->n_containers)
			*ret_first_app = entries[i].container;
	}
	*ret_bytes = (uint64_t)request_peak(&peak);
	return 0;
}

/* In the order in which the app containers name them. */
static int compare_needs(const void *a, const void *b)
{
	const struct memory_need *x = a, *y = b;

	if (x->container != y->container)
		return x->container < y->container ? -1 : 1;
	return strcmp(x->name, y->name);
}

int memory_needs_of_pod(
	const struct memory_manager *mm, const struct pod_request *pod, struct memory_needs *ret_needs)
{
	const struct request_entries *e = &ret_needs->entries;
	bool ordered = true;

	ret_needs->n_items = 0;
	request_entries_fill(&ret_needs->entries, pod);
	for (size_t i = 0, end; i < e->n_items; i = end) {
		const char *name = e->items[i].item->name;
		struct memory_need *need;
		size_t container;
		uint64_t bytes;
		int r;

		end = request_entries_end(e, i);
		if (!is_memory_type(name))
			continue;
		r = find_peak(pod, e->items + i, end - i, &bytes, &container);
		if (r < 0)
			return r;
		/* Only init containers and sidecars request the type. */
		if (container == pod->n_containers && !mm->version.pod_memory_counts_init)
			continue;
		need = add_need(mm, ret_needs, name);
		need->bytes = bytes;
		need->container = container;
		ordered = ordered && (ret_needs->n_items == 1 || compare_needs(need - 1, need) < 0);
	}
	if (!ordered)
		qsort(ret_needs->items, ret_needs->n_items, sizeof(*ret_needs->items), compare_needs);
	return 0;
}

const char *memory_manager_missing(
	const struct memory_manager *mm, const struct memory_needs *needs, uint64_t nodes, unsigned *ret_node)
{
	for (size_t i = 0; i < needs->n_items; i++) {
		size_t type = needs->items[i].type;
		uint64_t without = nodes & mm->nodes & ~(type < mm->n_types ? mm->nodes_with[type] : 0);

		if (without == 0)
			continue;
		*ret_node = (unsigned)__builtin_ctzll(without);
		return needs->items[i].name;
	}
	return NULL;
}

struct memory_amount memory_manager_sum(
	const struct memory_manager *mm, const struct memory_books *books, size_t type, uint64_t mask)
{
	struct memory_amount sum = {0, 0};
	size_t i = 0;

	if (type == mm->n_types)
		return sum;
	for (uint64_t nodes = mm->nodes; nodes; nodes &= nodes - 1, i++) {
		const struct memory_amount *amount = &books->amounts[i * mm->n_types + type];
		uint64_t node = nodes & (~nodes + 1); /* the lowest of `nodes`, at position i */

		if (!(mask & node))
			continue;
		sum.allocatable += amount->allocatable;
		sum.free += amount->free;
	}
	return sum;
}

static struct memory_reuse *find_reuse(const struct memory_books *books, uint64_t nodes, size_t type)
{
	for (size_t i = 0; i < books->n_reuse; i++)
		if (books->reuse[i].nodes == nodes && books->reuse[i].type == type)
			return &books->reuse[i];
	return NULL;
}

static uint64_t reusable_bytes(const struct memory_books *books, uint64_t nodes, size_t type)
{
	const struct memory_reuse *reuse = find_reuse(books, nodes, type);

	return reuse ? reuse->bytes : 0;
}

/* The nodes whose use restricts the use of other nodes. */
struct restricted {
	uint64_t used;    /* nodes with allocated memory */
	uint64_t grouped; /* nodes in a group of several nodes */
};

static struct restricted find_restricted(const struct memory_manager *mm, const struct memory_books *books)
{
	struct restricted r = {0, 0};
	size_t i = 0;

	for (uint64_t nodes = mm->nodes; nodes; nodes &= nodes - 1, i++) {
		uint64_t node = nodes & (~nodes + 1); /* the lowest of `nodes`, at position i */

		r.used |= books->use[i].assignments > 0 ? node : 0;
		r.grouped |= node_mask_count(books->use[i].cells) > 1 ? node : 0;
	}
	return r;
}

/*
 * Whether these nodes can be used together. Single-node and multi-node use exclude each other, and groups
 * must be equal or disjoint. A hint also excludes single-node use of a node in a group; allocation does not
 * (DEFECTS.md, K25).
 */
static bool groups_allow(const struct memory_manager *mm, const struct memory_books *books,
	const struct restricted *restricted, uint64_t mask, bool for_hint)
{
	if (node_mask_count(mask) == 1)
		return !for_hint || !(mask & restricted->grouped);
	for (uint64_t nodes = mask & restricted->used; nodes; nodes &= nodes - 1) {
		uint64_t node = nodes & (~nodes + 1); /* the lowest of `nodes` */
		unsigned position = node_mask_count(mm->nodes & (node - 1));

		if (books->use[position].cells != mask)
			return false;
	}
	return true;
}

/* Flags of the sets of nodes, in the order of the walk: the need fits into the nodes' capacity, and into
 * their free memory. */
enum { FITS_CAPACITY = 1, FITS_FREE = 2 };

/* Clear the flags in books->fits[] of the sets that the need does not fit. */
static void fit_need(
	const struct memory_manager *mm, const struct memory_books *books, const struct memory_need *need)
{
	const struct memory_amount *amounts = books->amounts + need->type;
	struct memory_amount sums[NODE_MASK_WALK_MAX + 1] = {{0, 0}};
	struct node_mask_walk walk;
	uint64_t mask;

	node_mask_walk_start(&walk, mm->nodes);
	for (unsigned char *fits = books->fits; node_mask_walk_next(&walk, &mask); fits++) {
		uint64_t reusable = books->n_reuse > 0 ? reusable_bytes(books, mask, need->type) : 0;

		for (unsigned i = walk.kept; i < walk.size; i++) {
			const struct memory_amount *own = amounts + walk.at[i] * mm->n_types;

			sums[i + 1].allocatable = sums[i].allocatable + own->allocatable;
			sums[i + 1].free = sums[i].free + own->free;
		}
		if (sums[walk.size].allocatable < need->bytes)
			*fits &= (unsigned char)~FITS_CAPACITY;
		if (sums[walk.size].free + reusable < need->bytes)
			*fits &= (unsigned char)~FITS_FREE;
	}
}

void memory_manager_hints(const struct memory_manager *mm, const struct memory_books *books,
	const struct memory_needs *needs, struct topology_hints *ret_hints)
{
	unsigned min_nodes = (unsigned)mm->n_nodes;
	const struct restricted restricted = find_restricted(mm, books);
	const unsigned char *fits = books->fits;
	struct node_mask_walk walk;
	bool possible = needs->n_items > 0;
	uint64_t mask;

	topology_hints_clear(ret_hints);
	/* No set of nodes has any bytes of a type that no node has. */
	for (size_t i = 0; i < needs->n_items; i++)
		possible = possible && (needs->items[i].type < mm->n_types || needs->items[i].bytes == 0);
	if (possible)
		memset(books->fits, FITS_CAPACITY | FITS_FREE, (size_t)1 << mm->n_nodes);
	for (size_t i = 0; i < needs->n_items && possible; i++)
		if (needs->items[i].type < mm->n_types)
			fit_need(mm, books, &needs->items[i]);
	node_mask_walk_start(&walk, mm->nodes);
	for (; possible && node_mask_walk_next(&walk, &mask); fits++) {
		if (*fits & FITS_CAPACITY && walk.size < min_nodes)
			min_nodes = walk.size;
		if (*fits == (FITS_CAPACITY | FITS_FREE) && groups_allow(mm, books, &restricted, mask, true))
			topology_hints_add(ret_hints, mask, false);
	}
	for (size_t i = 0; i < ret_hints->n_items; i++)
		ret_hints->items[i].preferred = node_mask_count(ret_hints->items[i].nodes) == min_nodes;
	ret_hints->no_preference = ret_hints->n_items == 0;
}

struct fit_of_need {
	const struct memory_manager *mm;
	const struct memory_books *books;
	size_t type;
};

static void count_memory_in_mask(const void *ctx, uint64_t nodes, uint64_t *ret_capacity, uint64_t *ret_free)
{
	const struct fit_of_need *of = ctx;
	struct memory_amount sum = memory_manager_sum(of->mm, of->books, of->type, nodes);

	*ret_capacity = sum.allocatable;
	*ret_free = sum.free;
}

void memory_manager_score(const struct memory_manager *mm, const struct memory_books *books, size_t type,
	struct topology_hints *hints)
{
	const struct fit_of_need of = {mm, books, type};

	topology_hints_score(hints, count_memory_in_mask, &of);
}

struct node_mask_fit memory_manager_fit(
	const struct memory_manager *mm, const struct memory_books *books, const struct memory_need *need)
{
	const struct fit_of_need of = {mm, books, need->type};

	return node_mask_find_fit(mm->nodes, need->bytes, count_memory_in_mask, &of);
}

static bool is_better_memory_hint(const struct topology_hint *hint, const struct topology_hint *best)
{
	if (hint->preferred != best->preferred)
		return hint->preferred;
	return node_mask_narrower(hint->nodes, best->nodes);
}

/* findBestHint() among the hints that contain `within`: preferred first, then the narrowest. */
static const struct topology_hint *find_best_memory_hint(const struct topology_hints *hints, uint64_t within)
{
	const struct topology_hint *best = NULL;

	for (size_t i = 0; i < hints->n_items; i++) {
		const struct topology_hint *hint = &hints->items[i];

		if (within & ~hint->nodes)
			continue;
		if (!best || is_better_memory_hint(hint, best))
			best = hint;
	}
	return best;
}

/* updateMachineState(): charge `bytes` to the nodes in ascending order, each up to what it has free. */
static void charge_nodes(const struct memory_manager *mm, struct memory_books *books, size_t type,
	uint64_t mask, uint64_t bytes)
{
	size_t i = 0;

	for (uint64_t nodes = mm->nodes; nodes; nodes &= nodes - 1, i++) {
		uint64_t node = nodes & (~nodes + 1); /* the lowest of `nodes`, at position i */
		uint64_t part, *free;

		if (!(mask & node))
			continue;
		books->use[i].assignments++;
		books->use[i].cells = mask;
		if (type == mm->n_types)
			continue;
		free = &books->amounts[i * mm->n_types + type].free;
		part = *free < bytes ? *free : bytes;
		*free -= part;
		bytes -= part;
	}
}

/* Keep an ordinary init container's memory for reuse, or consume reusable memory. */
static void update_reuse(
	struct memory_books *books, const struct memory_need *need, uint64_t nodes, enum container_kind kind)
{
	struct memory_reuse *reuse = find_reuse(books, nodes, need->type);

	if (kind != CONTAINER_INIT) {
		if (reuse)
			reuse->bytes -= reuse->bytes < need->bytes ? reuse->bytes : need->bytes;
		return;
	}
	if (!reuse) {
		if (books->n_reuse == books->reuse_size)
			return; /* GCOVR_EXCL_LINE: memory_books_reserve() made space */
		reuse = &books->reuse[books->n_reuse++];
		*reuse = (struct memory_reuse){.nodes = nodes, .type = need->type};
	}
	if (need->bytes > reuse->bytes)
		reuse->bytes = need->bytes;
}

bool memory_manager_suffices(const struct memory_manager *mm, const struct memory_books *books,
	const struct memory_needs *needs, struct topology_hint hint)
{
	bool enough = !hint.any_node;

	for (size_t i = 0; i < needs->n_items && enough; i++)
		enough = memory_manager_sum(mm, books, needs->items[i].type, hint.nodes).free >=
			 needs->items[i].bytes;
	return enough || needs->n_items == 0;
}

enum memory_take_status memory_manager_allocate(const struct memory_manager *mm, struct memory_books *books,
	const struct memory_needs *needs, struct topology_hint hint, enum container_kind kind,
	struct topology_hints *hints, uint64_t *ret_nodes)
{
	const struct restricted restricted = find_restricted(mm, books);

	if (needs->n_items == 0) {
		*ret_nodes = 0;
		return MEMORY_TAKE_OK;
	}
	if (!memory_manager_suffices(mm, books, needs, hint)) {
		const struct topology_hint *best;

		memory_manager_hints(mm, books, needs, hints);
		best = find_best_memory_hint(hints, hint.any_node ? 0 : hint.nodes);
		if (!best)
			return MEMORY_TAKE_NO_NODES;
		if (hint.preferred && !best->preferred)
			return MEMORY_TAKE_NOT_PREFERRED;
		hint = *best;
	}
	if (!groups_allow(mm, books, &restricted, hint.nodes, false))
		return MEMORY_TAKE_GROUPED;
	for (size_t i = 0; i < needs->n_items; i++) {
		const struct memory_need *need = &needs->items[i];
		uint64_t reusable = reusable_bytes(books, hint.nodes, need->type);
		uint64_t charged = need->bytes > reusable ? need->bytes - reusable : 0;

		charge_nodes(mm, books, need->type, hint.nodes, charged);
		update_reuse(books, need, hint.nodes, kind);
	}
	*ret_nodes = hint.nodes;
	return MEMORY_TAKE_OK;
}

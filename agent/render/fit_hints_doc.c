/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/render/fit_hints_doc.h"

#include <errno.h>

#include "agent/base/json.h"
#include "common/cleanup.h"

/* The functions below return false when out of memory. */

static bool add_null(struct doc *parent, const char *key)
{
	return doc_add(parent, key) != NULL;
}

/* A name, or null for the one that means "unknown". */
static bool add_name(struct doc *map, const char *key, unsigned value, const char *const *names)
{
	return value == 0 ? add_null(map, key) : doc_add_string(map, key, names[value]) != NULL;
}

static bool add_topology_manager(struct doc *parent, const struct topology_manager_config *config)
{
	struct doc *map = doc_add_map(parent, "topologyManager");

	return add_name(map, "policy", config->policy, topology_manager_policy_names) &&
	       add_name(map, "scope", config->scope, topology_manager_scope_names) &&
	       doc_add_number(map, "maxNUMANodes", config->max_numa_nodes) &&
	       doc_add_bool(map, "preferClosestNUMANodes", config->prefer_closest_numa_nodes);
}

static bool add_min_distance(struct doc *map, enum fit_min_distance min_distance)
{
	if (min_distance == FIT_MIN_DISTANCE_UNKNOWN)
		return add_null(map, "minDistance");
	return doc_add_bool(map, "minDistance", min_distance == FIT_MIN_DISTANCE_YES) != NULL;
}

/* Some NUMA node has the resource. A name that none has is left out of the table: a request of such names
 * alone needs no NUMA node. */
static bool is_anywhere(const struct inventory *inv, size_t resource)
{
	for (size_t i = 0; i < inv->n_nodes; i++)
		if (inventory_amount(inv, i, resource)->present)
			return true;
	return false;
}

static bool add_resources(struct doc *parent, const struct inventory *inv)
{
	struct doc *list = doc_add_list(parent, "resources");
	bool ok = list != NULL;

	for (size_t r = 0; r < inv->n_resources && ok; r++)
		if (is_anywhere(inv, r))
			ok = doc_add_string(list, NULL, inv->resources[r]) != NULL;
	return ok;
}

/* The ids of the positions, ascending, each once. */
static bool add_ids(struct doc *map, const struct inventory *inv, uint64_t positions)
{
	struct doc *list = doc_add_list(map, "numaNodes");

	while (list && positions) {
		unsigned least = inv->nodes[__builtin_ctzll(positions)].id;

		for (uint64_t rest = positions; rest; rest &= rest - 1)
			if (inv->nodes[__builtin_ctzll(rest)].id < least)
				least = inv->nodes[__builtin_ctzll(rest)].id;
		if (!doc_add_number(list, NULL, least))
			return false;
		for (uint64_t rest = positions; rest; rest &= rest - 1)
			if (inv->nodes[__builtin_ctzll(rest)].id == least)
				positions &= ~(rest & (~rest + 1));
	}
	return list != NULL;
}

static bool add_amounts(struct doc *map, const struct frontier *f, size_t entry)
{
	struct doc *list = doc_add_list(map, "available");
	bool ok = list != NULL;

	for (size_t r = 0; r < f->inventory->n_resources && ok; r++) {
		struct quantity amount = {
			.nano = frontier_amount(f, entry, r), .format = QUANTITY_DECIMAL_SI};
		char text[QUANTITY_TEXT_MAX];

		if (!is_anywhere(f->inventory, r))
			continue;
		if (amount.nano == FRONTIER_ABSENT) {
			ok = add_null(list, NULL);
			continue;
		}
		quantity_print(amount, text);
		ok = doc_add_string(list, NULL, text) != NULL;
	}
	return ok;
}

static bool add_fits(struct doc *parent, const struct frontier *f)
{
	struct doc *list = doc_add_list(parent, "fits");
	bool ok = list != NULL;

	for (size_t i = 0; i < f->n_entries && ok; i++) {
		struct doc *map = doc_add_map(list, NULL);

		ok = add_ids(map, f->inventory, f->entries[i].nodes) &&
		     add_min_distance(map, f->entries[i].min_distance) && add_amounts(map, f, i);
	}
	return ok && doc_add_bool(parent, "truncated", f->truncated);
}

static bool add_ranges(struct doc *map, const char *policy, const struct exclusive_cpus_admitted *a)
{
	struct doc *list;

	if (a->unknown.text[0] != '\0')
		return add_null(map, policy);
	list = doc_add_list(map, policy);
	for (size_t i = 0; i < a->n_ranges && list; i++) {
		struct doc *pair = doc_add_list(list, NULL);

		if (!doc_add_number(pair, NULL, (int64_t)a->ranges[i].first) ||
			!doc_add_number(pair, NULL, (int64_t)a->ranges[i].last))
			return false;
	}
	return list != NULL;
}

static bool add_exclusive_cpus(struct doc *parent, const struct exclusive_cpus *e)
{
	struct doc *map = doc_add_map(parent, "exclusiveCPUs");
	bool ok = doc_add_number(map, "step", e->step) != NULL;

	for (enum topology_manager_policy policy = TOPOLOGY_MANAGER_BEST_EFFORT;
		policy <= TOPOLOGY_MANAGER_SINGLE_NUMA_NODE && ok; policy++)
		ok = add_ranges(map, topology_manager_policy_names[policy], &e->policies[policy]);
	return ok;
}

static bool add_shape(struct doc *parent, const struct shape_hint *shape)
{
	/* In the order in which LeastNUMANodes, the strategy that asks for NUMA nodes, comes first. */
	static const enum strategy order[STRATEGY_COUNT] = {STRATEGY_LEAST_NUMA_NODES,
		STRATEGY_MOST_ALLOCATED, STRATEGY_LEAST_ALLOCATED, STRATEGY_BALANCED_ALLOCATION};
	struct doc *map = doc_add_map(parent, shape->name), *scores;
	bool ok = shape->fit.verdict == FIT_FOUND
			  ? doc_add_number(map, "numaNodes", shape->fit.n_nodes) &&
				    add_min_distance(map, shape->fit.min_distance)
			  : add_null(map, "numaNodes") && add_null(map, "minDistance");

	scores = ok ? doc_add_map(map, "scores") : NULL;
	ok = scores != NULL;
	for (size_t i = 0; i < STRATEGY_COUNT && ok; i++) {
		int score = shape->scores[order[i]];

		ok = score == SCORE_UNKNOWN ? add_null(scores, strategy_names[order[i]])
					    : doc_add_number(scores, strategy_names[order[i]], score) != NULL;
	}
	return ok;
}

static bool add_shapes(struct doc *parent, const struct fit_hints *h)
{
	struct doc *map = doc_add_map(parent, "shapes");
	bool ok = map != NULL;

	for (size_t i = 0; i < h->n_shapes && ok; i++)
		ok = add_shape(map, &h->shapes[i]);
	return ok;
}

/* A member that is there. */
static struct doc *member(struct doc *map, const char *key)
{
	struct doc *item = map->items;

	while (strcmp(item->key, key) != 0)
		item++;
	return item;
}

/* The length of the compact JSON. 0 or -ENOMEM. */
static int measure(const struct doc *d, size_t *ret)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(SIZE_MAX);
	int r = json_print_compact(d, &text);

	if (r == 0)
		*ret = text.len;
	return r;
}

/* Leave entries out from the end, as many as the text is too long. */
static int shorten(struct doc *d, size_t max_size, struct err *err)
{
	struct doc *fits = member(d, "fits"), *truncated = member(d, "truncated");
	size_t size = 0, less = 0;
	int r = measure(d, &size);

	while (r == 0 && size > max_size) {
		if (!fits || !truncated || fits->n_items == 0)
			return err_set(err, -EFBIG,
				"fit hints: %zu bytes without any fit, at most %zu are allowed", size,
				max_size);
		r = measure(&fits->items[fits->n_items - 1], &less);
		if (r < 0)
			break;
		doc_release(&fits->items[--fits->n_items]);
		size -= less + (fits->n_items > 0); /* and its comma */
		size -= strlen(truncated->text) - strlen("true");
		r = doc_set_text(truncated, DOC_BOOL, "true", strlen("true"));
	}
	return r == -ENOMEM ? err_no_memory(err) : r;
}

int fit_hints_to_doc(
	const struct fit_hints *h, const char *nrt_hash, size_t max_size, struct doc *ret, struct err *err)
{
	CLEANUP(doc_release) struct doc d = {.kind = DOC_MAP};
	int r;

	if (!doc_add_number(&d, "version", 1) || !doc_add_string(&d, "nrt", nrt_hash) ||
		!add_topology_manager(&d, &h->inventory->topology) || !add_resources(&d, h->inventory) ||
		!add_fits(&d, &h->frontier) || (h->has_exclusive && !add_exclusive_cpus(&d, &h->exclusive)) ||
		!add_shapes(&d, h))
		return err_no_memory(err);
	r = shorten(&d, max_size, err);
	if (r < 0)
		return r;
	*ret = d;
	d = (struct doc)DOC_INIT;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/render/fit_hints_doc.h"

#include <errno.h>
#include <inttypes.h>

#include "agent/base/json.h"
#include "common/cleanup.h"

/* A name, or null for the one that means "unknown". */
static void add_name(struct doc *map, const char *key, unsigned value, const char *const *names)
{
	if (value == 0)
		doc_add(map, key);
	else
		doc_add_string(map, key, names[value]);
}

static void add_topology_manager(struct doc *parent, const struct topology_manager_config *config)
{
	struct doc *map = doc_add_map(parent, "topologyManager");

	add_name(map, "policy", config->policy, topology_manager_policy_names);
	add_name(map, "scope", config->scope, topology_manager_scope_names);
	doc_add_number(map, "maxNUMANodes", config->max_numa_nodes);
	doc_add_bool(map, "preferClosestNUMANodes", config->prefer_closest_numa_nodes);
}

static void add_min_distance(struct doc *map, enum fit_min_distance min_distance)
{
	if (min_distance == FIT_MIN_DISTANCE_UNKNOWN) {
		doc_add(map, "minDistance");
		return;
	}
	doc_add_bool(map, "minDistance", min_distance == FIT_MIN_DISTANCE_YES);
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

static void add_resources(struct doc *parent, const struct inventory *inv)
{
	struct doc *list = doc_add_list(parent, "resources");

	for (size_t r = 0; r < inv->n_resources; r++)
		if (is_anywhere(inv, r))
			doc_add_string(list, NULL, inv->resources[r]);
}

/* The ids of the positions, ascending, each once. */
static void add_ids(struct doc *map, const struct inventory *inv, uint64_t positions)
{
	struct doc *list = doc_add_list(map, "numaNodes");

	while (positions) {
		unsigned least = inv->nodes[__builtin_ctzll(positions)].id;

		for (uint64_t rest = positions; rest; rest &= rest - 1)
			if (inv->nodes[__builtin_ctzll(rest)].id < least)
				least = inv->nodes[__builtin_ctzll(rest)].id;
		doc_add_number(list, NULL, least);
		for (uint64_t rest = positions; rest; rest &= rest - 1)
			if (inv->nodes[__builtin_ctzll(rest)].id == least)
				positions &= ~(rest & (~rest + 1));
	}
}

/* A plain number, "30.5", whose digits are exact. */
static void add_amount(struct doc *list, qty_t nano)
{
	struct doc *number = doc_add(list, NULL);
	char text[64];
	int len = snprintf(text, sizeof(text), "%" PRId64, (int64_t)(nano / QTY_UNIT));

	if (nano % QTY_UNIT != 0) {
		len += snprintf(
			text + len, sizeof(text) - (size_t)len, ".%09" PRId64, (int64_t)(nano % QTY_UNIT));
		while (text[len - 1] == '0')
			len--;
	}
	doc_set_text(number, DOC_NUMBER, text, (size_t)len);
}

static void add_amounts(struct doc *map, const struct frontier *f, size_t entry)
{
	struct doc *list = doc_add_list(map, "available");

	for (size_t r = 0; r < f->inventory->n_resources; r++) {
		qty_t amount = frontier_amount(f, entry, r);

		if (!is_anywhere(f->inventory, r))
			continue;
		if (amount == FRONTIER_ABSENT)
			doc_add(list, NULL);
		else
			add_amount(list, amount);
	}
}

static void add_fits(struct doc *parent, const struct frontier *f)
{
	struct doc *list = doc_add_list(parent, "fits");

	for (size_t i = 0; i < f->n_entries; i++) {
		struct doc *map = doc_add_map(list, NULL);

		add_ids(map, f->inventory, f->entries[i].nodes);
		add_min_distance(map, f->entries[i].min_distance);
		add_amounts(map, f, i);
	}
	doc_add_bool(parent, "truncated", f->truncated);
}

static void add_exclusive_cpus(struct doc *parent, const struct exclusive_cpus_admitted *a)
{
	struct doc *map = doc_add_map(parent, "exclusiveCPUs"), *list;

	doc_add_number(map, "step", a->step);
	if (a->unknown.text[0] != '\0') {
		doc_add(map, "ranges");
		return;
	}
	list = doc_add_list(map, "ranges");
	for (size_t i = 0; i < a->n_ranges; i++) {
		struct doc *pair = doc_add_list(list, NULL);

		doc_add_number(pair, NULL, (int64_t)a->ranges[i].first);
		doc_add_number(pair, NULL, (int64_t)a->ranges[i].last);
	}
}

/* A member that is there. */
static struct doc *member(struct doc *map, const char *key)
{
	struct doc *item = map->items;

	while (strcmp(item->key, key) != 0)
		item++;
	return item;
}

/* The length of the compact JSON. */
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
		doc_set_text(truncated, DOC_BOOL, "true", strlen("true"));
		r = 0;
	}
	return r;
}

int fit_hints_to_doc(
	const struct fit_hints *h, const char *nrt_hash, size_t max_size, struct doc *ret, struct err *err)
{
	CLEANUP(doc_release) struct doc d = {.kind = DOC_MAP};
	int r;

	doc_add_number(&d, "version", FIT_HINTS_VERSION);
	doc_add_string(&d, "nrt", nrt_hash);
	add_topology_manager(&d, &h->inventory->topology);
	add_resources(&d, h->inventory);
	add_fits(&d, &h->frontier);
	if (h->has_exclusive)
		add_exclusive_cpus(&d, &h->exclusive);
	r = shorten(&d, max_size, err);
	if (r < 0)
		return r;
	*ret = d;
	d = (struct doc)DOC_INIT;
	return 0;
}

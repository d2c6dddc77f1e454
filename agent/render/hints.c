/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the Node's annotations and labels for schedulers, and the headroom for metrics. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>

#include "agent/render/render.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/settings_table.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/node/node_admission.h"

#define SCORE_PREFIX "nrtd.dev/fit-score."

void hints_config_release(struct hints_config *c)
{
	for (size_t i = 0; i < c->n_shapes; i++) {
		free(c->shapes[i].name);
		pod_request_release(&c->shapes[i].pod);
	}
	free(c->shapes);
	*c = (struct hints_config){0};
}

/* ---- the document of the annotation fit-hints */

/* A name; null for the value 0, "unknown". */
static void add_name_or_null(struct doc *map, const char *key, unsigned value, const char *const *names)
{
	if (value == 0)
		doc_add(map, key);
	else
		doc_add_string(map, key, names[value]);
}

static void add_topology_manager(struct doc *parent, const struct topology_manager_config *config)
{
	const struct settings s = {.topology = *config}; /* for policy_option_value() */
	struct doc *map = doc_add_map(parent, "topologyManager");

	add_name_or_null(map, "policy", config->policy, topology_manager_policy_names);
	add_name_or_null(map, "scope", config->scope, topology_manager_scope_names);
	for (size_t i = 0; i < POLICY_OPTION_COUNT; i++) {
		const struct policy_option *o = &policy_options[i];

		if (o->document_key && o->kind == OPTION_IS_NUMBER)
			doc_add_number(map, o->document_key, policy_option_value(o, &s));
		else if (o->document_key)
			doc_add_bool(map, o->document_key, policy_option_value(o, &s) > 0);
	}
}

/* Whether any NUMA node has the resource. Other resources are omitted: a request of these alone needs no NUMA
 * node. */
static bool is_on_any_node(const struct inventory *inv, size_t resource)
{
	for (size_t i = 0; i < inv->n_nodes; i++)
		if (inventory_amount(inv, i, resource)->present)
			return true;
	return false;
}

static void add_hint_resources(struct doc *parent, const struct inventory *inv)
{
	struct doc *list = doc_add_list(parent, "resources");

	for (size_t r = 0; r < inv->n_resources; r++)
		if (is_on_any_node(inv, r))
			doc_add_string(list, NULL, inv->resources[r]);
}

/* The lowest id of the NUMA nodes at these positions, of which there is at least one. */
static unsigned find_lowest_id(const struct inventory *inv, uint64_t positions)
{
	unsigned lowest = UINT_MAX;

	for (size_t i = 0; i < inv->n_nodes; i++)
		if ((positions >> i & 1) && inv->nodes[i].id < lowest)
			lowest = inv->nodes[i].id;
	return lowest;
}

/* The ids of the NUMA nodes at these positions, ascending, without duplicates. */
static void add_ids(struct doc *map, const struct inventory *inv, uint64_t positions)
{
	struct doc *list = doc_add_list(map, "numaNodes");

	while (positions) {
		unsigned lowest = find_lowest_id(inv, positions);

		doc_add_number(list, NULL, lowest);
		for (size_t i = 0; i < inv->n_nodes; i++)
			if (inv->nodes[i].id == lowest)
				positions &= ~((uint64_t)1 << i);
	}
}

/* An exact decimal number, "30.5". */
static void add_exact_amount(struct doc *list, qty_t nano)
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

static void add_fit_amounts(struct doc *map, const struct frontier *f, size_t entry)
{
	struct doc *list = doc_add_list(map, "available");

	for (size_t r = 0; r < f->inventory->n_resources; r++) {
		qty_t amount = frontier_amount(f, entry, r);

		if (!is_on_any_node(f->inventory, r))
			continue;
		if (amount == FRONTIER_ABSENT)
			doc_add(list, NULL);
		else
			add_exact_amount(list, amount);
	}
}

static void add_fits(struct doc *parent, const struct frontier *f)
{
	struct doc *list = doc_add_list(parent, "fits");

	for (size_t i = 0; i < f->n_entries; i++) {
		struct doc *map = doc_add_map(list, NULL);

		add_ids(map, f->inventory, f->entries[i].nodes);
		if (f->entries[i].min_distance == FIT_MIN_DISTANCE_UNKNOWN)
			doc_add(map, "minDistance");
		else
			doc_add_bool(map, "minDistance", f->entries[i].min_distance == FIT_MIN_DISTANCE_YES);
		add_fit_amounts(map, f, i);
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

/* A member that exists. */
static struct doc *get_hint_member(struct doc *map, const char *key)
{
	struct doc *item = map->items;

	while (strcmp(item->key, key) != 0)
		item++;
	return item;
}

static size_t json_len(const struct doc *d)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(SIZE_MAX);

	json_print_compact(d, &text);
	return text.len;
}

/* Removes entries from the end of fits until the compact JSON has at most `max_size` bytes. Computes the size from
 * the removed parts: to print the document for each entry takes too long. */
static int shorten_fits(struct doc *d, size_t max_size, struct err *err)
{
	struct doc *fits = get_hint_member(d, "fits"), *truncated = get_hint_member(d, "truncated");
	size_t size = json_len(d);

	while (size > max_size) {
		const struct doc *last;

		if (fits->n_items == 0)
			return err_set(err, -EFBIG,
				"fit hints: %zu bytes without any fit, at most %zu are allowed", size,
				max_size);
		last = &fits->items[fits->n_items - 1];
		size -= json_len(last);
		if (fits->n_items > 1)
			size--; /* the comma before the last entry */
		doc_release(&fits->items[--fits->n_items]);
		size -= strlen(truncated->text) - strlen("true"); /* "false" at first, then 0 */
		doc_set_text(truncated, DOC_BOOL, "true", strlen("true"));
	}
	return 0;
}

int fit_hints_to_doc(
	const struct fit_hints *h, const char *nrt_hash, size_t max_size, struct doc *ret, struct err *err)
{
	CLEANUP(doc_release) struct doc d = {.kind = DOC_MAP};
	int r;

	doc_add_number(&d, "version", FIT_HINTS_VERSION);
	doc_add_string(&d, "nrt", nrt_hash);
	add_topology_manager(&d, &h->inventory->topology);
	add_hint_resources(&d, h->inventory);
	add_fits(&d, &h->frontier);
	if (h->has_exclusive)
		add_exclusive_cpus(&d, &h->exclusive);
	r = shorten_fits(&d, max_size, err);
	if (r < 0)
		return r;
	*ret = d;
	d = (struct doc)DOC_INIT;
	return 0;
}

/* ---- annotations and labels */

static void add_fit_hints(const struct hints_config *c, const struct fit_hints *h, const char *nrt_hash,
	struct doc *annotations, struct notes *notes)
{
	CLEANUP(doc_release) struct doc doc = DOC_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(SIZE_MAX);
	struct err err = {""};

	if (fit_hints_to_doc(h, nrt_hash, c->max_size, &doc, &err) < 0) {
		notes_add(notes, "fit hints are omitted: %s", err.text);
		return;
	}
	json_print_compact(&doc, &text);
	doc_add_string(annotations, FIT_HINTS_ANNOTATION, text.text);
}

/* Each shape's score; 0 if the kubelet would reject the shape. An unknown score is omitted. */
static void add_scores(const struct hints_config *c, const struct fit_hints *h,
	struct node_admission *admission, struct doc *annotations)
{
	for (size_t i = 0; i < h->n_shapes; i++) {
		const struct shape_hint *shape = &h->shapes[i];
		int score = shape->score;
		struct kubelet_verdict v;
		char key[128], text[16];

		node_admission_judge(admission, &c->shapes[i].pod, &v);
		if (v.answer == KUBELET_REJECTS || shape->fit.verdict == FIT_NONE)
			score = 0;
		else if (shape->fit.verdict == FIT_UNKNOWN || score == SCORE_UNKNOWN)
			continue;
		snprintf(key, sizeof(key), SCORE_PREFIX "%s", shape->name);
		snprintf(text, sizeof(text), "%d", score);
		doc_add_string(annotations, key, text);
	}
}

static void add_labels(const struct fit_hints *h, const struct node_admission *admission, struct doc *labels)
{
	size_t n;

	for (unsigned i = 1; i <= h->inventory->n_nodes && i <= HINTS_MAX_NUMA_LABELS; i++) {
		char key[64], text[24];

		if (!node_admission_largest(admission, &h->exclusive, i, &n))
			break;
		snprintf(key, sizeof(key), HINTS_LABEL_PREFIX "%u-numa", i);
		snprintf(text, sizeof(text), "%zu", n);
		doc_add_string(labels, key, text);
	}
}

static int compute_hints(const struct hints_config *c, const struct node_admission *admission,
	struct distances_kept *kept, struct fit_hints *ret)
{
	CLEANUP(freep) struct request_shape *shapes = xcalloc(c->n_shapes + 1, sizeof(*shapes));
	const struct fit_hints_input input = {
		.inventory = &admission->state->inventory,
		.kubelet = &admission->kubelet,
		.shapes = shapes,
		.n_shapes = c->n_shapes,
		.strategy = c->strategy,
		.kept = kept,
		.limits = {.entries = FRONTIER_MAX_ENTRIES, .work = FRONTIER_WORK_LIMIT},
	};
	int r;

	for (size_t i = 0; i < c->n_shapes; i++)
		shapes[i] = (struct request_shape){.name = c->shapes[i].name, .pod = &c->shapes[i].pod};
	r = fit_hints_init(ret, &input);
	if (r < 0)
		return r;
	/* A pod may also not request more CPUs than the node as a whole has left. */
	exclusive_cpus_limit(&ret->exclusive, node_admission_requestable_cpus(admission));
	return 0;
}

void hints_make(const struct hints_config *c, const struct node_state *node, const char *nrt_hash,
	struct doc *ret_annotations, struct doc *ret_labels, struct notes *notes, struct distances_kept *kept)
{
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	struct fit_hints h;

	*ret_annotations = *ret_labels = (struct doc){.kind = DOC_MAP};
	node_admission_init(&admission, node);
	if (compute_hints(c, &admission, kept, &h) < 0) {
		notes_add(
			notes, "fit hints are omitted: %zu NUMA nodes are too many", node->inventory.n_nodes);
		return;
	}
	add_fit_hints(c, &h, nrt_hash, ret_annotations, notes);
	add_scores(c, &h, &admission, ret_annotations);
	if (c->labels)
		add_labels(&h, &admission, ret_labels);
	fit_hints_release(&h);
}

/* ---- headroom */

void headroom_release(struct headroom *r)
{
	free(r->shapes);
	*r = (struct headroom){0};
}

static void fill_exclusive(const struct node_admission *admission, struct headroom *headroom)
{
	CLEANUP(exclusive_cpus_admitted_release) struct exclusive_cpus_admitted admitted = {0};

	exclusive_cpus_find(&admission->kubelet, &admitted);
	for (unsigned i = 0; i < admission->state->inventory.n_nodes && i < HINTS_MAX_NUMA_LABELS; i++) {
		if (!node_admission_largest(admission, &admitted, i + 1, &headroom->max_exclusive[i]))
			break;
		headroom->n_max++;
	}
	headroom->stranded_known = !*admitted.unknown.text;
	if (headroom->stranded_known)
		headroom->stranded = node_admission_stranded_cpus(admission, &admitted);
}

void headroom_find(const struct hints_config *c, const struct node_state *node, struct headroom *ret)
{
	CLEANUP(headroom_release) struct headroom headroom = {0};
	CLEANUP(node_admission_release) struct node_admission admission = {0};

	node_admission_init(&admission, node);
	fill_exclusive(&admission, &headroom);
	headroom.slowest = kubelet_find_slowest(&admission.kubelet);
	headroom.shapes = xcalloc(c->n_shapes + 1, sizeof(*headroom.shapes));
	for (; headroom.n_shapes < c->n_shapes; headroom.n_shapes++) {
		const struct pod_request *pod = &c->shapes[headroom.n_shapes].pod;
		struct shape_headroom *shape = &headroom.shapes[headroom.n_shapes];

		node_admission_copies(&admission, pod, &shape->copies);
		shape->stranded_known = node_admission_copies_stranded_cpus(
			&admission, pod, &shape->copies, &shape->stranded);
	}
	*ret = headroom;
	headroom = (struct headroom){0};
}

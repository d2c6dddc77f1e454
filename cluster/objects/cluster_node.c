/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/objects/cluster_node.h"

#include <errno.h>
#include <string.h>

#include "cluster/objects/nrt_parse.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/io/time.h"
#include "common/log.h"
#include "common/settings_table.h"
#include "common/text.h"
#include "scoring/node/node_derive.h"
#include "scoring/node/node_state_codec.h"

const char *const cluster_basis_names[CLUSTER_BASIS_COUNT] = {
	[CLUSTER_UNKNOWN] = "unknown", [CLUSTER_ESTIMATED] = "estimated", [CLUSTER_EXACT] = "exact"};

void cluster_node_release(struct cluster_node *n)
{
	node_state_release(&n->state);
	free(n->exporter);
	n->exporter = NULL;
}

/* ---- the exporter, and the times of its writes */

#define KOORDLET "koordlet"

/* The field manager of the last write in metadata.managedFields, whose entries are not sorted by time. *ret_s: the time of this
 * write, 0 = no entry. */
static const char *last_manager(const struct doc *metadata, int64_t *ret_s)
{
	const struct doc *list = doc_get(metadata, "managedFields");
	const char *manager = NULL;

	*ret_s = 0;
	DOC_FOREACH_ITEM (entry, list) {
		const char *time = doc_string(doc_get(entry, "time"));
		int64_t at;

		if (!time || timestamp_parse(time, &at) < 0 || at <= *ret_s)
			continue;
		*ret_s = at;
		manager = doc_string(doc_get(entry, "manager"));
	}
	return manager;
}

int64_t cluster_zones_written_s(const struct doc *object)
{
	const struct doc *list = doc_get(doc_get(object, "metadata"), "managedFields");
	int64_t last = 0, at;

	DOC_FOREACH_ITEM (entry, list) {
		const char *time = doc_string(doc_get(entry, "time"));

		if (doc_get(doc_get(entry, "fieldsV1"), "f:zones") && time &&
			timestamp_parse(time, &at) == 0 && at > last)
			last = at;
	}
	return last;
}

/* nrtd is known by its attribute, other exporters by their annotations or their field manager. */
static const char *find_exporter(const struct doc *object, const struct doc *metadata, const char *manager)
{
	const struct doc *annotations = doc_get(metadata, "annotations");

	if (nrt_content_hash(object))
		return "nrtd";
	if (doc_get(annotations, "k8stopoawareschedwg/rte-update"))
		return "resource-topology-exporter";
	if (doc_get(annotations, "node.koordinator.sh/cpu-topology"))
		return KOORDLET;
	if (manager && !strcmp(manager, "node-feature-discovery-topology-updater"))
		return "nfd-topology-updater";
	return text_or_empty(manager);
}

/* Exporters that do not name the method use FINGERPRINT_ALL. */
static void read_fingerprint(const struct doc *object, struct cluster_node *n)
{
	const char *fingerprint = nrt_attribute(object, FINGERPRINT_ATTRIBUTE);
	const char *name = nrt_attribute(object, FINGERPRINT_METHOD_ATTRIBUTE);
	int method = name ? settings_name_index(fingerprint_method_names, FINGERPRINT_METHOD_COUNT, name)
			  : FINGERPRINT_ALL;

	if (!fingerprint || method <= FINGERPRINT_NONE || strlen(fingerprint) >= sizeof(n->fingerprint))
		return;
	n->fingerprint_method = (enum fingerprint_method)method;
	snprintf(n->fingerprint, sizeof(n->fingerprint), "%s", fingerprint);
}

static void read_origin(const struct doc *object, struct cluster_node *n)
{
	const struct doc *metadata = doc_get(object, "metadata");
	const char *manager = last_manager(metadata, &n->written_s);

	n->zones_written_s = cluster_zones_written_s(object);
	n->created_s = object_created_s(object);
	read_fingerprint(object, n);
	text_set(&n->exporter, find_exporter(object, metadata, manager));
	n->zones_count_no_pods = !strcmp(n->exporter, KOORDLET);
}

/* ---- the node state */

/* From the text of the attribute nrtd.dev/node-state. */
static int read_exact(const char *text, struct node_state *ret, struct err *err)
{
	static const struct derive_config config = {.reserved_named = false};
	CLEANUP(node_state_release) struct node_state state;
	int r;

	node_state_init(&state);
	r = node_state_parse(text, &state, err);
	if (r < 0)
		return r;
	r = node_derive(&config, &state, NULL, err);
	if (r < 0)
		return r;
	*ret = state;
	node_state_init(&state);
	return 0;
}

static struct zone_facts read_facts(const struct doc *object, struct inventory *inventory)
{
	const char *options = nrt_attribute(object, settings_table[SETTING_CPU_MANAGER_POLICY_OPTIONS].name);
	struct settings published;

	settings_init(&published);
	policy_options_parse(SETTING_CPU_MANAGER_POLICY_OPTIONS, text_or_empty(options), &published);
	return (struct zone_facts){
		.inventory = inventory,
		.cpu_manager = (enum cpu_manager_policy)nrt_policy(object, SETTING_CPU_MANAGER_POLICY),
		.memory_manager =
			(enum memory_manager_policy)nrt_policy(object, SETTING_MEMORY_MANAGER_POLICY),
		.full_pcpus_only = published.cpu_options.full_pcpus_only,
	};
}

/* Exact, else estimated from the zones, else unknown; n->why: why the state is not exact. `inventory` moves to n->state. */
static void read_state(
	const struct doc *object, const char *name, struct inventory *inventory, struct cluster_node *n)
{
	const char *text = nrt_attribute(object, NODE_STATE_ATTRIBUTE);
	struct topology_manager_config topology = inventory->topology;
	struct zone_facts facts = read_facts(object, inventory);
	struct err why = {""};
	int r = -ENOENT;

	if (text)
		r = read_exact(text, &n->state, &why);
	else
		err_set(&n->why, r, "the object has no node state");
	if (r == 0) {
		n->basis = CLUSTER_EXACT;
		inventory_release(&n->state.inventory);
		n->state.inventory = *inventory;
		inventory_init(inventory);
		text_set(&n->state.node_name, name);
		return;
	}
	if (text) {
		n->unreadable_state = true;
		err_set(&n->why, r, "%s: %.200s",
			r == -ENOTSUP ? "its node state is of a newer version of nrtd" : "damaged node state",
			why.text);
	}
	nrt_kubelet_topology(object, &topology);
	facts.topology = &topology;
	r = zone_state_make(name, &facts, &n->state, &why);
	if (r == 0) {
		n->basis = CLUSTER_ESTIMATED;
		return;
	}
	n->why = why; /* of zone_state_make() */
	n->state.inventory = *inventory;
	inventory_init(inventory);
	text_set(&n->state.node_name, name);
}

int cluster_node_read(const struct doc *object, struct cluster_node *ret, struct err *err)
{
	CLEANUP(cluster_node_release) struct cluster_node n = {.basis = CLUSTER_UNKNOWN};
	CLEANUP(inventory_release) struct inventory inventory;
	const char *name = doc_object_name(object);
	int r;

	node_state_init(&n.state);
	inventory_init(&inventory);
	if (!name || !*name)
		return err_set(err, -EINVAL, "a NodeResourceTopology without a name");
	r = nrt_inventory(object, &inventory, err);
	if (r < 0)
		return err_wrap(err, r, "NodeResourceTopology '%.100s'", name);
	n.cpu_manager = (enum cpu_manager_policy)nrt_policy(object, SETTING_CPU_MANAGER_POLICY);
	read_state(object, name, &inventory, &n);
	n.has_release = n.state.settings.kubelet_minor > 0;
	read_origin(object, &n);
	*ret = n;
	n = (struct cluster_node){.basis = CLUSTER_UNKNOWN};
	node_state_init(&n.state);
	return 0;
}

void cluster_node_set_release(struct cluster_node *n, struct kubelet_release release)
{
	if (!n->has_release)
		settings_set_kubelet(&n->state.settings, release);
}

void cluster_node_exclude(struct cluster_node *n, struct excluded_pods *excluded)
{
	CLEANUP(inventory_release) struct inventory inventory;
	struct node_state *state = &n->state;
	size_t before = state->allocations.n_items;

	inventory_init(&inventory);
	if (n->basis == CLUSTER_EXACT)
		excluded_pods_take(excluded, &state->allocations);
	if (state->allocations.n_items == before)
		return;
	node_derive_inventory(state, &inventory, NULL);
	inventory_release(&state->inventory);
	state->inventory = inventory;
	inventory_init(&inventory);
}

/* ---- for pictures */

static void copy_attribute(const struct doc *object, const char *name, char **ret)
{
	const char *value = nrt_attribute(object, name);

	if (value)
		text_set(ret, value);
}

/* Derives the inventory as the node itself does. */
static void restore_inventory(struct node_state *state, struct notes *notes)
{
	inventory_release(&state->inventory);
	inventory_init(&state->inventory);
	node_derive_inventory(state, &state->inventory, notes);
	for (size_t i = 0; i < state->allocations.n_items; i++)
		text_set(
			&state->allocations.items[i].container, ""); /* the object has positions, not names */
	notes_add(notes, "drawn from the node state in a NodeResourceTopology object");
}

static void note_zones(const struct doc *object, struct notes *notes)
{
	const struct doc *zones = doc_get(object, "zones");

	DOC_FOREACH_ITEM (zone, zones)
		if (!strcmp(doc_text(zone, "type"), "Node") && nrt_zone_node(zone) < 0)
			notes_add(notes,
				"zone '%s' is omitted: schedulers know only the names node-0 to node-63",
				doc_text(zone, "name"));
}

static int read_zones(const struct doc *object, const struct cluster_node *n, struct node_state *ret,
	struct notes *notes, struct err *err)
{
	CLEANUP(inventory_release) struct inventory inventory;
	struct zone_facts facts;
	int r;

	inventory_init(&inventory);
	facts = read_facts(object, &inventory);
	r = nrt_inventory(object, &inventory, err);
	if (r == 0)
		r = zone_state_known(n->state.node_name, &facts, doc_get(object, "zones"), ret, err);
	if (r < 0)
		return err_wrap(err, r, "NodeResourceTopology '%.100s'", n->state.node_name);
	nrt_kubelet_topology(object, &ret->settings.topology);
	notes_add(notes, "drawn from the zones of a NodeResourceTopology object: %s", n->why.text);
	note_zones(object, notes);
	return 0;
}

int cluster_node_read_picture(const struct doc *object, struct node_state *ret, enum cluster_basis *ret_basis,
	struct notes *notes, struct err *err)
{
	CLEANUP(cluster_node_release) struct cluster_node n = {.basis = CLUSTER_UNKNOWN};
	CLEANUP(node_state_release) struct node_state state;
	int r;

	node_state_init(&state);
	node_state_init(&n.state);
	r = cluster_node_read(object, &n, err);
	if (r < 0)
		return r;
	if (n.basis == CLUSTER_EXACT) {
		state = n.state;
		node_state_init(&n.state);
		restore_inventory(&state, notes);
	} else {
		r = read_zones(object, &n, &state, notes, err);
		if (r < 0)
			return r;
	}
	for (enum setting what = 0; what < SETTING_COUNT; what++)
		if (settings_table[what].kind == SETTING_IS_OPTIONS)
			copy_attribute(
				object, settings_table[what].name, setting_value(&state.settings, what));
	*ret = state;
	*ret_basis = n.basis;
	node_state_init(&state);
	return 0;
}

/* ---- all nodes */

#define SKIPPED_NAMED 3u /* skipped objects with a warning of their own */

struct node_reader {
	cluster_node_fn *fn;
	void *data;
	size_t n_read, n_skipped;
	struct err skipped[SKIPPED_NAMED]; /* why */
};

static int read_node(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	CLEANUP(cluster_node_release) struct cluster_node node = {.basis = CLUSTER_UNKNOWN};
	struct node_reader *reader = data;
	struct err why = {""};
	int r;

	(void)kind;
	node_state_init(&node.state);
	r = cluster_node_read(object, &node, &why);
	if (r == -EINVAL || r == -ERANGE) {
		if (reader->n_skipped < SKIPPED_NAMED)
			reader->skipped[reader->n_skipped] = why;
		reader->n_skipped++;
		return 0;
	}
	if (r < 0)
		return err_set(err, r, "%s", why.text);
	reader->n_read++;
	node.object = object;
	return reader->fn(&node, reader->data, err);
}

int cluster_nodes_each(const struct object_reader *reader, cluster_node_fn *fn, void *data, struct err *err)
{
	struct node_reader nodes = {.fn = fn, .data = data};
	int r = reader->read(reader->source, 1u << OBJECT_NRT, read_node, &nodes, err);

	if (r < 0)
		return r;
	if (nodes.n_read == 0 && nodes.n_skipped > 0)
		return err_set(err, -EINVAL, "%s: %s", reader->name, nodes.skipped[0].text);
	for (size_t i = 0; i < nodes.n_skipped && i < SKIPPED_NAMED; i++)
		log_warning("skipped: %s", nodes.skipped[i].text);
	if (nodes.n_skipped > SKIPPED_NAMED)
		log_warning(
			"skipped: %zu other objects that cannot be read", nodes.n_skipped - SKIPPED_NAMED);
	return 0;
}

#define CONTENT_MAX ((size_t)8 << 20)

int cluster_content_hash(const struct doc *object, char ret[HASH_TEXT_SIZE])
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(CONTENT_MAX);
	static const char *const members[] = {"attributes", "topologyPolicies", "zones"};
	const char *hash = nrt_content_hash(object);

	if (hash) {
		snprintf(ret, HASH_TEXT_SIZE, "%s", hash);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		const struct doc *member = doc_get(object, members[i]);
		int r = member ? json_print_compact(member, &text) : 0;

		if (r < 0)
			return r;
		strbuf_addch(&text, '\n');
	}
	if (strbuf_error(&text) < 0)
		return strbuf_error(&text);
	hash_text(text.text, text.len, ret);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The device manager's state file, device-plugins/kubelet_internal_checkpoint. */
#include "agent/observe/state_file.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/strbuf.h"
#include "common/text.h"
#include "common/vec.h"

#define NO_AFFINITY (-1) /* the key of devices without NUMA affinity */

#define UNREAD_DEVICES "; all devices of the resource count as held"

/* ---- the Go structs under the checksum */

static const struct go_type go_bytes = {.kind = GO_BYTES, .name = "[]uint8"};
static const struct go_type go_strings = {.kind = GO_LIST, .name = "[]string", .element = &go_string};
static const struct go_type go_devices = {
	.kind = GO_INT_MAP, .name = "checkpoint.DevicesPerNUMA", .element = &go_strings};
static const struct go_type go_registered = {
	.kind = GO_MAP, .name = "map[string][]string", .element = &go_strings};

static const struct go_field entry_fields[] = {{"PodUID", "PodUID", &go_string},
	{"ContainerName", "ContainerName", &go_string}, {"ResourceName", "ResourceName", &go_string},
	{"DeviceIDs", "DeviceIDs", &go_devices}, {"AllocResp", "AllocResp", &go_bytes}};
static const struct go_field v1_entry_fields[] = {{"PodUID", "PodUID", &go_string},
	{"ContainerName", "ContainerName", &go_string}, {"ResourceName", "ResourceName", &go_string},
	{"DeviceIDs", "DeviceIDs", &go_strings}, {"AllocResp", "AllocResp", &go_bytes}};
static const struct go_type go_entry = GO_STRUCT_OF(NULL, entry_fields);
static const struct go_type go_v1_entry = GO_STRUCT_OF(NULL, v1_entry_fields);
static const struct go_type go_entries = {
	.kind = GO_LIST, .name = "[]checkpoint.PodDevicesEntry", .element = &go_entry};
static const struct go_type go_v1_entries = {
	.kind = GO_LIST, .name = "[]checkpoint.PodDevicesEntry", .element = &go_v1_entry};

static const struct go_field data_fields[] = {{"PodDeviceEntries", "PodDeviceEntries", &go_entries},
	{"RegisteredDevices", "RegisteredDevices", &go_registered}};
static const struct go_field v1_data_fields[] = {{"PodDeviceEntries", "PodDeviceEntries", &go_v1_entries},
	{"RegisteredDevices", "RegisteredDevices", &go_registered}};
static const struct go_type go_data = GO_STRUCT_OF(NULL, data_fields);
static const struct go_type go_v1_data = GO_STRUCT_OF(NULL, v1_data_fields);

static const char *const names[] = {"checkpoint.checkpointData", NULL};

/* ---- one entry: a container's devices of one resource */

/* A device and one of its NUMA nodes, as listed. */
struct listed {
	const char *id;
	int node; /* or NO_AFFINITY */
};

struct listing {
	struct listed *items;
	size_t n_items;
	size_t items_size;
};

static void device_listing_release(struct listing *l)
{
	free(l->items);
}

/* The state of reading one file. */
struct devices_reader {
	const struct machine *machine;
	struct kubelet_state *state;
	struct state_doubts *doubts;
	hwloc_bitmap_t absent; /* NUMA nodes that the machine does not have */
	/* Resources of entries that hold devices and do not say which. */
	struct strv unread;
};

static void devices_reader_release(struct devices_reader *rd)
{
	hwloc_bitmap_free(rd->absent);
	strv_release(&rd->unread);
}

static int list_device_ids(const struct doc *ids, int node, struct listing *listing, struct err *err)
{
	if (ids->kind == DOC_NULL)
		return 0;
	if (ids->kind != DOC_LIST)
		return err_set(err, -EINVAL, "a list of device ids expected, not %s", doc_kind_name(ids));
	DOC_FOREACH (id, ids) {
		struct listed *item;

		if (!doc_string(id))
			return err_set(err, -EINVAL, "a device id expected, not %s", doc_kind_name(id));
		item = vec_push(&listing->items, &listing->n_items, &listing->items_size, sizeof(*item));
		*item = (struct listed){.id = id->text, .node = node};
	}
	return 0;
}

static int compare_listed(const void *va, const void *vb)
{
	const struct listed *a = va, *b = vb;
	int r = strcmp(a->id, b->id);

	return r ? r : (a->node > b->node) - (a->node < b->node);
}

/* The NUMA node of a key of DeviceIDs, NO_AFFINITY if the key is not the id of one. The kubelet knows nodes that were on the
 * machine at its start. */
static int read_device_node(struct devices_reader *rd, const char *where, const char *key)
{
	int64_t node;

	if (checksum_integer_key(key, &node) < 0 || node < NO_AFFINITY || node >= MACHINE_MAX_NODES) {
		state_doubt(rd->doubts,
			"%s: DeviceIDs: '%.50s' is not a NUMA node id; its devices count as without affinity",
			where, key);
		return NO_AFFINITY;
	}
	if (rd->machine && node >= 0 && machine_node_index(rd->machine, (unsigned)node) < 0)
		cpuset_set(rd->absent, (unsigned)node);
	return (int)node;
}

/* All devices of a DeviceIDs member, sorted by id. False if some of them cannot be read. */
static bool list_entry_devices(
	struct devices_reader *rd, const char *where, const struct doc *devices, struct listing *listing)
{
	bool all_read = true;

	if (devices->kind == DOC_MAP) {
		DOC_FOREACH (ids, devices) {
			int node = read_device_node(rd, where, ids->key);
			struct err why = {""};

			if (list_device_ids(ids, node, listing, &why) == 0)
				continue;
			state_doubt(rd->doubts, "%s: DeviceIDs: node %.50s: %s" UNREAD_DEVICES, where,
				ids->key, why.text);
			all_read = false;
		}
	} else {
		struct err why = {""};

		all_read = list_device_ids(devices, NO_AFFINITY, listing, &why) == 0;
		if (!all_read)
			state_doubt(rd->doubts, "%s: DeviceIDs: %s" UNREAD_DEVICES, where, why.text);
	}
	if (listing->n_items > 1)
		qsort(listing->items, listing->n_items, sizeof(*listing->items), compare_listed);
	return all_read;
}

/* One block per set of NUMA nodes among the devices of the listing, which has a row for each NUMA node of a device and is sorted by id. */
static void add_listed_devices(struct allocation *item, const char *resource, const struct listing *listing)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = cpuset_new();

	for (size_t i = 0; i < listing->n_items; i++) {
		const struct listed *device = &listing->items[i];
		bool is_last_node = i + 1 == listing->n_items || strcmp(device->id, device[1].id) != 0;

		if (device->node != NO_AFFINITY)
			cpuset_set(nodes, (unsigned)device->node);
		if (!is_last_node)
			continue;
		device_blocks_add(&item->devices, &item->n_devices, &item->devices_size, resource, nodes,
			false, device->id);
		hwloc_bitmap_zero(nodes);
	}
}

/* A member that must be a text; "" and a note if it is none. */
static const char *read_entry_text(
	struct devices_reader *rd, const struct doc *entry, const char *name, const char *where)
{
	struct err why = {""};
	struct state_members m = {.map = entry, .err = &why};
	const char *text = state_string(&m, name);

	if (m.r < 0)
		state_doubt(rd->doubts, "%s: %s; the entry's devices count as held", where, why.text);
	else if (!*text)
		state_doubt(rd->doubts, "%s: %s is missing; the entry's devices count as held", where, name);
	return text;
}

/* The kubelet would not read an entry whose AllocResp is damaged; no admission depends on the content. */
static void check_response(struct devices_reader *rd, const struct doc *entry, const char *where)
{
	CLEANUP(strbuf_release) struct strbuf response = STRBUF_INIT(STATE_DEVICES_FILE_MAX);
	struct err why = {""};
	struct state_members m = {.map = entry, .err = &why};
	const char *encoded = state_string(&m, "AllocResp");

	if (m.r < 0)
		state_doubt(rd->doubts, "%s: %s", where, why.text);
	else if (base64_decode(encoded, &response) < 0)
		state_doubt(rd->doubts, "%s: AllocResp is not base64", where);
}

/* Adds the devices of one entry, a container's of one resource. If the entry may hold devices that it does not show, its resource ("" = unknown)
 * goes to rd->unread. */
static void read_entry(
	struct devices_reader *rd, const struct doc *d, const char *where, struct allocations *a)
{
	CLEANUP(device_listing_release) struct listing listing = {0};
	const struct doc *devices;
	const char *pod, *container, *resource;
	struct err why = {""};
	bool all_read;

	if (state_check_object(d, &why) < 0) {
		state_doubt(rd->doubts, "%s: %s" UNREAD_DEVICES, where, why.text);
		strv_push(&rd->unread, "");
		return;
	}
	devices = doc_get_fold(d, "DeviceIDs");
	pod = read_entry_text(rd, d, "PodUID", where);
	container = read_entry_text(rd, d, "ContainerName", where);
	resource = read_entry_text(rd, d, "ResourceName", where);
	check_response(rd, d, where);
	all_read = !devices || list_entry_devices(rd, where, devices, &listing);
	if (!all_read || (!*resource && listing.n_items > 0))
		strv_push(&rd->unread, resource);
	if (*resource)
		add_listed_devices(allocations_add_container(a, pod, container), resource, &listing);
}

static void read_device_entries(struct devices_reader *rd, const struct doc *entries)
{
	CLEANUP(allocations_release) struct allocations listed = {0};

	DOC_FOREACH (d, entries) {
		char where[64];

		snprintf(where, sizeof(where), "PodDeviceEntries[%td]", d - entries->items);
		read_entry(rd, d, where, &listed);
	}
	/* An entry is one resource of a container; an item is the whole container. */
	allocations_merge(&rd->state->allocations, &listed);
}

/* ---- all entries */

struct holding {
	const char *resource, *id, *pod_uid;
};

static int compare_holdings(const void *va, const void *vb)
{
	const struct holding *a = va, *b = vb;
	int r = strcmp(a->resource, b->resource);

	if (r != 0)
		return r;
	r = strcmp(a->id, b->id);
	return r != 0 ? r : strcmp(a->pod_uid, b->pod_uid);
}

struct holdings {
	struct holding *items;
	size_t n_items;
	size_t items_size;
};

static void holdings_release(struct holdings *h)
{
	free(h->items);
}

static void collect_holdings(const struct allocation *item, struct holdings *all)
{
	for (size_t b = 0; b < item->n_devices; b++)
		for (size_t i = 0; i < item->devices[b].ids.n_items; i++) {
			struct holding *h =
				vec_push(&all->items, &all->n_items, &all->items_size, sizeof(*h));

			*h = (struct holding){
				item->devices[b].resource, item->devices[b].ids.items[i], item->pod_uid};
		}
}

/*
 * Two containers of one pod may hold a device (an init container's devices are reused), two pods may not. Kubelets have written such
 * files and run on with them (kubernetes/kubernetes#75880, #137534): the device is held until neither pod holds it.
 */
static void note_shared_devices(const struct allocations *a, struct state_doubts *doubts)
{
	CLEANUP(holdings_release) struct holdings all = {0};

	for (size_t i = 0; i < a->n_items; i++)
		collect_holdings(&a->items[i], &all);
	if (all.n_items > 1)
		qsort(all.items, all.n_items, sizeof(*all.items), compare_holdings);
	for (size_t i = 1; i < all.n_items; i++) {
		const struct holding *one = &all.items[i - 1], *two = &all.items[i];

		if (!strcmp(one->resource, two->resource) && !strcmp(one->id, two->id) &&
			strcmp(one->pod_uid, two->pod_uid) != 0)
			state_doubt(doubts, "pods '%.60s' and '%.60s' both hold %.80s device '%.80s'",
				one->pod_uid, two->pod_uid, one->resource, one->id);
	}
}

/*
 * Entries that cannot be read hold every registered device of their resource ("": of all resources). The holder has no UID, because
 * any of these entries may hold the device.
 */
static void hold_unread_devices(struct devices_reader *rd)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t nowhere = cpuset_new();
	CLEANUP(device_index_release) struct device_index held = {0};
	CLEANUP(allocations_release) struct allocations unread = {0};
	struct allocation *holder;

	if (rd->unread.n_items == 0)
		return;
	device_index_held(&rd->state->allocations, &held);
	holder = allocations_add_container(&unread, "", "");
	for (size_t i = 0; i < rd->state->n_registered; i++) {
		const struct device_registration *reg = &rd->state->registered[i];

		if (!strv_contains(&rd->unread, reg->resource) && !strv_contains(&rd->unread, ""))
			continue;
		for (size_t k = 0; k < reg->ids.n_items; k++)
			if (!device_index_find(&held, reg->resource, reg->ids.items[k]))
				device_blocks_add(&holder->devices, &holder->n_devices, &holder->devices_size,
					reg->resource, nowhere, true, reg->ids.items[k]);
	}
	allocations_merge(&rd->state->allocations, &unread);
}

/* Moves the ids out of the document, because there may be ten thousands. The listing only shows that all of them are ids. */
static int take_registration(struct doc *d, struct device_registration *reg, struct err *err)
{
	CLEANUP(device_listing_release) struct listing listing = {0};
	int r = list_device_ids(d, NO_AFFINITY, &listing, err);

	text_set(&reg->resource, d->key);
	if (r < 0)
		return r;
	for (size_t i = 0; i < listing.n_items; i++)
		strv_take(&reg->ids, TAKE(d->items[i].text));
	doc_release(d);
	strv_sort(&reg->ids);
	return 0;
}

/* A resource whose entry cannot be read is registered without devices. */
static void take_registered_devices(struct devices_reader *rd, struct doc *registered)
{
	CLEANUP(freep) const struct doc **sorted = doc_sorted(registered);
	struct kubelet_state *state = rd->state;

	for (size_t i = 0; i < registered->n_items; i++) {
		/* The same item as sorted[i], which is const: the ids are moved out of the item. */
		struct doc *d = &registered->items[sorted[i] - registered->items];
		struct device_registration *reg = vec_push(
			&state->registered, &state->n_registered, &state->registered_size, sizeof(*reg));
		struct err why = {""};

		if (take_registration(d, reg, &why) < 0)
			state_doubt(rd->doubts,
				"RegisteredDevices: %.100s: %s; none of its devices counts as free", d->key,
				why.text);
	}
}

/* ---- the file */

/* The kind of the entries' DeviceIDs: a map or, before kubelet 1.20, a list; DOC_NULL when no entry has
 * one. */
static enum doc_kind devices_kind(const struct doc *entries)
{
	DOC_FOREACH (entry, entries) {
		const struct doc *devices = doc_get_fold(entry, "DeviceIDs");

		if (devices && devices->kind != DOC_NULL)
			return devices->kind;
	}
	return DOC_NULL;
}

static int compute_device_checksum(
	const struct state_file *file, struct strbuf *text, struct checksum_match *ret)
{
	static const struct checksum_shape shapes[] = {{&go_data, names}, {&go_v1_data, names}};
	const struct doc *data = doc_get_fold(&file->top, "Data");
	const struct doc *entries = doc_get_fold(data, "PodDeviceEntries");
	enum doc_kind kind = entries ? devices_kind(entries) : DOC_NULL;

	/* Only DeviceIDs show which struct was hashed: without any, both are tried. */
	return state_file_checksum(
		file, data, kind == DOC_LIST ? &shapes[1] : shapes, kind == DOC_NULL ? 2 : 1, text, ret);
}

static int read_device_state(struct state_file *file, const struct machine *machine,
	struct kubelet_state *state, struct notes *notes, struct err *err)
{
	struct state_doubts doubts = {.notes = notes};
	CLEANUP(devices_reader_release)
	struct devices_reader rd = {
		.machine = machine, .state = state, .doubts = &doubts, .absent = cpuset_new()};
	struct state_members top = {.map = &file->top, .err = err}, m = {.err = err};
	const struct doc *entries, *registered;
	struct checksum_match match;
	struct doc *data;
	int no_checksum;

	m.map = state_member(&top, "Data", DOC_MAP);
	if (top.r < 0)
		return top.r;
	if (!m.map)
		return err_set(err, -EINVAL, "no Data");
	entries = state_member(&m, "PodDeviceEntries", DOC_LIST);
	registered = state_member(&m, "RegisteredDevices", DOC_MAP);
	if (m.r < 0)
		return m.r;
	/* Before the ids are moved out of the file. */
	no_checksum = compute_device_checksum(file, NULL, &match);
	if (entries)
		read_device_entries(&rd, entries);
	note_shared_devices(&state->allocations, &doubts);
	/* The same items as m.map and `registered`, which are const: the ids are moved out of them. */
	data = &file->top.items[m.map - file->top.items];
	if (registered)
		take_registered_devices(&rd, &data->items[registered - data->items]);
	hold_unread_devices(&rd);
	state_doubts_end(&doubts);
	state_note_absent_nodes(rd.absent, notes);
	if (no_checksum < 0)
		notes_add(notes, STATE_NO_CHECKSUM);
	else
		state_file_verify(file, &match, notes);
	state->allocations.devices_known = true;
	return 0;
}

static unsigned find_device_format(const struct state_file *file)
{
	const struct doc *data = doc_get_fold(&file->top, "Data");
	const struct doc *entries = data ? doc_get_fold(data, "PodDeviceEntries") : NULL;
	const struct doc *first = entries && entries->n_items > 0 ? &entries->items[0] : NULL;
	const struct doc *ids = first && first->kind == DOC_MAP ? doc_get_fold(first, "DeviceIDs") : NULL;

	return ids && ids->kind == DOC_LIST ? 1 : 2;
}

const struct state_kind state_devices = {.max = STATE_DEVICES_FILE_MAX,
	.read = read_device_state,
	.checksum = compute_device_checksum,
	.format = find_device_format};

/* SPDX-License-Identifier: Apache-2.0 */
/* The device manager's state file, device-plugins/kubelet_internal_checkpoint. */
#include "agent/node/observe/state_file.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/strbuf.h"
#include "common/text.h"
#include "common/vec.h"

#define NO_AFFINITY (-1) /* the key of devices without NUMA affinity */

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

static void listing_release(struct listing *l)
{
	free(l->items);
}

static int list_ids(const struct doc *ids, int node, struct listing *listing, struct err *err)
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

static int list_by_node(const struct doc *devices, const struct machine *machine, struct listing *listing,
	struct notes *notes, struct err *err)
{
	DOC_FOREACH (ids, devices) {
		int64_t node;
		int r;

		if (checksum_integer_key(ids->key, &node) < 0 || node < NO_AFFINITY ||
			node >= MACHINE_MAX_NODES)
			return err_set(err, -EINVAL, "'%.50s' is not a NUMA node id", ids->key);
		if (machine && node >= 0 && machine_node_index(machine, (unsigned)node) < 0) {
			notes_add(notes,
				"NUMA node %d does not exist on this machine; its devices count as without affinity",
				(int)node);
			node = NO_AFFINITY;
		}
		r = list_ids(ids, (int)node, listing, err);
		if (r < 0)
			return err_wrap(err, r, "node %s", ids->key);
	}
	return 0;
}

/* All devices of a DeviceIDs member, sorted by id. */
static int list_devices(const struct doc *devices, const struct machine *machine, struct listing *listing,
	struct notes *notes, struct err *err)
{
	int r = devices->kind == DOC_MAP ? list_by_node(devices, machine, listing, notes, err)
					 : list_ids(devices, NO_AFFINITY, listing, err);

	if (r == 0 && listing->n_items > 1)
		qsort(listing->items, listing->n_items, sizeof(*listing->items), compare_listed);
	return r;
}

/* One block per set of NUMA nodes among the devices of the listing (sorted by id). */
static void add_devices(struct allocation *item, const char *resource, const struct listing *listing)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = cpuset_new();

	for (size_t i = 0; i < listing->n_items; i++) {
		const struct listed *device = &listing->items[i];
		bool last = i + 1 == listing->n_items || strcmp(device->id, device[1].id) != 0;

		if (device->node != NO_AFFINITY)
			cpuset_set(nodes, (unsigned)device->node);
		if (!last)
			continue;
		device_blocks_add(&item->devices, &item->n_devices, &item->devices_size, resource, nodes,
			false, device->id);
		hwloc_bitmap_zero(nodes);
	}
}

static int read_entry(const struct doc *d, const struct machine *machine, struct allocations *a,
	struct notes *notes, struct err *err)
{
	CLEANUP(listing_release) struct listing listing = {0};
	CLEANUP(strbuf_release) struct strbuf response = STRBUF_INIT(STATE_DEVICES_FILE_MAX);
	struct state_members m = {.map = d, .err = err};
	const struct doc *devices = doc_get_fold(d, "DeviceIDs");
	const char *pod = state_string(&m, "PodUID"), *container = state_string(&m, "ContainerName");
	const char *resource = state_string(&m, "ResourceName"), *encoded = state_string(&m, "AllocResp");
	struct allocation *item;
	int r;

	if (m.r < 0)
		return m.r;
	if (!*pod || !*container || !*resource)
		return err_set(err, -EINVAL, "PodUID, ContainerName or ResourceName is missing");
	if (base64_decode(encoded, &response) < 0)
		return err_set(err, -EINVAL, "AllocResp is not base64");
	r = devices ? list_devices(devices, machine, &listing, notes, err) : 0;
	if (r < 0)
		return err_wrap(err, r, "DeviceIDs");
	item = allocations_add_container(a, pod, container);
	add_devices(item, resource, &listing);
	return 0;
}

static int read_entries(const struct doc *entries, const struct machine *machine, struct allocations *a,
	struct notes *notes, struct err *err)
{
	CLEANUP(allocations_release) struct allocations listed = {0};

	DOC_FOREACH (d, entries) {
		int r = read_entry(d, machine, &listed, notes, err);

		if (r < 0)
			return err_wrap(err, r, "PodDeviceEntries[%td]", d - entries->items);
	}
	/* An entry is one resource of a container; an item is the whole container. */
	allocations_merge(a, &listed);
	return 0;
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

/* Two containers of one pod may hold a device (an init container's devices are reused), two pods may not. */
static int check_holders(const struct allocations *a, struct err *err)
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
			return err_set(err, -EINVAL,
				"pods '%.60s' and '%.60s' both hold %.80s device '%.80s'", one->pod_uid,
				two->pod_uid, one->resource, one->id);
	}
	return 0;
}

static int read_registration(const struct doc *d, struct device_registration *reg, struct err *err)
{
	CLEANUP(listing_release) struct listing listing = {0};
	int r = list_ids(d, NO_AFFINITY, &listing, err);

	if (r < 0)
		return r;
	text_set(&reg->resource, d->key);
	for (size_t i = 0; i < listing.n_items; i++)
		strv_push(&reg->ids, listing.items[i].id);
	strv_sort(&reg->ids);
	return 0;
}

static int read_registered(const struct doc *registered, struct kubelet_state *state, struct err *err)
{
	CLEANUP(freep) const struct doc **sorted = doc_sorted(registered);

	for (size_t i = 0; i < registered->n_items; i++) {
		struct device_registration *reg = vec_push(
			&state->registered, &state->n_registered, &state->registered_size, sizeof(*reg));
		int r = read_registration(sorted[i], reg, err);

		if (r < 0)
			return err_wrap(err, r, "RegisteredDevices: %.100s", sorted[i]->key);
	}
	return 0;
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

static int compute_checksum(const struct state_file *file, struct strbuf *text, struct checksum_match *ret)
{
	static const struct checksum_shape shapes[] = {{&go_data, names}, {&go_v1_data, names}};
	const struct doc *data = doc_get_fold(&file->top, "Data");
	const struct doc *entries = doc_get_fold(data, "PodDeviceEntries");
	enum doc_kind kind = entries ? devices_kind(entries) : DOC_NULL;

	return state_file_checksum(
		file, data, kind == DOC_LIST ? &shapes[1] : shapes, kind == DOC_NULL ? 2 : 1, text, ret);
}

static int check_checksum(const struct state_file *file, struct notes *notes, struct err *err)
{
	struct checksum_match match;
	int r = compute_checksum(file, NULL, &match);

	if (r < 0)
		return err_set(err, r, "cannot take the checksum of this content");
	state_file_verify(file, &match, notes);
	return 0;
}

static int read_file(const struct state_file *file, const struct machine *machine,
	struct kubelet_state *state, struct notes *notes, struct err *err)
{
	struct state_members top = {.map = &file->top, .err = err}, m = {.err = err};
	const struct doc *entries, *registered;
	int r;

	m.map = state_member(&top, "Data", DOC_MAP);
	if (top.r < 0)
		return top.r;
	if (!m.map)
		return err_set(err, -EINVAL, "no Data");
	entries = state_member(&m, "PodDeviceEntries", DOC_LIST);
	registered = state_member(&m, "RegisteredDevices", DOC_MAP);
	if (m.r < 0)
		return m.r;
	r = entries ? read_entries(entries, machine, &state->allocations, notes, err) : 0;
	if (r < 0)
		return r;
	r = check_holders(&state->allocations, err);
	if (r < 0)
		return r;
	r = registered ? read_registered(registered, state, err) : 0;
	if (r < 0)
		return r;
	r = check_checksum(file, notes, err);
	if (r < 0)
		return r;
	state->allocations.devices_known = true;
	return 0;
}

const struct state_kind state_devices = {
	.max = STATE_DEVICES_FILE_MAX, .read = read_file, .checksum = compute_checksum};

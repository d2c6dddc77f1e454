/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/objects/claim_devices.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define ATTRIBUTE_NUMA_NODE "resource.kubernetes.io/numaNode"
#define ATTRIBUTE_ROOT      "resource.kubernetes.io/pcieRoot"

static void device_release(struct sliced_device *device)
{
	free(device->name);
	hwloc_bitmap_free(device->nodes);
	free(device);
}

static void sliced_claim_release(struct sliced_claim *c)
{
	free(c->driver);
	free(c->namespace);
	strv_release(&c->pods);
	strv_release(&c->devices);
}

void claim_devices_release(struct claim_devices *d)
{
	for (size_t i = 0; i < d->n_devices; i++)
		device_release(d->devices[i]);
	for (size_t i = 0; i < d->n_claims; i++)
		sliced_claim_release(&d->claims[i]);
	free(d->devices);
	free(d->claims);
	name_table_release(&d->by_name);
	*d = (struct claim_devices){0};
}

/* ---- ResourceSlices */

static void add_numa_node(const struct doc *number, hwloc_bitmap_t *nodes)
{
	uint64_t node;

	if (doc_uint64(number, &node) < 0 || node >= MACHINE_MAX_NODES)
		return;
	if (!*nodes)
		*nodes = cpuset_new();
	cpuset_set(*nodes, (unsigned)node);
}

/* {"int": 0}, or {"ints": [0, 1]}: the device is near each. Drivers write -1 for unknown. */
static hwloc_bitmap_t read_nodes(const struct doc *attribute)
{
	const struct doc *list = doc_get(attribute, "ints");
	hwloc_bitmap_t nodes = NULL;

	add_numa_node(doc_get(attribute, "int"), &nodes);
	DOC_FOREACH_ITEM (item, list)
		add_numa_node(item, &nodes);
	return nodes;
}

static void read_root(const struct doc *attribute, char ret[PCI_ROOT_SIZE])
{
	struct pci_root root;
	const char *end = pci_root_parse(doc_text(attribute, "string"), &root);

	if (end && !*end)
		pci_root_print(&root, ret);
}

void claim_devices_add_slice(struct claim_devices *d, const struct doc *slice)
{
	const struct doc *spec = doc_get(slice, "spec"), *devices = doc_get(spec, "devices");

	DOC_FOREACH_ITEM (item, devices) {
		const struct doc *attributes = doc_get(item, "attributes");
		struct sliced_device *device = xcalloc(1, sizeof(*device));

		/* Kubernetes 1.32 and 1.33 have the attributes below "basic". */
		attributes = attributes ? attributes : doc_get(doc_get(item, "basic"), "attributes");
		device->name = xasprintf("%s/%s/%s", doc_text(spec, "driver"),
			doc_text(doc_get(spec, "pool"), "name"), doc_text(item, "name"));
		device->nodes = read_nodes(doc_get(attributes, ATTRIBUTE_NUMA_NODE));
		read_root(doc_get(attributes, ATTRIBUTE_ROOT), device->root);
		if (name_table_find(&d->by_name, device->name)) {
			device_release(device);
			continue;
		}
		*(struct sliced_device **)vec_push(
			&d->devices, &d->n_devices, &d->devices_size, sizeof(device)) = device;
		name_table_add(&d->by_name, device->name, device);
	}
}

/* ---- ResourceClaims */

/* The claim's entry for this driver. The claim's entries begin at index `first` of d->claims. */
static struct sliced_claim *find_or_add_entry(
	struct claim_devices *d, size_t first, const struct doc *claim, const char *driver)
{
	const struct doc *pods = doc_get(doc_get(claim, "status"), "reservedFor");
	struct sliced_claim *c;

	for (size_t i = first; i < d->n_claims; i++)
		if (!strcmp(d->claims[i].driver, driver))
			return &d->claims[i];
	c = vec_push(&d->claims, &d->n_claims, &d->claims_size, sizeof(*c));
	*c = (struct sliced_claim){.driver = xstrdup(driver),
		.namespace = xstrdup(doc_text(doc_get(claim, "metadata"), "namespace"))};
	DOC_FOREACH_ITEM (pod, pods)
		if (!strcmp(doc_text(pod, "resource"), "pods"))
			strv_push(&c->pods, doc_text(pod, "name"));
	return c;
}

void claim_devices_add_claim(struct claim_devices *d, const struct doc *claim)
{
	const struct doc *allocation = doc_get(doc_get(claim, "status"), "allocation");
	const struct doc *results = doc_get(doc_get(allocation, "devices"), "results");
	size_t first = d->n_claims;

	DOC_FOREACH_ITEM (item, results) {
		const char *driver = doc_text(item, "driver");

		strv_take(&find_or_add_entry(d, first, claim, driver)->devices,
			xasprintf("%s/%s/%s", driver, doc_text(item, "pool"), doc_text(item, "device")));
	}
}

/* ---- a node's state */

bool claim_devices_are_missing(const struct node_state *state)
{
	for (size_t i = 0; i < state->claims.n_items; i++)
		if (state->claims.items[i].n_addresses < state->claims.items[i].devices.n_items)
			return true;
	return false;
}

static bool is_for_pod(const struct sliced_claim *from, const struct claim *c)
{
	for (size_t i = 0; i < c->n_pods; i++)
		if (!strcmp(c->pods[i].namespace, from->namespace) &&
			strv_contains(&from->pods, c->pods[i].name))
			return true;
	return false;
}

static void place_devices(const struct claim_devices *d, const struct sliced_claim *from, struct claim *c)
{
	for (size_t i = 0; i < from->devices.n_items; i++) {
		const struct sliced_device *device = name_table_find(&d->by_name, from->devices.items[i]);

		if (device && (device->nodes || *device->root))
			claim_add_place(c, device->nodes, device->root);
	}
}

void claim_devices_apply(struct claim_devices *d, struct node_state *state)
{
	for (size_t i = 0; i < state->claims.n_items; i++) {
		struct claim *c = &state->claims.items[i];

		for (size_t k = 0; k < d->n_claims && c->n_places == 0; k++) {
			struct sliced_claim *from = &d->claims[k];

			/* The state has no names of claims. Each ResourceClaim is that of one claim only. */
			if (from->used || strcmp(from->driver, c->driver) != 0 ||
				from->devices.n_items != c->devices.n_items || !is_for_pod(from, c))
				continue;
			from->used = true;
			place_devices(d, from, c);
		}
	}
}

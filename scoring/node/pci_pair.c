/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/node/pci_pair.h"

#include "common/cleanup.h"
#include "common/resource.h"
#include "common/vec.h"

/* The two sides of a pair. */
enum side { SIDE_GPU, SIDE_NIC, SIDE_COUNT };

struct root_devices {
	struct pci_root root;
	size_t n[SIDE_COUNT];
};

/* Numbers of devices by root. Zeroed is empty. */
struct root_table {
	struct root_devices *items;
	size_t n_items, items_size;
	size_t total[SIDE_COUNT];
};

static void root_table_release(struct root_table *t)
{
	free(t->items);
}

/* False: the device is neither a GPU nor a NIC. */
static bool find_side(const struct pci_device *d, enum side *ret)
{
	*ret = d->kind == PCI_NIC ? SIDE_NIC : SIDE_GPU;
	return d->kind == PCI_NIC || d->kind == PCI_GPU || d->kind == PCI_ACCELERATOR;
}

static struct root_devices *find_root_devices(const struct root_table *t, const struct pci_root *root)
{
	for (size_t i = 0; i < t->n_items; i++)
		if (pci_root_compare(&t->items[i].root, root) == 0)
			return &t->items[i];
	return NULL;
}

static void count_root_device(struct root_table *t, const struct pci_device *d, enum side side)
{
	struct root_devices *r = find_root_devices(t, &d->root);

	if (!r) {
		r = vec_push(&t->items, &t->n_items, &t->items_size, sizeof(*r));
		r->root = d->root;
	}
	r->n[side]++;
	t->total[side]++;
}

/* The pairs of n[SIDE_GPU] GPUs and n[SIDE_NIC] NICs, if all are below one root. */
static size_t pairs_of(const size_t n[SIDE_COUNT])
{
	return n[SIDE_GPU] < n[SIDE_NIC] ? n[SIDE_GPU] : n[SIDE_NIC];
}

static size_t count_pairs(const struct root_table *t)
{
	size_t pairs = 0;

	for (size_t i = 0; i < t->n_items; i++)
		pairs += pairs_of(t->items[i].n);
	return pairs;
}

/* The plugin's device if it is a GPU or a NIC whose root is known, or NULL. */
static const struct pci_device *find_device(
	const struct node_state *state, const char *resource, const char *id, enum side *ret_side)
{
	const struct pci_address *address = device_addresses_find(&state->device_addresses, resource, id);
	const struct pci_device *d = address ? pci_devices_find(&state->machine.pci, address) : NULL;

	return d && d->root_known && find_side(d, ret_side) ? d : NULL;
}

/* ---- free pairs */

struct pair_search {
	const struct node_state *state;
	struct device_index registered, held;
	struct root_table all;  /* the registered devices of the resources that are searched */
	struct root_table free; /* of `all`: the free devices and the devices of the pod itself */
};

static void pair_search_init(struct pair_search *s, const struct node_state *state)
{
	*s = (struct pair_search){.state = state};
	device_index_registered(&state->allocations, &s->registered);
	device_index_held(&state->allocations, &s->held);
}

static void pair_search_release(struct pair_search *s)
{
	device_index_release(&s->registered);
	device_index_release(&s->held);
	root_table_release(&s->all);
	root_table_release(&s->free);
}

static bool has_device(const struct allocation *items, size_t n_items, const char *resource, const char *id)
{
	for (size_t i = 0; i < n_items; i++)
		for (size_t d = 0; d < items[i].n_devices; d++) {
			const struct device_block *b = &items[i].devices[d];

			for (size_t k = 0; !strcmp(b->resource, resource) && k < b->ids.n_items; k++)
				if (!strcmp(b->ids.items[k], id))
					return true;
		}
	return false;
}

/* Adds the resource's registered devices. The items' devices count as free. */
static void add_resource_devices(
	struct pair_search *s, const char *resource, const struct allocation *items, size_t n_items)
{
	size_t end, at = device_index_range(&s->registered, resource, &end);

	for (; at < end; at++) {
		const char *id = s->registered.items[at].id;
		enum side side;
		const struct pci_device *d = find_device(s->state, resource, id, &side);

		if (!d)
			continue;
		count_root_device(&s->all, d, side);
		if (!device_index_find(&s->held, resource, id) || has_device(items, n_items, resource, id))
			count_root_device(&s->free, d, side);
	}
}

static bool wants_devices(const struct resource_list *wanted)
{
	for (size_t i = 0; i < wanted->n_items; i++)
		if (!resource_name_is_native(wanted->items[i].name) && wanted->items[i].quantity.nano > 0)
			return true;
	return false;
}

enum pci_pair pci_pair_find(const struct node_state *state, const struct resource_list *wanted)
{
	CLEANUP(pair_search_release) struct pair_search s = {.state = NULL};

	if (state->device_addresses.n_items == 0 || !wants_devices(wanted))
		return PCI_PAIR_NOT_WANTED;
	pair_search_init(&s, state);
	for (size_t i = 0; i < wanted->n_items; i++)
		if (wanted->items[i].quantity.nano > 0)
			add_resource_devices(&s, wanted->items[i].name, NULL, 0);
	if (pairs_of(s.all.total) == 0)
		return PCI_PAIR_NOT_WANTED;
	return count_pairs(&s.free) > 0 ? PCI_PAIR_FREE : PCI_PAIR_NONE;
}

/* ---- held pairs */

/* What the items hold. */
struct holding {
	struct root_table roots;
	const struct pci_device **devices; /* GPUs and NICs */
	size_t n_devices, devices_size;
	struct strv resources; /* of these devices */
};

static void holding_release(struct holding *h)
{
	root_table_release(&h->roots);
	free(h->devices);
	strv_release(&h->resources);
}

/* A container may have the device of an init container: each device counts once. */
static void add_held_device(
	struct holding *h, const char *resource, const struct pci_device *d, enum side side)
{
	for (size_t i = 0; i < h->n_devices; i++)
		if (h->devices[i] == d)
			return;
	*(const struct pci_device **)vec_push(
		&h->devices, &h->n_devices, &h->devices_size, sizeof(*h->devices)) = d;
	count_root_device(&h->roots, d, side);
	strv_push_new(&h->resources, resource);
}

/* What the items hold. False: the items hold another device of a resource of GPUs or NICs, whose root is unknown. */
static bool list_held_devices(
	const struct node_state *state, const struct allocation *items, size_t n_items, struct holding *ret)
{
	/* The first pass lists the resources of GPUs and NICs. The second pass finds devices of these resources whose root is unknown. */
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < n_items; i++)
			for (size_t b = 0; b < items[i].n_devices; b++) {
				const struct device_block *block = &items[i].devices[b];

				for (size_t k = 0; k < block->ids.n_items; k++) {
					enum side side;
					const struct pci_device *d = find_device(
						state, block->resource, block->ids.items[k], &side);

					if (d)
						add_held_device(ret, block->resource, d, side);
					else if (pass == 1 && strv_contains(&ret->resources, block->resource))
						return false;
				}
			}
	return true;
}

/* The first held device of the side `want` whose root has more held devices of this side than of the other. */
static const struct pci_device *find_unpaired_device(const struct holding *h, enum side want)
{
	for (size_t i = 0; i < h->n_devices; i++) {
		const struct root_devices *r = find_root_devices(&h->roots, &h->devices[i]->root);
		enum side side;

		if (find_side(h->devices[i], &side) && side == want && r->n[want] > pairs_of(r->n))
			return h->devices[i];
	}
	return NULL;
}

bool pci_pair_is_apart(
	const struct node_state *state, const struct allocation *items, size_t n_items, struct err *ret)
{
	CLEANUP(holding_release) struct holding h = {.devices = NULL};
	CLEANUP(pair_search_release) struct pair_search s = {.state = NULL};
	char gpu_root[PCI_ROOT_SIZE], nic_root[PCI_ROOT_SIZE];
	const struct pci_device *gpu, *nic;
	size_t pairs;

	if (state->device_addresses.n_items == 0 || !list_held_devices(state, items, n_items, &h))
		return false;
	pairs = count_pairs(&h.roots);
	/* Each device of one side has a partner. */
	if (pairs == pairs_of(h.roots.total))
		return false;
	pair_search_init(&s, state);
	for (size_t i = 0; i < h.resources.n_items; i++)
		add_resource_devices(&s, h.resources.items[i], items, n_items);
	/* The machine's devices do not allow more pairs. */
	if (pairs >= count_pairs(&s.all))
		return false;
	/* There are fewer pairs than GPUs and than NICs: a GPU and a NIC have no partner below their roots. */
	gpu = find_unpaired_device(&h, SIDE_GPU);
	nic = find_unpaired_device(&h, SIDE_NIC);
	pci_root_print(&gpu->root, gpu_root);
	pci_root_print(&nic->root, nic_root);
	err_set(ret, 0, "%s below %s, NIC below %s; %s has both free now", pci_kind_names[gpu->kind],
		gpu_root, nic_root, count_pairs(&s.free) > pairs ? "one root" : "no root");
	return true;
}

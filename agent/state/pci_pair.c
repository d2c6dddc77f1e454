/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/state/pci_pair.h"

#include "common/cleanup.h"
#include "common/vec.h"

enum side { SIDE_GPU, SIDE_NIC, SIDE_COUNT };

struct root_side {
	struct pci_root root;
	bool free[SIDE_COUNT];
};

struct search {
	const struct node_state *state;
	struct device_index registered, held;
	struct root_side *roots;
	size_t n_roots, roots_size;
	bool wanted[SIDE_COUNT], found;
};

static void search_release(struct search *s)
{
	device_index_release(&s->registered);
	device_index_release(&s->held);
	free(s->roots);
}

static bool find_side(const struct pci_device *d, enum side *ret)
{
	*ret = d->kind == PCI_NIC ? SIDE_NIC : SIDE_GPU;
	return d->kind == PCI_NIC || d->kind == PCI_GPU || d->kind == PCI_ACCELERATOR;
}

static void add_free(struct search *s, const struct pci_root *root, enum side side)
{
	struct root_side *r = NULL;

	for (size_t i = 0; i < s->n_roots && !r; i++)
		if (pci_root_compare(&s->roots[i].root, root) == 0)
			r = &s->roots[i];
	if (!r) {
		r = vec_push(&s->roots, &s->n_roots, &s->roots_size, sizeof(*r));
		r->root = *root;
	}
	r->free[side] = true;
	s->found = s->found || (r->free[SIDE_GPU] && r->free[SIDE_NIC]);
}

static void add_resource(struct search *s, const char *resource)
{
	size_t end, at = device_index_range(&s->registered, resource, &end);

	for (; at < end; at++) {
		const char *id = s->registered.items[at].id;
		const struct pci_address *address =
			device_addresses_find(&s->state->device_addresses, resource, id);
		const struct pci_device *d =
			address ? pci_devices_find(&s->state->machine.pci, address) : NULL;
		enum side side;

		if (!d || !find_side(d, &side))
			continue;
		s->wanted[side] = true;
		if (d->root_known && !device_index_find(&s->held, resource, id))
			add_free(s, &d->root, side);
	}
}

enum pci_pair pci_pair_find(const struct node_state *state, const struct resource_list *wanted)
{
	CLEANUP(search_release) struct search s = {.state = state};

	if (state->device_addresses.n_items == 0 || wanted->n_items < 2)
		return PCI_PAIR_NOT_WANTED;
	device_index_registered(&state->allocations, &s.registered);
	device_index_held(&state->allocations, &s.held);
	for (size_t i = 0; i < wanted->n_items; i++)
		if (wanted->items[i].quantity.nano > 0)
			add_resource(&s, wanted->items[i].name);
	if (!s.wanted[SIDE_GPU] || !s.wanted[SIDE_NIC])
		return PCI_PAIR_NOT_WANTED;
	return s.found ? PCI_PAIR_FREE : PCI_PAIR_NONE;
}

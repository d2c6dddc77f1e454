/* SPDX-License-Identifier: Apache-2.0 */
/* The PCI devices of a node below their roots, in the view of `nrtd show`. */
#include <stdlib.h>
#include <string.h>

#include "cli/report/show.h"
#include "common/cleanup.h"
#include "common/vec.h"
#include "common/xalloc.h"

/* ---- who has which device */

/* The use of the devices by their positions in the machine's list. */
struct use {
	const char *resource;
	enum show_use use;
	int holder;
};

/* NULL = the machine has no such device. */
static struct use *use_of_address(
	struct use *uses, const struct pci_devices *all, const struct pci_address *address)
{
	const struct pci_device *d = address ? pci_devices_find(all, address) : NULL;

	return d ? &uses[d - all->items] : NULL;
}

/* Sets the use of the block's devices; a later call replaces the use. */
static void set_uses(struct use *uses, const struct node_state *state, const struct device_block *block,
	enum show_use use, int holder)
{
	for (size_t i = 0; i < block->ids.n_items; i++) {
		const struct pci_address *address =
			device_addresses_find(&state->device_addresses, block->resource, block->ids.items[i]);
		struct use *u = use_of_address(uses, &state->machine.pci, address);

		if (u)
			*u = (struct use){block->resource, use, holder};
	}
}

/* A new array, which the caller frees. Free devices first: a device that a pod holds is registered, too. */
static struct use *make_uses(const struct show_view *v, const struct node_state *state)
{
	const struct pci_devices *all = &state->machine.pci;
	const struct allocations *a = &state->allocations;
	struct use *uses = xcalloc(all->n_items + 1, sizeof(*uses));
	enum show_use unheld = a->devices_known ? SHOW_USE_FREE : SHOW_USE_UNKNOWN;

	for (size_t i = 0; i < all->n_items; i++)
		uses[i].holder = SHOW_NOBODY;
	for (size_t i = 0; i < a->n_registered; i++)
		set_uses(uses, state, &a->registered[i], unheld, SHOW_NOBODY);
	for (size_t h = 0; h < v->n_holders; h++) {
		const struct show_holder *holder = &v->holders[h];
		const struct claim *claim = holder->claim;

		for (size_t i = 0; i < holder->n_items; i++)
			for (size_t d = 0; d < holder->items[i].n_devices; d++)
				set_uses(uses, state, &holder->items[i].devices[d], SHOW_USE_HELD, (int)h);
		for (size_t i = 0; claim && i < claim->n_addresses; i++) {
			struct use *u = use_of_address(uses, all, &claim->addresses[i]);

			if (u)
				*u = (struct use){u->resource, SHOW_USE_HELD, (int)h};
		}
	}
	return uses;
}

/* ---- the devices by root */

static int compare_roots(const struct pci_device *a, const struct pci_device *b)
{
	/* As unsigned, MACHINE_NONE comes last. */
	if (a->numa != b->numa)
		return (unsigned)a->numa < (unsigned)b->numa ? -1 : 1;
	if (a->root_known != b->root_known)
		return a->root_known ? -1 : 1;
	return a->root_known ? pci_root_compare(&a->root, &b->root) : 0;
}

static int compare_show_pci(const void *va, const void *vb)
{
	const struct pci_device *a = ((const struct show_pci *)va)->device;
	const struct pci_device *b = ((const struct show_pci *)vb)->device;
	int r = compare_roots(a, b);

	if (r != 0)
		return r;
	if (a->virtual_function != b->virtual_function)
		return a->virtual_function ? 1 : -1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return pci_address_compare(&a->address, &b->address);
}

static const struct show_node *find_node(const struct show_view *v, int numa)
{
	for (size_t i = 0; numa != MACHINE_NONE && i < v->n_nodes; i++)
		if (v->nodes[i].id == numa)
			return &v->nodes[i];
	return NULL;
}

static void add_root(struct show_view *v, size_t first)
{
	const struct pci_device *d = v->pci[first].device;
	struct show_root *root = vec_push(&v->roots, &v->n_roots, &v->roots_size, sizeof(*root));

	root->first = first;
	root->numa = d->numa;
	root->node = find_node(v, d->numa);
	if (d->root_known)
		pci_root_print(&d->root, root->name);
}

void show_fill_pci(struct show_view *v, const struct node_state *state)
{
	const struct pci_devices *all = &state->machine.pci;
	CLEANUP(freep) struct use *uses = make_uses(v, state);

	v->pci_known = state->machine.pci_known;
	for (size_t i = 0; i < all->n_items; i++) {
		const struct use *u = &uses[i];

		if (!all->items[i].virtual_function || u->resource || u->use == SHOW_USE_HELD)
			*(struct show_pci *)vec_push(&v->pci, &v->n_pci, &v->pci_size, sizeof(*v->pci)) =
				(struct show_pci){&all->items[i], u->resource, u->use, u->holder};
	}
	if (v->n_pci > 1)
		qsort(v->pci, v->n_pci, sizeof(*v->pci), compare_show_pci);
	for (size_t i = 0; i < v->n_pci; i++) {
		if (i == 0 || compare_roots(v->pci[i - 1].device, v->pci[i].device) != 0)
			add_root(v, i);
		v->roots[v->n_roots - 1].n_devices++;
	}
}

/* ---- texts */

void show_root_title(const struct show_root *root, struct strbuf *out)
{
	strbuf_addstr(out, *root->name ? root->name : "unknown root");
	if (root->numa == MACHINE_NONE)
		strbuf_addstr(out, "  NUMA node unknown");
	else
		strbuf_addf(out, "  NUMA %d", root->numa);
	if (root->node && *root->node->cpu_short)
		strbuf_addf(out, "  CPUs %s", root->node->cpu_short);
}

static void add_device(const struct show_view *v, const struct show_pci *p, struct strbuf *out)
{
	char address[PCI_ADDRESS_SIZE];

	pci_address_print(&p->device->address, address);
	strbuf_addf(out, "%s%s %s", out->len > 0 ? ", " : "", pci_kind_names[p->device->kind], address);
	if (p->device->names)
		strbuf_addf(out, " %s", p->device->names);
	if (p->use == SHOW_USE_FREE)
		strbuf_addstr(out, " free");
	else if (p->use == SHOW_USE_HELD)
		strbuf_addf(out, " held by %c", show_key(v, p->holder, ' '));
}

static const char *label_of(const struct show_view *v, const char *resource)
{
	for (size_t i = 0; resource && i < v->n_resources; i++)
		if (!strcmp(v->resources[i].name, resource))
			return v->resources[i].label;
	return resource;
}

static bool same_resource(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* Adds the number of virtual functions of the resource of pci[first]; nothing if an earlier function has added the number. */
static void add_functions(
	const struct show_view *v, const struct show_pci *pci, size_t n, size_t first, struct strbuf *out)
{
	const char *resource = pci[first].resource;
	size_t all = 0, free = 0;
	bool known = true;

	for (size_t i = 0; i < first; i++)
		if (pci[i].device->virtual_function && same_resource(pci[i].resource, resource))
			return;
	for (size_t i = first; i < n; i++)
		if (pci[i].device->virtual_function && same_resource(pci[i].resource, resource)) {
			all++;
			free += pci[i].use == SHOW_USE_FREE;
			known = known && pci[i].use != SHOW_USE_UNKNOWN;
		}
	strbuf_addf(
		out, "%s%s%s", out->len > 0 ? ", " : "", resource ? label_of(v, resource) : "claims", ": ");
	if (known)
		strbuf_addf(out, "%zu of ", free);
	strbuf_addf(out, "%zu virtual function%s%s", all, all == 1 ? "" : "s", known ? " free" : "");
}

void show_root_text(const struct show_view *v, const struct show_root *root, struct strbuf *out)
{
	const struct show_pci *pci = &v->pci[root->first];

	for (size_t i = 0; i < root->n_devices; i++)
		if (pci[i].device->virtual_function)
			add_functions(v, pci, root->n_devices, i, out);
		else
			add_device(v, &pci[i], out);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The PCI devices, as a section of the node state. It also has the PCI addresses of plugins' and claims' devices, and decides
 * nothing about admission.
 */
#include "scoring/node/node_state_sections.h"

#include <string.h>

#include "common/cleanup.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/node/node_state_codec.h"

#define UNKNOWN "-"

static const char kind_letters[PCI_KIND_COUNT + 1] = "gand"; /* upper-case for virtual functions */

/* ---- printing */

/* Whether `a` is the `n`-th address after `first`; bus and function count together as one number. */
static bool is_next_address(const struct pci_address *first, size_t n, const struct pci_address *a)
{
	size_t number = ((size_t)first->bus << 8 | first->function) + n;

	return a->domain == first->domain && ((size_t)a->bus << 8 | a->function) == number;
}

static void print_pci_addresses(struct strbuf *out, const struct pci_address *a, size_t n)
{
	char text[PCI_ADDRESS_SIZE];

	pci_address_print(a, text);
	strbuf_addstr(out, text);
	if (n > 1)
		strbuf_addf(out, "*%zu", n);
}

static void print_pci_numa(struct strbuf *out, int numa)
{
	if (numa == MACHINE_NONE)
		strbuf_addstr(out, "@" UNKNOWN);
	else
		strbuf_addf(out, "@%d", numa);
}

static bool have_same_root(const struct pci_device *a, const struct pci_device *b)
{
	return a->root_known == b->root_known &&
	       (!a->root_known || pci_root_compare(&a->root, &b->root) == 0);
}

static bool may_share_run(const struct pci_device *a, const struct pci_device *b)
{
	return a->kind == b->kind && a->virtual_function == b->virtual_function && a->numa == b->numa &&
	       !a->names && !b->names && have_same_root(a, b);
}

static void set_to_print(const struct pci_devices *all, const struct pci_address *address, bool *to_print)
{
	const struct pci_device *d = pci_devices_find(all, address);

	if (d)
		to_print[d - all->items] = true;
}

/* Per device whether the text has it: a virtual function only if a plugin or a claim has it. A new array. */
static bool *find_devices_to_print(const struct node_state *s)
{
	const struct pci_devices *all = &s->machine.pci;
	bool *to_print = xcalloc(all->n_items + 1, sizeof(*to_print));

	for (size_t i = 0; i < all->n_items; i++)
		to_print[i] = !all->items[i].virtual_function;
	for (size_t i = 0; i < s->device_addresses.n_items; i++)
		set_to_print(all, &s->device_addresses.items[i].address, to_print);
	for (size_t i = 0; i < s->claims.n_items; i++)
		for (size_t k = 0; k < s->claims.items[i].n_addresses; k++)
			set_to_print(all, &s->claims.items[i].addresses[k], to_print);
	return to_print;
}

/* The number of devices from all->items[at] on that one run can have. */
static size_t run_length(const struct pci_devices *all, const bool *to_print, size_t at)
{
	size_t n = 1;

	while (at + n < all->n_items && to_print[at + n] &&
		may_share_run(&all->items[at], &all->items[at + n]) &&
		is_next_address(&all->items[at].address, n, &all->items[at + n].address))
		n++;
	return n;
}

static void print_pci_names(struct strbuf *out, const char *names)
{
	for (const char *at = names; at && *at; at += strspn(at, " ")) {
		size_t len = strcspn(at, " ");

		strbuf_addf(out, "=%.*s", (int)len, at);
		at += len;
	}
}

/* The root of all->items[first] and the root's devices: "pci0000:16@0,g0000:17:00.0". Sets to_print[] of these
 * devices to false, so that the root is printed once. */
static void print_pci_root(struct strbuf *out, const struct pci_devices *all, bool *to_print, size_t first)
{
	const struct pci_device *root = &all->items[first];
	char text[PCI_ROOT_SIZE] = UNKNOWN;

	if (root->root_known)
		pci_root_print(&root->root, text);
	strbuf_addf(out, "%s%s", out->len > 0 ? "|" : "", text);
	print_pci_numa(out, root->numa);
	for (size_t i = first, n; i < all->n_items; i += n) {
		const struct pci_device *d = &all->items[i];
		char letter = kind_letters[d->kind];

		n = 1; /* or the length of the run that begins here */
		if (!to_print[i] || !have_same_root(d, root))
			continue;
		n = run_length(all, to_print, i);
		strbuf_addch(out, ',');
		strbuf_addch(out, d->virtual_function ? (char)(letter - 'a' + 'A') : letter);
		print_pci_addresses(out, &d->address, n);
		if (d->numa != root->numa)
			print_pci_numa(out, d->numa);
		print_pci_names(out, d->names);
		memset(to_print + i, false, n);
	}
}

/* The PCI address of the resource's device at this position of the text; NULL = unknown. */
static const struct pci_address *address_at(
	const struct node_state_printer *p, const struct printed_resource *d, size_t at)
{
	const struct device_ref *ref = at < d->n ? &p->registered.items[d->first + at]
						 : &p->held.items[d->first_held_only + at - d->n];

	return device_addresses_find(&p->state->device_addresses, ref->block->resource, ref->id);
}

/* The devices of one resource by their positions: "A0=0000:17:00.2*8,9=0000:17:02.0". */
static void print_pci_resource(const struct node_state_printer *p, struct strbuf *out, size_t resource)
{
	const struct printed_resource *d = &p->printed[resource];
	size_t n_devices = d->n + d->n_held_only;
	bool is_first = true;

	for (size_t at = 0, n; at < n_devices; at += n) {
		const struct pci_address *first = address_at(p, d, at), *next;

		n = 1; /* or the length of the run of addresses that begins here */
		if (!first)
			continue;
		while (at + n < n_devices && (next = address_at(p, d, at + n)) &&
			is_next_address(first, n, next))
			n++;
		if (is_first) {
			strbuf_addstr(out, out->len > 0 ? "|" : "");
			token_add_letters(out, 'A', resource);
		} else {
			strbuf_addch(out, ',');
		}
		is_first = false;
		strbuf_addf(out, "%zu=", at);
		print_pci_addresses(out, first, n);
	}
}

/* The devices of one claim: "#2=0000:17:00.0,0000:19:00.0". */
static void print_pci_claim(struct strbuf *out, const struct claim *c, size_t position)
{
	for (size_t i = 0; i < c->n_addresses; i++) {
		if (i == 0)
			strbuf_addf(out, "%s#%zu=", out->len > 0 ? "|" : "", position);
		else
			strbuf_addch(out, ',');
		print_pci_addresses(out, &c->addresses[i], 1);
	}
}

/* The section decides nothing about admission: rather than too long a text, there is no section. */
static bool print_pci(const struct node_state_printer *p)
{
	const struct node_state *s = p->state;
	const struct pci_devices *all = &s->machine.pci;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(NODE_STATE_MAX_PCI);
	CLEANUP(freep) bool *to_print = find_devices_to_print(s);

	if (!s->machine.pci_known)
		return false;
	for (size_t i = 0; i < all->n_items; i++)
		if (to_print[i])
			print_pci_root(&out, all, to_print, i);
	for (size_t i = 0; i < p->resources.n_items; i++)
		print_pci_resource(p, &out, i);
	for (size_t i = 0; i < s->claims.n_items; i++)
		print_pci_claim(&out, &s->claims.items[i], i);
	if (strbuf_error(&out) < 0 || p->out->len + out.len > NODE_STATE_TEXT_MAX)
		return false;
	strbuf_add(p->out, out.text, out.len);
	return true;
}

/* ---- parsing */

static struct pci_address read_address(struct token_reader *r)
{
	struct pci_address address = {0};
	const char *end = pci_address_parse(r->at, &address);
	char text[PCI_ADDRESS_SIZE];

	/* Other spellings are refused, so that a state gives the text it was parsed from. */
	if (end)
		pci_address_print(&address, text);
	if (!end || strlen(text) != (size_t)(end - r->at) || strncmp(text, r->at, strlen(text)) != 0)
		token_reader_fail(r, "no PCI address");
	else
		r->at = end;
	return address;
}

static int read_pci_numa(struct node_state_parser *p)
{
	struct token_reader *r = &p->reader;
	int numa;

	token_reader_expect(r, '@');
	if (token_reader_skip_word(r, UNKNOWN))
		return MACHINE_NONE;
	numa = (int)token_reader_number(r, MACHINE_MAX_NODES - 1);
	if (!r->error && machine_node_index(&p->state.machine, (unsigned)numa) < 0)
		token_reader_fail(r, "there is no NUMA node %d", numa);
	return numa;
}

/* Two names at most, as pci_names() has them. */
static char *read_pci_names(struct token_reader *r)
{
	CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT(PCI_NAMES_MAX);

	while (token_reader_skip(r, '=')) {
		CLEANUP(freep) char *name = token_reader_name(r);

		if (!r->error && !pci_is_name(name))
			token_reader_fail(r, "not a device's name");
		if (!r->error)
			strbuf_addf(&names, "%s%s", names.len > 0 ? " " : "", name);
	}
	if (strbuf_error(&names) < 0)
		token_reader_fail(r, "the names are too long");
	return !r->error && names.len > 0 ? strbuf_detach(&names) : NULL;
}

/* The length of a run of addresses: "*8", or 1. 0 after a failure: for example if the last address would exceed bus ff. */
static size_t read_run_length(struct token_reader *r, const struct pci_address *first, size_t max)
{
	size_t n = token_reader_skip(r, '*') ? (size_t)token_reader_number(r, max) : 1;

	if (n == 0 || n > max || ((size_t)first->bus << 8 | first->function) + n > 0x10000)
		token_reader_fail(r, "an invalid number of addresses");
	return r->error ? 0 : n;
}

static struct pci_address address_after(const struct pci_address *first, size_t n)
{
	size_t number = ((size_t)first->bus << 8 | first->function) + n;

	return (struct pci_address){first->domain, (uint8_t)(number >> 8), (uint8_t)number};
}

/* One run of devices below the root, with the root's NUMA node unless the run has its own. */
static void read_pci_devices(struct node_state_parser *p, const struct pci_device *root)
{
	struct token_reader *r = &p->reader;
	struct pci_devices *all = &p->state.machine.pci;
	struct pci_device first = *root;
	char lower = (char)(*r->at | ('a' - 'A'));
	const char *letter = *r->at ? strchr(kind_letters, lower) : NULL;
	CLEANUP(freep) char *names = NULL;
	size_t n;

	if (!letter) {
		token_reader_fail(r, "an unknown kind of PCI device");
		return;
	}
	first.kind = (enum pci_kind)(letter - kind_letters);
	first.virtual_function = *r->at >= 'A' && *r->at <= 'Z';
	r->at++;
	first.address = read_address(r);
	n = read_run_length(r, &first.address, PCI_DEVICES_MAX - all->n_items);
	if (*r->at == '@')
		first.numa = read_pci_numa(p);
	names = read_pci_names(r);
	if (names && n > 1)
		token_reader_fail(r, "several PCI devices with one name");
	for (size_t i = 0; i < n && !r->error; i++) {
		struct pci_device *d = vec_push(&all->items, &all->n_items, &all->items_size, sizeof(*d));

		*d = first;
		d->address = address_after(&first.address, i);
		d->names = TAKE(names);
	}
}

static void read_pci_root(struct node_state_parser *p)
{
	struct token_reader *r = &p->reader;
	struct pci_device root = {.minor = -1, .root_known = !token_reader_skip_word(r, UNKNOWN)};
	const char *end;

	if (root.root_known) {
		end = pci_root_parse(r->at, &root.root);
		if (!end)
			token_reader_fail(r, "no PCIe root");
		else
			r->at = end;
	}
	root.numa = read_pci_numa(p);
	while (token_reader_skip(r, ','))
		read_pci_devices(p, &root);
}

static void read_pci_resource(struct node_state_parser *p)
{
	struct token_reader *r = &p->reader;
	size_t resource = token_reader_letters(r, 'A', p->resources.n_items), n_devices, at, n;

	if (r->error)
		return;
	n_devices = p->first_device[resource + 1] - p->first_device[resource];
	if (n_devices == 0)
		token_reader_fail(r, "a resource without devices");
	do {
		struct pci_address first;

		at = (size_t)token_reader_number(r, n_devices > 0 ? n_devices - 1 : 0);
		token_reader_expect(r, '=');
		first = read_address(r);
		n = read_run_length(r, &first, n_devices - at);
		for (size_t i = 0; i < n && !r->error; i++) {
			struct pci_address address = address_after(&first, i);
			char id[NODE_STATE_ID_SIZE];

			node_state_id(at + i, id);
			if (p->state.device_addresses.n_items == NODE_STATE_MAX_DEVICES)
				token_reader_fail(r, "too many PCI addresses");
			else
				device_addresses_add(&p->state.device_addresses, p->resources.items[resource],
					id, &address);
		}
	} while (token_reader_skip(r, ','));
}

static void read_pci_claim(struct node_state_parser *p)
{
	struct token_reader *r = &p->reader;
	struct claims *claims = &p->state.claims;
	size_t at = (size_t)token_reader_number(r, NODE_STATE_MAX_DEVICES);

	token_reader_expect(r, '=');
	if (!r->error && at >= claims->n_items)
		token_reader_fail(r, "there is no claim %zu", at);
	if (r->error)
		return;
	do {
		struct pci_address address = read_address(r);

		if (!r->error)
			claim_add_address(&claims->items[at], &address);
	} while (token_reader_skip(r, ','));
}

static void parse_pci(struct node_state_parser *p)
{
	struct token_reader *r = &p->reader;
	struct pci_devices *all = &p->state.machine.pci;
	size_t n;

	p->state.machine.pci_known = true;
	if (!*r->at || *r->at == ';')
		return;
	do {
		if (token_reader_skip(r, '#'))
			read_pci_claim(p);
		else if (*r->at >= 'A' && *r->at <= 'Z')
			read_pci_resource(p);
		else
			read_pci_root(p);
	} while (token_reader_skip(r, '|'));
	n = all->n_items;
	pci_devices_sort(all); /* also drops devices with equal addresses */
	if (all->n_items < n)
		token_reader_fail(r, "a PCI address comes twice");
	n = p->state.device_addresses.n_items;
	device_addresses_sort(&p->state.device_addresses);
	for (size_t i = 1; i < n; i++) {
		const struct device_address *d = &p->state.device_addresses.items[i];

		if (!strcmp(d[-1].id, d->id) && !strcmp(d[-1].resource, d->resource))
			token_reader_fail(r, "a device has two PCI addresses");
	}
}

const struct node_state_section node_state_pci_sections[] = {
	{"?pci", false, print_pci, parse_pci},
	{0},
};

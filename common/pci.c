/* SPDX-License-Identifier: Apache-2.0 */
#include "common/pci.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/vec.h"
#include "common/xalloc.h"

/* ---- addresses and roots */

/* The hexadecimal number of `min` to `max` digits at *p, advanced past it. */
static bool parse_hex_digits(const char **p, size_t min, size_t max, uint32_t *ret)
{
	size_t n = 0;

	*ret = 0;
	for (; n < max && isxdigit((unsigned char)**p); n++, (*p)++) {
		char c = **p;

		*ret = *ret << 4 | (uint32_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	return n >= min;
}

/* Whether the character is at *p, which is then advanced past it. */
static bool skip_char(const char **p, char c)
{
	bool found = **p == c;

	*p += found;
	return found;
}

void pci_address_print(const struct pci_address *a, char text[PCI_ADDRESS_SIZE])
{
	snprintf(text, PCI_ADDRESS_SIZE, "%04x:%02x:%02x.%x", a->domain, a->bus, a->function >> 3u,
		a->function & 7u);
}

const char *pci_address_parse(const char *text, struct pci_address *ret)
{
	uint32_t domain, bus, device, function;
	char between;

	if (!parse_hex_digits(&text, 4, 8, &domain))
		return NULL;
	between = *text; /* "0000:17:00.0" or "0000-17-00-0" */
	if ((between != ':' && between != '-') || !skip_char(&text, between) ||
		!parse_hex_digits(&text, 2, 2, &bus) || !skip_char(&text, between) ||
		!parse_hex_digits(&text, 2, 2, &device) || device > 0x1f ||
		!skip_char(&text, between == ':' ? '.' : '-') || !parse_hex_digits(&text, 1, 1, &function) ||
		function > 7)
		return NULL;
	*ret = (struct pci_address){domain, (uint8_t)bus, (uint8_t)(device << 3 | function)};
	return text;
}

int pci_address_compare(const struct pci_address *a, const struct pci_address *b)
{
	if (a->domain != b->domain)
		return a->domain < b->domain ? -1 : 1;
	if (a->bus != b->bus)
		return a->bus < b->bus ? -1 : 1;
	return (a->function > b->function) - (a->function < b->function);
}

void pci_root_print(const struct pci_root *root, char text[PCI_ROOT_SIZE])
{
	snprintf(text, PCI_ROOT_SIZE, "pci%04x:%02x", root->domain, root->bus);
}

const char *pci_root_parse(const char *text, struct pci_root *ret)
{
	uint32_t domain, bus;

	if (strncmp(text, "pci", 3) != 0)
		return NULL;
	text += 3;
	if (!parse_hex_digits(&text, 4, 8, &domain) || !skip_char(&text, ':') ||
		!parse_hex_digits(&text, 2, 2, &bus))
		return NULL;
	*ret = (struct pci_root){domain, (uint8_t)bus};
	return text;
}

int pci_root_compare(const struct pci_root *a, const struct pci_root *b)
{
	if (a->domain != b->domain)
		return a->domain < b->domain ? -1 : 1;
	return (a->bus > b->bus) - (a->bus < b->bus);
}

/* ---- devices */

const char *const pci_kind_names[PCI_KIND_COUNT] = {"GPU", "accelerator", "NIC", "NVMe"};

bool pci_kind_of(unsigned class, unsigned vendor, enum pci_kind *ret)
{
	switch (class >> 8) {
	case 0x01: /* mass storage */
		*ret = PCI_NVME;
		return class == 0x0108;
	case 0x02: /* network */
		*ret = PCI_NIC;
		return true;
	case 0x03: /* display; not of ASPEED or Matrox */
		*ret = PCI_GPU;
		return vendor != 0x1a03 && vendor != 0x102b;
	case 0x0b: /* co-processor */
		*ret = PCI_ACCELERATOR;
		return class == 0x0b40;
	case 0x0c: /* serial bus */
		*ret = PCI_NIC;
		return class == 0x0c06; /* InfiniBand */
	case 0x12:                      /* processing accelerator */
		*ret = PCI_ACCELERATOR;
		return true;
	default:
		return false;
	}
}

bool pci_is_name(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i]))
			return false;
	return len > 0 && len < 64;
}

static void release_device(struct pci_device *d)
{
	free(d->names);
	free(d->uuid);
}

void pci_devices_release(struct pci_devices *d)
{
	for (size_t i = 0; i < d->n_items; i++)
		release_device(&d->items[i]);
	free(d->items);
	*d = (struct pci_devices){0};
}

void pci_devices_copy(const struct pci_devices *from, struct pci_devices *ret)
{
	vec_grow(&ret->items, &ret->items_size, from->n_items, sizeof(*ret->items));
	for (size_t i = 0; i < from->n_items; i++) {
		const struct pci_device *d = &from->items[i];

		ret->items[i] = *d;
		ret->items[i].names = d->names ? xstrdup(d->names) : NULL;
		ret->items[i].uuid = d->uuid ? xstrdup(d->uuid) : NULL;
	}
	ret->n_items = from->n_items;
}

static int compare_pci_devices(const void *va, const void *vb)
{
	const struct pci_device *a = va, *b = vb;

	return pci_address_compare(&a->address, &b->address);
}

void pci_devices_sort(struct pci_devices *d)
{
	size_t kept = 0;

	if (d->n_items > 1)
		qsort(d->items, d->n_items, sizeof(*d->items), compare_pci_devices);
	for (size_t i = 0; i < d->n_items; i++)
		if (kept > 0 && compare_pci_devices(&d->items[kept - 1], &d->items[i]) == 0)
			release_device(&d->items[i]);
		else
			d->items[kept++] = d->items[i];
	d->n_items = kept;
}

const struct pci_device *pci_devices_find(const struct pci_devices *d, const struct pci_address *address)
{
	const struct pci_device key = {.address = *address};

	return d->n_items > 0 ? bsearch(&key, d->items, d->n_items, sizeof(key), compare_pci_devices) : NULL;
}

/* ---- the devices of plugins */

void device_addresses_release(struct device_addresses *a)
{
	for (size_t i = 0; i < a->n_items; i++) {
		free(a->items[i].resource);
		free(a->items[i].id);
	}
	free(a->items);
	*a = (struct device_addresses){0};
}

void device_addresses_add(
	struct device_addresses *a, const char *resource, const char *id, const struct pci_address *address)
{
	struct device_address *item = vec_push(&a->items, &a->n_items, &a->items_size, sizeof(*item));

	*item = (struct device_address){xstrdup(resource), xstrdup(id), *address};
}

static int by_device(const void *va, const void *vb)
{
	const struct device_address *a = va, *b = vb;
	int r = strcmp(a->resource, b->resource);

	return r != 0 ? r : strcmp(a->id, b->id);
}

void device_addresses_sort(struct device_addresses *a)
{
	if (a->n_items > 1)
		qsort(a->items, a->n_items, sizeof(*a->items), by_device);
}

const struct pci_address *device_addresses_find(
	const struct device_addresses *a, const char *resource, const char *id)
{
	size_t lo = 0, hi = a->n_items;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int r = strcmp(a->items[mid].resource, resource);

		if (r == 0)
			r = strcmp(a->items[mid].id, id);
		if (r == 0)
			return &a->items[mid].address;
		if (r < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

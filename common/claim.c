/* SPDX-License-Identifier: Apache-2.0 */
#include "common/claim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cpuset.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

void claim_init(
	struct claim *ret, const char *driver, const char *uid, const char *namespace, const char *name)
{
	*ret = (struct claim){.driver = xstrdup(driver),
		.uid = xstrdup(uid),
		.namespace = xstrdup(namespace),
		.name = xstrdup(name),
		.cpus = cpuset_new()};
}

void claim_release(struct claim *c)
{
	free(c->driver);
	free(c->uid);
	free(c->namespace);
	free(c->name);
	strv_release(&c->cdi);
	strv_release(&c->devices);
	free(c->addresses);
	for (size_t i = 0; i < c->n_places; i++)
		hwloc_bitmap_free(c->places[i].nodes);
	free(c->places);
	pod_refs_free(c->pods, c->n_pods);
	hwloc_bitmap_free(c->cpus);
	memory_blocks_free(c->memory, c->n_memory);
	*c = (struct claim){0};
}

void claims_release(struct claims *c)
{
	for (size_t i = 0; i < c->n_items; i++)
		claim_release(&c->items[i]);
	free(c->items);
	*c = (struct claims){0};
}

void claim_add_pod(struct claim *c, const char *namespace, const char *name)
{
	const struct pod_ref *last = c->n_pods > 0 ? &c->pods[c->n_pods - 1] : NULL;
	struct pod_ref *pod;

	if (last && !strcmp(last->namespace, namespace) && !strcmp(last->name, name))
		return;
	pod = vec_push(&c->pods, &c->n_pods, &c->pods_size, sizeof(*pod));
	*pod = (struct pod_ref){.namespace = xstrdup(namespace), .name = xstrdup(name)};
}

void claim_add_device(struct claim *c, const char *pool, const char *device, const char *share)
{
	if (*device)
		strv_take(&c->devices, xasprintf("%s/%s%s%s", pool, device, *share ? "/" : "", share));
}

void claim_add_address(struct claim *c, const struct pci_address *address)
{
	size_t at = c->n_addresses;

	for (; at > 0; at--) {
		int r = pci_address_compare(&c->addresses[at - 1], address);

		if (r == 0)
			return;
		if (r < 0)
			break;
	}
	vec_push(&c->addresses, &c->n_addresses, &c->addresses_size, sizeof(*c->addresses));
	memmove(&c->addresses[at + 1], &c->addresses[at], (c->n_addresses - 1 - at) * sizeof(*c->addresses));
	c->addresses[at] = *address;
}

void claim_add_place(struct claim *c, hwloc_const_bitmap_t nodes, const char *root)
{
	struct claim_place *place = vec_push(&c->places, &c->n_places, &c->places_size, sizeof(*place));

	place->nodes = nodes ? cpuset_dup(nodes) : NULL;
	snprintf(place->root, sizeof(place->root), "%s", root);
}

void claims_append(struct claims *claims, struct claim *c)
{
	struct claim *slot = vec_push(&claims->items, &claims->n_items, &claims->items_size, sizeof(*slot));

	*slot = *c;
	*c = (struct claim){0};
}

/* ---- merging */

static int claim_cmp(const void *va, const void *vb)
{
	const struct claim *a = va, *b = vb;
	int r = strcmp(a->driver, b->driver);

	if (r != 0)
		return r;
	r = strcmp(a->uid, b->uid);
	if (r != 0)
		return r;
	r = strcmp(a->namespace, b->namespace);
	return r != 0 ? r : strcmp(a->name, b->name);
}

/* Entries that are merged report the same memory, so equal blocks are not added up: the largest remains. */
static void add_memory_block(struct claim *c, const struct memory_block *block)
{
	struct memory_block *slot;

	for (size_t i = 0; i < c->n_memory; i++) {
		struct memory_block *b = &c->memory[i];

		if (strcmp(b->type, block->type) != 0 || !hwloc_bitmap_isequal(b->nodes, block->nodes))
			continue;
		if (block->bytes > b->bytes)
			b->bytes = block->bytes;
		return;
	}
	slot = vec_push(&c->memory, &c->n_memory, &c->memory_size, sizeof(*slot));
	*slot = (struct memory_block){
		.type = xstrdup(block->type), .bytes = block->bytes, .nodes = cpuset_dup(block->nodes)};
}

void claim_add_resources(struct claim *c, const struct claim *from)
{
	if (!*c->uid)
		text_set(&c->uid, from->uid);
	cpuset_or(c->cpus, c->cpus, from->cpus);
	for (size_t i = 0; i < from->n_memory; i++)
		add_memory_block(c, &from->memory[i]);
}

static void append_texts(struct strv *to, const struct strv *from)
{
	for (size_t i = 0; i < from->n_items; i++)
		strv_push(to, from->items[i]);
}

static int pod_cmp(const void *va, const void *vb)
{
	const struct pod_ref *a = va, *b = vb;
	int r = strcmp(a->namespace, b->namespace);

	return r != 0 ? r : strcmp(a->name, b->name);
}

static void sort_unique_pods(struct claim *c)
{
	size_t kept = 0;

	if (c->n_pods > 1)
		qsort(c->pods, c->n_pods, sizeof(*c->pods), pod_cmp);
	for (size_t i = 0; i < c->n_pods; i++) {
		if (kept > 0 && pod_cmp(&c->pods[kept - 1], &c->pods[i]) == 0) {
			free(c->pods[i].namespace);
			free(c->pods[i].name);
			continue;
		}
		c->pods[kept++] = c->pods[i];
	}
	c->n_pods = kept;
}

void claims_merge(struct claims *claims)
{
	size_t kept = 0;

	if (claims->n_items > 1)
		qsort(claims->items, claims->n_items, sizeof(*claims->items), claim_cmp);
	for (size_t i = 0; i < claims->n_items; i++) {
		struct claim *last = kept > 0 ? &claims->items[kept - 1] : NULL, *claim = &claims->items[i];

		if (!last || claim_cmp(last, claim) != 0) {
			claims->items[kept++] = *claim;
			continue;
		}
		claim_add_resources(last, claim);
		append_texts(&last->cdi, &claim->cdi);
		append_texts(&last->devices, &claim->devices);
		for (size_t k = 0; k < claim->n_pods; k++)
			claim_add_pod(last, claim->pods[k].namespace, claim->pods[k].name);
		claim_release(claim);
	}
	claims->n_items = kept;
	for (size_t i = 0; i < kept; i++) {
		strv_sort_unique(&claims->items[i].cdi);
		strv_sort_unique(&claims->items[i].devices);
		sort_unique_pods(&claims->items[i]);
	}
}

/* ---- totals */

hwloc_bitmap_t claims_cpus(const struct claims *claims)
{
	hwloc_bitmap_t set = cpuset_new();

	for (size_t i = 0; i < claims->n_items; i++)
		cpuset_or(set, set, claims->items[i].cpus);
	return set;
}

uint64_t claims_bytes(const struct claims *claims, const char *type, unsigned node)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < claims->n_items; i++)
		for (size_t b = 0; b < claims->items[i].n_memory; b++) {
			const struct memory_block *block = &claims->items[i].memory[b];

			if (!strcmp(block->type, type) && hwloc_bitmap_isset(block->nodes, node) &&
				__builtin_add_overflow(sum, block->bytes, &sum))
				return UINT64_MAX;
		}
	return sum;
}

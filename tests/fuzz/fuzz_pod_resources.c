/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf to model: the first two bytes say how long the List is, GetAllocatableResources is the rest. */
#include "tests/fuzz/fuzz.h"

#include "agent/observe/pod_resources.h"
#include "common/cleanup.h"

static void check_nodes(hwloc_const_bitmap_t nodes)
{
	fuzz_require(nodes && hwloc_bitmap_last(nodes) < MACHINE_MAX_NODES);
}

static void check_devices(const struct device_block *blocks, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		check_nodes(blocks[i].nodes);
		fuzz_require(blocks[i].ids.n_items > 0);
		for (size_t j = 0; j < i; j++)
			fuzz_require(strcmp(blocks[i].resource, blocks[j].resource) != 0 ||
				     !hwloc_bitmap_isequal(blocks[i].nodes, blocks[j].nodes));
	}
}

/* A device of a container is in one block only. */
static void check_once(const struct device_block *a, const struct device_block *b)
{
	if (strcmp(a->resource, b->resource) != 0)
		return;
	for (size_t i = 0; i < a->ids.n_items; i++)
		for (size_t j = 0; j < b->ids.n_items; j++)
			fuzz_require(strcmp(a->ids.items[i], b->ids.items[j]) != 0);
}

static void check_item(const struct allocation *item)
{
	fuzz_require(item->namespace && item->pod && item->container && *item->pod_uid == '\0');
	fuzz_require(hwloc_bitmap_last(item->cpus) < MACHINE_MAX_CPUS);
	for (size_t i = 0; i < item->n_memory; i++)
		check_nodes(item->memory[i].nodes);
	check_devices(item->devices, item->n_devices);
	for (size_t i = 0; i < item->n_devices; i++)
		for (size_t j = 0; j < i; j++)
			check_once(&item->devices[i], &item->devices[j]);
}

static void check(const struct pod_resources *p)
{
	fuzz_require(p->held.cpus_known && p->held.devices_known);
	for (size_t i = 0; i < p->held.n_items; i++)
		check_item(&p->held.items[i]);
	for (size_t i = 0; i < p->n_pods; i++)
		fuzz_require(p->pods[i].namespace && p->pods[i].name);
	fuzz_require(p->allocatable_known == (p->allocatable_cpus != NULL));
	for (size_t i = 0; i < p->n_allocatable_memory; i++)
		check_nodes(p->allocatable_memory[i].nodes);
	check_devices(p->allocatable_devices, p->n_allocatable_devices);
}

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pod_resources p;
	CLEANUP(notes_release) struct notes notes = {0};
	struct err err = {""};
	size_t first;

	if (!fuzz_split(&data, &size, &first))
		return;
	pod_resources_init(&p);
	if (pod_resources_parse(data, first, first < size ? data + first : NULL, size - first, NULL, &p,
		    &notes, &err) < 0) {
		fuzz_check_line(err.text);
		fuzz_require(p.n_pods == 0 && p.held.n_items == 0 && notes.lines.n_items == 0);
	} else {
		fuzz_check_notes(&notes);
		check(&p);
	}
	pod_resources_release(&p);
}

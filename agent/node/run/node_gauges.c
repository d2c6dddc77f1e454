/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/run/node_gauges.h"

#include "agent/http/exposition.h"

enum amount { CAPACITY, ALLOCATABLE, AVAILABLE, AMOUNT_COUNT };

static qty_t quantity_of(const struct inventory_amount *a, enum amount which)
{
	return which == CAPACITY ? a->capacity : which == ALLOCATABLE ? a->allocatable : a->available;
}

void node_gauges_print_inventory(const struct inventory *inv, struct strbuf *out)
{
	static const struct {
		const char *name, *help;
	} families[AMOUNT_COUNT] = {
		[CAPACITY] = {"nrtd_resource_capacity",
			"What a NUMA node has of a resource: CPUs, bytes of memory and hugepages, devices."},
		[ALLOCATABLE] = {"nrtd_resource_allocatable", "What of it is for pods."},
		[AVAILABLE] = {"nrtd_resource_available",
			"What a NUMA node has left of a resource: CPUs, bytes of memory and hugepages, devices."},
	};

	for (enum amount which = 0; which < AMOUNT_COUNT; which++) {
		exposition_head(out, families[which].name, families[which].help, GAUGE);
		for (size_t i = 0; i < inv->n_nodes * inv->n_resources; i++) {
			const struct inventory_amount *a = &inv->amounts[i];

			if (!a->present)
				continue;
			strbuf_addf(out, "%s{numa_node=\"%u\",", families[which].name,
				inv->nodes[i / inv->n_resources].id);
			exposition_label(out, "resource", inv->resources[i % inv->n_resources]);
			strbuf_addstr(out, "} ");
			exposition_number(out, (double)quantity_of(a, which) / (double)QTY_UNIT);
			strbuf_addch(out, '\n');
		}
	}
}

void node_gauges_print_headroom(
	const struct headroom *headroom, const struct hints_config *shapes, struct strbuf *out)
{
	if (headroom->n_max > 0)
		exposition_head(out, "nrtd_max_exclusive_cpus",
			"The most exclusive CPUs that a container gets now from that many NUMA nodes or fewer.",
			GAUGE);
	for (unsigned i = 0; i < headroom->n_max; i++)
		strbuf_addf(out, "nrtd_max_exclusive_cpus{numa_nodes=\"%u\"} %zu\n", i + 1,
			headroom->max_exclusive[i]);
	if (headroom->stranded_known)
		exposition_one(out, "nrtd_stranded_cpus",
			"Free CPUs that remain when the smallest pods with exclusive CPUs have filled the node.",
			GAUGE, (double)headroom->stranded);
	if (headroom->n_copies > 0)
		exposition_head(out, "nrtd_shape_copies",
			"Pods of a --shape that the kubelet would admit now, one after the other, up to 1000.",
			GAUGE);
	for (size_t i = 0; i < headroom->n_copies; i++) {
		if (!headroom->copies[i].known)
			continue;
		strbuf_addstr(out, "nrtd_shape_copies{");
		exposition_label(out, "shape", shapes->shapes[i].name);
		strbuf_addf(out, "} %zu\n", headroom->copies[i].n);
	}
}

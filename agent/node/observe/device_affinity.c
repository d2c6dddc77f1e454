/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/observe/device_affinity.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "agent/base/fs.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/device_index.h"

#define PCI_ID_SIZE 16
#define SYSFS_MAX   64 /* bytes of a numa_node file */

/* A number of 1 to `digits` hexadecimal digits, up to the character `end`; NULL when there is none. */
static const char *read_hex(const char *p, size_t digits, char end, unsigned long *ret)
{
	size_t n = strspn(p, "0123456789abcdefABCDEF");

	if (n == 0 || n > digits || p[n] != end)
		return NULL;
	*ret = strtoul(p, NULL, 16);
	return end ? p + n + 1 : p + n;
}

/* "0000:3b:02.1", from that or "3b:02.1"; false when the id is not a PCI address. */
static bool pci_address(const char *id, char ret[PCI_ID_SIZE])
{
	const char *first = strchr(id, ':'), *p = id;
	unsigned long domain = 0, bus, slot, function;

	if (first && strchr(first + 1, ':'))
		p = read_hex(p, 6, ':', &domain);
	if (p)
		p = read_hex(p, 2, ':', &bus);
	if (p)
		p = read_hex(p, 2, '.', &slot);
	if (p)
		p = read_hex(p, 1, '\0', &function);
	return p && slot < 32 && function < 8 &&
	       snprintf(ret, PCI_ID_SIZE, "%04lx:%02lx:%02lx.%lx", domain, bus, slot, function) < PCI_ID_SIZE;
}

/* 0 and the nodes of a PCI device; -ENOENT when sysfs does not say. */
static int read_pci(
	const char *sysroot, const struct machine *machine, const char *address, hwloc_bitmap_t nodes)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(SYSFS_MAX);
	char path[PATH_MAX], *end;
	long node;
	int r;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/numa_node", address);
	r = fs_read(sysroot, path, &text, NULL);
	if (r < 0)
		return -ENOENT;
	node = strtol(text.text, &end, 10);
	if (end == text.text || (*end && *end != '\n') || node >= MACHINE_MAX_NODES)
		return -ENOENT;
	if (node < 0)
		return 0;
	if (machine && machine_node_index(machine, (unsigned)node) < 0)
		return -ENOENT;
	cpuset_set(nodes, (unsigned)node);
	return 0;
}

/* What is the same for every device. */
struct reading {
	const char *sysroot;
	const struct machine *machine;
	const struct device_index *held;
	struct allocations *to;
};

/* Nodes of one device into the empty set `nodes`. 0, -ENOENT when nothing is known. */
static int find_nodes(const struct reading *rd, const char *resource, const char *id, hwloc_bitmap_t nodes)
{
	const struct device_ref *held = device_index_find(rd->held, resource, id);
	char address[PCI_ID_SIZE];

	if (held && !held->nodes_unknown) {
		cpuset_copy(nodes, held->nodes);
		return 0;
	}
	return pci_address(id, address) ? read_pci(rd->sysroot, rd->machine, address, nodes) : -ENOENT;
}

static void add_registration(const struct reading *rd, const struct device_registration *reg)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = cpuset_new();
	struct allocations *to = rd->to;

	for (size_t i = 0; i < reg->ids.n_items; i++) {
		int r;

		hwloc_bitmap_zero(nodes);
		r = find_nodes(rd, reg->resource, reg->ids.items[i], nodes);
		device_blocks_add(&to->registered, &to->n_registered, &to->registered_size, reg->resource,
			nodes, r < 0, reg->ids.items[i]);
	}
}

void device_affinity_fill(const char *sysroot, const struct machine *machine,
	const struct kubelet_state *checkpoint, struct allocations *ret)
{
	CLEANUP(device_index_release) struct device_index held = {0};
	const struct reading rd = {sysroot, machine, &held, ret};

	device_index_held(&checkpoint->allocations, &held);
	for (size_t i = 0; i < checkpoint->n_registered; i++)
		add_registration(&rd, &checkpoint->registered[i]);
	ret->registered_known = true;
}

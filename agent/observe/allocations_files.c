/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe/allocations_files.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "agent/observe/fs_root.h"
#include "common/allocation.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/settings_table.h"
#include "common/strbuf.h"
#include "common/text.h"
#include "common/xalloc.h"

#define PCI_ID_SIZE 16
#define SYSFS_MAX   64 /* bytes of a numa_node file */

void state_policies_release(struct state_policies *p)
{
	free(p->cpu);
	free(p->cpu_path);
	free(p->memory);
	free(p->memory_path);
	*p = (struct state_policies){0};
}

void state_texts_release(struct state_texts *t)
{
	free(t->root);
	free(t->cpu);
	free(t->memory);
	free(t->devices);
	*t = (struct state_texts){0};
}

/* ---- NUMA nodes of registered devices */

/* A number of 1 to `digits` hexadecimal digits, up to the character `end`; NULL when there is none. */
static const char *read_hex(const char *p, size_t digits, char end, unsigned long *ret)
{
	size_t n = strspn(p, "0123456789abcdefABCDEF");

	if (n == 0 || n > digits || p[n] != end)
		return NULL;
	*ret = strtoul(p, NULL, 16);
	return end ? p + n + 1 : p + n;
}

/* The PCI address with its domain ("0000:3b:02.1") of an id with or without a domain; false when it is not
 * a PCI address. */
static bool parse_pci_address(const char *id, char ret[PCI_ID_SIZE])
{
	const char *first = strchr(id, ':'), *p = id;
	unsigned long domain = 0, bus, slot, function;

	/* With a domain there are two colons. */
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

/* Add the NUMA node of a PCI device, if it has one. -ENOENT when sysfs does not tell; other -errno when it cannot be read now. */
static int read_pci_node(const char *sysroot, const struct machine *machine, const char *address,
	hwloc_bitmap_t nodes, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(SYSFS_MAX);
	char path[PATH_MAX], *end;
	long node;
	int r;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/numa_node", address);
	r = fs_read(sysroot, path, &text, err);
	if (r < 0)
		return fs_is_transient(r) ? r : -ENOENT;
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

struct device_reader {
	const char *sysroot;
	const struct machine *machine;
	const struct device_index *held;
	struct allocations *to;
};

/* Add the nodes of one device to the empty set `nodes`: those that the checkpoint has for a held device, otherwise those of sysfs. 0; -ENOENT
 * when they are unknown; other -errno when they cannot be read now. */
static int find_nodes(const struct device_reader *rd, const char *resource, const char *id,
	hwloc_bitmap_t nodes, struct err *err)
{
	const struct device_ref *held = device_index_find(rd->held, resource, id);
	char address[PCI_ID_SIZE];

	if (held && !held->block->nodes_unknown) {
		cpuset_copy(nodes, held->block->nodes);
		return 0;
	}
	return parse_pci_address(id, address) ? read_pci_node(rd->sysroot, rd->machine, address, nodes, err)
					      : -ENOENT;
}

/* Moves the ids, because there may be ten thousands. */
static int move_device_ids(const struct device_reader *rd, struct device_registration *reg, struct err *err)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = cpuset_new();
	struct allocations *to = rd->to;

	for (size_t i = 0; i < reg->ids.n_items; i++) {
		bool nodes_unknown;
		int r;

		hwloc_bitmap_zero(nodes);
		r = find_nodes(rd, reg->resource, reg->ids.items[i], nodes, err);
		nodes_unknown = r == -ENOENT;
		if (r < 0 && !nodes_unknown)
			return r;
		device_blocks_take(&to->registered, &to->n_registered, &to->registered_size, reg->resource,
			nodes, nodes_unknown, TAKE(reg->ids.items[i]));
	}
	return 0;
}

int device_affinity_fill(const char *sysroot, const struct machine *machine, struct kubelet_state *checkpoint,
	struct allocations *ret, struct err *err)
{
	CLEANUP(device_index_release) struct device_index held = {0};
	const struct device_reader rd = {sysroot, machine, &held, ret};

	device_index_held(&checkpoint->allocations, &held);
	for (size_t i = 0; i < checkpoint->n_registered; i++) {
		int r = move_device_ids(&rd, &checkpoint->registered[i], err);

		if (r < 0)
			return r;
	}
	ret->registered_known = true;
	return 0;
}

/* ---- the three files */

struct files_reader {
	const char *root, *kubelet_root, *sysroot;
	const struct machine *machine;
	struct state_texts *last;
	bool *gone;
	struct allocations *allocations;
	struct state_policies *policies;
	struct notes *notes;
	struct err *err;
};

/* 1 and *ret_path when the file, or the last content of a missing file (*last), was read; 0 when there is none. */
static int read_state_kind(const struct files_reader *rd, const struct state_kind *kind, const char *name,
	char **last, struct kubelet_state *ret, char **ret_path)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", rd->kubelet_root, name);
	int r = state_read(kind, rd->root, path, rd->machine, last, ret, rd->notes, rd->err);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	*rd->gone = *rd->gone || r > 0;
	*ret_path = TAKE(path);
	return 1;
}

static int read_cpu_file(const struct files_reader *rd)
{
	CLEANUP(kubelet_state_release) struct kubelet_state state = {0};
	int r = read_state_kind(
		rd, &state_cpu, STATE_CPU_FILE, &rd->last->cpu, &state, &rd->policies->cpu_path);

	if (r <= 0)
		return r;
	rd->allocations->shared = TAKE(state.allocations.shared);
	rd->allocations->cpus_known = true;
	rd->policies->cpu = TAKE(state.policy);
	allocations_merge(rd->allocations, &state.allocations);
	return 0;
}

static int read_memory_file(const struct files_reader *rd)
{
	CLEANUP(kubelet_state_release) struct kubelet_state state = {0};
	int r = read_state_kind(
		rd, &state_memory, STATE_MEMORY_FILE, &rd->last->memory, &state, &rd->policies->memory_path);

	if (r <= 0)
		return r;
	rd->allocations->memory = state.allocations.memory;
	memory_state_init(&state.allocations.memory);
	rd->allocations->memory_known = state.allocations.memory_known;
	rd->policies->memory = TAKE(state.policy);
	allocations_merge(rd->allocations, &state.allocations);
	return 0;
}

static int read_device_file(const struct files_reader *rd)
{
	CLEANUP(kubelet_state_release) struct kubelet_state state = {0};
	CLEANUP(freep) char *path = NULL;
	int r = read_state_kind(rd, &state_devices, STATE_DEVICES_FILE, &rd->last->devices, &state, &path);

	if (r <= 0)
		return r;
	r = device_affinity_fill(rd->sysroot, rd->machine, &state, rd->allocations, rd->err);
	if (r < 0)
		return r;
	rd->allocations->devices_known = true;
	allocations_merge(rd->allocations, &state.allocations);
	return 0;
}

int allocations_from_files(const char *root, const char *kubelet_root, const char *sysroot,
	const struct machine *machine, struct state_texts *last, struct allocations *ret,
	struct state_policies *ret_policies, struct notes *notes, struct err *err)
{
	CLEANUP(allocations_release) struct allocations a = {0};
	CLEANUP(state_policies_release) struct state_policies policies = {0};
	CLEANUP(state_texts_release) struct state_texts once = {0};
	struct state_texts *texts = last ? last : &once;
	bool gone = false;
	const struct files_reader rd = {
		root, kubelet_root, sysroot, machine, texts, &gone, &a, &policies, notes, err};
	int r;

	if (!texts->root || strcmp(texts->root, kubelet_root) != 0) {
		state_texts_release(texts);
		texts->root = xstrdup(kubelet_root);
	}
	r = read_cpu_file(&rd);
	if (r < 0)
		return r;
	r = read_memory_file(&rd);
	if (r < 0)
		return r;
	/* Of the first two files only: see struct state_texts. */
	texts->gone = gone;
	r = read_device_file(&rd);
	if (r < 0)
		return r;
	*ret = a;
	allocations_init(&a);
	*ret_policies = policies;
	policies = (struct state_policies){0};
	return gone ? 1 : 0;
}

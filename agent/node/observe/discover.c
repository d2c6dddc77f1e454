/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/observe/discover.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "agent/base/hash.h"
#include "agent/node/observe/fs_root.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/vec.h"

/* Offline CPUs are present CPUs that the kernel's list of online CPUs omits, or that hwloc has not loaded if
 * there is no such list. */
static void set_offline(struct machine *m, struct kernel_cpus *cpus)
{
	m->offline = TAKE(cpus->present);
	if (cpus->online)
		cpuset_andnot(m->offline, m->offline, cpus->online);
	for (size_t i = 0; i < m->n_cpus; i++)
		cpuset_clr(m->offline, m->cpus[i].id);
}

static void place_package(struct machine *m, unsigned id, struct numa_node *node)
{
	node->id = id;
	node->cpus = cpuset_new();
	for (size_t i = 0; i < m->n_cpus; i++)
		if (m->cpus[i].socket == (int)id)
			cpuset_set(node->cpus, m->cpus[i].id);
}

/*
 * On a kernel without NUMA the kubelet makes a NUMA node of each package, with the package's id (cadvisor utils/sysinfo,
 * getCPUTopology). For the kubelet none of them has memory; here the first one has all of it, because such a kernel has a single pool.
 * CPUs without a package are in no node. A single package whose id is too large for a NUMA node is node 0.
 */
static int split_packages(struct machine *m, struct err *err)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t ids = cpuset_new();
	int smallest = INT_MAX, largest = MACHINE_NONE;

	for (size_t i = 0; i < m->n_cpus; i++) {
		int id = m->cpus[i].socket;

		if (id < 0)
			continue;
		smallest = id < smallest ? id : smallest;
		largest = id > largest ? id : largest;
		if (id < MACHINE_MAX_NODES)
			cpuset_set(ids, (unsigned)id);
	}
	if (!m->without_numa || largest == MACHINE_NONE ||
		(largest == smallest && largest >= MACHINE_MAX_NODES))
		return 0;
	if (largest >= MACHINE_MAX_NODES)
		return err_set(err, -ERANGE,
			"package %d: on a kernel without NUMA the kubelet makes a NUMA node of it, and an id of %d or above is not supported",
			largest, MACHINE_MAX_NODES);
	place_package(m, (unsigned)smallest, &m->nodes[0]);
	for (int id = hwloc_bitmap_next(ids, smallest); id >= 0; id = hwloc_bitmap_next(ids, id)) {
		struct numa_node *node = vec_push(&m->nodes, &m->n_nodes, &m->nodes_size, sizeof(*node));

		*node = (struct numa_node){.socket = MACHINE_NONE};
		place_package(m, (unsigned)id, node);
	}
	return 0;
}

static int discover_tree(const char *root, struct machine *m, struct err *err)
{
	CLEANUP(kernel_cpus_release) struct kernel_cpus cpus = {NULL, NULL};
	int r = kernel_discover(root, m, &cpus, err);

	if (r < 0)
		return r;
	r = discover_hwloc_cpus(root, m, err);
	if (r < 0)
		return r;
	r = kernel_read_cores(root, m, err);
	if (r < 0)
		return r;
	kernel_read_pci(root, m);
	r = split_packages(m, err);
	if (r < 0)
		return r;
	set_offline(m, &cpus);
	return 0;
}

static const char *root_of(const struct machine_source *source)
{
	return source->root && !source->xml ? source->root : "";
}

int machine_prepare(const struct machine_source *source, struct err *err)
{
	return discover_hwloc_prepare(root_of(source), err);
}

int machine_discover(const struct machine_source *source, struct machine *ret, struct err *err)
{
	CLEANUP(machine_release) struct machine m;
	int r;

	machine_init(&m);
	if (source->xml)
		r = discover_hwloc_xml(source->xml, &m, err);
	else
		r = discover_tree(root_of(source), &m, err);
	if (r < 0)
		return r;
	machine_derive(&m);
	*ret = m;
	machine_init(&m);
	return 0;
}

/* ---- whether CPUs, memory or hugepages came or went */

#define NODES    "/sys/devices/system/node"
#define FILE_MAX (64u << 10)

static uint64_t add_text(const char *text, uint64_t hash)
{
	return hash_bytes(text, strlen(text), hash);
}

static uint64_t add_file(const char *root, const char *path, uint64_t hash)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FILE_MAX);

	if (fs_read(root, path, &text, NULL) < 0)
		return add_text("absent", hash);
	return hash_bytes(text.text, text.len, hash);
}

/* MemTotal alone: the other lines of a meminfo change all the time. */
static uint64_t add_total(const char *root, const char *path, uint64_t hash)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FILE_MAX);
	const char *total = NULL;

	if (fs_read(root, path, &text, NULL) == 0)
		total = strstr(text.text, "MemTotal:");
	return total ? hash_bytes(total, strcspn(total, "\n"), hash) : add_text("absent", hash);
}

static uint64_t add_pools(const char *root, const char *dir, uint64_t hash)
{
	CLEANUP(freep) uint64_t *sizes = NULL;
	size_t n = 0;
	char path[160];

	if (fs_list_numbers(root, dir, "hugepages-", "kB", &sizes, &n, NULL) < 0)
		return add_text("absent", hash);
	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/hugepages-%" PRIu64 "kB/nr_hugepages", dir, sizes[i]);
		hash = add_file(root, path, add_text(path, hash));
	}
	return hash;
}

/* The addresses of the PCI devices, and the names that drivers give them: virtual functions come and go, and drivers load. */
static uint64_t add_pci(const char *root, uint64_t hash)
{
	static const char *const folders[] = {
		"/sys/bus/pci/devices", "/sys/class/infiniband", "/sys/class/nvme"};

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		CLEANUP(strv_release) struct strv names = {0};

		fs_list(root, folders[i], &names, NULL);
		for (size_t k = 0; k < names.n_items; k++)
			hash = add_text(names.items[k], hash);
	}
	return hash;
}

uint64_t hardware_signature(const char *root)
{
	CLEANUP(freep) uint64_t *nodes = NULL;
	size_t n = 0;
	char path[96];
	uint64_t hash = add_file(root, "/sys/devices/system/cpu/online", 0);

	hash = add_pci(root, hash);
	hash = add_file(root, NODES "/online", hash);
	hash = add_total(root, "/proc/meminfo", hash);
	if (fs_list_numbers(root, NODES, "node", "", &nodes, &n, NULL) < 0)
		return add_pools(root, "/sys/kernel/mm/hugepages", hash);
	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), NODES "/node%" PRIu64 "/cpulist", nodes[i]);
		hash = add_file(root, path, add_text(path, hash));
		snprintf(path, sizeof(path), NODES "/node%" PRIu64 "/meminfo", nodes[i]);
		hash = add_total(root, path, hash);
		snprintf(path, sizeof(path), NODES "/node%" PRIu64 "/hugepages", nodes[i]);
		hash = add_pools(root, path, hash);
	}
	return hash;
}

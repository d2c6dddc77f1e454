/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe/discover.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "agent/observe/fs_root.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/hash.h"
#include "common/vec.h"
#include "common/xalloc.h"

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

/* Gives the node the id and the CPUs of the package `id`. */
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
 * getCPUTopology). For the kubelet none of these nodes has memory; here the first node has all memory, because such a kernel has a single pool.
 * CPUs without a package are in no node. A single package whose id is too large for a NUMA node is node 0.
 */
static int split_packages(const char *root, struct machine *m, struct err *err)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t ids = cpuset_new();
	int smallest = INT_MAX, largest = MACHINE_NONE;
	unsigned cpu_of_largest = 0;

	if (!m->without_numa)
		return 0;
	for (size_t i = 0; i < m->n_cpus; i++) {
		int id = m->cpus[i].socket;

		if (id < 0)
			continue;
		smallest = id < smallest ? id : smallest;
		if (id > largest) {
			largest = id;
			cpu_of_largest = m->cpus[i].id;
		}
		if (id < MACHINE_MAX_NODES)
			cpuset_set(ids, (unsigned)id);
	}
	if (largest == MACHINE_NONE) /* no CPU has a package */
		return 0;
	if (largest == smallest && largest >= MACHINE_MAX_NODES) /* the single package stays node 0 */
		return 0;
	if (largest >= MACHINE_MAX_NODES)
		return err_set(err, -ERANGE,
			"'%s/sys/devices/system/cpu/cpu%u/topology/physical_package_id': %d: on a kernel without NUMA the kubelet makes a NUMA node of a package, and an id of %d or above is not supported",
			root, cpu_of_largest, largest, MACHINE_MAX_NODES);
	place_package(m, (unsigned)smallest, &m->nodes[0]);
	for (int id = hwloc_bitmap_next(ids, smallest); id >= 0; id = hwloc_bitmap_next(ids, id)) {
		struct numa_node *node = vec_push(&m->nodes, &m->n_nodes, &m->nodes_size, sizeof(*node));

		*node = (struct numa_node){.socket = MACHINE_NONE};
		place_package(m, (unsigned)id, node);
	}
	return 0;
}

/*
 * Whether hwloc has certainly read the whole machine: it has all CPUs that the kernel lists, all cores have equally many threads, and each
 * CPU has a package, and an L3 cache if another CPU has one. Other machines may have been read in part, see discover_cpus().
 */
static bool looks_complete(const struct machine *m, const struct kernel_cpus *cpus)
{
	CLEANUP(freep) unsigned *threads = xcalloc(MACHINE_MAX_CPUS, sizeof(*threads));

	if (cpus->online && (size_t)cpuset_size(cpus->online) != m->n_cpus)
		return false;
	for (size_t i = 0; i < m->n_cpus; i++)
		threads[m->cpus[i].core]++;
	for (size_t i = 0; i < m->n_cpus; i++) {
		const struct cpu *cpu = &m->cpus[i];

		if (cpu->socket < 0 || (cpu->l3 < 0) != (m->cpus[0].l3 < 0) ||
			threads[cpu->core] != threads[m->cpus[0].core])
			return false;
	}
	return true;
}

static bool same_cpus(const struct machine *a, const struct machine *b)
{
	for (size_t i = 0; i < a->n_cpus && i < b->n_cpus; i++) {
		const struct cpu *x = &a->cpus[i], *y = &b->cpus[i];

		if (x->id != y->id || x->core != y->core || x->socket != y->socket || x->l3 != y->l3)
			return false;
	}
	return a->n_cpus == b->n_cpus;
}

/*
 * hwloc omits what it cannot read, also if it only lacks file descriptors. So a machine that does not look complete is read
 * twice: two readings in part would differ.
 */
static int discover_cpus(const char *root, const struct kernel_cpus *cpus, struct machine *m, struct err *err)
{
	CLEANUP(machine_release) struct machine again;
	int r = discover_hwloc_cpus(root, m, err);

	machine_init(&again);
	if (r < 0 || looks_complete(m, cpus))
		return r;
	r = discover_hwloc_cpus(root, &again, err);
	if (r == 0 && !same_cpus(m, &again))
		r = err_set(err, -EAGAIN, "'%s/sys/devices/system/cpu': two readings by hwloc differ", root);
	return r;
}

static int discover_tree(const char *root, struct machine *m, struct err *err)
{
	CLEANUP(kernel_cpus_release) struct kernel_cpus cpus = {NULL, NULL};
	int r = kernel_discover(root, m, &cpus, err);

	if (r < 0)
		return r;
	r = discover_cpus(root, &cpus, m, err);
	if (r < 0)
		return r;
	r = kernel_read_cores(root, m, err);
	if (r < 0)
		return r;
	r = kernel_read_pci(root, m, err);
	if (r < 0)
		return r;
	r = split_packages(root, m, err);
	if (r < 0)
		return r;
	set_offline(m, &cpus);
	return kernel_read_isolated(root, m, err);
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

struct signature {
	const char *root;
	uint64_t hash;
	struct fs_reads reads;
};

static void sign_text(struct signature *s, const char *text)
{
	s->hash = hash_bytes(text, strlen(text), s->hash);
}

/* Whether to add what was read with the result `r`. A file that does not exist and one that may not be read are added as such. */
static bool add_result(struct signature *s, int r)
{
	if (r < 0)
		sign_text(s, fs_is_absent(r) ? "absent" : "unreadable");
	return fs_reads_add(&s->reads, r);
}

static void sign_file(struct signature *s, const char *path)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FILE_MAX);

	if (add_result(s, fs_read(s->root, path, &text, &s->reads.last)))
		s->hash = hash_bytes(text.text, text.len, s->hash);
}

/* MemTotal alone: the other lines of a meminfo change all the time. */
static void sign_mem_total(struct signature *s, const char *path)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FILE_MAX);
	const char *total;

	if (!add_result(s, fs_read(s->root, path, &text, &s->reads.last)))
		return;
	total = strstr(text.text, "MemTotal:");
	if (total)
		s->hash = hash_bytes(total, strcspn(total, "\n"), s->hash);
	else
		sign_text(s, "damaged");
}

static void sign_pools(struct signature *s, const char *dir)
{
	CLEANUP(freep) uint64_t *sizes = NULL;
	size_t n = 0;
	char path[160];

	if (!add_result(s, fs_list_numbers(s->root, dir, "hugepages-", "kB", &sizes, &n, &s->reads.last)))
		return;
	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/hugepages-%" PRIu64 "kB/nr_hugepages", dir, sizes[i]);
		sign_text(s, path);
		sign_file(s, path);
	}
}

/* The addresses of the PCI devices, and the names that drivers give them: virtual functions come and go, and drivers load. */
static void sign_pci_names(struct signature *s)
{
	static const char *const folders[] = {
		"/sys/bus/pci/devices", "/sys/class/infiniband", "/sys/class/nvme"};

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		CLEANUP(strv_release) struct strv names = {0};

		if (!add_result(s, fs_list(s->root, folders[i], &names, &s->reads.last)))
			continue;
		for (size_t k = 0; k < names.n_items; k++)
			sign_text(s, names.items[k]);
	}
}

static void sign_node(struct signature *s, uint64_t id)
{
	char path[96];

	snprintf(path, sizeof(path), NODES "/node%" PRIu64 "/cpulist", id);
	sign_text(s, path);
	sign_file(s, path);
	snprintf(path, sizeof(path), NODES "/node%" PRIu64 "/meminfo", id);
	sign_mem_total(s, path);
	snprintf(path, sizeof(path), NODES "/node%" PRIu64 "/hugepages", id);
	sign_pools(s, path);
}

int hardware_signature(const char *root, uint64_t *ret, struct err *err)
{
	CLEANUP(freep) uint64_t *nodes = NULL;
	struct signature s = {.root = root};
	size_t n = 0;
	int r;

	sign_file(&s, "/sys/devices/system/cpu/online");
	sign_file(&s, "/sys/devices/system/cpu/isolated");
	sign_pci_names(&s);
	sign_file(&s, NODES "/online");
	sign_mem_total(&s, "/proc/meminfo");
	/* A kernel without NUMA has no directory of nodes, and its hugepages elsewhere. */
	if (!add_result(&s, fs_list_numbers(root, NODES, "node", "", &nodes, &n, &s.reads.last)))
		sign_pools(&s, "/sys/kernel/mm/hugepages");
	for (size_t i = 0; i < n; i++)
		sign_node(&s, nodes[i]);
	r = fs_reads_result(&s.reads, err);
	if (r == 0)
		*ret = s.hash;
	return r;
}

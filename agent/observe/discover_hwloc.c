/* SPDX-License-Identifier: Apache-2.0 */
/* hwloc as a source of the machine's CPUs, and of a whole machine from hwloc's XML. */
#include "agent/observe/discover.h"

#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <hwloc/distances.h>
#include <hwloc/export.h>
#include <linux/magic.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/observe/fs_root.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/io/thread.h"
#include "common/strbuf.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define DISTANCE_MAX 65535u

/* Limit of CPU time for loading an XML topology; a thousand CPUs take 30 ms. */
#define LOAD_SECONDS 10
/* Limit of the additional memory: per byte of the text, plus a constant. hwloc makes bitmaps of 512 MB for
 * an id of 2^32 - 2. */
#define LOAD_BYTES_EACH 16u
#define LOAD_BYTES      (256u << 20)

static void topology_freep(hwloc_topology_t *topology)
{
	if (*topology)
		hwloc_topology_destroy(*topology);
	*topology = NULL;
}

/* Sets a variable of the environment, or removes the variable if `value` is NULL. No thread may run meanwhile: the thread may be reading the
 * environment. */
static int set_variable(const char *name, const char *value, struct err *err)
{
	const char *now = getenv(name);
	bool is_set = value ? now && !strcmp(now, value) : !now;

	if (is_set)
		return 0;
	if (thread_any())
		return err_set(err, -EBUSY, "%s must be set before the first thread starts", name);
	if ((value ? setenv(name, value, 1) : unsetenv(name)) < 0)
		xalloc_failed();
	return 0;
}

int discover_hwloc_prepare(const char *root, struct err *err)
{
	const struct {
		const char *name, *value; /* NULL = must not be set */
	} variables[] = {
		{"HWLOC_FSROOT", *root ? root : NULL},  /* the other machine's files */
		{"HWLOC_COMPONENTS", "linux,stop"},     /* no cpuid, PCI, synthetic, XML by variable */
		{"HWLOC_PLUGINS_PATH", "/nonexistent"}, /* no plugin is searched or loaded */
		{"HWLOC_HIDE_ERRORS", "2"},             /* no warnings on stderr */
		{"HWLOC_USE_NUMA_DISTANCES", "0"},      /* read by kernel_discover() */
	};

	for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
		int r = set_variable(variables[i].name, variables[i].value, err);

		if (r < 0)
			return r;
	}
	return 0;
}

/* The library or the header is older than 2.8. The loaded library may be older than the one nrtd was built
 * with. */
static bool is_hwloc_old(void)
{
	return HWLOC_API_VERSION < 0x00020800 || hwloc_get_api_version() < 0x00020800;
}

/* Do not load what nrtd does not use; an old hwloc loads it anyway. */
static unsigned long topology_flags(bool with_nodes)
{
	unsigned long flags = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED;

#if HWLOC_API_VERSION >= 0x00020800
	if (!is_hwloc_old())
		flags |= HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS | HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS |
			 (with_nodes ? 0 : HWLOC_TOPOLOGY_FLAG_NO_DISTANCES);
#else
	(void)with_nodes;
#endif
	return flags;
}

/* A topology with its filters set, without a source. `with_nodes`: keeps groups that NUMA nodes are attached to
 * (a socket of several nodes), PCI devices and distances. */
static int new_topology(bool with_nodes, hwloc_topology_t *ret, struct err *err)
{
	CLEANUP(topology_freep) hwloc_topology_t topology = NULL;

	if (hwloc_topology_init(&topology) < 0)
		xalloc_failed();
	if (hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE) < 0 ||
		hwloc_topology_set_type_filter(topology, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL) < 0 ||
		hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL) < 0 ||
		hwloc_topology_set_type_filter(topology, HWLOC_OBJ_L3CACHE, HWLOC_TYPE_FILTER_KEEP_ALL) < 0 ||
		hwloc_topology_set_type_filter(topology, HWLOC_OBJ_GROUP,
			with_nodes ? HWLOC_TYPE_FILTER_KEEP_STRUCTURE : HWLOC_TYPE_FILTER_KEEP_NONE) < 0 ||
		hwloc_topology_set_io_types_filter(topology,
			with_nodes ? HWLOC_TYPE_FILTER_KEEP_IMPORTANT : HWLOC_TYPE_FILTER_KEEP_NONE) < 0 ||
		hwloc_topology_set_flags(topology, topology_flags(with_nodes)) < 0)
		return err_set(err, -EINVAL, "hwloc rejects its flags: %s", strerror(errno));
	*ret = TAKE(topology);
	return 0;
}

static int os_id(const struct hwloc_obj *obj)
{
	return obj->os_index <= INT_MAX ? (int)obj->os_index : MACHINE_NONE;
}

/* Whether the cache's id is read from this CPU's files; hwloc before 2.6 has no cache ids. */
static bool must_read_cache_id(const struct hwloc_obj *cache, const struct cpu *cpu)
{
	return hwloc_bitmap_first(cache->cpuset) == (int)cpu->id ||
	       (is_hwloc_old() && cache->os_index == HWLOC_UNKNOWN_INDEX);
}

/*
 * hwloc is tolerant: an id that is not a number becomes 0, a package or core whose masks contradict other masks
 * is dropped. So reads the id again for the first CPU of each package and L3 cache and for CPUs without a
 * package, and checks the mask of a CPU without a core. `root` NULL = no files (XML).
 */
static int check_cpu(const char *root, struct cpu *cpu, const struct hwloc_obj *core,
	const struct hwloc_obj *package, const struct hwloc_obj *l3, struct err *err)
{
	int r = 0;

	if (!root)
		return 0;
	if (!package || hwloc_bitmap_first(package->cpuset) == (int)cpu->id)
		r = kernel_read_socket(root, cpu->id, &cpu->socket, err);
	if (r == 0 && l3 && must_read_cache_id(l3, cpu))
		r = kernel_read_l3(root, cpu->id, &cpu->l3, err);
	if (r == 0 && !core)
		r = kernel_check_siblings(root, cpu->id, err);
	return r;
}

static int add_hwloc_cpu(const char *root, struct machine *m, const struct hwloc_obj *pu, struct err *err)
{
	const struct hwloc_obj *core = NULL, *package = NULL, *l3 = NULL;
	struct cpu *cpu;

	if (pu->os_index >= MACHINE_MAX_CPUS)
		return err_set(err, -ERANGE, "CPU %u: an id of %d or above is not supported", pu->os_index,
			MACHINE_MAX_CPUS);
	for (const struct hwloc_obj *obj = pu->parent; obj; obj = obj->parent)
		if (obj->type == HWLOC_OBJ_CORE)
			core = obj;
		else if (obj->type == HWLOC_OBJ_PACKAGE)
			package = obj;
		else if (obj->type == HWLOC_OBJ_L3CACHE)
			l3 = obj;
	cpu = vec_push(&m->cpus, &m->n_cpus, &m->cpus_size, sizeof(*cpu));
	*cpu = (struct cpu){.id = pu->os_index,
		.core = core ? (unsigned)hwloc_bitmap_first(core->cpuset) : pu->os_index,
		.socket = package ? os_id(package) : MACHINE_NONE,
		.numa = MACHINE_NONE,
		.l3 = l3 ? os_id(l3) : MACHINE_NONE,
		.uncore = MACHINE_NONE};
	return check_cpu(root, cpu, core, package, l3, err);
}

/* No CPU appears twice, and the CPU that names a core exists: an XML file may violate both. */
static int check_ids(const struct machine *m, struct err *err)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t ids = cpuset_new();

	for (size_t i = 0; i < m->n_cpus; i++) {
		if (hwloc_bitmap_isset(ids, m->cpus[i].id))
			return err_set(err, -EINVAL, "CPU %u appears twice", m->cpus[i].id);
		cpuset_set(ids, m->cpus[i].id);
	}
	for (size_t i = 0; i < m->n_cpus; i++)
		if (!hwloc_bitmap_isset(ids, m->cpus[i].core))
			return err_set(err, -EINVAL, "the core of CPU %u holds a CPU that does not exist",
				m->cpus[i].id);
	return 0;
}

static int add_hwloc_cpus(const char *root, struct machine *m, hwloc_topology_t topology, struct err *err)
{
	hwloc_obj_t pu = NULL;

	while ((pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu))) {
		int r = add_hwloc_cpu(root, m, pu, err);

		if (r < 0)
			return r;
	}
	return check_ids(m, err);
}

/* ---- what hwloc opens in a tree */

#define HWLOC_DEPTH 5 /* of directories: cpu0/cache/index0 */

/*
 * hwloc follows links out of the root, which would mix two machines. 0 if the path leads to the same file for hwloc (`full`, *ret is the file)
 * as for a process with this root directory; -ENOENT if it leads nowhere for both; otherwise -EXDEV; or -errno of a transient failure.
 */
static int check_link(const char *root, const char *path, const char *full, struct stat *ret, struct err *err)
{
	struct stat below;
	int r = fs_stat(root, path, &below);

	if (fs_is_transient(r))
		return err_set(err, r, "cannot examine '%s': %s", full, strerror(-r));
	if (stat(full, ret) < 0) {
		if (r < 0)
			return -ENOENT;
	} else if (r == 0 && below.st_dev == ret->st_dev && below.st_ino == ret->st_ino) {
		return 0;
	}
	return err_set(err, -EXDEV,
		"'%s': a symbolic link in this path leads out of the root directory, and hwloc follows it",
		full);
}

/* The kernel's own file systems have neither FIFOs nor links to other systems. */
static bool is_of_kernel(const char *full)
{
	struct statfs fs;

	return statfs(full, &fs) == 0 && (fs.f_type == SYSFS_MAGIC || fs.f_type == PROC_SUPER_MAGIC);
}

/* Checks what hwloc opens at the path, and in its directories to this depth: no link out of the root, and no FIFO, for whose writer hwloc would
 * wait. `check_parents`: a directory above the path may be a link, too. */
static int check_opened(
	const char *root, const char *path, unsigned depth, bool check_parents, struct err *err)
{
	CLEANUP(freep) char *full = xasprintf("%s%s", root, path);
	CLEANUP(strv_release) struct strv names = {0};
	struct stat st;
	bool exists = lstat(full, &st) == 0, link = exists && S_ISLNK(st.st_mode);
	int r = exists ? 0 : -ENOENT;

	if (check_parents || link)
		r = check_link(root, path, full, &st, err);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "'%s' is neither a file nor a directory", full);
	if (S_ISREG(st.st_mode) || depth == 0 || is_of_kernel(full))
		return 0;
	if (link && !check_parents) /* what the link leads to is checked at its own path */
		return 0;
	r = fs_list(root, path, &names, err);
	if (r < 0)
		return fs_is_transient(r) ? r : 0;
	for (size_t i = 0; i < names.n_items; i++) {
		CLEANUP(freep) char *below = xasprintf("%s/%s", path, names.items[i]);

		r = check_opened(root, below, depth - 1, false, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int check_tree(const char *root, struct err *err)
{
	static const char *const paths[] = {"/sys/devices/system/cpu", "/sys/devices/system/node",
		"/sys/kernel/mm/hugepages", "/sys/devices/virtual/dmi/id", "/sys/class/dmi/id",
		"/sys/bus/dax/devices", "/proc/meminfo", "/proc/cpuinfo", "/proc/driver/nvidia/gpus"};

	for (size_t i = 0; *root && i < ARRAY_SIZE(paths); i++) {
		int r = check_opened(root, paths[i], HWLOC_DEPTH, true, err);

		if (r < 0)
			return r;
	}
	return 0;
}

/* An old hwloc invents a CPU for a tree without any CPU's topology. */
static bool is_invented(const char *root, hwloc_topology_t topology)
{
	char path[64];

	if (!is_hwloc_old())
		return false;
	for (const struct hwloc_obj *pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, NULL); pu;
		pu = pu->next_cousin) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/topology", pu->os_index);
		if (fs_lookup(root, path, NULL) != 0)
			return false;
	}
	return true;
}

int discover_hwloc_cpus(const char *root, struct machine *m, struct err *err)
{
	CLEANUP(topology_freep) hwloc_topology_t topology = NULL;
	int r = discover_hwloc_prepare(root, err);

	if (r < 0)
		return r;
	r = check_tree(root, err);
	if (r < 0)
		return r;
	r = new_topology(false, &topology, err);
	if (r < 0)
		return r;
	if (hwloc_topology_load(topology) < 0 || is_invented(root, topology))
		return err_set(
			err, -EINVAL, "hwloc finds no CPU topology in '%s/sys/devices/system/cpu'", root);
	return add_hwloc_cpus(root, m, topology, err);
}

/* ---- XML */

static int add_hugepage_pools(
	struct numa_node *node, const struct hwloc_numanode_attr_s *memory, struct err *err)
{
	/* hwloc sorts page sizes ascending; the first is the ordinary page. */
	for (unsigned i = 1; i < memory->page_types_len; i++) {
		struct hugepage_pool *added, pool = {memory->page_types[i].size, memory->page_types[i].count};
		uint64_t bytes;

		if (__builtin_mul_overflow(pool.page_bytes, pool.pages, &bytes) || bytes > INT64_MAX)
			return err_set(
				err, -ERANGE, "NUMA node %u: more hugepages than there can be", node->id);
		added = vec_push(&node->pools, &node->n_pools, &node->pools_size, sizeof(*added));
		*added = pool;
	}
	return 0;
}

/* Append the NUMA nodes in the kernel's order, without CPUs. */
static int add_hwloc_nodes(struct machine *m, hwloc_topology_t topology, struct err *err)
{
	hwloc_const_bitmap_t ids = hwloc_topology_get_complete_nodeset(topology);

	/* An infinite set has the weight -1. */
	if (hwloc_bitmap_last(ids) >= MACHINE_MAX_NODES || hwloc_bitmap_weight(ids) < 0)
		return err_set(err, -ERANGE, "NUMA node %d: an id of %d or above is not supported",
			hwloc_bitmap_last(ids), MACHINE_MAX_NODES);
	for (int id = hwloc_bitmap_first(ids); id >= 0; id = hwloc_bitmap_next(ids, id)) {
		const struct hwloc_obj *obj = hwloc_get_numanode_obj_by_os_index(topology, (unsigned)id);
		struct numa_node *node;
		int r;

		if (!obj)
			continue;
		node = vec_push(&m->nodes, &m->n_nodes, &m->nodes_size, sizeof(*node));
		*node = (struct numa_node){.id = (unsigned)id,
			.socket = MACHINE_NONE,
			.cpus = cpuset_new(),
			.memory_bytes = obj->attr->numanode.local_memory};
		if (node->memory_bytes > INT64_MAX)
			return err_set(err, -ERANGE, "NUMA node %d: memory size out of range", id);
		r = add_hugepage_pools(node, &obj->attr->numanode, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The NUMA node that hwloc assigns to a CPU. */
static const struct hwloc_obj *find_default_node(const struct hwloc_obj *pu)
{
	for (const struct hwloc_obj *obj = pu; obj; obj = obj->parent) {
		if (obj->memory_first_child)
			return obj->memory_first_child;
	}
	return NULL;
}

static void place_cpus(struct machine *m, hwloc_topology_t topology)
{
	hwloc_obj_t pu = NULL;

	while ((pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu))) {
		const struct hwloc_obj *obj = find_default_node(pu);
		int node = obj ? machine_node_index(m, obj->os_index) : -1;

		if (node >= 0)
			cpuset_set(m->nodes[node].cpus, pu->os_index);
	}
}

static int copy_distance_matrix(struct machine *m, const struct hwloc_distances_s *matrix, struct err *err)
{
	unsigned n = matrix->nbobjs;

	for (unsigned from = 0; from < n; from++) {
		for (unsigned to = 0; to < n; to++) {
			hwloc_uint64_t value = matrix->values[from * n + to];
			int row = machine_node_index(m, matrix->objs[from]->os_index);
			int column = machine_node_index(m, matrix->objs[to]->os_index);

			if (value > DISTANCE_MAX)
				return err_set(err, -ERANGE, "NUMALatency %llu is not a distance",
					(unsigned long long)value);
			if (row >= 0 && column >= 0)
				m->distances[(size_t)row * m->n_nodes + (size_t)column] = (unsigned)value;
		}
	}
	return 0;
}

static int add_hwloc_distances(struct machine *m, hwloc_topology_t topology, struct err *err)
{
	struct hwloc_distances_s *matrix = NULL;
	unsigned n = 1;
	int r;

	if (hwloc_distances_get_by_name(topology, "NUMALatency", &n, &matrix, 0) < 0 || n == 0 || !matrix)
		return 0;
	m->distances = xcalloc(m->n_nodes * m->n_nodes, sizeof(*m->distances));
	r = copy_distance_matrix(m, matrix, err);
	hwloc_distances_release(topology, matrix);
	return r;
}

static int add_offline(struct machine *m, hwloc_topology_t topology, struct err *err)
{
	hwloc_const_bitmap_t all = hwloc_topology_get_complete_cpuset(topology);

	/* An infinite set has the weight -1. */
	if (hwloc_bitmap_last(all) >= MACHINE_MAX_CPUS || hwloc_bitmap_weight(all) < 0)
		return err_set(err, -ERANGE, "CPU %d: an id of %d or above is not supported",
			hwloc_bitmap_last(all), MACHINE_MAX_CPUS);
	m->offline = cpuset_dup(all);
	cpuset_andnot(m->offline, m->offline, hwloc_topology_get_topology_cpuset(topology));
	return 0;
}

/* The host bridge above a PCI device; NULL if there is none. */
static const struct hwloc_obj *find_host_bridge(const struct hwloc_obj *pci)
{
	for (const struct hwloc_obj *obj = pci->parent; obj && obj->type == HWLOC_OBJ_BRIDGE;
		obj = obj->parent)
		if (obj->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST)
			return obj;
	return NULL;
}

/*
 * The NUMA node of a PCI device, or MACHINE_NONE. hwloc attaches a device without a known NUMA node to the
 * whole machine.
 */
static int find_pci_node(hwloc_topology_t topology, const struct machine *m, hwloc_obj_t pci)
{
	const struct hwloc_obj *near = hwloc_get_non_io_ancestor_obj(topology, pci), *node;

	if (!near || near == hwloc_get_root_obj(topology))
		return MACHINE_NONE;
	node = find_default_node(near);
	return node && machine_node_index(m, node->os_index) >= 0 ? os_id(node) : MACHINE_NONE;
}

/* The length of the controller's name in that of a disk: of "nvme0" in "nvme0n1"; 0 = another name. */
static size_t controller_length(const char *name)
{
	static const char start[] = "nvme";
	size_t len = strlen(start);

	if (strncmp(name, start, len) != 0)
		return 0;
	return len + strspn(name + len, "0123456789");
}

static bool is_named_osdev(const struct hwloc_obj *obj)
{
	return obj->type == HWLOC_OBJ_OS_DEVICE && obj->name && pci_is_name(obj->name);
}

/* The names of the device's network interface and InfiniBand device, or of its NVMe controller. */
static char *find_pci_names(hwloc_obj_t pci, enum pci_kind kind)
{
	static const hwloc_obj_osdev_type_t nic[] = {HWLOC_OBJ_OSDEV_NETWORK, HWLOC_OBJ_OSDEV_OPENFABRICS};
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(PCI_NAMES_MAX);

	for (size_t i = 0; kind == PCI_NIC && i < ARRAY_SIZE(nic); i++)
		for (const struct hwloc_obj *obj = pci->io_first_child; obj; obj = obj->next_sibling)
			if (is_named_osdev(obj) && obj->attr->osdev.type == nic[i]) {
				strbuf_addf(&out, "%s%s", out.len > 0 ? " " : "", obj->name);
				break;
			}
	for (const struct hwloc_obj *obj = pci->io_first_child; kind == PCI_NVME && obj && out.len == 0;
		obj = obj->next_sibling)
		if (is_named_osdev(obj))
			strbuf_add(&out, obj->name, controller_length(obj->name));
	return out.len > 0 ? strbuf_detach(&out) : NULL;
}

/* An XML file without any PCI device was written without I/O devices, so which devices the machine has is unknown. */
static void add_hwloc_pci_devices(struct machine *m, hwloc_topology_t topology)
{
	hwloc_obj_t obj = NULL;

	m->pci_known = hwloc_get_next_pcidev(topology, NULL) != NULL;

	while ((obj = hwloc_get_next_pcidev(topology, obj))) {
		const struct hwloc_pcidev_attr_s *pci = &obj->attr->pcidev;
		const struct hwloc_obj *bridge = find_host_bridge(obj);
		struct pci_device d = {.address = {pci->domain, pci->bus,
					       (uint8_t)((pci->dev & 0x1f) << 3 | (pci->func & 7))},
			.numa = find_pci_node(topology, m, obj),
			.root_known = bridge,
			.minor = -1};

		if (!pci_kind_of(pci->class_id, pci->vendor_id, &d.kind) || m->pci.n_items == PCI_DEVICES_MAX)
			continue;
		if (bridge)
			d.root = (struct pci_root){bridge->attr->bridge.downstream.pci.domain,
				bridge->attr->bridge.downstream.pci.secondary_bus};
		d.names = find_pci_names(obj, d.kind);
		*(struct pci_device *)vec_push(
			&m->pci.items, &m->pci.n_items, &m->pci.items_size, sizeof(d)) = d;
	}
	pci_devices_sort(&m->pci);
}

/* `size` includes the closing NUL. */
static bool load_text(const char *text, size_t size, hwloc_topology_t topology)
{
	return size <= INT_MAX && hwloc_topology_set_xmlbuffer(topology, text, (int)size) == 0 &&
	       hwloc_topology_load(topology) == 0;
}

/* Whether the ids of all objects below `parent` are small. By the tree, because an object whose bitmap hwloc could not allocate may be in none
 * of hwloc's levels. */
static bool descendants_have_small_ids(hwloc_topology_t topology, hwloc_obj_t parent)
{
	for (hwloc_obj_t obj = NULL; (obj = hwloc_get_next_child(topology, parent, obj));)
		if ((obj->type == HWLOC_OBJ_PU && obj->os_index >= MACHINE_MAX_CPUS) ||
			(obj->type == HWLOC_OBJ_NUMANODE && obj->os_index >= MACHINE_MAX_NODES) ||
			!descendants_have_small_ids(topology, obj))
			return false;
	return true;
}

/* Limits the address space of this process to its present size and `more` bytes. */
static bool limit_memory(size_t more)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);
	unsigned long pages, page = (unsigned long)sysconf(_SC_PAGESIZE);
	struct rlimit limit;

	if (fs_read("", "/proc/self/statm", &text, NULL) < 0)
		return false;
	pages = strtoul(text.text, NULL, 10);
	limit.rlim_cur = limit.rlim_max = pages * page + more;
	return pages > 0 && setrlimit(RLIMIT_AS, &limit) == 0;
}

static bool ids_are_small(hwloc_topology_t topology)
{
	return descendants_have_small_ids(topology, hwloc_get_root_obj(topology)) &&
	       hwloc_bitmap_last(hwloc_topology_get_complete_cpuset(topology)) < MACHINE_MAX_CPUS &&
	       hwloc_bitmap_last(hwloc_topology_get_complete_nodeset(topology)) < MACHINE_MAX_NODES;
}

/* Write the loaded topology as hwloc exports it. */
static bool write_topology(hwloc_topology_t topology, int fd)
{
	char *text;
	int len;
	bool ok;

	if (hwloc_topology_export_xmlbuffer(topology, &text, &len, 0) < 0)
		return false;
	ok = write(fd, text, (size_t)len) == len;
	hwloc_free_xmlbuffer(topology, text);
	return ok;
}

/* In the child: no handler of the parent catches a crash, nothing is printed and no core is written. */
__attribute__((noreturn)) static void try_text(const struct strbuf *text, hwloc_topology_t topology, int fd)
{
	static const int deadly[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGXCPU};
	const struct rlimit no_core = {0, 0}, cpu = {LOAD_SECONDS, LOAD_SECONDS};
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(deadly); i++) {
		signal(deadly[i], SIG_DFL);
		sigaddset(&set, deadly[i]);
	}
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	setrlimit(RLIMIT_CORE, &no_core);
	if (null >= 0)
		dup2(null, STDERR_FILENO);
	setrlimit(RLIMIT_CPU, &cpu); /* fails if there is a lower limit */
	if (!limit_memory(LOAD_BYTES + LOAD_BYTES_EACH * text->len) ||
		!load_text(text->text, text->len + 1, topology))
		_exit(EINVAL);
	if (!ids_are_small(topology))
		_exit(ERANGE);
	_exit(write_topology(topology, fd) ? 0 : EINVAL);
}

/*
 * hwloc crashes on some incomplete or contradictory files, and allocates memory for content that it then
 * drops. So a child loads the file first and writes the result to `fd`; a child that does not return a
 * topology within LOAD_SECONDS of CPU time and its memory limit proves the file bad. 0; -EINVAL; -ERANGE for an id that
 * is too large; -errno when no child can be started.
 */
static int probe_text(const struct strbuf *text, hwloc_topology_t topology, int fd)
{
	int status;
	pid_t child = fork();

	if (child < 0)
		return -errno;
	if (child == 0)
		try_text(text, topology, fd);
	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == ERANGE))
		return -WEXITSTATUS(status);
	return -EINVAL;
}

/* Load a text through a child. Returns as probe_text(). */
static int load_safely(const struct strbuf *text, hwloc_topology_t topology)
{
	CLEANUP(closep) int fd = memfd_create("machine", MFD_CLOEXEC);
	off_t size;
	char *map;
	int r;

	if (fd < 0)
		return -errno;
	r = probe_text(text, topology, fd);
	if (r < 0)
		return r;
	size = lseek(fd, 0, SEEK_END);
	map = size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	if (map == MAP_FAILED)
		return -EINVAL;
	r = load_text(map, (size_t)size, topology) ? 0 : -EINVAL;
	munmap(map, (size_t)size);
	return r;
}

static int load_xml(const char *path, hwloc_topology_t *ret, struct err *err)
{
	CLEANUP(topology_freep) hwloc_topology_t topology = NULL;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(DISCOVER_XML_MAX);
	int r = fs_read("", path, &text, err);

	if (r < 0)
		return r;
	r = discover_hwloc_prepare("", err);
	if (r < 0)
		return r;
	r = new_topology(true, &topology, err);
	if (r < 0)
		return r;
	r = load_safely(&text, topology);
	if (r == -ERANGE)
		return err_set(err, r,
			"'%s': ids of %d and above are not supported for CPUs, of %d for NUMA nodes", path,
			MACHINE_MAX_CPUS, MACHINE_MAX_NODES);
	if (r < 0 && r != -EINVAL)
		return err_set(err, r, "'%s': cannot start a process to read it: %s", path, strerror(-r));
	if (r < 0)
		return err_set(err, -EINVAL, "'%s' is not a machine that hwloc %s can read (lstopo FILE.xml)",
			path, HWLOC_VERSION);
	*ret = TAKE(topology);
	return 0;
}

/* `m` is empty. CPUs get their NUMA nodes, and PCI devices and distances refer to NUMA nodes, after these are added. */
static int fill_machine(struct machine *m, hwloc_topology_t topology, struct err *err)
{
	int r = add_offline(m, topology, err);

	if (r < 0)
		return r;
	r = add_hwloc_cpus(NULL, m, topology, err);
	if (r < 0)
		return r;
	r = add_hwloc_nodes(m, topology, err);
	if (r < 0)
		return r;
	place_cpus(m, topology);
	add_hwloc_pci_devices(m, topology);
	return add_hwloc_distances(m, topology, err);
}

int discover_hwloc_xml(const char *path, struct machine *m, struct err *err)
{
	CLEANUP(topology_freep) hwloc_topology_t topology = NULL;
	int r = load_xml(path, &topology, err);

	if (r < 0)
		return r;
	r = fill_machine(m, topology, err);
	return r < 0 ? err_wrap(err, r, "%s", path) : 0;
}

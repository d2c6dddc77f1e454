/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/discover_hwloc.h"

#include <errno.h>
#include <hwloc.h>
#include <hwloc/distances.h>
#include <limits.h>
#include <string.h>

#include "agent/fs.h"
#include "common/cleanup.h"
#include "common/strbuf.h"
#include "common/vec.h"

#define DISTANCE_MAX 65535u

static void topology_freep(hwloc_topology_t *topology)
{
	if (*topology)
		hwloc_topology_destroy(*topology);
	*topology = NULL;
}

/* What hwloc 2 offers no call for. A variable of the caller's environment never changes the result. */
static int set_environment(const char *root)
{
	const struct {
		const char *name, *value; /* NULL = must not be set */
	} variables[] = {
		{"HWLOC_FSROOT", *root ? root : NULL},  /* the other machine's files */
		{"HWLOC_COMPONENTS", "linux,stop"},     /* no cpuid, PCI, synthetic, XML by variable */
		{"HWLOC_PLUGINS_PATH", "/nonexistent"}, /* no plugin is looked for or loaded */
		{"HWLOC_HIDE_ERRORS", "2"},             /* no warnings on stderr */
		{"HWLOC_USE_NUMA_DISTANCES", "0"},      /* read by kernel_discover() */
	};

	for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
		const char *now = getenv(variables[i].name), *want = variables[i].value;

		if (!want ? now && unsetenv(variables[i].name) < 0
			  : (!now || strcmp(now, want) != 0) && setenv(variables[i].name, want, 1) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* A topology with the filters set, yet to be told its source and loaded. */
static int new_topology(unsigned long flags, hwloc_topology_t *ret, struct err *err)
{
	CLEANUP(topology_freep) hwloc_topology_t topology = NULL;

	if (hwloc_topology_init(&topology) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE) < 0 ||
		hwloc_topology_set_type_filter(topology, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL) < 0 ||
		hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL) < 0 ||
		hwloc_topology_set_type_filter(topology, HWLOC_OBJ_L3CACHE, HWLOC_TYPE_FILTER_KEEP_ALL) < 0 ||
		hwloc_topology_set_flags(topology, flags | HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED |
							   HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS |
							   HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS) < 0)
		return err_set(err, -EINVAL, "hwloc refuses its flags: %s", strerror(errno));
	*ret = TAKE(topology);
	return 0;
}

static int os_id(const struct hwloc_obj *obj)
{
	return obj->os_index <= INT_MAX ? (int)obj->os_index : MACHINE_NONE;
}

static int add_cpu(struct machine *m, const struct hwloc_obj *pu, struct err *err)
{
	struct cpu cpu = {.id = pu->os_index,
		.core = pu->os_index,
		.socket = MACHINE_NONE,
		.numa = MACHINE_NONE,
		.l3 = MACHINE_NONE,
		.uncore = MACHINE_NONE};

	if (pu->os_index >= MACHINE_MAX_CPUS)
		return err_set(err, -ERANGE, "CPU %u: an id of %d or above is not supported", pu->os_index,
			MACHINE_MAX_CPUS);
	for (const struct hwloc_obj *obj = pu->parent; obj; obj = obj->parent) {
		if (obj->type == HWLOC_OBJ_CORE)
			cpu.core = (unsigned)hwloc_bitmap_first(obj->cpuset);
		else if (obj->type == HWLOC_OBJ_PACKAGE)
			cpu.socket = os_id(obj);
		else if (obj->type == HWLOC_OBJ_L3CACHE)
			cpu.l3 = os_id(obj);
	}
	if (vec_grow(&m->cpus, &m->cpus_size, m->n_cpus + 1, sizeof(*m->cpus)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	m->cpus[m->n_cpus++] = cpu;
	return 0;
}

static int add_cpus(struct machine *m, hwloc_topology_t topology, struct err *err)
{
	hwloc_obj_t pu = NULL;

	while ((pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu))) {
		int r = add_cpu(m, pu, err);

		if (r < 0)
			return r;
	}
	return 0;
}

int discover_hwloc_cpus(const char *root, struct machine *m, struct err *err)
{
	CLEANUP(topology_freep) hwloc_topology_t topology = NULL;
	int r = set_environment(root);

	if (r < 0)
		return err_set(err, r, "out of memory");
	r = new_topology(HWLOC_TOPOLOGY_FLAG_NO_DISTANCES, &topology, err);
	if (r < 0)
		return r;
	if (hwloc_topology_load(topology) < 0)
		return err_set(
			err, -EINVAL, "hwloc finds no CPU topology in '%s/sys/devices/system/cpu'", root);
	return add_cpus(m, topology, err);
}

/* ---- XML */

static int add_pools(struct numa_node *node, const struct hwloc_numanode_attr_s *memory, struct err *err)
{
	/* hwloc has sorted them by size; the first is the ordinary page. */
	for (unsigned i = 1; i < memory->page_types_len; i++) {
		struct hugepage_pool pool = {memory->page_types[i].size, memory->page_types[i].count};
		uint64_t bytes;

		if (__builtin_mul_overflow(pool.page_bytes, pool.pages, &bytes) || bytes > INT64_MAX)
			return err_set(
				err, -ERANGE, "NUMA node %u: more hugepages than there can be", node->id);
		if (vec_grow(&node->pools, &node->pools_size, node->n_pools + 1, sizeof(*node->pools)) < 0)
			return err_set(err, -ENOMEM, "out of memory");
		node->pools[node->n_pools++] = pool;
	}
	return 0;
}

/* Append the NUMA nodes in the kernel's order, without CPUs. */
static int add_nodes(struct machine *m, hwloc_topology_t topology, struct err *err)
{
	hwloc_const_bitmap_t ids = hwloc_topology_get_complete_nodeset(topology);

	if (hwloc_bitmap_last(ids) >= MACHINE_MAX_NODES || hwloc_bitmap_weight(ids) < 0)
		return err_set(err, -ERANGE, "NUMA node %d: an id of %d or above is not supported",
			hwloc_bitmap_last(ids), MACHINE_MAX_NODES);
	for (int id = hwloc_bitmap_first(ids); id >= 0; id = hwloc_bitmap_next(ids, id)) {
		const struct hwloc_obj *obj = hwloc_get_numanode_obj_by_os_index(topology, (unsigned)id);
		struct numa_node *node;
		int r;

		if (!obj)
			continue;
		if (vec_grow(&m->nodes, &m->nodes_size, m->n_nodes + 1, sizeof(*m->nodes)) < 0)
			return err_set(err, -ENOMEM, "out of memory");
		node = &m->nodes[m->n_nodes++];
		*node = (struct numa_node){.id = (unsigned)id,
			.socket = MACHINE_NONE,
			.cpus = hwloc_bitmap_alloc(),
			.memory_bytes = obj->attr->numanode.local_memory};
		if (!node->cpus)
			return err_set(err, -ENOMEM, "out of memory");
		if (node->memory_bytes > INT64_MAX)
			return err_set(err, -ERANGE, "NUMA node %d: more memory than there can be", id);
		r = add_pools(node, &obj->attr->numanode, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The node that hwloc takes for a CPU's own. */
static const struct hwloc_obj *default_node(const struct hwloc_obj *pu)
{
	for (const struct hwloc_obj *obj = pu; obj; obj = obj->parent) {
		if (obj->memory_first_child)
			return obj->memory_first_child;
	}
	return NULL;
}

static int place_cpus(struct machine *m, hwloc_topology_t topology, struct err *err)
{
	hwloc_obj_t pu = NULL;

	while ((pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu))) {
		const struct hwloc_obj *obj = default_node(pu);
		int node = obj ? machine_node_index(m, obj->os_index) : -1;

		if (node >= 0 && hwloc_bitmap_set(m->nodes[node].cpus, pu->os_index) < 0)
			return err_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

static int copy_distances(struct machine *m, const struct hwloc_distances_s *matrix, struct err *err)
{
	unsigned n = matrix->nbobjs;

	for (unsigned from = 0; from < n; from++) {
		for (unsigned to = 0; to < n; to++) {
			hwloc_uint64_t value = matrix->values[from * n + to];
			int row = machine_node_index(m, matrix->objs[from]->os_index);
			int column = machine_node_index(m, matrix->objs[to]->os_index);

			if (value > DISTANCE_MAX)
				return err_set(err, -ERANGE, "NUMALatency %llu is no distance",
					(unsigned long long)value);
			if (row >= 0 && column >= 0)
				m->distances[(size_t)row * m->n_nodes + (size_t)column] = (unsigned)value;
		}
	}
	return 0;
}

static int add_distances(struct machine *m, hwloc_topology_t topology, struct err *err)
{
	struct hwloc_distances_s *matrix = NULL;
	unsigned n = 1;
	int r;

	if (hwloc_distances_get_by_name(topology, "NUMALatency", &n, &matrix, 0) < 0 || n == 0 || !matrix)
		return 0;
	m->distances = calloc(m->n_nodes * m->n_nodes, sizeof(*m->distances));
	r = m->distances ? copy_distances(m, matrix, err) : err_set(err, -ENOMEM, "out of memory");
	hwloc_distances_release(topology, matrix);
	return r;
}

static int add_offline(struct machine *m, hwloc_topology_t topology, struct err *err)
{
	hwloc_const_bitmap_t all = hwloc_topology_get_complete_cpuset(topology);

	if (hwloc_bitmap_last(all) >= MACHINE_MAX_CPUS || hwloc_bitmap_weight(all) < 0)
		return err_set(err, -ERANGE, "CPU %d: an id of %d or above is not supported",
			hwloc_bitmap_last(all), MACHINE_MAX_CPUS);
	m->offline = hwloc_bitmap_dup(all);
	if (!m->offline ||
		hwloc_bitmap_andnot(m->offline, m->offline, hwloc_topology_get_topology_cpuset(topology)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* Load the file's text. */
static int load_xml(const char *path, hwloc_topology_t *ret, struct err *err)
{
	CLEANUP(topology_freep) hwloc_topology_t topology = NULL;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(DISCOVER_XML_MAX);
	int r = fs_read("", path, &text, err);

	if (r < 0)
		return r;
	if (set_environment("") < 0)
		return err_set(err, -ENOMEM, "out of memory");
	r = new_topology(0, &topology, err);
	if (r < 0)
		return r;
	if (hwloc_topology_set_xmlbuffer(topology, text.text, (int)text.len + 1) < 0 ||
		hwloc_topology_load(topology) < 0)
		return err_set(err, -EINVAL, "'%s' is no machine that hwloc %s reads (lstopo FILE.xml)", path,
			HWLOC_VERSION);
	*ret = TAKE(topology);
	return 0;
}

int discover_hwloc_xml(const char *path, struct machine *m, struct err *err)
{
	CLEANUP(topology_freep) hwloc_topology_t topology = NULL;
	int r = load_xml(path, &topology, err);

	if (r < 0)
		return r;
	r = add_offline(m, topology, err);
	if (r == 0)
		r = add_cpus(m, topology, err);
	if (r == 0)
		r = add_nodes(m, topology, err);
	if (r == 0)
		r = place_cpus(m, topology, err);
	if (r == 0)
		r = add_distances(m, topology, err);
	return r < 0 ? err_wrap(err, r, "%s", path) : 0;
}

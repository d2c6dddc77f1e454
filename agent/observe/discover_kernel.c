/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel lists under sys/devices/system/{cpu,node}. */
#include "agent/observe/discover.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

#include "agent/observe/fs_root.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/strbuf.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define CPU_DIR  "/sys/devices/system/cpu"
#define NODE_DIR "/sys/devices/system/node"

/* Longest file read here; a cpulist of 8192 CPUs takes 40 KiB at worst. */
#define FILE_MAX ((size_t)64 << 10)

/* A distance is one byte in the ACPI tables; other firmware may have more. */
#define DISTANCE_MAX 65535u

/* The file being read; one buffer serves all files. A missing optional file leaves a text in `err` without
 * being an error, so reader_fail() copies the text to the caller only on failure. */
struct reader {
	const char *root;
	struct fs_directory
		cpus;   /* CPU_DIR; its `fd` is open while many files of CPUs are read, otherwise -1 */
	char path[128]; /* below root */
	struct strbuf text;
	struct err err;
};

#define READER_INIT(directory)                                                                          \
	{                                                                                               \
		.root = (directory), .cpus = {(directory), CPU_DIR, -1}, .text = STRBUF_INIT(FILE_MAX), \
		.err = { "" }                                                                           \
	}

static void kernel_reader_release(struct reader *rd)
{
	strbuf_release(&rd->text);
	closep(&rd->cpus.fd);
}

static int reader_fail(const struct reader *rd, int code, struct err *err)
{
	return err_set(err, code, "%s", rd->err.text);
}

void kernel_cpus_release(struct kernel_cpus *c)
{
	cpuset_freep(&c->present);
	cpuset_freep(&c->online);
}

/* Read the file of this name without trailing white space; -ENOENT also for a device that is being removed. While rd->cpus is open, the name must
 * be below CPU_DIR. Recorded files may end with a NUL byte: only the text before it counts. */
__attribute__((format(printf, 2, 3))) static int read_text(struct reader *rd, const char *fmt, ...)
{
	va_list ap;
	size_t len;
	int r;

	va_start(ap, fmt);
	vsnprintf(rd->path, sizeof(rd->path), fmt, ap);
	va_end(ap);
	strbuf_reset(&rd->text);
	if (rd->cpus.fd >= 0)
		r = fs_read_in(&rd->cpus, rd->path + strlen(CPU_DIR "/"), &rd->text, &rd->err);
	else
		r = fs_read(rd->root, rd->path, &rd->text, &rd->err);
	if (r < 0)
		return r == -ENODEV ? -ENOENT : r;
	len = strlen(rd->text.text);
	while (len > 0 && isspace((unsigned char)rd->text.text[len - 1]))
		rd->text.text[--len] = '\0';
	return 0;
}

/* Set the error for bad content in the file last read; `sample` is where parsing stopped. */
static int fail_content(struct reader *rd, int code, const char *what, const char *sample)
{
	char shown[41];
	size_t n = 0;

	for (; n < sizeof(shown) - 1 && sample[n]; n++)
		shown[n] = isprint((unsigned char)sample[n]) ? sample[n] : '?';
	shown[n] = '\0';
	return err_set(&rd->err, code, "'%s%s': %s: '%s'", rd->root, rd->path, what, shown);
}

/* The decimal number at *p, advanced past it. -EINVAL when there is none, -ERANGE above `max`. */
static int parse_decimal(const char **p, uint64_t max, uint64_t *ret)
{
	uint64_t n = 0;

	if (!isdigit((unsigned char)**p))
		return -EINVAL;
	for (; isdigit((unsigned char)**p); (*p)++) {
		unsigned digit = (unsigned)(**p - '0');

		if (digit > max || n > (max - digit) / 10)
			return -ERANGE;
		n = n * 10 + digit;
	}
	*ret = n;
	return 0;
}

/* The text just read as a set of ids below `limit`: a mask ("f0") or a list ("4-7"). */
static int parse_set(struct reader *rd, bool is_mask, unsigned limit, hwloc_bitmap_t *ret)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = NULL;
	int r = is_mask ? cpuset_parse_mask(rd->text.text, &set, NULL)
			: cpuset_parse(rd->text.text, &set, NULL);

	if (r == -EINVAL)
		return fail_content(rd, r, is_mask ? "not a mask" : "not a list", rd->text.text);
	if (r == -ERANGE || hwloc_bitmap_last(set) >= (int)limit)
		return err_set(&rd->err, -ERANGE, "'%s%s': an id of %u or above is not supported", rd->root,
			rd->path, limit);
	*ret = TAKE(set);
	return 0;
}

/* Read a file with a list of ids below `limit`. *ret is NULL if the file does not exist. */
static int read_optional_set(struct reader *rd, const char *path, unsigned limit, hwloc_bitmap_t *ret)
{
	int r = read_text(rd, "%s", path);

	*ret = NULL;
	if (r == -ENOENT)
		return 0;
	return r < 0 ? r : parse_set(rd, false, limit, ret);
}

/* The ids of the directories prefix<N> as a set. */
static int list_directory_ids(
	struct reader *rd, const char *dir, const char *prefix, unsigned limit, hwloc_bitmap_t *ret)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = NULL;
	CLEANUP(freep) uint64_t *ids = NULL;
	size_t n;
	int r = fs_list_numbers(rd->root, dir, prefix, "", &ids, &n, &rd->err);

	if (r < 0)
		return r;
	if (n > 0 && ids[n - 1] >= limit)
		return err_set(&rd->err, -ERANGE, "'%s%s/%s%llu': an id of %u or above is not supported",
			rd->root, dir, prefix, (unsigned long long)ids[n - 1], limit);
	set = cpuset_new();
	for (size_t i = 0; i < n; i++)
		cpuset_set(set, (unsigned)ids[i]);
	*ret = TAKE(set);
	return 0;
}

static int read_kernel_cpus(struct reader *rd, struct kernel_cpus *cpus)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t dirs = NULL;
	int r = list_directory_ids(rd, CPU_DIR, "cpu", MACHINE_MAX_CPUS, &dirs);

	if (r < 0)
		return r;
	r = read_optional_set(rd, CPU_DIR "/online", MACHINE_MAX_CPUS, &cpus->online);
	if (r < 0)
		return r;
	r = read_optional_set(rd, CPU_DIR "/present", MACHINE_MAX_CPUS, &cpus->present);
	if (r < 0)
		return r;
	if (hwloc_bitmap_iszero(dirs))
		return err_set(&rd->err, -EINVAL, "'%s" CPU_DIR "' lists no CPU", rd->root);
	if (cpus->online && hwloc_bitmap_iszero(cpus->online))
		return err_set(&rd->err, -EINVAL, "'%s" CPU_DIR "/online' is empty", rd->root);
	if (!cpus->present)
		cpus->present = TAKE(dirs);
	return 0;
}

/* MemTotal of a meminfo file ("Node 0 MemTotal:   16342156 kB", "MemTotal: ..."), missing = 0. */
static int read_meminfo(struct reader *rd, const char *path, uint64_t *ret_bytes)
{
	static const char key[] = "MemTotal:";
	const char *p;
	uint64_t kb = 0;
	int r = read_text(rd, "%s", path);

	if (r == -ENOENT) {
		*ret_bytes = 0;
		return 0;
	}
	if (r < 0)
		return r;
	p = strstr(rd->text.text, key);
	if (!p)
		return fail_content(rd, -EINVAL, "no line 'MemTotal'", rd->text.text);
	p += strlen(key);
	p += strspn(p, " \t");
	r = parse_decimal(&p, INT64_MAX / 1024, &kb);
	if (r < 0 || strncmp(p, " kB", 3) != 0)
		return fail_content(rd, r < 0 ? r : -EINVAL, "MemTotal is not a number of kB", p);
	*ret_bytes = kb * 1024;
	return 0;
}

static int read_pools(struct reader *rd, const char *dir, struct numa_node *node)
{
	CLEANUP(freep) uint64_t *sizes = NULL;
	size_t n = 0;
	int r = fs_list_numbers(rd->root, dir, "hugepages-", "kB", &sizes, &n, &rd->err);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		struct hugepage_pool *added, pool;
		const char *p;
		uint64_t bytes;

		r = read_text(rd, "%s/hugepages-%llukB/nr_hugepages", dir, (unsigned long long)sizes[i]);
		if (r < 0)
			return r;
		p = rd->text.text;
		r = parse_decimal(&p, INT64_MAX, &pool.pages);
		if (r < 0 || *p)
			return fail_content(rd, r < 0 ? r : -EINVAL, "not a number of pages", rd->text.text);
		if (sizes[i] == 0 || __builtin_mul_overflow(sizes[i], 1024, &pool.page_bytes) ||
			__builtin_mul_overflow(pool.page_bytes, pool.pages, &bytes) || bytes > INT64_MAX)
			return fail_content(rd, -ERANGE, "memory size out of range", rd->text.text);
		added = vec_push(&node->pools, &node->n_pools, &node->pools_size, sizeof(*added));
		*added = pool;
	}
	return 0;
}

static struct numa_node *append_numa_node(struct machine *m, unsigned id)
{
	struct numa_node *node = vec_push(&m->nodes, &m->n_nodes, &m->nodes_size, sizeof(*node));

	*node = (struct numa_node){.id = id, .socket = MACHINE_NONE};
	return node;
}

/* The kubelet uses only the links, which every kernel has; many recorded machines lack them. */
static int read_node_cpus(struct reader *rd, unsigned id, hwloc_bitmap_t *ret)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t links = NULL;
	char path[64];
	bool is_mask = false;
	int r;

	snprintf(path, sizeof(path), NODE_DIR "/node%u", id);
	r = list_directory_ids(rd, path, "cpu", MACHINE_MAX_CPUS, &links);
	if (r < 0)
		return r;
	if (!hwloc_bitmap_iszero(links)) {
		*ret = TAKE(links);
		return 0;
	}
	r = read_text(rd, NODE_DIR "/node%u/cpulist", id);
	if (r == -ENOENT) {
		is_mask = true;
		r = read_text(rd, NODE_DIR "/node%u/cpumap", id);
	}
	return r < 0 ? r : parse_set(rd, is_mask, MACHINE_MAX_CPUS, ret);
}

static int read_node_directory(struct reader *rd, struct machine *m, unsigned id)
{
	struct numa_node *node = append_numa_node(m, id);
	char path[64];
	int r;

	r = read_node_cpus(rd, id, &node->cpus);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), NODE_DIR "/node%u/meminfo", id);
	r = read_meminfo(rd, path, &node->memory_bytes);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), NODE_DIR "/node%u/hugepages", id);
	return read_pools(rd, path, node);
}

/* The row just read as numbers; *ret_n of them, at most MACHINE_MAX_NODES. */
static int parse_row(struct reader *rd, unsigned *values, size_t *ret_n)
{
	const char *p = rd->text.text;
	size_t n = 0;

	for (p += strspn(p, " "); *p; p += strspn(p, " ")) {
		const char *start = p;
		uint64_t value;
		int r = parse_decimal(&p, DISTANCE_MAX, &value);

		if (r < 0 || (*p && *p != ' '))
			return fail_content(rd, r < 0 ? r : -EINVAL, "not a distance", start);
		if (n == MACHINE_MAX_NODES)
			return fail_content(rd, -ERANGE, "too many distances", start);
		values[n++] = (unsigned)value;
	}
	*ret_n = n;
	return 0;
}

/*
 * Read every node's row into the matrix; `online` is node/online or NULL, `dirs` the node directories. The columns of a row are the online
 * nodes, or the directories if only their number fits; a row of another length stays unknown.
 */
static int read_distances(
	struct reader *rd, struct machine *m, hwloc_const_bitmap_t online, hwloc_const_bitmap_t dirs)
{
	unsigned values[MACHINE_MAX_NODES];
	bool any_known = false;

	m->distances = xcalloc(m->n_nodes * m->n_nodes, sizeof(*m->distances));
	for (size_t from = 0; from < m->n_nodes; from++) {
		hwloc_const_bitmap_t columns = online;
		int r = read_text(rd, NODE_DIR "/node%u/distance", m->nodes[from].id), id = -1;
		size_t n = 0;

		if (r == -ENOENT)
			continue;
		if (r < 0)
			return r;
		r = parse_row(rd, values, &n);
		if (r < 0)
			return r;
		m->nodes[from].lists_distances = n > 0;
		if (cpuset_size(columns) != n)
			columns = dirs;
		if (cpuset_size(columns) != n)
			continue;
		for (size_t i = 0; i < n; i++) {
			int to;

			id = hwloc_bitmap_next(columns, id);
			to = machine_node_index(m, (unsigned)id);
			if (to < 0)
				continue;
			m->distances[from * m->n_nodes + (size_t)to] = values[i];
			any_known = any_known || values[i] != 0;
		}
	}
	if (!any_known)
		freep(&m->distances);
	return 0;
}

static int read_node_directories(struct reader *rd, struct machine *m)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t dirs = NULL;
	CLEANUP(cpuset_freep) hwloc_bitmap_t online = NULL;
	int id, r = list_directory_ids(rd, NODE_DIR, "node", MACHINE_MAX_NODES, &dirs);

	if (r == -ENOENT) {
		/* A kernel without NUMA: all memory is one node. */
		struct numa_node *node = append_numa_node(m, 0);

		m->without_numa = true;
		node->memory_bytes = m->memory_bytes;
		return read_pools(rd, "/sys/kernel/mm/hugepages", node);
	}
	if (r < 0)
		return r;
	r = read_optional_set(rd, NODE_DIR "/online", MACHINE_MAX_NODES, &online);
	if (r < 0)
		return r;
	if (hwloc_bitmap_iszero(dirs))
		return err_set(&rd->err, -EINVAL, "'%s" NODE_DIR "' lists no NUMA node", rd->root);
	if (online && hwloc_bitmap_iszero(online))
		return err_set(&rd->err, -EINVAL, "'%s" NODE_DIR "/online' is empty", rd->root);
	for (id = hwloc_bitmap_first(dirs); id >= 0; id = hwloc_bitmap_next(dirs, id)) {
		r = read_node_directory(rd, m, (unsigned)id);
		if (r < 0)
			return r;
	}
	return read_distances(rd, m, online, dirs);
}

int kernel_discover(const char *root, struct machine *m, struct kernel_cpus *ret_cpus, struct err *err)
{
	CLEANUP(kernel_reader_release) struct reader rd = READER_INIT(root);
	int r = read_kernel_cpus(&rd, ret_cpus);

	if (r >= 0)
		r = read_meminfo(&rd, "/proc/meminfo", &m->memory_bytes);
	if (r >= 0)
		r = read_node_directories(&rd, m);
	return r < 0 ? reader_fail(&rd, r, err) : 0;
}

/* The text just read as an id; MACHINE_NONE for a negative number. */
static int parse_id(struct reader *rd, int *ret_id)
{
	const char *p = rd->text.text;
	bool negative = *p == '-';
	uint64_t id;
	int r;

	p += negative;
	r = parse_decimal(&p, INT32_MAX, &id);
	if (r < 0 || *p)
		return fail_content(rd, r < 0 ? r : -EINVAL, "not an id", rd->text.text);
	*ret_id = negative ? MACHINE_NONE : (int)id;
	return 0;
}

/* The id in a file of the CPU's topology directory; *ret is untouched when there is none. */
static int read_topology_id(struct reader *rd, unsigned cpu, const char *file, int *ret, bool *ret_known)
{
	int r = read_text(rd, CPU_DIR "/cpu%u/topology/%s", cpu, file);

	*ret_known = false;
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = parse_id(rd, ret);
	*ret_known = r == 0;
	return r;
}

int kernel_read_socket(const char *root, unsigned cpu, int *ret_socket, struct err *err)
{
	CLEANUP(kernel_reader_release) struct reader rd = READER_INIT(root);
	int socket = MACHINE_NONE;
	bool known;
	int r = read_topology_id(&rd, cpu, "physical_package_id", &socket, &known);

	if (r < 0)
		return reader_fail(&rd, r, err);
	*ret_socket = socket;
	return 0;
}

static int read_core(struct reader *rd, struct cpu *cpu)
{
	struct core_name name = {0};
	bool known;
	int r = read_topology_id(rd, cpu->id, "core_id", &name.core, &name.known);

	if (r < 0)
		return r;
	r = read_topology_id(rd, cpu->id, "book_id", &name.book, &known);
	if (r < 0)
		return r;
	r = read_topology_id(rd, cpu->id, "drawer_id", &name.drawer, &known);
	if (r < 0)
		return r;
	cpu->core_name = name;
	return 0;
}

int kernel_read_cores(const char *root, struct machine *m, struct err *err)
{
	CLEANUP(kernel_reader_release) struct reader rd = READER_INIT(root);
	int r = 0;

	/* Only cheaper: on failure read_text() reads each file by its whole path. */
	rd.cpus.fd = fs_open(root, CPU_DIR, O_PATH | O_DIRECTORY);
	for (size_t i = 0; i < m->n_cpus && r == 0; i++)
		r = read_core(&rd, &m->cpus[i]);
	return r < 0 ? reader_fail(&rd, r, err) : 0;
}

/* -ENOENT: the CPU has no third-level cache, or the cache has no id. */
static int read_l3(struct reader *rd, unsigned cpu, int *ret_l3)
{
	/* index0 to index9, beginning with index3, which is almost always the L3 cache. */
	for (unsigned i = 3; i < 13; i++) {
		int r = read_text(rd, CPU_DIR "/cpu%u/cache/index%u/level", cpu, i % 10);

		if (r == -ENOENT || (r == 0 && strcmp(rd->text.text, "3") != 0))
			continue;
		if (r < 0)
			return r;
		r = read_text(rd, CPU_DIR "/cpu%u/cache/index%u/id", cpu, i % 10);
		return r < 0 ? r : parse_id(rd, ret_l3);
	}
	return -ENOENT;
}

int kernel_read_l3(const char *root, unsigned cpu, int *ret_l3, struct err *err)
{
	CLEANUP(kernel_reader_release) struct reader rd = READER_INIT(root);
	int r = read_l3(&rd, cpu, ret_l3);

	return r < 0 && r != -ENOENT ? reader_fail(&rd, r, err) : 0;
}

int kernel_check_siblings(const char *root, unsigned cpu, struct err *err)
{
	CLEANUP(kernel_reader_release) struct reader rd = READER_INIT(root);
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = NULL;
	int r = read_text(&rd, CPU_DIR "/cpu%u/topology/thread_siblings", cpu);

	if (r == -ENOENT)
		r = read_text(&rd, CPU_DIR "/cpu%u/topology/core_cpus", cpu);
	if (r == -ENOENT)
		return 0;
	r = r < 0 ? r : parse_set(&rd, true, MACHINE_MAX_CPUS, &set);
	return r < 0 ? reader_fail(&rd, r, err) : 0;
}

int kernel_read_isolated(const char *root, struct machine *m, struct err *err)
{
	CLEANUP(kernel_reader_release) struct reader rd = READER_INIT(root);
	int r = read_optional_set(&rd, CPU_DIR "/isolated", MACHINE_MAX_CPUS, &m->isolated);

	return r < 0 && fs_is_transient(r) ? reader_fail(&rd, r, err) : 0;
}

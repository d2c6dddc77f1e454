/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/sysfs.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/test.h"

#define IDS 8192

/* Where something is below root; valid until the next call. */
__attribute__((format(printf, 2, 0))) static const char *path_of(
	const char *root, const char *fmt, va_list ap)
{
	static char path[4096];
	char rest[512];

	vsnprintf(rest, sizeof(rest), fmt, ap);
	snprintf(path, sizeof(path), "%s/sys/devices/system/%s", root, rest);
	return path;
}

/* The text of a file below root up to a NUL byte, "" when it is missing; valid until the next call. */
__attribute__((format(printf, 2, 3))) static char *text_of(const char *root, const char *fmt, ...)
{
	static char text[1 << 16];
	va_list ap;
	FILE *f;

	va_start(ap, fmt);
	f = fopen(path_of(root, fmt, ap), "re");
	va_end(ap);
	memset(text, 0, sizeof(text));
	if (f) {
		text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
		fclose(f);
	}
	return text;
}

__attribute__((format(printf, 2, 3))) static bool exists(const char *root, const char *fmt, ...)
{
	va_list ap;
	bool found;

	va_start(ap, fmt);
	found = access(path_of(root, fmt, ap), F_OK) == 0;
	va_end(ap);
	return found;
}

/* A directory below root, NULL when it is missing; the caller closes it. */
__attribute__((format(printf, 2, 3))) static DIR *dir_of(const char *root, const char *fmt, ...)
{
	va_list ap;
	DIR *dir;

	va_start(ap, fmt);
	dir = opendir(path_of(root, fmt, ap));
	va_end(ap);
	return dir;
}

/* The IDs of what a directory has named "cpu<ID>"; whether there is any. Closes the directory. */
static bool cpus_in(DIR *dir, bool bits[IDS])
{
	const struct dirent *entry;
	bool any = false;

	memset(bits, 0, IDS * sizeof(*bits));
	while (dir && (entry = readdir(dir))) {
		unsigned id;
		int used = 0;

		if (sscanf(entry->d_name, "cpu%u%n", &id, &used) != 1 || entry->d_name[used] != '\0')
			continue;
		assert_in_range(id, 0, IDS - 1);
		bits[id] = any = true;
	}
	if (dir)
		closedir(dir);
	return any;
}

/* A mask, read digit by digit from its end. */
static void mask_bits(const char *text, bool bits[IDS])
{
	int bit = 0;

	memset(bits, 0, IDS * sizeof(*bits));
	for (size_t i = strcspn(text, "\n"); i-- > 0;) {
		char digit[2] = {text[i], '\0'};
		unsigned long value;

		if (text[i] == ',')
			continue;
		value = strtoul(digit, NULL, 16);
		for (int k = 0; k < 4; k++, bit++) {
			if (value >> k & 1)
				bits[bit] = true;
		}
	}
}

static bool in_list(const char *list, unsigned id)
{
	while (*list >= '0' && *list <= '9') {
		char *end;
		unsigned long first = strtoul(list, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (id >= first && id <= last)
			return true;
		list = *end == ',' ? end + 1 : "";
	}
	return false;
}

/* Present with a topology, and neither list nor own file says offline. */
static bool is_online(const char *root, unsigned cpu)
{
	if (!exists(root, "cpu/cpu%u/topology", cpu))
		return false;
	if (exists(root, "cpu/online"))
		return in_list(text_of(root, "cpu/online"), cpu);
	return *text_of(root, "cpu/cpu%u/online", cpu) != '0';
}

static void assert_cpu(const char *root, const struct cpu *cpu)
{
	static bool bits[IDS];
	const char *text = text_of(root, "cpu/cpu%u/topology/physical_package_id", cpu->id);
	unsigned core = cpu->id;
	int l3 = MACHINE_NONE;

	assert_int_equal(cpu->socket, *text && *text != '-' ? (int)strtol(text, NULL, 10) : MACHINE_NONE);
	mask_bits(text_of(root, "cpu/cpu%u/topology/thread_siblings", cpu->id), bits);
	for (unsigned id = cpu->id; id-- > 0;) {
		if (bits[id] && is_online(root, id))
			core = id;
	}
	assert_int_equal(cpu->hardware_core, core);
	for (int i = 0; i < 10; i++) {
		if (*text_of(root, "cpu/cpu%u/cache/index%d/level", cpu->id, i) != '3')
			continue;
		text = text_of(root, "cpu/cpu%u/cache/index%d/id", cpu->id, i);
		if (*text)
			l3 = (int)strtol(text, NULL, 10);
	}
	assert_int_equal(cpu->l3, l3);
}

static void assert_cpus(const char *root, const struct machine *m)
{
	static bool present[IDS];
	size_t n = 0;

	cpus_in(dir_of(root, "cpu"), present);
	for (unsigned id = 0; id < IDS; id++) {
		const struct cpu *cpu = machine_cpu(m, id);
		bool online = present[id] && is_online(root, id);

		if (online != (cpu != NULL) || online != (bool)hwloc_bitmap_isset(m->online, id))
			fail_msg("CPU %u: online %d, in the machine %d", id, online, cpu != NULL);
		if (!online)
			continue;
		assert_ptr_equal(cpu, &m->cpus[n++]);
		assert_cpu(root, cpu);
	}
	assert_int_equal(m->n_cpus, n);
}

static void assert_pools(const char *root, const struct numa_node *node)
{
	DIR *dir = dir_of(root, "node/node%u/hugepages", node->id);
	const struct dirent *entry;
	size_t n = 0;

	while (dir && (entry = readdir(dir))) {
		unsigned long kb;
		bool found = false;

		if (sscanf(entry->d_name, "hugepages-%lukB", &kb) != 1)
			continue;
		n++;
		for (size_t i = 0; i < node->n_pools; i++) {
			found = found ||
				(node->pools[i].page_bytes == kb * 1024 &&
					node->pools[i].pages ==
						strtoull(
							text_of(root, "node/node%u/hugepages/%s/nr_hugepages",
								node->id, entry->d_name),
							NULL, 10));
		}
		if (!found)
			fail_msg("node %u: no pool %s", node->id, entry->d_name);
	}
	if (dir)
		closedir(dir);
	assert_int_equal(node->n_pools, n);
	for (size_t i = 1; i < n; i++)
		assert_true(node->pools[i - 1].page_bytes < node->pools[i].page_bytes);
}

/* The node's row, when it has a column for each node. */
static void assert_distances(const char *root, const struct machine *m, size_t from)
{
	const char *text = text_of(root, "node/node%u/distance", m->nodes[from].id);
	unsigned values[1024] = {0};
	size_t n = 0;
	int used;

	for (; n < 1024 && sscanf(text, "%u%n", &values[n], &used) == 1; n++)
		text += used;
	for (size_t to = 0; to < m->n_nodes; to++)
		assert_int_equal(machine_distance(m, from, to), n == m->n_nodes ? values[to] : 0);
}

/* The node's links, as the kubelet reads it; records that have none: its map. */
static void node_cpus(const char *root, unsigned node, bool bits[IDS])
{
	if (!cpus_in(dir_of(root, "node/node%u", node), bits))
		mask_bits(text_of(root, "node/node%u/cpumap", node), bits);
}

static void assert_node(const char *root, const struct machine *m, const struct numa_node *node)
{
	static bool bits[IDS];
	const char *text = strstr(text_of(root, "node/node%u/meminfo", node->id), "MemTotal:");
	int socket = MACHINE_NONE;
	bool first = true;
	char own[16], name[16];

	assert_int_equal(node->memory_bytes, text ? strtoull(text + 9, NULL, 10) * 1024 : 0);
	node_cpus(root, node->id, bits);
	for (unsigned id = 0; id < IDS; id++) {
		const struct cpu *cpu = machine_cpu(m, id);
		bool here = bits[id] && cpu;

		if (here != (bool)hwloc_bitmap_isset(node->cpus, id))
			fail_msg("node %u, CPU %u: %d in cpumap, %d in the machine", node->id, id, here,
				!here);
		if (!here)
			continue;
		/* The last of several nodes has it, by name. */
		snprintf(own, sizeof(own), "%d", cpu->numa);
		snprintf(name, sizeof(name), "%u", node->id);
		assert_true(strcmp(own, name) >= 0);
		socket = first || socket == cpu->socket ? cpu->socket : MACHINE_NONE;
		first = false;
	}
	assert_int_equal(node->socket, socket);
	assert_pools(root, node);
}

/* A kernel without NUMA: a node per package, with the package's id if it can be a node's. */
static void assert_packages(const char *root, const struct machine *m)
{
	for (unsigned id = 0; id < 1024; id++)
		assert_false(exists(root, "node/node%u", id));
	assert_int_equal(m->n_nodes, m->n_sockets > 0 ? m->n_sockets : 1);
	for (size_t i = 0; i < m->n_sockets; i++) {
		if (m->n_sockets > 1 || m->sockets[i].id < 1024)
			assert_int_equal(m->nodes[i].id, m->sockets[i].id);
		assert_true(hwloc_bitmap_isequal(m->nodes[i].cpus, m->sockets[i].cpus));
	}
	assert_null(m->distances);
}

void sysfs_assert_machine(const char *root, const struct machine *m)
{
	size_t n = 0, n_sockets = 0;

	assert_cpus(root, m);
	if (m->without_numa) {
		assert_packages(root, m);
		return;
	}
	for (unsigned id = 0; id < 1024; id++) {
		if (!exists(root, "node/node%u", id))
			continue;
		assert_true(n < m->n_nodes);
		assert_int_equal(m->nodes[n].id, id);
		assert_node(root, m, &m->nodes[n]);
		assert_distances(root, m, n++);
	}
	assert_int_equal(m->n_nodes, n);
	for (size_t i = 0; i < m->n_sockets; i++) {
		for (size_t k = 0; k < m->n_cpus; k++) {
			bool in = m->cpus[k].socket == m->sockets[i].id;

			assert_int_equal(in, hwloc_bitmap_isset(m->sockets[i].cpus, m->cpus[k].id));
			n_sockets += in;
		}
	}
	for (size_t k = 0; k < m->n_cpus; k++)
		n_sockets += m->cpus[k].socket == MACHINE_NONE;
	assert_int_equal(n_sockets, m->n_cpus);
}

void sysfs_unpack(const char *archive, const char *dir, char *root, size_t size)
{
	char command[2048];
	DIR *opened;
	const struct dirent *entry;

	snprintf(command, sizeof(command),
		"tar -xjf '%s' -C '%s' --exclude='*/sys/bus' --exclude='*/sys/class' "
		"--exclude='*/sys/devices/pci*' "
		"--exclude='*/index[0124]/[acnpstuw]*' --exclude='*/power' --exclude='*/cpufreq' "
		"--exclude='*/cpuidle' "
		"--exclude='*/acpi_cppc' --exclude=uevent",
		archive, dir);
	if (system(command) != 0)
		fail_msg("cannot unpack '%s' (tar, bzip2)", archive);
	opened = opendir(dir);
	assert_non_null(opened);
	*root = '\0';
	while ((entry = readdir(opened))) {
		if (*entry->d_name != '.')
			snprintf(root, size, "%s/%s", dir, entry->d_name);
	}
	closedir(opened);
}

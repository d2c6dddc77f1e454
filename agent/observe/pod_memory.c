/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe/pod_memory.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "agent/observe/fs_root.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/xalloc.h"

#define KUBEPODS "kubepods"
#define SLICE    ".slice"

/* Largest numa_stat file: 30 lines with a number for each of 1024 NUMA nodes. */
#define FILE_MAX       ((size_t)1 << 20)
#define UID_MAX        64u /* characters of a pod's UID; 36 for UUIDs, 32 for static pods */
#define LAYOUTS_MAX    4u  /* directories of the kubelet's pods; more than one after a change of the driver */
#define CONTAINERS_MAX 256u /* per pod; more are not looked at */

/*
 * Where the kubelet has the cgroups of Guaranteed pods (pkg/kubelet/cm, cgroupName.ToSystemd and ToCgroupfs;
 * only Guaranteed pods hold CPUs or memory): DIR/podUID, or DIR/PREFIX-podUID.slice with "_" for "-".
 */
struct layout {
	char *dir;
	char *prefix; /* of systemd's slices, "kubepods"; NULL = the driver is cgroupfs */
};

struct reader {
	const char *sysroot;
	const struct machine *machine;
	struct layout layouts[LAYOUTS_MAX];
	size_t n_layouts;
	struct strbuf text; /* the file being read */
};

static void cgroup_reader_release(struct reader *rd)
{
	for (size_t i = 0; i < rd->n_layouts; i++) {
		free(rd->layouts[i].dir);
		free(rd->layouts[i].prefix);
	}
	strbuf_release(&rd->text);
}

/* ---- numa_stat files */

/* The decimal number at *p, advanced past it; false if there is none, or if it exceeds `max`. */
static bool parse_stat_number(const char **p, uint64_t max, uint64_t *ret)
{
	uint64_t n = 0;

	if (!isdigit((unsigned char)**p))
		return false;
	for (; isdigit((unsigned char)**p); (*p)++) {
		if (__builtin_mul_overflow(n, 10, &n) ||
			__builtin_add_overflow(n, (uint64_t)(**p - '0'), &n) || n > max)
			return false;
	}
	*ret = n;
	return true;
}

/* The rest of the line with this key, or NULL. */
static const char *find_line(const char *text, const char *key)
{
	size_t n = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, n) && (line[n] == ' ' || line[n] == '='))
			return line + n;
	}
	return NULL;
}

int numa_stat_add(const char *text, const char *key, const struct machine *m, uint64_t *bytes)
{
	const char *p = find_line(text, key);

	if (!p)
		return -EINVAL;
	p += strcspn(p, " \n");
	while (*p == ' ') {
		uint64_t id, value;
		int at;

		p++;
		if (*p++ != 'N' || !parse_stat_number(&p, MACHINE_MAX_NODES, &id) || *p++ != '=' ||
			!parse_stat_number(&p, INT64_MAX, &value))
			return -EINVAL;
		at = machine_node_index(m, (unsigned)id);
		if (at >= 0 && __builtin_add_overflow(bytes[at], value, &bytes[at]))
			bytes[at] = UINT64_MAX;
	}
	return *p == '\0' || *p == '\n' ? 0 : -EINVAL;
}

/* 0 or -errno. */
static int read_cgroup_file(struct reader *rd, const char *dir, const char *name)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) >= sizeof(path))
		return -ENAMETOOLONG;
	strbuf_reset(&rd->text);
	return fs_read(rd->sysroot, path, &rd->text, NULL);
}

/* The kernel's name of a page size (mm/hugetlb_cgroup.c): "2MB". */
static void print_page_size(uint64_t bytes, char *text, size_t size)
{
	if (bytes >= UINT64_C(1) << 30)
		snprintf(text, size, "%lluGB", (unsigned long long)bytes >> 30);
	else if (bytes >= UINT64_C(1) << 20)
		snprintf(text, size, "%lluMB", (unsigned long long)bytes >> 20);
	else
		snprintf(text, size, "%lluKB", (unsigned long long)bytes >> 10);
}

static bool has_pages(const struct machine *m, uint64_t page_bytes)
{
	for (size_t i = 0; i < m->n_nodes; i++)
		if (machine_node_pages(&m->nodes[i], page_bytes) > 0)
			return true;
	return false;
}

/* Add the hugepages of a cgroup. Without the hugetlb controller there are none that belong to the cgroup. */
static int add_hugepages(struct reader *rd, const char *dir, uint64_t *bytes)
{
	const struct machine *m = rd->machine;

	for (uint64_t page = machine_next_page_size(m, 0); page > 0; page = machine_next_page_size(m, page)) {
		char size[32], name[64];
		int r;

		if (!has_pages(m, page))
			continue;
		print_page_size(page, size, sizeof(size));
		snprintf(name, sizeof(name), "hugetlb.%s.numa_stat", size);
		r = read_cgroup_file(rd, dir, name);
		if (r == -ENOENT)
			continue;
		if (r == 0)
			r = numa_stat_add(rd->text.text, "total", m, bytes);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Add what a cgroup and the cgroups below it have. 0 or -errno. */
static int add_cgroup_memory(struct reader *rd, const char *dir, struct pod_memory *pod)
{
	int r = read_cgroup_file(rd, dir, "memory.numa_stat");

	if (r == 0)
		r = numa_stat_add(rd->text.text, "anon", rd->machine, pod->memory);
	if (r == 0)
		r = numa_stat_add(rd->text.text, "file", rd->machine, pod->memory);
	return r < 0 ? r : add_hugepages(rd, dir, pod->hugepages);
}

/* ---- cgroups of pods and containers */

/* Whether the text can be part of a path: nothing from outside may lead to another directory. */
static bool is_uid(const char *uid)
{
	size_t n = strlen(uid);

	if (n == 0 || n > UID_MAX)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)uid[i]) && uid[i] != '-')
			return false;
	return true;
}

/* Print the path of the pod's cgroup; false if the path is too long. */
static bool print_pod_dir(const struct layout *l, const char *uid, char path[PATH_MAX])
{
	int n;

	if (!l->prefix) {
		n = snprintf(path, PATH_MAX, "%s/pod%s", l->dir, uid);
		return n < PATH_MAX;
	}
	n = snprintf(path, PATH_MAX, "%s/%s-pod%s" SLICE, l->dir, l->prefix, uid);
	if (n >= PATH_MAX)
		return false;
	for (char *p = path + n - strlen(SLICE) - strlen(uid); *p; p++) /* of the UID */
		if (*p == '-')
			*p = '_';
	return true;
}

/* 1 and the path of the pod's cgroup; 0 without a cgroup; -errno if that is unknown. */
static int find_pod_dir(const struct reader *rd, const char *uid, char path[PATH_MAX])
{
	int r = 0;

	for (size_t i = 0; i < rd->n_layouts && r == 0; i++)
		if (print_pod_dir(&rd->layouts[i], uid, path))
			r = fs_lookup(rd->sysroot, path, NULL);
	return r;
}

/* Directories of containers are "ID" or "RUNTIME-ID.scope"; the other names are files, such as "cpu.max". */
static bool may_be_container(const char *name)
{
	return !strchr(name, '.') || text_ends_with(name, ".scope");
}

/* Whether all CPUs of the container's cgroup are exclusive CPUs of the pod: 1 or 0, or -errno. */
static int has_exclusive_cpus(struct reader *rd, const char *dir, hwloc_const_bitmap_t cpus)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = NULL;
	int r = read_cgroup_file(rd, dir, "cpuset.cpus");

	if (r < 0)
		return fs_is_transient(r) ? r : 0;
	rd->text.text[strcspn(rd->text.text, "\n")] = '\0';
	return cpuset_parse(rd->text.text, &set, NULL) == 0 && !hwloc_bitmap_iszero(set) &&
	       hwloc_bitmap_isincluded(set, cpus);
}

/* Add the containers that run on the pod's exclusive CPUs. Returns their number, or -errno. */
static int add_container_memory(struct reader *rd, const char *pod_dir, struct pod_memory *pod)
{
	CLEANUP(strv_release) struct strv names = {0};
	int n = 0, r = fs_list(rd->sysroot, pod_dir, &names, NULL);

	for (size_t i = 0, seen = 0; r == 0 && i < names.n_items && seen < CONTAINERS_MAX; i++) {
		char dir[PATH_MAX];

		if (!may_be_container(names.items[i]))
			continue;
		seen++;
		if ((size_t)snprintf(dir, sizeof(dir), "%s/%s", pod_dir, names.items[i]) >= sizeof(dir))
			continue;
		r = has_exclusive_cpus(rd, dir, pod->cpus);
		if (r > 0) {
			n++;
			r = add_cgroup_memory(rd, dir, pod);
		}
	}
	return r < 0 ? r : n;
}

static void forget_amounts(const struct machine *m, struct pod_memory *pod)
{
	memset(pod->memory, 0, m->n_nodes * sizeof(*pod->memory));
	memset(pod->hugepages, 0, m->n_nodes * sizeof(*pod->hugepages));
}

static void read_pod_memory(struct reader *rd, struct pod_memory *pod)
{
	char dir[PATH_MAX];
	int found, n = 0;

	if (hwloc_bitmap_iszero(pod->near)) {
		pod->unknown = "the pod's NUMA nodes are unknown";
		return;
	}
	if (!is_uid(pod->pod_uid)) {
		pod->unknown = "the pod's UID is unknown";
		return;
	}
	found = find_pod_dir(rd, pod->pod_uid, dir);
	if (found <= 0) {
		pod->unknown = found == 0 ? "the pod has no cgroup" : "the pod's cgroup cannot be read";
		return;
	}
	if (!hwloc_bitmap_iszero(pod->cpus))
		n = add_container_memory(rd, dir, pod);
	/* No container runs on exclusive CPUs, or one has ended in between: the whole pod counts. */
	if (n <= 0 && !fs_is_transient(n)) {
		forget_amounts(rd->machine, pod);
		pod->whole_pod = true;
		n = add_cgroup_memory(rd, dir, pod);
	}
	if (n < 0) {
		forget_amounts(rd->machine, pod);
		pod->unknown = "the pod's cgroup cannot be read";
	}
}

/* ---- the kubelet's cgroup */

/* Add the kubelet's cgroups among the entries of a directory: "kubepods", "kubepods.slice",
 * "kubelet-kubepods.slice". */
static void add_layouts(struct reader *rd, const char *dir, const struct strv *names)
{
	for (size_t i = 0; i < names->n_items && rd->n_layouts < LAYOUTS_MAX; i++) {
		const char *name = names->items[i];
		bool systemd = text_ends_with(name, KUBEPODS SLICE);

		if (!systemd && strcmp(name, KUBEPODS) != 0)
			continue;
		rd->layouts[rd->n_layouts++] = (struct layout){.dir = xasprintf("%s/%s", dir, name),
			.prefix = systemd ? xstrndup(name, strlen(name) - strlen(SLICE)) : NULL};
	}
}

/* Adds the layouts in `cgroup`, and those in a cgroup of the kubelet there. -ENOENT without any. */
static int read_layouts(struct reader *rd, const char *cgroup, struct err *err)
{
	static const char *const below[] = {"kubelet" SLICE, "kubelet"};
	CLEANUP(strv_release) struct strv names = {0};
	char path[PATH_MAX];
	int r;

	snprintf(path, sizeof(path), "%.3000s/cgroup.controllers", cgroup);
	r = fs_lookup(rd->sysroot, path, err);
	if (r < 0)
		return r;
	if (r == 0)
		return err_set(err, -ENOENT, "no cgroup v2 is mounted at '%s%s'", rd->sysroot, cgroup);
	r = fs_list(rd->sysroot, cgroup, &names, err);
	if (r < 0)
		return r;
	add_layouts(rd, cgroup, &names);
	for (size_t i = 0; i < ARRAY_SIZE(below); i++) {
		CLEANUP(strv_release) struct strv inner = {0};

		snprintf(path, sizeof(path), "%.3000s/%s", cgroup, below[i]);
		r = fs_list(rd->sysroot, path, &inner, NULL);
		if (r < 0 && !fs_is_absent(r))
			return err_set(err, r, "cannot open '%s%s': %s", rd->sysroot, path, strerror(-r));
		add_layouts(rd, path, &inner);
	}
	return rd->n_layouts > 0 ? 0
				 : err_set(err, -ENOENT, "no cgroup '" KUBEPODS "' of a kubelet below '%s%s'",
					   rd->sysroot, cgroup);
}

/* ---- the pods */

/* `items` are the pod's allocations. */
static void add_pod_without_amounts(
	const struct node_state *node, const struct allocation *items, size_t n, struct pods_memory *ret)
{
	const struct machine *m = &node->machine;
	struct pod_memory *pod = vec_push(&ret->items, &ret->n_items, &ret->items_size, sizeof(*pod));

	*pod = (struct pod_memory){.pod_uid = xstrdup(items->pod_uid),
		.namespace = xstrdup(items->namespace),
		.pod = xstrdup(items->pod),
		.cpus = cpuset_new(),
		.near = cpuset_new(),
		.memory = xcalloc(m->n_nodes + 1, sizeof(*pod->memory)),
		.hugepages = xcalloc(m->n_nodes + 1, sizeof(*pod->hugepages))};
	for (size_t i = 0; i < n; i++)
		cpuset_or(pod->cpus, pod->cpus, items[i].cpus);
	for (size_t i = 0; i < m->n_nodes; i++)
		if (hwloc_bitmap_intersects(m->nodes[i].cpus, pod->cpus))
			cpuset_set(pod->near, m->nodes[i].id);
	for (size_t i = 0; i < n && hwloc_bitmap_iszero(pod->cpus); i++)
		for (size_t k = 0; k < items[i].n_memory; k++)
			cpuset_or(pod->near, pod->near, items[i].memory[k].nodes);
}

int pod_memory_read(const char *sysroot, const char *cgroup, struct node_state *node, struct err *err)
{
	CLEANUP(cgroup_reader_release)
	struct reader rd = {.sysroot = sysroot, .machine = &node->machine, .text = STRBUF_INIT(FILE_MAX)};
	const struct allocations *a = &node->allocations;
	int r = read_layouts(&rd, cgroup, err);

	if (r < 0)
		return r;
	for (size_t first = 0, end; first < a->n_items; first = end) {
		for (end = first + 1;
			end < a->n_items && allocation_same_pod(&a->items[first], &a->items[end]);)
			end++;
		if (!allocations_hold_cpus_or_memory(&a->items[first], end - first))
			continue;
		add_pod_without_amounts(node, &a->items[first], end - first, &node->pods_memory);
		read_pod_memory(&rd, &node->pods_memory.items[node->pods_memory.n_items - 1]);
	}
	return 0;
}

/* ---- pods with remote memory */

/* The pod's name in a list. */
static char *make_key(const char *uid, const char *namespace, const char *pod)
{
	return *uid ? xstrdup(uid) : xasprintf("%s/%s", namespace, pod);
}

bool pod_memory_update(const struct node_state *node, struct strv *remote)
{
	struct strv now = {0};
	bool changed;

	for (size_t i = 0; i < node->pods_memory.n_items; i++) {
		const struct pod_memory *p = &node->pods_memory.items[i];
		CLEANUP(freep) char *key = make_key(p->pod_uid, p->namespace, p->pod);
		bool before = strv_contains(remote, key);
		unsigned limit = before ? POD_MEMORY_LOCAL_PERCENT - 1 : POD_MEMORY_REMOTE_PERCENT;
		bool is_remote = before;

		if (!p->unknown)
			is_remote = pod_memory_remote_percent(p, &node->machine) > limit;
		if (is_remote)
			strv_push_new(&now, key);
	}
	changed = now.n_items != remote->n_items;
	for (size_t i = 0; i < now.n_items; i++)
		changed = changed || !strv_contains(remote, now.items[i]);
	strv_release(remote);
	*remote = now;
	return changed;
}

void pod_memory_mark(const struct strv *remote, struct node_state *node)
{
	node->allocations.remote_memory_known = true;
	for (size_t i = 0; i < node->allocations.n_items; i++) {
		struct allocation *item = &node->allocations.items[i];
		CLEANUP(freep) char *key = make_key(item->pod_uid, item->namespace, item->pod);

		item->remote_memory = strv_contains(remote, key);
	}
}

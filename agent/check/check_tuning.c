/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the host's tuning with what the kubelet assigns: isolated CPUs, interrupts, memory and frequencies. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "agent/check/check.h"
#include "agent/observe/fs_root.h"
#include "common/claim.h"
#include "common/cleanup.h"
#include "common/xalloc.h"
#include "scoring/node/hugepages.h"
#include "scoring/node/node_admission.h"

#define CPU_DIR "/sys/devices/system/cpu"
#define IRQ_DIR "/proc/irq"

#define TEXT_MAX     ((size_t)64 << 10) /* bytes per file; a list of 8192 CPUs takes 40 KiB at worst */
#define LIST_MAX     120                /* characters of a list of CPUs in a message */
#define IRQS_MAX     16384u             /* more interrupts are not looked at */
#define USERS_MAX    8u
#define EXAMPLES_MAX 3 /* interrupts or cores that a message names */

struct tuning {
	const char *sysroot;
	const struct node_state *node;
	struct check_report *report;
	struct strbuf text;         /* the file being read */
	hwloc_bitmap_t exclusive;   /* CPUs that containers and claims hold */
	hwloc_const_bitmap_t pool;  /* the shared pool; NULL = unknown */
	hwloc_bitmap_t allocatable; /* CPUs that the kubelet may assign exclusively; NULL = unknown */
};

/* ---- files and texts */

static void trim_end(char *text)
{
	size_t len = strlen(text);

	while (len > 0 && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
}

/* Read a file without the white space at its end. 0 or -errno. */
static int read_tuning_file(struct tuning *t, const char *path)
{
	int r;

	strbuf_reset(&t->text);
	r = fs_read(t->sysroot, path, &t->text, NULL);
	if (r == 0)
		trim_end(t->text.text);
	return r;
}

/* Read a list of CPUs. The kernel prints "  (null)" if nohz_full is not used. */
static int read_tuning_cpus(struct tuning *t, const char *path, hwloc_bitmap_t *ret)
{
	const char *list;
	int r = read_tuning_file(t, path);

	if (r < 0)
		return r;
	list = t->text.text + strspn(t->text.text, " ");
	return cpuset_parse(strcmp(list, "(null)") != 0 ? list : "", ret, NULL);
}

/* The value of a parameter on the kernel command line ("isolcpus="), valid until the next file is read; NULL =
 * none. The last one counts. */
static const char *read_boot_parameter(struct tuning *t, const char *name)
{
	const char *value = NULL;
	char *save = NULL;

	if (read_tuning_file(t, "/proc/cmdline") < 0)
		return NULL;
	for (char *word = strtok_r(t->text.text, " ", &save); word; word = strtok_r(NULL, " ", &save))
		if (!strncmp(word, name, strlen(name)))
			value = word + strlen(name);
	return value;
}

/* Print a set for a message, cut after LIST_MAX characters. */
static char *print_short(hwloc_const_bitmap_t set)
{
	CLEANUP(freep) char *list = cpuset_print(set);
	size_t n = LIST_MAX;

	if (strlen(list) <= LIST_MAX)
		return TAKE(list);
	while (n > 0 && list[n] != ',')
		n--;
	return xasprintf("%.*s,...", (int)n, list);
}

/* For a file that was read; otherwise the caller sets another state. */
static struct check_item *add_file_item(
	struct tuning *t, enum check_level level, const char *source, const char *path, const char *text)
{
	struct check_item *item = check_report_add(t->report, level, source, "%s", text);

	item->state = "read";
	check_report_set(&item->path, "%s%s", t->sysroot, path);
	return item;
}

/* A file that cannot be read: a kernel without the feature lacks the file. */
static void add_unread(struct tuning *t, const char *source, const char *path, int r)
{
	bool absent = r == -ENOENT || r == -ENOTDIR;
	struct check_item *item = add_file_item(t, absent ? CHECK_OK : CHECK_WARN, source, path, "not known");

	item->state = check_state_of(r);
	if (!absent)
		check_report_set(&item->remedy, "run as root, in a container with the host's /sys and /proc");
}

/* ---- isolcpus and nohz_full */

/*
 * The isolated CPUs of a kernel before 4.2, which has no file of them: isolcpus=[FLAG,...]LIST, where flags
 * without "domain" leave the load balancing on.
 */
static int read_isolcpus(struct tuning *t, hwloc_bitmap_t *ret)
{
	const char *value = read_boot_parameter(t, "isolcpus=");
	bool flags = false, domain = false;

	if (!value)
		return -ENOENT;
	while (isalpha((unsigned char)*value)) {
		size_t n = strcspn(value, ",");

		flags = true;
		domain = domain || (n == strlen("domain") && !strncmp(value, "domain", n));
		value += n;
		if (*value == ',')
			value++;
	}
	return cpuset_parse(flags && !domain ? "" : value, ret, NULL);
}

/*
 * The CPUs of containers to whose threads the isolation matters: the shared pool, and the CPUs of a container
 * that holds several. One thread per CPU needs no load balancing.
 */
static hwloc_bitmap_t balanced_cpus(const struct tuning *t)
{
	const struct allocations *a = &t->node->allocations;
	hwloc_bitmap_t set = cpuset_new();

	if (t->pool)
		cpuset_copy(set, t->pool);
	for (size_t i = 0; i < a->n_items; i++)
		if (cpuset_size(a->items[i].cpus) > 1)
			cpuset_or(set, set, a->items[i].cpus);
	return set;
}

/* ---- who has CPUs */

#define OWNER_NONE   (-1) /* neither held nor in the shared pool */
#define OWNER_SHARED (-2)

static void print_owner(const struct tuning *t, int owner, struct strbuf *out)
{
	const struct allocation *a = owner >= 0 ? &t->node->allocations.items[owner] : NULL;

	if (!a)
		strbuf_addstr(out, "the shared pool");
	else if (*a->pod)
		strbuf_addf(out, "%.63s/%.253s", a->namespace, a->pod);
	else
		strbuf_addf(out, "pod %.8s", a->pod_uid);
}

/* Adds the owner of `of` if some of these CPUs are among `cpus`. *n: the owners so far; beyond USERS_MAX, "..." stands for all others. */
static void add_user(const struct tuning *t, int owner, hwloc_const_bitmap_t of, hwloc_const_bitmap_t cpus,
	size_t *n, struct strbuf *out)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t both = cpuset_dup(of);
	CLEANUP(freep) char *list = NULL;

	cpuset_and(both, both, cpus);
	if (hwloc_bitmap_iszero(both) || *n > USERS_MAX)
		return;
	(*n)++;
	if (*n > USERS_MAX) {
		strbuf_addstr(out, ", ...");
		return;
	}
	list = print_short(both);
	strbuf_addstr(out, *n > 1 ? ", " : "; they have: ");
	print_owner(t, owner, out);
	strbuf_addf(out, " (%s)", list);
}

/* Names who has some of the CPUs: the pods, and the shared pool. */
static void add_users(const struct tuning *t, hwloc_const_bitmap_t cpus, struct strbuf *out)
{
	const struct allocations *a = &t->node->allocations;
	size_t n = 0;

	for (size_t i = 0; i < a->n_items; i++)
		add_user(t, (int)i, a->items[i].cpus, cpus, &n, out);
	if (t->pool)
		add_user(t, OWNER_SHARED, t->pool, cpus, &n, out);
}

/* ---- isolcpus */

static void check_isolated(struct tuning *t)
{
	static const char path[] = CPU_DIR "/isolated", source[] = "isolcpus";
	CLEANUP(cpuset_freep) hwloc_bitmap_t isolated = NULL;
	CLEANUP(cpuset_freep) hwloc_bitmap_t used = balanced_cpus(t);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);
	CLEANUP(freep) char *list = NULL;
	int r = read_tuning_cpus(t, path, &isolated);

	if (r == -ENOENT && read_isolcpus(t, &isolated) == 0)
		r = 0;
	if (r < 0) {
		add_unread(t, source, path, r);
		return;
	}
	cpuset_and(used, used, isolated);
	if (hwloc_bitmap_iszero(isolated)) {
		add_file_item(
			t, CHECK_OK, source, path, "no CPU is isolated from the kernel's load balancing");
	} else if (hwloc_bitmap_iszero(used)) {
		list = print_short(isolated);
		strbuf_addf(&text, "no container needs load balancing on the isolated CPUs '%s'", list);
		add_users(t, isolated, &text);
		add_file_item(t, CHECK_OK, source, path, text.text);
	} else {
		list = print_short(used);
		strbuf_addf(&text,
			"containers run on the isolated CPUs '%s': the kernel starts threads there on one CPU and does not distribute them",
			list);
		add_users(t, isolated, &text);
		check_report_set(&add_file_item(t, CHECK_WARN, source, path, text.text)->remedy,
			"remove isolcpus= from the kernel command line, or reduce it to isolcpus=managed_irq,LIST: the static policy already keeps other containers off exclusive CPUs");
	}
}

/* A kernel that does not support the parameter has no file of it, and ignores it. A saved tree may lack the file, too: then it
 * also lacks the file "isolated" in the same directory. */
static void report_no_nohz_full(struct tuning *t, const char *path, int r)
{
	const char *value = r == -ENOENT ? read_boot_parameter(t, "nohz_full=") : NULL;
	bool is_ignored = value && fs_lookup(t->sysroot, CPU_DIR "/isolated", NULL) == 1;

	if (!is_ignored) {
		add_unread(t, "nohz_full", path, r);
		return;
	}
	check_report_line(t->report, CHECK_WARN, "nohz_full", NULL,
		"nohz_full= is on the kernel command line, and the kernel does not support it",
		"remove the parameter, or use a kernel with CONFIG_NO_HZ_FULL");
}

/* nohz_full makes system calls and interrupts slower, and helps only where one thread runs per CPU. */
static void check_nohz_full(struct tuning *t)
{
	static const char path[] = CPU_DIR "/nohz_full", source[] = "nohz_full";
	CLEANUP(cpuset_freep) hwloc_bitmap_t full = NULL;
	CLEANUP(cpuset_freep) hwloc_bitmap_t reserved = NULL;
	CLEANUP(cpuset_freep) hwloc_bitmap_t missing = NULL;
	CLEANUP(freep) char *list = NULL;
	CLEANUP(freep) char *text = NULL;
	CLEANUP(freep) char *want = NULL;
	int r = read_tuning_cpus(t, path, &full);

	if (r < 0) {
		report_no_nohz_full(t, path, r);
		return;
	}
	if (hwloc_bitmap_iszero(full) || !t->allocatable) {
		add_file_item(t, CHECK_OK, source, path,
			hwloc_bitmap_iszero(full) ? "no CPU runs without the timer tick"
						  : "not compared: the reserved CPUs are unknown");
		return;
	}
	reserved = cpuset_dup(full);
	cpuset_and(reserved, full, t->node->reserved.cpus);
	missing = cpuset_dup(t->allocatable);
	cpuset_andnot(missing, t->allocatable, full);
	if (hwloc_bitmap_iszero(reserved) && hwloc_bitmap_iszero(missing)) {
		add_file_item(t, CHECK_OK, source, path, "has the CPUs that the kubelet assigns exclusively");
		return;
	}
	if (hwloc_bitmap_iszero(reserved)) {
		list = print_short(missing);
		text = xasprintf(
			"CPUs '%s' keep the timer tick, and the kubelet assigns them exclusively like the CPUs without it",
			list);
	} else {
		list = print_short(reserved);
		text = xasprintf(
			"the reserved CPUs '%s' are nohz_full, which makes system calls of the system's daemons slower",
			list);
	}
	want = print_short(t->allocatable);
	check_report_set(&add_file_item(t, CHECK_WARN, source, path, text)->remedy,
		"on the kernel command line, set nohz_full=%s, or remove it", want);
}

/* ---- interrupts */

struct irqs {
	size_t n_read;
	size_t n_delivered; /* interrupts that an exclusive CPU handles */
	size_t n_allowed; /* interrupts that an exclusive CPU may handle: the kernel does not say which does */
	hwloc_bitmap_t cpus; /* exclusive CPUs that handle, or may handle, these interrupts */
	struct strbuf examples;
};

/* Whether a driver uses the interrupt, and for which device; a new string, or NULL. */
static char *irq_user(struct tuning *t, uint64_t irq)
{
	CLEANUP(strv_release) struct strv names = {0};
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "/sys/kernel/irq/%llu/actions", (unsigned long long)irq);
	if (read_tuning_file(t, path) == 0)
		return *t->text.text ? xstrdup(t->text.text) : NULL;
	/* The other source: a directory with the name of each user of the interrupt. */
	snprintf(path, sizeof(path), IRQ_DIR "/%llu", (unsigned long long)irq);
	if (fs_list(t->sysroot, path, &names, NULL) < 0)
		return NULL;
	for (size_t i = 0; i < names.n_items; i++) {
		snprintf(path, sizeof(path), IRQ_DIR "/%llu/%.255s", (unsigned long long)irq, names.items[i]);
		if (fs_stat(t->sysroot, path, &st) == 0 && S_ISDIR(st.st_mode))
			return xstrdup(names.items[i]);
	}
	return NULL;
}

/* Read a CPU list of the interrupt; false if there is none. `dir`: IRQ_DIR. */
static bool read_irq_cpus(
	struct tuning *t, const struct fs_directory *dir, uint64_t irq, const char *file, hwloc_bitmap_t *ret)
{
	char name[64];

	snprintf(name, sizeof(name), "%llu/%s", (unsigned long long)irq, file);
	strbuf_reset(&t->text);
	if (fs_read_in(dir, name, &t->text, NULL) < 0)
		return false;
	trim_end(t->text.text);
	return cpuset_parse(t->text.text, ret, NULL) == 0;
}

/* Adds an interrupt of a device that an exclusive CPU handles (effective_affinity_list, which not every kernel has), or may
 * handle (smp_affinity_list). */
static void add_irq(struct tuning *t, const struct fs_directory *dir, uint64_t irq, struct irqs *irqs)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = NULL;
	CLEANUP(freep) char *user = NULL;
	CLEANUP(freep) char *list = NULL;
	bool delivered = read_irq_cpus(t, dir, irq, "effective_affinity_list", &set);
	size_t n = irqs->n_delivered + irqs->n_allowed;

	if (!delivered && !read_irq_cpus(t, dir, irq, "smp_affinity_list", &set))
		return;
	irqs->n_read++;
	if (!hwloc_bitmap_intersects(set, t->exclusive))
		return;
	user = irq_user(t, irq);
	if (!user)
		return;
	cpuset_and(set, set, t->exclusive);
	cpuset_or(irqs->cpus, irqs->cpus, set);
	list = print_short(set);
	if (n < EXAMPLES_MAX)
		strbuf_addf(&irqs->examples, "%s%llu (%.40s) on %s", n > 0 ? ", " : "",
			(unsigned long long)irq, user, list);
	else if (n == EXAMPLES_MAX)
		strbuf_addstr(&irqs->examples, ", ...");
	if (delivered)
		irqs->n_delivered++;
	else
		irqs->n_allowed++;
}

static void report_irqs(struct tuning *t, const struct irqs *irqs)
{
	CLEANUP(freep) char *list = print_short(irqs->cpus);
	CLEANUP(freep) char *allocatable = t->allocatable ? print_short(t->allocatable) : NULL;
	size_t n = irqs->n_delivered + irqs->n_allowed;
	struct check_item *item;

	if (n == 0) {
		check_report_add(
			t->report, CHECK_OK, "interrupts", "no exclusive CPU handles interrupts of devices");
		return;
	}
	item = check_report_add(t->report, CHECK_WARN, "interrupts",
		"exclusive CPUs '%s' %s %zu interrupt%s of devices: %s", list,
		irqs->n_allowed == 0 ? "handle" : "may handle", n, n == 1 ? "" : "s", irqs->examples.text);
	check_report_set(&item->remedy,
		"set IRQBALANCE_BANNED_CPULIST=%s for irqbalance and restart it, or write other CPUs into /proc/irq/N/smp_affinity_list; if the kernel refuses the write (queues of NVMe drives, for example), use isolcpus=managed_irq,LIST",
		allocatable ? allocatable : list);
}

static void check_interrupts(struct tuning *t)
{
	CLEANUP(closep) int fd = fs_open(t->sysroot, IRQ_DIR, O_PATH | O_DIRECTORY);
	const struct fs_directory dir = {t->sysroot, IRQ_DIR, fd};
	CLEANUP(freep) uint64_t *numbers = NULL;
	struct irqs irqs = {.examples = STRBUF_INIT(4096)};
	size_t n;
	int r = fs_list_numbers(t->sysroot, IRQ_DIR, "", "", &numbers, &n, NULL);

	if (r < 0) {
		add_unread(t, "interrupts", IRQ_DIR, r);
		return;
	}
	irqs.cpus = cpuset_new();
	for (size_t i = 0; i < n && i < IRQS_MAX; i++)
		add_irq(t, &dir, numbers[i], &irqs);
	/* The directory lists interrupts, and none of their files can be read. */
	if (n > 0 && irqs.n_read == 0)
		add_unread(t, "interrupts", IRQ_DIR, -EACCES);
	else
		report_irqs(t, &irqs);
	if (n > IRQS_MAX)
		check_report_set(&check_report_add(t->report, CHECK_WARN, "interrupts",
					 "only the first %u of %zu were looked at", IRQS_MAX, n)
					  ->remedy,
			"look at the others in /proc/irq/*/effective_affinity_list");
	strbuf_release(&irqs.examples);
	cpuset_freep(&irqs.cpus);
}

/* ---- the kernel's memory settings */

static size_t count_memory_nodes(const struct machine *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n_nodes; i++)
		if (m->nodes[i].memory_bytes > 0)
			n++;
	return n;
}

/* Check a setting whose value should be 0 on a machine with several NUMA nodes. */
static void check_zero(
	struct tuning *t, const char *source, const char *path, const char *effect, const char *remedy)
{
	CLEANUP(freep) char *text = NULL;
	struct check_item *item;
	int r = read_tuning_file(t, path);
	bool number = r == 0 && *t->text.text && strspn(t->text.text, "0123456789") == strlen(t->text.text);

	if (r == 0 && !number)
		r = -EINVAL;
	if (r < 0) {
		add_unread(t, source, path, r);
		return;
	}
	if (!strcmp(t->text.text, "0")) {
		add_file_item(t, CHECK_OK, source, path, "0");
		return;
	}
	text = xasprintf("%s: %s", t->text.text, effect);
	item = add_file_item(t, CHECK_WARN, source, path, text);
	check_report_set(&item->remedy, "%s", remedy);
}

static void check_memory_settings(struct tuning *t)
{
	if (count_memory_nodes(&t->node->machine) < 2)
		return;
	if (t->node->settings.memory_manager == MEMORY_MANAGER_STATIC)
		check_zero(t, "numa_balancing", "/proc/sys/kernel/numa_balancing",
			"the kernel interrupts containers to find misplaced pages, although the memory manager has placed their memory",
			"sysctl -w kernel.numa_balancing=0, and the same in /etc/sysctl.d");
	check_zero(t, "zone_reclaim", "/proc/sys/vm/zone_reclaim_mode",
		"on a full NUMA node, containers wait for the kernel to reclaim page cache although other NUMA nodes have free memory",
		"sysctl -w vm.zone_reclaim_mode=0, and the same in /etc/sysctl.d");
}

/* ---- the machine: hugepages, clusters, memory without CPUs */

static const enum check_level hugepages_levels[HUGEPAGES_PROBLEM_COUNT] = {
	[HUGEPAGES_FINE] = CHECK_OK,
	[HUGEPAGES_NO_POLICY] = CHECK_OK,
	[HUGEPAGES_UNKNOWN] = CHECK_NOTE,
	[HUGEPAGES_ONE_NODE] = CHECK_NOTE,
	[HUGEPAGES_UNALIGNED] = CHECK_NOTE,
	[HUGEPAGES_UNCOUNTED] = CHECK_WARN,
};

/* An item per size of which there are pages. */
static void check_hugepages(struct tuning *t)
{
	CLEANUP(hugepages_list_release) struct hugepages_list list = {0};

	hugepages_find(t->node, &list);
	for (size_t i = 0; i < list.n_items; i++) {
		const struct hugepages *h = &list.items[i];
		char reserved[QUANTITY_TEXT_MAX], assigned[QUANTITY_TEXT_MAX];
		struct check_item *item;

		quantity_print(
			(struct quantity){(qty_t)h->reserved * QTY_UNIT, QUANTITY_BINARY_SI}, reserved);
		quantity_print(
			(struct quantity){(qty_t)h->assigned * QTY_UNIT, QUANTITY_BINARY_SI}, assigned);
		item = check_report_add(t->report, hugepages_levels[h->problem], "hugepages",
			"%s: %.200s; the kubelet reserves %s%s%s; %s", h->name, h->where, reserved,
			t->node->allocations.memory_known ? ", pods hold " : "",
			t->node->allocations.memory_known ? assigned : "",
			hugepages_problem_texts[h->problem]);
		if (*hugepages_remedies[h->problem])
			check_report_set(&item->remedy, "%s", hugepages_remedies[h->problem]);
	}
}

/* The largest number of NUMA nodes with CPUs in one socket. *ret_cpus: how many CPUs the largest NUMA node of this socket
 * has. */
static size_t count_nodes_per_socket(const struct machine *m, size_t *ret_cpus)
{
	size_t most = 0;

	*ret_cpus = 0;
	for (size_t s = 0; s < m->n_sockets; s++) {
		size_t n = 0, cpus = 0;

		for (size_t i = 0; i < m->n_nodes; i++) {
			size_t size = cpuset_size(m->nodes[i].cpus);

			if (size == 0 || m->nodes[i].socket != m->sockets[s].id)
				continue;
			n++;
			cpus = size > cpus ? size : cpus;
		}
		if (n > most) {
			most = n;
			*ret_cpus = cpus;
		}
	}
	return most;
}

static void check_clusters(struct tuning *t)
{
	const struct settings *s = &t->node->settings;
	bool aligned = s->topology.policy >= TOPOLOGY_MANAGER_BEST_EFFORT;
	bool single = s->topology.policy == TOPOLOGY_MANAGER_SINGLE_NUMA_NODE;
	bool near = s->topology.prefer_closest_numa_nodes || s->cpu_options.align_by_socket;
	size_t cpus, n = count_nodes_per_socket(&t->node->machine, &cpus);
	const char *effect = "may get NUMA nodes of different sockets";
	struct check_item *item;

	/* Each socket has one NUMA node, or no manager restricts containers to NUMA nodes. */
	if (n < 2 || (!aligned && s->memory_manager != MEMORY_MANAGER_STATIC))
		return;
	/* In one socket, all NUMA nodes are near to each other. */
	if (!single && t->node->machine.n_sockets < 2)
		return;
	if (single)
		effect = "are rejected, although a socket has more";
	else if (near)
		effect = "get NUMA nodes that are near to each other";
	item = check_report_add(t->report, near && !single ? CHECK_OK : CHECK_NOTE, "clusters",
		"a socket has %zu NUMA nodes (sub-NUMA clustering, NPS, or several dies): containers with more CPUs than a NUMA node (%zu) %s",
		n, cpus, effect);
	if (single)
		check_report_set(&item->remedy,
			"if such containers are needed, turn the clustering off in the firmware, or use the Topology Manager policy restricted with prefer-closest-numa-nodes=true");
	else if (!near)
		check_report_set(&item->remedy,
			"set prefer-closest-numa-nodes=true in topologyManagerPolicyOptions, or align-by-socket=true in cpuManagerPolicyOptions");
}

/* Whether reservedMemory leaves no ordinary memory of the NUMA node to containers. */
static bool is_memory_reserved(const struct tuning *t, const struct numa_node *node)
{
	uint64_t pages = 0, reserved = node_derive_reserved_memory(&t->node->settings, node->id, "memory");

	for (size_t i = 0; i < node->n_pools; i++)
		pages += node->pools[i].page_bytes * node->pools[i].pages;
	return reserved >= node->memory_bytes || reserved + pages >= node->memory_bytes;
}

static void check_cpuless_memory(struct tuning *t)
{
	const struct machine *m = &t->node->machine;
	CLEANUP(cpuset_freep) hwloc_bitmap_t ids = cpuset_new();
	CLEANUP(freep) char *list = NULL;
	struct check_item *item;

	for (size_t i = 0; i < m->n_nodes; i++)
		if (hwloc_bitmap_iszero(m->nodes[i].cpus) && m->nodes[i].memory_bytes > 0 &&
			!is_memory_reserved(t, &m->nodes[i]))
			cpuset_set(ids, m->nodes[i].id);
	if (hwloc_bitmap_iszero(ids) || t->node->settings.memory_manager != MEMORY_MANAGER_STATIC)
		return;
	list = print_short(ids);
	item = check_report_add(t->report, CHECK_WARN, "memory nodes",
		"no CPUs, but memory, on NUMA node %s (CXL, HBM or GPU memory): the memory manager assigns this memory to containers like ordinary memory",
		list);
	check_report_set(&item->remedy,
		"keep this memory out of the kernel's ordinary memory (for CXL and HBM: daxctl reconfigure-device --mode=devdax), or reserve it in reservedMemory and add the same amount to systemReserved");
}

/* ---- frequencies */

struct governor {
	char name[32];
	hwloc_bitmap_t cpus;
};

#define GOVERNORS_MAX 16 /* the kernel has six */

struct governors {
	struct governor items[GOVERNORS_MAX];
	size_t n_items;
};

static void add_governor(struct governors *all, const char *name, unsigned cpu)
{
	struct governor *g = all->items;

	while (g < all->items + all->n_items && strcmp(g->name, name) != 0)
		g++;
	if (g == all->items + GOVERNORS_MAX)
		return;
	if (g == all->items + all->n_items) {
		snprintf(g->name, sizeof(g->name), "%s", name);
		g->cpus = cpuset_new();
		all->n_items++;
	}
	cpuset_set(g->cpus, cpu);
}

/* With these drivers, powersave is a governor that follows the load. */
static bool is_powersave_dynamic(struct tuning *t, unsigned cpu)
{
	char path[128];

	snprintf(path, sizeof(path), CPU_DIR "/cpu%u/cpufreq/scaling_driver", cpu);
	return read_tuning_file(t, path) == 0 &&
	       (!strcmp(t->text.text, "intel_pstate") || !strcmp(t->text.text, "amd-pstate-epp"));
}

static void report_governor(struct tuning *t, const struct governor *g)
{
	CLEANUP(freep) char *list = print_short(g->cpus);
	bool powersave = !strcmp(g->name, "powersave");
	bool lowest = powersave && !is_powersave_dynamic(t, (unsigned)hwloc_bitmap_first(g->cpus));
	struct check_item *item;

	/* The program of the governor userspace chooses the frequency. */
	if (!strcmp(g->name, "performance") || !strcmp(g->name, "userspace"))
		return;
	item = check_report_add(t->report, lowest ? CHECK_WARN : CHECK_NOTE, "cpufreq",
		"exclusive CPUs '%s' have the governor '%s': %s", list, g->name,
		lowest ? "they always run at their lowest frequency"
		       : "their frequency follows the load, which delays work after each pause");
	check_report_set(&item->remedy, "cpupower -c %s frequency-set -g performance", list);
}

static void check_governors(struct tuning *t)
{
	struct governors all = {0};
	char path[128];
	size_t n_before = t->report->n_items;

	for (int cpu = hwloc_bitmap_first(t->exclusive); cpu >= 0;
		cpu = hwloc_bitmap_next(t->exclusive, cpu)) {
		snprintf(path, sizeof(path), CPU_DIR "/cpu%d/cpufreq/scaling_governor", cpu);
		if (read_tuning_file(t, path) == 0)
			add_governor(&all, t->text.text, (unsigned)cpu);
	}
	for (size_t i = 0; i < all.n_items; i++)
		report_governor(t, &all.items[i]);
	if (t->report->n_items == n_before) /* no governor was reported */
		check_report_add(t->report, CHECK_OK, "cpufreq", "%s",
			all.n_items > 0 ? "no governor lowers the frequency of exclusive CPUs"
					: "not known: exclusive CPUs have no scaling_governor");
	for (size_t i = 0; i < all.n_items; i++)
		cpuset_freep(&all.items[i].cpus);
}

/* ---- threads of one core */

/* Per CPU id: the position of the pod's first allocation, or OWNER_*. A new array. */
static int *list_cpu_owners(const struct tuning *t)
{
	const struct allocations *a = &t->node->allocations;
	int *owners = xcalloc(MACHINE_MAX_CPUS, sizeof(*owners));
	size_t first = 0;

	for (int i = 0; i < MACHINE_MAX_CPUS; i++)
		owners[i] = t->pool && hwloc_bitmap_isset(t->pool, (unsigned)i) ? OWNER_SHARED : OWNER_NONE;
	for (size_t i = 0; i < a->n_items; i++) {
		hwloc_const_bitmap_t cpus = a->items[i].cpus;

		if (i > 0 && !allocation_same_pod(&a->items[i - 1], &a->items[i]))
			first = i;
		for (int id = hwloc_bitmap_first(cpus); id >= 0 && id < MACHINE_MAX_CPUS;
			id = hwloc_bitmap_next(cpus, id))
			owners[id] = (int)first;
	}
	return owners;
}

/*
 * Find the cores whose threads a pod and another pod, or a pod and the shared pool, have. Names some of them
 * in `out`; returns their number.
 */
static size_t list_shared_cores(const struct tuning *t, const int *owners, struct strbuf *out)
{
	const struct machine *m = &t->node->machine;
	/* By hardware core: the first owner among its threads. */
	CLEANUP(freep) int *first = xcalloc(MACHINE_MAX_CPUS, sizeof(*first));
	CLEANUP(cpuset_freep) hwloc_bitmap_t shared = cpuset_new();
	size_t n = 0;

	for (size_t i = 0; i < MACHINE_MAX_CPUS; i++)
		first[i] = OWNER_NONE;
	for (size_t i = 0; i < m->n_cpus; i++) {
		const struct cpu *cpu = &m->cpus[i];
		int owner = owners[cpu->id], before = first[cpu->hardware_core];

		if (owner == OWNER_NONE || owner == before)
			continue;
		if (before == OWNER_NONE) {
			first[cpu->hardware_core] = owner;
			continue;
		}
		if (hwloc_bitmap_isset(shared, cpu->hardware_core))
			continue;
		cpuset_set(shared, cpu->hardware_core);
		n++;
		if (n > EXAMPLES_MAX)
			continue;
		/* Names the pod first, then the shared pool. */
		strbuf_addf(out, "%score %u has threads of ", n > 1 ? ", " : "", cpu->hardware_core);
		print_owner(t, before == OWNER_SHARED ? owner : before, out);
		strbuf_addstr(out, " and ");
		print_owner(t, before == OWNER_SHARED ? before : owner, out);
	}
	if (n > EXAMPLES_MAX)
		strbuf_addstr(out, ", ...");
	return n;
}

static void check_siblings(struct tuning *t)
{
	const struct machine *m = &t->node->machine;
	CLEANUP(strbuf_release) struct strbuf examples = STRBUF_INIT(4096);
	CLEANUP(freep) int *owners = list_cpu_owners(t);
	bool full = t->node->settings.cpu_options.full_pcpus_only;
	struct check_item *item;
	size_t n;

	if (m->n_cores == m->n_cpus || t->node->allocations.n_items == 0)
		return;
	n = list_shared_cores(t, owners, &examples);
	if (n == 0) {
		check_report_add(t->report, CHECK_OK, "SMT",
			"pods with exclusive CPUs share no core with other pods%s",
			t->pool ? "" : "; the shared pool is unknown");
		return;
	}
	item = check_report_add(t->report, CHECK_WARN, "SMT", "%zu core%s shared: %s", n,
		n == 1 ? " is" : "s are", examples.text);
	check_report_set(&item->remedy, "%s",
		full ? "delete these pods, so that they are created again: full-pcpus-only was set after the kubelet admitted them"
		     : "set full-pcpus-only=true in cpuManagerPolicyOptions, and request CPUs in multiples of the threads per core");
}

/* ---- all of them */

static void tuning_release(struct tuning *t)
{
	strbuf_release(&t->text);
	cpuset_freep(&t->exclusive);
	cpuset_freep(&t->allocatable);
}

static hwloc_bitmap_t find_exclusive_cpus(const struct node_state *node)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t claimed = claims_cpus(&node->claims);
	hwloc_bitmap_t set = allocations_exclusive_cpus(&node->allocations);

	cpuset_or(set, set, claimed);
	return set;
}

/* Checks the kernel's settings, of the running system or in a saved tree. */
static void check_kernel(struct tuning *t)
{
	if (t->node->settings.cpu_manager == CPU_MANAGER_STATIC) {
		check_isolated(t);
		check_nohz_full(t);
	}
	if (!hwloc_bitmap_iszero(t->exclusive)) {
		check_interrupts(t);
		check_governors(t);
	}
	check_memory_settings(t);
}

void check_tuning(
	const struct observe_config *config, const struct node_state *node, struct check_report *report)
{
	CLEANUP(tuning_release)
	struct tuning t = {.sysroot = config->sysroot,
		.node = node,
		.report = report,
		.text = STRBUF_INIT(TEXT_MAX),
		.exclusive = find_exclusive_cpus(node),
		.pool = node_shared_cpus(node)};

	if (node->reserved.cpus) {
		t.allocatable = machine_counted_cpus(&node->machine);
		cpuset_andnot(t.allocatable, t.allocatable, node->reserved.cpus);
	}
	if (!config->machine_xml)
		check_kernel(&t);
	check_siblings(&t);
	check_hugepages(&t);
	check_clusters(&t);
	check_cpuless_memory(&t);
}

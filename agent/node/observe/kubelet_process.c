/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/observe/kubelet_process.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/fs.h"
#include "agent/node/observe/fs_root.h"
#include "common/cleanup.h"
#include "common/strbuf.h"
#include "common/vec.h"
#include "common/xalloc.h"

/* Bytes; the kernel's own limit on arguments is a quarter of the stack limit, 2 MiB. */
#define CMDLINE_MAX (2u << 20)

void kubelet_process_release(struct kubelet_process *p)
{
	strv_release(&p->words);
	free(p->root);
	free(p->cwd);
	*p = (struct kubelet_process){0};
}

static const char *basename_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Number of words that name the program: 1 for kubelet, 2 for "hyperkube kubelet", 0 for other programs.
 * `line` is a cmdline file of `len` bytes, ended by a NUL that is not counted. */
static size_t count_program_words(const char *line, size_t len)
{
	const char *second = line + strlen(line) + 1;

	if (!strcmp(basename_of(line), "kubelet"))
		return 1;
	return !strcmp(basename_of(line), "hyperkube") && second < line + len && !strcmp(second, "kubelet")
		       ? 2
		       : 0;
}

static void split_words(const char *line, size_t len, size_t skip, struct kubelet_process *p)
{
	for (const char *word = line; word < line + len; word += strlen(word) + 1)
		if (skip > 0)
			skip--;
		else
			strv_push(&p->words, word);
}

/* ---- its paths */

/* The directory root + dir that lists the processes, and the root of their paths. */
struct view {
	const char *root, *dir;
	const char *sysroot;
	bool elsewhere; /* the caller named the directory: the processes' own roots are not entered */
};

static char *proc_path(const struct view *v, unsigned pid, const char *name)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(PATH_MAX);

	if (fs_resolve(v->root, v->dir, &path) < 0)
		return NULL;
	strbuf_addf(&path, "/%u/%s", pid, name);
	return strbuf_detach(&path);
}

/*
 * Whether the process has our mount namespace and root directory, so that a path means the same file to both. If neither
 * namespace can be read, only the root directory, whose stat is `theirs`, decides.
 */
static bool sees_our_files(unsigned pid, const struct stat *theirs)
{
	char link[64], their_ns[64], our_ns[64];
	ssize_t theirs_len, ours_len;
	struct stat ours;

	snprintf(link, sizeof(link), "/proc/%u/ns/mnt", pid);
	theirs_len = readlink(link, their_ns, sizeof(their_ns));
	ours_len = readlink("/proc/self/ns/mnt", our_ns, sizeof(our_ns));
	return stat("/", &ours) == 0 && theirs->st_dev == ours.st_dev && theirs->st_ino == ours.st_ino &&
	       theirs_len == ours_len && (ours_len <= 0 || !memcmp(their_ns, our_ns, (size_t)ours_len));
}

/*
 * Live, /proc/PID/root leads into the kubelet's own mount namespace; plain paths are used where that
 * namespace is ours or may not be entered. In a saved tree a link would lead out of the tree, so only a
 * directory counts.
 */
static char *find_root(const struct view *v, unsigned pid)
{
	CLEANUP(freep) char *link = proc_path(v, pid, "root");
	CLEANUP(freep) char *inside = proc_path(v, pid, "root/.");
	struct stat theirs;

	if (!link || !inside)
		return NULL;
	if (v->elsewhere)
		return xstrdup(v->sysroot);
	if (*v->sysroot)
		return xstrdup(lstat(link, &theirs) == 0 && S_ISDIR(theirs.st_mode) ? link : v->sysroot);
	if (stat(inside, &theirs) < 0 || sees_our_files(pid, &theirs))
		return xstrdup("");
	return TAKE(link);
}

/* NULL = unknown. */
static char *find_cwd(const struct view *v, unsigned pid)
{
	CLEANUP(freep) char *link = proc_path(v, pid, "cwd");
	char target[PATH_MAX];
	ssize_t n = link ? readlink(link, target, sizeof(target)) : -1;

	return n > 0 && (size_t)n < sizeof(target) && target[0] == '/' ? xstrndup(target, (size_t)n) : NULL;
}

int kubelet_process_path(const struct kubelet_process *p, const char *path, char **ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf absolute = STRBUF_INIT(2 * PATH_MAX);

	if (*path != '/' && !p->cwd)
		return err_set(err, -EINVAL,
			"kubelet (pid %u): its working directory is unknown, and the path '%.200s' is relative",
			p->pid, path);
	if (*path != '/')
		strbuf_addf(&absolute, "%s/", p->cwd);
	strbuf_addstr(&absolute, path);
	if (strbuf_error(&absolute) < 0)
		return err_set(
			err, -ENAMETOOLONG, "kubelet (pid %u): the path '%.200s' is too long", p->pid, path);
	*ret = strbuf_detach(&absolute);
	return 0;
}

/* ---- whether it is the node's kubelet */

/* The value of a line "Name:<tab>value" of a status file, or NULL. */
static const char *find_status(const char *status, const char *name)
{
	for (const char *line = status; *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':')
			return line + strlen(name) + 1;
	return NULL;
}

/* The number of numbers on the line, and whether the first two are 0. */
static size_t count_numbers(const char *value, bool *ret_zeros)
{
	size_t n = 0;

	*ret_zeros = true;
	for (value += strspn(value, " \t"); isdigit((unsigned char)*value); value += strspn(value, " \t")) {
		char *end;

		if (strtoul(value, &end, 10) != 0 && n < 2)
			*ret_zeros = false;
		value = end;
		n++;
	}
	return n;
}

/* "pod" and a UID: the cgroupfs driver's name of a pod's group. */
static bool is_pod_group(const char *name, size_t len)
{
	return len >= 3 + 32 && !strncmp(name, "pod", 3) && strspn(name + 3, "0123456789abcdef-_") >= 32;
}

/* Whether a cgroup file names a pod's group. Within a pod's cgroup namespace the path is relative and may
 * omit "kubepods". */
static bool is_in_pod(const char *cgroup)
{
	if (strstr(cgroup, "kubepods"))
		return true;
	for (const char *name = cgroup; *name; name += strcspn(name, "/\n"), name += *name != '\0')
		if (is_pod_group(name, strcspn(name, "/\n")))
			return true;
	return false;
}

/* Why a process named kubelet is not the node's kubelet; NULL = it is. The file of a vanished process
 * cannot be read. */
static const char *find_objection(const struct view *v, unsigned pid)
{
	CLEANUP(strbuf_release) struct strbuf status = STRBUF_INIT(FS_FILE_MAX);
	CLEANUP(strbuf_release) struct strbuf cgroup = STRBUF_INIT(FS_FILE_MAX);
	const char *uid, *ns;
	char path[64];
	bool root;

	snprintf(path, sizeof(path), "%s/%u/status", v->dir, pid);
	if (fs_read(v->root, path, &status, NULL) < 0)
		return "its user cannot be read";
	snprintf(path, sizeof(path), "%s/%u/cgroup", v->dir, pid);
	if (fs_read(v->root, path, &cgroup, NULL) < 0)
		return "its control group cannot be read";
	uid = find_status(status.text, "Uid");
	if (!uid || count_numbers(uid, &root) < 2 || !root)
		return "its user is not root";
	ns = find_status(status.text, "NSpid");
	if (ns && count_numbers(ns, &root) != 1)
		return "it is in a PID namespace of its own";
	return is_in_pod(cgroup.text) ? "it is in a pod" : NULL;
}

/* ---- its start */

/* Clock ticks between the boot and the start of the process; 0 = unknown. This is the 22nd field of the
 * file; the second field, the name in parentheses, may hold any character. */
static uint64_t read_start(const struct view *v, unsigned pid)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FS_FILE_MAX);
	const char *p;
	char path[64];

	snprintf(path, sizeof(path), "%s/%u/stat", v->dir, pid);
	if (fs_read(v->root, path, &text, NULL) < 0)
		return 0;
	p = strrchr(text.text, ')');
	for (unsigned field = 2; p && field < 22; field++) {
		p = strchr(p, ' ');
		p += p != NULL;
	}
	return p ? strtoull(p, NULL, 10) : 0;
}

/* The time of the boot by the present clock; 0 = unknown. */
static time_t read_boot_time(const struct view *v)
{
	static const char name[] = "\nbtime ";
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FS_FILE_MAX);
	const char *line;
	char path[64];

	snprintf(path, sizeof(path), "%s/stat", v->dir);
	if (fs_read(v->root, path, &text, NULL) < 0)
		return 0;
	line = strstr(text.text, name);
	return line ? (time_t)strtoll(line + strlen(name), NULL, 10) : 0;
}

static void find_start(const struct view *v, struct kubelet_process *p)
{
	long hz = sysconf(_SC_CLK_TCK);
	time_t boot;

	p->start = read_start(v, p->pid);
	boot = p->start > 0 && hz > 0 ? read_boot_time(v) : 0;
	p->start_time = boot > 0 ? boot + (time_t)(p->start / (uint64_t)hz) : 0;
}

/* ---- searching /proc */

/* True and *ret filled when the process is the node's kubelet. *why becomes the reason when only its name
 * is. */
static bool read_process(const struct view *v, unsigned pid, struct kubelet_process *ret, const char **why)
{
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(CMDLINE_MAX);
	char path[64];
	size_t skip;

	snprintf(path, sizeof(path), "%s/%u/cmdline", v->dir, pid);
	/* A process that has vanished, is another user's or has an unlimited command line is not the
	 * kubelet. */
	if (fs_read(v->root, path, &line, NULL) < 0 || line.len == 0)
		return false;
	skip = count_program_words(line.text, line.len);
	if (skip == 0)
		return false;
	*why = find_objection(v, pid);
	if (*why)
		return false;
	*ret = (struct kubelet_process){.pid = pid, .root = find_root(v, pid), .cwd = find_cwd(v, pid)};
	find_start(v, ret);
	split_words(line.text, line.len, skip, ret);
	return true;
}

/* Between fork and exec a child still has its parent's command line. */
static bool same_command(const struct kubelet_process *a, const struct kubelet_process *b)
{
	return !strcmp(a->root, b->root) && strv_equal(&a->words, &b->words);
}

/* The kubelets found so far, all different. */
struct found {
	struct kubelet_process *items;
	size_t n_items;
	size_t items_size;
};

static void found_release(struct found *f)
{
	for (size_t i = 0; i < f->n_items; i++)
		kubelet_process_release(&f->items[i]);
	free(f->items);
}

static void add_process(struct found *f, struct kubelet_process *p)
{
	struct kubelet_process *slot;

	for (size_t i = 0; i < f->n_items; i++)
		if (same_command(&f->items[i], p))
			return;
	slot = vec_push(&f->items, &f->n_items, &f->items_size, sizeof(*slot));
	*slot = *p;
	*p = (struct kubelet_process){0};
}

static struct view view_of(const char *sysroot, const char *proc)
{
	return (struct view){
		.root = proc ? proc : sysroot,
		.dir = proc ? "" : "/proc",
		.sysroot = sysroot,
		.elsewhere = proc != NULL,
	};
}

bool kubelet_process_runs(const char *sysroot, const char *proc, unsigned pid, uint64_t start)
{
	const struct view view = view_of(sysroot, proc);

	return read_start(&view, pid) == start;
}

int kubelet_process_find(const char *sysroot, const char *proc, struct kubelet_process *ret,
	struct notes *notes, struct err *err)
{
	CLEANUP(found_release) struct found found = {.items = NULL};
	CLEANUP(freep) uint64_t *pids = NULL;
	const struct view view = view_of(sysroot, proc);
	size_t n_pids = 0;
	unsigned objected = 0;
	const char *reason = NULL;
	int r = fs_list_numbers(view.root, proc ? "/" : "/proc", "", "", &pids, &n_pids, NULL);

	if (r == -ENOENT && !proc)
		return 0;
	if (r < 0)
		return err_set(err, r, "cannot read '%s%s': %s", view.root, view.dir, strerror(-r));
	for (size_t i = 0; i < n_pids && pids[i] <= UINT_MAX; i++) {
		CLEANUP(kubelet_process_release) struct kubelet_process p = {0};
		const char *why = NULL;

		if (read_process(&view, (unsigned)pids[i], &p, &why))
			add_process(&found, &p);
		if (why && !reason) {
			reason = why;
			objected = (unsigned)pids[i];
		}
	}
	if (reason && found.n_items == 0)
		notes_add(notes, "process %u is named kubelet but is not this node's kubelet: %s", objected,
			reason);
	if (found.n_items > 0) {
		*ret = found.items[0];
		found.items[0] = (struct kubelet_process){0};
	}
	return (int)found.n_items;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe/kubelet_process.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/observe/fs_root.h"
#include "agent/observe/kubelet_args.h"
#include "common/cleanup.h"
#include "common/io/fs.h"
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

/* Number of words that name the program: 1 for kubelet, 2 for "hyperkube kubelet", 0 for other programs.
 * `line` is a cmdline file of `len` bytes, ended by a NUL that is not counted. */
static size_t count_program_words(const char *line, size_t len)
{
	const char *second = line + strlen(line) + 1;

	if (!strcmp(text_basename(line), "kubelet"))
		return 1;
	if (!strcmp(text_basename(line), "hyperkube") && second < line + len && !strcmp(second, "kubelet"))
		return 2;
	return 0;
}

static void split_words(const char *line, size_t len, size_t skip, struct strv *words)
{
	for (const char *word = line; word < line + len; word += strlen(word) + 1)
		if (skip > 0)
			skip--;
		else
			strv_push(words, word);
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
static char *find_process_root(const struct view *v, unsigned pid)
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

/* Appends a file of a process to `out`. Sets `err` only for a failure that may pass; other failures are facts about the process. */
static int read_process_file(
	const struct view *v, unsigned pid, const char *name, struct strbuf *out, struct err *err)
{
	struct err why = {""};
	char path[64];
	int r;

	snprintf(path, sizeof(path), "%s/%u/%s", v->dir, pid, name);
	r = fs_read(v->root, path, out, &why);
	return r < 0 && fs_is_transient(r) ? err_set(err, r, "%s", why.text) : r;
}

/* What is known of a process without its command line. */
struct process_facts {
	bool named;            /* the program's name is kubelet */
	const char *objection; /* why the process is not the node's kubelet; NULL = no reason is known */
};

/* *ret_may_be: whether the kernel's name of the program may be a kubelet's; also if the file is missing, as it may be in a saved tree. */
static int read_program_name(
	const struct view *v, unsigned pid, bool *ret_may_be, struct process_facts *c, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf name = STRBUF_INIT(FS_FILE_MAX);
	int r = read_process_file(v, pid, "comm", &name, err);

	if (r < 0) {
		*ret_may_be = fs_is_absent(r);
		return fs_is_transient(r) ? r : 0;
	}
	c->named = !strcmp(name.text, "kubelet\n");
	*ret_may_be = strstr(name.text, "kubelet") || strstr(name.text, "hyperkube");
	return 0;
}

static int read_status(const struct view *v, unsigned pid, struct process_facts *c, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf status = STRBUF_INIT(FS_FILE_MAX);
	const char *name, *state, *uid, *ns;
	int r = read_process_file(v, pid, "status", &status, err);
	bool root;

	if (r < 0) {
		c->objection = "its user cannot be read";
		return fs_is_transient(r) ? r : 0;
	}
	name = find_status(status.text, "Name");
	state = find_status(status.text, "State");
	uid = find_status(status.text, "Uid");
	ns = find_status(status.text, "NSpid");
	c->named = c->named || (name && !strncmp(name, "\tkubelet\n", strlen("\tkubelet\n")));
	if (state && strspn(state + strspn(state, " \t"), "ZX") > 0)
		c->objection = "it has ended";
	else if (!uid || count_numbers(uid, &root) < 2 || !root)
		c->objection = "its user is not root";
	else if (ns && count_numbers(ns, &root) != 1)
		c->objection = "it is in a PID namespace of its own";
	return 0;
}

static int read_cgroup(const struct view *v, unsigned pid, struct process_facts *c, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf cgroup = STRBUF_INIT(FS_FILE_MAX);
	int r = read_process_file(v, pid, "cgroup", &cgroup, err);

	if (r < 0)
		c->objection = "its control group cannot be read";
	else if (is_in_pod(cgroup.text))
		c->objection = "it is in a pod";
	return r < 0 && fs_is_transient(r) ? r : 0;
}

/* ---- its start */

/*
 * Clock ticks between the boot and the start of the process; 0 = unknown, such as of a process that has ended. This is the
 * 22nd field of the file; the second field, the name in parentheses, may hold any character. 0 or -errno.
 */
static int read_start(const struct view *v, unsigned pid, uint64_t *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FS_FILE_MAX);
	const char *p;
	int r = read_process_file(v, pid, "stat", &text, err);

	*ret = 0;
	if (r < 0)
		return fs_is_transient(r) ? r : 0;
	p = strrchr(text.text, ')');
	for (unsigned field = 2; p && field < 22; field++) {
		p = strchr(p, ' ');
		p = p ? p + 1 : NULL;
	}
	*ret = p ? strtoull(p, NULL, 10) : 0;
	return 0;
}

/* The time of the boot by the present clock; 0 = unknown. 0 or -errno. */
static int read_boot_time(const struct view *v, time_t *ret, struct err *err)
{
	static const char name[] = "\nbtime ";
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FS_FILE_MAX);
	const char *line;
	char path[64];
	int r;

	snprintf(path, sizeof(path), "%s/stat", v->dir);
	r = fs_read(v->root, path, &text, err);
	*ret = 0;
	if (r < 0)
		return fs_is_transient(r) ? r : 0;
	line = strstr(text.text, name);
	*ret = line ? (time_t)strtoll(line + strlen(name), NULL, 10) : 0;
	return 0;
}

static int set_start_time(const struct view *v, struct kubelet_process *p, struct err *err)
{
	long hz = sysconf(_SC_CLK_TCK);
	time_t boot = 0;
	int r = p->start > 0 && hz > 0 ? read_boot_time(v, &boot, err) : 0;

	p->start_time = boot > 0 ? boot + (time_t)(p->start / (uint64_t)hz) : 0;
	return r;
}

/* ---- searching /proc */

/*
 * Reads what the kernel knows of the process by itself. The command line is in the process's memory: reading it blocks as
 * long as the process likes, so that it is read only if the process is trusted.
 */
static int read_candidate(
	const struct view *v, unsigned pid, bool *ret_may_be, struct process_facts *c, struct err *err)
{
	int r = read_program_name(v, pid, ret_may_be, c, err);

	if (r < 0 || !*ret_may_be)
		return r;
	r = read_status(v, pid, c, err);
	if (r == 0 && !c->objection)
		r = read_cgroup(v, pid, c, err);
	*ret_may_be = !c->objection;
	return r;
}

/* Reads the command line. If the process is a kubelet that runs as a server, ret->pid is set, and ret->words are its arguments. 0 or -errno. */
static int read_process_command(const struct view *v, unsigned pid, struct kubelet_process *ret,
	struct process_facts *c, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(CMDLINE_MAX);
	int r = read_process_file(v, pid, "cmdline", &line, err);
	size_t skip;

	if (r < 0) {
		c->objection = "its command line cannot be read";
		return fs_is_transient(r) ? r : 0;
	}
	skip = line.len > 0 ? count_program_words(line.text, line.len) : 0;
	if (skip == 0)
		return 0;
	split_words(line.text, line.len, skip, &ret->words);
	c->named = true;
	if (!kubelet_args_start_server((const char *const *)ret->words.items, ret->words.n_items))
		c->objection = "its command line starts no server";
	else
		ret->pid = pid;
	return 0;
}

/*
 * 1 and *ret filled when the process is the node's kubelet, else 0; -errno if nrtd cannot read now. *why becomes the reason
 * when only its name is a kubelet's.
 */
static int read_kubelet_process(
	const struct view *v, unsigned pid, struct kubelet_process *ret, const char **why, struct err *err)
{
	struct process_facts c = {.named = false};
	uint64_t start;
	bool may_be;
	int r = read_candidate(v, pid, &may_be, &c, err);

	if (r == 0 && may_be)
		r = read_start(v, pid, &ret->start, err);
	if (r == 0 && may_be)
		r = read_process_command(v, pid, ret, &c, err);
	*why = c.named ? c.objection : NULL;
	if (r < 0 || ret->pid == 0)
		return r;
	ret->root = find_process_root(v, pid);
	ret->cwd = find_cwd(v, pid);
	r = set_start_time(v, ret, err);
	if (r == 0)
		r = read_start(v, pid, &start, err);
	/* With another start, the process has ended in between, and its id is another process's. */
	return r < 0 ? r : start == ret->start;
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

	/* Between fork and exec a child still has its parent's command line. */
	for (size_t i = 0; i < f->n_items; i++)
		if (!strcmp(f->items[i].root, p->root) && strv_equal(&f->items[i].words, &p->words))
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

int kubelet_process_runs(const char *sysroot, const char *proc, unsigned pid, uint64_t start, struct err *err)
{
	const struct view view = view_of(sysroot, proc);
	uint64_t now;
	int r = read_start(&view, pid, &now, err);

	return r < 0 ? r : now == start;
}

/* Add the kubelets among the processes. *ret_why is why the process *ret_objected is none although it is named kubelet. */
static int search_processes(const struct view *view, const uint64_t *pids, size_t n_pids, struct found *found,
	unsigned *ret_objected, const char **ret_why, struct err *err)
{
	for (size_t i = 0; i < n_pids && pids[i] <= UINT_MAX; i++) {
		CLEANUP(kubelet_process_release) struct kubelet_process p = {0};
		const char *why = NULL;
		int r = read_kubelet_process(view, (unsigned)pids[i], &p, &why, err);

		if (r < 0)
			return r;
		if (r > 0)
			add_process(found, &p);
		if (why && !*ret_why) {
			*ret_why = why;
			*ret_objected = (unsigned)pids[i];
		}
	}
	return 0;
}

int kubelet_process_find(const char *sysroot, const char *proc, struct kubelet_process *ret,
	struct notes *notes, struct err *err)
{
	CLEANUP(found_release) struct found found = {.items = NULL};
	CLEANUP(freep) uint64_t *pids = NULL;
	const struct view view = view_of(sysroot, proc);
	size_t n_pids = 0;
	unsigned objected = 0;
	const char *why = NULL;
	int r = fs_list_numbers(view.root, proc ? "/" : "/proc", "", "", &pids, &n_pids, NULL);

	if (fs_is_absent(r) && !proc)
		return 0;
	if (r < 0)
		return err_set(err, r, "cannot read '%s%s': %s", view.root, view.dir, strerror(-r));
	r = search_processes(&view, pids, n_pids, &found, &objected, &why, err);
	if (r < 0)
		return r;
	if (why && found.n_items == 0)
		notes_add(notes, "process %u is named kubelet but is not this node's kubelet: %s", objected,
			why);
	if (found.n_items > 0) {
		*ret = found.items[0];
		found.items[0] = (struct kubelet_process){0};
	}
	return (int)found.n_items;
}

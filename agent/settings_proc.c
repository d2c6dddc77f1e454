/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/settings_proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/fs.h"
#include "common/cleanup.h"
#include "common/strbuf.h"
#include "common/vec.h"

#define CMDLINE_MAX \
	(2u << 20) /* bytes; the kernel's own limit on arguments is a quarter of the stack's, 2 MiB */

void kubelet_process_init(struct kubelet_process *p)
{
	memset(p, 0, sizeof(*p));
}

void kubelet_process_release(struct kubelet_process *p)
{
	for (size_t i = 0; i < p->n_words; i++)
		free(p->words[i]);
	free(p->words);
	free(p->root);
	free(p->cwd);
	kubelet_process_init(p);
}

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

static const char *basename_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* How many words name the program: 1 for kubelet, 2 for "hyperkube kubelet", 0 when it is neither. `line` is
 * a cmdline file of `len` bytes, ended by a NUL that is not counted. */
static size_t program_words(const char *line, size_t len)
{
	const char *second = line + strlen(line) + 1;

	if (!strcmp(basename_of(line), "kubelet"))
		return 1;
	return !strcmp(basename_of(line), "hyperkube") && second < line + len && !strcmp(second, "kubelet")
		       ? 2
		       : 0;
}

static int split_words(const char *line, size_t len, size_t skip, struct kubelet_process *p)
{
	for (const char *word = line; word < line + len; word += strlen(word) + 1) {
		char **slot;

		if (skip > 0) {
			skip--;
			continue;
		}
		slot = vec_push(&p->words, &p->n_words, &p->words_size, sizeof(*slot));
		if (!slot)
			return -ENOMEM;
		*slot = strdup(word);
		if (!*slot)
			return -ENOMEM;
	}
	return 0;
}

/* ---- where its paths lead */

/* Where to look: the folder that lists the processes, and what their paths are below. */
struct view {
	const char *proc;
	const char *sysroot;
	bool elsewhere; /* `proc` was named: its processes' own roots are not entered */
};

static char *proc_path(const struct view *v, unsigned pid, const char *name)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(PATH_MAX);

	strbuf_addf(&path, "%s/%u/%s", v->proc, pid, name);
	return strbuf_detach(&path);
}

/* Both processes are in one mount namespace and have one root directory: a path means the same to them. */
static bool same_view(unsigned pid, const struct stat *theirs)
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
 * Live, /proc/PID/root leads into the kubelet's own mount namespace; where that is ours, or may not be
 * entered, plain paths do. In a saved tree a link leads out of it, so only a directory there counts.
 */
static char *find_root(const struct view *v, unsigned pid)
{
	CLEANUP(freep) char *link = proc_path(v, pid, "root");
	CLEANUP(freep) char *inside = proc_path(v, pid, "root/.");
	struct stat theirs;

	if (!link || !inside)
		return NULL;
	if (v->elsewhere)
		return strdup(v->sysroot);
	if (*v->sysroot)
		return strdup(lstat(link, &theirs) == 0 && S_ISDIR(theirs.st_mode) ? link : v->sysroot);
	if (stat(inside, &theirs) < 0 || same_view(pid, &theirs))
		return strdup("");
	return TAKE(link);
}

/* NULL when it cannot be told. */
static char *find_cwd(const struct view *v, unsigned pid)
{
	CLEANUP(freep) char *link = proc_path(v, pid, "cwd");
	char target[PATH_MAX];
	ssize_t n = link ? readlink(link, target, sizeof(target)) : -1;

	return n > 0 && (size_t)n < sizeof(target) && target[0] == '/' ? strndup(target, (size_t)n) : NULL;
}

int kubelet_process_path(const struct kubelet_process *p, const char *path, char **ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf absolute = STRBUF_INIT(2 * PATH_MAX);
	char *text;

	if (*path != '/' && !p->cwd)
		return err_set(err, -EINVAL,
			"kubelet (pid %u): its working directory is unknown, and the path '%.200s' is "
			"relative",
			p->pid, path);
	if (*path != '/')
		strbuf_addf(&absolute, "%s/", p->cwd);
	strbuf_addstr(&absolute, path);
	text = strbuf_detach(&absolute);
	if (!text)
		return no_memory(err);
	*ret = text;
	return 0;
}

/* ---- looking through /proc */

/* 1 and *ret filled when the process is a kubelet, 0 when not, or -ENOMEM. */
static int look_at(const struct view *v, unsigned pid, struct kubelet_process *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(CMDLINE_MAX);
	CLEANUP(kubelet_process_release) struct kubelet_process p = {.pid = pid};
	char path[64];
	size_t skip;
	int r;

	snprintf(path, sizeof(path), "/%u/cmdline", pid);
	/* A process that is gone, is another user's or has a boundless command line is not the kubelet. */
	r = fs_read(v->proc, path, &line, NULL);
	if (r == -ENOMEM)
		return no_memory(err);
	if (r < 0 || line.len == 0)
		return 0;
	skip = program_words(line.text, line.len);
	if (skip == 0)
		return 0;
	p.root = find_root(v, pid);
	p.cwd = find_cwd(v, pid);
	if (!p.root || split_words(line.text, line.len, skip, &p) < 0)
		return no_memory(err);
	kubelet_process_release(ret);
	*ret = p;
	kubelet_process_init(&p);
	return 1;
}

/* Between fork and exec a child still has its parent's command line. */
static bool same_command(const struct kubelet_process *a, const struct kubelet_process *b)
{
	if (a->n_words != b->n_words || strcmp(a->root, b->root) != 0)
		return false;
	for (size_t i = 0; i < a->n_words; i++)
		if (strcmp(a->words[i], b->words[i]) != 0)
			return false;
	return true;
}

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
	*dir = NULL;
}

int kubelet_process_find(const char *sysroot, const char *proc, struct kubelet_process *ret, struct err *err)
{
	CLEANUP(closedirp) DIR *dir = NULL;
	CLEANUP(kubelet_process_release) struct kubelet_process found = {0};
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(PATH_MAX);
	struct view view = {.sysroot = sysroot, .elsewhere = proc != NULL};
	const struct dirent *entry;
	int n = 0;

	strbuf_addf(&path, "%s%s", proc ? "" : sysroot, proc ? proc : "/proc");
	if (strbuf_error(&path) < 0)
		return err_set(err, strbuf_error(&path), "path too long");
	view.proc = path.text;
	dir = opendir(path.text);
	if (!dir && errno == ENOENT && !proc)
		return 0;
	if (!dir)
		return err_set(err, -errno, "cannot read '%s': %s", path.text, strerror(errno));
	while ((entry = readdir(dir))) {
		CLEANUP(kubelet_process_release) struct kubelet_process p = {0};
		unsigned long pid;
		int r;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		pid = strtoul(entry->d_name, NULL, 10);
		r = pid <= UINT_MAX ? look_at(&view, (unsigned)pid, &p, err) : 0;
		if (r < 0)
			return r;
		if (r > 0 && (n == 0 || !same_command(&p, &found)))
			n++;
		if (r > 0 && (!found.root || p.pid < found.pid)) {
			struct kubelet_process other = found;

			found = p;
			p = other;
		}
	}
	if (n > 0) {
		*ret = found;
		kubelet_process_init(&found);
	}
	return n;
}

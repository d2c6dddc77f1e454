/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A small directory tree as one text, and the same tree on disk. Each entry begins with a line:
 *
 *	%% PATH          a file; its content is the lines up to the next entry
 *	%- PATH          the same, without the newline of the last line
 *	%/ PATH          a directory; the directories above an entry need no line
 *	%> PATH TARGET   a symbolic link; PATH has no space
 *	%| PATH          a FIFO
 *
 * A path begins with '/'. Lines before the first entry, and entries whose path is invalid or below something that is not a
 * directory, are ignored. Of two entries with one path, the last counts. tests/fuzz/tree.sh converts directories into this
 * text and back.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/strbuf.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "tests/fuzz/fuzz.h"

/* What this file and the mutator do is no coverage of nrtd. */
#ifdef __clang__
#pragma clang attribute push(__attribute__((no_sanitize("coverage"))), apply_to = function)
#endif

#define TREE_PATH_MAX    400u
#define TREE_ENTRIES_MAX 4096u
#define TREE_WRITTEN     1600000000 /* the time of every file, so that a run does not depend on the clock */

enum tree_kind {
	TREE_FILE = '%',
	TREE_UNTERMINATED = '-',
	TREE_FOLDER = '/',
	TREE_LINK = '>',
	TREE_FIFO = '|'
};

struct tree_entry {
	char *path;
	enum tree_kind kind;
	char *text; /* of a file its content, of a link its target */
	size_t len;
};

/* Zeroed is empty. */
struct tree {
	struct tree_entry *items;
	size_t n_items;
	size_t items_size;
};

static inline void tree_release(struct tree *t)
{
	for (size_t i = 0; i < t->n_items; i++) {
		free(t->items[i].path);
		free(t->items[i].text);
	}
	free(t->items);
	*t = (struct tree){0};
}

static inline struct tree_entry *tree_add(
	struct tree *t, const char *path, enum tree_kind kind, const char *text, size_t len)
{
	struct tree_entry *e = vec_push(&t->items, &t->n_items, &t->items_size, sizeof(*e));

	*e = (struct tree_entry){
		.path = xstrdup(path), .kind = kind, .text = xcalloc(len + 1, 1), .len = len};
	if (len > 0)
		memcpy(e->text, text, len);
	return e;
}

static inline void tree_remove(struct tree *t, size_t at)
{
	free(t->items[at].path);
	free(t->items[at].text);
	memmove(&t->items[at], &t->items[at + 1], (--t->n_items - at) * sizeof(*t->items));
}

static inline void tree_set_text(struct tree_entry *e, const char *text, size_t len)
{
	char *copy = xcalloc(len + 1, 1);

	if (len > 0)
		memcpy(copy, text, len);
	free(e->text);
	e->text = copy;
	e->len = len;
}

static inline bool tree_is_file(const struct tree_entry *e)
{
	return e->kind == TREE_FILE || e->kind == TREE_UNTERMINATED;
}

/* ---- the text */

static inline bool tree_is_path(const char *path)
{
	if (*path != '/' || strlen(path) >= TREE_PATH_MAX)
		return false;
	while (*path) {
		size_t n = strcspn(++path, "/");

		if (n == 0 || n > NAME_MAX || (n == 1 && *path == '.') || (n == 2 && !strncmp(path, "..", 2)))
			return false;
		path += n;
	}
	return true;
}

/* Whether the line of `len` bytes, without its newline, begins an entry; then the entry is added without content. */
static inline bool tree_begin_entry(const char *line, size_t len, struct tree *ret)
{
	char text[TREE_PATH_MAX + PATH_MAX];
	char *target = NULL;

	if (len < 4 || len >= sizeof(text) || line[0] != '%' || !memchr("%-/>|", line[1], 5) ||
		line[2] != ' ' || memchr(line, '\0', len) || ret->n_items >= TREE_ENTRIES_MAX)
		return false;
	memcpy(text, line + 3, len - 3);
	text[len - 3] = '\0';
	if (line[1] == TREE_LINK) {
		target = strchr(text, ' ');
		if (!target || !target[1])
			return false;
		*target++ = '\0';
	}
	if (!tree_is_path(text))
		return false;
	tree_add(ret, text, (enum tree_kind)line[1], target, target ? strlen(target) : 0);
	return true;
}

static inline void tree_parse(const char *text, size_t len, struct tree *ret)
{
	const char *end = text + len, *content = NULL;

	for (const char *line = text; line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		const char *next = newline ? newline + 1 : end;
		size_t before = ret->n_items;

		if (tree_begin_entry(line, (size_t)((newline ? newline : end) - line), ret)) {
			if (before > 0 && tree_is_file(&ret->items[before - 1]))
				tree_set_text(&ret->items[before - 1], content, (size_t)(line - content));
			content = next;
		}
		line = next;
	}
	if (ret->n_items > 0 && tree_is_file(&ret->items[ret->n_items - 1]))
		tree_set_text(&ret->items[ret->n_items - 1], content, (size_t)(end - content));
	for (size_t i = 0; i < ret->n_items; i++) {
		struct tree_entry *e = &ret->items[i];

		if (e->kind == TREE_UNTERMINATED && e->len > 0 && e->text[e->len - 1] == '\n')
			e->len--;
	}
}

/* What does not end with a newline gets one, unless the entry says that the newline is not part of the content. */
static inline void tree_print(const struct tree *t, struct strbuf *out)
{
	for (size_t i = 0; i < t->n_items; i++) {
		const struct tree_entry *e = &t->items[i];
		bool terminated = e->len > 0 && e->text[e->len - 1] == '\n';

		if (e->kind == TREE_LINK) {
			strbuf_addf(out, "%%> %s %s\n", e->path, e->text);
			continue;
		}
		strbuf_addf(out, "%%%c %s\n",
			tree_is_file(e) && e->len > 0 && !terminated ? TREE_UNTERMINATED : (char)e->kind,
			e->path);
		if (!tree_is_file(e))
			continue;
		strbuf_add(out, e->text, e->len);
		if (e->len > 0 && (!terminated || e->kind == TREE_UNTERMINATED))
			strbuf_addch(out, '\n');
	}
}

/* ---- the tree to write: complete, sorted, each path once */

static inline int tree_compare(const void *a, const void *b)
{
	return strcmp(((const struct tree_entry *)a)->path, ((const struct tree_entry *)b)->path);
}

static inline int tree_order(const void *a, const void *b, void *data)
{
	(void)data;
	return tree_compare(a, b);
}

static inline struct tree_entry *tree_find(const struct tree *t, const char *path)
{
	const struct tree_entry key = {.path = (char *)(uintptr_t)path};

	return t->n_items > 0 ? bsearch(&key, t->items, t->n_items, sizeof(key), tree_compare) : NULL;
}

/* Whether the directory above the path is in the tree. */
static inline bool tree_has_parent(const struct tree *t, const char *path)
{
	char parent[TREE_PATH_MAX];
	const struct tree_entry *found;

	snprintf(parent, sizeof(parent), "%.*s", (int)(strrchr(path, '/') - path), path);
	found = *parent ? tree_find(t, parent) : NULL;
	return !*parent || (found && found->kind == TREE_FOLDER);
}

/* Entries in the order of their paths, so that a directory precedes what is in it, with all directories. */
static inline void tree_complete(const struct tree *from, struct tree *ret)
{
	struct tree all = {0};

	for (size_t i = 0; i < from->n_items;
		i++) /* implied directories count only without an entry of their own */
		for (const char *slash = strchr(from->items[i].path + 1, '/'); slash;
			slash = strchr(slash + 1, '/')) {
			char parent[TREE_PATH_MAX];

			if (i > 0 && !strncmp(from->items[i].path, from->items[i - 1].path,
					     (size_t)(slash - from->items[i].path + 1)))
				continue; /* as for the entry before */
			snprintf(parent, sizeof(parent), "%.*s", (int)(slash - from->items[i].path),
				from->items[i].path);
			tree_add(&all, parent, TREE_FOLDER, NULL, 0);
		}
	for (size_t i = 0; i < from->n_items; i++)
		tree_add(&all, from->items[i].path, from->items[i].kind, from->items[i].text,
			from->items[i].len);
	vec_sort(all.items, all.n_items, sizeof(*all.items), tree_order, NULL);
	for (size_t i = 0; i < all.n_items; i++) {
		const struct tree_entry *e = &all.items[i];
		bool last = i + 1 == all.n_items || strcmp(e->path, all.items[i + 1].path) != 0;

		if (last && tree_has_parent(ret, e->path))
			tree_add(ret, e->path, e->kind, e->text, e->len);
	}
	tree_release(&all);
}

/* ---- the tree on disk */

/* Below a directory of its own, which a child process removes when this process has ended in whatever way. */
struct tree_disk {
	char root[PATH_MAX];
	int fd;
	struct tree written; /* complete */
};

static inline int tree_remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	(void)st, (void)type, (void)walk;
	return remove(path);
}

static inline void tree_remove_at_exit(const char *root)
{
	int pipe_fds[2];
	char c;

	fuzz_require(pipe2(pipe_fds, 0) == 0);
	switch (fork()) {
	case -1:
		abort();
	case 0:
		setsid();
		close(pipe_fds[1]);
		while (read(pipe_fds[0], &c, 1) < 0 && errno == EINTR)
			;
		nftw(root, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
		_exit(0);
	default:
		close(pipe_fds[0]);
	}
}

static inline void tree_disk_open(struct tree_disk *d)
{
	const char *const parents[] = {getenv("XDG_RUNTIME_DIR"), "/dev/shm", getenv("TMPDIR"), "/tmp"};

	for (size_t i = 0; i < sizeof(parents) / sizeof(*parents); i++) {
		snprintf(d->root, sizeof(d->root), "%s/fuzz-tree-XXXXXX",
			parents[i] && *parents[i] ? parents[i] : "/nonexistent");
		if (mkdtemp(d->root)) {
			tree_remove_at_exit(d->root);
			d->fd = open(d->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
			fuzz_require(d->fd >= 0);
			return;
		}
	}
	abort();
}

static inline void tree_write_entry(const struct tree_disk *d, const struct tree_entry *e)
{
	static const struct timespec times[2] = {{.tv_sec = TREE_WRITTEN}, {.tv_sec = TREE_WRITTEN}};
	const char *path = e->path + 1;
	int fd;

	if (e->kind == TREE_FOLDER) {
		fuzz_require(mkdirat(d->fd, path, 0755) == 0);
	} else if (e->kind == TREE_LINK) {
		fuzz_require(symlinkat(e->text, d->fd, path) == 0);
	} else if (e->kind == TREE_FIFO) {
		fuzz_require(mkfifoat(d->fd, path, 0644) == 0);
	} else {
		fd = openat(d->fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		fuzz_require(
			fd >= 0 && write(fd, e->text, e->len) == (ssize_t)e->len && futimens(fd, times) == 0);
		close(fd);
	}
}

static inline bool tree_is_same(const struct tree_entry *a, const struct tree_entry *b)
{
	return a->kind == b->kind && a->len == b->len && !memcmp(a->text, b->text, a->len);
}

/* Makes the tree on disk equal to `want`, which is complete: only what differs is removed and written. Takes `want`. */
static inline void tree_disk_update(struct tree_disk *d, struct tree *want)
{
	for (size_t i = d->written.n_items; i-- > 0;) {
		const struct tree_entry *e = &d->written.items[i], *now = tree_find(want, e->path);

		if (!now || (!tree_is_same(e, now)))
			fuzz_require(
				unlinkat(d->fd, e->path + 1, e->kind == TREE_FOLDER ? AT_REMOVEDIR : 0) == 0);
	}
	for (size_t i = 0; i < want->n_items; i++) {
		const struct tree_entry *e = &want->items[i], *before = tree_find(&d->written, e->path);

		if (!before || !tree_is_same(before, e))
			tree_write_entry(d, e);
	}
	tree_release(&d->written);
	d->written = *want;
	*want = (struct tree){0};
}

#ifdef __clang__
#pragma clang attribute pop
#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/numa/input_files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/hash.h"
#include "common/io/fs.h"
#include "common/io/manifest.h"
#include "common/xalloc.h"

void input_files_init(const struct options *options, struct input_files *ret)
{
	size_t pos = 0;
	const char *path;

	*ret = (struct input_files){.options = options};
	while ((path = options_next(options, OPT_FROM, &pos))) {
		if (ret->n == 0)
			snprintf(ret->name, sizeof(ret->name), "%s", fs_argument_name(path));
		ret->n++;
	}
	if (ret->n > 1)
		snprintf(ret->name, sizeof(ret->name), "--from");
	ret->copies = xcalloc(ret->n + 1, sizeof(FILE *));
}

void input_files_release(struct input_files *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->copies[i])
			fclose(f->copies[i]);
	free(f->copies);
}

/* The files that were read, by device and inode. */
struct read_files {
	struct strv ids;
	struct name_table by_id;
};

static void read_files_release(struct read_files *r)
{
	name_table_release(&r->by_id);
	strv_release(&r->ids);
}

/* Notes the file, and returns whether the file was noted before, by this name or by another one. */
static bool note_read_file(struct read_files *r, const char *path)
{
	CLEANUP(freep) char *id = NULL;
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	id = xasprintf("%" PRIuMAX ":%" PRIuMAX, (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	if (name_table_find(&r->by_id, id))
		return true;
	strv_push(&r->ids, id);
	name_table_add(&r->by_id, r->ids.items[r->ids.n_items - 1], r);
	return false;
}

static int read_argument(const char *argument, struct read_files *seen, unsigned kinds, object_fn *fn,
	void *data, struct err *err)
{
	CLEANUP(strv_release) struct strv files = {0};
	int r = manifest_files(argument, false, &files, err);

	for (size_t i = 0; i < files.n_items && r == 0; i++)
		if (!note_read_file(seen, files.items[i]))
			r = object_input_read(files.items[i], kinds, fn, data, err);
	return r;
}

int input_files_read(struct input_files *f, unsigned kinds, object_fn *fn, void *data, struct err *err)
{
	CLEANUP(read_files_release) struct read_files seen = {0};
	size_t pos = 0, n = 0;
	const char *path;

	kinds |= OBJECT_SKIP_OTHERS;
	while ((path = options_next(f->options, OPT_FROM, &pos))) {
		FILE **copy = &f->copies[n++]; /* of a pipe: a later call reads the copy */
		int r;

		if (!fs_is_read_once(path)) {
			r = read_argument(path, &seen, kinds, fn, data, err);
		} else {
			r = fs_copy_argument(path, copy, err);
			if (r == 0)
				r = object_input_read_fd(fileno(*copy), path, kinds, fn, data, err);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/observe/settings_file.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdlib.h>

#include "agent/base/fs.h"
#include "agent/base/yaml.h"
#include "common/cleanup.h"
#include "common/strbuf.h"

#define API_VERSION "kubelet.config.k8s.io/v1beta1"
#define KIND        "KubeletConfiguration"

static int check_member(const struct doc *config, const char *name, const char *want, struct err *err)
{
	const struct doc *member = doc_get(config, name);
	const char *text = doc_string(member);

	if (!text)
		return err_set(err, -EINVAL, "no " KIND ": %s is %s", name, doc_kind_name(member));
	if (strcmp(text, want) != 0)
		return err_set(err, -EINVAL, "no " KIND ": %s is '%.100s', not '%s'", name, text, want);
	return 0;
}

/* mergeDefaultEvictionSettings, false when absent. */
static int wants_default_eviction(const struct doc *config, bool *ret, struct err *err)
{
	const struct doc *member = doc_get(config, "mergeDefaultEvictionSettings");

	if (member && member->kind != DOC_BOOL && member->kind != DOC_NULL)
		return err_set(err, -EINVAL, "mergeDefaultEvictionSettings: a boolean expected, not %s",
			doc_kind_name(member));
	*ret = member && member->kind == DOC_BOOL && !strcmp(member->text, "true");
	return 0;
}

int settings_file_parse(const char *text, size_t len, bool drop_in, const char *from,
	struct settings_raw *raw, struct err *err)
{
	CLEANUP(doc_release) struct doc config = DOC_INIT;
	bool merge = false;
	int r = yaml_parse(text, len, &config, err);

	if (r == 0 && config.kind != DOC_MAP)
		r = err_set(err, -EINVAL, "no " KIND " but %s", doc_kind_name(&config));
	if (r == 0)
		r = check_member(&config, "apiVersion", API_VERSION, err);
	if (r == 0)
		r = check_member(&config, "kind", KIND, err);
	if (r == 0)
		r = wants_default_eviction(&config, &merge, err);
	if (r < 0)
		return err_wrap(err, r, "%s", from);
	r = settings_raw_merge(raw, &config, drop_in, from, err);
	return r < 0 || drop_in ? r : settings_raw_default_eviction(raw, merge, err);
}

static int read_one(
	const char *root, const char *path, bool drop_in, struct settings_raw *raw, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FS_FILE_MAX);
	int r = fs_read(root, path, &text, err);

	return r < 0 ? r : settings_file_parse(text.text, text.len, drop_in, path, raw, err);
}

int settings_file_read(const char *root, const char *path, struct settings_raw *raw, struct err *err)
{
	return read_one(root, path, false, raw, err);
}

/* ---- drop-ins */

static void fts_closep(FTS **fts)
{
	if (*fts)
		fts_close(*fts);
	*fts = NULL;
}

static int compare_names(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static bool is_drop_in(const char *name)
{
	size_t len = strlen(name);

	return len >= 5 && !strcmp(name + len - 5, ".conf");
}

/* What fts found next in the folder, which is `dir` below `root`; fts' path of it has `dir_len` bytes. */
static int visit(const FTSENT *entry, size_t dir_len, const char *root, const char *dir,
	struct settings_raw *raw, struct strv *files, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(2 * PATH_MAX);

	strbuf_addf(&path, "%s%s", dir, entry->fts_path + dir_len);
	if (strbuf_error(&path) < 0)
		return err_set(err, strbuf_error(&path), "path too long");
	switch (entry->fts_info) {
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		return err_set(err, -entry->fts_errno, "cannot read '%s': %s", entry->fts_path,
			strerror(entry->fts_errno));
	case FTS_F:
	case FTS_SL:
	case FTS_SLNONE:
		if (!is_drop_in(entry->fts_name))
			return 0;
		if (files)
			strv_push(files, path.text);
		return read_one(root, path.text, true, raw, err);
	case FTS_D:
		if (files)
			strv_push(files, path.text);
		return 0;
	default:
		return 0;
	}
}

int settings_dropins_read(
	const char *root, const char *dir, struct settings_raw *raw, struct strv *files, struct err *err)
{
	CLEANUP(fts_closep) FTS *fts = NULL;
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(2 * PATH_MAX);
	char *paths[2] = {NULL, NULL};

	int r = fs_resolve(root, dir, &path);

	if (r < 0)
		return err_set(err, r, "cannot read '%s%s': %s", root, dir, strerror(-r));
	paths[0] = path.text;
	fts = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, compare_names);
	if (!fts)
		return err_set(err, -errno, "cannot read '%s': %s", path.text, strerror(errno));
	for (;;) {
		const FTSENT *entry;

		errno = 0;
		entry = fts_read(fts);
		if (!entry)
			break;
		r = visit(entry, path.len, root, dir, raw, files, err);
		if (r < 0)
			return r;
	}
	return errno ? err_set(err, -errno, "cannot read '%s': %s", path.text, strerror(errno)) : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/nrt_input.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

#include "agent/fs.h"
#include "agent/json.h"
#include "agent/yaml.h"
#include "common/cleanup.h"

#define NRT_INPUT_MAX ((size_t)1 << 30) /* 5000 objects of 64 NUMA nodes each stay below it */

static int add_text(const char *text, size_t len, struct nrt_nodes *nodes, struct err *err)
{
	CLEANUP(doc_release) struct doc doc = DOC_INIT;
	size_t blank = strspn(text, " \t\r\n");
	int r;

	if (blank < len && text[blank] == '{') {
		r = json_parse(text, len, &doc, err);
		return r < 0 ? r : nrt_nodes_add(&doc, nodes, err);
	}
	r = yaml_parse_all(text, len, &doc, err);
	DOC_FOREACH (item, &doc)
		if (r == 0 && item->kind != DOC_NULL)
			r = nrt_nodes_add(item, nodes, err);
	return r;
}

static int add_file(const char *path, struct nrt_nodes *nodes, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(NRT_INPUT_MAX);
	size_t before = nodes->n_items;
	int r = fs_read_argument(path, &text, err);

	if (r < 0)
		return r;
	r = add_text(text.text, text.len, nodes, err);
	if (r == 0 && nodes->n_items == before)
		r = err_set(err, -EINVAL, "no NodeResourceTopology in it");
	return r < 0 ? err_wrap(err, r, "%s", strcmp(path, "-") ? path : "standard input") : 0;
}

static bool has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), s = strlen(suffix);

	return n > s && !strcmp(name + n - s, suffix);
}

static int is_object_file(const struct dirent *entry)
{
	const char *name = entry->d_name;

	return name[0] != '.' &&
	       (has_suffix(name, ".yaml") || has_suffix(name, ".yml") || has_suffix(name, ".json"));
}

static int add_directory(const char *path, struct nrt_nodes *nodes, struct err *err)
{
	struct dirent **entries = NULL;
	int n = scandir(path, &entries, is_object_file, alphasort), r = 0;

	if (n < 0)
		return err_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
	if (n == 0)
		r = err_set(err, -EINVAL, "'%s' holds no .yaml, .yml or .json file", path);
	for (int i = 0; i < n; i++) {
		char file[PATH_MAX];

		if (r == 0 &&
			snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name) >= (int)sizeof(file))
			r = err_set(err, -ENAMETOOLONG, "path too long below '%s'", path);
		if (r == 0)
			r = add_file(file, nodes, err);
		free(entries[i]);
	}
	free(entries);
	return r;
}

int nrt_input_read(const char *path, struct nrt_nodes *ret, struct err *err)
{
	CLEANUP(nrt_nodes_release) struct nrt_nodes nodes = {0};
	struct stat st;
	bool directory = strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
	int r = directory ? add_directory(path, &nodes, err) : add_file(path, &nodes, err);

	if (r < 0)
		return r;
	*ret = nodes;
	nodes = (struct nrt_nodes){0};
	return 0;
}

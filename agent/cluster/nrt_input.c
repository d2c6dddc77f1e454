/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cluster/nrt_input.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

#include "agent/base/fs.h"
#include "agent/base/json.h"
#include "agent/base/yaml.h"
#include "common/cleanup.h"

#define NRT_INPUT_MAX ((size_t)1 << 30) /* 5000 objects of 64 NUMA nodes each stay below it */

/* What is done with each object. */
struct sink {
	nrt_object_fn *fn;
	void *data;
	size_t n_objects; /* so far */
};

static int take_object(struct doc *object, void *data, struct err *err)
{
	struct sink *sink = data;

	if (++sink->n_objects > NRT_INPUT_MAX_OBJECTS)
		return err_set(err, -EINVAL, "more than %d objects", NRT_INPUT_MAX_OBJECTS);
	return sink->fn(object, sink->data, err);
}

static int add_text(const char *text, size_t len, struct sink *sink, struct err *err)
{
	CLEANUP(doc_release) struct doc doc = DOC_INIT;
	size_t blank = strspn(text, " \t\r\n");
	int r;

	if (blank < len && text[blank] == '{') {
		r = json_parse(text, len, &doc, err);
		return r < 0 ? r : nrt_objects_each(&doc, take_object, sink, err);
	}
	r = yaml_parse_all(text, len, &doc, err);
	DOC_FOREACH (item, &doc)
		if (r == 0 && item->kind != DOC_NULL)
			r = nrt_objects_each(item, take_object, sink, err);
	return r;
}

static int add_file(const char *path, struct sink *sink, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(NRT_INPUT_MAX);
	size_t before = sink->n_objects;
	int r = fs_read_argument(path, &text, err);

	if (r < 0)
		return r;
	r = add_text(text.text, text.len, sink, err);
	if (r == 0 && sink->n_objects == before)
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

static int add_directory(const char *path, struct sink *sink, struct err *err)
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
			r = add_file(file, sink, err);
		free(entries[i]);
	}
	free(entries);
	return r;
}

/* Every object at the path, to `fn`. */
static int read_each(const char *path, nrt_object_fn *fn, void *data, struct err *err)
{
	struct sink sink = {.fn = fn, .data = data};
	struct stat st;
	bool directory = strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode);

	return directory ? add_directory(path, &sink, err) : add_file(path, &sink, err);
}

int nrt_input_read(const char *path, struct nrt_nodes *ret, struct err *err)
{
	CLEANUP(nrt_nodes_release) struct nrt_nodes nodes = {0};
	int r = read_each(path, nrt_nodes_add, &nodes, err);

	if (r < 0)
		return r;
	*ret = nodes;
	nodes = (struct nrt_nodes){0};
	return 0;
}

/* ---- one object of several */

#define NAMES_MAX 300 /* bytes of names in an error's text */

struct choice {
	const char *name; /* NULL: whichever there is */
	struct doc object;
	size_t n_found;
	struct strbuf names; /* of all, as far as they fit */
	size_t n_names;
};

static void choice_release(struct choice *c)
{
	doc_release(&c->object);
	strbuf_release(&c->names);
}

static int choose(struct doc *object, void *data, struct err *err)
{
	struct choice *c = data;
	const char *name = doc_string(doc_get(doc_get(object, "metadata"), "name"));

	if (!name)
		return err_set(err, -EINVAL, "a NodeResourceTopology without a name");
	strbuf_addf(&c->names, "%s'%.60s'", c->n_names++ > 0 ? ", " : "", name);
	if (c->name && strcmp(c->name, name) != 0)
		return 0;
	if (c->n_found++ == 0) {
		c->object = *object;
		*object = (struct doc)DOC_INIT;
	}
	return 0;
}

int nrt_input_choose(const char *path, const char *name, struct doc *ret, struct err *err)
{
	CLEANUP(choice_release) struct choice c = {.name = name, .names = STRBUF_INIT(NAMES_MAX)};
	int r = read_each(path, choose, &c, err);
	const char *source = strcmp(path, "-") != 0 ? path : "standard input", *more;

	if (r < 0)
		return r;
	more = strbuf_error(&c.names) < 0 ? ", ..." : "";
	if (c.n_found > 1 && name)
		return err_set(err, -EINVAL, "%.100s: %zu objects of node '%.60s'", source, c.n_found, name);
	if (c.n_found > 1)
		return err_set(err, -EINVAL, "%.100s: %zu objects, choose one with --node-name: %s%s", source,
			c.n_found, c.names.text, more);
	if (c.n_found == 0)
		return err_set(err, -EINVAL, "%.100s: no object of node '%.60s', but of %s%s", source, name,
			c.names.text, more);
	*ret = c.object;
	c.object = (struct doc)DOC_INIT;
	return 0;
}

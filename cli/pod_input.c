/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/pod_input.h"

#include <errno.h>
#include <sys/stat.h>

#include "cluster/objects/manifest_fields.h"
#include "common/cleanup.h"
#include "common/io/fs.h"
#include "common/io/manifest.h"
#include "common/log.h"
#include "common/vec.h"
#include "common/xalloc.h"

/* The flags of a request, with their resources (NULL = part of the value). */
static const struct request_flag {
	enum option_id id;
	const char *resource;
	int64_t page_bytes; /* hugepages: a plain number counts pages of this size */
} request_flags[] = {
	{OPT_CPUS, "cpu", 0},
	{OPT_MEMORY, "memory", 0},
	{OPT_HUGEPAGES_1GI, "hugepages-1Gi", INT64_C(1) << 30},
	{OPT_HUGEPAGES_2MI, "hugepages-2Mi", INT64_C(2) << 20},
	{OPT_DEVICE, NULL, 0},
	{OPT_RESOURCE, NULL, 0},
};

/* ---- from a file */

/* Move the templates of `from` to the end of `to`. */
static void append_templates(struct pod_templates *to, struct pod_templates *from)
{
	vec_grow(&to->items, &to->items_size, to->n_items + from->n_items, sizeof(*to->items));
	for (size_t i = 0; i < from->n_items; i++)
		to->items[to->n_items++] = from->items[i];
	from->n_items = 0;
}

/* What was read of all files so far. */
struct pod_files {
	struct pod_templates *templates;
	size_t n_bytes, n_objects;
	struct err other; /* why the last object without a pod template has none */
	const char *path; /* of this object */
};

#define FIELDS_WARNED 10u /* unknown fields of an object that are named */

/* kubectl refuses unknown fields; an API server may know more than these. */
static void warn_unknown_fields(
	const char *path, const struct doc *object, const struct pod_templates *templates)
{
	CLEANUP(strv_release) struct strv fields = {0};

	manifest_unknown_fields(object, &fields);
	for (size_t i = 0; i < templates->n_items; i++)
		if (templates->items[i].owner && pod_is_manifest(templates->items[i].owner))
			manifest_pod_unknown_fields(templates->items[i].owner, &fields);
	for (size_t i = 0; i < fields.n_items && i < FIELDS_WARNED; i++)
		log_warning("'%.150s': ignored the unknown field %s", path, fields.items[i]);
	if (fields.n_items > FIELDS_WARNED)
		log_warning(
			"'%.150s': ignored %zu other unknown fields", path, fields.n_items - FIELDS_WARNED);
}

/*
 * Read the objects of a list and of Lists in it; `what` names an item in messages. Changes the objects: adds what the controllers add to
 * their pods.
 */
static int read_objects(const struct doc *list, const char *what, struct pod_files *files, struct err *err)
{
	size_t i = 0;

	DOC_FOREACH (object, list) {
		CLEANUP(pod_templates_release) struct pod_templates found = {0};
		const struct doc *items = doc_get(object, "items");
		const char *kind = doc_string(doc_get(object, "kind"));
		size_t len = kind ? strlen(kind) : 0;
		int r;

		i++;
		if (object->kind == DOC_NULL)
			continue;
		files->n_objects++;
		if (files->n_objects > POD_INPUT_MAX_OBJECTS)
			return err_set(err, -EINVAL, "more than %u objects", POD_INPUT_MAX_OBJECTS);
		if (items && items->kind == DOC_LIST && len >= 4 && !strcmp(kind + len - 4, "List")) {
			r = read_objects(items, "item", files, err);
		} else {
			workload_add_by_controller(object);
			r = pod_templates_from_doc(object, &found, err);
		}
		/* Not a failure if another object has a pod template. */
		if (r == -ENOENT) {
			files->other = *err;
			continue;
		}
		if (r < 0)
			return list->n_items == 1 ? r : err_wrap(err, r, "%s %zu", what, i);
		warn_unknown_fields(files->path, object, &found);
		append_templates(files->templates, &found);
	}
	return 0;
}

static int read_file(struct pod_files *files, const char *path, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(POD_INPUT_MAX_BYTES);
	struct doc *documents = doc_add(&files->templates->documents, NULL);
	struct err why = {""};
	int r = fs_read_argument(path, &text, err);

	if (r < 0)
		return r;
	path = fs_argument_name(path);
	files->path = path;
	files->n_bytes += text.len;
	if (files->n_bytes > POD_INPUT_MAX_BYTES)
		return err_set(err, -EFBIG, "'%.150s': with the files before it larger than %u bytes", path,
			POD_INPUT_MAX_BYTES);
	r = manifest_parse_all(text.text, text.len, documents, &why);
	if (r == 0)
		r = read_objects(documents, "document", files, &why);
	return r < 0 ? err_set(err, r, "'%.150s': %.300s", path, why.text) : 0;
}

/* Appends the files of one value of --filename, which commas may separate. */
static int list_files(const struct options *options, const char *value, struct strv *ret, struct err *err)
{
	int r = 0;

	while (r == 0) {
		size_t len = strcspn(value, ",");
		CLEANUP(freep) char *argument = xstrndup(value, len);

		r = manifest_files(argument, option_set(options, OPT_RECURSIVE), ret, err);
		if (!value[len])
			return r;
		value += len + 1;
	}
	return r;
}

static int read_files(const struct options *options, struct pod_templates *ret, struct err *err)
{
	CLEANUP(strv_release) struct strv paths = {0};
	struct pod_files files = {.templates = ret, .other = {"no objects in it"}};
	const char *value;
	size_t pos = 0;
	int r = 0;

	ret->documents.kind = DOC_LIST;
	while (r == 0 && (value = options_next(options, OPT_FILENAME, &pos)))
		r = list_files(options, value, &paths, err);
	for (size_t i = 0; i < paths.n_items && r == 0; i++)
		r = read_file(&files, paths.items[i], err);
	if (r == 0 && ret->n_items == 0)
		r = err_set(err, -EINVAL, "'%.150s': %.300s", files.path, files.other.text);
	return r;
}

/* ---- from flags */

/* A plain number counts pages. */
static bool is_page_count(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

/* Changes a number of pages to bytes. An amount of bytes must be a whole number of pages. */
static int check_pages(const struct request_flag *flag, const char *text, struct quantity *q, struct err *err)
{
	qty_t page = (qty_t)flag->page_bytes * QTY_UNIT;

	if (!is_page_count(text) && q->nano % page != 0)
		return err_set(err, -EINVAL, "'%.100s' is not a whole number of pages", text);
	if (!is_page_count(text))
		return 0;
	if (q->nano > QTY_MAX / flag->page_bytes)
		return err_set(err, -ERANGE, "'%.100s' pages are too many", text);
	q->nano *= flag->page_bytes;
	q->format = QUANTITY_BINARY_SI;
	return 0;
}

/* Add the resource of one value to the container. */
static int read_value(const struct option_def *def, const struct request_flag *flag, const char *value,
	struct container_request *c, struct err *err)
{
	const char *equals = flag->resource ? NULL : strrchr(value, '=');
	CLEANUP(freep) char *name = NULL;
	const char *text = equals ? equals + 1 : value;
	struct quantity q = {0};
	int r;

	if (!flag->resource && (!equals || equals == value))
		return err_set(err, -EINVAL, "'%.100s' is not %s", value, def->arg);
	name = flag->resource ? xstrdup(flag->resource) : xstrndup(value, (size_t)(equals - value));
	if (flag->id == OPT_DEVICE && !strchr(name, '/'))
		return err_set(err, -EINVAL,
			"'%.100s' is not the name of a device resource, \"vendor.com/nic\"", name);
	if (resource_list_find(&c->requests, name))
		return err_set(err, -EINVAL, "%.100s is requested twice", name);
	r = pod_resource_parse(name, text, &q, err);
	if (r == 0 && flag->page_bytes > 0)
		r = check_pages(flag, text, &q, err);
	if (r < 0)
		return r;
	resource_list_set(&c->requests, name, q);
	resource_list_set(&c->limits, name, q);
	return 0;
}

/* Read all values of a flag. */
static int read_values(const struct options *options, const struct request_flag *flag,
	struct container_request *c, struct err *err)
{
	const struct option_def *def = options_def(options, flag->id);
	const char *value = options->value[flag->id];
	size_t pos = 0;

	if (def->repeats)
		value = options_next(options, flag->id, &pos);
	while (value) {
		int r = read_value(def, flag, value, c, err);

		if (r < 0)
			return err_wrap(err, r, "%s", options->origin[flag->id]);
		value = def->repeats ? options_next(options, flag->id, &pos) : NULL;
	}
	return 0;
}

/* Neither a file nor a request is given. */
static int no_request(const struct options *options, struct err *err)
{
	struct stat st;

	for (size_t i = 0; i < options->n_words; i++)
		if (stat(options->words[i], &st) == 0 && S_ISREG(st.st_mode))
			return err_set(err, -EINVAL, "no pod: '%.200s' is a file: did you mean -f %.200s?",
				options->words[i], options->words[i]);
	return err_set(err, -EINVAL,
		"no pod: give a file with -f, or a request with flags such as --cpus and --memory");
}

static int read_request_flags(const struct options *options, struct pod_templates *ret, struct err *err)
{
	struct pod_template *t = vec_push(&ret->items, &ret->n_items, &ret->items_size, sizeof(*t));
	struct container_request *c;

	pod_request_init(&t->pod);
	t->replicas = 1;
	t->pod.qos = QOS_GUARANTEED;
	t->pod.name = xstrdup("request");
	c = pod_request_add(&t->pod, CONTAINER_APP, "request");
	for (size_t i = 0; i < ARRAY_SIZE(request_flags); i++) {
		int r = read_values(options, &request_flags[i], c, err);

		if (r < 0)
			return r;
	}
	if (option_set(options, OPT_POD))
		return err_set(err, -EINVAL, "%s requires --filename", options->origin[OPT_POD]);
	if (c->requests.n_items == 0)
		return no_request(options, err);
	for (size_t i = 0; i < c->requests.n_items; i++)
		if (c->requests.items[i].quantity.nano > 0)
			return 0;
	return err_set(err, -EINVAL, "the pod requests nothing: every amount is 0");
}

/* --filename excludes the flags of a request. */
static int check_sources(const struct options *options, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(request_flags); i++)
		if (option_set(options, request_flags[i].id))
			return err_set(err, -EINVAL, "%s and %s exclude each other",
				options->origin[OPT_FILENAME], options->origin[request_flags[i].id]);
	return 0;
}

bool pod_input_given(const struct options *options)
{
	bool given = option_set(options, OPT_FILENAME) || option_set(options, OPT_POD);

	for (size_t i = 0; i < ARRAY_SIZE(request_flags) && !given; i++)
		given = option_set(options, request_flags[i].id);
	return given;
}

int pod_input_read(const struct options *options, struct pod_templates *ret, struct err *err)
{
	CLEANUP(pod_templates_release) struct pod_templates t = {0};
	bool files = option_set(options, OPT_FILENAME);
	int r = files ? check_sources(options, err) : read_request_flags(options, &t, err);

	if (r == 0 && files)
		r = read_files(options, &t, err);
	if (r < 0)
		return r;
	*ret = t;
	t = (struct pod_templates){0};
	return 0;
}

/* Append all names to `names`, "'web', 'db'". Returns how many templates have the name (NULL = any). */
static size_t count_named(const struct pod_templates *templates, const char *name, struct strbuf *names,
	const struct pod_template **ret_last)
{
	size_t n = 0;

	for (size_t i = 0; i < templates->n_items; i++) {
		const struct pod_template *t = &templates->items[i];

		strbuf_addf(names, "%s'%.60s'", i > 0 ? ", " : "", t->pod.name);
		if (name && strcmp(name, t->pod.name) != 0)
			continue;
		*ret_last = t;
		n++;
	}
	return n;
}

int pod_input_pick(const struct options *options, const struct pod_templates *templates,
	const struct pod_template **ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT(300);
	const char *name = options->value[OPT_POD], *more;
	const struct pod_template *found = NULL;
	size_t n = count_named(templates, name, &names, &found);

	more = strbuf_error(&names) < 0 ? ", ..." : "";
	if (n > 1 && !name)
		return err_set(err, -EINVAL, "%s: %zu pod templates, choose one with --pod: %s%s",
			options->origin[OPT_FILENAME], n, names.text, more);
	if (n > 1)
		return err_set(err, -EINVAL,
			"%s: %zu pod templates are named '%.60s': remove all but one from the file",
			options->origin[OPT_POD], n, name);
	if (n == 0)
		return err_set(err, -EINVAL, "%s: no pod template is named '%.60s'; the file has %s%s",
			options->origin[OPT_POD], name, names.text, more);
	*ret = found;
	return 0;
}

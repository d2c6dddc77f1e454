/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/vectors/vectors_json.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdarg.h>

#include "agent/observe/fs_root.h"
#include "common/cleanup.h"
#include "common/strbuf.h"
#include "common/vec.h"

#define FILE_MAX (256u << 20)

void vj_die(const vj *v, const char *fmt, ...)
{
	CLEANUP(freep) char *text = v ? vj_text(v) : NULL;
	va_list ap;

	fputs("vectors: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, ": %.300s\n", text ? text : "(absent)");
	exit(2);
}

char *vj_text(const vj *v)
{
	return v ? cJSON_PrintUnformatted(v) : strdup("null");
}

static int add_doc(struct vj_file *f, const char *text, const char **ret_end)
{
	cJSON *doc;

	vec_grow(&f->docs, &f->docs_size, f->n_docs + 1, sizeof(*f->docs));
	doc = cJSON_ParseWithOpts(text, ret_end, false);
	if (!doc)
		return -EINVAL;
	f->docs[f->n_docs++] = doc;
	return 0;
}

int vj_load(const char *path, struct vj_file *ret, struct err *err)
{
	struct strbuf text = STRBUF_INIT(FILE_MAX);
	struct vj_file f = {0};
	const char *p;
	int r = fs_read("", path, &text, err);

	for (p = text.text + strspn(text.text, " \t\r\n"); r == 0 && *p; p += strspn(p, " \t\r\n")) {
		const char *end = p;

		r = add_doc(&f, p, &end);
		if (r < 0)
			err_set(err, r, "%s: not JSON at offset %zu", path, (size_t)(end - text.text));
		p = end;
	}
	if (r == 0 && f.n_docs == 0)
		r = err_set(err, -EINVAL, "%s: empty", path);
	strbuf_release(&text);
	if (r < 0)
		vj_release(&f);
	else
		*ret = f;
	return r;
}

void vj_release(struct vj_file *f)
{
	for (size_t i = 0; i < f->n_docs; i++)
		cJSON_Delete(f->docs[i]);
	free(f->docs);
	*f = (struct vj_file){0};
}

const vj *vj_first_case(const struct vj_file *f)
{
	const vj *root = f->docs[0];

	if (f->n_docs > 1)
		return root;
	if (vj_is_list(root))
		return vj_first(root);
	return vj_get(root, "cases") ? vj_first(vj_get(root, "cases")) : root;
}

const vj *vj_next_case(const struct vj_file *f, const vj *c)
{
	for (size_t i = 0; i + 1 < f->n_docs; i++)
		if (f->docs[i] == c)
			return f->docs[i + 1];
	return vj_next(c);
}

const vj *vj_first(const vj *parent)
{
	if (vj_is_null(parent))
		return NULL;
	if (!vj_is_list(parent) && !vj_is_map(parent))
		vj_die(parent, "neither a list nor a map");
	return parent->child;
}

const vj *vj_next(const vj *item)
{
	return item->next;
}

const char *vj_key(const vj *member)
{
	return member->string ? member->string : "";
}

size_t vj_count(const vj *parent)
{
	size_t n = 0;

	VJ_FOREACH (item, parent)
		n++;
	return n;
}

const vj *vj_get(const vj *map, const char *key)
{
	const vj *v;

	if (!vj_is_map(map))
		vj_die(map, "no map to find '%s' in", key);
	v = cJSON_GetObjectItemCaseSensitive(map, key);
	return vj_is_null(v) ? NULL : v;
}

const vj *vj_need(const vj *map, const char *key)
{
	const vj *v;

	if (!vj_is_map(map))
		vj_die(map, "no map to find '%s' in", key);
	v = cJSON_GetObjectItemCaseSensitive(map, key);
	if (!v)
		vj_die(map, "no member '%s'", key);
	return v;
}

bool vj_is_null(const vj *v)
{
	return !v || cJSON_IsNull(v);
}

bool vj_is_map(const vj *v)
{
	return cJSON_IsObject(v);
}

bool vj_is_list(const vj *v)
{
	return cJSON_IsArray(v);
}

bool vj_is_string(const vj *v)
{
	return cJSON_IsString(v);
}

bool vj_is_number(const vj *v)
{
	return cJSON_IsNumber(v);
}

const char *vj_string(const vj *v)
{
	if (!vj_is_string(v))
		vj_die(v, "not a string");
	return v->valuestring;
}

double vj_double(const vj *v)
{
	if (!vj_is_number(v))
		vj_die(v, "not a number");
	return v->valuedouble;
}

int64_t vj_int(const vj *v)
{
	double d = vj_double(v);

	/* -2^63 is a double; 2^63 is the first one beyond int64. */
	if (!(d >= -0x1p63 && d < 0x1p63) || (d > -0x1p63 && (double)(int64_t)d != d))
		vj_die(v, "not a whole number");
	return (int64_t)d;
}

unsigned vj_unsigned(const vj *v)
{
	int64_t value = vj_int(v);

	if (value < 0 || value > UINT32_MAX)
		vj_die(v, "not a count");
	return (unsigned)value;
}

bool vj_bool(const vj *v)
{
	if (!cJSON_IsBool(v))
		vj_die(v, "not true or false");
	return cJSON_IsTrue(v);
}

struct quantity vj_quantity(const vj *v)
{
	struct quantity q = {0};
	struct err err = {""};

	if (vj_is_number(v))
		return quantity_from_units(vj_int(v));
	if (quantity_parse(vj_string(v), &q, &err) < 0)
		vj_die(v, "%s", err.text);
	return q;
}

hwloc_bitmap_t vj_cpuset(const vj *v)
{
	hwloc_bitmap_t set = NULL;
	struct err err = {""};

	if (cpuset_parse(vj_string(v), &set, &err) < 0)
		vj_die(v, "%s", err.text);
	return set;
}

hwloc_bitmap_t vj_ids(const vj *list_of_ids)
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();

	if (!vj_is_list(list_of_ids))
		vj_die(list_of_ids, "not a list of ids");
	VJ_FOREACH (id, list_of_ids)
		if (hwloc_bitmap_set(set, vj_unsigned(id)) < 0)
			vj_die(list_of_ids, "out of memory");
	return set;
}

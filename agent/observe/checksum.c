/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe/checksum.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/strbuf.h"
#include "common/xalloc.h"

#define BYTES_MAX (64u << 20) /* one decoded value; the files themselves are capped far below */

const struct go_type go_string = {.kind = GO_STRING, .name = "string"};
const struct go_type go_checksum = {.kind = GO_ZERO, .name = "checksum.Checksum"};

uint32_t checksum_fnv1a(uint32_t sum, const void *data, size_t len)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < len; i++)
		sum = (sum ^ p[i]) * 0x01000193u;
	return sum;
}

uint32_t checksum_data(const char *data)
{
	static const char type[] = "(string)";
	uint32_t sum = checksum_fnv1a(CHECKSUM_FNV1A_START, type, sizeof(type) - 1);

	return checksum_fnv1a(sum, data, strlen(data));
}

int checksum_integer_key(const char *key, int64_t *ret)
{
	const char *digits = key + (*key == '-');
	long long value;
	char *end;

	if (!isdigit((unsigned char)*digits))
		return -EINVAL;
	errno = 0;
	value = strtoll(key, &end, 10);
	if (errno || *end)
		return -EINVAL;
	*ret = value;
	return 0;
}

/* ---- the renderer: its output goes into the sum, and into `text` unless that is NULL */

struct dump {
	uint32_t sum;
	struct strbuf *text;
	/* Bit i: an empty map at field i of the outermost struct is a nil map. JSON does not tell a nil map from an empty one, so
	 * search_shape() tries both. */
	unsigned nil_fields;
};

static void dump_text(struct dump *d, const char *s)
{
	size_t len = strlen(s);

	d->sum = checksum_fnv1a(d->sum, s, len);
	if (d->text)
		strbuf_add(d->text, s, len);
}

static void add_integer(struct dump *d, int64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, value);
	dump_text(d, text);
}

static int render_value(struct dump *d, const struct doc *value, const struct go_type *type);

static bool is_null(const struct doc *value)
{
	return !value || value->kind == DOC_NULL;
}

static int render_bytes(struct dump *d, const struct doc *value)
{
	CLEANUP(strbuf_release) struct strbuf bytes = STRBUF_INIT(BYTES_MAX);
	int r;

	if (value->kind != DOC_STRING)
		return -EINVAL;
	r = base64_decode(value->text, &bytes);
	if (r < 0)
		return r;
	dump_text(d, "[");
	for (size_t i = 0; i < bytes.len; i++) {
		if (i > 0)
			dump_text(d, " ");
		add_integer(d, (unsigned char)bytes.text[i]);
	}
	dump_text(d, "]");
	return 0;
}

static int render_cpuset(struct dump *d, const struct doc *value)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = NULL;
	const char *separator = "";

	if (!is_null(value) && value->kind != DOC_STRING)
		return -EINVAL;
	if (cpuset_parse(is_null(value) ? "" : value->text, &set, NULL) < 0)
		return -EINVAL;
	dump_text(d, "{elems:(map[int]struct {})map[");
	for (int id = hwloc_bitmap_first(set); id >= 0; id = hwloc_bitmap_next(set, id)) {
		dump_text(d, separator);
		add_integer(d, id);
		dump_text(d, ":{}");
		separator = " ";
	}
	dump_text(d, "]}");
	return 0;
}

static int render_list(struct dump *d, const struct doc *value, const struct go_type *type)
{
	if (value->kind != DOC_LIST)
		return -EINVAL;
	dump_text(d, "[");
	DOC_FOREACH (item, value) {
		int r;

		if (item != value->items)
			dump_text(d, " ");
		r = render_value(d, item, type->element);
		if (r < 0)
			return r;
	}
	dump_text(d, "]");
	return 0;
}

struct int_entry {
	int64_t key;
	const struct doc *value;
};

static int compare_int_entries(const void *va, const void *vb)
{
	const struct int_entry *a = va, *b = vb;

	return (a->key > b->key) - (a->key < b->key);
}

static int render_int_map(struct dump *d, const struct doc *value, const struct go_type *type)
{
	CLEANUP(freep) struct int_entry *entries = xcalloc(value->n_items + 1, sizeof(*entries));
	int r = 0;

	for (size_t i = 0; i < value->n_items && r == 0; i++) {
		entries[i].value = &value->items[i];
		r = checksum_integer_key(value->items[i].key, &entries[i].key);
	}
	if (r < 0)
		return r;
	qsort(entries, value->n_items, sizeof(*entries), compare_int_entries);
	dump_text(d, "map[");
	for (size_t i = 0; i < value->n_items; i++) {
		dump_text(d, i > 0 ? " " : "");
		add_integer(d, entries[i].key);
		dump_text(d, ":");
		r = render_value(d, entries[i].value, type->element);
		if (r < 0)
			return r;
	}
	dump_text(d, "]");
	return 0;
}

static int render_map(struct dump *d, const struct doc *value, const struct go_type *type)
{
	CLEANUP(freep) const struct doc **sorted = NULL;
	int r;

	if (value->kind != DOC_MAP)
		return -EINVAL;
	if (type->kind == GO_INT_MAP)
		return render_int_map(d, value, type);
	sorted = doc_sorted(value);
	dump_text(d, "map[");
	for (size_t i = 0; i < value->n_items; i++) {
		dump_text(d, i > 0 ? " " : "");
		dump_text(d, sorted[i]->key);
		dump_text(d, ":");
		r = render_value(d, sorted[i], type->element);
		if (r < 0)
			return r;
	}
	dump_text(d, "]");
	return 0;
}

static bool is_map(const struct go_type *type)
{
	return type->kind == GO_MAP || type->kind == GO_INT_MAP;
}

static bool is_empty_map(const struct doc *value, const struct go_type *type)
{
	return is_map(type) && (is_null(value) || (value->kind == DOC_MAP && value->n_items == 0));
}

/* d->nil_fields decides about empty maps of the outermost struct only: the kubelet's inner structs have none. */
static int render_struct(
	struct dump *d, const struct doc *value, const struct go_type *type, bool is_outermost)
{
	if (!is_null(value) && value->kind != DOC_MAP)
		return -EINVAL;
	dump_text(d, "{");
	for (size_t i = 0; i < type->n_fields; i++) {
		const struct go_field *field = &type->fields[i];
		const struct doc *member = doc_get_fold(value, field->key);
		int r = 0;

		dump_text(d, i > 0 ? " " : "");
		dump_text(d, field->name);
		dump_text(d, ":(");
		dump_text(d, field->type->name);
		dump_text(d, ")");
		if (is_outermost && is_empty_map(member, field->type))
			dump_text(d, d->nil_fields >> i & 1 ? "<nil>" : "map[]");
		else
			r = render_value(d, member, field->type);
		if (r < 0)
			return r;
	}
	dump_text(d, "}");
	return 0;
}

static int render_scalar(struct dump *d, const struct doc *value, const struct go_type *type)
{
	enum doc_kind wanted = type->kind == GO_STRING ? DOC_STRING : DOC_NUMBER;

	if (type->kind == GO_ZERO) {
		dump_text(d, "0");
		return 0;
	}
	if (is_null(value)) {
		dump_text(d, type->kind == GO_STRING ? "" : "0");
		return 0;
	}
	if (value->kind != wanted)
		return -EINVAL;
	dump_text(d, value->text);
	return 0;
}

static int render_value(struct dump *d, const struct doc *value, const struct go_type *type)
{
	bool can_be_nil =
		is_map(type) || type->kind == GO_LIST || type->kind == GO_BYTES || type->kind == GO_POINTER;

	if (can_be_nil && is_null(value)) {
		dump_text(d, "<nil>");
		return 0;
	}
	switch (type->kind) {
	case GO_BYTES:
		return render_bytes(d, value);
	case GO_CPUSET:
		return render_cpuset(d, value);
	case GO_LIST:
		return render_list(d, value, type);
	case GO_MAP:
	case GO_INT_MAP:
		return render_map(d, value, type);
	case GO_POINTER:
		dump_text(d, "<*>");
		return render_struct(d, value, type->element, false);
	case GO_STRUCT:
		return render_struct(d, value, type, false);
	case GO_STRING:
	case GO_INTEGER:
	case GO_ZERO:
	default:
		return render_scalar(d, value, type);
	}
}

/* ---- which rendering matches */

/* Bit i: field i of the struct is an empty map. */
static unsigned find_empty_maps(const struct doc *content, const struct go_type *type)
{
	unsigned mask = 0;

	for (size_t i = 0; i < type->n_fields; i++)
		if (is_empty_map(doc_get_fold(content, type->fields[i].key), type->fields[i].type))
			mask |= 1u << i;
	return mask;
}

static int render_whole(
	struct dump *d, const struct doc *content, const struct go_type *type, const char *name)
{
	dump_text(d, "(");
	dump_text(d, name);
	dump_text(d, ")");
	return render_struct(d, content, type, true);
}

struct rendering {
	const struct go_type *type;
	const char *name;
	unsigned nil_fields;
	uint32_t sum;
};

/* Try the names and empty maps of one shape. 1 when a rendering matches `stored` (*at), 0 when none does,
 * or -errno. *first is set to the first rendering, unless its type is set already. */
static int search_shape(const struct doc *content, const struct checksum_shape *shape, uint64_t stored,
	struct rendering *first, struct rendering *at)
{
	unsigned empty = find_empty_maps(content, shape->type);

	for (const char *const *name = shape->names; *name; name++) {
		/* All subsets of the bits in `empty`, the empty subset first: the last line makes the next subset, 0 after the last. */
		unsigned subset = 0;

		do {
			struct dump d = {.sum = CHECKSUM_FNV1A_START, .nil_fields = subset};
			int r = render_whole(&d, content, shape->type, *name);

			if (r < 0)
				return r;
			*at = (struct rendering){shape->type, *name, subset, d.sum};
			if (!first->type)
				*first = *at;
			if (d.sum == stored)
				return 1;
			subset = (subset - empty) & empty;
		} while (subset);
	}
	return 0;
}

int checksum_find(const struct doc *content, const struct checksum_shape *shapes, size_t n_shapes,
	uint64_t stored, struct strbuf *text, struct checksum_match *ret)
{
	struct rendering first = {0}, at = {0};
	int r = 0;

	for (size_t i = 0; i < n_shapes && r == 0; i++)
		r = search_shape(content, &shapes[i], stored, &first, &at);
	if (r < 0)
		return r;
	if (r == 0)
		at = first;
	if (text) {
		struct dump d = {.text = text, .nil_fields = at.nil_fields};

		render_whole(&d, content, at.type, at.name);
		if (strbuf_error(text) < 0)
			return strbuf_error(text);
	}
	*ret = (struct checksum_match){.matches = r == 1, .computed = at.sum};
	return 0;
}

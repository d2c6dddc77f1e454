/* SPDX-License-Identifier: Apache-2.0 */
#include "common/doc.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

static const char *const kind_names[DOC_KIND_COUNT] = {
	"null", "a boolean", "a number", "a string", "a list", "a map"};

void doc_release(struct doc *d)
{
	for (size_t i = 0; i < d->n_items; i++)
		doc_release(&d->items[i]);
	free(d->items);
	free(d->text);
	free(d->key);
	*d = (struct doc)DOC_INIT;
}

struct doc *doc_add(struct doc *parent, const char *key)
{
	struct doc *child = vec_push(&parent->items, &parent->n_items, &parent->items_size, sizeof(*child));

	if (key)
		child->key = xstrdup(key);
	return child;
}

void doc_fit(struct doc *parent)
{
	if (parent->n_items == parent->items_size)
		return;
	parent->items = xreallocarray(parent->items, parent->n_items, sizeof(*parent->items));
	parent->items_size = parent->n_items;
}

void doc_set_text(struct doc *d, enum doc_kind kind, const char *text, size_t len)
{
	char *copy = xmalloc(len + 1);

	memcpy(copy, text, len);
	copy[len] = '\0';
	free(d->text);
	d->text = copy;
	d->kind = kind;
}

/* Without snprintf(), which would take a tenth of the time of reading an object. */
void doc_set_number(struct doc *d, int64_t value)
{
	char text[24], *at = text + sizeof(text);
	uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;

	do
		*--at = (char)('0' + rest % 10);
	while (rest /= 10);
	if (value < 0)
		*--at = '-';
	doc_set_text(d, DOC_NUMBER, at, (size_t)(text + sizeof(text) - at));
}

/* Prints the shortest decimal digits that give the same double (17 always do), without a point. *ret_exponent: the first digit's power of ten. */
static void find_digits(double value, char digits[24], int *ret_exponent)
{
	char text[32];
	size_t n = 0;

	for (int precision = 0; precision <= 16; precision++) {
		snprintf(text, sizeof(text), "%.*e", precision, value);
		if (strtod(text, NULL) == value)
			break;
	}
	for (const char *c = text; *c != 'e'; c++)
		if (isdigit((unsigned char)*c))
			digits[n++] = *c;
	while (n > 1 && digits[n - 1] == '0')
		n--;
	digits[n] = '\0';
	*ret_exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
}

/* The limits between plain digits and an exponent are those of Go's encoding/json. */
void doc_set_double(struct doc *d, double value)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(64);
	char digits[24];
	int exponent, n;

	find_digits(value, digits, &exponent);
	n = (int)strlen(digits);
	strbuf_addstr(&out, signbit(value) ? "-" : "");
	if (exponent < -6 || exponent >= 21)
		strbuf_addf(&out, "%c%s%se%+d", digits[0], n > 1 ? "." : "", digits + 1, exponent);
	else if (exponent < 0)
		strbuf_addf(&out, "0.%.*s%s", -exponent - 1, "000000", digits);
	else if (n <= exponent + 1)
		strbuf_addf(&out, "%s%.*s", digits, exponent + 1 - n, "000000000000000000000");
	else
		strbuf_addf(&out, "%.*s.%s", exponent + 1, digits, digits + exponent + 1);
	doc_set_text(d, DOC_NUMBER, out.text, out.len);
}

static struct doc *add_scalar(struct doc *parent, const char *key, enum doc_kind kind, const char *text)
{
	struct doc *child = doc_add(parent, key);

	doc_set_text(child, kind, text, strlen(text));
	return child;
}

struct doc *doc_add_map(struct doc *parent, const char *key)
{
	struct doc *child = doc_add(parent, key);

	child->kind = DOC_MAP;
	return child;
}

static struct doc *find_member(struct doc *map, const char *key, enum doc_kind kind)
{
	for (size_t i = 0; i < map->n_items; i++)
		if (!strcmp(map->items[i].key, key) && map->items[i].kind == kind)
			return &map->items[i];
	return NULL;
}

struct doc *doc_find_or_add_map(struct doc *map, const char *key)
{
	struct doc *found = find_member(map, key, DOC_MAP);

	return found ? found : doc_add_map(map, key);
}

struct doc *doc_find_or_add_list(struct doc *map, const char *key)
{
	struct doc *found = find_member(map, key, DOC_LIST);

	return found ? found : doc_add_list(map, key);
}

struct doc *doc_add_list(struct doc *parent, const char *key)
{
	struct doc *child = doc_add(parent, key);

	child->kind = DOC_LIST;
	return child;
}

struct doc *doc_add_string(struct doc *parent, const char *key, const char *value)
{
	return add_scalar(parent, key, DOC_STRING, text_or_empty(value));
}

struct doc *doc_add_string_or_null(struct doc *parent, const char *key, const char *value)
{
	return value ? doc_add_string(parent, key, value) : doc_add(parent, key);
}

void doc_add_words(struct doc *parent, const char *key, const char *words)
{
	struct doc *list = doc_add_list(parent, key);

	for (const char *at = words; at && *at; at += strspn(at, " ")) {
		size_t len = strcspn(at, " ");

		doc_set_text(doc_add(list, NULL), DOC_STRING, at, len);
		at += len;
	}
}

struct doc *doc_add_number(struct doc *parent, const char *key, int64_t value)
{
	struct doc *child = doc_add(parent, key);

	doc_set_number(child, value);
	return child;
}

struct doc *doc_add_quantity(struct doc *parent, const char *key, qty_t nano)
{
	char text[QUANTITY_TEXT_MAX];

	quantity_print((struct quantity){.nano = nano, .format = QUANTITY_DECIMAL_SI}, text);
	return doc_add_string(parent, key, text);
}

struct doc *doc_add_bool(struct doc *parent, const char *key, bool value)
{
	return add_scalar(parent, key, DOC_BOOL, value ? "true" : "false");
}

static void add_copy(struct doc *parent, const char *key, const struct doc *d)
{
	struct doc *child = doc_add(parent, key);
	char *own_key = child->key; /* doc_copy() overwrites all members */

	doc_copy(d, child);
	child->key = own_key;
}

void doc_copy(const struct doc *d, struct doc *ret)
{
	CLEANUP(doc_release) struct doc copy = {.kind = d->kind};

	if (d->text)
		doc_set_text(&copy, d->kind, d->text, strlen(d->text));
	DOC_FOREACH (item, d)
		add_copy(&copy, item->key, item);
	*ret = copy;
	copy = (struct doc)DOC_INIT;
}

void doc_copy_member(const struct doc *map, const char *key, struct doc *to)
{
	const struct doc *member = doc_get(map, key);

	if (member)
		add_copy(to, key, member);
}

/* The last member with this key: of equal keys the last wins. */
static const struct doc *find_key(
	const struct doc *map, const char *key, int (*cmp)(const char *, const char *))
{
	if (!map || map->kind != DOC_MAP)
		return NULL;
	for (size_t i = map->n_items; i > 0; i--)
		if (map->items[i - 1].key && cmp(map->items[i - 1].key, key) == 0)
			return &map->items[i - 1];
	return NULL;
}

const struct doc *doc_get(const struct doc *map, const char *key)
{
	return find_key(map, key, strcmp);
}

const struct doc *doc_get_fold(const struct doc *map, const char *key)
{
	return find_key(map, key, strcasecmp);
}

const struct doc *doc_find_named(const struct doc *list, const char *name)
{
	DOC_FOREACH_ITEM (item, list) {
		const char *found = doc_string(doc_get(item, "name"));

		if (found && !strcmp(found, name))
			return item;
	}
	return NULL;
}

const char *doc_string(const struct doc *d)
{
	return d && d->kind == DOC_STRING ? d->text : NULL;
}

/* Parse an integer without a sign; the whole text must be digits. */
static int parse_digits(const char *text, uint64_t *ret)
{
	uint64_t value = 0;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	for (; isdigit((unsigned char)*text); text++)
		if (__builtin_mul_overflow(value, 10u, &value) ||
			__builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
			return -EINVAL;
	if (*text)
		return -EINVAL;
	*ret = value;
	return 0;
}

int doc_uint64(const struct doc *d, uint64_t *ret)
{
	return d && d->kind == DOC_NUMBER ? parse_digits(d->text, ret) : -EINVAL;
}

int doc_int64(const struct doc *d, int64_t *ret)
{
	bool negative;
	uint64_t magnitude;
	int r;

	if (!d || d->kind != DOC_NUMBER)
		return -EINVAL;
	negative = d->text[0] == '-';
	r = parse_digits(d->text + (negative ? 1 : 0), &magnitude);
	if (r < 0)
		return r;
	if (magnitude > (uint64_t)INT64_MAX + (negative ? 1 : 0)) /* INT64_MIN is one further from 0 */
		return -EINVAL;
	*ret = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
	return 0;
}

const char *doc_kind_name(const struct doc *d)
{
	return d ? kind_names[d->kind] : "absent";
}

static int compare_keys(const void *va, const void *vb)
{
	const struct doc *const *a = va, *const *b = vb;
	int r = strcmp((*a)->key, (*b)->key);

	/* qsort() is not stable: equal keys keep their order in the document. */
	return r ? r : (*a > *b) - (*a < *b);
}

const struct doc **doc_sorted(const struct doc *map)
{
	const struct doc **sorted = xmalloc((map->n_items + 1) * sizeof(void *));

	for (size_t i = 0; i < map->n_items; i++)
		sorted[i] = &map->items[i];
	if (map->n_items > 1)
		qsort(sorted, map->n_items, sizeof(void *), compare_keys);
	return sorted;
}

const char *doc_find_duplicate(const struct doc *map)
{
	CLEANUP(freep) const struct doc **sorted = map->n_items > 1 ? doc_sorted(map) : NULL;

	for (size_t i = 1; i < map->n_items; i++)
		if (!strcmp(sorted[i - 1]->key, sorted[i]->key))
			return sorted[i]->key;
	return NULL;
}

/* DOC_KIND_COUNT, which no member has, marks the members to be dropped. */
void doc_drop_duplicates(struct doc *map)
{
	CLEANUP(freep) const struct doc **sorted = map->n_items > 1 ? doc_sorted(map) : NULL;
	size_t n = 0;

	for (size_t i = 1; i < map->n_items; i++) /* equal keys are in the order of the map */
		if (!strcmp(sorted[i - 1]->key, sorted[i]->key))
			map->items[sorted[i - 1] - map->items].kind = DOC_KIND_COUNT;
	for (size_t i = 0; i < map->n_items; i++) {
		if (map->items[i].kind == DOC_KIND_COUNT)
			doc_release(&map->items[i]);
		else
			map->items[n++] = map->items[i];
	}
	map->n_items = n;
}

void doc_normalize(struct doc *d)
{
	int64_t integer;

	if (d->kind == DOC_MAP)
		doc_drop_duplicates(d);
	DOC_FOREACH (item, d)
		doc_normalize(item);
	if (d->kind != DOC_NUMBER)
		return;
	if (doc_int64(d, &integer) == 0)
		doc_set_number(d, integer);
	else
		doc_set_double(d, strtod(d->text, NULL));
}

/* ---- differences */

#define PATH_TEXT_MAX      4096u
#define VALUE_MAX          200
#define DIFFERENCE_CONTEXT 40 /* bytes before the first difference of long values */

static bool is_leaf(const struct doc *d)
{
	return !d || (d->kind != DOC_MAP && d->kind != DOC_LIST);
}

static const char *item_name(const struct doc *item)
{
	return item->kind == DOC_MAP ? doc_string(doc_get(item, "name")) : NULL;
}

/* Whether every item is a map with a name. */
static bool has_names(const struct doc *list)
{
	DOC_FOREACH (item, list)
		if (!item_name(item))
			return false;
	return true;
}

/* Appends VALUE_MAX bytes of the text, from byte `start`. */
static void add_shortened(const char *text, size_t start, struct strbuf *out)
{
	char cut[VALUE_MAX + 1];

	snprintf(cut, sizeof(cut), "%s", text + start);
	strbuf_addstr(out, start > 0 ? "..." : "");
	strbuf_add_one_line(out, cut);
	strbuf_addstr(out, strlen(text + start) > VALUE_MAX ? "..." : "");
}

/* The byte from which two texts are printed so that the part with the difference is visible: 0 if both are short. */
static size_t difference_start(const char *a, const char *b)
{
	size_t n = 0;

	if (strlen(a) <= VALUE_MAX && strlen(b) <= VALUE_MAX)
		return 0;
	while (a[n] && a[n] == b[n])
		n++;
	n = n > DIFFERENCE_CONTEXT ? n - DIFFERENCE_CONTEXT : 0;
	while (n > 0 && ((unsigned char)a[n] & 0xC0) == 0x80) /* inside a UTF-8 character */
		n--;
	return n;
}

static void add_doc_value(const struct doc *d, size_t start, struct strbuf *out)
{
	if (!d)
		strbuf_addstr(out, "(absent)");
	else if (d->kind == DOC_MAP || d->kind == DOC_LIST)
		strbuf_addf(out, "(%s of %zu)", d->kind == DOC_MAP ? "map" : "list", d->n_items);
	else
		add_shortened(d->text ? d->text : "null", start, out);
}

/* Returns the number of added lines, 1. */
static size_t add_difference(
	const char *path, const struct doc *from, const struct doc *to, struct strbuf *out)
{
	bool texts = from && to && from->text && to->text;
	size_t start = texts ? difference_start(from->text, to->text) : 0;

	strbuf_add_one_line(out, path);
	strbuf_addstr(out, ": ");
	add_doc_value(from, start, out);
	strbuf_addstr(out, " -> ");
	add_doc_value(to, start, out);
	strbuf_addch(out, '\n');
	return 1;
}

static const struct doc *find_counterpart(const struct doc *parent, const char *name)
{
	return parent->kind == DOC_MAP ? doc_get(parent, name) : doc_find_named(parent, name);
}

/* A child of a map, or of a list whose items have names. */
static const char *child_name(const struct doc *parent, const struct doc *child)
{
	return text_or_empty(parent->kind == DOC_LIST ? item_name(child) : child->key);
}

/* doc_diff() of a child of that name; `from` or `to` is NULL if there is none. */
static size_t diff_child(const char *path, bool in_list, const char *name, const struct doc *from,
	const struct doc *to, struct strbuf *out)
{
	CLEANUP(strbuf_release) struct strbuf child = STRBUF_INIT(PATH_TEXT_MAX);

	if (in_list)
		strbuf_addf(&child, "%s[%s]", path, name);
	else
		strbuf_addf(&child, "%s%s%s", path, *path ? "." : "", name);
	return doc_diff(child.text, from, to, out);
}

/* Compares the children of the same name; the children that only `to` has come last. */
static size_t diff_by_name(const char *path, const struct doc *from, const struct doc *to, struct strbuf *out)
{
	bool in_list = from->kind == DOC_LIST;
	size_t n = 0;

	DOC_FOREACH (item, from) {
		const char *name = child_name(from, item);

		n += diff_child(path, in_list, name, item, find_counterpart(to, name), out);
	}
	DOC_FOREACH (item, to) {
		const char *name = child_name(to, item);

		if (!find_counterpart(from, name))
			n += diff_child(path, in_list, name, NULL, item, out);
	}
	return n;
}

static size_t diff_by_position(
	const char *path, const struct doc *from, const struct doc *to, struct strbuf *out)
{
	size_t n_items = from->n_items > to->n_items ? from->n_items : to->n_items, n = 0;

	for (size_t i = 0; i < n_items; i++) {
		CLEANUP(strbuf_release) struct strbuf child = STRBUF_INIT(PATH_TEXT_MAX);

		strbuf_addf(&child, "%s[%zu]", path, i);
		n += doc_diff(child.text, i < from->n_items ? &from->items[i] : NULL,
			i < to->n_items ? &to->items[i] : NULL, out);
	}
	return n;
}

static bool has_same_text(const struct doc *a, const struct doc *b)
{
	if (!a->text || !b->text)
		return a->text == b->text;
	return !strcmp(a->text, b->text);
}

size_t doc_diff(const char *path, const struct doc *from, const struct doc *to, struct strbuf *out)
{
	if (!from && !to)
		return 0;
	if (!from || !to || from->kind != to->kind)
		return add_difference(path, from, to, out);
	if (is_leaf(from))
		return has_same_text(from, to) ? 0 : add_difference(path, from, to, out);
	if (from->kind == DOC_LIST && (!has_names(from) || !has_names(to)))
		return diff_by_position(path, from, to, out);
	return diff_by_name(path, from, to, out);
}

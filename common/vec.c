/* SPDX-License-Identifier: Apache-2.0 */
#include "common/vec.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "common/xalloc.h"

void vec_grow(void *array, size_t *size, size_t need, size_t item)
{
	size_t want;
	char *p;

	if (need <= *size)
		return;
	want = *size + *size / 2;
	if (want < need)
		want = need < 8 ? 8 : need;
	memcpy(&p, array,
		sizeof(p)); /* `array` points to a pointer of another type, which aliasing rules forbid to read */
	p = xreallocarray(p, want, item);
	memset(p + *size * item, 0, (want - *size) * item);
	memcpy(array, &p, sizeof(p));
	*size = want;
}

size_t vec_lower_bound(const void *items, size_t n_items, size_t item, size_t offset, const char *name)
{
	size_t lo = 0, hi = n_items;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const char *found;

		memcpy(&found, (const char *)items + mid * item + offset, sizeof(found));
		if (strcmp(found, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

void *vec_push(void *array, size_t *n_items, size_t *size, size_t item)
{
	char *p;

	vec_grow(array, size, *n_items + 1, item);
	memcpy(&p, array, sizeof(p));
	p += (*n_items)++ * item;
	memset(p, 0, item);
	return p;
}

/* ---- sorting: a merge sort */

struct sort {
	size_t item; /* bytes */
	int (*compare)(const void *a, const void *b, void *data);
	void *data;
	char *left; /* space for half of the items */
};

static void sort_items(const struct sort *s, char *items, size_t n)
{
	size_t half = n / 2;
	char *end, *right, *left = s->left, *left_end;

	if (n < 2) /* `items` of an empty array may be NULL */
		return;
	end = items + n * s->item;
	right = items + half * s->item;
	left_end = left + half * s->item;
	sort_items(s, items, half);
	sort_items(s, right, n - half);
	memcpy(left, items, half * s->item);
	/* Once the copied left half is used up, the remaining items of the right half are in place. */
	for (; left < left_end; items += s->item) {
		/* Of equal items, the left one is first. */
		char **from = right < end && s->compare(left, right, s->data) > 0 ? &right : &left;

		memcpy(items, *from, s->item);
		*from += s->item;
	}
}

void vec_sort(void *items, size_t n_items, size_t item,
	int (*compare)(const void *a, const void *b, void *data), void *data)
{
	CLEANUP(freep) char *left = xcalloc(n_items / 2, item);
	const struct sort s = {.item = item, .compare = compare, .data = data, .left = left};

	sort_items(&s, items, n_items);
}

/* ---- lists of strings */

void strv_release(struct strv *v)
{
	for (size_t i = 0; i < v->n_items; i++)
		free(v->items[i]);
	free(v->items);
	*v = (struct strv){0};
}

void strv_take(struct strv *v, char *text)
{
	char **slot = vec_push(&v->items, &v->n_items, &v->items_size, sizeof(*slot));

	*slot = text;
}

void strv_push(struct strv *v, const char *text)
{
	strv_take(v, xstrdup(text));
}

void strv_push_new(struct strv *v, const char *text)
{
	if (!strv_contains(v, text))
		strv_push(v, text);
}

bool strv_contains(const struct strv *v, const char *text)
{
	for (size_t i = 0; i < v->n_items; i++)
		if (!strcmp(v->items[i], text))
			return true;
	return false;
}

bool strv_equal(const struct strv *a, const struct strv *b)
{
	if (a->n_items != b->n_items)
		return false;
	for (size_t i = 0; i < a->n_items; i++)
		if (strcmp(a->items[i], b->items[i]) != 0)
			return false;
	return true;
}

static int strv_cmp(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void strv_sort(struct strv *v)
{
	if (v->n_items > 1)
		qsort(v->items, v->n_items, sizeof(*v->items), strv_cmp);
}

static int strv_cmp_numbered(const void *a, const void *b)
{
	return text_compare_numbered(*(const char *const *)a, *(const char *const *)b);
}

void strv_sort_numbered(struct strv *v)
{
	if (v->n_items > 1)
		qsort(v->items, v->n_items, sizeof(*v->items), strv_cmp_numbered);
}

void strv_sort_unique(struct strv *v)
{
	size_t kept = 0;

	strv_sort(v);
	for (size_t i = 0; i < v->n_items; i++)
		if (kept > 0 && !strcmp(v->items[i], v->items[kept - 1]))
			free(v->items[i]);
		else
			v->items[kept++] = v->items[i];
	v->n_items = kept;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "common/strv.h"

#include <stdlib.h>
#include <string.h>

#include "common/vec.h"
#include "common/xalloc.h"

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

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void strv_sort(struct strv *v)
{
	if (v->n_items > 1)
		qsort(v->items, v->n_items, sizeof(*v->items), compare);
}

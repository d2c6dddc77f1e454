/* SPDX-License-Identifier: Apache-2.0 */
#include "common/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int vec_grow(void *array, size_t *size, size_t need, size_t item)
{
	size_t want, bytes;
	char *p;

	if (need <= *size)
		return 0;
	want = *size + *size / 2;
	if (want < need)
		want = need < 8 ? 8 : need;
	if (__builtin_mul_overflow(want, item, &bytes))
		return -ENOMEM;
	memcpy(&p, array, sizeof(p));
	p = realloc(p, bytes);
	if (!p)
		return -ENOMEM;
	memset(p + *size * item, 0, (want - *size) * item);
	memcpy(array, &p, sizeof(p));
	*size = want;
	return 0;
}

void *vec_push(void *array, size_t *n_items, size_t *size, size_t item)
{
	char *p;

	if (vec_grow(array, size, *n_items + 1, item) < 0)
		return NULL;
	memcpy(&p, array, sizeof(p));
	p += (*n_items)++ * item;
	memset(p, 0, item);
	return p;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "common/vec.h"

#include <string.h>

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
	memcpy(&p, array, sizeof(p));
	p = xreallocarray(p, want, item);
	memset(p + *size * item, 0, (want - *size) * item);
	memcpy(array, &p, sizeof(p));
	*size = want;
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

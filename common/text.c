/* SPDX-License-Identifier: Apache-2.0 */
#include "common/text.h"

#include <errno.h>
#include <stdarg.h>

#include "common/vec.h"

void text_addf(char *text, size_t size, const char *fmt, ...)
{
	size_t len = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + len, size - len, fmt, ap);
	va_end(ap);
}

void text_one_line(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

bool text_same_but_numbers(const char *a, const char *b)
{
	static const char digits[] = "0123456789";

	while (*a && *b) {
		size_t in_a = strspn(a, digits), in_b = strspn(b, digits);

		if (!in_a != !in_b || (!in_a && *a != *b))
			return false;
		a += in_a ? in_a : 1;
		b += in_b ? in_b : 1;
	}
	return *a == *b;
}

int text_set(char **owned, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return -ENOMEM;
	free(*owned);
	*owned = copy;
	return 0;
}

int text_push(char ***list, size_t *n_items, size_t *size, const char *value)
{
	char *copy = strdup(value), **slot = NULL;

	if (copy)
		slot = vec_push(list, n_items, size, sizeof(*slot));
	if (!slot) {
		free(copy);
		return -ENOMEM;
	}
	*slot = copy;
	return 0;
}

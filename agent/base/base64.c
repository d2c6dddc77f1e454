/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/base/base64.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

static int digit(char c)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(alphabet, c) : NULL;

	return at ? (int)(at - alphabet) : -1;
}

/* The bytes that four characters encode: 1 to 3, or -EINVAL. Padding is for the `last` four only. */
static int decode_four(const char *text, bool last, unsigned char out[3])
{
	int padding = !last || text[3] != '=' ? 0 : text[2] != '=' ? 1 : 2;
	uint32_t bits = 0;

	for (int i = 0; i < 4; i++) {
		int d = i < 4 - padding ? digit(text[i]) : 0;

		if (d < 0)
			return -EINVAL;
		bits = bits << 6 | (uint32_t)d;
	}
	out[0] = (unsigned char)(bits >> 16);
	out[1] = (unsigned char)(bits >> 8);
	out[2] = (unsigned char)bits;
	if ((padding > 0 && out[2]) || (padding > 1 && out[1]))
		return -EINVAL;
	return 3 - padding;
}

int base64_decode(const char *text, struct strbuf *out)
{
	size_t len = strlen(text);
	unsigned char bytes[3];

	if (len % 4)
		return -EINVAL;
	for (size_t i = 0; i < len; i += 4)
		if (decode_four(text + i, i + 4 == len, bytes) < 0)
			return -EINVAL;
	for (size_t i = 0; i < len; i += 4)
		strbuf_add(out, bytes, (size_t)decode_four(text + i, i + 4 == len, bytes));
	return strbuf_error(out);
}

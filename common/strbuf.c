/* SPDX-License-Identifier: Apache-2.0 */
#include "common/strbuf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

char strbuf_empty[1];

void strbuf_release(struct strbuf *sb)
{
	if (sb->size > 0)
		free(sb->text);
	sb->text = strbuf_empty;
	sb->len = sb->size = 0;
	sb->error = 0;
}

void strbuf_reset(struct strbuf *sb)
{
	sb->len = 0;
	sb->error = 0;
	if (sb->size > 0)
		sb->text[0] = '\0';
}

int strbuf_error(const struct strbuf *sb)
{
	return sb->error;
}

/* Reserve `more` bytes and one for the NUL. False if the buffer has an error, new or old. */
static bool reserve_bytes(struct strbuf *sb, size_t more)
{
	size_t need, size;

	if (sb->error)
		return false;
	if (more > sb->max || sb->len > sb->max - more) {
		sb->error = -EFBIG;
		return false;
	}
	need = sb->len + more + 1;
	if (need <= sb->size)
		return true;
	size = sb->size + sb->size / 2;
	if (size < need)
		size = need < 64 ? 64 : need;
	sb->text = xreallocarray(sb->size > 0 ? sb->text : NULL, size, 1);
	sb->size = size;
	return true;
}

void strbuf_add(struct strbuf *sb, const void *data, size_t len)
{
	if (!reserve_bytes(sb, len))
		return;
	if (len > 0)
		memcpy(sb->text + sb->len, data, len);
	sb->len += len;
	sb->text[sb->len] = '\0';
}

void strbuf_addstr(struct strbuf *sb, const char *s)
{
	strbuf_add(sb, s, strlen(s));
}

void strbuf_add_utf8(struct strbuf *sb, uint32_t character)
{
	uint32_t rest = character;
	size_t n = 1;
	char bytes[4];

	if (character >= 0x10000)
		n = 4;
	else if (character >= 0x800)
		n = 3;
	else if (character >= 0x80)
		n = 2;
	for (size_t i = n - 1; i > 0; i--, rest >>= 6)
		bytes[i] = (char)(0x80 | (rest & 0x3f));
	/* The first of several bytes begins with n one bits and a zero. */
	bytes[0] = (char)(n == 1 ? rest : (0xf00u >> n & 0xf0) | rest);
	strbuf_add(sb, bytes, n);
}

void strbuf_add_one_line(struct strbuf *sb, const char *s)
{
	size_t before = sb->len;

	strbuf_addstr(sb, s);
	if (sb->len > before)
		text_one_line(sb->text + before);
}

void strbuf_add_list(struct strbuf *sb, const struct strv *list, size_t max)
{
	for (size_t i = 0; i < list->n_items && i < max; i++) {
		strbuf_addstr(sb, i > 0 ? ", " : "");
		strbuf_add_one_line(sb, list->items[i]);
	}
	if (list->n_items > max)
		strbuf_addf(sb, ", and %zu more", list->n_items - max);
}

void strbuf_addch(struct strbuf *sb, char c)
{
	strbuf_add(sb, &c, 1);
}

void strbuf_addf(struct strbuf *sb, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0) {
		sb->error = sb->error ? sb->error : -EINVAL;
		return;
	}
	if (!reserve_bytes(sb, (size_t)n))
		return;
	va_start(ap, fmt);
	vsnprintf(sb->text + sb->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	sb->len += (size_t)n;
}

char *strbuf_detach(struct strbuf *sb)
{
	char *text;

	if (sb->error)
		return NULL;
	text = sb->size > 0 ? sb->text : xstrdup("");
	sb->text = strbuf_empty;
	sb->len = sb->size = 0;
	return text;
}

/* ---- base64 */

static int digit_value(char c)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(alphabet, c) : NULL;

	return at ? (int)(at - alphabet) : -1;
}

/* Decode four characters. Returns the number of bytes, 1 to 3, or -EINVAL. Only the `last` four may have
 * padding. */
static int decode_four(const char *text, bool last, unsigned char out[3])
{
	uint32_t bits = 0;
	int padding = 0;

	if (last && text[3] == '=')
		padding = text[2] == '=' ? 2 : 1;
	for (int i = 0; i < 4; i++) {
		int d = i < 4 - padding ? digit_value(text[i]) : 0;

		if (d < 0)
			return -EINVAL;
		bits = bits << 6 | (uint32_t)d;
	}
	out[0] = (unsigned char)(bits >> 16);
	out[1] = (unsigned char)(bits >> 8);
	out[2] = (unsigned char)bits;
	/* The unused bits must be 0. */
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
	/* Decodes twice: `out` must not change if the text is not base64. */
	for (size_t i = 0; i < len; i += 4)
		if (decode_four(text + i, i + 4 == len, bytes) < 0)
			return -EINVAL;
	for (size_t i = 0; i < len; i += 4)
		strbuf_add(out, bytes, (size_t)decode_four(text + i, i + 4 == len, bytes));
	return strbuf_error(out);
}

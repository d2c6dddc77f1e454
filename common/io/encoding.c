/* SPDX-License-Identifier: Apache-2.0 */
#include "common/io/encoding.h"

#include <errno.h>
#include <string.h>

size_t encoding_line(const char *text, size_t at)
{
	size_t line = 1;

	for (size_t i = 0; i < at; i++)
		line += text[i] == '\n' || (text[i] == '\r' && i + 1 < at && text[i + 1] != '\n');
	return line;
}

bool encoding_join_surrogates(uint32_t *c, uint32_t low)
{
	if (*c < 0xd800 || *c >= 0xdc00 || low < 0xdc00 || low >= 0xe000)
		return false;
	*c = 0x10000 + ((*c - 0xd800) << 10) + (low - 0xdc00);
	return true;
}

/* The 16 bits at `at`; 0 behind the end. */
static uint32_t utf16_unit(const unsigned char *bytes, size_t len, size_t at, bool little_endian)
{
	if (at + 1 >= len)
		return 0;
	return little_endian ? (uint32_t)(bytes[at] | bytes[at + 1] << 8)
			     : (uint32_t)(bytes[at] << 8 | bytes[at + 1]);
}

static int utf16_to_utf8(
	const unsigned char *bytes, size_t len, bool little_endian, struct strbuf *out, struct err *err)
{
	for (size_t i = 0; i < len; i += 2) {
		uint32_t c = utf16_unit(bytes, len, i, little_endian);

		if (encoding_join_surrogates(&c, utf16_unit(bytes, len, i + 2, little_endian)))
			i += 2;
		if (i + 1 >= len || (c >= 0xd800 && c < 0xe000))
			return err_set(
				err, -EINVAL, "line %zu: invalid UTF-16", encoding_line(out->text, out->len));
		strbuf_add_utf8(out, c);
	}
	return strbuf_error(out) == 0 ? 0
				      : err_set(err, strbuf_error(out), "larger than %zu bytes", out->max);
}

int encoding_to_utf8(const char *text, size_t len, struct strbuf *out, const char **ret_text, size_t *ret_len,
	struct err *err)
{
	const size_t mark = strlen(UTF8_BYTE_ORDER_MARK);
	bool little_endian = len >= 2 && !memcmp(text, "\xff\xfe", 2);
	int r;

	if (little_endian || (len >= 2 && !memcmp(text, "\xfe\xff", 2))) {
		r = utf16_to_utf8((const unsigned char *)text + 2, len - 2, little_endian, out, err);
		if (r < 0)
			return r;
		*ret_text = out->text;
		*ret_len = out->len;
		return 0;
	}
	*ret_text = text;
	*ret_len = len;
	if (len >= mark && !memcmp(text, UTF8_BYTE_ORDER_MARK, mark)) {
		*ret_text += mark;
		*ret_len -= mark;
	}
	return 0;
}

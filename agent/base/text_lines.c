/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/base/text_lines.h"

size_t text_width(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += !text_is_continuation(*text);
	return n;
}

size_t text_line_length(const char *text, size_t width)
{
	size_t columns = 0, good = 0, any = 0, i;

	for (i = 0; text[i]; i++) {
		columns += !text_is_continuation(text[i]);
		if (columns > width && text[i] != ' ')
			break;
		if (text[i] == ' ' || text[i] == ',')
			any = i + 1;
		if (text[i] == ' ' && i > 0 && (text[i - 1] == ',' || text[i - 1] == ';'))
			good = i + 1;
		if (columns > width)
			break;
	}
	if (!text[i])
		return i;
	if (good > width / 3)
		return good;
	return any > 0 ? any : i;
}

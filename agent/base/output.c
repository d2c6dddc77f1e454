/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/base/output.h"

#include <errno.h>
#include <stdio.h>

#include "common/text.h"

int output_write(const char *text, size_t len)
{
	errno = 0;
	if (fwrite(text, 1, len, stdout) != len || fflush(stdout) != 0)
		return errno ? -errno : -EIO;
	return 0;
}

int output_text(struct strbuf *text)
{
	int r = strbuf_error(text);

	if (r < 0)
		return r;
	text_lines(text->text, text->len);
	return output_write(text->text, text->len);
}

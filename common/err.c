/* SPDX-License-Identifier: Apache-2.0 */
#include "common/err.h"

#include <stdarg.h>

#include "common/text.h"

int err_set(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	text_one_line(err->text);
	return code;
}

int err_wrap(struct err *err, int code, const char *fmt, ...)
{
	char rest[sizeof(err->text)];
	va_list ap;
	int n;

	if (!err)
		return code;
	memcpy(rest, err->text, sizeof(rest));
	va_start(ap, fmt);
	n = vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	/* What does not fit is cut off at the end. */
	if (n >= 0 && (size_t)n < sizeof(err->text) &&
		snprintf(err->text + n, sizeof(err->text) - (size_t)n, ": %s", rest) < 0)
		err->text[n] = '\0';
	text_one_line(err->text);
	return code;
}

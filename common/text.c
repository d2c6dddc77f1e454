/* SPDX-License-Identifier: Apache-2.0 */
#include "common/text.h"

#include <inttypes.h>
#include <stdarg.h>

#include "common/cleanup.h"
#include "common/xalloc.h"

void text_addf(char *text, size_t size, const char *fmt, ...)
{
	size_t len = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + len, size - len, fmt, ap);
	va_end(ap);
}

void text_add_duration(char *text, size_t size, int64_t seconds)
{
	static const struct {
		int64_t seconds;
		const char *name;
	} units[] = {{365 * 86400, "years"}, {86400, "days"}, {3600, "h"}, {60, "min"}};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (seconds >= 2 * units[i].seconds) {
			text_addf(text, size, "%" PRId64 " %s", seconds / units[i].seconds, units[i].name);
			return;
		}
	text_addf(text, size, "%" PRId64 " s", seconds);
}

#define DIGITS "0123456789"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

int text_compare_numbered(const char *a, const char *b)
{
	size_t at = 0, number; /* the first difference, and the beginning of the number that contains it */
	size_t digits_a, digits_b;

	while (a[at] && a[at] == b[at])
		at++;
	number = at;
	while (number > 0 && is_digit(a[number - 1]))
		number--;
	digits_a = strspn(a + number, DIGITS);
	digits_b = strspn(b + number, DIGITS);
	/* Of two numbers without leading zeros, the number with fewer digits is smaller. */
	if (digits_a > 0 && digits_b > 0 && a[number] != '0' && b[number] != '0' && digits_a != digits_b)
		return digits_a < digits_b ? -1 : 1;
	/* As strverscmp(3): after leading zeros a digit sorts before any other character: 00, 01, 0. */
	if (number < at && strspn(a + number, "0") >= at - number && is_digit(a[at]) != is_digit(b[at]))
		return is_digit(a[at]) ? -1 : 1;
	return (unsigned char)a[at] - (unsigned char)b[at];
}

int text_compare_empty_last(const char *a, const char *b)
{
	if (!*a || !*b)
		return !*a - !*b;
	return text_compare_numbered(a, b);
}

size_t text_utf8_length(const char *text, size_t len)
{
	/* By the first byte: how many bytes follow, and the range of the second byte (Unicode, table 3-7). */
	static const struct {
		unsigned char first, last, n_following, second_min, second_max;
	} sequences[] = {
		{0x00, 0x7f, 0, 0x00, 0x00},
		{0xc2, 0xdf, 1, 0x80, 0xbf},
		{0xe0, 0xe0, 2, 0xa0, 0xbf},
		{0xe1, 0xec, 2, 0x80, 0xbf},
		{0xed, 0xed, 2, 0x80, 0x9f},
		{0xee, 0xef, 2, 0x80, 0xbf},
		{0xf0, 0xf0, 3, 0x90, 0xbf},
		{0xf1, 0xf3, 3, 0x80, 0xbf},
		{0xf4, 0xf4, 3, 0x80, 0x8f},
	};
	const unsigned char *bytes = (const unsigned char *)text;

	for (size_t k = 0; len > 0 && k < ARRAY_SIZE(sequences); k++) {
		size_t n = sequences[k].n_following;

		if (*bytes < sequences[k].first || *bytes > sequences[k].last)
			continue;
		if (n >= len ||
			(n > 0 && (bytes[1] < sequences[k].second_min || bytes[1] > sequences[k].second_max)))
			return 0;
		for (size_t i = 2; i <= n; i++)
			if ((bytes[i] & 0xc0) != 0x80)
				return 0;
		return n + 1;
	}
	return 0;
}

/* Whether `text` starts with a control character, encoded in `sequence` bytes. */
static bool is_control(const char *text, size_t sequence)
{
	unsigned char first = (unsigned char)text[0];

	if (sequence == 1)
		return first < ' ' || first == 0x7f;
	return sequence == 2 && first == 0xc2 && (unsigned char)text[1] < 0xa0;
}

static void replace_controls(char *text, size_t len, bool keep_newlines)
{
	for (size_t i = 0, n; i < len; i += n) {
		bool printable = text[i] >= ' ' && text[i] <= '~'; /* nearly always */
		size_t sequence = printable ? 1 : text_utf8_length(text + i, len - i);

		n = sequence > 0 ? sequence : 1;
		if ((sequence == 0 || is_control(text + i, sequence)) && !(keep_newlines && text[i] == '\n'))
			memset(text + i, '?', n);
	}
}

void text_one_line(char *text)
{
	replace_controls(text, strlen(text), false);
}

void text_multi_line(char *text, size_t len)
{
	replace_controls(text, len, true);
}

static bool is_lower_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_letter_or_digit(char c)
{
	return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z');
}

bool text_is_label_name(const char *text, size_t len)
{
	if (len == 0 || len > 63 || !is_letter_or_digit(text[0]) || !is_letter_or_digit(text[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_letter_or_digit(text[i]) && (!text[i] || !strchr("-_.", text[i])))
			return false;
	return true;
}

bool text_is_dns_subdomain(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		/* A dash must be between letters or digits of a label, a dot between two labels. */
		bool inside = i > 0 && i + 1 < len && text[i - 1] != '.' && text[i + 1] != '.';
		bool ok = is_lower_or_digit(text[i]) || (text[i] == '-' && inside) ||
			  (text[i] == '.' && inside && text[i - 1] != '-' && text[i + 1] != '-');

		if (!ok)
			return false;
	}
	return len > 0 && len <= 253;
}

bool text_ends_with(const char *text, const char *suffix)
{
	size_t len = strlen(text), n = strlen(suffix);

	return len >= n && !strcmp(text + len - n, suffix);
}

const char *text_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool text_same_but_numbers(const char *a, const char *b)
{
	static const char digits[] = "0123456789";

	while (*a && *b) {
		size_t digits_a = strspn(a, digits), digits_b = strspn(b, digits);

		if (digits_a > 0 && digits_b > 0) {
			a += digits_a;
			b += digits_b;
		} else if (*a == *b) {
			a++;
			b++;
		} else {
			return false;
		}
	}
	return *a == *b;
}

bool text_parse_bool(const char *text, bool *ret)
{
	static const char *const words[2][6] = {
		{"0", "f", "F", "false", "FALSE", "False"}, {"1", "t", "T", "true", "TRUE", "True"}};

	for (size_t value = 0; value < 2; value++)
		for (size_t i = 0; i < 6; i++)
			if (!strcmp(words[value][i], text)) {
				*ret = value == 1;
				return true;
			}
	return false;
}

void text_set(char **owned, const char *value)
{
	char *copy = xstrdup(value);

	free(*owned);
	*owned = copy;
}

/* ---- columns and lines */

size_t text_width(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += !text_is_continuation(*text);
	return n;
}

size_t text_line_length(const char *text, size_t width)
{
	size_t columns = 0, preferred = 0, possible = 0, i;

	for (i = 0; text[i]; i++) {
		columns += !text_is_continuation(text[i]);
		if (columns > width && text[i] != ' ') /* a space may be beyond the width */
			break;
		if (text[i] == ' ' || text[i] == ',')
			possible = i + 1;
		if (text[i] == ' ' && i > 0 && (text[i - 1] == ',' || text[i - 1] == ';'))
			preferred = i + 1;
		if (columns > width)
			break;
	}
	if (!text[i])
		return i;
	if (preferred > width / 3)
		return preferred;
	return possible > 0 ? possible : i;
}

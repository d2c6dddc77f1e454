/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/node/token_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/cpuset.h"

void token_reader_fail(struct token_reader *r, const char *fmt, ...)
{
	size_t at = (size_t)(r->at - r->start);
	char what[160];
	va_list ap;

	if (r->error)
		return;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	r->error = err_set(r->err, -EINVAL, "byte %zu of the node state, %s: %s", at, r->section, what);
	r->at = "";
}

bool token_reader_skip(struct token_reader *r, char c)
{
	if (*r->at != c)
		return false;
	r->at++;
	return true;
}

bool token_reader_skip_word(struct token_reader *r, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(r->at, word, len) != 0)
		return false;
	r->at += len;
	return true;
}

void token_reader_expect(struct token_reader *r, char c)
{
	if (!token_reader_skip(r, c))
		token_reader_fail(r, "'%c' is missing", c);
}

/* ---- numbers */

uint64_t token_reader_number(struct token_reader *r, uint64_t max)
{
	const char *at = r->at;
	uint64_t n = 0;

	for (; *at >= '0' && *at <= '9'; at++) {
		unsigned digit = (unsigned)(*at - '0');

		if (n > (UINT64_MAX - digit) / 10) {
			token_reader_fail(r, "a number is too large");
			return 0;
		}
		n = n * 10 + digit;
	}
	if (at == r->at)
		token_reader_fail(r, "a number is missing");
	else if (n > max)
		token_reader_fail(r, "%" PRIu64 " is too large, at most %" PRIu64 " is valid", n, max);
	if (r->error)
		return 0;
	r->at = at;
	return n;
}

static const char units[] = "kmgt";

uint64_t token_reader_bytes(struct token_reader *r)
{
	uint64_t n = token_reader_number(r, UINT64_MAX);
	const char *unit = *r->at ? strchr(units, *r->at) : NULL;
	unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;

	if (n > UINT64_MAX >> shift) {
		token_reader_fail(r, "an amount is too large");
		return 0;
	}
	if (unit)
		r->at++;
	return n << shift;
}

void token_add_bytes(struct strbuf *out, uint64_t bytes)
{
	size_t unit = 0;

	while (bytes > 0 && bytes % 1024 == 0 && unit < strlen(units)) {
		bytes /= 1024;
		unit++;
	}
	strbuf_addf(out, "%" PRIu64, bytes);
	if (unit > 0)
		strbuf_addch(out, units[unit - 1]);
}

/* ---- sets */

/* Adds one id or range to the set. *last: the largest id so far, -1 = none. A range must begin after *last, so that a text cannot
 * repeat a large range. */
static void read_range(struct token_reader *r, unsigned max_id, long *last, hwloc_bitmap_t set)
{
	unsigned first = (unsigned)token_reader_number(r, max_id), end = first, stride = 1;

	if (token_reader_skip(r, '-')) {
		end = (unsigned)token_reader_number(r, max_id);
		if (token_reader_skip(r, ':'))
			stride = (unsigned)token_reader_number(r, max_id);
	}
	if (!r->error && (end < first || stride == 0 || (long)first <= *last))
		token_reader_fail(r, "a set is not in ascending order");
	if (!r->error && stride == 1)
		cpuset_set_range(set, first, end);
	for (unsigned id = first; !r->error && stride > 1 && id <= end; id += stride)
		cpuset_set(set, id);
	*last = (long)end;
}

hwloc_bitmap_t token_reader_set(struct token_reader *r, unsigned max_id)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = cpuset_new();
	long last = -1;

	if (*r->at < '0' || *r->at > '9')
		return r->error ? NULL : TAKE(set);
	do
		read_range(r, max_id, &last, set);
	while (token_reader_skip(r, ','));
	return r->error ? NULL : TAKE(set);
}

/* The number of ids from `first` on that are `stride` apart; 1 with the stride 0. *ret_last: the last of these ids. */
static size_t count_stride(hwloc_const_bitmap_t set, int first, int stride, int *ret_last)
{
	size_t n = 1;

	*ret_last = first;
	while (stride > 0 && hwloc_bitmap_next(set, *ret_last) == *ret_last + stride) {
		*ret_last += stride;
		n++;
	}
	return n;
}

void token_add_set(struct strbuf *out, hwloc_const_bitmap_t set, unsigned max_id)
{
	const char *comma = "";

	if (hwloc_bitmap_last(set) > (int)max_id && !out->error)
		out->error = -EFBIG;
	for (int id = hwloc_bitmap_first(set), last; id >= 0; id = hwloc_bitmap_next(set, last)) {
		int next = hwloc_bitmap_next(set, id); /* -1: `id` is the last id */
		int stride = next < 0 ? 0 : next - id;
		size_t n = count_stride(set, id, stride, &last);

		strbuf_addf(out, "%s%d", comma, id);
		comma = ",";
		if (n > 1 && stride == 1)
			strbuf_addf(out, "-%d", last);
		else if (n > 2)
			strbuf_addf(out, "-%d:%d", last, stride);
		else
			last = id; /* the next iteration prints the second id: "4,6" is shorter than "4-6:2" */
	}
}

/* ---- names */

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("._-/", c));
}

static unsigned hex_digit(struct token_reader *r)
{
	static const char digits[] = "0123456789ABCDEF";
	const char *digit = *r->at ? strchr(digits, *r->at) : NULL;

	if (!digit) {
		token_reader_fail(r, "a name has a '%%' without two digits");
		return 0;
	}
	r->at++;
	return (unsigned)(digit - digits);
}

char *token_reader_name(struct token_reader *r)
{
	CLEANUP(strbuf_release) struct strbuf name = STRBUF_INIT(TOKEN_NAME_MAX);

	while (is_plain(*r->at) || *r->at == '%') {
		unsigned c = (unsigned char)*r->at++;

		if (c == '%') {
			c = hex_digit(r) << 4;
			c |= hex_digit(r);
			if (c == 0)
				token_reader_fail(r, "a name has a NUL");
		}
		strbuf_addch(&name, (char)c);
	}
	if (!r->error && name.len == 0)
		token_reader_fail(r, "a name is missing");
	if (strbuf_error(&name) == -EFBIG)
		token_reader_fail(r, "a name is too long");
	return r->error ? NULL : strbuf_detach(&name);
}

void token_add_name(struct strbuf *out, const char *name)
{
	for (; *name; name++)
		if (is_plain(*name))
			strbuf_addch(out, *name);
		else
			strbuf_addf(out, "%%%02X", (unsigned char)*name);
}

/* ---- quantities */

#define MAX_QUANTITY ((qty_t)(INT64_MAX / 2) * QTY_UNIT) /* sums are far from overflow */

qty_t token_reader_quantity(struct token_reader *r)
{
	struct quantity q = {0};
	size_t len = strcspn(r->at, ",|;");
	char text[QUANTITY_TEXT_MAX];

	if (len >= sizeof(text)) {
		token_reader_fail(r, "a quantity is too long");
		return 0;
	}
	memcpy(text, r->at, len);
	text[len] = '\0';
	if (quantity_parse(text, &q, NULL) < 0 || q.nano > MAX_QUANTITY || q.nano < 0) {
		token_reader_fail(r, "a quantity is missing, negative or too large");
		return 0;
	}
	r->at += len;
	return q.nano;
}

void token_add_quantity(struct strbuf *out, qty_t amount)
{
	bool binary = amount >= 1024 * QTY_UNIT; /* bytes; CPUs are fewer and may have a fraction */
	char text[QUANTITY_TEXT_MAX];

	if ((amount > MAX_QUANTITY || amount < 0) && !out->error)
		out->error = -EFBIG;
	quantity_print((struct quantity){amount, binary ? QUANTITY_BINARY_SI : QUANTITY_DECIMAL_SI}, text);
	strbuf_addstr(out, text);
}

/* ---- positions */

size_t token_reader_letters(struct token_reader *r, char first, size_t n)
{
	const char *at = r->at;
	size_t position = 0;

	/* `n` also bounds the multiplication. */
	for (; *at >= first && *at < first + 26 && position < n; at++)
		position = position * 26 + (size_t)(*at - first);
	if (at == r->at)
		token_reader_fail(r, "a letter is missing");
	else if (position >= n)
		token_reader_fail(r, "a letter is out of range");
	if (r->error)
		return 0;
	r->at = at;
	return position;
}

void token_add_letters(struct strbuf *out, char first, size_t position)
{
	if (position >= 26)
		token_add_letters(out, first, position / 26);
	strbuf_addch(out, (char)(first + (char)(position % 26)));
}

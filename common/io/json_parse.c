/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser of JSON documents. Accepts what Go's encoding/json accepts, except invalid UTF-8, NUL characters and
 * more than JSON_MAX_DEPTH levels.
 */
#include "common/io/json.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/io/encoding.h"
#include "common/text.h"
#include "common/xalloc.h"

#define JSON_MAX_DEPTH 1000

struct parser {
	const char *begin, *at, *end;
	bool unique_keys;
	struct strbuf text; /* of a string with escapes */
	struct err *err;
};

/* The line of a byte, counted from 1. */
static size_t json_line(const struct parser *p, const char *at)
{
	size_t line = 1;

	for (const char *c = p->begin; c < at; c++)
		line += *c == '\n';
	return line;
}

static int json_error(const struct parser *p, const char *at)
{
	if (p->end == p->begin)
		return err_set(p->err, -EINVAL, "empty, not JSON");
	return err_set(p->err, -EINVAL, "not valid JSON at line %zu, byte %zu", json_line(p, at),
		(size_t)(at - p->begin) + 1);
}

static void skip_blanks(struct parser *p)
{
	while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\r' || *p->at == '\t'))
		p->at++;
}

/* Whether the next byte is `ch`; if so, skip it. */
static bool skip_byte(struct parser *p, char ch)
{
	if (p->at == p->end || *p->at != ch)
		return false;
	p->at++;
	return true;
}

/* ---- strings */

/* The value of the four hexadecimal digits at `at`, or -1. */
static long parse_unicode_digits(const struct parser *p, const char *at)
{
	char digits[5] = "";

	if (p->end - at < 4)
		return -1;
	memcpy(digits, at, 4);
	return strspn(digits, "0123456789abcdefABCDEF") == 4 ? strtol(digits, NULL, 16) : -1;
}

#define UNIT_PREFIX 2 /* "\u" */
#define UNIT_LENGTH 6 /* with four hexadecimal digits */

/* The escape sequence of a UTF-16 unit at p->at, or two that are a surrogate pair. A surrogate without the other one is U+FFFD, as in Go. */
static int parse_unicode_escape(struct parser *p)
{
	long unit = parse_unicode_digits(p, p->at + UNIT_PREFIX), low;
	uint32_t c = (uint32_t)unit;

	if (unit < 0)
		return json_error(p, p->at);
	if (unit == 0)
		return err_set(
			p->err, -EINVAL, "line %zu: a string has a NUL character", json_line(p, p->at));
	p->at += UNIT_LENGTH;
	if (p->end - p->at >= UNIT_LENGTH && p->at[0] == '\\' && p->at[1] == 'u') {
		low = parse_unicode_digits(p, p->at + UNIT_PREFIX);
		if (low >= 0 && encoding_join_surrogates(&c, (uint32_t)low))
			p->at += UNIT_LENGTH;
	}
	strbuf_add_utf8(&p->text, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);
	return 0;
}

/* The escape at p->at, a backslash. */
static int parse_escape(struct parser *p)
{
	static const char letters[] = "\"\\/bfnrt", characters[] = "\"\\/\b\f\n\r\t";
	const char *found;

	if (p->end - p->at < 2)
		return json_error(p, p->at);
	if (p->at[1] == 'u')
		return parse_unicode_escape(p);
	found = memchr(letters, p->at[1], sizeof(letters) - 1);
	if (!found)
		return json_error(p, p->at);
	strbuf_addch(&p->text, characters[found - letters]);
	p->at += 2;
	return 0;
}

/* Skip bytes that are part of a string as they are. Returns where they begin. */
static const char *skip_plain(struct parser *p)
{
	const char *begin = p->at;

	while (p->at < p->end && *p->at != '"' && *p->at != '\\' && (unsigned char)*p->at >= ' ')
		p->at++;
	return begin;
}

/* The string at p->at, a quote. */
static int parse_string(struct parser *p, char **ret)
{
	const char *begin;
	int r = 0;

	if (!skip_byte(p, '"'))
		return json_error(p, p->at);
	begin = skip_plain(p);
	/* Most strings have no escape, and need no buffer. */
	if (p->at < p->end && *p->at == '"') {
		*ret = xstrndup(begin, (size_t)(p->at - begin));
		p->at++;
		return 0;
	}
	strbuf_reset(&p->text);
	strbuf_add(&p->text, begin, (size_t)(p->at - begin));
	while (r == 0 && !skip_byte(p, '"')) {
		if (p->at == p->end || *p->at != '\\')
			return json_error(p, p->at);
		r = parse_escape(p);
		begin = skip_plain(p);
		strbuf_add(&p->text, begin, (size_t)(p->at - begin));
	}
	if (r == 0)
		*ret = xstrndup(p->text.text, p->text.len);
	return r;
}

/* ---- numbers and words */

static size_t skip_digits(struct parser *p)
{
	const char *begin = p->at;

	while (p->at < p->end && isdigit((unsigned char)*p->at))
		p->at++;
	return (size_t)(p->at - begin);
}

/* -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][-+]?[0-9]+)? */
static bool skip_number(struct parser *p)
{
	skip_byte(p, '-');
	if (!skip_byte(p, '0') && skip_digits(p) == 0)
		return false;
	if (skip_byte(p, '.') && skip_digits(p) == 0)
		return false;
	if (!skip_byte(p, 'e') && !skip_byte(p, 'E'))
		return true;
	if (!skip_byte(p, '-'))
		skip_byte(p, '+');
	return skip_digits(p) > 0;
}

/* The number is kept as it is written: an integer of any size is exact. */
static int parse_json_number(struct parser *p, struct doc *ret)
{
	const char *begin = p->at;

	if (!skip_number(p))
		return json_error(p, p->at);
	doc_set_text(ret, DOC_NUMBER, begin, (size_t)(p->at - begin));
	return isfinite(strtod(ret->text, NULL))
		       ? 0
		       : err_set(p->err, -ERANGE, "line %zu: number too large", json_line(p, begin));
}

static bool skip_word(struct parser *p, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(p->end - p->at) < len || memcmp(p->at, word, len) != 0)
		return false;
	p->at += len;
	return true;
}

static int parse_json_word(struct parser *p, struct doc *ret)
{
	if (skip_word(p, "null"))
		return 0;
	if (skip_word(p, "true"))
		doc_set_text(ret, DOC_BOOL, "true", strlen("true"));
	else if (skip_word(p, "false"))
		doc_set_text(ret, DOC_BOOL, "false", strlen("false"));
	else
		return json_error(p, p->at);
	return 0;
}

/* ---- values */

static int parse_value(struct parser *p, int depth, struct doc *ret);

static int parse_member(struct parser *p, int depth, struct doc *map)
{
	struct doc *child = doc_add(map, NULL);
	int r;

	skip_blanks(p);
	r = parse_string(p, &child->key);
	if (r < 0)
		return r;
	skip_blanks(p);
	if (!skip_byte(p, ':'))
		return json_error(p, p->at);
	return parse_value(p, depth + 1, child);
}

/* The map or list at p->at. */
static int parse_collection(struct parser *p, int depth, struct doc *ret)
{
	const char *begin = p->at++, *repeated;
	bool is_map = *begin == '{';

	ret->kind = is_map ? DOC_MAP : DOC_LIST;
	if (depth >= JSON_MAX_DEPTH)
		return err_set(p->err, -EINVAL, "line %zu: JSON nested too deeply", json_line(p, begin));
	skip_blanks(p);
	if (skip_byte(p, is_map ? '}' : ']'))
		return 0;
	do {
		int r = is_map ? parse_member(p, depth, ret) : parse_value(p, depth + 1, doc_add(ret, NULL));

		if (r < 0)
			return r;
		skip_blanks(p);
	} while (skip_byte(p, ','));
	if (!skip_byte(p, is_map ? '}' : ']'))
		return json_error(p, p->at);
	doc_fit(ret);
	repeated = p->unique_keys && is_map ? doc_find_duplicate(ret) : NULL;
	return repeated ? err_set(p->err, -EINVAL,
				  "key '%.100s' appears twice in the object that begins at line %zu",
				  repeated, json_line(p, begin))
			: 0;
}

static int parse_value(struct parser *p, int depth, struct doc *ret)
{
	int r;

	skip_blanks(p);
	if (p->at == p->end)
		return json_error(p, p->at);
	if (*p->at == '{' || *p->at == '[')
		return parse_collection(p, depth, ret);
	if (*p->at == '-' || isdigit((unsigned char)*p->at))
		return parse_json_number(p, ret);
	if (*p->at != '"')
		return parse_json_word(p, ret);
	r = parse_string(p, &ret->text);
	if (r == 0)
		ret->kind = DOC_STRING;
	return r;
}

/* ---- texts */

/* The number of ASCII bytes at the start of the text, in whole words. */
static size_t ascii_length(const char *text, size_t len)
{
	size_t i = 0;
	uint64_t word;

	for (; i + sizeof(word) <= len; i += sizeof(word)) {
		memcpy(&word, text + i, sizeof(word));
		if (word & UINT64_C(0x8080808080808080))
			break;
	}
	return i;
}

/* Check the text from `begin` to p->at. */
static int check_utf8(const struct parser *p, const char *begin)
{
	for (const char *c = begin; c < p->at;) {
		size_t len = (size_t)(p->at - c), n = ascii_length(c, len);

		if (n == 0)
			n = text_utf8_length(c, len);
		if (n == 0)
			return err_set(p->err, -EINVAL, "not valid JSON: invalid UTF-8 at line %zu",
				json_line(p, c));
		c += n;
	}
	return 0;
}

/* Parse the value at p->at. *ret_end is the byte behind the value; `ret_end` NULL = only white space may follow. */
static int parse_text(struct parser *p, struct doc *ret, const char **ret_end)
{
	CLEANUP(doc_release) struct doc d = DOC_INIT;
	const char *begin = p->at;
	int r = parse_value(p, 0, &d);

	strbuf_release(&p->text);
	r = r < 0 ? r : check_utf8(p, begin);
	if (r < 0)
		return r;
	if (ret_end) {
		*ret_end = p->at;
	} else {
		skip_blanks(p);
		if (p->at < p->end)
			return json_error(p, p->at);
	}
	*ret = d;
	d = (struct doc)DOC_INIT;
	return 0;
}

static struct parser make_parser(const char *text, size_t len, struct err *err)
{
	return (struct parser){
		.begin = text, .at = text, .end = text + len, .text = STRBUF_INIT(SIZE_MAX), .err = err};
}

int json_parse(const char *text, size_t len, struct doc *ret, struct err *err)
{
	struct parser p = make_parser(text, len, err);

	return parse_text(&p, ret, NULL);
}

int json_parse_unique(const char *text, size_t len, struct doc *ret, struct err *err)
{
	struct parser p = make_parser(text, len, err);

	p.unique_keys = true;
	return parse_text(&p, ret, NULL);
}

int json_parse_next(const char *text, size_t len, size_t *at, struct doc *ret, struct err *err)
{
	struct parser p = make_parser(text, len, err);
	const char *end;
	int r;

	p.at += *at;
	skip_blanks(&p);
	if (p.at == p.end)
		return -ENOENT;
	r = parse_text(&p, ret, &end);
	if (r == 0)
		*at = (size_t)(end - text);
	return r;
}

/* The length of the first white space of the text, of the kinds that Go skips (unicode.IsSpace) and JSON does not have. 0: none. */
static size_t skip_unicode_space(const char *text, size_t len)
{
	static const char *const spaces[] = {"\v", "\f", "\xc2\x85", "\xc2\xa0", "\xe1\x9a\x80",
		"\xe2\x80\x80", "\xe2\x80\x81", "\xe2\x80\x82", "\xe2\x80\x83", "\xe2\x80\x84",
		"\xe2\x80\x85", "\xe2\x80\x86", "\xe2\x80\x87", "\xe2\x80\x88", "\xe2\x80\x89",
		"\xe2\x80\x8a", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f",
		"\xe3\x80\x80"};

	for (size_t i = 0; i < ARRAY_SIZE(spaces); i++)
		if (strlen(spaces[i]) <= len && !memcmp(text, spaces[i], strlen(spaces[i])))
			return strlen(spaces[i]);
	return 0;
}

int json_begins(const char *text, size_t len, struct err *err)
{
	struct parser p = make_parser(text, len, err);
	bool unusual = false;
	size_t n;

	skip_blanks(&p);
	while ((n = skip_unicode_space(p.at, (size_t)(p.end - p.at))) > 0) {
		unusual = true;
		p.at += n;
		skip_blanks(&p);
	}
	if (p.at == p.end || *p.at != '{')
		return 0;
	return unusual ? err_set(err, -EINVAL,
				 "not valid JSON at line %zu: white space that JSON does not have",
				 json_line(&p, p.at))
		       : 1;
}

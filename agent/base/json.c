/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include <cjson/cJSON.h>

#include "agent/base/json_walk.h"
#include "common/cleanup.h"
#include "common/text.h"

#define EXACT_INTEGER_MAX 9007199254740992.0 /* 2^53: from here on a double means several */

static void cjson_freep(cJSON **j)
{
	cJSON_Delete(*j);
}

/* The numbers of the JSON text, in the order of the values. */
struct numbers {
	const char *at, *end;
	size_t n_passed; /* behind `at`, and converted already */
};

/* cJSON makes a double of every number; an integer too large for a double is taken from the text. */
static int convert_large(const cJSON *j, struct numbers *numbers, struct doc *ret, struct err *err)
{
	struct json_piece number = {numbers->at, 0};

	for (size_t i = 0; i <= numbers->n_passed; i++)
		number = json_find_number(number.text + number.len, numbers->end);
	numbers->at = number.text + number.len;
	numbers->n_passed = 0;
	if (isfinite(j->valuedouble) && json_piece_is_integer(number))
		return doc_set_text(ret, DOC_NUMBER, number.text, number.len);
	return err_set(err, -ERANGE, "number too large to be held exactly");
}

static int convert_number(const cJSON *j, struct numbers *numbers, struct doc *ret, struct err *err)
{
	char text[64];
	double v = j->valuedouble;
	int len;

	if (!isfinite(v) || fabs(v) >= EXACT_INTEGER_MAX)
		return convert_large(j, numbers, ret, err);
	numbers->n_passed++;
	if (nearbyint(v) == v && (v != 0 || !signbit(v)))
		len = snprintf(text, sizeof(text), "%" PRId64, (int64_t)v);
	else
		len = snprintf(text, sizeof(text), nearbyint(v) == v ? "%.0f" : "%.17g", v);
	return doc_set_text(ret, DOC_NUMBER, text, (size_t)len);
}

/* Move j's content to `ret`: texts change their owner (cJSON allocates with malloc by default).
 */
static int convert(cJSON *j, struct numbers *numbers, struct doc *ret, struct err *err)
{
	cJSON *item;

	if (cJSON_IsNull(j))
		return 0;
	if (cJSON_IsBool(j))
		return doc_set_text(
			ret, DOC_BOOL, cJSON_IsTrue(j) ? "true" : "false", cJSON_IsTrue(j) ? 4 : 5);
	if (cJSON_IsNumber(j))
		return convert_number(j, numbers, ret, err);
	if (cJSON_IsString(j)) {
		ret->kind = DOC_STRING;
		ret->text = TAKE(j->valuestring);
		return 0;
	}
	ret->kind = cJSON_IsArray(j) ? DOC_LIST : DOC_MAP;
	cJSON_ArrayForEach(item, j)
	{
		struct doc *child = doc_add(ret, NULL);
		int r;

		if (!child)
			return -ENOMEM;
		if (ret->kind == DOC_MAP)
			child->key = TAKE(item->string);
		r = convert(item, numbers, child, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Line of byte `at`, from 1, for messages. */
static size_t line_of(const char *text, size_t at)
{
	size_t line = 1;

	for (size_t i = 0; i < at; i++)
		line += text[i] == '\n';
	return line;
}

/* Bytes of ASCII that the text begins with, in whole words. */
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

static bool is_utf8(const char *text, size_t len, size_t *ret_bad)
{
	for (size_t i = 0, n; i < len; i += n) {
		n = ascii_length(text + i, len - i);
		if (n == 0)
			n = text_utf8_length(text + i, len - i);
		*ret_bad = i;
		if (n == 0)
			return false;
	}
	return true;
}

int json_parse(const char *text, size_t len, struct doc *ret, struct err *err)
{
	CLEANUP(cjson_freep) cJSON *j = NULL;
	CLEANUP(freep) char *copy = NULL;
	CLEANUP(doc_release) struct doc d = DOC_INIT;
	const char *end = NULL;
	struct numbers numbers;
	size_t at;
	int r;

	if (memchr(text, '\0', len))
		return err_set(err, -EINVAL, "JSON text has a NUL byte");
	if (!is_utf8(text, len, &at))
		return err_set(err, -EINVAL, "not valid JSON: no UTF-8 at line %zu", line_of(text, at));
	copy = malloc(len + 1);
	if (!copy)
		return err_no_memory(err);
	memcpy(copy, text, len);
	copy[len] = '\0';
	j = cJSON_ParseWithLengthOpts(copy, len + 1, &end, 1);
	if (!j && len == 0)
		return err_set(err, -EINVAL, "empty, not JSON");
	if (!j) {
		at = end && end >= copy && end <= copy + len ? (size_t)(end - copy) : 0;

		return err_set(
			err, -EINVAL, "not valid JSON at line %zu, byte %zu", line_of(copy, at), at + 1);
	}
	numbers = (struct numbers){.at = copy, .end = copy + len};
	r = convert(j, &numbers, &d, err);
	if (r == -ENOMEM)
		return err_no_memory(err);
	if (r < 0)
		return r;
	*ret = d;
	d = (struct doc)DOC_INIT;
	return 0;
}

static cJSON *to_cjson(const struct doc *d)
{
	CLEANUP(cjson_freep) cJSON *j = NULL;

	switch (d->kind) {
	case DOC_BOOL:
		return cJSON_CreateBool(d->text[0] == 't');
	case DOC_NUMBER:
		return cJSON_CreateRaw(d->text);
	case DOC_STRING:
		return cJSON_CreateString(d->text);
	case DOC_LIST:
		j = cJSON_CreateArray();
		break;
	case DOC_MAP:
		j = cJSON_CreateObject();
		break;
	case DOC_NULL:
	case DOC_KIND_COUNT:
	default:
		return cJSON_CreateNull();
	}
	DOC_FOREACH (item, d) {
		cJSON *child = j ? to_cjson(item) : NULL;

		if (!child)
			return NULL;
		if (!(d->kind == DOC_MAP ? cJSON_AddItemToObject(j, item->key, child)
					 : cJSON_AddItemToArray(j, child))) {
			cJSON_Delete(child);
			return NULL;
		}
	}
	return TAKE(j);
}

/* Bytes that the text begins with and that stay as they are, whatever is around them. */
static size_t printed_as_is(const char *text)
{
	const char *p = text;

	while (*p >= ' ' && *p <= '~')
		p++;
	return (size_t)(p - text);
}

/*
 * cJSON indents with tabs and puts one behind a colon (in strings it escapes them); kubectl's layout has spaces.
 * It leaves DEL and the control characters of 8 bits as they are, and a terminal takes those for its own.
 */
static void add_printed(struct strbuf *out, const char *text)
{
	bool line_start = true;

	for (; *text; text++) {
		size_t plain = printed_as_is(text);

		if (plain > 0) {
			strbuf_add(out, text, plain);
			text += plain - 1;
		} else if (*text == '\t')
			strbuf_addstr(out, line_start ? "  " : " ");
		else if (*text == 0x7f)
			strbuf_addstr(out, "\\u007f");
		else if (text[0] == '\xc2' && (unsigned char)text[1] < 0xa0)
			strbuf_addf(out, "\\u%04x", (unsigned)(unsigned char)*++text);
		else
			strbuf_addch(out, *text);
		if (*text == '\n')
			line_start = true;
		else if (*text != '\t')
			line_start = false;
	}
}

static int print(const struct doc *d, bool indent, struct strbuf *out)
{
	CLEANUP(cjson_freep) cJSON *j = to_cjson(d);
	CLEANUP(freep) char *text = NULL;

	if (j)
		text = indent ? cJSON_Print(j) : cJSON_PrintUnformatted(j);
	if (!text)
		return -ENOMEM;
	add_printed(out, text);
	if (indent)
		strbuf_addch(out, '\n');
	return strbuf_error(out);
}

int json_print(const struct doc *d, struct strbuf *out)
{
	return print(d, true, out);
}

int json_print_compact(const struct doc *d, struct strbuf *out)
{
	return print(d, false, out);
}

#define EACH_BYTE(value) (UINT64_C(0x0101010101010101) * (value))

/* The highest bit of some byte is set if, and only if, one of the bytes is 0. */
static uint64_t has_zero(uint64_t word)
{
	return (word - EACH_BYTE(1)) & ~word;
}

/* Whether each of the eight bytes means itself: it is a space or above, below DEL, no quote and no backslash. */
static bool is_plain(const char *text)
{
	uint64_t word, below_space;

	memcpy(&word, text, sizeof(word));
	below_space = (word - EACH_BYTE(' ')) & ~word;
	return ((word | below_space | has_zero(word ^ EACH_BYTE(0x7f)) | has_zero(word ^ EACH_BYTE('"')) |
			has_zero(word ^ EACH_BYTE('\\'))) &
		       EACH_BYTE(0x80)) == 0;
}

size_t json_plain_length(const char *text, const char *end)
{
	const char *p = text;

	while (end - p >= 8 && is_plain(p))
		p += 8;
	while (p < end && *p >= ' ' && *p <= '~' && *p != '"' && *p != '\\')
		p++;
	return (size_t)(p - text);
}

void json_add_string(struct strbuf *out, const char *text)
{
	const char *end = text + strlen(text);

	strbuf_addch(out, '"');
	while (*text) {
		size_t n = json_plain_length(text, end);

		strbuf_add(out, text, n);
		text += n;
		if (!*text)
			break;
		n = text_utf8_length(text, strnlen(text, 4));
		if (*text == '"' || *text == '\\')
			strbuf_addf(out, "\\%c", *text);
		else if (n == 1)
			strbuf_addf(out, "\\u%04x", (unsigned)(unsigned char)*text);
		else if (n == 0)
			strbuf_addstr(out, "\\ufffd");
		else if (text[0] == '\xc2' && (unsigned char)text[1] < 0xa0)
			strbuf_addf(out, "\\u%04x", (unsigned)(unsigned char)text[1]);
		else
			strbuf_add(out, text, n);
		text += n > 0 ? n : 1;
	}
	strbuf_addch(out, '"');
}

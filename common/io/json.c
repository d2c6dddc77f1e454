/* SPDX-License-Identifier: Apache-2.0 */
#include "common/io/json.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "common/xalloc.h"

/* ---- strings and brackets */

#define SPACES "        " /* most of an indented text */

/* The bytes that open or close strings, maps and lists, and the newline, which is counted. */
static const bool is_delimiter[256] = {
	['"'] = true, ['{'] = true, ['['] = true, ['}'] = true, [']'] = true, ['\n'] = true};

/*
 * Skip to the end of a string. Returns the number of bytes, including the quote that ends the string.
 * memchr() is fastest for strings without a backslash; after the first backslash each byte is examined, so
 * that the time is linear.
 */
static size_t skip_in_string(struct json_nesting *n, const char *text, size_t len)
{
	size_t i = 0;

	if (!n->escaped) {
		const char *quote = memchr(text, '"', len), *backslash;
		size_t plain = quote ? (size_t)(quote - text) : len;

		backslash = memchr(text, '\\', plain);
		if (!backslash) {
			n->in_string = !quote;
			return quote ? plain + 1 : len;
		}
		i = (size_t)(backslash - text);
	}
	while (i < len && n->in_string) {
		char ch = text[i++];

		if (n->escaped)
			n->escaped = false;
		else if (ch == '\\')
			n->escaped = true;
		else if (ch == '"')
			n->in_string = false;
	}
	return i;
}

/*
 * Skip while the text is in a string or in more than `depth` brackets. Returns the number of bytes. A bracket
 * that is closed by a bracket of the other kind is an error that json_parse() reports.
 */
static size_t skip_nested(struct json_nesting *n, size_t depth, const char *text, size_t len)
{
	size_t i = 0;

	while (i < len && (n->in_string || n->depth > depth)) {
		if (n->in_string) {
			i += skip_in_string(n, text + i, len - i);
			continue;
		}
		while (i + strlen(SPACES) <= len && !memcmp(text + i, SPACES, strlen(SPACES)))
			i += strlen(SPACES);
		while (i < len && !is_delimiter[(unsigned char)text[i]])
			i++;
		if (i == len)
			break;
		if (text[i] == '\n')
			n->n_lines++;
		else if (text[i] == '"')
			n->in_string = true;
		else if (text[i] == '{' || text[i] == '[')
			n->depth++;
		else
			n->depth--;
		i++;
	}
	return i;
}

size_t json_count_values(const char *text, size_t len)
{
	bool in_string = false;
	size_t n = 1;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '"')
			in_string = !in_string;
		else if (in_string && text[i] == '\\')
			i++; /* an escaped quote does not end the string */
		else if (!in_string && (text[i] == ',' || text[i] == '[' || text[i] == '{'))
			n++;
	}
	return n;
}

/* The end of the string, map or list that starts at `at`, or NULL when it does not end. */
static const char *skip_enclosed(const char *at, const char *end)
{
	bool is_string = *at == '"';
	struct json_nesting n = {.in_string = is_string, .depth = is_string ? 0 : 1};

	at += 1 + skip_nested(&n, 0, at + 1, (size_t)(end - at) - 1);
	return n.in_string || n.depth > 0 ? NULL : at;
}

/* ---- printing */

static void cjson_freep(cJSON **j)
{
	cJSON_Delete(*j);
}

static cJSON *to_cjson(const struct doc *d)
{
	cJSON *j;

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
		if (!(d->kind == DOC_MAP ? cJSON_AddItemToObject(j, item->key, to_cjson(item))
					 : cJSON_AddItemToArray(j, to_cjson(item))))
			xalloc_failed();
	}
	return j;
}

/* The number of printable ASCII bytes at the start of the text. */
static size_t printable_length(const char *text)
{
	const char *p = text;

	while (*p >= ' ' && *p <= '~')
		p++;
	return (size_t)(p - text);
}

/*
 * Append text that cJSON printed. cJSON indents with tabs and writes a tab after a colon; kubectl's layout
 * has spaces. (In strings cJSON escapes tabs.) cJSON does not escape DEL and C1 control characters, which
 * could control a terminal.
 */
static void add_printed(struct strbuf *out, const char *text)
{
	bool line_start = true;

	for (; *text; text++) {
		size_t plain = printable_length(text);

		if (plain > 0) {
			strbuf_add(out, text, plain);
			text += plain - 1;
		} else if (*text == '\t') {
			strbuf_addstr(out, line_start ? "  " : " ");
		} else if (*text == 0x7f) {
			strbuf_addstr(out, "\\u007f");
		} else if (text[0] == '\xc2' && (unsigned char)text[1] < 0xa0) {
			text++; /* of a C1 character the second byte is the code point */
			strbuf_addf(out, "\\u%04x", (unsigned)(unsigned char)*text);
		} else {
			strbuf_addch(out, *text);
		}
		if (*text == '\n')
			line_start = true;
		else if (*text != '\t')
			line_start = false;
	}
}

static int print_doc(const struct doc *d, bool indent, struct strbuf *out)
{
	CLEANUP(cjson_freep) cJSON *j = to_cjson(d);
	CLEANUP(freep) char *text = NULL;

	text = indent ? cJSON_Print(j) : cJSON_PrintUnformatted(j);
	if (!text)
		xalloc_failed();
	add_printed(out, text);
	if (indent)
		strbuf_addch(out, '\n');
	return strbuf_error(out);
}

int json_print(const struct doc *d, struct strbuf *out)
{
	return print_doc(d, true, out);
}

int json_print_compact(const struct doc *d, struct strbuf *out)
{
	return print_doc(d, false, out);
}

#define EACH_BYTE(value) (UINT64_C(0x0101010101010101) * (value))

/* The highest bit of some byte of the result is set if, and only if, one of the bytes is 0. */
static uint64_t mark_zero_bytes(uint64_t word)
{
	return (word - EACH_BYTE(1)) & ~word;
}

/* Whether none of the eight bytes must be escaped: printable ASCII, no quote, no backslash. */
static bool is_plain_word(const char *text)
{
	uint64_t word, marks; /* highest bits: a byte must be escaped */

	memcpy(&word, text, sizeof(word));
	marks = word;                                     /* not ASCII */
	marks |= (word - EACH_BYTE(' ')) & ~word;         /* below a space */
	marks |= mark_zero_bytes(word ^ EACH_BYTE(0x7f)); /* DEL */
	marks |= mark_zero_bytes(word ^ EACH_BYTE('"'));
	marks |= mark_zero_bytes(word ^ EACH_BYTE('\\'));
	return (marks & EACH_BYTE(0x80)) == 0;
}

/* The number of bytes before `end` that need no escape in a JSON string: printable ASCII, no quote, no
 * backslash. *end is a quote or a NUL. */
static size_t plain_length(const char *text, const char *end)
{
	const char *p = text;

	while (end - p >= 8 && is_plain_word(p))
		p += 8;
	while (*p >= ' ' && *p <= '~' && *p != '"' && *p != '\\')
		p++;
	return (size_t)(p - text);
}

void json_add_string(struct strbuf *out, const char *text)
{
	const char *end = text + strlen(text);

	strbuf_addch(out, '"');
	while (*text) {
		size_t n = plain_length(text, end);

		strbuf_add(out, text, n);
		text += n;
		if (!*text)
			break;
		n = text_utf8_length(text, strnlen(text, 4));
		if (*text == '"' || *text == '\\')
			strbuf_addf(out, "\\%c", *text);
		else if (n == 1) /* a control character */
			strbuf_addf(out, "\\u%04x", (unsigned)(unsigned char)*text);
		else if (n == 0) /* not valid UTF-8 */
			strbuf_addstr(out, "\\ufffd");
		else if (text[0] == '\xc2' && (unsigned char)text[1] < 0xa0) /* C1 */
			strbuf_addf(out, "\\u%04x", (unsigned)(unsigned char)text[1]);
		else
			strbuf_add(out, text, n);
		text += n > 0 ? n : 1;
	}
	strbuf_addch(out, '"');
}

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static const char *skip_space(const char *at, const char *end)
{
	while (at < end && is_space(*at))
		at++;
	return at;
}

/* ---- walking a text in memory */

/* The end of the value that starts at `at`, or NULL when there is no value. */
static const char *skip_json_value(const char *at, const char *end)
{
	const char *begin = at;

	if (at == end)
		return NULL;
	if (*at == '"' || *at == '{' || *at == '[')
		return skip_enclosed(at, end);
	while (at < end && !is_space(*at) && !strchr(",:]}", *at))
		at++;
	return at > begin ? at : NULL;
}

bool json_walk_begin(struct json_walk *w, struct json_piece value, char open)
{
	if (value.len < 2 || *value.text != open)
		return false;
	*w = (struct json_walk){
		.at = value.text + 1, .end = value.text + value.len, .close = open == '{' ? '}' : ']'};
	return true;
}

int json_walk_next(struct json_walk *w, struct json_piece *ret_key, struct json_piece *ret_value)
{
	struct json_piece key;
	const char *at = skip_space(w->at, w->end), *end;

	w->at = at;
	if (at < w->end && *at == w->close)
		return 0;
	if (w->begun) {
		if (at == w->end || *at != ',')
			return -EINVAL;
		at = skip_space(at + 1, w->end);
	}
	if (ret_key) {
		key.text = at;
		at = at < w->end && *at == '"' ? skip_enclosed(at, w->end) : NULL;
		if (!at)
			return -EINVAL;
		key.len = (size_t)(at - key.text);
		at = skip_space(at, w->end);
		if (at == w->end || *at != ':')
			return -EINVAL;
		at = skip_space(at + 1, w->end);
		*ret_key = key;
	}
	end = skip_json_value(at, w->end);
	if (!end)
		return -EINVAL;
	*ret_value = (struct json_piece){.text = at, .len = (size_t)(end - at)};
	w->at = end;
	w->begun = true;
	return 1;
}

int json_walk_text(const char *text, size_t len, struct json_piece *ret)
{
	const char *end = text + len, *at = skip_space(text, end), *value_end = skip_json_value(at, end);

	if (!value_end || skip_space(value_end, end) != end)
		return -EINVAL;
	*ret = (struct json_piece){.text = at, .len = (size_t)(value_end - at)};
	return 0;
}

bool json_piece_is_null(struct json_piece p)
{
	return p.len == 4 && !memcmp(p.text, "null", 4);
}

bool json_piece_is_key(struct json_piece p, const char *name)
{
	size_t len = strlen(name);

	return p.len == len + 2 && !strncasecmp(p.text + 1, name, len);
}

/* Copy a string with escapes or non-ASCII characters. */
static int copy_decoded(struct json_piece p, char *ret)
{
	CLEANUP(doc_release) struct doc d = DOC_INIT;
	int r = json_parse(p.text, p.len, &d, NULL);
	size_t size;

	if (r < 0)
		return -EINVAL;
	size = doc_string(&d) ? strlen(d.text) + 1 : 0;
	if (size == 0 || size > p.len)
		return -EINVAL;
	memcpy(ret, d.text, size);
	return (int)size;
}

int json_piece_string(struct json_piece p, char *ret)
{
	size_t len;

	if (p.len < 2 || p.len > INT_MAX || *p.text != '"' || p.text[p.len - 1] != '"')
		return -EINVAL;
	len = plain_length(p.text + 1, p.text + p.len - 1);
	if (len + 2 != p.len)
		return copy_decoded(p, ret);
	memcpy(ret, p.text + 1, len);
	ret[len] = '\0';
	return (int)len + 1;
}

/* ---- streaming */

enum state {
	BETWEEN,    /* outside of every object */
	DOCUMENT,   /* in an object, outside of its items */
	FIRST_ITEM, /* after the '[' of the items: expects an item or ']' */
	NEXT_ITEM,  /* after a comma: expects an item */
	AFTER_ITEM, /* expects a comma or ']' */
	ITEM,       /* in an item */
};

void json_stream_init(struct json_stream *s, json_stream_fn *fn, void *data)
{
	*s = (struct json_stream){
		.fn = fn,
		.data = data,
		.text = STRBUF_INIT(JSON_STREAM_PART_MAX),
		.around = STRBUF_INIT(JSON_STREAM_PART_MAX),
		.list = DOC_INIT,
		.line = 1,
	};
}

void json_stream_release(struct json_stream *s)
{
	strbuf_release(&s->text);
	strbuf_release(&s->around);
	doc_release(&s->list);
}

/* ---- complete parts */

/* -EFBIG: the part is too large. */
static int parse_part(
	const struct json_stream *s, enum json_stream_part what, struct doc *ret, struct err *err)
{
	const struct strbuf *text = what == JSON_STREAM_ITEM ? &s->text : &s->around;
	int r = strbuf_error(text);

	if (r == -EFBIG)
		return err_set(err, r, "line %zu: an object of more than %zu bytes",
			what == JSON_STREAM_ITEM ? s->begin_line : s->document_line, JSON_STREAM_PART_MAX);
	r = json_parse(text->text, text->len, ret, err);
	if (r < 0 && what == JSON_STREAM_ITEM)
		return err_wrap(err, r, "item %zu, which begins at line %zu", s->n_items, s->begin_line);
	return r < 0 && s->document_line > 1
		       ? err_wrap(err, r, "the object that begins at line %zu", s->document_line)
		       : r;
}

/* False if the item has a kind that the caller does not want. The rest of such an item is not checked. An item whose kind is missing or
 * cannot be read is wanted. */
static bool is_wanted_item(const struct json_stream *s)
{
	struct json_walk walk;
	struct json_piece key, value;
	char kind[64];

	if (!s->wants ||
		!json_walk_begin(&walk, (struct json_piece){.text = s->text.text, .len = s->text.len}, '{'))
		return true;
	while (json_walk_next(&walk, &key, &value) > 0)
		if (key.len == strlen("\"kind\"") && !memcmp(key.text, "\"kind\"", key.len))
			return value.len > sizeof(kind) || json_piece_string(value, kind) < 0 ||
			       s->wants(s->data, kind);
	return true;
}

/* Pass a part to the caller. With `skip`, an invalid part is skipped, unless the part is a List. */
static int deliver_part(struct json_stream *s, enum json_stream_part what, struct err *err)
{
	CLEANUP(doc_release) struct doc part = DOC_INIT;
	struct err why = {""};
	bool may_skip = s->skip && what != JSON_STREAM_LIST;
	int r = parse_part(s, what, &part, may_skip ? &why : err);

	if (r < 0 && may_skip) {
		s->skip(s->data, &why);
		return 0;
	}
	return r < 0 ? r : s->fn(what, &part, what == JSON_STREAM_ITEM ? &s->list : NULL, s->data, err);
}

static int end_document(struct json_stream *s, struct err *err)
{
	int r = deliver_part(s, s->in_list ? JSON_STREAM_LIST : JSON_STREAM_DOCUMENT, err);

	doc_release(&s->list);
	strbuf_reset(&s->around);
	s->state = BETWEEN;
	return r;
}

/* At the start of the items: parse the members before the items as s->list, by closing the List here. */
static int begin_items(struct json_stream *s, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(JSON_STREAM_PART_MAX);
	int r;

	if (s->in_list)
		return err_set(err, -EINVAL, "line %zu: a List with two members 'items'", s->line);
	strbuf_add(&text, s->around.text, s->around.len);
	strbuf_addstr(&text, "]}");
	r = strbuf_error(&text);
	r = r < 0 ? r : json_parse(text.text, text.len, &s->list, err);
	s->in_list = true;
	s->state = FIRST_ITEM;
	s->n_items = 0;
	return r;
}

/* ---- byte by byte: a List outside of its items, an object at depth 1 */

static int open_document(struct json_stream *s, char ch, struct err *err)
{
	if (ch != '{')
		return err_set(err, -EINVAL, "not valid JSON at line %zu: an object is expected", s->line);
	s->state = DOCUMENT;
	s->nesting.depth = 1;
	s->in_list = s->is_items = false;
	s->wants_key = true;
	s->document_line = s->line;
	strbuf_addch(&s->around, ch);
	return 0;
}

/* A string at depth 1 has ended. */
static void end_string(struct json_stream *s)
{
	static const char items[] = "\"items\"";

	if (!s->wants_key)
		return;
	s->wants_key = false;
	s->is_items = s->around.len - s->key == strlen(items) &&
		      !memcmp(s->around.text + s->key, items, strlen(items));
}

/* At depth 1, outside of strings. */
static int read_document_byte(struct json_stream *s, char ch, struct err *err)
{
	strbuf_addch(&s->around, ch);
	switch (ch) {
	case '"':
		s->nesting.in_string = true;
		s->key = s->around.len - 1;
		break;
	case '[':
		if (s->is_items)
			return begin_items(s, err);
		s->nesting.depth++;
		break;
	case '{':
		s->nesting.depth++;
		break;
	case ',':
		s->wants_key = true;
		s->is_items = false;
		break;
	case ']':
	case '}':
		s->nesting.depth--;
		return end_document(s, err);
	default:
		break;
	}
	return 0;
}

/* Before or after an item. */
static int read_between_items(struct json_stream *s, char ch, struct err *err)
{
	if (ch == ',' && s->state == AFTER_ITEM) {
		s->state = NEXT_ITEM;
	} else if (ch == ']' && s->state != NEXT_ITEM) {
		strbuf_addch(&s->around, ch);
		s->state = DOCUMENT;
		s->nesting.depth = 1;
	} else if (ch == '{' && s->state != AFTER_ITEM) {
		s->n_items++;
		s->begin_line = s->line;
		s->nesting.depth = 1;
		s->state = ITEM;
		strbuf_reset(&s->text);
		strbuf_addch(&s->text, ch);
	} else {
		const char *also = " after a comma, or ']',";

		if (s->state == NEXT_ITEM)
			also = "";
		else if (s->state == FIRST_ITEM)
			also = " or ']'";
		return err_set(err, -EINVAL,
			"not valid JSON at line %zu: an object%s is expected in the List", s->line, also);
	}
	return 0;
}

static int read_byte(struct json_stream *s, char ch, struct err *err)
{
	s->line += ch == '\n';
	if (s->state == DOCUMENT)
		return read_document_byte(s, ch, err);
	if (is_space(ch))
		return 0;
	return s->state == BETWEEN ? open_document(s, ch, err) : read_between_items(s, ch, err);
}

/* ---- within strings and brackets: nearly all of the text */

static size_t read_nested(
	struct json_stream *s, size_t depth, struct strbuf *out, const char *text, size_t len)
{
	size_t n;

	s->nesting.n_lines = 0;
	n = skip_nested(&s->nesting, depth, text, len);
	s->line += s->nesting.n_lines;
	strbuf_add(out, text, n);
	return n;
}

/* In a string, or at a depth of 2 or more, of an object outside of its items. */
static size_t read_in_document(struct json_stream *s, const char *text, size_t len)
{
	bool is_own_string = s->nesting.depth == 1; /* a key or a value of the object itself */
	size_t n = read_nested(s, 1, &s->around, text, len);

	if (is_own_string && !s->nesting.in_string)
		end_string(s);
	return n;
}

/* After a part has become too large, reading continues only if the part can be skipped. */
static bool can_continue(const struct json_stream *s, const struct strbuf *text)
{
	int r = strbuf_error(text);

	return r == 0 || (r == -EFBIG && s->skip);
}

/* Bytes within strings and deep brackets, nearly all of the text, are copied at once; only the remaining bytes go through the states. */
int json_stream_feed(struct json_stream *s, const char *text, size_t len, struct err *err)
{
	size_t i = 0;
	int r = 0;

	while (i < len && r == 0) {
		if (s->state == ITEM) {
			bool too_large;

			i += read_nested(s, 0, &s->text, text + i, len - i);
			too_large = !can_continue(s, &s->text);
			if (s->nesting.depth > 0 && !too_large)
				break; /* the item continues in the next piece */
			s->state = AFTER_ITEM;
			/* deliver_part() reports, or skips, an item that is too large. */
			r = too_large || is_wanted_item(s) ? deliver_part(s, JSON_STREAM_ITEM, err) : 0;
			continue;
		}
		if (s->nesting.in_string || s->nesting.depth > 1)
			i += read_in_document(s, text + i, len - i);
		else
			r = read_byte(s, text[i++], err);
		/* deliver_part() reports an object that is too large. */
		if (r == 0 && !can_continue(s, &s->around))
			r = deliver_part(s, JSON_STREAM_DOCUMENT, err);
	}
	return r;
}

int json_stream_end(struct json_stream *s, struct err *err)
{
	CLEANUP(doc_release) struct doc part = DOC_INIT;
	int r;

	if (s->state == BETWEEN)
		return 0;
	if (s->in_list)
		return err_set(err, -EINVAL,
			"not valid JSON: the text ends at line %zu within a List, %s %zu", s->line,
			s->state == ITEM ? "in item" : "after item", s->n_items);
	/* The message of json_parse() names the line where the object stops. */
	r = json_parse(s->around.text, s->around.len, &part, err);
	return r < 0 ? r : err_set(err, -EINVAL, "not valid JSON: the text ends within an object");
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/yaml.h"

#include <errno.h>
#include <inttypes.h>

#include <yaml.h>

#include "agent/json.h"
#include "common/cleanup.h"

#define YAML_MAX_DEPTH 100
#define YAML_MAX_NODES 1000000u /* after aliases are followed: a bomb of aliases ends here */

/* ---- plain scalars, as go-yaml v2 (which Kubernetes reads YAML with) resolves them */

static bool one_of(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (!strcmp(text, *words))
			return true;
	return false;
}

/* Copy without the underscores that YAML 1.1 allows in numbers. False when it does not fit. */
static bool strip_underscores(const char *text, char *out, size_t size)
{
	size_t n = 0;

	for (; *text; text++) {
		if (*text == '_')
			continue;
		if (n + 1 >= size)
			return false;
		out[n++] = *text;
	}
	out[n] = '\0';
	return n > 0;
}

/* An integer in any base YAML 1.1 and Go know, as decimal text. */
static bool resolve_integer(const char *plain, char *out, size_t size)
{
	bool negative = *plain == '-';
	const char *digits = plain + (*plain == '-' || *plain == '+');
	int base = 10;
	char *end;
	uint64_t value;

	if (*digits < '0' || *digits > '9')
		return false;
	if (digits[0] == '0' && digits[1]) {
		base = strchr("xX", digits[1]) ? 16 : strchr("bB", digits[1]) ? 2 : 8;
		digits += strchr("xXbBoO", digits[1]) ? 2 : 1;
	}
	if (*digits == '-' || *digits == '+' || *digits == ' ')
		return false;
	errno = 0;
	value = strtoull(digits, &end, base);
	if (errno || end == digits || *end)
		return false;
	snprintf(out, size, "%s%" PRIu64, negative && value ? "-" : "", value);
	return true;
}

/* [-+]?(digits[.digits]|.digits)([eE][-+]?digits)? */
static bool looks_like_float(const char *p)
{
	size_t before, after = 0;

	p += *p == '-' || *p == '+';
	before = strspn(p, "0123456789");
	p += before;
	if (*p == '.') {
		p++;
		after = strspn(p, "0123456789");
		p += after;
	}
	if (before + after == 0)
		return false;
	if (*p == 'e' || *p == 'E') {
		p++;
		p += *p == '-' || *p == '+';
		before = strspn(p, "0123456789");
		p += before;
		if (before == 0)
			return false;
	}
	return *p == '\0';
}

/* What a plain scalar is; a number's decimal text goes to `number` (of `size` bytes). */
static enum doc_kind resolve(const char *text, char *number, size_t size)
{
	static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
	static const char *const trues[] = {
		"true", "True", "TRUE", "y", "Y", "yes", "Yes", "YES", "on", "On", "ON", NULL};
	static const char *const falses[] = {
		"false", "False", "FALSE", "n", "N", "no", "No", "NO", "off", "Off", "OFF", NULL};
	char plain[64];

	if (one_of(text, nulls))
		return DOC_NULL;
	if (one_of(text, trues) || one_of(text, falses)) {
		snprintf(number, size, "%s", one_of(text, trues) ? "true" : "false");
		return DOC_BOOL;
	}
	if (!strchr("+-.0123456789", *text) || !strip_underscores(text, plain, sizeof(plain)))
		return DOC_STRING;
	if (resolve_integer(plain, number, size))
		return DOC_NUMBER;
	if (looks_like_float(plain)) {
		snprintf(number, size, "%s", plain + (*plain == '+'));
		return DOC_NUMBER;
	}
	return DOC_STRING;
}

/* ---- reading */

struct reader {
	yaml_document_t *document;
	size_t nodes;
	struct err *err;
};

static int convert(struct reader *rd, int index, int depth, struct doc *ret);

static int convert_scalar(struct reader *rd, const yaml_node_t *node, struct doc *ret)
{
	const char *text = (const char *)node->data.scalar.value;
	size_t len = node->data.scalar.length;
	bool plain = node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	enum doc_kind kind = DOC_STRING;
	char number[64];

	if (strlen(text) != len)
		return err_set(
			rd->err, -EINVAL, "line %zu: a string has a NUL byte", node->start_mark.line + 1);
	if (plain && (!node->tag || !strcmp((const char *)node->tag, YAML_STR_TAG)))
		kind = resolve(text, number, sizeof(number));
	if (kind == DOC_NULL)
		return 0;
	if (kind == DOC_BOOL || kind == DOC_NUMBER)
		return doc_set_text(ret, kind, number, strlen(number));
	return doc_set_text(ret, DOC_STRING, text, len);
}

static int convert_map(struct reader *rd, const yaml_node_t *node, int depth, struct doc *ret)
{
	ret->kind = DOC_MAP;
	for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
		pair < node->data.mapping.pairs.top; pair++) {
		const yaml_node_t *key = yaml_document_get_node(rd->document, pair->key);
		struct doc *child;
		int r;

		if (!key || key->type != YAML_SCALAR_NODE)
			return err_set(rd->err, -EINVAL, "line %zu: a key that is no scalar",
				node->start_mark.line + 1);
		child = doc_add(ret, (const char *)key->data.scalar.value);
		r = child ? convert(rd, pair->value, depth + 1, child) : -ENOMEM;
		if (r < 0)
			return r;
	}
	return 0;
}

static int convert_list(struct reader *rd, const yaml_node_t *node, int depth, struct doc *ret)
{
	ret->kind = DOC_LIST;
	for (const yaml_node_item_t *item = node->data.sequence.items.start;
		item < node->data.sequence.items.top; item++) {
		struct doc *child = doc_add(ret, NULL);
		int r = child ? convert(rd, *item, depth + 1, child) : -ENOMEM;

		if (r < 0)
			return r;
	}
	return 0;
}

static int convert(struct reader *rd, int index, int depth, struct doc *ret)
{
	const yaml_node_t *node = yaml_document_get_node(rd->document, index);

	if (!node)
		return err_set(rd->err, -EINVAL, "broken YAML document");
	if (depth > YAML_MAX_DEPTH || ++rd->nodes > YAML_MAX_NODES)
		return err_set(rd->err, -EINVAL, "line %zu: YAML nested or repeated too much",
			node->start_mark.line + 1);
	if (node->type == YAML_MAPPING_NODE)
		return convert_map(rd, node, depth, ret);
	if (node->type == YAML_SEQUENCE_NODE)
		return convert_list(rd, node, depth, ret);
	return convert_scalar(rd, node, ret);
}

static int parser_error(const yaml_parser_t *parser, struct err *err)
{
	if (parser->error == YAML_MEMORY_ERROR)
		return err_set(err, -ENOMEM, "out of memory");
	return err_set(err, -EINVAL, "not valid YAML at line %zu, column %zu: %s",
		parser->problem_mark.line + 1, parser->problem_mark.column + 1,
		parser->problem ? parser->problem : "unknown problem");
}

/* Append documents number first .. first + count - 1 of a stream to `list`. */
static int parse_documents(
	const char *text, size_t len, size_t first, size_t count, struct doc *list, struct err *err)
{
	CLEANUP(yaml_parser_delete) yaml_parser_t parser;
	int r = 0;

	memset(&parser, 0, sizeof(parser));
	if (!yaml_parser_initialize(&parser))
		return err_set(err, -ENOMEM, "out of memory");
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	for (size_t at = 0; r == 0 && (at < first || at - first < count); at++) {
		yaml_document_t document;
		struct reader rd = {.document = &document, .err = err};
		bool last;

		if (!yaml_parser_load(&parser, &document))
			return parser_error(&parser, err);
		last = !yaml_document_get_root_node(&document);
		if (!last && at >= first) {
			struct doc *item = doc_add(list, NULL);

			r = item ? convert(&rd, 1, 0, item) : -ENOMEM;
		}
		yaml_document_delete(&document);
		if (last)
			break;
	}
	return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
}

/* The same as a list of at least one; -ENOENT when the stream does not go that far. */
static int parse_some(
	const char *text, size_t len, size_t first, size_t count, struct doc *ret, struct err *err)
{
	CLEANUP(doc_release) struct doc list = {.kind = DOC_LIST};
	int r = parse_documents(text, len, first, count, &list, err);

	if (r == 0 && list.n_items == 0)
		r = err_set(err, -ENOENT, "no YAML document in it");
	if (r < 0)
		return r;
	*ret = list;
	list = (struct doc)DOC_INIT;
	return 0;
}

/* JSON is nearly YAML; where it is not (tabs, surrogate pairs) the JSON reader is the right one. False when
 * the text is no JSON. */
static bool parse_json(const char *text, size_t len, struct doc *ret)
{
	size_t blank = 0;

	while (blank < len && text[blank] && strchr(" \t\r\n", text[blank]))
		blank++;
	return blank < len && (text[blank] == '{' || text[blank] == '[') &&
	       json_parse(text, len, ret, NULL) == 0;
}

int yaml_parse_all(const char *text, size_t len, struct doc *ret, struct err *err)
{
	CLEANUP(doc_release) struct doc list = {.kind = DOC_LIST};
	struct doc *item = doc_add(&list, NULL);

	if (!item)
		return err_set(err, -ENOMEM, "out of memory");
	if (!parse_json(text, len, item))
		return parse_some(text, len, 0, SIZE_MAX, ret, err);
	*ret = list;
	list = (struct doc)DOC_INIT;
	return 0;
}

int yaml_parse_nth(const char *text, size_t len, size_t index, struct doc *ret, struct err *err)
{
	CLEANUP(doc_release) struct doc list = DOC_INIT;
	int r = parse_some(text, len, index, 1, &list, err);

	if (r < 0)
		return r;
	*ret = list.items[0];
	list.items[0] = (struct doc)DOC_INIT;
	return 0;
}

int yaml_parse(const char *text, size_t len, struct doc *ret, struct err *err)
{
	int r;

	if (parse_json(text, len, ret))
		return 0;
	r = yaml_parse_nth(text, len, 0, ret, err);
	return r == -ENOENT ? err_set(err, -EINVAL, "empty, no YAML document in it") : r;
}

/* ---- printing */

static int write_strbuf(void *data, unsigned char *text, size_t len)
{
	strbuf_add(data, text, len);
	return strbuf_error(data) == 0;
}

static bool emit(yaml_emitter_t *emitter, yaml_event_t *event, int made)
{
	return made && yaml_emitter_emit(emitter, event);
}

static bool emit_text(yaml_emitter_t *emitter, const char *text, bool quoted)
{
	yaml_event_t event;
	const yaml_char_t *value = (const yaml_char_t *)text;
	yaml_scalar_style_t style = quoted ? YAML_DOUBLE_QUOTED_SCALAR_STYLE : YAML_PLAIN_SCALAR_STYLE;

	return emit(emitter, &event,
		yaml_scalar_event_initialize(&event, NULL, NULL, value, (int)strlen(text), 1, 1, style));
}

/* What stands on one line within a list: a small flat map (costs, resources, CPUs), a row of numbers
 * (distances). */
static bool fits_one_line(const struct doc *d)
{
	size_t width = 0;
	bool numbers = d->kind == DOC_LIST;

	if (d->n_items == 0)
		return true;
	if (d->key && d->kind == DOC_MAP)
		return false;
	DOC_FOREACH (item, d) {
		if (item->kind == DOC_LIST || item->kind == DOC_MAP)
			return false;
		width += strlen(item->key ? item->key : "") + strlen(item->text ? item->text : "null") + 4;
		numbers = numbers && item->kind == DOC_NUMBER;
	}
	return numbers || (!d->key && width <= 110);
}

static bool emit_doc(yaml_emitter_t *emitter, const struct doc *d)
{
	yaml_event_t event;
	bool map = d->kind == DOC_MAP;
	char scratch[64];

	if (d->kind == DOC_STRING)
		return emit_text(emitter, d->text, resolve(d->text, scratch, sizeof(scratch)) != DOC_STRING);
	if (!map && d->kind != DOC_LIST)
		return emit_text(emitter, d->kind == DOC_NULL ? "null" : d->text, false);
	if (map) {
		yaml_mapping_style_t style =
			fits_one_line(d) ? YAML_FLOW_MAPPING_STYLE : YAML_BLOCK_MAPPING_STYLE;

		if (!emit(emitter, &event, yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, style)))
			return false;
	} else {
		yaml_sequence_style_t style =
			fits_one_line(d) ? YAML_FLOW_SEQUENCE_STYLE : YAML_BLOCK_SEQUENCE_STYLE;

		if (!emit(emitter, &event,
			    yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, style)))
			return false;
	}
	DOC_FOREACH (item, d)
		if ((map && !emit_text(emitter, item->key,
				    resolve(item->key, scratch, sizeof(scratch)) != DOC_STRING)) ||
			!emit_doc(emitter, item))
			return false;
	return emit(emitter, &event,
		map ? yaml_mapping_end_event_initialize(&event) : yaml_sequence_end_event_initialize(&event));
}

int yaml_print(const struct doc *d, struct strbuf *out)
{
	CLEANUP(yaml_emitter_delete) yaml_emitter_t emitter;
	yaml_event_t event;
	bool ok;

	memset(&emitter, 0, sizeof(emitter));
	if (!yaml_emitter_initialize(&emitter))
		return -ENOMEM;
	yaml_emitter_set_output(&emitter, write_strbuf, out);
	yaml_emitter_set_unicode(&emitter, 1);
	yaml_emitter_set_width(&emitter, -1);
	ok = emit(&emitter, &event, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING)) &&
	     emit(&emitter, &event, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1)) &&
	     emit_doc(&emitter, d) && emit(&emitter, &event, yaml_document_end_event_initialize(&event, 1)) &&
	     emit(&emitter, &event, yaml_stream_end_event_initialize(&event));
	if (strbuf_error(out) < 0)
		return strbuf_error(out);
	return ok ? 0 : emitter.error == YAML_MEMORY_ERROR ? -ENOMEM : -EINVAL;
}

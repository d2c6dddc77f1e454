/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/base/yaml.h"

#include <errno.h>
#include <inttypes.h>

#include <yaml.h>

#include "agent/base/json.h"
#include "common/cleanup.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define YAML_MAX_DEPTH      100
#define YAML_MAX_ANCHORS    100u
#define YAML_MAX_DIRECTIVES 100u
#define YAML_MAX_COPIED     100000u /* nodes per stream: against alias bombs, also many small ones */

/* ---- plain scalars, as go-yaml v2 (which Kubernetes reads YAML with) resolves them */

static bool is_one_of(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (!strcmp(text, *words))
			return true;
	return false;
}

/* Copy without the underscores that YAML 1.1 allows in numbers. False: nothing is left, or the copy does
 * not fit. */
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

/* Convert an integer in any base of YAML 1.1 or Go to decimal text. */
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

/* The kind of a plain scalar. The text of a bool or number is written to `ret` (`size` bytes). */
static enum doc_kind resolve_scalar(const char *text, char *ret, size_t size)
{
	static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
	static const char *const trues[] = {
		"true", "True", "TRUE", "y", "Y", "yes", "Yes", "YES", "on", "On", "ON", NULL};
	static const char *const falses[] = {
		"false", "False", "FALSE", "n", "N", "no", "No", "NO", "off", "Off", "OFF", NULL};
	char plain[64];

	if (strchr("~nNtTyYoOfF", *text)) { /* also the empty text */
		if (is_one_of(text, nulls))
			return DOC_NULL;
		if (is_one_of(text, trues) || is_one_of(text, falses)) {
			snprintf(ret, size, "%s", is_one_of(text, trues) ? "true" : "false");
			return DOC_BOOL;
		}
		return DOC_STRING;
	}
	if (!strchr("+-.0123456789", *text) || !strip_underscores(text, plain, sizeof(plain)))
		return DOC_STRING;
	if (resolve_integer(plain, ret, size))
		return DOC_NUMBER;
	if (looks_like_float(plain)) {
		snprintf(ret, size, "%s", plain + (*plain == '+'));
		return DOC_NUMBER;
	}
	return DOC_STRING;
}

/* ---- parsing: libyaml's events become a doc. For each token the scanner examines all open brackets, so
 * the depth is checked at each event, before more text is scanned. */

/* A complete node that aliases may repeat. */
struct anchor {
	char *name;
	struct doc value;
};

struct reader {
	yaml_parser_t parser;
	struct anchor *anchors; /* of the current document */
	size_t n_anchors, anchors_size;
	size_t copied; /* nodes that anchors and aliases copied, in the whole stream */
	struct err *err;
};

static void free_anchors(struct reader *rd)
{
	for (size_t i = 0; i < rd->n_anchors; i++) {
		free(rd->anchors[i].name);
		doc_release(&rd->anchors[i].value);
	}
	rd->n_anchors = 0;
}

static void reader_release(struct reader *rd)
{
	free_anchors(rd);
	free(rd->anchors);
	yaml_parser_delete(&rd->parser);
}

static int parser_error(const yaml_parser_t *parser, struct err *err)
{
	if (parser->error == YAML_MEMORY_ERROR)
		xalloc_failed();
	return err_set(err, -EINVAL, "not valid YAML at line %zu, column %zu: %s",
		parser->problem_mark.line + 1, parser->problem_mark.column + 1,
		parser->problem ? parser->problem : "unknown problem");
}

/* The caller deletes `event`, also after a failure. */
static int next_event(struct reader *rd, yaml_event_t *event)
{
	return yaml_parser_parse(&rd->parser, event) ? 0 : parser_error(&rd->parser, rd->err);
}

static int reject_size(const struct reader *rd, const yaml_event_t *event)
{
	return err_set(
		rd->err, -EINVAL, "line %zu: YAML nested or repeated too much", event->start_mark.line + 1);
}

/* Whether the limits allow a copy of `d` at this depth. Counts the nodes. */
static bool may_copy(struct reader *rd, const struct doc *d, int depth)
{
	if (depth > YAML_MAX_DEPTH || ++rd->copied > YAML_MAX_COPIED)
		return false;
	DOC_FOREACH (item, d)
		if (!may_copy(rd, item, depth + 1))
			return false;
	return true;
}

static int add_anchor(
	struct reader *rd, const yaml_event_t *event, const yaml_char_t *name, const struct doc *d)
{
	CLEANUP(doc_release) struct doc copy = DOC_INIT;
	CLEANUP(freep) char *owned = NULL;
	struct anchor *slot;

	if (!name)
		return 0;
	if (rd->n_anchors >= YAML_MAX_ANCHORS || !may_copy(rd, d, 0))
		return reject_size(rd, event);
	owned = xstrdup((const char *)name);
	doc_copy(d, &copy);
	slot = vec_push(&rd->anchors, &rd->n_anchors, &rd->anchors_size, sizeof(*slot));
	*slot = (struct anchor){.name = TAKE(owned), .value = copy};
	copy = (struct doc)DOC_INIT;
	return 0;
}

/* Of several anchors with one name the last counts. */
static int read_alias(struct reader *rd, const yaml_event_t *event, int depth, struct doc *ret)
{
	const char *name = (const char *)event->data.alias.anchor;
	char *key = ret->key;
	size_t i = rd->n_anchors;

	while (i > 0 && strcmp(rd->anchors[i - 1].name, name) != 0)
		i--;
	if (i == 0)
		return err_set(rd->err, -EINVAL, "line %zu: undefined alias '%.60s'",
			event->start_mark.line + 1, name);
	if (!may_copy(rd, &rd->anchors[i - 1].value, depth))
		return reject_size(rd, event);
	doc_copy(&rd->anchors[i - 1].value, ret);
	ret->key = key;
	return 0;
}

static int read_scalar(struct reader *rd, const yaml_event_t *event, struct doc *ret)
{
	const char *text = (const char *)event->data.scalar.value;
	size_t len = event->data.scalar.length;
	bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	enum doc_kind kind = DOC_STRING;
	char number[64];

	if (strlen(text) != len)
		return err_set(
			rd->err, -EINVAL, "line %zu: a string has a NUL byte", event->start_mark.line + 1);
	if (plain && !event->data.scalar.tag)
		kind = resolve_scalar(text, number, sizeof(number));
	if (kind == DOC_NULL)
		return 0;
	if (kind == DOC_BOOL || kind == DOC_NUMBER) {
		doc_set_text(ret, kind, number, strlen(number));
		return 0;
	}
	doc_set_text(ret, DOC_STRING, text, len);
	return 0;
}

static int read_node(struct reader *rd, const yaml_event_t *event, int depth, struct doc *ret);

/* Add a child to a map; `event` has the key. */
static int add_member(struct reader *rd, const yaml_event_t *event, struct doc *map, struct doc **ret)
{
	CLEANUP(doc_release) struct doc key = DOC_INIT;
	int r;

	if (event->type != YAML_SCALAR_EVENT)
		return err_set(
			rd->err, -EINVAL, "line %zu: a key that is not a scalar", event->start_mark.line + 1);
	r = read_scalar(rd, event, &key);
	if (r < 0)
		return r;
	r = add_anchor(rd, event, event->data.scalar.anchor, &key);
	if (r < 0)
		return r;
	*ret = doc_add(map, (const char *)event->data.scalar.value);
	return 0;
}

static int read_members(struct reader *rd, int depth, struct doc *ret)
{
	for (;;) {
		CLEANUP(yaml_event_delete) yaml_event_t key = {0}, value = {0};
		struct doc *child = NULL;
		int r = next_event(rd, &key);

		if (r < 0)
			return r;
		if (key.type == YAML_MAPPING_END_EVENT)
			return 0;
		r = add_member(rd, &key, ret, &child);
		r = r < 0 ? r : next_event(rd, &value);
		r = r < 0 ? r : read_node(rd, &value, depth + 1, child);
		if (r < 0)
			return r;
	}
}

static int read_items(struct reader *rd, int depth, struct doc *ret)
{
	for (;;) {
		CLEANUP(yaml_event_delete) yaml_event_t value = {0};
		int r = next_event(rd, &value);

		if (r < 0)
			return r;
		if (value.type == YAML_SEQUENCE_END_EVENT)
			return 0;
		r = read_node(rd, &value, depth + 1, doc_add(ret, NULL));
		if (r < 0)
			return r;
	}
}

/* Read the node that starts with `event`. */
static int read_node(struct reader *rd, const yaml_event_t *event, int depth, struct doc *ret)
{
	const yaml_char_t *anchor;
	int r;

	if (depth > YAML_MAX_DEPTH)
		return reject_size(rd, event);
	if (event->type == YAML_ALIAS_EVENT)
		return read_alias(rd, event, depth, ret);
	if (event->type == YAML_SCALAR_EVENT) {
		anchor = event->data.scalar.anchor;
		r = read_scalar(rd, event, ret);
	} else if (event->type == YAML_MAPPING_START_EVENT) {
		anchor = event->data.mapping_start.anchor;
		ret->kind = DOC_MAP;
		r = read_members(rd, depth, ret);
	} else {
		anchor = event->data.sequence_start.anchor;
		ret->kind = DOC_LIST;
		r = read_items(rd, depth, ret);
	}
	return r < 0 ? r : add_anchor(rd, event, anchor, ret);
}

/* Handle an event outside of nodes. The root of a document is appended to `list`. */
static int read_event(struct reader *rd, const yaml_event_t *event, struct doc *list)
{
	struct doc *root;

	if (event->type == YAML_STREAM_START_EVENT || event->type == YAML_DOCUMENT_END_EVENT)
		return 0;
	if (event->type == YAML_DOCUMENT_START_EVENT) {
		free_anchors(rd);
		return 0;
	}
	root = doc_add(list, NULL);
	return read_node(rd, event, 0, root);
}

/* Limit the tag directives: libyaml compares each with all earlier ones, within one event. */
static int check_directives(const char *text, size_t len, struct err *err)
{
	static const char directive[] = "%TAG";
	const char *at = text, *end = text + len;
	size_t n = 0;

	while ((at = memmem(at, (size_t)(end - at), directive, strlen(directive)))) {
		n += at == text || at[-1] == '\n' || at[-1] == '\r';
		if (n > YAML_MAX_DIRECTIVES)
			return err_set(
				err, -EINVAL, "more than %u lines of %s", YAML_MAX_DIRECTIVES, directive);
		at += strlen(directive);
	}
	return 0;
}

/* The destination of the documents of a stream: a function, or a list. */
struct consumer {
	size_t count; /* the parser stops after this number of documents in the list */
	yaml_fn *fn;  /* NULL = the documents stay in the list */
	void *data;
};

/* Pass a complete document from the list to the function, if there is one. */
static int deliver_document(const struct consumer *to, struct doc *list, struct err *err)
{
	struct doc document = list->n_items > 0 && to->fn ? list->items[0] : (struct doc)DOC_INIT;
	int r;

	if (!to->fn || list->n_items == 0)
		return 0;
	list->n_items = 0;
	r = to->fn(&document, to->data, err);
	doc_release(&document);
	return r;
}

static int parse_documents(
	const char *text, size_t len, const struct consumer *to, struct doc *list, struct err *err)
{
	CLEANUP(reader_release) struct reader rd = {.err = err};
	int r = check_directives(text, len, err);

	if (r < 0)
		return r;
	if (!yaml_parser_initialize(&rd.parser))
		xalloc_failed();
	yaml_parser_set_encoding(
		&rd.parser, YAML_UTF8_ENCODING); /* the encoding that check_directives() expects */
	yaml_parser_set_input_string(&rd.parser, (const unsigned char *)text, len);
	while (r == 0) {
		CLEANUP(yaml_event_delete) yaml_event_t event = {0};

		r = next_event(&rd, &event);
		if (r < 0 || event.type == YAML_STREAM_END_EVENT)
			break;
		r = read_event(&rd, &event, list);
		if (event.type != YAML_DOCUMENT_END_EVENT || r < 0)
			continue;
		r = deliver_document(to, list, err);
		if (list->n_items == to->count)
			break;
	}
	return r;
}

/* Parse up to `count` documents into a list; -ENOENT when the text has none. */
static int parse_list(const char *text, size_t len, size_t count, struct doc *ret, struct err *err)
{
	CLEANUP(doc_release) struct doc list = {.kind = DOC_LIST};
	const struct consumer to = {.count = count};
	int r = parse_documents(text, len, &to, &list, err);

	if (r == 0 && list.n_items == 0)
		r = err_set(err, -ENOENT, "no YAML document in it");
	if (r < 0)
		return r;
	*ret = list;
	list = (struct doc)DOC_INIT;
	return 0;
}

/* Parse JSON with the JSON parser: YAML differs in tabs and surrogate pairs. False when the text is not
 * JSON. */
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

	if (!parse_json(text, len, item))
		return parse_list(text, len, SIZE_MAX, ret, err);
	*ret = list;
	list = (struct doc)DOC_INIT;
	return 0;
}

int yaml_parse_each(const char *text, size_t len, yaml_fn *fn, void *data, struct err *err)
{
	CLEANUP(doc_release) struct doc list = {.kind = DOC_LIST};
	const struct consumer to = {.count = SIZE_MAX, .fn = fn, .data = data};

	return parse_documents(text, len, &to, &list, err);
}

int yaml_parse_first(const char *text, size_t len, struct doc *ret, struct err *err)
{
	CLEANUP(doc_release) struct doc list = DOC_INIT;
	int r = parse_list(text, len, 1, &list, err);

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
	r = yaml_parse_first(text, len, ret, err);
	return r == -ENOENT ? err_set(err, -EINVAL, "empty, no YAML document in it") : r;
}

/* ---- printing */

static int write_strbuf(void *data, unsigned char *text, size_t len)
{
	strbuf_add(data, text, len);
	return strbuf_error(data) == 0;
}

static bool emit(yaml_emitter_t *emitter, yaml_event_t *event, int initialized)
{
	return initialized && yaml_emitter_emit(emitter, event);
}

static bool emit_text(yaml_emitter_t *emitter, const char *text, bool quoted)
{
	yaml_event_t event;
	yaml_scalar_style_t style = quoted ? YAML_DOUBLE_QUOTED_SCALAR_STYLE : YAML_PLAIN_SCALAR_STYLE;
	yaml_char_t *value; /* libyaml 0.2.2 takes a pointer without const, and copies the text */

	memcpy(&value, &text, sizeof(value));
	return emit(emitter, &event,
		yaml_scalar_event_initialize(&event, NULL, NULL, value, (int)strlen(text), 1, 1, style));
}

/* Whether a list or map is printed on one line: in a list, a small flat map (costs, resources, CPUs); a
 * list of numbers (distances). */
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
		return emit_text(
			emitter, d->text, resolve_scalar(d->text, scratch, sizeof(scratch)) != DOC_STRING);
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
				    resolve_scalar(item->key, scratch, sizeof(scratch)) != DOC_STRING)) ||
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
		xalloc_failed();
	yaml_emitter_set_output(&emitter, write_strbuf, out);
	yaml_emitter_set_unicode(&emitter, 1);
	yaml_emitter_set_width(&emitter, -1);
	ok = emit(&emitter, &event, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING)) &&
	     emit(&emitter, &event, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1)) &&
	     emit_doc(&emitter, d) && emit(&emitter, &event, yaml_document_end_event_initialize(&event, 1)) &&
	     emit(&emitter, &event, yaml_stream_end_event_initialize(&event));
	if (strbuf_error(out) < 0)
		return strbuf_error(out);
	if (emitter.error == YAML_MEMORY_ERROR)
		xalloc_failed();
	return ok ? 0 : -EINVAL;
}

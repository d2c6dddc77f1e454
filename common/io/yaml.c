/* SPDX-License-Identifier: Apache-2.0 */
#include "common/io/yaml.h"

#include <errno.h>
#include <math.h>

#include <yaml.h>

#include "common/cleanup.h"
#include "common/io/encoding.h"
#include "common/io/json.h"
#include "common/io/yaml_scalar.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define YAML_TEXT_MAX       ((size_t)1 << 30)
#define YAML_MAX_DEPTH      300
#define YAML_MAX_ANCHORS    100u
#define YAML_MAX_DIRECTIVES 100u
#define YAML_MAX_COPIED     100000u /* nodes per document: against alias bombs, also many small ones */

/* ---- parsing: libyaml's events become a doc, as go.yaml.in/yaml/v2 (decode.go) decodes into an interface. For each token
 * the scanner examines all open brackets, so the depth is checked at each event, before more text is scanned. */

/* A node that aliases may repeat. */
struct anchor {
	char *name;
	bool complete; /* otherwise the node that contains the alias */
	struct doc value;
	size_t n_decoded; /* nodes that go-yaml decodes for the value; until `complete` the reader's number before the value */
};

struct reader {
	yaml_parser_t parser;
	const char *text; /* that the parser reads */
	size_t len;
	size_t at, index;  /* a byte of the text, and the number of characters before it */
	unsigned brackets; /* that are open */
	size_t line;       /* of the text's first byte, counted from 0 */
	bool unique_keys;
	struct anchor *anchors; /* of the current document */
	size_t n_anchors, anchors_size;
	size_t copied;               /* nodes that anchors and aliases copied */
	size_t n_decoded, n_aliased; /* nodes that go-yaml decodes, and those of them that are in aliases */
	struct err *err;
};

static void yaml_reader_release(struct reader *rd)
{
	for (size_t i = 0; i < rd->n_anchors; i++) {
		free(rd->anchors[i].name);
		doc_release(&rd->anchors[i].value);
	}
	free(rd->anchors);
	yaml_parser_delete(&rd->parser);
}

/* The line of an event, counted from 1. */
static size_t event_line(const struct reader *rd, const yaml_event_t *event)
{
	return rd->line + event->start_mark.line + 1;
}

static int parser_error(const struct reader *rd)
{
	const yaml_parser_t *parser = &rd->parser;
	const char *problem = parser->problem ? parser->problem : "unknown problem";

	if (parser->error == YAML_MEMORY_ERROR)
		xalloc_failed();
	if (parser->error == YAML_READER_ERROR)
		return err_set(rd->err, -EINVAL, "not valid YAML at line %zu: %s",
			rd->line + encoding_line(rd->text, parser->problem_offset), problem);
	return err_set(rd->err, -EINVAL, "not valid YAML at line %zu, column %zu: %s",
		rd->line + parser->problem_mark.line + 1, parser->problem_mark.column + 1, problem);
}

/* The caller deletes `event`, also after a failure. */
static int next_event(struct reader *rd, yaml_event_t *event)
{
	return yaml_parser_parse(&rd->parser, event) ? 0 : parser_error(rd);
}

static int reject_size(const struct reader *rd, const yaml_event_t *event)
{
	return err_set(rd->err, -EINVAL, "line %zu: YAML nested or repeated too much", event_line(rd, event));
}

#define COUNT_NO_ALIAS 0

/*
 * Counts the event's node, and the `aliased` nodes that an alias repeats, as go-yaml decodes them. go-yaml refuses a document of which
 * more than 99 % are in aliases. Its limits for documents of 400000 nodes are not reached before YAML_MAX_COPIED.
 */
static int count_decoded_nodes(struct reader *rd, const yaml_event_t *event, size_t aliased)
{
	rd->n_decoded += 1 + aliased;
	rd->n_aliased += aliased;
	if (rd->n_aliased > 100 && rd->n_decoded > 1000 &&
		(double)rd->n_aliased / (double)rd->n_decoded > 0.99)
		return reject_size(rd, event);
	return 0;
}

/* ---- anchors */

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

static const yaml_char_t *event_anchor(const yaml_event_t *event)
{
	if (event->type == YAML_SCALAR_EVENT)
		return event->data.scalar.anchor;
	return event->type == YAML_MAPPING_START_EVENT ? event->data.mapping_start.anchor
						       : event->data.sequence_start.anchor;
}

/* Add the anchor of the node that begins with `event`. *ret_index is SIZE_MAX if it has none. */
static int begin_anchor(struct reader *rd, const yaml_event_t *event, size_t *ret_index)
{
	const char *name = (const char *)event_anchor(event);
	struct anchor *slot;

	*ret_index = SIZE_MAX;
	if (!name)
		return 0;
	if (rd->n_anchors >= YAML_MAX_ANCHORS)
		return reject_size(rd, event);
	*ret_index = rd->n_anchors;
	slot = vec_push(&rd->anchors, &rd->n_anchors, &rd->anchors_size, sizeof(*slot));
	*slot = (struct anchor){.name = xstrdup(name), .n_decoded = rd->n_decoded};
	return 0;
}

/* The node of the anchor is complete: `d`. */
static int end_anchor(struct reader *rd, const yaml_event_t *event, size_t index, const struct doc *d)
{
	struct anchor *anchor;

	if (index == SIZE_MAX)
		return 0;
	if (!may_copy(rd, d, 0))
		return reject_size(rd, event);
	anchor = &rd->anchors[index];
	doc_copy(d, &anchor->value);
	anchor->n_decoded = rd->n_decoded - anchor->n_decoded;
	anchor->complete = true;
	return 0;
}

/* Of several anchors with one name the last counts. */
static int read_alias(struct reader *rd, const yaml_event_t *event, int depth, struct doc *ret)
{
	const char *name = (const char *)event->data.alias.anchor;
	const struct anchor *anchor;
	char *key = ret->key; /* doc_copy() overwrites it */
	size_t i = rd->n_anchors;

	while (i > 0 && strcmp(rd->anchors[i - 1].name, name) != 0)
		i--;
	if (i == 0)
		return err_set(
			rd->err, -EINVAL, "line %zu: undefined alias '%.60s'", event_line(rd, event), name);
	anchor = &rd->anchors[i - 1];
	if (!anchor->complete)
		return err_set(rd->err, -EINVAL, "line %zu: anchor '%.60s' contains itself",
			event_line(rd, event), name);
	if (!may_copy(rd, &anchor->value, depth))
		return reject_size(rd, event);
	doc_copy(&anchor->value, ret);
	ret->key = key;
	return count_decoded_nodes(rd, event, anchor->n_decoded);
}

/* ---- scalars */

/* Tags whose values have another text in JSON. */
static bool is_unsupported_tag(const char *tag)
{
	return !strcmp(tag, "tag:yaml.org,2002:binary") || !strcmp(tag, "tag:yaml.org,2002:timestamp");
}

/* Advance to the character with this index. Returns its byte. */
static size_t advance_to_character(struct reader *rd, size_t index)
{
	for (; rd->index < index && rd->at < rd->len; rd->index++) {
		rd->at++;
		while (rd->at < rd->len && text_is_continuation(rd->text[rd->at]))
			rd->at++;
	}
	return rd->at;
}

/* Whether a string in double quotes has the escape "\/", which libyaml reads and go-yaml does not. */
static bool has_slash_escape(struct reader *rd, const yaml_event_t *event)
{
	const char *at, *end;

	if (event->data.scalar.style != YAML_DOUBLE_QUOTED_SCALAR_STYLE ||
		!strchr((const char *)event->data.scalar.value, '/'))
		return false;
	at = rd->text + advance_to_character(rd, event->start_mark.index);
	end = rd->text + advance_to_character(rd, event->end_mark.index);
	for (; at + 1 < end; at++) {
		if (*at != '\\')
			continue;
		at++; /* the escaped character */
		if (*at == '/')
			return true;
	}
	return false;
}

/* Whether an empty scalar ends at a comma: after "!a,", which go-yaml takes for a tag. */
static bool is_before_comma(struct reader *rd, const yaml_event_t *event)
{
	size_t at = advance_to_character(rd, event->end_mark.index);

	return event->data.scalar.length == 0 && at < rd->len && rd->text[at] == ',';
}

static int resolve_event(struct reader *rd, const yaml_event_t *event, struct yaml_scalar *ret)
{
	const char *text = (const char *)event->data.scalar.value;
	const char *tag = (const char *)event->data.scalar.tag;

	*ret = (struct yaml_scalar){.kind = DOC_STRING};
	if (strlen(text) != event->data.scalar.length)
		return err_set(rd->err, -EINVAL, "line %zu: a string has a NUL byte", event_line(rd, event));
	if (has_slash_escape(rd, event))
		return err_set(rd->err, -EINVAL, "line %zu: YAML has no escape '\\/'", event_line(rd, event));
	if (tag && rd->brackets > 0 && is_before_comma(rd, event))
		return err_set(
			rd->err, -EINVAL, "line %zu: a comma directly after a tag", event_line(rd, event));
	/* Within brackets go-yaml takes a '?' for the beginning of a key. */
	if (rd->brackets > 0 && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && strchr(text, '?'))
		return err_set(rd->err, -EINVAL, "line %zu: '?' within brackets requires quotes",
			event_line(rd, event));
	if (tag && is_unsupported_tag(tag))
		return err_set(rd->err, -EINVAL, "line %zu: the tag '%s' is not supported",
			event_line(rd, event), strrchr(tag, ':') + 1);
	if (tag && !yaml_scalar_resolve_tagged(text, tag, ret))
		return err_set(rd->err, -EINVAL, "line %zu: '%.60s' is no value of the tag '%.60s'",
			event_line(rd, event), text, tag);
	if (!tag && event->data.scalar.plain_implicit)
		*ret = yaml_scalar_resolve(text);
	return 0;
}

static int set_scalar(
	struct reader *rd, const yaml_event_t *event, const struct yaml_scalar *value, struct doc *ret)
{
	const char *text = (const char *)event->data.scalar.value;

	if (value->is_float && !isfinite(value->value))
		return err_set(rd->err, -EINVAL, "line %zu: JSON has no number '%.60s'",
			event_line(rd, event), text);
	if (value->is_float)
		doc_set_double(ret, value->value);
	else if (value->kind == DOC_STRING)
		doc_set_text(ret, DOC_STRING, text, event->data.scalar.length);
	else if (value->kind != DOC_NULL)
		doc_set_text(ret, value->kind, value->text, strlen(value->text));
	return 0;
}

/* ---- maps */

static int read_yaml_node(struct reader *rd, const yaml_event_t *event, int depth, struct doc *ret);
static int read_items(struct reader *rd, const yaml_event_t *event, int depth, struct doc *ret);

/* "<<", unless in quotes. */
static bool is_merge(const yaml_event_t *event)
{
	const char *tag = event->type == YAML_SCALAR_EVENT ? (const char *)event->data.scalar.tag : NULL;

	return event->type == YAML_SCALAR_EVENT && !strcmp((const char *)event->data.scalar.value, "<<") &&
	       (event->data.scalar.plain_implicit || (tag && !strcmp(tag, "tag:yaml.org,2002:merge")));
}

/* Whether go-yaml's key has the text of this value: JSON keys are strings, so an integer or a boolean becomes its text. */
static bool is_key(const struct yaml_scalar *value)
{
	return value->kind == DOC_STRING || value->kind == DOC_BOOL ||
	       (value->kind == DOC_NUMBER && !value->is_float &&
		       (value->text[0] == '-' || strtoull(value->text, NULL, 10) <= INT64_MAX));
}

static int reject_key(const struct reader *rd, const yaml_event_t *event, const char *why)
{
	return err_set(rd->err, -EINVAL, "line %zu: a key that is %s", event_line(rd, event), why);
}

/* As read_yaml_node() for a scalar, which counts and may have an anchor, but only a value that go-yaml takes as a key of JSON. */
static int read_scalar_key(struct reader *rd, const yaml_event_t *event, struct doc *key)
{
	struct yaml_scalar value;
	size_t anchor;
	int r = begin_anchor(rd, event, &anchor);

	r = r < 0 ? r : count_decoded_nodes(rd, event, COUNT_NO_ALIAS);
	r = r < 0 ? r : resolve_event(rd, event, &value);
	if (r < 0)
		return r;
	if (!is_key(&value))
		return reject_key(
			rd, event, value.kind == DOC_NULL ? "null" : "a fraction or a large number");
	r = set_scalar(rd, event, &value, key);
	return r < 0 ? r : end_anchor(rd, event, anchor, key);
}

static int read_key(struct reader *rd, const yaml_event_t *event, int depth, struct doc *key)
{
	int r;

	if (event->type == YAML_SCALAR_EVENT)
		return read_scalar_key(rd, event, key);
	if (event->type != YAML_ALIAS_EVENT)
		return reject_key(rd, event, "not a scalar");
	r = read_alias(rd, event, depth, key);
	if (r == 0 && key->kind != DOC_STRING && key->kind != DOC_BOOL)
		return reject_key(rd, event, "an alias of something else than a string");
	return r;
}

/* Append the members of a map that is merged into another. */
static int append_members(
	const struct reader *rd, const yaml_event_t *event, struct doc *from, struct doc *to)
{
	if (from->kind != DOC_MAP)
		return err_set(rd->err, -EINVAL, "line %zu: '<<' requires a map or a list of maps, not %s",
			event_line(rd, event), doc_kind_name(from));
	DOC_FOREACH (member, from) {
		*doc_add(to, NULL) = *member;
		*member = (struct doc)DOC_INIT;
	}
	return 0;
}

/* The list after "<<". The members of the first map count, so they are appended last. */
static int read_merged_list(struct reader *rd, const yaml_event_t *event, int depth, struct doc *to)
{
	CLEANUP(doc_release) struct doc maps = {.kind = DOC_LIST};
	int r = read_items(rd, event, depth, &maps);

	for (size_t i = maps.n_items; i > 0 && r == 0; i--)
		r = append_members(rd, event, &maps.items[i - 1], to);
	return r;
}

/* The value after "<<": its members are appended to the map. */
static int read_merged(struct reader *rd, int depth, struct doc *to)
{
	CLEANUP(yaml_event_delete) yaml_event_t event = {0};
	CLEANUP(doc_release) struct doc value = DOC_INIT;
	size_t anchor;
	int r = next_event(rd, &event);

	if (r < 0)
		return r;
	if (event.type == YAML_SEQUENCE_START_EVENT) {
		r = begin_anchor(rd, &event, &anchor);
		/* Not supported: the list is read item by item, and so has no value that an alias could copy. */
		if (r == 0 && anchor != SIZE_MAX)
			return err_set(rd->err, -EINVAL, "line %zu: an anchor of a list after '<<'",
				event_line(rd, &event));
		return r < 0 ? r : read_merged_list(rd, &event, depth, to);
	}
	r = read_yaml_node(rd, &event, depth, &value);
	return r < 0 ? r : append_members(rd, &event, &value, to);
}

/* The key and the value that begin with `event`. */
static int read_member(struct reader *rd, const yaml_event_t *event, int depth, struct doc *map)
{
	CLEANUP(yaml_event_delete) yaml_event_t value = {0};
	CLEANUP(doc_release) struct doc key = DOC_INIT;
	size_t anchor;
	int r;

	if (is_merge(event)) {
		const struct doc text = {.kind = DOC_STRING, .text = (char[]){"<<"}};

		r = begin_anchor(rd, event, &anchor);
		r = r < 0 ? r : end_anchor(rd, event, anchor, &text);
		return r < 0 ? r : read_merged(rd, depth, map);
	}
	r = read_key(rd, event, depth, &key);
	r = r < 0 ? r : next_event(rd, &value);
	return r < 0 ? r : read_yaml_node(rd, &value, depth, doc_add(map, key.text));
}

/*
 * Of equal keys the last counts. For go-yaml the keys 1 and "1" differ, but not in JSON: which of them counts is random, so
 * such keys are refused.
 */
static int settle_keys(const struct reader *rd, const yaml_event_t *event, struct doc *map)
{
	CLEANUP(freep) const struct doc **sorted = map->n_items > 1 ? doc_sorted(map) : NULL;
	bool twice = false;

	for (size_t i = 1; i < map->n_items; i++) {
		const char *key = sorted[i]->key;

		if (strcmp(sorted[i - 1]->key, key) != 0)
			continue;
		if (rd->unique_keys || yaml_scalar_resolve(key).kind != DOC_STRING)
			return err_set(rd->err, -EINVAL,
				"key '%.100s' appears twice in the map that begins at line %zu", key,
				event_line(rd, event));
		twice = true;
	}
	if (twice)
		doc_drop_duplicates(map);
	return 0;
}

static int read_members(struct reader *rd, const yaml_event_t *event, int depth, struct doc *ret)
{
	bool flow = event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;

	if (flow)
		rd->brackets++;
	for (;;) {
		CLEANUP(yaml_event_delete) yaml_event_t key = {0};
		int r = next_event(rd, &key);

		if (r < 0)
			return r;
		if (key.type == YAML_MAPPING_END_EVENT) {
			if (flow)
				rd->brackets--;
			return settle_keys(rd, event, ret);
		}
		r = read_member(rd, &key, depth + 1, ret);
		if (r < 0)
			return r;
	}
}

/* ---- nodes */

static int read_items(struct reader *rd, const yaml_event_t *event, int depth, struct doc *ret)
{
	bool flow = event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;

	if (flow)
		rd->brackets++;
	for (;;) {
		CLEANUP(yaml_event_delete) yaml_event_t value = {0};
		int r = next_event(rd, &value);

		if (r < 0)
			return r;
		if (value.type == YAML_SEQUENCE_END_EVENT) {
			if (flow)
				rd->brackets--;
			return 0;
		}
		r = read_yaml_node(rd, &value, depth + 1, doc_add(ret, NULL));
		if (r < 0)
			return r;
	}
}

static int read_yaml_node(struct reader *rd, const yaml_event_t *event, int depth, struct doc *ret)
{
	struct yaml_scalar scalar;
	size_t anchor;
	int r;

	if (depth > YAML_MAX_DEPTH)
		return reject_size(rd, event);
	if (event->type == YAML_ALIAS_EVENT)
		return read_alias(rd, event, depth, ret);
	r = begin_anchor(rd, event, &anchor);
	r = r < 0 ? r : count_decoded_nodes(rd, event, COUNT_NO_ALIAS);
	if (r < 0)
		return r;
	if (event->type == YAML_SCALAR_EVENT) {
		r = resolve_event(rd, event, &scalar);
		r = r < 0 ? r : set_scalar(rd, event, &scalar, ret);
	} else if (event->type == YAML_MAPPING_START_EVENT) {
		ret->kind = DOC_MAP;
		r = read_members(rd, event, depth, ret);
	} else {
		ret->kind = DOC_LIST;
		r = read_items(rd, event, depth, ret);
	}
	return r < 0 ? r : end_anchor(rd, event, anchor, ret);
}

/* ---- texts */

/* Limit the tag directives: libyaml compares each with all earlier ones, within one event. */
static int check_directives(const struct reader *rd, const char *text, size_t len)
{
	static const char directive[] = "%TAG";
	const char *at = text, *end = text + len;
	size_t n = 0;

	while ((at = memmem(at, (size_t)(end - at), directive, strlen(directive)))) {
		if (at == text || at[-1] == '\n' || at[-1] == '\r') /* the line begins with the directive */
			n++;
		if (n > YAML_MAX_DIRECTIVES)
			return err_set(rd->err, -EINVAL, "line %zu: more than %u lines of %s",
				rd->line + encoding_line(text, (size_t)(at - text)), YAML_MAX_DIRECTIVES,
				directive);
		at += strlen(directive);
	}
	return 0;
}

static int begin_document(struct reader *rd, const yaml_event_t *event)
{
	const yaml_version_directive_t *version = event->data.document_start.version_directive;

	if (version && version->minor != 1)
		return err_set(rd->err, -EINVAL, "line %zu: Kubernetes reads YAML 1.1, not %d.%d",
			event_line(rd, event), version->major, version->minor);
	return count_decoded_nodes(rd, event, COUNT_NO_ALIAS);
}

/* Text after a document without "---" or "..." between them: go-yaml ignores it, or not, so it is refused. */
static int check_rest(struct reader *rd)
{
	CLEANUP(yaml_event_delete) yaml_event_t event = {0};

	return next_event(rd, &event);
}

/* Read up to the end of the first document. -ENOENT: there is none. */
static int read_events(struct reader *rd, struct doc *ret)
{
	for (;;) {
		CLEANUP(yaml_event_delete) yaml_event_t event = {0};
		int r = next_event(rd, &event);

		if (r < 0)
			return r;
		if (event.type == YAML_DOCUMENT_END_EVENT)
			return event.data.document_end.implicit ? check_rest(rd) : 0;
		if (event.type == YAML_STREAM_END_EVENT)
			return err_set(rd->err, -ENOENT, "no YAML document in it");
		if (event.type == YAML_STREAM_START_EVENT)
			continue;
		r = event.type == YAML_DOCUMENT_START_EVENT ? begin_document(rd, &event)
							    : read_yaml_node(rd, &event, 0, ret);
		if (r < 0)
			return r;
	}
}

static int parse_utf8(const char *text, size_t len, struct reader *rd, struct doc *ret)
{
	CLEANUP(doc_release) struct doc d = DOC_INIT;
	const size_t mark = strlen(UTF8_BYTE_ORDER_MARK);
	const char *second = memmem(text, len, UTF8_BYTE_ORDER_MARK, mark);
	int r = check_directives(rd, text, len);

	if (r < 0)
		return r;
	if (second)
		return err_set(rd->err, -EINVAL, "line %zu: a byte order mark within the text",
			rd->line + encoding_line(text, (size_t)(second - text)));
	yaml_parser_set_encoding(&rd->parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&rd->parser, (const unsigned char *)text, len);
	rd->text = text;
	rd->len = len;
	r = read_events(rd, &d);
	if (r < 0)
		return r;
	*ret = d;
	d = (struct doc)DOC_INIT;
	return 0;
}

static int parse_document(
	const char *text, size_t len, size_t line, bool unique_keys, struct doc *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf utf8 = STRBUF_INIT(YAML_TEXT_MAX);
	CLEANUP(yaml_reader_release)
	struct reader rd = {.line = line, .unique_keys = unique_keys, .err = err};
	int r;

	if (!yaml_parser_initialize(&rd.parser))
		xalloc_failed();
	r = encoding_to_utf8(text, len, &utf8, &text, &len, err);
	return r < 0 ? r : parse_utf8(text, len, &rd, ret);
}

int yaml_parse_first(const char *text, size_t len, struct doc *ret, struct err *err)
{
	return parse_document(text, len, 0, false, ret, err);
}

int yaml_parse_at_line(const char *text, size_t len, size_t line, struct doc *ret, struct err *err)
{
	return parse_document(text, len, line - 1, false, ret, err);
}

static int refuse_empty(int r, struct err *err)
{
	return r == -ENOENT ? err_set(err, -EINVAL, "empty, no YAML document in it") : r;
}

int yaml_parse(const char *text, size_t len, struct doc *ret, struct err *err)
{
	return refuse_empty(parse_document(text, len, 0, false, ret, err), err);
}

int yaml_parse_unique(const char *text, size_t len, struct doc *ret, struct err *err)
{
	return refuse_empty(parse_document(text, len, 0, true, ret, err), err);
}

int yaml_parse_config(const char *text, size_t len, bool unique_keys, struct doc *ret, struct err *err)
{
	int json = json_begins(text, len, err), r;

	if (json < 0)
		return json;
	r = json > 0 ? json_parse_unique(text, len, ret, err)
		     : refuse_empty(parse_document(text, len, 0, unique_keys, ret, err), err);
	if (r == 0 && unique_keys)
		doc_normalize(ret);
	return r;
}

/* ---- printing */

static int write_strbuf(void *data, unsigned char *text, size_t len)
{
	strbuf_add(data, text, len);
	return strbuf_error(data) == 0;
}

/* `initialized`: what the event's initialization returned, which the caller writes as the argument. */
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

/* A string that would be read as another value, or as a merge. */
static bool needs_quotes(const char *text)
{
	return yaml_scalar_resolve(text).kind != DOC_STRING || !strcmp(text, "<<");
}

static bool emit_doc(yaml_emitter_t *emitter, const struct doc *d)
{
	yaml_event_t event;
	bool map = d->kind == DOC_MAP;

	if (d->kind == DOC_STRING)
		return emit_text(emitter, d->text, needs_quotes(d->text));
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
		if ((map && !emit_text(emitter, item->key, needs_quotes(item->key))) ||
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

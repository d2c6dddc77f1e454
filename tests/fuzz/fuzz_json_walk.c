/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON text, in pieces of so many bytes as the first byte says. The text gives the same parts and the same error as in
 * one piece, and a walk through a valid text finds what json_parse() finds.
 */
#include "tests/fuzz/fuzz.h"

#include "common/cleanup.h"
#include "common/io/json.h"

#define OUT_MAX ((size_t)64 << 20)

static int note_part(
	enum json_stream_part what, struct doc *part, const struct doc *list, void *data, struct err *err)
{
	struct strbuf *out = data;

	(void)err;
	fuzz_require(part->kind == DOC_MAP && (what == JSON_STREAM_ITEM) == (list != NULL));
	strbuf_addf(out, "%d ", (int)what);
	if (list)
		json_print_compact(list, out);
	fuzz_require(json_print_compact(part, out) == 0);
	return 0;
}

static void note_skip(void *data, const struct err *why)
{
	struct strbuf *out = data;

	fuzz_check_line(why->text);
	strbuf_addf(out, "skip %s", why->text);
}

/* The parts of the text and the result. Each piece is a copy, so that a read behind the piece is found. */
static void read_stream(
	const uint8_t *data, size_t size, size_t piece, json_stream_skip_fn *skip, struct strbuf *out)
{
	CLEANUP(json_stream_release) struct json_stream stream;
	struct err err = {""};
	int r = 0;

	json_stream_init(&stream, note_part, out);
	stream.skip = skip;
	for (size_t at = 0; at < size && r == 0; at += piece) {
		size_t n = size - at < piece ? size - at : piece;
		CLEANUP(freep) char *copy = malloc(n);

		fuzz_require(copy != NULL);
		memcpy(copy, data + at, n);
		r = json_stream_feed(&stream, copy, n, &err);
	}
	if (r == 0)
		r = json_stream_end(&stream, &err);
	if (r < 0)
		fuzz_check_line(err.text);
	strbuf_addf(out, "%d %s", r, err.text);
}

static void check_stream(const uint8_t *data, size_t size, size_t piece, json_stream_skip_fn *skip)
{
	CLEANUP(strbuf_release) struct strbuf whole = STRBUF_INIT(OUT_MAX), pieces = STRBUF_INIT(OUT_MAX);

	read_stream(data, size, size > 0 ? size : 1, skip, &whole);
	read_stream(data, size, piece, skip, &pieces);
	fuzz_require(!strcmp(whole.text, pieces.text));
}

static void check_string(struct json_piece piece, const char *want)
{
	CLEANUP(freep) char *text = malloc(piece.len + 1);

	fuzz_require(text && json_piece_string(piece, text) == (int)strlen(want) + 1 && !strcmp(text, want));
}

/* `piece` is the text of `d`. */
static void check_value(struct json_piece piece, const struct doc *d)
{
	struct json_piece key, value;
	struct json_walk walk;
	size_t n = 0;

	fuzz_require(json_piece_is_null(piece) == (d->kind == DOC_NULL));
	if (d->kind == DOC_STRING)
		check_string(piece, d->text);
	fuzz_require(json_walk_begin(&walk, piece, '{') == (d->kind == DOC_MAP));
	if (d->kind == DOC_LIST)
		fuzz_require(json_walk_begin(&walk, piece, '['));
	if (d->kind != DOC_MAP && d->kind != DOC_LIST)
		return;
	while (json_walk_next(&walk, d->kind == DOC_MAP ? &key : NULL, &value) > 0) {
		fuzz_require(n < d->n_items);
		if (d->kind == DOC_MAP)
			check_string(key, d->items[n].key);
		check_value(value, &d->items[n++]);
	}
	fuzz_require(n == d->n_items);
}

static void check_walk(const uint8_t *data, size_t size)
{
	/* Without a NUL behind it. */
	CLEANUP(freep) char *text = malloc(size > 0 ? size : 1);
	CLEANUP(doc_release) struct doc d = DOC_INIT;
	struct json_piece whole, key, value;
	struct json_walk walk;

	fuzz_require(text != NULL);
	memcpy(text, data, size);
	if (json_parse(text, size, &d, NULL) == 0) {
		fuzz_require(json_walk_text(text, size, &whole) == 0);
		check_value(whole, &d);
	} else if (json_walk_text(text, size, &whole) == 0 && json_walk_begin(&walk, whole, '{')) {
		while (json_walk_next(&walk, &key, &value) > 0)
			fuzz_require(value.len > 0 && value.text + value.len <= text + size);
	}
}

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return;
	check_stream(data + 1, size - 1, (size_t)data[0] + 1, NULL);
	check_stream(data + 1, size - 1, (size_t)data[0] + 1, note_skip);
	check_walk(data + 1, size - 1);
}

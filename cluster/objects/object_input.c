/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/objects/object_input.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/io/encoding.h"
#include "common/io/fs.h"
#include "common/io/json.h"
#include "common/io/manifest.h"
#include "common/io/time.h"
#include "common/text.h"
#include "common/vec.h"

#define YAML_TEXT_MAX ((size_t)1 << 30)
#define CHUNK_BYTES   65536
#define KINDS_SIZE    128 /* of the names of all kinds, and " or " between them */

const char *const object_kind_names[OBJECT_KIND_COUNT] = {[OBJECT_NRT] = "NodeResourceTopology",
	[OBJECT_NODE] = "Node",
	[OBJECT_POD] = "Pod",
	[OBJECT_PDB] = "PodDisruptionBudget",
	[OBJECT_EVENT] = "Event",
	[OBJECT_CLAIM] = "ResourceClaim",
	[OBJECT_SLICE] = "ResourceSlice"};

int64_t object_created_s(const struct doc *object)
{
	int64_t s = 0;

	return timestamp_parse(doc_text(doc_get(object, "metadata"), "creationTimestamp"), &s) < 0 ? 0 : s;
}

/* Where the objects go. */
struct sink {
	unsigned kinds;
	object_fn *fn;
	void *data;
	size_t n_objects; /* so far */
	/* The items of the current List that have no kind, until the List's kind is known. */
	struct doc *early;
	size_t n_early, early_size;
};

/* ---- kinds */

/* "NodeResourceTopology", "Node or Pod": the accepted kinds. */
static void print_kinds(unsigned kinds, char text[KINDS_SIZE])
{
	size_t len = 0;

	for (size_t i = 0; i < OBJECT_KIND_COUNT; i++)
		if (kinds >> i & 1)
			len += (size_t)snprintf(text + len, KINDS_SIZE - len, "%s%s", len > 0 ? " or " : "",
				object_kind_names[i]);
}

/* The accepted kind whose name is the first `len` bytes of `name`, or -1. */
static int find_kind(const struct sink *sink, const char *name, size_t len)
{
	for (int i = 0; i < OBJECT_KIND_COUNT; i++)
		if (sink->kinds >> i & 1 && strlen(object_kind_names[i]) == len &&
			!strncmp(object_kind_names[i], name, len))
			return i;
	return -1;
}

/* Whether to skip an object of a kind that the caller does not accept. An object without a kind (NULL) is an error instead. */
static bool is_skipped(const struct sink *sink, const char *kind)
{
	return sink->kinds & OBJECT_SKIP_OTHERS && kind;
}

/* The length of "Node" in "NodeList"; 0 for "List" and for kinds of other objects. */
static size_t item_kind_length(const char *list_kind)
{
	size_t len = strlen(list_kind), suffix = strlen("List");

	return len > suffix && !strcmp(list_kind + len - suffix, "List") ? len - suffix : 0;
}

/* "List", or a list of an accepted or skipped kind, such as NodeResourceTopologyList. */
static bool is_list(const struct sink *sink, const char *kind)
{
	size_t len = item_kind_length(kind);

	return !strcmp(kind, "List") ||
	       (len > 0 && (find_kind(sink, kind, len) >= 0 || is_skipped(sink, kind)));
}

static int reject_kind(const struct sink *sink, const char *kind, struct err *err)
{
	char kinds[KINDS_SIZE];
	const char *article;

	print_kinds(sink->kinds, kinds);
	article = *kinds == 'E' ? "an" : "a"; /* "an Event" */
	if (!kind)
		return err_set(err, -EINVAL, "not %s %s or a List of them, but an object without a kind",
			article, kinds);
	return err_set(err, -EINVAL, "not %s %s or a List of them, but a '%.60s'", article, kinds, kind);
}

static int pass_object(struct sink *sink, int kind, struct doc *object, struct err *err)
{
	if (++sink->n_objects > OBJECT_INPUT_MAX)
		return err_set(err, -EINVAL, "more than %d objects", OBJECT_INPUT_MAX);
	return sink->fn((enum object_kind)kind, object, sink->data, err);
}

enum { KIND_OTHER = -1, KIND_UNKNOWN = -2 };

/* The only accepted kind; KIND_UNKNOWN if several are accepted, or if others are skipped. */
static int only_kind(const struct sink *sink)
{
	bool is_one = (sink->kinds & (sink->kinds - 1)) == 0; /* OBJECT_SKIP_OTHERS is a second bit */

	return is_one ? __builtin_ctz(sink->kinds) : KIND_UNKNOWN;
}

/* The accepted kind of a List's item, or KIND_OTHER, or KIND_UNKNOWN. Items of a typed list such as NodeList may omit their kind. `list_kind`
 * NULL = not known yet. */
static int kind_of_item(const struct sink *sink, const char *list_kind, const char *kind)
{
	size_t len = list_kind ? item_kind_length(list_kind) : 0;

	if (kind)
		return find_kind(sink, kind, strlen(kind));
	return len > 0 ? find_kind(sink, list_kind, len) : only_kind(sink);
}

static int read_item(struct sink *sink, const char *list_kind, struct doc *item, struct err *err)
{
	const char *kind = doc_string(doc_get(item, "kind"));
	int found = kind_of_item(sink, list_kind, kind);

	if (found >= 0)
		return pass_object(sink, found, item, err);
	if (found == KIND_UNKNOWN)
		return err_set(err, -EINVAL, "the List contains an item without a kind");
	if (sink->kinds & OBJECT_SKIP_OTHERS)
		return 0;
	return err_set(err, -EINVAL, "the List contains a '%.60s'", kind ? kind : list_kind);
}

/* ---- items before the kind of their List, as in a text with sorted members */

static void release_early(struct sink *sink)
{
	for (size_t i = 0; i < sink->n_early; i++)
		doc_release(&sink->early[i]);
	free(sink->early);
	sink->early = NULL;
	sink->n_early = sink->early_size = 0;
}

/* The item moves. */
static int keep_early(struct sink *sink, struct doc *item, struct err *err)
{
	if (sink->n_early == OBJECT_INPUT_MAX)
		return err_set(err, -EINVAL, "more than %d objects", OBJECT_INPUT_MAX);
	*(struct doc *)vec_push(&sink->early, &sink->n_early, &sink->early_size, sizeof(*item)) = *item;
	*item = (struct doc)DOC_INIT;
	return 0;
}

static int read_early(struct sink *sink, const char *list_kind, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < sink->n_early && r == 0; i++)
		r = read_item(sink, list_kind, &sink->early[i], err);
	release_early(sink);
	return r;
}

/* ---- documents */

/* The items of a List. If the member appears twice, the last counts, as for doc_get(). */
static struct doc *list_items(struct doc *object)
{
	struct doc *items = NULL;

	DOC_FOREACH (member, object)
		if (member->key && !strcmp(member->key, "items") && member->kind == DOC_LIST)
			items = member;
	return items;
}

static bool is_null(const struct doc *d)
{
	return d && d->kind == DOC_NULL;
}

static int read_document(struct sink *sink, struct doc *object, struct err *err)
{
	const char *kind = doc_string(doc_get(object, "kind"));
	int found = kind ? find_kind(sink, kind, strlen(kind)) : -1, r = 0;
	struct doc *items;

	if (found >= 0)
		return pass_object(sink, found, object, err);
	if (!kind || !is_list(sink, kind))
		return is_skipped(sink, kind) ? 0 : reject_kind(sink, kind, err);
	items = list_items(object);
	if (!items && is_null(doc_get(object, "items"))) /* as Go writes an empty slice */
		return 0;
	if (!items)
		return err_set(err, -EINVAL, "a List without items");
	for (size_t i = 0; i < items->n_items && r == 0; i++)
		r = read_item(sink, kind, &items->items[i], err);
	return r;
}

/* ---- texts */

static int read_part(
	enum json_stream_part what, struct doc *part, const struct doc *list, void *data, struct err *err)
{
	struct sink *sink = data;
	const char *kind = doc_string(doc_get(what == JSON_STREAM_ITEM ? list : part, "kind"));

	doc_normalize(part);
	if (what != JSON_STREAM_ITEM && what != JSON_STREAM_LIST)
		return read_document(sink, part, err);
	/* The List's kind may follow the items: JSON_STREAM_LIST checks the kind again. */
	if (what == JSON_STREAM_ITEM && !kind)
		return kind_of_item(sink, NULL, doc_string(doc_get(part, "kind"))) == KIND_UNKNOWN
			       ? keep_early(sink, part, err)
			       : read_item(sink, NULL, part, err);
	if (!kind || !is_list(sink, kind)) {
		release_early(sink);
		return is_skipped(sink, kind) ? 0 : reject_kind(sink, kind, err);
	}
	return what == JSON_STREAM_ITEM ? read_item(sink, kind, part, err) : read_early(sink, kind, err);
}

static int read_yaml_document(struct doc *document, void *data, struct err *err)
{
	return document->kind == DOC_NULL ? 0 : read_document(data, document, err);
}

/* Reads up to `size` bytes; 0 at the end of the file. */
static ssize_t read_chunk(int fd, char *chunk, size_t size, struct err *err)
{
	ssize_t n;

	do
		n = read(fd, chunk, size);
	while (n < 0 && errno == EINTR);
	return n < 0 ? err_set(err, -errno, "cannot read: %s", strerror(errno)) : n;
}

static bool is_wanted_kind(void *data, const char *kind)
{
	return find_kind(data, kind, strlen(kind)) >= 0;
}

/* Reads a JSON text whose first `n` bytes are in `chunk`. */
static int read_json(int fd, char *chunk, ssize_t n, struct sink *sink, struct err *err)
{
	CLEANUP(json_stream_release) struct json_stream stream;
	int r = 0;

	json_stream_init(&stream, read_part, sink);
	if (sink->kinds & OBJECT_SKIP_OTHERS)
		stream.wants = is_wanted_kind;
	while (n > 0 && r == 0) {
		r = json_stream_feed(&stream, chunk, (size_t)n, err);
		if (r == 0)
			n = read_chunk(fd, chunk, CHUNK_BYTES, err);
	}
	if (r == 0 && n < 0)
		r = (int)n;
	return r < 0 ? r : json_stream_end(&stream, err);
}

/* As read_json(). Reads the whole text into memory and parses one document at a time. */
static int read_yaml(int fd, char *chunk, ssize_t n, struct sink *sink, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(YAML_TEXT_MAX);

	for (; n > 0; n = read_chunk(fd, chunk, CHUNK_BYTES, err)) {
		strbuf_add(&text, chunk, (size_t)n);
		if (strbuf_error(&text) == -EFBIG)
			return err_set(err, -EFBIG, "larger than %zu bytes", text.max);
	}
	return n < 0 ? (int)n : manifest_parse_each(text.text, text.len, read_yaml_document, sink, err);
}

/* The length of a byte order mark at the start of the chunk; 0 = it has none. */
static ssize_t mark_length(const char *chunk, ssize_t n)
{
	const ssize_t mark = (ssize_t)strlen(UTF8_BYTE_ORDER_MARK);

	return n >= mark && memcmp(chunk, UTF8_BYTE_ORDER_MARK, (size_t)mark) == 0 ? mark : 0;
}

/* A text whose first character is a brace is JSON. Drops chunks that consist of blanks. */
static int read_text(int fd, struct sink *sink, struct err *err)
{
	/* read_json() and read_yaml() read CHUNK_BYTES to the address behind a byte order mark. */
	char chunk[sizeof(UTF8_BYTE_ORDER_MARK) + CHUNK_BYTES];
	char *text;
	ssize_t n, blank;

	do {
		n = read_chunk(fd, chunk, CHUNK_BYTES, err);
		text = chunk + mark_length(chunk, n);
		n -= text - chunk;
		blank = 0;
		while (blank < n && text[blank] && strchr(" \t\r\n", text[blank]))
			blank++;
	} while (n > 0 && blank == n);
	if (n < 0)
		return (int)n;
	return n > 0 && text[blank] == '{' ? read_json(fd, text, n, sink, err)
					   : read_yaml(fd, text, n, sink, err);
}

static int read_fd(int fd, const char *path, struct sink *sink, struct err *err)
{
	size_t before = sink->n_objects;
	bool requires_nrt = sink->kinds & 1u << OBJECT_NRT && !(sink->kinds & OBJECT_SKIP_OTHERS);
	int r = read_text(fd, sink, err);

	if (r == 0 && requires_nrt && sink->n_objects == before)
		r = err_set(err, -EINVAL, "no NodeResourceTopology in it");
	return r < 0 ? err_wrap(err, r, "%s", fs_argument_name(path)) : 0;
}

static int read_file(const char *path, struct sink *sink, struct err *err)
{
	CLEANUP(closep) int fd = fs_open_argument(path, err);

	return fd < 0 ? fd : read_fd(fd, path, sink, err);
}

int object_input_read(const char *path, unsigned kinds, object_fn *fn, void *data, struct err *err)
{
	CLEANUP(strv_release) struct strv files = {0};
	struct sink sink = {.kinds = kinds, .fn = fn, .data = data};
	int r = manifest_files(path, false, &files, err);

	for (size_t i = 0; i < files.n_items && r == 0; i++)
		r = read_file(files.items[i], &sink, err);
	release_early(&sink);
	return r;
}

int object_input_read_fd(int fd, const char *name, unsigned kinds, object_fn *fn, void *data, struct err *err)
{
	struct sink sink = {.kinds = kinds, .fn = fn, .data = data};
	int r = read_fd(fd, name, &sink, err);

	release_early(&sink);
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "common/io/manifest.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/io/encoding.h"
#include "common/io/json.h"
#include "common/io/yaml.h"
#include "common/text.h"
#include "common/xalloc.h"

#define MANIFEST_MAX ((size_t)1 << 30) /* bytes */

struct manifest {
	const char *text; /* UTF-8 */
	size_t len, at;
	size_t line; /* of `at` */
	manifest_fn *fn;
	void *data;
	struct err *err;
};

static void advance_manifest(struct manifest *m, size_t at)
{
	for (; m->at < at; m->at++)
		m->line += m->text[m->at] == '\n';
}

static int deliver_document(const struct manifest *m, struct doc *document)
{
	doc_normalize(document);
	return m->fn(document, m->data, m->err);
}

/* ---- JSON */

/* Read the JSON values up to the end, or to a value that is not JSON, which kubectl reads as YAML if it is the first or the second. 1: the
 * end; 0: *why says why the next value is not JSON. */
static int read_json_values(struct manifest *m, struct err *why)
{
	for (size_t n = 0;; n++) {
		CLEANUP(doc_release) struct doc document = DOC_INIT;
		size_t end = m->at;
		int r = json_parse_next(m->text, m->len, &end, &document, why);

		if (r == -ENOENT)
			return 1;
		if (r < 0) /* a number that is too large is JSON, and what kubectl refuses afterwards */
			return n > 1 || r == -ERANGE ? err_set(m->err, r, "%s", why->text) : 0;
		advance_manifest(m, end);
		r = deliver_document(m, &document);
		if (r < 0)
			return r;
	}
}

/* Between JSON and YAML, kubectl skips white space up to the end of the line, also white space that is not ASCII. False if there may
 * be such white space, which is not skipped here, or if less than four bytes follow, which kubectl does not read as YAML. */
static bool skip_rest_of_line(struct manifest *m)
{
	while (m->len - m->at >= 4) {
		char c = m->text[m->at];

		if (c != ' ' && c != '\t' && c != '\r' && c != '\n')
			return (unsigned char)c < 0x80;
		advance_manifest(m, m->at + 1);
		if (c == '\n')
			return true;
	}
	return false;
}

/* ---- YAML */

/* Whether a line separates documents. -EINVAL: it has other text. */
static int is_separator(const struct manifest *m, const char *line, size_t len)
{
	static const char dashes[] = "---";
	size_t at = strlen(dashes);

	if (len < at || memcmp(line, dashes, at) != 0)
		return 0;
	while (at < len && (line[at] == ' ' || line[at] == '\t' || line[at] == '\r' || line[at] == '\n'))
		at++;
	return at == len || line[at] == '#'
		       ? 1
		       : err_set(m->err, -EINVAL, "line %zu: text after the '---' that separates documents",
				 m->line);
}

/* Append a line with a newline, and without the carriage return before the newline. */
static void add_manifest_line(struct strbuf *out, const char *line, size_t len)
{
	if (len > 0 && line[len - 1] == '\n') {
		len--;
		if (len > 0 && line[len - 1] == '\r')
			len--;
	}
	strbuf_add(out, line, len);
	strbuf_addch(out, '\n');
}

/* Read the lines of the next document, which begins with the separator before it. 1; 0: there are no more; -EINVAL. */
static int next_document(struct manifest *m, struct strbuf *out, size_t *ret_line)
{
	strbuf_reset(out);
	*ret_line = m->line;
	while (m->at < m->len) {
		const char *line = m->text + m->at, *end = memchr(line, '\n', m->len - m->at);
		size_t len = end ? (size_t)(end - line) + 1 : m->len - m->at;
		int separates = is_separator(m, line, len);

		if (separates < 0)
			return separates;
		advance_manifest(m, m->at + len);
		if (separates && out->len > 0)
			return 1;
		add_manifest_line(out, line, len);
	}
	return out->len > 0;
}

/* `not_json`: the message for a first document that is not YAML either, or "". */
static int read_yaml_documents(struct manifest *m, const struct err *not_json)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MANIFEST_MAX);
	size_t line, n = 0;
	int r;

	while ((r = next_document(m, &text, &line)) > 0) {
		CLEANUP(doc_release) struct doc document = DOC_INIT;
		struct err why = {""};

		if (strbuf_error(&text) < 0)
			return err_set(m->err, -EFBIG, "line %zu: a document larger than %zu bytes", line,
				MANIFEST_MAX);
		r = yaml_parse_at_line(text.text, text.len, line, &document, &why);
		/* -ENOENT: only comments. Delivered as null. */
		if (r < 0 && r != -ENOENT)
			return err_set(
				m->err, r, "%s", n == 0 && *not_json->text ? not_json->text : why.text);
		n++;
		r = deliver_document(m, &document);
		if (r < 0)
			return r;
	}
	return r;
}

/* ---- texts */

/* JSON until its end, or until a value that is no JSON: the rest is YAML. `not_json` is the error if that is no YAML either, or if the
 * rest of the line cannot be skipped. */
static int read_documents(struct manifest *m)
{
	struct err not_json = {""};
	int is_json = json_begins(m->text, m->len, m->err), at_end = 0;

	if (is_json < 0)
		return is_json;
	if (is_json)
		at_end = read_json_values(m, &not_json);
	if (at_end != 0)
		return at_end < 0 ? at_end : 0;
	if (is_json && !skip_rest_of_line(m))
		return err_set(m->err, -EINVAL, "%s", not_json.text);
	return read_yaml_documents(m, &not_json);
}

int manifest_parse_each(const char *text, size_t len, manifest_fn *fn, void *data, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf utf8 = STRBUF_INIT(MANIFEST_MAX);
	struct manifest m = {.line = 1, .fn = fn, .data = data, .err = err};
	int r = encoding_to_utf8(text, len, &utf8, &m.text, &m.len, err);

	return r < 0 ? r : read_documents(&m);
}

static int add_document(struct doc *document, void *data, struct err *err)
{
	(void)err;
	*doc_add(data, NULL) = *document;
	*document = (struct doc)DOC_INIT;
	return 0;
}

int manifest_parse_all(const char *text, size_t len, struct doc *ret, struct err *err)
{
	CLEANUP(doc_release) struct doc list = {.kind = DOC_LIST};
	int r = manifest_parse_each(text, len, add_document, &list, err);

	if (r == 0 && list.n_items == 0)
		r = err_set(err, -ENOENT, "no YAML document in it");
	if (r < 0)
		return r;
	*ret = list;
	list = (struct doc)DOC_INIT;
	return 0;
}

/* ---- files */

#define DEPTH_MAX 32u /* of directories below each other */

static bool is_manifest_name(const char *name)
{
	return text_ends_with(name, ".yaml") || text_ends_with(name, ".yml") || text_ends_with(name, ".json");
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int list_directory(
	const char *directory, bool recursive, unsigned depth, struct strv *ret, struct err *err);

static int list_entry(char *path, bool recursive, unsigned depth, struct strv *ret, struct err *err)
{
	struct stat st;

	if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return recursive ? list_directory(path, recursive, depth + 1, ret, err) : 0;
	if (!is_manifest_name(path))
		return 0;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return 0; /* a link to a directory */
	if (ret->n_items == MANIFEST_FILES_MAX)
		return err_set(err, -EFBIG, "more than %u files", MANIFEST_FILES_MAX);
	strv_push(ret, path);
	return 0;
}

static int list_directory(
	const char *directory, bool recursive, unsigned depth, struct strv *ret, struct err *err)
{
	struct dirent **entries = NULL;
	int n, r = 0;

	if (depth > DEPTH_MAX)
		return err_set(
			err, -EFBIG, "'%.200s' is more than %u directories deep", directory, DEPTH_MAX);
	n = scandir(directory, &entries, is_visible, alphasort);
	if (n < 0)
		return err_set(err, -errno, "cannot read '%.200s': %s", directory, strerror(errno));
	for (int i = 0; i < n; i++) {
		CLEANUP(freep) char *path = xasprintf("%s/%s", directory, entries[i]->d_name);

		if (r == 0)
			r = list_entry(path, recursive, depth, ret, err);
		free(entries[i]);
	}
	free(entries);
	return r;
}

int manifest_files(const char *argument, bool recursive, struct strv *ret, struct err *err)
{
	size_t before = ret->n_items;
	struct stat st;
	int r;

	if (!strncmp(argument, "https://", strlen("https://")) ||
		!strncmp(argument, "http://", strlen("http://")))
		return err_set(err, -EINVAL, "'%.200s': URLs are not read: download the file", argument);
	if (!strcmp(argument, "-") || stat(argument, &st) < 0 || !S_ISDIR(st.st_mode)) {
		strv_push(ret, argument);
		return 0;
	}
	r = list_directory(argument, recursive, 0, ret, err);
	return r < 0 || ret->n_items > before
		       ? r
		       : err_set(err, -EINVAL, "'%.200s' contains no .yaml, .yml or .json file", argument);
}

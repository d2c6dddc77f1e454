/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe/state_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <strings.h>

#include "agent/observe/fs_root.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/io/json.h"
#include "common/xalloc.h"
#include "scoring/node/known_machine.h"

void state_file_release(struct state_file *f)
{
	doc_release(&f->top);
	doc_release(&f->data);
	*f = (struct state_file)STATE_FILE_INIT;
}

int state_check_object(const struct doc *d, struct err *err)
{
	return d->kind == DOC_MAP ? 0 : err_set(err, -EINVAL, "an object expected, not %s", doc_kind_name(d));
}

static int parse_object(const char *text, size_t len, struct doc *ret, struct err *err)
{
	CLEANUP(doc_release) struct doc d = DOC_INIT;
	int r;

	if (len == 0)
		return err_set(err, -EINVAL, "empty");
	if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		return err_set(err, -EINVAL, "begins with a byte order mark, not with JSON");
	r = json_parse_unique(text, len, &d, err);
	if (r < 0)
		return r;
	r = state_check_object(&d, err);
	if (r < 0)
		return r;
	*ret = d;
	d = (struct doc)DOC_INIT;
	return 0;
}

/* The member in any spelling, or NULL; fails when it appears in two spellings. */
static const struct doc *find_state_member(struct state_members *m, const char *name)
{
	const struct doc *found = NULL;

	if (m->r == 0)
		m->r = state_check_object(m->map, m->err);
	for (size_t i = 0; m->r == 0 && i < m->map->n_items; i++) {
		const struct doc *item = &m->map->items[i];

		if (strcasecmp(item->key, name) != 0)
			continue;
		if (found)
			m->r = err_set(
				m->err, -EINVAL, "'%s' appears twice, also as '%s'", found->key, item->key);
		found = item;
	}
	return m->r == 0 ? found : NULL;
}

bool state_has_member(const struct doc *map, const char *name)
{
	const struct doc *member = map->kind == DOC_MAP ? doc_get_fold(map, name) : NULL;

	return member && member->kind != DOC_NULL;
}

const struct doc *state_member(struct state_members *m, const char *name, enum doc_kind kind)
{
	const struct doc *found = find_state_member(m, name), wanted = {.kind = kind};

	if (!found || found->kind == DOC_NULL)
		return NULL;
	if (found->kind == kind)
		return found;
	m->r = err_set(m->err, -EINVAL, "%s: %s expected, not %s", name, doc_kind_name(&wanted),
		doc_kind_name(found));
	return NULL;
}

const char *state_string(struct state_members *m, const char *name)
{
	const struct doc *member = state_member(m, name, DOC_STRING);

	return member ? member->text : "";
}

uint64_t state_uint64(struct state_members *m, const char *name)
{
	const struct doc *member = state_member(m, name, DOC_NUMBER);
	uint64_t value = 0;

	if (member && doc_uint64(member, &value) < 0)
		m->r = err_set(
			m->err, -EINVAL, "%s: an integer from 0 on expected, not %.50s", name, member->text);
	return value;
}

hwloc_bitmap_t state_numa_nodes(struct state_members *m, const char *name)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = cpuset_new();
	const struct doc *list = state_member(m, name, DOC_LIST);

	for (size_t i = 0; list && i < list->n_items; i++) {
		uint64_t id;

		if (doc_uint64(&list->items[i], &id) < 0 || id >= MACHINE_MAX_NODES) {
			m->r = err_set(m->err, -EINVAL, "%s: not a list of NUMA node ids", name);
			break;
		}
		cpuset_set(nodes, (unsigned)id);
	}
	return m->r == 0 ? TAKE(nodes) : NULL;
}

int state_file_parse(const char *text, size_t len, size_t max, struct state_file *ret, struct err *err)
{
	CLEANUP(state_file_release) struct state_file f = STATE_FILE_INIT;
	struct state_members m = {.map = &f.top, .err = err};
	const char *data;
	int r;

	if (len > max)
		return err_set(err, -EFBIG, "larger than the %zu bytes allowed", max);
	r = parse_object(text, len, &f.top, err);
	if (r < 0)
		return r;
	f.checksum_member = "checksum";
	data = doc_string(find_state_member(&m, "data"));
	if (data) {
		r = parse_object(data, strlen(data), &f.data, err);
		if (r < 0)
			return err_wrap(err, r, "data");
		if (state_member(&m, "dataChecksum", DOC_NUMBER))
			f.checksum_member = "dataChecksum";
	}
	f.checksum = state_uint64(&m, f.checksum_member);
	if (m.r < 0)
		return m.r;
	*ret = f;
	f = (struct state_file)STATE_FILE_INIT;
	return 0;
}

const struct doc *state_file_content(const struct state_file *f)
{
	return f->data.kind == DOC_MAP ? &f->data : &f->top;
}

int state_file_checksum(const struct state_file *f, const struct doc *content,
	const struct checksum_shape *shapes, size_t n_shapes, struct strbuf *text, struct checksum_match *ret)
{
	const char *data;

	if (f->data.kind != DOC_MAP)
		return checksum_find(content, shapes, n_shapes, f->checksum, text, ret);
	data = doc_get_fold(&f->top, "data")->text;
	if (text) {
		strbuf_addstr(text, "(string)");
		strbuf_addstr(text, data);
		if (strbuf_error(text) < 0)
			return strbuf_error(text);
	}
	ret->computed = checksum_data(data);
	ret->matches = ret->computed == f->checksum;
	return 0;
}

bool state_file_verify(const struct state_file *f, const struct checksum_match *match, struct notes *notes)
{
	if (f->checksum == 0 || match->matches)
		return true;
	notes_add(notes, "%s is %" PRIu64 ", but that of the content is %" PRIu32, f->checksum_member,
		f->checksum, match->computed);
	return false;
}

/* ---- entries in doubt */

void state_doubt(struct state_doubts *d, const char *fmt, ...)
{
	CLEANUP(freep) char *text = NULL;
	va_list ap;

	if (d->n++ >= STATE_DOUBTS_NOTED)
		return;
	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	notes_add(d->notes, "%s", text);
}

void state_doubts_end(const struct state_doubts *d)
{
	if (d->n > STATE_DOUBTS_NOTED)
		notes_add(d->notes, "%zu more entries are in doubt", d->n - STATE_DOUBTS_NOTED);
}

void state_note_absent_nodes(hwloc_const_bitmap_t nodes, struct notes *notes)
{
	CLEANUP(freep) char *list = cpuset_print(nodes);

	if (!hwloc_bitmap_iszero(nodes))
		notes_add(notes, "NUMA nodes %.200s do not exist on this machine " ABSENT_FROM_MACHINE, list);
}

/* ---- a file of one kind */

void kubelet_state_release(struct kubelet_state *s)
{
	free(s->policy);
	allocations_release(&s->allocations);
	for (size_t i = 0; i < s->n_registered; i++) {
		strv_release(&s->registered[i].ids);
		free(s->registered[i].resource);
	}
	free(s->registered);
	*s = (struct kubelet_state){0};
}

int state_parse(const struct state_kind *kind, const char *text, size_t len, const struct machine *machine,
	struct kubelet_state *ret, struct notes *notes, struct err *err)
{
	CLEANUP(state_file_release) struct state_file file = STATE_FILE_INIT;
	CLEANUP(kubelet_state_release) struct kubelet_state state = {0};
	int r = state_file_parse(text, len, kind->max, &file, err);

	if (r < 0)
		return r;
	r = kind->read(&file, machine, &state, notes, err);
	if (r < 0)
		return r;
	*ret = state;
	state = (struct kubelet_state){0};
	return 0;
}

/* The file's text, or the last text of a missing file: then 1. */
static int read_state_text(const char *root, const char *path, char **last, struct strbuf *text,
	struct notes *notes, struct err *err)
{
	int r = fs_read(root, path, text, err);

	if (r == -ENOENT && last && *last) {
		strbuf_addstr(text, *last);
		notes_add(notes, "the file is missing; its last content is used until it exists again");
		return strbuf_error(text) < 0 ? err_set(err, strbuf_error(text), "longer than allowed") : 1;
	}
	/* The caller will keep the new text. */
	if (r == 0 && last)
		freep(last);
	return r;
}

int state_read(const struct state_kind *kind, const char *root, const char *path,
	const struct machine *machine, char **last, struct kubelet_state *ret, struct notes *notes,
	struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(kind->max);
	CLEANUP(notes_release) struct notes own = {0};
	int read = read_state_text(root, path, last, &text, &own, err), r;

	if (read < 0)
		return read;
	r = state_parse(kind, text.text, text.len, machine, ret, &own, err);
	if (last && read == 0)
		*last = strbuf_detach(&text);
	notes_move(notes, &own, path);
	return r < 0 ? err_wrap(err, r, "%s%s", root, path) : read;
}

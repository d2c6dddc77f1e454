/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the items of `nrtd check`, and prints them as text or JSON. */
#include "agent/check/check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

const char *const check_level_names[CHECK_LEVEL_COUNT] = {
	[CHECK_OK] = "ok", [CHECK_NOTE] = "note", [CHECK_WARN] = "warn", [CHECK_FAIL] = "FAIL"};

void check_report_release(struct check_report *r)
{
	for (size_t i = 0; i < r->n_items; i++) {
		free(r->items[i].path);
		free(r->items[i].format);
		free(r->items[i].text);
		free(r->items[i].remedy);
	}
	free(r->items);
	*r = (struct check_report){0};
}

__attribute__((format(printf, 2, 0))) static void set_text(char **slot, const char *fmt, va_list ap)
{
	char *text = xvasprintf(fmt, ap);

	text_one_line(text);
	free(*slot);
	*slot = text;
}

struct check_item *check_report_add(
	struct check_report *r, enum check_level level, const char *source, const char *fmt, ...)
{
	struct check_item *item = vec_push(&r->items, &r->n_items, &r->items_size, sizeof(*item));
	va_list ap;

	item->level = level;
	item->source = source;
	item->age_s = CHECK_NO_AGE;
	va_start(ap, fmt);
	set_text(&item->text, fmt, ap);
	va_end(ap);
	return item;
}

void check_report_set(char **slot, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_text(slot, fmt, ap);
	va_end(ap);
}

void check_report_line(struct check_report *r, enum check_level level, const char *source, const char *state,
	const char *text, const char *remedy)
{
	struct check_item *item = check_report_add(r, level, source, "%s", text);

	item->state = state;
	if (remedy)
		check_report_set(&item->remedy, "%s", remedy);
}

enum check_level check_report_level(const struct check_report *r)
{
	enum check_level worst = CHECK_OK;

	for (size_t i = 0; i < r->n_items; i++)
		if (r->items[i].level > worst)
			worst = r->items[i].level;
	return worst;
}

const char *check_state_of(int r)
{
	if (r == -ENOENT || r == -ENOTDIR)
		return "absent";
	return r == -EACCES || r == -EPERM ? "denied" : "broken";
}

void check_duration(int64_t seconds, struct strbuf *out)
{
	char text[40] = "";

	text_add_duration(text, sizeof(text), seconds);
	strbuf_addstr(out, text);
}

void check_report_text(const struct check_report *r, struct strbuf *out)
{
	for (size_t i = 0; i < r->n_items; i++) {
		const struct check_item *item = &r->items[i];
		const char *sep = "";

		strbuf_addf(out, "%-4s  %-13s  ", check_level_names[item->level], item->source);
		if (item->path) {
			strbuf_addf(out, "%s: %s", item->path, item->state ? item->state : "");
			sep = ", ";
		}
		if (item->format)
			strbuf_addf(out, ", %s", item->format);
		if (item->age_s >= 0) {
			strbuf_addstr(out, ", written ");
			check_duration(item->age_s, out);
			strbuf_addstr(out, " ago");
		}
		if (item->text && *item->text)
			strbuf_addf(out, "%s%s", sep, item->text);
		strbuf_addch(out, '\n');
		if (item->remedy)
			strbuf_addf(out, "%-4s  %-13s  remedy: %s\n", "", "", item->remedy);
	}
}

static void add_check_item(struct doc *list, const struct check_item *item)
{
	struct doc *map = doc_add_map(list, NULL);

	doc_add_string(map, "level", item->level == CHECK_FAIL ? "fail" : check_level_names[item->level]);
	doc_add_string(map, "source", item->source);
	doc_add_string_or_null(map, "path", item->path);
	doc_add_string_or_null(map, "state", item->state);
	doc_add_string_or_null(map, "format", item->format);
	if (item->age_s >= 0)
		doc_add_number(map, "ageSeconds", item->age_s);
	else
		doc_add(map, "ageSeconds");
	doc_add_string_or_null(map, "text", item->text);
	doc_add_string_or_null(map, "remedy", item->remedy);
}

void check_report_doc(const struct check_report *r, struct doc *ret)
{
	CLEANUP(doc_release) struct doc top = {.kind = DOC_MAP};
	enum check_level worst = check_report_level(r);
	struct doc *list;

	doc_add_string(&top, "level", worst == CHECK_FAIL ? "fail" : check_level_names[worst]);
	list = doc_add_list(&top, "sources");
	for (size_t i = 0; i < r->n_items; i++)
		add_check_item(list, &r->items[i]);
	*ret = top;
	top = (struct doc)DOC_INIT;
}

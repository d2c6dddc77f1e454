/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/kube/object_managers.h"

#include <errno.h>

#include "agent/base/hash.h"
#include "agent/base/json.h"
#include "common/cleanup.h"
#include "common/text.h"

#define FIELDS_MAX ((size_t)1 << 20)

void object_managers_release(struct object_managers *m)
{
	free(m->resource_version);
	*m = (struct object_managers){0};
}

/* What the entry of a manager holds of a section; NULL = nothing. */
static const struct doc *held(const struct doc *entry, const char *section)
{
	char key[64];

	snprintf(key, sizeof(key), "f:%.60s", section);
	return doc_get(doc_get(entry, "fieldsV1"), key);
}

static bool is_ours(const struct doc *entry)
{
	const char *manager = doc_string(doc_get(entry, "manager"));
	const char *operation = doc_string(doc_get(entry, "operation"));

	return manager && operation && !strcmp(manager, OBJECT_MANAGER) && !strcmp(operation, "Apply");
}

static int hash_held(const struct doc *entry, const char *const *sections, uint64_t *ret)
{
	for (; *sections; sections++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FIELDS_MAX);
		const struct doc *fields = held(entry, *sections);
		int r = fields ? json_print_compact(fields, &text) : 0;

		if (r < 0)
			return r;
		if (fields)
			*ret = hash_bytes(
				*sections, strlen(*sections), hash_bytes(text.text, text.len, *ret + 1));
	}
	return 0;
}

/* What the server calls those who wrote while nobody was noted. */
static bool is_nobody(const char *manager)
{
	return !strcmp(manager, "before-first-apply");
}

static bool holds_any(const struct doc *entry, const char *const *sections)
{
	while (*sections && !held(entry, *sections))
		sections++;
	return *sections != NULL;
}

/* When the entry was last changed; times of one form sort as texts. */
static const char *time_of(const struct doc *entry)
{
	const char *time = doc_string(doc_get(entry, "time"));

	return time ? time : "";
}

/* Who holds any of the sections, and changed that last, at `*latest` or later. */
static void note_rival(const struct doc *entry, const char *const *sections, const char **latest,
	struct object_managers *ret)
{
	const char *manager = doc_string(doc_get(entry, "manager"));

	if (!holds_any(entry, sections) || is_nobody(manager ? manager : "") ||
		strcmp(time_of(entry), *latest) < 0)
		return;
	snprintf(ret->rival, sizeof(ret->rival), "%s", manager && *manager ? manager : "(unnamed)");
	*latest = time_of(entry);
}

static int read_entries(const struct doc *entries, const char *api_version, const char *const *sections,
	struct object_managers *ret)
{
	const char *latest = "";

	DOC_FOREACH (entry, entries) {
		const char *version = doc_string(doc_get(entry, "apiVersion"));
		int r = is_ours(entry) ? hash_held(entry, sections, &ret->ours) : 0;

		if (r < 0)
			return r;
		if (is_ours(entry) && holds_any(entry, sections))
			latest = time_of(entry);
		ret->foreign_version = ret->foreign_version || (version && strcmp(version, api_version) != 0);
	}
	DOC_FOREACH (entry, entries)
		if (!is_ours(entry))
			note_rival(entry, sections, &latest, ret);
	return 0;
}

int object_managers_read(const struct doc *object, const char *api_version, const char *const *sections,
	struct object_managers *ret)
{
	const struct doc *metadata = doc_get(object, "metadata");
	const struct doc *entries = doc_get(metadata, "managedFields");
	const char *version = doc_string(doc_get(metadata, "resourceVersion"));
	struct object_managers m = {0};
	int r = entries && entries->kind == DOC_LIST ? read_entries(entries, api_version, sections, &m) : 0;

	if (r == 0 && version)
		text_set(&m.resource_version, version);
	if (r < 0)
		return r;
	*ret = m;
	return 0;
}

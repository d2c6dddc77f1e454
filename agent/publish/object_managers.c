/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/publish/object_managers.h"

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

/* Times of one form sort as texts. */
static void note_rival(const struct doc *entry, const char *const *sections, const char **latest,
	struct object_managers *ret)
{
	const char *manager = doc_string(doc_get(entry, "manager"));
	const char *time = doc_string(doc_get(entry, "time"));

	for (; *sections && !is_nobody(manager ? manager : ""); sections++) {
		if (!held(entry, *sections) || (*latest && time && strcmp(time, *latest) <= 0))
			continue;
		snprintf(ret->rival, sizeof(ret->rival), "%s", manager && *manager ? manager : "(unnamed)");
		*latest = time ? time : "";
	}
}

int object_managers_read(const struct doc *object, const char *api_version, const char *const *sections,
	struct object_managers *ret)
{
	const struct doc *metadata = doc_get(object, "metadata");
	const struct doc *entries = doc_get(metadata, "managedFields");
	const char *version = doc_string(doc_get(metadata, "resourceVersion")), *latest = NULL;
	struct object_managers m = {0};
	int r = 0;

	if (entries && entries->kind == DOC_LIST && r == 0) {
		DOC_FOREACH (entry, entries) {
			const char *version_of = doc_string(doc_get(entry, "apiVersion"));

			m.older = m.older || (version_of && strcmp(version_of, api_version) != 0);
			if (is_ours(entry))
				r = hash_held(entry, sections, &m.ours);
			else
				note_rival(entry, sections, &latest, &m);
			if (r < 0)
				return r;
		}
	}
	if (r == 0 && version)
		r = text_set(&m.resource_version, version);
	if (r < 0)
		return r;
	*ret = m;
	return 0;
}

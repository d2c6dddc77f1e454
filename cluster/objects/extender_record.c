/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/objects/extender_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cluster/objects/pod_parse.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/io/time.h"

#define TEXT_MAX       ((size_t)16 << 10)
#define CLOCKS_APART_S 60 /* by which the clocks of the writer and of the reader may differ */

/* A new entry with the time 0; if the record is full, the entry of the scheduler that was answered longest ago, with its time. */
static struct asking_scheduler *take_place(struct extender_record *r)
{
	struct asking_scheduler *oldest = &r->schedulers[0];

	if (r->n_schedulers < EXTENDER_SCHEDULERS_MAX) {
		struct asking_scheduler *new = &r->schedulers[r->n_schedulers++];

		new->asked_s = 0;
		return new;
	}
	for (size_t i = 1; i < r->n_schedulers; i++)
		if (r->schedulers[i].asked_s < oldest->asked_s)
			oldest = &r->schedulers[i];
	return oldest;
}

void extender_record_add(struct extender_record *r, const char *scheduler, int64_t asked_s)
{
	struct asking_scheduler *s = NULL;

	if (!*scheduler || strlen(scheduler) > EXTENDER_SCHEDULER_NAME_MAX || asked_s <= 0)
		return;
	for (size_t i = 0; i < r->n_schedulers && !s; i++)
		if (!strcmp(r->schedulers[i].name, scheduler))
			s = &r->schedulers[i];
	if (!s)
		s = take_place(r);
	/* Known already; or the record is full of schedulers that were answered later. */
	if (asked_s <= s->asked_s)
		return;
	s->asked_s = asked_s;
	snprintf(s->name, sizeof(s->name), "%s", scheduler);
}

int64_t extender_record_find(const struct extender_record *r, const char *scheduler)
{
	for (size_t i = 0; i < r->n_schedulers; i++)
		if (!strcmp(r->schedulers[i].name, scheduler))
			return r->schedulers[i].asked_s;
	return 0;
}

void extender_record_read(struct extender_record *r, const struct doc *annotations, int64_t now_s)
{
	CLEANUP(doc_release) struct doc schedulers = DOC_INIT;
	const char *text = doc_text(annotations, EXTENDER_RECORD_SCHEDULERS);
	uint64_t version = resource_version_parse(doc_text(annotations, EXTENDER_RECORD_NODES));

	if (version > r->nodes_version)
		r->nodes_version = version;
	if (strlen(text) > TEXT_MAX || json_parse(text, strlen(text), &schedulers, NULL) < 0 ||
		schedulers.kind != DOC_MAP)
		return;
	DOC_FOREACH (scheduler, &schedulers) {
		int64_t asked_s;

		if (doc_string(scheduler) && timestamp_parse(doc_string(scheduler), &asked_s) == 0 &&
			asked_s <= now_s + CLOCKS_APART_S)
			extender_record_add(r, scheduler->key, asked_s);
	}
}

void extender_record_write(const struct extender_record *r, struct doc *annotations)
{
	CLEANUP(doc_release) struct doc schedulers = {.kind = DOC_MAP};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
	char version[24];

	for (size_t i = 0; i < r->n_schedulers; i++) {
		char asked[TIMESTAMP_MICRO_MAX];

		timestamp_print_micro(r->schedulers[i].asked_s * 1000000, asked);
		doc_add_string(&schedulers, r->schedulers[i].name, asked);
	}
	if (json_print_compact(&schedulers, &text) == 0)
		doc_add_string(annotations, EXTENDER_RECORD_SCHEDULERS, text.text);
	snprintf(version, sizeof(version), "%" PRIu64, r->nodes_version);
	doc_add_string(annotations, EXTENDER_RECORD_NODES, version);
}

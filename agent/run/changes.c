/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/run/changes.h"

#include <string.h>

#include "common/cleanup.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/text.h"
#include "scoring/node/node_derive.h"
#include "scoring/node/node_state_codec.h"

static const char file_removed_note[] =
	"cpu_manager_state or memory_manager_state was removed: when the kubelet starts, it assigns the CPUs and memory of running pods anew";

static const struct {
	enum fact_section section;
	const char *reason;
} reasons[] = {
	{FACT_SETTING, "KubeletSettingsChanged"},
	{FACT_TOPOLOGY, "HardwareChanged"},
	{FACT_DEVICE, "DevicesChanged"},
};

void changes_release(struct changes *c)
{
	node_facts_release(&c->reported);
}

/* Sets c->reported to the facts of the published text; to those of in->node if there is no text or this nrtd cannot read it. */
static void init_reported_facts(struct changes *c, const struct changes_input *in)
{
	CLEANUP(node_state_release) struct node_state published;
	const struct derive_config config = {.reserved_named = false};
	const struct node_state *state = in->node;

	node_state_init(&published);
	if (*in->found_state && node_state_parse(in->found_state, &published, NULL) == 0 &&
		node_derive(&config, &published, NULL, NULL) == 0)
		state = &published;
	node_facts_add_all(&c->reported, state);
	c->known = true;
}

/* Does not depend on the order of the facts. Not 0 without facts: 0 stands for no facts yet. */
static uint64_t hash_facts(const struct node_facts *f)
{
	uint64_t sum = f->devices_known ? 2 : 1;

	for (size_t i = 0; i < f->n_items; i++) {
		const char *value = fact_text(&f->items[i]);

		sum += hash_bytes(value, strlen(value),
			hash_bytes(f->items[i].name, strlen(f->items[i].name), f->items[i].section));
	}
	return sum;
}

/* Returns whether the Event was written. */
static bool send_event(struct changes *c, const struct changes_input *in, const struct node_event *event,
	uint64_t now_ms, uint64_t *ret_again_ms)
{
	struct err err = {""};
	uint64_t again;
	enum publish_outcome outcome = in->target->write_event(in->target->ctx, event, now_ms, &again, &err);

	if (outcome == PUBLISH_WRITTEN)
		log_info("%s: %s", event->reason, event->note);
	if (outcome != PUBLISH_DEFERRED)
		metrics_count(in->metrics, METRIC_EVENTS, (unsigned)outcome, 0);
	if (*err.text && !text_same_but_numbers(err.text, c->error.text)) {
		log_warning("%s; nrtd writes no Event about '%s'", err.text, event->reason);
		c->error = err;
	}
	if (outcome != PUBLISH_WRITTEN && again < *ret_again_ms)
		*ret_again_ms = again;
	return outcome == PUBLISH_WRITTEN;
}

static void report_section(struct changes *c, const struct changes_input *in, const struct node_facts *now,
	size_t which, uint64_t now_ms, uint64_t *ret_again_ms)
{
	CLEANUP(strbuf_release) struct strbuf note = STRBUF_INIT(NODE_EVENT_NOTE_MAX);
	struct node_event event = {.reason = reasons[which].reason};
	enum fact_section section = reasons[which].section;
	/* Space for "; 99 more changes". */
	size_t n = node_facts_changes(
		&c->reported, now, section, NODE_EVENT_NOTE_MAX - 40, &note, &event.warning);

	event.note = note.text;
	if (n == 0 || send_event(c, in, &event, now_ms, ret_again_ms))
		node_facts_replace(&c->reported, now, section);
}

void changes_update(
	struct changes *c, const struct changes_input *in, uint64_t now_ms, uint64_t *ret_again_ms)
{
	const struct node_event removed = {
		.reason = "KubeletStateRemoved", .note = file_removed_note, .warning = true};
	CLEANUP(node_facts_release) struct node_facts now = {0};
	uint64_t hash;

	if (!in->config->on || !in->target->write_event || !in->found_state)
		return;
	if (!c->known)
		init_reported_facts(c, in);
	if (in->file_missing && !c->file_missing)
		c->file_removed = true;
	c->file_missing = in->file_missing;
	if (c->file_removed && send_event(c, in, &removed, now_ms, ret_again_ms))
		c->file_removed = false;
	node_facts_add_all(&now, in->node);
	node_facts_keep(&now, &c->reported);
	hash = hash_facts(&now);
	/* The time for which a change must last begins again at each further change. */
	if (hash != c->pending) {
		c->pending = hash;
		c->since_ms = now_ms;
	}
	if (hash == hash_facts(&c->reported))
		return;
	if (now_ms < c->since_ms + in->config->settle_ms) {
		if (c->since_ms + in->config->settle_ms < *ret_again_ms)
			*ret_again_ms = c->since_ms + in->config->settle_ms;
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		report_section(c, in, &now, i, now_ms, ret_again_ms);
}

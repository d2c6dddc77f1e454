/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/publish/node_event.h"

#include <inttypes.h>

#include "common/cleanup.h"
#include "common/io/time.h"
#include "common/text.h"
#include "common/xalloc.h"

/* The name of a Node has at most 253 bytes, as the name of an Event. */
#define NAME_BYTES 200

void node_event_make(const struct node_event *event, const char *node_name, const char *node_uid, int64_t us,
	uint64_t random, struct doc *ret)
{
	CLEANUP(freep) char *name = xasprintf("%.*s.%016" PRIx64, NAME_BYTES, node_name, random);
	CLEANUP(freep) char *note = xasprintf("%.*s", (int)NODE_EVENT_NOTE_MAX, event->note);
	/* The API server's limit; two agents of one cluster may share the beginning of their names. */
	CLEANUP(freep) char *instance = xasprintf("%.128s", node_name);
	char time[TIMESTAMP_MICRO_MAX];
	struct doc *map;

	text_one_line(note);
	timestamp_print_micro(us, time);
	ret->kind = DOC_MAP;
	doc_add_string(ret, "apiVersion", "events.k8s.io/v1");
	doc_add_string(ret, "kind", "Event");
	map = doc_add_map(ret, "metadata");
	doc_add_string(map, "name", name);
	doc_add_string(map, "namespace", "default");
	doc_add_string(ret, "eventTime", time);
	doc_add_string(ret, "reportingController", NODE_EVENT_CONTROLLER);
	doc_add_string(ret, "reportingInstance", instance);
	doc_add_string(ret, "action", "Observed");
	doc_add_string(ret, "reason", event->reason);
	map = doc_add_map(ret, "regarding");
	doc_add_string(map, "apiVersion", "v1");
	doc_add_string(map, "kind", "Node");
	doc_add_string(map, "name", node_name);
	doc_add_string(map, "uid", node_uid);
	doc_add_string(ret, "note", note);
	doc_add_string(ret, "type", event->warning ? "Warning" : "Normal");
}

enum publish_outcome node_event_write(struct publish_io *io, const struct node_event *event,
	const char *node_uid, uint64_t random, struct err *err)
{
	CLEANUP(doc_release) struct doc doc = DOC_INIT;

	node_event_make(event, io->node_name, node_uid, clock_ms(CLOCK_REALTIME) * 1000, random, &doc);
	return publish_send_doc(io, PUBLISH_EVENT, "POST", NODE_EVENT_PATH, "application/json", &doc, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Writes Events about this node's Node, which `kubectl describe node` shows. API servers delete Events after an hour, unless they are
 * configured otherwise.
 */
#include <stdint.h>

#include "agent/publish/publish_io.h"

/* The namespace of Events about Nodes, which have none. */
#define NODE_EVENT_PATH       "/apis/events.k8s.io/v1/namespaces/default/events"
#define NODE_EVENT_CONTROLLER "nrtd.dev/nrtd"
#define NODE_EVENT_NOTE_MAX   1000u /* bytes; the API server's limit is 1024 */

struct node_event {
	const char *reason; /* "DevicesChanged" */
	const char *note;   /* at most NODE_EVENT_NOTE_MAX bytes */
	bool warning;       /* type Warning, otherwise Normal */
};

/* Makes the Event about the Node of this UID at `us`, in microseconds since 1970. `random` distinguishes Events of one node. */
void node_event_make(const struct node_event *event, const char *node_name, const char *node_uid, int64_t us,
	uint64_t random, struct doc *ret);

/* Creates the Event. Returns as publish_send(). */
enum publish_outcome node_event_write(struct publish_io *io, const struct node_event *event,
	const char *node_uid, uint64_t random, struct err *err);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Collects what has changed on a node lately: the Events about its Node, and the pods that started, ended or were rejected. No I/O.
 */
#include "cli/report/writer.h"
#include "cluster/objects/pod_status.h"

/* In the order of a pod's life. */
enum change_kind { CHANGE_EVENT, CHANGE_POD_STARTED, CHANGE_POD_REJECTED, CHANGE_POD_ENDED };

struct node_change {
	enum change_kind kind;
	int64_t at_s;           /* seconds since the epoch */
	char *reason;           /* of an Event, else "" */
	char *namespace, *name; /* of the pod; "" = the Node */
	char *uid;              /* of a pod that only Events know; else "" */
	struct pod_names names; /* of a pod that was read */
	char *message;
};

struct changes_report {
	const char *node;       /* borrowed */
	int64_t now_s, since_s; /* the report has changes between these times */
	struct node_change *items;
	size_t n_items, items_size;
	struct strv pods; /* UIDs of the pods that were read */
	bool events_known;
};

void changes_report_release(struct changes_report *r);

/* Adds a Pod that is or was on the node. Ignores other pods. */
void changes_report_add_pod(struct changes_report *r, const struct doc *pod);

/* Adds an Event about the Node, or of the node's kubelet about a pod. Ignores other Events. */
void changes_report_add_event(struct changes_report *r, const struct doc *event);

/* To be called after the last object. `state` (NULL = not known) shows what started pods hold. Sorts the changes, newest first. */
void changes_report_finish(struct changes_report *r, const struct node_state *state);

/*
 * Writes a table with a row per change. {"node", "sinceSeconds", "eventsKnown": bool, "changes": [{"time", "ageSeconds", "what",
 * "namespace", "pod", "message"}]}; namespace and pod are null for the Node.
 */
void changes_report_write(struct writer *w, const struct changes_report *r);

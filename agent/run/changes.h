/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Writes an Event about the Node when something has changed that decides about the alignment of pods: the kubelet's settings, the
 * hardware, the devices of plugins, or a state file that was removed. Never for a pod.
 *
 * A change is reported once it has lasted for a while, as the difference to what was reported last. So there is no queue: while the
 * rate limit or the API server prevents an Event, further changes go into the same Event, and a change that is undone goes into none.
 * After a start the state in the published object is what was reported last.
 */
#include "agent/publish/target.h"
#include "agent/run/metrics.h"
#include "scoring/node/node_facts.h"

struct changes_config {
	bool on;
	uint64_t settle_ms; /* how long a change must last */
};

/* Zeroed is the start. */
struct changes {
	bool known;                 /* `reported` is set */
	struct node_facts reported; /* what was reported last */
	bool file_missing;          /* a state file, at the last call */
	bool file_removed;          /* a state file was removed, and no Event was written about this yet */
	uint64_t pending;           /* hash of the facts at the last call; 0 = no call yet */
	uint64_t since_ms;          /* since when the facts have this hash */
	struct err error;           /* the last logged failure */
};

void changes_release(struct changes *c);

/* What a call needs. Borrowed. */
struct changes_input {
	const struct changes_config *config;
	const struct node_state *node; /* derived */
	const char *found_state; /* as in struct publish_result; "" if another program writes the object */
	bool file_missing;       /* the kubelet's state for CPUs or memory, which existed before */
	const struct target *target;
	struct metrics *metrics;
};

/* To be called after each publication that left the API server up to date. *ret_again_ms becomes earlier if a call is necessary
 * before. */
void changes_update(
	struct changes *c, const struct changes_input *in, uint64_t now_ms, uint64_t *ret_again_ms);

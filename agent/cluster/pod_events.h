/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What Kubernetes reported about one pod: its Event objects, of v1 and of events.k8s.io/v1.
 */
#include <stddef.h>
#include <stdint.h>

#include "agent/cluster/pod_status.h"
#include "common/err.h"

/* Texts are as in the object, "" where it has none. */
struct pod_event {
	char *type;   /* "Normal", "Warning" */
	char *reason; /* "FailedScheduling" */
	char *message;
	char *source;   /* which component reports it */
	uint64_t count; /* how often */
	int64_t last_s; /* when last, in seconds since the epoch; 0 = not known */
};

struct pod_events {
	struct pod_event *items; /* the newest first; the same report appears once */
	size_t n_items;
	size_t items_size;
};

void pod_events_release(struct pod_events *e);

/*
 * The events of a file, a directory or standard input ("-") that are about this pod: of its namespace and name, and
 * of its UID where both have one; others are passed over. Returns as object_input_read(). `ret` (zeroed) is untouched
 * on failure.
 */
int pod_events_read(const char *path, const struct pod_status *pod, struct pod_events *ret, struct err *err);

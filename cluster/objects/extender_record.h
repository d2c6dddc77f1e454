/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads and writes what nrtd-extender records in the annotations of its Lease: which schedulers have asked the extender, and how
 * much of the Nodes the extender has read. `kubectl numa plan --apply` evicts pods only if this record shows that the extender
 * will answer the schedulers.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/doc.h"

#define EXTENDER_SCHEDULERS_MAX     16u
#define EXTENDER_SCHEDULER_NAME_MAX 253u
#define EXTENDER_RECORD_SCHEDULERS  "nrtd.dev/schedulers"
#define EXTENDER_RECORD_NODES       "nrtd.dev/nodes-version"

struct asking_scheduler {
	char name[EXTENDER_SCHEDULER_NAME_MAX +
		  1];    /* spec.schedulerName of the pods that the scheduler asked about */
	int64_t asked_s; /* the last time that the extender answered; since 1970 */
};

struct extender_record {
	struct asking_scheduler schedulers[EXTENDER_SCHEDULERS_MAX];
	size_t n_schedulers;
	uint64_t nodes_version; /* resourceVersion of the Nodes that the extender has read; 0 = unknown */
};

/* Notes that the scheduler was answered at this time. Of more than EXTENDER_SCHEDULERS_MAX schedulers the record keeps those
 * that were answered last. Ignores longer and empty names, and times before 1970. */
void extender_record_add(struct extender_record *r, const char *scheduler, int64_t asked_s);

/* When the scheduler was last answered; 0 = never. */
int64_t extender_record_find(const struct extender_record *r, const char *scheduler);

/* Adds what annotations contain (NULL = nothing). Invalid parts, and times more than a minute after `now_s`, are ignored. */
void extender_record_read(struct extender_record *r, const struct doc *annotations, int64_t now_s);

/* Adds the record to annotations, a map. */
void extender_record_write(const struct extender_record *r, struct doc *annotations);

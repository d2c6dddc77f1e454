/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What became of a pod, as its object says: whether it waits, was rejected by a kubelet, runs or has ended.
 */
#include "agent/base/doc.h"
#include "agent/state/pod_names.h"
#include "common/err.h"

enum pod_stage {
	POD_WAITS,    /* it has no node */
	POD_BOUND,    /* it has a node, and no container of it has started */
	POD_REJECTED, /* its node's kubelet did not admit it: it has failed, and no container ever started */
	POD_RUNS,
	POD_ENDED,
	POD_STAGE_COUNT
};

extern const char *const pod_stage_names[POD_STAGE_COUNT]; /* "waits", "bound", "rejected", "runs", "ended" */

/* Texts are as in the object, "" where it has none. */
struct pod_status {
	enum pod_stage stage;
	char *namespace, *name, *uid;
	struct pod_names names; /* by which its node's object shows it */
	char *node;
	char *phase, *reason, *message; /* of its status */
	char *scheduler;                /* the message of its condition PodScheduled, while that is false */
	char *owner;                    /* "ReplicaSet 'web-1'", what makes such a pod again */
	bool gated;                     /* schedulers may not look at it yet: spec.schedulingGates */
};

void pod_status_release(struct pod_status *f);

/* Of a Pod. 0; -EINVAL with one line: it has no name. `ret` is untouched on failure. */
int pod_status_read(const struct doc *pod, struct pod_status *ret, struct err *err);

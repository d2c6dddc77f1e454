/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Finds the smallest set of pods that must leave a node so that its kubelet admits another pod. Each step of
 * the search is the kubelet's own decision on the node without some pods.
 */
#include "common/node_state.h"
#include "common/request.h"

/* The search gives up beyond these limits. */
#define VICTIMS_VERDICTS 4096u
#define VICTIMS_STEPS    1000000u /* sets examined, most of them without a verdict */

enum victims_answer {
	VICTIMS_NOT_ASKED,
	VICTIMS_UNKNOWN, /* the kubelet's verdict is unknown, now or without all candidates */
	VICTIMS_NOTHING, /* the pod is admitted as it is */
	VICTIMS_SET,
	VICTIMS_NO_SET, /* the kubelet rejects the pod even without all candidates */
	VICTIMS_ANSWER_COUNT
};

struct victim {
	char *namespace, *name; /* "" when unknown; a hash if the state comes from an object */
	char *uid;              /* "" when unknown */
	size_t cpus;            /* that the pod holds */
};

struct victims {
	enum victims_answer answer;
	bool gave_up;        /* there may be a smaller set, or one with fewer CPUs */
	struct victim *pods; /* by namespace, name and UID */
	size_t n_pods;
	size_t pods_size;
	size_t cpus;     /* that the pods hold together */
	size_t movable;  /* candidates: pods that may leave and hold something of what is requested */
	size_t verdicts; /* computed by the search */
};

void victims_release(struct victims *v);

/* What is known beside the state. Zeroed = nothing. */
struct victims_known {
	const bool *stays; /* by item of the allocations: its pod must not leave; NULL = all pods may */
	const struct resource_list *requestable; /* as for node_admission_limit(), or NULL */
	/*
	 * By item: all that its pod requests, which is added to `requestable` when the pod goes; NULL =
	 * unknown.
	 */
	const struct resource_list *const *requests;
};

/*
 * The smallest set by the number of pods, then by the CPUs that they hold. Candidates are only pods that hold
 * something of what `pod` requests, whose name or UID is known, and that do not stay. The resources of a pod
 * are freed as the kubelet's managers do. `known` may be NULL.
 *
 * The search first asks whether the kubelet admits the pod on the node without all candidates. If not, the
 * answer is VICTIMS_NO_SET. (For a pod of several containers a kubelet may reject the pod on an emptier node
 * and admit it on a fuller node; such a set is not found.) For a pod that requests a device resource whose
 * free devices are unknown, the answer is unknown.
 */
void victims_find(const struct node_state *state, const struct pod_request *pod,
	const struct victims_known *known, struct victims *ret);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The fewest pods that must go from a node so that its kubelet admits another. Each step of the search is the
 * kubelet's own decision on the node without some pods.
 */
#include "common/node_state.h"
#include "common/request.h"

#define VICTIMS_VERDICTS 4096u    /* asked for at most, before the search gives up */
#define VICTIMS_STEPS    1000000u /* sets looked at, most of them without a verdict */

enum victims_answer {
	VICTIMS_NOT_ASKED,
	VICTIMS_UNKNOWN, /* the kubelet's verdict is not known, now or without these pods */
	VICTIMS_NOTHING, /* the pod is admitted as it is */
	VICTIMS_SET,
	VICTIMS_NO_SET, /* the node is too small: it rejects the pod also without all of them */
	VICTIMS_ANSWER_COUNT
};

/* A pod that is to go. */
struct freed_pod {
	char *namespace, *name; /* "" when not known; a hash where the state is of an object */
	char *uid;              /* "" when not known */
	size_t cpus;            /* that it holds */
};

struct victims {
	enum victims_answer answer;
	bool gave_up;           /* a smaller set, or one with fewer CPUs, may be there */
	struct freed_pod *pods; /* by namespace, name and UID */
	size_t n_pods;
	size_t pods_size;
	size_t cpus;     /* that they hold together */
	size_t movable;  /* pods that hold something of what is asked for, and may go */
	size_t verdicts; /* asked for */
};

void victims_release(struct victims *w);

/* What is known beside the state. Zeroed = nothing. */
struct victims_known {
	const bool *stays;                /* by item of the allocations: its pod may not go; NULL = all may */
	const struct resource_list *most; /* as node_admission_limit() takes it, or NULL */
	/* By item: what its pod asks for in all, which comes to `most` when it goes; NULL = not known. */
	const struct resource_list *const *requests;
};

/*
 * The smallest set by the number of pods, then by the CPUs that they hold. Only pods that hold something of what
 * `pod` asks for are proposed, none whose name and UID are both unknown, and none that stays. What a pod held is given
 * back as the kubelet's managers do. `known` may be NULL.
 *
 * It is first asked whether the node without all of them admits the pod. A kubelet that would reject a pod on the
 * emptier node and admit it on the fuller one, which happens to pods of several containers, gets no set then. A
 * pod that asks for a device resource whose free devices are not known gets none either: the answer is not known.
 */
void victims_find(const struct node_state *state, const struct pod_request *pod,
	const struct victims_known *known, struct victims *ret);

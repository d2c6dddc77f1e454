/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The fewest pods that must go from a node so that its kubelet admits another. Each step of the search is the
 * kubelet's own decision on the node without some pods.
 */
#include "common/node_state.h"
#include "common/request.h"

#define WHAT_FREES_VERDICTS 4096u    /* asked for at most, before the search gives up */
#define WHAT_FREES_STEPS    1000000u /* sets looked at, most of them without a verdict */

enum what_frees_answer {
	WHAT_FREES_NOT_ASKED,
	WHAT_FREES_UNKNOWN, /* the kubelet's verdict is not known, now or without these pods */
	WHAT_FREES_NOTHING, /* the pod is admitted as it is */
	WHAT_FREES_SET,
	WHAT_FREES_NO_SET, /* the node is too small: it refuses the pod also without all of them */
	WHAT_FREES_ANSWER_COUNT
};

/* A pod that is to go. */
struct freed_pod {
	char *namespace, *name; /* "" when not known; a hash where the state is of an object */
	char *uid;              /* "" when not known */
	size_t cpus;            /* that it holds */
};

struct what_frees {
	enum what_frees_answer answer;
	bool gave_up;           /* a smaller set, or one with fewer CPUs, may be there */
	struct freed_pod *pods; /* by namespace, name and UID */
	size_t n_pods;
	size_t pods_size;
	size_t cpus;     /* that they hold together */
	size_t movable;  /* pods that hold something of what is asked for, and may go */
	size_t verdicts; /* asked for */
};

void what_frees_release(struct what_frees *w);

/* What is known beside the state. Zeroed = nothing. */
struct what_frees_known {
	const bool *stays;                /* by item of the allocations: its pod may not go; NULL = all may */
	const struct resource_list *most; /* as node_asker_limit() takes it, or NULL */
	/* By item: what its pod asks for in all, which comes to `most` when it goes; NULL = not known. */
	const struct resource_list *const *requests;
};

/*
 * The smallest set by the number of pods, then by the CPUs that they hold. Only pods that hold something of what
 * `pod` asks for are proposed, none whose name and UID are both unknown, and none that stays. What a pod held is given
 * back as the kubelet's managers do. `known` may be NULL.
 *
 * It is first asked whether the node without all of them admits the pod. A kubelet that would refuse a pod on the
 * emptier node and admit it on the fuller one, which happens to pods of several containers, gets no set then. A
 * pod that asks for a device resource whose free devices are not known gets none either: the answer is not known.
 *
 * 0 or -ENOMEM; `ret` (zeroed) is untouched on failure.
 */
int what_frees_find(const struct node_state *state, const struct pod_request *pod,
	const struct what_frees_known *known, struct what_frees *ret);

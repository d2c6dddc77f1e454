/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the kubelet has handed out, by both who tell it: the pod-resources API and the state files. Either
 * alone is enough; together they are compared.
 */
#include "agent/allocations_files.h"
#include "agent/pod_resources.h"

/* Whom to ask. */
struct allocations_query {
	const char *sysroot, *kubelet_root; /* where the state files are */
	bool files;                         /* read them */
	struct pod_resources_client *api;   /* NULL = do not ask it; borrowed */
	bool api_named;                     /* the socket was named: that it is not there is worth a note */
	const struct machine *machine;
};

struct allocations_answer {
	/*
	 * Of both: the API's items, with the pod's UID where an item of the files is the same; and what only
	 * the files hold (by ordinary init containers, by pods that have just ended), with the pod's name
	 * where its UID is known. Pool and machine state are the files', the registered devices the API's.
	 */
	struct allocations all;
	bool from_files, from_api;
	struct state_policies policies; /* in the files */
	struct pod_resources api; /* what is left of the API's answer: pods, allocatable CPUs and memory */
	unsigned contradictions;  /* between the two, after reading again */
};

void allocations_answer_init(struct allocations_answer *a);
void allocations_answer_release(struct allocations_answer *a);

/*
 * Ask. A source that fails is a note when the other answers; a socket that is not there is one only if it was
 * named. Both are read again, twice at most and 20 ms apart, while they contradict each other or, just after
 * the kubelet wrote it, CPUs are missing in cpu_manager_state: it writes that twice a change. So are they
 * when the kubelet's rate limit turned the question down. A contradiction that stays is one note with both
 * values. 0; -errno with one line when no source is left that could be read (that files or socket are absent
 * is not that: then nothing is known); `ret` is untouched on failure.
 */
int allocations_read(const struct allocations_query *q, struct allocations_answer *ret, struct notes *notes,
	struct err *err);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the kubelet has handed out, as both sources report it: the pod-resources API and the state files. Either
 * alone is enough; together they are compared.
 */
#include "agent/node/observe/allocations_files.h"
#include "agent/node/observe/pod_evidence.h"
#include "agent/node/observe/pod_resources.h"

/* Which files there were: a number for each as it was, 0 = it was not there. */
struct state_files {
	bool known;
	bool young; /* the kubelet had just started: its API may not have listed all of its pods */
	uint64_t files[3];
};

/* Whom to ask. */
struct allocations_query {
	const char *sysroot, *kubelet_root; /* where the state files are */
	bool files;                         /* read them */
	struct state_texts *last;           /* what they said before; NULL = not kept; borrowed */
	uint64_t settings;      /* a number for what the kubelet reserves: another, other settings */
	bool down;              /* the kubelet does not run: no pod ends */
	struct pods_seen *seen; /* their pods' folders; NULL = not kept; borrowed */
	struct pod_resources_client *api; /* NULL = do not ask it; borrowed */
	const char *socket;               /* its path; NULL = not known */
	bool api_named;                   /* the socket was named: that it is not there is worth a note */
	/*
	 * One who asks again and again: what the state files were when the API answered last, zeroed at first.
	 * Then an API that does not answer counts as it did last. NULL = asked once; borrowed.
	 */
	struct state_files *files_then;
	const struct machine *machine;
};

struct allocations_answer {
	/*
	 * Of both: the API's items, with the pod's UID where it is found out; and what only the files hold
	 * (by ordinary init containers; by pods that a kubelet which has just started does not list yet),
	 * with the pod's name where its UID is known. Pool and machine state are the files', the registered
	 * devices the API's. What pods held that have ended is in none of it: see allocations_ended.h for who
	 * has.
	 */
	struct allocations all;
	bool from_files, from_api;
	bool api_kept; /* from_api, and it is the last answer of an API that does not answer now */
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
 * when the kubelet's rate limit turned the question down. State files that were there before and are gone
 * count as they were (allocations_from_files()) unless the API contradicts them. A contradiction that stays is one
 * note with both values. 0; -errno with one line when no source is left that could be read (that files or
 * socket are absent is not that: then nothing is known); `ret` is untouched on failure.
 */
int allocations_read(const struct allocations_query *q, struct allocations_answer *ret, struct notes *notes,
	struct err *err);

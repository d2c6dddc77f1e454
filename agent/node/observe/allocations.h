/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads what the kubelet has allocated, from the pod-resources API and the state files. Either source alone
 * is enough; together they are compared.
 */
#include "agent/node/observe/allocations_files.h"
#include "agent/node/observe/pod_evidence.h"
#include "agent/node/observe/pod_resources.h"

/* The identity of the state files at one moment: a hash of each file's inode, size and time; 0 = no such
 * file. */
struct state_files {
	bool known;
	bool young; /* the kubelet had just started: its API may not have listed all of its pods */
	uint64_t files[3];
};

/* Which sources to read. NULL members are not kept or not known; the pointers are borrowed. */
struct allocations_query {
	const char *sysroot, *kubelet_root; /* where the state files are */
	bool files;                         /* read them */
	struct state_texts *last;           /* their last content */
	uint64_t settings;                  /* hash of the kubelet's policies and reservations */
	bool down;                          /* no kubelet runs: no pod ends */
	struct pods_seen *seen;             /* the directories of their pods */
	struct pod_resources_client *api;   /* NULL = do not ask it */
	const char *socket;                 /* the path of its socket */
	bool api_named;                     /* the user named the socket: a missing socket is a note */
	/*
	 * For a caller that reads repeatedly: the state files when the API answered last, zeroed at first.
	 * An API that does not answer then counts by its last answer.
	 */
	struct state_files *files_then;
	const struct machine *machine;
};

struct allocations_answer {
	/*
	 * Of both sources: the API's items, with the pod's UID where it is found out; and holdings that
	 * only the files have (of ordinary init containers; of pods that a kubelet which has just started
	 * does not list yet), with the pod's name where its UID is known. The shared pool and the memory
	 * state are the files', the registered devices the API's. The holdings of ended pods are removed:
	 * allocations_end_by_api() has the rules.
	 */
	struct allocations all;
	bool from_files, from_api;
	bool api_kept;                  /* from_api, by the last answer of an API that does not answer now */
	struct state_policies policies; /* in the files */
	struct pod_resources api;       /* the rest of the API's answer: pods, allocatable CPUs and memory */
	unsigned contradictions;        /* between the two, after reading again */
};

void allocations_answer_init(struct allocations_answer *a);
void allocations_answer_release(struct allocations_answer *a);

/*
 * Read both sources. A source that fails is a note when the other one answers; a missing socket is a note
 * only if the user named it. Both are read again, at most three times with growing pauses, while they
 * contradict each other or, just after the kubelet wrote it, CPUs are missing in cpu_manager_state: the
 * kubelet writes that file twice per change. So are they when the kubelet's rate limit rejected the call.
 * Missing state files that existed before count as they were (allocations_from_files()) unless the API
 * contradicts them. A contradiction that stays is one note with both values. 0; -errno with one line when
 * no source is left that could be read (missing files or a missing socket are no failure: then nothing is
 * known); `ret` is untouched on failure.
 */
int allocations_read(const struct allocations_query *q, struct allocations_answer *ret, struct notes *notes,
	struct err *err);

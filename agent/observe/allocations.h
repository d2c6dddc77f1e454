/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads what the kubelet has allocated, from the pod-resources API and the state files. One source is enough;
 * if both exist, they are compared.
 */
#include "agent/observe/allocations_files.h"
#include "agent/observe/pod_evidence.h"
#include "agent/observe/pod_resources.h"

/* The state files at one moment, and the kubelet then. */
struct state_files {
	bool known;
	bool young; /* the kubelet had just started: its API may not have listed all of its pods */
	uint64_t files
		[3]; /* a hash of each file's inode, size and time; 0 = no such file, UINT64_MAX = unknown */
	uint64_t settings; /* as in struct allocations_query */
	int64_t at_ms;     /* CLOCK_MONOTONIC */
};

/* When a file was first seen as it is now. Zeroed is the start. */
struct file_age {
	uint64_t identity; /* 0 = no such file */
	int64_t since_ms;  /* when the file was first seen like this, by CLOCK_BOOTTIME, which nobody sets */
	bool looked;       /* the file has been looked for */
	bool saw_write; /* the file was written between two looks: `since_ms` is about the time of the write */
};

struct file_ages {
	struct file_age files[3], socket;
};

/* Which sources to read. The pointers are borrowed. A caller that reads once leaves `last`, `seen`, `ages` and
 * `files_before_answer` NULL. */
struct allocations_query {
	const char *sysroot, *kubelet_root; /* where the state files are */
	bool root_ended;          /* as in struct kubelet_place: the files and the socket are missing */
	bool files;               /* read the state files */
	struct state_texts *last; /* the last content of the state files */
	uint64_t settings;        /* hash of the kubelet's policies and reservations */
	bool down;                /* no kubelet runs: no pod ends */
	struct pods_seen *seen;   /* the directories of the state files' pods */
	struct file_ages *ages;   /* of the state files and the socket */
	struct pod_resources_client *api; /* NULL = do not read the API */
	const char *socket;               /* path of the API's socket */
	bool api_named;                   /* the user named the socket: a missing socket is a note */
	/*
	 * The state files when the API last answered, zeroed at first. While the API does not answer, its
	 * last answer is used. (NULL = the last answer is not used.)
	 */
	struct state_files *files_before_answer;
	/*
	 * For a client whose calls are in the background: the state files when the call in progress began, the first sign
	 * of the change that is read, and until when the answer is awaited (CLOCK_MONOTONIC). (NULL = the API is awaited.)
	 */
	struct state_files *files_before_call;
	int64_t sign_ms, until_ms;
	const struct machine *machine;
};

struct allocations_answer {
	/*
	 * Combined from both sources: the API's items, with the pod's UID if it was found; and items that
	 * only the files have (of ordinary init containers; of pods that the kubelet, just started, does not
	 * list yet), with the pod's name if the pod's UID is known. The shared pool and the memory state come
	 * from the files, the registered devices from the API. Items of ended pods are removed by the rules
	 * of allocations_end_by_api().
	 */
	struct allocations all;
	bool from_files, from_api;
	bool api_kept;         /* from_api, but the API does not answer now: its last answer is used */
	bool memory_from_file; /* all.memory is the state file's, not made from the API's answer */
	struct state_policies policies; /* in the files */
	struct pod_resources api;       /* the rest of the API's answer: pods, allocatable CPUs and memory */
	unsigned contradictions;        /* between the sources, after reading them again */
};

void allocations_answer_init(struct allocations_answer *a);
void allocations_answer_release(struct allocations_answer *a);

/*
 * Read both sources. If one source fails and the other answers, the failure is a note; a missing socket is a
 * note only if the user named the socket. Both sources are read again, at most three times with growing
 * pauses, while they contradict each other; while CPUs are missing in cpu_manager_state just after the
 * kubelet wrote it (the kubelet writes this file twice per change); and if the kubelet's rate limit rejected
 * the call.
 *
 * With calls in the background, an answer counts if the call began after q->sign_ms and the kubelet has written no state file
 * since; the files are read again after waiting. Otherwise the API is late: its last answer is used as if it did not answer
 * now, and what the kubelet has written since decides. The call goes on, and a later allocations_read() takes its answer.
 *
 * For missing state files that existed before, the last content is used (allocations_from_files())
 * unless the API contradicts it. A remaining contradiction is one note with both values. 0; -errno with one
 * line if no source, or for a transient reason a state file, could be read (missing files or a missing socket are not failures: the allocations are
 * then unknown); `ret` is untouched on failure.
 */
int allocations_read(const struct allocations_query *q, struct allocations_answer *ret, struct notes *notes,
	struct err *err);

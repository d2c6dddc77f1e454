/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Finds out which pods exist on the node: by the kubelet's pod directories, its file of admitted pods and the
 * log directories. The state files list ended pods too, because the kubelet removes them only when it next
 * admits a pod.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/allocation.h"
#include "common/err.h"
#include "common/vec.h"

/* A directory per pod, made when the pod's first container is prepared and removed after the pod's
 * deletion. */
#define PODS_FOLDER "pods"

/* The file of the pods that the kubelet has admitted (admitted_pods.h) is written right after an admission. A pod that
 * the kubelet has forgotten stays in the file until the next admission. */

/* The directory of pod logs: one directory NAMESPACE_NAME_UID per pod. */
#define POD_LOGS_FOLDER "/var/log/pods"

struct pod_log {
	char *uid, *namespace, *name;
};

/*
 * For a caller that reads repeatedly: the pods of the state files that have had a directory or that appeared
 * between two readings. Zeroed is empty.
 */
struct pod_seen {
	char *uid;
	bool had_folder;
	bool ended; /* the directory vanished while a kubelet ran */
};

struct pods_seen {
	struct pod_seen *pods;
	size_t n_pods;
	size_t pods_size;
};

void pods_seen_release(struct pods_seen *s);

/* `ret` must be empty. */
void pods_seen_copy(const struct pods_seen *s, struct pods_seen *ret);

/* Zeroed is no evidence: then no pod is gone. */
struct pod_evidence {
	const char *root;     /* borrowed: the root of `folders` */
	char *folders;        /* the directory of pods; NULL = none is known */
	bool admitted_known;  /* the file of admitted pods was read */
	bool admitted_hidden; /* the file exists, but it cannot be read, or it is damaged */
	struct strv admitted; /* UIDs */
	bool logs_hidden;     /* the log directories exist, but they cannot be read */
	struct pod_log *logs;
	size_t n_logs;
	size_t logs_size;
	/* Set by the caller. `fresh`: allocations were written so recently that a pod's directory may still
	 * be missing; `settled`: so long ago that the file of admitted pods has been written too. */
	bool fresh, settled;
	bool unattended; /* no kubelet manages the directories: a missing directory proves nothing */
	const struct pods_seen *seen; /* up to date; borrowed */
};

void pod_evidence_release(struct pod_evidence *e);

/*
 * Read the logs below sysroot, and the kubelet's evidence below files_root + kubelet_root. A file that cannot be used is a note.
 * 0; -errno with one line if evidence cannot be read for a transient reason. `ret` is the caller's to release, after a failure
 * too.
 */
int pod_evidence_read(const char *sysroot, const char *files_root, const char *kubelet_root,
	struct pod_evidence *ret, struct notes *notes, struct err *err);

/* Update `s` with the state files' pods and their directories. */
void pods_seen_update(struct pods_seen *s, const struct pod_evidence *e, const struct allocations *files);

/*
 * Whether the kubelet has forgotten the pod or never admitted it: the directory of pods exists, has certainly
 * no directory of this pod, and the pod is not waiting for its directory. (A directory that cannot be
 * examined may exist.) While the network plugin is down, a pod waits for any time: a pod that the kubelet has
 * admitted and that appeared after the caller's first reading counts as waiting, and as admitted while the file
 * of admitted pods is hidden. Without this file, or for a caller that reads once, a pod waits only as long as
 * the files are fresh.
 */
bool pod_evidence_gone(const struct pod_evidence *e, const char *uid);

/* The first log directory with the pod's UID, or NULL. */
const struct pod_log *pod_evidence_log(const struct pod_evidence *e, const char *uid);

/* Set the name of each pod whose UID exactly one log directory has: the state files have no names. */
void pod_evidence_name(const struct pod_evidence *e, struct allocations *files);

/* Whether a pod of this name has logs. */
bool pod_evidence_has_logs(const struct pod_evidence *e, const char *namespace, const char *name);

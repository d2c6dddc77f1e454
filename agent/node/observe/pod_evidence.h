/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Which pods there are on the node, as the kubelet's folders, admitted pods and log folders show. The state
 * files themselves do not show it: the kubelet cleans them when it next decides about a pod.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/allocation.h"
#include "common/notes.h"
#include "common/strv.h"

/* A folder for each pod, made when the pod's first container is prepared and removed after the pod's
 * deletion. */
#define PODS_FOLDER "pods"

/* The pods the kubelet has admitted (Kubernetes 1.33), written right after an admission. One that it has
 * forgotten stays in it until the next. */
#define ADMITTED_PODS_FILE "allocated_pods_state"
#define ADMITTED_PODS_MAX  (8u * 1024u * 1024u) /* bytes */

/* Where the node keeps a folder NAMESPACE_NAME_UID for each pod's logs. */
#define POD_LOGS_FOLDER "/var/log/pods"

struct pod_log {
	char *uid, *namespace, *name;
};

/*
 * The pods of the state files as one who reads again and again has seen them: whether each has had a folder.
 * A pod is in it that has one, or that came while the reader looked. Zeroed is empty.
 */
struct pod_seen {
	char *uid;
	bool had_folder;
	bool ended; /* the folder has gone while a kubelet looked after it */
};

struct pods_seen {
	struct pod_seen *pods;
	size_t n_pods;
	size_t pods_size;
};

void pods_seen_release(struct pods_seen *s);

/* `ret` must be empty. */
void pods_seen_copy(const struct pods_seen *s, struct pods_seen *ret);

/* Zeroed shows nothing, so no pod is gone. */
struct pod_evidence {
	const char *sysroot;  /* borrowed */
	char *folders;        /* the folder of pods below it; NULL = there is none */
	bool admitted_known;  /* the file of admitted pods was read */
	struct strv admitted; /* UIDs */
	struct pod_log *logs;
	size_t n_logs;
	size_t logs_size;
	/* The reader's: how long ago allocations were written last. `fresh`: so lately that a pod's folder
	 * may still be to come; `settled`: so long ago that the file of admitted pods was written, too. */
	bool fresh, settled;
	bool unattended;              /* no kubelet looks after the folders: that one goes now says nothing */
	const struct pods_seen *seen; /* as of now; borrowed */
};

void pod_evidence_release(struct pod_evidence *e);

/* Look below sysroot. A file that cannot be used is a note. */
void pod_evidence_read(
	const char *sysroot, const char *kubelet_root, struct pod_evidence *ret, struct notes *notes);

/* Bring what was seen up to date with the state files' pods and their folders. */
void pods_seen_update(struct pods_seen *s, const struct pod_evidence *e, const struct allocations *files);

/*
 * The kubelet has forgotten the pod, or has never admitted it: pods have folders here, there is certainly
 * none of this one, and it does not wait for one. A folder that cannot be looked at may be there. A pod waits
 * for its folder while the network plugin is down, for as long as that lasts: one that the kubelet has
 * admitted, and that was not there when the reader began to look. Without the file of admitted pods, or for
 * one who looks only once, none waits longer than the files are fresh.
 */
bool pod_evidence_gone(const struct pod_evidence *e, const char *uid);

/* The pod's name by its logs, or NULL. */
const struct pod_log *pod_evidence_log(const struct pod_evidence *e, const char *uid);

/* Name each pod whose UID exactly one folder of logs has: the state files know no names. */
void pod_evidence_name(const struct pod_evidence *e, struct allocations *files);

/* Some pod of this name has logs. */
bool pod_evidence_has_logs(const struct pod_evidence *e, const char *namespace, const char *name);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Tracks pods without a node, to tell whether the pod of a scheduler's request was deleted.
 */
#include <stdbool.h>
#include <stdint.h>

#include "cluster/model/uid_set.h"

/* A zeroed struct is empty. */
struct pending_pods {
	struct uid_set uids;
	/* All changes of Pods up to this resourceVersion are applied. 0 = not known: a list is under way, or a Pod was
	 * skipped. */
	uint64_t version;
	bool skipped; /* an unreadable Pod of the current list was skipped */
};

void pending_pods_release(struct pending_pods *p);

/* Begins and ends a list. Pods not added during the list are removed at its end. `version` is the list's
 * resource_version_parse(), 0 = not known. */
void pending_pods_list_begin(struct pending_pods *p);
void pending_pods_list_end(struct pending_pods *p, uint64_t version);

/* The watch has delivered a change of this version. Ignored during a list, whose items are not ordered by version. */
void pending_pods_advance(struct pending_pods *p, uint64_t version);

/* An unreadable Pod was skipped. Until the next list, any pod that is not tracked may be the skipped Pod. */
void pending_pods_skip(struct pending_pods *p);

/* Adds a pod that has no node. */
void pending_pods_add(struct pending_pods *p, const char *uid);

/* Removes a pod that got a node, ended or was deleted. A pod that was not added is ignored. */
void pending_pods_remove(struct pending_pods *p, const char *uid);

/* Whether a pod that had no node at this version is known to be deleted. */
bool pending_pods_is_deleted(const struct pending_pods *p, const char *uid, uint64_t version);

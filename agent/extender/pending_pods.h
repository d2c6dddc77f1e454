/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The pods without a node, and up to which resourceVersion they are known. Both together answer whether a pod that a scheduler
 * asks about was deleted in the meantime.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/base/name_table.h"

/* Zeroed it is empty. */
struct pending_pods {
	struct name_table by_uid; /* struct pending_pod */
	uint64_t round;           /* lists so far */
	/* Everything that happened to Pods up to this resourceVersion is known here; 0 = not known, as during a list, or after a
	 * Pod that cannot be read. */
	uint64_t version;
	bool skipped; /* a Pod of the list under way cannot be read */
};

void pending_pods_release(struct pending_pods *p);

/* A list begins. Pods that are not added before the list ends are removed at its end. `version` is the list's
 * resource_version_parse(), 0 = not known. */
void pending_pods_list_begin(struct pending_pods *p);
void pending_pods_list_end(struct pending_pods *p, uint64_t version);

/* The watch has delivered a change of this version. Ignored during a list, whose items are not in the order of their versions. */
void pending_pods_told(struct pending_pods *p, uint64_t version);

/* A Pod that cannot be read was skipped. Until the next list any pod that is not known here may be the skipped one. */
void pending_pods_skip(struct pending_pods *p);

/* The pod has no node. 0 or -ENOMEM. */
int pending_pods_add(struct pending_pods *p, const char *uid);

/* The pod has a node, has ended or was deleted. Nothing where it was not added. */
void pending_pods_remove(struct pending_pods *p, const char *uid);

/* Whether a pod without a node, which existed at this version, has been deleted. False where that is not known. */
bool pending_pods_lack(const struct pending_pods *p, const char *uid, uint64_t version);

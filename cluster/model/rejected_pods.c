/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/model/rejected_pods.h"

#include <string.h>

#define OUT_OF "OutOf"

const char *const rejection_reasons[REJECTION_REASONS] = {"TopologyAffinityError", "SMTAlignmentError",
	"UnexpectedAdmissionError", "OutOfcpu", "OutOfmemory", "OutOfephemeral-storage", "OutOfpods",
	"OutOfExtendedResources", "NodeAffinity", "NodeName", "NodePorts", "TaintToleration", "AppArmor",
	"SysctlForbidden", "Evicted", "NodeShutdown", "VolumeAttachmentLimitExceeded",
	"PodLevelResourcesNotSupported", "PodFeatureUnsupported", "PodOSNotSupported",
	"PodOSSelectorNodeLabelDoesNotMatch", "InitContainerRestartPolicyForbidden",
	"SupplementalGroupsPolicyNotSupported", "InvalidNodeInfo", "UnknownReason",
	"UnexpectedPredicateFailureType", "other"};

size_t rejection_reason_find(const char *reason)
{
	for (size_t i = 0; i < REJECTION_REASONS; i++)
		if (!strcmp(reason, rejection_reasons[i]))
			return i;
	return strncmp(reason, OUT_OF, strlen(OUT_OF)) != 0
		       ? REJECTION_REASONS - 1
		       : rejection_reason_find(OUT_OF "ExtendedResources");
}

void rejected_pods_release(struct rejected_pods *r)
{
	uid_set_release(&r->uids);
	*r = (struct rejected_pods){0};
}

void rejected_pods_list_begin(struct rejected_pods *r)
{
	uid_set_list_begin(&r->uids);
}

void rejected_pods_list_end(struct rejected_pods *r)
{
	uid_set_list_end(&r->uids);
	r->listed = true;
}

bool rejected_pods_add(struct rejected_pods *r, const char *uid, bool was_bound)
{
	bool is_new = !uid_set_has(&r->uids, uid), is_full = r->uids.by_uid.n >= REJECTED_PODS_MAX;

	if (!is_new || !is_full)
		uid_set_add(&r->uids, uid); /* also notes that the current list has the pod */
	/* A full set does not remember the pod: only the change from bound to rejected shows that the pod was not counted before. */
	return is_new && (was_bound || (r->listed && !is_full));
}

void rejected_pods_remove(struct rejected_pods *r, const char *uid)
{
	uid_set_remove(&r->uids, uid);
}

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Remembers which pods kubelets have rejected, so that each pod counts once, also after a new list.
 *
 * Pods that the first complete list reports as rejected do not count: they were rejected before the process started. A pod that is deleted
 * before the API server reports its rejection to the process never counts.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/model/uid_set.h"

/* The reasons that the kubelet's admission handlers write (1.35.8), as values of a label. "OutOfExtendedResources" stands for "OutOf" with
 * any other resource than those listed, as in the kubelet's metric kubelet_admission_rejections_total. The last, "other", stands for all
 * other texts. */
#define REJECTION_REASONS 27
extern const char *const rejection_reasons[REJECTION_REASONS];

/* The index in rejection_reasons of a pod's status.reason. */
size_t rejection_reason_find(const char *reason);

/* The most rejected pods that are remembered. By default kube-controller-manager deletes ended pods above 12500
 * (--terminated-pod-gc-threshold). */
#define REJECTED_PODS_MAX 16384u

/* A zeroed struct is empty. */
struct rejected_pods {
	struct uid_set uids;
	bool listed; /* a list of all Pods has been complete */
};

void rejected_pods_release(struct rejected_pods *r);

/* Begins and ends a list of all Pods. Pods that the list did not report are forgotten at its end. */
void rejected_pods_list_begin(struct rejected_pods *r);
void rejected_pods_list_end(struct rejected_pods *r);

/*
 * The API server reports the pod as rejected. Returns whether the pod counts now. `was_bound`: the process has seen the pod bound and not
 * rejected. Beyond REJECTED_PODS_MAX only such pods count.
 */
bool rejected_pods_add(struct rejected_pods *r, const char *uid, bool was_bound);

/* The pod was deleted. A pod that was not added is ignored. */
void rejected_pods_remove(struct rejected_pods *r, const char *uid);

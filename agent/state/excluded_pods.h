/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Pods that are taken to be gone, to ask what if: by NAMESPACE/NAME, by UID, or by the hash of either.
 */
#include "common/allocation.h"
#include "common/err.h"
#include "common/strv.h"

#define EXCLUDED_PODS_MAX 64

/* Zeroed = none. */
struct excluded_pods {
	const char *names[EXCLUDED_PODS_MAX]; /* borrowed */
	bool found[EXCLUDED_PODS_MAX];        /* some source knows a pod of this name */
	size_t n;
	struct strv uids; /* of those that a Pod object shows to be of a name */
};

void excluded_pods_release(struct excluded_pods *g);

/*
 * Whether the pod, as its object has it, is one of them; that one counts as found, and from here on also by its UID.
 */
void excluded_pods_find(
	struct excluded_pods *g, const char *namespace, const char *name, const char *uid, bool *ret_is_gone);

/*
 * Take them out as if they had ended, and give back what they held. For a state that is not modelled yet.
 */
void excluded_pods_take(struct excluded_pods *g, struct allocations *a);

/* 0; -ENOENT with one line for a name that was not found. */
int excluded_pods_check(const struct excluded_pods *g, struct err *err);

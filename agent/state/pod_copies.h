/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * How many pods of a kind a node's kubelet admits one after the other.
 */
#include "agent/state/node_admission.h"

struct pod_copies {
	bool known;
	bool at_least; /* there may be more */
	size_t n;
};

/* 0 copies where the first is rejected; not known where the kubelet's answer is not. */
void pod_copies_find(struct node_admission *admission, const struct pod_request *pod, struct pod_copies *ret);

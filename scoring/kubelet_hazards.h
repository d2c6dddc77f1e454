/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Finds settings with which some pod could crash or hang the kubelet, or occupy it for long. They are found before such a pod comes, from the
 * settings and the machine (scoring/DEFECTS.md, K1 and K3 to K8); kubelet_judge() says which pods do. Depends on
 * common/ and scoring/ only.
 */
#include "common/err.h"
#include "scoring/kubelet.h"

struct kubelet_hazard {
	struct err what;    /* one sentence: which pods, and what happens to the kubelet */
	const char *remedy; /* what to change; not owned */
};

#define KUBELET_HAZARDS_MAX 7

/* Returns the number of hazards in ret[]. None for a kubelet that would not start, or of which too little is known. */
size_t kubelet_find_hazards(const struct kubelet *k, struct kubelet_hazard ret[KUBELET_HAZARDS_MAX]);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Pods that a kubelet rejected although its node was promised to them, counted by the kubelet's reason.
 */
#include <stdint.h>

#include "common/strbuf.h"

#define BROKEN_REASONS 6

struct broken_assumptions {
	uint64_t n[BROKEN_REASONS];
};

/* `reason` is the one in the pod's status. */
void broken_assumptions_count(struct broken_assumptions *r, const char *reason);

/* The family nrtd_extender_assumed_pods_rejected_total. */
void broken_assumptions_print(const struct broken_assumptions *r, struct strbuf *out);

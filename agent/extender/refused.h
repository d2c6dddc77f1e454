/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Pods that a kubelet refused although its node was promised to them, counted by the kubelet's reason.
 */
#include <stdint.h>

#include "common/strbuf.h"

#define REFUSED_REASONS 6

struct refused {
	uint64_t n[REFUSED_REASONS];
};

/* `reason` is the one in the pod's status. */
void refused_count(struct refused *r, const char *reason);

/* The family nrtd_extender_promises_refused_total. */
void refused_print(const struct refused *r, struct strbuf *out);

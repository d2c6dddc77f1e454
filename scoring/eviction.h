/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * eviction: the inventory as it would be without some pods, by which the scheduler plugin's preemption tries
 * whether evicting them makes room.
 */
#include "scoring/fit.h"
#include "scoring/request.h"

/* A container of a pod to be evicted and the NUMA node it runs on. */
struct eviction_victim {
	const struct pod_request *pod;
	const struct container_request *container; /* one of the pod's */
	int numa_id;                               /* -1 = on no one node: ignored */
};

enum eviction_verdict {
	EVICTION_DONE,
	EVICTION_NOTHING_TO_ADD, /* no victim holds anything exclusively on a known NUMA node */
	EVICTION_EXCEEDS,        /* some node would have more available than allocatable */
	EVICTION_VERDICT_COUNT
};

extern const char *const eviction_messages[EVICTION_VERDICT_COUNT]; /* the plugin's; "" when done */

/*
 * Add what the victims hold exclusively (request_is_exclusive(); ordinary init containers hold nothing) to
 * the available amounts of `inv`, on every position of their NUMA node. On a verdict other than EVICTION_DONE
 * `inv` is unchanged. -ENOMEM or an eviction_verdict.
 */
int eviction_simulate(struct inventory *inv, const struct eviction_victim *victims, size_t n_victims);

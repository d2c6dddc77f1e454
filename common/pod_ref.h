/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A pod on this node by its name, as a source that knows names lists it. Depends on libc only. */
#include <stdbool.h>
#include <stddef.h>

struct pod_ref {
	char *namespace;
	char *name;
	/* One of its containers, or the pod as a whole, holds CPUs, memory with a NUMA node, or devices with
	 * a NUMA node. */
	bool exclusive;
};

/* Free what `n` of them own, and the array. */
void pod_refs_free(struct pod_ref *pods, size_t n);

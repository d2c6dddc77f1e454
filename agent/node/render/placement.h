/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Which container lies on which NUMA node, in the compact form that scheduler-plugins reads. It does so when
 * it simulates preemption (github.com/k8stopologyawareschedwg/numaplacement, npv0v001, vector encoding leb89):
 * containers are numbered in the order of their hashes, and a NUMA node's vector lists the numbers of its
 * containers. The busiest node's vector is left out, since it holds the rest. Depends on common/ and
 * agent/base/hash.h only.
 */
#include <stdint.h>

#include "common/allocation.h"
#include "common/machine.h"
#include "common/strbuf.h"

#define PLACEMENT_METADATA_ATTRIBUTE "topology.node.k8s.io/numaplacement-metadata"
#define PLACEMENT_VECTOR_ATTRIBUTE   "topology.node.k8s.io/numaplacement-vector"
#define PLACEMENT_METADATA_SIZE      96

struct placement {
	char metadata[PLACEMENT_METADATA_SIZE]; /* "npv0v001::ve=leb89::cc=4::nn=2::bn=0" */
	char **vectors;                         /* by NUMA node id; NULL = no vector for this node */
	unsigned n_nodes;
};

void placement_release(struct placement *p);

/*
 * Encode where containers lie, for NUMA node ids 0 to n_nodes - 1 (n_nodes >= 1). A container's node is that
 * of its CPUs, else of its first device that has one, else of its first memory block that has one. Passed
 * over are containers without any, what a pod holds as a whole, and what is not listed by the pod-resources
 * API: readers count the containers that the API lists. It means something only under the Topology Manager's
 * policy single-numa-node, which the caller checks. 0; -EINVAL with the reason (a container on several nodes
 * or on an unknown one, a source without names): then nothing may be published, because readers take
 * the whole or nothing. `ret` is untouched on failure.
 */
int placement_encode(const struct allocations *a, const struct machine *m, unsigned n_nodes,
	struct placement *ret, struct err *err);

/* The number the containers of these names are sorted by. */
int placement_hash(const char *namespace, const char *pod, const char *container, uint64_t *ret);

/* Append one number as LEB89: printable characters that neither JSON nor XML escapes. */
void placement_leb89(uint32_t value, struct strbuf *out);

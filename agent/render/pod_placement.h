/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Computes the NodeResourceTopology object's attributes of the placement of the node's pods.
 *
 * Placement (github.com/k8stopologyawareschedwg/numaplacement, npv0v001, vector encoding leb89): the NUMA
 * node of each container, which scheduler-plugins reads when it simulates preemption. Containers are numbered
 * in the order of their hashes, and a NUMA node's vector lists the numbers of its containers. The busiest
 * node's vector is omitted, since the busiest node has all other containers.
 */
#include <stdint.h>

#include "common/allocation.h"
#include "common/err.h"
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
 * Encodes the placement on NUMA node ids 0 to n_nodes - 1 (n_nodes >= 1). A container's node is that of its
 * CPUs, otherwise of its first device with a node, otherwise of its first memory block with a node. Ignores
 * containers without any of these, what a pod holds as a whole, and what the pod-resources API does not list:
 * readers count the containers that the API lists. The caller checks that the Topology Manager's policy is
 * single-numa-node; otherwise the placement is meaningless. 0; -EINVAL with the reason (a container on
 * several nodes or on an unknown node, a source without names): then nothing may be published, because
 * readers use all of it or nothing. `ret` is untouched on failure.
 */
int placement_encode(const struct allocations *a, const struct machine *m, unsigned n_nodes,
	struct placement *ret, struct err *err);

/* The hash by which containers are ordered. */
int placement_hash(const char *namespace, const char *pod, const char *container, uint64_t *ret);

/* Appends a number as LEB89: printable characters that neither JSON nor XML escapes. */
void placement_leb89(uint32_t value, struct strbuf *out);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A node on which pods begin and end, each where the node's own kubelet would put it: for tests that need states
 * as they come about.
 */
#include "common/node_state.h"
#include "tests/lib/synthetic.h"

struct node_sim_setup {
	struct synthetic machine; /* its first core is reserved */
	enum topology_manager_policy policy;
	enum topology_manager_scope scope;
	bool full_pcpus_only;
	bool memory_static; /* 1Gi of each NUMA node is reserved */
	uint64_t pages_1gi; /* of each NUMA node */
	unsigned nics,
		near; /* vendor.com/nic: so many a NUMA node, each near it and the near - 1 nodes after it */
};

/* Two sockets of 8 CPUs and 16 GiB, policy restricted; and the same with two NICs near each NUMA node. */
extern const struct node_sim_setup node_sim_plain, node_sim_nics;

/* Two sockets of one NUMA node with 2 cores of 2 threads: CPUs 0-1,4-5 (0 and 4 are reserved) and 2-3,6-7; restricted, scope pod. */
extern const struct node_sim_setup node_sim_threads;

struct node_sim {
	struct node_state state;
	unsigned n_begun;
};

void node_sim_init(struct node_sim *sim, const struct node_sim_setup *setup);
void node_sim_release(struct node_sim *sim);

/*
 * Ask the kubelet about a pod (tests/lib/pods.h) and, where it is admitted, let it begin: default/pN in the order of
 * admission. Init containers may ask for CPUs only. Returns whether it was admitted.
 */
bool node_sim_begin(struct node_sim *sim, const char *pod);

/* End the pod of the item at this position, by giving back what it holds. */
void node_sim_end(struct node_sim *sim, size_t item);

/* Add a healthy device of a plugin near NUMA node 0, whose PCI address 0000:BUS:00.0 below the root is known. */
void node_sim_add_pci_device(struct node_state *s, const char *resource, const char *id, enum pci_kind kind,
	uint8_t root, uint8_t bus);

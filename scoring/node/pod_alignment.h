/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Judges whether what each pod of a node holds is aligned: on one NUMA node, or at least together.
 *
 * As the Topology Manager aligns: with scope pod the whole pod, else each container by itself. A pod with claims of DRA drivers is
 * judged as a whole, because claims belong to pods. A pod has the alignment of its worst container.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "common/node_state.h"

/* From best to worst; a pod of several containers has the worst. */
enum alignment {
	ALIGNMENT_ALIGNED, /* one NUMA node */
	ALIGNMENT_SPANS_NECESSARY, /* several NUMA nodes; no NUMA node of the machine is large enough, or has all of the devices */
	ALIGNMENT_UNKNOWN,
	ALIGNMENT_ROOTS_APART, /* one NUMA node; a GPU and a NIC are below different PCIe roots, and a root has both */
	ALIGNMENT_SPANS, /* several NUMA nodes, and no NUMA node has room for it now, or whether one has is unknown */
	ALIGNMENT_SPANS_AVOIDABLE, /* several NUMA nodes; a kubelet with policy single-numa-node would admit it now */
	ALIGNMENT_REMOTE,          /* its devices or its memory are on other NUMA nodes than its CPUs */
	ALIGNMENT_COUNT
};

/* "aligned", "spans-necessary", "unknown", "roots-apart", "spans", "spans-avoidable", "remote" */
extern const char *const alignment_names[ALIGNMENT_COUNT];

/* Whether the pod could be aligned better: roots-apart, spans, spans-avoidable and remote. */
bool alignment_is_misaligned(enum alignment a);

/* Whether others may run on the same hardware as the pod's CPUs. Unknown for an L3 cache of a whole NUMA node, and without its id. */
enum sharing { SHARING_NONE, SHARING_UNKNOWN, SHARING_OTHERS };

/* Who uses the other CPUs of the physical cores, or of the L3 caches, of a pod's CPUs. */
struct shared_hardware {
	enum sharing sharing; /* SHARING_OTHERS: there are other CPUs */
	hwloc_bitmap_t pods;  /* positions in pod_alignments.items of the pods that hold some; NULL = none */
	bool pool;            /* no pod holds some: they are in the shared pool, or reserved */
};

struct pod_alignment {
	const char *namespace,
		*name; /* part of the state; name: the UID if the name is unknown; in an object a hash */
	const struct allocation
		*items; /* of the pod, part of the state; n_items 0: the pod has only claims */
	size_t n_items;
	const struct pod_ref *ref; /* of a claim, part of the state; NULL if n_items is not 0 */
	hwloc_bitmap_t cpus;       /* exclusive CPUs, also of claims */
	hwloc_bitmap_t cpu_nodes, memory_nodes, device_nodes; /* NUMA nodes */
	uint64_t memory_bytes;                                /* memory and hugepages */
	size_t n_devices;                                     /* of device plugins; each counts once */
	size_t n_claim_devices; /* of DRA drivers that report neither CPUs nor memory */
	bool is_claim_unplaced; /* the NUMA node of a claim's device is unknown */
	struct strv roots; /* PCIe roots of the devices, as far as they are known, ascending: "pci0000:16" */
	struct shared_hardware core, l3;
	enum alignment alignment;
	struct err reason; /* "" for aligned */
};

struct pod_alignments {
	struct pod_alignment *items; /* in the order of the state's allocations, then of the claims */
	size_t n_items, items_size;
};

/* Judges each pod that holds something. Borrows from the state. */
void pod_alignments_find(const struct node_state *state, struct pod_alignments *ret);
void pod_alignments_release(struct pod_alignments *p);

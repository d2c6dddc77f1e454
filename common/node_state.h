/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What is known of one node at one moment. Plain data, no I/O.
 *
 * The observing stage fills the facts, the model what follows from them; every other stage only reads. What
 * no source reports is unknown, never zero.
 */
#include "common/allocation.h"
#include "common/claim.h"
#include "common/inventory.h"
#include "common/machine.h"
#include "common/pod_ref.h"
#include "common/settings.h"

/* CPUs that no container gets exclusively. */
struct reserved_cpus {
	hwloc_bitmap_t cpus; /* NULL = unknown: not even that there are none */
	bool observed;       /* a running kubelet reports them; else they follow from its configuration */
	char *from;          /* the source, or why they are unknown; NULL until the model has run */
};

void reserved_cpus_release(struct reserved_cpus *r);

struct node_state {
	/* facts */
	char *node_name;
	struct machine machine;
	struct settings settings;       /* with the kubelet's release */
	struct allocations allocations; /* all that is handed out, whatever --namespace says */
	/* What DRA drivers gave to claims. The kubelet's managers do not know of it: a CPU of a claim may be in the
	 * shared pool, or a container's too. */
	struct claims claims;
	bool pods_known; /* a source lists the pods (possibly none): only the pod-resources API does */
	struct pod_ref *pods;
	size_t n_pods;
	size_t pods_size;
	hwloc_bitmap_t
		allocatable_cpus; /* by the pod-resources API; empty under policy none, NULL = not known */

	/* what follows from them */
	struct reserved_cpus reserved;
	struct inventory inventory; /* what the zones show */
};

void node_state_init(struct node_state *s);
void node_state_release(struct node_state *s);

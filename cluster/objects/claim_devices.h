/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Finds the NUMA nodes and PCIe roots of the devices of ResourceClaims.
 *
 * ResourceSlices have them in the attributes resource.kubernetes.io/numaNode (KEP-6072) and resource.kubernetes.io/pcieRoot. A
 * node's object has neither the claims' names nor their devices.
 */
#include "common/doc.h"
#include "common/hash.h"
#include "common/node_state.h"

/* A device of a ResourceSlice. */
struct sliced_device {
	char *name;           /* "driver/pool/device" */
	hwloc_bitmap_t nodes; /* NULL = the slice does not say */
	char root[PCI_ROOT_SIZE];
};

/* The devices of one driver that an allocated ResourceClaim has, and the pods that may use them. */
struct sliced_claim {
	char *driver, *namespace;
	struct strv pods;    /* names */
	struct strv devices; /* "driver/pool/device" */
	bool used;           /* for a claim of a node's state */
};

struct claim_devices {
	struct sliced_device **devices;
	size_t n_devices, devices_size;
	struct name_table by_name;
	struct sliced_claim *claims;
	size_t n_claims, claims_size;
};

void claim_devices_release(struct claim_devices *d);

/* Adds an object; a member of the wrong kind is ignored. */
void claim_devices_add_slice(struct claim_devices *d, const struct doc *slice);
void claim_devices_add_claim(struct claim_devices *d, const struct doc *claim);

/* Whether a claim of the state has a device whose NUMA node is unknown, so that claim_devices_apply() may help. */
bool claim_devices_are_missing(const struct node_state *state);

/*
 * Sets the places of the claims' devices in the node's state. Requires the names of the pods (named_pods_apply()). A claim of the
 * state is the ResourceClaim with the same driver, number of devices and pod.
 */
void claim_devices_apply(struct claim_devices *d, struct node_state *state);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * claim: the resources that DRA drivers (Dynamic Resource Allocation) allocated to ResourceClaims. The
 * kubelet's managers do not know these resources. Depends on common/ only.
 */
#include "common/allocation.h"
#include "common/pci.h"

/* Where a device of a claim is, as its driver publishes it. */
struct claim_place {
	hwloc_bitmap_t nodes;     /* NUMA nodes near the device; NULL = unknown */
	char root[PCI_ROOT_SIZE]; /* "" = unknown */
};

/* The resources of one claim from one driver. A claim that several drivers serve has one per driver. */
struct claim {
	char *driver;        /* "dra.cpu"; when no source names the driver, the kind of the CDI devices */
	char *uid;           /* "" when unknown */
	char *namespace;     /* "" when unknown */
	char *name;          /* "" when unknown */
	struct strv cdi;     /* qualified names of the CDI devices, "dra.k8s.io/cpu=claim-..." */
	struct strv devices; /* "pool/device", with a share "pool/device/share" */
	struct pci_address *addresses; /* of `devices`, ascending; unknown addresses are omitted */
	size_t n_addresses;
	size_t addresses_size;
	/* Of `devices`, by the ResourceSlices of the API server; a node and its object do not know them. Devices of
	 * which neither is known are omitted. */
	struct claim_place *places;
	size_t n_places;
	size_t places_size;
	struct pod_ref *pods; /* the pods that use the claim; `exclusive` is not set */
	size_t n_pods;
	size_t pods_size;
	hwloc_bitmap_t cpus; /* CPUs exclusive to the claim; never NULL */
	struct memory_block *memory;
	size_t n_memory;
	size_t memory_size;
};

struct claims {
	struct claim *items;
	size_t n_items;
	size_t items_size;
};

/* Initialize a claim without resources; the strings are copied. */
void claim_init(
	struct claim *ret, const char *driver, const char *uid, const char *namespace, const char *name);
void claim_release(struct claim *c);

/* Free the claims; `c` is empty and may be used again. */
void claims_release(struct claims *c);

/* Add a pod unless the last added pod is the same. */
void claim_add_pod(struct claim *c, const char *namespace, const char *name);

/* Add "pool/device", with a share "pool/device/share"; do nothing when `device` is "". */
void claim_add_device(struct claim *c, const char *pool, const char *device, const char *share);

/* Add the address unless the claim has it. */
void claim_add_address(struct claim *c, const struct pci_address *address);

/* Add the place of a device; `nodes` (NULL = unknown) is copied. */
void claim_add_place(struct claim *c, hwloc_const_bitmap_t nodes, const char *root);

/* Move `c` to the end of `claims`; `c` is then empty. */
void claims_append(struct claims *claims, struct claim *c);

/*
 * Merge the claims that have the same driver, UID, namespace and name. Pods, devices and CDI devices are
 * united, as are the CPUs; of several memory blocks with the same type and NUMA nodes, the largest remains.
 * The claims are then sorted by these four strings; the pods, devices and CDI devices of each claim are
 * sorted too.
 */
void claims_merge(struct claims *claims);

/* Add to `c` the CPUs and memory of `from`, as claims_merge() does, and the UID if `c` has none. */
void claim_add_resources(struct claim *c, const struct claim *from);

/* All CPUs that claims hold; a new bitmap. */
hwloc_bitmap_t claims_cpus(const struct claims *claims);

/* Bytes of a type ("memory", "hugepages-1Gi") that claims hold on this NUMA node, UINT64_MAX on overflow.
 * A block on several nodes counts on each. */
uint64_t claims_bytes(const struct claims *claims, const char *type, unsigned node);

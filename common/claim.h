/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * claim: what a driver of Dynamic Resource Allocation gave one ResourceClaim, beside the kubelet's managers.
 * Depends on common/ only.
 */
#include "common/allocation.h"

/* What one driver gave one claim; a claim that several drivers serve has several of these. */
struct claim {
	char *driver;         /* "dra.cpu"; the kind of its CDI devices where no source names it */
	char *uid;            /* "" when unknown */
	char *namespace;      /* "" when unknown */
	char *name;           /* "" when unknown */
	struct strv cdi;      /* qualified names of its CDI devices, "dra.k8s.io/cpu=claim-..." */
	struct strv devices;  /* "pool/device", with a share "pool/device/share" */
	struct pod_ref *pods; /* that use it; `exclusive` is not set */
	size_t n_pods;
	size_t pods_size;
	hwloc_bitmap_t cpus; /* that nobody else may use; never NULL */
	struct memory_block *memory;
	size_t n_memory;
	size_t memory_size;
};

struct claims {
	struct claim *items;
	size_t n_items;
	size_t items_size;
};

/* A claim of nothing, with copies of these texts. */
void claim_init(
	struct claim *ret, const char *driver, const char *uid, const char *namespace, const char *name);
void claim_release(struct claim *c);

/* Free what they own; `c` is empty and may be used again. */
void claims_release(struct claims *c);

/* Add a pod unless the last one added is the same. */
void claim_add_pod(struct claim *c, const char *namespace, const char *name);

/* Add "pool/device", with a share "pool/device/share"; nothing where `device` is "". */
void claim_add_device(struct claim *c, const char *pool, const char *device, const char *share);

/* Append what `c` holds, which goes over to `claims`; `c` is then empty. */
void claims_append(struct claims *claims, struct claim *c);

/*
 * Make those with the same driver, UID, namespace and name one: pods, devices and CDI devices of all, each once; CPUs
 * united; of memory of one type on one set of NUMA nodes the most that one of them has. All are sorted by these texts
 * then.
 */
void claims_merge(struct claims *claims);

/* Give to `c` the UID, CPUs and memory of `from`, as claims_merge() does. */
void claim_add_resources(struct claim *c, const struct claim *from);

/* Every CPU that some claim holds; a new bitmap. */
hwloc_bitmap_t claims_cpus(const struct claims *claims);

/* Bytes of a type ("memory", "hugepages-1Gi") that claims hold on this NUMA node; a block that lies on several counts
 * on each. UINT64_MAX where it is more. */
uint64_t claims_bytes(const struct claims *claims, const char *type, unsigned node);

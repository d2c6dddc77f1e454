/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The kubelet's device manager (pkg/kubelet/cm/devicemanager, 1.36.2): topology hints for device-plugin
 * resources, and the NUMA nodes that devices are taken from. Which of several equal devices is taken is the
 * plugin's choice or random; this module takes the first. Depends on common/ and scoring/ only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/request.h"
#include "scoring/kubelet_version.h"
#include "scoring/node_mask.h"
#include "scoring/topology_manager.h"

struct device {
	uint64_t nodes; /* its NUMA nodes; 0 = its plugin reports none */
	bool healthy;
	bool allocated;
};

struct device_resource {
	char *name; /* "vendor.com/nic" */
	struct device *devices;
	size_t n_devices;
	size_t devices_size;
};

/* All devices that plugins have registered. Resources are sorted by name, names are unique. */
struct device_inventory {
	struct device_resource *resources;
	size_t n_resources;
	size_t resources_size;
};

void device_inventory_release(struct device_inventory *inventory);

/* Append a device to a resource, and insert the resource if it is new. */
void device_inventory_add(struct device_inventory *inventory, const char *name, struct device device);

/* The resource, or NULL. */
const struct device_resource *device_inventory_find(
	const struct device_inventory *inventory, const char *name);

/* Devices of one resource with the same NUMA nodes. */
struct device_group {
	uint64_t nodes;
	size_t total, available, reusable;
};

struct device_manager {
	const struct device_inventory *inventory; /* outlives the manager */
	uint64_t nodes;                           /* the machine's */
	size_t *first;                            /* where each resource's devices begin in the books */
	size_t n_devices;                         /* of all resources */
	size_t *first_group;                      /* where each resource's groups begin */
	uint32_t *group_of;                       /* per device: its group, a position among its resource's */
	uint64_t *group_nodes;                    /* per group: the NUMA nodes of its devices */
	size_t most_groups;                       /* of one resource */
	bool hints_on_every_node;                 /* struct kubelet_version */
};

void device_manager_init(struct device_manager *dm, const struct device_inventory *inventory, uint64_t nodes,
	const struct kubelet_version *version);
void device_manager_release(struct device_manager *dm);

/* The number of groups of the devices of resource `r`. */
size_t device_manager_groups(const struct device_manager *dm, size_t r);

/* The NUMA nodes of whose sets the hints of resource `r` are made; 0 = none of its devices has a NUMA node. */
uint64_t device_manager_hint_nodes(const struct device_manager *dm, size_t r);

/* The state of all devices at some moment, by position among all devices. */
struct device_books {
	bool *allocated, *reusable;
	struct device_group *groups; /* scratch */
};

void device_books_init(struct device_books *books, const struct device_manager *dm);
void device_books_release(struct device_books *books);
void device_books_reset(struct device_books *books, const struct device_manager *dm);

/* Continue with another pod, which has no devices to reuse. */
void device_books_begin_pod(struct device_books *books, const struct device_manager *dm);

/*
 * The hints for `n` devices of resource `r` (a position in the inventory). No preference if none of its
 * devices has a NUMA node; an empty list if there are not enough devices. At most NODE_MASK_WALK_MAX nodes.
 */
void device_manager_hints(const struct device_manager *dm, struct device_books *books, size_t r, size_t n,
	struct topology_hints *ret_hints);

/* Score the hints by the allocated devices on their nodes, of the healthy ones (topology_hints_score()). */
void device_manager_score(
	const struct device_manager *dm, struct device_books *books, size_t r, struct topology_hints *hints);

struct node_mask_fit device_manager_fit(
	const struct device_manager *dm, struct device_books *books, size_t r, size_t n);

enum device_take_status { DEVICE_TAKE_OK, DEVICE_TAKE_NOT_ENOUGH, DEVICE_TAKE_NONE_HEALTHY };

/*
 * devicesToAllocate(): take n devices; reusable ones first, then those on the hint's nodes, then on other
 * nodes, then those without a node. Devices of an ordinary init container stay reusable. The books change
 * only on DEVICE_TAKE_OK. *ret_available: the devices that were free. Allocates nothing.
 */
enum device_take_status device_manager_allocate(const struct device_manager *dm, struct device_books *books,
	size_t r, size_t n, struct topology_hint hint, enum container_kind kind, size_t *ret_available);

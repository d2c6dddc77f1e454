/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * request: what a container or pod asks for. Plain data, filled by whoever reads a Pod or the command line.
 * Depends on common/quantity.h only.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/resource.h"

enum qos_class {
	QOS_UNKNOWN, /* unknown: compute it with request_qos() */
	QOS_BEST_EFFORT,
	QOS_BURSTABLE,
	QOS_GUARANTEED,
	QOS_COUNT
};

extern const char *const qos_class_names[QOS_COUNT]; /* "", "BestEffort", "Burstable", "Guaranteed" */

struct resource_quantity {
	char *name;
	struct quantity quantity;
};

/* Sorted by name, names unique. */
struct resource_list {
	struct resource_quantity *items;
	size_t n_items;
	size_t items_size;
};

enum container_kind {
	CONTAINER_INIT,    /* ordinary init container */
	CONTAINER_SIDECAR, /* restartable init container (restartPolicy: Always) */
	CONTAINER_APP,
	CONTAINER_KIND_COUNT
};

struct container_request {
	char *name;
	enum container_kind kind;
	struct resource_list requests;
	struct resource_list limits;
};

struct pod_request {
	char *name;
	enum qos_class qos; /* status.qosClass where the object has it */
	struct container_request
		*containers; /* init containers and sidecars in their order, then app containers */
	size_t n_containers;
	size_t containers_size;
	struct resource_list overhead;
	bool has_pod_resources; /* spec.resources is set */
	bool has_claims; /* spec.resourceClaims is not empty: devices that are asked for in another way */
	struct resource_list pod_requests, pod_limits;
};

void pod_request_init(struct pod_request *p);
void pod_request_release(struct pod_request *p);

/* Append an empty container, to be filled in place. */
struct container_request *pod_request_add(struct pod_request *p, enum container_kind kind, const char *name);

void resource_list_release(struct resource_list *l);

/* Set `name` to `q` (replacing), keeping the order. */
void resource_list_set(struct resource_list *l, const char *name, struct quantity q);

/*
 * Build a list from many items in any order, in n log n steps: append each item, then sort. Of items with one name, the
 * last one stays. Between the two calls the list may only be appended to, sorted or released.
 */
void resource_list_append(struct resource_list *l, const char *name, struct quantity q);
void resource_list_sort(struct resource_list *l);

/* The quantity of a name in the merged list, from the list's (NULL when it does not have the name) and the other's. */
typedef struct quantity resource_merge_fn(const struct quantity *old, struct quantity more);

/* Merge `more` into the list: each of its names gets the quantity that `merge` returns. */
void resource_list_merge(struct resource_list *l, const struct resource_list *more, resource_merge_fn *merge);

/* Add the amounts of `more`, or subtract them when `sign` is -1. */
void resource_list_add(struct resource_list *l, const struct resource_list *more, int sign);

/* Whether both have the same names with the same amounts, however they are written. */
bool resource_list_equal(const struct resource_list *a, const struct resource_list *b);

/* The amount of that name in nano-units, 0 where there is none. */
qty_t resource_list_amount(const struct resource_list *l, const char *name);

/* The entry, or NULL. */
const struct resource_quantity *resource_list_find(const struct resource_list *l, const char *name);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * request: the resource requests and limits of a pod and its containers, as plain data. Depends on common/
 * only.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/resource.h"

enum qos_class {
	QOS_UNKNOWN, /* request_qos() computes the class */
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

/* A ResourceList: sorted by name, names unique. */
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
	enum qos_class qos; /* status.qosClass if the object has it */
	/* Init containers and sidecars in the order of the spec, then app containers. */
	struct container_request *containers;
	size_t n_containers;
	size_t containers_size;
	struct resource_list overhead;
	bool has_pod_resources; /* spec.resources is set */
	bool has_claims;        /* spec.resourceClaims is not empty: the pod requests devices through DRA */
	struct resource_list pod_requests, pod_limits;
};

void pod_request_init(struct pod_request *p);
void pod_request_release(struct pod_request *p);

/* A deep copy, to be released. */
void pod_request_copy(const struct pod_request *from, struct pod_request *ret);

/* Append an empty container, to be filled in place. */
struct container_request *pod_request_add(struct pod_request *p, enum container_kind kind, const char *name);

void resource_list_release(struct resource_list *l);

/* Set the quantity of `name`; add the name if the list does not have it. */
void resource_list_set(struct resource_list *l, const char *name, struct quantity q);

/*
 * Build a list from many items in any order, in n log n steps: append each item, then sort. If several items
 * have the same name, the last item remains. Between the calls the list may only be appended to, sorted or
 * released.
 */
void resource_list_append(struct resource_list *l, const char *name, struct quantity q);
void resource_list_sort(struct resource_list *l);

/* Add the quantities of `more`, as Quantity.Add does, or subtract them when `sign` is -1. */
void resource_list_add(struct resource_list *l, const struct resource_list *more, int sign);

/* Set the quantities of `more`, which replace the list's quantities of the same names. */
void resource_list_override(struct resource_list *l, const struct resource_list *more);

/* Add the quantities of `more` whose names the list does not have. */
void resource_list_default(struct resource_list *l, const struct resource_list *more);

/* Whether both have the same names with the same amounts; the format of the quantities is ignored. */
bool resource_list_equal(const struct resource_list *a, const struct resource_list *b);

/* The amount of a name in nano-units, 0 if the list does not have the name. */
qty_t resource_list_amount(const struct resource_list *l, const char *name);

/* The entry, or NULL. */
const struct resource_quantity *resource_list_find(const struct resource_list *l, const char *name);

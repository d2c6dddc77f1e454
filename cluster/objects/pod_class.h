/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Groups pods with equal requests into pod classes, for which verdicts are equal.
 *
 * All pods of a Deployment are usually of one pod class.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hash.h"
#include "common/node_state.h"
#include "common/request.h"
#include "common/vec.h"
#include "scoring/kubelet.h"

/* Counts the resource names of the cluster's nodes. Pods may request thousands of other names, which are not stored. A zeroed
 * struct is empty. */
struct known_resources {
	struct name_table by_name;
};

bool known_resources_has(const struct known_resources *k, const char *name);

/* Replaces `counted`, the names of an object's previous version, by its current names: a Node's status.allocatable, or a
 * NodeResourceTopology's zones and registered devices. */
void known_resources_of_node(
	struct known_resources *k, const struct resource_list *allocatable, struct strv *counted);
void known_resources_of_state(
	struct known_resources *k, const struct node_state *state, struct strv *counted);

/* Removes the names of a deleted object; `counted` is empty afterwards. */
void known_resources_forget(struct known_resources *k, struct strv *counted);

struct pod_class {
	struct pod_request pod; /* without a name; reduced by pod_classes_take() */
	enum qos_class qos;
	struct resource_list wanted; /* node-level request: request_of_node() */
	size_t cpus; /* the maximum number of exclusive CPUs at one time under the static CPU manager policy */
	/* A kubelet may have to align the pod: the pod is Guaranteed or requests devices. The kubelet's managers assign
	 * nothing to other pods. */
	bool aligned;
	bool too_large;  /* `pod` has only the node-level request; verdicts are unknown */
	uint64_t hash;   /* of the request; before the reduction if too_large */
	size_t bytes;    /* of memory */
	size_t users;    /* references */
	bool idle;       /* in pod_classes.idle: kept without references */
	uint64_t number; /* unique, from 1 on: another class may get the memory of a freed class */
};

/* A pod whose request needs more memory is too large. About a thousand containers fit. */
#define CLASSES_BYTES_MAX   ((size_t)256 << 10)
#define POD_CLASS_TOO_LARGE "the pod has too many containers and resources to be judged"

#define CLASSES_IDLE       64u /* classes kept without references: schedulers retry pending pods */
#define CLASSES_IDLE_BYTES ((size_t)8 << 20) /* total of the idle classes */

/* Names kept per pod class that no node has: this many extended resources and this many other resources. */
#define CLASSES_UNKNOWN_MAX 16u

struct pod_classes {
	struct known_resources known;
	void *by_content; /* of tsearch(3), struct pod_class */
	size_t n;
	uint64_t last_number;
	/* A ring buffer: `next` is discarded next, unless the class has references again. */
	struct pod_class *idle[CLASSES_IDLE];
	size_t next;
	size_t idle_bytes; /* total of the ring buffer */
};

void pod_classes_release(struct pod_classes *s);

/*
 * Finds or adds the class of a pod, whose content moves out of `pod`, and adds a reference.
 *
 * A pod may request tens of thousands of resources that no node has. The kubelet ignores an extended resource that its Node
 * does not have, and rejects the pod for the first other such resource. The class therefore keeps only the first
 * CLASSES_UNKNOWN_MAX names of either kind, in case a node gets them while the pod is in flight.
 */
struct pod_class *pod_classes_take(struct pod_classes *s, struct pod_request *pod);

/*
 * The first extended resource that the pod class requests, that another node has, and that the node does not have:
 * neither in `allocatable` of the Node nor in `reported`, the names in the node's object. NULL = no such resource. The
 * kubelet would ignore the request and run the pod without the resource. A resource that no node has is not returned,
 * because a DRA driver may serve it.
 */
const char *pod_class_lacks(const struct pod_class *class, const struct known_resources *known,
	const struct resource_list *allocatable, const struct strv *reported);

/* Subtracts the node-level request of one pod of the class from a sum that includes the pod. */
void pod_class_subtract(const struct pod_class *class, struct resource_list *requested);

/* Drops a reference. A class without references is freed now or later. Accepts NULL. */
void pod_classes_drop(struct pod_classes *s, struct pod_class *class);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Groups pods with equal requests into pod classes, which share their verdicts.
 *
 * All pods of a Deployment are usually of one pod class.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/cluster/cluster_node.h"
#include "agent/extender/known_resources.h"
#include "common/request.h"
#include "scoring/kubelet.h"

/* The verdict of one node's kubelet on a pod class (agent/extender/verdicts.h). */
struct verdict {
	uint64_t version, amounts_version; /* of the node_info; version 0 = no verdict yet */
	bool by_amounts; /* the answer rests on node-level amounts; the managers alone would answer otherwise */
	enum kubelet_answer answer;
	enum cluster_basis basis;  /* CLUSTER_UNKNOWN: the answer is unknown too */
	char *reason;              /* one sentence; NULL if the kubelet admits the pod */
	unsigned numa_nodes;       /* that the kubelet would assign; 0 = none */
	int score;                 /* 0 to 100, by the strategy */
	size_t free_on_numa_nodes; /* CPUs that remain free on the assigned NUMA nodes */
	size_t free_on_node;       /* CPUs that remain free on the node */
	bool unreached;            /* not judged before the work limit */
	bool confirmed;            /* by verdict_confirm() */
	bool unresolvable_known;   /* unresolvable_rejects() was called; its result: */
	bool unresolvable;
};

struct pod_class {
	struct pod_request pod; /* without a name, reduced by pod_classes_take() */
	enum qos_class qos;
	struct resource_list wanted; /* node-level request: request_of_node() */
	size_t cpus; /* the maximum number of exclusive CPUs at one time under the static CPU manager policy */
	/* A kubelet may have to align the pod: the pod is Guaranteed or requests devices. The kubelet's managers assign
	 * nothing to other pods. */
	bool aligned;
	bool too_large;         /* `pod` has only the node-level request; verdicts are unknown */
	uint64_t hash;          /* of the request; before the reduction if too_large */
	size_t bytes;           /* of memory, without `verdicts` */
	size_t users;           /* references */
	bool idle;              /* in pod_classes.idle: kept without references */
	bool limit_logged;      /* the log says that a request reached the work limit */
	uint64_t last_request;  /* pod_classes.n_requests at the last request */
	bool *known;            /* per item of `wanted`: some node has the resource, as of `known_version` */
	uint64_t known_version; /* of struct known_resources */
	struct verdict *verdicts; /* by node slot; owned by verdicts.c */
	size_t verdicts_size;
};

/* A pod whose request needs more memory is too large. About a thousand containers fit. */
#define CLASSES_BYTES_MAX ((size_t)256 << 10)

#define CLASSES_IDLE       64u /* classes kept without references: schedulers retry pending pods */
#define CLASSES_IDLE_BYTES ((size_t)8 << 20) /* total of the idle classes */
#define CLASSES_JUDGED     64u /* classes with verdicts: up to 1 MB each for 5000 nodes with reasons */

/* Names kept per pod class that no node has: this many extended resources and this many other resources. */
#define CLASSES_UNKNOWN_MAX 16u

struct pod_classes {
	struct known_resources known;
	void *by_content; /* of tsearch(3), struct pod_class */
	size_t n;
	struct pod_class *judged[CLASSES_JUDGED]; /* classes with verdicts; NULL = free */
	uint64_t n_requests;
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
void pod_classes_take(struct pod_classes *s, struct pod_request *pod, struct pod_class **ret);

/* Subtracts the node-level request of one pod of the class from a sum that includes the pod. */
void pod_class_subtract(const struct pod_class *class, struct resource_list *requested);

/* Drops a reference. A class without references is freed now or later. Accepts NULL. */
void pod_classes_drop(struct pod_classes *s, struct pod_class *class);

/* Makes room for verdicts on n_nodes nodes and discards verdicts made before known_resources changed. If CLASSES_JUDGED classes
 * have verdicts already, the least recently requested class loses its verdicts. */
void pod_classes_make_room(struct pod_classes *s, struct pod_class *class, size_t n_nodes);

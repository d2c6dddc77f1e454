/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What pods ask for, each such request once: pods of one Deployment share it, and so do the verdicts on it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/cluster/cluster_node.h"
#include "agent/extender/known_resources.h"
#include "common/request.h"
#include "scoring/kubelet.h"

struct verdict;

/* What the kubelet of one node would say to it (agent/extender/verdicts.h). */
struct verdict {
	uint64_t version; /* of the node that it is about; 0 = there is none yet */
	uint64_t amounts; /* of the node as well */
	bool by_amounts;  /* the managers' answer is another one: the node has too little, or perhaps */
	enum kubelet_answer answer;
	enum cluster_basis basis; /* unknown: nothing is known of the node, and the answer is unknown */
	char *reason;             /* one sentence, NULL when admitted */
	unsigned numa_nodes;      /* that the kubelet would use; 0 = it does not choose any */
	int score;                /* 0 to 100, by the strategy */
	size_t left;              /* CPUs that then remain free on these NUMA nodes */
	size_t free;              /* and on the whole node */
	bool unreached;           /* the work limit was reached before: it is not known yet */
	bool confirmed;           /* the order in which pods come has been looked at: verdict_confirm() */
	bool unresolvable; /* it was also asked of the node without its pods (agent/extender/unresolvable.h): */
	bool hopeless;     /* rejected there too */
};

struct pod_class {
	struct pod_request
		pod; /* without a name, and without most resources that no node has: pod_classes_take() */
	enum qos_class qos;
	struct resource_list wanted; /* of the node as a whole: request_of_node() */
	size_t cpus; /* the most exclusive CPUs at one time, where the CPU manager is static */
	/* A kubelet may have to align something of it: it is Guaranteed, or asks for devices. All other pods are
	 * of no concern to the kubelet's managers. */
	bool aligned;
	bool too_large;    /* `pod` has only its amounts as a whole: no kubelet's answer to it is known */
	uint64_t hash;     /* of `pod`, of one that is too large as it was */
	size_t bytes;      /* of memory, without the verdicts */
	size_t users;      /* who keeps it */
	bool idle;         /* it is among those that are kept without any */
	bool limit_logged; /* a line says that a question about it ran into the work limit */
	uint64_t asked;    /* when it was asked about last, by the count of such questions */
	bool *known;       /* by the items of `wanted`: some node has that resource, as of `known_version` */
	uint64_t known_version;   /* of struct known_resources */
	struct verdict *verdicts; /* by the node's slot; of verdicts.c */
	size_t verdicts_size;
};

/* A pod whose containers and resources need more memory is too large: that of about a thousand containers. */
#define CLASSES_BYTES_MAX ((size_t)256 << 10)

#define CLASSES_IDLE       64u /* are kept without a user: pods that wait are asked about again and again */
#define CLASSES_IDLE_BYTES ((size_t)8 << 20) /* of all of these together */
#define CLASSES_JUDGED     64u               /* have verdicts: up to 1 MB each, of 5000 nodes with reasons */

/* Of the resources that no node has, a pod class keeps so many extended ones, and so many others. */
#define CLASSES_UNKNOWN_MAX 16u

/* All of them. */
struct pod_classes {
	struct known_resources known;
	void *by_content; /* of tsearch(3), struct pod class */
	size_t n;
	struct pod_class *judged[CLASSES_JUDGED]; /* those that have verdicts */
	uint64_t n_asked;
	struct pod_class
		*idle[CLASSES_IDLE]; /* a ring of those that had no user once, the next to go at `next` */
	size_t next;
	size_t idle_bytes; /* of those in the ring */
};

void pod_classes_release(struct pod_classes *s);

/*
 * The pod class of a pod, made where there is none yet; `pod` is taken apart. It counts a user more. 0 or -ENOMEM.
 *
 * A pod may ask for tens of thousands of resources that no node has. The kubelet ignores extended resources that its Node
 * does not have, and rejects the pod for the first other one. So of each of the two the first CLASSES_UNKNOWN_MAX names are
 * kept, in case a node gets them while the pod is on its way, and the rest decides nothing.
 */
int pod_classes_take(struct pod_classes *s, struct pod_request *pod, struct pod_class **ret);

/* Take away what a pod of the pod class asks for from the sum of what several ask for, which it is part of. */
void pod_class_subtract(const struct pod_class *class, struct resource_list *requested);

/* One user less; without any it is freed, now or some time later. NULL is fine. */
void pod_classes_drop(struct pod_classes *s, struct pod_class *class);

/* Room for verdicts of so many nodes, and none that was made when other resources were known. The pod class that was not asked
 * about for the longest time may lose its own: so many have any as CLASSES_JUDGED says. 0 or -ENOMEM. */
int pod_classes_make_room(struct pod_classes *s, struct pod_class *class, size_t n_nodes);

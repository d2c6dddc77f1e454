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
	bool emptied;  /* it was also asked of the node without its pods (agent/extender/emptied.h): */
	bool hopeless; /* refused there too */
};

struct shape {
	struct pod_request
		pod; /* without a name, and without most resources that no node has: shapes_take() */
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
#define SHAPES_BYTES_MAX ((size_t)256 << 10)

#define SHAPES_IDLE       64u /* are kept without a user: pods that wait are asked about again and again */
#define SHAPES_IDLE_BYTES ((size_t)8 << 20) /* of all of these together */
#define SHAPES_JUDGED     64u               /* have verdicts: up to 1 MB each, of 5000 nodes with reasons */

/* Of the resources that no node has, a shape keeps so many extended ones, and so many others. */
#define SHAPES_UNKNOWN_MAX 16u

/* All of them. */
struct shapes {
	struct known_resources known;
	void *by_content; /* of tsearch(3), struct shape */
	size_t n;
	struct shape *judged[SHAPES_JUDGED]; /* those that have verdicts */
	uint64_t n_asked;
	struct shape *idle[SHAPES_IDLE]; /* a ring of those that had no user once, the next to go at `next` */
	size_t next;
	size_t idle_bytes; /* of those in the ring */
};

void shapes_release(struct shapes *s);

/*
 * The shape of a pod, made where there is none yet; `pod` is taken apart. It counts a user more. 0 or -ENOMEM.
 *
 * A pod may ask for tens of thousands of resources that no node has. The kubelet ignores extended resources that its Node
 * does not have, and rejects the pod for the first other one. So of each of the two the first SHAPES_UNKNOWN_MAX names are
 * kept, in case a node gets them while the pod is on its way, and the rest decides nothing.
 */
int shapes_take(struct shapes *s, struct pod_request *pod, struct shape **ret);

/* Take away what a pod of the shape asks for from the sum of what several ask for, which it is part of. */
void shape_take_away(const struct shape *shape, struct resource_list *requested);

/* One user less; without any it is freed, now or some time later. NULL is fine. */
void shapes_drop(struct shapes *s, struct shape *shape);

/* Room for verdicts of so many nodes, and none that was made when other resources were known. The shape that was not asked
 * about for the longest time may lose its own: so many have any as SHAPES_JUDGED says. 0 or -ENOMEM. */
int shapes_make_room(struct shapes *s, struct shape *shape, size_t n_nodes);

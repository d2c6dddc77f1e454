/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Computes a node's projected state: its object's state, plus assumed and bound pods, minus ended pods.
 */
#include <stdbool.h>
#include <stdint.h>

#include "common/io/time.h"
#include "cluster/model/cluster.h"
#include "cluster/model/in_flight_pods.h"
#include "scoring/node/node_admission.h"
#include "scoring/node/projected_state.h"

/* Borrows from the node. After the node's version changes, only projected_node_release() may be called. */
struct projected_node {
	size_t slot;                       /* of the node_info */
	uint64_t version, amounts_version; /* of the node_info */
	struct projected_state node;
	struct node_admission admission;
	struct in_flight_pods in_flight;
	size_t n_unreported; /* of these pods, without those of reservations */
	size_t n_unknown; /* of these pods, those of which nothing says whether the object reports them (zones_count.h) */
	size_t n_unplaced; /* pods that the object does not report, and that the kubelet would reject after the node's other pods */
	/* The kubelet would not admit the pod of one of the node's reservations yet, because other pods must leave
	 * first. Any free CPU or device of the node may be needed for the pod of the reservation. */
	bool reserved;
	/* The object, which names no pods, has no room for pods that run on the node: it counts pods that have ended. in_flight_admit() says no. */
	bool is_outdated;
};

/* The reasons for which a node is rejected: projected_node.reserved is set; in_flight_admit() says no, also because of is_outdated. */
#define PROJECTED_RESERVED \
	"the node is reserved: room is being made for another pod (preemption, or kubectl numa plan --apply)"
#define PROJECTED_ORDER "depends on the start order of pods already assigned to the node"
#define PROJECTED_OUTDATED \
	"the node's object is outdated: it has no room for pods that already run on the node (waiting for its exporter)"

/* Accepts a zeroed struct. */
void projected_node_release(struct projected_node *o);

/*
 * The CPU time of a projection depends on the node's own pods and reservations, and is charged to the node. A node that has used up its share is
 * not projected until the share has paid: project_node() returns NULL. Other nodes are not affected. The share of a node is 1/NODE_WORK_SHARE of
 * a CPU, and a burst of NODE_WORK_BURST_MS.
 */
#define NODE_WORK_BURST_MS 100u
#define NODE_WORK_SHARE    20u

struct node_work {
	uint64_t
		paid_us; /* when the share has paid for all projections: microseconds, by the clock of projections.now_ms */
};

#define PROJECTIONS_KEPT 512u /* entries of 30 kB each for nodes of 96 CPUs and 8 NUMA nodes */

/*
 * Caches projected nodes. `kept` is indexed by the node's slot modulo PROJECTIONS_KEPT. Nodes with slots of PROJECTIONS_KEPT or
 * higher are stored in `kept` only if they have in-flight pods, because these nodes take the longest to project; else in `last`.
 */
struct projections {
	struct cluster *cluster;     /* borrowed */
	uint64_t max_kubelet_ns;     /* see kubelet_limit_time(); 0 = no limit */
	uint64_t now_ms;             /* of the current request, if its work is limited */
	struct node_work *node_work; /* by node slot */
	size_t node_work_size;
	struct work_limit work; /* of the current request */
	struct projected_node *kept[PROJECTIONS_KEPT];
	struct projected_node *last;
};

void projections_release(struct projections *p);

/* Discards the cached projections of the node in this slot. */
void projections_forget(struct projections *p, size_t slot);

/* Whether the node has a NodeResourceTopology object with a usable state. project_node() and project_node_without() require
 * this. */
bool project_node_possible(const struct node_info *node);

/* Whether the projection is known to equal the object's state: the object reports every pod that holds something, and no pod has
 * ended. The projection has the NUMA nodes of the machine then, the object's inventory those of its zones. */
bool project_node_changes_nothing(const struct node_info *node);

/* The CPUs of the projection's shared pool, without projecting the node: a new bitmap. False if they are not known: a pod has ended, or what the
 * kubelet assigns to a pod is not computed yet, or is not only CPUs, or the object reports a part of it. Requires an exact basis. */
bool project_node_shared_cpus(const struct node_info *node, hwloc_bitmap_t *ret);

/*
 * Projects the node with all pods that are bound to or assumed on the node, and without ended pods. A pod that the
 * object reports in part is placed again from its requests. `p` owns the result, which is valid until the cluster
 * changes or another node is projected. NULL when the work limit is reached first, or when the node has used up its share of a limited
 * request's time; then p->work.reached is not set.
 */
struct projected_node *project_node(struct projections *p, const struct node_info *node);

/*
 * The node's state with all pods that are bound to the node: the object's own if the projection changes nothing, else that of the projection.
 * *ret is the projection then, else NULL. Requires project_node_possible(), and a request without a work limit.
 */
const struct node_state *project_node_state(
	struct projections *p, const struct node_info *node, struct projected_node **ret);

/* Projects the node without the pods node->pods[i] whose excluded[i] is set (`excluded` NULL = with all pods).
 * ret->in_flight stays empty. 0 or -ETIME; `ret` is to be released in either case. */
int project_node_without(struct projections *p, const struct node_info *node, const bool *excluded,
	struct projected_node *ret);

/*
 * Assumes the pod on the node with cluster_assume_pod(). If project_node_possible(), also computes what the kubelet will assign to
 * the pod. The computation ignores the work limit and is not postponed, because pods that end later would change the result.
 * Returns as cluster_assume_pod().
 */
const struct pod_info *project_assume_pod(
	struct projections *p, const struct assume_request *request, struct node_info *node, uint64_t now_ms);

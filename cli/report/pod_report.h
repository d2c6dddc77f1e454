/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reports what kubelets and schedulers would decide about one pod: per node the kubelet's verdict with the reason,
 * the pod's placement, the nearest request that the kubelet would admit, the number of copies, the answers of
 * schedulers, and the violated constraints. `fit`, `score` and `why` print parts of the report. No I/O.
 */
#include "cluster/constraints/scheduling_constraints.h"
#include "cluster/model/project_node.h"
#include "cluster/objects/pod_parse.h"
#include "common/err.h"
#include "common/node_state.h"
#include "common/request.h"
#include "scoring/admit.h"
#include "scoring/fit.h"
#include "scoring/nearest_request.h"
#include "scoring/node/pci_pair.h"
#include "scoring/node/victims.h"
#include "scoring/nrt_match.h"

/* Where the kubelet would put one container. */
struct container_report {
	char *name;
	struct topology_hint hint; /* the kubelet's: the NUMA nodes, by id; any_node = no affinity */
	bool aligned; /* the hint matters: the container holds CPUs, memory or devices, or the hint excludes a NUMA node */
	bool remote; /* another set of equally many NUMA nodes has smaller distances; the kubelet may still prefer `hint` */
	char *cpus;            /* exclusive CPUs as a list, "" = the shared pool */
	uint64_t memory_nodes; /* where the memory manager accounts the container's memory; 0 = nowhere */
};

/* The answers of schedulers, from the published object. */
struct scheduler_report {
	bool known;  /* false: not computed, or the object cannot contain the NUMA nodes */
	bool passes; /* the filter of NodeResourceTopologyMatch */
	char *filter_reason,
		*filter_detail; /* the plugin's message, and with amounts; "" if the pod passes */
	bool bound;             /* the pod requests a resource of NUMA nodes; else `fit` has no meaning */
	struct fit fit;         /* of the pod's effective request; nodes are positions in the inventory */
	uint64_t numa;          /* the same NUMA nodes by id, 0 if none are found */
	int64_t scores[STRATEGY_COUNT]; /* or SCORE_UNKNOWN */
	bool volcano_admits;
	unsigned volcano_used; /* NUMA nodes */
	char *volcano_reason;
	int64_t volcano_score; /* SCORE_UNKNOWN if Volcano rejects the node */
};

/* Which pods may be victims, by --below-priority. */
struct victim_priority {
	bool asked;
	int32_t below;     /* the value of --below-priority: pods of this priority or higher are no victims */
	size_t n_excluded; /* pods that hold something and have this priority or a higher one */
	size_t n_unknown_priority; /* pods that hold something, whose priority is unknown: no victims either */
};

/* One node. */
struct node_report {
	char *name, *exporter;    /* "" = unknown; NULL for a node that was not read from an object */
	enum cluster_basis basis; /* of the kubelet's verdict; unknown if there is none */
	enum kubelet_answer answer;
	enum kubelet_answer kubelet_answer; /* without the constraints */
	enum pci_pair pci_pair;             /* if admitted: of the devices that are free now */
	bool unschedulable;                 /* rejected only because of the constraints */
	bool full;          /* rejected because the node has reached its maximum number of pods */
	bool node_is_short; /* the whole node has too little, whatever the kubelet's managers decide */
	bool rest_fits; /* unknown only because of devices: `containers` and `copies` are those of the pod without devices */
	struct topology_manager_config topology; /* with what-if settings applied */
	char *why;                               /* why the basis is not exact, else "" */
	char *rejection; /* the reason in the pod's status, "TopologyAffinityError"; "" if not rejected */
	char *reason;    /* one sentence, "" if admitted */
	struct strv cautions; /* if admitted: what is not guaranteed */
	bool not_preferred;   /* admitted, although the pod is not aligned (best-effort) */
	struct err
		release; /* kubelet_release_caution(): the kubelet is newer than the newest compared release, else "" */
	struct kubelet_time time; /* that the kubelet needs for the verdict */
	char *slow;          /* one sentence about this time, "" = the kubelet is fast, or `reason` says so */
	size_t n_reserved;   /* reservations for other pods, whose places count as held */
	size_t n_unreported; /* pods that count as held although the node's object does not report them yet */
	size_t n_unknown;    /* of these pods: nothing says whether the object reports them */
	struct container_report *containers; /* if admitted, or rest_fits */
	size_t n_containers;
	size_t containers_size;
	struct admit_copies copies;     /* if admitted, or rest_fits */
	struct nearest_request nearest; /* if rejected; each `resource` is a name in pod_report.wanted */
	bool fits_in_scope_pod; /* rejected, but not under topologyManagerScope pod: a container must reuse an init container's CPUs */
	char *obstacle; /* if no nearest request is found: why the smallest amounts are rejected, too; NULL = the reason says so */
	struct strv unchecked; /* device resources that were not checked */
	char *missing;         /* the first device resource that the node does not have, or NULL */
	struct scheduler_report scheduler;
	struct victims victims;
	struct victim_priority priority;
	size_t placeable; /* copies that the kubelet admits; 0 if the constraints exclude every copy */
	size_t replicas;  /* the part of pod_report.wanted_replicas that is placed here */
};

struct pod_report {
	const struct pod_request *pod;
	enum qos_class qos;
	bool critical; /* the kubelet evicts pods of lower priority where the node has too little for the pod (preemption.go) */
	struct resource_list wanted; /* the pod's node-level request, including devices */
	struct err
		not_guaranteed; /* why the pod is not Guaranteed, "" = it is, or its class is unknown or that of pod-level resources */
	struct err alignment;           /* what the Topology Manager aligns for the pod, one sentence */
	size_t exclusive_cpus;          /* that the pod requests; 0 with pod-level resources */
	struct projections projections; /* of the cluster */
	struct pod_class *class;        /* of the cluster */
	struct scheduling_constraints *constraints; /* NULL = only the kubelets' verdicts */
	struct distances_kept
		kept; /* distances of the last node, reused because a cluster has few kinds of machines */
	const struct node_info
		*judged; /* the node of the cluster that is judged now; NULL = a node without a cluster */
	struct node_report *nodes;
	size_t n_nodes;
	size_t nodes_size;
	struct strv without_object; /* Nodes that have no object: they are in no row and count nowhere */
	size_t n_admit, n_unknown, n_estimated;
	size_t copies; /* of all nodes together */
	bool at_least; /* there may be more copies */
	size_t wanted_replicas, placed_replicas;
	size_t min_copies; /* report only on nodes that admit this number of copies or more; 0 = on all nodes */
};

/* The pod must outlive the report. */
void pod_report_init(struct pod_report *r, const struct pod_request *pod);

/*
 * Sets the cluster whose nodes are added later, with all its Nodes and Pods, and the pod in question: `template` is the report's pod, in
 * `namespace` if the template has none. Reservations that the pod may use, and nominated pods of a lower priority, do not count from now on.
 * The cluster must outlive the report.
 */
void pod_report_set_cluster(struct pod_report *r, struct cluster *cluster,
	const struct pod_template *template, const char *namespace);
void pod_report_release(struct pod_report *r);

/* What is computed in addition to the verdict; each part takes time. */
enum report_part {
	REPORT_PLACEMENTS = 1, /* containers */
	REPORT_COPIES = 2,
	REPORT_NEAREST = 4,
	REPORT_SCHEDULER = 8,
	REPORT_ALL = 15
};

/*
 * Reports on one node. `requestable`: what pods can still request of the node in total; NULL = only what the node's
 * state shows.
 *
 * If all registered devices are known, the node does not have a device resource that no plugin has
 * registered, and rejects the pod. If it is unknown which devices of a resource are free, or on which NUMA
 * nodes, the pod without these devices is judged: if the kubelet rejects this smaller pod, the verdict is a
 * rejection, else unknown. If the Topology Manager's policy or scope is unknown, the reason lists the verdicts under each.
 */
void node_report_make(struct pod_report *r, const struct node_state *node, unsigned parts,
	const struct resource_list *requestable, struct node_report *ret);
void node_report_release(struct node_report *n);

/*
 * Computes the scheduler plugin's answers for the pod and the inventory as published, with this configuration
 * and weights (NULL = 1 each). For more than COMBINATION_MAX_NODES NUMA nodes they are unknown: *ret, which the caller has zeroed, stays
 * zeroed.
 */
void scheduler_report_make(struct pod_report *r, const struct inventory *inv, const struct pod_request *pod,
	const struct topology_manager_config *config, const struct resource_weights *weights,
	struct scheduler_report *ret);

/* Adds the smallest set of pods whose eviction makes the node's kubelet admit the pod. Arguments as for victims_find(). */
void node_report_add_victims(const struct node_state *node, const struct pod_request *pod,
	const struct victim_pods *pods, struct node_report *n);

/*
 * Adds a node of the cluster that has an object, with the pods that are bound to it, as nrtd-extender judges it. A
 * node to which the constraints do not allow the pod rejects it as "Unschedulable". The result is valid until
 * the next node is added.
 */
struct node_report *pod_report_add(struct pod_report *r, const struct node_info *node, unsigned parts);

/* Frees the object of a node that has been added. */
void pod_report_drop_node(struct pod_report *r, struct node_info *node);

/*
 * Sorts the nodes and places replicas. Nodes that admit the pod come first: among them nodes that align the pod, then nodes that have a GPU and
 * a NIC free below one PCIe root (pci_pair_find()), then nodes that admit the most copies. Nodes with an unknown verdict come next. Ties are
 * in natural order of names. In this order each node gets as many replicas as it admits and the constraints allow, so that the replicas use
 * the fewest nodes unless a constraint spreads them.
 */
void pod_report_place(struct pod_report *r, size_t replicas);

/* The NUMA nodes of all containers, by id; 0 = no container has affinity. */
uint64_t node_report_numa(const struct node_report *n);

/* The copies that the kubelet admits; none unless it admits the pod. */
const struct admit_copies *node_report_copies(const struct node_report *n);

/* Whether the node admits r->min_copies copies. False if that is unknown. */
bool pod_report_has_copies(const struct pod_report *r, const struct node_report *n);

/* The number of nodes with pod_report_has_copies(). *ret_unknown: whether there may be more such nodes. */
size_t pod_report_count_with_copies(const struct pod_report *r, bool *ret_unknown);

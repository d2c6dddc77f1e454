/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * fit_report: everything that `fit` reports about one pod and one node, as plain data. No I/O.
 */
#include "agent/state/victims.h"
#include "common/err.h"
#include "common/node_state.h"
#include "common/request.h"
#include "common/vec.h"
#include "scoring/admission.h"
#include "scoring/fit.h"
#include "scoring/nrt_match.h"

/* Where the kubelet would put one container. */
struct fit_container {
	char *name;
	struct topology_hint hint; /* the NUMA nodes, by id; any_node = no affinity */
	bool remote; /* others, as many, are closer to each other; the kubelet may still prefer them */
	char *cpus;  /* its exclusive CPUs as a list, "" = it runs in the shared pool */
	uint64_t memory_nodes; /* where the memory manager charges its memory; 0 = it does not */
};

/* What the scheduler plugin makes of the published object. */
struct fit_scheduler {
	bool known; /* false: a NUMA node's id, or their number, is more than is published */
	struct filter_result filter;
	bool bound;     /* the pod asks for something that NUMA nodes have; else fit says nothing */
	struct fit fit; /* of the pod's effective request; nodes are positions in the inventory */
	int scores[STRATEGY_COUNT]; /* or SCORE_UNKNOWN */
};

/* Who may go, by --below-priority. */
struct fit_priority {
	bool asked;
	int32_t below;      /* pods of this priority stay, and those of a higher one */
	size_t n_not_below; /* pods that hold something and stay */
	size_t n_unknown;   /* and those that stay because their priority is not known */
};

struct fit_report {
	enum qos_class qos;
	struct topology_manager_config topology; /* as the kubelet is set up, or as asked what if */
	enum kubelet_answer answer;
	char *rejection; /* the reason in the pod's status, "TopologyAffinityError"; "" when not rejected */
	bool unschedulable; /* schedulers keep the pod away, whatever the kubelet says */
	bool node_is_short; /* the whole node has too little, whatever the managers say */
	struct err reason;  /* one sentence, "" when admitted */
	bool rest_fits;     /* unknown for the devices' sake alone: containers and copies are those without */
	struct fit_container *containers; /* when admitted, or for the rest */
	size_t n_containers;
	size_t containers_size;
	struct admission_copies copies;
	struct admission_nearest nearest; /* sought when rejected; its resource is a name in `wanted` */
	char *nearest_container;          /* the container's name where the pod has several, or NULL */
	struct resource_list wanted;      /* what the pod takes of the node as a whole, devices included */
	struct strv unchecked;            /* device resources that were not checked */
	char *missing;                    /* the first device resource that the node does not have, or NULL */
	bool has_claims;                  /* the pod has resourceClaims, which are not looked at */
	struct err gap; /* what keeps a Burstable pod from being Guaranteed, "" = more than one thing */
	struct fit_scheduler scheduler;
	struct victims frees; /* where it was asked for */
	struct fit_priority priority;
};

void fit_report_release(struct fit_report *report);

/* What is worked out beside the verdict and its reason; each takes its time. */
enum fit_part {
	FIT_PLACEMENTS = 1, /* containers */
	FIT_COPIES = 2,
	FIT_NEAREST = 4,
	FIT_SCHEDULER = 8,
	FIT_ALL = 15
};

/*
 * The report on a pod, with these parts; the members of others are as zeroed. `most`: so much, and no more, of
 * the whole node can still be requested, where that is known from elsewhere; NULL = it is not. A device resource that no
 * plugin has registered, where the registered ones are known,
 * is one that the node does not have: the pod does not fit. Where it is not known which devices of a resource
 * are free, and on which NUMA nodes, a pod that asks for them is answered without them, and is unknown unless
 * that is rejected already. Where the Topology Manager's policy or scope is not known the reason says what
 * depends on it.
 */
int fit_report_make(const struct node_state *node, const struct pod_request *pod, unsigned parts,
	const struct resource_list *most, struct fit_report *ret);

#define FIT_UNSCHEDULABLE "Unschedulable" /* the rejection where schedulers keep the pod away */

/* Schedulers keep the pod away from the node, for this reason: it does not fit. */
void fit_report_keep_away(struct fit_report *report, const char *reason);

/* Add which pods would have to go, where the pod of this report does not fit. `known` may be NULL. */
void fit_report_add_frees(const struct node_state *node, const struct pod_request *pod,
	const struct victims_known *known, struct fit_report *report);

/* What keeps a Burstable pod from being Guaranteed, as struct fit_report has it; else *ret is left as it is. */
void fit_explain_class(const struct pod_request *pod, struct err *ret);

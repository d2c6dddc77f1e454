/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The model of a cluster: its nodes and pods, from listed and watched objects, and the pods assumed on nodes.
 *
 * An assumed pod, as in kube-scheduler's cache, is a pod that the extender has placed on a node and that the API server does
 * not report as bound yet.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/model/namespace_counts.h"
#include "cluster/model/node_reservations.h"
#include "cluster/model/pending_pods.h"
#include "cluster/model/rejected_pods.h"
#include "cluster/model/reported_pods.h"
#include "cluster/objects/cluster_node.h"
#include "cluster/objects/disruption_budgets.h"
#include "cluster/objects/object_content.h"
#include "cluster/objects/object_input.h"
#include "cluster/objects/pod_class.h"
#include "common/doc.h"
#include "common/err.h"
#include "common/hash.h"

/* The kinds of objects in a cluster are the first of enum object_kind. The last kind is optional: only /preempt uses
 * PodDisruptionBudgets, and /preempt works without the right to list them. */
#define CLUSTER_KINDS          (OBJECT_PDB + 1)
#define CLUSTER_KINDS_REQUIRED OBJECT_PDB

extern const char *const cluster_kind_names[CLUSTER_KINDS]; /* "NodeResourceTopologies", ... for messages */

struct node_info;
struct gang;

#define VERSION_UNKNOWN UINT64_MAX

/*
 * The life of a pod, and who can cause each step:
 *
 *   step      from              event                                           who
 *   pending   -                 a Pod without spec.nodeName                     whoever may create pods
 *   assumed   pending           /filter is answered with one node               the scheduler
 *   pending   assumed           /filter again; not bound in time                the scheduler; time
 *   bound     pending, assumed  spec.nodeName                                   the scheduler; whoever may create pods
 *   admitted  bound             status.startTime, or a container has started    the node's kubelet
 *   reported  bound, admitted   the node's object has all that the pod holds    the node's agent
 *   ended     all               phase Succeeded or Failed; deletion; the pod    the node's kubelet; whoever may delete
 *                               is not in a list of all Pods                    the pod
 *
 * Pending pods are in cluster.pending, assumed and later ones in node_info.pods, ended ones in node_info.ended until no object can report
 * them any more. "reported" is not stored: the projection compares the pod with the object (reported_pods.h).
 *
 * An assumed, bound or admitted pod adds what the kubelet is expected to assign to it; a reported pod adds nothing; an ended pod subtracts
 * what the object has of it. No step changes what another pod holds. A pod that a user binds holds nothing if its kubelet would reject it
 * in any order, and a pod that was deleted while a container ran holds what the object has of it until the object changes.
 */

/* A pod that is bound to a node or assumed on a node. Members named *_version hold the cluster's version at that event. */
struct pod_info {
	char *uid;
	char *static_uid; /* of a mirror pod: the UID of its static pod; else NULL */
	char *namespace, *name;
	struct pod_names names;
	struct pod_class *class;
	struct node_info *node;
	/* What the node's kubelet is expected to assign; NULL = not computed. Written by project_node.c,
	 * because it depends on the pods that the node had when the pod was assumed. The cluster discards `held` when the pod
	 * is resized. */
	struct allocation *held;
	/* Also of project_node.c: versions at which the node's kubelet would have rejected the pod, after the earlier pods of
	 * the node and as the only in-flight pod. A rejection is valid while its version is not older than
	 * node_info.freed_version. 0 = no rejection. */
	uint64_t rejected_version, rejected_alone_version;
	uint64_t held_version; /* the version at which `held` was computed */
	/* Since this version another aligned pod of the node has waited for its admission at the same time: which of the two the kubelet admitted
	 * first is unknown. 0 = no such pod. */
	uint64_t overlaps_version;
	bool held_is_rest; /* `held` is only the part that the NodeResourceTopology object does not report */
	bool is_reservation; /* not a pod: stands for the pod of a reservation, or for a nominated pod; never bound */
	bool mirror; /* of a static pod; the NodeResourceTopology object reports what the static pod holds */
	bool daemon; /* of a DaemonSet, which recreates the pod on the same node */
	bool bound;  /* false = assumed until expires_ms */
	bool terminating; /* of a bound pod: it is being deleted */
	bool repels;      /* of a bound pod: it has rules against other pods (podAntiAffinity) */
	bool assumed;     /* the extender assumed the pod on this node; stays set when the pod is bound */
	bool admitted;    /* by the node's kubelet */
	bool hidden;  /* does not count for the request that is being answered, and is not in node->pods */
	bool earlier; /* of an assumed pod of a gang: the pod was requested again since; not in pods_by_uid */
	bool nominated; /* of an assumed pod of a gang: the Pod has the node as its nominated node */
	bool runs;      /* of a bound pod: a container has started */
	bool priority_known;
	int32_t priority; /* 0 if it is not known */
	uint64_t expires_ms;
	/* Versions at which the pod was placed on the node, and at which its admission was reported. A list does not show the order of what
	 * it reports: a pod that a list reports first was placed before the list, and while the list is incomplete, an admission that it
	 * reports has VERSION_UNKNOWN, which is later than all ends. */
	uint64_t placed_version, admitted_version;
	uint64_t bound_version;    /* at which the binding was reported; VERSION_UNKNOWN = not bound */
	uint64_t resource_version; /* of an assumed pod: assume_request.resource_version */
	uint64_t arrival;          /* of an assumed pod: assume_request.arrival */
	uint64_t bound_ms;         /* when the binding was first reported; 0 = the pod was running already */
	uint64_t admitted_ms;      /* when the admission was first reported */
	int64_t created_s;         /* metadata.creationTimestamp, in seconds since the epoch; 0 = not set */
	int64_t started_s;         /* status.startTime, in seconds since the epoch; 0 = not set */
	int64_t scheduled_s;       /* of an admitted pod: pod_scheduled_s() */
	uint64_t list_number;      /* the last list that contained the pod */
	char *controller;          /* its UID, of a bound pod that kubelets align; NULL = none */
	struct budgeted_pod budgeted; /* of a bound pod that kubelets align; all others have no labels here */
	struct gang *gang;            /* of an assumed pod; NULL = none */
	uint64_t assumption;          /* a number that increases with each assumption of the gang */
};

/* The assumed pods of a PodGroup: a pod may be assumed on several nodes. */
struct gang {
	char *full_name; /* NAMESPACE/NAME */
	struct pod_info **pods;
	size_t n_pods, pods_size;
	uint64_t n_assumptions;
	uint64_t active_ms; /* the last request or binding of a pod */
	uint64_t reverted;  /* during a request: the scheduler has reverted assumptions up to this number */
};

/* How long a gang's assumed pods last without a request or a binding of the gang. The scheduler binds the pods at the end of the
 * scheduling cycle, unless they wait for volumes; then it nominates their nodes. */
#define GANG_UNDECIDED_MS 1500u

/* A pod that has ended or was deleted. NodeResourceTopology objects may report the pod for a while after its end. */
struct ended_pod {
	struct pod_names names;
	uint64_t version; /* the cluster's, at the end */
	uint64_t ended_ms;
	bool reported; /* an object has reported the pod since the end */
};

/* Per node. Above this number the oldest ended pod is forgotten: if an object still reports that pod, its resources
 * count as held. */
#define ENDED_PODS_MAX 1024u

/* A manager of the node's kubelet rejected a pod of this class that the extender had assumed on the node. */
struct node_rejection {
	struct pod_class *class;
	const char *reason;  /* of manager_reasons */
	uint64_t expires_ms; /* the node gets no pod of the class until then, or until its object changes */
};

/* Per node. */
#define DEVICE_NAMES_MAX 256u

struct node_info {
	/* What a request reads of every node is in one cache line. */
	char *name;
	size_t slot;            /* index in cluster.nodes */
	uint64_t version;       /* changes whenever a verdict on the node may change */
	uint64_t freed_version; /* the last version at which something on the node may have become free */
	/* Changes when only node-level requests change: those of pods that get nothing from the kubelet's managers. */
	uint64_t amounts_version;
	struct node_reservation *reservations;
	size_t n_reservations;
	bool has_object;     /* a NodeResourceTopology object */
	bool object_dropped; /* by cluster_drop_object() */
	struct cluster_node object;
	struct reported_index reported; /* of `object` */
	uint64_t object_ms; /* when a change of the object's content was last reported; 0 = never */
	char content_hash[HASH_TEXT_SIZE]; /* of the object; "" = no object */
	bool has_node;                     /* a Node object */
	bool is_ready, is_cordoned;        /* node_ready_status(), node_is_cordoned() */
	struct kubelet_release kubelet;    /* as the Node reports it */
	struct resource_list allocatable;
	struct resource_list requested; /* sum over `pods` */
	struct pod_info **pods;         /* in the order in which the cluster learned of them */
	size_t n_pods;
	size_t pods_size;
	struct ended_pod *ended;
	size_t n_ended;
	size_t ended_size;
	struct node_rejection *rejections;
	size_t n_rejections;
	size_t rejections_size;
	uint64_t *
		n_rejected; /* for metrics: pods rejected by the kubelet, by rejection_reasons; NULL = none */
	char reservations_hash[HASH_TEXT_SIZE]; /* of the Node's annotations; "" = no reservations */
	uint64_t list_number[OBJECT_POD];       /* the last lists with its two objects */
	struct strv resources[OBJECT_POD];      /* resource names of the two objects */
	struct strv
		devices; /* device resources that one of the node's objects has reported; at most DEVICE_NAMES_MAX */
	struct doc constraints; /* node_copy_constraints() of the Node; null unless config.keep_constraints */
};

struct cluster_config {
	uint64_t assume_ms;           /* an assumed pod that is not bound is forgotten after this time */
	uint64_t rejection_ms;        /* how long a node_rejection lasts */
	size_t namespace_assumed_max; /* assumed pods per namespace; 0 = no limit */
	bool keep_constraints;        /* of the Nodes: node_info.constraints */
};

/* kube-scheduler waits up to 600 s for a pod's volumes (bindTimeoutSeconds); one minute more than that. */
#define ASSUME_VOLUMES_MS 660000u

/* The versions of a node: node_info. */
struct node_versions {
	uint64_t any, amounts, freed;
};

/* A pod that does not count for the request that is being answered. */
struct hidden_pod {
	struct pod_info *pod;
	size_t position;                    /* among the node's pods */
	struct node_versions before, after; /* of the node, when the pod was hidden */
};

struct cluster {
	struct cluster_config config;
	struct pod_classes classes;
	struct name_table nodes_by_name;
	struct name_table pods_by_uid;      /* struct pod_info */
	struct name_table gangs;            /* struct gang by full name */
	struct namespace_counts namespaces; /* assumed pods */
	struct pending_pods pending;
	struct rejected_pods rejected;
	struct disruption_budgets budgets;
	struct pod_info **nominations; /* the stand-ins of cluster_nominations.c */
	size_t n_nominations, nominations_size;
	struct hidden_pod *hidden; /* the last one hidden last */
	size_t n_hidden, hidden_size;
	struct node_info **nodes; /* by slot; NULL = free */
	size_t n_nodes;           /* slots */
	size_t nodes_size;
	uint64_t version; /* the last version given to a node; every version is unique */
	uint64_t list_number[CLUSTER_KINDS];
	uint64_t list_version; /* the cluster's version when the current list of pods began */
	bool lists_pods;       /* a list of pods has begun and is incomplete */
	size_t n_with_node;    /* nodes with a Node object */
	size_t n_reservations;
	size_t n_pods, n_assumed; /* for metrics, as all members below */
	uint64_t n_expired;
	uint64_t n_assumed_rejected
		[REJECTION_REASONS]; /* pods rejected on the node on which they were assumed */
};

void cluster_init(struct cluster *cluster, const struct cluster_config *config);
void cluster_release(struct cluster *cluster);

/*
 * Begins a list of a kind. cluster_list_end() deletes the objects that the list did not contain. Pods assumed during the list
 * stay, because they may have been created after the list was taken.
 */
void cluster_list_begin(struct cluster *cluster, enum object_kind kind);

/* `version` is the list's resource_version_parse(), 0 = not known. */
void cluster_list_end(struct cluster *cluster, enum object_kind kind, uint64_t version, uint64_t now_ms);

/*
 * Applies an added or modified object. 0; -EINVAL with one line that names the object (its previous content stays).
 * A Pod with a node is not pending, even if its requests cannot be read: users can create such Pods.
 */
int cluster_update(
	struct cluster *cluster, enum object_kind kind, struct doc *object, uint64_t now_ms, struct err *err);
void cluster_delete(
	struct cluster *cluster, enum object_kind kind, const struct doc *object, uint64_t now_ms);

/*
 * cluster_update() in two steps, of which the first does not change the model: what takes long to read of the object is read with the hash that the
 * model knows (object_content_read()), then the object is applied. Between the two, no other object of the kind may be applied.
 */
const char *cluster_known_hash(
	const struct cluster *cluster, enum object_kind kind, const struct doc *object);
int cluster_update_read(struct cluster *cluster, enum object_kind kind, struct doc *object,
	struct object_content *content, uint64_t now_ms, struct err *err);

/*
 * Sets the node's NodeResourceTopology object, as cluster_node_read() has read it; the object moves. For a caller that needs
 * the objects of all nodes one after another: cluster_drop_object() frees the object, and the node if it has nothing else.
 * cluster_node_lacks_object(): there is a Node, and neither has an object nor had one that was dropped.
 */
struct node_info *cluster_set_object(struct cluster *cluster, struct cluster_node *object, uint64_t now_ms);
void cluster_drop_object(struct cluster *cluster, struct node_info *node);
bool cluster_node_lacks_object(const struct node_info *node);

/* Sets what the Node has for pods, as node_allocatable() has read it; the list moves. */
void cluster_set_allocatable(
	struct cluster *cluster, struct node_info *node, struct resource_list *allocatable);

/* Notes that an object could not be parsed and was skipped. The object's UID is unknown. */
void cluster_skip(struct cluster *cluster, enum object_kind kind);

/* NULL = no such node. */
struct node_info *cluster_find_node(const struct cluster *cluster, const char *name);

/* The pod that is to be assumed. */
struct assume_request {
	const char *uid, *namespace, *name;
	struct pod_class *class; /* cluster_assume_pod() adds a reference */
	int32_t priority;
	uint64_t resource_version; /* resource_version_parse() of the scheduler's pod; 0 = not known */
	uint64_t arrival;          /* of the scheduler's request: a later request has a larger number */
	bool has_volumes;          /* the scheduler may wait for the pod's volumes before it binds the pod */
	const char *gang;          /* spec.schedulingGroup.podGroupName; "" = none */
};

/*
 * Begins and ends a request for the pod. At the begin the pod is forgotten if it is assumed, but a pod of a gang stays assumed where
 * it was, because the scheduler may still choose this placement. At the end hidden pods count again. A pod that has been assumed
 * during the request is no longer nominated. Until this pod ends or is forgotten, it uses the first suitable reservation of its node.
 */
void cluster_begin_request(
	struct cluster *cluster, const char *namespace, const char *gang, const char *uid, uint64_t now_ms);
void cluster_end_request(struct cluster *cluster, const char *namespace, const char *gang, const char *uid);

/* During a request: hides the gang's assumed pods on the node that the scheduler has reverted. */
void cluster_hide_reverted(
	struct cluster *cluster, const char *namespace, const char *gang, struct node_info *node);

/* Whether the namespace has reached config.namespace_assumed_max, not counting the pod `uid`. */
bool cluster_namespace_is_full(const struct cluster *cluster, const char *namespace, const char *uid);

/* Assumes the pod on the node, in place of an earlier assumption. NULL for a bound pod, which keeps its node, and for a
 * pod that is known to be deleted. */
struct pod_info *cluster_assume_pod(struct cluster *cluster, const struct assume_request *request,
	struct node_info *node, uint64_t now_ms);

/* Forgets the pod if it is assumed. */
void cluster_forget_pod(struct cluster *cluster, const char *uid);

/* Whether the node has a hidden reservation that the pod of cluster_hide_for_request() may use. */
bool cluster_has_usable_reservation(const struct node_info *node);

/* During a request: hides the nominated pods that do not count for this pod: the pod itself, and pods of lower priority. */
void cluster_hide_nominations(struct cluster *cluster, const char *uid, int32_t priority);

/*
 * During a request: hides the nominated pods that do not count for this pod, the reservations that a pod of this class may use, and reservations
 * of the plan's later steps on the same nodes. The pod's UID is `user->uid`.
 */
void cluster_hide_for_request(struct cluster *cluster, const struct reservation_user *user, int32_t priority,
	const struct pod_class *class);

/* The node's reservations that count as held. */
size_t node_info_count_reserved(const struct node_info *node);

/* Forgets expired assumed pods, rejections, reservations and ended pods. */
void cluster_expire(struct cluster *cluster, uint64_t now_ms);

/* What pods can still request of a node: allocatable minus requested plus `returned`, at least 0. `returned`: the
 * requests of pods that are assumed to end; NULL = none. *ret is to be released. */
void requestable_amounts(const struct resource_list *allocatable, const struct resource_list *requested,
	const struct resource_list *returned, struct resource_list *ret);

/*
 * What pods can still request of a node that has a Node object: allocatable minus the requests of the node's pods, except those whose
 * without[i] is set (NULL = none), at least 0. The resource "pods" counts pods. *ret is to be released.
 */
void node_info_requestable(const struct node_info *node, const bool *without, struct resource_list *ret);

/* For a resource of which the kubelet knows no device plugin (DEVICES_ABSENT): whether somebody has added it to the Node's status. The kubelet then
 * checks the amount and assigns nothing. False if an earlier object reported its devices: the kubelet has restarted, and the Node or the object is
 * late. */
bool node_info_has_in_status_only(const struct node_info *node, const char *resource);

/* Discards pod->held. */
void pod_info_forget_held(struct pod_info *pod);

/* ---- cluster_pods.c, for the other files of the cluster */

/* Frees all nodes, pods and gangs. */
void cluster_release_nodes(struct cluster *cluster);

/* NULL = no such pod. */
struct pod_info *cluster_find_pod(const struct cluster *cluster, const char *uid);
struct node_info *cluster_find_or_add_node(struct cluster *cluster, const char *name);

/* Call when a verdict on the node may change, and when something on the node may have become free. */
void cluster_bump_version(struct cluster *cluster, struct node_info *node);
void cluster_bump_freed_version(struct cluster *cluster, struct node_info *node);

/* Whether the kubelet's managers may assign CPUs, memory or devices to the pod. False for a mirror pod: what its static
 * pod holds is only read from the object. */
bool pod_info_is_managed(const struct pod_info *pod);

void cluster_drop_rejections(struct cluster *cluster, struct node_info *node);

/* Forgets ended pods that no later object will report: an earlier object reported the pod and the current object does
 * not, or no object has reported the pod for two minutes. */
void node_info_forget_ended(struct node_info *node, uint64_t now_ms);

/* node_info_forget_ended() for a node whose object does not change, unless nrtd has written the object. After an end the node's in-flight pods keep other
 * pods away until the object includes them. */
void cluster_expire_ended(struct cluster *cluster, struct node_info *node, uint64_t now_ms);

/* Adds a copy of `init`, whose UID and full name are not set; init->class moves to the copy. */
struct pod_info *cluster_add_pod(struct cluster *cluster, const char *uid, const char *namespace,
	const char *name, const struct pod_info *init, struct node_info *node);

/* Frees the pod. Frees its node too, if the node has no objects and no other pods. */
void cluster_remove_pod(struct cluster *cluster, struct pod_info *pod);

/* Removes the pod. The pod holds nothing from now on, whatever its node's object reports. After the end of a mirror pod its static pod
 * may continue to run. With `may_run` the pod was deleted while a container ran: what the object reports of it stays held until the object
 * changes. */
void cluster_end_pod(struct cluster *cluster, struct pod_info *pod, bool may_run, uint64_t now_ms);

/* Frees the node if it has no objects and no pods. */
void cluster_drop_if_empty(struct cluster *cluster, struct node_info *node);

/* Adds the pod to the end of the node's pods; removes the pod from its node's pods, and keeps pod->node. */
void cluster_put_on_node(struct cluster *cluster, struct pod_info *pod, struct node_info *node);
void cluster_take_off_node(struct cluster *cluster, struct pod_info *pod);

/* Takes the pod off its node until cluster_show_hidden_pods(), which puts each pod back into its place. A node to which nothing
 * happened in between gets its previous versions, so that verdicts on it stay valid. */
void cluster_hide_pod(struct cluster *cluster, struct pod_info *pod);
void cluster_show_hidden_pods(struct cluster *cluster);

/*
 * Ends what cluster_hide_for_request() did to reservations: if the request's pod has been assumed, the pod uses the first usable reservation
 * of its node. No reservation is usable from now on.
 */
void cluster_end_reservations(struct cluster *cluster, const char *uid);

/* The pod is bound and no longer counts as assumed. */
void cluster_uncount_assumed(struct cluster *cluster, const struct pod_info *pod);

/* Adds the pod that stands for the reservation. */
void cluster_add_stand_in(struct cluster *cluster, struct node_info *node, struct node_reservation *r);

/* The pod is no longer assumed. May free the gang. */
void cluster_leave_gang(struct cluster *cluster, struct pod_info *pod);

/* ---- cluster_gangs.c; a gang's name "" = no gang */

/* The pod has been assumed. */
void cluster_join_gang(struct cluster *cluster, struct pod_info *pod, const char *namespace, const char *name,
	uint64_t now_ms);

/* The pod is bound to the node: forgets the pod on all other nodes. */
void cluster_choose_node(struct cluster *cluster, const char *namespace, const char *gang, const char *uid,
	const char *node, uint64_t now_ms);

/* The pod has ended: forgets the pod on all nodes. */
void cluster_forget_gang_pod(
	struct cluster *cluster, const char *namespace, const char *gang, const char *uid);

/* The Pod of this resourceVersion has status.nominatedNodeName `node`: the scheduler may bind the pod there later, so an assumption of the
 * pod on this node is not forgotten with the gang's others. */
void cluster_keep_nominated(struct cluster *cluster, const char *namespace, const char *gang, const char *uid,
	const char *node, uint64_t resource_version);

/* Forgets the assumed pods of gangs that have chosen no placement in time. */
void cluster_expire_gangs(struct cluster *cluster, uint64_t now_ms);

/* ---- cluster_nominations.c; for pods without a gang */

struct pod_status;

/* Whether this one of cluster.nominations stands for the pod. */
bool cluster_stands_for(const struct pod_info *stand_in, const char *uid);

/* The Pod is not bound: keeps room on the nominated node, if the Pod has one and the content has no error. */
void cluster_nominate_pod(struct cluster *cluster, const struct doc *object, const struct pod_status *status,
	struct object_content *content);

/* The pod is bound, or has ended. */
void cluster_drop_nomination(struct cluster *cluster, const char *uid);

/* At the end of a list of Pods. */
void cluster_drop_unlisted_nominations(struct cluster *cluster);

/* ---- cluster_reservations.c */

/* Finds which pods of the node use its reservations, unless a list of pods is incomplete. */
void cluster_match_reservations(struct cluster *cluster, struct node_info *node);

/* The reservations of the content move. */
void cluster_update_reservations(
	struct cluster *cluster, struct node_info *node, struct object_content *content, uint64_t now_ms);

void cluster_drop_reservations(struct cluster *cluster, struct node_info *node);
void cluster_expire_reservations(struct cluster *cluster, struct node_info *node, uint64_t now_ms);

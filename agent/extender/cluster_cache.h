/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What is known of the cluster: nodes as they published themselves, the pods on them, and promises. A promise is a pod
 * that was given a node and that the node's object does not show yet. Fed with objects as they come.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/doc.h"
#include "agent/base/hash.h"
#include "agent/base/name_table.h"
#include "agent/cluster/cluster_node.h"
#include "agent/extender/projected_nodes.h"
#include "agent/extender/pending_pods.h"
#include "agent/extender/broken_assumptions.h"
#include "agent/extender/pod_class.h"
#include "agent/extender/reported_pods.h"
#include "agent/extender/work_limit.h"
#include "common/err.h"
#include "scoring/combinations.h"

enum cache_kind { CACHE_NRT, CACHE_NODE, CACHE_POD, CACHE_KIND_COUNT };

struct node_info;

/* A pod that has a node, or is promised one. */
struct pod_info {
	char *uid;
	char *full_name; /* NAMESPACE/NAME */
	struct pod_names names;
	struct pod_class *class;
	struct node_info *node;
	struct allocation *held; /* what its node's kubelet will have given it; NULL = not worked out */
	bool held_is_rest;       /* `held` is only what the node's object does not report of the pod */
	/* The cache's versions at which the node's kubelet was found to reject the pod behind those before it, and also as the
	 * only one on its way; they hold until something of the node becomes free. 0 = not found. */
	uint64_t rejected_at, rejected_alone_at;
	bool mirror;  /* of a static pod, whose resources the node's object reports: only its amounts count */
	bool bound;   /* else it is a promise, which ends at `until_ms` */
	bool assumed; /* the node it has was promised to it here */
	uint64_t until_ms;
	bool admitted; /* its node's kubelet has it: it came before whoever is promised now */
	/* The cache's versions at which it was promised or seen, and at which it had arrived: what came first? */
	uint64_t since, admitted_at;
	uint64_t version;     /* of a promise: assume_request.version */
	uint64_t bound_ms;    /* when it was first seen to be bound; 0 = it ran by then */
	uint64_t admitted_ms; /* when its arrival was first seen */
	int64_t started_s;    /* status.startTime, in seconds since the epoch; 0 = not set */
	int32_t priority;
	uint64_t round; /* the list in which it was seen last */
};

/* A pod that has ended or was deleted, and that its node's object reports, or will: an object may be older than the end. */
struct ended_pod {
	struct pod_names names;
	uint64_t at;       /* the cache's version then */
	uint64_t ended_ms; /* and the time */
	bool reported;     /* an object has reported it */
};

#define ENDED_PODS_MAX \
	1024u /* of a node; then the oldest is forgotten, and what it had is held until the object changes */

/* Managers of its node's kubelet rejected a pod of this pod class that was promised the node here. */
struct node_rejection {
	struct pod_class *class;
	const char *reason; /* of manager_reasons */
	uint64_t until_ms;  /* until then, or until the node's object changes, no such pod goes there again */
};

struct node_info {
	char *name;
	size_t slot;      /* among the cache's nodes */
	uint64_t version; /* another one whenever a verdict may be another */
	uint64_t freed;   /* the version at which something of the node may have become free last */
	/* Another one whenever only what is requested of the whole node is another: of pods that its kubelet's managers
	 * have nothing to do with. */
	uint64_t amounts;
	bool has_object;
	struct cluster_node object;
	struct reported_index reported;    /* of the object */
	uint64_t object_ms;                /* when its content was seen to change; 0 = never */
	char content_hash[HASH_TEXT_SIZE]; /* of the object; "" = no object */
	bool has_node;                     /* there is a Node */
	struct resource_list allocatable;
	struct resource_list requested; /* by the pods below, in all */
	struct pod_info **pods;         /* in the order of their coming */
	size_t n_pods;
	size_t pods_size;
	struct ended_pod *ended;
	size_t n_ended;
	size_t ended_size;
	struct node_rejection *rejections;
	size_t n_rejections;
	size_t rejections_size;
	uint64_t round[CACHE_POD]; /* the lists in which its object and its Node were seen last */
	struct strv resources
		[CACHE_POD]; /* the names in its object and in its Node, as the pod classes know them */
};

struct cache_config {
	uint64_t assume_ms; /* a promise ends after it, unless its pod is bound */
	uint64_t rejection_ms;
	size_t namespace_assumed_max; /* promises to pods of one namespace that are not bound yet; 0 = as many as there are */
};

/* The scheduler waits so long for a pod's volumes before it gives up (kube-scheduler, bindTimeoutSeconds), and a little more. */
#define ASSUME_VOLUMES_MS 660000u

struct namespace_info {
	char *name;
	size_t n_assumed;
};

struct cluster_cache {
	struct cache_config config;
	struct pod_classes classes;
	struct name_table nodes_by_name;
	void *pods_by_uid;            /* of tsearch(3) */
	struct name_table namespaces; /* struct namespace_info, of those with promises */
	struct pending_pods pending;  /* whom a promise may be made to */
	struct node_info **nodes;     /* by slot; NULL = free */
	size_t n_nodes;               /* slots */
	size_t nodes_size;
	struct projected_nodes projected; /* of project_node.c */
	struct distances_kept distances;  /* of the machine that was judged last */
	struct work_limit work;           /* of the question that is being answered */
	uint64_t version;                 /* the last that was given to a node: none is given twice */
	uint64_t round[CACHE_KIND_COUNT]; /* lists so far */
	uint64_t list_version;            /* when the list of pods began */
	size_t n_pods, n_assumed;         /* for people, as all below */
	uint64_t n_rejected, n_expired;   /* since the start */
	struct broken_assumptions
		broken_assumptions; /* of them, pods that were promised that very node here */
};

void cache_init(struct cluster_cache *cache, const struct cache_config *config);
void cache_release(struct cluster_cache *cache);

/*
 * A list of a kind begins; what it does not name until it ends is gone. Promises that were made meanwhile stay: their pods
 * may be younger than the list.
 */
void cache_list_begin(struct cluster_cache *cache, enum cache_kind kind);

/* `version` is the list's resource_version_parse(), 0 = not known. 0 or -ENOMEM. */
int cache_list_end(struct cluster_cache *cache, enum cache_kind kind, uint64_t version, uint64_t now_ms,
	struct err *err);

/*
 * An object as it is now, or as it was when it was deleted. 0; -EINVAL with one line that names it (what was known of
 * it before stays); -ENOMEM.
 */
int cache_update(struct cluster_cache *cache, enum cache_kind kind, struct doc *object, uint64_t now_ms,
	struct err *err);
int cache_delete(struct cluster_cache *cache, enum cache_kind kind, const struct doc *object, uint64_t now_ms,
	struct err *err);

/* An object that cannot be read was passed over. */
void cache_skip(struct cluster_cache *cache, enum cache_kind kind);

/* The node of that name, NULL = there is none. */
struct node_info *cache_find_node(const struct cluster_cache *cache, const char *name);

/* What a promise is about. */
struct assume_request {
	const char *uid, *namespace, *name;
	struct pod_class *class; /* a user of it is added */
	int32_t priority;
	uint64_t version; /* the resource_version_parse() of the pod that was asked about; 0 = not known */
	bool has_volumes; /* that the scheduler may have to wait for */
};

/* Whether pods of the namespace have as many promises as one namespace may have; a promise to this pod does not count. */
bool cache_namespace_is_full(const struct cluster_cache *cache, const char *namespace, const char *uid);

/* Promise the node to the pod instead of what it was promised before. A pod that is bound keeps its node, and a pod
 * that is known to be deleted gets no node: *ret is NULL then, else the pod. 0 or -ENOMEM. */
int cache_assume_pod(struct cluster_cache *cache, const struct assume_request *request,
	struct node_info *node, uint64_t now_ms, struct pod_info **ret);

/* Take back the promise to the pod, if there is one. */
void cache_forget_pod(struct cluster_cache *cache, const char *uid);

/* Promises and rejections whose time has passed end. */
void cache_expire(struct cluster_cache *cache, uint64_t now_ms);

/* The pod's `held` is not known any more. */
void pod_info_forget_held(struct pod_info *pod);

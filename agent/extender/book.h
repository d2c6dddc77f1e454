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
#include "agent/extender/outlook.h"
#include "agent/extender/pending_pods.h"
#include "agent/extender/refused.h"
#include "agent/extender/shape.h"
#include "agent/extender/shown.h"
#include "agent/extender/work_limit.h"
#include "common/err.h"
#include "scoring/combinations.h"

enum book_kind { BOOK_NRT, BOOK_NODE, BOOK_POD, BOOK_KIND_COUNT };

struct book_node;

/* A pod that has a node, or is promised one. */
struct book_pod {
	char *uid;
	char *full_name; /* NAMESPACE/NAME */
	struct pod_names names;
	struct shape *shape;
	struct book_node *node;
	struct allocation *held; /* what its node's kubelet will have given it; NULL = not worked out */
	bool held_is_rest;       /* `held` is only what the node's object does not report of the pod */
	/* The book's versions at which the node's kubelet was found to reject the pod behind those before it, and also as the
	 * only one on its way; they hold until something of the node becomes free. 0 = not found. */
	uint64_t rejected_at, rejected_alone_at;
	bool mirror; /* of a static pod, whose resources the node's object reports: only its amounts count */
	bool bound;  /* else it is a promise, which ends at `until_ms` */
	bool promised; /* the node it has was promised to it here */
	uint64_t until_ms;
	bool arrived; /* its node's kubelet has it: it came before whoever is promised now */
	/* The book's versions at which it was promised or seen, and at which it had arrived: what came first? */
	uint64_t since, arrived_at;
	uint64_t version;    /* of a promise: book_promise.version */
	uint64_t bound_ms;   /* when it was first seen to be bound; 0 = it ran by then */
	uint64_t arrived_ms; /* when its arrival was first seen */
	int64_t started_s;   /* status.startTime, in seconds since the epoch; 0 = not set */
	int32_t priority;
	uint64_t round; /* the list in which it was seen last */
};

/* A pod that has ended or was deleted, and that its node's object reports, or will: an object may be older than the end. */
struct book_ended {
	struct pod_names names;
	uint64_t at;       /* the book's version then */
	uint64_t ended_ms; /* and the time */
	bool reported;     /* an object has reported it */
};

#define BOOK_ENDED_MAX \
	1024u /* of a node; then the oldest is forgotten, and what it had is held until the object changes */

/* Managers of its node's kubelet rejected a pod of this shape that was promised the node here. */
struct book_refusal {
	struct shape *shape;
	const char *reason; /* of manager_reasons */
	uint64_t until_ms;  /* until then, or until the node's object changes, no such pod goes there again */
};

struct book_node {
	char *name;
	size_t slot;      /* among the book's nodes */
	uint64_t version; /* another one whenever a verdict may be another */
	uint64_t freed;   /* the version at which something of the node may have become free last */
	/* Another one whenever only what is requested of the whole node is another: of pods that its kubelet's managers
	 * have nothing to do with. */
	uint64_t amounts;
	bool has_object;
	struct cluster_node object;
	struct shown_index shown;          /* of the object */
	uint64_t object_ms;                /* when its content was seen to change; 0 = never */
	char content_hash[HASH_TEXT_SIZE]; /* of the object; "" = no object */
	bool has_node;                     /* there is a Node */
	struct resource_list allocatable;
	struct resource_list requested; /* by the pods below, in all */
	struct book_pod **pods;         /* in the order of their coming */
	size_t n_pods;
	size_t pods_size;
	struct book_ended *ended;
	size_t n_ended;
	size_t ended_size;
	struct book_refusal *refusals;
	size_t n_refusals;
	size_t refusals_size;
	uint64_t round[BOOK_POD]; /* the lists in which its object and its Node were seen last */
	struct strv
		resources[BOOK_POD]; /* the names in its object and in its Node, as the shapes know them */
};

struct book_config {
	uint64_t promise_ms; /* a promise ends after it, unless its pod is bound */
	uint64_t refusal_ms;
	size_t namespace_promises; /* promises to pods of one namespace that are not bound yet; 0 = as many as there are */
};

/* The scheduler waits so long for a pod's volumes before it gives up (kube-scheduler, bindTimeoutSeconds), and a little more. */
#define BOOK_VOLUMES_MS 660000u

struct book_namespace {
	char *name;
	size_t n_promises;
};

struct book {
	struct book_config config;
	struct shapes shapes;
	struct name_table nodes_by_name;
	void *pods_by_uid;            /* of tsearch(3) */
	struct name_table namespaces; /* struct book_namespace, of those with promises */
	struct pending_pods pending;  /* whom a promise may be made to */
	struct book_node **nodes;     /* by slot; NULL = free */
	size_t n_nodes;               /* slots */
	size_t nodes_size;
	struct outlooks outlooks;        /* of forecast.c */
	struct distances_kept distances; /* of the machine that was judged last */
	struct work_limit work;          /* of the question that is being answered */
	uint64_t version;                /* the last that was given to a node: none is given twice */
	uint64_t round[BOOK_KIND_COUNT]; /* lists so far */
	uint64_t list_version;           /* when the list of pods began */
	size_t n_pods, n_promises;       /* for people, as all below */
	uint64_t n_refused, n_expired;   /* since the start */
	struct refused promises_refused; /* of them, pods that were promised that very node here */
};

void book_init(struct book *b, const struct book_config *config);
void book_release(struct book *b);

/*
 * A list of a kind begins; what it does not name until it ends is gone. Promises that were made meanwhile stay: their pods
 * may be younger than the list.
 */
void book_list_begin(struct book *b, enum book_kind kind);

/* `version` is the list's resource_version_parse(), 0 = not known. 0 or -ENOMEM. */
int book_list_end(struct book *b, enum book_kind kind, uint64_t version, uint64_t now_ms, struct err *err);

/*
 * An object as it is now, or as it was when it was deleted. 0; -EINVAL with one line that names it (what was known of
 * it before stays); -ENOMEM.
 */
int book_object(struct book *b, enum book_kind kind, struct doc *object, uint64_t now_ms, struct err *err);
int book_gone(
	struct book *b, enum book_kind kind, const struct doc *object, uint64_t now_ms, struct err *err);

/* An object that cannot be read was passed over. */
void book_skipped(struct book *b, enum book_kind kind);

/* The node of that name, NULL = there is none. */
struct book_node *book_find(const struct book *b, const char *name);

/* What a promise is about. */
struct book_promise {
	const char *uid, *namespace, *name;
	struct shape *shape; /* a user of it is added */
	int32_t priority;
	uint64_t version; /* the resource_version_parse() of the pod that was asked about; 0 = not known */
	bool has_volumes; /* that the scheduler may have to wait for */
};

/* Whether pods of the namespace have as many promises as one namespace may have; a promise to this pod does not count. */
bool book_namespace_is_full(const struct book *b, const char *namespace, const char *uid);

/* Promise the node to the pod instead of what it was promised before. A pod that is bound keeps its node, and a pod
 * that is known to be deleted gets no node: *ret is NULL then, else the pod. 0 or -ENOMEM. */
int book_promise(struct book *b, const struct book_promise *promise, struct book_node *node, uint64_t now_ms,
	struct book_pod **ret);

/* Take back the promise to the pod, if there is one. */
void book_unpromise(struct book *b, const char *uid);

/* Promises and refusals whose time has passed end. */
void book_expire(struct book *b, uint64_t now_ms);

/* The pod's `held` is not known any more. */
void book_forget_held(struct book_pod *pod);

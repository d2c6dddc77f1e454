/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Parses and prints the JSON of the scheduler's extender API, and parses requests of the API /v1.
 *
 * The extender API is k8s.io/kube-scheduler/extender/v1; api_v1.h prints the answers of /v1.
 * Member names match regardless of case, because the Go types of the extender API have no JSON tags.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/objects/pod_parse.h"
#include "common/err.h"
#include "common/io/json.h"
#include "common/strbuf.h"
#include "common/vec.h"

#define EXTENDER_SCORE_MAX 10

/* The pod to be scheduled. Omitted texts are "". */
struct extender_pod {
	char *uid, *namespace, *name;
	char *controller; /* UID of the pod's controller */
	char *scheduler;  /* spec.schedulerName */
	char *gang;       /* pod_gang_name() */
	char *nominated;  /* status.nominatedNodeName */
	char *message;    /* pod_scheduler_message() */
	int32_t priority; /* 0 if omitted */
	uint64_t version; /* resource_version_parse() */
	uint64_t arrival; /* of the request: a later request has a larger number; the caller sets it */
	bool has_volumes; /* PersistentVolumeClaims or ephemeral volumes, for whose binding the scheduler waits */
	struct pod_template template;
};

/* ExtenderArgs, of filter and prioritize; a request of /v1. */
struct extender_args {
	struct extender_pod pod;
	char **names; /* NodeNames, or the names of Nodes.items */
	size_t n_names;
	/* Nodes.items, in the order of `names`: pieces of the parsed text, which must outlive them. NULL if the request
	 * has NodeNames (nodeCacheCapable: true). */
	struct json_piece *nodes;
	struct json_piece pod_text; /* of the Pod, a piece of the parsed text */
	char *texts;                /* memory of `names` */
	/* /filter may choose a node that is not in the request (verb_answer.outside), but none of `refused`; the caller sets both. */
	bool search_outside;
	struct strv refused;
	/* Of /v1: */
	bool all_nodes; /* the request has no nodeNames: it is about every Node of the cluster */
	bool assume;    /* the pod is to be assumed on the best node */
	size_t limit;   /* of /v1/choose: the maximum number of nodes in the answer, at least 1 */
};

/*
 * 0; -E2BIG with one line: a pod of too many values; -EINVAL with one line: invalid JSON, no pod, a pod that pod_template_from_pod() rejects,
 * or a node without a name.
 * `ret` is untouched on failure, else to be released. Of Nodes.items only the names are read.
 */
int extender_args_parse(const char *text, size_t len, struct extender_args *ret, struct err *err);

#define CHOOSE_LIMIT     16u /* if the request has no limit */
#define CHOOSE_LIMIT_MAX 100u

/* Members of a request of /v1 besides the pod. */
#define V1_NODES  1u /* nodeNames */
#define V1_CHOICE 2u /* limit and assume */

/* As extender_args_parse(), for a request of /v1, which may have these members. Also -EINVAL: another member, a limit that is out of
 * range, or a pod without a UID. */
int extender_v1_parse(
	const char *text, size_t len, unsigned members, struct extender_args *ret, struct err *err);

void extender_args_release(struct extender_args *a);

/* Why a requested node fails: an entry of FailedNodes or FailedAndUnresolvableNodes. */
struct extender_failure {
	const char *reason; /* why the node does not pass; NULL = the node passes */
	bool unresolvable;  /* preemption cannot help on the node */
};

/*
 * Prints an ExtenderFilterResult. The passing nodes are in NodeNames, or in Nodes if the request has Nodes; this list is never
 * null. Items of Nodes are copied unchanged. FailedNodes and FailedAndUnresolvableNodes contain the reasons if no node passes;
 * else they are empty, because schedulers do not use them then. 0; -EFBIG of `out`.
 */
int extender_filter_print(
	const struct extender_args *args, const struct extender_failure *failures, struct strbuf *out);

/* Prints an ExtenderFilterResult with Error: the scheduler retries the pod later. */
int extender_error_print(const char *message, struct strbuf *out);

/* Prints a HostPriorityList with a score per node, clamped to 0..EXTENDER_SCORE_MAX. Returns as extender_filter_print(). */
int extender_priorities_print(const struct extender_args *args, const int *scores, struct strbuf *out);

/* The pods that would be evicted from a node. */
struct extender_victims {
	char *node;
	char **uids;
	size_t n_uids;
	int64_t pdb_violations; /* violated PodDisruptionBudgets */
};

/* ExtenderPreemptionArgs. */
struct extender_preemption {
	struct extender_pod pod;
	struct extender_victims *items; /* may have no pods */
	size_t n_items;
	/* Only what a node has, and what its pods request, decides whether the scheduler places the pod on the node. False for a
	 * pod with host ports, volumes, claims, or rules about other pods. */
	bool by_amounts;
};

/* Reads NodeNameToMetaVictims (nodeCacheCapable: true), else NodeNameToVictims. Returns as extender_args_parse(). */
int extender_preemption_parse(const char *text, size_t len, struct extender_preemption *ret, struct err *err);

void extender_preemption_release(struct extender_preemption *p);

/* Prints an ExtenderPreemptionResult of these nodes and victims. Returns as extender_filter_print(). */
int extender_preemption_print(const struct extender_victims *items, size_t n_items, struct strbuf *out);

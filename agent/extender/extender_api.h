/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a scheduler asks an extender and what it is answered: k8s.io/kube-scheduler/extender/v1 as JSON <-> structs.
 * The types there have no JSON tags, and members are found whatever their case, as in Go. No locks, no state.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/json_scan.h"
#include "agent/cluster/pod_parse.h"
#include "common/err.h"
#include "common/strbuf.h"

#define EXTENDER_SCORE_MAX 10

/* The pod that is to be placed. Texts are "" where they are absent. */
struct extender_pod {
	char *uid, *namespace, *name;
	int32_t priority; /* 0 where it is absent */
	uint64_t version; /* resource_version_parse() */
	bool has_volumes; /* PersistentVolumeClaims, or volumes that get one: the scheduler waits until they are bound */
	struct pod_template template;
};

/* ExtenderArgs, of filter and prioritize. */
struct extender_args {
	struct extender_pod pod;
	char **names; /* NodeNames, or the names of Nodes.items */
	size_t n_names;
	/* The items of Nodes by position as `names`: pieces of the text that was parsed, which has to stay as long.
	 * NULL when NodeNames was given (nodeCacheCapable: true). */
	struct json_piece *nodes;
	char *texts; /* what `names` points into */
};

/*
 * 0; -EINVAL with one line: no JSON, no pod, a pod that pod_templates_from_doc() refuses, a node without a name;
 * -ENOMEM. `ret` is untouched on failure, else to be released. Of the items of Nodes no more is read than the name.
 */
int extender_args_parse(const char *text, size_t len, struct extender_args *ret, struct err *err);

void extender_args_release(struct extender_args *a);

/* What is answered about a node. */
struct extender_verdict {
	const char *reason; /* why it is not for this pod; NULL = the node passes */
	bool unresolvable;  /* and no preemption would change that */
};

/*
 * ExtenderFilterResult about each of args->names. NodeNames, or Nodes when Nodes was asked, is a list of those that
 * pass, never null; an item of Nodes goes back as it came. FailedNodes and FailedAndUnresolvableNodes have the
 * reasons when no node passes, else they are empty: nobody reads them then. 0; -ENOMEM or -EFBIG of `out`.
 */
int extender_filter_print(
	const struct extender_args *args, const struct extender_verdict *verdicts, struct strbuf *out);

/* An ExtenderFilterResult with Error: the scheduler does not place the pod now, and tries again. */
int extender_error_print(const char *message, struct strbuf *out);

/* HostPriorityList: a score for each of args->names, the nearest one from 0 to EXTENDER_SCORE_MAX. Returns as above. */
int extender_priorities_print(const struct extender_args *args, const int *scores, struct strbuf *out);

/* The pods that would be evicted from a node. */
struct extender_victims {
	char *node;
	char **uids;
	size_t n_uids;
	int64_t pdb_violations; /* PodDisruptionBudgets that this violates */
};

/* ExtenderPreemptionArgs. */
struct extender_preemption {
	struct extender_pod pod;
	struct extender_victims *items;
	size_t n_items;
};

/* From NodeNameToMetaVictims (nodeCacheCapable: true), else from NodeNameToVictims. As extender_args_parse(). */
int extender_preemption_parse(const char *text, size_t len, struct extender_preemption *ret, struct err *err);

void extender_preemption_release(struct extender_preemption *p);

/* ExtenderPreemptionResult: the nodes that are left, each with its victims. Returns as extender_filter_print(). */
int extender_preemption_print(const struct extender_victims *items, size_t n_items, struct strbuf *out);

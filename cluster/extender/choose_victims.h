/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Chooses the pods of a node that must be evicted so that the node's kubelet admits a pod.
 *
 * The choice starts with the scheduler's victims, and adds pods of lower priority: pods whose eviction violates no
 * PodDisruptionBudget before pods whose eviction does, then the lowest priority first. Among these pods it finds few: the fewest
 * violations, then the fewest victims, then the lowest priorities.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/extender/extender_api.h"
#include "cluster/model/verdicts.h"

/* A pod of the node. */
struct node_victim {
	bool may_go; /* bound, aligned by the kubelet, and of lower priority */
	bool asked;  /* one of the scheduler's victims */
	bool fixed; /* of `asked`: the scheduler may have chosen the pod for another reason than the node's amounts */
	bool violates;   /* the eviction violates a PodDisruptionBudget */
	bool considered; /* may_go or asked, and at most as important as the most important victim */
	bool last; /* one of the pods that were considered last: all other considered pods together are not enough */
};

struct node_victims {
	const struct node_info *node; /* NULL = not judged */
	const struct pod_class *class;
	struct verdicts *verdicts;
	struct node_victim *pods; /* per pod of the node */
	bool *evicted, *scratch;  /* per pod of the node */
	size_t n_own;             /* victims that the scheduler does not have */
	bool budgets_known;
};

void node_victims_release(struct node_victims *v);

/*
 * Adds victims to the scheduler's until the kubelet admits the pod, its answer is unknown, or no pod of lower priority is left,
 * and drops each added victim that is not necessary. *ret_answer: the kubelet's answer after the evictions. 0; -ETIME when the work
 * limit is reached first. `ret` is to be released in either case; it is valid until the cluster changes.
 */
int choose_victims(struct verdicts *verdicts, const struct extender_preemption *args,
	const struct extender_victims *asked, const struct pod_class *class, struct node_victims *ret,
	enum kubelet_answer *ret_answer);

/* Limits of improve_victims() per node. */
#define IMPROVE_VERDICTS 64u
#define IMPROVE_STEPS    1000u /* sets, most of them without a verdict */

/*
 * After choose_victims(), if the kubelet admits the pod and the scheduler's victims did not suffice: looks for the best choice until
 * the work limit is reached. Then scheduler's victims may stay too, unless the scheduler may have chosen them for another reason
 * than the node's amounts.
 */
void improve_victims(struct node_victims *v);

/* Writes the chosen victims, the most important pod first, and the number of violations, as kube-scheduler counts them. */
void node_victims_write(const struct node_victims *v, struct extender_victims *victims);

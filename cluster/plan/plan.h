/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Plans which pods to move, and where, so that the kubelets admit wanted pods.
 *
 * A move is an eviction and a start on another node or on the same node, where the kubelet may align the pod better. The plan
 * is an ordered list of steps. Each step is judged on the cluster after all earlier steps, and no step leaves a pod without a
 * node.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/plan/simulated_cluster.h"

/* Why a plan must not move a pod. */
enum plan_fixed {
	PLAN_MOVABLE,
	PLAN_FIXED_DAEMON,
	PLAN_FIXED_STATIC,
	PLAN_FIXED_BARE,       /* no controller would recreate the pod */
	PLAN_FIXED_CONTROLLER, /* whether its controller would recreate the pod is not known */
	PLAN_FIXED_MARKED,     /* an annotation says that the pod must not be disrupted */
	PLAN_FIXED_GANG,       /* one of several pods that start and end together */
	PLAN_FIXED_FINALIZERS, /* others must act before the evicted pod is gone */
	PLAN_FIXED_GRACE,      /* the pod may take too long to end */
	PLAN_FIXED_LOCAL_STORAGE,
	PLAN_FIXED_VOLUMES,    /* that the planned node may be unable to mount */
	PLAN_FIXED_RESPONDERS, /* spec.evictionResponders: others evict the pod gracefully (KEP-4563) */
	PLAN_FIXED_PRIORITY,
	PLAN_FIXED_NAMESPACE,
	PLAN_FIXED_BUDGET,  /* its PodDisruptionBudget allows no disruption now */
	PLAN_FIXED_BUDGETS, /* several PodDisruptionBudgets: the Eviction API rejects such pods */
	PLAN_FIXED_TERMINATING,
	PLAN_FIXED_UNKNOWN,   /* the pod's requests cannot be judged */
	PLAN_FIXED_RESERVED,  /* the pod of a reservation, which does not run yet */
	PLAN_FIXED_TOO_LARGE, /* the reservation of its new place would be too large */
	PLAN_FIXED_COUNT
};

extern const char *const plan_fixed_names[PLAN_FIXED_COUNT];

struct plan_options {
	size_t max_moves;
	bool evict; /* evict pods without finding another node for them */
	bool reserves; /* leave out pods whose reservations a Node could not hold: of plans that are carried out */
	bool allow_bare, allow_local_storage, allow_volumes;
	const char *const *recreated_by; /* further kinds of controllers that recreate their pods; borrowed */
	size_t n_recreated_by;
	int64_t max_grace_s; /* pods with a longer grace period are not moved; 0 = no limit */
	/* Move only pods with a priority below this one; false = only pods of the wanted pod's priority or a lower one. */
	bool has_below_priority;
	int32_t below_priority;
	const char *const *keep; /* namespaces whose pods are not moved; borrowed */
	size_t n_keep;
	uint64_t place_verdicts; /* 0 = PLAN_PLACE_VERDICTS */
};

enum plan_step_kind { PLAN_MOVE, PLAN_EVICT, PLAN_START };

extern const char *const plan_step_names[3]; /* "move", "evict", "start" */

struct plan_step {
	enum plan_step_kind kind;
	size_t pod, from, to; /* indexes in the cluster; SIMULATED_NOWHERE = none */
	char *cpus, *numa;    /* what the kubelet of `to` assigns, as lists; "" = nothing exclusive */
	uint64_t cost;        /* of a move or eviction, else 0 */
	int64_t allowed;      /* disruptions that the pod's PodDisruptionBudget allows; -1 = no budget */
};

enum plan_outcome { PLAN_FULL, PLAN_PARTIAL, PLAN_NONE };

extern const char *const plan_outcome_names[3]; /* "full", "partial", "none" */

struct plan {
	enum plan_outcome outcome;
	struct plan_step *steps;
	size_t n_steps, steps_size;
	size_t n_wanted, n_placed, n_moves;
	uint64_t cost;
	bool gave_up; /* the search reached its limit: there may be a plan for more pods, or a cheaper one */
	size_t fixed[PLAN_FIXED_COUNT]; /* pods on nodes by reason, before the first step */
	size_t *unplaced;               /* wanted pods without a place */
	size_t n_unplaced;
	size_t n_not_searched; /* the last of these: the search reached its limit before them */
	/* Wanted pods without steps, because the Nodes could not hold the reservations of the steps. They do not count for the outcome: a tenant's
	 * pod must not stop the plan for the other pods. */
	size_t *left_out;
	size_t n_left_out;
};

void plan_release(struct plan *plan);

/*
 * Limits of the search. A verdict takes 10 to 100 µs, a set about 1 µs. The search for moves for each wanted pod may use half of
 * the remaining limits, so that a pod without a place leaves time for the next pods. Places without moves have a limit of their own:
 * pods of many different requests cost a verdict per pod and node.
 */
#define PLAN_VERDICTS          50000u /* in a large cluster PLAN_VERDICTS_PER_NODE for each node */
#define PLAN_VERDICTS_PER_NODE 40u
#define PLAN_PLACE_VERDICTS    2000000u
#define PLAN_SETS              1000000u /* sets of pods considered, most of them without a verdict */
#define PLAN_SET_MAX           8u       /* pods that leave one node for one pod */

/*
 * Finds a plan for the wanted pods, which run nowhere, one after the other. If a kubelet admits the wanted pod, the pod
 * is placed without moves, on the node of its reservation if possible. Else the plan moves the pods of one node whose
 * moves cost the least; if these pods have no other place, further moves make room for them. Leaves the cluster in the
 * state after the plan's last step.
 */
void plan_find(struct simulated_cluster *c, const size_t *wanted, size_t n_wanted,
	const struct plan_options *options, struct plan *ret);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Carries out plans in a cluster, one move at a time: `kubectl numa plan --apply`.
 *
 * Reservations, which nrtd-extender reads, keep the places of pods free. Reservations expire by themselves, most of
 * them after seconds unless they are renewed, so that a process that was killed leaves nothing behind.
 */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/objects/reservation.h"
#include "cluster/plan/plan.h"
#include "cluster/plan/simulated_cluster.h"
#include "common/doc.h"
#include "common/err.h"
#include "common/kube/api_client.h"

/* A move has two waits in which its place is reserved, and a reservation ends after RESERVATION_MAX_S. */
#define PLAN_APPLY_TIMEOUT_MAX_MS (25u * 60 * 1000)

struct plan_apply_options {
	struct api_client *client; /* borrowed */
	const char *
		extender_lease; /* NAMESPACE/NAME of nrtd-extender's Lease; NULL = do not check the extender */
	uint64_t timeout_ms;    /* of each wait: a move has three */
	uint64_t hold_ms;       /* how long places are reserved for wanted pods that do not exist yet */
	/* Of --aligned: a kubelet may admit a wanted pod before the moves that make room for it, but not aligned. */
	bool aligned;
	const volatile sig_atomic_t *stop; /* not 0: stop where nothing is half done; NULL = never */
	void (*progress)(const char *line, void *data);
	void *data;
};

/* A reservation that this process has written. */
struct own_reservation {
	char *node;
	struct reservation facts; /* without the request */
	struct doc object;        /* with the requests of the pod */
	uint64_t life_ms;         /* time from a write to the expiry */
	uint64_t renewed_ms;      /* the last write */
	uint64_t round;           /* the last round that needed the reservation */
	bool evicted;             /* for the new pod of an evicted pod that has not started yet */
};

/* A wanted pod that exists. */
struct wanted_pod {
	struct simulated_pod pod; /* only namespace, name and UID */
	size_t n_numa;            /* NUMA nodes of the place in the plan; 0 = nothing exclusive */
};

struct plan_apply {
	const struct plan_apply_options *options;
	struct api_response response;
	uint64_t nodes_version;  /* resourceVersion of the last written reservation; 0 = none */
	int64_t server_clock_ms; /* the API server's clock minus CLOCK_MONOTONIC; 0 = unknown */
	struct own_reservation *reservations;
	size_t n_reservations, reservations_size;
	uint64_t round;
	struct wanted_pod *wanted; /* with a place in the first plan */
	size_t n_wanted, wanted_size;
	size_t n_evicted, n_done; /* moves that have begun, and complete moves */
	const struct doc *object; /* of the current round */
};

void plan_apply_init(struct plan_apply *a, const struct plan_apply_options *options);
void plan_apply_release(struct plan_apply *a);

/*
 * Checks that this user has the rights that the plan's steps need, and that the extender is asked about the plan's pods. 0; -EACCES with
 * one line that names the missing right; -errno with one line, as extender_lease_check().
 */
int plan_apply_check(
	struct plan_apply *a, const struct simulated_cluster *c, const struct plan *plan, struct err *err);

enum plan_apply_result {
	PLAN_APPLY_AGAIN, /* a move was carried out, or the cluster has changed: plan again */
	PLAN_APPLY_DONE /* the plan has no moves: the wanted pods have started, or their places are reserved */
};

/*
 * Reserves the places of the plan's pods, waits until the extender has read the reservations, carries out the plan's first move,
 * and waits until the moved pod runs in its new place and the node's object reports what the pod holds. If the plan has no moves,
 * waits until the wanted pods run.
 *
 * `c` and `plan` are those of plan_find(). `object` has the spec of wanted pods that do not exist yet; NULL: the wanted pods are
 * pods of the cluster. An enum plan_apply_result; -errno with one line when something unexpected has happened.
 */
int plan_apply_round(struct plan_apply *a, const struct simulated_cluster *c, const struct plan *plan,
	const struct doc *object, struct err *err);

/* Removes the reservations, except that of a pod that was evicted and whose new pod has not started yet; NULL = there is none. */
const struct own_reservation *plan_apply_abandon(struct plan_apply *a);

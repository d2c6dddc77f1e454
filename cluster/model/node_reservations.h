/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Keeps the reservations of a Node, and finds the reservations that a pod may use.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/objects/pod_class.h"
#include "cluster/objects/reservation.h"

struct pod_info;

/* A reservation of the Node. The cluster counts a reservation as an assumed pod, until a pod uses the reservation. */
struct node_reservation {
	struct reservation facts; /* the class has the request */
	struct pod_class *class;
	struct pod_info *stand_in; /* NULL while a pod uses the reservation */
	char *user;                /* UID of the pod that uses the reservation; NULL = none */
	bool usable; /* by the pod of the request that is being answered: cluster_hide_for_request() */
	uint64_t expires_ms;
};

/* Frees the texts; the class and `stand_in` belong to the cluster. */
void node_reservation_release(struct node_reservation *r);

/* Makes the node's reservations from `facts`, the reservations in the Node's annotations, whose content moves. Each reservation has a
 * reference to its class. The caller frees the array. */
struct node_reservation *node_reservations_make(
	struct pod_classes *classes, struct reservation *facts, size_t n, uint64_t now_ms);

/* A pod on a node that has reservations, if kubelets align the pod: places are reserved for such pods only. */
struct reservation_pod {
	struct reservation_user user;
	int64_t created_s; /* 0 = unknown */
	const struct pod_class *class;
};

/* A reservation of a node, and the pod that uses it. */
struct reservation_use {
	const struct reservation *facts;
	const struct pod_class *class;
	const char *user; /* the UID; NULL = none */
};

/*
 * Finds which pods of a node use which of its reservations: a pod uses one at most, and the reservation is older than the pod. As many
 * reservations as possible get a pod, the same ones whatever the order of the pods. A reservation that has a user keeps it. Borrows the UIDs.
 */
void reservations_match(
	struct reservation_use *items, size_t n, const struct reservation_pod *pods, size_t n_pods);

/* Whether the pod with this UID uses one of the reservations. */
bool reservation_has_user(const struct reservation_use *items, size_t n, const char *uid);

/* Sets `usable` of each reservation: whether the pod may use the reservation. Returns the first step of these; INT64_MAX = none. */
int64_t node_reservations_mark(struct node_reservation *items, size_t n, const struct reservation_user *user,
	const struct pod_class *class);

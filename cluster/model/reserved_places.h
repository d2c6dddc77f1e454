/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Adds the pods of a Node's reservations to the node's state, as if they had started.
 *
 * A reservation holds its place exactly as nrtd-extender counts it: the kubelet's verdict on the reservation's pod
 * decides what the place is, and the node admits another pod only if the kubelet admits all of these pods in any order.
 */
#include "cluster/model/cluster_usage.h"
#include "cluster/model/in_flight_pods.h"
#include "cluster/objects/reservation.h"
#include "scoring/node/projected_state.h"

struct reserved_place {
	const struct reservation *facts; /* of the usage */
	struct allocation held;          /* has the namespace and the name of the reservation's pod */
	bool placed; /* false: the kubelet would not admit the reservation's pod yet, because other pods must leave first */
};

/* Borrows from the state and the usage. Not to be moved. */
struct reserved_places {
	struct reserved_place *items; /* reservations that hold a place, in the Node's order */
	size_t n_items;
	bool blocked; /* a place is not placed: any free CPU or device of the node may be needed for it */
	struct projected_state node;    /* the node's state with the places */
	struct resource_list requested; /* sum over the reservations' pods */
	struct in_flight_pods in_flight;
};

/* The pod in question, which may use reservations. */
struct reserved_asker {
	struct reservation_user user;
	struct pod_class *class; /* of the usage's classes */
};

/* The class of a pod, among the classes of the reservations. The usage owns it. */
struct pod_class *reserved_places_class(struct cluster_usage *u, const struct pod_request *pod);

/*
 * Places the pods of the node's reservations, except those whose pod has arrived. With an asker (NULL = none), also except
 * the reservations that the asker may use, and those of the plan's later steps. To be released.
 */
void reserved_places_init(struct reserved_places *ret, const struct node_state *state, struct node_usage *use,
	const struct reserved_asker *asker);
void reserved_places_release(struct reserved_places *p);

/* Whether the kubelet admits the asker's pod before, between and after the pods of the reservations. */
bool reserved_places_admit(struct reserved_places *p, const struct pod_class *class);

/*
 * Adds the places to a state of cluster_node_read_picture(), as containers "reserved" of the reservations' pods. Adds a line to
 * `notes` for each reservation that has no place, or whose place is unknown because the object has no node state.
 */
void reserved_places_draw(struct node_state *state, struct node_usage *use, bool exact, struct notes *notes);

/* node_usage_requestable() without what the reservations' pods request. *ret is to be released. */
void reserved_places_requestable(
	const struct reserved_places *p, const struct node_usage *use, struct resource_list *ret);

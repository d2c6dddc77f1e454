/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads the parts of an object that take long to read, before the model of a cluster gets the object.
 *
 * A user or a node can make an object that takes many milliseconds to read. Reading needs no lock of the model, so no request to the extender
 * waits for such an object.
 */
#include <stdbool.h>

#include "cluster/objects/cluster_node.h"
#include "cluster/objects/reservation.h"
#include "common/request.h"

struct object_content {
	/* Of the parts below: 0, or -errno with one line that names the object. */
	int error;
	struct err why;
	/* Hashes the zones of a NodeResourceTopology object, or the reservations of a Node; "" = none. */
	char hash[HASH_TEXT_SIZE];
	bool unchanged; /* the hash is the known one, so that what it stands for was not read */
	struct cluster_node zones;
	struct resource_list allocatable; /* of a Node */
	struct reservation *reservations; /* of a Node; n_reservations items */
	size_t n_reservations;
	struct pod_request request; /* of a Pod that has a node or a nominated node */
};

/*
 * Reads the object's content. `known_hash` is the hash of what is known of the object; "" = nothing. Invalid reservations of a Node are logged
 * and ignored. `ret` is to be released, also if it has an error.
 */
void object_content_read(
	enum object_kind kind, const struct doc *object, const char *known_hash, struct object_content *ret);

void object_content_release(struct object_content *c);

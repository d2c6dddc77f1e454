/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Counts the resource names that the cluster's nodes counted. A pod may request thousands of other names, which are not stored.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/base/name_table.h"
#include "common/node_state.h"
#include "common/request.h"
#include "common/strv.h"

/* A zeroed struct is empty. */
struct known_resources {
	struct name_table by_name;
	uint64_t version; /* changes whenever a name is added or removed */
};

void known_resources_release(struct known_resources *k);

bool known_resources_has(const struct known_resources *k, const char *name);

/* Replaces `counted`, the names of an object's previous version, by its current names: a Node's status.allocatable, or a
 * NodeResourceTopology's zones and registered devices. */
void known_resources_of_node(
	struct known_resources *k, const struct resource_list *allocatable, struct strv *counted);
void known_resources_of_state(
	struct known_resources *k, const struct node_state *state, struct strv *counted);

/* Removes the names of a deleted object; `counted` is empty afterwards. */
void known_resources_forget(struct known_resources *k, struct strv *counted);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The names of the resources that some node of the cluster has. A pod may ask for thousands of names: only names that a
 * node has decide anything, and only these are worth memory.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/base/name_table.h"
#include "common/node_state.h"
#include "common/request.h"
#include "common/strv.h"

/* Zeroed, no node has any. */
struct known_resources {
	struct name_table by_name;
	uint64_t version; /* changes whenever a name is added or removed */
};

void known_resources_release(struct known_resources *k);

bool known_resources_has(const struct known_resources *k, const char *name);

/* What one object of a node has replaces `have`, the names that the same object had before: a Node's status.allocatable; a
 * NodeResourceTopology's zones and registered devices. 0; -ENOMEM (nothing is changed). */
int known_resources_of_node(
	struct known_resources *k, const struct resource_list *allocatable, struct strv *have);
int known_resources_of_state(struct known_resources *k, const struct node_state *state, struct strv *have);

/* The object is gone: `have` is empty afterwards. */
void known_resources_forget(struct known_resources *k, struct strv *have);

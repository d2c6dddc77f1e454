/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What follows from a node's facts: the reserved CPUs, the shared pool, the inventory. One way for every
 * command.
 */
#include "agent/state/zone_filter.h"
#include "common/err.h"
#include "common/node_state.h"
#include "common/notes.h"

struct derive_config {
	bool reserved_named; /* the user named the reserved CPUs: no source knows better */
	struct zone_filter filter;
};

/*
 * Fill `node`'s reserved CPUs and inventory, and the shared pool where no file has it, from its other
 * members. What could not be found out goes to `notes`. 0 or -errno with one line in `err`; `node` then has
 * only facts and is still to be released.
 */
int node_derive(
	const struct derive_config *config, struct node_state *node, struct notes *notes, struct err *err);

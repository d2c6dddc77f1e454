/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Writes a plan of moves, or a simulation of other settings, as an HTML page: the report's tables, and pictures of nodes.
 */
#include "common/doc.h"
#include "common/hash.h"
#include "cluster/plan/simulated_cluster.h"

#define SIMULATED_PICTURES_MAX \
	(64u << 20) /* bytes of all pictures of a page; the next pictures are omitted */

/* The nodes as they are before the plan or the simulation. Zeroed = none. */
struct simulated_pictures {
	struct strv nodes, pictures; /* SVG, in the same order */
	struct name_table by_node;   /* indexes */
};

/* Draws the nodes of the cluster, before plan_find() or simulate(). Omits nodes once the pictures have half of
 * SIMULATED_PICTURES_MAX. */
void simulated_pictures_draw(const struct simulated_cluster *c, struct simulated_pictures *ret);
void simulated_pictures_release(struct simulated_pictures *p);

/*
 * Appends the page. `report` is the JSON document of plan_report() or simulate_report(); its lists become tables. `c` is the
 * cluster as the plan or the simulation left it. Draws each node that a list of the report names: as in `before`, and as in `c`. A node's pool is the value of
 * its Node's label `pool_label`. 0 or -EFBIG.
 */
int simulated_page(const char *title, const struct doc *report, const struct simulated_pictures *before,
	const struct simulated_cluster *c, const char *pool_label, struct strbuf *out);

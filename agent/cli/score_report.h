/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What every scheduler would say of one pod on each of many nodes, ranked.
 */
#include "agent/cluster/pod_parse.h"
#include "agent/cluster/nrt_parse.h"
#include "scoring/filter.h"
#include "scoring/strategies.h"
#include "scoring/volcano.h"

#define SCORE_REPORT_NONE (-1) /* no score: rejected, or unknown */

/* Ranks after scoring strategies of the plugin: Volcano's. */
#define SCORE_BY_VOLCANO STRATEGY_COUNT

struct score_row {
	const struct nrt_node *node;
	struct filter_result filter; /* NodeResourceTopologyMatch's */
	struct fit fit;              /* of the pod's effective request; positions in the node's zones */
	int scores[STRATEGY_COUNT];  /* SCORE_REPORT_NONE where the plugin's arithmetic has no answer */
	struct volcano_result volcano;
	int64_t volcano_score; /* SCORE_REPORT_NONE when Volcano rejects the node */
};

struct score_options {
	struct resource_weights weights;
	int64_t volcano_weight;
	int rank_by;                                           /* enum strategy, or SCORE_BY_VOLCANO */
	void (*progress)(size_t done, size_t all, void *data); /* NULL = nobody looks */
	void *data;
};

/*
 * One row a node, best first: nodes that pass before those that do not, then the higher score, then the name.
 * *ret_rows (nodes->n_items of them) is malloc'd and the caller's; it points into `nodes`. 0; -E2BIG (more
 * than 64 zones); -ENOMEM.
 *
 * A node whose exporter does not publish the CPU manager's policy counts as static for Volcano, which would else
 * see none of them.
 */
int score_report(const struct nrt_nodes *nodes, const struct pod_template *pod,
	const struct score_options *options, struct score_row **ret_rows, struct err *err);

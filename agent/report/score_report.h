/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What every scheduler and each node's kubelet would say of one pod on each of many nodes, ranked.
 */
#include "agent/cluster/cluster_node.h"
#include "agent/cluster/pod_parse.h"
#include "scoring/kubelet.h"
#include "scoring/nrt_match.h"
#include "scoring/volcano.h"

#define SCORE_REPORT_NONE (-1) /* no score: rejected, or unknown */

/* Ranks after scoring strategies of the plugin: Volcano's. */
#define SCORE_BY_VOLCANO STRATEGY_COUNT

/* One node, small: thousands of them are kept. */
struct score_row {
	char *name;
	enum kubelet_answer kubelet;
	char *rejection; /* the reason in the pod's status, "" when not rejected by the kubelet's managers */
	char *kubelet_reason;                /* one sentence, "" when admitted */
	enum cluster_basis basis;            /* of the kubelet's answer; unknown where there is none */
	bool passes;                         /* NodeResourceTopologyMatch's filter */
	char *filter_reason, *filter_detail; /* the plugin's message, and with amounts; "" when it passes */
	enum fit_verdict fit;                /* of the pod's effective request */
	uint64_t numa;                       /* the ids it found */
	enum fit_min_distance min_distance;
	int scores[STRATEGY_COUNT]; /* SCORE_REPORT_NONE where the plugin's arithmetic has no answer */
	bool volcano_admits;
	unsigned volcano_used; /* NUMA nodes */
	char *volcano_reason;
	int64_t volcano_score; /* SCORE_REPORT_NONE when Volcano rejects the node */
};

enum score_sort { SCORE_SORT_RANK, SCORE_SORT_NAME, SCORE_SORT_SCORE, SCORE_SORT_COUNT };

struct score_options {
	struct resource_weights weights;
	int64_t volcano_weight;
	int strategy; /* enum strategy, or SCORE_BY_VOLCANO */
	enum score_sort sort;
};

struct score_report {
	const struct pod_template *pod;
	struct score_options options;
	struct request_plan plan;
	struct distances_kept kept; /* of the last node: a cluster has few kinds of machines */
	struct score_row *rows;
	size_t n_rows;
	size_t rows_size;
};

/* The pod must outlive the report. `report` is to be released. */
void score_report_init(
	struct score_report *report, const struct pod_template *pod, const struct score_options *options);
void score_report_release(struct score_report *report);

/*
 * A row for the node. One whose exporter does not publish the CPU manager's policy counts as static for Volcano,
 * which would else see none of them. 0; -E2BIG (more than 64 zones).
 */
int score_report_add(struct score_report *report, const struct cluster_node *node, struct err *err);

/*
 * Volcano's scores, which depend on all nodes; and the order. SCORE_SORT_RANK: first nodes whose kubelet admits the
 * pod, then those whose kubelet's answer is not known; within these nodes that the scheduler lets pass before others,
 * then the higher score, then the name as people sort it, node2 before node10.
 */
void score_report_rank(struct score_report *report);

/* The score that ranks the row. */
int64_t score_row_score(const struct score_row *row, int strategy);

/* The scheduler lets the pod onto the node, and the kubelet admits it. */
bool score_row_takes(const struct score_row *row, int strategy);

/* The scheduler lets the pod onto the node, and the kubelet's answer is not known. */
bool score_row_may_take(const struct score_row *row, int strategy);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Ranks nodes by what schedulers and kubelets would decide about a pod, and prints the ranking.
 */
#include "cli/report/pod_report.h"
#include "cli/report/writer.h"
#include "cluster/objects/pod_parse.h"

/* Follows the scoring strategies of the scheduler plugin. */
#define SCORE_BY_VOLCANO STRATEGY_COUNT

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
	struct pod_report pods;
};

/* The pod must outlive the report. */
void score_report_init(
	struct score_report *report, const struct pod_template *pod, const struct score_options *options);
void score_report_release(struct score_report *report);

/*
 * Adds a node. If the exporter does not publish the CPU manager's policy, the policy counts as static,
 * because Volcano would otherwise see no NUMA nodes. 0; -E2BIG with one line for more than
 * COMBINATION_MAX_NODES zones.
 */
int score_report_add(struct score_report *report, const struct node_info *node, struct err *err);

/*
 * Computes Volcano's scores, which depend on all nodes, and sorts the nodes. SCORE_SORT_RANK: first nodes
 * whose kubelet admits the pod, then nodes with an unknown verdict; within these first nodes that the
 * scheduler allows, then by score, then by natural order of names ("node2" before "node10").
 */
void score_report_rank(struct score_report *report);

/* Whether the scheduler allows the pod on the node, and the kubelet's verdict is this. */
bool score_row_is(const struct node_report *n, int strategy, enum kubelet_answer answer);

/*
 * Writes a row per node; in the format "name" the names of nodes that the scheduler allows and whose kubelet
 * admits the pod. A wide table has the scores of every strategy and of Volcano, and reasons with amounts.
 * {"nodes": [{"name", "kubelet": {"answer", "rejection", "reason", "basis"}, "filter": {"passed", "reason"},
 * "numaNodes": [ids] or null, "minDistance", "scores": {"LeastNUMANodes", "MostAllocated", "LeastAllocated",
 * "BalancedAllocation", "Volcano"}, "volcano": {"admitted", "reason", "numaNodes"}}]}; answer is "admit",
 * "reject" or "unknown". Unknown scores and an unknown minDistance are null.
 */
void score_write(struct writer *w, const struct score_report *report);

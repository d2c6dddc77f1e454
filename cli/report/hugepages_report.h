/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reports the hugepages of many nodes: on which NUMA nodes they are, what pods request of them, and whether kubelets align them.
 */
#include "cli/report/writer.h"
#include "cluster/model/cluster.h"
#include "scoring/node/hugepages.h"

struct node_hugepages {
	char *node;
	struct hugepages_list list;
};

struct hugepages_report {
	struct node_hugepages *items;
	size_t n_items, items_size;
};

void hugepages_report_release(struct hugepages_report *r);

/* Adds a node whose state is exact. Returns whether the node has hugepages. */
bool hugepages_report_add(struct hugepages_report *r, const struct node_state *state);

/*
 * Writes a table with a row per page size, allocation and judgement, and the remedies. `cluster` has the requests of the nodes' pods; NULL =
 * unknown. {"hugepages": [{"name", "allocated", "nodes": [names], "reservedBytes", "requestedBytes" (null = unknown), "assignedBytes",
 * "aligned", "text", "remedy" (null = none)}]}; the amounts are sums of these nodes.
 */
void hugepages_report_write(
	struct writer *w, const struct hugepages_report *r, const struct cluster *cluster);

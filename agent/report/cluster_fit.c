/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/report/cluster_fit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cluster/scheduling_constraints.h"
#include "agent/report/fit_text.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

static void row_release(struct cluster_fit_row *row)
{
	free(row->name);
	free(row->exporter);
	free(row->why);
	free(row->rejection);
	free(row->reason);
	free(row->nearest);
	*row = (struct cluster_fit_row){0};
}

void cluster_fit_release(struct cluster_fit *fit)
{
	for (size_t i = 0; i < fit->n_rows; i++)
		row_release(&fit->rows[i]);
	free(fit->rows);
	*fit = (struct cluster_fit){0};
}

/* ---- one node */

static void reject(struct cluster_fit_row *row, const char *rejection, const char *reason)
{
	row->answer = KUBELET_REJECTS;
	row->copies = (struct admission_copies){0};
	row->any_node = false;
	row->numa = 0;
	text_set(&row->rejection, rejection);
	text_set(&row->reason, reason);
}

/* What the Node and its pods decide: how many more pods there may be. */
static void apply_room(const struct resource_list *free, struct cluster_fit_row *row)
{
	const struct resource_quantity *pods = resource_list_find(free, "pods");
	size_t room = pods ? (size_t)(pods->quantity.nano / QTY_UNIT) : SIZE_MAX;

	if (row->answer == KUBELET_REJECTS)
		return;
	if (room == 0) {
		reject(row, "OutOfpods", "the node has as many pods as it may have");
		return;
	}
	if (row->copies.n > room)
		row->copies = (struct admission_copies){.n = room};
}

/* What schedulers decide, whatever the kubelet says. */
static void apply_constraints(const struct cluster_fit *fit, struct cluster_fit_row *row)
{
	const struct scheduling_constraints *sc = fit->constraints;
	const char *bar = sc ? scheduling_constraints_violated(sc, row->name) : "";

	if (sc && row->copies.n > 0 && copies_placement_one_per_node(sc, row->name))
		row->copies = (struct admission_copies){.n = 1};
	if (!sc || scheduling_constraints_allow(sc, row->name))
		row->room = row->copies.n;
	if (*bar && row->answer != KUBELET_REJECTS)
		reject(row, FIT_UNSCHEDULABLE, bar);
}

static void take_report(struct fit_report *report, struct cluster_fit_row *row)
{
	CLEANUP(strbuf_release) struct strbuf nearest = STRBUF_INIT(300);

	row->answer = report->answer;
	row->rejection = TAKE(report->rejection);
	if (report->answer == KUBELET_ADMITS)
		row->copies = report->copies;
	row->any_node = true;
	for (size_t i = 0; i < report->n_containers; i++)
		if (!report->containers[i].hint.any_node) {
			row->any_node = false;
			row->numa |= report->containers[i].hint.nodes;
		}
	if (report->nearest.found)
		fit_text_nearest(report, &nearest);
	text_set(&row->reason, report->reason.text);
	text_set(&row->nearest, nearest.text);
}

/* The answer to a node whose state is known, or estimated. */
static int ask(const struct cluster_fit *fit, const struct cluster_node *node, struct cluster_fit_row *row)
{
	CLEANUP(fit_report_release) struct fit_report report = {0};
	CLEANUP(resource_list_release) struct resource_list free = {0};
	const struct node_usage *use =
		fit->usage ? cluster_usage_find(fit->usage, node->state.node_name) : NULL;
	bool known = use && use->known;
	int r;

	if (known)
		node_usage_requestable(use, &free);
	r = fit_report_make(&node->state, fit->pod, FIT_PLACEMENTS | FIT_COPIES | FIT_NEAREST,
		known ? &free : NULL, &report);
	if (r == 0)
		take_report(&report, row);
	if (r == 0 && known)
		apply_room(&free, row);
	return r;
}

static void describe(const struct cluster_node *node, struct cluster_fit_row *row)
{
	text_set(&row->name, node->state.node_name);
	row->basis = node->basis;
	row->policy = node->state.settings.topology.policy;
	row->scope = node->state.settings.topology.scope;
	text_set(&row->exporter, node->exporter);
	text_set(&row->why, node->why.text);
	text_set(&row->rejection, "");
	text_set(&row->reason, node->basis == CLUSTER_UNKNOWN ? node->why.text : "");
	text_set(&row->nearest, "");
}

void cluster_fit_add(struct cluster_fit *fit, const struct cluster_node *node)
{
	CLEANUP(row_release) struct cluster_fit_row row = {.answer = KUBELET_UNKNOWN};
	struct cluster_fit_row *slot;
	int r = 0;

	describe(node, &row);
	if (node->basis != CLUSTER_UNKNOWN) {
		free(row.rejection);
		row.rejection = NULL;
		r = ask(fit, node, &row);
	}
	if (row.answer == KUBELET_UNKNOWN)
		row.basis = CLUSTER_UNKNOWN;
	if (r == 0)
		apply_constraints(fit, &row);
	slot = vec_push(&fit->rows, &fit->n_rows, &fit->rows_size, sizeof(*slot));
	fit->n_admit += row.answer == KUBELET_ADMITS;
	fit->n_unknown += row.answer == KUBELET_UNKNOWN;
	fit->n_estimated += row.basis == CLUSTER_ESTIMATED;
	fit->at_least = fit->at_least || row.copies.at_least || row.answer == KUBELET_UNKNOWN;
	*slot = row;
	row = (struct cluster_fit_row){0};
}

/* ---- all of them */

static int compare_rows(const void *va, const void *vb)
{
	static const int order[KUBELET_ANSWER_COUNT] = {
		[KUBELET_ADMITS] = 0, [KUBELET_UNKNOWN] = 1, [KUBELET_REJECTS] = 2};
	const struct cluster_fit_row *a = va, *b = vb;

	if (a->answer != b->answer)
		return order[a->answer] - order[b->answer];
	if (a->copies.n != b->copies.n)
		return a->copies.n > b->copies.n ? -1 : 1;
	return text_compare_numbered(a->name, b->name);
}

static void place(struct cluster_fit *fit, struct copies_node *nodes, size_t replicas)
{
	struct scheduling_constraints none = {0};
	bool complete;

	for (size_t i = 0; i < fit->n_rows; i++)
		nodes[i] = (struct copies_node){.name = fit->rows[i].name, .admitted = fit->rows[i].room};
	copies_placement_find(
		fit->constraints ? fit->constraints : &none, nodes, fit->n_rows, replicas, &complete);
	fit->at_least = fit->at_least || !complete;
	fit->wanted = replicas;
	fit->placed = fit->copies = 0;
	for (size_t i = 0; i < fit->n_rows; i++) {
		fit->rows[i].replicas = nodes[i].replicas;
		fit->placed += nodes[i].replicas;
		fit->copies += nodes[i].placed;
	}
}

void cluster_fit_finish(struct cluster_fit *fit, size_t replicas)
{
	CLEANUP(freep) struct copies_node *nodes = xcalloc(fit->n_rows + 1, sizeof(*nodes));

	if (fit->n_rows > 1)
		qsort(fit->rows, fit->n_rows, sizeof(*fit->rows), compare_rows);
	place(fit, nodes, replicas);
}

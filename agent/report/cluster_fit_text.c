/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/report/cluster_fit_text.h"

#include <errno.h>

#include "agent/report/fit_text.h"
#include "agent/report/not_looked_at.h"
#include "agent/report/score_text.h"
#include "agent/report/table.h"
#include "common/cleanup.h"

/* ---- the table */

static void add_headings(const struct cluster_fit *fit, bool wide, struct table *t)
{
	static const char *const first[] = {"NODE", "KUBELET", "COPIES"};
	static const char *const more[] = {"POLICY", "SCOPE", "BASIS", "EXPORTER"};

	for (size_t i = 0; i < ARRAY_SIZE(first); i++)
		table_add(t, first[i]);
	if (fit->wanted > 0)
		table_add(t, "REPLICAS");
	table_add(t, "NUMA NODES");
	for (size_t i = 0; i < ARRAY_SIZE(more) && wide; i++)
		table_add(t, more[i]);
	t->n_columns = t->cells.n_items + 2;
	table_add(t, "WOULD FIT");
	table_add(t, "REASON");
}

static void add_numa(const struct cluster_fit_row *row, struct table *t)
{
	char text[NODE_MASK_TEXT_MAX] = "";

	if (row->numa)
		node_mask_print(row->numa, text);
	table_add(t, row->answer == KUBELET_ADMITS && row->any_node ? "any" : text);
}

static void add_setup(const struct cluster_fit_row *row, struct table *t)
{
	table_add(t, topology_manager_policy_names[row->policy]);
	table_add(t, topology_manager_scope_names[row->scope]);
	table_add(t, cluster_basis_names[row->basis]);
	table_add(t, row->exporter);
}

static void add_row(
	const struct cluster_fit *fit, const struct cluster_fit_row *row, bool wide, struct table *t)
{
	char word[64];

	table_add(t, row->name);
	kubelet_word(row->answer, row->rejection, row->basis, word);
	table_add(t, word);
	if (row->answer == KUBELET_UNKNOWN)
		table_add(t, "?");
	else
		table_addf(t, "%zu%s", row->copies.n, row->copies.at_least ? "+" : "");
	if (fit->wanted > 0)
		table_addf(t, "%zu", row->replicas);
	add_numa(row, t);
	if (wide)
		add_setup(row, t);
	table_add(t, row->nearest);
	table_add(t, row->reason);
}

/* Where no node was asked there is no pod. */
static bool has_claims(const struct cluster_fit *fit)
{
	return fit->pod && fit->pod->has_claims;
}

/* "fits 40 of 50 nodes, 68 copies" */
static void add_totals(const struct cluster_fit *fit, struct strbuf *out)
{
	strbuf_addf(out, "\nfits %zu of %zu node%s, %s%zu cop%s", fit->n_admit, fit->n_rows,
		fit->n_rows == 1 ? "" : "s", fit->at_least ? "at least " : "", fit->copies,
		fit->copies == 1 ? "y" : "ies");
	if (fit->n_unknown > 0)
		strbuf_addf(out, "; no answer for %zu", fit->n_unknown);
	if (fit->n_estimated > 0)
		strbuf_addf(out, "; %zu estimated (~)", fit->n_estimated);
	strbuf_addch(out, '\n');
	if (has_claims(fit))
		strbuf_addstr(out, FIT_CLAIMS "\n");
	if (fit->constraints)
		not_looked_at_text(&fit->constraints->not_looked_at, out);
	if (fit->wanted == 0)
		return;
	if (fit->placed == fit->wanted)
		strbuf_addf(out, "%zu replicas: enough\n", fit->wanted);
	else
		strbuf_addf(out, "%zu replicas: not enough, there is room for %s%zu\n", fit->wanted,
			fit->at_least ? "at least " : "", fit->placed);
}

int cluster_fit_table(const struct cluster_fit *fit, bool wide, bool headings, struct strbuf *out)
{
	CLEANUP(table_release) struct table t = {0};

	add_headings(fit, wide, &t);
	for (size_t i = 0; i < fit->n_rows; i++)
		add_row(fit, &fit->rows[i], wide, &t);
	table_print(&t, headings, out);
	if (headings)
		add_totals(fit, out);
	return strbuf_error(out);
}

void cluster_fit_names(const struct cluster_fit *fit, struct strbuf *out)
{
	for (size_t i = 0; i < fit->n_rows; i++) {
		const struct cluster_fit_row *row = &fit->rows[i];

		if (fit->wanted > 0 ? row->replicas == 0 : row->answer != KUBELET_ADMITS)
			continue;
		strbuf_addstr(out, "node/");
		strbuf_add_one_line(out, row->name);
		strbuf_addch(out, '\n');
	}
}

/* ---- the document */

static void add_number(struct doc *map, const char *key, size_t n)
{
	doc_add_number(map, key, (int64_t)n);
}

static bool add_ids(struct doc *map, const struct cluster_fit_row *row)
{
	struct doc *list = row->numa ? doc_add_list(map, "numaNodes") : doc_add(map, "numaNodes");

	for (uint64_t left = row->numa; list && left; left &= left - 1)
		doc_add_number(list, NULL, __builtin_ctzll(left));
	return list != NULL;
}

static void add_item(struct doc *list, const struct cluster_fit *fit, const struct cluster_fit_row *row)
{
	struct doc *map = doc_add_map(list, NULL);
	bool known = row->answer != KUBELET_UNKNOWN;

	doc_add_string(map, "name", row->name);
	if (known)
		doc_add_bool(map, "admitted", row->answer == KUBELET_ADMITS);
	else
		doc_add(map, "admitted");
	doc_add_string(map, "rejection", row->rejection);
	doc_add_string(map, "reason", row->reason);
	doc_add_string(map, "nearest", row->nearest);
	add_ids(map, row);
	add_number(map, "copies", row->copies.n);
	doc_add_bool(map, "copiesAtLeast", row->copies.at_least || !known);
	if (fit->wanted > 0)
		add_number(map, "replicas", row->replicas);
	else
		doc_add(map, "replicas");
	doc_add_string(map, "basis", cluster_basis_names[row->basis]);
	doc_add_string(map, "why", row->why);
	doc_add_string(map, "exporter", row->exporter);
	doc_add_string(map, "policy", topology_manager_policy_names[row->policy]);
	doc_add_string(map, "scope", topology_manager_scope_names[row->scope]);
}

static void add_all(const struct cluster_fit *fit, struct doc *top)
{
	struct doc *replicas, *unchecked, *items;

	add_number(top, "fits", fit->n_admit);
	add_number(top, "nodes", fit->n_rows);
	add_number(top, "unknown", fit->n_unknown);
	add_number(top, "copies", fit->copies);
	doc_add_bool(top, "copiesAtLeast", fit->at_least);
	replicas = fit->wanted > 0 ? doc_add_map(top, "replicas") : doc_add(top, "replicas");
	if (fit->wanted > 0) {
		add_number(replicas, "wanted", fit->wanted);
		add_number(replicas, "placed", fit->placed);
	}
	unchecked = doc_add_list(top, "unchecked");
	if (has_claims(fit))
		doc_add_string(unchecked, NULL, "resourceClaims");
	if (fit->constraints)
		not_looked_at_to_doc(&fit->constraints->not_looked_at, top);
	items = doc_add_list(top, "items");
	for (size_t i = 0; i < fit->n_rows; i++)
		add_item(items, fit, &fit->rows[i]);
}

void cluster_fit_to_doc(const struct cluster_fit *fit, struct doc *ret)
{
	CLEANUP(doc_release) struct doc top = {.kind = DOC_MAP};

	add_all(fit, &top);
	*ret = top;
	top = (struct doc)DOC_INIT;
}

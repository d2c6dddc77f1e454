/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/extender/api_v1.h"

#include "cluster/model/node_reasons.h"
#include "common/cleanup.h"
#include "common/io/json.h"

static const char *name_of(const struct extender_args *args, const struct verb_answer *answer, size_t i)
{
	return args->all_nodes ? answer->nodes[i]->name : args->names[i];
}

static void print_name(const struct extender_args *args, const struct verb_answer *answer, size_t i,
	const char **between, struct strbuf *out)
{
	strbuf_addstr(out, *between);
	*between = ",";
	json_add_string(out, name_of(args, answer, i));
}

/* Why no node passes, and what was not judged; the end of the answer. */
static int print_end(const struct verb_answer *answer, struct strbuf *out)
{
	CLEANUP(node_reasons_release) struct node_reasons reasons = {0};

	for (size_t i = 0; answer->counts.n_passing == 0 && i < answer->counts.n_nodes; i++)
		if (answer->failures[i].reason)
			node_reasons_count(&reasons, answer->failures[i].reason, V1_REASONS_MAX);
	node_reasons_sort(&reasons);
	strbuf_addstr(out, ",\"reasons\":[");
	for (size_t i = 0; i < reasons.n_items; i++) {
		strbuf_addf(out, "%s{\"nodes\":%zu,\"reason\":", i > 0 ? "," : "", reasons.items[i].n_nodes);
		json_add_string(out, reasons.items[i].text);
		strbuf_addch(out, '}');
	}
	strbuf_addf(out, "],\"unreachedNodes\":%zu}", answer->counts.n_unreached);
	return strbuf_error(out);
}

int v1_choose_print(const struct extender_args *args, const struct verb_answer *answer, struct strbuf *out)
{
	const char *between = "";

	strbuf_addstr(out, answer->passes_all ? "{\"failedNodeNames\":[" : "{\"nodeNames\":[");
	for (size_t i = 0; i < answer->n_chosen; i++)
		print_name(args, answer, answer->chosen[i], &between, out);
	strbuf_addf(out, "],\"assumed\":%s", answer->counts.assumed_node ? "true" : "false");
	return print_end(answer, out);
}

int v1_admit_print(const struct extender_args *args, const struct verb_answer *answer, struct strbuf *out)
{
	const struct verb_counts *counts = &answer->counts;
	bool lists_failed = /* the shorter list; no list if every node passes */
		answer->passes_all || counts->n_passing > counts->n_nodes - counts->n_passing;
	const char *between = "";

	strbuf_addstr(out, lists_failed ? "{\"failedNodeNames\":[" : "{\"nodeNames\":[");
	for (size_t i = 0; i < counts->n_nodes; i++) {
		bool has_failed = answer->failures[i].reason != NULL;

		if (has_failed == lists_failed)
			print_name(args, answer, i, &between, out);
	}
	strbuf_addch(out, ']');
	return print_end(answer, out);
}

int v1_error_print(const char *message, struct strbuf *out)
{
	strbuf_addstr(out, "{\"error\":");
	json_add_string(out, message);
	strbuf_addch(out, '}');
	return strbuf_error(out);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the parsers of ExtenderArgs, ExtenderPreemptionArgs and requests of /v1. The printed results must be JSON with the same nodes in the same
 * order.
 */
#include "tests/fuzz/fuzz.h"

#include "cluster/extender/api_v1.h"
#include "common/cleanup.h"
#include "common/io/json.h"

#define REPLY_MAX ((size_t)64 << 20)

static void check_pod(const struct extender_pod *p)
{
	fuzz_require(p->uid && p->namespace && p->name && p->template.pod.n_containers > 0);
}

/* NodeNames of a reply. */
static void check_names(const struct extender_args *a, const struct doc *reply, size_t n)
{
	const struct doc *names = doc_get(reply, "NodeNames");

	if (a->nodes)
		return;
	fuzz_require(names && names->kind == DOC_LIST && names->n_items == n);
	for (size_t i = 0; i < n; i++)
		fuzz_require(!strcmp(names->items[i].text, a->names[i]));
}

static void check_filter(
	const struct extender_args *a, const struct extender_failure *failures, size_t n_passing)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(REPLY_MAX);
	CLEANUP(doc_release) struct doc reply = DOC_INIT;

	fuzz_require(extender_filter_print(a, failures, &out) == 0);
	/* Items of Nodes are copied without being parsed. */
	if (json_parse(out.text, out.len, &reply, NULL) == 0)
		check_names(a, &reply, n_passing);
	else
		fuzz_require(a->nodes != NULL && n_passing > 0);
}

static void check_args(const struct extender_args *a)
{
	CLEANUP(freep) struct extender_failure *failures = calloc(a->n_names + 1, sizeof(*failures));
	CLEANUP(freep) int *scores = calloc(a->n_names + 1, sizeof(*scores));
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(REPLY_MAX);
	CLEANUP(doc_release) struct doc reply = DOC_INIT;

	fuzz_require(failures && scores);
	check_pod(&a->pod);
	for (size_t i = 0; i < a->n_names; i++)
		fuzz_require(a->names[i][0] && (!a->nodes || a->nodes[i].len > 0));
	check_filter(a, failures, a->n_names);
	for (size_t i = 0; i < a->n_names; i++)
		failures[i] = (struct extender_failure){a->names[i], i % 2 == 0};
	check_filter(a, failures, 0);
	fuzz_require(extender_priorities_print(a, scores, &out) == 0 &&
		     json_parse(out.text, out.len, &reply, NULL) == 0 && reply.n_items == a->n_names);
}

static void check_v1(const struct extender_args *a)
{
	CLEANUP(freep) struct extender_failure *failures = calloc(a->n_names + 1, sizeof(*failures));
	CLEANUP(freep) size_t *chosen = calloc(a->n_names + 1, sizeof(*chosen));
	struct verb_answer answer = {.failures = failures,
		.chosen = chosen,
		.n_chosen = a->n_names,
		.counts = {.n_nodes = a->n_names}};

	fuzz_require(failures && chosen);
	check_pod(&a->pod);
	fuzz_require(*a->pod.uid && a->limit >= 1 && a->limit <= CHOOSE_LIMIT_MAX && !a->nodes);
	fuzz_require(!a->all_nodes || a->n_names == 0);
	for (size_t i = 0; i < a->n_names; i++) {
		chosen[i] = i;
		failures[i].reason = i % 2 ? NULL : a->names[i];
	}
	for (size_t passing = 0; passing < 2; passing++) {
		CLEANUP(strbuf_release) struct strbuf choice = STRBUF_INIT(REPLY_MAX);
		CLEANUP(strbuf_release) struct strbuf admission = STRBUF_INIT(REPLY_MAX);
		CLEANUP(doc_release) struct doc chooses = DOC_INIT;
		CLEANUP(doc_release) struct doc admits = DOC_INIT;
		size_t n = a->n_names / 2;

		answer.counts.n_passing = passing ? n : 0;
		fuzz_require(v1_choose_print(a, &answer, &choice) == 0 &&
			     json_parse(choice.text, choice.len, &chooses, NULL) == 0);
		fuzz_require(v1_admit_print(a, &answer, &admission) == 0 &&
			     json_parse(admission.text, admission.len, &admits, NULL) == 0);
		fuzz_require(doc_get(&chooses, "nodeNames")->n_items == a->n_names);
		fuzz_require(doc_get(&admits, "nodeNames")->n_items == n);
	}
}

static void check_preemption(const struct extender_preemption *p)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(REPLY_MAX);
	CLEANUP(doc_release) struct doc reply = DOC_INIT;

	check_pod(&p->pod);
	for (size_t i = 0; i < p->n_items; i++) {
		fuzz_require(p->items[i].node && p->items[i].uids);
		for (size_t j = 0; j < p->items[i].n_uids; j++)
			fuzz_require(p->items[i].uids[j] != NULL);
	}
	fuzz_require(extender_preemption_print(p->items, p->n_items, &out) == 0 &&
		     json_parse(out.text, out.len, &reply, NULL) == 0);
}

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(extender_preemption_release) struct extender_preemption preemption = {.items = NULL};
	CLEANUP(extender_args_release) struct extender_args args = {.names = NULL}, v1 = {.names = NULL};
	/* The text is not followed by a NUL byte. */
	CLEANUP(freep) char *text = malloc(size > 0 ? size : 1);
	struct err err = {""};

	fuzz_require(text != NULL);
	memcpy(text, data, size);
	if (extender_args_parse(text, size, &args, &err) == 0)
		check_args(&args);
	else
		fuzz_check_line(err.text);
	if (extender_v1_parse(text, size, V1_NODES | V1_CHOICE, &v1, &err) == 0)
		check_v1(&v1);
	else
		fuzz_check_line(err.text);
	if (extender_preemption_parse(text, size, &preemption, &err) == 0)
		check_preemption(&preemption);
	else
		fuzz_check_line(err.text);
}

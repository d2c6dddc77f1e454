/* SPDX-License-Identifier: Apache-2.0 */
/*
 * {"budgets": [PodDisruptionBudget], "pods": [labels]}: any tenant creates both. The budget that the index finds selects the pod alone, and
 * an eviction violates a budget only if one selects the pod.
 */
#include "tests/fuzz/fuzz.h"

#include "cluster/objects/disruption_budgets.h"
#include "common/cleanup.h"
#include "common/io/json.h"

#define NAMESPACE "a"

static void check_pod(struct disruption_budgets *budgets, const struct doc *labels)
{
	struct disruption_budget *last = NULL;
	struct budgeted_pod pod = {.labels = NULL};
	size_t n = disruption_budgets_select(budgets, NAMESPACE, labels, &last);

	fuzz_require((n > 0) == (last != NULL));
	fuzz_require(!last || disruption_budget_selects(last, NAMESPACE, labels));
	budgeted_pod_set_labels(&pod, labels);
	if (disruption_budgets_violates(budgets, NAMESPACE, "p", &pod))
		fuzz_require(n > 0 || pod.too_long);
	budgeted_pod_release(&pod);
}

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(doc_release) struct doc input = DOC_INIT;
	CLEANUP(disruption_budgets_release) struct disruption_budgets budgets = {.known = true};
	const struct doc *objects, *pods;
	double begin = fuzz_cpu_seconds();

	if (json_parse((const char *)data, size, &input, NULL) < 0)
		return;
	objects = doc_get(&input, "budgets");
	pods = doc_get(&input, "pods");
	DOC_FOREACH_ITEM (object, objects) {
		struct err err = {""};

		if (disruption_budgets_update(&budgets, object, &err) < 0)
			fuzz_check_line(err.text);
	}
	disruption_budgets_begin(&budgets);
	DOC_FOREACH_ITEM (labels, pods)
		check_pod(&budgets, labels);
	DOC_FOREACH_ITEM (object, objects)
		disruption_budgets_delete(&budgets, object);
	DOC_FOREACH_ITEM (labels, pods) {
		struct disruption_budget *last = NULL;

		fuzz_require(disruption_budgets_select(&budgets, NAMESPACE, labels, &last) == 0);
	}
	fuzz_require(fuzz_cpu_seconds() - begin < FUZZ_CPU_SECONDS);
}

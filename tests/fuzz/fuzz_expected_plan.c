/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of `plan --apply --expect`: it is a plan with steps or one clear line, and a step counts as expected only if the file has it.
 */
#include "tests/fuzz/fuzz.h"

#include "cli/numa/expected_plan.h"
#include "common/cleanup.h"
#include "common/text.h"

static bool is_start(const struct doc *step)
{
	return !strcmp(doc_text(step, "action"), "start") && !strcmp(doc_text(step, "pod"), "p") &&
	       !strcmp(doc_text(step, "namespace"), "a") && !strcmp(doc_text(step, "uid"), "u") &&
	       !*doc_text(step, "from") && !strcmp(doc_text(step, "to"), "n");
}

static void check_steps(const struct doc *expected)
{
	char node[] = "n", namespace[] = "a", name[] = "p", uid[] = "u";
	struct simulated_node nodes[1] = {{.name = node}};
	struct simulated_pod pods[1] = {{.namespace = namespace, .name = name, .uid = uid}};
	const struct simulated_cluster c = {.nodes = nodes, .n_nodes = 1, .pods = pods, .n_pods = 1};
	struct plan_step steps[64];
	const struct plan plan = {.steps = steps, .n_steps = ARRAY_SIZE(steps)};
	struct err err = {""};
	bool found = false;

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		steps[i] =
			(struct plan_step){.kind = PLAN_START, .pod = 0, .from = SIMULATED_NOWHERE, .to = 0};
	DOC_FOREACH_ITEM (step, doc_get(expected, "steps"))
		found = found || is_start(step);
	fuzz_require((expected_plan_check(expected, "f", &c, &plan, &err) == 0) == found);
	if (!found)
		fuzz_check_line(err.text);
}

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(doc_release) struct doc expected = DOC_INIT;
	double begin = fuzz_cpu_seconds();
	struct err err = {""};

	if (expected_plan_read(fuzz_file(data, size), &expected, &err) < 0)
		fuzz_check_line(err.text);
	else
		check_steps(&expected);
	fuzz_require(fuzz_cpu_seconds() - begin < FUZZ_CPU_SECONDS);
}

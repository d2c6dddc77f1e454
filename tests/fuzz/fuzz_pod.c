/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file with a pod, or with objects that hold pods, as -f reads it.
 */
#include "tests/fuzz/fuzz.h"

#include <errno.h>

#include "cli/pod_input.h"
#include "cluster/constraints/scheduling_constraints.h"
#include "common/cleanup.h"
#include "scoring/request.h"

/* Amounts are none below zero and a name is there once, in order. */
static void check_list(const struct resource_list *list)
{
	for (size_t i = 0; i < list->n_items; i++) {
		fuzz_require(list->items[i].quantity.nano >= 0);
		fuzz_require(i == 0 || strcmp(list->items[i - 1].name, list->items[i].name) < 0);
	}
}

static void check_pod(const struct pod_template *t)
{
	CLEANUP(request_plan_release) struct request_plan plan = {0};
	bool apps = false;

	fuzz_require(t->pod.n_containers > 0);
	fuzz_require(request_qos(&t->pod) > QOS_UNKNOWN && request_qos(&t->pod) < QOS_COUNT);
	for (size_t i = 0; i < t->pod.n_containers; i++) {
		const struct container_request *c = &t->pod.containers[i];

		check_list(&c->requests);
		check_list(&c->limits);
		fuzz_require(c->kind == CONTAINER_APP || !apps);
		apps = apps || c->kind == CONTAINER_APP;
	}
	fuzz_require(apps);
	check_list(&t->pod.overhead);
	request_plan_init(&plan, &t->pod);
	check_list(&plan.effective);
}

/* The template's own object as the pod, as a pod that is there, and as a node: any of them may hold anything. */
static void check_constraints(const struct pod_template *t)
{
	CLEANUP(scheduling_constraints_release) struct scheduling_constraints sc = {0};
	struct copies_node nodes[2] = {{.name = "n", .admitted = 50}, {.name = "", .admitted = 50}};
	bool complete;

	scheduling_constraints_init(&sc, t->owner, t->namespace, true);
	scheduling_constraints_add(&sc, OBJECT_NODE, t->owner);
	scheduling_constraints_add(&sc, OBJECT_POD, t->owner);
	scheduling_constraints_finish(&sc);
	if (sc.n_nodes > 0)
		nodes[0].name = sc.nodes[0].name;
	fuzz_require(scheduling_constraints_violated_by_first(&sc, nodes[0].name) != NULL);
	copies_placement_find(&sc, nodes, 2, 10, &complete);
	fuzz_require(complete);
	for (size_t i = 0; i < 2; i++)
		fuzz_require(nodes[i].placed <= nodes[i].admitted && nodes[i].replicas <= nodes[i].placed);
	fuzz_require(nodes[0].replicas + nodes[1].replicas <= 10);
}

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(pod_templates_release) struct pod_templates pods = {0};
	struct options options = {.program = &program_nrtd};
	const struct pod_template *first = NULL;
	struct err err = {""};

	options.value[OPT_FILENAME] = fuzz_file(data, size);
	options.repeated[options.n_repeated++] =
		(struct option_value){.id = OPT_FILENAME, .value = options.value[OPT_FILENAME]};
	options.origin[OPT_FILENAME] = "-f";
	if (pod_input_read(&options, &pods, &err) < 0) {
		fuzz_check_line(err.text);
		fuzz_require(pods.n_items == 0);
		return;
	}
	if (pods.n_items == 1)
		fuzz_require(pod_input_pick(&options, &pods, &first, &err) == 0 && first == pods.items);
	else
		fuzz_require(pod_input_pick(&options, &pods, &first, &err) == -EINVAL);
	for (size_t i = 0; i < pods.n_items; i++) {
		check_pod(&pods.items[i]);
		check_constraints(&pods.items[i]);
	}
}

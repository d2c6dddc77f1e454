/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "cluster/objects/pod_parse.h"
#include "common/cleanup.h"
#include "common/io/yaml.h"
#include "scoring/request.h"

/* A priority is an int32; a pod of a class whose value nobody filled in has an unknown one. */
static void priorities_are_read(void **state)
{
	static const struct {
		const char *spec;
		bool known;
		int32_t priority;
	} cases[] = {
		{"{}", true, 0},
		{"{priority: 1000}", true, 1000},
		{"{priority: -5}", true, -5},
		{"{priority: 2000001000, priorityClassName: system-node-critical}", true, 2000001000},
		{"{priority: 2147483647}", true, INT32_MAX},
		{"{priority: -2147483648}", true, INT32_MIN},
		{"{priority: null}", true, 0},
		{"{priorityClassName: ''}", true, 0},
		{"{priorityClassName: high}", false, 0},
		{"{priority: null, priorityClassName: high}", false, 0},
		{"{priority: 2147483648}", false, 0},
		{"{priority: 4294967297}", false, 0},
		{"{priority: -2147483649}", false, 0},
		{"{priority: 1.5}", false, 0},
		{"{priority: '7'}", false, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(doc_release) struct doc pod = DOC_INIT;
		int32_t priority = 99;
		bool known;
		char text[200];

		snprintf(text, sizeof(text), "{spec: %s}", cases[i].spec);
		assert_int_equal(yaml_parse(text, strlen(text), &pod, NULL), 0);
		known = pod_priority_read(&pod, &priority);
		if (known != cases[i].known || priority != cases[i].priority)
			fail_msg("%s: %s %d", cases[i].spec, known ? "known" : "unknown", (int)priority);
	}
}

static void resource_versions_are_numbers(void **state)
{
	static const struct {
		const char *text;
		uint64_t version;
	} cases[] = {{"1", 1}, {"18446744073709551615", UINT64_MAX}, {"18446744073709551616", 0}, {"0", 0},
		{"", 0}, {"-1", 0}, {" 1", 0}, {"1x", 0}, {"0x10", 0}, {NULL, 0}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (resource_version_parse(cases[i].text) != cases[i].version)
			fail_msg("%s", cases[i].text ? cases[i].text : "NULL");
}

/* How many copies an object asks for, and whose labels and namespace they have. */
static void objects_ask_for_copies(void **state)
{
#define TEMPLATE "template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c}]}}"
	static const struct {
		const char *object;
		bool is_counted;
		uint64_t replicas;
	} cases[] = {
		{"{kind: Pod, metadata: {namespace: ns, labels: {app: web}}, spec: {containers: [{name: c}]}}",
			false, 1},
		{"{kind: Deployment, metadata: {namespace: ns}, spec: {replicas: 3, " TEMPLATE "}}", true, 3},
		{"{kind: Deployment, metadata: {namespace: ns}, spec: {" TEMPLATE "}}", true, 1},
		{"{kind: Deployment, metadata: {namespace: ns}, spec: {replicas: 0, " TEMPLATE "}}", true, 0},
		{"{kind: StatefulSet, metadata: {namespace: ns}, spec: {replicas: 5, " TEMPLATE "}}", true,
			5},
		{"{kind: ReplicaSet, metadata: {namespace: ns}, spec: {replicas: 7, " TEMPLATE "}}", true, 7},
		{"{kind: DaemonSet, metadata: {namespace: ns}, spec: {" TEMPLATE "}}", false, 1},
		{"{kind: Job, metadata: {namespace: ns}, spec: {parallelism: 4, " TEMPLATE "}}", true, 4},
		{"{kind: Job, metadata: {namespace: ns}, spec: {parallelism: 4, completions: 2, " TEMPLATE
		 "}}",
			true, 2},
		{"{kind: Job, metadata: {namespace: ns}, spec: {" TEMPLATE "}}", true, 1},
		{"{kind: CronJob, metadata: {namespace: ns}, spec: {jobTemplate: {spec: {parallelism: 6, " TEMPLATE
		 "}}}}",
			true, 6},
		{"{kind: PodTemplate, metadata: {namespace: ns}, " TEMPLATE "}", false, 1},
		{"{kind: Job, apiVersion: batch.volcano.sh/v1alpha1, metadata: {namespace: ns}, spec: {tasks: [{name: t, "
		 "replicas: 9, " TEMPLATE "}]}}",
			true, 9},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(doc_release) struct doc object = DOC_INIT;
		CLEANUP(pod_templates_release) struct pod_templates t = {0};
		const char *app;

		assert_int_equal(yaml_parse(cases[i].object, strlen(cases[i].object), &object, NULL), 0);
		assert_int_equal(pod_templates_from_doc(&object, &t, NULL), 0);
		assert_int_equal(t.n_items, 1);
		if (t.items[0].is_counted != cases[i].is_counted || t.items[0].replicas != cases[i].replicas)
			fail_msg("%s: %d", cases[i].object, (int)t.items[0].replicas);
		app = doc_string(doc_get(doc_get(doc_get(t.items[0].owner, "metadata"), "labels"), "app"));
		test_assert_text("labels", app, "web");
		test_assert_text("namespace", t.items[0].namespace, "ns");
	}
}

/* While a resize is pending the containers have what the status reports, and schedulers count the larger size of a deferred one. */
static void resizes_count_with_the_larger_size(void **state)
{
#define SIZED(cpus, condition)                                                                             \
	"{kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, resources: {requests: {cpu: " cpus \
	"}}}]}, status: {conditions: [" condition                                                          \
	"], containerStatuses: [{name: a, allocatedResources: {cpu: 3}, resources: {requests: {cpu: 3}}}]}}"
/* The kubelet has lowered the amount, and the container has still more. */
#define ACTUATED(condition)                                                                                   \
	"{kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, resources: {requests: {cpu: 1}}}]}, " \
	"status: {conditions: [" condition                                                                    \
	"], containerStatuses: [{name: a, allocatedResources: {cpu: 1}, resources: {requests: {cpu: 4}}}]}}"
/* A container of one CPU in a pod with pod-level resources. */
#define POD_LEVEL(cpus, condition, allocated, actuated)                                                   \
	"{kind: Pod, metadata: {name: p}, spec: {resources: {requests: {cpu: " cpus                       \
	"}}, containers: [{name: a, resources: {requests: {cpu: 1}}}]}, status: {conditions: [" condition \
	"], allocatedResources: {cpu: " allocated ", memory: 1Gi}, resources: {requests: {cpu: " actuated \
	", memory: 1Gi}}}}"
#define PENDING(reason) "{type: PodResizePending, status: 'True', reason: " reason "}"
	static const struct {
		const char *pod;
		int container, node;
	} cases[] = {
		{SIZED("5", PENDING("Deferred")), 3, 5},
		{SIZED("1", PENDING("Deferred")), 3, 3},
		{SIZED("5", PENDING("Infeasible")), 3, 3},
		{SIZED("5", ""), 5, 5},
		{SIZED("1", ""), 3, 3},
		{ACTUATED(""), 4, 4},
		{POD_LEVEL("5", PENDING("Deferred"), "3", "3"), 1, 5},
		{POD_LEVEL("5", PENDING("Infeasible"), "3", "3"), 1, 3},
		{POD_LEVEL("5", "", "3", "3"), 1, 5},
		{POD_LEVEL("2", "", "2", "3"), 1, 3},
		{POD_LEVEL("2", "", "3", "2"), 1, 3},
		{POD_LEVEL("7", PENDING("Infeasible"), "3", "3"), 1, 3},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(doc_release) struct doc object = DOC_INIT;
		CLEANUP(pod_template_release) struct pod_template t = {0};
		CLEANUP(resource_list_release) struct resource_list wanted = {0};

		assert_int_equal(yaml_parse(cases[i].pod, strlen(cases[i].pod), &object, NULL), 0);
		assert_int_equal(pod_template_from_pod(&object, &t, NULL), 0);
		request_of_node(&t.pod, &wanted);
		if (resource_list_amount(&t.pod.containers[0].requests, "cpu") !=
				cases[i].container * QTY_UNIT ||
			resource_list_amount(&wanted, "cpu") != cases[i].node * QTY_UNIT)
			fail_msg("case %zu", i);
	}
}

/* Resources that the API server would refuse are refused by name of the member; a Pod that it has stored is read. */
static void invalid_resources_are_refused(void **state)
{
	static const struct {
		const char *spec, *error;
	} cases[] = {
		{"containers: [{name: a, resources: {limits: {hugepages-2Mi: 4Mi}}}]",
			"spec.containers[0].resources: hugepages require cpu or memory"},
		{"containers: [{name: a, resources: {requests: {cpu: 1, hugepages-2Mi: 2Mi}, limits: {hugepages-2Mi: 4Mi}}}]",
			"spec.containers[0].resources: requests.hugepages-2Mi is not equal to the limit"},
		{"containers: [{name: a, resources: {limits: {cpu: 1, hugepages-2Mi: 3Mi}}}]",
			"spec.containers[0].resources: limits.hugepages-2Mi is not a whole number of pages"},
		{"containers: [{name: a}], initContainers: [{name: b}, {name: c, resources: {requests: {nvidia.com/gpu: 1}}}]",
			"spec.initContainers[1].resources: limits.nvidia.com/gpu is missing: it must be equal to the request"},
		{"containers: [{name: a, resources: {limits: {requests.nvidia.com/gpu: 1}}}]",
			"spec.containers[0].resources: limits: 'requests.nvidia.com/gpu' is not the name of a resource"},
		{"containers: [{name: a}], resources: {limits: {ephemeral-storage: 1Gi}}",
			"spec.resources: limits.ephemeral-storage: only cpu, memory and hugepages can be pod-level resources"},
		{"containers: [{name: a, resources: {requests: {cpu: 3}}}], resources: {requests: {cpu: 2}}",
			"spec.resources.requests.cpu is less than the containers request together"},
		{"containers: [{name: a}, {name: b, resources: {limits: {cpu: 3}, requests: {cpu: 1}}}], resources: {limits: {cpu: 2}}",
			"spec.containers[1].resources.limits.cpu is more than the pod's limit"},
		{"containers: [{name: a, resources: {limits: {cpu: 1, example.com/batch: 2, hugepages-1Gi: 1Gi}}}]",
			""},
		{"containers: [{name: a, resources: {requests: {kubernetes.io/x: 500m}, limits: {kubernetes.io/x: 1}}}]",
			""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(doc_release) struct doc object = DOC_INIT;
		CLEANUP(pod_templates_release) struct pod_templates t = {0};
		CLEANUP(pod_template_release) struct pod_template stored = {0};
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);
		struct err err = {""};

		strbuf_addf(&text, "{kind: Pod, metadata: {name: p}, spec: {%s}}", cases[i].spec);
		assert_int_equal(yaml_parse(text.text, text.len, &object, NULL), 0);
		assert_int_equal(pod_templates_from_doc(&object, &t, &err), *cases[i].error ? -EINVAL : 0);
		test_assert_text(cases[i].spec, err.text, cases[i].error);
		pod_templates_release(&t);
		strbuf_reset(&text);
		doc_release(&object);
		strbuf_addf(&text, "{kind: Pod, metadata: {name: p, uid: u}, spec: {%s}}", cases[i].spec);
		assert_int_equal(yaml_parse(text.text, text.len, &object, NULL), 0);
		assert_int_equal(pod_templates_from_doc(&object, &t, NULL), 0);
		assert_int_equal(pod_template_from_pod(&object, &stored, NULL), 0);
	}
}

/* What claims take from the node's allocatable amounts counts at the node, and in no container. */
static void amounts_of_claims_count_at_the_node(void **state)
{
#define SPEC "spec: {containers: [{name: a, resources: {requests: {cpu: 2, memory: 1Gi}}}]}"
#define LEVEL \
	"spec: {resources: {requests: {cpu: 9}}, containers: [{name: a, resources: {requests: {cpu: 2, memory: 1Gi}}}]}"
#define STATUS ", status: {nodeAllocatableResourceClaimStatuses: "
	static const struct {
		const char *pod, *want; /* NULL = an error */
	} cases[] = {
		{SPEC, "cpu 2, memory 1Gi"},
		/* Kubernetes 1.36 */
		{SPEC STATUS "[{resourceClaimName: c, containers: [a], resources: {cpu: 4, memory: 1Gi}}]}",
			"cpu 6, memory 2Gi"},
		/* 1.37 */
		{SPEC STATUS
			"[{resourceClaimName: c, containers: [a], mapping: [{name: cpu, quantity: '4'}]}, "
			"{resourceClaimName: d, mapping: [{name: hugepages-1Gi, quantity: 2Gi}]}]}",
			"cpu 6, hugepages-1Gi 2Gi, memory 1Gi"},
		{SPEC STATUS
			"[{resourceClaimName: c, containers: [a, b], overhead: [{name: cpu, perPod: 100m, "
			"perContainer: 50m}]}]}",
			"cpu 2200m, memory 1Gi"},
		/* 1.38 */
		{SPEC ", status: {additionalNodeAllocatableResources: [{source: {kind: ResourceClaim, name: c}, "
		      "containers: [a], mapping: [{name: cpu, quantity: '4'}]}]}",
			"cpu 6, memory 1Gi"},
		/* The pod-level request includes the claim's CPUs, but not its memory. */
		{LEVEL STATUS
			"[{resourceClaimName: c, mapping: [{name: cpu, quantity: '4'}, {name: memory, quantity: "
			"1Gi}]}]}",
			"cpu 9, memory 2Gi"},
		{SPEC STATUS "[{mapping: [{name: cpu, quantity: '-4'}]}]}", NULL},
		{SPEC STATUS "[{mapping: [{name: cpu, quantity: many}]}]}", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(doc_release) struct doc object = DOC_INIT;
		CLEANUP(pod_template_release) struct pod_template t = {0};
		CLEANUP(resource_list_release) struct resource_list wanted = {0};
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096), got = STRBUF_INIT(4096);
		struct err err = {""};

		strbuf_addf(&text, "{kind: Pod, metadata: {name: p}, %s}", cases[i].pod);
		assert_int_equal(yaml_parse(text.text, text.len, &object, NULL), 0);
		if (!cases[i].want) {
			assert_int_equal(pod_template_from_pod(&object, &t, &err), -EINVAL);
			assert_non_null(
				strstr(err.text, "status.nodeAllocatableResourceClaimStatuses: cpu: "));
			continue;
		}
		if (pod_template_from_pod(&object, &t, &err) < 0)
			fail_msg("%s", err.text);
		request_of_node(&t.pod, &wanted);
		for (size_t k = 0; k < wanted.n_items; k++) {
			char amount[QUANTITY_TEXT_MAX];

			quantity_print(wanted.items[k].quantity, amount);
			strbuf_addf(&got, "%s%s %s", k > 0 ? ", " : "", wanted.items[k].name, amount);
		}
		test_assert_text(cases[i].pod, got.text, cases[i].want);
		assert_int_equal(resource_list_find(&t.pod.containers[0].requests, "cpu")->quantity.nano,
			2 * QTY_UNIT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(priorities_are_read),
		cmocka_unit_test(objects_ask_for_copies),
		cmocka_unit_test(resizes_count_with_the_larger_size),
		cmocka_unit_test(invalid_resources_are_refused),
		cmocka_unit_test(amounts_of_claims_count_at_the_node),
		cmocka_unit_test(resource_versions_are_numbers),
	};

	return cmocka_run_group_tests_name("pod_parse", tests, NULL, NULL);
}

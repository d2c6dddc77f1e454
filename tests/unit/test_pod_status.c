/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pod's own objects say: what became of it, its events, and what keeps it away from a node.
 */
#include "tests/lib/test.h"

#include <errno.h>
#include <stdlib.h>

#include "cluster/objects/pod_status.h"
#include "common/cleanup.h"
#include "common/io/yaml.h"
#include "tests/lib/file_reader.h"

static void parse(const char *text, struct doc *ret)
{
	struct err err = {""};

	if (yaml_parse(text, strlen(text), ret, &err) < 0)
		fail_msg("%s: %s", err.text, text);
}

/* ---- what became of it */

static void a_pod_is_at_one_stage(void **state)
{
	static const struct {
		const char *spec, *status;
		enum pod_stage stage;
	} cases[] = {
		{"{}", "{}", POD_WAITS},
		{"{}", "{phase: Pending}", POD_WAITS},
		{"{nodeName: w1}", "{phase: Pending}", POD_BOUND},
		{"{nodeName: w1}", "{phase: Pending, containerStatuses: [{state: {waiting: {reason: x}}}]}",
			POD_BOUND},
		{"{nodeName: w1}", "{phase: Pending, initContainerStatuses: [{state: {running: {}}}]}",
			POD_RUNS},
		{"{nodeName: w1}", "{phase: Running}", POD_RUNS},
		{"{nodeName: w1}", "{phase: Failed, reason: TopologyAffinityError}", POD_REJECTED},
		{"{nodeName: w1}", "{phase: Failed, reason: OutOfcpu, message: Pod was rejected}",
			POD_REJECTED},
		{"{nodeName: w1}",
			"{phase: Failed, reason: UnexpectedAdmissionError, containerStatuses: [{state: {waiting: {}}}]}",
			POD_REJECTED},
		/* They ended before a container had started, after their admission. */
		{"{nodeName: w1}",
			"{phase: Failed, reason: DeadlineExceeded, message: Pod was active on the node longer than the specified deadline}",
			POD_ENDED},
		{"{nodeName: w1}",
			"{phase: Failed, reason: Evicted, message: 'The node was low on resource: memory.', containerStatuses: [{state: {waiting: {}}}]}",
			POD_ENDED},
		/* It ran, and was evicted; it ended by itself; it never had a node. */
		{"{nodeName: w1}",
			"{phase: Failed, reason: Evicted, containerStatuses: [{state: {terminated: {}}}]}",
			POD_ENDED},
		{"{nodeName: w1}",
			"{phase: Failed, reason: Evicted, containerStatuses: [{state: {waiting: {}}, lastState: {terminated: {}}}]}",
			POD_ENDED},
		{"{nodeName: w1}", "{phase: Failed}", POD_ENDED},
		{"{nodeName: w1}", "{phase: Succeeded}", POD_ENDED},
		{"{}", "{phase: Failed, reason: x}", POD_ENDED},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(doc_release) struct doc pod = DOC_INIT;
		CLEANUP(pod_status_release) struct pod_status status = {0};
		char text[512];

		snprintf(text, sizeof(text), "{kind: Pod, metadata: {name: p}, spec: %s, status: %s}",
			cases[i].spec, cases[i].status);
		parse(text, &pod);
		assert_int_equal(pod_status_read(&pod, &status, NULL), 0);
		test_assert_text(text, pod_stage_names[status.stage], pod_stage_names[cases[i].stage]);
	}
}

static void a_pod_has_its_texts(void **state)
{
	CLEANUP(doc_release) struct doc pod = DOC_INIT, nameless = DOC_INIT;
	CLEANUP(pod_status_release) struct pod_status status = {0}, none = {0};
	struct err err = {""};

	(void)state;
	parse("{metadata: {name: p, uid: u, ownerReferences: [{kind: Job, name: j}, {kind: Job, name: k}]}, "
	      "spec: {schedulingGates: [{name: g}]}, status: {phase: Pending, conditions: ["
	      "{type: Ready, status: 'False', message: not ready}, "
	      "{type: PodScheduled, status: 'False', message: 0/3 nodes are available}]}}",
		&pod);
	assert_int_equal(pod_status_read(&pod, &status, NULL), 0);
	assert_string_equal(status.namespace, "default");
	assert_string_equal(status.uid, "u");
	assert_string_equal(status.owner, "Job 'j'");
	assert_string_equal(status.scheduler, "0/3 nodes are available");
	assert_string_equal(status.node, "");
	assert_true(status.gated);
	parse("{kind: Pod, metadata: {}, spec: {}}", &nameless);
	assert_int_equal(pod_status_read(&nameless, &none, &err), -EINVAL);
	assert_string_equal(err.text, "a Pod without a name");
	assert_null(none.name);
}

/* ---- its events */

static const char events_text[] =
	"kind: List\n"
	"items:\n"
	"- {kind: Event, involvedObject: {kind: Pod, namespace: ns, name: p, uid: u}, type: Warning, reason: "
	"FailedScheduling, message: 3 Insufficient cpu, source: {component: default-scheduler}, count: 3, "
	"firstTimestamp: '2026-11-22T04:00:00Z', lastTimestamp: '2026-11-22T04:10:00Z'}\n"
	/* the same again, as events.k8s.io/v1 has it */
	"- {kind: Event, regarding: {kind: Pod, namespace: ns, name: p}, type: Warning, reason: FailedScheduling, "
	"note: 3 Insufficient cpu, reportingController: default-scheduler, eventTime: "
	"'2026-11-22T04:20:00.5Z', series: {count: 2, lastObservedTime: '2026-11-22T04:30:00Z'}}\n"
	"- {kind: Event, involvedObject: {kind: Pod, namespace: ns, name: p}, type: Warning, reason: "
	"TopologyAffinityError, message: no locality, source: {component: kubelet}, lastTimestamp: "
	"'2026-11-22T04:40:00Z'}\n"
	"- {kind: Event, involvedObject: {kind: Pod, namespace: ns, name: p}, reason: Odd, count: -1}\n"
	/* another pod of the name, other pods, other objects */
	"- {kind: Event, involvedObject: {kind: Pod, namespace: ns, name: p, uid: older}, reason: A}\n"
	"- {kind: Event, involvedObject: {kind: Pod, namespace: ns, name: q}, reason: B}\n"
	"- {kind: Event, involvedObject: {kind: Pod, namespace: other, name: p}, reason: C}\n"
	"- {kind: Event, involvedObject: {kind: Job, namespace: ns, name: p}, reason: D}\n"
	"- {kind: Event}\n";

static void events_are_those_of_the_pod(void **state)
{
	char namespace[] = "ns", name[] = "p", uid[] = "u";
	const struct pod_status pod = {.namespace = namespace, .name = name, .uid = uid};
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(pod_events_release) struct pod_events events = {0};
	struct object_reader reader;
	struct err err = {""};
	char path[256];

	(void)state;
	test_write_file(dir, "events.yaml", events_text);
	snprintf(path, sizeof(path), "%s/events.yaml", dir);
	reader = file_reader(path);
	if (pod_events_read(&reader, &pod, &events, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(events.n_items, 3);
	assert_string_equal(events.items[0].reason, "TopologyAffinityError");
	assert_string_equal(events.items[0].source, "kubelet");
	assert_int_equal(events.items[0].count, 1);
	assert_string_equal(events.items[1].message, "3 Insufficient cpu");
	assert_string_equal(events.items[1].source, "default-scheduler");
	assert_int_equal(events.items[1].count, 5);
	assert_int_equal(events.items[0].last_s - events.items[1].last_s, 600);
	assert_string_equal(events.items[2].reason, "Odd");
	assert_int_equal(events.items[2].count, 1);
	assert_int_equal(events.items[2].last_s, 0);
}

static void what_holds_no_events_is_refused(void **state)
{
	char empty[] = "", name[] = "p";
	const struct pod_status pod = {.namespace = name, .name = name, .uid = empty};
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(pod_events_release) struct pod_events events = {0};
	struct object_reader reader;
	struct err err = {""};
	char path[256];

	(void)state;
	test_write_file(dir, "events.yaml", "kind: Pod\nmetadata: {name: p}\n");
	snprintf(path, sizeof(path), "%s/events.yaml", dir);
	reader = file_reader(path);
	assert_int_equal(pod_events_read(&reader, &pod, &events, &err), -EINVAL);
	assert_non_null(strstr(err.text, "events.yaml: not an Event or a List of them, but a 'Pod'"));
	assert_int_equal(events.n_items, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_is_at_one_stage),
		cmocka_unit_test(a_pod_has_its_texts),
		cmocka_unit_test(events_are_those_of_the_pod),
		cmocka_unit_test(what_holds_no_events_is_refused),
	};

	return cmocka_run_group_tests_name("pod_status", tests, NULL, NULL);
}

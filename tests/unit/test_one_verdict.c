/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fit hints and `nrtd fit` answer one question by one node state: how many exclusive CPUs would this node's
 * kubelet admit? Asked on every machine of tests/fixtures/machines, however its reserved CPUs are known.
 */
#include "tests/lib/test.h"

#include <inttypes.h>

#include "agent/render/render.h"
#include "cli/report/pod_report.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/text.h"
#include "scoring/node/node_derive.h"
#include "tests/lib/observations.h"
#include "tests/lib/pods.h"

enum reserved_source { OBSERVED, LISTED, COUNTED, NOTHING, NOT_KNOWN, RESERVED_SOURCE_COUNT };

static const char *const reservation_names[RESERVED_SOURCE_COUNT] = {
	"observed", "listed", "counted", "nothing reserved", "not known"};

/* A node with the static policy; a pod holds the last two CPUs, which the kubelet reserves last. */
static void make_node(const char *machine, enum reserved_source how, enum topology_manager_policy policy,
	enum topology_manager_scope scope, struct observation *ret)
{
	const struct derive_config config = {0};
	struct node_state *node = &ret->node;
	struct settings *s = &node->settings;
	struct err err = {""};

	observation_of_machine(machine, ret);
	s->cpu_manager = CPU_MANAGER_STATIC;
	s->memory_manager = MEMORY_MANAGER_NONE;
	s->topology.policy = policy;
	s->topology.scope = scope;
	s->reserved_known = how != NOT_KNOWN;
	if (how == COUNTED)
		s->kube_reserved_cpu = QTY_UNIT + QTY_UNIT / 2;
	if (how == LISTED) {
		assert_int_equal(cpuset_parse("0", &s->reserved_system_cpus, NULL), 0);
		text_set(&s->from[SETTING_RESERVED_SYSTEM_CPUS], "a test");
	}
	if (how == OBSERVED) {
		node->allocatable_cpus = hwloc_bitmap_dup(node->machine.online);
		assert_non_null(node->allocatable_cpus);
		hwloc_bitmap_clr(node->allocatable_cpus, 0);
	}
	node->allocations.cpus_known = true;
	node->allocations.shared = hwloc_bitmap_dup(node->machine.online);
	assert_non_null(node->allocations.shared);
	if (node->machine.n_cpus > 4) {
		struct allocation *item = allocations_add_container(&node->allocations, "u", "c");

		assert_non_null(item);
		hwloc_bitmap_set(item->cpus, node->machine.cpus[node->machine.n_cpus - 1].id);
		hwloc_bitmap_set(item->cpus, node->machine.cpus[node->machine.n_cpus - 2].id);
		hwloc_bitmap_andnot(node->allocations.shared, node->allocations.shared, item->cpus);
	}
	reserved_cpus_release(&node->reserved);
	inventory_release(&node->inventory);
	if (node_derive(&config, node, &ret->notes, &err) < 0)
		fail_msg("%s: %s", machine, err.text);
}

/* What the hints say of `n` CPUs: null where the ranges are not known. */
static enum kubelet_answer by_hints(const struct doc *exclusive, uint64_t n)
{
	const struct doc *ranges = doc_get(exclusive, "ranges");
	uint64_t step = 0;

	if (!ranges || ranges->kind != DOC_LIST)
		return KUBELET_UNKNOWN;
	assert_int_equal(doc_uint64(doc_get(exclusive, "step"), &step), 0);
	DOC_FOREACH (range, ranges) {
		uint64_t first = 0, last = 0;

		assert_int_equal(range->n_items, 2);
		assert_int_equal(doc_uint64(&range->items[0], &first), 0);
		assert_int_equal(doc_uint64(&range->items[1], &last), 0);
		if (n >= first && n <= last && (n - first) % step == 0)
			return KUBELET_ADMITS;
	}
	return KUBELET_REJECTS;
}

/* More than the whole node has is refused even where the managers' verdict is not known. */
static enum kubelet_answer by_fit(
	const struct node_state *node, uint64_t n, bool *ret_short, struct err *ret_reason)
{
	CLEANUP(pod_report_release) struct pod_report pods = {0};
	CLEANUP(node_report_release) struct node_report report = {0};
	CLEANUP(pod_request_release) struct pod_request pod = {0};
	char text[64];

	snprintf(text, sizeof(text), "app cpu=%" PRIu64 " memory=1Mi", n);
	pod_from_text(&pod, text);
	pod_report_init(&pods, &pod);
	node_report_make(&pods, node, REPORT_ALL, NULL, &report);
	*ret_short = report.node_is_short;
	err_set(ret_reason, 0, "%s", report.reason);
	return report.answer;
}

/* Few or all numbers of CPUs, the smallest and the largest among them. */
static size_t compare(const struct observation *o, const char *what, size_t *known)
{
	const struct hints_config config = {.max_size = 1u << 20};
	enum topology_manager_policy policy = o->node.settings.topology.policy;
	size_t most = o->node.machine.n_cpus + 1, stride = most > 24 ? most / 24 : 1, asked = 0;
	CLEANUP(doc_release) struct doc annotations = DOC_INIT;
	CLEANUP(doc_release) struct doc labels = DOC_INIT;
	CLEANUP(doc_release) struct doc hints = DOC_INIT;
	const char *text;

	hints_make(&config, &o->node, "x", &annotations, &labels, NULL, NULL);
	text = doc_string(doc_get(&annotations, "nrtd.dev/fit-hints"));
	assert_non_null(text);
	assert_int_equal(json_parse(text, strlen(text), &hints, NULL), 0);
	for (uint64_t n = 1; n <= most; n += n < 4 || n + stride > most ? 1 : stride) {
		enum kubelet_answer hinted = by_hints(doc_get(&hints, "exclusiveCPUs"), n);
		bool node_is_short = false;
		struct err reason;
		enum kubelet_answer asked_for = by_fit(&o->node, n, &node_is_short, &reason);

		if (hinted != asked_for && !(node_is_short && hinted == KUBELET_UNKNOWN))
			fail_msg("%s, %s: %" PRIu64 " CPUs: the hints say %d, fit says %d (%s)", what,
				topology_manager_policy_names[policy], n, (int)hinted, (int)asked_for,
				reason.text);
		*known += hinted != KUBELET_UNKNOWN;
		asked++;
	}
	return asked;
}

static void sweep(const char *machine)
{
	size_t known[RESERVED_SOURCE_COUNT] = {0};

	for (enum reserved_source how = 0; how < RESERVED_SOURCE_COUNT; how++)
		for (enum topology_manager_policy p = TOPOLOGY_MANAGER_NONE;
			p <= TOPOLOGY_MANAGER_SINGLE_NUMA_NODE; p++) {
			CLEANUP(observation_release) struct observation o;
			char what[160];

			make_node(machine, how, p, TOPOLOGY_SCOPE_CONTAINER, &o);
			snprintf(what, sizeof(what), "%s, reserved CPUs %s", machine, reservation_names[how]);
			assert_true(compare(&o, what, &known[how]) > 0);
		}
	/* Without reserved CPUs the kubelet does not start. */
	assert_int_equal(known[NOTHING], 0);
	/* With NUMA ids up to 255 the kubelet panics for every pod, whatever is reserved. */
	if (strcmp(machine, "gpu-memory") != 0)
		assert_int_equal(known[NOT_KNOWN], 0);
	assert_int_equal(known[OBSERVED] > 0, known[LISTED] > 0);
}

static void hints_and_fit_agree_on_every_machine(void **state)
{
	CLEANUP(strv_release) struct strv machines = {0};

	(void)state;
	observation_machines(&machines);
	for (size_t i = 0; i < machines.n_items; i++)
		if (strcmp(machines.items[i], "64-nodes-1024-cpus") != 0) /* a verdict takes long there */
			sweep(machines.items[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hints_and_fit_agree_on_every_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

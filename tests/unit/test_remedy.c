/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws rejections on nodes of many machines and settings. The remedy of each, applied, must be admitted; where there is none, the report says
 * why, and no smaller pod that is drawn fits.
 */
#include "tests/lib/test.h"

#include <stdlib.h>

#include "cli/report/fit_report.h"
#include "common/cleanup.h"
#include "tests/lib/node_sim.h"
#include "tests/lib/pods.h"

#define REJECTIONS 200
#define TEXT_MAX   512

static size_t below(uint64_t *seed, size_t n)
{
	return test_random(seed) % n;
}

static bool once_in(uint64_t *seed, size_t n)
{
	return below(seed, n) == 0;
}

/* ---- nodes and pods */

static enum topology_manager_policy draw_policy(uint64_t *seed)
{
	static const enum topology_manager_policy policies[] = {TOPOLOGY_MANAGER_RESTRICTED,
		TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, TOPOLOGY_MANAGER_RESTRICTED,
		TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, TOPOLOGY_MANAGER_BEST_EFFORT, TOPOLOGY_MANAGER_NONE};

	return policies[below(seed, ARRAY_SIZE(policies))];
}

static void draw_options(uint64_t *seed, struct settings *settings)
{
	struct cpu_manager_options *options = &settings->cpu_options;

	options->align_by_socket =
		settings->topology.policy != TOPOLOGY_MANAGER_SINGLE_NUMA_NODE && once_in(seed, 6);
	options->distribute_cpus_across_numa = once_in(seed, 6);
	options->strict_cpu_reservation = once_in(seed, 6);
	options->prefer_align_cpus_by_uncorecache = !options->distribute_cpus_across_numa && once_in(seed, 6);
}

static void draw_node(uint64_t *seed, struct node_sim *ret)
{
	struct node_sim_setup setup = {.machine = {.sockets = 1 + (unsigned)below(seed, 2),
					       .numas = 1 + (unsigned)below(seed, 4),
					       .uncores = 1 + (unsigned)below(seed, 2),
					       .cores = 2 + (unsigned)below(seed, 5),
					       .threads = 1 + (unsigned)below(seed, 2),
					       .memory_bytes = (uint64_t)(16 + 16 * below(seed, 3)) << 30},
		.policy = draw_policy(seed),
		.scope = once_in(seed, 2) ? TOPOLOGY_SCOPE_POD : TOPOLOGY_SCOPE_CONTAINER,
		.full_pcpus_only = once_in(seed, 3),
		.memory_static = once_in(seed, 2),
		.pages_1gi = once_in(seed, 2) ? 4 : 0,
		.nics = (unsigned)below(seed, 3)};

	setup.near = setup.machine.sockets * setup.machine.numas > 1 ? 1 + (unsigned)below(seed, 2) : 1;
	node_sim_init(ret, &setup);
	for (size_t n = below(seed, 10); n > 0; n--) {
		char pod[TEXT_MAX];

		snprintf(pod, sizeof(pod), "app cpu=%zu memory=%zuGi%s", 1 + below(seed, 6),
			1 + below(seed, 8), setup.nics > 0 && once_in(seed, 3) ? " vendor.com/nic=1" : "");
		node_sim_begin(ret, pod);
	}
	for (size_t n = below(seed, 4); n > 0 && ret->state.allocations.n_items > 0; n--)
		node_sim_end(ret, below(seed, ret->state.allocations.n_items));
	draw_options(seed, &ret->state.settings);
}

static void draw_container(uint64_t *seed, const struct machine *m, size_t n, struct strbuf *text)
{
	size_t cpus = once_in(seed, 2) ? m->n_cpus / m->n_nodes : m->n_cpus / n;

	if (once_in(seed, 8))
		strbuf_addf(text, " cpu=%zum", 500 + 1000 * below(seed, 8));
	else
		strbuf_addf(text, " cpu=%zu", 1 + below(seed, cpus + 2));
	strbuf_addf(text, " memory=%zuGi", 1 + below(seed, once_in(seed, 3) ? 100 : 8));
	if (once_in(seed, 6))
		strbuf_addf(text, " hugepages-1Gi=%zuGi", 1 + below(seed, 6));
	if (once_in(seed, 4))
		strbuf_addf(text, " vendor.com/nic=%zu", 1 + below(seed, 3));
}

/* One to three containers, some of them init containers and sidecars; some pods have pod-level resources. */
static void draw_pod(uint64_t *seed, const struct machine *m, struct strbuf *text, struct pod_request *ret)
{
	static const char *const kinds[] = {"init", "sidecar"};
	size_t n = 1 + (once_in(seed, 2) ? below(seed, 3) : 0);

	strbuf_reset(text);
	for (size_t i = 0; i < n; i++) {
		strbuf_addf(text, "%s%s", i > 0 ? "; " : "",
			i + 1 == n || once_in(seed, 2) ? "app" : kinds[below(seed, 2)]);
		draw_container(seed, m, n, text);
	}
	pod_from_text(ret, text->text);
	if (!once_in(seed, 12))
		return;
	strbuf_addstr(text, ", with pod-level resources");
	ret->has_pod_resources = true;
	resources_set(&ret->pod_requests, "cpu", "200");
	resources_set(&ret->pod_limits, "cpu", "200");
	resources_set(&ret->pod_requests, "memory", "900Gi");
	resources_set(&ret->pod_limits, "memory", "900Gi");
}

/* ---- remedies */

static void set_amount(struct resource_list *list, const struct request_change *change)
{
	const struct resource_quantity *q = resource_list_find(list, change->resource);

	if (q && q->quantity.nano == change->from)
		resource_list_set(list, change->resource,
			(struct quantity){.nano = change->to, .format = q->quantity.format});
}

static void apply_change(struct pod_request *pod, const struct request_change *change)
{
	bool pod_level = change->container == pod->n_containers;
	struct container_request *c = pod_level ? NULL : &pod->containers[change->container];

	assert_true(change->to > 0 && change->to != change->from);
	set_amount(pod_level ? &pod->pod_requests : &c->requests, change);
	set_amount(pod_level ? &pod->pod_limits : &c->limits, change);
}

static enum kubelet_answer answer_of(const struct node_state *state, const struct pod_request *pod)
{
	CLEANUP(pod_report_release) struct pod_report r;
	CLEANUP(node_report_release) struct node_report n;

	pod_report_init(&r, pod);
	node_report_make(&r, state, 0, NULL, &n);
	return n.answer;
}

/* A pod with smaller amounts in some containers. */
static void draw_smaller(uint64_t *seed, struct pod_request *pod)
{
	for (size_t i = 0; i < pod->n_containers; i++)
		for (size_t k = 0; k < pod->containers[i].requests.n_items; k++) {
			const struct resource_quantity *q = &pod->containers[i].requests.items[k];
			struct request_change change = {i, q->name, q->quantity.nano, 0};

			change.to = change.from * (qty_t)(1 + below(seed, 8)) / 8 / QTY_UNIT * QTY_UNIT;
			if (change.to > 0 && change.to != change.from)
				apply_change(pod, &change);
		}
}

static void print(const struct pod_report *r, const struct node_report *n, struct strbuf *text)
{
	CLEANUP(writer_release) struct writer w;

	strbuf_reset(text);
	writer_init(&w, "text", true, text);
	fit_write_node(&w, r, n);
}

struct tally {
	size_t n_single, n_several, n_scope, n_none;
};

static void assert_remedy(uint64_t *seed, const struct node_sim *sim, const struct pod_request *pod,
	struct strbuf *text, struct tally *tally)
{
	CLEANUP(pod_report_release) struct pod_report r;
	CLEANUP(node_report_release) struct node_report n;
	CLEANUP(pod_request_release) struct pod_request changed;

	pod_report_init(&r, pod);
	node_report_make(&r, &sim->state, REPORT_ALL, NULL, &n);
	assert_int_equal(n.answer, KUBELET_REJECTS);
	print(&r, &n, text);
	pod_request_copy(pod, &changed);
	for (size_t i = 0; i < n.nearest.n_changes; i++)
		apply_change(&changed, &n.nearest.changes[i]);
	if (n.nearest.found && answer_of(&sim->state, &changed) != KUBELET_ADMITS)
		fail_msg("the remedy is rejected: %s", text->text);
	tally->n_single += n.nearest.n_changes == 1;
	tally->n_several += n.nearest.n_changes > 1;
	tally->n_scope += n.fits_in_scope_pod;
	if (n.nearest.found || n.fits_in_scope_pod || n.missing)
		return;
	tally->n_none++;
	for (size_t i = 0; n.nearest.complete && i < 50; i++) {
		CLEANUP(pod_request_release) struct pod_request smaller;

		pod_request_copy(pod, &smaller);
		draw_smaller(seed, &smaller);
		if (answer_of(&sim->state, &smaller) == KUBELET_ADMITS)
			fail_msg("a smaller pod fits: %s", text->text);
	}
	/* Either the reason says that nothing is left, or the obstacle is named; or too many amounts would have to change. */
	if (n.nearest.complete && !n.obstacle && !strstr(n.reason, " 0 "))
		fail_msg("no obstacle: %s", text->text);
}

static void remedies_are_admitted(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1 << 20);
	uint64_t seed = test_seed(52);
	struct tally tally = {0};
	size_t n_rejected = 0;

	(void)state;
	while (n_rejected < REJECTIONS) {
		struct node_sim sim;

		draw_node(&seed, &sim);
		for (size_t i = 0; i < 4; i++) {
			struct pod_request pod;

			draw_pod(&seed, &sim.state.machine, &text, &pod);
			if (answer_of(&sim.state, &pod) == KUBELET_REJECTS) {
				n_rejected++;
				assert_remedy(&seed, &sim, &pod, &text, &tally);
			}
			pod_request_release(&pod);
		}
		node_sim_release(&sim);
	}
	print_message("%zu rejections: one change %zu, several %zu, topologyManagerScope pod %zu, none %zu\n",
		n_rejected, tally.n_single, tally.n_several, tally.n_scope, tally.n_none);
	assert_true(tally.n_single >= 50 && tally.n_several >= 20);
}

/* kubernetes#123816: both remedies that the report names are admitted. */
static void an_init_container_that_pins_later_ones_has_two_remedies(void **state)
{
	static const struct node_sim_setup setup = {.machine = {.sockets = 2,
							    .numas = 1,
							    .uncores = 1,
							    .cores = 8,
							    .threads = 1,
							    .memory_bytes = 1 << 30},
		.policy = TOPOLOGY_MANAGER_SINGLE_NUMA_NODE,
		.scope = TOPOLOGY_SCOPE_CONTAINER};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1 << 20);
	uint64_t seed = test_seed(52);
	struct tally tally = {0};
	struct pod_request pod;
	struct node_sim sim;

	(void)state;
	node_sim_init(&sim, &setup);
	pod_from_text(&pod, "init cpu=1 memory=1Mi; init cpu=1 memory=1Mi; app cpu=8 memory=1Mi");
	assert_remedy(&seed, &sim, &pod, &text, &tally);
	assert_non_null(strstr(text.text,
		"must reuse the CPUs of an init container, which are on NUMA nodes {0} (TopologyAffinityError)\n"
		"  would fit with 500m CPUs instead of 1 in container 'init', 500m CPUs instead of 1 in container 'init', "
		"or with topologyManagerScope pod\n"));
	sim.state.settings.topology.scope = TOPOLOGY_SCOPE_POD;
	assert_int_equal(answer_of(&sim.state, &pod), KUBELET_ADMITS);
	pod_request_release(&pod);
	node_sim_release(&sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(remedies_are_admitted),
		cmocka_unit_test(an_init_container_that_pins_later_ones_has_two_remedies),
	};

	return cmocka_run_group_tests_name("remedy", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/node/projected_state.h"

#include "common/cleanup.h"
#include "common/text.h"
#include "common/vec.h"
#include "scoring/request.h"
#include "tests/lib/node_sim.h"
#include "tests/lib/observations.h"
#include "tests/lib/pods.h"
#include "tests/lib/test.h"

#define GIB ((uint64_t)1 << 30)

/* Checks what the pod would hold: `cpus`, and memory blocks on `nodes`. */
static void item_of(struct node_admission *admission, const char *text, struct allocation *ret,
	const char *cpus, const char *const nodes[2])
{
	CLEANUP(pod_request_release) struct pod_request pod;
	CLEANUP(freep) char *got = NULL;
	struct kubelet_verdict v;

	pod_request_init(&pod);
	pod_from_text(&pod, text);
	kubelet_judge(&admission->kubelet, admission->ws, &pod, request_qos(&pod), &v);
	assert_int_equal(v.answer, KUBELET_ADMITS);
	admission_placed_item(admission, &pod, &v, ret);
	assert_int_equal(hwloc_bitmap_list_asprintf(&got, ret->cpus) >= 0, 1);
	test_assert_text(text, got, cpus);
	for (size_t i = 0; i < ret->n_memory; i++) {
		CLEANUP(freep) char *of = NULL;

		assert_int_equal(hwloc_bitmap_list_asprintf(&of, ret->memory[i].nodes) >= 0, 1);
		test_assert_text(text, of, nodes[i]);
	}
}

/* Of all its containers: CPUs, and memory on the NUMA nodes where it is. */
static void an_admitted_pod_becomes_an_item(void **state)
{
	static const char *const first[] = {"0", "0"}, *const second[] = {"0", "1"};
	CLEANUP(observation_release) struct observation o;
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	CLEANUP(allocation_release) struct allocation item = {0};
	CLEANUP(allocation_release) struct allocation other = {0};

	(void)state;
	observation_init(&o);
	observation_of_kubelet("seed-2s-32cpu", "0", NULL, 0, &o);
	node_admission_init(&admission, &o.node);
	item_of(&admission, "app cpu=2 memory=1Gi; app cpu=4 memory=2Gi", &item, "2-7", first);
	/* One block for all that lies on the same NUMA nodes. */
	assert_int_equal(item.n_memory, 1);
	assert_true(item.memory[0].bytes == 3 * GIB);
	item_of(&admission, "app cpu=12 memory=1Gi; app cpu=12 memory=1Gi", &other, "2-13,16-27", second);

	assert_int_equal(other.n_memory, 2);
}

static void ask(struct container_request *c, const char *name, struct quantity q)
{
	resource_list_set(&c->requests, name, q);
	resource_list_set(&c->limits, name, q);
}

/* Later containers reuse the memory of init containers, and the memory of many containers is one block. */
static void memory_of_many_containers_is_one_block(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	CLEANUP(allocation_release) struct allocation item = {0};
	CLEANUP(pod_request_release) struct pod_request pod;
	struct kubelet_verdict v;

	(void)state;
	observation_init(&o);
	observation_of_kubelet("seed-2s-32cpu", "0", NULL, 0, &o);
	node_admission_init(&admission, &o.node);
	pod_request_init(&pod);
	for (size_t i = 0; i < 1000; i++) {
		struct container_request *c =
			pod_request_add(&pod, i < 500 ? CONTAINER_INIT : CONTAINER_APP, "c");

		assert_non_null(c);
		ask(c, "cpu", quantity_from_units(0));
		ask(c, "memory", quantity_from_units(i < 500 ? 1 << 21 : 1 << 20));
	}
	pod.qos = QOS_GUARANTEED;
	node_admission_judge(&admission, &pod, &v);
	assert_int_equal(v.answer, KUBELET_ADMITS);
	admission_placed_item(&admission, &pod, &v, &item);
	assert_int_equal(item.n_memory, 1);
	assert_true(item.memory[0].bytes == UINT64_C(500) << 20);
}

/* ---- the empty node: shared pool, memory manager's state, devices */

static void reserve_memory(struct node_state *s)
{
	for (size_t i = 0; i < s->machine.n_nodes; i++) {
		struct memory_reservation *m =
			vec_push(&s->settings.memory_reservations, &s->settings.n_memory_reservations,
				&s->settings.memory_reservations_size, sizeof(*m));

		assert_non_null(m);
		*m = (struct memory_reservation){.node = s->machine.nodes[i].id,
			.type = strdup("memory"),
			.bytes = (qty_t)GIB * QTY_UNIT};
	}
}

static void assert_same_memory(const struct memory_state *a, const struct memory_state *b)
{
	assert_int_equal(a->n_nodes, b->n_nodes);
	for (size_t i = 0; i < a->n_nodes; i++) {
		assert_int_equal(a->nodes[i].id, b->nodes[i].id);
		assert_int_equal(a->nodes[i].assignments, 0);
		assert_int_equal(a->nodes[i].n_tables, b->nodes[i].n_tables);
		for (size_t t = 0; t < a->nodes[i].n_tables; t++) {
			const struct memory_table *x = &a->nodes[i].tables[t], *y = &b->nodes[i].tables[t];

			assert_string_equal(x->type, y->type);
			assert_int_equal(x->total, y->total);
			assert_int_equal(x->system_reserved, y->system_reserved);
			assert_int_equal(x->allocatable, y->allocatable);
			assert_int_equal(x->reserved, 0);
			assert_int_equal(x->free, y->free);
		}
	}
}

static void an_empty_node_is_as_before_the_first_pod(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		const struct node_sim_setup setup = {
			.machine = {.sockets = 2,
				.numas = 1 + i % 2,
				.uncores = 1,
				.cores = 4,
				.threads = 2,
				.memory_bytes = 16 * GIB},
			.policy = TOPOLOGY_MANAGER_RESTRICTED,
			.scope = TOPOLOGY_SCOPE_CONTAINER,
			.memory_static = i & 2,
			.pages_1gi = i & 4 ? 3 : 0,
			.nics = 2,
			.near = 1,
		};
		struct node_sim sim, fresh;
		struct allocations *a = &sim.state.allocations;

		node_sim_init(&sim, &setup);
		node_sim_init(&fresh, &setup);
		reserve_memory(&sim.state);
		assert_true(node_sim_begin(&sim, "app cpu=3 memory=2Gi vendor.com/nic=1"));
		assert_true(node_sim_begin(&sim, "app cpu=2 memory=1Gi"));
		assert_int_equal(projected_state_empty(&sim.state, NULL), 0);
		assert_int_equal(a->n_items, 0);
		assert_true(a->cpus_known && a->devices_known && a->registered_known);
		assert_int_equal(a->n_registered, fresh.state.allocations.n_registered);
		assert_true(hwloc_bitmap_isequal(a->shared, fresh.state.allocations.shared));
		assert_int_equal(a->memory_known, setup.memory_static);
		assert_same_memory(&a->memory, &fresh.state.allocations.memory);
		node_sim_release(&fresh);
		node_sim_release(&sim);
	}
}

/* With strict-cpu-reservation the shared pool begins without the reserved CPUs. */
static void an_empty_node_keeps_the_strict_reservation(void **state)
{
	const struct node_sim_setup setup = {.machine = {.sockets = 1,
						     .numas = 1,
						     .uncores = 1,
						     .cores = 8,
						     .threads = 1,
						     .memory_bytes = 16 * GIB}};
	struct node_sim sim;
	CLEANUP(freep) char *shared = NULL;

	(void)state;
	node_sim_init(&sim, &setup);
	sim.state.settings.cpu_options.strict_cpu_reservation = true;
	sim.state.settings.reserved_system_cpus = hwloc_bitmap_alloc();
	hwloc_bitmap_set_range(sim.state.settings.reserved_system_cpus, 0, 1);
	text_set(&sim.state.settings.from[SETTING_RESERVED_SYSTEM_CPUS], "a flag");
	assert_int_equal(projected_state_empty(&sim.state, NULL), 0);
	shared = cpuset_print(sim.state.allocations.shared);
	assert_string_equal(shared, "2-7");
	/* Devices that no source reports stay unknown. */
	sim.state.allocations.registered_known = false;
	assert_int_equal(projected_state_empty(&sim.state, NULL), 0);
	assert_false(sim.state.allocations.devices_known);
	node_sim_release(&sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(an_admitted_pod_becomes_an_item),
		cmocka_unit_test(memory_of_many_containers_is_one_block),
		cmocka_unit_test(an_empty_node_is_as_before_the_first_pod),
		cmocka_unit_test(an_empty_node_keeps_the_strict_reservation)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

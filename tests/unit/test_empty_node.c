/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node that is emptied is the node before its first pod: shared pool, memory manager's state, devices.
 */
#include "tests/lib/test.h"

#include "agent/state/empty_node.h"
#include "common/cleanup.h"
#include "common/vec.h"
#include "tests/lib/node_sim.h"

#define GIB ((uint64_t)1 << 30)

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

static void it_is_as_before_the_first_pod(void **state)
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
		assert_int_equal(empty_node_make(&sim.state, NULL), 0);
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
static void strict_reservation_is_kept(void **state)
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
	settings_set_from(&sim.state.settings, SETTING_RESERVED_SYSTEM_CPUS, "a flag");
	assert_int_equal(empty_node_make(&sim.state, NULL), 0);
	shared = cpuset_print(sim.state.allocations.shared);
	assert_string_equal(shared, "2-7");
	/* Devices that no source reports stay unknown. */
	sim.state.allocations.registered_known = false;
	assert_int_equal(empty_node_make(&sim.state, NULL), 0);
	assert_false(sim.state.allocations.devices_known);
	node_sim_release(&sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_as_before_the_first_pod),
		cmocka_unit_test(strict_reservation_is_kept),
	};

	return cmocka_run_group_tests_name("empty_node", tests, NULL, NULL);
}

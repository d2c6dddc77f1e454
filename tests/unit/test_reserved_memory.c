/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/state/reserved_memory.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "tests/lib/synthetic.h"
#include "tests/lib/test.h"

#define MIB ((qty_t)(1 << 20) * QTY_UNIT)

struct reservation {
	unsigned node;
	const char *type;
	long mib;
};

/* kubeReserved has 924Mi, and evictionHard keeps 100Mi free. */
static void init_node(struct node_state *node, const struct reservation *list)
{
	static const struct synthetic two = {
		.sockets = 2, .numas = 1, .uncores = 1, .cores = 2, .threads = 1, .memory_bytes = 1u << 30};
	struct settings *s = &node->settings;

	node_state_init(node);
	synthetic_machine(&two, &node->machine);
	s->memory_manager = MEMORY_MANAGER_STATIC;
	s->kube_reserved_memory = 924 * MIB;
	text_set(&s->eviction_hard_memory, "100Mi");
	for (size_t i = 0; i < 3 && list[i].type; i++) {
		struct memory_reservation *m = vec_push(&s->memory_reservations, &s->n_memory_reservations,
			&s->memory_reservations_size, sizeof(*m));

		*m = (struct memory_reservation){
			.node = list[i].node, .type = strdup(list[i].type), .bytes = list[i].mib * MIB};
	}
}

/* As the kubelet's managers decide (1.35.4), the hugepages of bottlerocket-os/bottlerocket#4754 among them. */
static void the_kubelet_does_not_start_with(void **state)
{
	static const struct {
		struct reservation list[3];
		const char *why; /* NULL = it starts */
	} rows[] = {
		{{{0, "memory", 1024}}, NULL},
		{{{0, "memory", 512}, {1, "memory", 512}}, NULL},
		{{{0, "memory", 1023}},
			"reserves 1023Mi of memory, and kubeReserved, systemReserved and evictionHard 1Gi"},
		{{{0, NULL, 0}},
			"reserves 0 of memory, and kubeReserved, systemReserved and evictionHard 1Gi"},
		{{{0, "memory", 1024}, {0, "hugepages-2Mi", 10}},
			"reserves 10Mi of hugepages-2Mi, which kubeReserved and systemReserved cannot reserve"},
		{{{0, "memory", 512}, {2, "memory", 512}},
			"names NUMA node 2, which the machine does not have"},
		{{{0, "memory", 1024}, {1, "memory", 0}}, "reserves 0 of memory on NUMA node 1"},
		{{{0, "memory", 512}, {0, "memory", 512}}, "reserves memory on NUMA node 0 twice"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(node_state_release) struct node_state node;
		CLEANUP(freep) char *want = NULL;
		struct err err = {""};

		init_node(&node, rows[i].list);
		want = rows[i].why ? xasprintf("the kubelet would not start: reservedMemory %s", rows[i].why)
				   : xstrdup("");
		assert_int_equal(reserved_memory_check(&node, &err), rows[i].why ? -EINVAL : 0);
		test_assert_text("reason", err.text, want);
	}
}

static void what_is_unknown_is_no_reason(void **state)
{
	static const struct reservation some[3] = {{0, "memory", 1}};
	CLEANUP(node_state_release) struct node_state node;
	struct err err = {""};

	(void)state;
	init_node(&node, some);
	freep(&node.settings.eviction_hard_memory);
	assert_int_equal(reserved_memory_check(&node, &err), -ENODATA);
	assert_non_null(strstr(err.text, "evictionHard"));
	node.settings.memory_manager = MEMORY_MANAGER_NONE;
	assert_int_equal(reserved_memory_check(&node, &err), 0);
	assert_true(reserved_memory_sum(&node.settings) == MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kubelet_does_not_start_with),
		cmocka_unit_test(what_is_unknown_is_no_reason),
	};

	return cmocka_run_group_tests_name("reserved_memory", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/fuzz.h"

#include "agent/observe/state_file.h"
#include "common/cleanup.h"

static void check_nodes(const struct memory_state *state)
{
	for (size_t i = 0; i < state->n_nodes; i++) {
		const struct memory_node *node = &state->nodes[i];

		fuzz_require(i == 0 || state->nodes[i - 1].id < node->id);
		for (size_t t = 0; t < node->n_tables; t++) {
			const struct memory_table *table = &node->tables[t];

			fuzz_require(table->reserved + table->free == table->allocatable);
			fuzz_require(table->allocatable <= table->total || memory_table_wrapped(table));
			fuzz_require(memory_node_table(node, table->type) == table);
		}
	}
}

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(kubelet_state_release) struct kubelet_state s = {0};
	CLEANUP(notes_release) struct notes notes = {0};
	struct err err = {""};

	if (state_parse(&state_memory, (const char *)data, size, NULL, &s, &notes, &err) < 0) {
		fuzz_check_line(err.text);
		fuzz_require(!s.policy && s.allocations.n_items == 0);
		return;
	}
	fuzz_check_notes(&notes);
	check_nodes(&s.allocations.memory);
}

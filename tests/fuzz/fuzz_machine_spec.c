/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine of `simulate --add`: bounded, with CPUs on its NUMA nodes, and published as a node state; or one clear line.
 */
#include "tests/fuzz/fuzz.h"

#include "common/cleanup.h"
#include "scoring/node/machine_spec.h"
#include "scoring/node/node_state_codec.h"

static void check_machine(const struct machine *m)
{
	fuzz_require(m->n_cpus > 0 && m->n_cpus <= MACHINE_MAX_CPUS);
	fuzz_require(m->n_nodes > 0 && m->n_nodes <= MACHINE_MAX_NODES);
	for (size_t i = 0; i < m->n_cpus; i++)
		fuzz_require(m->cpus[i].id < MACHINE_MAX_CPUS && m->cpus[i].numa >= 0);
}

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(NODE_STATE_TEXT_MAX);
	char *spec = strndup((const char *)data, size);
	double begin = fuzz_cpu_seconds();
	struct node_state state;
	struct err err = {""};

	node_state_init(&state);
	if (machine_spec_parse(spec, &state, &err) < 0) {
		fuzz_check_line(err.text);
	} else {
		check_machine(&state.machine);
		node_state_print(&state, &text);
	}
	node_state_release(&state);
	free(spec);
	fuzz_require(fuzz_cpu_seconds() - begin < FUZZ_CPU_SECONDS);
}

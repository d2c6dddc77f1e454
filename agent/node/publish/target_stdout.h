/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * target_stdout: print what would be written, one YAML document a change: the objects, and the Node's
 * metadata.
 */
#include "agent/node/publish/target.h"

struct target_stdout {
	const char *node_name;
	uint64_t nrt, node, numatopology; /* hashes of what was printed last, 0 = nothing */
};

struct target target_stdout(struct target_stdout *state);

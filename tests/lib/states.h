/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the tests of the state files share: allocations as text. */
#include "agent/observe/state_file.h"
#include "common/allocation.h"
#include "common/err.h"
#include "common/machine.h"
#include "common/strbuf.h"

/*
 * "shared 0-3; p/c cpus 4-5 memory 1024@0 vendor.com/nic a,b@0-1; node 0 [0] 2 memory
 * 4096-1024=3072/1024+2048;": per node cells, assignments, and per type
 * total-system=allocatable/reserved+free.
 */
void test_allocations_text(const struct allocations *a, struct strbuf *out);

/* All notes, "; " between them. */
void test_notes_text(const struct notes *n, struct strbuf *out);

/*
 * Parse a text on a machine of these CPUs and NUMA nodes, as bare_machine() takes them, and compare what
 * state_parse() returns, "policy: allocations|resource ids;resource ids" (or the error), and the notes (NULL =
 * none).
 */
struct test_state {
	const struct state_kind *kind;
	const char *online, *offline, *nodes;
};
void test_state_check(const struct test_state *t, const char *text, size_t len, int want_r, const char *want,
	const char *want_notes);

/* Every proper prefix of the fixture is refused, with a line that says why. */
void test_state_prefixes(const struct state_kind *kind, const char *fixture);

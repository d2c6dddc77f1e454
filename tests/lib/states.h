/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the tests of the state files share: allocations as text, and a machine by lists of ids. */
#include "common/allocation.h"
#include "common/machine.h"
#include "common/notes.h"
#include "common/strbuf.h"

/*
 * "shared 0-3; p/c cpus 4-5 memory 1024@0 vendor.com/nic a,b@0-1; node 0 [0] 2 memory
 * 4096-1024=3072/1024+2048;": per node cells, assignments, and per type
 * total-system=allocatable/reserved+free.
 */
void test_allocations_text(const struct allocations *a, struct strbuf *out);

/* All notes, "; " between them. */
void test_notes_text(const struct notes *n, struct strbuf *out);

/* A machine with these CPUs online and offline and these NUMA nodes; the caller releases it. */
void test_machine(struct machine *m, const char *online, const char *offline, const char *nodes);

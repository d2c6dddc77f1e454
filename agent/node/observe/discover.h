/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The machine: this one, another one's saved /sys and /proc, or hwloc's XML. Of a tree, the kernel's own list
 * gives the NUMA nodes with all that is theirs (agent/node/observe/discover_kernel.h), hwloc the CPUs' packages, cores and
 * L3 caches (agent/node/observe/discover_hwloc.h).
 */
#include "common/machine.h"

struct machine_source {
	const char *root; /* directory that holds sys/ and proc/ ("/host", a saved machine); "" or NULL = / */
	const char *xml;  /* file as lstopo writes it, read in place of the tree; NULL = none */
};

/*
 * Set what hwloc reads from the environment when this source is read. machine_discover() does it itself, but a
 * process with threads has to do it before the first of them: discover_hwloc_prepare(). 0 or -errno.
 */
int machine_prepare(const struct machine_source *source, struct err *err);

/*
 * Read the machine. The caller releases *ret with machine_release(). 0 or -errno with the file and what is
 * wrong with it in `err`; *ret is untouched on failure.
 */
int machine_discover(const struct machine_source *source, struct machine *ret, struct err *err);

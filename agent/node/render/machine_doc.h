/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A machine as a document, for `nrtd dump --what machine`. Nothing of the machine is lost. The fields:
 *
 *	cpus            online CPUs by id: {id, core, socket, numaNode, l3Cache, uncoreCache}
 *	offlineCPUs     list of CPU ids as text, "4,8-11"
 *	sockets         by id: {id, cpus}, cpus as text
 *	numaNodes       by id: {id, socket, cpus, memoryBytes, hugepages}; hugepages by size: {pageBytes, pages}
 *	distances       one row and one column per NUMA node in that order; [] when the machine has none
 *
 * An id or a distance that the machine does not report is null.
 */
#include "agent/base/doc.h"
#include "common/machine.h"

/* Write `m` into `ret`, an empty document. */
void machine_to_doc(const struct machine *m, struct doc *ret);

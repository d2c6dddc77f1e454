/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * hwloc as a source of the machine's CPUs, and of a whole machine from hwloc's XML. The only file that
 * includes hwloc.h is discover_hwloc.c. Loading is cut to what is used: packages, cores, L3 caches and CPUs,
 * no devices, no plugins, no x86 component, whatever the environment says; CPUs outside the process's own
 * cpuset are included.
 */
#include "common/machine.h"

/*
 * hwloc 2 has no call for some of this: set HWLOC_* variables in the environment of the process, which stay set,
 * for the tree below `root` or, "", the running system or a file. A variable of the caller's environment never
 * changes a result. The functions below do it themselves, as long as there is no thread. 0; -EBUSY when there
 * is one and a variable is not as it has to be (agent/base/thread.h says why).
 */
int discover_hwloc_prepare(const char *root, struct err *err);

/*
 * Append the CPUs of the tree below `root` ("" = the running system) to m->cpus: id, core, socket, l3. The
 * tree has passed kernel_discover(): hwloc takes content that it does not expect for a reason to abort. 0;
 * -EINVAL when hwloc finds no topology there; -ERANGE for an id of MACHINE_MAX_CPUS or above; or as
 * discover_hwloc_prepare().
 */
int discover_hwloc_cpus(const char *root, struct machine *m, struct err *err);

/*
 * Read a machine from a file as `lstopo FILE.xml` writes it: CPUs as above, and NUMA nodes with memory,
 * pools, CPUs and distances (the matrix named NUMALatency), and the offline CPUs. A CPU is on the first
 * memory child of its nearest ancestor that has one, which is hwloc's default node: hwloc gives nodes without
 * CPUs the CPUs they are near to. The smallest page size of a node is the ordinary page and no pool. 0;
 * -EINVAL when it is no such file; -ERANGE for ids beyond the limits of common/machine.h or more memory than
 * there can be; -EFBIG above DISCOVER_XML_MAX; as discover_hwloc_prepare(); or as open(2).
 */
#define DISCOVER_XML_MAX ((size_t)64 << 20)
int discover_hwloc_xml(const char *path, struct machine *m, struct err *err);

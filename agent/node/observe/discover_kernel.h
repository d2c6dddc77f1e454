/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the kernel itself lists under sys/devices/system/{cpu,node}: the NUMA nodes, because these are what
 * the kubelet counts (cadvisor utils/sysinfo), and which CPUs are there. hwloc leaves nodes out (GPU memory,
 * nodes that overlap) and distances (Xeon Phi), and stops the process on content that it does not expect, so
 * this is read first. The rule, without exception:
 *
 * - The NUMA nodes are the node<N> directories, with or without CPUs or memory. Where there is no directory
 *   sys/devices/system/node (a kernel without NUMA) there is one node with all CPUs, proc/meminfo's memory
 *   and sys/kernel/mm/hugepages' pools. Its id is the package's where there is one package, as for the kubelet, else 0.
 * - CPUs of a node: its links cpu<N>, as for the kubelet; without any, cpulist, or cpumap where an old kernel has no
 *   cpulist. Nodes that claim the same CPU keep
 *   it all; the CPU itself belongs to one of them (machine_derive()).
 * - Memory of a node: MemTotal of its meminfo; 0 where the file is missing, as for the kubelet.
 * - Pools: each hugepages/hugepages-<kB>kB with its nr_hugepages; a missing hugepages directory means none.
 * - Distances: the columns of a distance row are the nodes of node/online ascending, or the node<N>
 *   directories where their number fits and that of node/online does not. A row of another length is unknown,
 *   and so is a value of 0; a machine where nothing is known has no matrix.
 *
 * The machine's whole memory is MemTotal of proc/meminfo, which need not be the sum of its nodes'.
 *
 * A file that is there and does not hold what it should is an error that names it.
 */
#include "common/machine.h"

struct kernel_cpus {
	hwloc_bitmap_t present; /* cpu/present, or the cpu<N> directories; never NULL after success */
	hwloc_bitmap_t online;  /* cpu/online; NULL where there is no such file */
};

void kernel_cpus_release(struct kernel_cpus *c);

/*
 * Read the tree below `root` ("" = the running system): nodes[] (cpus as listed, not yet cut to those online;
 * NULL for the one node of a kernel without NUMA) and distances of `m`, which is fresh from machine_init(),
 * and the CPU lists. 0 or -errno: -EINVAL for content, -ERANGE for an id of MACHINE_MAX_CPUS or
 * MACHINE_MAX_NODES and above, -EFBIG for a file larger than it can be, or as open(2). On failure both are
 * still to be released.
 */
int kernel_discover(const char *root, struct machine *m, struct kernel_cpus *ret_cpus, struct err *err);

/*
 * What a CPU's own files say, read as strictly: hwloc takes an id it cannot read for 0 and a mask it cannot
 * read for empty. 0; -EINVAL or -ERANGE for other content, or as open(2).
 *
 * kernel_read_socket: topology/physical_package_id as the kubelet takes it; MACHINE_NONE where the file is
 * missing or holds a negative number.
 * kernel_read_cores: of all CPUs topology/core_id, and book_id and drawer_id where s390 has them, as the kubelet
 * takes them; not known where core_id is missing.
 * kernel_read_l3: the id of the L3 cache; *ret_l3 stays as it is where there is none.
 * kernel_check_siblings: topology/thread_siblings, or core_cpus, is a mask where there is one.
 */
int kernel_read_socket(const char *root, unsigned cpu, int *ret_socket, struct err *err);
int kernel_read_cores(const char *root, struct machine *m, struct err *err);
int kernel_read_l3(const char *root, unsigned cpu, int *ret_l3, struct err *err);
int kernel_check_siblings(const char *root, unsigned cpu, struct err *err);

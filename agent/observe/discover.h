/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Discovers the machine: this one, another one's saved /sys and /proc, or hwloc's XML. From a tree, the
 * kernel's own list gives the NUMA nodes with everything on them (discover_kernel.c), and hwloc gives each
 * CPU's package, core and L3 cache (discover_hwloc.c).
 */
#include <stdint.h>

#include "common/machine.h"

struct machine_source {
	const char *root; /* directory that holds sys/ and proc/ ("/host", a saved machine); "" or NULL = / */
	const char *xml;  /* file as lstopo writes it, read in place of the tree; NULL = none */
};

/*
 * Set the environment variables that hwloc reads for this source. machine_discover() calls this function
 * itself, but a process with threads must call it before the first thread starts: see
 * discover_hwloc_prepare(). 0 or -errno.
 */
int machine_prepare(const struct machine_source *source, struct err *err);

/*
 * Read the machine. The caller releases *ret with machine_release(). 0 or -errno, with the file and what is
 * wrong with it in `err`; *ret is untouched on failure.
 */
int machine_discover(const struct machine_source *source, struct machine *ret, struct err *err);

/*
 * A hash that changes when one of these changes: the online or isolated CPUs, the NUMA nodes, a node's CPUs, memory or
 * hugepages, the total memory, the addresses of the PCI devices, the names of InfiniBand and NVMe devices. Much
 * cheaper than machine_discover(). Reads the tree below `root` ("" = the running system). A file that is missing, or
 * that nrtd may not read, is part of the hash. 0; -errno with one line if a file cannot be read for a transient reason: then nothing is known.
 */
int hardware_signature(const char *root, uint64_t *ret, struct err *err);

/* ---- discover_kernel.c: what the kernel lists under sys/devices/system/{cpu,node} */

/*
 * The NUMA nodes come from the kernel because the kubelet counts the kernel's (cadvisor utils/sysinfo).
 * hwloc omits some nodes (GPU memory, nodes that overlap) and distances (Xeon Phi), and aborts the process
 * on content that it does not expect, so the kernel's files are read first. The rules, without exception:
 *
 * - The NUMA nodes are the node<N> directories, with or without CPUs or memory. Where there is no directory
 *   sys/devices/system/node (a kernel without NUMA) kernel_discover() makes one node with the memory of proc/meminfo and the
 *   pools of sys/kernel/mm/hugepages, and machine_discover() makes a node of each package, with the package's id,
 *   as the kubelet does. The first node keeps the memory.
 * - CPUs of a node: its links cpu<N>, as for the kubelet; without any, cpulist, or cpumap where an old
 *   kernel has no cpulist. Nodes that claim the same CPU all keep it; the CPU itself belongs to one of them
 *   (machine_derive()).
 * - Memory of a node: MemTotal of its meminfo; 0 where the file is missing, as for the kubelet.
 * - Pools: each hugepages/hugepages-<kB>kB with its nr_hugepages; a missing hugepages directory means none.
 * - Distances: the columns of a distance row are the nodes of node/online ascending, or the node<N>
 *   directories where their number fits and that of node/online does not. A row of another length is
 *   unknown, and so is a value of 0; a machine without any known distance has no matrix.
 *
 * The machine's whole memory is MemTotal of proc/meminfo, which need not be the sum of its nodes' memory.
 *
 * A file that exists and does not hold what it should is an error that names the file.
 */
struct kernel_cpus {
	hwloc_bitmap_t present; /* cpu/present, or the cpu<N> directories; never NULL after success */
	hwloc_bitmap_t online;  /* cpu/online; NULL where there is no such file */
};

void kernel_cpus_release(struct kernel_cpus *c);

/*
 * Read the tree below `root` ("" = the running system): nodes[] (cpus as listed, not yet cut to the online
 * CPUs; NULL for the one node of a kernel without NUMA) and distances of `m`, which is fresh from
 * machine_init(), and the CPU lists. 0 or -errno: -EINVAL for content, -ERANGE for an id of
 * MACHINE_MAX_CPUS or MACHINE_MAX_NODES and above, -EFBIG for a file larger than it can be, or as open(2).
 * The caller releases both outputs, after a failure too.
 */
int kernel_discover(const char *root, struct machine *m, struct kernel_cpus *ret_cpus, struct err *err);

/*
 * Read values from a CPU's own files, as strictly as kernel_discover(): hwloc turns an unreadable id into 0
 * and an unreadable mask into the empty set. 0; -EINVAL or -ERANGE for other content, or as open(2).
 *
 * kernel_read_socket: topology/physical_package_id as the kubelet takes it; MACHINE_NONE where the file is
 * missing or holds a negative number.
 * kernel_read_cores: of all CPUs topology/core_id, and book_id and drawer_id where s390 has them, as the
 * kubelet takes them; unknown where core_id is missing. kernel_read_l3: the id of the L3 cache; *ret_l3 is
 * untouched where there is none.
 * kernel_check_siblings: topology/thread_siblings, or core_cpus, is a mask where the file exists.
 */
int kernel_read_socket(const char *root, unsigned cpu, int *ret_socket, struct err *err);
int kernel_read_cores(const char *root, struct machine *m, struct err *err);
int kernel_read_l3(const char *root, unsigned cpu, int *ret_l3, struct err *err);
int kernel_check_siblings(const char *root, unsigned cpu, struct err *err);

/*
 * Set m->isolated. No admission depends on these CPUs, so that a file that is missing, damaged or hidden by permissions is no error: the
 * CPUs stay unknown. 0; -errno with one line if the file cannot be read for a transient reason.
 */
int kernel_read_isolated(const char *root, struct machine *m, struct err *err);

/* ---- discover_pci.c: what the kernel lists under sys/bus/pci */

/*
 * Fill m->pci with the GPUs, accelerators, NICs and NVMe disks of the tree below `root`, virtual functions included;
 * m->nodes must be complete. From the kernel's files and not from hwloc: hwloc would read each device's configuration space,
 * which wakes sleeping devices, and omits the devices of 32-bit domains (Intel VMD). The NUMA node is the kernel's
 * numa_node, which device plugins report to the kubelet. No admission depends on these devices, so that a file that is missing,
 * damaged or hidden by permissions is no error: its fact stays unknown, and without sys/bus/pci all devices are unknown.
 * 0; -errno with one line if a file cannot be read for a transient reason.
 */
int kernel_read_pci(const char *root, struct machine *m, struct err *err);

/*
 * Fill in the UUIDs and minor numbers of NVIDIA GPUs, as the driver lists them in driver/nvidia/gpus below root + `proc`
 * ("/proc"). Without the driver nothing changes. 0 or -errno as kernel_read_pci().
 */
int kernel_read_gpus(const char *root, const char *proc, struct pci_devices *devices, struct err *err);

/* ---- discover_hwloc.c, the only file that includes hwloc.h */

/*
 * hwloc loads only what is used: packages, cores, L3 caches and CPUs; no devices, no plugins, no x86
 * component, whatever the environment says. CPUs outside the process's own cpuset are included.
 *
 * hwloc 2 takes some of these choices only from the environment. This function therefore sets HWLOC_*
 * variables of the process, which stay set: for the tree below `root`, or with "" for the running system or
 * an XML file. Variables that were set before never change a result. The two functions below call this
 * function themselves. 0; -EBUSY if a thread runs and a variable does not have the required value
 * (common/io/thread.h explains why).
 */
int discover_hwloc_prepare(const char *root, struct err *err);

/*
 * Append the CPUs of the tree below `root` ("" = the running system) to m->cpus: id, core, socket, l3. The
 * tree must have passed kernel_discover(): hwloc aborts on content that it does not expect. 0; -EINVAL when
 * hwloc finds no topology there; -ERANGE for an id of MACHINE_MAX_CPUS or above; or as
 * discover_hwloc_prepare(). hwloc omits what it cannot read, for whatever reason.
 */
int discover_hwloc_cpus(const char *root, struct machine *m, struct err *err);

/*
 * Read a machine from a file as `lstopo FILE.xml` writes it: CPUs as above, NUMA nodes with memory, pools,
 * CPUs and distances (the matrix named NUMALatency), and the offline CPUs. A CPU is on the first memory
 * child of its nearest ancestor that has one, which is hwloc's default node: hwloc gives nodes without CPUs
 * the CPUs that they are near to. The smallest page size of a node is the ordinary page and no pool. 0;
 * -EINVAL when it is no such file; -ERANGE for ids beyond the limits of common/machine.h or more memory
 * than there can be; -EFBIG above DISCOVER_XML_MAX bytes; as discover_hwloc_prepare(); or as open(2).
 */
#define DISCOVER_XML_MAX ((size_t)64 << 20)
int discover_hwloc_xml(const char *path, struct machine *m, struct err *err);

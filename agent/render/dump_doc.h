/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Makes the documents of `nrtd dump`: the machine, the inventory and the pods.
 */
#include "agent/observe/observe.h"
#include "common/doc.h"

/*
 * `nrtd dump --what machine`: the whole machine. `ret` must be empty.
 *
 *	cpus            online CPUs by id: {id, core, socket, numaNode, l3Cache, uncoreCache}
 *	offlineCPUs     list of CPU ids as text, "4,8-11"
 *	sockets         by id: {id, cpus}, cpus as text
 *	numaNodes       by id: {id, socket, cpus, memoryBytes, hugepages: [{pageBytes, pages}] by size}
 *	distances       one row and one column per NUMA node, in that order; [] if the machine has none
 *	pciDevices      GPUs, accelerators, NICs and NVMe disks by address: {address, kind, root, numaNode,
 *	                virtualFunction, names}; null if the kernel or the file lists no PCI devices
 *
 * An id or a distance that the machine does not report is null.
 */
void machine_to_doc(const struct machine *m, struct doc *ret);

/*
 * `nrtd dump --what inventory`: what the object is rendered from. nrtd(8) documents the fields:
 *
 *	node, kubeletRoot
 *	settings      [{name, value, from}] in the order of enum setting; value and from are null if unknown
 *	reservedCPUs  {cpus, from}; cpus null = unknown
 *	sharedCPUs    the shared pool as a list, null = unknown
 *	numaNodes     [{id, resources: [{name, capacity, allocatable, available}], costs: [...]}]
 *	allocations   [{podUID, namespace, pod, container, cpus, memory: [...], devices: [...]}]
 *	pciAddresses  [{resource, id, address}] of the plugins' devices, as far as they are known
 */
void inventory_to_doc(const struct observation *o, struct doc *ret);

/*
 * `nrtd dump --what pods`: the pods that hold CPUs or memory exclusively, and where their memory is
 * (o->node.pods_memory). `ret` must be empty. nrtd(8) documents the fields:
 *
 *	node
 *	pods          [{namespace, pod, podUID, cpus, numaNodes, memory}]
 *	memory        {scope, unknown, totalBytes, remoteBytes, remotePercent, numaNodes: [{id, bytes,
 *	              hugepageBytes}]}; all except unknown are null if the amounts are unknown
 */
void pods_to_doc(const struct observation *o, struct doc *ret);

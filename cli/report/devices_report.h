/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reports the devices of a cluster by node, NUMA node, PCIe root and resource.
 */
#include "cli/report/table.h"
#include "cli/report/writer.h"
#include "cluster/objects/cluster_node.h"

/* Equal devices below one PCIe root: devices of one resource of a device plugin, or PCI devices of one kind that no plugin has. */
struct devices_row {
	char *node;
	char *numa;       /* the NUMA nodes as a list; "" = unknown */
	char *root;       /* "pci0000:16"; "" = unknown */
	const char *kind; /* "GPU", "NIC", "virtual function"; "" = unknown */
	char *resource;   /* "" = no device plugin has the devices */
	size_t n_devices, n_claimed;
	struct column_number free;      /* devices that no container holds */
	struct column_number free_cpus; /* whole free CPUs of the only NUMA node */
	struct strv addresses, names;   /* PCI addresses; names of the system, "eth0" */
};

struct devices_report {
	struct devices_row *rows;
	size_t n_rows, rows_size;
	struct strv without_devices; /* nodes of which no devices are known */
	struct strv without_object;  /* Nodes */
};

void devices_report_release(struct devices_report *r);

/*
 * Adds the devices of a node: the devices of device plugins, GPUs, accelerators, NICs and NVMe disks. Without node state the object has
 * numbers of devices per NUMA node only.
 */
void devices_report_add(struct devices_report *r, const struct cluster_node *node);

/* Sorts the rows by node, NUMA node, PCIe root, kind and resource. */
void devices_report_sort(struct devices_report *r);

/*
 * Writes a table. {"devices": [{"node", "numaNodes": [ids], "pcieRoot", "kind", "resource", "count", "free", "claimed", "freeCPUs",
 * "addresses": [texts], "names": [texts]}], "withoutDevices": [names], "withoutObject": [names]}; unknown values are null. With the
 * format "name" the nodes.
 */
void devices_report_write(struct writer *w, const struct devices_report *r);

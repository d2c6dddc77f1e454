/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What one node of a cluster has free, as a row of `kubectl numa top`: plain data, small, of thousands of nodes.
 */
#include <stdint.h>

#include "agent/cluster/cluster_node.h"
#include "agent/state/node_admission.h"

struct list_numa {
	unsigned id;
	bool has_cpus; /* else the amounts are 0 */
	unsigned free, allocatable;
};

struct list_device {
	char *resource; /* "vendor.com/nic" */
	unsigned free, healthy;
};

#define LIST_LARGEST 2 /* the largest pods on 1 NUMA node and on 2 */

/* A number that may not be known. */
struct list_number {
	bool known;
	size_t n;
};

struct list_row {
	char *name;
	char *exporter;           /* "" = unknown */
	int64_t age_s;            /* -1 = unknown */
	enum cluster_basis basis; /* of the kubelet's numbers; unknown where there are none */
	char *unknown;            /* why the kubelet's numbers are not known, "" when they are */
	enum topology_manager_policy policy;
	enum topology_manager_scope scope;
	struct list_numa *numa; /* in the order of the inventory */
	size_t n_numa;
	struct list_device *devices; /* ascending names */
	size_t n_devices;
	unsigned free, allocatable;               /* whole CPUs of all NUMA nodes */
	struct list_number largest[LIST_LARGEST]; /* exclusive CPUs of one Guaranteed container */
	struct list_number stranded;              /* free CPUs that are of no use */
};

/*
 * The numbers of a node into `row` (zeroed, or with the members set that come from the object: name, exporter,
 * age_s, basis, which stay). Stranded are the free CPUs that remain when as many pods like `shape` as
 * the kubelet admits are placed one after the other; without a shape (NULL) pods of the fewest exclusive CPUs
 * that it admits. Not known for a shape that asks for no CPUs.
 *
 * The caller releases the row.
 */
void list_row_fill(struct list_row *row, struct node_admission *admission, const struct pod_request *shape);
void list_row_release(struct list_row *row);

/* What all nodes have together. */
struct list_totals {
	size_t n_nodes, n_estimated;
	size_t free, allocatable;
	struct list_number largest[LIST_LARGEST]; /* of any node; known when one's is */
	struct list_number stranded;              /* of the nodes whose number is known */
	struct list_device *devices;              /* ascending names */
	size_t n_devices;
	size_t devices_size;
};

/* *ret is to be released. */
void list_totals(const struct list_row *rows, size_t n, struct list_totals *ret);
void list_totals_release(struct list_totals *t);

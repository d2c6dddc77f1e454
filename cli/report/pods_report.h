/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reports what each pod of a cluster holds exclusively, and whether it is aligned, a row per pod.
 */
#include "cli/report/writer.h"
#include "scoring/node/pod_alignment.h"

struct pods_row {
	char *namespace, *pod, *node; /* pod: the name, or "#" and a hash */
	bool known; /* what the pod holds; false: only the alignment and the reason are set */
	size_t n_cpus, n_devices, n_claim_devices;
	bool is_claim_unplaced; /* the NUMA nodes of a claim's devices are unknown */
	struct strv roots;      /* PCIe roots, as far as they are known */
	uint64_t memory_bytes;
	char *cpus; /* as a list; this and the next members are "" for none */
	char *cpu_nodes, *memory_nodes, *device_nodes;
	struct shared_hardware core, l3; /* `pods` from row->first_name on in the report's names */
	size_t first_name;
	enum alignment alignment;
	char *reason;
};

struct pods_report {
	struct pods_row *rows;
	size_t n_rows, rows_size;
	size_t n_removed;  /* by pods_report_keep_misaligned() */
	struct strv names; /* of all pods of the nodes: "namespace/pod" */
	/* The number of nodes whose objects were compared with the Pods, 0 = not compared; and those that contradict the Pods. */
	size_t n_compared;
	struct strv out_of_date;
};

void pods_report_release(struct pods_report *r);

enum pod_listing {
	POD_OMITTED,
	POD_LISTED,
	POD_CONTRADICTED /* listed; no such Pod was read, so the node's object is out of date */
};

/* Adds the pods of a node, as `choose` says for each. The names of omitted pods may appear among those that share a core or L3 cache. */
void pods_report_add(struct pods_report *r, const char *node, const struct pod_alignments *all,
	enum pod_listing (*choose)(const struct pod_alignment *p, const char *node, void *data), void *data);

/* Adds a pod of which it is unknown what it holds; `out_of_date`: because the node's object should have it. */
void pods_report_add_unknown(struct pods_report *r, const char *namespace, const char *pod, const char *node,
	const char *reason, bool out_of_date);

/* Keeps only the rows of pods that alignment_is_misaligned() names; rows with an unknown alignment go, too. */
void pods_report_keep_misaligned(struct pods_report *r);

/* There was no pod to list, whatever its alignment. */
bool pods_report_is_empty(const struct pods_report *r);

/* Sorts the rows by namespace and pod. */
void pods_report_sort(struct pods_report *r);

/*
 * Writes a table, with a column for namespaces if asked for, and the numbers of pods by alignment. {"pods": [{"namespace", "name",
 * "node", "alignment", "misaligned", "reason", "cpus": {"count", "ids", "numaNodes": [ids]}, "memory": {"bytes", "numaNodes"},
 * "devices": {"count", "numaNodes", "pcieRoots": [names]}, "claimDevices", "sharesCore", "coreSharedWith": {"pods": [names], "sharedPool"},
 * "sharesL3", "l3SharedWith"}], "totals": {ALIGNMENT: pods}, "objects": {"compared", "outOfDate": [nodes]}};
 * unknown values are null.
 */
void pods_report_write(struct writer *w, const struct pods_report *r, bool namespaces);

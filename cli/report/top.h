/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reports what each node of a cluster has free, a row per node, as a table or as a document.
 */
#include <stdint.h>

#include "cli/report/table.h"
#include "cli/report/terminal.h"
#include "cli/report/writer.h"
#include "cluster/objects/cluster_node.h"
#include "scoring/node/node_admission.h"
#include "scoring/node/pod_alignment.h"

/* ---- the rows: plain data, small enough for thousands of nodes */

struct top_numa {
	unsigned id;
	bool has_cpus; /* else the amounts are 0 */
	unsigned free, allocatable;
};

/* How high a bar of the NUMA node's free CPUs is, of at most `max`: 0 only if no CPU is free. */
unsigned top_bar_height(const struct top_numa *numa, unsigned max);

struct top_device {
	char *resource; /* "vendor.com/nic" */
	unsigned free, healthy;
};

#define TOP_LARGEST 2 /* the largest pods on 1 NUMA node and on 2 */

/* A pod that spans NUMA nodes or has parts on remote ones (scoring/node/pod_alignment.h). */
struct top_span {
	char *pod;
	char *cpus; /* "6 on NUMA nodes 0-1"; "" without exclusive CPUs */
	enum alignment alignment;
	char *reason;
};

/* What only the HTML page shows of a node (top_page.h). */
struct top_details {
	char *pool;    /* "" = unknown */
	char *picture; /* "" = omitted */
	struct top_span *spans;
	size_t n_spans, spans_size;
};

/* A place on the node that kubectl numa plan --apply reserved for a pod. */
struct top_reservation {
	char *pod;      /* "namespace/name" */
	int64_t left_s; /* until the reservation expires */
	bool placed;    /* false: other pods must leave before the kubelet admits the pod */
};

struct top_row {
	char *name;
	char *status; /* of the Node, as kubectl prints it: "Ready", "NotReady,SchedulingDisabled"; "NoNode" = there are
			 Node objects, but none of this name; "NoObject" = `no_object`; "" = unknown */
	char *label;    /* the value of the label of the column -L; "" = none */
	bool unusable;  /* not ready, unschedulable, or there is no Node: the totals omit the node */
	bool no_object; /* a Node without object: nothing else is known, and the row is behind all others */
	char *exporter; /* "" = unknown */
	int64_t age_s;  /* -1 = unknown */
	enum cluster_basis basis; /* of the kubelet's numbers; unknown if there are none */
	char *unknown;            /* why the kubelet's numbers are unknown, "" if they are known */
	char *caution; /* kubelet_release_caution(): the kubelet is newer than the newest compared release; "" or NULL = no */
	enum topology_manager_policy policy;
	enum topology_manager_scope scope;
	struct top_numa *numa; /* in the order of the inventory */
	size_t n_numa;
	struct top_device *devices; /* by name */
	size_t n_devices;
	size_t free, allocatable;           /* whole CPUs of all NUMA nodes */
	char *reserved, *shared, *isolated; /* lists of CPUs; "" = none, NULL = unknown */
	char *isolation; /* isolated CPUs in the shared pool, as a sentence; "" or NULL = none */
	struct column_number largest[TOP_LARGEST]; /* exclusive CPUs of one Guaranteed container */
	struct column_number stranded;             /* free CPUs that no pod of the shape can get */
	struct top_reservation *reservations;
	size_t n_reservations;
	struct top_details *details; /* NULL unless the rows are for a page */
};

/*
 * Fills in the numbers of a node. Keeps all other members.
 *
 * Stranded CPUs are the free CPUs that remain after as many copies of the pod `shape` as the kubelet admits
 * one after the other. Without a shape (NULL) the pods have the fewest exclusive CPUs that the kubelet
 * admits. Unknown for a shape that requests no CPUs.
 */
void top_row_fill(struct top_row *row, struct node_admission *admission, const struct pod_request *shape);
void top_row_release(struct top_row *row);

/* Fills in the reserved and the isolated CPUs and the shared pool, as the node published them. */
void top_row_fill_cpus(struct top_row *row, const struct node_state *state);

/* All nodes together, or those of a pool. */
struct top_totals {
	size_t n_nodes, n_estimated;
	size_t n_unusable;       /* nodes that no other total counts */
	size_t n_without_object; /* also */
	/* Estimated if one node is. A largest pod is that of any node, and known if the number of one node is; stranded CPUs are
	 * those of the nodes whose number is known. */
	struct top_row sum; /* of a pool: `name` is that of the pool, "" for nodes without one */
	size_t devices_size;
};

void top_totals(const struct top_row *rows, size_t n, struct top_totals *ret);
void top_totals_release(struct top_totals *t);

/* Sums up the rows by their labels. Returns the pools, by name and nodes without a label last; the caller releases and frees them. */
struct top_totals *top_pools(const struct top_row *rows, size_t n, size_t *ret_n);

/* ---- the order */

/* The column with this heading, ignoring case; NULL = none. */
const struct column *top_column_find(const char *heading);

/* Whether a table of pools has the column; the first column stands for the pool's name. */
bool top_column_is_of_pools(const struct column *column);

/* Appends the headings in lower case, "node|status". */
void top_column_names(struct strbuf *out);

/*
 * Sorts the rows by a column: numbers descending with unknown ones last, texts ascending, the oldest object
 * first. NUMA and FREE sort by the free CPUs, ALLOCATABLE by all CPUs, DEVICES by the free devices. Equal
 * rows are in natural order of the nodes' names ("node-2" before "node-10"). Nodes without object are last in any order. Rows with details are
 * sorted within their pools.
 */
void top_sort(struct top_row *rows, size_t n, const struct column *column);

/* Sorts pools by a column that a table of pools has. Nodes without a pool are last in any order. */
void top_sort_pools(struct top_totals *pools, size_t n, const struct column *column);

/* ---- the output */

/*
 * Writes JSON or YAML: {"nodes": [{"name", "status", "label", "exporter", "ageSeconds", "basis", "reason",
 * "topologyManager": {"policy", "scope"}, "cpus": {"free", "allocatable", "stranded", "reserved", "shared", "isolated"},
 * "largestPods": [on 1 NUMA node, on 2], "numaNodes": [{"id", "free", "allocatable"}], "devices": {NAME: {"free", "healthy"}},
 * "reservations": [{"pod", "secondsLeft", "placed"}]}], "totals": {"nodes", "unusable", "estimated", "cpus",
 * "largestPods", "devices", "withoutObject"}}. Unknown values and the amounts of a NUMA node without CPUs are null;
 * "numaNodes" and "devices" of a Node without object are empty.
 */
void top_write(struct writer *w, const struct top_row *rows, size_t n, const struct top_totals *totals);

/*
 * Writes a table with a line per pool, with the totals and the notes of `rows` below it if w->headings is set; or JSON or YAML:
 * {"pools": [{"name", and the members of "totals"}], "totals": as top_write()}. The name of nodes without a pool is null.
 */
void top_write_pools(struct writer *w, const struct top_totals *pools, size_t n_pools,
	const struct top_row *rows, size_t n, const struct top_totals *totals);

/* Fills a table of the columns of a page, with the totals as the last row. Columns without news are omitted. The caller releases the table. */
void top_page_table(const struct top_row *rows, size_t n, const struct top_totals *totals, struct table *ret);

/* The lines below a table: reservations, nodes that the totals omit or that have no object, estimates, and why numbers are unknown. */
void top_notes(const struct top_row *rows, size_t n, const struct top_totals *totals, struct strv *ret);

struct top_look {
	bool wide;         /* all columns */
	bool headers;      /* headings and totals */
	bool bars;         /* the free CPUs of each NUMA node as a bar and a number */
	const char *label; /* the heading of the label's column; NULL = no column */
	size_t width; /* columns, and the numbers beside the bars, are omitted until the table fits; 0 = unlimited */
};

/*
 * Draws the rows as a table on a canvas, which gets the width of the table. "~" marks estimated numbers, "-"
 * unknown numbers. Below the table are the reservations, and how many nodes the totals omit.
 */
void top_draw(const struct top_row *rows, size_t n, const struct top_totals *totals,
	const struct top_look *look, struct canvas *c);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * why_report: what became of a pod, and which nodes' kubelets would take it. No I/O.
 */
#include "agent/cli/cluster_fit.h"
#include "agent/cluster/cluster_usage.h"
#include "agent/cluster/object_input.h"
#include "agent/cluster/pod_events.h"
#include "agent/cluster/pod_fate.h"
#include "agent/cluster/pod_held.h"
#include "agent/cluster/pod_parse.h"

/* A node that schedulers keep the pod away from, whatever its kubelet says. */
struct why_bar {
	char *node;
	char *text; /* "cordoned" */
};

struct why_report {
	struct doc object; /* the Pod */
	struct pod_templates templates;
	const struct pod_request *pod; /* in `templates` */
	struct pod_fate fate;
	enum qos_class qos;
	struct resource_list wanted; /* what it takes of a node as a whole */
	struct err aligned;          /* what the Topology Manager has to align, one sentence */
	struct err gap;              /* what keeps it from being Guaranteed, or "" */
	struct pod_events events;
	bool events_known;
	struct cluster_usage usage;
	struct why_bar *bars; /* by node, once finished */
	size_t n_bars;
	size_t bars_size;
	struct strv not_looked_at; /* what of the pod schedulers look at, and this report does not */
	struct cluster_fit fit;    /* a row a node; empty where the pod has its node, see why_report_asks() */
	bool own_seen;             /* its node's object was among those that were added */
	enum cluster_basis own_basis;
	struct pod_held held; /* what it has there */
	size_t takes, unknown,
		estimated; /* nodes that no bar is known of; of those that take it, so many estimated */
	int64_t now_s;     /* ages count up to here */
};

void why_report_release(struct why_report *r);

/*
 * About this Pod, which is moved away. 0; -EINVAL with one line (what pod_templates_from_doc() refuses, no name);
 * -ENOMEM. `ret` may be moved until the first node is added.
 */
int why_report_init(struct why_report *ret, struct doc *pod, struct err *err);

/* Nodes are asked: the pod does not have its node already. */
bool why_report_asks(const struct why_report *r);

/* Add a Node or a Pod: what the nodes have left, and what keeps the pod away. Before the first node of the next
 * function. 0; -EINVAL with one line; -ENOMEM. */
int why_report_add_object(struct why_report *r, enum object_kind kind, struct doc *object, struct err *err);

/* Ask a node. 0 or -ENOMEM. */
int why_report_add_node(struct why_report *r, const struct cluster_node *node);

/* Count, and order the rows: the node that refused it; those that take it, with the most room first; those that are not
 * known; that refuse; that schedulers keep it away from. */
void why_report_finish(struct why_report *r);

/* What keeps the pod away from that node, "" where nothing is known to. After why_report_finish(). */
const char *why_report_bar(const struct why_report *r, const char *node);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * why_report: what became of a pod, and which nodes' kubelets would take it. No I/O.
 */
#include "agent/cluster/cluster_usage.h"
#include "agent/cluster/object_input.h"
#include "agent/cluster/pod_parse.h"
#include "agent/cluster/pod_status.h"
#include "agent/cluster/scheduling_constraints.h"
#include "agent/report/cluster_fit.h"

struct why_report {
	struct doc object; /* the Pod */
	struct pod_templates templates;
	const struct pod_request *pod; /* in `templates` */
	struct pod_status status;
	enum qos_class qos;
	struct resource_list wanted; /* what it takes of a node as a whole */
	struct err aligned;          /* what the Topology Manager has to align, one sentence */
	struct err gap;              /* what keeps it from being Guaranteed, or "" */
	struct pod_events events;
	bool events_known;
	struct cluster_usage usage;
	struct scheduling_constraints constraints; /* what keeps the pod away, whatever a kubelet says */
	struct cluster_fit fit; /* a row a node; empty where the pod has its node, see why_report_asks() */
	bool own_seen;          /* its node's object was among those that were added */
	enum cluster_basis own_basis;
	struct pod_held held; /* what it has there */
	size_t takes, unknown,
		estimated; /* nodes that no bar is known of; of those that take it, so many estimated */
	int64_t now_s;     /* ages count up to here */
};

void why_report_release(struct why_report *r);

/*
 * About this Pod, which is moved away. 0; -EINVAL with one line (what pod_templates_from_doc() refuses, no name). `ret` may
 * not be moved afterwards.
 */
int why_report_init(struct why_report *ret, struct doc *pod, struct err *err);

/* Nodes are asked: the pod does not have its node already. */
bool why_report_asks(const struct why_report *r);

/* Add a Node or a Pod: what the nodes have left, and what keeps the pod away. 0; -EINVAL with one line. */
int why_report_add_object(
	struct why_report *r, enum object_kind kind, const struct doc *object, struct err *err);

/* After the last object, before the first node. */
void why_report_end_objects(struct why_report *r);

/* Ask a node. */
void why_report_add_node(struct why_report *r, const struct cluster_node *node);

/* Count, and order the rows: the node that rejected it; those that take it, with the most room first; those that are not
 * known; that reject; that schedulers keep it away from. */
void why_report_finish(struct why_report *r);

/* What keeps the pod away from that node, "" where nothing is known to. After why_report_finish(). */
const char *why_report_violated(const struct why_report *r, const char *node);

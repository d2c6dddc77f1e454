/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Explains a pod's state, finds the nodes whose kubelets would admit it, and prints both for `why`. No I/O.
 */
#include "cli/report/pod_report.h"
#include "cli/report/writer.h"
#include "cluster/objects/object_input.h"
#include "cluster/objects/pod_parse.h"
#include "cluster/objects/pod_status.h"
#include "scoring/node/pod_alignment.h"

struct why_report {
	struct doc object; /* the Pod */
	struct pod_templates templates;
	struct pod_status status;
	struct pod_events events;
	bool events_known;
	const char *only_node; /* the objects of this node only were read; NULL = of all; borrowed */
	struct cluster cluster;
	struct scheduling_constraints
		constraints; /* of schedulers; they do not change the kubelets' verdicts */
	struct scheduling_constraints
		own_constraints; /* of a rejected pod: what the kubelet of its node checks itself, labels, taints and host ports */
	struct pod_report pods; /* no nodes if the pod has a node, see why_report_asks() */
	bool own_seen;          /* the object of the pod's node was added */
	enum cluster_basis own_basis;
	struct pod_held held;        /* what the pod holds on its node */
	enum alignment alignment;    /* of what the pod holds; with held.found */
	struct err alignment_reason; /* "" if aligned */
	/*
	 * Nodes without a violated constraint: those whose kubelet admits the pod, the estimates among them,
	 * and unknown verdicts.
	 */
	size_t takes, estimated, unknown;
	int64_t now_s; /* for ages */
};

void why_report_release(struct why_report *r);

/*
 * Starts the report on a Pod, whose content moves to the report. 0; -EINVAL with one line (no name, or what
 * pod_templates_from_doc() rejects). `ret` must not be moved afterwards.
 */
int why_report_init(struct why_report *ret, struct doc *pod, struct err *err);

/* Whether the nodes are asked, because the pod has no node yet, was rejected, or has ended. */
bool why_report_asks(const struct why_report *r);

/* Adds a Node or a Pod, before the first NodeResourceTopology object. 0; -EINVAL with one line. */
int why_report_add_object(struct why_report *r, enum object_kind kind, struct doc *object, struct err *err);

/* To be called after the last Node or Pod. */
void why_report_end_objects(struct why_report *r);

/* Adds the object of a node, after why_report_end_objects() and once per node: judges the node if why_report_asks(), and notes what the pod holds
 * if it is the pod's node. The report keeps the results, and frees the object. */
void why_report_add_node(struct why_report *r, struct cluster_node *object);

/*
 * Counts and sorts the nodes: the node that rejected the pod, then nodes that admit the pod (most copies
 * first), nodes with an unknown verdict, nodes that reject the pod, and nodes with a violated constraint.
 */
void why_report_finish(struct why_report *r);

/*
 * The constraint that keeps the pod away from the node, "" = none is known. Call after
 * why_report_end_objects().
 */
const char *why_report_violated(const struct why_report *r, const char *node);

/*
 * Writes the pod's status, a table of the nodes if they are asked, and the pod's events. {"pod":
 * {"namespace", "name", "uid", "stage", "phase", "reason", "message", "node", "nominatedNode", "owner", "qosClass",
 * "requests": {NAME: QUANTITY}, "schedulerMessage", "schedulingGates": bool, "terminating": bool}, "alignment", "notGuaranteed",
 * "held": {"cpus", "numaNodes": [ids], "alignment", "reason"} or null, "takes", "unknown", "estimated", "withoutObject": [names], "nodes": [fit_write_row(),
 * each with "keptAway": the violated constraint, or ""], "notEvaluated": [texts], "events": [{"type",
 * "reason", "message", "source", "count", "ageSeconds": or null}], or null if they were not read}. If the
 * nodes are not asked, takes, unknown and estimated are null and nodes is empty.
 */
void why_write(struct writer *w, const struct why_report *r);

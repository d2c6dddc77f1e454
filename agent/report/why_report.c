/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/report/why_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "common/vec.h"
#include "scoring/request.h"

void why_report_release(struct why_report *r)
{
	scheduling_constraints_release(&r->constraints);
	doc_release(&r->object);
	pod_templates_release(&r->templates);
	pod_status_release(&r->status);
	resource_list_release(&r->wanted);
	pod_events_release(&r->events);
	cluster_usage_release(&r->usage);
	cluster_fit_release(&r->fit);
	pod_held_release(&r->held);
	*r = (struct why_report){0};
}

/* ---- the pod */

/* What its class and amounts mean to the Topology Manager. */
static void explain_alignment(const struct why_report *r, struct err *ret)
{
	bool devices = request_has_non_native(r->pod);
	size_t cpus = kubelet_pod_exclusive_cpus(r->pod, r->qos);

	if (r->qos != QOS_GUARANTEED)
		err_set(ret, 0, "its CPUs and memory are shared with other pods; the Topology Manager %s",
			devices ? "aligns its devices alone"
				: "has nothing of it to align and does not reject it");
	else if (r->pod->has_pod_resources)
		err_set(ret, 0,
			"pod-level resources: kubelets give it CPUs of its own only with the feature gate %s",
			kubelet_gate_names[KUBELET_POD_LEVEL_MANAGERS]);
	else if (cpus > 0)
		err_set(ret, 0,
			"the Topology Manager aligns %zu exclusive CPU%s%s, and memory where the memory manager is Static",
			cpus, cpus == 1 ? "" : "s", devices ? ", its devices" : "");
	else
		err_set(ret, 0,
			"no container asks for whole CPUs, so none are exclusive; the Topology Manager aligns %smemory where the memory manager is Static",
			devices ? "its devices, and " : "");
}

/* The pod's spec.nodeName is where a scheduler sent it, and keeps no other pod like it away. */
static void add_constraints(struct why_report *r)
{
	struct scheduling_constraints *sc = &r->constraints;

	scheduling_constraints_init(sc, &r->object, r->status.namespace, false);
	if (r->pod->has_claims)
		strv_push(&sc->not_looked_at, "resource claims");
}

int why_report_init(struct why_report *ret, struct doc *pod, struct err *err)
{
	CLEANUP(why_report_release) struct why_report r = {.own_basis = CLUSTER_UNKNOWN};
	int error = pod_status_read(pod, &r.status, err);

	/* An item of a typed list has no kind of its own. */
	if (error == 0 && !doc_get(pod, "kind"))
		doc_add_string(pod, "kind", "Pod");
	if (error == 0)
		error = pod_templates_from_doc(pod, &r.templates, err);
	if (error < 0)
		return r.status.name
			       ? err_wrap(err, error, "Pod '%.60s/%.60s'", r.status.namespace, r.status.name)
			       : error;
	r.pod = &r.templates.items[0].pod;
	r.qos = request_qos(r.pod);
	request_of_node(r.pod, &r.wanted);
	fit_explain_class(r.pod, &r.gap);
	explain_alignment(&r, &r.aligned);
	r.object = *pod;
	*pod = (struct doc)DOC_INIT;
	*ret = r;
	r = (struct why_report){0};
	ret->templates.items[0].owner = &ret->object;
	add_constraints(ret);
	return 0;
}

bool why_report_asks(const struct why_report *r)
{
	return r->status.stage != POD_BOUND && r->status.stage != POD_RUNS;
}

/* ---- the nodes */

int why_report_add_object(
	struct why_report *r, enum object_kind kind, const struct doc *object, struct err *err)
{
	int error = cluster_usage_add(&r->usage, kind, object, err);

	if (error == 0)
		scheduling_constraints_add(&r->constraints, kind, object);
	return error;
}

void why_report_end_objects(struct why_report *r)
{
	scheduling_constraints_finish(&r->constraints);
}

void why_report_add_node(struct why_report *r, const struct cluster_node *node)
{
	const struct pod_status *status = &r->status;

	if (!strcmp(status->node, node->state.node_name)) {
		r->own_seen = true;
		r->own_basis = node->basis;
		pod_held_release(&r->held);
		if (node->basis == CLUSTER_EXACT)
			pod_held_find(&node->state, &status->names, &r->held);
	}
	if (!why_report_asks(r))
		return;
	r->fit.pod = r->pod;
	r->fit.usage = &r->usage;
	cluster_fit_add(&r->fit, node);
}

/* ---- all of them */

const char *why_report_violated(const struct why_report *r, const char *node)
{
	return scheduling_constraints_violated(&r->constraints, node);
}

/* The row's place among the others. */
static int rank(const struct why_report *r, const struct cluster_fit_row *row)
{
	static const int order[KUBELET_ANSWER_COUNT] = {
		[KUBELET_ADMITS] = 1, [KUBELET_UNKNOWN] = 2, [KUBELET_REJECTS] = 3};

	if (r->status.stage == POD_REJECTED && !strcmp(row->name, r->status.node))
		return 0;
	return *why_report_violated(r, row->name) ? 4 : order[row->answer];
}

static int compare_rows(const void *va, const void *vb, void *data)
{
	const struct cluster_fit_row *a = va, *b = vb;
	int of_a = rank(data, a), of_b = rank(data, b);

	if (of_a != of_b)
		return of_a - of_b;
	if (a->copies.n != b->copies.n)
		return a->copies.n > b->copies.n ? -1 : 1;
	return text_compare_numbered(a->name, b->name);
}

void why_report_finish(struct why_report *r)
{
	vec_sort(r->fit.rows, r->fit.n_rows, sizeof(*r->fit.rows), compare_rows, r);
	r->takes = r->unknown = r->estimated = 0;
	for (size_t i = 0; i < r->fit.n_rows; i++) {
		const struct cluster_fit_row *row = &r->fit.rows[i];

		if (*why_report_violated(r, row->name))
			continue;
		r->takes += row->answer == KUBELET_ADMITS;
		r->estimated += row->answer == KUBELET_ADMITS && row->basis == CLUSTER_ESTIMATED;
		r->unknown += row->answer == KUBELET_UNKNOWN;
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/report/fit_report.h"

#include <errno.h>

#include "agent/report/fit_scheduler.h"
#include "agent/state/node_admission.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/resource.h"
#include "common/strbuf.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/request.h"

static void container_release(struct fit_container *c)
{
	free(c->name);
	free(c->cpus);
	*c = (struct fit_container){0};
}

void fit_report_release(struct fit_report *report)
{
	for (size_t i = 0; i < report->n_containers; i++)
		container_release(&report->containers[i]);
	strv_release(&report->unchecked);
	victims_release(&report->frees);
	free(report->rejection);
	free(report->missing);
	free(report->containers);
	free(report->nearest_container);
	resource_list_release(&report->wanted);
	*report = (struct fit_report){0};
}

/* ---- the pod without the devices that nothing is known about */

static void copy_list(struct fit_report *report, const struct node_admission *admission,
	const struct resource_list *from, struct resource_list *to)
{
	for (size_t i = 0; i < from->n_items; i++) {
		const struct resource_quantity *q = &from->items[i];
		enum device_knowledge devices = node_admission_devices(admission, q->name);

		if (devices == DEVICES_KNOWN)
			resource_list_set(to, q->name, q->quantity);
		else if (devices == DEVICES_UNKNOWN)
			strv_push_new(&report->unchecked, q->name);
		else if (!report->missing)
			text_set(&report->missing, q->name);
	}
}

/* Everything but devices that are not in the inventory; their names go to the report. */
static void copy_pod(struct fit_report *report, const struct node_admission *admission,
	const struct pod_request *from, struct pod_request *to)
{
	to->qos = report->qos;
	to->has_pod_resources = from->has_pod_resources;
	for (size_t i = 0; i < from->n_containers; i++) {
		const struct container_request *c = &from->containers[i];
		struct container_request *copy = pod_request_add(to, c->kind, c->name);

		copy_list(report, admission, &c->requests, &copy->requests);
		copy_list(report, admission, &c->limits, &copy->limits);
	}
	copy_list(report, admission, &from->overhead, &to->overhead);
	copy_list(report, admission, &from->pod_requests, &to->pod_requests);
	copy_list(report, admission, &from->pod_limits, &to->pod_limits);
}

/* ---- the kubelet's verdict */

/* A kubelet that is asked about one pod. */
struct question {
	struct node_admission admission;
	unsigned parts;
	struct pod_request pod; /* without devices that are not in the inventory */
};

static void question_release(struct question *q)
{
	node_admission_release(&q->admission);
	pod_request_release(&q->pod);
}

/* The managers' placement of an admitted pod. */
static void take_placements(
	const struct question *q, const struct kubelet_verdict *v, struct fit_report *report)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = cpuset_new();

	for (size_t i = 0; i < q->pod.n_containers; i++) {
		const struct kubelet_placement anywhere = {.hint.any_node = true};
		const struct kubelet_placement *p = i < v->n_placements ? &v->placements[i] : &anywhere;
		struct fit_container *c = vec_push(
			&report->containers, &report->n_containers, &report->containers_size, sizeof(*c));

		hwloc_bitmap_zero(set);
		if (p->cpus)
			cpu_set_to_bitmap(&q->admission.kubelet.topology, p->cpus, set);
		c->name = xstrdup(q->pod.containers[i].name);
		c->cpus = cpuset_print(set);
		c->hint = p->hint;
		c->memory_nodes = p->memory_nodes;
	}
}

static void print_amount(const char *name, qty_t amount, char text[QUANTITY_TEXT_MAX])
{
	bool bytes = !strcmp(name, "memory") || resource_name_is_hugepages(name);

	quantity_print(
		(struct quantity){.nano = amount, .format = bytes ? QUANTITY_BINARY_SI : QUANTITY_DECIMAL_SI},
		text);
}

static void explain_rejection(const struct question *q, const struct admission *a, struct fit_report *report)
{
	const struct kubelet_verdict *v = &a->managers;
	bool whole_pod = q->admission.settings.topology.scope == TOPOLOGY_SCOPE_POD &&
			 v->rejection == KUBELET_TOPOLOGY_AFFINITY;
	char wanted[QUANTITY_TEXT_MAX], free[QUANTITY_TEXT_MAX], name[64];

	report->node_is_short = a->short_of != NULL;
	if (v->answer == KUBELET_REJECTS) {
		report->rejection = xstrdup(kubelet_rejection_names[v->rejection]);
		report->reason = v->reason;
		if (q->pod.n_containers > 1 && !whole_pod)
			err_wrap(&report->reason, 0, "container '%.60s'",
				q->pod.containers[v->container].name);
		return;
	}
	/* Whether the managers, who are asked first, would refuse it too is not always known. */
	snprintf(name, sizeof(name), "OutOf%.50s", a->short_of);
	report->rejection = xstrdup(v->answer == KUBELET_UNKNOWN ? "" : name);
	print_amount(a->short_of, a->wanted, wanted);
	print_amount(a->short_of, a->free, free);
	err_set(&report->reason, 0, "%.60s: %s wanted, the node has at most %s left", a->short_of, wanted,
		free);
}

static void explain_unsure(const struct admission *a, struct err *reason)
{
	char wanted[QUANTITY_TEXT_MAX], free[QUANTITY_TEXT_MAX];

	print_amount(a->unsure_of, a->wanted, wanted);
	print_amount(a->unsure_of, a->free, free);
	err_set(reason, 0,
		"%.60s: %s wanted, the node has %s left or more: the kubelet may not count all that init containers and resized containers hold",
		a->unsure_of, wanted, free);
}

static void find_nearest(struct question *q, struct fit_report *report)
{
	struct admission_nearest *n = &report->nearest;
	const struct resource_quantity *named;

	admission_nearest(&q->admission.node, &q->pod, report->qos, n);
	if (!n->found)
		return;
	named = resource_list_find(&report->wanted, n->resource);
	n->resource = named ? named->name : "";
	if (q->pod.n_containers == 1)
		return;
	report->nearest_container = xstrdup(q->pod.containers[n->container].name);
}

/* ---- what an unknown Topology Manager setting would have decided */

static const char *const answer_words[] = {[KUBELET_UNKNOWN] = "is not known under",
	[KUBELET_ADMITS] = "fits under",
	[KUBELET_REJECTS] = "does not fit under"};

static void ask_what_if(
	struct question *q, const struct topology_manager_config *config, enum kubelet_answer *ret)
{
	struct admission a;

	node_admission_what_if(&q->admission, config);
	node_admission_judge(&q->admission, &q->pod, &a);
	*ret = a.answer;
}

/* "; fits under none, best-effort; does not fit under restricted, single-numa-node" */
static void print_answers(
	const enum kubelet_answer *answers, const char *const *names, size_t n, struct strbuf *out)
{
	static const enum kubelet_answer order[] = {KUBELET_ADMITS, KUBELET_REJECTS, KUBELET_UNKNOWN};

	for (size_t k = 0; k < ARRAY_SIZE(order); k++) {
		bool first = true;

		for (size_t i = 1; i < n; i++) {
			if (answers[i] != order[k])
				continue;
			if (first)
				strbuf_addf(out, "; %s ", answer_words[order[k]]);
			strbuf_addf(out, "%s%s", first ? "" : ", ", names[i]);
			first = false;
		}
	}
}

/* The answer under both scopes, if it is the same. */
static void ask_both_scopes(
	struct question *q, struct topology_manager_config config, enum kubelet_answer *ret)
{
	enum kubelet_answer other = KUBELET_UNKNOWN;

	config.scope = TOPOLOGY_SCOPE_CONTAINER;
	ask_what_if(q, &config, ret);
	config.scope = TOPOLOGY_SCOPE_POD;
	ask_what_if(q, &config, &other);
	if (other != *ret)
		*ret = KUBELET_UNKNOWN;
}

/*
 * Ask under every policy where it is not known, else under both scopes where that is not known. Scopes that
 * agree settle it: *ret_agreed is then true, and the question is one about scope container, the kubelet's
 * default.
 */
static int explain_unknown(struct question *q, struct fit_report *report, bool *ret_agreed)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(300);
	struct topology_manager_config config = q->admission.settings.topology;
	enum kubelet_answer answers[TOPOLOGY_MANAGER_POLICY_COUNT] = {0};
	bool by_policy = config.policy == TOPOLOGY_MANAGER_UNKNOWN, settles = false;
	bool by_scope = config.scope == TOPOLOGY_SCOPE_UNKNOWN;
	size_t n = by_policy ? TOPOLOGY_MANAGER_POLICY_COUNT : TOPOLOGY_SCOPE_COUNT;
	struct err unknown = report->reason;

	for (size_t i = 1; i < n && (by_policy || by_scope); i++) {
		if (by_policy)
			config.policy = (enum topology_manager_policy)i;
		else
			config.scope = (enum topology_manager_scope)i;
		if (by_policy && by_scope)
			ask_both_scopes(q, config, &answers[i]);
		else
			ask_what_if(q, &config, &answers[i]);
		settles = settles || answers[i] != KUBELET_UNKNOWN;
	}
	if (!settles)
		return 0;
	if (!by_policy && answers[TOPOLOGY_SCOPE_CONTAINER] == answers[TOPOLOGY_SCOPE_POD]) {
		*ret_agreed = true;
		config.scope = TOPOLOGY_SCOPE_CONTAINER;
		ask_what_if(q, &config, &answers[0]);
		return 0;
	}
	print_answers(
		answers, by_policy ? topology_manager_policy_names : topology_manager_scope_names, n, &text);
	err_set(&report->reason, 0, "%.200s%s", unknown.text, text.text);
	return strbuf_error(&text);
}

/* ---- the report */

/* The managers reject the pod without its devices, but with them a container may go elsewhere and leave the
 * others the room they need. */
static bool devices_may_help(
	const struct question *q, const struct admission *a, const struct fit_report *report)
{
	return report->unchecked.n_items > 0 && a->answer == KUBELET_REJECTS && !a->short_of &&
	       q->pod.n_containers > 1 && q->admission.settings.topology.scope != TOPOLOGY_SCOPE_POD;
}

/* The verdict to report, where scopes that agree replace one that is not known. */
static int find_verdict(struct question *q, struct fit_report *report, struct admission *ret)
{
	bool agreed = false;
	int r;

	node_admission_judge(&q->admission, &q->pod, ret);
	if (ret->answer != KUBELET_UNKNOWN)
		return 0;
	report->reason = ret->managers.reason;
	if (ret->unsure_of)
		explain_unsure(ret, &report->reason);
	r = explain_unknown(q, report, &agreed);
	if (r < 0 || !agreed)
		return r;
	report->reason = (struct err){""};
	node_admission_judge(&q->admission, &q->pod, ret);
	if (ret->unsure_of)
		explain_unsure(ret, &report->reason);
	return 0;
}

/* The scheduler sends no such pod here; the kubelet itself would pass over what it has never heard of. */
static void explain_missing(struct fit_report *report)
{
	report->answer = KUBELET_REJECTS;
	report->node_is_short = true;
	err_set(&report->reason, 0, "this node has no %.100s", report->missing);
	text_set(&report->rejection, "");
}

static int judge(struct question *q, struct fit_report *report)
{
	struct admission a;
	int r = find_verdict(q, report, &a);

	if (r < 0)
		return r;
	if (report->missing) {
		explain_missing(report);
		return 0;
	}
	report->answer = a.answer;
	if (devices_may_help(q, &a, report)) {
		report->answer = KUBELET_UNKNOWN;
		err_set(&report->reason, 0,
			"which devices are free is not known; without %.100s the pod does not fit: %.300s",
			report->unchecked.items[0], a.managers.reason.text);
	} else if (a.answer == KUBELET_REJECTS) {
		explain_rejection(q, &a, report);
		if (q->parts & FIT_NEAREST)
			find_nearest(q, report);
		return 0;
	}
	report->rejection = xstrdup("");
	if (report->answer == KUBELET_UNKNOWN)
		return 0;
	if (q->parts & FIT_PLACEMENTS)
		take_placements(q, &a.managers, report);
	if (q->parts & FIT_COPIES)
		admission_copies(&q->admission.node, &q->pod, report->qos, &report->copies);
	if (report->unchecked.n_items > 0) {
		report->answer = KUBELET_UNKNOWN;
		report->rest_fits = true;
		err_set(&report->reason, 0,
			"which devices are free is not known; without %.100s%s the pod fits",
			report->unchecked.items[0], report->unchecked.n_items > 1 ? " and others" : "");
	}
	return r;
}

void fit_explain_class(const struct pod_request *pod, struct err *ret)
{
	struct request_gap gap;

	if (!request_gap_of(pod, &gap))
		return;
	if (gap.n_containers == 1)
		err_set(ret, 0,
			"not Guaranteed, because container '%.60s' has no equal request and limit of %s",
			gap.container, gap.resource);
	else
		err_set(ret, 0,
			"not Guaranteed, because %zu containers have no equal request and limit of %s",
			gap.n_containers, gap.resource);
}

static int make(const struct node_state *node, const struct pod_request *pod, unsigned parts,
	const struct resource_list *most, struct fit_report *report)
{
	CLEANUP(question_release) struct question q = {.parts = parts};
	int r;

	report->topology = node->settings.topology;
	report->qos = request_qos(pod);
	report->has_claims = pod->has_claims;
	fit_explain_class(pod, &report->gap);
	request_of_node(pod, &report->wanted);
	node_admission_init(&q.admission, node);
	if (most)
		node_admission_limit(&q.admission, most);
	copy_pod(report, &q.admission, pod, &q.pod);
	r = judge(&q, report);
	return r < 0 || !(parts & FIT_SCHEDULER) ? r : fit_scheduler_make(node, &q.pod, &report->scheduler);
}

/* Whether other NUMA nodes, as many, are certainly closer to each other. */
static bool is_remote(const struct inventory *inv, const struct distances *d, uint64_t ids)
{
	uint64_t set = 0;
	unsigned n = node_mask_count(ids);

	for (size_t i = 0; i < inv->n_nodes; i++)
		if (inv->nodes[i].id <= NODE_MASK_MAX_ID && (ids & node_mask_of(inv->nodes[i].id)))
			set |= (uint64_t)1 << i;
	return n > 1 && node_mask_count(set) == n && distances_capped(distances_sum(d, set), n) > d->high[n];
}

static int find_remote(const struct inventory *inv, struct fit_report *report)
{
	CLEANUP(distances_release) struct distances distances = {0};
	bool any = false;
	int r;

	for (size_t i = 0; i < report->n_containers; i++)
		any |= !report->containers[i].hint.any_node &&
		       node_mask_count(report->containers[i].hint.nodes) > 1;
	if (!any || inv->n_nodes > COMBINATION_MAX_NODES)
		return 0;
	r = distances_init(&distances, inv->costs, inv->n_nodes, DISTANCES_WORK_LIMIT);
	if (r == 0)
		distances_search(&distances);
	for (size_t i = 0; r == 0 && i < report->n_containers; i++) {
		struct fit_container *c = &report->containers[i];

		c->remote = !c->hint.any_node && is_remote(inv, &distances, c->hint.nodes);
	}
	return r;
}

int fit_report_make(const struct node_state *node, const struct pod_request *pod, unsigned parts,
	const struct resource_list *most, struct fit_report *ret)
{
	CLEANUP(fit_report_release) struct fit_report report = {0};
	int r = make(node, pod, parts, most, &report);

	if (r == 0)
		r = find_remote(&node->inventory, &report);
	if (r < 0)
		return r;
	*ret = report;
	report = (struct fit_report){0};
	return 0;
}

void fit_report_add_frees(const struct node_state *node, const struct pod_request *pod,
	const struct victims_known *known, struct fit_report *report)
{
	if (report->answer == KUBELET_REJECTS && !report->missing) {
		victims_find(node, pod, known, &report->frees);
		return;
	}
	report->frees.answer = report->missing                    ? VICTIMS_NO_SET
			       : report->answer == KUBELET_ADMITS ? VICTIMS_NOTHING
								  : VICTIMS_UNKNOWN;
}

void fit_report_keep_away(struct fit_report *report, const char *reason)
{
	struct err kubelet = report->reason;

	if (report->answer == KUBELET_REJECTS) {
		err_set(&report->reason, 0, "%.300s; schedulers keep the pod away: %.150s", kubelet.text,
			reason);
		return;
	}
	text_set(&report->rejection, FIT_UNSCHEDULABLE);
	err_set(&report->reason, 0, "%.300s", reason);
	report->answer = KUBELET_REJECTS;
	report->unschedulable = report->node_is_short = true;
	report->rest_fits = false;
	for (size_t i = 0; i < report->n_containers; i++)
		container_release(&report->containers[i]);
	report->n_containers = 0;
	report->copies = (struct admission_copies){0};
}

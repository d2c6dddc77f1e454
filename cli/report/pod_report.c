/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/pod_report.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/resource.h"
#include "common/strbuf.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/kubelet_release.h"
#include "scoring/node/node_admission.h"
#include "scoring/request.h"

static void release_containers(struct node_report *n)
{
	for (size_t i = 0; i < n->n_containers; i++) {
		free(n->containers[i].name);
		free(n->containers[i].cpus);
	}
	free(n->containers);
	n->containers = NULL;
	n->n_containers = n->containers_size = 0;
}

void node_report_release(struct node_report *n)
{
	release_containers(n);
	strv_release(&n->unchecked);
	victims_release(&n->victims);
	free(n->name);
	free(n->exporter);
	free(n->why);
	free(n->rejection);
	free(n->slow);
	free(n->reason);
	strv_release(&n->cautions);
	free(n->missing);
	free(n->obstacle);
	free(n->scheduler.filter_reason);
	free(n->scheduler.filter_detail);
	free(n->scheduler.volcano_reason);
	*n = (struct node_report){0};
}

/* Why a pod is not Guaranteed. */
static void explain_class(const struct pod_request *pod, struct err *ret)
{
	struct request_gap gap;

	if (request_qos(pod) == QOS_BEST_EFFORT)
		err_set(ret, 0, "not Guaranteed, because no container requests cpu or memory");
	if (!request_gap_of(pod, &gap))
		return;
	if (gap.n_containers == 1)
		err_set(ret, 0,
			"not Guaranteed, because container '%.60s' has no equal request and limit of %s",
			gap.container, gap.resource);
	else
		err_set(ret, 0,
			"not Guaranteed, because %zu containers, the first of them '%.60s', have no equal request and limit of %s",
			gap.n_containers, gap.container, gap.resource);
}

/* What the Topology Manager aligns for a pod of this class and these requests. */
static void explain_alignment(const struct pod_report *r, struct err *ret)
{
	bool devices = request_has_non_native(r->pod);
	size_t cpus = r->exclusive_cpus;

	if (r->qos != QOS_GUARANTEED)
		err_set(ret, 0, "the pod shares CPUs and memory with other pods; the Topology Manager %s",
			devices ? "aligns only the pod's devices"
				: "aligns nothing and does not reject the pod");
	else if (r->pod->has_pod_resources)
		err_set(ret, 0,
			"pod-level resources: kubelets assign exclusive CPUs only with the feature gate %s",
			kubelet_gate_names[KUBELET_POD_LEVEL_MANAGERS]);
	else if (cpus > 0)
		err_set(ret, 0,
			"the Topology Manager aligns %zu exclusive CPU%s%s, and memory where the memory manager is Static",
			cpus, cpus == 1 ? "" : "s", devices ? ", devices" : "");
	else
		err_set(ret, 0,
			"no container requests whole CPUs, so no CPUs are exclusive; the Topology Manager aligns %smemory where the memory manager is Static",
			devices ? "devices, and " : "");
}

void pod_report_init(struct pod_report *r, const struct pod_request *pod)
{
	*r = (struct pod_report){.pod = pod, .qos = request_qos(pod)};
	request_of_node(pod, &r->wanted);
	explain_class(pod, &r->not_guaranteed);
	if (!pod->has_pod_resources)
		r->exclusive_cpus = kubelet_pod_exclusive_cpus(pod, r->qos);
	explain_alignment(r, &r->alignment);
}

void pod_report_set_cluster(struct pod_report *r, struct cluster *cluster,
	const struct pod_template *template, const char *namespace)
{
	CLEANUP(pod_request_release) struct pod_request copy;
	const struct reservation_user user =
		reservation_user_of(template->namespace ? template->namespace : namespace, template->owner);
	int32_t priority = 0;

	pod_request_copy(r->pod, &copy);
	r->class = pod_classes_take(&cluster->classes, &copy);
	r->projections.cluster = cluster;
	if (template->owner)
		pod_priority_read(template->owner, &priority);
	r->critical = priority >= POD_PRIORITY_CRITICAL;
	cluster_hide_for_request(cluster, &user, priority, r->class);
}

void pod_report_drop_node(struct pod_report *r, struct node_info *node)
{
	projections_forget(&r->projections, node->slot);
	cluster_drop_object(r->projections.cluster, node);
}

void pod_report_release(struct pod_report *r)
{
	projections_release(&r->projections);
	for (size_t i = 0; i < r->n_nodes; i++)
		node_report_release(&r->nodes[i]);
	free(r->nodes);
	strv_release(&r->without_object);
	resource_list_release(&r->wanted);
	distances_kept_release(&r->kept);
	*r = (struct pod_report){0};
}

/* ---- the pod without devices that are unknown on the node */

/* Copies the amounts that the node's kubelet can judge. The names of other devices go to n->unchecked (unknown) and n->missing (none). */
static void copy_list(const struct node_admission *admission, const struct node_info *info,
	const struct resource_list *from, struct resource_list *to, struct node_report *n)
{
	for (size_t i = 0; i < from->n_items; i++) {
		const struct resource_quantity *q = &from->items[i];
		enum device_knowledge devices = node_admission_devices(admission, q->name);

		if (devices == DEVICES_ABSENT && info && node_info_has_in_status_only(info, q->name))
			devices = DEVICES_KNOWN; /* the kubelet checks the Node's amount, without devices */
		if (devices == DEVICES_KNOWN)
			resource_list_set(to, q->name, q->quantity);
		else if (devices == DEVICES_UNKNOWN)
			strv_push_new(&n->unchecked, q->name);
		else if (!n->missing)
			text_set(&n->missing, q->name);
	}
}

/* Copies the pod of the report without the devices that copy_list() omits. */
static void copy_pod(const struct node_admission *admission, const struct pod_report *r,
	struct pod_request *to, struct node_report *n)
{
	const struct pod_request *from = r->pod;

	to->qos = r->qos;
	to->has_pod_resources = from->has_pod_resources;
	for (size_t i = 0; i < from->n_containers; i++) {
		const struct container_request *c = &from->containers[i];
		struct container_request *copy = pod_request_add(to, c->kind, c->name);

		copy_list(admission, r->judged, &c->requests, &copy->requests, n);
		copy_list(admission, r->judged, &c->limits, &copy->limits, n);
	}
	copy_list(admission, r->judged, &from->overhead, &to->overhead, n);
	copy_list(admission, r->judged, &from->pod_requests, &to->pod_requests, n);
	copy_list(admission, r->judged, &from->pod_limits, &to->pod_limits, n);
}

/* ---- the kubelet's verdict */

/* One node's kubelet, and the pod that this kubelet judges. */
struct question {
	struct node_admission admission;
	const struct pod_report *report;
	unsigned parts;
	struct pod_request pod; /* without devices that are not in the inventory */
	struct err reason;      /* of the verdict */
};

static void question_release(struct question *q)
{
	node_admission_release(&q->admission);
	pod_request_release(&q->pod);
}

/* container_report.aligned */
static bool is_aligned(const struct question *q, size_t container, const struct container_report *c)
{
	const struct resource_list *requests = &q->pod.containers[container].requests;
	uint64_t all_nodes = q->admission.kubelet.reach | q->admission.kubelet.memory.nodes;
	bool holds = *c->cpus || c->memory_nodes;

	for (size_t i = 0; i < requests->n_items; i++)
		holds |= requests->items[i].quantity.nano > 0 &&
			 !resource_name_is_native(requests->items[i].name);
	return !c->hint.any_node && (holds || (c->hint.nodes & all_nodes) != all_nodes);
}

/* A pod that the managers need not place is admitted without placements. */
static void add_placements(const struct question *q, const struct kubelet_verdict *v, struct node_report *n)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = cpuset_new();

	for (size_t i = 0; i < q->pod.n_containers; i++) {
		const struct kubelet_placement anywhere = {.hint.any_node = true};
		const struct kubelet_placement *p = i < v->n_placements ? &v->placements[i] : &anywhere;
		struct container_report *c =
			vec_push(&n->containers, &n->n_containers, &n->containers_size, sizeof(*c));

		hwloc_bitmap_zero(set);
		if (p->cpus)
			cpu_set_to_bitmap(&q->admission.kubelet.topology, p->cpus, set);
		c->name = xstrdup(q->pod.containers[i].name);
		c->cpus = cpuset_print(set);
		c->hint = p->hint;
		c->memory_nodes = p->memory_nodes;
		c->aligned = is_aligned(q, i, c);
	}
}

/* Both amounts of the resource in the format of the pod's request. */
static void print_shortage(const struct question *q, const char *name, const struct kubelet_verdict *v,
	char wanted[QUANTITY_TEXT_MAX], char free[QUANTITY_TEXT_MAX])
{
	const struct resource_quantity *request = resource_list_find(&q->report->wanted, name);
	enum quantity_format format = request ? request->quantity.format : QUANTITY_DECIMAL_SI;

	quantity_print((struct quantity){.nano = v->wanted, .format = format}, wanted);
	quantity_print((struct quantity){.nano = v->free, .format = format}, free);
}

/* Why `pod` is rejected: q->pod, or the same pod with smaller amounts. In scope pod an affinity error concerns all containers: none is named. */
static void print_rejection(const struct question *q, const struct pod_request *pod,
	const struct kubelet_verdict *v, struct err *ret)
{
	bool whole_pod = q->admission.settings.topology.scope == TOPOLOGY_SCOPE_POD &&
			 v->rejection == KUBELET_TOPOLOGY_AFFINITY;
	char wanted[QUANTITY_TEXT_MAX], free[QUANTITY_TEXT_MAX];

	if (v->managers_answer == KUBELET_REJECTS) {
		*ret = v->reason;
		if (pod->n_containers > 1 && v->container < pod->n_containers && !whole_pod)
			err_wrap(ret, 0, "container '%.60s'", pod->containers[v->container].name);
		return;
	}
	print_shortage(q, v->short_of, v, wanted, free);
	err_set(ret, 0, "%.60s: %s wanted, the node has at most %s left", v->short_of, wanted, free);
}

static void explain_rejection(struct question *q, const struct kubelet_verdict *v, struct node_report *n)
{
	n->node_is_short = v->short_of != NULL;
	/* The managers are asked first. If their verdict is unknown, the reason in the pod's status is, too. */
	if (v->managers_answer == KUBELET_REJECTS)
		n->rejection = xstrdup(kubelet_rejection_names[v->rejection]);
	else if (v->managers_answer == KUBELET_UNKNOWN || v->other_may_be_short)
		n->rejection = xstrdup("");
	else
		n->rejection = xasprintf("OutOf%.50s", v->short_of);
	print_rejection(q, &q->pod, v, &q->reason);
}

static void explain_unsure(struct question *q, const struct kubelet_verdict *v)
{
	char wanted[QUANTITY_TEXT_MAX], free[QUANTITY_TEXT_MAX];

	print_shortage(q, v->unsure_of, v, wanted, free);
	err_set(&q->reason, 0,
		"%.60s: %s wanted, the node has %s left or more: the kubelet may not count all that init containers and resized containers hold",
		v->unsure_of, wanted, free);
}

/* No smaller amounts are known to fit: sets n->obstacle, unless the reason suffices. `none_left`: the reason is that nothing is left. */
static void set_obstacle(struct question *q, bool none_left, struct node_report *n)
{
	CLEANUP(pod_request_release) struct pod_request smallest = {0};
	struct kubelet_verdict v;
	struct err why = {""};

	if (none_left) {
		n->nearest.complete = true;
		return;
	}
	pod_request_copy(&q->pod, &smallest);
	nearest_request_shrink(&q->admission.handlers, &smallest, q->report->qos);
	node_admission_judge(&q->admission, &smallest, &v);
	if (v.answer != KUBELET_REJECTS)
		return;
	print_rejection(q, &smallest, &v, &why);
	if (strcmp(q->reason.text, why.text) != 0)
		n->obstacle = xstrdup(why.text);
}

/* Whether the kubelet would admit the pod under topologyManagerScope pod. */
static bool fits_in_scope_pod(struct question *q)
{
	const struct topology_manager_config config = q->admission.settings.topology;
	struct topology_manager_config in_pod = config;
	struct kubelet_verdict v;

	in_pod.scope = TOPOLOGY_SCOPE_POD;
	node_admission_what_if(&q->admission, &in_pod);
	node_admission_judge(&q->admission, &q->pod, &v);
	node_admission_what_if(&q->admission, &config);
	return v.answer == KUBELET_ADMITS;
}

static void set_nearest(struct question *q, const struct kubelet_verdict *v, struct node_report *n)
{
	struct nearest_request *nearest = &n->nearest;

	nearest_request_find(&q->admission.handlers, &q->pod, q->report->qos, nearest);
	for (size_t i = 0; i < nearest->n_changes; i++) {
		const struct resource_quantity *wanted =
			resource_list_find(&q->report->wanted, nearest->changes[i].resource);

		/* The name was that of q->pod, which the report outlives. */
		nearest->changes[i].resource = wanted ? wanted->name : "";
	}
	if (!nearest->found)
		set_obstacle(q, v->none_left, n);
	n->fits_in_scope_pod = v->reuses_cpus && fits_in_scope_pod(q);
}

/* ---- the verdicts under each value of an unknown Topology Manager setting */

static const char *const answer_words[] = {[KUBELET_UNKNOWN] = "is not known under",
	[KUBELET_ADMITS] = "fits under",
	[KUBELET_REJECTS] = "does not fit under"};

static enum kubelet_answer judge_under(struct question *q, const struct topology_manager_config *config)
{
	struct kubelet_verdict v;

	node_admission_what_if(&q->admission, config);
	node_admission_judge(&q->admission, &q->pod, &v);
	return v.answer;
}

/* "; fits under none, best-effort; does not fit under restricted, single-numa-node" */
static void print_answers(
	const enum kubelet_answer *answers, const char *const *names, size_t n, struct strbuf *out)
{
	static const enum kubelet_answer order[] = {KUBELET_ADMITS, KUBELET_REJECTS, KUBELET_UNKNOWN};

	for (size_t k = 0; k < ARRAY_SIZE(order); k++) {
		bool first = true;

		for (size_t i = 1; i < n; i++) { /* names[0] is "unknown" */
			if (answers[i] != order[k])
				continue;
			if (first)
				strbuf_addf(out, "; %s ", answer_words[order[k]]);
			strbuf_addf(out, "%s%s", first ? "" : ", ", names[i]);
			first = false;
		}
	}
}

/* The verdict under both scopes, if it is the same. */
static enum kubelet_answer judge_both_scopes(struct question *q, struct topology_manager_config config)
{
	enum kubelet_answer container;

	config.scope = TOPOLOGY_SCOPE_CONTAINER;
	container = judge_under(q, &config);
	config.scope = TOPOLOGY_SCOPE_POD;
	return judge_under(q, &config) == container ? container : KUBELET_UNKNOWN;
}

/*
 * Judges the pod under every policy if the policy is unknown, else under both scopes if the scope is unknown,
 * and adds the verdicts to the reason. True if both scopes agree: later verdicts are then under scope
 * container, the kubelet's default. If false, the admission has the setting that was judged last, and no verdict may follow.
 */
static bool explain_unknown(struct question *q)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(300);
	struct topology_manager_config config = q->admission.settings.topology;
	enum kubelet_answer answers[TOPOLOGY_MANAGER_POLICY_COUNT] = {0};
	bool by_policy = config.policy == TOPOLOGY_MANAGER_UNKNOWN, any_known = false;
	bool by_scope = config.scope == TOPOLOGY_SCOPE_UNKNOWN;
	size_t n = by_policy ? TOPOLOGY_MANAGER_POLICY_COUNT : TOPOLOGY_SCOPE_COUNT;
	struct err unknown = q->reason;

	if (!by_policy && !by_scope)
		return false;
	for (size_t i = 1; i < n; i++) {
		if (by_policy)
			config.policy = (enum topology_manager_policy)i;
		else
			config.scope = (enum topology_manager_scope)i;
		answers[i] = by_policy && by_scope ? judge_both_scopes(q, config) : judge_under(q, &config);
		any_known = any_known || answers[i] != KUBELET_UNKNOWN;
	}
	if (!any_known)
		return false;
	if (!by_policy && answers[TOPOLOGY_SCOPE_CONTAINER] == answers[TOPOLOGY_SCOPE_POD]) {
		config.scope = TOPOLOGY_SCOPE_CONTAINER;
		node_admission_what_if(&q->admission, &config);
		return true;
	}
	print_answers(
		answers, by_policy ? topology_manager_policy_names : topology_manager_scope_names, n, &text);
	err_set(&q->reason, 0, "%.200s%s", unknown.text, text.text);
	return false;
}

/* ---- one node */

/*
 * Whether the managers may decide otherwise about the pod with its devices: a device may send one container elsewhere, which
 * leaves room for another; with its hints the kubelet may crash or hang, or no longer do so.
 */
static bool devices_may_help(
	const struct question *q, const struct kubelet_verdict *v, const struct node_report *n)
{
	bool fails = v->rejection == KUBELET_HANGS || v->rejection == KUBELET_PANICS;

	if (n->unchecked.n_items == 0 || v->answer != KUBELET_REJECTS)
		return false;
	/* The hints are merged before anything is found to be short. */
	if (topology_may_panic(&q->admission.kubelet.rules))
		return true;
	if (v->short_of) /* whatever devices the pod gets */
		return false;
	if (q->pod.n_containers > 1 && q->admission.settings.topology.scope != TOPOLOGY_SCOPE_POD)
		return true;
	/* panics: the kubelet panics for every pod. */
	return fails && !q->admission.kubelet.panics.text[0];
}

/* Judges the pod, and sets q->reason of an unknown verdict. If the scope is unknown and both scopes agree, the verdict is that of both. */
static void judge_or_explain(struct question *q, struct kubelet_verdict *ret)
{
	node_admission_judge(&q->admission, &q->pod, ret);
	if (ret->answer != KUBELET_UNKNOWN)
		return;
	q->reason = ret->reason;
	if (ret->unsure_of)
		explain_unsure(q, ret);
	if (!explain_unknown(q))
		return;
	/* Both scopes agree, and q->admission has one of them now. */
	q->reason = (struct err){""};
	node_admission_judge(&q->admission, &q->pod, ret);
	if (ret->unsure_of)
		explain_unsure(q, ret);
}

static void judge_pod(struct question *q, struct node_report *n)
{
	CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT(1024);
	struct kubelet_verdict v;

	judge_or_explain(q, &v);
	n->answer = v.answer;
	n->time = v.time;
	if (n->missing) {
		/*
		 * No scheduler sends the pod here; the kubelet itself ignores a resource that it does not
		 * know.
		 */
		n->answer = KUBELET_REJECTS;
		n->node_is_short = true;
		err_set(&q->reason, 0, "this node has no %.100s", n->missing);
		return;
	}
	if (devices_may_help(q, &v, n)) {
		n->answer = KUBELET_UNKNOWN;
		err_set(&q->reason, 0,
			"the free devices are unknown; without %.100s the pod does not fit: %.300s",
			n->unchecked.items[0], v.reason.text);
	} else if (v.answer == KUBELET_REJECTS) {
		explain_rejection(q, &v, n);
		if (q->parts & REPORT_NEAREST)
			set_nearest(q, &v, n);
	}
	if (n->answer != KUBELET_ADMITS)
		return;
	if (q->parts & REPORT_PLACEMENTS)
		add_placements(q, &v, n);
	if (q->parts & REPORT_COPIES)
		admit_copies(&q->admission.handlers, &q->pod, q->report->qos, &n->copies);
	if (n->unchecked.n_items > 0) {
		n->answer = KUBELET_UNKNOWN;
		n->rest_fits = true;
		strbuf_add_list(&names, &n->unchecked, 3);
		err_set(&q->reason, 0, "the free devices are unknown; without %.300s the pod fits",
			names.text);
	}
}

/* Whether the same number of other NUMA nodes are certainly closer to each other. */
static bool is_remote(const struct inventory *inv, const struct distances *d, uint64_t ids)
{
	uint64_t set = 0; /* of positions in the inventory */
	unsigned n = node_mask_count(ids);

	for (size_t i = 0; i < inv->n_nodes; i++)
		if (inv->nodes[i].id <= NODE_MASK_MAX_ID && (ids & node_mask_of(inv->nodes[i].id)))
			set |= (uint64_t)1 << i;
	if (n < 2 || node_mask_count(set) != n)
		return false;
	/* high: the least sum of a set of this size is at most this. */
	return distances_capped(distances_sum(d, set), n) > d->high[n];
}

static void mark_remote(struct pod_report *r, const struct inventory *inv, struct node_report *n)
{
	struct distances *distances;
	bool any = false;

	for (size_t i = 0; i < n->n_containers; i++)
		any |= n->containers[i].aligned && node_mask_count(n->containers[i].hint.nodes) > 1;
	if (!any || distances_keep(&r->kept, inv->costs, inv->n_nodes, &distances) < 0)
		return;
	distances_find_sums(distances);
	for (size_t i = 0; i < n->n_containers; i++) {
		struct container_report *c = &n->containers[i];

		c->remote = c->aligned && is_remote(inv, distances, c->hint.nodes);
	}
}

void scheduler_report_make(struct pod_report *r, const struct inventory *inv, const struct pod_request *pod,
	const struct topology_manager_config *config, const struct resource_weights *weights,
	struct scheduler_report *ret)
{
	CLEANUP(request_plan_release) struct request_plan plan = {0};
	CLEANUP(fit_space_release) struct fit_space space = {0};
	struct distances *distances;
	struct filter_result filter;

	if (distances_keep(&r->kept, inv->costs, inv->n_nodes, &distances) < 0 ||
		fit_space_init(&space, inv, distances) < 0)
		return;
	request_plan_init(&plan, pod);
	ret->known = true;
	ret->bound = !fit_is_not_numa(&space, &plan.effective);
	ret->fit = fit_required(&space, plan.qos, &plan.effective);
	for (uint64_t left = ret->fit.verdict == FIT_FOUND ? ret->fit.nodes : 0; left; left &= left - 1)
		ret->numa |= node_mask_of(inv->nodes[__builtin_ctzll(left)].id);
	filter = filter_pod(&space, &plan, config, NULL);
	ret->passes = filter.verdict == FILTER_PASS;
	text_set(&ret->filter_reason, filter.reason);
	text_set(&ret->filter_detail, filter.detail[0] ? filter.detail : filter.reason);
	for (enum strategy s = 0; s < STRATEGY_COUNT; s++)
		ret->scores[s] = strategy_score(&space, &plan, config, s, weights);
}

/* With the configuration that nrtd publishes for the node. */
static void ask_scheduler(struct pod_report *r, const struct node_state *node, const struct pod_request *pod,
	struct scheduler_report *ret)
{
	const struct inventory *inv = &node->inventory;
	struct topology_manager_config config = node->settings.topology;
	unsigned last = inv->n_nodes > 0 ? inv->nodes[inv->n_nodes - 1].id : 0;

	if (inv->n_nodes == 0 || last > NRT_MAX_NODE_ID)
		return;
	config.max_numa_nodes = nrt_max_numa_nodes(&node->settings, last + 1);
	scheduler_report_make(r, inv, pod, &config, NULL, ret);
}

/* Whether the kubelet admits the pod although its NUMA nodes are not preferred. Only the policy best-effort does. */
static bool is_not_preferred(const struct settings *settings, const struct node_report *n)
{
	bool found = false;

	for (size_t i = 0; i < n->n_containers; i++)
		found |= n->containers[i].aligned && !n->containers[i].hint.preferred;
	return found && settings->topology.policy == TOPOLOGY_MANAGER_BEST_EFFORT;
}

/* Of an admitted pod. */
static void add_cautions(const struct pod_report *r, const struct settings *settings, struct node_report *n)
{
	CLEANUP(freep) char *nodes = NULL;
	char text[NODE_MASK_TEXT_MAX];
	bool requests_pages = false;

	for (size_t i = 0; i < r->wanted.n_items; i++)
		requests_pages |= resource_name_is_hugepages(r->wanted.items[i].name);
	n->not_preferred = is_not_preferred(settings, n);
	if (n->not_preferred) {
		node_mask_print(node_report_numa(n), text);
		nodes = xasprintf("not aligned: NUMA nodes %s are not preferred", text);
		strv_push(&n->cautions, nodes);
	}
	if (r->exclusive_cpus > 0 && settings->cpu_manager == CPU_MANAGER_NONE)
		strv_push(&n->cautions, "no exclusive CPUs: cpuManagerPolicy is none");
	if (requests_pages && settings->memory_manager == MEMORY_MANAGER_NONE)
		strv_push(&n->cautions, "hugepages may be on any NUMA node: memoryManagerPolicy is None");
	else if (requests_pages && r->qos != QOS_GUARANTEED)
		strv_push(&n->cautions, "hugepages may be on any NUMA node: the pod is not Guaranteed");
}

/* The time is not said twice: KUBELET_TOO_SLOW has it in the reason. */
static char *explain_time(const struct node_report *n)
{
	char time[40] = "", cause[80] = "";

	if (n->time.ns < KUBELET_TIME_NOTICE ||
		!strcmp(n->rejection, kubelet_rejection_names[KUBELET_TOO_SLOW]))
		return xstrdup("");
	kubelet_time_print(n->time, time, sizeof(time));
	kubelet_time_print_cause(n->time, cause, sizeof(cause));
	return xasprintf("the kubelet needs about %s for this pod: it %s", time, cause);
}

void node_report_make(struct pod_report *r, const struct node_state *node, unsigned parts,
	const struct resource_list *requestable, struct node_report *ret)
{
	CLEANUP(question_release) struct question q = {.report = r, .parts = parts};

	*ret = (struct node_report){.topology = node->settings.topology};
	node_admission_init(&q.admission, node);
	if (requestable)
		node_admission_limit(&q.admission, requestable);
	copy_pod(&q.admission, r, &q.pod, ret);
	judge_pod(&q, ret);
	ret->kubelet_answer = ret->answer;
	ret->reason = xstrdup(q.reason.text);
	if (ret->answer == KUBELET_ADMITS) {
		ret->pci_pair = pci_pair_find(node, &r->wanted);
		add_cautions(r, &node->settings, ret);
	}
	kubelet_release_caution(settings_kubelet(&node->settings), &ret->release);
	if (!ret->rejection)
		ret->rejection = xstrdup("");
	ret->slow = explain_time(ret);
	if (parts & REPORT_SCHEDULER)
		ask_scheduler(r, node, &q.pod, &ret->scheduler);
	mark_remote(r, &node->inventory, ret);
}

void node_report_add_victims(const struct node_state *node, const struct pod_request *pod,
	const struct victim_pods *pods, struct node_report *n)
{
	if (n->kubelet_answer == KUBELET_REJECTS && !n->missing && !n->full)
		victims_find(node, pod, pods, &n->victims);
	else if (n->missing)
		n->victims.answer = VICTIMS_NO_SET;
	else if (n->kubelet_answer == KUBELET_ADMITS)
		n->victims.answer = VICTIMS_NOTHING;
	else
		n->victims.answer = VICTIMS_UNKNOWN;
}

uint64_t node_report_numa(const struct node_report *n)
{
	uint64_t ids = 0;

	for (size_t i = 0; i < n->n_containers; i++)
		if (n->containers[i].aligned)
			ids |= n->containers[i].hint.nodes;
	return ids;
}

const struct admit_copies *node_report_copies(const struct node_report *n)
{
	static const struct admit_copies none = {0};

	return n->answer == KUBELET_ADMITS ? &n->copies : &none;
}

bool pod_report_has_copies(const struct pod_report *r, const struct node_report *n)
{
	return node_report_copies(n)->n >= r->min_copies;
}

size_t pod_report_count_with_copies(const struct pod_report *r, bool *ret_unknown)
{
	size_t count = 0;

	*ret_unknown = false;
	for (size_t i = 0; i < r->n_nodes; i++) {
		const struct node_report *n = &r->nodes[i];

		if (pod_report_has_copies(r, n))
			count++;
		else if (n->answer == KUBELET_UNKNOWN || node_report_copies(n)->at_least)
			*ret_unknown = true;
	}
	return count;
}

/* ---- the nodes of a cluster */

/* Replaces a verdict that is not a rejection. */
static void reject(struct node_report *n, const char *rejection, const char *reason)
{
	n->answer = KUBELET_REJECTS;
	n->node_is_short = true;
	n->rest_fits = false;
	n->not_preferred = false;
	n->copies = (struct admit_copies){0};
	release_containers(n);
	text_set(&n->rejection, rejection);
	text_set(&n->reason, reason);
}

/* The node's limit of the number of pods. */
static void apply_pod_limit(const struct resource_list *requestable, struct node_report *n)
{
	const struct resource_quantity *pods = resource_list_find(requestable, "pods");
	size_t room = pods ? (size_t)(pods->quantity.nano / QTY_UNIT) : SIZE_MAX;

	if (n->answer == KUBELET_REJECTS)
		return;
	if (room == 0) {
		reject(n, "OutOfpods", "the node has reached its maximum number of pods");
		n->full = true;
		n->kubelet_answer = KUBELET_REJECTS;
	} else if (n->copies.n > room) {
		n->copies = (struct admit_copies){.n = room};
	}
}

static void apply_constraints(const struct scheduling_constraints *sc, struct node_report *n)
{
	const char *violated = sc ? scheduling_constraints_violated_by_first(sc, n->name) : "";

	if (sc && n->copies.n > 0 && copies_placement_one_per_node(sc, n->name))
		n->copies = (struct admit_copies){.n = 1};
	if (!sc || scheduling_constraints_allow_any(sc, n->name))
		n->placeable = node_report_copies(n)->n;
	if (!*violated)
		return;
	if (n->answer == KUBELET_REJECTS) {
		char *kubelet = n->reason;

		n->reason = xasprintf("%s; schedulers exclude the node: %s", kubelet, violated);
		free(kubelet);
		return;
	}
	reject(n, "Unschedulable", violated);
	n->unschedulable = true;
}

/* Rejects a pod that the kubelet might not admit beside the in-flight pods. To pods that are not aligned the kubelet assigns nothing. */
static void apply_in_flight(struct pod_report *r, struct projected_node *projected, struct node_report *n)
{
	bool admits = true;

	if (n->answer == KUBELET_REJECTS || !r->class->aligned)
		return;
	if (projected->reserved) {
		reject(n, "Unschedulable", PROJECTED_RESERVED);
	} else if (node_report_numa(n)) {
		in_flight_admit(&projected->in_flight, r->class, &r->projections.work, &admits);
		if (!admits)
			reject(n, "Unschedulable",
				projected->is_outdated ? PROJECTED_OUTDATED : PROJECTED_ORDER);
	}
	n->unschedulable = n->answer == KUBELET_REJECTS; /* rejected above */
}

/* Nothing says whether the object's amounts already count some pods. If the pod fits only in this case, there is no verdict. */
static void apply_unknown_pods(struct pod_report *r, const struct node_info *node,
	const struct resource_list *requestable, struct node_report *n)
{
	CLEANUP(node_report_release) struct node_report counted;

	node_report_make(r, &node->object.state, 0, requestable, &counted);
	if (counted.answer == KUBELET_REJECTS)
		return;
	n->answer = n->kubelet_answer = KUBELET_UNKNOWN;
	n->unschedulable = false;
	n->nearest = (struct nearest_request){0};
	text_set(&n->rejection, "");
	free(n->reason);
	n->reason = xasprintf(
		"fits only if the object's amounts already count %zu running pod%s: the object has no time of its last "
		"write (kubectl get --show-managed-fields)",
		n->n_unknown, n->n_unknown == 1 ? "" : "s");
}

static void judge_node(
	struct pod_report *r, const struct node_info *node, unsigned parts, struct node_report *n)
{
	CLEANUP(resource_list_release) struct resource_list requestable = {0};
	struct projected_node *projected;
	const struct node_state *state = project_node_state(&r->projections, node, &projected);

	if (node->has_node)
		node_info_requestable(node, NULL, &requestable);
	r->judged = node;
	node_report_make(r, state, parts, node->has_node ? &requestable : NULL, n);
	n->n_reserved = node_info_count_reserved(node);
	n->n_unreported = projected ? projected->n_unreported : 0;
	n->n_unknown = projected ? projected->n_unknown : 0;
	if (node->has_node)
		apply_pod_limit(&requestable, n);
	if (r->critical && !strncmp(n->rejection, "OutOf", strlen("OutOf"))) {
		CLEANUP(freep) char *reason = n->reason;

		n->reason = xasprintf(
			"%s; for a critical pod the kubelet evicts pods of lower priority instead", reason);
	}
	if (projected)
		apply_in_flight(r, projected, n);
	if (n->n_unknown > 0 && n->answer == KUBELET_REJECTS)
		apply_unknown_pods(r, node, node->has_node ? &requestable : NULL, n);
}

struct node_report *pod_report_add(struct pod_report *r, const struct node_info *node, unsigned parts)
{
	struct node_report *n = vec_push(&r->nodes, &r->n_nodes, &r->nodes_size, sizeof(*n));
	const struct cluster_node *object = &node->object;

	if (project_node_possible(node))
		judge_node(r, node, parts, n);
	else
		*n = (struct node_report){.topology = object->state.settings.topology,
			.rejection = xstrdup(""),
			.reason = xstrdup(object->why.text)};
	n->basis = n->answer == KUBELET_UNKNOWN ? CLUSTER_UNKNOWN : object->basis;
	text_set(&n->name, node->name);
	text_set(&n->exporter, object->exporter);
	text_set(&n->why, object->why.text);
	apply_constraints(r->constraints, n);
	r->n_admit += n->answer == KUBELET_ADMITS;
	r->n_unknown += n->answer == KUBELET_UNKNOWN;
	r->n_estimated += n->basis == CLUSTER_ESTIMATED;
	r->at_least = r->at_least || node_report_copies(n)->at_least || n->answer == KUBELET_UNKNOWN;
	return n;
}

static int compare_node_reports(const void *va, const void *vb)
{
	static const int order[KUBELET_ANSWER_COUNT] = {
		[KUBELET_ADMITS] = 0, [KUBELET_UNKNOWN] = 1, [KUBELET_REJECTS] = 2};
	const struct node_report *a = va, *b = vb;
	size_t of_a = node_report_copies(a)->n, of_b = node_report_copies(b)->n;

	if (a->answer != b->answer)
		return order[a->answer] - order[b->answer];
	if (a->not_preferred != b->not_preferred)
		return a->not_preferred ? 1 : -1;
	if (a->pci_pair != b->pci_pair)
		return a->pci_pair > b->pci_pair ? -1 : 1;
	if (of_a != of_b)
		return of_a > of_b ? -1 : 1;
	return text_compare_numbered(a->name, b->name);
}

void pod_report_place(struct pod_report *r, size_t replicas)
{
	CLEANUP(freep) struct copies_node *nodes = xcalloc(r->n_nodes + 1, sizeof(*nodes));
	struct scheduling_constraints none = {0};
	bool complete;

	if (r->n_nodes > 1)
		qsort(r->nodes, r->n_nodes, sizeof(*r->nodes), compare_node_reports);
	for (size_t i = 0; i < r->n_nodes; i++)
		nodes[i] = (struct copies_node){.name = r->nodes[i].name, .admitted = r->nodes[i].placeable};
	copies_placement_find(
		r->constraints ? r->constraints : &none, nodes, r->n_nodes, replicas, &complete);
	r->at_least = r->at_least || !complete;
	r->wanted_replicas = replicas;
	r->placed_replicas = r->copies = 0;
	for (size_t i = 0; i < r->n_nodes; i++) {
		r->nodes[i].replicas = nodes[i].replicas;
		r->placed_replicas += nodes[i].replicas;
		r->copies += nodes[i].placed;
	}
}

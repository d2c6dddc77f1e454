/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/extender_cluster.h"

#include "agent/render/render.h"
#include "common/cleanup.h"
#include "common/io/time.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "scoring/node/node_admission.h"
#include "tests/lib/pods.h"
#include "tests/lib/test.h"

const struct verb_config answer_best = {.strategy = STRATEGY_LEAST_NUMA_NODES};
const struct verb_config answer_all = {.strategy = STRATEGY_LEAST_NUMA_NODES, .all = true};

static const struct cluster_config cluster_config = {.assume_ms = 60000, .rejection_ms = 30000};

void extender_cluster_draw(struct node_sim_setup setups[CLUSTER_NODES], const struct synthetic *machines,
	size_t n_machines, uint64_t *seed)
{
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		setups[i] = (struct node_sim_setup){.machine = machines[test_random(seed) % n_machines],
			.policy = test_random(seed) % 2 ? TOPOLOGY_MANAGER_RESTRICTED
							: TOPOLOGY_MANAGER_SINGLE_NUMA_NODE,
			.scope = test_random(seed) % 2 ? TOPOLOGY_SCOPE_POD : TOPOLOGY_SCOPE_CONTAINER,
			.full_pcpus_only = test_random(seed) % 4 == 0,
			.memory_static = test_random(seed) % 2,
			.pages_1gi = 1,
			.nics = 2,
			.near = 1};
}

/* The CPUs and the memory that the node has for pods, before the first pod. */
static void set_allocatable(struct extender_cluster *c, size_t node)
{
	static const char *const names[] = {"cpu", "memory"};
	CLEANUP(node_admission_release) struct node_admission admission = {0};

	node_admission_init(&admission, &c->sims[node].state);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct resource_quantity *free = resource_list_find(&admission.free, names[i]);

		if (free)
			resource_list_set(&c->allocatable[node], names[i], free->quantity);
	}
}

void extender_cluster_init(
	struct extender_cluster *c, const struct node_sim_setup setups[CLUSTER_NODES], uint64_t seed)
{
	*c = (struct extender_cluster){.seed = seed};
	cluster_init(&c->cluster, &cluster_config);
	verdicts_init(&c->verdicts, &c->cluster);
	for (size_t i = 0; i < CLUSTER_NODES; i++) {
		node_sim_init(&c->sims[i], &setups[i]);
		snprintf(c->names[i], sizeof(c->names[i]), "node-%zu", i);
		c->requested[i] = c->names[i];
		text_set(&c->sims[i].state.node_name, c->names[i]);
		set_allocatable(c, i);
	}
}

void extender_cluster_init_alike(struct extender_cluster *c, const struct node_sim_setup *setup)
{
	struct node_sim_setup setups[CLUSTER_NODES];

	for (size_t i = 0; i < CLUSTER_NODES; i++)
		setups[i] = *setup;
	extender_cluster_init(c, setups, 1);
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		extender_cluster_publish(c, i, 0);
}

void extender_cluster_release(struct extender_cluster *c)
{
	verdicts_release(&c->verdicts);
	cluster_release(&c->cluster);
	for (size_t i = 0; i < CLUSTER_NODES; i++) {
		node_sim_release(&c->sims[i]);
		doc_release(&c->reservations[i]);
		resource_list_release(&c->allocatable[i]);
	}
}

void extender_cluster_nrt(const struct extender_cluster *c, size_t node, struct doc *ret)
{
	static const struct nrt_config nrt = {.node_state = true};

	*ret = (struct doc)DOC_INIT;
	nrt_render(&c->sims[node].state, &nrt, ret, NULL);
}

void extender_cluster_publish(struct extender_cluster *c, size_t node, uint64_t now_ms)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	struct err err = {""};

	extender_cluster_nrt(c, node, &object);
	if (cluster_update(&c->cluster, OBJECT_NRT, &object, now_ms, &err) < 0)
		fail_msg("%s", err.text);
}

void extender_cluster_node(const struct extender_cluster *c, size_t node, struct doc *ret)
{
	struct doc *allocatable, *metadata, *annotations;

	*ret = (struct doc){.kind = DOC_MAP};
	metadata = doc_add_map(ret, "metadata");
	doc_add_string(metadata, "name", c->names[node]);
	annotations = doc_add_map(metadata, "annotations");
	for (size_t i = 0; i < c->reservations[node].n_items; i++)
		doc_copy_member(&c->reservations[node], c->reservations[node].items[i].key, annotations);
	allocatable = doc_add_map(doc_add_map(ret, "status"), "allocatable");
	for (size_t i = 0; i < c->allocatable[node].n_items; i++) {
		const struct resource_quantity *item = &c->allocatable[node].items[i];
		char text[QUANTITY_TEXT_MAX];

		quantity_print(item->quantity, text);
		assert_non_null(doc_add_string(allocatable, item->name, text));
	}
}

void extender_cluster_report_node(struct extender_cluster *c, size_t node)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	struct err err = {""};

	extender_cluster_node(c, node, &object);
	if (cluster_update(&c->cluster, OBJECT_NODE, &object, 0, &err) < 0)
		fail_msg("%s", err.text);
}

/* ---- pods as objects */

static void add_resources(struct doc *container, const struct resource_list *list)
{
	struct doc *resources = doc_add_map(container, "resources");
	static const char *const kinds[] = {"requests", "limits"};

	for (size_t k = 0; k < 2; k++) {
		struct doc *to = doc_add_map(resources, kinds[k]);

		for (size_t i = 0; i < list->n_items; i++) {
			char text[QUANTITY_TEXT_MAX];

			quantity_print(list->items[i].quantity, text);
			doc_add_string(to, list->items[i].name, text);
		}
	}
}

/* `node` NULL = not bound; `phase` NULL = "Pending". */
static void pod_object(
	const struct cluster_pod_sim *pod, const char *node, const char *phase, struct doc *ret)
{
	CLEANUP(pod_request_release) struct pod_request request;
	struct doc *metadata, *spec, *status;

	pod_from_text(&request, pod->text);
	*ret = (struct doc){.kind = DOC_MAP};
	metadata = doc_add_map(ret, "metadata");
	doc_add_string(metadata, "name", pod->name);
	doc_add_string(metadata, "namespace", "default");
	doc_add_string(metadata, "uid", pod->name);
	if (pod->created_s > 0) {
		char text[TIMESTAMP_MICRO_MAX];

		timestamp_print_micro(pod->created_s * 1000000, text);
		doc_add_string(metadata, "creationTimestamp", text);
	}
	if (pod->controller) {
		struct doc *owner = doc_add_map(doc_add_list(metadata, "ownerReferences"), NULL);

		doc_add_string(owner, "uid", pod->controller);
		doc_add_bool(owner, "controller", true);
	}
	if (pod->app)
		doc_add_string(doc_add_map(metadata, "labels"), "app", pod->app);
	spec = doc_add_map(ret, "spec");
	doc_add_number(spec, "priority", pod->priority);
	if (node)
		doc_add_string(spec, "nodeName", node);
	if (pod->repels)
		doc_add_map(doc_add_map(spec, "affinity"), "podAntiAffinity");
	if (pod->gang)
		doc_add_string(doc_add_map(spec, "schedulingGroup"), "podGroupName", pod->gang);
	for (int init = 1; init >= 0; init--) {
		struct doc *list = doc_add_list(spec, init ? "initContainers" : "containers");

		for (size_t i = 0; i < request.n_containers; i++) {
			const struct container_request *r = &request.containers[i];
			struct doc *container;

			if ((r->kind != CONTAINER_APP) != init)
				continue;
			container = doc_add_map(list, NULL);
			doc_add_string(container, "name", r->name);
			if (r->kind == CONTAINER_SIDECAR)
				doc_add_string(container, "restartPolicy", "Always");
			add_resources(container, &r->requests);
		}
	}
	status = doc_add_map(ret, "status");
	assert_non_null(doc_add_string(status, "phase", phase ? phase : "Pending"));
	if (phase && !strcmp(phase, "Failed"))
		assert_non_null(doc_add_string(
			status, "reason", pod->reason ? pod->reason : "TopologyAffinityError"));
}

void extender_cluster_pod_object(const struct extender_cluster *c, const struct cluster_pod_sim *pod,
	const char *phase, struct doc *ret)
{
	pod_object(pod, c->names[pod->node], phase, ret);
}

void extender_cluster_report(
	struct extender_cluster *c, struct cluster_pod_sim *pod, const char *phase, uint64_t now_ms)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	struct err err = {""};

	extender_cluster_pod_object(c, pod, phase, &object);
	if (cluster_update(&c->cluster, OBJECT_POD, &object, now_ms, &err) < 0)
		fail_msg("%s", err.text);
	pod->reported = true;
	pod->runs = phase && !strcmp(phase, "Running");
}

void extender_cluster_report_deleted(
	struct extender_cluster *c, const struct cluster_pod_sim *pod, uint64_t now_ms)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;

	pod_object(pod, c->names[pod->node], NULL, &object);
	cluster_delete(&c->cluster, OBJECT_POD, &object, now_ms);
}

static void list_nodes(struct extender_cluster *c)
{
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		extender_cluster_report_node(c, i);
}

static void list_objects(struct extender_cluster *c)
{
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		extender_cluster_publish(c, i, 0);
}

static void list_pods(struct extender_cluster *c)
{
	cluster_list_begin(&c->cluster, OBJECT_POD);
	for (size_t i = c->n_pods; i > 0; i--)
		if (c->pods[i - 1].reported && !c->pods[i - 1].ended)
			extender_cluster_report(
				c, &c->pods[i - 1], c->pods[i - 1].runs ? "Running" : NULL, 0);
	cluster_list_end(&c->cluster, OBJECT_POD, 0, 0);
}

void extender_cluster_restart(struct extender_cluster *c, unsigned order)
{
	static void (*const lists[CLUSTER_ORDERS][3])(struct extender_cluster *) = {
		{list_nodes, list_objects, list_pods}, {list_nodes, list_pods, list_objects},
		{list_objects, list_nodes, list_pods}, {list_objects, list_pods, list_nodes},
		{list_pods, list_nodes, list_objects}, {list_pods, list_objects, list_nodes}};

	verdicts_release(&c->verdicts);
	cluster_release(&c->cluster);
	cluster_init(&c->cluster, &cluster_config);
	verdicts_init(&c->verdicts, &c->cluster);
	for (size_t i = 0; i < 3; i++)
		lists[order][i](c);
}

void extender_cluster_reserve(struct extender_cluster *c, size_t node, const struct reservation *reservation,
	const struct cluster_pod_sim *pod)
{
	CLEANUP(freep) char *key = xasprintf("%s%s", RESERVATION_PREFIX, reservation->id);
	CLEANUP(strbuf_release) struct strbuf value = STRBUF_INIT(RESERVATION_TEXT_MAX);
	CLEANUP(doc_release) struct doc object = DOC_INIT, rest = {.kind = DOC_MAP};

	for (size_t i = 0; i < c->reservations[node].n_items; i++)
		if (strcmp(c->reservations[node].items[i].key, key) != 0)
			doc_copy_member(&c->reservations[node], c->reservations[node].items[i].key, &rest);
	if (pod) {
		pod_object(pod, NULL, NULL, &object);
		assert_int_equal(reservation_print(reservation, &object, &value), 0);
		doc_add_string(&rest, key, value.text);
	}
	doc_release(&c->reservations[node]);
	c->reservations[node] = rest;
	rest = (struct doc)DOC_INIT;
	extender_cluster_report_node(c, node);
}

struct cluster_pod_sim *extender_cluster_pod(struct extender_cluster *c, const char *text)
{
	struct cluster_pod_sim *pod = &c->pods[c->n_pods];

	assert_true(c->n_pods < CLUSTER_PODS);
	*pod = (struct cluster_pod_sim){.text = text};
	snprintf(pod->name, sizeof(pod->name), "p%zu", c->n_pods++);
	return pod;
}

bool extender_cluster_begin(struct extender_cluster *c, struct cluster_pod_sim *pod, size_t node)
{
	pod->node = node;
	pod->begun = true;
	c->sims[node].n_begun = (unsigned)(pod - c->pods); /* node_sim names the pod by n_begun */
	return node_sim_begin(&c->sims[node], pod->text);
}

/* ---- requests */

void extender_cluster_args(
	struct extender_cluster *c, const struct cluster_pod_sim *pod, struct extender_args *ret)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	CLEANUP(pod_templates_release) struct pod_templates templates = {0};
	struct err err = {""};

	pod_object(pod, NULL, NULL, &object);
	assert_non_null(doc_add_string(&object, "kind", "Pod"));
	if (pod_templates_from_doc(&object, &templates, &err) < 0)
		fail_msg("%s", err.text);
	*ret = (struct extender_args){.names = c->requested, .n_names = CLUSTER_NODES};
	ret->pod.arrival = pod->arrival;
	ret->pod.uid = strdup(pod->name);
	ret->pod.namespace = strdup("default");
	ret->pod.name = strdup(pod->name);
	ret->pod.controller = strdup(pod->controller ? pod->controller : "");
	ret->pod.gang = strdup(pod->gang ? pod->gang : "");
	ret->pod.nominated = strdup(pod->nominated ? pod->nominated : "");
	ret->pod.priority = pod->priority;
	ret->pod.version = pod->version;
	ret->pod.template = templates.items[0];
	templates.n_items = 0;
}

void extender_cluster_args_release(struct extender_args *args)
{
	free(args->pod.uid);
	free(args->pod.namespace);
	free(args->pod.name);
	free(args->pod.controller);
	free(args->pod.gang);
	free(args->pod.nominated);
	pod_template_release(&args->pod.template);
}

unsigned extender_cluster_ask(struct extender_cluster *c, const struct verb_config *how,
	const struct cluster_pod_sim *pod, uint64_t now_ms)
{
	CLEANUP(extender_cluster_args_release) struct extender_args args;
	struct verb_answer a = {0};
	unsigned passing = 0;

	extender_cluster_args(c, pod, &args);
	extender_filter(&c->verdicts, how, &args, now_ms, &a);
	for (size_t i = 0; i < CLUSTER_NODES; i++)
		passing |= a.failures[i].reason ? 0 : 1u << i;
	verb_answer_release(&a, &c->cluster);
	return passing;
}

bool extender_cluster_admits(const struct extender_cluster *c, size_t node, const char *text)
{
	struct node_admission admission;
	struct pod_request pod;
	struct kubelet_verdict v;

	pod_from_text(&pod, text);
	node_admission_init(&admission, &c->sims[node].state);
	node_admission_judge(&admission, &pod, &v);
	node_admission_release(&admission);
	pod_request_release(&pod);
	return v.answer == KUBELET_ADMITS;
}

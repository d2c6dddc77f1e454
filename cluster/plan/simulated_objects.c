/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The start of a simulated cluster: adds the objects to its model, and reads beside it what only plans depend on.
 */
#include "cluster/plan/simulated_cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/model/named_pods.h"
#include "cluster/model/project_node.h"
#include "cluster/objects/pod_parse.h"
#include "cluster/objects/pod_status.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/node/manager_state.h"

/* ---- Nodes */

size_t simulated_cluster_find(const struct simulated_cluster *c, const char *node)
{
	return name_table_find_index(&c->nodes_by_name, node);
}

static struct simulated_node *find_or_add_node(struct simulated_cluster *c, struct node_info *info)
{
	size_t at = simulated_cluster_find(c, info->name);
	struct simulated_node *n;

	if (at != SIMULATED_NOWHERE)
		return &c->nodes[at];
	n = vec_push(&c->nodes, &c->n_nodes, &c->nodes_size, sizeof(*n));
	*n = (struct simulated_node){.name = info->name, .info = info, .version = ++c->last_version};
	n->node = (struct doc)DOC_INIT;
	allocations_init(&n->state.allocations);
	name_table_add_index(&c->nodes_by_name, n->name, c->n_nodes - 1);
	return n;
}

void simulated_cluster_add_node(struct simulated_cluster *c, struct cluster_node *node)
{
	cluster_set_object(&c->model, node, 0);
}

/* Copies members of a map, as far as the map has them. */
static void copy_members(
	const struct doc *from, const char *const *members, size_t n, struct doc *to, const char *key)
{
	struct doc *map = doc_add_map(to, key);

	for (size_t i = 0; i < n; i++)
		doc_copy_member(from, members[i], map);
}

/* Copies what scheduling constraints depend on. */
static void copy_node(const struct doc *object, struct doc *ret)
{
	static const char *const metadata[] = {"name", "labels"}, *const spec[] = {"taints", "unschedulable"},
				 *const status[] = {"conditions"};

	doc_release(ret);
	*ret = (struct doc){.kind = DOC_MAP};
	copy_members(doc_get(object, "metadata"), metadata, ARRAY_SIZE(metadata), ret, "metadata");
	copy_members(doc_get(object, "spec"), spec, ARRAY_SIZE(spec), ret, "spec");
	copy_members(doc_get(object, "status"), status, ARRAY_SIZE(status), ret, "status");
}

/* ---- Pods */

/* Copies the members of containers on which host ports depend. */
static void copy_containers(const struct doc *spec, const char *list, struct doc *to)
{
	static const char *const members[] = {"ports", "restartPolicy"};
	const struct doc *containers = doc_get(spec, list);
	struct doc *copies = doc_list_items(containers) ? doc_add_list(to, list) : NULL;

	DOC_FOREACH_ITEM (container, containers)
		copy_members(container, members, ARRAY_SIZE(members), copies, NULL);
}

/* Copies what scheduling constraints depend on. nodeName is the first member of the copy's spec; all copies have one name, so that
 * pods with the same constraints have equal copies. */
static void copy_pod(const struct doc *object, const char *namespace, struct doc *ret)
{
	static const char *const members[] = {"nodeSelector", "affinity", "tolerations",
		"topologySpreadConstraints", "hostNetwork", "volumes"};
	const struct doc *metadata = doc_get(object, "metadata"), *spec = doc_get(object, "spec");
	struct doc *copy;

	*ret = (struct doc){.kind = DOC_MAP};
	copy = doc_add_map(ret, "spec");
	doc_add_string(copy, "nodeName", "");
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		doc_copy_member(spec, members[i], copy);
	copy_containers(spec, "containers", copy);
	copy_containers(spec, "initContainers", copy);
	copy = doc_add_map(ret, "metadata");
	doc_add_string(copy, "name", "pod");
	doc_add_string(copy, "namespace", namespace);
	doc_copy_member(metadata, "labels", copy);
	doc_copy_member(metadata, "deletionTimestamp", copy);
}

/* Controllers that create a new pod for one that was evicted. Older objects in files may have no apiVersion. */
static bool recreates(const struct doc *controller)
{
	static const struct {
		const char *group, *kind;
	} known[] = {{"apps/", "ReplicaSet"}, {"apps/", "StatefulSet"}, {"v1", "ReplicationController"},
		{"batch/", "Job"}, {"apps/", "DaemonSet"}, {"apps.kruise.io/", "CloneSet"},
		{"apps.kruise.io/", "StatefulSet"}, {"ray.io/", "RayCluster"},
		{"core.strimzi.io/", "StrimziPodSet"}};
	const char *kind = doc_text(controller, "kind"), *api = doc_text(controller, "apiVersion");

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(kind, known[i].kind) &&
			(!*api || !strncmp(api, known[i].group, strlen(known[i].group))))
			return true;
	return false;
}

/* What cluster-autoscaler, Karpenter and descheduler take as a request to leave the pod alone. */
static bool is_marked(const struct doc *annotations)
{
	const char *safe = doc_text(annotations, "cluster-autoscaler.kubernetes.io/safe-to-evict");
	const char *karpenter = doc_text(annotations, "karpenter.sh/do-not-disrupt");

	return !strcmp(safe, "false") || (*karpenter && strcmp(karpenter, "false") != 0) ||
	       doc_get(annotations, "descheduler.alpha.kubernetes.io/prefer-no-eviction");
}

/* Whether the pod belongs to a gang: of kube-scheduler, Volcano, coscheduling, Kueue, LeaderWorkerSet, JobSet, MPI and other jobs of Kubeflow. */
static bool is_in_gang(const struct doc *object, const struct doc *metadata)
{
	static const char *const labels[] = {"scheduling.x-k8s.io/pod-group",
		"pod-group.scheduling.sigs.k8s.io", "kueue.x-k8s.io/pod-group-name",
		"leaderworkerset.sigs.k8s.io/name", "jobset.sigs.k8s.io/jobset-name",
		"training.kubeflow.org/job-name"};
	bool found = *pod_gang_name(object) ||
		     doc_get(doc_get(metadata, "annotations"), "scheduling.k8s.io/group-name");

	for (size_t i = 0; i < ARRAY_SIZE(labels) && !found; i++)
		found = doc_get(doc_get(metadata, "labels"), labels[i]);
	return found;
}

/* The Job controller removes its own finalizer. */
static bool has_finalizers(const struct doc *finalizers)
{
	DOC_FOREACH_ITEM (finalizer, finalizers) {
		const char *name = doc_string(finalizer);

		if (name && strcmp(name, "batch.kubernetes.io/job-tracking") != 0)
			return true;
	}
	return false;
}

static void read_pod_facts(const struct doc *object, struct simulated_pod *p)
{
	const struct doc *metadata = doc_get(object, "metadata"), *spec = doc_get(object, "spec");
	const struct doc *controller = controller_of(metadata), *gates = doc_get(spec, "schedulingGates");
	const char *kind = doc_text(controller, "kind");
	unsigned volumes = pod_volume_traits(object);

	p->owner = controller ? xasprintf("%s '%s'", kind, doc_text(controller, "name")) : xstrdup("");
	p->controller = xstrdup(controller ? doc_text(controller, "uid") : "");
	p->daemon = !strcmp(kind, "DaemonSet");
	p->uid = xstrdup(doc_text(metadata, "uid"));
	p->names = pod_names_of_object(metadata);
	p->local_storage = volumes & VOLUME_IS_TEMPORARY;
	p->bound_volumes = volumes & VOLUME_LIMITS_NODES;
	p->recreated = recreates(controller);
	p->marked = is_marked(doc_get(metadata, "annotations"));
	p->gang = is_in_gang(object, metadata);
	p->finalizers = has_finalizers(doc_get(metadata, "finalizers"));
	if (doc_int64(doc_get(spec, "terminationGracePeriodSeconds"), &p->grace_s) < 0)
		p->grace_s = POD_GRACE_DEFAULT_S;
	p->responders = doc_list_items(doc_get(spec, "evictionResponders")) != NULL;
	p->terminating = pod_is_terminating(object);
	p->gated = doc_list_items(gates) != NULL;
	p->priority_known = pod_priority_read(object, &p->priority);
	p->created_s = object_created_s(object);
}

static struct simulated_pod *push_pod(struct simulated_cluster *c, const struct doc *object,
	const char *namespace, const char *name, bool added)
{
	CLEANUP(doc_release) struct doc copy = DOC_INIT;
	struct simulated_pod *p = vec_push(&c->pods, &c->n_pods, &c->pods_size, sizeof(*p));

	p->namespace = xstrdup(*namespace ? namespace : "default");
	p->name = xstrdup(name);
	p->scheduler = xstrdup(pod_scheduler_name(object));
	p->added = added;
	p->node = SIMULATED_NOWHERE;
	copy_pod(object, p->namespace, &copy);
	simulated_set_constraints(c, p, &copy);
	return p;
}

/* The class of a pod whose requests cannot be read is that of a pod without requests. */
static void set_class(struct simulated_cluster *c, const struct doc *object, struct simulated_pod *p)
{
	CLEANUP(pod_template_release) struct pod_template template = {0};
	const struct pod_info *info = cluster_find_pod(&c->model, p->key);
	struct err ignored = {""};

	if (info) {
		p->class = info->class;
		p->class->users++;
		return;
	}
	pod_request_init(&template.pod);
	p->unreadable = pod_template_from_pod(object, &template, &ignored) < 0;
	p->class = pod_classes_take(&c->model.classes, &template.pod);
}

/* Adds the pod to the model, and here what only plans depend on. */
static void add_pod_object(struct simulated_cluster *c, struct doc *object, const char *name)
{
	CLEANUP(freep) char *key = pod_key(object);
	struct err unreadable = {""};
	struct simulated_pod *p;

	if (pod_has_ended(object) || name_table_find_index(&c->pods_by_key, key) != SIZE_MAX)
		return;
	p = push_pod(c, object, doc_text(doc_get(object, "metadata"), "namespace"), name, false);
	p->key = TAKE(key);
	name_table_add_index(&c->pods_by_key, p->key, c->n_pods - 1);
	read_pod_facts(object, p);
	p->bound = xstrdup(pod_node_name(object));
	(void)cluster_update(&c->model, OBJECT_POD, object, 0, &unreadable); /* set_class() marks the pod */
	set_class(c, object, p);
}

static int add_node_object(struct simulated_cluster *c, struct doc *object, const char *name, struct err *err)
{
	int r = cluster_update(&c->model, OBJECT_NODE, object, 0, err);

	if (r == 0)
		copy_node(object, &find_or_add_node(c, cluster_find_node(&c->model, name))->node);
	return r;
}

/* A namespace may have more budgets than the model keeps; the Eviction API knows all of them. */
static int add_budget(struct simulated_cluster *c, struct doc *object, struct err *err)
{
	int r = cluster_update(&c->model, OBJECT_PDB, object, 0, err);

	if (r != -EFBIG)
		return r;
	log_warning("PodDisruptionBudget %s", err->text);
	return 0;
}

int simulated_cluster_add_object(
	struct simulated_cluster *c, enum object_kind kind, struct doc *object, struct err *err)
{
	const char *name = doc_text(doc_get(object, "metadata"), "name");

	if (!*name)
		return err_set(err, -EINVAL, "a %s without a name", object_kind_names[kind]);
	if (kind == OBJECT_NODE)
		return add_node_object(c, object, name, err);
	if (kind == OBJECT_PDB)
		return add_budget(c, object, err);
	if (kind == OBJECT_POD)
		add_pod_object(c, object, name);
	return 0;
}

/* ---- the end of the objects */

static int compare_simulated_nodes(const void *va, const void *vb)
{
	const struct simulated_node *a = va, *b = vb;

	return strcmp(a->name, b->name);
}

static enum simulated_obstacle find_obstacle(const struct node_info *info)
{
	if (!info->has_object)
		return SIMULATED_NO_OBJECT;
	if (info->object.basis != CLUSTER_EXACT)
		return SIMULATED_NOT_EXACT;
	return info->has_node ? SIMULATED_NO_OBSTACLE : SIMULATED_NO_NODE;
}

/* Whether nothing but nominations of pods names the node: its Node was deleted, or was not read. */
static bool is_only_nominated(const struct node_info *info)
{
	if (info->has_node || info->has_object)
		return false;
	for (size_t i = 0; i < info->n_pods; i++)
		if (!info->pods[i]->is_reservation)
			return false;
	return true;
}

/* Adds the nodes without a Node object, then sorts all nodes, and sets their obstacles. */
static void complete_nodes(struct simulated_cluster *c)
{
	for (size_t i = 0; i < c->model.n_nodes; i++)
		if (c->model.nodes[i] && !is_only_nominated(c->model.nodes[i]))
			find_or_add_node(c, c->model.nodes[i]);
	if (c->n_nodes > 1)
		qsort(c->nodes, c->n_nodes, sizeof(*c->nodes), compare_simulated_nodes);
	name_table_release(&c->nodes_by_name);
	for (size_t i = 0; i < c->n_nodes; i++) {
		struct simulated_node *n = &c->nodes[i];

		name_table_add_index(&c->nodes_by_name, n->name, i);
		n->obstacle = find_obstacle(n->info);
	}
}

static int compare_pods(const void *va, const void *vb)
{
	const struct simulated_pod *a = va, *b = vb;
	int r;

	if (a->created_s != b->created_s)
		return a->created_s < b->created_s ? -1 : 1;
	r = strcmp(a->namespace, b->namespace);
	return r ? r : strcmp(a->name, b->name);
}

/* Once all objects were added: finds the pod's budgets, and puts the pod on the node that it is bound to. */
static void settle_pod(struct simulated_cluster *c, size_t pod)
{
	struct simulated_pod *p = &c->pods[pod];
	const struct doc *object = &c->constraints[p->constraints]->object;
	size_t node = simulated_cluster_find(c, p->bound);

	p->n_budgets = disruption_budgets_select(
		&c->model.budgets, p->namespace, doc_get(doc_get(object, "metadata"), "labels"), &p->budget);
	if (node != SIMULATED_NOWHERE)
		simulated_add_to_node(c, node, pod, c->nodes[node].n_pods);
	freep(&p->key);
	freep(&p->bound);
}

/* Reservations and nominated pods do not count yet. */
static void hide_stand_ins(struct simulated_cluster *c)
{
	for (size_t i = 0; i < c->n_nodes; i++) {
		struct node_info *info = c->nodes[i].info;

		for (size_t k = info->n_pods; k > 0; k--)
			if (info->pods[k - 1]->is_reservation)
				cluster_hide_pod(&c->model, info->pods[k - 1]);
	}
}

/* Whether the projection has assigned something to a pod of the node. */
static bool adds_pods(const struct node_info *node)
{
	for (size_t i = 0; i < node->n_pods; i++)
		if (node->pods[i]->held && !allocation_is_empty(node->pods[i]->held))
			return true;
	return false;
}

/* Starts with the projection of each node. */
static void project_nodes(struct simulated_cluster *c)
{
	struct projections projections = {.cluster = &c->model};

	for (size_t i = 0; i < c->n_nodes; i++) {
		struct simulated_node *n = &c->nodes[i];
		const struct projected_node *o;

		if (!n->info->has_object)
			continue;
		simulated_begin_state(c, n);
		if (n->obstacle != SIMULATED_NO_OBSTACLE || project_node_changes_nothing(n->info))
			continue;
		o = project_node(&projections, n->info); /* not NULL: the work has no limit */
		allocations_view_release(&n->state.allocations);
		allocations_view_without(&o->node.state.allocations, NULL, &n->state.allocations);
		n->adds_unreported = adds_pods(n->info);
		if (o->n_unplaced > 0)
			n->obstacle = SIMULATED_UNSETTLED;
	}
	projections_release(&projections);
}

void simulated_cluster_finish(struct simulated_cluster *c)
{
	cluster_list_end(&c->model, OBJECT_POD, 0, 0);
	complete_nodes(c);
	name_table_release(&c->pods_by_key);
	if (c->n_pods > 1)
		qsort(c->pods, c->n_pods, sizeof(*c->pods), compare_pods);
	for (size_t i = 0; i < c->n_pods; i++)
		settle_pod(c, i);
	hide_stand_ins(c);
	project_nodes(c);
}

void simulated_set_aside_outdated(struct simulated_cluster *c, int64_t before_s)
{
	for (size_t i = 0; i < c->n_nodes; i++) {
		struct simulated_node *n = &c->nodes[i];

		if (n->obstacle == SIMULATED_NO_OBSTACLE && n->info->object.written_s > 0 &&
			n->info->object.written_s < before_s)
			n->obstacle = SIMULATED_OUTDATED;
	}
}

size_t simulated_set_aside_without_pods(struct simulated_cluster *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_nodes && c->n_pods == 0; i++) {
		struct simulated_node *node = &c->nodes[i];

		if (node->obstacle != SIMULATED_NO_OBSTACLE ||
			node->info->object.state.allocations.n_items == 0)
			continue;
		node->obstacle = SIMULATED_NO_PODS;
		n++;
	}
	return n;
}

/* Whether the object of the node reports a pod that has no Pod object. */
static bool has_unlisted(const struct node_info *node)
{
	const struct allocations *a = &node->object.state.allocations;

	for (size_t i = 0; i < a->n_items; i++)
		if (!named_pods_find(node, &a->items[i]))
			return true;
	return false;
}

size_t simulated_count_unlisted(const struct simulated_cluster *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_nodes; i++)
		n += c->nodes[i].obstacle == SIMULATED_NO_OBSTACLE && has_unlisted(c->nodes[i].info);
	return n;
}

static void add_copy(struct simulated_cluster *c, const struct doc *owner, const char *namespace,
	const char *name, struct pod_class *class)
{
	struct simulated_pod *p = push_pod(c, owner, namespace, name, true);

	p->uid = xstrdup("");
	p->owner = xstrdup("");
	p->controller = xstrdup("");
	p->names = pod_names_of(name, p->namespace, name);
	p->priority_known = owner && pod_priority_read(owner, &p->priority);
	p->class = class;
	class->users++;
}

size_t simulated_cluster_add_copies(struct simulated_cluster *c, const struct doc *owner,
	const char *namespace, const char *name, struct pod_request *request, size_t n)
{
	CLEANUP(freep) char *own = xstrdup(name); /* `name` may be the request's */
	struct pod_class *class = pod_classes_take(&c->model.classes, request);
	size_t first = c->n_pods;

	for (size_t i = 0; i < n; i++) {
		CLEANUP(freep) char *numbered = n > 1 ? xasprintf("%s-%zu", own, i + 1) : xstrdup(own);

		add_copy(c, owner, text_or_empty(namespace), numbered, class);
	}
	pod_classes_drop(&c->model.classes, class);
	return first;
}

/* ---- reservations and nominated pods */

size_t simulated_reserved_node(const struct simulated_cluster *c, size_t wanted)
{
	for (size_t i = 0; i < c->n_reservations; i++)
		if (c->reservations[i].user == wanted)
			return c->reservations[i].node;
	return SIMULATED_NOWHERE;
}

/* The first of the wanted pods that may use the reservation and has none. */
static size_t find_user(const struct simulated_cluster *c, const struct node_reservation *r,
	const size_t *wanted, size_t n_wanted)
{
	for (size_t i = 0; i < n_wanted; i++) {
		const struct simulated_pod *p = &c->pods[wanted[i]];
		const struct reservation_user user = {
			.namespace = p->namespace, .uid = p->uid, .controller = p->controller};

		if (reservation_is_for(&r->facts, &user, r->class == p->class) &&
			simulated_reserved_node(c, wanted[i]) == SIMULATED_NOWHERE)
			return wanted[i];
	}
	return SIMULATED_NOWHERE;
}

/* Starts a stand-in on `node` (SIMULATED_NOWHERE: none) for the named pod, so that no other pod gets its place. If the kubelet rejects the stand-in, room is still being
 * made for the pod: the node gets an obstacle. */
static void start_stand_in(struct simulated_cluster *c, size_t node, const char *namespace, const char *name,
	struct pod_class *class)
{
	if (node == SIMULATED_NOWHERE || c->nodes[node].obstacle != SIMULATED_NO_OBSTACLE)
		return;
	add_copy(c, NULL, namespace, name, class);
	c->pods[c->n_pods - 1].reserved = true;
	if (!simulated_start(c, node, c->n_pods - 1))
		c->nodes[node].obstacle = SIMULATED_RESERVED;
}

/* Adds the node's reservations with the wanted pods that get them, and starts a stand-in for each other reservation that is open. */
static void apply_reservations_of_node(
	struct simulated_cluster *c, size_t node, const size_t *wanted, size_t n_wanted)
{
	const struct node_info *info = c->nodes[node].info;

	for (size_t i = 0; i < info->n_reservations; i++) {
		const struct node_reservation *r = &info->reservations[i];
		bool is_open = !r->facts.closed && !r->user;
		size_t user = is_open ? find_user(c, r, wanted, n_wanted) : SIMULATED_NOWHERE;

		*(struct simulated_reservation *)vec_push(&c->reservations, &c->n_reservations,
			&c->reservations_size, sizeof(*c->reservations)) =
			(struct simulated_reservation){.info = r, .node = node, .user = user};
		if (is_open && user == SIMULATED_NOWHERE)
			start_stand_in(c, node, r->facts.namespace, r->facts.pod, r->class);
	}
}

/* As kube-scheduler, which does not count nominated pods of a lower priority than the pod that it places. */
static bool nomination_counts(const struct simulated_cluster *c, const struct pod_info *stand_in,
	const size_t *wanted, size_t n_wanted)
{
	int32_t lowest = INT32_MAX;

	for (size_t i = 0; i < n_wanted; i++) {
		const struct simulated_pod *p = &c->pods[wanted[i]];

		if (cluster_stands_for(stand_in, p->uid))
			return false;
		lowest = p->priority < lowest ? p->priority : lowest;
	}
	return stand_in->priority >= lowest;
}

void simulated_apply_reservations(struct simulated_cluster *c, const size_t *wanted, size_t n_wanted)
{
	for (size_t i = 0; i < c->n_nodes; i++)
		apply_reservations_of_node(c, i, wanted, n_wanted);
	for (size_t i = 0; i < c->model.n_nominations; i++) {
		const struct pod_info *stand_in = c->model.nominations[i];

		if (nomination_counts(c, stand_in, wanted, n_wanted))
			start_stand_in(c, simulated_cluster_find(c, stand_in->node->name),
				stand_in->namespace, stand_in->name, stand_in->class);
	}
	simulated_forget_undo(c);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the objects of a simulated cluster.
 */
#include "cluster/plan/simulated_cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/model/reported_pods.h"
#include "cluster/objects/label_match.h"
#include "cluster/objects/node_status.h"
#include "cluster/objects/pod_parse.h"
#include "cluster/objects/pod_status.h"
#include "cluster/objects/reservation.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/node/manager_state.h"
#include "scoring/node/settings_change.h"

/* ---- objects */

size_t simulated_cluster_find(const struct simulated_cluster *c, const char *node)
{
	return name_table_find_index(&c->nodes_by_name, node);
}

static struct simulated_node *find_or_add_node(struct simulated_cluster *c, const char *name)
{
	size_t at = simulated_cluster_find(c, name);
	struct simulated_node *n;

	if (at != SIMULATED_NOWHERE)
		return &c->nodes[at];
	n = vec_push(&c->nodes, &c->n_nodes, &c->nodes_size, sizeof(*n));
	n->node = (struct doc)DOC_INIT;
	n->name = xstrdup(name);
	n->version = ++c->last_version;
	name_table_add_index(&c->nodes_by_name, n->name, c->n_nodes - 1);
	return n;
}

void simulated_cluster_add_node(struct simulated_cluster *c, struct cluster_node *node)
{
	struct simulated_node *n = find_or_add_node(c, node->state.node_name);

	if (n->has_object)
		return;
	n->has_object = true;
	n->object = *node;
	*node = (struct cluster_node){.basis = CLUSTER_UNKNOWN};
	node_state_init(&node->state);
	known_resources_of_state(&c->classes.known, &n->object.state, &n->resources[1]);
	simulated_begin_state(c, n);
}

/* Copies members of a map, as far as the map has them. */
static void copy_members(
	const struct doc *from, const char *const *members, size_t n, struct doc *to, const char *key)
{
	struct doc *map = doc_add_map(to, key);

	for (size_t i = 0; i < n; i++)
		doc_copy_member(from, members[i], map);
}

/* The extender logs what is not valid. */
static void add_reservations(struct simulated_cluster *c, const struct doc *object, const char *node)
{
	struct reservation facts[RESERVATIONS_MAX];
	size_t n = reservations_parse(doc_get(doc_get(object, "metadata"), "annotations"), NULL, NULL, facts);

	for (size_t i = 0; i < n; i++)
		*(struct simulated_reservation *)vec_push(&c->reservations, &c->n_reservations,
			&c->reservations_size, sizeof(*c->reservations)) = (struct simulated_reservation){
			.facts = facts[i], .node = xstrdup(node), .user = SIMULATED_NOWHERE};
}

static int add_node_object(
	struct simulated_cluster *c, const struct doc *object, const char *name, struct err *err)
{
	static const char *const metadata[] = {"name", "labels"}, *const spec[] = {"taints", "unschedulable"},
				 *const status[] = {"conditions"};
	struct simulated_node *n = find_or_add_node(c, name);
	int r;

	if (n->has_node)
		return 0;
	r = node_allocatable(object, &n->allocatable, err);
	if (r < 0)
		return err_wrap(err, r, "Node '%.60s'", name);
	n->has_node = true;
	n->kubelet = node_kubelet_release(object);
	known_resources_of_node(&c->classes.known, &n->allocatable, &n->resources[0]);
	n->node.kind = DOC_MAP;
	copy_members(doc_get(object, "metadata"), metadata, ARRAY_SIZE(metadata), &n->node, "metadata");
	copy_members(doc_get(object, "spec"), spec, ARRAY_SIZE(spec), &n->node, "spec");
	copy_members(doc_get(object, "status"), status, ARRAY_SIZE(status), &n->node, "status");
	add_reservations(c, object, name);
	return 0;
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
	p->responders = doc_list_items(doc_get(spec, "evictionResponders")) != NULL;
	p->terminating = pod_is_terminating(object);
	p->gated = doc_list_items(gates) != NULL;
	p->priority_known = pod_priority_read(object, &p->priority);
	p->created_s = pod_created_s(object);
}

/* A pod whose requests cannot be read stays on its node, and counts as a pod without requests. */
static void read_request(const struct doc *object, struct simulated_pod *p)
{
	CLEANUP(pod_template_release) struct pod_template template = {0};
	struct err ignored = {""};

	if (pod_template_from_pod(object, &template, &ignored) < 0) {
		p->unreadable = true;
		return;
	}
	p->request = template.pod;
	pod_request_init(&template.pod);
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
	p->budget = SIZE_MAX;
	pod_request_init(&p->request);
	copy_pod(object, p->namespace, &copy);
	simulated_set_constraints(c, p, &copy);
	return p;
}

static void add_pod_object(struct simulated_cluster *c, const struct doc *object, const char *name)
{
	const char *node = pod_node_name(object);
	struct simulated_pod *p;

	if (pod_has_ended(object))
		return;
	p = push_pod(c, object, doc_text(doc_get(object, "metadata"), "namespace"), name, false);
	read_pod_facts(object, p);
	read_request(object, p);
	p->bound = *node ? xstrdup(node) : NULL;
}

int simulated_cluster_add_object(
	struct simulated_cluster *c, enum object_kind kind, const struct doc *object, struct err *err)
{
	const char *name = doc_text(doc_get(object, "metadata"), "name");

	if (!*name)
		return err_set(err, -EINVAL, "a %s without a name", object_kind_names[kind]);
	if (kind == OBJECT_NODE)
		return add_node_object(c, object, name, err);
	if (kind == OBJECT_POD)
		add_pod_object(c, object, name);
	else if (kind == OBJECT_PDB)
		disruption_budget_read(
			object, vec_push(&c->budgets, &c->n_budgets, &c->budgets_size, sizeof(*c->budgets)));
	return 0;
}

/* ---- the end of the objects */

static int compare_nodes(const void *va, const void *vb)
{
	const struct simulated_node *a = va, *b = vb;

	return strcmp(a->name, b->name);
}

static void sort_nodes(struct simulated_cluster *c)
{
	if (c->n_nodes > 1)
		qsort(c->nodes, c->n_nodes, sizeof(*c->nodes), compare_nodes);
	name_table_release(&c->nodes_by_name);
	for (size_t i = 0; i < c->n_nodes; i++) {
		struct simulated_node *n = &c->nodes[i];

		name_table_add_index(&c->nodes_by_name, n->name, i);
		if (n->has_object) {
			cluster_node_set_release(&n->object, n->kubelet);
			settings_set_kubelet(&n->state.settings, settings_kubelet(&n->object.state.settings));
		}
		n->obstacle = !n->has_object                     ? SIMULATED_NO_OBJECT
			      : n->object.basis != CLUSTER_EXACT ? SIMULATED_NOT_EXACT
			      : !n->has_node                     ? SIMULATED_NO_NODE
								 : SIMULATED_NO_OBSTACLE;
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

static void find_budgets(const struct simulated_cluster *c, struct simulated_pod *p)
{
	const struct doc *object = &c->constraints[p->constraints]->object;
	const struct doc *labels = doc_get(doc_get(object, "metadata"), "labels");

	for (size_t i = 0; i < c->n_budgets; i++)
		if (disruption_budget_selects(&c->budgets[i], p->namespace, labels)) {
			p->budget = i;
			p->n_budgets++;
		}
}

static void settle_pod(struct simulated_cluster *c, size_t pod)
{
	struct simulated_pod *p = &c->pods[pod];
	size_t node = p->bound ? simulated_cluster_find(c, p->bound) : SIMULATED_NOWHERE;

	p->class = pod_classes_take(&c->classes, &p->request);
	find_budgets(c, p);
	if (node != SIMULATED_NOWHERE)
		simulated_add_to_node(c, node, pod, c->nodes[node].n_pods);
	free(p->bound);
	p->bound = NULL;
}

/* reported_find() finds nothing of a static pod. */
static enum reported find_reported(
	const struct simulated_node *n, const struct reported_index *index, const struct simulated_pod *p)
{
	const struct allocations *a = &n->object.state.allocations;
	struct reported_items items;

	for (size_t i = 0; i < a->n_items && p->names.mirror; i++)
		if (pod_names_match(&p->names, &a->items[i]))
			return REPORTED_ALL;
	items = reported_find(index, &p->names);
	return reported_compare(index, &n->object.state, p->class, &items);
}

/*
 * Starts a pod that the node's object does not report. Where the kubelet would reject the pod, or an object reports a part of
 * the pod, what the pod holds is not known. `index`: of the node's object.
 */
static void start_unreported(struct simulated_cluster *c, size_t pod, const struct reported_index *index)
{
	size_t node = c->pods[pod].node;
	struct simulated_node *n = &c->nodes[node];
	enum reported reported = find_reported(n, index, &c->pods[pod]);

	if (reported == REPORTED_ALL)
		return;
	simulated_remove_from_node(c, pod);
	if (reported == REPORTED_PART || !simulated_start(c, node, pod)) {
		simulated_add_to_node(c, node, pod, n->n_pods);
		n->obstacle = SIMULATED_UNSETTLED;
	}
}

static void start_unreported_pods(struct simulated_cluster *c)
{
	CLEANUP(freep) struct reported_index *indexes = xcalloc(c->n_nodes + 1, sizeof(*indexes));

	for (size_t i = 0; i < c->n_nodes; i++)
		if (c->nodes[i].obstacle == SIMULATED_NO_OBSTACLE)
			reported_index_init(&indexes[i], &c->nodes[i].object.state.allocations);
	for (size_t i = 0; i < c->n_pods; i++) {
		size_t node = c->pods[i].node;

		if (node != SIMULATED_NOWHERE && c->nodes[node].obstacle == SIMULATED_NO_OBSTACLE &&
			c->pods[i].class->aligned)
			start_unreported(c, i, &indexes[node]);
	}
	for (size_t i = 0; i < c->n_nodes; i++)
		reported_index_release(&indexes[i]);
}

void simulated_cluster_finish(struct simulated_cluster *c)
{
	if (c->n_pods > 1)
		qsort(c->pods, c->n_pods, sizeof(*c->pods), compare_pods);
	for (size_t i = 0; i < c->n_pods; i++) /* may add nodes without objects */
		if (c->pods[i].bound)
			find_or_add_node(c, c->pods[i].bound);
	sort_nodes(c);
	for (size_t i = 0; i < c->n_pods; i++)
		settle_pod(c, i);
	start_unreported_pods(c);
	simulated_forget_undo(c);
}

void simulated_leave_outdated(struct simulated_cluster *c, int64_t before_s)
{
	for (size_t i = 0; i < c->n_nodes; i++) {
		struct simulated_node *n = &c->nodes[i];

		if (n->obstacle == SIMULATED_NO_OBSTACLE && n->object.written_s > 0 &&
			n->object.written_s < before_s)
			n->obstacle = SIMULATED_OUTDATED;
	}
}

size_t simulated_leave_without_pods(struct simulated_cluster *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_nodes && c->n_pods == 0; i++) {
		struct simulated_node *node = &c->nodes[i];

		if (node->obstacle != SIMULATED_NO_OBSTACLE || node->object.state.allocations.n_items == 0)
			continue;
		node->obstacle = SIMULATED_NO_PODS;
		n++;
	}
	return n;
}

/* Whether the object of the node reports a pod that has no Pod object. */
static bool has_unlisted(const struct simulated_cluster *c, const struct simulated_node *n)
{
	const struct allocations *a = &n->object.state.allocations;

	for (size_t i = 0; i < a->n_items; i++) {
		size_t at = 0;

		while (at < n->n_pods && !pod_names_match(&c->pods[n->pods[at]].names, &a->items[i]))
			at++;
		if (at == n->n_pods)
			return true;
	}
	return false;
}

size_t simulated_count_unlisted(const struct simulated_cluster *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_nodes; i++)
		n += c->nodes[i].obstacle == SIMULATED_NO_OBSTACLE && has_unlisted(c, &c->nodes[i]);
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
	struct pod_class *class = pod_classes_take(&c->classes, request);
	size_t first = c->n_pods;

	for (size_t i = 0; i < n; i++) {
		CLEANUP(freep) char *numbered = n > 1 ? xasprintf("%s-%zu", own, i + 1) : xstrdup(own);

		add_copy(c, owner, text_or_empty(namespace), numbered, class);
	}
	pod_classes_drop(&c->classes, class);
	return first;
}

/* ---- reservations */

static struct reservation_user reservation_user(const struct simulated_pod *p)
{
	return (struct reservation_user){
		.namespace = p->namespace, .uid = p->uid, .controller = p->controller};
}

/* Finds which pods of a node use its n reservations. */
static void match_reservations(
	struct simulated_cluster *c, struct simulated_reservation *reservations, size_t n)
{
	size_t at = simulated_cluster_find(c, reservations[0].node);
	const struct simulated_node *node = at == SIMULATED_NOWHERE ? NULL : &c->nodes[at];
	CLEANUP(freep) struct reservation_use *uses = xcalloc(n, sizeof(*uses));
	CLEANUP(freep) struct reservation_pod *pods = xcalloc(node ? node->n_pods + 1 : 1, sizeof(*pods));
	size_t n_pods = 0;

	for (size_t i = 0; i < n; i++)
		uses[i] = (struct reservation_use){
			.facts = &reservations[i].facts, .class = reservations[i].class};
	for (size_t i = 0; node && i < node->n_pods; i++) {
		const struct simulated_pod *p = &c->pods[node->pods[i]];

		if (p->class->aligned)
			pods[n_pods++] = (struct reservation_pod){
				.user = reservation_user(p), .created_s = p->created_s, .class = p->class};
	}
	reservations_match(uses, n, pods, n_pods);
	for (size_t i = 0; i < n; i++)
		reservations[i].arrived = uses[i].user;
}

size_t simulated_reserved_node(const struct simulated_cluster *c, size_t wanted)
{
	for (size_t i = 0; i < c->n_reservations; i++)
		if (c->reservations[i].user == wanted)
			return simulated_cluster_find(c, c->reservations[i].node);
	return SIMULATED_NOWHERE;
}

/* The first of the wanted pods that may use the reservation and has none. */
static size_t find_user(const struct simulated_cluster *c, const struct simulated_reservation *r,
	const size_t *wanted, size_t n_wanted)
{
	for (size_t i = 0; i < n_wanted; i++) {
		const struct simulated_pod *p = &c->pods[wanted[i]];
		const struct reservation_user user = reservation_user(p);

		if (reservation_is_for(&r->facts, &user, r->class == p->class) &&
			simulated_reserved_node(c, wanted[i]) == SIMULATED_NOWHERE)
			return wanted[i];
	}
	return SIMULATED_NOWHERE;
}

static void start_reserved(struct simulated_cluster *c, const struct simulated_reservation *r)
{
	size_t node = simulated_cluster_find(c, r->node);

	if (node == SIMULATED_NOWHERE || c->nodes[node].obstacle != SIMULATED_NO_OBSTACLE)
		return;
	add_copy(c, NULL, r->facts.namespace, r->facts.pod, r->class);
	c->pods[c->n_pods - 1].reserved = true;
	if (!simulated_start(c, node, c->n_pods - 1))
		c->nodes[node].obstacle = SIMULATED_RESERVED;
}

void simulated_apply_reservations(struct simulated_cluster *c, const size_t *wanted, size_t n_wanted)
{
	for (size_t i = 0; i < c->n_reservations; i++)
		c->reservations[i].class = pod_classes_take(&c->classes, &c->reservations[i].facts.request);
	/* The reservations of a node follow one another. */
	for (size_t i = 0, n; i < c->n_reservations; i += n) {
		struct simulated_reservation *first = &c->reservations[i];

		for (n = 1; i + n < c->n_reservations && !strcmp(first[n].node, first->node);)
			n++;
		match_reservations(c, first, n);
	}
	for (size_t i = 0; i < c->n_reservations; i++) {
		struct simulated_reservation *r = &c->reservations[i];

		if (r->facts.closed || r->arrived)
			continue;
		r->user = find_user(c, r, wanted, n_wanted);
		if (r->user == SIMULATED_NOWHERE)
			start_reserved(c, r);
	}
	simulated_forget_undo(c);
}

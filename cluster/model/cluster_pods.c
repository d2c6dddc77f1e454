/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes and pods of the cluster: how they are added, removed and counted.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/model/cluster.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define ENDED_MS 120000u /* the maximum delay of an object that reports a pod */

/* ---- memory */

void pod_info_forget_held(struct pod_info *pod)
{
	if (pod->held)
		allocation_release(pod->held);
	free(pod->held);
	pod->held = NULL;
	pod->held_is_rest = false;
}

static void pod_free(void *item)
{
	struct pod_info *pod = item;

	pod_info_forget_held(pod);
	budgeted_pod_release(&pod->budgeted);
	free(pod->uid);
	free(pod->static_uid);
	free(pod->namespace);
	free(pod->name);
	free(pod->controller);
	free(pod);
}

static void node_free(void *item)
{
	struct node_info *node = item;

	free(node->name);
	cluster_node_release(&node->object);
	reported_index_release(&node->reported);
	resource_list_release(&node->allocatable);
	resource_list_release(&node->requested);
	doc_release(&node->constraints);
	for (size_t i = 0; i < node->n_reservations; i++)
		node_reservation_release(&node->reservations[i]);
	free(node->reservations);
	free(node->pods);
	free(node->ended);
	free(node->rejections);
	free(node->n_rejected);
	for (size_t i = 0; i < ARRAY_SIZE(node->resources); i++)
		strv_release(&node->resources[i]);
	strv_release(&node->devices);
	free(node);
}

static void gang_free(struct gang *g)
{
	free(g->full_name);
	free(g->pods);
	free(g);
}

/* Frees the gang's earlier assumptions too: they are not in pods_by_uid. */
static void free_gang_and_earlier(void *item)
{
	struct gang *g = item;

	for (size_t i = 0; i < g->n_pods; i++)
		if (g->pods[i]->earlier)
			pod_free(g->pods[i]);
	gang_free(g);
}

void cluster_release_nodes(struct cluster *cluster)
{
	name_table_release_values(&cluster->gangs, free_gang_and_earlier);
	name_table_release_values(&cluster->pods_by_uid, pod_free);
	name_table_release_values(&cluster->nodes_by_name, node_free);
}

/* ---- nodes */

struct pod_info *cluster_find_pod(const struct cluster *cluster, const char *uid)
{
	return name_table_find(&cluster->pods_by_uid, uid);
}

void cluster_bump_version(struct cluster *cluster, struct node_info *node)
{
	node->version = ++cluster->version;
}

void cluster_bump_freed_version(struct cluster *cluster, struct node_info *node)
{
	cluster_bump_version(cluster, node);
	node->freed_version = cluster->version;
}

bool pod_info_is_managed(const struct pod_info *pod)
{
	return pod->class->aligned && !pod->mirror;
}

/* Call when the pod is added or removed. */
static void bump_version_for(struct cluster *cluster, struct node_info *node, const struct pod_info *pod)
{
	if (pod_info_is_managed(pod))
		cluster_bump_version(cluster, node);
	else
		node->amounts_version = ++cluster->version;
}

struct node_info *cluster_find_node(const struct cluster *cluster, const char *name)
{
	return name_table_find(&cluster->nodes_by_name, name);
}

/* A slot without a node, added if there is none. */
static size_t find_or_add_slot(struct cluster *cluster)
{
	for (size_t i = 0; i < cluster->n_nodes; i++)
		if (!cluster->nodes[i])
			return i;
	vec_push(&cluster->nodes, &cluster->n_nodes, &cluster->nodes_size, sizeof(*cluster->nodes));
	return cluster->n_nodes - 1;
}

struct node_info *cluster_find_or_add_node(struct cluster *cluster, const char *name)
{
	struct node_info *node = cluster_find_node(cluster, name);

	if (node)
		return node;
	node = xcalloc(1, sizeof(*node));
	text_set(&node->name, name);
	node->slot = find_or_add_slot(cluster);
	name_table_add(&cluster->nodes_by_name, node->name, node);
	cluster->nodes[node->slot] = node;
	cluster_bump_version(cluster, node);
	return node;
}

void cluster_drop_rejections(struct cluster *cluster, struct node_info *node)
{
	for (size_t i = 0; i < node->n_rejections; i++)
		pod_classes_drop(&cluster->classes, node->rejections[i].class);
	node->n_rejections = 0;
}

void cluster_drop_if_empty(struct cluster *cluster, struct node_info *node)
{
	if (node->has_object || node->has_node || node->n_pods > 0)
		return;
	cluster_drop_rejections(cluster, node);
	cluster->nodes[node->slot] = NULL;
	name_table_remove(&cluster->nodes_by_name, node->name);
	node_free(node);
}

void requestable_amounts(const struct resource_list *allocatable, const struct resource_list *requested,
	const struct resource_list *returned, struct resource_list *ret)
{
	*ret = (struct resource_list){0};
	for (size_t i = 0; i < allocatable->n_items; i++) {
		const char *name = allocatable->items[i].name;
		struct quantity q = allocatable->items[i].quantity;
		qty_t used = resource_list_amount(requested, name);

		if (returned)
			used -= resource_list_amount(returned, name);
		q.nano = q.nano > used ? q.nano - used : 0;
		resource_list_append(ret, name, q);
	}
	resource_list_sort(ret);
}

bool node_info_has_in_status_only(const struct node_info *node, const char *resource)
{
	return resource_list_find(&node->allocatable, resource) && !strv_contains(&node->devices, resource);
}

void node_info_requestable(const struct node_info *node, const bool *without, struct resource_list *ret)
{
	CLEANUP(resource_list_release) struct resource_list returned = {0};
	const struct resource_quantity *pods = resource_list_find(&node->allocatable, "pods");
	size_t n_pods = node->n_pods;
	struct quantity left;

	for (size_t i = 0; without && i < node->n_pods; i++)
		if (without[i]) {
			resource_list_add(&returned, &node->pods[i]->class->wanted, 1);
			n_pods--;
		}
	requestable_amounts(&node->allocatable, &node->requested, &returned, ret);
	if (!pods)
		return;
	left = pods->quantity;
	left.nano -= (qty_t)n_pods * QTY_UNIT;
	left.nano = left.nano > 0 ? left.nano : 0;
	resource_list_set(ret, "pods", left);
}

/* ---- ended pods */

static bool is_reported(const struct node_info *node, const struct pod_names *names)
{
	struct reported_items items = reported_find(&node->reported, names);

	return items.n_by_uid + items.n_by_name > 0;
}

void node_info_forget_ended(struct node_info *node, uint64_t now_ms)
{
	size_t kept = 0;

	for (size_t i = 0; i < node->n_ended; i++) {
		struct ended_pod *ended = &node->ended[i];
		bool still_reported = is_reported(node, &ended->names);

		if (!still_reported && (ended->reported || now_ms >= ended->ended_ms + ENDED_MS))
			continue;
		ended->reported = ended->reported || still_reported;
		node->ended[kept++] = *ended;
	}
	node->n_ended = kept;
}

void cluster_expire_ended(struct cluster *cluster, struct node_info *node, uint64_t now_ms)
{
	size_t before = node->n_ended;

	/* While an end is remembered, what an in-flight pod found free at its start may be unknown, and that pod then keeps others away
	 * (in_flight_pods.unknown_start). An object of nrtd changes with each pod that starts or ends, and its update forgets the ends; the object
	 * of another exporter may never change. */
	if (node->has_object && node->object.basis == CLUSTER_EXACT)
		return;
	/* ended[0] is the oldest. */
	if (before == 0 || now_ms < node->ended[0].ended_ms + ENDED_MS)
		return;
	node_info_forget_ended(node, now_ms);
	if (node->n_ended < before)
		cluster_bump_version(cluster, node);
}

/* What the node's object reports for the pod, now or later, counts as free. */
static void remember_ended(
	struct cluster *cluster, struct node_info *node, const struct pod_names *names, uint64_t now_ms)
{
	struct ended_pod *slot;

	if (node->n_ended == ENDED_PODS_MAX) {
		node->n_ended--;
		memmove(&node->ended[0], &node->ended[1], node->n_ended * sizeof(node->ended[0]));
	}
	slot = vec_push(&node->ended, &node->n_ended, &node->ended_size, sizeof(*slot));
	cluster_bump_freed_version(cluster, node);
	*slot = (struct ended_pod){.names = *names,
		.version = cluster->version,
		.ended_ms = now_ms,
		.reported = is_reported(node, names)};
}

/* ---- assumed pods per namespace */

static void count_assumed(struct cluster *cluster, const struct pod_info *pod)
{
	if (pod->is_reservation)
		return;
	namespace_counts_add(&cluster->namespaces, pod->namespace);
	cluster->n_assumed++;
}

void cluster_uncount_assumed(struct cluster *cluster, const struct pod_info *pod)
{
	if (pod->is_reservation)
		return;
	namespace_counts_remove(&cluster->namespaces, pod->namespace);
	cluster->n_assumed--;
}

bool cluster_namespace_is_full(const struct cluster *cluster, const char *namespace, const char *uid)
{
	const struct pod_info *cached = cluster_find_pod(cluster, uid);
	size_t n = namespace_counts_get(&cluster->namespaces, namespace);

	if (n > 0 && cached && !cached->bound) /* the pod itself is assumed */
		n--;
	return cluster->config.namespace_assumed_max > 0 && n >= cluster->config.namespace_assumed_max;
}

/* ---- pods on nodes */

static void insert_pod(struct cluster *cluster, struct node_info *node, struct pod_info *pod, size_t position)
{
	vec_push(&node->pods, &node->n_pods, &node->pods_size, sizeof(*node->pods));
	memmove(&node->pods[position + 1], &node->pods[position],
		(node->n_pods - position - 1) * sizeof(*node->pods));
	node->pods[position] = pod;
	if (!pod->bound)
		count_assumed(cluster, pod);
	resource_list_add(&node->requested, &pod->class->wanted, 1);
}

static void set_overlaps(struct pod_info *pod, uint64_t version)
{
	if (pod->overlaps_version == 0)
		pod->overlaps_version = version;
}

/* Notes which pods of the node may be admitted before or after this pod: those whose admission was not reported before the pod was
 * placed. An admission of VERSION_UNKNOWN has no known order. */
static void note_overlaps(const struct node_info *node, struct pod_info *pod)
{
	for (size_t i = 0; i < node->n_pods; i++) {
		struct pod_info *other = node->pods[i];
		bool precedes = other->admitted && other->admitted_version < VERSION_UNKNOWN;

		if (other == pod || precedes || other->is_reservation || !other->class->aligned)
			continue;
		set_overlaps(other, pod->placed_version);
		set_overlaps(pod, pod->placed_version);
	}
}

void cluster_put_on_node(struct cluster *cluster, struct pod_info *pod, struct node_info *node)
{
	insert_pod(cluster, node, pod, node->n_pods);
	pod->node = node;
	bump_version_for(cluster, node, pod);
	pod->placed_version = pod->bound && cluster->lists_pods ? cluster->list_version : cluster->version;
	pod->bound_version = pod->bound ? pod->placed_version : VERSION_UNKNOWN;
	pod->admitted_version = pod->admitted ? cluster->version : 0;
	if (pod->class->aligned && !pod->is_reservation)
		note_overlaps(node, pod);
}

static size_t position_of(const struct node_info *node, const struct pod_info *pod)
{
	size_t i = 0;

	while (node->pods[i] != pod)
		i++;
	return i;
}

void cluster_take_off_node(struct cluster *cluster, struct pod_info *pod)
{
	struct node_info *node = pod->node;
	size_t i = position_of(node, pod);

	node->n_pods--;
	memmove(&node->pods[i], &node->pods[i + 1], (node->n_pods - i) * sizeof(*node->pods));
	pod_class_subtract(pod->class, &node->requested);
	if (!pod->bound)
		cluster_uncount_assumed(cluster, pod);
	bump_version_for(cluster, node, pod);
	node->freed_version = cluster->version;
}

/* ---- pods that a request does not see */

static struct node_versions versions_of(const struct node_info *node)
{
	return (struct node_versions){node->version, node->amounts_version, node->freed_version};
}

static bool has_versions(const struct node_info *node, const struct node_versions *v)
{
	return node->version == v->any && node->amounts_version == v->amounts &&
	       node->freed_version == v->freed;
}

void cluster_hide_pod(struct cluster *cluster, struct pod_info *pod)
{
	struct hidden_pod *h = vec_push(
		&cluster->hidden, &cluster->n_hidden, &cluster->hidden_size, sizeof(*cluster->hidden));

	*h = (struct hidden_pod){
		.pod = pod, .position = position_of(pod->node, pod), .before = versions_of(pod->node)};
	cluster_take_off_node(cluster, pod);
	h->after = versions_of(pod->node);
	pod->hidden = true;
}

/* The pod, which is hidden, is about to be freed. */
static void forget_hidden(struct cluster *cluster, const struct pod_info *pod)
{
	size_t i = 0;

	while (cluster->hidden[i].pod != pod)
		i++;
	cluster->n_hidden--;
	memmove(&cluster->hidden[i], &cluster->hidden[i + 1],
		(cluster->n_hidden - i) * sizeof(*cluster->hidden));
}

void cluster_show_hidden_pods(struct cluster *cluster)
{
	while (cluster->n_hidden > 0) {
		const struct hidden_pod *h = &cluster->hidden[--cluster->n_hidden];
		struct node_info *node = h->pod->node;

		/* The list is shorter than before if a pod that was hidden earlier has been freed. */
		insert_pod(cluster, node, h->pod, h->position < node->n_pods ? h->position : node->n_pods);
		h->pod->hidden = false;
		if (has_versions(node, &h->after)) {
			node->version = h->before.any;
			node->amounts_version = h->before.amounts;
			node->freed_version = h->before.freed;
		} else {
			bump_version_for(cluster, node, h->pod);
		}
	}
}

struct pod_info *cluster_add_pod(struct cluster *cluster, const char *uid, const char *namespace,
	const char *name, const struct pod_info *init, struct node_info *node)
{
	struct pod_info *pod = xcalloc(1, sizeof(*pod));

	*pod = *init;
	pod->uid = xstrdup(uid);
	pod->namespace = xstrdup(namespace);
	pod->name = xstrdup(name);
	name_table_add(&cluster->pods_by_uid, pod->uid, pod);
	cluster_put_on_node(cluster, pod, node);
	cluster->n_pods += !pod->is_reservation;
	return pod;
}

/* ---- gangs and reservations */

void cluster_leave_gang(struct cluster *cluster, struct pod_info *pod)
{
	struct gang *g = pod->gang;

	if (!g)
		return;
	for (size_t i = 0; i < g->n_pods; i++)
		if (g->pods[i] == pod) {
			g->pods[i] = g->pods[--g->n_pods];
			break;
		}
	pod->gang = NULL;
	if (g->n_pods > 0)
		return;
	name_table_remove(&cluster->gangs, g->full_name);
	gang_free(g);
}

/* The name is not that of a pod, so that no object reports the stand-in. */
void cluster_add_stand_in(struct cluster *cluster, struct node_info *node, struct node_reservation *r)
{
	CLEANUP(freep) char *name = xasprintf("reservation/%s/%s", node->name, r->facts.id);
	const struct pod_info init = {.class = r->class,
		.names = pod_names_of(name, r->facts.namespace, name),
		.expires_ms = r->expires_ms,
		.is_reservation = true};

	r->class->users++;
	r->stand_in = cluster_add_pod(cluster, name, r->facts.namespace, name, &init, node);
}

/* The pod with this UID no longer uses a reservation of the node. */
static void reopen_reservation(struct cluster *cluster, struct node_info *node, const char *uid)
{
	for (size_t i = 0; i < node->n_reservations; i++) {
		struct node_reservation *r = &node->reservations[i];

		if (!r->user || strcmp(r->user, uid) != 0)
			continue;
		free(r->user);
		r->user = NULL;
		cluster_add_stand_in(cluster, node, r);
	}
}

/* ---- the end of pods */

void cluster_remove_pod(struct cluster *cluster, struct pod_info *pod)
{
	struct node_info *node = pod->node;

	cluster_leave_gang(cluster, pod);
	if (pod->hidden)
		forget_hidden(cluster, pod);
	else
		cluster_take_off_node(cluster, pod);
	pod_classes_drop(&cluster->classes, pod->class);
	if (!pod->earlier)
		name_table_remove(&cluster->pods_by_uid, pod->uid);
	cluster->n_pods -= !pod->is_reservation;
	reopen_reservation(cluster, node, pod->uid);
	pod_free(pod);
	cluster_drop_if_empty(cluster, node);
}

void cluster_end_pod(struct cluster *cluster, struct pod_info *pod, bool may_run, uint64_t now_ms)
{
	bool stays_held = may_run && is_reported(pod->node, &pod->names);

	if (pod->bound && pod_info_is_managed(pod) && !stays_held)
		remember_ended(cluster, pod->node, &pod->names, now_ms);
	cluster_remove_pod(cluster, pod);
}

void cluster_forget_pod(struct cluster *cluster, const char *uid)
{
	struct pod_info *pod = cluster_find_pod(cluster, uid);

	if (pod && !pod->bound)
		cluster_remove_pod(cluster, pod);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/model/cluster_usage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/objects/node_status.h"
#include "cluster/objects/pod_parse.h"
#include "cluster/objects/pod_status.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/request.h"

static void forget_arrived(struct node_usage *use)
{
	free(use->arrived);
	strv_release(&use->arrived_texts);
	use->arrived = NULL;
	use->n_arrived = use->arrived_size = 0;
}

static void use_free(void *item)
{
	struct node_usage *use = item;

	free(use->name);
	resource_list_release(&use->allocatable);
	resource_list_release(&use->requested);
	for (size_t i = 0; i < use->n_listed; i++) {
		free(use->pods[i].namespace);
		free(use->pods[i].name);
		free(use->pods[i].uid);
		resource_list_release(&use->pods[i].requests);
	}
	free(use->pods);
	for (size_t i = 0; i < use->n_reservations; i++)
		node_reservation_release(&use->reservations[i]);
	free(use->reservations);
	forget_arrived(use);
	free(use);
}

static void use_freep(struct node_usage **use)
{
	if (*use)
		use_free(*use);
}

void cluster_usage_release(struct cluster_usage *u)
{
	name_table_release_values(&u->by_name, use_free);
	pod_classes_release(&u->classes);
	*u = (struct cluster_usage){0};
}

struct node_usage *cluster_usage_find(const struct cluster_usage *u, const char *name)
{
	return name_table_find(&u->by_name, name);
}

static struct node_usage *find_or_add(struct cluster_usage *u, const char *name)
{
	struct node_usage *found = name_table_find(&u->by_name, name);
	CLEANUP(use_freep) struct node_usage *use = NULL;

	if (found)
		return found;
	use = xcalloc(1, sizeof(*use));
	text_set(&use->name, name);
	name_table_add(&u->by_name, use->name, use);
	return TAKE(use);
}

/* ---- reservations */

void node_usage_match_reservations(struct node_usage *use)
{
	CLEANUP(freep) struct reservation_use *uses = NULL;

	if (use->matched)
		return;
	uses = xcalloc(use->n_reservations + 1, sizeof(*uses));
	for (size_t i = 0; i < use->n_reservations; i++)
		uses[i] = (struct reservation_use){
			.facts = &use->reservations[i].facts, .class = use->reservations[i].class};
	reservations_match(uses, use->n_reservations, use->arrived, use->n_arrived);
	for (size_t i = 0; i < use->n_reservations; i++) {
		free(use->reservations[i].user);
		use->reservations[i].user = uses[i].user ? xstrdup(uses[i].user) : NULL;
	}
	use->matched = true;
}

/* Copies a text, which the list owns. */
static const char *keep(struct strv *texts, const char *text)
{
	strv_push(texts, text);
	return texts->items[texts->n_items - 1];
}

/* The pod's requests move to its class. */
static void note_arrived(struct cluster_usage *u, struct node_usage *use, const struct doc *object,
	struct pod_request *request)
{
	const struct doc *metadata = doc_get(object, "metadata");
	struct pod_class *class;

	if (use->known && use->n_reservations == 0)
		return;
	class = pod_classes_take(&u->classes, request);
	if (!class->aligned)
		return;
	*(struct reservation_pod *)vec_push(&use->arrived, &use->n_arrived, &use->arrived_size,
		sizeof(*use->arrived)) = (struct reservation_pod){
		.user = {.namespace = keep(&use->arrived_texts, doc_text(metadata, "namespace")),
			.uid = keep(&use->arrived_texts, doc_text(metadata, "uid")),
			.controller = keep(&use->arrived_texts, controller_uid(metadata))},
		.created_s = pod_created_s(object),
		.class = class};
	use->matched = false;
}

/* ---- Nodes */

static int add_node(struct cluster_usage *u, const struct doc *object, const char *name, struct err *err)
{
	struct node_usage *use = find_or_add(u, name);
	int r;

	if (use->known)
		return 0;
	u->n_nodes++;
	use->known = true;
	use->not_ready = strcmp(node_ready_status(object), "True") != 0;
	use->unschedulable = node_is_cordoned(object);
	use->reservations = node_reservations_read(&u->classes, NULL,
		doc_get(doc_get(object, "metadata"), "annotations"), 0, &use->n_reservations);
	if (use->n_reservations == 0)
		forget_arrived(use);
	r = node_allocatable(object, &use->allocatable, err);
	return r < 0 ? err_wrap(err, r, "Node '%.60s'", name) : 0;
}

/* ---- Pods */

static void list_pod(struct node_usage *use, const struct doc *object, struct resource_list *requests)
{
	const struct doc *metadata = doc_get(object, "metadata");
	struct cluster_pod *p = vec_push(&use->pods, &use->n_listed, &use->pods_size, sizeof(*p));

	p->namespace = xstrdup(doc_text(metadata, "namespace"));
	p->name = xstrdup(doc_string(doc_get(metadata, "name")));
	p->uid = xstrdup(pod_names_kubelets_uid(metadata));
	p->priority_known = pod_priority_read(object, &p->priority);
	p->requests = *requests;
	*requests = (struct resource_list){0};
	p->names = pod_names_of_object(metadata);
}

static bool is_excluded(const struct cluster_usage *u, const struct doc *metadata, const char *node)
{
	return u->excluded && (!u->only || !strcmp(u->only, node)) &&
	       excluded_pods_find(u->excluded, doc_text(metadata, "namespace"), doc_text(metadata, "name"),
		       doc_text(metadata, "uid"));
}

static int add_pod(struct cluster_usage *u, const struct doc *object, const char *name, struct err *err)
{
	CLEANUP(pod_template_release) struct pod_template template = {0};
	CLEANUP(resource_list_release) struct resource_list wanted = {0};
	const struct doc *metadata = doc_get(object, "metadata");
	const char *node = pod_node_name(object);
	struct node_usage *use;
	int r;

	if (!*node || pod_has_ended(object))
		return 0;
	r = pod_template_from_pod(object, &template, err);
	if (r < 0)
		return err_wrap(err, r, "Pod '%.60s/%.60s'", doc_text(metadata, "namespace"), name);
	use = find_or_add(u, node);
	if (is_excluded(u, metadata, node)) {
		use->has_excluded = true;
		return 0;
	}
	request_of_node(&template.pod, &wanted);
	resource_list_add(&use->requested, &wanted, 1);
	use->n_pods++;
	if (u->only && !strcmp(u->only, node))
		list_pod(use, object, &wanted);
	note_arrived(u, use, object, &template.pod);
	return 0;
}

int cluster_usage_add(
	struct cluster_usage *u, enum object_kind kind, const struct doc *object, struct err *err)
{
	const char *name = doc_object_name(object);

	if (!name)
		return err_set(err, -EINVAL, "a %s without a name", object_kind_names[kind]);
	if (kind == OBJECT_NODE)
		return add_node(u, object, name, err);
	return add_pod(u, object, name, err);
}

/* ---- answers */

const struct cluster_pod *node_usage_find_pod(const struct node_usage *use, const struct allocation *item)
{
	const struct cluster_pod *mirror = NULL;

	for (size_t i = 0; i < use->n_listed; i++) {
		if (!pod_names_match(&use->pods[i].names, item))
			continue;
		if (!use->pods[i].names.mirror)
			return &use->pods[i];
		mirror = &use->pods[i];
	}
	return mirror;
}

void requestable_amounts(const struct resource_list *allocatable, const struct resource_list *requested,
	const struct resource_list *returned, struct resource_list *ret)
{
	*ret = (struct resource_list){0};
	for (size_t i = 0; i < allocatable->n_items; i++) {
		const char *name = allocatable->items[i].name;
		struct quantity q = allocatable->items[i].quantity;
		qty_t held = resource_list_amount(requested, name);

		if (returned)
			held -= resource_list_amount(returned, name);
		q.nano = q.nano > held ? q.nano - held : 0;
		resource_list_append(ret, name, q);
	}
	resource_list_sort(ret);
}

void node_usage_requestable(const struct node_usage *use, struct resource_list *ret)
{
	const struct resource_quantity *pods = resource_list_find(&use->allocatable, "pods");
	qty_t held = (qty_t)use->n_pods * QTY_UNIT;
	struct quantity q;

	requestable_amounts(&use->allocatable, &use->requested, NULL, ret);
	if (!pods)
		return;
	q = pods->quantity;
	q.nano = q.nano > held ? q.nano - held : 0;
	resource_list_set(ret, "pods", q);
}

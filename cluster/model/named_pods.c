/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/model/named_pods.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/objects/pod_status.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

void named_pods_release(struct named_pods *p)
{
	for (size_t i = 0; i < p->n_items; i++) {
		free(p->items[i].node);
		free(p->items[i].namespace);
		free(p->items[i].name);
	}
	free(p->items);
	*p = (struct named_pods){0};
}

struct named_pod *named_pods_add(struct named_pods *p, const struct doc *object)
{
	const struct doc *metadata = doc_get(object, "metadata");
	const char *node = pod_node_name(object);
	struct named_pod *pod;

	if (!*node || pod_has_ended(object))
		return NULL;
	pod = vec_push(&p->items, &p->n_items, &p->items_size, sizeof(*pod));
	*pod = (struct named_pod){.node = xstrdup(node),
		.namespace = xstrdup(doc_text(metadata, "namespace")),
		.name = xstrdup(doc_text(metadata, "name")),
		.names = pod_names_of_object(metadata)};
	return pod;
}

static int compare_nodes(const void *a, const void *b)
{
	return strcmp(((const struct named_pod *)a)->node, ((const struct named_pod *)b)->node);
}

void named_pods_finish(struct named_pods *p)
{
	if (p->n_items > 1)
		qsort(p->items, p->n_items, sizeof(*p->items), compare_nodes);
}

/* The index of the node's first pod. If the node has no pods, the index of a pod of another node. */
static size_t first_pod(const struct named_pods *p, const char *node)
{
	return VEC_LOWER_BOUND(p->items, p->n_items, node, node);
}

static struct named_pod *find_pod(
	const struct named_pods *p, const char *node, size_t first, const struct allocation *item)
{
	struct named_pod *mirror = NULL;

	for (size_t i = first; i < p->n_items && !strcmp(p->items[i].node, node); i++) {
		if (!pod_names_match(&p->items[i].names, item))
			continue;
		if (!p->items[i].names.mirror)
			return &p->items[i];
		mirror = &p->items[i];
	}
	return mirror;
}

struct named_pod *named_pods_find(const struct named_pods *p, const char *node, const struct allocation *item)
{
	struct named_pod *pod = find_pod(p, node, first_pod(p, node), item);

	if (pod)
		pod->found = true;
	return pod;
}

/* In an object a claim's pod has a hash as its name. */
static void name_ref(const struct named_pods *p, const char *node, size_t first, struct pod_ref *ref)
{
	for (size_t i = first; i < p->n_items && !strcmp(p->items[i].node, node); i++) {
		if (strcmp(p->items[i].names.pod, ref->name) != 0)
			continue;
		text_set(&ref->namespace, p->items[i].namespace);
		text_set(&ref->name, p->items[i].name);
		return;
	}
}

void named_pods_apply(const struct named_pods *p, struct node_state *state)
{
	size_t first = first_pod(p, state->node_name);

	for (size_t i = 0; i < state->allocations.n_items; i++) {
		struct allocation *item = &state->allocations.items[i];
		const struct named_pod *pod = find_pod(p, state->node_name, first, item);

		if (!pod)
			continue;
		text_set(&item->namespace, pod->namespace);
		text_set(&item->pod, pod->name);
	}
	for (size_t i = 0; i < state->claims.n_items; i++)
		for (size_t k = 0; k < state->claims.items[i].n_pods; k++)
			name_ref(p, state->node_name, first, &state->claims.items[i].pods[k]);
}

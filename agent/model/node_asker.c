/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/model/node_asker.h"

#include "agent/model/node_free.h"
#include "common/resource_name.h"
#include "scoring/request.h"

static void close_kubelet(struct node_asker *a)
{
	kubelet_workspace_freep(&a->ws);
	kubelet_release(&a->kubelet);
}

static int open_kubelet(struct node_asker *a)
{
	struct kubelet_node node = a->known.node;
	int r;

	node.settings = &a->settings;
	r = kubelet_init(&a->kubelet, &node);
	if (r == 0)
		r = kubelet_workspace_new(&a->kubelet, &a->ws);
	a->node = (struct admission_node){
		.kubelet = &a->kubelet, .ws = a->ws, .free = &a->free, .unsure = &a->unsure};
	return r;
}

int node_asker_init(struct node_asker *a, const struct node_state *state)
{
	int r;

	*a = (struct node_asker){.state = state, .settings = state->settings};
	r = node_kubelet_init(&a->known, state);
	if (r == 0)
		r = node_free_amounts(state, &a->free, &a->unsure);
	if (r == 0)
		r = node_kubelet_add_devices(&a->known, &a->free);
	if (r == 0)
		r = open_kubelet(a);
	if (r < 0)
		node_asker_release(a);
	return r;
}

void node_asker_release(struct node_asker *a)
{
	close_kubelet(a);
	node_kubelet_release(&a->known);
	resource_list_release(&a->free);
	resource_list_release(&a->unsure);
	*a = (struct node_asker){0};
}

int node_asker_what_if(struct node_asker *a, const struct topology_manager_config *config)
{
	close_kubelet(a);
	a->settings.topology = *config;
	return open_kubelet(a);
}

/* Which holders are init containers does not matter where every pod's requests are known. */
int node_asker_limit(struct node_asker *a, const struct resource_list *most)
{
	int r = 0;

	for (size_t i = 0; i < most->n_items && r == 0; i++) {
		const char *name = most->items[i].name;
		const struct resource_quantity *free = resource_list_find(&a->free, name);
		const struct resource_quantity *unsure = resource_list_find(&a->unsure, name);
		struct quantity q = most->items[i].quantity;
		qty_t own =
			!free ? QTY_MAX : qty_add(free->quantity.nano, unsure ? unsure->quantity.nano : 0);

		if (own < q.nano)
			q.nano = own;
		r = resource_list_set(&a->free, name, q);
		if (r == 0 && unsure)
			r = resource_list_set(&a->unsure, name, (struct quantity){.format = q.format});
	}
	return r;
}

/* The free pages of each size that is named for the first time; a node without such pages has 0 of them. */
static int add_pages(struct node_asker *a, const struct resource_list *wanted)
{
	int r = 0;

	for (size_t i = 0; i < wanted->n_items && r == 0; i++) {
		const char *name = wanted->items[i].name;

		if (resource_name_is_hugepages(name) && !resource_list_find(&a->free, name))
			r = node_free_pages(a->state, name, &a->free, &a->unsure);
	}
	return r;
}

int node_asker_judge(struct node_asker *a, const struct pod_request *pod, struct admission *ret)
{
	int r = add_pages(a, &pod->overhead);

	if (r == 0)
		r = add_pages(a, &pod->pod_requests);
	for (size_t i = 0; i < pod->n_containers && r == 0; i++)
		r = add_pages(a, &pod->containers[i].requests);
	return r < 0 ? r : admission_judge(&a->node, pod, request_qos(pod), ret);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/state/node_admission.h"

#include "agent/state/node_free.h"
#include "common/cleanup.h"
#include "common/resource_name.h"
#include "scoring/request.h"

static void close_kubelet(struct node_admission *a)
{
	kubelet_workspace_freep(&a->ws);
	kubelet_release(&a->kubelet);
}

static void open_kubelet(struct node_admission *a)
{
	struct kubelet_node node = a->known.node;

	node.settings = &a->settings;
	kubelet_init(&a->kubelet, &node);
	kubelet_workspace_new(&a->kubelet, &a->ws);
	a->node = (struct admission_node){.kubelet = &a->kubelet,
		.ws = a->ws,
		.free = &a->free,
		.unsure = &a->unsure,
		.all_pages = true};
}

#define MAX_ZONE_PAGES 64 /* sizes of hugepages in the zones; machines have four at most */

/* The pages of a size that is not listed yet. */
static void add_pages_of(struct node_admission *a, const char *name)
{
	if (!resource_list_find(&a->free, name))
		node_free_pages(a->state, name, &a->free, &a->unsure);
}

/* The free hugepages of each size that the node has. */
static void add_pages(struct node_admission *a)
{
	const struct machine *m = &a->state->machine;
	const struct inventory *zones = &a->state->inventory;
	size_t left = MAX_ZONE_PAGES;

	for (size_t i = 0; i < m->n_nodes; i++)
		for (size_t p = 0; p < m->nodes[i].n_pools; p++) {
			char name[RESOURCE_NAME_HUGEPAGES_SIZE];

			resource_name_of_hugepages(m->nodes[i].pools[p].page_bytes, name);
			add_pages_of(a, name);
		}
	for (size_t i = 0; i < zones->n_resources && left > 0; i++)
		if (resource_name_is_hugepages(zones->resources[i])) {
			add_pages_of(a, zones->resources[i]);
			left--;
		}
}

void node_admission_init(struct node_admission *a, const struct node_state *state)
{
	*a = (struct node_admission){
		.state = state, .settings = state->settings, .work_limit = KUBELET_WORK_MAX};
	node_kubelet_init(&a->known, state);
	node_free_amounts(state, &a->free, &a->unsure);
	node_kubelet_add_devices(&a->known, &a->free);
	add_pages(a);
	open_kubelet(a);
}

void node_admission_release(struct node_admission *a)
{
	close_kubelet(a);
	node_kubelet_release(&a->known);
	resource_list_release(&a->free);
	resource_list_release(&a->unsure);
	*a = (struct node_admission){0};
}

void node_admission_what_if(struct node_admission *a, const struct topology_manager_config *config)
{
	close_kubelet(a);
	a->settings.topology = *config;
	open_kubelet(a);
}

/* The items of `most` that the state's own numbers do not undercut, and those that do as they are. */
static void lower_to_own(
	const struct node_admission *a, const struct resource_list *most, struct resource_list *ret)
{
	for (size_t i = 0; i < most->n_items; i++) {
		const char *name = most->items[i].name;
		const struct resource_quantity *free = resource_list_find(&a->free, name);
		qty_t unsure = resource_list_amount(&a->unsure, name);
		struct quantity q = most->items[i].quantity;
		qty_t own = !free ? QTY_MAX : qty_add(free->quantity.nano, unsure);

		if (own < q.nano)
			q.nano = own;
		resource_list_append(ret, name, q);
	}
}

static struct quantity replace(const struct quantity *old, struct quantity more)
{
	(void)old;
	return more;
}

/* Which holders are init containers does not matter where every pod's requests are known. */
void node_admission_limit(struct node_admission *a, const struct resource_list *most)
{
	CLEANUP(resource_list_release) struct resource_list lowered = {0};

	lower_to_own(a, most, &lowered);
	resource_list_merge(&a->free, &lowered, replace);
	for (size_t i = 0; i < a->unsure.n_items; i++)
		if (resource_list_find(most, a->unsure.items[i].name))
			a->unsure.items[i].quantity.nano = 0;
}

void node_admission_judge(struct node_admission *a, const struct pod_request *pod, struct admission *ret)
{
	kubelet_workspace_limit(a->ws, a->work_limit);
	admission_judge(&a->node, pod, request_qos(pod), ret);
	a->steps = kubelet_workspace_steps(a->ws);
}

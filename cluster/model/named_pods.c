/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/model/named_pods.h"

#include <string.h>

#include "common/text.h"

struct pod_info *named_pods_find(const struct node_info *node, const struct allocation *item)
{
	struct pod_info *mirror = NULL;

	for (size_t i = 0; i < node->n_pods; i++) {
		struct pod_info *pod = node->pods[i];

		if (!pod->bound || !pod_names_match(&pod->names, item))
			continue;
		if (!pod->mirror)
			return pod;
		mirror = pod;
	}
	return mirror;
}

/* In an object a claim's pod has a hash as its name. */
static void name_claim_pod(const struct node_info *node, struct pod_ref *ref)
{
	for (size_t i = 0; i < node->n_pods; i++) {
		const struct pod_info *pod = node->pods[i];

		if (!pod->bound || strcmp(pod->names.pod, ref->name) != 0)
			continue;
		text_set(&ref->namespace, pod->namespace);
		text_set(&ref->name, pod->name);
		return;
	}
}

void named_pods_apply(const struct node_info *node, struct node_state *state)
{
	for (size_t i = 0; node && i < state->allocations.n_items; i++) {
		struct allocation *item = &state->allocations.items[i];
		const struct pod_info *pod = named_pods_find(node, item);

		if (!pod)
			continue;
		text_set(&item->namespace, pod->namespace);
		text_set(&item->pod, pod->name);
	}
	for (size_t i = 0; node && i < state->claims.n_items; i++)
		for (size_t k = 0; k < state->claims.items[i].n_pods; k++)
			name_claim_pod(node, &state->claims.items[i].pods[k]);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/node/node_start.h"

#include <errno.h>

#include "scoring/node/node_derive.h"

struct kubelet_start node_start_of(const struct node_state *node, hwloc_const_bitmap_t reserved)
{
	return (struct kubelet_start){.machine = &node->machine,
		.settings = &node->settings,
		.reserved = reserved,
		.eviction_known = node->settings.eviction_hard_memory != NULL,
		.eviction = node_derive_eviction_threshold(node)};
}

void node_start_find(
	const struct node_state *node, hwloc_const_bitmap_t reserved, struct kubelet_start_problems *ret)
{
	const struct kubelet_start start = node_start_of(node, reserved);

	kubelet_start_try(&start, ret);
}

int node_start_check(const struct node_state *node, hwloc_const_bitmap_t reserved, struct err *err)
{
	struct kubelet_start_problems problems;

	node_start_find(node, reserved, &problems);
	return problems.n == 0 ? 0
			       : err_set(err, -EINVAL, "the kubelet would not start: %.460s",
					 problems.items[0].what.text);
}

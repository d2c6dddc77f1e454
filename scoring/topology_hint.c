/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/topology_hint.h"

#include <errno.h>
#include <stdlib.h>

#include "common/xalloc.h"
#include "scoring/node_mask.h"

void topology_hints_init(struct topology_hints *hints, unsigned n_nodes)
{
	size_t size = (size_t)1 << (n_nodes < NODE_MASK_WALK_MAX ? n_nodes : NODE_MASK_WALK_MAX);

	*hints = (struct topology_hints){.items = xcalloc(size, sizeof(*hints->items)), .items_size = size};
}

void topology_hints_release(struct topology_hints *hints)
{
	free(hints->items);
	*hints = (struct topology_hints){0};
}

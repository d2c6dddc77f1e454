/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/nodes.h"

#include "common/cleanup.h"
#include "tests/lib/test.h"

void test_node_shape(struct test_node *node, size_t n, const char *const *names, size_t n_names)
{
	inventory_init(&node->inv);
	inventory_shape(&node->inv, n, names, n_names);
	for (size_t i = 0; i < n; i++)
		node->inv.nodes[i].id = (unsigned)i;
}

void test_node_ready(struct test_node *node)
{
	assert_int_equal(
		distances_init(&node->distances, node->inv.costs, node->inv.n_nodes, DISTANCES_WORK_LIMIT),
		0);
	assert_int_equal(fit_space_init(&node->space, &node->inv, &node->distances), 0);
}

void test_node_init(struct test_node *node, const char *const *zones)
{
	struct resource_list names = {0};
	const char *list[64];
	size_t n = 0;

	for (; zones[n]; n++) {
		struct resource_list zone = resources_from_text(zones[n]);

		for (size_t i = 0; i < zone.n_items; i++)
			resource_list_set(&names, zone.items[i].name, (struct quantity){0});
		resource_list_release(&zone);
	}
	assert_true(names.n_items <= ARRAY_SIZE(list));
	for (size_t i = 0; i < names.n_items; i++)
		list[i] = names.items[i].name;
	test_node_shape(node, n, list, names.n_items);
	resource_list_release(&names);
	for (size_t i = 0; i < n; i++) {
		struct resource_list zone = resources_from_text(zones[i]);

		for (size_t r = 0; r < zone.n_items; r++) {
			int at = inventory_resource(&node->inv, zone.items[r].name);
			qty_t amount = zone.items[r].quantity.nano;

			*inventory_amount(&node->inv, i, (size_t)at) =
				(struct inventory_amount){true, amount, amount, amount};
		}
		for (size_t j = 0; j < n; j++)
			node->inv.costs[i * n + j] = i == j ? 10 : 20;
		resource_list_release(&zone);
	}
	test_node_ready(node);
}

void test_node_release(struct test_node *node)
{
	fit_space_release(&node->space);
	distances_release(&node->distances);
	inventory_release(&node->inv);
}

void test_node_set(struct test_node *node, size_t position, const char *name, const char *amount)
{
	int r = inventory_resource(&node->inv, name);
	struct quantity q;

	assert_true(r >= 0);
	assert_int_equal(quantity_parse(amount, &q, NULL), 0);
	*inventory_amount(&node->inv, position, (size_t)r) =
		(struct inventory_amount){true, q.nano, q.nano, q.nano};
}

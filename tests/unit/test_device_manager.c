/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "scoring/device_manager.h"
#include "scoring/node_mask.h"

struct fixture {
	struct device_inventory inventory;
	struct device_manager dm;
	struct device_books books;
	struct topology_hints hints;
};

/* One resource on a machine of the nodes in `nodes`: a character each, '0'..'9' = its node, '-' = none, 'x' =
 * on nodes 0 and 1; an upper-case letter 'A'..'J' is a taken one of node 0..9, '!' an unhealthy one of node
 * 0. */
static void fixture_init(struct fixture *f, uint64_t nodes, const char *devices, bool older)
{
	const struct kubelet_version version = {.device_hints_on_every_node = older};

	f->inventory = (struct device_inventory){0};
	for (const char *c = devices; *c; c++) {
		struct device device = {.healthy = *c != '!', .allocated = *c >= 'A' && *c <= 'J'};

		if (*c >= '0' && *c <= '9')
			device.nodes = node_mask_of((unsigned)(*c - '0'));
		else if (device.allocated)
			device.nodes = node_mask_of((unsigned)(*c - 'A'));
		else
			device.nodes = *c == 'x' ? 3 : *c == '!' ? 1 : 0;
		device_inventory_add(&f->inventory, "vendor.com/nic", device);
	}
	device_manager_init(&f->dm, &f->inventory, nodes, &version);
	device_books_init(&f->books, &f->dm);
	device_books_reset(&f->books, &f->dm);
	topology_hints_init(&f->hints, node_mask_count(nodes));
}

static void fixture_release(struct fixture *f)
{
	topology_hints_release(&f->hints);
	device_books_release(&f->books);
	device_manager_release(&f->dm);
	device_inventory_release(&f->inventory);
}

/* The hints as text: "{0}* {0-1}", * = preferred; "none" and "any" for an empty list and no preference. */
static const char *hints_text(const struct topology_hints *hints, char *text, size_t size)
{
	size_t len = 0;

	snprintf(text, size, "%s", hints->no_preference ? "any" : "none");
	for (size_t i = 0; i < hints->n_items; i++) {
		char nodes[NODE_MASK_TEXT_MAX];

		node_mask_print(hints->items[i].nodes, nodes);
		len += (size_t)snprintf(text + len, size - len, "%s{%s}%s", i ? " " : "", nodes,
			hints->items[i].preferred ? "*" : "");
	}
	return text;
}

static void hints_count_near_devices(void **state)
{
	static const struct {
		const char *devices;
		uint64_t nodes;
		size_t n;
		bool older;
		const char *want;
	} cases[] = {
		{"01", 3, 1, false, "{0}* {1}* {0-1}"},
		{"01", 3, 2, false, "{0-1}*"},
		{"01", 3, 3, false, "none"},
		{"--", 3, 1, false, "any"},
		{"0-", 3, 2, false, "none"},
		{"x1", 3, 2, false, "{1}* {0-1}"},
		{"0", 3, 1, false, "{0}*"},
		{"0", 3, 1, true, "{0}* {0-1}"},
		/* Fits one node by size, is free on two. */
		{"0A1B", 3, 2, false, "{0-1}"},
		/* An unhealthy device still makes the node large enough by size. */
		{"0!1", 3, 2, false, "{0-1}"},
		{"01", 3, 0, false, "{0}* {1}* {0-1}"},
		/* A node that the machine does not have. */
		{"09", 3, 1, false, "{0}*"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f;
		char text[256];

		fixture_init(&f, cases[i].nodes, cases[i].devices, cases[i].older);
		/* What is behind the list is not touched. */
		for (size_t k = 0; k < 3; k++)
			f.hints.items[k] = (struct topology_hint){.nodes = 1};
		device_manager_hints(&f.dm, &f.books, 0, cases[i].n, &f.hints);
		test_assert_text(cases[i].devices, hints_text(&f.hints, text, sizeof(text)), cases[i].want);
		assert_false(f.hints.n_items < 3 && f.hints.items[f.hints.n_items].preferred);
		fixture_release(&f);
	}
}

static void init_devices_are_used_again_and_bind(void **state)
{
	const struct topology_hint node_1 = {.nodes = 2};
	struct fixture f;
	size_t available;
	char text[256];

	(void)state;
	fixture_init(&f, 3, "0011", false);
	assert_int_equal(device_manager_allocate(&f.dm, &f.books, 0, 2, node_1, CONTAINER_INIT, &available),
		DEVICE_TAKE_OK);
	assert_true(f.books.reusable[2] && f.books.reusable[3]);
	/* Whatever is used again must be within the hint. */
	device_manager_hints(&f.dm, &f.books, 0, 3, &f.hints);
	test_assert_text("hints", hints_text(&f.hints, text, sizeof(text)), "{0-1}*");
	assert_int_equal(device_manager_allocate(&f.dm, &f.books, 0, 3, node_1, CONTAINER_APP, &available),
		DEVICE_TAKE_OK);
	assert_int_equal(available, 4);
	assert_true(f.books.allocated[0] && !f.books.allocated[1]);
	assert_false(f.books.reusable[2] || f.books.reusable[3]);
	assert_int_equal(device_manager_allocate(&f.dm, &f.books, 0, 2, node_1, CONTAINER_APP, &available),
		DEVICE_TAKE_NOT_ENOUGH);
	assert_int_equal(available, 1);
	assert_false(f.books.allocated[1]);
	fixture_release(&f);
}

static void near_devices_come_first(void **state)
{
	const struct topology_hint node_1 = {.nodes = 2}, anywhere = {.any_node = true};
	struct fixture f;
	size_t available;

	(void)state;
	fixture_init(&f, 3, "-01x", false);
	assert_int_equal(device_manager_allocate(&f.dm, &f.books, 0, 3, node_1, CONTAINER_APP, &available),
		DEVICE_TAKE_OK);
	assert_false(f.books.allocated[0]);
	device_books_reset(&f.books, &f.dm);
	assert_int_equal(device_manager_allocate(&f.dm, &f.books, 0, 1, anywhere, CONTAINER_APP, &available),
		DEVICE_TAKE_OK);
	assert_true(f.books.allocated[0]);
	fixture_release(&f);
	fixture_init(&f, 3, "!!", false);
	assert_int_equal(device_manager_allocate(&f.dm, &f.books, 0, 0, node_1, CONTAINER_APP, &available),
		DEVICE_TAKE_NONE_HEALTHY);
	fixture_release(&f);
}

static void fits_count_devices(void **state)
{
	struct node_mask_fit fit;
	struct fixture f;

	(void)state;
	fixture_init(&f, 3, "00A11", false);
	fit = device_manager_fit(&f.dm, &f.books, 0, 3);
	assert_int_equal(fit.min_nodes, 1);
	assert_int_equal(fit.capacity, 3);
	assert_int_equal(fit.free, 2);
	assert_int_equal(fit.available, 4);
	assert_non_null(device_inventory_find(&f.inventory, "vendor.com/nic"));
	assert_null(device_inventory_find(&f.inventory, "vendor.com/gpu"));
	fixture_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hints_count_near_devices),
		cmocka_unit_test(init_devices_are_used_again_and_bind),
		cmocka_unit_test(near_devices_come_first),
		cmocka_unit_test(fits_count_devices),
	};

	return cmocka_run_group_tests_name("device_manager", tests, NULL, NULL);
}

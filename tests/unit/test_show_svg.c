/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "cli/report/show.h"
#include "common/cleanup.h"
#include "tests/lib/observations.h"

#define PICTURE_MAX (64u << 20)

static char *draw(const struct observation *o, size_t width)
{
	CLEANUP(show_view_release) struct show_view v;
	struct strbuf out = STRBUF_INIT(PICTURE_MAX);

	show_view_init(&v);
	show_view(&o->node, &o->notes, &v);
	assert_int_equal(show_svg(&v, width, &out), 0);
	return strbuf_detach(&out);
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	while ((text = strstr(text, what))) {
		text += strlen(what);
		n++;
	}
	return n;
}

static void pictures_equal_their_golden_files(void **state)
{
	static const struct {
		const char *machine, *golden;
		size_t width;
	} cases[] = {
		{"", "../../man/pictures/show.svg", SHOW_SVG_WIDTH},
		{"offline", "show/offline-480.svg", SHOW_SVG_MIN_WIDTH},
		{"ccx", "show/ccx.svg", 800},
		{"cxl", "show/cxl.svg", SHOW_SVG_WIDTH},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(observation_release) struct observation o;
		CLEANUP(freep) char *text = NULL;

		observation_init(&o);
		if (*cases[i].machine)
			observation_of_machine(cases[i].machine, &o);
		else
			observation_of_picture(&o);
		text = draw(&o, cases[i].width);
		test_assert_golden(cases[i].golden, text);
	}
}

static void every_cpu_and_distance_is_there(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(freep) char *text = NULL;

	(void)state;
	observation_init(&o);
	observation_of_machine("64-nodes-1024-cpus", &o);
	text = draw(&o, SHOW_SVG_WIDTH);
	assert_int_equal(count(text, "<title>CPU "), 1024);
	assert_int_equal(count(text, " to "), 64 * 64 + 1); /* and "from 10 (pale) to 32 (dark)" */
	assert_int_equal(count(text, "<script"), 0);
	assert_int_equal(count(text, "http"), 1); /* the name space */
}

/* The right and lower edge of every rectangle lies within the picture. Returns the number of rectangles. */
static size_t check_edges(const char *text, size_t width, const char *what)
{
	size_t page_width, page_height, x, y, w, h, n = 0;

	assert_int_equal(
		sscanf(strstr(text, "viewBox"), "viewBox=\"0 0 %zu %zu\"", &page_width, &page_height), 2);
	assert_int_equal(page_width, width);
	for (const char *p = text; (p = strstr(p, " x=\"")); p++) {
		char tag[96];

		/* sscanf() measures its whole input first. */
		snprintf(tag, sizeof(tag), "%.*s", (int)strcspn(p, ">"), p);
		if (sscanf(tag, " x=\"%zu\" y=\"%zu\" width=\"%zu\" height=\"%zu\"", &x, &y, &w, &h) != 4)
			continue;
		n++;
		if (x + w > page_width || y + h > page_height)
			fail_msg("%s at %zu: %.60s", what, width, p);
	}
	return n;
}

static void nothing_is_cut_off(void **state)
{
	static const char *const machines[] = {"16-nodes", "64-nodes-1024-cpus", "8-sockets", "ccx", "gb200",
		"gpu-memory", "hugepages", "offline", "one-node", "without-numa"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
		for (size_t width = SHOW_SVG_MIN_WIDTH; width <= 2000; width += 380) {
			CLEANUP(observation_release) struct observation o;
			CLEANUP(freep) char *text = NULL;

			observation_init(&o);
			observation_of_machine(machines[i], &o);
			text = draw(&o, width);
			assert_true(check_edges(text, width, machines[i]) > o.node.machine.n_cpus);
		}
}

/* Whatever the number of NUMA nodes: nodes without a cell of their own share one. */
static void the_matrix_is_no_wider_than_the_picture(void **state)
{
	enum { MOST = 300 };
	static const size_t sizes[] = {2, 16, 17, 88, 89, 90, 127, 128, 129, 256, 257, MOST};
	CLEANUP(freep) unsigned *distances = calloc(MOST * MOST, sizeof(*distances));
	struct numa_node nodes[MOST];
	struct notes notes = {0};
	char machine[] = "a machine", kubelet[] = "a kubelet", offline[] = "";
	struct show_view v = {.node_name = "n",
		.machine = machine,
		.kubelet = kubelet,
		.offline = offline,
		.notes = &notes,
		.distances = distances,
		.distance_nodes = nodes};

	(void)state;
	for (unsigned i = 0; i < MOST; i++)
		nodes[i] = (struct numa_node){.id = i};
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		for (size_t width = SHOW_SVG_MIN_WIDTH; width <= 2000; width += 380) {
			CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(PICTURE_MAX);

			v.n_distances = sizes[i];
			assert_int_equal(show_svg(&v, width, &out), 0);
			assert_true(check_edges(out.text, width, "distances") > 4);
		}
}

/* A device that is not allocatable has a cell without a letter. */
static void reserved_devices_have_no_letter(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(freep) char *before = NULL, *after = NULL;
	struct inventory *inv;
	int nic;

	(void)state;
	observation_init(&o);
	observation_of_picture(&o);
	before = draw(&o, SHOW_SVG_WIDTH);
	inv = &o.node.inventory;
	nic = inventory_resource(inv, "vendor.com/nic");
	assert_true(nic >= 0);
	inventory_amount(inv, 0, (size_t)nic)->capacity += QTY_UNIT;
	after = draw(&o, SHOW_SVG_WIDTH);
	assert_int_equal(count(after, "not allocatable"), count(before, "not allocatable") + 1);
	assert_int_equal(count(after, "<text"), count(before, "<text"));
}

/* The name of a resource ends before its bar: it is cut where the bars are narrow. */
static void names_do_not_cover_bars(void **state)
{
	static char name[] = "vendor.com/nic_with_quite_a_long_name";
	static const struct {
		size_t width;
		const char *want;
	} cases[] = {
		{SHOW_SVG_MIN_WIDTH, ">nic_with_qu...<"},
		{SHOW_SVG_WIDTH, ">nic_with_quite_...<"},
		{1100, ">nic_with_quite_a_long_name<"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(observation_release) struct observation o;
		CLEANUP(freep) char *text = NULL;
		int nic;

		observation_init(&o);
		observation_of_picture(&o);
		nic = inventory_resource(&o.node.inventory, "vendor.com/nic");
		assert_true(nic >= 0);
		o.node.inventory.resources[nic] = name;
		text = draw(&o, cases[i].width);
		if (!strstr(text, cases[i].want))
			fail_msg("%zu pixels: no %s", cases[i].width, cases[i].want);
	}
}

static void text_is_escaped(void **state)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(4096);

	(void)state;
	svg_escape(&out, "a<b>&\"c\" d\xc3\xa9 \x01\xff");
	test_assert_text("escaped", out.text, "a&lt;b&gt;&amp;&quot;c&quot; d? ??");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pictures_equal_their_golden_files),
		cmocka_unit_test(every_cpu_and_distance_is_there),
		cmocka_unit_test(nothing_is_cut_off),
		cmocka_unit_test(the_matrix_is_no_wider_than_the_picture),
		cmocka_unit_test(reserved_devices_have_no_letter),
		cmocka_unit_test(names_do_not_cover_bars),
		cmocka_unit_test(text_is_escaped),
	};

	return cmocka_run_group_tests_name("show_svg", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "cli/report/show.h"
#include "common/cleanup.h"
#include "tests/lib/observations.h"
#include "tests/lib/synthetic.h"

#define TEXT_MAX (64u << 20)

/* Draw `o`; the text is the caller's to free. */
static char *draw(const struct observation *o, size_t width, bool colour, bool utf8)
{
	CLEANUP(show_view_release) struct show_view v;
	struct strbuf out = STRBUF_INIT(TEXT_MAX);

	show_view_init(&v);
	show_view(&o->node, &o->notes, &v);
	assert_int_equal(show_text(&v, width, colour, utf8, &out), 0);
	return strbuf_detach(&out);
}

/* The machines of the golden files and of the properties; "" is the pictures' one. */
static void observe_named(const char *name, struct observation *o)
{
	observation_init(o);
	if (*name)
		observation_of_machine(name, o);
	else
		observation_of_picture(o);
}

static void texts_equal_their_golden_files(void **state)
{
	static const struct {
		const char *machine, *golden;
		size_t width;
		bool colour, utf8;
	} cases[] = {
		{"", "../../man/pictures/show.txt", 80, false, true},
		{"", "show/picture-120.txt", 120, false, true},
		{"", "show/picture-ascii.txt", 80, false, false},
		{"", "show/picture-colour.txt", 80, true, true},
		{"one-node", "show/one-node.txt", 80, false, true},
		{"without-numa", "show/without-numa.txt", 80, false, true},
		{"cxl", "show/cxl.txt", 80, false, true},
		{"offline", "show/offline.txt", 80, false, true},
		{"interleaved", "show/interleaved.txt", 80, false, true},
		{"ccx", "show/ccx-40.txt", TERMINAL_MIN_WIDTH, false, true},
		{"gpu-memory", "show/gpu-memory.txt", 80, false, true},
		{"gb200", "show/gb200-50.txt", 50, false, true},
		{"hugepages", "show/hugepages-40.txt", 40, false, true},
		{"8-sockets", "show/8-sockets-120.txt", 120, false, true},
		{"64-nodes-1024-cpus", "show/64-nodes.txt", 80, false, true},
		{"64-nodes-1024-cpus", "show/64-nodes-200-colour.txt", 200, true, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(observation_release) struct observation o;
		CLEANUP(freep) char *text = NULL;

		observe_named(cases[i].machine, &o);
		text = draw(&o, cases[i].width, cases[i].colour, cases[i].utf8);
		test_assert_golden(cases[i].golden, text);
	}
}

/* One core of two threads and two of one: the spaces say so. Devices that are held and not listed are held. */
static void odd_cores_and_nameless_devices_are_drawn(void **state)
{
	static const struct synthetic shape = {
		.sockets = 1, .numas = 1, .uncores = 1, .cores = 4, .threads = 1, .memory_bytes = 1u << 30};
	CLEANUP(observation_release) struct observation o;
	CLEANUP(freep) char *cores = NULL, *devices = NULL;
	struct inventory *inv;
	int nic;

	(void)state;
	observation_init(&o);
	synthetic_machine(&shape, &o.node.machine);
	o.node.node_name = strdup("odd");
	for (unsigned i = 0; i < 4; i++)
		o.node.machine.cpus[i].hardware_core = i > 1 ? i : 0;
	cores = draw(&o, 80, false, false);
	assert_non_null(strstr(cores, "| ?? ? ? "));
	observation_release(&o);

	observation_init(&o);
	observation_of_picture(&o);
	inv = &o.node.inventory;
	nic = inventory_resource(inv, "vendor.com/nic");
	assert_true(nic >= 0);
	assert_int_equal(inventory_amount(inv, 0, (size_t)nic)->available / QTY_UNIT, 2);
	inventory_amount(inv, 0, (size_t)nic)->available = QTY_UNIT;
	inventory_amount(inv, 0, (size_t)nic)->capacity += QTY_UNIT;
	devices = draw(&o, 80, false, false);
	assert_non_null(strstr(devices, "#AA=. "));
}

/* A NUMA node of whose memory a pod holds a part has a box of its own. */
static void only_equal_nodes_share_a_box(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(freep) char *equal = NULL, *held = NULL;
	struct inventory_amount *memory;

	(void)state;
	observation_init(&o);
	observation_of_machine("gpu-memory", &o);
	equal = draw(&o, 80, false, false);
	assert_non_null(strstr(equal, "NUMA 250-255 "));
	assert_non_null(strstr(equal, " 6 equal, no CPUs"));
	memory = inventory_amount(
		&o.node.inventory, 4, (size_t)inventory_resource(&o.node.inventory, "memory"));
	memory->available -= QTY_UNIT;
	held = draw(&o, 120, false, false);
	assert_non_null(strstr(held, "NUMA 250-251,253-255 "));
	assert_non_null(strstr(held, " 5 equal, no CPUs"));
	assert_non_null(strstr(held, "NUMA 252 "));
}

/* Every line of the text: at most `width` columns, no trailing space. */
static void assert_fits(const char *what, const char *text, size_t width)
{
	size_t columns = 0;

	for (const char *p = text; *p; p++) {
		if (*p == '\n') {
			if (columns > width)
				fail_msg("%s: a line of %zu columns, %zu are there:\n%s", what, columns,
					width, text);
			assert_true(p == text || p[-1] != ' ');
			columns = 0;
			continue;
		}
		columns += ((unsigned char)*p & 0xc0) != 0x80;
	}
	assert_int_equal(columns, 0);
}

static void every_machine_fits_every_width(void **state)
{
	static const char *const machines[] = {"", "16-nodes", "2s-smt2-split", "64-nodes-1024-cpus",
		"8-sockets", "asymmetric", "ccx", "cxl", "gb200", "gpu-memory", "holes", "hugepages",
		"interleaved", "memoryless", "no-distances", "offline", "offline-node", "one-node",
		"overlapping", "row-missing", "without-numa"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
		CLEANUP(observation_release) struct observation o;

		observe_named(machines[i], &o);
		for (size_t width = TERMINAL_MIN_WIDTH; width <= 260; width += 1 + width / 16) {
			CLEANUP(freep) char *text = draw(&o, width, false, true);

			assert_fits(machines[i], text, width);
		}
	}
}

/* A terminal without colours or without UTF-8 shows as much: no letter, digit or line is missing. */
static void ascii_is_ascii_and_complete(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(freep) char *utf8 = NULL;
	CLEANUP(freep) char *ascii = NULL;
	const char *p, *q;

	(void)state;
	observe_named("", &o);
	utf8 = draw(&o, 100, false, true);
	ascii = draw(&o, 100, false, false);
	for (p = utf8, q = ascii; *p && *q; q++) {
		bool plain = ((unsigned char)*p & 0x80) == 0;

		assert_true(*q == '\n' || (*q >= ' ' && *q <= '~'));
		if (plain)
			assert_int_equal(*p, *q);
		for (p++; ((unsigned char)*p & 0xc0) == 0x80; p++)
			;
	}
	assert_int_equal(*p, 0);
	assert_int_equal(*q, 0);
}

/* Colours add control sequences; but for the backgrounds of the distances the text stays the same. */
static void colours_only_add(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(freep) char *plain = NULL;
	CLEANUP(freep) char *colour = NULL;
	char *to;

	(void)state;
	observe_named("64-nodes-1024-cpus", &o);
	plain = draw(&o, 100, false, true);
	colour = draw(&o, 100, true, true);
	assert_non_null(strchr(colour, '\033'));
	to = colour;
	for (const char *p = colour; *p; p++) {
		if (*p == '\033')
			p = strchr(p, 'm');
		else
			*to++ = *p;
	}
	*to = '\0';
	test_assert_text("without colours", colour, plain);
}

/* What sources tell cannot steer the terminal. */
static void foreign_text_is_made_harmless(void **state)
{
	static const struct holding holdings[] = {
		{.uid = "1", .namespace = "n", .pod = "\033]0;owned\a", .container = "a\nb", .cpus = "1"},
	};
	CLEANUP(observation_release) struct observation o;
	CLEANUP(freep) char *text = NULL;

	(void)state;
	observation_init(&o);
	observation_of_kubelet("cxl", "0", holdings, ARRAY_SIZE(holdings), &o);
	notes_add(&o.notes, "f\xc3\xbcr \x1b[2J \xff end");
	text = draw(&o, 80, false, false);
	assert_null(strpbrk(text, "\033\a"));
	assert_non_null(strstr(text, "n/?]0;owned? (a?b)"));
	assert_non_null(strstr(text, "f?r ?[2J ? end"));
}

/* The largest machine: 8192 CPUs, 64 NUMA nodes; and one with more nodes than columns. */
static void large_machines_stay_readable(void **state)
{
	static const struct synthetic shapes[] = {
		{.sockets = 16,
			.numas = 4,
			.uncores = 4,
			.cores = 16,
			.threads = 2,
			.memory_bytes = 1ull << 38},
		{.sockets = 1,
			.numas = 1,
			.uncores = 1,
			.cores = 4096,
			.threads = 2,
			.memory_bytes = 1ull << 40},
		{.sockets = 128,
			.numas = 8,
			.uncores = 1,
			.cores = 4,
			.threads = 2,
			.memory_bytes = 1ull << 30},
	};
	static const size_t most_lines[] = {300, 130, 3000};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		CLEANUP(observation_release) struct observation o;
		CLEANUP(freep) char *text = NULL;
		size_t lines = 0, cpus = 0;

		observation_init(&o);
		synthetic_machine(&shapes[i], &o.node.machine);
		o.node.node_name = strdup("large");
		o.node.settings.cpu_manager = CPU_MANAGER_NONE;
		node_derive_inventory(&o.node, &o.node.inventory, NULL);
		text = draw(&o, 80, false, false);
		assert_fits("large", text, 80);
		for (const char *p = text; *p; p++)
			lines += *p == '\n';
		if (lines > most_lines[i])
			fail_msg("shape %zu: %zu lines", i, lines);
		for (const char *p = strchr(text, '+'), *end = strstr(text, "CPUs     "); p && p < end; p++)
			cpus += *p == '.';
		assert_true(cpus >= o.node.machine.n_cpus);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_equal_their_golden_files),
		cmocka_unit_test(only_equal_nodes_share_a_box),
		cmocka_unit_test(odd_cores_and_nameless_devices_are_drawn),
		cmocka_unit_test(every_machine_fits_every_width),
		cmocka_unit_test(ascii_is_ascii_and_complete),
		cmocka_unit_test(colours_only_add),
		cmocka_unit_test(foreign_text_is_made_harmless),
		cmocka_unit_test(large_machines_stay_readable),
	};

	return cmocka_run_group_tests_name("show_text", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "scoring/kubelet_version.h"
#include "scoring/node/manager_state.h"
#include "scoring/node/node_derive.h"
#include "scoring/node/node_state_codec.h"
#include "scoring/node/pod_names.h"
#include "tests/lib/claims.h"
#include "tests/lib/node_states.h"
#include "tests/lib/observations.h"

/*
 * Remove the same pod from either state: items of a text are in another order, so the pod is found by its
 * hash.
 */
static void give_back(struct node_state *node, const char *uid)
{
	struct allocations *a = &node->allocations;
	CLEANUP(freep) bool *ended = calloc(a->n_items + 1, sizeof(*ended));
	char hash[POD_NAMES_HASH_SIZE];

	assert_non_null(ended);
	pod_names_hash_uid(uid, hash);
	for (size_t i = 0; i < a->n_items; i++)
		ended[i] = !strcmp(a->items[i].pod_uid, uid) || !strcmp(a->items[i].pod_uid, hash);
	allocations_give_back(a, ended);
	node_state_complete(node);
}

/* The parsed state is the same as the node's: now, and after a pod has ended. */
static void check(const char *what, struct node_state *node, size_t n_pods, uint64_t *seed)
{
	CLEANUP(freep) char *text = node_state_print_text(node);
	CLEANUP(freep) char *again = NULL;
	CLEANUP(freep) char *uid = NULL;
	struct node_state parsed;

	node_state_parse_text(text, &parsed);
	again = node_state_print_text(&parsed);
	test_assert_text(what, again, text);
	node_state_assert_same(what, node, &parsed);
	node_state_assert_same_verdicts(what, node, &parsed, n_pods, seed);
	if (node->allocations.n_items > 0) {
		uid = strdup(node->allocations.items[node->allocations.n_items - 1].pod_uid);
		give_back(node, uid);
		give_back(&parsed, uid);
		node_state_assert_same(what, node, &parsed);
		node_state_assert_same_verdicts(what, node, &parsed, n_pods, seed);
	}
	node_state_release(&parsed);
}

static void a_node_with_pods_is_the_same(void **state)
{
	uint64_t seed = test_seed(1);
	struct observation o;

	(void)state;
	observation_of_picture(&o);
	check("picture", &o.node, 200, &seed);
	observation_release(&o);
}

static void random_states_are_the_same_on_every_machine(void **state)
{
	CLEANUP(strv_release) struct strv machines = {0};
	uint64_t seed = test_seed(14);

	(void)state;
	observation_machines(&machines);
	for (size_t i = 0; i < machines.n_items; i++) {
		const char *name = machines.items[i];
		CLEANUP(observation_release) struct observation o;
		bool large;

		large = !strcmp(name, "64-nodes-1024-cpus") || !strcmp(name, "16-nodes");
		observation_of_machine(name, &o);
		for (size_t k = 0; k < (large ? 4 : 40); k++) {
			node_state_randomize(&o.node, &seed);
			check(name, &o.node, large ? 2 : 10, &seed);
		}
	}
}

/* ---- the manual's example */

static void register_nics(struct allocations *a)
{
	static const char *const near[] = {"0", "0", "0", "1"};
	char id[] = "nic-0";

	a->registered_known = true;
	for (size_t i = 0; i < ARRAY_SIZE(near); i++, id[4]++) {
		CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = NULL;

		assert_int_equal(cpuset_parse(near[i], &nodes, NULL), 0);
		device_blocks_add(&a->registered, &a->n_registered, &a->registered_size, "vendor.com/nic",
			nodes, false, id);
	}
}

static void make_example(struct observation *o)
{
	static const struct holding holdings[] = {
		{.uid = "f5c1ffa3-6f1d-4d0a-8a5f-9d0f7f5a3a11",
			.namespace = "telecom",
			.pod = "upf-0",
			.container = "a",
			.cpus = "1-2,33-34",
			.nodes = "0",
			.memory = 16ull << 30,
			.resource = "vendor.com/nic",
			.ids = {"nic-0", "nic-2"},
			.near = "0"},
		{.uid = "f5c1ffa3-6f1d-4d0a-8a5f-9d0f7f5a3a11",
			.namespace = "telecom",
			.pod = "upf-0",
			.container = "b",
			.nodes = "0",
			.memory = 512ull << 20},
		{.uid = "5a9c41d7-53c8-4d0e-9a41-6f2f0b7c5e11",
			.container = "main",
			.cpus = "14-17,46-49",
			.nodes = "0-1",
			.memory = 4ull << 30},
	};
	struct settings *s = &o->node.settings;

	observation_of_kubelet("2s-smt2-split", "0,32", holdings, ARRAY_SIZE(holdings), o);
	s->kubelet_minor = 36;
	s->reserved_known = true;
	s->kube_reserved_cpu = 2 * QTY_UNIT;
	s->kube_reserved_memory = (qty_t)(1ull << 30) * QTY_UNIT;
	s->eviction_hard_memory = strdup("100Mi");
	for (size_t i = 0; i < o->node.allocations.memory.n_nodes; i++) {
		struct memory_node *node = &o->node.allocations.memory.nodes[i];

		node->assignments = i == 0 ? 3 : 1;
		node->cells = hwloc_bitmap_alloc();
		hwloc_bitmap_set_range(node->cells, 0, 1);
	}
	register_nics(&o->node.allocations);
	node_state_complete(&o->node);
}

/* The example of man/nrtd-object.7, which is on several lines there. */
static char *read_example(void)
{
	static const char start[] = ".\\\" node state: begin\n.Bd -literal\n";
	const char *top = getenv("NRTD_TOP");
	CLEANUP(freep) char *path = NULL;
	CLEANUP(freep) char *page = NULL;
	char *at, *to, *example;
	size_t len;

	assert_true(asprintf(&path, "%s/man/nrtd-object.7", top ? top : ".") > 0);
	page = test_read_file(path, &len);
	at = strstr(page, start);
	assert_non_null(at);
	at += strlen(start);
	to = example = calloc(len, 1);
	for (; strncmp(at, ".Ed\n", 4) != 0; at++) {
		assert_true(*at != '\0');
		if (*at != '\n' && *at != ' ')
			*to++ = *at;
	}
	return example;
}

static void the_manual_has_what_is_printed(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(freep) char *want = read_example();
	CLEANUP(freep) char *text = NULL;
	uint64_t seed = test_seed(3);

	(void)state;
	make_example(&o);
	text = node_state_print_text(&o.node);
	test_assert_text("nrtd-object(7)", want, text);
	check("nrtd-object(7)", &o.node, 50, &seed);
}

/* ---- the length of the text */

static int by_core(const void *va, const void *vb)
{
	const struct cpu *a = va, *b = vb;

	return a->core != b->core ? (a->core > b->core) - (a->core < b->core)
				  : (a->id > b->id) - (a->id < b->id);
}

/* The pod's share of the CPUs in the order of their cores. */
static char *share(const struct cpu *cpus, size_t n_cpus, size_t i, size_t n)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = hwloc_bitmap_alloc();

	for (size_t k = i * n_cpus / n; k < (i + 1) * n_cpus / n; k++)
		hwloc_bitmap_set(set, cpus[k].id);
	return cpuset_print(set);
}

/* Amounts as MemTotal has them, which are not round. */
static void set_amounts(struct observation *o)
{
	struct settings *s = &o->node.settings;
	struct machine *m = &o->node.machine;

	s->kubelet_minor = 36;
	s->reserved_known = true;
	s->kube_reserved_cpu = 5 * QTY_UNIT / 2;
	s->kube_reserved_memory = (qty_t)(1ull << 30) * QTY_UNIT;
	s->eviction_hard_memory = strdup("100Mi");
	for (size_t i = 0; i < m->n_nodes; i++)
		m->nodes[i].memory_bytes -= (i * 7919 + 13) << 10;
	for (size_t i = 0; i < o->node.allocations.memory.n_nodes; i++) {
		struct memory_node *node = &o->node.allocations.memory.nodes[i];

		node->cells = hwloc_bitmap_alloc();
		hwloc_bitmap_set(node->cells, node->id);
		node->assignments = 6;
		for (size_t t = 0; t < node->n_tables; t++)
			if (!strcmp(node->tables[t].type, "memory")) {
				node->tables[t].total -= (i * 7919 + 13) << 10;
				node->tables[t].allocatable -= (i * 7919 + 13) << 10;
				node->tables[t].free -= (i * 7919 + 13) << 10;
			}
	}
}

/* `n` pods share all CPUs except the reserved CPUs; each holds memory, and every fourth a device. */
static void fill(const char *machine, const char *reserved, size_t n, struct observation *o)
{
	CLEANUP(freep) struct holding *holdings = calloc(n, sizeof(*holdings));
	CLEANUP(freep) char(*texts)[4][64] = calloc(n, sizeof(*texts));
	CLEANUP(strv_release) struct strv sets = {0};
	CLEANUP(cpuset_freep) hwloc_bitmap_t not = NULL;
	CLEANUP(freep) struct cpu *cpus = NULL;
	size_t n_cpus = 0;

	observation_of_machine(machine, o);
	cpus = calloc(o->node.machine.n_cpus, sizeof(*cpus));
	assert_int_equal(cpuset_parse(reserved, &not, NULL), 0);
	for (size_t i = 0; i < o->node.machine.n_cpus; i++)
		if (!hwloc_bitmap_isset(not, o->node.machine.cpus[i].id))
			cpus[n_cpus++] = o->node.machine.cpus[i];
	qsort(cpus, n_cpus, sizeof(*cpus), by_core);
	for (size_t i = 0; i < n; i++) {
		strv_take(&sets, share(cpus, n_cpus, i, n));
		snprintf(texts[i][0], 64, "f5c1ffa3-6f1d-4d0a-8a5f-9d0f7f5a%04zx", i * 7919 % 65536);
		snprintf(texts[i][1], 64, "worker-%zu", i);
		snprintf(texts[i][2], 64, "%d", cpus[i * n_cpus / n].numa);
		snprintf(texts[i][3], 64, "device-%04zu", i);
		holdings[i] = (struct holding){.uid = texts[i][0],
			.namespace = "production",
			.pod = texts[i][1],
			.container = "main",
			.cpus = sets.items[i],
			.nodes = texts[i][2],
			.memory = (uint64_t)(700 + i * 13 % 500) << 20};
		if (i % 4 == 0) {
			holdings[i].resource = "vendor.com/nic";
			holdings[i].ids[0] = texts[i][3];
			holdings[i].near = texts[i][2];
		}
	}
	observation_release(o);
	observation_of_kubelet(machine, reserved, holdings, n, o);
	set_amounts(o);
	node_state_complete(&o->node);
}

/* The limits of nrtd-object(7). */
static void it_is_short(void **state)
{
	static const struct {
		const char *machine, *reserved;
		size_t pods, most;
	} cases[] = {
		{"2s-snc4", "0,24,48,72", 50, 2048},
		{"64-nodes-1024-cpus", "0-15", 192, 12288},
	};
	uint64_t seed = test_seed(5);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(observation_release) struct observation o;
		CLEANUP(freep) char *text = NULL;

		fill(cases[i].machine, cases[i].reserved, cases[i].pods, &o);
		text = node_state_print_text(&o.node);
		print_message("%s, %zu pods: %zu bytes\n", cases[i].machine, cases[i].pods, strlen(text));
		assert_true(strlen(text) <= cases[i].most);
		check(cases[i].machine, &o.node, 5, &seed);
	}
}

/* ---- texts that are damaged */

static void assert_one_line(const char *text, const struct err *err)
{
	if (!*err->text || strpbrk(err->text, "\n\r\t"))
		fail_msg("'%s' for %s", err->text, text);
}

/* Rejected with one line, or a valid state: parsing what it prints gives the same text. */
static bool try(const char *text)
{
	CLEANUP(freep) char *first = NULL;
	CLEANUP(freep) char *second = NULL;
	struct node_state parsed;
	struct err err = {""};
	int r = node_state_parse(text, &parsed, &err);

	if (r < 0) {
		assert_one_line(text, &err);
		return false;
	}
	first = node_state_print_text(&parsed);
	node_state_release(&parsed);
	assert_int_equal(node_state_parse(first, &parsed, &err), 0);
	second = node_state_print_text(&parsed);
	node_state_release(&parsed);
	test_assert_text(text, second, first);
	return true;
}

/* Optional sections are at the end. */
static void every_prefix_is_refused_or_sane(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(freep) char *text = NULL;
	size_t must;

	(void)state;
	make_example(&o);
	text = node_state_print_text(&o.node);
	must = (size_t)(strstr(text, ";uncore=") - text) + strlen(";uncore=");
	for (size_t len = strlen(text); len-- > 0;) {
		text[len] = '\0';
		if (try(text))
			assert_true(len >= must);
	}
}

static void flipped_bytes_are_refused_or_sane(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(freep) char *text = NULL;
	uint64_t seed = test_seed(9);
	size_t n = test_runner() ? 500 : 20000, refused = 0;

	(void)state;
	make_example(&o);
	text = node_state_print_text(&o.node);
	for (size_t i = 0; i < n; i++) {
		CLEANUP(freep) char *damaged = strdup(text);

		for (size_t k = 0; k < 1 + test_random(&seed) % 3; k++) {
			size_t at = test_random(&seed) % strlen(text);

			damaged[at] = test_random(&seed) % 2 ? text[test_random(&seed) % strlen(text)]
							     : (char)(1 + test_random(&seed) % 255);
		}
		refused += !try(damaged);
	}
	assert_true(refused > n / 4 && refused < n);
}

/* A text that can be read. */
static void read_back(const char *text, struct node_state *ret)
{
	struct err err = {""};

	if (node_state_parse(text, ret, &err) < 0)
		fail_msg("%s", err.text);
}

/* No reader may take the kubelet for one without the option: with these settings verdicts are unknown, and name the option. */
static void an_option_that_is_not_known_is_not_left_out(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		CLEANUP(observation_release) struct observation o;
		CLEANUP(node_state_release) struct node_state other;
		CLEANUP(freep) char *text = NULL, *again = NULL;
		struct settings *s = &o.node.settings, *read = &other.settings;
		char **const unknown[][2] = {{&s->unknown_cpu_option, &read->unknown_cpu_option},
			{&s->unknown_topology_option, &read->unknown_topology_option},
			{&s->unknown_feature_gate, &read->unknown_feature_gate}};

		make_example(&o);
		s->kubelet_minor = KUBELET_MINOR_COMPARED + 1;
		text_set(unknown[i][0], "later");
		text = node_state_print_text(&o.node);
		read_back(text, &other);
		assert_string_equal(*unknown[i][1], "later");
		again = node_state_print_text(&other);
		assert_string_equal(again, text);
	}
}

/* A compared kubelet ignores a gate that it does not have. Without a release in the text, the reader may know the release. */
static void a_gate_that_is_not_known_is_written_for_newer_kubelets(void **state)
{
	static const struct {
		unsigned minor, prerelease;
		bool want;
	} cases[] = {{36, 0, false}, {38, KUBELET_BETA, false}, {38, KUBELET_BETA + 1, true}, {38, 0, true},
		{39, 0, true}, {0, 0, true}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(observation_release) struct observation o;
		CLEANUP(freep) char *text = NULL;

		make_example(&o);
		o.node.settings.kubelet_minor = cases[i].minor;
		o.node.settings.kubelet_prerelease = cases[i].prerelease;
		text_set(&o.node.settings.unknown_feature_gate, "LaterCPUs");
		text = node_state_print_text(&o.node);
		if ((strstr(text, ";gates=LaterCPUs;") != NULL) != cases[i].want)
			fail_msg("1.%u, %u: %s", cases[i].minor, cases[i].prerelease, text);
	}
}

static void a_pre_release_is_a_section_of_its_own(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(freep) char *text = NULL;
	struct node_state other;

	(void)state;
	make_example(&o);
	settings_set_kubelet(&o.node.settings, (struct kubelet_release){38, KUBELET_RC + 2});
	text = node_state_print_text(&o.node);
	assert_non_null(strstr(text, "1;kubelet=38;?prerelease=rc.2;cpu="));
	read_back(text, &other);
	assert_int_equal(other.settings.kubelet_minor, 38);
	assert_int_equal(other.settings.kubelet_prerelease, KUBELET_RC + 2);
	node_state_release(&other);
}

static void gates_that_decide_are_in_it(void **state)
{
	static const char gates[] = "InPlacePodVerticalScalingExclusiveCPUs=true,"
				    "InPlacePodVerticalScalingExclusiveMemory=true";
	CLEANUP(observation_release) struct observation o;
	struct node_state other;
	CLEANUP(freep) char *text = NULL;

	(void)state;
	make_example(&o);
	text_set(&o.node.settings.feature_gates_text, gates);
	text = node_state_print_text(&o.node);
	read_back(text, &other);
	test_assert_text("gates", other.settings.feature_gates_text, gates);
	node_state_release(&other);
}

/* Beyond 1024 all numbers mean the same, as no machine has as many NUMA nodes. */
static void a_large_maximum_of_numa_nodes_can_be_read(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(freep) char *text = NULL;
	struct node_state other;

	(void)state;
	make_example(&o);
	o.node.settings.topology.max_numa_nodes = 100000;
	text = node_state_print_text(&o.node);
	read_back(text, &other);
	assert_int_equal(other.settings.topology.max_numa_nodes, 1024);
	node_state_release(&other);
}

/* Tables that the text itself calls unknown are not printed, and neither are the names of their types. */
static void what_is_unknown_is_not_printed(void **state)
{
	static const char text[] =
		"1;cpu=static;memory=Static;topology=single-numa-node,pod,8;ram=3k;nodes=0:4k;cores=0-3/2=0+2;sockets=0-3=0;"
		"numa=0-3=0;uncore=0-3=0;unknown=memory;shared=3;types=hugepages-2Mi,memory;memory-nodes=0@0-1*3::1g/18944m|1@1-1*1::/2g";
	CLEANUP(strbuf_release) struct strbuf first = STRBUF_INIT(4096), second = STRBUF_INIT(4096);
	CLEANUP(node_state_release) struct node_state node, again;
	struct err err = {""};

	(void)state;
	if (node_state_parse(text, &node, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(node_state_print(&node, &first), 0);
	assert_null(strstr(first.text, "hugepages"));
	if (node_state_parse(first.text, &again, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(node_state_print(&again, &second), 0);
	assert_string_equal(first.text, second.text);
}

/*
 * Sockets, NUMA nodes and cores that lie across each other: their CPUs are listed several times. The
 * sanitizers look.
 */
static void levels_that_are_not_nested_stay_in_their_place(void **state)
{
	static const char text[] =
		"1;kubelet=36;cpu=static,full-pcpus-only;memory=Static;topology=restricted,container,8;rese"
		"rved-cpu=1;reserved-memory=0Gi;eviction=100Mi;ram=375g;pages=2m,1g;nodes=0:192000m:0:16|1:"
		"192000m:0:16;distances=~10,21,10;cores=0-31/1=0,32-63/1=0;sockets=0-31/16=0,32-63/19=1;num"
		"a=0-31/16=0,32-63/17=0;uncore=0-31/16=0,32-63/16=0;shared=rest";
	static const struct derive_config config = {.reserved_named = false};
	CLEANUP(node_state_release) struct node_state node;
	struct err err = {""};

	(void)state;
	if (node_state_parse(text, &node, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(node_derive(&config, &node, NULL, &err), 0);
}

static void a_newer_version_is_not_damage(void **state)
{
	struct node_state parsed;
	struct err err = {""};

	(void)state;
	assert_int_equal(node_state_parse("2;whatever it is", &parsed, &err), -ENOTSUP);
	test_assert_text("message", err.text, "the node state is of version 2, this nrtd reads version 1");
}

/* ---- names */

/* `text` with `section` before the byte at `at`. */
static char *with_section(const char *text, size_t at, const char *section)
{
	struct strbuf out = STRBUF_INIT(2 * NODE_STATE_TEXT_MAX);

	strbuf_add(&out, text, at);
	strbuf_addstr(&out, section);
	strbuf_addstr(&out, text + at);
	return strbuf_detach(&out);
}

static void marked_sections_are_skipped(void **state)
{
	static const struct {
		const char *section;
		int want;
		bool anywhere; /* else only at the end; elsewhere the text is damaged as well, or out of order */
	} cases[] = {
		{";?pcie=0a/1b", 0, true},
		{";?=1;?pcie=1", -EINVAL, true},
		{";?pcie", -EINVAL, true},
		{";?PCIe=1", -EINVAL, true},
		{";pcie=1", -ENOTSUP, false},
		{";kubelet=1", -EINVAL, false},
	};
	CLEANUP(observation_release) struct observation o;
	CLEANUP(freep) char *text = NULL;
	size_t n = 0;

	(void)state;
	make_example(&o);
	text = node_state_print_text(&o.node);
	for (size_t at = strcspn(text, ";");; at += 1 + strcspn(text + at + 1, ";"), n++) {
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			CLEANUP(freep) char *more = with_section(text, at, cases[i].section);
			CLEANUP(freep) char *again = NULL;
			struct node_state parsed;
			struct err err = {""};
			int r = node_state_parse(more, &parsed, &err);

			if (cases[i].anywhere || text[at] == '\0')
				assert_int_equal(r, cases[i].want);
			else
				assert_true(r < 0);
			if (r < 0) {
				assert_one_line(more, &err);
				continue;
			}
			again = node_state_print_text(&parsed);
			assert_string_equal(again, text);
			node_state_release(&parsed);
		}
		if (text[at] == '\0')
			break;
	}
	assert_true(n > 10);
}

/* What a reader of the object knows about claims: driver, pods, CPUs, memory, number of devices. */
static void claims_come_back(void **state)
{
	static const char want[] = ";claims=dra.cpu:C_taog:2-3|dra.memory::/c1g@0*2";
	CLEANUP(observation_release) struct observation o;
	CLEANUP(freep) char *text = NULL, *again = NULL;
	struct node_state parsed;
	struct claim *c;
	const char *at;

	(void)state;
	observation_of_picture(&o);
	c = test_add_claim(&o.node.claims, "dra.cpu", "a", "2-3", NULL, 0, 0);
	claim_add_pod(c, "ns", "p");
	c = test_add_claim(&o.node.claims, "dra.memory", "b", "", "memory", 1ull << 30, 0);
	strv_push(&c->devices, "n/a");
	strv_push(&c->devices, "n/b");
	node_state_complete(&o.node);
	text = node_state_print_text(&o.node);
	at = strstr(text, ";claims=");
	assert_non_null(at);
	test_assert_text("claims", at, want);
	node_state_parse_text(text, &parsed);
	again = node_state_print_text(&parsed);
	test_assert_text("again", again, text);
	assert_int_equal(parsed.claims.n_items, 2);
	assert_int_equal(parsed.claims.items[1].devices.n_items, 2);
	node_state_assert_same("claims", &o.node, &parsed);
	node_state_release(&parsed);
}

static void a_node_without_claims_does_not_mention_them(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(freep) char *text = NULL;

	(void)state;
	observation_of_picture(&o);
	text = node_state_print_text(&o.node);
	assert_null(strstr(text, "claims"));
}

/* ---- remote memory */

/* The number of pods with remote memory, and the hash of the last one. */
static size_t count_remote(const struct node_state *node, const char **ret_uid)
{
	size_t n = 0;

	for (size_t i = 0; i < node->allocations.n_items; i++)
		if (node->allocations.items[i].remote_memory) {
			*ret_uid = node->allocations.items[i].pod_uid;
			n++;
		}
	return n;
}

static void remote_memory_comes_back(void **state)
{
	static const struct holding holdings[] = {{.uid = "a", .cpus = "1"}, {.uid = "b", .cpus = "2"},
		{.uid = "c", .cpus = "3"}, {.uid = "d", .cpus = "4"}};
	CLEANUP(observation_release) struct observation o;
	CLEANUP(freep) char *unknown = NULL;
	struct err err = {""};
	struct node_state parsed;

	(void)state;
	observation_init(&o);
	observation_of_kubelet("seed-2s-32cpu", "0", holdings, ARRAY_SIZE(holdings), &o);
	unknown = node_state_print_text(&o.node);
	assert_null(strstr(unknown, "?remote"));
	o.node.allocations.remote_memory_known = true;
	for (size_t i = 0; i < 4; i++) {
		CLEANUP(freep) char *text = NULL, *again = NULL, *beyond = NULL;
		char hash[POD_NAMES_HASH_SIZE];
		const char *uid = NULL;

		o.node.allocations.items[i].remote_memory = true;
		text = node_state_print_text(&o.node);
		node_state_parse_text(text, &parsed);
		again = node_state_print_text(&parsed);
		test_assert_text("again", again, text);
		pod_names_hash_uid(o.node.allocations.items[i].pod_uid, hash);
		assert_true(parsed.allocations.remote_memory_known);
		assert_int_equal(count_remote(&parsed, &uid), 1);
		assert_string_equal(uid, hash);
		node_state_release(&parsed);
		o.node.allocations.items[i].remote_memory = false;
		beyond = strdup(text);
		*(strstr(beyond, "?remote=") + strlen("?remote=")) = '4';
		assert_int_equal(node_state_parse(beyond, &parsed, &err), -EINVAL);
	}
	node_state_parse_text(unknown, &parsed);
	assert_false(parsed.allocations.remote_memory_known);
	node_state_release(&parsed);
}

/* ---- isolated CPUs */

static void isolated_cpus_come_back(void **state)
{
	static const char *const lists[] = {"", "4-7", "1-3,9"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		CLEANUP(observation_release) struct observation o;
		CLEANUP(freep) char *text = NULL, *section = NULL, *again = NULL, *unknown = NULL;
		struct node_state parsed;

		make_example(&o);
		unknown = node_state_print_text(&o.node);
		assert_null(strstr(unknown, ";?isolated"));
		assert_int_equal(cpuset_parse(lists[i], &o.node.machine.isolated, NULL), 0);
		text = node_state_print_text(&o.node);
		section = xasprintf(";?isolated=%s;", lists[i]);
		assert_non_null(strstr(text, section));
		node_state_parse_text(text, &parsed);
		assert_true(hwloc_bitmap_isequal(parsed.machine.isolated, o.node.machine.isolated));
		node_state_assert_same("isolated", &o.node, &parsed);
		again = node_state_print_text(&parsed);
		test_assert_text("again", again, text);
		node_state_release(&parsed);
	}
}

static void hashes_are_the_documented_ones(void **state)
{
	char a[POD_NAMES_HASH_SIZE], b[POD_NAMES_HASH_SIZE];

	(void)state;
	pod_names_hash_uid("default/web-0", a);
	pod_names_hash_pod("default", "web-0", b);
	test_assert_text("hash", a, b);
	test_assert_text("hash", a, "#-Q5jUP"); /* of f90e6350f..., as xxhsum prints it */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_with_pods_is_the_same),
		cmocka_unit_test(random_states_are_the_same_on_every_machine),
		cmocka_unit_test(the_manual_has_what_is_printed),
		cmocka_unit_test(it_is_short),
		cmocka_unit_test(every_prefix_is_refused_or_sane),
		cmocka_unit_test(flipped_bytes_are_refused_or_sane),
		cmocka_unit_test(an_option_that_is_not_known_is_not_left_out),
		cmocka_unit_test(a_gate_that_is_not_known_is_written_for_newer_kubelets),
		cmocka_unit_test(a_pre_release_is_a_section_of_its_own),
		cmocka_unit_test(gates_that_decide_are_in_it),
		cmocka_unit_test(a_large_maximum_of_numa_nodes_can_be_read),
		cmocka_unit_test(what_is_unknown_is_not_printed),
		cmocka_unit_test(levels_that_are_not_nested_stay_in_their_place),
		cmocka_unit_test(a_newer_version_is_not_damage),
		cmocka_unit_test(marked_sections_are_skipped),
		cmocka_unit_test(claims_come_back),
		cmocka_unit_test(remote_memory_comes_back),
		cmocka_unit_test(a_node_without_claims_does_not_mention_them),
		cmocka_unit_test(isolated_cpus_come_back),
		cmocka_unit_test(hashes_are_the_documented_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>
#include <inttypes.h>

#include "agent/render/pod_placement.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/text.h"
#include "common/vec.h"
#include "tests/lib/synthetic.h"

/* ---- placement */

#define CPUS_PER_NODE 8u

struct world {
	struct machine machine;
	struct allocations held;
};

/* Nodes 0 to n_nodes - 1 of CPUS_PER_NODE CPUs. */
static void world_init(struct world *w, unsigned n_nodes)
{
	const struct synthetic shape = {
		.sockets = 1, .numas = n_nodes, .uncores = 1, .cores = CPUS_PER_NODE, .threads = 1};

	synthetic_machine(&shape, &w->machine);
	allocations_init(&w->held);
}

static void world_release(struct world *w)
{
	machine_release(&w->machine);
	allocations_release(&w->held);
}

static struct allocation *add(struct world *w, const char *namespace, const char *pod, const char *container)
{
	struct allocation *a = allocations_add_container(&w->held, "", container);

	assert_non_null(a);
	text_set(&a->namespace, namespace);
	text_set(&a->pod, pod);
	return a;
}

/* "ns/pod/container=node ...": each holds the first CPU of its node. */
static void add_all(struct world *w, const char *list)
{
	CLEANUP(freep) char *storage = strdup(list);
	char *save = NULL;

	for (char *word = strtok_r(storage, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *pod = strchr(word, '/'), *container, *node;

		assert_non_null(pod);
		*pod++ = '\0';
		container = strchr(pod, '/');
		assert_non_null(container);
		*container++ = '\0';
		node = strchr(container, '=');
		assert_non_null(node);
		*node++ = '\0';
		hwloc_bitmap_set(add(w, word, pod, container)->cpus,
			(unsigned)strtoul(node, NULL, 10) * CPUS_PER_NODE);
	}
}

/* The vectors as "node:vector node:vector". */
static void print_vectors(const struct placement *p, struct strbuf *out)
{
	for (unsigned node = 0; node < p->n_nodes; node++)
		if (p->vectors[node])
			strbuf_addf(out, "%s%u:%s", out->len ? " " : "", node, p->vectors[node]);
	assert_int_equal(strbuf_error(out), 0);
}

static void numbers_are_leb89(void **state)
{
	static const struct {
		uint32_t value;
		const char *want;
	} cases[] = {{0, "!"}, {63, "e"}, {64, "f!"}, {100, "fI"}, {1663, "~e"}, {1664, "gf!"}, {2000, "gk3"},
		{40064, "gff!"}, {100000, "hrqE"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64);

		placement_leb89(cases[i].value, &text);
		test_assert_text("leb89", text.text, cases[i].want);
	}
}

/* Offsets 1, 3, 7, 42: the first, then the steps. */
static void steps_follow_each_other(void **state)
{
	static const uint32_t steps[] = {1, 2, 4, 35};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		placement_leb89(steps[i], &text);
	test_assert_text("steps", text.text, "#$'H");
}

/* Read one number back, by the definition. */
static uint64_t read_leb89(const char **text)
{
	static const char alphabet[] = "!#$%'()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcde"
				       "fghijklmnopqrstuvwxyz{|}~";
	uint64_t high = 0;
	bool continued = false;

	for (;; (*text)++) {
		const char *at = strchr(alphabet, **text);
		uint64_t symbol;

		assert_true(at && **text);
		symbol = (uint64_t)(at - alphabet);
		if (symbol < 64) {
			(*text)++;
			return continued ? 64 + high * 64 + symbol : symbol;
		}
		high = high * 25 + symbol - 64;
		continued = true;
	}
}

static void numbers_read_back(void **state)
{
	uint64_t seed = test_seed(89);

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		uint32_t value = i < 5000 ? i : (uint32_t)test_random(&seed) >> (i % 32);
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64);
		const char *at;

		if (i == 5000)
			value = UINT32_MAX;
		placement_leb89(value, &text);
		at = text.text;
		assert_int_equal(read_leb89(&at), value);
		assert_int_equal(*at, '\0');
	}
}

static void containers_have_known_hashes(void **state)
{
	uint64_t hash;

	(void)state;
	assert_int_equal(placement_hash("ns", "pod", "cnt", &hash), 0);
	assert_true(hash == UINT64_C(9468815510407277218));
	assert_int_equal(placement_hash("", "", "", &hash), 0);
	assert_true(hash == UINT64_C(11145182160106660097));
}

static void known_placements_have_known_vectors(void **state)
{
	static const struct {
		unsigned nodes;
		const char *containers, *metadata, *vectors;
	} cases[] = {
		{2, "", "npv0v001::ve=leb89::cc=0::nn=2::bn=0", ""},
		{2, "ns1/pod1/cnt1=0 ns1/pod2/cnt1=0 ns1/pod3/cnt1=0 ns2/pod1/cnt1=1",
			"npv0v001::ve=leb89::cc=4::nn=2::bn=0", "1:#"},
		{2, "ns1/pod1/cnt1=0 ns1/pod2/cnt1=0 ns2/pod1/cnt1=1 ns2/pod2/cnt1=1",
			"npv0v001::ve=leb89::cc=4::nn=2::bn=0", "1:!%"},
		{2, "ns1/pod1/cnt1=0 ns2/pod1/cnt1=1 ns2/pod2/cnt1=1 ns2/pod3/cnt1=1",
			"npv0v001::ve=leb89::cc=4::nn=2::bn=1", "0:$"},
		{4, "ns1/pod1/cnt1=0 ns1/pod2/cnt1=0 ns1/pod3/cnt1=0 ns2/pod4/cnt1=1 ns3/pod5/cnt1=2",
			"npv0v001::ve=leb89::cc=5::nn=4::bn=0", "1:! 2:'"},
		{2, "ns-0/pod-0/container-0=1 ns-0/pod-1/container-1=0 ns-0/pod-1/container-2=1",
			"npv0v001::ve=leb89::cc=3::nn=2::bn=1", "0:!"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(world_release) struct world w;
		CLEANUP(placement_release) struct placement p = {0};
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);

		world_init(&w, cases[i].nodes);
		add_all(&w, cases[i].containers);
		assert_int_equal(placement_encode(&w.held, &w.machine, cases[i].nodes, &p, NULL), 0);
		test_assert_text(cases[i].containers, p.metadata, cases[i].metadata);
		print_vectors(&p, &text);
		test_assert_text(cases[i].containers, text.text, cases[i].vectors);
	}
}

/* What a reader does: number the containers by hash and look each up in the vectors. */
static void readers_find_every_container(void **state)
{
	uint64_t seed = test_seed(11);

	(void)state;
	for (unsigned round = 0; round < 40; round++) {
		CLEANUP(world_release) struct world w;
		CLEANUP(placement_release) struct placement p = {0};
		unsigned n_nodes = 1 + (unsigned)(test_random(&seed) % 8);
		unsigned n = (unsigned)(test_random(&seed) % 300), busiest, found = 0;
		const char *bn;

		world_init(&w, n_nodes);
		for (unsigned i = 0; i < n; i++) {
			char pod[16];

			snprintf(pod, sizeof(pod), "p%u", i);
			hwloc_bitmap_set(add(&w, "ns", pod, "c")->cpus,
				(unsigned)(test_random(&seed) % (n_nodes * CPUS_PER_NODE)));
		}
		assert_int_equal(placement_encode(&w.held, &w.machine, n_nodes, &p, NULL), 0);
		bn = strstr(p.metadata, "::bn=");
		assert_non_null(bn);
		busiest = (unsigned)strtoul(bn + strlen("::bn="), NULL, 10);
		assert_null(p.vectors[busiest]);
		for (unsigned node = 0; node < n_nodes; node++) {
			const char *at = p.vectors[node];
			uint64_t number = 0;

			while (at && *at) {
				unsigned below = 0, lies_on = n_nodes;
				uint64_t hashes[300], wanted = 0;

				number += read_leb89(&at);
				assert_true(number < n);
				for (unsigned i = 0; i < n; i++)
					assert_int_equal(
						placement_hash("ns", w.held.items[i].pod, "c", &hashes[i]),
						0);
				for (unsigned i = 0; i < n; i++, below = 0) {
					for (unsigned j = 0; j < n; j++)
						below += hashes[j] < hashes[i];
					if (below == number) {
						lies_on = (unsigned)hwloc_bitmap_first(w.held.items[i].cpus) /
							  CPUS_PER_NODE;
						wanted = hashes[i];
					}
				}
				assert_true(wanted != 0);
				assert_int_equal(lies_on, node);
				found++;
			}
		}
		for (unsigned i = 0; i < n; i++)
			found +=
				(unsigned)hwloc_bitmap_first(w.held.items[i].cpus) / CPUS_PER_NODE == busiest;
		assert_int_equal(found, n);
	}
}

static struct device_block *add_device(struct allocation *a, int node)
{
	struct device_block *d = vec_push(&a->devices, &a->n_devices, &a->devices_size, sizeof(*d));

	*d = (struct device_block){.resource = strdup("vendor.com/nic"), .nodes = hwloc_bitmap_alloc()};
	strv_push(&d->ids, "d0");
	if (node >= 0)
		hwloc_bitmap_set(d->nodes, (unsigned)node);
	return d;
}

static struct memory_block *add_memory(struct allocation *a, int node)
{
	struct memory_block *b = vec_push(&a->memory, &a->n_memory, &a->memory_size, sizeof(*b));

	*b = (struct memory_block){.type = strdup("memory"), .bytes = 1, .nodes = hwloc_bitmap_alloc()};
	if (node >= 0)
		hwloc_bitmap_set(b->nodes, (unsigned)node);
	return b;
}

static void devices_and_memory_place_a_container_too(void **state)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(placement_release) struct placement p = {0};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);
	struct allocation *a;

	(void)state;
	world_init(&w, 2);
	a = add(&w, "ns2", "pod1", "cnt1"); /* the first device that has a node */
	add_device(a, -1);
	add_device(a, 1);
	add_memory(a, 0);
	a = add(&w, "ns2", "pod2", "cnt1"); /* the first memory block that has a node */
	add_device(a, -1);
	add_memory(a, -1);
	add_memory(a, 1);
	a = add(&w, "ns1", "pod1", "cnt1"); /* CPUs before all else */
	hwloc_bitmap_set(a->cpus, 0);
	add_device(a, 1);
	add_memory(add(&w, "ns1", "pod2", "cnt1"), 0);
	add_device(add(&w, "ns9", "nowhere", "cnt1"), -1);
	add(&w, "ns9", "nothing", "cnt1");
	hwloc_bitmap_set(add(&w, "ns9", "whole", "")->cpus, 8); /* a pod's own */
	a = add(&w, "", "", "init");                            /* the API does not list it */
	hwloc_bitmap_set_range(a->cpus, 7, 8);
	a->unlisted = true;
	assert_int_equal(placement_encode(&w.held, &w.machine, 2, &p, NULL), 0);
	test_assert_text("metadata", p.metadata, "npv0v001::ve=leb89::cc=4::nn=2::bn=0");
	print_vectors(&p, &text);
	test_assert_text("vectors", text.text, "1:!%");
}

static void a_container_listed_twice_counts_once(void **state)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(placement_release) struct placement p = {0};
	struct err err = {""};

	(void)state;
	world_init(&w, 2);
	add_all(&w, "ns/p/c=1 ns/p/c=1 ns/q/c=0");
	assert_int_equal(placement_encode(&w.held, &w.machine, 2, &p, NULL), 0);
	test_assert_text("metadata", p.metadata, "npv0v001::ve=leb89::cc=2::nn=2::bn=0");
	add_all(&w, "ns/p/c=0");
	placement_release(&p);
	assert_int_equal(placement_encode(&w.held, &w.machine, 2, &p, &err), -EINVAL);
	test_assert_text("error", err.text, "container 'c' of pod 'ns/p' is listed on several NUMA nodes");
}

static void what_lies_on_no_one_node_is_refused(void **state)
{
	enum {
		CPUS,
		CPU_OF_NOWHERE,
		DEVICE,
		MEMORY,
		DEVICE_ELSEWHERE,
		NOT_PUBLISHED,
		NO_NAME,
		NAME_OF_LOGS,
		COUNT
	};
	static const char *const want[COUNT] = {
		[CPUS] = "container 'c' of pod 'ns/p' holds CPUs of several NUMA nodes",
		[CPU_OF_NOWHERE] = "container 'c' of pod 'ns/p' holds a CPU of no NUMA node",
		[DEVICE] = "container 'c' of pod 'ns/p' holds a device of several NUMA nodes",
		[MEMORY] = "container 'c' of pod 'ns/p' holds memory of several NUMA nodes",
		[DEVICE_ELSEWHERE] = "container 'c' of pod 'ns/p' is on a NUMA node that is not published",
		[NOT_PUBLISHED] = "container 'c' of pod 'ns/p' is on a NUMA node that is not published",
		[NO_NAME] = "the names of the pods that hold something are not known",
		/* Their list is the state files', which have init containers in it. */
		[NAME_OF_LOGS] = "the names of the pods that hold something are not known",
	};

	(void)state;
	for (unsigned i = 0; i < COUNT; i++) {
		CLEANUP(world_release) struct world w;
		struct placement p = {.n_nodes = 77};
		struct err err = {""};
		struct allocation *a;

		world_init(&w, 3);
		a = add(&w, i == NO_NAME ? "" : "ns", "p", "c");
		a->named_by_logs = i == NAME_OF_LOGS;
		if (i == CPUS)
			hwloc_bitmap_set_range(a->cpus, 7, 8);
		else if (i == CPU_OF_NOWHERE)
			hwloc_bitmap_set(a->cpus, 500);
		else if (i == DEVICE)
			hwloc_bitmap_set(add_device(a, 0)->nodes, 1);
		else if (i == MEMORY)
			hwloc_bitmap_set(add_memory(a, 0)->nodes, 1);
		else if (i == DEVICE_ELSEWHERE)
			add_device(a, 9);
		else
			hwloc_bitmap_set(a->cpus, i == NOT_PUBLISHED ? 16 : 0);
		assert_int_equal(placement_encode(&w.held, &w.machine, 2, &p, &err), -EINVAL);
		test_assert_text("error", err.text, want[i]);
		assert_int_equal(p.n_nodes, 77);
		assert_null(p.vectors);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_leb89),
		cmocka_unit_test(steps_follow_each_other),
		cmocka_unit_test(numbers_read_back),
		cmocka_unit_test(containers_have_known_hashes),
		cmocka_unit_test(known_placements_have_known_vectors),
		cmocka_unit_test(readers_find_every_container),
		cmocka_unit_test(devices_and_memory_place_a_container_too),
		cmocka_unit_test(a_container_listed_twice_counts_once),
		cmocka_unit_test(what_lies_on_no_one_node_is_refused),
	};

	return cmocka_run_group_tests_name("pod_placement", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "scoring/admit.h"
#include "scoring/nearest_request.h"
#include "tests/lib/kubelet_fixture.h"
#include "tests/lib/pods.h"

/* A node with static CPU and memory managers and no reserved CPU, and a pod for it. */
struct fixture {
	struct kubelet_fixture on;
	struct resource_list free;
	struct admit_handlers handlers;
	struct pod_request pod;
};

static void open_kubelet(struct fixture *f)
{
	kubelet_fixture_ready(&f->on);
	f->handlers = (struct admit_handlers){.kubelet = &f->on.k, .ws = f->on.ws, .free = &f->free};
}

static void close_kubelet(struct fixture *f)
{
	kubelet_workspace_freep(&f->on.ws);
	kubelet_release(&f->on.k);
}

static void fixture_init(struct fixture *f, const struct synthetic *s, enum topology_manager_policy policy)
{
	memset(f, 0, sizeof(*f));
	kubelet_fixture_init(&f->on, s, policy);
	hwloc_bitmap_zero(f->on.reserved);
	f->on.node.devices = NULL;
}

static void fixture_release(struct fixture *f)
{
	kubelet_fixture_release(&f->on);
	resource_list_release(&f->free);
	pod_request_release(&f->pod);
}

static void set_free(struct fixture *f, const char *name, const char *amount)
{
	struct quantity q;

	assert_int_equal(quantity_parse(amount, &q, NULL), 0);
	resource_list_set(&f->free, name, q);
}

/* 2 sockets of one NUMA node with 4 cores of 2 threads. */
static const struct synthetic two_nodes = {
	.sockets = 2, .numas = 1, .uncores = 1, .cores = 4, .threads = 2, .memory_bytes = 1000};

static void init_without_managers(struct fixture *f)
{
	fixture_init(f, &two_nodes, TOPOLOGY_MANAGER_NONE);
	f->on.settings.cpu_manager = CPU_MANAGER_NONE;
	f->on.settings.memory_manager = MEMORY_MANAGER_NONE;
}

static void the_node_must_have_the_amounts(void **state)
{
	struct kubelet_verdict a;
	struct fixture f;

	(void)state;
	init_without_managers(&f);
	set_free(&f, "cpu", "14500m");
	pod_from_text(&f.pod, "init cpu=14 memory=1; app cpu=14500m memory=1");
	open_kubelet(&f);
	admit_judge(&f.handlers, &f.pod, QOS_GUARANTEED, &a);
	assert_int_equal(a.answer, KUBELET_ADMITS);
	assert_null(a.short_of);
	set_free(&f, "cpu", "14499m");
	admit_judge(&f.handlers, &f.pod, QOS_GUARANTEED, &a);
	assert_int_equal(a.answer, KUBELET_REJECTS);
	assert_int_equal(a.managers_answer, KUBELET_ADMITS);
	test_assert_text("short of", a.short_of, "cpu");
	assert_int_equal(qty_milli_value(a.wanted), 14500);
	assert_int_equal(qty_milli_value(a.free), 14499);
	close_kubelet(&f);
	/* Unknown managers: too little is too little all the same, enough is not. */
	f.on.settings.topology.policy = TOPOLOGY_MANAGER_UNKNOWN;
	f.on.settings.cpu_manager = CPU_MANAGER_UNKNOWN;
	pod_request_release(&f.pod);
	pod_from_text(&f.pod, "app cpu=15 memory=1");
	open_kubelet(&f);
	admit_judge(&f.handlers, &f.pod, QOS_GUARANTEED, &a);
	assert_int_equal(a.answer, KUBELET_REJECTS);
	set_free(&f, "cpu", "15");
	admit_judge(&f.handlers, &f.pod, QOS_GUARANTEED, &a);
	assert_int_equal(a.answer, KUBELET_UNKNOWN);
	fixture_release(&f);
}

/* Memory may be short too, and is checked before hugepages: then the kubelet's reason is not known. */
static void the_first_short_resource_may_be_another(void **state)
{
	CLEANUP(resource_list_release) struct resource_list unsure = {0};
	struct kubelet_verdict a;
	struct fixture f;

	(void)state;
	init_without_managers(&f);
	set_free(&f, "cpu", "16");
	set_free(&f, "hugepages-1Gi", "0");
	set_free(&f, "memory", "100");
	resource_list_set(&unsure, "memory", quantity_from_units(100));
	pod_from_text(&f.pod, "app cpu=1 memory=150 hugepages-1Gi=1Gi");
	open_kubelet(&f);
	f.handlers.unsure = &unsure;
	admit_judge(&f.handlers, &f.pod, QOS_BURSTABLE, &a);
	assert_int_equal(a.answer, KUBELET_REJECTS);
	test_assert_text("short of", a.short_of, "hugepages-1Gi");
	assert_true(a.other_may_be_short);
	set_free(&f, "memory", "150");
	admit_judge(&f.handlers, &f.pod, QOS_BURSTABLE, &a);
	assert_int_equal(a.answer, KUBELET_REJECTS);
	assert_false(a.other_may_be_short);
	fixture_release(&f);
}

/* The node has at most the certain plus the unsure amount. Nothing is left only if both are 0. */
static void the_free_amount_of_a_shortage_has_the_unsure_amount(void **state)
{
	CLEANUP(resource_list_release) struct resource_list unsure = {0};
	struct kubelet_verdict a;
	struct fixture f;

	(void)state;
	init_without_managers(&f);
	set_free(&f, "cpu", "0");
	resource_list_set(&unsure, "cpu", quantity_from_units(3));
	pod_from_text(&f.pod, "app cpu=4 memory=1");
	open_kubelet(&f);
	f.handlers.unsure = &unsure;
	admit_judge(&f.handlers, &f.pod, QOS_BURSTABLE, &a);
	assert_int_equal(a.answer, KUBELET_REJECTS);
	test_assert_text("short of", a.short_of, "cpu");
	assert_int_equal(qty_milli_value(a.free), 3000);
	assert_false(a.none_left);
	f.handlers.unsure = NULL;
	admit_judge(&f.handlers, &f.pod, QOS_BURSTABLE, &a);
	assert_int_equal(qty_milli_value(a.free), 0);
	assert_true(a.none_left);
	/* The amount is unsure: at least the certain amount is free. */
	f.handlers.unsure = &unsure;
	set_free(&f, "cpu", "2");
	admit_judge(&f.handlers, &f.pod, QOS_BURSTABLE, &a);
	assert_int_equal(a.answer, KUBELET_UNKNOWN);
	test_assert_text("unsure of", a.unsure_of, "cpu");
	assert_int_equal(qty_milli_value(a.free), 2000);
	fixture_release(&f);
}

static void nearest_requests(void **state)
{
	static const struct {
		const char *pod;
		enum topology_manager_policy policy;
		const char *shared, *free_cpu, *resource; /* NULL resource = none is found */
		size_t container;
		int64_t to; /* thousandths */
	} cases[] = {
		/* 7 + 8 CPUs are free. */ {
			"app cpu=16 memory=1500", TOPOLOGY_MANAGER_RESTRICTED, "1-15", "15", "cpu", 0, 15000},
		{"app cpu=9 memory=1", TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, "1-15", "15", "cpu", 0, 8000},
		/* 3 + 4 CPUs are free, and a node has 8: 5 to 7 would have to lie on one. */
		{"app cpu=8 memory=1", TOPOLOGY_MANAGER_RESTRICTED, "0-2,4-7", "7", "cpu", 0, 4000},
		/* 8 + 2 CPUs are free. Either container may be the smaller one; the first is named. */
		{"app cpu=5 memory=1; app cpu=5 memory=1", TOPOLOGY_MANAGER_RESTRICTED, "0-3,8-13", "10",
			"cpu", 0, 3000},
		{"app cpu=10 memory=3000", TOPOLOGY_MANAGER_RESTRICTED, "0-15", "16", "memory", 0, 2000000},
		/* The smaller part: 1000 of 1100 bytes, not 1 of 2 CPUs. */
		{"app cpu=2 memory=1100", TOPOLOGY_MANAGER_SINGLE_NUMA_NODE, "0-15", "16", "memory", 0,
			1000000},
		{"app cpu=3500m memory=1", TOPOLOGY_MANAGER_RESTRICTED, "0-15", "2300m", "cpu", 0, 2300},
		{"app cpu=1 memory=1", TOPOLOGY_MANAGER_RESTRICTED, "", "1", NULL, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct nearest_request n;
		struct fixture f;

		fixture_init(&f, &two_nodes, cases[i].policy);
		hwloc_bitmap_free(f.on.shared);
		assert_int_equal(cpuset_parse(cases[i].shared, &f.on.shared, NULL), 0);
		f.on.node.shared = f.on.shared;
		set_free(&f, "cpu", cases[i].free_cpu);
		pod_from_text(&f.pod, cases[i].pod);
		open_kubelet(&f);
		nearest_request_find(&f.handlers, &f.pod, QOS_GUARANTEED, &n);
		assert_true(n.complete == n.found);
		if (n.found != (cases[i].resource != NULL))
			fail_msg("%s: found %d", cases[i].pod, n.found);
		if (n.found) {
			assert_int_equal(n.n_changes, 1);
			test_assert_text(cases[i].pod, n.changes[0].resource, cases[i].resource);
			if (qty_milli_value(n.changes[0].to) != cases[i].to ||
				n.changes[0].container != cases[i].container)
				fail_msg("%s: container %zu to %lld", cases[i].pod, n.changes[0].container,
					(long long)qty_milli_value(n.changes[0].to));
		}
		fixture_release(&f);
	}
}

/* ---- against the plain way */

static unsigned below(uint64_t *random, unsigned n)
{
	return (unsigned)(test_random(random) % n);
}

static const enum topology_manager_policy policies[] = {TOPOLOGY_MANAGER_NONE, TOPOLOGY_MANAGER_BEST_EFFORT,
	TOPOLOGY_MANAGER_RESTRICTED, TOPOLOGY_MANAGER_SINGLE_NUMA_NODE};

/* A small random node: 1 to 4 NUMA nodes, some CPUs and some of at most 12 bytes taken. */
static void random_node(struct fixture *f, uint64_t *random)
{
	const struct synthetic s = {.sockets = 1 + below(random, 2),
		.numas = 1 + below(random, 2),
		.uncores = 1,
		.cores = 1 + below(random, 3),
		.threads = 1 + below(random, 2),
		.memory_bytes = 12};
	char cpus[16];

	fixture_init(f, &s, policies[below(random, ARRAY_SIZE(policies))]);
	f->on.settings.topology.scope = below(random, 2) ? TOPOLOGY_SCOPE_POD : TOPOLOGY_SCOPE_CONTAINER;
	f->on.settings.cpu_options.full_pcpus_only = below(random, 4) == 0;
	for (size_t i = 0; i < f->on.machine.n_cpus; i++)
		if (below(random, 4) == 0)
			hwloc_bitmap_clr(f->on.shared, f->on.machine.cpus[i].id);
	for (size_t i = 0; i < f->on.memory.n_nodes; i++) {
		struct memory_table *table = &f->on.memory.nodes[i].tables[0];

		table->allocatable -= below(random, 4);
		table->free = below(random, (unsigned)table->allocatable + 1);
	}
	snprintf(cpus, sizeof(cpus), "%zu", cpuset_size(f->on.shared));
	set_free(f, "cpu", cpus);
	set_free(f, "memory", "40");
}

static void random_pod(struct fixture *f, uint64_t *random, bool init)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(512);
	unsigned n = 1 + below(random, 3);

	for (unsigned i = 0; i < n; i++) {
		const char *kind = i + 1 == n || !init || below(random, 2) ? "app"
				   : below(random, 2)                      ? "init"
									   : "sidecar";

		strbuf_addf(&text, "%s%s cpu=%u memory=%u", i > 0 ? "; " : "", kind, 1 + below(random, 6),
			1 + below(random, 20));
	}
	pod_from_text(&f->pod, text.text);
}

/* Take what the last verdict placed out of the node that is known. */
static void keep(struct fixture *f, const struct kubelet_verdict *v)
{
	for (size_t c = 0; c < v->n_placements; c++) {
		const struct kubelet_placement *p = &v->placements[c];
		const struct resource_quantity *q =
			resource_list_find(&f->pod.containers[c].requests, "memory");
		uint64_t bytes = (uint64_t)qty_value(q->quantity.nano);

		for (size_t i = 0; i < f->on.k.topology.n_cpus && p->cpus; i++)
			if (p->cpus[i])
				hwloc_bitmap_clr(f->on.shared, f->on.k.topology.ids[i]);
		for (size_t i = 0; i < f->on.memory.n_nodes; i++) {
			struct memory_node *node = &f->on.memory.nodes[i];
			uint64_t part = node->tables[0].free < bytes ? node->tables[0].free : bytes;

			if (!(p->memory_nodes & node_mask_of(node->id)))
				continue;
			node->tables[0].free -= part;
			bytes -= part;
			node->assignments++;
			hwloc_bitmap_zero(node->cells);
			for (unsigned id = 0; id <= NODE_MASK_MAX_ID; id++)
				if (p->memory_nodes & node_mask_of(id))
					hwloc_bitmap_set(node->cells, id);
		}
	}
}

static void copies_are_pods_one_after_the_other(void **state)
{
	uint64_t random = test_seed(4711);
	size_t most = 0;

	(void)state;
	for (unsigned n = 0; n < 1500; n++) {
		struct admit_copies copies;
		struct kubelet_verdict v;
		struct fixture f;
		size_t plain = 0;

		random_node(&f, &random);
		random_pod(&f, &random, false);
		open_kubelet(&f);
		admit_copies(&f.handlers, &f.pod, QOS_GUARANTEED, &copies);
		for (; plain < 100; plain++) {
			kubelet_judge(&f.on.k, f.on.ws, &f.pod, QOS_GUARANTEED, &v);
			if (v.answer != KUBELET_ADMITS)
				break;
			keep(&f, &v);
			close_kubelet(&f);
			open_kubelet(&f);
		}
		assert_false(copies.at_least);
		if (copies.n != plain)
			fail_msg("case %u: %zu copies, one by one %zu", n, copies.n, plain);
		most = plain > most ? plain : most;
		fixture_release(&f);
	}
	assert_in_range(most, 3, 99);
}

static void copies_end_at_the_amounts_or_the_limit(void **state)
{
	struct admit_copies copies;
	struct fixture f;

	(void)state;
	init_without_managers(&f);
	pod_from_text(&f.pod, "app cpu=300m memory=1");
	open_kubelet(&f);
	admit_copies(&f.handlers, &f.pod, QOS_GUARANTEED, &copies);
	assert_int_equal(copies.n, ADMIT_COPIES_MAX);
	assert_true(copies.at_least);
	set_free(&f, "cpu", "16");
	admit_copies(&f.handlers, &f.pod, QOS_GUARANTEED, &copies);
	assert_int_equal(copies.n, 53);
	assert_false(copies.at_least);
	fixture_release(&f);
}

static void work_is_limited(void **state)
{
	struct strbuf text = STRBUF_INIT(1u << 20);
	struct nearest_request n;
	struct fixture f;

	(void)state;
	fixture_init(&f, &two_nodes, TOPOLOGY_MANAGER_SINGLE_NUMA_NODE);
	for (unsigned i = 0; i < 2000; i++)
		strbuf_addstr(&text, "init cpu=2 memory=1; ");
	strbuf_addstr(&text, "app cpu=9 memory=1");
	pod_from_text(&f.pod, text.text);
	strbuf_release(&text);
	open_kubelet(&f);
	assert_int_equal(admit_limit(&f.handlers, &f.pod, NEAREST_REQUESTS_MAX, 11), 4096 >> 7);
	assert_int_equal(admit_limit(&f.handlers, &f.pod, NEAREST_REQUESTS_MAX, 1), 4096 >> 8);
	assert_int_equal(admit_limit(&f.handlers, &f.pod, 10, 1), 1);
	nearest_request_find(&f.handlers, &f.pod, QOS_GUARANTEED, &n);
	assert_false(n.complete);
	assert_false(n.found);
	fixture_release(&f);
}

/* 64 NUMA nodes have 2^64 sets: the search ends, and says that it is not complete. */
static void sets_of_numa_nodes_are_limited(void **state)
{
	static const struct synthetic many = {
		.sockets = 8, .numas = 8, .uncores = 1, .cores = 1, .threads = 1, .memory_bytes = 1000};
	struct nearest_request n;
	struct fixture f;

	(void)state;
	fixture_init(&f, &many, TOPOLOGY_MANAGER_BEST_EFFORT);
	f.on.settings.topology.max_numa_nodes = 64;
	set_free(&f, "cpu", "64");
	set_free(&f, "memory", "64000");
	pod_from_text(&f.pod, "app cpu=1 memory=65000");
	open_kubelet(&f);
	nearest_request_find(&f.handlers, &f.pod, QOS_GUARANTEED, &n);
	assert_false(n.complete);
	fixture_release(&f);
}

/* Every smaller amount of every container, the plain way. */
/* Lowering the CPUs leads to a verdict that cannot be made: then nothing is found, and that is said. */
static void nearest_of_an_unknown_kubelet(void **state)
{
	struct nearest_request n;
	struct fixture f;

	(void)state;
	fixture_init(&f, &two_nodes, TOPOLOGY_MANAGER_UNKNOWN);
	f.on.settings.cpu_manager = CPU_MANAGER_UNKNOWN;
	set_free(&f, "cpu", "17");
	pod_from_text(&f.pod, "app cpu=30 memory=0");
	open_kubelet(&f);
	nearest_request_find(&f.handlers, &f.pod, QOS_GUARANTEED, &n);
	assert_false(n.found);
	assert_false(n.complete);
	fixture_release(&f);
}

/* A smaller amount that changes as much as a raised one. */
static qty_t lowered(const struct request_change *c)
{
	return c->to > c->from ? 2 * c->from - c->to : c->to;
}

static struct nearest_request search_plainly(struct fixture *f)
{
	static const char *const names[] = {"cpu", "memory"};
	struct nearest_request best = {.complete = true};

	for (size_t c = 0; c < f->pod.n_containers; c++)
		for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
			bool cores = k == 0 && f->on.settings.cpu_options.full_pcpus_only;
			struct resource_list *lists[] = {
				&f->pod.containers[c].requests, &f->pod.containers[c].limits};
			struct quantity from = resource_list_find(lists[0], names[k])->quantity, q = from;
			struct kubelet_verdict v = {.answer = KUBELET_REJECTS};

			for (q.nano -= QTY_UNIT; q.nano > 0; q.nano -= QTY_UNIT) {
				resource_list_set(lists[0], names[k], q);
				resource_list_set(lists[1], names[k], q);
				admit_judge(&f->handlers, &f->pod, QOS_GUARANTEED, &v);
				if (v.answer == KUBELET_ADMITS)
					break;
			}
			if (v.answer == KUBELET_ADMITS &&
				(!best.found || q.nano / QTY_UNIT * best.changes[0].from >
							lowered(&best.changes[0]) * (from.nano / QTY_UNIT)))
				best = (struct nearest_request){.found = true,
					.complete = true,
					.n_changes = 1,
					.changes = {{c, names[k], from.nano, q.nano}}};
			/* A number of CPUs that is odd may be raised, if no smaller change suffices. */
			q.nano = from.nano + QTY_UNIT;
			if (cores && from.nano / QTY_UNIT % 2 == 1 && f->on.k.cpu.cpus_per_core == 2 &&
				(!best.found || (from.nano - QTY_UNIT) / QTY_UNIT * best.changes[0].from >
							lowered(&best.changes[0]) * (from.nano / QTY_UNIT))) {
				resource_list_set(lists[0], names[k], q);
				resource_list_set(lists[1], names[k], q);
				admit_judge(&f->handlers, &f->pod, QOS_GUARANTEED, &v);
				if (v.answer == KUBELET_ADMITS)
					best = (struct nearest_request){.found = true,
						.complete = true,
						.n_changes = 1,
						.changes = {{c, names[k], from.nano, q.nano}}};
			}
			resource_list_set(lists[0], names[k], from);
			resource_list_set(lists[1], names[k], from);
		}
	return best;
}

/* What the kubelet of a random node answers to a random pod. */
static void judge_random(struct fixture *f, uint64_t *random, struct kubelet_verdict *ret)
{
	random_node(f, random);
	random_pod(f, random, true);
	open_kubelet(f);
	admit_judge(&f->handlers, &f->pod, QOS_GUARANTEED, ret);
}

static void nearest_is_what_a_plain_search_finds(void **state)
{
	uint64_t random = test_seed(815);
	size_t n_found[2] = {0};

	(void)state;
	for (unsigned n = 0; n < 3000; n++) {
		struct nearest_request got, want;
		struct kubelet_verdict v;
		struct fixture f;

		judge_random(&f, &random, &v);
		/* With the other reason fractions of CPUs are tried first. */
		if (v.answer == KUBELET_REJECTS && !v.reuses_cpus) {
			want = search_plainly(&f);
			nearest_request_find(&f.handlers, &f.pod, QOS_GUARANTEED, &got);
			assert_true(got.complete || !want.found);
			if (!want.found) /* several amounts may have to change */
				assert_true(got.n_changes != 1);
			else if (got.n_changes != 1 || got.changes[0].to != want.changes[0].to ||
				 got.changes[0].container != want.changes[0].container ||
				 strcmp(got.changes[0].resource, want.changes[0].resource) != 0)
				fail_msg(
					"case %u: container %zu %s %lld to %lld, plainly container %zu %s %lld to %lld",
					n, got.changes[0].container, got.changes[0].resource,
					(long long)qty_value(got.changes[0].from),
					(long long)qty_value(got.changes[0].to), want.changes[0].container,
					want.changes[0].resource, (long long)qty_value(want.changes[0].from),
					(long long)qty_value(want.changes[0].to));
			n_found[want.found && !strcmp(want.changes[0].resource, "memory")] += want.found;
		}
		fixture_release(&f);
	}
	assert_in_range(n_found[0], 100, 3000);
	assert_in_range(n_found[1], 100, 3000);
}

/* ---- several changes */

static enum kubelet_answer judge_with(struct fixture *f, size_t container, const char *resource, qty_t nano)
{
	struct resource_list *lists[] = {
		&f->pod.containers[container].requests, &f->pod.containers[container].limits};
	struct quantity q = resource_list_find(lists[0], resource)->quantity;
	struct kubelet_verdict v;

	q.nano = nano;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		resource_list_set(lists[i], resource, q);
	admit_judge(&f->handlers, &f->pod, QOS_GUARANTEED, &v);
	return v.answer;
}

/* The pod with all changes is admitted; without one of them it is not, and no more can be left of an amount. */
static void assert_changes_are_needed(struct fixture *f, const struct nearest_request *n, unsigned number)
{
	enum kubelet_answer answer = KUBELET_UNKNOWN;

	for (size_t i = 0; i < n->n_changes; i++)
		answer = judge_with(f, n->changes[i].container, n->changes[i].resource, n->changes[i].to);
	if (answer != KUBELET_ADMITS)
		fail_msg("case %u: rejected with %zu changes", number, n->n_changes);
	for (size_t i = 0; i < n->n_changes && n->n_changes > 1; i++) {
		const struct request_change *c = &n->changes[i];

		assert_true(c->to != c->from);
		for (qty_t more = c->from; more > c->to; more -= QTY_UNIT)
			if (judge_with(f, c->container, c->resource, more) == KUBELET_ADMITS)
				fail_msg("case %u: admitted with %lld %s instead of %lld", number,
					(long long)qty_value(more), c->resource, (long long)qty_value(c->to));
		judge_with(f, c->container, c->resource, c->to);
	}
}

/* Whether any smaller amounts of all containers are admitted. */
static bool any_smaller_pod(struct fixture *f, size_t variable)
{
	static const char *const names[] = {"cpu", "memory"};
	size_t container = variable / 2;
	const char *name = names[variable % 2];
	qty_t from, cores;

	if (container == f->pod.n_containers)
		return judge_with(f, 0, "cpu", resource_list_amount(&f->pod.containers[0].requests, "cpu")) ==
		       KUBELET_ADMITS;
	from = resource_list_amount(&f->pod.containers[container].requests, name);
	cores = variable % 2 == 0 && f->on.settings.cpu_options.full_pcpus_only ? QTY_UNIT : 0;
	for (qty_t to = from + cores; to > 0; to -= QTY_UNIT) {
		bool any;

		judge_with(f, container, name, to);
		any = any_smaller_pod(f, variable + 1);
		judge_with(f, container, name, from);
		if (any)
			return true;
	}
	return false;
}

/* 400 rejections: the changes are admitted, none is superfluous, and where none are found there are none. */
static void nearest_requests_are_admitted(void **state)
{
	uint64_t random = test_seed(52);
	size_t n_rejected = 0, n_found[NEAREST_CHANGES_MAX + 1] = {0};

	(void)state;
	for (unsigned n = 0; n_rejected < 400; n++) {
		struct nearest_request got;
		struct kubelet_verdict v;
		struct fixture f;

		judge_random(&f, &random, &v);
		if (v.answer == KUBELET_REJECTS && f.pod.n_containers < 3) {
			n_rejected++;
			nearest_request_find(&f.handlers, &f.pod, QOS_GUARANTEED, &got);
			assert_true(got.found == (got.n_changes > 0));
			assert_true(
				got.complete || f.on.settings.topology.policy == TOPOLOGY_MANAGER_RESTRICTED);
			n_found[got.n_changes]++;
			if (got.found)
				assert_changes_are_needed(&f, &got, n);
			else if (got.complete && any_smaller_pod(&f, 0))
				fail_msg("case %u: smaller amounts fit", n);
		}
		fixture_release(&f);
	}
	for (size_t i = 0; i <= 2; i++)
		assert_in_range(n_found[i], 10, 400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_node_must_have_the_amounts),
		cmocka_unit_test(the_first_short_resource_may_be_another),
		cmocka_unit_test(the_free_amount_of_a_shortage_has_the_unsure_amount),
		cmocka_unit_test(nearest_requests),
		cmocka_unit_test(nearest_of_an_unknown_kubelet),
		cmocka_unit_test(sets_of_numa_nodes_are_limited),
		cmocka_unit_test(copies_are_pods_one_after_the_other),
		cmocka_unit_test(copies_end_at_the_amounts_or_the_limit),
		cmocka_unit_test(work_is_limited),
		cmocka_unit_test(nearest_is_what_a_plain_search_finds),
		cmocka_unit_test(nearest_requests_are_admitted),
	};

	return cmocka_run_group_tests_name("admission", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What the kubelet's state files and its API prove about its settings, against what other sources say. */
#include "tests/lib/test.h"

#include "agent/observe/settings_evidence.h"
#include "common/cleanup.h"
#include "common/settings_table.h"
#include "common/strbuf.h"
#include "common/text.h"
#include "tests/lib/settings.h"
#include "tests/lib/states.h"

struct weighed {
	struct settings s;
	enum evidence evidence[SETTING_COUNT];
	struct state_policies policies;
	struct allocations allocations;
	struct pod_resources api;
	bool answered, memory_from_file;
};

/* A kubelet of the policies static and Static, restricted, with CPUs 0-1 and 1 GiB of node 0 reserved; each setting has this evidence. */
static void init(struct weighed *w, enum evidence evidence, const char *from)
{
	*w = (struct weighed){.policies = {.cpu_path = strdup("/c"), .memory_path = strdup("/m")}};
	settings_init(&w->s);
	allocations_init(&w->allocations);
	pod_resources_init(&w->api);
	w->s.cpu_manager = CPU_MANAGER_STATIC;
	w->s.memory_manager = MEMORY_MANAGER_STATIC;
	w->s.topology.policy = TOPOLOGY_MANAGER_RESTRICTED;
	w->s.reserved_system_cpus = hwloc_bitmap_alloc();
	hwloc_bitmap_set_range(w->s.reserved_system_cpus, 0, 1);
	*(struct memory_reservation *)vec_push(&w->s.memory_reservations, &w->s.n_memory_reservations,
		&w->s.memory_reservations_size, sizeof(*w->s.memory_reservations)) =
		(struct memory_reservation){.type = strdup("memory"), .bytes = (qty_t)(1 << 30) * QTY_UNIT};
	for (enum setting what = 0; what < SETTING_COUNT; what++) {
		w->evidence[what] = evidence;
		text_set(&w->s.from[what], from);
	}
}

static void release(struct weighed *w)
{
	settings_release(&w->s);
	state_policies_release(&w->policies);
	allocations_release(&w->allocations);
	pod_resources_release(&w->api);
}

static void prove(struct weighed *w, const char *cpu, const char *memory)
{
	w->policies.cpu = cpu ? strdup(cpu) : NULL;
	w->policies.memory = memory ? strdup(memory) : NULL;
}

static void weigh(struct weighed *w, const char *want_notes)
{
	const struct settings_proofs proofs = {.policies = &w->policies,
		.allocations = &w->allocations,
		.memory_from_file = w->memory_from_file,
		.api = w->answered ? &w->api : NULL};
	CLEANUP(notes_release) struct notes notes = {0};
	CLEANUP(strbuf_release) struct strbuf noted = STRBUF_INIT(8192);

	settings_weigh(&w->s, w->evidence, &proofs, &notes);
	test_notes_text(&notes, &noted);
	if (!*want_notes || strncmp(noted.text, want_notes, strlen(want_notes)) != 0)
		test_assert_text("notes", noted.text, want_notes);
}

static void assert_setting(const struct weighed *w, enum setting what, const char *want)
{
	CLEANUP(freep) char *line = test_setting_line(&w->s, what);

	test_assert_text(settings_table[what].name, line, want);
}

static void proofs_fill_in_what_is_unknown(void **state)
{
	struct weighed w;

	(void)state;
	init(&w, EVIDENCE_NONE, "");
	for (enum setting what = 0; what < SETTING_COUNT; what++)
		setting_forget(&w.s, what);
	weigh(&w, "");
	prove(&w, "none", "Static");
	weigh(&w, "");
	assert_setting(&w, SETTING_CPU_MANAGER_POLICY, "cpuManagerPolicy=none [/c]");
	assert_setting(&w, SETTING_MEMORY_MANAGER_POLICY, "memoryManagerPolicy=Static [/m]");
	assert_setting(&w, SETTING_TOPOLOGY_MANAGER_POLICY, "");
	release(&w);
}

static void what_agrees_stays(void **state)
{
	static const enum evidence strengths[] = {
		EVIDENCE_DEFAULT, EVIDENCE_PLACE, EVIDENCE_PROCESS, EVIDENCE_USER};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(strengths); i++) {
		struct weighed w;

		init(&w, strengths[i], "/config.yaml");
		prove(&w, "static", "Static");
		weigh(&w, "");
		assert_setting(&w, SETTING_CPU_MANAGER_POLICY, "cpuManagerPolicy=static [/config.yaml]");
		assert_setting(&w, SETTING_TOPOLOGY_MANAGER_POLICY,
			"topologyManagerPolicy=restricted [/config.yaml]");
		release(&w);
	}
}

/* What a running process says, and what the user says, counts more than a file that may be left over. */
static void stronger_sources_stay(void **state)
{
	struct weighed w;

	(void)state;
	init(&w, EVIDENCE_PROCESS, "/config.yaml");
	prove(&w, "none", "static");
	weigh(&w,
		"/c was written under cpuManagerPolicy 'none', but /config.yaml says 'static': was the kubelet restarted?; /m: policyName 'static' is not a value of memoryManagerPolicy");
	assert_setting(&w, SETTING_CPU_MANAGER_POLICY, "cpuManagerPolicy=static [/config.yaml]");
	assert_setting(
		&w, SETTING_TOPOLOGY_MANAGER_POLICY, "topologyManagerPolicy=restricted [/config.yaml]");
	release(&w);
	/* The API may have answered before a restart. */
	init(&w, EVIDENCE_PROCESS, "/config.yaml");
	w.answered = w.api.allocatable_known = true;
	w.api.allocatable_cpus = hwloc_bitmap_alloc();
	weigh(&w, "");
	release(&w);
}

static void weaker_sources_are_dropped_whole(void **state)
{
	static const struct {
		enum evidence evidence;
		const char *from, *notes;
	} cases[] = {
		{EVIDENCE_DEFAULT, "kubelet default",
			"/c shows cpuManagerPolicy 'none', and no source that nrtd has found sets cpuManagerPolicy; the kubelet was not started with the settings that nrtd has found, so these are not known: cpuManagerPolicyOptions, memoryManagerPolicy, "},
		{EVIDENCE_PLACE, "/config.yaml",
			"/c shows cpuManagerPolicy 'none', but /config.yaml says 'static'; the kubelet was not started"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct weighed w;

		init(&w, cases[i].evidence, cases[i].from);
		w.evidence[SETTING_TOPOLOGY_MANAGER_SCOPE] = EVIDENCE_USER;
		w.s.topology.scope = TOPOLOGY_SCOPE_POD;
		prove(&w, "none", NULL);
		weigh(&w, cases[i].notes);
		assert_setting(&w, SETTING_CPU_MANAGER_POLICY, "cpuManagerPolicy=none [/c]");
		for (enum setting what = SETTING_CPU_MANAGER_POLICY_OPTIONS; what < SETTING_COUNT; what++)
			if (what != SETTING_TOPOLOGY_MANAGER_SCOPE)
				assert_setting(&w, what, "");
		assert_int_equal(w.s.topology.scope, TOPOLOGY_SCOPE_POD);
		assert_null(w.s.reserved_system_cpus);
		assert_int_equal(w.s.n_memory_reservations, 0);
		assert_int_equal(w.s.topology.policy, TOPOLOGY_MANAGER_UNKNOWN);
		release(&w);
	}
}

static void the_api_proves_policies(void **state)
{
	struct weighed w;

	(void)state;
	init(&w, EVIDENCE_DEFAULT, "kubelet default");
	w.s.cpu_manager = CPU_MANAGER_NONE;
	w.s.memory_manager = MEMORY_MANAGER_NONE;
	w.answered = w.api.allocatable_known = true;
	w.api.allocatable_cpus = hwloc_bitmap_alloc();
	weigh(&w, "");
	w.evidence[SETTING_CPU_MANAGER_POLICY] = EVIDENCE_DEFAULT;
	hwloc_bitmap_set(w.api.allocatable_cpus, 5);
	weigh(&w, "the pod-resources API shows cpuManagerPolicy 'static', and no source");
	assert_setting(&w, SETTING_CPU_MANAGER_POLICY, "cpuManagerPolicy=static [the pod-resources API]");
	assert_setting(&w, SETTING_MEMORY_MANAGER_POLICY, "memoryManagerPolicy=None [kubelet default]");
	assert_setting(&w, SETTING_TOPOLOGY_MANAGER_POLICY, "");
	release(&w);
}

static void held_cpus_are_not_reserved(void **state)
{
	for (int held = 1; held <= 2; held++) {
		struct allocation *item;
		struct weighed w;

		(void)state;
		init(&w, EVIDENCE_PLACE, "/config.yaml");
		prove(&w, "static", NULL);
		item = vec_push(&w.allocations.items, &w.allocations.n_items, &w.allocations.items_size,
			sizeof(*item));
		*item = (struct allocation){.cpus = hwloc_bitmap_alloc()};
		hwloc_bitmap_set(item->cpus, (unsigned)held);
		weigh(&w,
			held == 1
				? "/c: containers hold CPUs 1, but /config.yaml reserves them (reservedSystemCPUs); the kubelet was not started"
				: "");
		assert_int_equal(w.s.topology.policy,
			held == 1 ? TOPOLOGY_MANAGER_UNKNOWN : TOPOLOGY_MANAGER_RESTRICTED);
		assert_setting(&w, SETTING_CPU_MANAGER_POLICY, "cpuManagerPolicy=static [/config.yaml]");
		release(&w);
	}
}

/* The state file of a kubelet that reserves 1 or 2 GiB, and a state that is made from the API's answer. */
static void reserved_memory_is_in_the_state_file(void **state)
{
	static const struct {
		bool from_file;
		uint64_t gib;
		const char *notes;
	} cases[] = {
		{true, 1, ""},
		{true, 2,
			"/m: 2147483648 bytes of memory are reserved on NUMA node 0, but /config.yaml says 1073741824; the kubelet"},
		{false, 2, ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct memory_node *node;
		struct weighed w;

		init(&w, EVIDENCE_PLACE, "/config.yaml");
		prove(&w, NULL, "Static");
		w.memory_from_file = cases[i].from_file;
		w.allocations.memory_known = true;
		w.allocations.memory.nodes = node = calloc(1, sizeof(*node));
		w.allocations.memory.n_nodes = 1;
		node->tables = calloc(1, sizeof(*node->tables));
		node->n_tables = 1;
		node->tables[0] = (struct memory_table){
			.type = strdup("memory"), .system_reserved = cases[i].gib << 30};
		weigh(&w, cases[i].notes);
		assert_int_equal(w.s.n_memory_reservations, *cases[i].notes ? 0 : 1);
		release(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(proofs_fill_in_what_is_unknown),
		cmocka_unit_test(what_agrees_stays),
		cmocka_unit_test(stronger_sources_stay),
		cmocka_unit_test(weaker_sources_are_dropped_whole),
		cmocka_unit_test(the_api_proves_policies),
		cmocka_unit_test(held_cpus_are_not_reserved),
		cmocka_unit_test(reserved_memory_is_in_the_state_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

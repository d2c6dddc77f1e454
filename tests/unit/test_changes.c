/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/run/changes.h"
#include "tests/lib/test.h"

#include <string.h>

#include "agent/run/reconcile.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "scoring/node/node_state_codec.h"
#include "tests/lib/node_states.h"
#include "tests/lib/observations.h"

#define SETTLE_MS 15000u

/* A target that keeps the Events. */
struct fake {
	enum publish_outcome outcome;
	const char *error;
	uint64_t again;
	unsigned n_attempts, n_written;
	char reason[64], note[NODE_EVENT_NOTE_MAX + 1];
	bool warning;
};

static enum publish_outcome take_event(
	void *ctx, const struct node_event *event, uint64_t now_ms, uint64_t *ret_again_ms, struct err *err)
{
	struct fake *f = ctx;

	(void)now_ms;
	f->n_attempts++;
	*ret_again_ms = f->again;
	if (f->error)
		err_set(err, 0, "%s", f->error);
	if (f->outcome != PUBLISH_WRITTEN)
		return f->outcome;
	f->n_written++;
	snprintf(f->reason, sizeof(f->reason), "%s", event->reason);
	assert_true(strlen(event->note) <= NODE_EVENT_NOTE_MAX);
	snprintf(f->note, sizeof(f->note), "%s", event->note);
	f->warning = event->warning;
	return PUBLISH_WRITTEN;
}

struct bench {
	struct changes changes;
	struct changes_config config;
	struct fake fake;
	struct target target;
	struct metrics *metrics;
	struct observation o;
	const char *found;
	bool file_missing;
	uint64_t again;
};

static void bench_open(struct bench *b)
{
	*b = (struct bench){.config = {.on = true, .settle_ms = SETTLE_MS},
		.fake = {.outcome = PUBLISH_WRITTEN},
		.found = ""};
	b->target = (struct target){.ctx = &b->fake, .write_event = take_event};
	metrics_new(&reconcile_labels, &b->metrics);
	observation_of_picture(&b->o);
	b->o.node.allocations.registered_known = true;
	b->o.node.settings.topology.policy = TOPOLOGY_MANAGER_BEST_EFFORT;
	b->o.node.settings.topology.scope = TOPOLOGY_SCOPE_CONTAINER;
	node_state_complete(&b->o.node);
}

static void bench_close(struct bench *b)
{
	changes_release(&b->changes);
	observation_release(&b->o);
	metrics_free(b->metrics);
}

/* One run. Returns how many Events were written. */
static unsigned run(struct bench *b, uint64_t now_ms)
{
	const struct changes_input in = {
		&b->config, &b->o.node, b->found, b->file_missing, &b->target, b->metrics};
	unsigned before = b->fake.n_written;

	b->again = UINT64_MAX;
	changes_update(&b->changes, &in, now_ms, &b->again);
	return b->fake.n_written - before;
}

static void add_nic(struct bench *b, const char *id, unsigned numa)
{
	struct allocations *a = &b->o.node.allocations;
	CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = hwloc_bitmap_alloc();

	hwloc_bitmap_set(nodes, numa);
	device_blocks_add(
		&a->registered, &a->n_registered, &a->registered_size, "vendor.com/new", nodes, false, id);
}

static void a_change_is_reported_when_it_has_lasted(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b);
	assert_int_equal(run(&b, 1000), 0); /* the start */
	assert_true(b.again == UINT64_MAX);
	b.o.node.settings.topology.policy = TOPOLOGY_MANAGER_RESTRICTED;
	assert_int_equal(run(&b, 2000), 0);
	assert_int_equal(b.again, 2000 + SETTLE_MS);
	b.o.node.settings.topology.scope = TOPOLOGY_SCOPE_POD; /* the time begins again */
	assert_int_equal(run(&b, 3000), 0);
	assert_int_equal(run(&b, 2000 + SETTLE_MS), 0);
	assert_int_equal(run(&b, 3000 + SETTLE_MS), 1);
	assert_string_equal(b.fake.reason, "KubeletSettingsChanged");
	assert_non_null(strstr(b.fake.note, "topologyManagerScope: container -> pod"));
	assert_non_null(strstr(b.fake.note, " -> restricted; "));
	assert_false(b.fake.warning);
	assert_int_equal(run(&b, 900000), 0);
	bench_close(&b);
}

static void what_is_undone_is_not_reported(void **state)
{
	struct bench b;
	enum topology_manager_policy before;

	(void)state;
	bench_open(&b);
	before = b.o.node.settings.topology.policy;
	run(&b, 1000);
	b.o.node.settings.topology.policy = TOPOLOGY_MANAGER_RESTRICTED;
	run(&b, 2000);
	b.o.node.settings.topology.policy = before;
	assert_int_equal(run(&b, 3000), 0);
	assert_int_equal(run(&b, 900000), 0);
	assert_int_equal(b.fake.n_attempts, 0);
	bench_close(&b);
}

/* Pods come and go, amounts that they hold change: no Event. Nor of what is no longer known. */
static void pods_and_unknown_values_are_no_change(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b);
	run(&b, 1000);
	allocations_remove(&b.o.node.allocations, 0);
	b.o.node.settings.topology.policy = TOPOLOGY_MANAGER_UNKNOWN;
	b.o.node.settings.kubelet_minor = 0;
	b.o.node.allocations.registered_known = false;
	b.o.node.allocations.memory_known = false;
	node_state_complete(&b.o.node);
	run(&b, 2000);
	assert_int_equal(run(&b, 900000), 0);
	assert_int_equal(b.fake.n_attempts, 0);
	b.o.node.settings.topology.policy = TOPOLOGY_MANAGER_RESTRICTED; /* known again, and another */
	run(&b, 1000000);
	assert_int_equal(run(&b, 1100000), 1);
	bench_close(&b);
}

static void devices_and_hardware_have_their_reasons(void **state)
{
	struct bench b;
	struct machine *m = &b.o.node.machine;

	(void)state;
	bench_open(&b);
	run(&b, 1000);
	add_nic(&b, "a", 0);
	add_nic(&b, "b", 1);
	run(&b, 2000);
	assert_int_equal(run(&b, 100000), 1);
	assert_string_equal(b.fake.reason, "DevicesChanged");
	assert_string_equal(b.fake.note, "vendor.com/new: none -> 1 on NUMA node 0, 1 on NUMA node 1");
	assert_false(b.fake.warning);
	b.o.node.allocations.n_registered--;
	run(&b, 200000);
	assert_int_equal(run(&b, 300000), 1);
	assert_string_equal(
		b.fake.note, "vendor.com/new: 1 on NUMA node 0, 1 on NUMA node 1 -> 1 on NUMA node 0");
	assert_true(b.fake.warning); /* fewer */
	b.o.node.allocations.n_registered++;
	run(&b, 310000);
	run(&b, 390000);
	m->nodes[0].memory_bytes += 1 << 30;
	run(&b, 400000);
	assert_int_equal(run(&b, 500000), 1);
	assert_string_equal(b.fake.reason, "HardwareChanged");
	assert_non_null(strstr(b.fake.note, "memory of NUMA node 0: "));
	bench_close(&b);
}

static void a_removed_state_file_is_reported_at_once(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b);
	run(&b, 1000);
	b.file_missing = true;
	assert_int_equal(run(&b, 2000), 1);
	assert_string_equal(b.fake.reason, "KubeletStateRemoved");
	assert_true(b.fake.warning);
	assert_int_equal(run(&b, 3000), 0);
	b.file_missing = false;
	assert_int_equal(run(&b, 4000), 0);
	b.fake.outcome = PUBLISH_DEFERRED;
	b.fake.again = 6000;
	b.file_missing = true;
	assert_int_equal(run(&b, 5000), 0);
	assert_int_equal(b.again, 6000);
	b.file_missing = false; /* the kubelet has written the file again: it had been removed anyway */
	b.fake.outcome = PUBLISH_WRITTEN;
	assert_int_equal(run(&b, 6000), 1);
	bench_close(&b);
}

/* After a start the published state is what was reported: a reboot with other settings is a change, another start is none. */
static void the_published_state_is_the_beginning(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(NODE_STATE_TEXT_MAX);
	struct bench b;

	(void)state;
	bench_open(&b);
	b.o.node.settings.kubelet_minor = 36;
	node_state_complete(&b.o.node);
	assert_int_equal(node_state_print(&b.o.node, &text), 0);
	b.found = text.text;
	run(&b, 1000);
	assert_int_equal(run(&b, 900000), 0);
	assert_int_equal(b.fake.n_attempts, 0);
	changes_release(&b.changes);
	b.changes = (struct changes){0};
	b.o.node.settings.memory_manager = MEMORY_MANAGER_NONE;
	run(&b, 1000);
	assert_int_equal(run(&b, 900000), 1);
	assert_non_null(strstr(b.fake.note, "memoryManagerPolicy: Static -> None"));
	bench_close(&b);
}

/* The text of a state has the same facts, on every machine and with random settings. */
static void a_text_has_the_same_facts(void **state)
{
	CLEANUP(strv_release) struct strv machines = {0};
	uint64_t seed = test_seed(5);

	(void)state;
	observation_machines(&machines);
	for (size_t i = 0; i < machines.n_items; i++) {
		CLEANUP(strbuf_release)
		struct strbuf text = STRBUF_INIT(NODE_STATE_TEXT_MAX), out = STRBUF_INIT(4096);
		CLEANUP(node_facts_release) struct node_facts before = {0};
		CLEANUP(node_facts_release) struct node_facts after = {0};
		CLEANUP(node_state_release) struct node_state parsed;
		CLEANUP(observation_release) struct observation o;
		bool less;

		observation_of_machine(machines.items[i], &o);
		node_state_randomize(&o.node, &seed);
		assert_int_equal(node_state_print(&o.node, &text), 0);
		assert_int_equal(node_state_parse(text.text, &parsed, NULL), 0);
		node_state_complete(&parsed);
		node_facts_add_all(&before, &o.node);
		node_facts_add_all(&after, &parsed);
		for (enum fact_section s = 0; s < FACT_SECTION_COUNT; s++)
			if (node_facts_changes(&before, &after, s, 4000, &out, &less) > 0)
				fail_msg("%s: %s", machines.items[i], out.text);
		assert_int_equal(before.devices_known, after.devices_known);
	}
}

static void a_denied_event_is_logged_once(void **state)
{
	struct test_log_lines lines;
	struct bench b;

	(void)state;
	bench_open(&b);
	run(&b, 1000);
	b.o.node.settings.topology.policy = TOPOLOGY_MANAGER_RESTRICTED;
	run(&b, 2000);
	b.fake = (struct fake){
		.outcome = PUBLISH_FORBIDDEN, .error = "the right is missing", .again = 3600000};
	test_log_begin(&lines);
	assert_int_equal(run(&b, 100000), 0);
	assert_int_equal(b.again, 3600000);
	assert_int_equal(run(&b, 200000), 0);
	test_log_end();
	assert_int_equal(lines.n, 1);
	assert_non_null(strstr(lines.last, "the right is missing"));
	b.fake = (struct fake){.outcome = PUBLISH_WRITTEN};
	assert_int_equal(run(&b, 3600000), 1); /* nothing is lost */
	bench_close(&b);
}

static void a_long_note_counts_the_rest(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b);
	run(&b, 1000);
	for (unsigned i = 0; i < 60; i++) {
		struct allocations *a = &b.o.node.allocations;
		CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = hwloc_bitmap_alloc();
		CLEANUP(freep) char *name = xasprintf("vendor.com/resource-%u", i);

		hwloc_bitmap_set(nodes, 0);
		device_blocks_add(
			&a->registered, &a->n_registered, &a->registered_size, name, nodes, false, "x");
	}
	run(&b, 2000);
	assert_int_equal(run(&b, 100000), 1);
	assert_true(text_ends_with(b.fake.note, " more changes"));
	bench_close(&b);
}

static void without_the_flag_or_the_api_server_nothing_is_written(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b);
	b.config.on = false;
	run(&b, 1000);
	b.o.node.settings.topology.policy = TOPOLOGY_MANAGER_RESTRICTED;
	b.config.on = true;
	b.target.write_event = NULL;
	run(&b, 2000);
	b.target.write_event = take_event;
	b.found = NULL; /* what was published is not known yet */
	run(&b, 3000);
	assert_int_equal(run(&b, 900000), 0);
	assert_int_equal(b.fake.n_attempts, 0);
	assert_false(b.changes.known);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_is_reported_when_it_has_lasted),
		cmocka_unit_test(what_is_undone_is_not_reported),
		cmocka_unit_test(pods_and_unknown_values_are_no_change),
		cmocka_unit_test(devices_and_hardware_have_their_reasons),
		cmocka_unit_test(a_removed_state_file_is_reported_at_once),
		cmocka_unit_test(the_published_state_is_the_beginning),
		cmocka_unit_test(a_text_has_the_same_facts),
		cmocka_unit_test(a_denied_event_is_logged_once),
		cmocka_unit_test(a_long_note_counts_the_rest),
		cmocka_unit_test(without_the_flag_or_the_api_server_nothing_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

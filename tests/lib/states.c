/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/states.h"

#include <errno.h>
#include <inttypes.h>

#include "agent/observe/state_file.h"
#include "common/cleanup.h"
#include "common/vec.h"
#include "tests/lib/synthetic.h"
#include "tests/lib/test.h"

static void add_set(struct strbuf *out, const char *before, hwloc_const_bitmap_t set)
{
	CLEANUP(freep) char *list = cpuset_print(set);

	assert_non_null(list);
	strbuf_addf(out, "%s%s", before, list);
}

static void item_text(const struct allocation *item, struct strbuf *out)
{
	strbuf_addf(out, "%s/%s", item->pod_uid, item->container);
	if (!hwloc_bitmap_iszero(item->cpus))
		add_set(out, " cpus ", item->cpus);
	for (size_t i = 0; i < item->n_memory; i++) {
		strbuf_addf(out, " %s %" PRIu64, item->memory[i].type, item->memory[i].bytes);
		add_set(out, "@", item->memory[i].nodes);
	}
	for (size_t i = 0; i < item->n_devices; i++) {
		const struct device_block *block = &item->devices[i];

		strbuf_addf(out, " %s ", block->resource);
		for (size_t d = 0; d < block->ids.n_items; d++)
			strbuf_addf(out, "%s%s", d ? "," : "", block->ids.items[d]);
		add_set(out, "@", block->nodes);
	}
	strbuf_addstr(out, ";");
}

static void node_text(const struct memory_node *node, struct strbuf *out)
{
	strbuf_addf(out, "node %u", node->id);
	add_set(out, " [", node->cells);
	strbuf_addf(out, "] %u", node->assignments);
	for (size_t t = 0; t < node->n_tables; t++) {
		const struct memory_table *table = &node->tables[t];

		strbuf_addf(out, " %s %" PRIu64 "-%" PRIu64 "=%" PRIu64 "/%" PRIu64 "+%" PRIu64, table->type,
			table->total, table->system_reserved, table->allocatable, table->reserved,
			table->free);
	}
	strbuf_addstr(out, ";");
}

void test_allocations_text(const struct allocations *a, struct strbuf *out)
{
	if (a->shared) {
		add_set(out, "shared ", a->shared);
		strbuf_addstr(out, ";");
	}
	for (size_t i = 0; i < a->n_items; i++)
		item_text(&a->items[i], out);
	for (size_t i = 0; i < a->memory.n_nodes; i++)
		node_text(&a->memory.nodes[i], out);
	assert_int_equal(strbuf_error(out), 0);
}

void test_notes_text(const struct notes *n, struct strbuf *out)
{
	for (size_t i = 0; i < n->lines.n_items; i++)
		strbuf_addf(out, "%s%s", i ? "; " : "", n->lines.items[i]);
	assert_int_equal(strbuf_error(out), 0);
}

void test_state_check(const struct test_state *t, const char *text, size_t len, int want_r, const char *want,
	const char *want_notes)
{
	CLEANUP(machine_release) struct machine machine;
	CLEANUP(kubelet_state_release) struct kubelet_state s = {0};
	CLEANUP(notes_release) struct notes notes = {0};
	CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(65536);
	CLEANUP(strbuf_release) struct strbuf noted = STRBUF_INIT(65536);
	struct err err = {""};
	int r;

	bare_machine(&machine, t->online, t->offline, t->nodes);
	r = state_parse(t->kind, text, len, &machine, &s, &notes, &err);
	if (r < 0) {
		assert_null(s.policy);
		assert_int_equal(s.allocations.n_items, 0);
	}
	assert_int_equal(s.allocations.cpus_known, r == 0 && t->kind == &state_cpu);
	assert_int_equal(s.allocations.memory_known,
		r == 0 && t->kind == &state_memory && !strcmp(s.policy, "Static"));
	assert_int_equal(s.allocations.devices_known, r == 0 && t->kind == &state_devices);
	if (s.policy)
		strbuf_addf(&got, "%s: ", s.policy);
	test_allocations_text(&s.allocations, &got);
	for (size_t i = 0; i < s.n_registered; i++) {
		strbuf_addf(&got, "%s%s", i ? ";" : "|", s.registered[i].resource);
		for (size_t d = 0; d < s.registered[i].ids.n_items; d++)
			strbuf_addf(&got, " %s", s.registered[i].ids.items[d]);
	}
	assert_int_equal(strbuf_error(&got), 0);
	test_assert_text(text, r < 0 ? err.text : got.text, want);
	assert_int_equal(r, want_r);
	test_notes_text(&notes, &noted);
	test_assert_text(text, noted.text, want_notes ? want_notes : "");
}

void test_state_prefixes(const struct state_kind *kind, const char *fixture)
{
	CLEANUP(freep) char *text = NULL;
	size_t len;

	text = test_read_file(test_fixture(fixture), &len);
	for (size_t n = 0; n < len; n++) {
		CLEANUP(kubelet_state_release) struct kubelet_state s = {0};
		struct err err = {""};

		assert_int_equal(state_parse(kind, text, n, NULL, &s, NULL, &err), -EINVAL);
		assert_null(s.policy);
		assert_string_not_equal(err.text, "");
	}
}

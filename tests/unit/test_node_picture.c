/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <assert.h>
#include <errno.h>

#include "agent/render/render.h"
#include "cli/report/show.h"
#include "cluster/objects/cluster_node.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "tests/lib/observations.h"

static void render(const struct observation *o, struct doc *ret)
{
	static const struct nrt_config config = {.deprecated_policies = true, .node_state = true};

	nrt_render(&o->node, &config, ret, NULL);
}

static void print(const struct observation *o, struct strbuf *out)
{
	CLEANUP(show_view_release) struct show_view v;

	show_view_init(&v);
	show_view(&o->node, &o->notes, &v);
	assert_int_equal(show_text(&v, 100, false, false, out), 0);
}

/* The frames with their CPUs and bars. */
static size_t count_frame_lines(const char *text)
{
	size_t n = 0;

	for (; text && *text; text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL)
		n += *text == '|' || *text == '+';
	return n;
}

/* Everything up to the list of holders, whose names the object does not have: pods, reserved CPUs and all. */
static void an_object_is_drawn_as_its_node(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(observation_release) struct observation again;
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	CLEANUP(strbuf_release) struct strbuf want = STRBUF_INIT(1 << 20), got = STRBUF_INIT(1 << 20);
	struct err err = {""};
	enum cluster_basis basis;
	char *end;

	(void)state;
	observation_init(&o);
	observation_init(&again);
	observation_of_picture(&o);
	render(&o, &object);
	if (cluster_node_read_picture(&object, &again.node, &basis, &again.notes, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(basis, CLUSTER_EXACT);
	print(&o, &want);
	print(&again, &got);
	assert_true(count_frame_lines(want.text) > 20);
	end = strstr(want.text, "\nA  ");
	assert_non_null(end);
	*end = '\0';
	end = strstr(got.text, "\nA  ");
	assert_non_null(end);
	*end = '\0';
	test_assert_text("picture", got.text, want.text);
	assert_non_null(strstr(end + 1, "A  #"));
	assert_non_null(strstr(end + 1, "drawn from the node state in a NodeResourceTopology object"));
}

/* What an estimate invents is not drawn. */
static void an_object_without_a_state_shows_its_zones(void **state)
{
	static const char text[] =
		"{\"metadata\":{\"name\":\"n\"},\"zones\":[{\"type\":\"Node\",\"name\":\"node-1\",\"resources\":"
		"[{\"name\":\"cpu\",\"capacity\":\"4\",\"allocatable\":\"4\",\"available\":\"3\"}]},"
		"{\"type\":\"Node\",\"name\":\"node-0\",\"resources\":"
		"[{\"name\":\"memory\",\"capacity\":\"4Gi\",\"allocatable\":\"4Gi\",\"available\":\"1Gi\"}]}]}";
	CLEANUP(observation_release) struct observation o;
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	const struct node_state *s = &o.node;
	enum cluster_basis basis;
	int cpu;

	(void)state;
	observation_init(&o);
	assert_int_equal(json_parse(text, sizeof(text) - 1, &object, NULL), 0);
	assert_int_equal(cluster_node_read_picture(&object, &o.node, &basis, &o.notes, NULL), 0);
	assert_int_equal(basis, CLUSTER_ESTIMATED);
	assert_int_equal(s->machine.n_nodes, 2);
	assert_int_equal(s->machine.nodes[1].id, 1);
	assert_int_equal(s->inventory.nodes[1].id, 1);
	assert_int_equal(s->machine.n_cpus, 0);
	assert_int_equal(s->machine.n_sockets, 0);
	assert_null(s->machine.distances);
	assert_int_equal(s->allocations.n_items, 0);
	assert_null(s->reserved.cpus);
	assert_int_equal(s->settings.topology.policy, TOPOLOGY_MANAGER_UNKNOWN);
	assert_true(s->machine.nodes[0].memory_bytes == (uint64_t)4 << 30);
	cpu = inventory_resource(&s->inventory, "cpu");
	assert_true(cpu >= 0 && inventory_amount(&s->inventory, 1, (size_t)cpu)->available == 3 * QTY_UNIT);
	assert_false(inventory_amount(&s->inventory, 0, (size_t)cpu)->present);
	assert_int_equal(o.notes.lines.n_items, 1);
	test_assert_text("note", o.notes.lines.items[0],
		"drawn from the zones of a NodeResourceTopology object: the object has no node state");
}

/* ---- objects that somebody has broken */

static size_t count(const struct doc *d)
{
	size_t n = 1;

	DOC_FOREACH (item, d)
		n += count(item);
	return n;
}

/* Value number `at` in document order; *at is used up on the way. */
static struct doc *find(struct doc *d, size_t *at)
{
	if ((*at)-- == 0)
		return d;
	DOC_FOREACH (item, d) {
		struct doc *found = find(item, at);

		if (found)
			return found;
	}
	return NULL;
}

/* Another kind, another text, or fewer members. */
static void damage(struct doc *object, uint64_t *seed)
{
	static const char *const texts[] = {"", "-1", "node-1", "node-63", "node-64", "socket-0",
		"socket-99999999999", "Socket", "Node", "cpus", "0-3", "65535", "1e30", "9223372036854775807",
		"0.0000000001", "none", "hugepages-", "hugepages-0", "cpu"};
	size_t at = (size_t)(test_random(seed) % count(object));
	struct doc *d = find(object, &at);
	char *key;

	assert(d != NULL);
	key = d->key;
	if (d->n_items > 0 && test_random(seed) % 2) {
		d->n_items--;
		doc_release(&d->items[d->n_items]);
		return;
	}
	d->key = NULL;
	doc_release(d);
	d->key = key;
	if (test_random(seed) % 4 > 0) {
		const char *text = texts[test_random(seed) % ARRAY_SIZE(texts)];

		doc_set_text(d, DOC_STRING, text, strlen(text));
	}
}

static void draw(const struct observation *o)
{
	CLEANUP(show_view_release) struct show_view v;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(16u << 20);

	show_view_init(&v);
	show_view(&o->node, &o->notes, &v);
	assert_int_equal(show_text(&v, 80, true, true, &out), 0);
	assert_int_equal(show_svg(&v, SHOW_SVG_WIDTH, &out), 0);
}

static void a_damaged_object_is_drawn_or_refused(void **state)
{
	CLEANUP(observation_release) struct observation o;
	uint64_t seed = test_seed(0x6e7274);
	size_t drawn = 0, refused = 0;

	(void)state;
	observation_init(&o);
	observation_of_picture(&o);
	for (size_t i = 0; i < 1500; i++) {
		CLEANUP(observation_release) struct observation seen;
		CLEANUP(doc_release) struct doc object = DOC_INIT;
		struct err err = {""};
		enum cluster_basis basis;
		int r;

		observation_init(&seen);
		render(&o, &object);
		for (size_t hits = 1 + test_random(&seed) % 3; hits > 0; hits--)
			damage(&object, &seed);
		r = cluster_node_read_picture(&object, &seen.node, &basis, &seen.notes, &err);
		if (r == 0) {
			draw(&seen);
			drawn++;
			continue;
		}
		assert_true(r == -EINVAL || r == -ERANGE);
		assert_true(err.text[0] != '\0');
		assert_null(seen.node.node_name);
		refused++;
	}
	print_message("%zu drawn, %zu refused\n", drawn, refused);
	assert_true(drawn > 100 && refused > 100);
}

/* ---- objects that are small and stand for much */

/* A node with one zone, which has this amount of a resource. */
static int read_one(const char *resource, const char *amounts, struct observation *ret, struct err *err)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	enum cluster_basis basis;
	char text[512];

	snprintf(text, sizeof(text),
		"{\"metadata\":{\"name\":\"n\"},\"zones\":[{\"type\":\"Node\",\"name\":\"node-0\",\"resources\":"
		"[{\"name\":\"%s\",%s}]}]}",
		resource, amounts);
	assert_int_equal(json_parse(text, strlen(text), &object, NULL), 0);
	observation_init(ret);
	return cluster_node_read_picture(&object, &ret->node, &basis, &ret->notes, err);
}

static void cpus_are_limited(void **state)
{
	static const struct {
		const char *amounts;
		int want;
	} cases[] = {
		{"\"capacity\":\"8192\",\"allocatable\":\"8192\",\"available\":\"8192\"", 0},
		{"\"capacity\":\"8193\",\"allocatable\":\"8193\",\"available\":\"8193\"", -ERANGE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(observation_release) struct observation o;
		struct err err = {""};

		assert_int_equal(read_one("cpu", cases[i].amounts, &o, &err), cases[i].want);
		assert_int_equal(cases[i].want < 0, strstr(err.text, "at most 8192 are supported") != NULL);
	}
}

static void amounts_are_not_negative(void **state)
{
	static const struct {
		const char *amounts, *what;
	} cases[] = {
		{"\"capacity\":\"-4\",\"allocatable\":\"4\",\"available\":\"4\"", "capacity"},
		{"\"capacity\":\"4\",\"allocatable\":\"-4\",\"available\":\"4\"", "allocatable"},
		{"\"capacity\":\"4\",\"allocatable\":\"4\",\"available\":\"-4\"", "available"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(observation_release) struct observation o;
		char want[128];
		struct err err = {""};

		snprintf(want, sizeof(want),
			"NodeResourceTopology 'n': zone 'node-0', resource 'cpu': %s is negative",
			cases[i].what);
		assert_int_equal(read_one("cpu", cases[i].amounts, &o, &err), -EINVAL);
		test_assert_text("error", err.text, want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_object_is_drawn_as_its_node),
		cmocka_unit_test(an_object_without_a_state_shows_its_zones),
		cmocka_unit_test(a_damaged_object_is_drawn_or_refused),
		cmocka_unit_test(cpus_are_limited),
		cmocka_unit_test(amounts_are_not_negative),
	};

	return cmocka_run_group_tests_name("node_picture", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <assert.h>
#include <errno.h>

#include "agent/base/json.h"
#include "agent/cluster/nrt_parse.h"
#include "agent/node/render/render.h"
#include "agent/report/show.h"
#include "common/cleanup.h"
#include "tests/lib/observations.h"

static void render(const struct observation *o, struct doc *ret)
{
	static const struct nrt_config config = {.deprecated_policies = true};

	nrt_render(&o->node, &config, ret, NULL);
}

/* What is published of a machine is what is read of its object. */
static void an_object_tells_what_was_published(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(observation_release) struct observation again;
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	const struct machine *a = &o.node.machine, *b = &again.node.machine;
	size_t n;

	(void)state;
	observation_init(&o);
	observation_init(&again);
	observation_of_picture(&o);
	render(&o, &object);
	assert_int_equal(observe_nrt(&object, &again.node, &again.notes, NULL), 0);
	n = a->n_nodes;
	test_assert_text("name", again.node.node_name, "worker-7");
	assert_int_equal(b->n_nodes, n);
	assert_int_equal(b->n_sockets, a->n_sockets);
	assert_int_equal(b->n_cores, 0);
	assert_true(hwloc_bitmap_isequal(a->online, b->online));
	assert_memory_equal(a->distances, b->distances, n * n * sizeof(*a->distances));
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(b->nodes[i].id, a->nodes[i].id);
		assert_int_equal(b->nodes[i].socket, a->nodes[i].socket);
		assert_true(b->nodes[i].memory_bytes == a->nodes[i].memory_bytes);
		assert_true(hwloc_bitmap_isequal(a->nodes[i].cpus, b->nodes[i].cpus));
	}
	assert_int_equal(again.node.inventory.n_resources, o.node.inventory.n_resources);
	for (size_t i = 0; i < n * o.node.inventory.n_resources; i++) {
		const struct inventory_amount *x = &o.node.inventory.amounts[i],
					      *y = &again.node.inventory.amounts[i];

		assert_true(x->present == y->present && x->capacity == y->capacity &&
			    x->allocatable == y->allocatable && x->available == y->available);
	}
	assert_int_equal(again.node.settings.cpu_manager, o.node.settings.cpu_manager);
	assert_int_equal(again.node.settings.memory_manager, o.node.settings.memory_manager);
	assert_int_equal(again.node.settings.topology.policy, o.node.settings.topology.policy);
	assert_int_equal(again.node.settings.topology.scope, o.node.settings.topology.scope);
	assert_int_equal(again.notes.lines.n_items, 1);
	test_assert_text("note", again.notes.lines.items[0],
		"drawn from a NodeResourceTopology object, which does not name the holders of resources");
}

static void an_object_without_cpus_says_so(void **state)
{
	static const char text[] =
		"{\"metadata\":{\"name\":\"n\"},\"zones\":[{\"type\":\"Node\",\"name\":\"node-0\",\"resources\":"
		"[{\"name\":\"cpu\",\"capacity\":\"4\",\"allocatable\":\"4\",\"available\":\"4\"}]}]}";
	CLEANUP(observation_release) struct observation o;
	CLEANUP(doc_release) struct doc object = DOC_INIT;

	(void)state;
	observation_init(&o);
	assert_int_equal(json_parse(text, sizeof(text) - 1, &object, NULL), 0);
	assert_int_equal(observe_nrt(&object, &o.node, &o.notes, NULL), 0);
	assert_int_equal(o.notes.lines.n_items, 2);
	test_assert_text("note", o.notes.lines.items[1],
		"CPUs of zones without the attribute 'cpus' are counted and not drawn");
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
		int r;

		observation_init(&seen);
		render(&o, &object);
		for (size_t hits = 1 + test_random(&seed) % 3; hits > 0; hits--)
			damage(&object, &seed);
		r = observe_nrt(&object, &seen.node, &seen.notes, &err);
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

static void cpus_are_limited(void **state)
{
	static const char *const lists[] = {"0-8191", "0,8192"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		CLEANUP(observation_release) struct observation o;
		CLEANUP(doc_release) struct doc object = {.kind = DOC_MAP};
		struct doc *zone, *attributes, *attribute;
		struct err err = {""};

		observation_init(&o);
		assert_non_null(doc_add_string(doc_add_map(&object, "metadata"), "name", "n"));
		zone = doc_add_map(doc_add_list(&object, "zones"), NULL);
		assert_non_null(doc_add_string(zone, "type", "Node"));
		assert_non_null(doc_add_string(zone, "name", "node-0"));
		attributes = doc_add_list(zone, "attributes");
		attribute = doc_add_map(attributes, NULL);
		assert_non_null(doc_add_string(attribute, "name", "of somebody"));
		assert_non_null(doc_add_string(attribute, "value", "else"));
		attribute = doc_add_map(attributes, NULL);
		assert_non_null(doc_add_string(attribute, "name", "cpus"));
		assert_non_null(doc_add_string(attribute, "value", lists[i]));
		assert_int_equal(observe_nrt(&object, &o.node, &o.notes, &err), i == 0 ? 0 : -ERANGE);
		assert_int_equal(i == 1,
			strstr(err.text, "CPU 8192: an id of 8192 or above is not supported") != NULL);
	}
}

/* A node with one zone and two sockets, whose zone says so much of its CPUs, and in which socket it is. */
static int observe_one(const char *amounts, const char *socket, struct observation *ret, struct err *err)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	char text[1024];

	snprintf(text, sizeof(text),
		"{\"metadata\":{\"name\":\"n\"},\"zones\":[{\"type\":\"Socket\",\"name\":\"other\"},"
		"{\"type\":\"Socket\",\"name\":\"%s\"},{\"type\":\"Node\",\"name\":\"node-0\",\"parent\":\"%s\","
		"\"attributes\":[{\"name\":\"cpus\",\"value\":\"0-3\"}],\"resources\":[{\"name\":\"cpu\",%s}]}]}",
		socket, socket, amounts);
	assert_int_equal(json_parse(text, strlen(text), &object, NULL), 0);
	observation_init(ret);
	return observe_nrt(&object, &ret->node, &ret->notes, err);
}

#define AMOUNTS "\"capacity\":\"4\",\"allocatable\":\"4\",\"available\":\"4\""

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
		assert_int_equal(observe_one(cases[i].amounts, "socket-1", &o, &err), -EINVAL);
		test_assert_text("error", err.text, want);
	}
}

/* By the number in its name; else by its place among the sockets. */
static void sockets_have_numbers(void **state)
{
	static const struct {
		const char *name;
		int id;
	} cases[] = {{"socket-7", 7}, {"socket-65535", 65535}, {"socket-65536", 1}, {"socket-7a", 1},
		{"socket-", 1}, {"left", 1}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(observation_release) struct observation o;

		assert_int_equal(observe_one(AMOUNTS, cases[i].name, &o, NULL), 0);
		if (o.node.machine.nodes[0].socket != cases[i].id)
			fail_msg("%s: %d", cases[i].name, o.node.machine.nodes[0].socket);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_object_tells_what_was_published),
		cmocka_unit_test(an_object_without_cpus_says_so),
		cmocka_unit_test(a_damaged_object_is_drawn_or_refused),
		cmocka_unit_test(cpus_are_limited),
		cmocka_unit_test(amounts_are_not_negative),
		cmocka_unit_test(sockets_have_numbers),
	};

	return cmocka_run_group_tests_name("observe_nrt", tests, NULL, NULL);
}

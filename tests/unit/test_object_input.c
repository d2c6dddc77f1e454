/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "cluster/objects/cluster_node.h"
#include "cluster/objects/nrt_parse.h"
#include "cluster/objects/object_input.h"
#include "common/cleanup.h"
#include "common/io/encoding.h"
#include "common/machine.h"

#define TEXT_MAX (64u << 20)

static int read_node(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	struct cluster_node node;
	size_t *n = data;
	int r = cluster_node_read(object, &node, err);

	assert_int_equal(kind, OBJECT_NRT);
	if (r < 0)
		return r;
	test_assert_text("name", node.state.node_name, "a");
	cluster_node_release(&node);
	(*n)++;
	return 0;
}

static int count_object(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	(void)object;
	(void)data;
	(void)err;
	assert_int_equal(kind, OBJECT_NRT);
	return 0;
}

/* Reads the text as a file; the error is without the file's name. */
static int read_text(const struct strbuf *text, object_fn *fn, void *data, struct err *err)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	char file[256];
	int r;

	assert_int_equal(strbuf_error(text), 0);
	test_write_file(dir, "nrt.json", text->text);
	snprintf(file, sizeof(file), "%s/nrt.json", dir);
	r = object_input_read(file, 1u << OBJECT_NRT, fn, data, err);
	if (r < 0) {
		assert_memory_equal(err->text, file, strlen(file));
		memmove(err->text, err->text + strlen(file) + 2, strlen(err->text) - strlen(file) - 1);
	}
	return r;
}

/* An object of so many zones, all of one name, the first with so many resources. */
static void add_object(struct strbuf *text, size_t n_zones, size_t n_resources)
{
	strbuf_addstr(text, "{\"kind\":\"NodeResourceTopology\",\"metadata\":{\"name\":\"a\"},\"zones\":[");
	for (size_t zone = 0; zone < n_zones; zone++) {
		strbuf_addf(
			text, "%s{\"type\":\"Node\",\"name\":\"node-7\",\"resources\":[", zone ? "," : "");
		for (size_t i = 0; zone == 0 && i < n_resources; i++)
			strbuf_addf(text,
				"%s{\"name\":\"r%zu\",\"capacity\":\"1\",\"allocatable\":\"1\",\"available\":\"1\"}",
				i ? "," : "", i);
		strbuf_addstr(text, "]}");
	}
	strbuf_addstr(text, "]}");
}

/* A matrix is made of zones by zones, and one of zones by resources. */
static void an_object_has_a_size(void **state)
{
	static const struct {
		size_t zones, resources;
		const char *message;
	} cases[] = {
		{MACHINE_MAX_NODES, 1, NULL},
		{1, NRT_MAX_RESOURCES, NULL},
		{MACHINE_MAX_NODES + 1, 1,
			"NodeResourceTopology 'a': 1025 zones of type Node with 1 resources, 1024 and 1024 are "
			"supported"},
		{1, NRT_MAX_RESOURCES + 1,
			"NodeResourceTopology 'a': 1 zones of type Node with 1025 resources, 1024 and 1024 are "
			"supported"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
		size_t n = 0;
		struct err err = {""};

		add_object(&text, cases[i].zones, cases[i].resources);
		assert_int_equal(read_text(&text, read_node, &n, &err), cases[i].message ? -EINVAL : 0);
		test_assert_text("error", err.text, cases[i].message ? cases[i].message : "");
		assert_int_equal(n, cases[i].message ? 0 : 1);
	}
}

static void a_list_has_a_size(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
	struct err err = {""};

	(void)state;
	strbuf_addstr(&text, "{\"kind\":\"List\",\"items\":[");
	for (size_t i = 0; i <= OBJECT_INPUT_MAX; i++) {
		strbuf_addstr(&text, i ? "," : "");
		add_object(&text, 1, 0);
	}
	strbuf_addstr(&text, "]}");
	assert_int_equal(read_text(&text, count_object, NULL, &err), -EINVAL);
	test_assert_text("error", err.text, "more than 200000 objects");
}

/* The names of the nodes, in the order in which they are read. */
static int add_name(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	(void)kind;
	(void)err;
	strbuf_addf(data, "%s ", doc_object_name(object));
	return 0;
}

static void write_object(const char *dir, const char *file, const char *node)
{
	char text[256];

	snprintf(text, sizeof(text),
		"{\"kind\": \"NodeResourceTopology\", \"metadata\": {\"name\": \"%s\"}, \"zones\": []}",
		node);
	test_write_file(dir, file, text);
}

static void a_folder_is_read_by_its_files_names(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(test_rmtree) char *other = test_tmpdir();
	CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT(256);
	CLEANUP(strbuf_release) struct strbuf want = STRBUF_INIT(512);
	struct err err = {""};

	(void)state;
	write_object(dir, "b.yaml", "yaml");
	write_object(dir, "c.yml", "yml");
	write_object(dir, "a.json", "json");
	write_object(dir, ".json", "hidden");
	write_object(dir, ".d.json", "hidden");
	test_write_file(dir, "e.txt", "{");
	test_write_file(dir, "json", "{");
	test_write_file(dir, "f.json.gz", "{");
	assert_int_equal(object_input_read(dir, 1u << OBJECT_NRT, add_name, &names, &err), 0);
	test_assert_text("names", names.text, "json yaml yml ");

	test_write_file(other, "e.txt", "{");
	assert_int_equal(object_input_read(other, 1u << OBJECT_NRT, add_name, &names, &err), -EINVAL);
	strbuf_addf(&want, "'%s' contains no .yaml, .yml or .json file", other);
	test_assert_text("none", err.text, want.text);
	/* One broken file ends it, with its name. */
	test_write_file(dir, "b.yaml", "kind: [");
	strbuf_reset(&names);
	assert_int_equal(object_input_read(dir, 1u << OBJECT_NRT, add_name, &names, &err), -EINVAL);
	test_assert_text("names", names.text, "json ");
	assert_non_null(strstr(err.text, "/b.yaml: "));
}

static void byte_order_marks_are_removed(void **state)
{
	static const char object[] = "{\"kind\": \"NodeResourceTopology\", \"metadata\": {\"name\": \"n\"}}";
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT(256), text = STRBUF_INIT(4096);
	struct err err = {""};

	(void)state;
	strbuf_addf(&text, UTF8_BYTE_ORDER_MARK "%s", object);
	test_write_file(dir, "a.json", text.text);
	strbuf_reset(&text);
	strbuf_addf(&text, UTF8_BYTE_ORDER_MARK "kind: List\nitems:\n- %s\n", object);
	test_write_file(dir, "b.yaml", text.text);
	assert_int_equal(object_input_read(dir, 1u << OBJECT_NRT, add_name, &names, &err), 0);
	test_assert_text("names", names.text, "n n ");
}

static int add_kind(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	(void)err;
	strbuf_addf(data, "%s %s; ", object_kind_names[kind], doc_text(doc_get(object, "metadata"), "name"));
	return 0;
}

/* As `jq -S` writes them: the items, which have no kind in a typed list, come before the list's kind. */
static void items_may_precede_the_kind_of_their_list(void **state)
{
	static const unsigned kinds = 1u << OBJECT_NRT | 1u << OBJECT_NODE | OBJECT_SKIP_OTHERS;
	static const struct {
		const char *text, *got;
	} cases[] = {
		{"{\"items\":[{\"metadata\":{\"name\":\"a\"}},{\"metadata\":{\"name\":\"b\"}}],\"kind\":\"NodeList\"}",
			"Node a; Node b; "},
		{"{\"items\":[{\"metadata\":{\"name\":\"a\"}}],\"kind\":\"ConfigMapList\"}", ""},
		{"{\"items\":[{\"metadata\":{\"name\":\"a\"}}],\"kind\":\"List\"}", NULL},
		{"{\"items\":[{\"metadata\":{\"name\":\"a\"}}]}", NULL},
		{"{\"items\":[{\"metadata\":{\"name\":\"a\"}}],\"kind\":\"NodeList\"}\n"
		 "{\"items\":[{\"metadata\":{\"name\":\"b\"}}],\"kind\":\"NodeResourceTopologyList\"}",
			"Node a; NodeResourceTopology b; "},
		/* Items of a list that is skipped are no items of the next list. */
		{"{\"items\":[{\"metadata\":{\"name\":\"a\"}}],\"kind\":\"Foo\"}\n{\"items\":[],\"kind\":\"NodeList\"}",
			""},
		{"kind: NodeList\nitems: null\n", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(test_rmtree) char *dir = test_tmpdir();
		CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(256);
		struct err err = {""};
		int r;

		test_write_file(dir, "a.json", cases[i].text);
		r = object_input_read(dir, kinds, add_kind, &got, &err);
		assert_int_equal(r, cases[i].got ? 0 : -EINVAL);
		if (cases[i].got)
			test_assert_text(cases[i].text, got.text ? got.text : "", cases[i].got);
		else
			assert_non_null(strstr(err.text, "without a kind"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_object_has_a_size),
		cmocka_unit_test(a_list_has_a_size),
		cmocka_unit_test(a_folder_is_read_by_its_files_names),
		cmocka_unit_test(byte_order_marks_are_removed),
		cmocka_unit_test(items_may_precede_the_kind_of_their_list),
	};

	return cmocka_run_group_tests_name("object_input", tests, NULL, NULL);
}

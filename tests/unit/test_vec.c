/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/strbuf.h"
#include "common/vec.h"

static void grows_and_holds_copies(void **state)
{
	struct strv v = {0};
	char text[8];

	(void)state;
	for (int i = 0; i < 40; i++) {
		snprintf(text, sizeof(text), "%02d", 39 - i);
		strv_push(&v, text);
	}
	assert_int_equal(v.n_items, 40);
	assert_string_equal(v.items[0], "39");
	strv_sort(&v);
	assert_string_equal(v.items[0], "00");
	assert_string_equal(v.items[39], "39");
	strv_release(&v);
	assert_int_equal(v.n_items, 0);
	strv_sort(&v);
	strv_release(&v);
}

static void finds_the_first_name_that_is_not_below(void **state)
{
	static const struct {
		int before;
		const char *name;
	} items[] = {{1, "b"}, {2, "d"}, {3, "d"}, {4, "f"}};
	static const struct {
		const char *name;
		size_t at;
	} cases[] = {{"a", 0}, {"b", 0}, {"c", 1}, {"d", 1}, {"e", 3}, {"f", 3}, {"g", 4}};
	const char *const names[] = {"b", "d"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(VEC_LOWER_BOUND(items, ARRAY_SIZE(items), name, cases[i].name), cases[i].at);
	assert_int_equal(vec_lower_bound(names, 2, sizeof(*names), 0, "c"), 1);
	assert_int_equal(vec_lower_bound(NULL, 0, sizeof(*names), 0, "c"), 0);
}

static void takes_what_was_allocated(void **state)
{
	struct strv v = {0};

	(void)state;
	strv_take(&v, strdup("a"));
	assert_int_equal(v.n_items, 1);
	strv_release(&v);
}

static void has_a_string_once(void **state)
{
	struct strv v = {0};

	(void)state;
	assert_false(strv_contains(&v, "a"));
	strv_push_new(&v, "a");
	strv_push_new(&v, "b");
	strv_push_new(&v, "a");
	assert_int_equal(v.n_items, 2);
	assert_true(strv_contains(&v, "b"));
	strv_push(&v, "a");
	strv_sort_unique(&v);
	assert_int_equal(v.n_items, 2);
	assert_string_equal(v.items[1], "b");
	strv_release(&v);
}

static void a_list_has_a_limit(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(100);
	struct strv v = {0};

	(void)state;
	strbuf_add_list(&text, &v, 2);
	assert_string_equal(text.text, "");
	strv_push(&v, "a");
	strv_push(&v, "b\n");
	strbuf_add_list(&text, &v, 2);
	assert_string_equal(text.text, "a, b?");
	strv_push(&v, "c");
	strbuf_reset(&text);
	strbuf_add_list(&text, &v, 2);
	assert_string_equal(text.text, "a, b?, and 1 more");
	strv_release(&v);
}

static void compares_in_order(void **state)
{
	struct strv a = {0}, b = {0};

	(void)state;
	assert_true(strv_equal(&a, &b));
	strv_push(&a, "x");
	assert_false(strv_equal(&a, &b));
	strv_push(&b, "y");
	assert_false(strv_equal(&a, &b));
	strv_push(&a, "y");
	strv_push(&b, "x");
	assert_false(strv_equal(&a, &b));
	strv_sort(&b);
	assert_true(strv_equal(&a, &b));
	strv_release(&a);
	strv_release(&b);
}

struct pair {
	unsigned key, place;
	char padding[5];
};

static int by_key(const void *a, const void *b, void *n_calls)
{
	const struct pair *x = a, *y = b;

	++*(size_t *)n_calls;
	return (x->key > y->key) - (x->key < y->key);
}

/* Few keys, so that many items are equal. */
static void sorts_and_keeps_the_order_of_equals(void **state)
{
	uint64_t seed = test_seed(34);

	(void)state;
	for (size_t n = 0; n < 70; n++) {
		struct pair pairs[70];
		size_t n_calls = 0;

		for (unsigned i = 0; i < n; i++)
			pairs[i] = (struct pair){.key = (unsigned)(test_random(&seed) % 8), .place = i};
		vec_sort(pairs, n, sizeof(*pairs), by_key, &n_calls);
		for (size_t i = 1; i < n; i++)
			assert_true(
				pairs[i - 1].key < pairs[i].key ||
				(pairs[i - 1].key == pairs[i].key && pairs[i - 1].place < pairs[i].place));
		assert_true(n_calls <= n * 7);
	}
}

/* UBSan of clang rejects arithmetic on the NULL of an array without space. */
static void sorts_nothing(void **state)
{
	size_t n_calls = 0;

	(void)state;
	vec_sort(NULL, 0, sizeof(struct pair), by_key, &n_calls);
	assert_int_equal(n_calls, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows_and_holds_copies),
		cmocka_unit_test(finds_the_first_name_that_is_not_below),
		cmocka_unit_test(takes_what_was_allocated),
		cmocka_unit_test(has_a_string_once),
		cmocka_unit_test(a_list_has_a_limit),
		cmocka_unit_test(compares_in_order),
		cmocka_unit_test(sorts_and_keeps_the_order_of_equals),
		cmocka_unit_test(sorts_nothing),
	};

	return cmocka_run_group_tests_name("vec", tests, NULL, NULL);
}

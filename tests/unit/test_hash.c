/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "common/hash.h"

#define N_NAMES 300
#define N_STEPS 20000

/* Names come and go at random; each is found as long as it is there. */
static void names_come_and_go(void **state)
{
	CLEANUP(name_table_release) struct name_table t = {0};
	char names[N_NAMES][16];
	bool there[N_NAMES] = {false};
	uint64_t seed = test_seed(1);
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < N_NAMES; i++)
		snprintf(names[i], sizeof(names[i]), "node-%zu", i);
	assert_null(name_table_find(&t, names[0]));
	name_table_remove(&t, names[0]);
	for (size_t step = 0; step < N_STEPS; step++) {
		size_t i = test_random(&seed) % N_NAMES;

		if (there[i])
			name_table_remove(&t, names[i]);
		else
			name_table_add(&t, names[i], names[i]);
		there[i] = !there[i];
		n += there[i] ? 1 : (size_t)-1;
		assert_int_equal(t.n, n);
		if (step % 100 > 0)
			continue;
		for (size_t k = 0; k < N_NAMES; k++) {
			char copy[16];

			memcpy(copy, names[k], sizeof(copy));
			assert_ptr_equal(name_table_find(&t, copy), there[k] ? names[k] : NULL);
		}
	}
	name_table_remove(&t, "nobody");
	assert_int_equal(t.n, n);
}

static void count(void *value)
{
	(*(size_t *)value)++;
}

static void values_are_released_once_each(void **state)
{
	struct name_table t = {0};
	char names[N_NAMES][16];
	size_t n_released[N_NAMES] = {0};

	(void)state;
	name_table_release_values(&t, count);
	for (size_t i = 0; i < N_NAMES; i++) {
		snprintf(names[i], sizeof(names[i]), "pod-%zu", i);
		name_table_add(&t, names[i], &n_released[i]);
	}
	name_table_remove(&t, names[7]);
	name_table_release_values(&t, count);
	assert_int_equal(t.n, 0);
	assert_null(name_table_find(&t, names[0]));
	for (size_t i = 0; i < N_NAMES; i++)
		assert_int_equal(n_released[i], i != 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_come_and_go),
		cmocka_unit_test(values_are_released_once_each),
	};

	return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/resource.h"
#include "common/text.h"

static void names_tell_what_they_are(void **state)
{
	static const struct {
		const char *name;
		bool hugepages, native, numa_affine, host_level, scalar;
	} cases[] = {
		{"cpu", false, true, true, false, false},
		{"memory", false, true, true, false, false},
		{"hugepages-1Gi", true, true, true, false, true},
		{"hugepages", false, true, false, false, false},
		{"storage", false, true, false, true, false},
		{"ephemeral-storage", false, true, false, true, false},
		{"gpu", false, true, false, false, false},
		{"vendor.io/nic", false, false, false, true, true},
		{"requests.vendor.io/nic", false, false, false, true, false},
		{"scheduling.kubernetes.io/foo", false, true, false, false, true},
		{"attachable-volumes-csi-x", false, true, false, false, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *name = cases[i].name;

		print_message("%s\n", name);
		assert_int_equal(resource_name_is_hugepages(name), cases[i].hugepages);
		assert_int_equal(resource_name_is_native(name), cases[i].native);
		assert_int_equal(resource_name_is_numa_affine(name), cases[i].numa_affine);
		assert_int_equal(resource_name_is_host_level(name), cases[i].host_level);
		assert_int_equal(resource_name_is_scalar(name), cases[i].scalar);
	}
}

#define MAX_FIELDS 7

static const char *const format_names[QUANTITY_FORMAT_COUNT] = {"si", "bin", "exp"};

static struct quantity parse(const char *text)
{
	struct quantity q = {0};
	struct err err = {""};

	if (quantity_parse(text, &q, &err) < 0)
		fail_msg("'%s': %s", text, err.text);
	return q;
}

/* A whole number of nano-units as the record writes it. */
static qty_t parse_nano(const char *text)
{
	qty_t value = 0;

	for (const char *p = text + (*text == '-'); *p; p++)
		value = value * 10 + (*p - '0');
	return *text == '-' ? -value : value;
}

/* One recorded number of Value() or MilliValue(). "~" stands where the package does not give the exact one.
 */
static void check_rounded(const char *text, const char *want, qty_t nano, qty_t unit, int64_t got)
{
	qty_t floor = nano / unit;
	char number[32];

	if (*want != '~') {
		snprintf(number, sizeof(number), "%lld", (long long)got);
		test_assert_text(text, number, want);
		return;
	}
	if (floor >= INT64_MAX)
		assert_int_equal(got, INT64_MAX);
	else if (floor <= INT64_MIN)
		assert_int_equal(got, INT64_MIN);
	else if (nano < 0)
		assert_true(got == (nano - (unit - 1)) / unit);
	else
		fail_msg("'%s': %s is no known inexactness", text, want);
}

/* The canonical text, or for a "~" one (a power beyond E is dropped there) any text of the same value. */
static void check_text(const char *what, const char *want, struct quantity q)
{
	char text[QUANTITY_TEXT_MAX];

	quantity_print(q, text);
	if (*want != '~') {
		test_assert_text(what, text, want);
		return;
	}
	assert_true(q.nano % (QTY_UNIT * 1000000000000000000 * 1000) == 0);
	assert_true(parse(text).nano == q.nano);
}

static void check_parse(char *const *field)
{
	const struct quantity untouched = {.nano = 42, .format = QUANTITY_FORMAT_COUNT};
	struct quantity q = untouched;
	struct err err = {""};
	int r = quantity_parse(field[1], &q, &err);

	if (!strcmp(field[2], "EINVAL") || !strcmp(field[2], "ERANGE")) {
		int want = field[2][1] == 'I' ? -EINVAL : -ERANGE;

		if (r != want)
			fail_msg("'%s': got %d, want %d", field[1], r, want);
		assert_true(q.nano == untouched.nano && q.format == untouched.format);
		text_one_line(field[1]); /* as errors show it */
		assert_non_null(strstr(err.text, field[1]));
		return;
	}
	if (r != 0)
		fail_msg("'%s': %s", field[1], err.text);
	if (q.nano != parse_nano(field[2]))
		fail_msg("'%s': another value than %s nano-units", field[1], field[2]);
	test_assert_text(field[1], format_names[q.format], field[3]);
	check_text(field[1], field[4], q);
	check_rounded(field[1], field[5], q.nano, QTY_UNIT, qty_value(q.nano));
	check_rounded(field[1], field[6], q.nano, QTY_UNIT / 1000, qty_milli_value(q.nano));
}

static void check_pair(char *const *field)
{
	struct quantity a = parse(field[1]), b = parse(field[2]);
	char what[256];

	snprintf(what, sizeof(what), "'%s' and '%s'", field[1], field[2]);
	if (quantity_cmp(a, b) != strtol(field[3], NULL, 10))
		fail_msg("%s: compared %d, want %s", what, quantity_cmp(a, b), field[3]);
	check_text(what, field[4], quantity_add(a, b));
	check_text(what, field[5], quantity_add(a, (struct quantity){.nano = -b.nano, .format = b.format}));
}

static size_t split_fields(char *line, char *field[MAX_FIELDS])
{
	size_t n = 0;

	for (char *rest = line; rest && n < MAX_FIELDS;)
		field[n++] = strsep(&rest, "|");
	return n;
}

static void recorded_results_are_equal(void **state)
{
	CLEANUP(freep) char *text = test_read_file(test_fixture("quantity/apimachinery.txt"), NULL);
	size_t parsed = 0, pairs = 0;
	char *rest = text, *line;

	(void)state;
	while ((line = strsep(&rest, "\n"))) {
		char *field[MAX_FIELDS] = {NULL};
		size_t n;

		if (*line == '#' || *line == '\0')
			continue;
		n = split_fields(line, field);
		if (!strcmp(field[0], "parse") && (n == 3 || n == 7)) {
			check_parse(field);
			parsed++;
		} else if (!strcmp(field[0], "pair") && n == 6) {
			check_pair(field);
			pairs++;
		} else {
			fail_msg("line of unknown form: '%s'", line);
		}
	}
	assert_true(parsed > 300 && pairs > 100);
}

/* The API takes a text without any digit ("k", "+", "e3") for 0; here it is an error. */
static void text_without_a_digit_is_refused(void **state)
{
	static const char *const texts[] = {"+", "-", ".", "-.", "k", "Ki", "e3", ".m"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct quantity q;
		struct err err = {""};

		if (quantity_parse(texts[i], &q, &err) != -EINVAL)
			fail_msg("'%s' was accepted", texts[i]);
		assert_non_null(strstr(err.text, "not a quantity"));
	}
}

static void far_exponents_are_bounded(void **state)
{
	struct quantity q = {0};

	(void)state;
	assert_int_equal(quantity_parse("1e99999999999999999999", &q, NULL), -ERANGE);
	assert_int_equal(quantity_parse("1e4294967296", &q, NULL), -ERANGE);
	assert_int_equal(quantity_parse("0e99999999999999999999", &q, NULL), 0);
	assert_true(q.nano == 0);
	assert_int_equal(quantity_parse("-1e-99999999999999999999", &q, NULL), 0);
	assert_true(q.nano == -1);
}

static void sums_stay_in_range(void **state)
{
	struct quantity max = {.nano = QTY_MAX}, min = {.nano = -QTY_MAX}, one = {.nano = 1};

	(void)state;
	assert_true(quantity_add(max, one).nano == QTY_MAX);
	assert_true(quantity_add(max, max).nano == QTY_MAX);
	assert_true(quantity_add(min, (struct quantity){.nano = -1}).nano == -QTY_MAX);
	assert_true(quantity_add(min, min).nano == -QTY_MAX);
	assert_true(quantity_add(max, min).nano == 0);
	assert_true(quantity_add(max, (struct quantity){.nano = -1}).nano == QTY_MAX - 1);
	assert_true(qty_multiply(QTY_UNIT, 3) == 3 * QTY_UNIT);
	assert_true(qty_multiply(QTY_MAX, 0) == 0);
	assert_true(qty_multiply(QTY_MAX / 2, 2) == QTY_MAX - 1);
	assert_true(qty_multiply(QTY_MAX / 2 + 1, 2) == QTY_MAX);
	assert_true(qty_multiply(-(QTY_MAX / 2) - 1, 2) == -QTY_MAX);
	assert_true(qty_multiply(1, UINT64_MAX) == UINT64_MAX);
	assert_int_equal(qty_value(QTY_MAX), INT64_MAX);
	assert_int_equal(qty_value(-QTY_MAX), INT64_MIN);
	assert_int_equal(qty_whole_units(-1), 0);
	assert_int_equal(qty_whole_units(2 * QTY_UNIT - 1), 1);
	assert_int_equal(qty_whole_units(QTY_MAX), UINT32_MAX);
	assert_int_equal(qty_milli_value(QTY_MAX), INT64_MAX);
}

static void random_values_round_trip(void **state)
{
	const qty_t binary_max = (qty_t)INT64_MAX * QTY_UNIT;
	uint64_t random = test_seed(20261122);

	(void)state;
	for (int n = 0; n < 100000; n++) {
		enum quantity_format format =
			(enum quantity_format)(test_random(&random) % QUANTITY_FORMAT_COUNT);
		qty_t nano = (qty_t)test_random(&random) << (test_random(&random) % 63);
		struct quantity q, again;
		char text[QUANTITY_TEXT_MAX];

		nano >>= test_random(&random) % 64;
		if (test_random(&random) % 2 && nano < QTY_MAX / QTY_UNIT)
			nano *= QTY_UNIT;
		if (nano > binary_max || nano < -binary_max)
			format = QUANTITY_DECIMAL_SI;
		q = (struct quantity){.nano = test_random(&random) % 4 ? nano : -nano, .format = format};
		quantity_print(q, text);
		assert_true(strlen(text) < QUANTITY_TEXT_MAX);
		again = parse(text);
		if (again.nano != q.nano)
			fail_msg("'%s' reads as another value", text);
		if (nano != 0 && again.format != q.format && q.format == QUANTITY_DECIMAL_SI)
			fail_msg("'%s' reads in another format", text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_tell_what_they_are),
		cmocka_unit_test(recorded_results_are_equal),
		cmocka_unit_test(text_without_a_digit_is_refused),
		cmocka_unit_test(far_exponents_are_bounded),
		cmocka_unit_test(sums_stay_in_range),
		cmocka_unit_test(random_values_round_trip),
	};

	return cmocka_run_group_tests_name("resource", tests, NULL, NULL);
}

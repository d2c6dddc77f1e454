/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "common/resource_name.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(names_tell_what_they_are)};

	return cmocka_run_group_tests_name("resource_name", tests, NULL, NULL);
}

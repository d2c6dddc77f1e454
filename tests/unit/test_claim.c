/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "common/claim.h"
#include "common/cleanup.h"
#include "tests/lib/claims.h"

static void add_texts(struct claim *c, const char *pod, const char *device, const char *cdi)
{
	claim_add_pod(c, "ns", pod);
	strv_push(&c->devices, device);
	strv_push(&c->cdi, cdi);
}

static void one_claim_of_one_driver_is_one(void **state)
{
	CLEANUP(claims_release) struct claims claims = {0};
	CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(65536);

	(void)state;
	add_texts(test_add_claim(&claims, "d", "u2", "", NULL, 0, 0), "p", "n/x", "k=x");
	add_texts(test_add_claim(&claims, "d", "u1", "0-1", "memory", 5, 0), "q", "n/b", "k=b");
	add_texts(test_add_claim(&claims, "d", "u1", "1-2", "memory", 9, 0), "p", "n/a", "k=b");
	add_texts(test_add_claim(&claims, "d", "u1", "", "memory", 7, 0), "q", "n/b", "k=a");
	add_texts(test_add_claim(&claims, "c", "u1", "", "memory", 7, 1), "q", "n/b", "k=a");
	claims_merge(&claims);
	test_claims_text(&claims, &got);
	test_assert_text("united", got.text,
		"c u1 pods ns/q memory 7@1 devices n/b cdi k=a;"
		"d u1 pods ns/p,ns/q cpus 0-2 memory 9@0 devices n/a,n/b cdi k=a,k=b;"
		"d u2 pods ns/p devices n/x cdi k=x;");
}

static void what_all_hold_is_summed(void **state)
{
	CLEANUP(claims_release) struct claims claims = {0};
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = NULL;
	CLEANUP(freep) char *text = NULL;

	(void)state;
	test_add_claim(&claims, "d", "a", "0-1", "memory", 5, 0);
	test_add_claim(&claims, "d", "b", "1,4", "memory", 7, 0);
	test_add_claim(&claims, "d", "c", "", "hugepages-1Gi", 3, 0);
	test_add_claim(&claims, "d", "e", "", "memory", UINT64_MAX, 1);
	test_add_claim(&claims, "d", "f", "", "memory", 1, 1);
	cpus = claims_cpus(&claims);
	text = cpuset_print(cpus);
	test_assert_text("CPUs", text, "0-1,4");
	assert_int_equal(claims_bytes(&claims, "memory", 0), 12);
	assert_int_equal(claims_bytes(&claims, "hugepages-1Gi", 0), 3);
	assert_int_equal(claims_bytes(&claims, "hugepages-1Gi", 1), 0);
	assert_int_equal(claims_bytes(&claims, "memory", 1), UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_claim_of_one_driver_is_one),
		cmocka_unit_test(what_all_hold_is_summed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/fuzz.h"

#include "agent/check/check.h"
#include "common/cleanup.h"

/* What is refused leaves the answer alone; what is taken can be judged at any time, and has ended at its end.
 */
static void check(int r, const struct credential_expiry *v)
{
	if (r < 0) {
		fuzz_require(v->from_s == 7 && v->until_s == 8);
		return;
	}
	for (int64_t now_s = 0; now_s < INT64_C(300000000000); now_s += INT64_C(10000000000))
		for (int renewed = 0; renewed < 2; renewed++)
			fuzz_require(
				now_s < v->until_s || check_expiry_level(v, renewed, now_s) == CHECK_FAIL);
}

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(freep) char *text = strndup((const char *)data, size);
	struct credential_expiry v = {7, 8};

	fuzz_require(text != NULL);
	check(certificate_expiry(text, &v), &v);
	v = (struct credential_expiry){7, 8};
	check(token_expiry(text, &v), &v);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The kubelet's file of admitted pods. */
#include "tests/fuzz/fuzz.h"

#include <errno.h>

#include "agent/observe/admitted_pods.h"
#include "common/cleanup.h"

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(strv_release) struct strv uids = {0};
	struct err err = {""};
	int r = admitted_pods_parse((const char *)data, size, &uids, &err);

	if (r < 0) {
		fuzz_require(r == -EINVAL || r == -EBADMSG || r == -EFBIG || r == -ERANGE);
		fuzz_check_line(err.text);
		fuzz_require(uids.n_items == 0);
		return;
	}
	for (size_t i = 0; i < uids.n_items; i++)
		fuzz_require(uids.items[i] != NULL);
}

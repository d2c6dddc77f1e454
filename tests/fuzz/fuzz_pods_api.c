/* SPDX-License-Identifier: Apache-2.0 */
/* The kubelet's answer to ListPods, up to the sum of the requests. */
#include "tests/fuzz/fuzz.h"

#include "agent/observe/pods_api.h"
#include "cluster/model/cluster_usage.h"
#include "common/cleanup.h"

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(doc_release) struct doc pods = DOC_INIT;
	CLEANUP(cluster_usage_release) struct cluster_usage usage = {.only = "n"};
	struct err err = {""};

	if (pods_api_parse(data, size, "n", &pods, &err) < 0) {
		fuzz_check_line(err.text);
		fuzz_require(pods.kind == DOC_NULL);
		return;
	}
	for (size_t i = 0; i < pods.n_items; i++) {
		err = (struct err){""};
		if (cluster_usage_add(&usage, OBJECT_POD, &pods.items[i], &err) < 0)
			fuzz_check_line(err.text);
	}
}

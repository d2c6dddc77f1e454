/* SPDX-License-Identifier: Apache-2.0 */
/* The kubelet's answer to ListPods, up to the sum of the requests. */
#include "tests/fuzz/fuzz.h"

#include "agent/observe/pods_api.h"
#include "cluster/model/cluster.h"
#include "common/cleanup.h"

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(doc_release) struct doc pods = DOC_INIT;
	CLEANUP(cluster_release) struct cluster cluster = {.n_nodes = 0};
	struct err err = {""};

	if (pods_api_parse(data, size, "n", &pods, &err) < 0) {
		fuzz_check_line(err.text);
		fuzz_require(pods.kind == DOC_NULL);
		return;
	}
	for (size_t i = 0; i < pods.n_items; i++) {
		err = (struct err){""};
		if (cluster_update(&cluster, OBJECT_POD, &pods.items[i], 0, &err) < 0)
			fuzz_check_line(err.text);
	}
}

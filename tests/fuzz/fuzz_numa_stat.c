/* SPDX-License-Identifier: Apache-2.0 */
/* A cgroup's memory.numa_stat or hugetlb.SIZE.numa_stat. */
#include "tests/fuzz/fuzz.h"

#include "agent/observe/pod_memory.h"
#include "common/cleanup.h"

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const keys[] = {"anon", "file", "total"};
	CLEANUP(freep) char *text = strndup((const char *)data, size);
	struct numa_node nodes[] = {{.id = 0}, {.id = 3}};
	const struct machine m = {.nodes = nodes, .n_nodes = 2};

	fuzz_require(text != NULL);
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		uint64_t bytes[3] = {0, 0, 7};

		fuzz_require(numa_stat_add(text, keys[i], &m, bytes) <= 0);
		fuzz_require(bytes[2] == 7);
	}
}

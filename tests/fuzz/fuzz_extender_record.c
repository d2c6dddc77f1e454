/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The annotations of the extender's Lease: times are not in the future, the record has a limit, and is written as it is read.
 */
#include "tests/fuzz/fuzz.h"

#include "cluster/objects/extender_record.h"
#include "common/cleanup.h"
#include "common/io/json.h"

#define NOW_S 1700000000

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(doc_release) struct doc annotations = DOC_INIT, written = {.kind = DOC_MAP};
	struct extender_record r = {0}, again = {0};
	double begin = fuzz_cpu_seconds();

	if (json_parse((const char *)data, size, &annotations, NULL) < 0)
		return;
	extender_record_read(&r, &annotations, NOW_S);
	fuzz_require(r.n_schedulers <= EXTENDER_SCHEDULERS_MAX);
	for (size_t i = 0; i < r.n_schedulers; i++)
		fuzz_require(*r.schedulers[i].name && r.schedulers[i].asked_s <= NOW_S + 60);
	extender_record_write(&r, &written);
	extender_record_read(&again, &written, NOW_S);
	fuzz_require(again.nodes_version == r.nodes_version && again.n_schedulers == r.n_schedulers);
	for (size_t i = 0; i < r.n_schedulers; i++)
		fuzz_require(extender_record_find(&again, r.schedulers[i].name) == r.schedulers[i].asked_s);
	fuzz_require(fuzz_cpu_seconds() - begin < FUZZ_CPU_SECONDS);
}

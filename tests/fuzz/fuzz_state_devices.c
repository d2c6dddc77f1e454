/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/fuzz.h"

#include "agent/observe/state_file.h"
#include "common/cleanup.h"

static void check_items(const struct allocations *a)
{
	for (size_t i = 0; i < a->n_items; i++) {
		const struct allocation *item = &a->items[i];

		fuzz_require(i == 0 || strcmp(a->items[i - 1].pod_uid, item->pod_uid) < 0 ||
			     strcmp(a->items[i - 1].container, item->container) < 0);
		for (size_t b = 0; b < item->n_devices; b++)
			fuzz_require(item->devices[b].ids.n_items > 0 && *item->devices[b].resource);
	}
}

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(kubelet_state_release) struct kubelet_state s = {0};
	CLEANUP(notes_release) struct notes notes = {0};
	struct err err = {""};

	if (state_parse(&state_devices, (const char *)data, size, NULL, &s, &notes, &err) < 0) {
		fuzz_check_line(err.text);
		fuzz_require(!s.allocations.devices_known && s.n_registered == 0);
		return;
	}
	fuzz_check_notes(&notes);
	check_items(&s.allocations);
}

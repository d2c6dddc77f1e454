/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The kubelet's state files one by one, for `nrtd check`.
 */
#include "agent/node/check/check_report.h"
#include "common/machine.h"

/* What one file said. */
struct check_files {
	bool cpus, memory, devices; /* read and consistent */
};

/*
 * An item for each file below sysroot + kubelet_root: its state, format and age, and what to do when it
 * cannot be used. That is a warning here; whether it stops nrtd depends on who else reports the same. `machine`
 * may be NULL (then ids are not checked).
 */
void check_files(const char *sysroot, const char *kubelet_root, const struct machine *machine,
	struct check_report *report, struct check_files *ret);

/* Make the warnings about absent files notes, because the pod-resources API answers. */
void check_files_spare(struct check_report *report);

/* "absent", "denied", "broken" for the -errno of a failed read. */
const char *check_state_of(int r);

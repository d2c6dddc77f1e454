/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Finds which state files a kubelet does not accept after a restart with changed settings. A kubelet that finds such a
 * file does not start until the file is removed. Read in 1.34.4, 1.35.4, 1.36.3 and 1.37.2 (whose managers are those
 * of 1.38.0-alpha.0): pkg/kubelet/cm/cpumanager and memorymanager, state/state_checkpoint.go (restoreState) and policy_static.go
 * (validateState).
 */
#include "agent/state/settings_change.h"
#include "common/err.h"
#include "common/node_state.h"

/* Why the file must be removed, in the kubelet's words; NULL = the file stays valid. */
struct kubelet_restart {
	char *cpus;   /* cpu_manager_state */
	char *memory; /* memory_manager_state */
};

void kubelet_restart_release(struct kubelet_restart *r);

/*
 * `before`: the policies and the release of before. `node` has the changed settings, with its reserved CPUs derived from them, and the managers' state of before. A file that is valid
 * under the settings of before is taken to be valid as long as what the kubelet compares does not change. 0; -ENOTSUP with one
 * line if the outcome is unknown: another release than nrtd was compared with, a downgrade, unknown reserved CPUs.
 */
int kubelet_restart_check(const struct settings *before, const struct node_state *node,
	const struct settings_changes *changes, struct kubelet_restart *ret, struct err *err);

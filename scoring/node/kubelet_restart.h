/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Finds which state files a kubelet does not accept after a restart with changed settings. A kubelet that
 * finds such a file does not start until the file is removed. The rules are those of
 * pkg/kubelet/cm/cpumanager and memorymanager, state/state_checkpoint.go (restoreState) and policy_static.go
 * (validateState), in 1.34.4, 1.35.4, 1.36.3 and 1.37.2 (1.38.0-alpha.0 has the managers of 1.37.2).
 */
#include "common/err.h"
#include "common/node_state.h"
#include "scoring/node/settings_change.h"

/* Why the file must be removed, in the kubelet's words; NULL = the file stays valid. */
struct kubelet_restart {
	char *cpus;   /* cpu_manager_state */
	char *memory; /* memory_manager_state */
};

void kubelet_restart_release(struct kubelet_restart *r);

/*
 * `before`: the settings before the change, of which the policies and the release are read. `node`: the
 * changed settings, the reserved CPUs that follow from these settings, and the managers' state before the
 * change. Assumes that the state files are valid under `before`; so memory_manager_state stays valid unless
 * the policy or a reservation changes. 0; -ENOTSUP with one line if the outcome is unknown: a release that
 * nrtd was not compared with, a downgrade, unknown reserved CPUs.
 */
int kubelet_restart_check(const struct settings *before, const struct node_state *node,
	const struct settings_changes *changes, struct kubelet_restart *ret, struct err *err);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Changes a kubelet's settings as a user asks for: what if the kubelet were configured differently.
 */
#include "common/err.h"
#include "common/settings.h"

/*
 * Sets a policy option by its name: one of the CPU manager ("full-pcpus-only"), "prefer-closest-numa-nodes" or
 * "max-allowable-numa-nodes". 0; -EINVAL with one line.
 */
int settings_change_option(struct settings *s, const char *name, const char *value, struct err *err);

/*
 * Applies KEY=VALUE. KEY is a field of KubeletConfiguration (topologyManagerPolicy, topologyManagerScope, cpuManagerPolicy,
 * memoryManagerPolicy, reservedSystemCPUs), reservedCPUs (a number of CPUs, which the kubelet chooses as for kubeReserved),
 * kubelet (a release such as 1.38), or the name of a policy option. *ret_reserved is set if the reserved CPUs change. 0;
 * -EINVAL with one line.
 */
int settings_change(struct settings *s, const char *text, bool *ret_reserved, struct err *err);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Feature gates and configuration fields of the kubelets that nrtd was compared with: 1.34.4 to 1.38.0-alpha.0.
 * What they do to CPUs, memory, devices and NUMA nodes is modelled or does not matter; what others do is not known.
 * Depends on common/ only.
 */
#include <stdbool.h>

bool feature_gate_is_known(const char *name);

/* Of KubeletConfiguration itself, not of what is in its fields. */
bool config_field_is_known(const char *name);

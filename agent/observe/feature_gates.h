/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The kubelet's feature gates of the releases that nrtd was compared with. What they do to CPUs, memory, devices and
 * NUMA nodes is modelled or does not matter; of another one that is not known. Depends on common/ only.
 */
#include <stdbool.h>

bool feature_gate_is_known(const char *name);

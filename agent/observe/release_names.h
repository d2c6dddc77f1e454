/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Tells which feature gates and configuration fields each kubelet release has. The releases are 1.30 to the newest that nrtd was
 * compared with; a kubelet of another release counts as the nearest of them.
 */
#include <stdbool.h>

#define RELEASE_NAMES_OLDEST 30u
#define RELEASE_NAMES_ABSENT '-'

/*
 * The maturity of a feature gate in release 1.`minor`: a(lpha), b(eta), g(enerally available), d(eprecated) or l(ocked to its default);
 * a capital letter if the gate is on by default; RELEASE_NAMES_ABSENT if the release has no such gate.
 */
char feature_gate_maturity(const char *name, unsigned minor);

/* Whether any of the releases has the gate. */
bool feature_gate_is_known(const char *name);

/*
 * The first gate that is on in release 1.`minor` and needs a gate that is off, as "GATE>NEEDED": such a kubelet does not start. NULL =
 * none. `is_on` tells whether a gate is on.
 */
const char *feature_gate_unmet(
	unsigned minor, bool (*is_on)(const void *arg, const char *gate), const void *arg);

/* Whether release 1.`minor` has a field of KubeletConfiguration itself (not within one of its fields); whether any of the releases has. */
bool config_field_exists(const char *name, unsigned minor);
bool config_field_is_known(const char *name);

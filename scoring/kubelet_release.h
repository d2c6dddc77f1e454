/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Tells what a kubelet's release and feature gates mean for the verdicts on its node: which gates are on, and
 * what nrtd does not know about the release. Depends on common/ and scoring/kubelet_version.h only.
 */
#include <stdbool.h>

#include "common/err.h"
#include "common/settings.h"

/*
 * Feature gates that change verdicts. The two of resizing allow a container with exclusive CPUs or memory to
 * be resized in place.
 */
enum kubelet_gate {
	KUBELET_POD_LEVEL_MANAGERS,
	KUBELET_RESIZE_CPUS,
	KUBELET_RESIZE_MEMORY,
	KUBELET_POD_LEVEL_RESOURCES,
	KUBELET_GATE_COUNT
};

extern const char *const kubelet_gate_names[KUBELET_GATE_COUNT];

/*
 * Whether the gate is on: by itself, by AllAlpha or AllBeta, or by the release's default. A gate that the
 * release does not have is off. If the release is unknown, whether the gate is on in any release.
 */
bool kubelet_gate_on(const struct settings *settings, enum kubelet_gate gate);

/*
 * Whether a gate is on in "GATE=VALUE,..." (NULL = no gate is set): by itself, by AllAlpha or AllBeta, or by default. `maturity`: 'a'
 * alpha, 'b' beta, or another letter, a capital letter if the gate is on by default; '-' if the release does not have the gate.
 */
bool kubelet_gate_on_by_text(const char *gates, const char *gate, char maturity);

/* Whether the gate is on although it is off by default. */
bool kubelet_gate_is_set(const struct settings *settings, enum kubelet_gate gate);

/*
 * The feature gate or configuration field for which verdicts are unknown: the kubelet is newer than the newest
 * release that was compared, and nrtd does not know what the gate or field does. NULL = none.
 */
const char *kubelet_unknown_name(const struct settings *settings);

/* Whether kubelet_unknown_name() finds a name; then *ret says why verdicts are unknown. */
bool kubelet_explain_unknown(const struct settings *settings, struct err *ret);

/* If the kubelet is newer than the newest release that was compared, *ret says so in one sentence; else *ret is "". */
void kubelet_release_caution(struct kubelet_release release, struct err *ret);

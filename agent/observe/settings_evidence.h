/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Weighs what different sources say about the kubelet's settings. What the kubelet's process says is the strongest
 * evidence, then what its state files and its pod-resources API prove, then a file at a usual path, then the kubelet's
 * defaults.
 */
#include "agent/observe/allocations_files.h"
#include "agent/observe/pod_resources.h"
#include "agent/observe/settings_find.h"
#include "common/err.h"
#include "common/settings.h"

/* What proves settings. The pointers are borrowed. */
struct settings_proofs {
	const struct state_policies *policies;
	const struct allocations *allocations; /* from the state files, the API or both */
	bool memory_from_file;                 /* allocations->memory is the state file's */
	const struct pod_resources *api;       /* NULL = the API has not answered */
};

/*
 * Sets the settings that are unknown and proved. A weaker source that contradicts a proof does not describe this
 * kubelet: the proof counts, all that only such sources state becomes unknown, and a note names the setting and both
 * sources. If a stronger source contradicts a proof, the settings stay, and there is a note. evidence[] is by setting.
 */
void settings_weigh(struct settings *s, enum evidence evidence[SETTING_COUNT],
	const struct settings_proofs *proofs, struct notes *notes);

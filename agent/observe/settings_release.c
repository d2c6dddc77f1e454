/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the names in the kubelet's configuration with those of its release. */
#include "agent/observe/kubelet_config.h"

#include <string.h>

#include "agent/observe/release_names.h"
#include "common/cleanup.h"
#include "common/strbuf.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "scoring/kubelet_release.h"
#include "scoring/kubelet_version.h"

#define LISTED_MAX 8u /* names in one note */

/* Adds one note with all names, unless there are none. */
static void note_names(struct notes *notes, const char *before, const char *kind, const struct strv *names)
{
	CLEANUP(strbuf_release) struct strbuf list = STRBUF_INIT(2048);

	for (size_t i = 0; i < names->n_items && i < LISTED_MAX; i++)
		strbuf_addf(&list, "%s'%.100s'", i > 0 ? ", " : "", names->items[i]);
	if (names->n_items > LISTED_MAX)
		strbuf_addf(&list, " and %zu others", names->n_items - LISTED_MAX);
	if (names->n_items > 0)
		notes_add(notes, "%s the %s%s %s", before, kind, names->n_items > 1 ? "s" : "", list.text);
}

/* Whether the name of a feature gate is about what the kubelet's managers do. */
static bool is_about_managers(const char *gate)
{
	static const char *const words[] = {"CPU", "Cpu", "Memory", "HugePage", "Hugepage", "NUMA",
		"Topology", "Affinity", "Align", "Device", "DRA", "Resource", "Resiz", "Scaling", "Alloc",
		"Reserve", "Reservation", "QOS", "QoS", "Cgroup", "Pod", "Container"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strstr(gate, words[i]))
			return true;
	return false;
}

void settings_check_gates(struct settings *s, const struct doc *gates, const char *from, struct notes *notes)
{
	CLEANUP(strv_release) struct strv unknown = {0};
	char before[256];

	for (size_t i = 0; gates && i < gates->n_items; i++) {
		const struct doc *gate = &gates->items[i];
		bool on = false;

		if (feature_gate_is_known(gate->key))
			continue;
		strv_push(&unknown, gate->key);
		if (text_parse_bool(gate->text, &on) && on && !s->unknown_feature_gate &&
			is_about_managers(gate->key))
			text_set(&s->unknown_feature_gate, gate->key);
	}
	snprintf(before, sizeof(before), "%.180s: featureGates: no kubelet that nrtd knows has", from);
	strv_sort(&unknown);
	note_names(notes, before, "feature gate", &unknown);
}

/* The next gate of a text "GATE=VALUE,...", or its end. */
static const char *skip_gate(const char *at)
{
	at += strcspn(at, ",");
	return *at == ',' ? at + 1 : at;
}

/* The gates of the text "GATE=VALUE,..." that other releases have, but not this one. */
static void find_other_gates(const char *text, unsigned minor, struct strv *ret)
{
	for (const char *at = text_or_empty(text); *at; at = skip_gate(at)) {
		CLEANUP(freep) char *name = xstrndup(at, strcspn(at, "="));

		if (feature_gate_is_known(name) && feature_gate_maturity(name, minor) == RELEASE_NAMES_ABSENT)
			strv_push(ret, name);
	}
}

/*
 * Whether the kubelet has no memory manager although its policy is set. The gate MemoryManager can be turned off until 1.31; later
 * kubelets do not start with it. Of an unknown release (minor 0), only the gate itself counts.
 */
static bool has_no_memory_manager(const struct settings *s)
{
	static const char gate[] = "MemoryManager";
	CLEANUP(freep) char *gates = xasprintf(",%s,", text_or_empty(s->feature_gates_text));
	bool beta = feature_gate_maturity(gate, s->kubelet_minor) == 'B';

	if (s->kubelet_minor > 0 && !beta)
		return false;
	return strstr(gates, ",MemoryManager=false,") ||
	       (s->kubelet_minor > 0 && strstr(gates, ",AllBeta=false,") &&
		       !strstr(gates, ",MemoryManager=true,"));
}

/*
 * Why the release refuses "GATE=VALUE,...": it does not have a gate, or a gate is locked to another value. A new string; NULL = it refuses
 * no gate.
 */
static char *explain_refused_value(const char *text, unsigned minor)
{
	for (const char *at = text; *at; at = skip_gate(at)) {
		CLEANUP(freep) char *name = xstrndup(at, strcspn(at, "="));
		bool on = !strncmp(at + strlen(name), "=true", strlen("=true"));
		char maturity = feature_gate_maturity(name, minor);

		if (maturity == RELEASE_NAMES_ABSENT)
			return xasprintf("unrecognized feature gate: %.100s", name);
		if ((maturity == 'l' || maturity == 'L') && on != (maturity == 'L'))
			return xasprintf("cannot set feature gate %.100s to %s, feature is locked to %s",
				name, on ? "true" : "false", on ? "false" : "true");
	}
	return NULL;
}

/* Whether the text names a gate that no release of Kubernetes has. */
static bool has_unknown_gates(const char *text)
{
	for (const char *at = text; *at; at = skip_gate(at)) {
		CLEANUP(freep) char *name = xstrndup(at, strcspn(at, "="));

		if (!feature_gate_is_known(name))
			return true;
	}
	return false;
}

static bool is_gate_set_on(const void *arg, const char *gate)
{
	const struct settings *s = arg;

	return kubelet_gate_on_by_text(
		s->feature_gates_text, gate, feature_gate_maturity(gate, s->kubelet_minor));
}

/* Which gate is on although a gate that it depends on is off; a new string, or NULL. */
static char *explain_unmet_dependency(const struct settings *s)
{
	const char *unmet = feature_gate_unmet(s->kubelet_minor, is_gate_set_on, s), *needed;

	if (!unmet)
		return NULL;
	needed = strchr(unmet, '>') + 1;
	return xasprintf("%.*s is enabled, but depends on features that are disabled: [%s]",
		(int)(needed - 1 - unmet), unmet, needed);
}

/*
 * Why a stock kubelet of this release would refuse the feature gates; a new string, or NULL. NULL also for a release that nrtd was not
 * compared with, and for gates that no release has: such a kubelet is a distribution's, which accepts these gates and logs that they are
 * unrecognized.
 */
static char *explain_refused_gates(const struct settings *s)
{
	char *refused = NULL;

	if (!s->feature_gates_text || s->kubelet_minor < RELEASE_NAMES_OLDEST ||
		!kubelet_is_compared(settings_kubelet(s)) || has_unknown_gates(s->feature_gates_text))
		return NULL;
	refused = explain_refused_value(s->feature_gates_text, s->kubelet_minor);
	return refused ? refused : explain_unmet_dependency(s);
}

void settings_apply_release(struct settings *s, struct kubelet_release release, struct notes *notes)
{
	CLEANUP(strv_release) struct strv gates = {0};
	CLEANUP(strv_release) struct strv fields = {0};
	char text[KUBELET_RELEASE_TEXT_MAX], before[64];
	struct err caution;

	settings_set_kubelet(s, release);
	if (s->memory_manager == MEMORY_MANAGER_STATIC && has_no_memory_manager(s)) {
		s->memory_manager = MEMORY_MANAGER_NONE;
		notes_add(notes,
			"the kubelet's feature gate MemoryManager is off: memoryManagerPolicy has no effect");
	}
	kubelet_release_caution(release, &caution);
	if (caution.text[0])
		notes_add(notes, "%s", caution.text);
	free(s->refused[SETTING_FEATURE_GATES]);
	s->refused[SETTING_FEATURE_GATES] = explain_refused_gates(s);
	if (release.minor == 0)
		return;
	find_other_gates(s->feature_gates_text, release.minor, &gates);
	for (size_t i = 0; i < s->fields.n_items; i++)
		if (config_field_is_known(s->fields.items[i]) &&
			!config_field_exists(s->fields.items[i], release.minor))
			strv_push(&fields, s->fields.items[i]);
	kubelet_release_print(release, text);
	snprintf(before, sizeof(before), "kubelet %s does not have", text);
	note_names(notes, before, "feature gate", &gates);
	note_names(notes, before, "configuration field", &fields);
}

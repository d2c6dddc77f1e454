/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/kubelet_release.h"

#include <assert.h>
#include <string.h>

#include "scoring/kubelet_version.h"

#define OLDEST_RELEASE 30u

const char *const kubelet_gate_names[KUBELET_GATE_COUNT] = {
	[KUBELET_POD_LEVEL_MANAGERS] = "PodLevelResourceManagers",
	[KUBELET_RESIZE_CPUS] = "InPlacePodVerticalScalingExclusiveCPUs",
	[KUBELET_RESIZE_MEMORY] = "InPlacePodVerticalScalingExclusiveMemory",
	[KUBELET_POD_LEVEL_RESOURCES] = "PodLevelResources",
};

/*
 * Per release from 1.30 on: a(lpha), b(eta), in capitals if on by default, '-' if the release does not have the gate. A test
 * compares this with the table of all gates (agent/observe/release_names.c). Later releases count as the last one.
 */
static const char gate_maturity[KUBELET_GATE_COUNT][KUBELET_MINOR_COMPARED - OLDEST_RELEASE + 1] = {
	[KUBELET_POD_LEVEL_MANAGERS] = {'-', '-', '-', '-', '-', '-', 'a', 'b', 'b'},
	[KUBELET_RESIZE_CPUS] = {'-', '-', 'a', 'a', 'a', 'a', 'a', 'a', 'a'},
	[KUBELET_RESIZE_MEMORY] = {'-', '-', '-', '-', 'a', 'a', 'a', 'a', 'a'},
	[KUBELET_POD_LEVEL_RESOURCES] = {'-', '-', 'a', 'a', 'B', 'B', 'B', 'B', 'B'},
};

/* Whether "GATE=VALUE" is in the list, "GATE=VALUE,GATE=VALUE". */
static bool has_gate_value(const char *gates, const char *gate, const char *value)
{
	size_t n = strlen(gate), m = strlen(value);

	for (const char *at = gates ? strstr(gates, gate) : NULL; at; at = strstr(at + 1, gate))
		if ((at == gates || at[-1] == ',') && at[n] == '=' && !strncmp(at + n + 1, value, m) &&
			(at[n + 1 + m] == '\0' || at[n + 1 + m] == ','))
			return true;
	return false;
}

/* Whether the text sets the gate; then *ret is its value. */
static bool gate_value(const char *gates, const char *gate, bool *ret)
{
	*ret = has_gate_value(gates, gate, "true");
	return *ret || has_gate_value(gates, gate, "false");
}

bool kubelet_gate_on_by_text(const char *gates, const char *gate, char maturity)
{
	const char *all = NULL;
	bool on;

	if (maturity == '-')
		return false;
	if (maturity == 'a' || maturity == 'A')
		all = "AllAlpha";
	else if (maturity == 'b' || maturity == 'B')
		all = "AllBeta";
	if (gate_value(gates, gate, &on) || (all && gate_value(gates, all, &on)))
		return on;
	return maturity < 'a'; /* a capital: on by default */
}

static char maturity_of(enum kubelet_gate gate, unsigned minor)
{
	unsigned column = minor > OLDEST_RELEASE ? minor - OLDEST_RELEASE : 0;
	unsigned last = sizeof(gate_maturity[gate]) - 1;

	return gate_maturity[gate][column < last ? column : last];
}

bool kubelet_gate_on(const struct settings *settings, enum kubelet_gate gate)
{
	const char *gates = settings->feature_gates_text, *name = kubelet_gate_names[gate];
	unsigned minor = settings->kubelet_minor;
	bool on = false;

	if (minor > 0)
		return kubelet_gate_on_by_text(gates, name, maturity_of(gate, minor));
	for (minor = OLDEST_RELEASE; minor <= KUBELET_MINOR_COMPARED && !on; minor++)
		on = kubelet_gate_on_by_text(gates, name, maturity_of(gate, minor));
	return on;
}

bool kubelet_gate_is_set(const struct settings *settings, enum kubelet_gate gate)
{
	struct settings defaults = {.kubelet_minor = settings->kubelet_minor};

	return kubelet_gate_on(settings, gate) && !kubelet_gate_on(&defaults, gate);
}

const char *kubelet_unknown_name(const struct settings *settings)
{
	if (kubelet_is_compared(settings_kubelet(settings)))
		return NULL;
	if (settings->unknown_feature_gate)
		return settings->unknown_feature_gate;
	return has_gate_value(settings->feature_gates_text, "AllAlpha", "true") ? "AllAlpha"
										: settings->unknown_field;
}

bool kubelet_explain_unknown(const struct settings *settings, struct err *ret)
{
	const char *name = kubelet_unknown_name(settings);
	char release[KUBELET_RELEASE_TEXT_MAX];

	if (!name)
		return false;
	kubelet_release_print(settings_kubelet(settings), release);
	err_set(ret, 0, "nrtd does not know the %s '%.60s' of kubelet %s",
		name == settings->unknown_field ? "configuration field" : "feature gate", name, release);
	return true;
}

void kubelet_release_caution(struct kubelet_release release, struct err *ret)
{
	const struct kubelet_release compared = {KUBELET_MINOR_COMPARED, KUBELET_PRERELEASE_COMPARED};
	char text[KUBELET_RELEASE_TEXT_MAX], newest[KUBELET_RELEASE_TEXT_MAX];

	ret->text[0] = '\0';
	if (release.minor > 0 && release.minor < OLDEST_RELEASE) {
		kubelet_release_print(release, text);
		err_set(ret, 0, "kubelet %s is older than 1.%u, and may decide differently", text,
			OLDEST_RELEASE);
		return;
	}
	if (kubelet_is_compared(release))
		return;
	kubelet_release_print(release, text);
	kubelet_release_print(compared, newest);
	err_set(ret, 0,
		"kubelet %s is newer than %s, the newest that nrtd was compared with, and may decide differently",
		text, newest);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "common/settings.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/strbuf.h"
#include "common/text.h"

#define TEXT_MAX 65536

const char *const cpu_manager_policy_names[] = {"unknown", "none", "static"};
const char *const memory_manager_policy_names[] = {"unknown", "None", "Static"};
const char *const topology_manager_policy_names[] = {
	"unknown", "none", "best-effort", "restricted", "single-numa-node"};
const char *const topology_manager_scope_names[] = {"unknown", "container", "pod"};
const char *const numa_allocation_names[] = {"none", "most-allocated", "least-allocated"};
const char *const setting_names[] = {
	"cpuManagerPolicy",
	"cpuManagerPolicyOptions",
	"memoryManagerPolicy",
	"topologyManagerPolicy",
	"topologyManagerScope",
	"topologyManagerPolicyOptions",
	"reservedSystemCPUs",
	"kubeReserved",
	"systemReserved",
	"evictionHard",
	"reservedMemory",
	"featureGates",
};

static_assert(ARRAY_SIZE(setting_names) == SETTING_COUNT, "a name for each setting");

int settings_name_index(const char *const *names, size_t count, const char *text)
{
	for (size_t i = 1; i < count; i++)
		if (!strcmp(names[i], text))
			return (int)i;
	return -1;
}

bool *cpu_manager_option(struct cpu_manager_options *options, const char *name)
{
	const struct {
		const char *name;
		bool *value;
	} known[] = {
		{"full-pcpus-only", &options->full_pcpus_only},
		{"distribute-cpus-across-numa", &options->distribute_cpus_across_numa},
		{"align-by-socket", &options->align_by_socket},
		{"distribute-cpus-across-cores", &options->distribute_cpus_across_cores},
		{"strict-cpu-reservation", &options->strict_cpu_reservation},
		{"prefer-align-cpus-by-uncorecache", &options->prefer_align_cpus_by_uncorecache},
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(known[i].name, name))
			return known[i].value;
	return NULL;
}

/* ---- releases */

static const struct {
	const char *name;
	unsigned first;
} prereleases[] = {{"alpha.", KUBELET_ALPHA}, {"beta.", KUBELET_BETA}, {"rc.", KUBELET_RC}};

unsigned kubelet_prerelease_parse(const char *text, const char **end)
{
	*end = text;
	for (size_t i = 0; i < ARRAY_SIZE(prereleases); i++) {
		size_t len = strlen(prereleases[i].name);
		unsigned n = 0;

		if (strncmp(text, prereleases[i].name, len) != 0 || !isdigit((unsigned char)text[len]))
			continue;
		for (*end = text + len; isdigit((unsigned char)**end); ++*end)
			n = n < KUBELET_ALPHA ? n * 10 + (unsigned)(**end - '0') : n;
		if (n < KUBELET_ALPHA)
			return prereleases[i].first + n;
		*end = text;
	}
	return 0;
}

/* The pre-release in the rest of a version after "1.MINOR": ".0-beta.0", ".0-rc.1.12+b2a4f7d". */
static unsigned parse_rest(const char *rest)
{
	const char *text = rest + (*rest == '.'), *end;
	unsigned prerelease;

	text += strspn(text, "0123456789");
	if (*text != '-')
		return 0;
	prerelease = kubelet_prerelease_parse(text + 1, &end);
	if (prerelease > 0 && end[0] == '.' && isdigit((unsigned char)end[1]))
		prerelease++;
	return prerelease;
}

int kubelet_release_parse(const char *text, struct kubelet_release *ret, struct err *err)
{
	const char *minor = text + (*text == 'v');
	unsigned long n;
	char *end;

	if (strncmp(minor, "1.", 2) != 0 || minor[2] < '1' || minor[2] > '9')
		return err_set(err, -EINVAL, "'%.40s' is not a release of Kubernetes 1, like v1.35.4", text);
	n = strtoul(minor + 2, &end, 10);
	if (n > 999 || (*end && *end != '.' && *end != '+' && *end != '-'))
		return err_set(err, -EINVAL, "'%.40s' is not a release of Kubernetes 1, like v1.35.4", text);
	*ret = (struct kubelet_release){.minor = (unsigned)n, .prerelease = parse_rest(end)};
	return 0;
}

void kubelet_release_print(struct kubelet_release release, char ret[KUBELET_RELEASE_TEXT_MAX])
{
	size_t i = ARRAY_SIZE(prereleases);

	snprintf(ret, KUBELET_RELEASE_TEXT_MAX, release.minor > 0 ? "1.%u" : "", release.minor);
	while (i > 0 && release.prerelease < prereleases[i - 1].first)
		i--;
	if (i > 0)
		snprintf(ret, KUBELET_RELEASE_TEXT_MAX, "1.%u.0-%s%u", release.minor, prereleases[i - 1].name,
			release.prerelease - prereleases[i - 1].first);
}

/* ---- all settings */

void settings_init(struct settings *s)
{
	memset(s, 0, sizeof(*s));
	s->topology.max_numa_nodes = TOPOLOGY_MANAGER_DEFAULT_MAX_NUMA_NODES;
}

static void forget_memory_reservations(struct settings *s)
{
	for (size_t i = 0; i < s->n_memory_reservations; i++)
		free(s->memory_reservations[i].type);
	s->n_memory_reservations = 0;
}

void settings_release(struct settings *s)
{
	hwloc_bitmap_free(s->reserved_system_cpus);
	free(s->eviction_hard_memory);
	forget_memory_reservations(s);
	free(s->memory_reservations);
	free(s->cpu_options_text);
	free(s->topology_options_text);
	free(s->unknown_cpu_option);
	free(s->unknown_topology_option);
	free(s->unknown_feature_gate);
	free(s->unknown_field);
	strv_release(&s->fields);
	free(s->feature_gates_text);
	for (size_t i = 0; i < SETTING_COUNT; i++)
		free(s->from[i]);
	settings_init(s);
}

static void forget_options(char **text, char **unknown)
{
	freep(text);
	freep(unknown);
}

void settings_forget(struct settings *s, enum setting what)
{
	freep(&s->from[what]);
	switch (what) {
	case SETTING_CPU_MANAGER_POLICY:
		s->cpu_manager = CPU_MANAGER_UNKNOWN;
		break;
	case SETTING_CPU_MANAGER_POLICY_OPTIONS:
		s->cpu_options = (struct cpu_manager_options){0};
		forget_options(&s->cpu_options_text, &s->unknown_cpu_option);
		break;
	case SETTING_MEMORY_MANAGER_POLICY:
		s->memory_manager = MEMORY_MANAGER_UNKNOWN;
		break;
	case SETTING_TOPOLOGY_MANAGER_POLICY:
		s->topology.policy = TOPOLOGY_MANAGER_UNKNOWN;
		break;
	case SETTING_TOPOLOGY_MANAGER_SCOPE:
		s->topology.scope = TOPOLOGY_SCOPE_UNKNOWN;
		break;
	case SETTING_TOPOLOGY_MANAGER_POLICY_OPTIONS:
		s->topology.max_numa_nodes = TOPOLOGY_MANAGER_DEFAULT_MAX_NUMA_NODES;
		s->topology.prefer_closest_numa_nodes = false;
		forget_options(&s->topology_options_text, &s->unknown_topology_option);
		break;
	case SETTING_RESERVED_SYSTEM_CPUS:
		hwloc_bitmap_free(s->reserved_system_cpus);
		s->reserved_system_cpus = NULL;
		break;
	case SETTING_KUBE_RESERVED:
		s->kube_reserved_cpu = s->kube_reserved_memory = 0;
		s->reserved_cpu_known = false;
		break;
	case SETTING_SYSTEM_RESERVED:
		s->system_reserved_cpu = s->system_reserved_memory = 0;
		s->reserved_cpu_known = false;
		break;
	case SETTING_EVICTION_HARD:
		freep(&s->eviction_hard_memory);
		break;
	case SETTING_RESERVED_MEMORY:
		forget_memory_reservations(s);
		break;
	case SETTING_FEATURE_GATES:
		forget_options(&s->feature_gates_text, &s->unknown_feature_gate);
		break;
	case SETTING_COUNT:
	default:
		break;
	}
}

void settings_set_kubelet(struct settings *s, struct kubelet_release release)
{
	s->kubelet_minor = release.minor;
	s->kubelet_prerelease = release.prerelease;
}

struct kubelet_release settings_kubelet(const struct settings *s)
{
	return (struct kubelet_release){.minor = s->kubelet_minor, .prerelease = s->kubelet_prerelease};
}

/* ---- as text */

static void add_amount(struct strbuf *out, const char *name, qty_t nano, enum quantity_format format)
{
	struct quantity q = {.nano = nano, .format = format};
	char text[QUANTITY_TEXT_MAX];

	quantity_print(q, text);
	strbuf_addf(out, "%s%s=%s", out->len > 0 ? "," : "", name, text);
}

/* "0:memory=1Gi;1:memory=512Mi", the syntax of the kubelet's --reserved-memory. */
static void add_memory_reservations(struct strbuf *out, const struct settings *s)
{
	for (size_t i = 0; i < s->n_memory_reservations; i++) {
		const struct memory_reservation *m = &s->memory_reservations[i];
		struct quantity q = {.nano = m->bytes, .format = QUANTITY_BINARY_SI};
		char text[QUANTITY_TEXT_MAX];

		quantity_print(q, text);
		strbuf_addf(out, "%s%u:%s=%s", i > 0 ? ";" : "", m->node, m->type, text);
	}
}

static void add_cpus(struct strbuf *out, hwloc_const_bitmap_t set)
{
	CLEANUP(freep) char *text = set ? cpuset_print(set) : NULL;

	if (text)
		strbuf_addstr(out, text);
}

char *settings_text(const struct settings *s, enum setting what)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(TEXT_MAX);
	const char *text = "";

	switch (what) {
	case SETTING_CPU_MANAGER_POLICY:
		text = cpu_manager_policy_names[s->cpu_manager];
		break;
	case SETTING_CPU_MANAGER_POLICY_OPTIONS:
		text = s->cpu_options_text;
		break;
	case SETTING_MEMORY_MANAGER_POLICY:
		text = memory_manager_policy_names[s->memory_manager];
		break;
	case SETTING_TOPOLOGY_MANAGER_POLICY:
		text = topology_manager_policy_names[s->topology.policy];
		break;
	case SETTING_TOPOLOGY_MANAGER_SCOPE:
		text = topology_manager_scope_names[s->topology.scope];
		break;
	case SETTING_TOPOLOGY_MANAGER_POLICY_OPTIONS:
		text = s->topology_options_text;
		break;
	case SETTING_RESERVED_SYSTEM_CPUS:
		add_cpus(&out, s->reserved_system_cpus);
		break;
	case SETTING_KUBE_RESERVED:
		add_amount(&out, "cpu", s->kube_reserved_cpu, QUANTITY_DECIMAL_SI);
		add_amount(&out, "memory", s->kube_reserved_memory, QUANTITY_BINARY_SI);
		break;
	case SETTING_SYSTEM_RESERVED:
		add_amount(&out, "cpu", s->system_reserved_cpu, QUANTITY_DECIMAL_SI);
		add_amount(&out, "memory", s->system_reserved_memory, QUANTITY_BINARY_SI);
		break;
	case SETTING_EVICTION_HARD:
		strbuf_addf(
			&out, "memory.available=%s", s->eviction_hard_memory ? s->eviction_hard_memory : "");
		break;
	case SETTING_RESERVED_MEMORY:
		add_memory_reservations(&out, s);
		break;
	case SETTING_FEATURE_GATES:
		text = s->feature_gates_text;
		break;
	case SETTING_COUNT:
	default:
		break;
	}
	strbuf_addstr(&out, text_or_empty(text));
	return strbuf_detach(&out);
}

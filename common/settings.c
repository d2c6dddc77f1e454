/* SPDX-License-Identifier: Apache-2.0 */
#include "common/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/xalloc.h"

const char *const cpu_manager_policy_names[] = {"unknown", "none", "static"};
const char *const memory_manager_policy_names[] = {"unknown", "None", "Static"};
const char *const topology_manager_policy_names[] = {
	"unknown", "none", "best-effort", "restricted", "single-numa-node"};
const char *const topology_manager_scope_names[] = {"unknown", "container", "pod"};
const char *const numa_allocation_names[] = {"none", "most-allocated", "least-allocated"};

int settings_name_index(const char *const *names, size_t count, const char *text)
{
	for (size_t i = 1; i < count; i++)
		if (!strcmp(names[i], text))
			return (int)i;
	return -1;
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
		/* The first of `prereleases` begins at KUBELET_ALPHA, and each has as many numbers. */
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
	/* rc.1.12: 12 commits after rc.1, so newer */
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
	while (i > 0 && release.prerelease < prereleases[i - 1].first) /* ascending; 0 is below all */
		i--;
	if (i > 0)
		snprintf(ret, KUBELET_RELEASE_TEXT_MAX, "1.%u.0-%s%u", release.minor, prereleases[i - 1].name,
			release.prerelease - prereleases[i - 1].first);
}

/* ---- all settings */

/* The texts that struct settings owns. */
static const size_t owned_texts[] = {
	offsetof(struct settings, eviction_hard_memory),
	offsetof(struct settings, cpu_options_text),
	offsetof(struct settings, topology_options_text),
	offsetof(struct settings, feature_gates_text),
	offsetof(struct settings, unknown_cpu_option),
	offsetof(struct settings, unknown_topology_option),
	offsetof(struct settings, unknown_feature_gate),
	offsetof(struct settings, unknown_field),
};

static char **owned_text(struct settings *s, size_t i)
{
	return (void *)((char *)s + owned_texts[i]);
}

static void copy_text(char **text)
{
	if (*text)
		*text = xstrdup(*text);
}

void settings_init(struct settings *s)
{
	memset(s, 0, sizeof(*s));
#define POLICY_OPTION_DEFAULT(type, member, name, fallback, ...) s->topology.member = (type)(fallback);
	TOPOLOGY_MANAGER_OPTIONS(POLICY_OPTION_DEFAULT)
#undef POLICY_OPTION_DEFAULT
}

void settings_remove_reservations(struct settings *s)
{
	for (size_t i = 0; i < s->n_memory_reservations; i++)
		free(s->memory_reservations[i].type);
	s->n_memory_reservations = 0;
}

void settings_release(struct settings *s)
{
	hwloc_bitmap_free(s->reserved_system_cpus);
	settings_remove_reservations(s);
	free(s->memory_reservations);
	strv_release(&s->fields);
	for (size_t i = 0; i < ARRAY_SIZE(owned_texts); i++)
		free(*owned_text(s, i));
	for (size_t i = 0; i < SETTING_COUNT; i++)
		free(s->from[i]);
	for (size_t i = 0; i < SETTING_COUNT; i++)
		free(s->refused[i]);
	settings_init(s);
}

void settings_copy(const struct settings *from, struct settings *to)
{
	*to = *from;
	to->reserved_system_cpus = from->reserved_system_cpus ? cpuset_dup(from->reserved_system_cpus) : NULL;
	to->memory_reservations_size = from->n_memory_reservations;
	to->memory_reservations = xcalloc(from->n_memory_reservations + 1, sizeof(*to->memory_reservations));
	for (size_t i = 0; i < from->n_memory_reservations; i++) {
		to->memory_reservations[i] = from->memory_reservations[i];
		copy_text(&to->memory_reservations[i].type);
	}
	to->fields = (struct strv){0};
	for (size_t i = 0; i < from->fields.n_items; i++)
		strv_push(&to->fields, from->fields.items[i]);
	for (size_t i = 0; i < ARRAY_SIZE(owned_texts); i++)
		copy_text(owned_text(to, i));
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		copy_text(&to->from[i]);
		copy_text(&to->refused[i]);
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

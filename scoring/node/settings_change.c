/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/node/settings_change.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/guess.h"
#include "common/machine.h"
#include "common/resource.h"
#include "common/settings_table.h"
#include "common/strbuf.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/kubelet_start.h"
#include "scoring/kubelet_version.h"
#include "scoring/node/node_derive.h"

/* A number from 0 to `max`. */
static bool parse_setting_number(const char *text, unsigned long max, unsigned long *ret)
{
	char *end;

	errno = 0;
	*ret = strtoul(text, &end, 10);
	return !errno && !*end && *text >= '0' && *text <= '9' && *ret <= max;
}

static int refuse_unknown_option(const char *name, struct err *err)
{
	struct guess guess = {0};

	for (size_t i = 0; i < POLICY_OPTION_COUNT; i++)
		guess_name(name, strlen(name), policy_options[i].name, &guess);
	for (size_t i = 0; i < SETTING_COUNT; i++)
		guess_name(name, strlen(name), settings_table[i].name, &guess);
	return err_set(err, -EINVAL, "unknown policy option '%.60s'%s%s%s", name,
		guess.name ? "; did you mean " : "", text_or_empty(guess.name), guess.name ? "?" : "");
}

/* `o`: the option of this name, NULL if there is none that may be set. */
static int change_option(struct settings *s, const struct policy_option *o, const char *name,
	const char *value, struct err *err)
{
	if (!o)
		return refuse_unknown_option(name, err);
	freep(setting_value(s, o->setting)); /* the text of all options, which is outdated after the change */
	return policy_option_parse(o, value, s, err);
}

int settings_change_option(struct settings *s, const char *name, const char *value, struct err *err)
{
	const struct policy_option *o = policy_option_find(name);

	return change_option(s, o && policy_option_is_released(o) ? o : NULL, name, value, err);
}

/* Copies the text up to the separator and moves *at past the separator. "" at the end of the text. The
 * caller frees the copy. */
static char *next_part(const char **at, char separator)
{
	const char *begin = *at;
	size_t len = strcspn(begin, (const char[]){separator, '\0'});

	*at = begin + len;
	if (**at == separator)
		++*at;
	return xstrndup(begin, len);
}

/* "memory=1Gi" */
static int change_reservation(struct settings *s, unsigned node, const char *text, struct err *err)
{
	const char *equals = strchr(text, '=');
	CLEANUP(freep) char *type = equals ? xstrndup(text, (size_t)(equals - text)) : NULL;
	int r;

	if (!type || (strcmp(type, "memory") != 0 && !resource_name_is_hugepages(type)))
		return err_set(err, -EINVAL,
			"reservedMemory: '%.60s' is not an amount of memory or hugepages such as memory=1Gi",
			text);
	for (size_t i = 0; i < s->n_memory_reservations; i++)
		if (s->memory_reservations[i].node == node && !strcmp(s->memory_reservations[i].type, type))
			return err_set(
				err, -EINVAL, "reservedMemory: %.60s of node %u appears twice", type, node);
	r = settings_add_reservation(s, node, type, equals + 1, err);
	return r < 0 ? err_wrap(err, r, "reservedMemory") : 0;
}

/* "0:memory=1Gi,hugepages-1Gi=2Gi" */
static int change_reservations(struct settings *s, const char *text, struct err *err)
{
	const char *at = text;
	CLEANUP(freep) char *id = next_part(&at, ':');
	unsigned long node;
	int r = 0;

	if (!*at || !parse_setting_number(id, MACHINE_MAX_NODES - 1, &node))
		return err_set(err, -EINVAL, "reservedMemory: '%.60s' is not NODE:TYPE=AMOUNT,...", text);
	while (r == 0 && *at) {
		CLEANUP(freep) char *reservation = next_part(&at, ',');

		r = change_reservation(s, (unsigned)node, reservation, err);
	}
	return r;
}

/* As the kubelet's flag --reserved-memory: "0:memory=1Gi;1:memory=2Gi". */
static int set_reserved_memory(struct settings *s, const char *value, struct err *err)
{
	int r = 0;

	settings_remove_reservations(s);
	text_set(&s->from[SETTING_RESERVED_MEMORY], "reservedMemory");
	while (r == 0 && *value) {
		CLEANUP(freep) char *node = next_part(&value, ';');

		r = change_reservations(s, node, err);
	}
	return r;
}

static int set_reserved_list(struct settings *s, const char *value, struct err *err)
{
	hwloc_bitmap_t set = NULL;
	int r = cpuset_parse(value, &set, err);

	if (r < 0)
		return err_wrap(err, -EINVAL, "reservedSystemCPUs");
	hwloc_bitmap_free(s->reserved_system_cpus);
	s->reserved_system_cpus = set;
	text_set(&s->from[SETTING_RESERVED_SYSTEM_CPUS], "reservedSystemCPUs");
	return 0;
}

/*
 * reservedCPUs=N is a key of nrtd alone: the kubelet chooses N CPUs, as for kubeReserved. An unknown amount of reserved memory counts as 0
 * before and after the change.
 */
static int set_reserved_count(struct settings *s, const char *value, struct err *err)
{
	unsigned long n;

	if (!parse_setting_number(value, MACHINE_MAX_CPUS, &n))
		return err_set(err, -EINVAL, "reservedCPUs: '%.60s' is not a number of CPUs", value);
	hwloc_bitmap_free(s->reserved_system_cpus);
	s->reserved_system_cpus = NULL;
	free(s->from[SETTING_RESERVED_SYSTEM_CPUS]);
	s->from[SETTING_RESERVED_SYSTEM_CPUS] = NULL;
	s->reserved_known = true;
	s->kube_reserved_cpu = (qty_t)n * QTY_UNIT;
	s->system_reserved_cpu = 0;
	text_set(&s->from[SETTING_KUBE_RESERVED], "reservedCPUs");
	return 0;
}

static int set_release(struct settings *s, const char *value, struct err *err)
{
	struct kubelet_release release;
	int r = kubelet_release_parse(value, &release, err);

	if (r < 0)
		return r;
	if (release.minor < KUBELET_MINOR_OLDEST || release.minor > KUBELET_MINOR_COMPARED)
		return err_set(err, -EINVAL,
			"kubelet=%.60s: nrtd knows the rules of the kubelets 1.%u to 1.%u", value,
			KUBELET_MINOR_OLDEST, KUBELET_MINOR_COMPARED);
	settings_set_kubelet(s, release);
	return 0;
}

bool settings_change_is_proposed(const char *text)
{
	CLEANUP(freep) char *key = xstrndup(text, strcspn(text, "="));
	const struct policy_option *o = policy_option_find(key);
	struct settings s = {0};

	return o && !policy_option_is_released(o) && text[strlen(key)] == '=' &&
	       policy_option_parse(o, text + strlen(key) + 1, &s, NULL) == 0 &&
	       policy_option_value(o, &s) != o->fallback;
}

/* A key that is not a setting's name. */
static int change_other_key(
	struct settings *s, const char *key, const char *value, struct settings_changes *ret, struct err *err)
{
	if (!strcmp(key, "kubelet"))
		return set_release(s, value, err);
	if (!strcmp(key, "reservedCPUs")) {
		ret->reserved_cpus = true;
		return set_reserved_count(s, value, err);
	}
	return change_option(s, policy_option_find(key), key, value, err);
}

int settings_change(struct settings *s, const char *text, struct settings_changes *ret, struct err *err)
{
	const char *equals = strchr(text, '=');
	CLEANUP(freep) char *key = equals ? xstrndup(text, (size_t)(equals - text)) : NULL;
	enum memory_manager_policy before = s->memory_manager;
	enum setting_kind kind;
	int what, r;

	if (!equals)
		return err_set(err, -EINVAL, "'%.60s' is not KEY=VALUE", text);
	what = setting_find(key);
	if (what < 0)
		return change_other_key(s, key, equals + 1, ret, err);
	kind = settings_table[what].kind;
	/* One setting is of each of the next two kinds: reservedSystemCPUs and reservedMemory. */
	if (kind == SETTING_IS_CPUS) {
		ret->reserved_cpus = true;
		return set_reserved_list(s, equals + 1, err);
	}
	if (kind == SETTING_IS_RESERVATIONS) {
		ret->reserved_memory = true;
		return set_reserved_memory(s, equals + 1, err);
	}
	if (kind != SETTING_IS_CHOICE)
		return err_set(err, -EINVAL, "%s cannot be changed%s", key,
			kind == SETTING_IS_OPTIONS ? " as a whole, only single options of it" : "");
	r = setting_parse_choice(s, (enum setting)what, equals + 1, err);
	ret->memory_manager = ret->memory_manager || s->memory_manager != before;
	return r < 0 ? err_wrap(err, r, "%s", key) : 0;
}

/* ---- reserved memory */

int settings_change_memory(struct node_state *node, const struct settings_changes *changes, struct err *err)
{
	struct settings *s = &node->settings;
	qty_t eviction = node_derive_eviction_threshold(node);
	qty_t sum = kubelet_start_reserved_memory(s); /* of reservedMemory */

	if (s->memory_manager != MEMORY_MANAGER_STATIC ||
		(!changes->memory_manager && !changes->reserved_memory))
		return 0;
	if (!s->eviction_hard_memory)
		return err_set(err, -EINVAL,
			"whether the kubelet would start with the Static memory manager is not known: evictionHard is not");
	/* Otherwise no systemReserved matches, and node_start_check() says that the kubelet would not start. */
	if (changes->reserved_memory && sum >= eviction && sum > 0)
		s->system_reserved_memory = sum - eviction - s->kube_reserved_memory;
	/* A kubelet whose memory manager had another policy needs no reservedMemory: then the node has none. */
	if (!s->from[SETTING_RESERVED_MEMORY])
		text_set(&s->from[SETTING_RESERVED_MEMORY], "memoryManagerPolicy");
	return 0;
}

struct kubelet_release node_kubelet_release(const struct doc *node)
{
	const struct doc *info = doc_get(doc_get(node, "status"), "nodeInfo");
	const char *version = doc_string(doc_get(info, "kubeletVersion"));
	struct kubelet_release release = {0};

	if (version)
		kubelet_release_parse(version, &release, NULL); /* else it stays unknown */
	return release;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "common/settings_table.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "common/xalloc.h"

#define TEXT_MAX   65536
#define NAMES_MAX  256                           /* bytes of the names in an error */
#define AMOUNT_MAX ((qty_t)INT64_MAX * QTY_UNIT) /* as Quantity.Value() saturates */

#define AT(member)       offsetof(struct settings, member)
#define CHOICE_OF(known) .kind = SETTING_IS_CHOICE, .names = known, .n_names = ARRAY_SIZE(known)

/* clang-format off */
const struct setting_row settings_table[] = {
	[SETTING_CPU_MANAGER_POLICY] = {.name = "cpuManagerPolicy", .flag = "cpu-manager-policy",
		.fact = "cpuManagerPolicy", .decides = "whether containers get exclusive CPUs",
		CHOICE_OF(cpu_manager_policy_names), .fallback = CPU_MANAGER_NONE,
		.manager = MANAGER_CPU, .offset = AT(cpu_manager),
		.evidence = PROVEN_BY_CPU_STATE | PROVEN_BY_POD_RESOURCES},
	[SETTING_CPU_MANAGER_POLICY_OPTIONS] = {.name = "cpuManagerPolicyOptions", .flag = "cpu-manager-policy-options",
		.fact = "cpuManagerPolicyOptions", .decides = "which CPUs the static policy chooses and which requests it rejects",
		.kind = SETTING_IS_OPTIONS,
		.manager = MANAGER_CPU, .offset = AT(cpu_options_text), .second = AT(unknown_cpu_option)},
	[SETTING_MEMORY_MANAGER_POLICY] = {.name = "memoryManagerPolicy", .flag = "memory-manager-policy",
		.fact = "memoryManagerPolicy", .decides = "whether memory and hugepages are given away per NUMA node",
		CHOICE_OF(memory_manager_policy_names), .fallback = MEMORY_MANAGER_NONE,
		.manager = MANAGER_MEMORY, .offset = AT(memory_manager), .evidence = PROVEN_BY_MEMORY_STATE | PROVEN_BY_POD_RESOURCES},
	[SETTING_TOPOLOGY_MANAGER_POLICY] = {.name = "topologyManagerPolicy", .flag = "topology-manager-policy",
		.fact = "topologyManagerPolicy", .decides = "whether resources are aligned, and which pods are rejected if they are not",
		CHOICE_OF(topology_manager_policy_names), .fallback = TOPOLOGY_MANAGER_NONE,
		.manager = MANAGER_TOPOLOGY, .offset = AT(topology.policy)},
	[SETTING_TOPOLOGY_MANAGER_SCOPE] = {.name = "topologyManagerScope", .flag = "topology-manager-scope",
		.fact = "topologyManagerScope", .decides = "whether each container is aligned, or all containers of a pod together",
		CHOICE_OF(topology_manager_scope_names), .fallback = TOPOLOGY_SCOPE_CONTAINER,
		.manager = MANAGER_TOPOLOGY, .offset = AT(topology.scope)},
	[SETTING_TOPOLOGY_MANAGER_POLICY_OPTIONS] = {.name = "topologyManagerPolicyOptions", .flag = "topology-manager-policy-options",
		.fact = "topologyManagerPolicyOptions", .decides = "which NUMA nodes the Topology Manager prefers and how many a machine may have",
		.kind = SETTING_IS_OPTIONS,
		.manager = MANAGER_TOPOLOGY, .offset = AT(topology_options_text), .second = AT(unknown_topology_option)},
	[SETTING_RESERVED_SYSTEM_CPUS] = {.name = "reservedSystemCPUs", .flag = "reserved-cpus",
		.fact = "reservedCPUs", .decides = "the CPUs that no container gets exclusively",
		.kind = SETTING_IS_CPUS, .offset = AT(reserved_system_cpus), .evidence = PROVEN_BY_CPU_STATE | PROVEN_BY_POD_RESOURCES},
	[SETTING_KUBE_RESERVED] = {.name = "kubeReserved", .flag = "kube-reserved",
		.fact = "kubeReserved+systemReserved", .decides = "how many CPUs are reserved without reservedSystemCPUs, and memory that is not allocatable",
		.kind = SETTING_IS_AMOUNTS, .offset = AT(kube_reserved_cpu), .second = AT(kube_reserved_memory)},
	[SETTING_SYSTEM_RESERVED] = {.name = "systemReserved", .flag = "system-reserved",
		.decides = "the same as kubeReserved, to which it is added",
		.kind = SETTING_IS_AMOUNTS, .offset = AT(system_reserved_cpu), .second = AT(system_reserved_memory)},
	[SETTING_EVICTION_HARD] = {.name = "evictionHard", .flag = "eviction-hard",
		.fact = "evictionHardMemory", .decides = "memory.available: memory that is not allocatable",
		.kind = SETTING_IS_THRESHOLDS, .offset = AT(eviction_hard_memory)},
	[SETTING_RESERVED_MEMORY] = {.name = "reservedMemory", .flag = "reserved-memory",
		.fact = "reservedMemory", .decides = "the memory and hugepages per NUMA node that no container gets under memoryManagerPolicy Static",
		.kind = SETTING_IS_RESERVATIONS, .offset = AT(memory_reservations), .evidence = PROVEN_BY_MEMORY_STATE},
	[SETTING_FEATURE_GATES] = {.name = "featureGates", .flag = "feature-gates",
		.fact = "featureGates", .decides = "which rules of the kubelet's release hold",
		.kind = SETTING_IS_GATES, .offset = AT(feature_gates_text)},
};
/* clang-format on */

static_assert(ARRAY_SIZE(settings_table) == SETTING_COUNT, "a row for each setting");
static_assert(sizeof(enum cpu_manager_policy) == sizeof(unsigned), "all choices have the size of a number");

#define OPTION_ROW(                                                                                   \
	what, parent, type, field, text, preset, alpha_minor, beta_minor, stable_minor, purpose, ...) \
	{.setting = (what),                                                                           \
		.name = (text),                                                                       \
		.offset = AT(parent.field),                                                           \
		.size = sizeof(type),                                                                 \
		.fallback = (preset),                                                                 \
		.alpha = (alpha_minor),                                                               \
		.beta = (beta_minor),                                                                 \
		.stable = (stable_minor),                                                             \
		.decides = (purpose),                                                                 \
		__VA_ARGS__},
#define CPU_OPTION_ROW(...)      OPTION_ROW(SETTING_CPU_MANAGER_POLICY_OPTIONS, cpu_options, __VA_ARGS__)
#define TOPOLOGY_OPTION_ROW(...) OPTION_ROW(SETTING_TOPOLOGY_MANAGER_POLICY_OPTIONS, topology, __VA_ARGS__)

const struct policy_option policy_options[] = {
	CPU_MANAGER_OPTIONS(CPU_OPTION_ROW) TOPOLOGY_MANAGER_OPTIONS(TOPOLOGY_OPTION_ROW)};

/* ---- names */

/* The position of `text` in `names` from `first` on, or -EINVAL. */
static int parse_name(
	const char *const *names, size_t first, size_t n_names, const char *text, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf known = STRBUF_INIT(NAMES_MAX);

	for (size_t i = first; i < n_names; i++) {
		if (!strcmp(names[i], text))
			return (int)i;
		strbuf_addf(&known, "%s%s", i > first ? ", " : "", names[i]);
	}
	return err_set(err, -EINVAL, "'%.100s' is not one of: %s", text, known.text);
}

/* ---- options of policies */

const struct policy_option *policy_option_find(const char *name)
{
	for (size_t i = 0; i < POLICY_OPTION_COUNT; i++)
		if (!strcmp(policy_options[i].name, name))
			return &policy_options[i];
	return NULL;
}

const struct policy_option *policy_option_of(enum setting what, const char *name)
{
	const struct policy_option *o = policy_option_find(name);

	return o && o->setting == what && policy_option_is_released(o) ? o : NULL;
}

unsigned policy_option_value(const struct policy_option *o, const struct settings *s)
{
	const char *at = (const char *)s + o->offset;
	unsigned value;

	if (o->kind == OPTION_IS_BOOL)
		return *(const bool *)(const void *)at;
	assert(o->size == sizeof(value));
	memcpy(&value, at, sizeof(value));
	return value;
}

void policy_option_set(const struct policy_option *o, unsigned value, struct settings *s)
{
	char *at = (char *)s + o->offset;

	if (o->kind == OPTION_IS_BOOL)
		*(bool *)(void *)at = value > 0;
	else
		memcpy(at, &value, o->size);
}

int policy_option_parse(const struct policy_option *o, const char *text, struct settings *s, struct err *err)
{
	unsigned long n = 0;
	char *end = NULL;
	bool on = false;
	int r;

	switch (o->kind) {
	case OPTION_IS_BOOL:
		if (!text_parse_bool(text, &on))
			return err_set(err, -EINVAL, "%s: '%.100s' is not a boolean", o->name, text);
		n = on;
		break;
	case OPTION_IS_NUMBER:
		errno = 0;
		if (isdigit((unsigned char)*text))
			n = strtoul(text, &end, 10);
		if (!end || *end || errno || n > INT_MAX)
			return err_set(err, -EINVAL, "%s: '%.100s' is not a number", o->name, text);
		break;
	case OPTION_IS_CHOICE:
	default:
		r = parse_name(o->names, 0, o->n_names, text, err);
		if (r < 0)
			return err_wrap(err, r, "%s", o->name);
		n = (unsigned long)r;
		break;
	}
	policy_option_set(o, (unsigned)n, s);
	return 0;
}

void policy_options_parse(enum setting what, const char *text, struct settings *s)
{
	for (const char *next; *text; text = next) {
		size_t len = strcspn(text, ",");
		CLEANUP(freep) char *pair = xstrndup(text, len);
		char *equals = strchr(pair, '=');
		const struct policy_option *o;

		next = text[len] ? text + len + 1 : text + len;
		if (!equals)
			continue;
		*equals = '\0';
		o = policy_option_of(what, pair);
		if (o)
			policy_option_parse(o, equals + 1, s, NULL);
	}
}

/* The released option whose name follows `after` in the order of names; NULL = there is no more. */
static const struct policy_option *next_option(enum setting what, const char *after)
{
	const struct policy_option *next = NULL;

	for (size_t i = 0; i < POLICY_OPTION_COUNT; i++) {
		const struct policy_option *o = &policy_options[i];

		if (o->setting == what && policy_option_is_released(o) && strcmp(o->name, after) > 0 &&
			(!next || strcmp(o->name, next->name) < 0))
			next = o;
	}
	return next;
}

void policy_options_print(enum setting what, const struct settings *s, struct strbuf *out)
{
	const struct policy_option *o = next_option(what, "");

	for (; o; o = next_option(what, o->name)) {
		unsigned value = policy_option_value(o, s);

		if (value == o->fallback)
			continue;
		strbuf_addf(out, "%s%s=", out->len > 0 ? "," : "", o->name);
		if (o->kind == OPTION_IS_NUMBER)
			strbuf_addf(out, "%u", value);
		else if (o->kind == OPTION_IS_BOOL)
			strbuf_addstr(out, value ? "true" : "false");
		else
			strbuf_addstr(out, o->names[value]);
	}
}

/* ---- settings */

int setting_find(const char *name)
{
	for (int i = 0; i < SETTING_COUNT; i++)
		if (!strcmp(settings_table[i].name, name))
			return i;
	return -1;
}

void *setting_value(struct settings *s, enum setting what)
{
	return (char *)s + settings_table[what].offset;
}

void *setting_second(struct settings *s, enum setting what)
{
	return (char *)s + settings_table[what].second;
}

static const void *member_at(const struct settings *s, size_t offset)
{
	return (const char *)s + offset;
}

unsigned setting_choice(const struct settings *s, enum setting what)
{
	unsigned value;

	assert(settings_table[what].kind == SETTING_IS_CHOICE);
	memcpy(&value, member_at(s, settings_table[what].offset), sizeof(value));
	return value;
}

void setting_set_choice(struct settings *s, enum setting what, unsigned value)
{
	assert(settings_table[what].kind == SETTING_IS_CHOICE);
	memcpy(setting_value(s, what), &value, sizeof(value));
}

const char *setting_options_text(const struct settings *s, enum setting what)
{
	assert(settings_table[what].kind == SETTING_IS_OPTIONS);
	return *(char *const *)member_at(s, settings_table[what].offset);
}

void setting_forget(struct settings *s, enum setting what)
{
	freep(&s->from[what]);
	freep(&s->refused[what]);
	switch (settings_table[what].kind) {
	case SETTING_IS_CHOICE:
		setting_set_choice(s, what, 0);
		break;
	case SETTING_IS_OPTIONS:
		for (size_t i = 0; i < POLICY_OPTION_COUNT; i++)
			if (policy_options[i].setting == what)
				policy_option_set(&policy_options[i], policy_options[i].fallback, s);
		freep(setting_value(s, what));
		freep(setting_second(s, what));
		break;
	case SETTING_IS_CPUS:
		hwloc_bitmap_free(s->reserved_system_cpus);
		s->reserved_system_cpus = NULL;
		break;
	case SETTING_IS_AMOUNTS:
		*(qty_t *)setting_value(s, what) = *(qty_t *)setting_second(s, what) = 0;
		s->reserved_known = false;
		break;
	case SETTING_IS_THRESHOLDS:
		freep(setting_value(s, what));
		break;
	case SETTING_IS_RESERVATIONS:
		settings_remove_reservations(s);
		break;
	case SETTING_IS_GATES:
		freep(setting_value(s, what));
		freep(&s->unknown_feature_gate);
		break;
	case SETTING_KIND_COUNT:
	default:
		break;
	}
}

int setting_parse_choice(struct settings *s, enum setting what, const char *text, struct err *err)
{
	const struct setting_row *row = &settings_table[what];
	int found = parse_name(row->names, 1, row->n_names, text, err);

	if (found >= 0)
		setting_set_choice(s, what, (unsigned)found);
	return found < 0 ? found : 0;
}

int setting_parse_amount(const char *name, const char *text, qty_t *ret, struct err *err)
{
	struct quantity q;
	int r = quantity_parse(text, &q, err);

	if (r < 0)
		return err_wrap(err, r, "%.100s", name);
	if (q.nano < 0 || q.nano > AMOUNT_MAX)
		return err_set(err, -EINVAL, "%.100s: '%.100s' is %s", name, text,
			q.nano < 0 ? "negative" : "too much");
	*ret = q.nano;
	return 0;
}

int settings_add_reservation(
	struct settings *s, unsigned node, const char *type, const char *amount, struct err *err)
{
	struct memory_reservation *m;
	qty_t bytes;
	int r = setting_parse_amount(type, amount, &bytes, err);

	if (r < 0)
		return r;
	m = vec_push(
		&s->memory_reservations, &s->n_memory_reservations, &s->memory_reservations_size, sizeof(*m));
	*m = (struct memory_reservation){.node = node, .type = xstrdup(type), .bytes = bytes};
	return 0;
}

/* ---- as text */

static void add_amount_setting(struct strbuf *out, const char *name, qty_t nano, enum quantity_format format)
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

static void add_cpu_setting(struct strbuf *out, hwloc_const_bitmap_t set)
{
	CLEANUP(freep) char *text = set ? cpuset_print(set) : NULL;

	strbuf_addstr(out, text_or_empty(text));
}

char *settings_text(const struct settings *s, enum setting what)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(TEXT_MAX);
	const struct setting_row *row = &settings_table[what];
	const void *value = member_at(s, row->offset);

	switch (row->kind) {
	case SETTING_IS_CHOICE:
		strbuf_addstr(&out, row->names[setting_choice(s, what)]);
		break;
	case SETTING_IS_CPUS:
		add_cpu_setting(&out, *(const hwloc_bitmap_t *)value);
		break;
	case SETTING_IS_AMOUNTS:
		add_amount_setting(&out, "cpu", *(const qty_t *)value, QUANTITY_DECIMAL_SI);
		add_amount_setting(
			&out, "memory", *(const qty_t *)member_at(s, row->second), QUANTITY_BINARY_SI);
		break;
	case SETTING_IS_THRESHOLDS:
		strbuf_addf(&out, "memory.available=%s", text_or_empty(*(char *const *)value));
		break;
	case SETTING_IS_RESERVATIONS:
		add_memory_reservations(&out, s);
		break;
	case SETTING_IS_OPTIONS:
	case SETTING_IS_GATES:
	case SETTING_KIND_COUNT:
	default:
		strbuf_addstr(&out, text_or_empty(*(char *const *)value));
		break;
	}
	return strbuf_detach(&out);
}

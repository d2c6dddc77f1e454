/* SPDX-License-Identifier: Apache-2.0 */
/* Checks kubelet settings as written and converts them into struct settings. */
#include "agent/node/observe/kubelet_config.h"

#include <errno.h>
#include <limits.h>

#include "common/cleanup.h"
#include "common/machine.h"
#include "common/strbuf.h"
#include "common/text.h"
#include "common/vec.h"

#define TEXT_MAX     65536                         /* bytes of an option text */
#define RESERVED_MAX ((qty_t)INT64_MAX * QTY_UNIT) /* as Quantity.Value() saturates */

/* The conversion of one setting. */
struct conversion {
	struct settings *s;
	struct notes *notes;
	const char *from;
	struct err *err;
};

/* Converts the value of a setting; NULL = the kubelet's default. Negative on failure. */
typedef int convert_fn(const struct conversion *c, const struct doc *value);

static int wrong_kind(const struct conversion *c, const char *wanted, const struct doc *value)
{
	return err_set(c->err, -EINVAL, "%s expected, not %s", wanted, doc_kind_name(value));
}

/* ---- names */

/* The index of the value in `names`, or -EINVAL. "" counts as not given: the kubelet uses its default. */
static int convert_name(const struct conversion *c, const struct doc *value, const char *const *names,
	size_t count, int fallback)
{
	CLEANUP(strbuf_release) struct strbuf known = STRBUF_INIT(256);
	int found = fallback;

	if (value && value->kind != DOC_STRING)
		return wrong_kind(c, "a string", value);
	if (value && *value->text)
		found = settings_name_index(names, count, value->text);
	if (found >= 0)
		return found;
	for (size_t i = 1; i < count; i++)
		strbuf_addf(&known, "%s%s", i > 1 ? ", " : "", names[i]);
	return err_set(c->err, -EINVAL, "'%.100s' is not one of: %s", value->text, known.text);
}

static int convert_cpu_policy(const struct conversion *c, const struct doc *value)
{
	int found =
		convert_name(c, value, cpu_manager_policy_names, CPU_MANAGER_POLICY_COUNT, CPU_MANAGER_NONE);

	if (found >= 0)
		c->s->cpu_manager = (enum cpu_manager_policy)found;
	return found;
}

static int convert_memory_policy(const struct conversion *c, const struct doc *value)
{
	int found = convert_name(
		c, value, memory_manager_policy_names, MEMORY_MANAGER_POLICY_COUNT, MEMORY_MANAGER_NONE);

	if (found >= 0)
		c->s->memory_manager = (enum memory_manager_policy)found;
	return found;
}

static int convert_topology_policy(const struct conversion *c, const struct doc *value)
{
	int found = convert_name(c, value, topology_manager_policy_names, TOPOLOGY_MANAGER_POLICY_COUNT,
		TOPOLOGY_MANAGER_NONE);

	if (found >= 0)
		c->s->topology.policy = (enum topology_manager_policy)found;
	return found;
}

static int convert_scope(const struct conversion *c, const struct doc *value)
{
	int found = convert_name(
		c, value, topology_manager_scope_names, TOPOLOGY_SCOPE_COUNT, TOPOLOGY_SCOPE_CONTAINER);

	if (found >= 0)
		c->s->topology.scope = (enum topology_manager_scope)found;
	return found;
}

/* ---- options */

/* "k=v,k=v" in the order of the keys; NULL for an empty map. The values have been checked to be `kind`. */
static int options_text(const struct conversion *c, const struct doc *map, char **ret)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
	CLEANUP(freep) const struct doc **sorted = NULL;

	*ret = NULL;
	if (!map || map->n_items == 0)
		return 0;
	sorted = doc_sorted(map);
	for (size_t i = 0; i < map->n_items; i++)
		strbuf_addf(&text, "%s%s=%s", i > 0 ? "," : "", sorted[i]->key, sorted[i]->text);
	if (strbuf_error(&text) == -EFBIG)
		return err_set(c->err, -EINVAL, "longer than %d bytes", TEXT_MAX);
	*ret = strbuf_detach(&text);
	return 0;
}

/* A map, or NULL, whose values are all of `kind`. */
static int check_map(const struct conversion *c, const struct doc *map, enum doc_kind kind)
{
	const struct doc wanted = {.kind = kind};

	if (!map)
		return 0;
	if (map->kind != DOC_MAP)
		return wrong_kind(c, "a map", map);
	DOC_FOREACH (item, map)
		if (item->kind != kind)
			return err_set(c->err, -EINVAL, "%.100s: %s expected, not %s", item->key,
				doc_kind_name(&wanted), doc_kind_name(item));
	return 0;
}

static int not_a_boolean(const struct conversion *c, const struct doc *option)
{
	return err_set(c->err, -EINVAL, "%s: '%.100s' is not a boolean", option->key, option->text);
}

/* Note an option whose effect is unknown. If it is on, the kubelet's verdicts are unknown. */
static void note_unknown_option(
	const struct conversion *c, enum setting what, const struct doc *option, char **ret_first)
{
	bool on = true;

	notes_add(
		c->notes, "%s: %s: option '%.100s' is not known", c->from, setting_names[what], option->key);
	if ((text_parse_bool(option->text, &on) && !on) || *ret_first)
		return;
	text_set(ret_first, option->key);
}

static int convert_cpu_option(const struct conversion *c, const struct doc *option)
{
	bool *value = cpu_manager_option(&c->s->cpu_options, option->key);

	if (!value) {
		note_unknown_option(c, SETTING_CPU_MANAGER_POLICY_OPTIONS, option, &c->s->unknown_cpu_option);
		return 0;
	}
	return text_parse_bool(option->text, value) ? 0 : not_a_boolean(c, option);
}

static int convert_cpu_options(const struct conversion *c, const struct doc *value)
{
	int r = check_map(c, value, DOC_STRING);

	for (size_t i = 0; r == 0 && value && i < value->n_items; i++)
		r = convert_cpu_option(c, &value->items[i]);
	return r < 0 ? r : options_text(c, value, &c->s->cpu_options_text);
}

static int convert_max_numa_nodes(const struct conversion *c, const struct doc *option)
{
	uint64_t max;
	const struct doc number = {.kind = DOC_NUMBER, .text = option->text};

	/* The kubelet rejects fewer than its default. */
	if (doc_uint64(&number, &max) < 0 || max < TOPOLOGY_MANAGER_DEFAULT_MAX_NUMA_NODES || max > INT_MAX)
		return err_set(c->err, -EINVAL, "%s: '%.100s' is not an integer from %u on", option->key,
			option->text, TOPOLOGY_MANAGER_DEFAULT_MAX_NUMA_NODES);
	c->s->topology.max_numa_nodes = (unsigned)max;
	return 0;
}

static int convert_topology_option(const struct conversion *c, const struct doc *option)
{
	if (!strcmp(option->key, "max-allowable-numa-nodes"))
		return convert_max_numa_nodes(c, option);
	if (strcmp(option->key, "prefer-closest-numa-nodes") != 0) {
		note_unknown_option(
			c, SETTING_TOPOLOGY_MANAGER_POLICY_OPTIONS, option, &c->s->unknown_topology_option);
		return 0;
	}
	return text_parse_bool(option->text, &c->s->topology.prefer_closest_numa_nodes)
		       ? 0
		       : not_a_boolean(c, option);
}

static int convert_topology_options(const struct conversion *c, const struct doc *value)
{
	int r = check_map(c, value, DOC_STRING);

	for (size_t i = 0; r == 0 && value && i < value->n_items; i++)
		r = convert_topology_option(c, &value->items[i]);
	return r < 0 ? r : options_text(c, value, &c->s->topology_options_text);
}

static int convert_feature_gates(const struct conversion *c, const struct doc *value)
{
	int r = check_map(c, value, DOC_BOOL);

	if (r == 0)
		settings_check_gates(c->s, value, c->from, c->notes);
	return r < 0 ? r : options_text(c, value, &c->s->feature_gates_text);
}

/* ---- reservations */

static int convert_reserved_cpus(const struct conversion *c, const struct doc *value)
{
	if (value && value->kind != DOC_STRING)
		return wrong_kind(c, "a string", value);
	/* "" is the kubelet's default: none are given. */
	return value && *value->text ? cpuset_parse(value->text, &c->s->reserved_system_cpus, c->err) : 0;
}

/* A quantity >= 0. */
static int parse_amount(const struct conversion *c, const char *name, const char *text, qty_t *ret)
{
	struct quantity q;
	int r = quantity_parse(text, &q, c->err);

	if (r < 0)
		return err_wrap(c->err, r, "%.100s", name);
	if (q.nano < 0 || q.nano > RESERVED_MAX)
		return err_set(c->err, -EINVAL, "%.100s: '%.100s' is %s", name, text,
			q.nano < 0 ? "negative" : "too much");
	*ret = q.nano;
	return 0;
}

static int convert_reserved(const struct conversion *c, const struct doc *value, qty_t *cpu, qty_t *memory)
{
	int r = check_map(c, value, DOC_STRING);
	const char *cpu_text = doc_string(doc_get(value, "cpu"));
	const char *memory_text = doc_string(doc_get(value, "memory"));

	if (r == 0 && cpu_text)
		r = parse_amount(c, "cpu", cpu_text, cpu);
	if (r == 0 && memory_text)
		r = parse_amount(c, "memory", memory_text, memory);
	return r;
}

static int convert_kube_reserved(const struct conversion *c, const struct doc *value)
{
	return convert_reserved(c, value, &c->s->kube_reserved_cpu, &c->s->kube_reserved_memory);
}

static int convert_system_reserved(const struct conversion *c, const struct doc *value)
{
	return convert_reserved(c, value, &c->s->system_reserved_cpu, &c->s->system_reserved_memory);
}

/* "5%", "7.5%": 0 to 100. */
static bool is_percentage(const char *text)
{
	char *end;
	double value;

	if (strspn(text, "0123456789.") != strlen(text) - 1 || text[strlen(text) - 1] != '%')
		return false;
	value = strtod(text, &end);
	return end != text && *end == '%' && value <= 100;
}

static int convert_eviction(const struct conversion *c, const struct doc *value)
{
	int r = check_map(c, value, DOC_STRING);
	const char *text = SETTINGS_EVICTION_DEFAULT;
	qty_t amount;

	if (r < 0)
		return r;
	if (value) {
		text = doc_string(doc_get(value, "memory.available"));
		if (!text)
			text = "0"; /* a map without memory.available disables this threshold */
	}
	if (!*text || !is_percentage(text))
		r = parse_amount(c, "memory.available", text, &amount);
	if (r < 0)
		return r;
	text_set(&c->s->eviction_hard_memory, text);
	return 0;
}

static int add_reservation(const struct conversion *c, unsigned node, const struct doc *limit)
{
	struct settings *s = c->s;
	struct memory_reservation *m;
	qty_t bytes;
	int r;

	if (limit->kind != DOC_STRING && limit->kind != DOC_NUMBER)
		return err_set(c->err, -EINVAL, "%.100s: a quantity expected, not %s", limit->key,
			doc_kind_name(limit));
	for (size_t i = 0; i < s->n_memory_reservations; i++)
		if (s->memory_reservations[i].node == node &&
			!strcmp(s->memory_reservations[i].type, limit->key))
			return err_set(c->err, -EINVAL, "%.100s of node %u appears twice", limit->key, node);
	r = parse_amount(c, limit->key, limit->text, &bytes);
	if (r < 0)
		return r;
	m = vec_push(
		&s->memory_reservations, &s->n_memory_reservations, &s->memory_reservations_size, sizeof(*m));
	m->node = node;
	m->bytes = bytes;
	text_set(&m->type, limit->key);
	return 0;
}

static int add_reservations(const struct conversion *c, const struct doc *item)
{
	const struct doc *node = doc_get(item, "numaNode"), *limits = doc_get(item, "limits");
	uint64_t id = 0;

	if (item->kind != DOC_MAP)
		return wrong_kind(c, "a map", item);
	if (node && (doc_uint64(node, &id) < 0 || id >= MACHINE_MAX_NODES))
		return err_set(c->err, -EINVAL, "numaNode: '%.50s' is not a NUMA node id",
			node->text ? node->text : doc_kind_name(node));
	if (!limits || limits->kind != DOC_MAP)
		return err_set(c->err, -EINVAL, "limits: a map expected, not %s", doc_kind_name(limits));
	DOC_FOREACH (limit, limits) {
		int r = add_reservation(c, (unsigned)id, limit);

		if (r < 0)
			return r;
	}
	return 0;
}

static int compare_reservations(const void *va, const void *vb)
{
	const struct memory_reservation *a = va, *b = vb;
	int r = (a->node > b->node) - (a->node < b->node);

	return r ? r : strcmp(a->type, b->type);
}

static int convert_reserved_memory(const struct conversion *c, const struct doc *value)
{
	struct settings *s = c->s;

	if (value && value->kind != DOC_LIST)
		return wrong_kind(c, "a list", value);
	for (size_t i = 0; value && i < value->n_items; i++) {
		int r = add_reservations(c, &value->items[i]);

		if (r < 0)
			return r;
	}
	if (s->n_memory_reservations > 1)
		qsort(s->memory_reservations, s->n_memory_reservations, sizeof(*s->memory_reservations),
			compare_reservations);
	return 0;
}

/* ---- all of them */

static convert_fn *const converters[SETTING_COUNT] = {
	[SETTING_CPU_MANAGER_POLICY] = convert_cpu_policy,
	[SETTING_CPU_MANAGER_POLICY_OPTIONS] = convert_cpu_options,
	[SETTING_MEMORY_MANAGER_POLICY] = convert_memory_policy,
	[SETTING_TOPOLOGY_MANAGER_POLICY] = convert_topology_policy,
	[SETTING_TOPOLOGY_MANAGER_SCOPE] = convert_scope,
	[SETTING_TOPOLOGY_MANAGER_POLICY_OPTIONS] = convert_topology_options,
	[SETTING_RESERVED_SYSTEM_CPUS] = convert_reserved_cpus,
	[SETTING_KUBE_RESERVED] = convert_kube_reserved,
	[SETTING_SYSTEM_RESERVED] = convert_system_reserved,
	[SETTING_EVICTION_HARD] = convert_eviction,
	[SETTING_RESERVED_MEMORY] = convert_reserved_memory,
	[SETTING_FEATURE_GATES] = convert_feature_gates,
};

int settings_convert(const struct kubelet_config *config, bool defaults, struct settings *ret,
	struct notes *notes, struct err *err)
{
	CLEANUP(settings_release) struct settings s;

	settings_init(&s);
	for (enum setting what = 0; what < SETTING_COUNT; what++) {
		const struct doc *value =
			config->values[what].kind == DOC_NULL ? NULL : &config->values[what];
		const struct conversion c = {
			.s = &s,
			.notes = notes,
			.from = value ? config->from[what] : SETTINGS_KUBELET_DEFAULT,
			.err = err,
		};
		int r;

		if (!value && !defaults)
			continue;
		r = converters[what](&c, value);
		if (r < 0)
			return err_wrap(err, r, "%s: %s", c.from, setting_names[what]);
		text_set(&s.from[what], c.from);
	}
	if (config->unknown_field) {
		notes_add(notes, "%s: field '%.100s' is not known", config->unknown_field_from,
			config->unknown_field);
		text_set(&s.unknown_field, config->unknown_field);
	}
	for (size_t i = 0; i < config->fields.n_items; i++)
		strv_push(&s.fields, config->fields.items[i]);
	s.reserved_cpu_known = s.from[SETTING_KUBE_RESERVED] && s.from[SETTING_SYSTEM_RESERVED];
	*ret = s;
	settings_init(&s);
	return 0;
}

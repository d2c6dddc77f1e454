/* SPDX-License-Identifier: Apache-2.0 */
/* Checks kubelet settings as written and converts them into struct settings. */
#include "agent/observe/kubelet_config.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/machine.h"
#include "common/settings_table.h"
#include "common/strbuf.h"
#include "common/text.h"
#include "common/xalloc.h"

#define TEXT_MAX 65536 /* bytes of an option text */

/* The conversion of one setting. */
struct conversion {
	struct settings *s;
	enum setting what;
	struct notes *notes;
	const char *from;
	struct err *err;
};

/* Converts the value of a setting of one kind; NULL = the kubelet's default. Negative on failure. */
typedef int convert_fn(const struct conversion *c, const struct doc *value);

static int wrong_kind(const struct conversion *c, const char *wanted, const struct doc *value)
{
	return err_set(c->err, -EINVAL, "%s expected, not %s", wanted, doc_kind_name(value));
}

/* "" counts as not given: the kubelet uses its default. */
static int convert_choice(const struct conversion *c, const struct doc *value)
{
	if (value && value->kind != DOC_STRING)
		return wrong_kind(c, "a string", value);
	if (value && *value->text)
		return setting_parse_choice(c->s, c->what, value->text, c->err);
	setting_set_choice(c->s, c->what, settings_table[c->what].fallback);
	return 0;
}

/* ---- options */

/*
 * "k=v,k=v" in the order of the keys, in printable UTF-8, because it is published; NULL for an empty map. The values have been checked
 * to be scalars. Flags can have any bytes.
 */
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
	text_one_line(*ret);
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

/* Note an option whose effect is unknown. If the option is on, or its value is no boolean, the kubelet's verdicts are unknown: the settings keep
 * the first such option. */
static void note_unknown_option(const struct conversion *c, const struct doc *option)
{
	char **first = setting_second(c->s, c->what);
	bool on = true;

	notes_add(c->notes, "%s: %s: option '%.100s' is not known", c->from, settings_table[c->what].name,
		option->key);
	if ((text_parse_bool(option->text, &on) && !on) || *first)
		return;
	text_set(first, option->key);
}

static int convert_option(const struct conversion *c, const struct doc *option)
{
	const struct policy_option *o = policy_option_of(c->what, option->key);

	if (!o) {
		note_unknown_option(c, option);
		return 0;
	}
	return policy_option_parse(o, option->text, c->s, c->err);
}

static int convert_options(const struct conversion *c, const struct doc *value)
{
	/* With policy none the kubelet does not read the topology manager's options. The policy is converted before them. */
	bool are_ignored = c->what == SETTING_TOPOLOGY_MANAGER_POLICY_OPTIONS &&
			   c->s->topology.policy == TOPOLOGY_MANAGER_NONE;
	struct conversion each = *c;
	int r = check_map(c, value, DOC_STRING);

	if (are_ignored)
		each.err = NULL;
	for (size_t i = 0; r == 0 && value && i < value->n_items; i++)
		if (convert_option(&each, &value->items[i]) < 0 && !are_ignored)
			r = -EINVAL;
	return r < 0 ? r : options_text(c, value, setting_value(c->s, c->what));
}

static int convert_gates(const struct conversion *c, const struct doc *value)
{
	int r = check_map(c, value, DOC_BOOL);

	if (r == 0)
		settings_check_gates(c->s, value, c->from, c->notes);
	return r < 0 ? r : options_text(c, value, setting_value(c->s, c->what));
}

/* ---- reservations */

static int convert_cpu_list(const struct conversion *c, const struct doc *value)
{
	if (value && value->kind != DOC_STRING)
		return wrong_kind(c, "a string", value);
	/* "" is the kubelet's default: none are given. */
	return value && *value->text ? cpuset_parse(value->text, setting_value(c->s, c->what), c->err) : 0;
}

/* parseResourceList(): the kubelet reserves no other resources. */
static char *find_refused_resource(const struct doc *value)
{
	static const char *const names[] = {"cpu", "memory", "ephemeral-storage", "pid"};

	for (size_t i = 0; value && i < value->n_items; i++) {
		size_t k = 0;

		while (k < ARRAY_SIZE(names) && strcmp(value->items[i].key, names[k]) != 0)
			k++;
		if (k == ARRAY_SIZE(names))
			return xasprintf("cannot reserve \"%.100s\" resource", value->items[i].key);
	}
	return NULL;
}

static int convert_amounts(const struct conversion *c, const struct doc *value)
{
	int r = check_map(c, value, DOC_STRING);
	const char *cpu = doc_string(doc_get(value, "cpu"));
	const char *memory = doc_string(doc_get(value, "memory"));

	if (r == 0 && cpu)
		r = setting_parse_amount("cpu", cpu, setting_value(c->s, c->what), c->err);
	if (r == 0 && memory)
		r = setting_parse_amount("memory", memory, setting_second(c->s, c->what), c->err);
	if (r == 0)
		c->s->refused[c->what] = find_refused_resource(value);
	return r;
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

static int convert_thresholds(const struct conversion *c, const struct doc *value)
{
	int r = check_map(c, value, DOC_STRING);
	const char *text = EVICTION_HARD_DEFAULT;
	qty_t amount;

	if (r < 0)
		return r;
	if (value) {
		text = doc_string(doc_get(value, "memory.available"));
		if (!text)
			text = "0"; /* a map without memory.available disables this threshold */
	}
	/* The setting keeps the text. An amount is parsed only to check it. */
	if (!*text || !is_percentage(text))
		r = setting_parse_amount("memory.available", text, &amount, c->err);
	if (r < 0)
		return r;
	text_set(setting_value(c->s, c->what), text);
	return 0;
}

static int convert_node_reservations(const struct conversion *c, const struct doc *item)
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
		int r;

		if (limit->kind != DOC_STRING && limit->kind != DOC_NUMBER)
			return err_set(c->err, -EINVAL, "%.100s: a quantity expected, not %s", limit->key,
				doc_kind_name(limit));
		r = settings_add_reservation(c->s, (unsigned)id, limit->key, limit->text, c->err);
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

static int convert_reservations(const struct conversion *c, const struct doc *value)
{
	struct settings *s = c->s;

	if (value && value->kind != DOC_LIST)
		return wrong_kind(c, "a list", value);
	for (size_t i = 0; value && i < value->n_items; i++) {
		int r = convert_node_reservations(c, &value->items[i]);

		if (r < 0)
			return r;
	}
	if (s->n_memory_reservations > 1)
		qsort(s->memory_reservations, s->n_memory_reservations, sizeof(*s->memory_reservations),
			compare_reservations);
	return 0;
}

/* ---- all of them */

static convert_fn *const converters[SETTING_KIND_COUNT] = {
	[SETTING_IS_CHOICE] = convert_choice,
	[SETTING_IS_OPTIONS] = convert_options,
	[SETTING_IS_CPUS] = convert_cpu_list,
	[SETTING_IS_AMOUNTS] = convert_amounts,
	[SETTING_IS_THRESHOLDS] = convert_thresholds,
	[SETTING_IS_RESERVATIONS] = convert_reservations,
	[SETTING_IS_GATES] = convert_gates,
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
			.what = what,
			.notes = notes,
			.from = value ? config->from[what] : SETTINGS_KUBELET_DEFAULT,
			.err = err,
		};
		int r;

		if (!value && !defaults)
			continue;
		r = converters[settings_table[what].kind](&c, value);
		if (r < 0)
			return err_wrap(err, r, "%s: %s", c.from, settings_table[what].name);
		text_set(&s.from[what], c.from);
	}
	if (config->unknown_field) {
		notes_add(notes, "%s: field '%.100s' is not known", config->unknown_field_from,
			config->unknown_field);
		text_set(&s.unknown_field, config->unknown_field);
	}
	for (size_t i = 0; i < config->fields.n_items; i++)
		strv_push(&s.fields, config->fields.items[i]);
	s.reserved_known = s.from[SETTING_KUBE_RESERVED] && s.from[SETTING_SYSTEM_RESERVED];
	*ret = s;
	settings_init(&s);
	return 0;
}

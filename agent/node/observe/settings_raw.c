/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/observe/settings_raw.h"

#include <errno.h>

#include "agent/node/observe/known_names.h"
#include "common/cleanup.h"
#include "common/strbuf.h"
#include "common/text.h"
#include "common/xalloc.h"

#define TEXT_MAX 65536 /* bytes of an origin */
#define KEYS_MAX 1024u /* keys of one map; the kubelet knows some 200 feature gates */

/* How a flag's text becomes the field's value. */
enum shape {
	SHAPE_TEXT,
	SHAPE_PAIRS,     /* k=v,k=v: a map of strings */
	SHAPE_EVICTION,  /* k<v,k<v */
	SHAPE_GATES,     /* k=true,k=false: a map of booleans */
	SHAPE_NODE_LIST, /* 0:memory=1Gi,hugepages-1Gi=2Gi;1:...: a list of reservations */
};

static const struct {
	const char *flag;
	enum shape shape;
} flags[SETTING_COUNT] = {
	[SETTING_CPU_MANAGER_POLICY] = {"cpu-manager-policy", SHAPE_TEXT},
	[SETTING_CPU_MANAGER_POLICY_OPTIONS] = {"cpu-manager-policy-options", SHAPE_PAIRS},
	[SETTING_MEMORY_MANAGER_POLICY] = {"memory-manager-policy", SHAPE_TEXT},
	[SETTING_TOPOLOGY_MANAGER_POLICY] = {"topology-manager-policy", SHAPE_TEXT},
	[SETTING_TOPOLOGY_MANAGER_SCOPE] = {"topology-manager-scope", SHAPE_TEXT},
	[SETTING_TOPOLOGY_MANAGER_POLICY_OPTIONS] = {"topology-manager-policy-options", SHAPE_PAIRS},
	[SETTING_RESERVED_SYSTEM_CPUS] = {"reserved-cpus", SHAPE_TEXT},
	[SETTING_KUBE_RESERVED] = {"kube-reserved", SHAPE_PAIRS},
	[SETTING_SYSTEM_RESERVED] = {"system-reserved", SHAPE_PAIRS},
	[SETTING_EVICTION_HARD] = {"eviction-hard", SHAPE_EVICTION},
	[SETTING_RESERVED_MEMORY] = {"reserved-memory", SHAPE_NODE_LIST},
	[SETTING_FEATURE_GATES] = {"feature-gates", SHAPE_GATES},
};

void settings_raw_init(struct settings_raw *raw)
{
	memset(raw, 0, sizeof(*raw));
}

void settings_raw_release(struct settings_raw *raw)
{
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		doc_release(&raw->values[i]);
		free(raw->from[i]);
	}
	free(raw->unknown_field);
	free(raw->unknown_field_from);
	settings_raw_init(raw);
}

int settings_flag_find(const char *name, size_t len)
{
	for (int i = 0; i < SETTING_COUNT; i++) {
		const char *flag = flags[i].flag;
		size_t at = 0;

		while (at < len && flag[at] && (flag[at] == name[at] || (flag[at] == '-' && name[at] == '_')))
			at++;
		if (at == len && !flag[at])
			return i;
	}
	return -1;
}

/* ---- origins */

/* A value that several sources made names them all, in their order. */
static void add_from(struct settings_raw *raw, enum setting what, const char *from)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
	const char *had = raw->from[what];
	size_t len;

	if (!had) {
		text_set(&raw->from[what], from);
		return;
	}
	len = strlen(from);
	if (strlen(had) >= len && !strcmp(had + strlen(had) - len, from))
		return;
	strbuf_addf(&text, "%s, %s", had, from);
	text_set(&raw->from[what], text.text);
}

/* ---- documents */

static void copy_value(const struct doc *from, struct doc *to)
{
	doc_release(to);
	to->kind = from->kind;
	if (from->text)
		doc_set_text(to, from->kind, from->text, strlen(from->text));
	DOC_FOREACH (item, from) {
		struct doc *child = doc_add(to, item->key);
		CLEANUP(doc_release) struct doc copy = DOC_INIT;

		copy_value(item, &copy);
		copy.key = TAKE(child->key);
		*child = copy;
		copy = (struct doc)DOC_INIT;
	}
}

static void remove_key(struct doc *map, const char *key)
{
	size_t kept = 0;

	for (size_t i = 0; i < map->n_items; i++) {
		struct doc *item = &map->items[i];

		if (!strcmp(item->key, key)) {
			doc_release(item);
			continue;
		}
		if (kept != i) {
			map->items[kept] = *item;
			*item = (struct doc)DOC_INIT;
		}
		kept++;
	}
	map->n_items = kept;
}

/* map[key] = value; null takes the key away. */
static int set_key(struct doc *map, const struct doc *value, struct err *err)
{
	CLEANUP(doc_release) struct doc copy = DOC_INIT;
	struct doc *child;

	copy_value(value, &copy);
	remove_key(map, value->key);
	if (value->kind == DOC_NULL)
		return 0;
	if (map->n_items >= KEYS_MAX)
		return err_set(err, -EINVAL, "more than %u keys", KEYS_MAX);
	child = doc_add(map, value->key);
	copy.key = TAKE(child->key);
	*child = copy;
	copy = (struct doc)DOC_INIT;
	return 0;
}

static int merge_keys(struct doc *map, const struct doc *from, struct err *err)
{
	DOC_FOREACH (item, from) {
		int r = set_key(map, item, err);

		if (r < 0)
			return r;
	}
	return 0;
}

static int merge_maps(struct settings_raw *raw, enum setting what, const struct doc *value, const char *from,
	struct err *err)
{
	int r = merge_keys(&raw->values[what], value, err);

	if (r < 0)
		return r;
	add_from(raw, what, from);
	return 0;
}

static int replace(struct settings_raw *raw, enum setting what, const struct doc *value, const char *from,
	struct err *err)
{
	CLEANUP(doc_release) struct doc copy = DOC_INIT;
	int r = 0;

	/* Key by key, as of a key that appears twice the last one counts. */
	copy.kind = value->kind;
	if (value->kind == DOC_MAP)
		r = merge_keys(&copy, value, err);
	else
		copy_value(value, &copy);
	if (r == 0)
		text_set(&raw->from[what], from);
	if (r < 0)
		return r;
	doc_release(&raw->values[what]);
	raw->values[what] = copy;
	copy = (struct doc)DOC_INIT;
	return 0;
}

/* Remember a field that no kubelet is known to have. */
static void note_field(struct settings_raw *raw, const struct doc *field, const char *from)
{
	if (raw->unknown_field || field->kind == DOC_NULL || config_field_is_known(field->key))
		return;
	raw->unknown_field = xstrdup(field->key);
	raw->unknown_field_from = xstrdup(from);
}

int settings_raw_merge(
	struct settings_raw *raw, const struct doc *config, bool drop_in, const char *from, struct err *err)
{
	for (size_t i = 0; i < config->n_items; i++) {
		note_field(raw, &config->items[i], from);
	}
	for (enum setting what = 0; what < SETTING_COUNT; what++) {
		const struct doc *value = doc_get(config, setting_names[what]);
		int r = 0;

		if (!value || (value->kind == DOC_NULL && !drop_in))
			continue;
		if (value->kind == DOC_NULL) {
			doc_release(&raw->values[what]);
			freep(&raw->from[what]);
		} else if (drop_in && value->kind == DOC_MAP && raw->values[what].kind == DOC_MAP)
			r = merge_maps(raw, what, value, from, err);
		else
			r = replace(raw, what, value, from, err);
		if (r < 0)
			return err_wrap(err, r, "%s: %s", from, setting_names[what]);
	}
	return 0;
}

int settings_raw_default_eviction(struct settings_raw *raw, bool merge, struct err *err)
{
	CLEANUP(doc_release) struct doc thresholds = {.kind = DOC_MAP};
	const struct doc *have = &raw->values[SETTING_EVICTION_HARD];

	if (have->kind != DOC_NULL && (!merge || doc_get(have, "memory.available")))
		return 0;
	doc_add_string(&thresholds, "memory.available", SETTINGS_EVICTION_DEFAULT);
	if (have->kind == DOC_MAP)
		return merge_maps(raw, SETTING_EVICTION_HARD, &thresholds, SETTINGS_KUBELET_DEFAULT, err);
	return replace(raw, SETTING_EVICTION_HARD, &thresholds, SETTINGS_KUBELET_DEFAULT, err);
}

int settings_raw_overlay(struct settings_raw *raw, struct settings_raw *over, struct err *err)
{
	for (enum setting what = 0; what < SETTING_COUNT; what++) {
		struct doc *value = &over->values[what];
		bool merge = what == SETTING_FEATURE_GATES && raw->values[what].kind == DOC_MAP &&
			     value->kind == DOC_MAP;
		int r;

		if (value->kind == DOC_NULL)
			continue;
		if (merge) {
			r = merge_maps(raw, what, value, over->from[what], err);
			if (r < 0)
				return err_wrap(err, r, "%s", over->from[what]);
			continue;
		}
		doc_release(&raw->values[what]);
		raw->values[what] = *value;
		*value = (struct doc)DOC_INIT;
		free(raw->from[what]);
		raw->from[what] = TAKE(over->from[what]);
	}
	settings_raw_release(over);
	return 0;
}

/* ---- flags */

static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " \t");
	len = strlen(text);
	while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t'))
		text[--len] = '\0';
	return text;
}

/* One "k=v" of a flag into the map. */
static int add_pair(struct doc *map, char *pair, char separator, enum shape shape, struct err *err)
{
	char *value = strchr(pair, separator), *key;
	CLEANUP(doc_release) struct doc item = DOC_INIT;
	bool on = false;

	if (!value)
		return err_set(err, -EINVAL, "'%.100s' is not of the form key%cvalue", pair, separator);
	*value++ = '\0';
	key = trim(pair);
	value = trim(value);
	if (shape == SHAPE_GATES && !text_parse_bool(value, &on))
		return err_set(err, -EINVAL, "%.100s: '%.100s' is not a boolean", key, value);
	item.key = xstrdup(key);
	if (shape == SHAPE_GATES)
		doc_set_text(&item, DOC_BOOL, on ? "true" : "false", on ? 4 : 5);
	else
		doc_set_text(&item, DOC_STRING, value, strlen(value));
	return set_key(map, &item, err);
}

static int add_pairs(struct doc *map, char *text, enum shape shape, struct err *err)
{
	char separator = shape == SHAPE_EVICTION ? '<' : '=';

	for (char *pair = strsep(&text, ","); pair; pair = strsep(&text, ",")) {
		int r = *pair ? add_pair(map, pair, separator, shape, err) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

/* "0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=1Gi" into reservedMemory's list. */
static int add_reservations(struct doc *list, char *text, struct err *err)
{
	if (!*text)
		return 0;
	for (char *part = strsep(&text, ";"); part; part = strsep(&text, ";")) {
		char *limits = strchr(part, ':');
		struct doc *item, *number, *map;
		int r;

		if (!limits || strchr(limits + 1, ':'))
			return err_set(err, -EINVAL, "'%.100s' is not of the form node:type=quantity", part);
		*limits++ = '\0';
		item = doc_add_map(list, NULL);
		number = item ? doc_add(item, "numaNode") : NULL;
		doc_set_text(number, DOC_NUMBER, part, strlen(part));
		map = doc_add_map(item, "limits");
		r = add_pairs(map, limits, SHAPE_PAIRS, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int settings_raw_flag(
	struct settings_raw *raw, enum setting what, const char *text, const char *from, struct err *err)
{
	CLEANUP(freep) char *copy = xstrdup(text);
	struct doc *value = &raw->values[what];
	enum shape shape = flags[what].shape;
	int r = 0;

	if (shape == SHAPE_TEXT)
		doc_set_text(value, DOC_STRING, text, strlen(text));
	else if (shape == SHAPE_NODE_LIST) {
		value->kind = DOC_LIST;
		r = add_reservations(value, copy, err);
	} else {
		value->kind = DOC_MAP;
		r = add_pairs(value, copy, shape, err);
	}
	if (r < 0)
		return err_wrap(err, r, "%s", from);
	if (shape == SHAPE_TEXT) {
		text_set(&raw->from[what], from);
		r = 0;
	} else {
		add_from(raw, what, from);
		r = 0;
	}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe/kubelet_config.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdlib.h>
#include <strings.h>

#include "agent/observe/fs_root.h"
#include "agent/observe/release_names.h"
#include "common/cleanup.h"
#include "common/io/fs.h"
#include "common/io/yaml.h"
#include "common/settings_table.h"
#include "common/strbuf.h"
#include "common/text.h"
#include "common/xalloc.h"

#define TEXT_MAX 65536 /* bytes of an origin */
#define KEYS_MAX 1024u /* keys of one map; the kubelet knows some 200 feature gates */

void kubelet_config_release(struct kubelet_config *config)
{
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		doc_release(&config->values[i]);
		free(config->from[i]);
	}
	doc_release(&config->others);
	doc_release(&config->other_from);
	free(config->unknown_field);
	free(config->unknown_field_from);
	strv_release(&config->fields);
	*config = (struct kubelet_config){.unknown_field = NULL};
}

int kubelet_config_find_flag(const char *name, size_t len)
{
	for (int i = 0; i < SETTING_COUNT; i++) {
		const char *flag = settings_table[i].flag;
		size_t at = 0;

		while (at < len && flag[at] && (flag[at] == name[at] || (flag[at] == '-' && name[at] == '_')))
			at++;
		if (at == len && !flag[at])
			return i;
	}
	return -1;
}

/* ---- merging */

/* Add a source to a setting's origin: a value from several sources names all of them, in order. */
static void add_from(struct kubelet_config *config, enum setting what, const char *from)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
	const char *had = config->from[what];
	size_t len = strlen(from);

	if (had && strlen(had) >= len && !strcmp(had + strlen(had) - len, from))
		return;
	strbuf_addf(&text, "%s%s%s", had ? had : "", had ? ", " : "", from);
	text_set(&config->from[what], text.text);
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

/* map[key] = value; null removes the key. */
static int set_key(struct doc *map, const struct doc *value, struct err *err)
{
	struct doc *child;
	char *key;

	remove_key(map, value->key);
	if (value->kind == DOC_NULL)
		return 0;
	if (map->n_items >= KEYS_MAX)
		return err_set(err, -EINVAL, "more than %u keys", KEYS_MAX);
	child = doc_add(map, value->key);
	key = child->key;
	doc_copy(value, child); /* resets the key */
	child->key = key;
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

static int merge_maps(struct kubelet_config *config, enum setting what, const struct doc *value,
	const char *from, struct err *err)
{
	int r = merge_keys(&config->values[what], value, err);

	if (r < 0)
		return r;
	add_from(config, what, from);
	return 0;
}

static int replace_value(struct kubelet_config *config, enum setting what, const struct doc *value,
	const char *from, struct err *err)
{
	CLEANUP(doc_release) struct doc copy = {.kind = value->kind};
	int r = 0;

	/* Key by key: of a key that appears twice the last value counts. */
	if (value->kind == DOC_MAP)
		r = merge_keys(&copy, value, err);
	else
		doc_copy(value, &copy);
	if (r < 0)
		return r;
	text_set(&config->from[what], from);
	doc_release(&config->values[what]);
	config->values[what] = copy;
	copy = (struct doc)DOC_INIT;
	return 0;
}

/* The setting whose name is spelled like this, but with other case; SETTING_COUNT = none. */
static enum setting find_other_spelling(const char *key)
{
	for (enum setting what = 0; what < SETTING_COUNT; what++)
		if (!strcasecmp(key, settings_table[what].name) &&
			strcmp(key, settings_table[what].name) != 0)
			return what;
	return SETTING_COUNT;
}

/* Remember the field's name, and the first field that no kubelet is known to have. */
static void note_field(struct kubelet_config *config, const struct doc *field, bool drop_in, const char *from)
{
	if (field->kind == DOC_NULL)
		return;
	strv_push_new(&config->fields, field->key);
	if (config->unknown_field || config_field_is_known(field->key) ||
		(drop_in && find_other_spelling(field->key) != SETTING_COUNT))
		return;
	config->unknown_field = xstrdup(field->key);
	config->unknown_field_from = xstrdup(from);
}

/* No thresholds: a map, because the value of a setting that nothing sets is the default. */
static int set_no_eviction(struct kubelet_config *config, const char *from, struct err *err)
{
	CLEANUP(doc_release) struct doc none = {.kind = DOC_MAP};

	return replace_value(config, SETTING_EVICTION_HARD, &none, from, err);
}

/* Merges a drop-in's fields with other spellings into config->others, each spelling by itself. */
static int merge_other_spellings(
	struct kubelet_config *config, const struct doc *fields, const char *from, struct err *err)
{
	config->others.kind = config->other_from.kind = DOC_MAP;
	DOC_FOREACH (field, fields) {
		const struct doc *have = doc_get(&config->others, field->key);
		int r;

		if (find_other_spelling(field->key) == SETTING_COUNT)
			continue;
		if (have && have->kind == DOC_MAP && field->kind == DOC_MAP)
			r = merge_keys(doc_find_or_add_map(&config->others, field->key), field, err);
		else
			r = set_key(&config->others, field, err);
		if (r < 0)
			return err_wrap(err, r, "%s: %s", from, field->key);
		remove_key(&config->other_from, field->key);
		doc_add_string(&config->other_from, field->key, from);
	}
	return 0;
}

static int compare_keys(const void *a, const void *b)
{
	const struct doc *x = a, *y = b;

	return strcmp(x->key, y->key);
}

/* Removes from `map` the keys that `other` has. */
static void remove_keys(struct doc *map, const struct doc *other)
{
	DOC_FOREACH (item, other)
		remove_key(map, item->key);
}

/* Spells the fields of reservedMemory of a drop-in, whose case the kubelet ignores. */
static void spell_reservations(struct doc *list)
{
	static const char *const names[] = {"numaNode", "limits"};

	DOC_FOREACH_ITEM (item, list)
		DOC_FOREACH (field, item)
			for (size_t i = 0; i < ARRAY_SIZE(names); i++)
				if (!strcasecmp(field->key, names[i]))
					memcpy(field->key, names[i], strlen(names[i]));
}

/* A null removes a value in a drop-in; in the configuration file, null is as if the field were not there. */
static int merge_fields(struct kubelet_config *config, const struct doc *fields, bool drop_in,
	const char *from, struct err *err)
{
	if (drop_in) {
		int r = merge_other_spellings(config, fields, from, err);

		if (r < 0)
			return r;
	}
	DOC_FOREACH (field, fields)
		note_field(config, field, drop_in, from);
	for (enum setting what = 0; what < SETTING_COUNT; what++) {
		const struct doc *value = doc_get(fields, settings_table[what].name);
		int r = 0;

		if (!value || (value->kind == DOC_NULL && !drop_in))
			continue;
		if (value->kind == DOC_NULL) {
			doc_release(&config->values[what]);
			freep(&config->from[what]);
			if (what == SETTING_EVICTION_HARD)
				r = set_no_eviction(config, from, err);
		} else if (drop_in && value->kind == DOC_MAP && config->values[what].kind == DOC_MAP)
			r = merge_maps(config, what, value, from, err);
		else
			r = replace_value(config, what, value, from, err);
		if (drop_in && what == SETTING_RESERVED_MEMORY)
			spell_reservations(&config->values[what]);
		if (r < 0)
			return err_wrap(err, r, "%s: %s", from, settings_table[what].name);
	}
	return 0;
}

int kubelet_config_end_drop_ins(struct kubelet_config *config, struct err *err)
{
	/* Drop-ins are merged into the configuration with its defaults: does it have the setting by its own name? */
	bool in_base[SETTING_COUNT];

	for (enum setting what = 0; what < SETTING_COUNT; what++)
		in_base[what] = config->values[what].kind != DOC_NULL ||
				settings_table[what].kind == SETTING_IS_CHOICE;
	if (config->others.n_items > 0)
		qsort(config->others.items, config->others.n_items, sizeof(*config->others.items),
			compare_keys);
	for (size_t i = 0; i < config->others.n_items; i++) {
		struct doc *other = &config->others.items[i];
		enum setting what = find_other_spelling(other->key);
		bool is_earlier = in_base[what] && strcmp(other->key, settings_table[what].name) < 0;
		struct doc *value = &config->values[what];
		const char *from = doc_text(&config->other_from, other->key);
		int r = 0;

		if (other->kind == DOC_MAP && value->kind == DOC_MAP) {
			if (is_earlier)
				remove_keys(other, value);
			r = merge_maps(config, what, other, from, err);
		} else if (!is_earlier) {
			r = replace_value(config, what, other, from, err);
		}
		if (what == SETTING_RESERVED_MEMORY)
			spell_reservations(value);
		if (r < 0)
			return err_wrap(err, r, "%s: %s", from, other->key);
	}
	doc_release(&config->others);
	doc_release(&config->other_from);
	return 0;
}

/*
 * Add the kubelet's default thresholds: all of them if no evictionHard is given; otherwise, with `merge`
 * (mergeDefaultEvictionSettings), those that evictionHard does not set. The kubelet does this after reading its
 * configuration file, and not without one (cmd/kubelet/app/server.go, loadConfigFile).
 */
static int add_default_eviction(struct kubelet_config *config, bool merge, struct err *err)
{
	CLEANUP(doc_release) struct doc thresholds = {.kind = DOC_MAP};
	const struct doc *have = &config->values[SETTING_EVICTION_HARD];

	if (have->kind != DOC_NULL && (!merge || doc_get(have, "memory.available")))
		return 0;
	doc_add_string(&thresholds, "memory.available", EVICTION_HARD_DEFAULT);
	if (have->kind == DOC_MAP)
		return merge_maps(config, SETTING_EVICTION_HARD, &thresholds, SETTINGS_KUBELET_DEFAULT, err);
	return replace_value(config, SETTING_EVICTION_HARD, &thresholds, SETTINGS_KUBELET_DEFAULT, err);
}

int kubelet_config_without_file(struct kubelet_config *config, struct err *err)
{
	return set_no_eviction(config, SETTINGS_KUBELET_DEFAULT, err);
}

int kubelet_config_overlay(struct kubelet_config *config, struct kubelet_config *flags, struct err *err)
{
	for (enum setting what = 0; what < SETTING_COUNT; what++) {
		struct doc *value = &flags->values[what];

		if (value->kind == DOC_NULL)
			continue;
		if (settings_table[what].kind == SETTING_IS_GATES && config->values[what].kind == DOC_MAP &&
			value->kind == DOC_MAP) {
			int r = merge_maps(config, what, value, flags->from[what], err);

			if (r < 0)
				return err_wrap(err, r, "%s", flags->from[what]);
			continue;
		}
		doc_release(&config->values[what]);
		config->values[what] = *value;
		*value = (struct doc)DOC_INIT;
		free(config->from[what]);
		config->from[what] = TAKE(flags->from[what]);
	}
	kubelet_config_release(flags);
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
static int add_pair(struct doc *map, char *pair, enum setting_kind kind, struct err *err)
{
	const char separator = kind == SETTING_IS_THRESHOLDS ? '<' : '=';
	char *value = strchr(pair, separator), *key;
	CLEANUP(doc_release) struct doc item = DOC_INIT;
	const char *text;
	bool on = false;

	if (!value)
		return err_set(err, -EINVAL, "'%.100s' is not of the form key%cvalue", pair, separator);
	*value++ = '\0';
	key = trim(pair);
	value = trim(value);
	if (kind == SETTING_IS_GATES && !text_parse_bool(value, &on))
		return err_set(err, -EINVAL, "%.100s: '%.100s' is not a boolean", key, value);
	item.key = xstrdup(key);
	text = value;
	if (kind == SETTING_IS_GATES)
		text = on ? "true" : "false"; /* the flag may have another spelling, such as "T" */
	doc_set_text(&item, kind == SETTING_IS_GATES ? DOC_BOOL : DOC_STRING, text, strlen(text));
	return set_key(map, &item, err);
}

static int add_pairs(struct doc *map, char *text, enum setting_kind kind, struct err *err)
{
	for (char *pair = strsep(&text, ","); pair; pair = strsep(&text, ",")) {
		int r = *pair ? add_pair(map, pair, kind, err) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

/* "0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=1Gi" into reservedMemory's list. */
static int add_reserved_memory(struct doc *list, char *text, struct err *err)
{
	if (!*text)
		return 0;
	for (char *part = strsep(&text, ";"); part; part = strsep(&text, ";")) {
		char *limits = strchr(part, ':');
		struct doc *item;
		int r;

		if (!limits || strchr(limits + 1, ':'))
			return err_set(err, -EINVAL, "'%.100s' is not of the form node:type=quantity", part);
		*limits++ = '\0';
		item = doc_add_map(list, NULL);
		doc_set_text(doc_add(item, "numaNode"), DOC_NUMBER, part, strlen(part));
		r = add_pairs(doc_add_map(item, "limits"), limits, SETTING_IS_RESERVATIONS, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int kubelet_config_set_flag(
	struct kubelet_config *config, enum setting what, const char *text, const char *from, struct err *err)
{
	CLEANUP(freep) char *copy = xstrdup(text);
	struct doc *value = &config->values[what];
	enum setting_kind kind = settings_table[what].kind;
	int r;

	if (kind == SETTING_IS_CHOICE || kind == SETTING_IS_CPUS) {
		doc_set_text(value, DOC_STRING, text, strlen(text));
		text_set(&config->from[what], from);
		return 0;
	}
	value->kind = kind == SETTING_IS_RESERVATIONS ? DOC_LIST : DOC_MAP;
	r = kind == SETTING_IS_RESERVATIONS ? add_reserved_memory(value, copy, err)
					    : add_pairs(value, copy, kind, err);
	if (r < 0)
		return err_wrap(err, r, "%s", from);
	add_from(config, what, from);
	return 0;
}

/* ---- configuration files */

#define API_VERSION "kubelet.config.k8s.io/v1beta1"
#define KIND        "KubeletConfiguration"

static int check_member(const struct doc *fields, const char *name, const char *want, struct err *err)
{
	const struct doc *member = doc_get(fields, name);
	const char *text = doc_string(member);

	if (!text)
		return err_set(err, -EINVAL, "no " KIND ": %s is %s", name, doc_kind_name(member));
	if (strcmp(text, want) != 0)
		return err_set(err, -EINVAL, "no " KIND ": %s is '%.100s', not '%s'", name, text, want);
	return 0;
}

/* mergeDefaultEvictionSettings, false when absent. */
static int wants_default_eviction(const struct doc *fields, bool *ret, struct err *err)
{
	const struct doc *member = doc_get(fields, "mergeDefaultEvictionSettings");

	if (member && member->kind != DOC_BOOL && member->kind != DOC_NULL)
		return err_set(err, -EINVAL, "mergeDefaultEvictionSettings: a boolean expected, not %s",
			doc_kind_name(member));
	*ret = doc_is_true(member);
	return 0;
}

static int parse_fields(const char *text, size_t len, bool drop_in, struct doc *fields,
	bool *ret_default_eviction, struct err *err)
{
	int r = yaml_parse_config(text, len, drop_in, fields, err);

	if (r < 0)
		return r;
	if (fields->kind != DOC_MAP)
		return err_set(err, -EINVAL, "no " KIND " but %s", doc_kind_name(fields));
	r = check_member(fields, "apiVersion", API_VERSION, err);
	if (r < 0)
		return r;
	r = check_member(fields, "kind", KIND, err);
	return r < 0 ? r : wants_default_eviction(fields, ret_default_eviction, err);
}

int kubelet_config_parse(const char *text, size_t len, bool drop_in, const char *from,
	struct kubelet_config *config, struct err *err)
{
	CLEANUP(doc_release) struct doc fields = DOC_INIT;
	bool merge = false;
	int r = parse_fields(text, len, drop_in, &fields, &merge, err);

	if (r < 0)
		return err_wrap(err, r, "%s", from);
	r = merge_fields(config, &fields, drop_in, from, err);
	return r < 0 || drop_in ? r : add_default_eviction(config, merge, err);
}

static int read_config_file(
	const char *root, const char *path, bool drop_in, struct kubelet_config *config, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FS_FILE_MAX);
	int r = fs_read(root, path, &text, err);

	return r < 0 ? r : kubelet_config_parse(text.text, text.len, drop_in, path, config, err);
}

int kubelet_config_read(const char *root, const char *path, struct kubelet_config *config, struct err *err)
{
	return read_config_file(root, path, false, config, err);
}

/* ---- drop-ins */

static void fts_closep(FTS **fts)
{
	if (*fts)
		fts_close(*fts);
	*fts = NULL;
}

static int compare_names(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Handle one entry of the directory `dir` below `root`; fts' own path of the directory has `dir_len` bytes. */
static int visit_entry(const FTSENT *entry, size_t dir_len, const char *root, const char *dir,
	struct kubelet_config *config, struct strv *files, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(2 * PATH_MAX);

	strbuf_addf(&path, "%s%s", dir, entry->fts_path + dir_len);
	if (strbuf_error(&path) < 0)
		return err_set(err, strbuf_error(&path), "path too long");
	switch (entry->fts_info) {
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		return err_set(err, -entry->fts_errno, "cannot read '%s': %s", entry->fts_path,
			strerror(entry->fts_errno));
	case FTS_F:
	case FTS_SL:
	case FTS_SLNONE:
		if (!text_ends_with(entry->fts_name, ".conf"))
			return 0;
		strv_push(files, path.text);
		return read_config_file(root, path.text, true, config, err);
	case FTS_D:
		strv_push(files, path.text);
		return 0;
	default:
		return 0;
	}
}

/* filepath.WalkDir does not follow a symbolic link in the last component, unless a slash follows: the kubelet then reads no drop-in. */
static int resolve_drop_ins(const char *root, const char *dir, struct strbuf *path)
{
	const char *name = strrchr(dir, '/');
	CLEANUP(freep) char *parent = NULL;
	int r;

	if (!name || !name[1])
		return fs_resolve(root, dir, path);
	parent = xstrndup(dir, name == dir ? 1 : (size_t)(name - dir));
	r = fs_resolve(root, parent, path);
	if (r == 0)
		strbuf_addf(path, "%s%s", text_ends_with(path->text, "/") ? "" : "/", name + 1);
	return r < 0 ? r : strbuf_error(path);
}

int kubelet_config_read_dropins(
	const char *root, const char *dir, struct kubelet_config *config, struct strv *files, struct err *err)
{
	CLEANUP(fts_closep) FTS *fts = NULL;
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(2 * PATH_MAX);
	char *paths[2] = {NULL, NULL};
	int r = resolve_drop_ins(root, dir, &path);

	if (r < 0)
		return err_set(err, r, "cannot read '%s%s': %s", root, dir, strerror(-r));
	paths[0] = path.text;
	fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, compare_names);
	if (!fts)
		return err_set(err, -errno, "cannot read '%s': %s", path.text, strerror(errno));
	for (;;) {
		const FTSENT *entry;

		errno = 0;
		entry = fts_read(fts);
		if (!entry)
			break;
		r = visit_entry(entry, path.len, root, dir, config, files, err);
		if (r < 0)
			return r;
	}
	if (errno)
		return err_set(err, -errno, "cannot read '%s': %s", path.text, strerror(errno));
	return kubelet_config_end_drop_ins(config, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe/kubelet_k3s.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/observe/fs_root.h"
#include "agent/observe/systemd_syntax.h"
#include "common/cleanup.h"
#include "common/io/fs.h"
#include "common/io/yaml.h"
#include "common/strbuf.h"
#include "common/text.h"
#include "common/xalloc.h"

#define ARGUMENT_MAX (1024u * 1024u) /* bytes of one argument */

void k3s_options_release(struct k3s_options *o)
{
	strv_release(&o->kubelet_args);
	strv_release(&o->sources);
	freep(&o->node_name);
	freep(&o->node_name_from);
	freep(&o->data_dir);
}

static void add_kubelet_arg(struct k3s_options *o, const char *text, const char *source)
{
	strv_push(&o->kubelet_args, text);
	strv_push(&o->sources, source);
}

static void set_node_name(struct k3s_options *o, const char *name, const char *source)
{
	text_set(&o->node_name, name);
	free(o->node_name_from);
	o->node_name_from = xasprintf("node-name of %s", source);
}

/* ---- the configuration file */

static int add_argument_item(
	struct k3s_options *o, const struct doc *item, const char *source, struct err *err)
{
	const char *text = doc_string(item);

	if (!text)
		return err_set(err, -EINVAL, "%s: kubelet-arg: a string expected, not %s", source,
			doc_kind_name(item));
	add_kubelet_arg(o, text, source);
	return 0;
}

static int add_argument_list(
	struct k3s_options *o, const struct doc *list, const char *source, struct err *err)
{
	int r = 0;

	if (list->kind != DOC_LIST)
		return list->kind == DOC_NULL ? 0 : add_argument_item(o, list, source, err);
	for (size_t i = 0; r == 0 && i < list->n_items; i++)
		r = add_argument_item(o, &list->items[i], source, err);
	return r;
}

/* k3s makes "--KEY=VALUE" of each entry of the file, so that the key "kubelet-arg=v" with the value 2 passes --v=2. */
static int add_keyed(struct k3s_options *o, const struct doc *option, const char *source, struct err *err)
{
	CLEANUP(freep) char *argument = NULL;

	if (!option->text)
		return err_set(err, -EINVAL, "%s: %.100s: a string expected, not %s", source, option->key,
			doc_kind_name(option));
	argument = xasprintf("%s=%s", option->key + strlen("kubelet-arg="), option->text);
	add_kubelet_arg(o, argument, source);
	return 0;
}

static bool is_true(const struct doc *value)
{
	bool yes = false;

	return value->text && text_parse_bool(value->text, &yes) && yes;
}

static int add_option(struct k3s_options *o, const struct doc *option, const char *source, struct err *err)
{
	bool adds_args = !strcmp(option->key, "kubelet-arg+"),
	     sets_args = !strcmp(option->key, "kubelet-arg");
	bool is_node_name = !strcmp(option->key, "node-name"), is_data_dir = !strcmp(option->key, "data-dir");

	if (sets_args) {
		strv_release(&o->kubelet_args);
		strv_release(&o->sources);
	}
	if (sets_args || adds_args)
		return add_argument_list(o, option, source, err);
	if (!strncmp(option->key, "kubelet-arg=", strlen("kubelet-arg=")))
		return add_keyed(o, option, source, err);
	if ((is_node_name || is_data_dir) && option->kind != DOC_NULL && !doc_string(option))
		return err_set(err, -EINVAL, "%s: %s: a string expected, not %s", source, option->key,
			doc_kind_name(option));
	if (is_node_name && *text_or_empty(doc_string(option)))
		set_node_name(o, doc_string(option), source);
	if (is_data_dir && *text_or_empty(doc_string(option)))
		text_set(&o->data_dir, doc_string(option));
	if (!strcmp(option->key, "with-node-id"))
		o->with_node_id = is_true(option);
	if (!strcmp(option->key, "disable-agent"))
		o->disable_agent = is_true(option);
	return 0;
}

int k3s_options_add_file(
	struct k3s_options *o, const char *text, size_t len, const char *source, struct err *err)
{
	CLEANUP(doc_release) struct doc config = DOC_INIT;
	int r = yaml_parse_first(text, len, &config, err);

	if (r < 0 && r != -ENOENT)
		return err_wrap(err, r, "%s", source);
	r = 0;
	for (size_t i = 0; r == 0 && config.kind == DOC_MAP && i < config.n_items; i++)
		r = add_option(o, &config.items[i], source, err);
	return r;
}

/* A missing file is empty. 1 if it exists. */
static int read_k3s_file(struct k3s_options *o, const char *sysroot, const char *path, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FS_FILE_MAX);
	int r = fs_read(sysroot, path, &text, err);

	if (fs_is_absent(r))
		return 0;
	if (r == 0)
		r = k3s_options_add_file(o, text.text, text.len, path, err);
	return r < 0 ? r : 1;
}

static bool ends_with_fold(const char *text, const char *suffix)
{
	size_t len = strlen(text), n = strlen(suffix);

	return len >= n && !strcasecmp(text + len - n, suffix);
}

/* The directory FILE.d: its files in the order of their names. Returns how many, or -errno. */
static int read_k3s_directory(struct k3s_options *o, const char *sysroot, const char *config, struct err *err)
{
	CLEANUP(strv_release) struct strv names = {0};
	CLEANUP(freep) char *directory = xasprintf("%s.d", config);
	int n = 0, r = fs_list(sysroot, directory, &names, err);

	if (r < 0)
		return fs_is_absent(r) || r == -ENOTDIR ? 0 : r;
	for (size_t i = 0; r >= 0 && i < names.n_items; i++) {
		CLEANUP(freep) char *path = xasprintf("%s/%s", directory, names.items[i]);

		if (!ends_with_fold(path, ".yaml") && !ends_with_fold(path, ".yml"))
			continue;
		r = read_k3s_file(o, sysroot, path, err);
		n += r > 0;
	}
	return r < 0 ? r : n;
}

/* ---- the command line */

/* Whether the word sets a flag that needs no value: without "=VALUE", the value is true. */
static bool sets_flag(const char *word, const char *name)
{
	const char *words[] = {word, "true"};
	const char *value = kubelet_args_flag_value(words, 2, name);
	bool yes = false;

	return value && text_parse_bool(value, &yes) && yes;
}

/* The number of words up to the command "server" or "agent" of this program; 0 if the service runs no such command. */
static size_t count_command_words(const struct strv *words, const char *program)
{
	if (words->n_items == 0 || strcmp(text_basename(words->items[0]), program) != 0)
		return 0;
	for (size_t i = 1; i < words->n_items; i++)
		if (!strcmp(words->items[i], "server") || !strcmp(words->items[i], "agent"))
			return i + 1;
	return 0;
}

/* k3s knows --data-dir also as -d. */
static void add_service_words(
	struct k3s_options *o, const char *const *words, size_t n_words, const char *source)
{
	for (size_t i = 0; i < n_words; i++) {
		const char *argument = kubelet_args_flag_value(words + i, n_words - i, "kubelet-arg");
		const char *node_name = kubelet_args_flag_value(words + i, n_words - i, "node-name");
		const char *data_dir = kubelet_args_flag_value(words + i, n_words - i, "data-dir");

		if (!data_dir)
			data_dir = kubelet_args_flag_value(words + i, n_words - i, "d");
		if (argument)
			add_kubelet_arg(o, argument, source);
		if (node_name)
			set_node_name(o, node_name, source);
		if (data_dir)
			text_set(&o->data_dir, data_dir);
		o->with_node_id = o->with_node_id || sets_flag(words[i], "with-node-id");
		o->disable_agent = o->disable_agent || sets_flag(words[i], "disable-agent");
	}
}

/* The variable of k3s or RKE2, "K3S_NODE_NAME"; NULL if it is not set. */
static const char *find_variable(const struct service_unit *unit, const char *program, const char *name)
{
	char full[64];

	snprintf(full, sizeof(full), "%s_%s", program, name);
	for (char *p = full; *p; p++)
		*p = (char)toupper((unsigned char)*p);
	return systemd_find_variable(&unit->variables, full);
}

/* The configuration file that the service names, with precedence in its environment; NULL = the default one. */
static const char *find_k3s_config(
	const struct service_unit *unit, const char *program, const char *const *words, size_t n_words)
{
	const char *config = find_variable(unit, program, "CONFIG_FILE");

	for (size_t i = 0; (!config || !*config) && i < n_words; i++) {
		config = kubelet_args_flag_value(words + i, n_words - i, "config");
		if (!config)
			config = kubelet_args_flag_value(words + i, n_words - i, "c");
	}
	return config && *config ? config : NULL;
}

/* ---- the kubelet's arguments */

/*
 * Add one "key=value", with or without dashes. k3s appends the value to its own argument if the key ends in '+', and puts it before if
 * the key ends in '-'. k3s has no own argument of those that matter here, so the sign is only removed.
 */
static int apply_argument(const char *argument, const char *source, struct kubelet_args *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf word = STRBUF_INIT(ARGUMENT_MAX);
	const char *text = strncmp(argument, "--", 2) ? argument : argument + 2, *words[1];
	size_t key_len = strcspn(text, "="), name_len = key_len;

	while (name_len > 0 && strchr("+-", text[name_len - 1]))
		name_len--;
	strbuf_addf(&word, "--%.*s%s", (int)name_len, text, text + key_len);
	if (strbuf_error(&word) < 0)
		return err_set(err, strbuf_error(&word), "longer than allowed");
	words[0] = word.text;
	return kubelet_args_add(ret, words, 1, source, err);
}

/* "NAME-=VALUE": k3s puts the argument before the arguments that it has so far. */
static bool is_put_before(const char *argument)
{
	size_t len = strcspn(argument, "=");

	return len > 0 && argument[len - 1] == '-';
}

int k3s_options_apply(const struct k3s_options *o, struct kubelet_args *ret, struct err *err)
{
	int r = 0;

	if (o->node_name && !o->with_node_id) {
		text_set(&ret->hostname, o->node_name);
		text_set(&ret->hostname_from, o->node_name_from);
	}
	/* Each of these is put before the earlier ones, so that the last one comes first. */
	for (size_t i = o->kubelet_args.n_items; r == 0 && i > 0; i--)
		if (is_put_before(o->kubelet_args.items[i - 1]))
			r = apply_argument(o->kubelet_args.items[i - 1], o->sources.items[i - 1], ret, err);
	for (size_t i = 0; r == 0 && i < o->kubelet_args.n_items; i++)
		if (!is_put_before(o->kubelet_args.items[i]))
			r = apply_argument(o->kubelet_args.items[i], o->sources.items[i], ret, err);
	return r;
}

/* The files are read in the order in which k3s adds them. */
static int read_k3s_files(struct k3s_options *o, const char *sysroot, const char *program, const char *named,
	char **gap, struct err *err)
{
	CLEANUP(freep)
	char *config = named ? xasprintf("%s%s", *named == '/' ? "" : "/", named)
			     : xasprintf("/etc/rancher/%s/config.yaml", program);
	int n = read_k3s_file(o, sysroot, config, err), more;

	if (n < 0)
		return n;
	more = read_k3s_directory(o, sysroot, config, err);
	if (named && n + more == 0)
		*gap = xasprintf("the configuration file '%s' does not exist", config);
	return more < 0 ? more : 0;
}

/* Read what the service `unit` and its configuration files say, in the order of k3s: a later source replaces an earlier one.
 * 1; 0 if the service runs no kubelet; -errno. */
static int read_k3s_service(struct k3s_options *o, const char *sysroot, const char *program,
	const struct service_unit *unit, const char *unit_name, char **gap, struct err *err)
{
	size_t skip = count_command_words(&unit->words, program), n_words = unit->words.n_items - skip;
	const char *const *words = (const char *const *)unit->words.items + skip;
	const char *node_name, *data_dir;
	int r;

	if (skip == 0)
		return 0;
	node_name = find_variable(unit, program, "NODE_NAME");
	if (node_name && *node_name)
		set_node_name(o, node_name, unit_name);
	data_dir = find_variable(unit, program, "DATA_DIR");
	if (data_dir && *data_dir)
		text_set(&o->data_dir, data_dir);
	r = read_k3s_files(o, sysroot, program, find_k3s_config(unit, program, words, n_words), gap, err);
	if (r < 0)
		return r;
	add_service_words(o, words, n_words, unit_name);
	return o->disable_agent ? 0 : 1;
}

int kubelet_k3s_read(const char *sysroot, const char *program, const struct service_unit *unit,
	const char *unit_name, struct kubelet_args *ret, char **gap, struct err *err)
{
	CLEANUP(k3s_options_release) struct k3s_options options = {.node_name = NULL};
	int r;

	if (unit) {
		r = read_k3s_service(&options, sysroot, program, unit, unit_name, gap, err);
		if (r <= 0)
			return r;
	} else {
		r = read_k3s_files(&options, sysroot, program, NULL, gap, err);
	}
	if (r >= 0)
		r = k3s_options_apply(&options, ret, err);
	/* The kubelet's drop-ins that k3s itself writes and passes. */
	if (r == 0 && !ret->config_dir)
		ret->config_dir =
			options.data_dir ? xasprintf("%s/agent/etc/kubelet.conf.d", options.data_dir)
					 : xasprintf("/var/lib/rancher/%s/agent/etc/kubelet.conf.d", program);
	return r < 0 ? r : 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe/kubelet_args.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/observe/systemd_syntax.h"
#include "common/cleanup.h"
#include "common/strbuf.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define TEXT_MAX (1024u * 1024u) /* bytes of a line of arguments */
#define BLANKS   " \t\r\n"

void kubelet_args_release(struct kubelet_args *a)
{
	kubelet_config_release(&a->flags);
	free(a->config);
	free(a->config_dir);
	free(a->root_dir);
	free(a->hostname);
	free(a->hostname_from);
	*a = (struct kubelet_args){0};
}

/* ---- flags */

/* The member for the value of a flag that is a path or the host's name, or NULL. As for the kubelet, '_' counts as '-'. */
static char **find_text_flag(struct kubelet_args *a, const char *name, size_t len)
{
	const struct {
		const char *name;
		char **value;
	} members[] = {{"config", &a->config}, {"config-dir", &a->config_dir}, {"config_dir", &a->config_dir},
		{"root-dir", &a->root_dir}, {"root_dir", &a->root_dir}, {"hostname-override", &a->hostname},
		{"hostname_override", &a->hostname}};

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (strlen(members[i].name) == len && !strncmp(members[i].name, name, len))
			return members[i].value;
	return NULL;
}

int kubelet_args_add(
	struct kubelet_args *a, const char *const *words, size_t n_words, const char *source, struct err *err)
{
	for (size_t i = 0; i < n_words && strcmp(words[i], "--") != 0; i++) {
		CLEANUP(strbuf_release) struct strbuf from = STRBUF_INIT(4096);
		const char *name, *value;
		size_t len;
		char **member;
		int setting, r = 0;

		if (strncmp(words[i], "--", 2) != 0)
			continue;
		name = words[i] + 2;
		len = strcspn(name, "=");
		member = find_text_flag(a, name, len);
		setting = member ? -1 : kubelet_config_find_flag(name, len);
		if (!member && setting < 0)
			continue;
		value = name[len] ? name + len + 1 : NULL;
		if (!value && i + 1 < n_words)
			value = words[++i];
		if (!value)
			return err_set(err, -EINVAL, "%s: --%.100s has no value", source, name);
		strbuf_addf(&from, "--%.*s of %s", (int)len, name, source);
		if (strbuf_error(&from) < 0)
			return err_set(err, strbuf_error(&from), "longer than allowed");
		if (member)
			text_set(member, value);
		if (member == &a->hostname)
			text_set(&a->hostname_from, from.text);
		if (!member)
			r = kubelet_config_set_flag(&a->flags, (enum setting)setting, value, from.text, err);
		if (r < 0)
			return r;
	}
	return 0;
}

const char *kubelet_args_flag_value(const char *const *words, size_t n_words, const char *name)
{
	const char *word = words[0];
	size_t len = strlen(name);

	if (word[0] != '-')
		return NULL;
	word += word[1] == '-' ? 2 : 1;
	if (strncmp(word, name, len) != 0 || (word[len] && word[len] != '='))
		return NULL;
	if (word[len] == '=')
		return word + len + 1;
	return n_words > 1 ? words[1] : NULL;
}

/* ---- servers */

/* As pflag compares names: with '_' as '-'. */
static bool is_flag_named(const char *word, const char *name)
{
	size_t n = strlen(name);

	if (strncmp(word, "--", 2) != 0)
		return false;
	word += 2;
	for (size_t i = 0; i < n; i++)
		if ((word[i] == '_' ? '-' : word[i]) != name[i])
			return false;
	return word[n] == '\0' || word[n] == '=';
}

/* Whether the kubelet ends after this flag. --version=v1.2.3 only sets the version that it reports. */
static bool ends_after(const char *word)
{
	static const char *const values[] = {"0", "f", "F", "false", "FALSE", "False"};
	const char *value = strchr(word, '=');

	if (strcmp(word, "-h") != 0 && !is_flag_named(word, "help") && !is_flag_named(word, "version"))
		return false;
	for (size_t i = 0; value && i < ARRAY_SIZE(values); i++)
		if (!strcmp(value + 1, values[i]))
			return false;
	return !(value && is_flag_named(word, "version") && value[1] == 'v');
}

static bool starts_server(const char *word)
{
	static const char *const names[] = {"config", "config-dir", "kubeconfig", "bootstrap-kubeconfig",
		"pod-manifest-path", "manifest-url", "root-dir"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (is_flag_named(word, names[i]))
			return true;
	return !strncmp(word, "--", 2) && kubelet_config_find_flag(word + 2, strcspn(word + 2, "=")) >= 0;
}

bool kubelet_args_start_server(const char *const *words, size_t n_words)
{
	bool server = false;

	for (size_t i = 0; i < n_words && strcmp(words[i], "--") != 0; i++) {
		if (ends_after(words[i]))
			return false;
		server = server || starts_server(words[i]);
	}
	return server;
}

/* ---- texts */

static int add_argument_words(struct kubelet_args *a, const char *text, const char *source, struct err *err)
{
	CLEANUP(strv_release) struct strv words = {0};
	CLEANUP(strbuf_release) struct strbuf word = STRBUF_INIT(TEXT_MAX);

	for (; systemd_next_word(&text, SYSTEMD_VARIABLE, &word) > 0; strbuf_reset(&word)) {
		if (strbuf_error(&word) < 0)
			return err_set(err, strbuf_error(&word), "%s: longer than allowed", source);
		strv_push(&words, word.text);
	}
	return kubelet_args_add(a, (const char *const *)words.items, words.n_items, source, err);
}

int kubelet_args_add_variables(
	struct kubelet_args *a, const struct strv *variables, const char *source, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < variables->n_items; i++) {
		const char *value = strchr(variables->items[i], '=') + 1;
		const char *name = strstr(variables->items[i], "KUBELET_");

		if (name && name < value)
			r = add_argument_words(a, value, source, err);
	}
	return r;
}

static int check_flag_text(const char *text, size_t len, const char *source, struct err *err)
{
	return memchr(text, '\0', len) ? err_set(err, -EINVAL, "%s: has a NUL byte", source) : 0;
}

int kubelet_args_add_env(
	struct kubelet_args *a, const char *text, size_t len, const char *source, struct err *err)
{
	CLEANUP(strv_release) struct strv variables = {0};
	int r = check_flag_text(text, len, source, err);

	if (r < 0)
		return r;
	systemd_add_environment(&variables, text);
	return kubelet_args_add_variables(a, &variables, source, err);
}

/* The value of the variable in the pairs of kubelet_args_add_file(); NULL = no such variable. */
static const char *find_replacement(const char *const *variables, const char *name, size_t len)
{
	for (; *variables; variables += 2)
		if (strlen(*variables) == len && !strncmp(*variables, name, len))
			return variables[1];
	return NULL;
}

/* Replace "$NAME" and "${NAME}" of the variables by their values. Everything else stays. */
static void expand_variables(const char *text, const char *const *variables, struct strbuf *out)
{
	while (*text) {
		bool has_braces = text[0] == '$' && text[1] == '{';
		const char *name = text + (has_braces ? 2 : 1);
		size_t len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
		const char *value = *text == '$' ? find_replacement(variables, name, len) : NULL;

		if (!value || (has_braces && name[len] != '}')) {
			strbuf_addch(out, *text++);
			continue;
		}
		strbuf_addstr(out, value);
		text = name + len + (has_braces ? 1 : 0);
	}
}

/* Append the lines that are no comments, without quotes: kubelite removes every quote, and splits at blanks. */
static void add_lines(const char *text, struct strbuf *out)
{
	for (; *text; text += *text == '\n') {
		size_t len = strcspn(text, "\n");
		bool comment = text[strspn(text, " \t")] == '#';

		for (size_t i = 0; !comment && i < len; i++)
			if (text[i] != '"' && text[i] != '\'')
				strbuf_addch(out, text[i]);
		if (!comment)
			strbuf_addch(out, '\n');
		text += len;
	}
}

static void split_at_blanks(const char *text, struct strv *words)
{
	for (text += strspn(text, BLANKS); *text; text += strspn(text, BLANKS)) {
		size_t len = strcspn(text, BLANKS);

		strv_take(words, xstrndup(text, len));
		text += len;
	}
}

int kubelet_args_add_file(struct kubelet_args *a, const char *text, size_t len, const char *const *variables,
	const char *source, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf lines = STRBUF_INIT(TEXT_MAX);
	CLEANUP(strbuf_release) struct strbuf expanded = STRBUF_INIT(TEXT_MAX);
	CLEANUP(strv_release) struct strv words = {0};
	int r = check_flag_text(text, len, source, err);

	if (r < 0)
		return r;
	add_lines(text, &lines);
	if (strbuf_error(&lines) == 0)
		expand_variables(lines.text, variables, &expanded);
	if (strbuf_error(&lines) < 0 || strbuf_error(&expanded) < 0)
		return err_set(err, -EFBIG, "%s: longer than allowed", source);
	split_at_blanks(expanded.text, &words);
	return kubelet_args_add(a, (const char *const *)words.items, words.n_items, source, err);
}

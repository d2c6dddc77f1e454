/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/observe/settings_args.h"

#include <errno.h>

#include "agent/base/yaml.h"
#include "common/cleanup.h"
#include "common/strbuf.h"
#include "common/strv.h"
#include "common/text.h"

#define TEXT_MAX (1024u * 1024u) /* bytes of a line of arguments */
#define BLANKS   " \t\r\n"

void kubelet_args_release(struct kubelet_args *a)
{
	settings_raw_release(&a->flags);
	free(a->config);
	free(a->config_dir);
	free(a->root_dir);
	*a = (struct kubelet_args){0};
}

/* ---- flags */

/* Where the value of a flag that is a path goes, NULL when it is not one of those. */
static char **path_flag(struct kubelet_args *a, const char *name, size_t len)
{
	const struct {
		const char *name;
		char **value;
	} paths[] = {{"config", &a->config}, {"config-dir", &a->config_dir}, {"config_dir", &a->config_dir},
		{"root-dir", &a->root_dir}, {"root_dir", &a->root_dir}};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (strlen(paths[i].name) == len && !strncmp(paths[i].name, name, len))
			return paths[i].value;
	return NULL;
}

int kubelet_args_add(
	struct kubelet_args *a, const char *const *words, size_t n_words, const char *source, struct err *err)
{
	for (size_t i = 0; i < n_words && strcmp(words[i], "--") != 0; i++) {
		CLEANUP(strbuf_release) struct strbuf from = STRBUF_INIT(4096);
		const char *name, *value;
		size_t len;
		char **path;
		int what, r;

		if (strncmp(words[i], "--", 2) != 0)
			continue;
		name = words[i] + 2;
		len = strcspn(name, "=");
		path = path_flag(a, name, len);
		what = path ? -1 : settings_flag_find(name, len);
		if (!path && what < 0)
			continue;
		value = name[len] ? name + len + 1 : i + 1 < n_words ? words[++i] : NULL;
		if (!value)
			return err_set(err, -EINVAL, "%s: --%.100s has no value", source, name);
		strbuf_addf(&from, "--%.*s of %s", (int)len, name, source);
		if (strbuf_error(&from) < 0)
			return err_set(err, strbuf_error(&from), "longer than allowed");
		if (path) {
			text_set(path, value);
			r = 0;
		} else
			r = settings_raw_flag(&a->flags, (enum setting)what, value, from.text, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- words of a text */

/*
 * Read from *p to the next character of `ends` that is not quoted, dropping quotes and the backslashes that
 * escape, and a backslash with the line's end behind it. *p is left at the end.
 */
static void unquote(const char **p, const char *ends, struct strbuf *out)
{
	char quote = '\0';

	for (; **p && (quote || !strchr(ends, **p)); (*p)++) {
		char c = **p;

		if (quote && c == quote) {
			quote = '\0';
		} else if (!quote && (c == '"' || c == '\'')) {
			quote = c;
		} else if (c == '\\' && quote != '\'' && (*p)[1]) {
			(*p)++;
			if (**p != '\n')
				strbuf_addch(out, **p);
		} else {
			strbuf_addch(out, c);
		}
	}
}

static void split(const char *text, struct strv *words)
{
	for (text += strspn(text, BLANKS); *text; text += strspn(text, BLANKS)) {
		CLEANUP(strbuf_release) struct strbuf word = STRBUF_INIT(TEXT_MAX);

		unquote(&text, BLANKS, &word);
		strv_take(words, strbuf_detach(&word));
	}
}

static int add_words(struct kubelet_args *a, const char *text, const char *source, struct err *err)
{
	CLEANUP(strv_release) struct strv words = {0};

	split(text, &words);
	return kubelet_args_add(a, (const char *const *)words.items, words.n_items, source, err);
}

static int check_text(const char *text, size_t len, const char *source, struct err *err)
{
	return memchr(text, '\0', len) ? err_set(err, -EINVAL, "%s: has a NUL byte", source) : 0;
}

/* ---- files */

int kubelet_args_add_env(
	struct kubelet_args *a, const char *text, size_t len, const char *source, struct err *err)
{
	int r = check_text(text, len, source, err);
	const char *p = text;

	for (p += strspn(p, BLANKS); r == 0 && *p; p += strspn(p, BLANKS)) {
		CLEANUP(strbuf_release) struct strbuf value = STRBUF_INIT(TEXT_MAX);
		size_t name = strcspn(p, "=\n");
		bool wanted = !strncmp(p, "KUBELET_", 8) && p[name] == '=';

		if (*p == '#' || *p == ';' || p[name] != '=') {
			p += strcspn(p, "\n");
			continue;
		}
		p += name + 1;
		unquote(&p, "\n", &value);
		if (strbuf_error(&value) < 0)
			return err_set(err, strbuf_error(&value), "longer than allowed");
		if (wanted)
			r = add_words(a, value.text, source, err);
	}
	return r;
}

/* Put the values in for the variables. */
static void expand(const char *text, const char *const *variables, struct strbuf *out)
{
	while (*text) {
		bool braces = text[0] == '$' && text[1] == '{';
		const char *name = text + (braces ? 2 : 1), *const *v = variables;
		size_t len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");

		while (*text == '$' && *v && (strlen(*v) != len || strncmp(*v, name, len) != 0))
			v += 2;
		if (*text != '$' || !*v || (braces && name[len] != '}')) {
			strbuf_addch(out, *text++);
			continue;
		}
		strbuf_addstr(out, v[1]);
		text = name + len + braces;
	}
}

int kubelet_args_add_file(struct kubelet_args *a, const char *text, size_t len, const char *const *variables,
	const char *source, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf lines = STRBUF_INIT(TEXT_MAX);
	CLEANUP(strbuf_release) struct strbuf expanded = STRBUF_INIT(TEXT_MAX);
	int r = check_text(text, len, source, err);

	if (r < 0)
		return r;
	for (const char *p = text; *p; p += *p == '\n') {
		size_t line = strcspn(p, "\n");

		if (p[strspn(p, " \t")] != '#') {
			strbuf_add(&lines, p, line);
			strbuf_addch(&lines, '\n');
		}
		p += line;
	}
	if (strbuf_error(&lines) == 0)
		expand(lines.text, variables, &expanded);
	if (strbuf_error(&lines) < 0 || strbuf_error(&expanded) < 0)
		return err_set(err, -EFBIG, "longer than allowed");
	return add_words(a, expanded.text, source, err);
}

/* One "key=value" of kubelet-arg, with or without the flag's dashes. */
static int add_k3s_argument(
	struct kubelet_args *a, const struct doc *item, const char *source, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf word = STRBUF_INIT(TEXT_MAX);
	const char *text = doc_string(item), *words[1];

	if (!text)
		return err_set(err, -EINVAL, "%s: kubelet-arg: a string expected, not %s", source,
			doc_kind_name(item));
	strbuf_addf(&word, "%s%s", strncmp(text, "--", 2) ? "--" : "", text);
	if (strbuf_error(&word) < 0)
		return err_set(err, strbuf_error(&word), "longer than allowed");
	words[0] = word.text;
	return kubelet_args_add(a, words, 1, source, err);
}

int kubelet_args_add_k3s(
	struct kubelet_args *a, const char *text, size_t len, const char *source, struct err *err)
{
	CLEANUP(doc_release) struct doc config = DOC_INIT;
	const struct doc *set, *added;
	int r = yaml_parse_first(text, len, &config, err);

	if (r < 0 && r != -ENOENT)
		return err_wrap(err, r, "%s", source);
	set = doc_get(&config, "kubelet-arg");
	added = doc_get(&config, "kubelet-arg+");
	if (set)
		kubelet_args_release(a);
	for (int i = 0; i < 2; i++) {
		const struct doc *list = i == 0 ? set : added;

		r = 0;
		if (!list || list->kind == DOC_NULL)
			continue;
		if (list->kind != DOC_LIST)
			r = add_k3s_argument(a, list, source, err);
		for (size_t n = 0; r == 0 && list->kind == DOC_LIST && n < list->n_items; n++)
			r = add_k3s_argument(a, &list->items[n], source, err);
		if (r < 0)
			return r;
	}
	return 0;
}

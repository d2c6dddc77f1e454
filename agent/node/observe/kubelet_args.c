/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/observe/kubelet_args.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/base/fs.h"
#include "agent/base/yaml.h"
#include "agent/node/observe/fs_root.h"
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
	*a = (struct kubelet_args){0};
}

/* ---- flags */

/* The member for the value of a flag that is a path, or NULL. */
static char **find_path_flag(struct kubelet_args *a, const char *name, size_t len)
{
	const struct {
		const char *name;
		char **value;
	} paths[] = {{"config", &a->config}, {"config-dir", &a->config_dir}, {"config_dir", &a->config_dir},
		{"root-dir", &a->root_dir}, {"root_dir", &a->root_dir}, {"hostname-override", &a->hostname},
		{"hostname_override", &a->hostname}};

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
		int what, r = 0;

		if (strncmp(words[i], "--", 2) != 0)
			continue;
		name = words[i] + 2;
		len = strcspn(name, "=");
		path = find_path_flag(a, name, len);
		what = path ? -1 : kubelet_config_find_flag(name, len);
		if (!path && what < 0)
			continue;
		value = name[len] ? name + len + 1 : i + 1 < n_words ? words[++i] : NULL;
		if (!value)
			return err_set(err, -EINVAL, "%s: --%.100s has no value", source, name);
		strbuf_addf(&from, "--%.*s of %s", (int)len, name, source);
		if (strbuf_error(&from) < 0)
			return err_set(err, strbuf_error(&from), "longer than allowed");
		if (path)
			text_set(path, value);
		else
			r = kubelet_config_set_flag(&a->flags, (enum setting)what, value, from.text, err);
		if (r < 0)
			return r;
	}
	return 0;
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

/* ---- words of a text */

/*
 * Read from *p to the next unquoted character of `ends`, without quotes, escaping backslashes and escaped
 * ends of line. *p is then that character.
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

static void split_words(const char *text, struct strv *words)
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

	split_words(text, &words);
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

/* Replace the variables by their values. */
static void expand_variables(const char *text, const char *const *variables, struct strbuf *out)
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
		expand_variables(lines.text, variables, &expanded);
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

/* The name that k3s gives its kubelet; unknown if k3s appends an id of its own to the name. */
static int set_k3s_name(struct kubelet_args *a, const struct doc *config, const char *source, struct err *err)
{
	const struct doc *name = doc_get(config, "node-name"), *with_id = doc_get(config, "with-node-id");

	if (!name || name->kind == DOC_NULL)
		return 0;
	if (!doc_string(name))
		return err_set(err, -EINVAL, "%s: node-name: a string expected, not %s", source,
			doc_kind_name(name));
	if (with_id && with_id->text && !strcmp(with_id->text, "true"))
		freep(&a->hostname);
	else
		text_set(&a->hostname, doc_string(name));
	return 0;
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
	if (set) {
		char *name = TAKE(a->hostname);

		kubelet_args_release(a);
		a->hostname = name;
	}
	r = set_k3s_name(a, &config, source, err);
	if (r < 0)
		return r;
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

/* ---- where distributions put the kubelet's configuration */

#define MAX_FILES 4

enum format {
	FORMAT_ENV,   /* environment file of the unit */
	FORMAT_ARGS,  /* one flag per line */
	FORMAT_K3S,   /* k3s' and RKE2's configuration, kubelet-arg in it; FILE.d/ *.yaml after it */
	FORMAT_SIZING /* OpenShift's node sizing: SYSTEM_RESERVED_CPU=, SYSTEM_RESERVED_MEMORY= */
};

struct flag_file {
	const char *path;
	enum format format;
};

struct distribution {
	const char *config;     /* KubeletConfiguration, or NULL */
	const char *config_dir; /* drop-ins that the unit names, or NULL */
	const char *root_dir;
	struct flag_file files[MAX_FILES]; /* later files override earlier files */
	bool by_files;                     /* each of its flag files proves the distribution */
	bool by_kind; /* other distributions use `config`'s path for another kind of file */
};

/* kubeadm's unit: "$KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS". */
#define KUBEADM_FILES                                                                                     \
	{                                                                                                 \
		{"/var/lib/kubelet/kubeadm-flags.env", FORMAT_ENV}, {"/etc/default/kubelet", FORMAT_ENV}, \
			{"/etc/sysconfig/kubelet", FORMAT_ENV},                                           \
	}

/* In order: rows whose configuration cannot be another distribution's first. */
static const struct distribution distributions[] = {
	/* k3s */
	{.config_dir = "/var/lib/rancher/k3s/agent/etc/kubelet.conf.d",
		.root_dir = KUBELET_ROOT,
		.files = {{"/etc/rancher/k3s/config.yaml", FORMAT_K3S}},
		.by_files = true},
	/* RKE2 */
	{.config_dir = "/var/lib/rancher/rke2/agent/etc/kubelet.conf.d",
		.root_dir = KUBELET_ROOT,
		.files = {{"/etc/rancher/rke2/config.yaml", FORMAT_K3S}},
		.by_files = true},
	/* MicroK8s */
	{.root_dir = "/var/snap/microk8s/common/var/lib/kubelet",
		.files = {{"/var/snap/microk8s/current/args/kubelet", FORMAT_ARGS}},
		.by_files = true},
	/* k0s */
	{.config = "/var/lib/k0s/kubelet-config.yaml", .root_dir = "/var/lib/k0s/kubelet"},
	/* EKS (nodeadm) */
	{.config = "/etc/kubernetes/kubelet/config.json",
		.config_dir = "/etc/kubernetes/kubelet/config.json.d",
		.root_dir = KUBELET_ROOT},
	/* EKS */
	{.config = "/etc/kubernetes/kubelet/kubelet-config.json", .root_dir = KUBELET_ROOT},
	/* Bottlerocket */
	{.config = "/etc/kubernetes/kubelet/config", .root_dir = KUBELET_ROOT},
	/* GKE */
	{.config = "/home/kubernetes/kubelet-config.yaml",
		.root_dir = KUBELET_ROOT,
		.files = {{"/etc/default/kubelet", FORMAT_ENV}}},
	/* AKS */
	{.config = "/etc/default/kubeletconfig.json",
		.root_dir = KUBELET_ROOT,
		.files = {{"/etc/default/kubelet", FORMAT_ENV}}},
	/* Talos */
	{.config = "/etc/kubernetes/kubelet.yaml", .root_dir = KUBELET_ROOT},
	/* kubeadm */
	{.config = "/var/lib/kubelet/config.yaml", .root_dir = KUBELET_ROOT, .files = KUBEADM_FILES},
	/* OpenShift; kubeadm and kubespray have a kubeconfig there */
	{.config = "/etc/kubernetes/kubelet.conf",
		.config_dir = "/etc/openshift/kubelet.conf.d",
		.root_dir = KUBELET_ROOT,
		.files = {{"/etc/node-sizing.env", FORMAT_SIZING}},
		.by_kind = true},
};

/* True also for a file that cannot be read, so that the failure is reported later. */
static bool is_kubelet_configuration(const char *sysroot, const char *path)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FS_FILE_MAX);
	struct err err;

	return fs_read(sysroot, path, &text, &err) < 0 || strstr(text.text, "KubeletConfiguration");
}

/* 1 or 0; -errno if nrtd cannot tell now. A path that permissions hide does not prove a distribution. */
static int look_for(const char *sysroot, const char *path, struct err *err)
{
	int r = fs_lookup(sysroot, path, err);

	return fs_is_transient(r) ? r : r > 0;
}

static int is_installed(const struct distribution *d, const char *sysroot, struct err *err)
{
	int r;

	if (d->config) {
		r = look_for(sysroot, d->config, err);
		return r > 0 ? !d->by_kind || is_kubelet_configuration(sysroot, d->config) : r;
	}
	r = d->config_dir ? look_for(sysroot, d->config_dir, err) : 0;
	for (size_t i = 0; r == 0 && d->by_files && i < MAX_FILES && d->files[i].path; i++)
		r = look_for(sysroot, d->files[i].path, err);
	return r;
}

/* 1 and *ret; 0 if there is none; or -errno. */
static int find_distribution(const char *sysroot, const struct distribution **ret, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(distributions); i++) {
		int r = is_installed(&distributions[i], sysroot, err);

		*ret = &distributions[i];
		if (r != 0)
			return r;
	}
	return 0;
}

/* ---- flag files */

/* OpenShift's unit passes --system-reserved=cpu=${SYSTEM_RESERVED_CPU},memory=${SYSTEM_RESERVED_MEMORY}. */
static int add_sizing(struct kubelet_args *a, const char *text, const char *source, struct err *err)
{
	static const struct {
		const char *variable, *resource;
	} known[] = {{"SYSTEM_RESERVED_CPU=", "cpu"}, {"SYSTEM_RESERVED_MEMORY=", "memory"}};
	CLEANUP(strbuf_release) struct strbuf flag = STRBUF_INIT(FS_FILE_MAX);
	const char *words[1];

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
		for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
			const char *value = line + strlen(known[i].variable);

			if (!strncmp(line, known[i].variable, strlen(known[i].variable)))
				strbuf_addf(&flag, "%s%s=%.*s",
					flag.len ? "," : "--system-reserved=", known[i].resource,
					(int)strcspn(value, "\n\r "), value);
		}
	if (strbuf_error(&flag) < 0)
		return err_set(err, strbuf_error(&flag), "longer than allowed");
	words[0] = flag.text;
	return flag.len ? kubelet_args_add(a, words, 1, source, err) : 0;
}

static int add_text(struct kubelet_args *a, const struct flag_file *file, const char *source,
	const struct strbuf *text, struct err *err)
{
	static const char *const snap[] = {
		"SNAP_COMMON", "/var/snap/microk8s/common", "SNAP_DATA", "/var/snap/microk8s/current", NULL};

	switch (file->format) {
	case FORMAT_ENV:
		return kubelet_args_add_env(a, text->text, text->len, source, err);
	case FORMAT_ARGS:
		return kubelet_args_add_file(a, text->text, text->len, snap, source, err);
	case FORMAT_K3S:
		return kubelet_args_add_k3s(a, text->text, text->len, source, err);
	case FORMAT_SIZING:
	default:
		return add_sizing(a, text->text, source, err);
	}
}

/* A missing file is empty. */
static int add_file(struct kubelet_args *a, const struct flag_file *file, const char *sysroot,
	const char *path, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FS_FILE_MAX);
	int r = fs_read(sysroot, path, &text, err);

	if (fs_is_absent(r))
		return 0;
	return r < 0 ? r : add_text(a, file, path, &text, err);
}

/* Add the files of the directory path + ".d" that end in ".yaml", ascending. A directory that is missing is
 * empty. */
static int add_directory(
	struct kubelet_args *a, const struct flag_file *file, const char *sysroot, struct err *err)
{
	CLEANUP(strv_release) struct strv names = {0};
	CLEANUP(freep) char *dir = xasprintf("%s.d", file->path);
	int r = fs_list(sysroot, dir, &names, err);

	if (r < 0)
		return fs_is_absent(r) || r == -ENOTDIR ? 0 : r;
	for (size_t i = 0; i < names.n_items; i++) {
		CLEANUP(freep) char *path = xasprintf("%s/%s", dir, names.items[i]);

		r = text_ends_with(path, ".yaml") ? add_file(a, file, sysroot, path, err) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

/* *path becomes that of a file or directory of the distribution, if it exists and no flag names another one. */
static int set_path(const char *sysroot, const char *usual, char **path, struct err *err)
{
	int r = !*path && usual ? look_for(sysroot, usual, err) : 0;

	if (r > 0)
		*path = xstrdup(usual);
	return r < 0 ? r : 0;
}

int kubelet_args_read_distribution(const char *sysroot, struct kubelet_args *ret, struct err *err)
{
	const struct distribution *d;
	int found = find_distribution(sysroot, &d, err), r = 0;

	if (found <= 0)
		return found;
	for (size_t i = 0; i < MAX_FILES && d->files[i].path; i++) {
		r = add_file(ret, &d->files[i], sysroot, d->files[i].path, err);
		if (r == 0 && d->files[i].format == FORMAT_K3S)
			r = add_directory(ret, &d->files[i], sysroot, err);
		if (r < 0)
			return r;
	}
	r = set_path(sysroot, d->config, &ret->config, err);
	if (r == 0)
		r = set_path(sysroot, d->config_dir, &ret->config_dir, err);
	if (r < 0)
		return r;
	if (!ret->root_dir)
		ret->root_dir = xstrdup(d->root_dir);
	return 1;
}

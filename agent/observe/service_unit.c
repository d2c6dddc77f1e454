/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe/service_unit.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "agent/observe/fs_root.h"
#include "agent/observe/systemd_syntax.h"
#include "common/cleanup.h"
#include "common/io/fs.h"
#include "common/strbuf.h"
#include "common/text.h"
#include "common/xalloc.h"

#define MAX_DROP_INS          256
#define MAX_ENVIRONMENT_FILES 64
#define MAX_WORDS             4096
#define BLANKS                " \t\n\r"

/* The directories of the system's units, the first has precedence (systemd.unit(5); src/basic/path-lookup.c). */
static const char *const directories[] = {"/etc/systemd/system.control", "/run/systemd/system.control",
	"/run/systemd/transient", "/run/systemd/generator.early", "/etc/systemd/system",
	"/etc/systemd/system.attached", "/run/systemd/system", "/run/systemd/system.attached",
	"/run/systemd/generator", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
	"/lib/systemd/system", "/run/systemd/generator.late"};

/* ---- the list of services */

void service_units_release(struct service_units *units)
{
	for (int i = 0; i < SERVICE_STATE_COUNT; i++)
		strv_release(&units->names[i]);
}

/* List a directory, which may be missing or hidden. 0, or -errno of a transient failure. */
static int list_directory(const char *sysroot, const char *path, struct strv *ret, struct err *err)
{
	int r = fs_list(sysroot, path, ret, err);

	return fs_is_transient(r) ? r : 0;
}

/* Add the names that end in ".service" to those of `state`. */
static void add_services(
	struct service_units *units, enum service_state state, const struct strv *names, const char *prefix)
{
	for (size_t i = 0; i < names->n_items; i++)
		if (!strncmp(names->items[i], prefix, strlen(prefix)) &&
			text_ends_with(names->items[i], ".service"))
			strv_push(&units->names[state], names->items[i] + strlen(prefix));
}

/* Add the services that the units of this directory want or require: the links in the directories "UNIT.wants", "UNIT.requires". */
static int add_enabled(const char *sysroot, const char *directory, const struct strv *entries,
	struct service_units *units, struct err *err)
{
	for (size_t i = 0; i < entries->n_items; i++) {
		CLEANUP(strv_release) struct strv links = {0};
		CLEANUP(freep) char *path = xasprintf("%s/%s", directory, entries->items[i]);
		int r;

		if (!text_ends_with(path, ".wants") && !text_ends_with(path, ".requires"))
			continue;
		r = list_directory(sysroot, path, &links, err);
		if (r < 0)
			return r;
		add_services(units, SERVICE_ENABLED, &links, "");
	}
	return 0;
}

/* Drop-ins alone are no unit, but the unit file may be one that nrtd does not see. */
static void add_drop_ins(struct service_units *units, const struct strv *entries)
{
	for (size_t i = 0; i < entries->n_items; i++)
		if (text_ends_with(entries->items[i], ".service.d") && entries->items[i][0] != '.')
			strv_take(&units->names[SERVICE_PRESENT],
				xstrndup(entries->items[i], strlen(entries->items[i]) - strlen(".d")));
}

int service_units_list(const char *sysroot, struct service_units *ret, struct err *err)
{
	CLEANUP(strv_release) struct strv running = {0};
	int r = list_directory(sysroot, "/run/systemd/units", &running, err);

	/* systemd keeps a link "invocation:NAME" there as long as a unit is active (unit_export_invocation_id()). */
	add_services(ret, SERVICE_RUNNING, &running, "invocation:");
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(directories); i++) {
		CLEANUP(strv_release) struct strv entries = {0};

		r = list_directory(sysroot, directories[i], &entries, err);
		add_services(ret, SERVICE_PRESENT, &entries, "");
		add_drop_ins(ret, &entries);
		if (r == 0)
			r = add_enabled(sysroot, directories[i], &entries, ret, err);
	}
	for (int i = 0; i < SERVICE_STATE_COUNT; i++)
		strv_sort_unique(&ret->names[i]);
	return r;
}

/* ---- one service */

void service_unit_release(struct service_unit *unit)
{
	strv_release(&unit->words);
	strv_release(&unit->variables);
	freep(&unit->gap);
}

/* A service while its files are read. */
struct reading {
	const char *sysroot, *name;
	struct service_unit *unit;
	struct strv commands;          /* the values of ExecStart= */
	struct strv environment_files; /* with '-' before a path that need not exist */
};

static void reading_release(struct reading *rd)
{
	strv_release(&rd->commands);
	strv_release(&rd->environment_files);
}

/* The first gap is kept. */
__attribute__((format(printf, 2, 3))) static void set_gap(struct service_unit *unit, const char *format, ...)
{
	va_list arguments;

	if (unit->gap)
		return;
	va_start(arguments, format);
	unit->gap = xvasprintf(format, arguments);
	va_end(arguments);
}

/* Read a file: 1; 0 if it cannot be read, and the reason is the gap unless the file does not exist; -errno of a transient failure. */
static int read_unit_text(struct reading *rd, const char *path, struct strbuf *text, struct err *err)
{
	struct err reason = {""};
	int r = fs_read(rd->sysroot, path, text, &reason);

	if (fs_is_transient(r))
		return err_set(err, r, "%s", reason.text);
	if (r < 0 && !fs_is_absent(r))
		set_gap(rd->unit, "%s", reason.text);
	if (r < 0)
		return 0;
	if (memchr(text->text, '\0', text->len))
		set_gap(rd->unit, "'%s' has a NUL byte", path);
	return 1;
}

/* ---- settings of the section [Service] */

/* As systemd does, the rest of the line is ignored from the first error on. */
static void add_assignments(struct reading *rd, const char *value, const char *path)
{
	int r = 1;

	if (!*value)
		strv_release(&rd->unit->variables);
	while (r > 0) {
		CLEANUP(strbuf_release) struct strbuf word = STRBUF_INIT(FS_FILE_MAX);
		CLEANUP(strbuf_release) struct strbuf assignment = STRBUF_INIT(2 * FS_FILE_MAX);

		r = systemd_next_word(&value, SYSTEMD_ASSIGNMENT, &word);
		if (r > 0 && !systemd_add_specifiers(word.text, rd->name, &assignment))
			set_gap(rd->unit,
				"'%s': only the running system knows a specifier of Environment=", path);
		else if (r > 0)
			systemd_set_variable(&rd->unit->variables, assignment.text);
	}
	if (r < 0)
		set_gap(rd->unit, "'%s': Environment= has a quote without its end or an unknown escape",
			path);
}

/* An empty value forgets the earlier ones. */
static void add_or_reset(struct strv *list, const char *value)
{
	if (*value)
		strv_push(list, value);
	else
		strv_release(list);
}

/* Whether the text begins with a word that is only ";", which ends a command. */
static bool is_semicolon(const char *p)
{
	return p[0] == ';' && (!p[1] || strchr(BLANKS, p[1]));
}

/* Read the next word of a command that has `n` words before it: 1; 0 at its end; -EINVAL. "\\;" is the word ";". */
static int next_command_word(const char **p, size_t n, struct strbuf *word)
{
	*p += strspn(*p, BLANKS);
	if (n > 0 && is_semicolon(*p))
		return 0;
	if (n > 0 && **p == '\\' && is_semicolon(*p + 1))
		(*p)++;
	return systemd_next_word(p, SYSTEMD_COMMAND, word);
}

/*
 * Checks the words of a command, and keeps its text for read_exec_start(). Only a Type=oneshot service, which no kubelet is, may have several
 * commands. systemd refuses a unit file with a malformed command, even if a drop-in replaces the command, and ignores a malformed command in
 * a drop-in.
 */
static void add_command(struct reading *rd, const char *value, const char *path)
{
	const char *p = value;
	int r = 1;

	for (size_t n = 0; r > 0; n++) {
		CLEANUP(strbuf_release) struct strbuf word = STRBUF_INIT(FS_FILE_MAX);

		r = next_command_word(&p, n, &word);
	}
	if (r < 0)
		set_gap(rd->unit, "'%s': ExecStart= has a quote without its end", path);
	else
		add_or_reset(&rd->commands, value);
	if (r == 0 && *p)
		set_gap(rd->unit, "'%s' has several commands in ExecStart=", path);
}

static void add_setting(struct reading *rd, const char *name, const char *value, const char *path)
{
	static const char *const unsupported[] = {
		"PassEnvironment", "UnsetEnvironment", "RootDirectory", "RootImage"};

	if (!strcmp(name, "ExecStart"))
		add_command(rd, value, path);
	else if (!strcmp(name, "EnvironmentFile"))
		add_or_reset(&rd->environment_files, value);
	else if (!strcmp(name, "Environment"))
		add_assignments(rd, value, path);
	for (size_t i = 0; *value && i < ARRAY_SIZE(unsupported); i++)
		if (!strcmp(name, unsupported[i]))
			set_gap(rd->unit, "'%s' sets %s=, which nrtd does not follow", path, name);
}

/* Adds the settings "NAME=VALUE" of the section [Service] in a unit file or drop-in. */
static void add_unit_text(struct reading *rd, const char *text, const char *path)
{
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(FS_FILE_MAX);
	bool in_service = false;

	for (; systemd_next_line(&text, &line); strbuf_reset(&line)) {
		size_t n = strcspn(line.text, "=");
		char *value = line.text + n;

		if (line.text[0] == '[')
			in_service = !strcmp(line.text, "[Service]");
		if (line.text[0] == '[' || !in_service || !*value)
			continue;
		while (n > 0 && strchr(" \t", line.text[n - 1]))
			n--;
		value += 1 + strspn(value + 1, " \t");
		line.text[n] = '\0';
		add_setting(rd, line.text, value, path);
	}
}

/* ---- files of the unit */

/* Whether the path is a link to /dev/null, which masks a unit. With "" as the sysroot the link is followed, and the file is empty. */
static bool is_masked(const char *sysroot, const char *path)
{
	CLEANUP(strbuf_release) struct strbuf resolved = STRBUF_INIT(2 * PATH_MAX);

	return fs_resolve(sysroot, path, &resolved) == 0 && text_ends_with(resolved.text, "/dev/null");
}

/* 1; 0 if there is no unit file; -errno. *ret_masked: then the unit does not exist for systemd, whatever else there is. */
static int read_unit_file(struct reading *rd, bool *ret_masked, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FS_FILE_MAX);
		CLEANUP(freep) char *path = xasprintf("%s/%s", directories[i], rd->name);
		int r = read_unit_text(rd, path, &text, err);

		*ret_masked = is_masked(rd->sysroot, path) || (r > 0 && text.len == 0);
		if (r < 0 || *ret_masked)
			return r;
		if (r > 0)
			add_unit_text(rd, text.text, path);
		/* A file that cannot be read has precedence over those of later directories, too. */
		if (r > 0 || rd->unit->gap)
			return 1;
	}
	return 0;
}

struct drop_in {
	char *name, *path;
};

struct drop_ins {
	struct drop_in *items;
	size_t n_items;
	size_t items_size;
};

static void drop_ins_release(struct drop_ins *d)
{
	for (size_t i = 0; i < d->n_items; i++) {
		free(d->items[i].name);
		free(d->items[i].path);
	}
	free(d->items);
}

/* Inserts in the order of names, in which drop-ins apply. Of files with one name the first counts. */
static void add_drop_in(struct drop_ins *d, const char *directory, const char *name)
{
	size_t at = VEC_LOWER_BOUND(d->items, d->n_items, name, name);
	struct drop_in *items;

	if (!text_ends_with(name, ".conf") || (at < d->n_items && !strcmp(d->items[at].name, name)))
		return;
	vec_push(&d->items, &d->n_items, &d->items_size, sizeof(*d->items));
	items = d->items;
	memmove(&items[at + 1], &items[at], (d->n_items - 1 - at) * sizeof(*items));
	items[at] = (struct drop_in){.name = xstrdup(name), .path = xasprintf("%s/%s", directory, name)};
}

static int add_drop_in_directory(
	struct reading *rd, const char *directory, const char *name, struct drop_ins *ret, struct err *err)
{
	CLEANUP(strv_release) struct strv names = {0};
	CLEANUP(freep) char *path = xasprintf("%s/%s.d", directory, name);
	struct err reason = {""};
	int r = fs_list(rd->sysroot, path, &names, &reason);

	if (fs_is_transient(r))
		return err_set(err, r, "%s", reason.text);
	if (r < 0 && !fs_is_absent(r) && r != -ENOTDIR)
		set_gap(rd->unit, "%s", reason.text);
	for (size_t i = 0; i < names.n_items && ret->n_items < MAX_DROP_INS; i++)
		add_drop_in(ret, path, names.items[i]);
	if (ret->n_items == MAX_DROP_INS)
		set_gap(rd->unit, "%s has %d drop-ins or more", rd->name, MAX_DROP_INS);
	return 0;
}

/* For a-b.service: the drop-ins of a-b.service.d, then those of a-.service.d. */
static int add_named_drop_ins(
	struct reading *rd, const char *directory, struct drop_ins *ret, struct err *err)
{
	size_t len = strlen(rd->name) - strlen(".service");
	int r = add_drop_in_directory(rd, directory, rd->name, ret, err);

	while (r == 0 && len > 0) {
		CLEANUP(freep) char *prefix = NULL;

		for (len--; len > 0 && rd->name[len] != '-'; len--)
			;
		prefix = xasprintf("%.*s.service", (int)len + 1, rd->name);
		r = len > 0 ? add_drop_in_directory(rd, directory, prefix, ret, err) : 0;
	}
	return r;
}

/* Drop-ins apply in the order of their names, wherever they are. The number read, or -errno. */
static int read_drop_ins(struct reading *rd, struct err *err)
{
	CLEANUP(drop_ins_release) struct drop_ins drop_ins = {0};
	int n = 0, r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(directories); i++)
		r = add_named_drop_ins(rd, directories[i], &drop_ins, err);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(directories); i++)
		r = add_drop_in_directory(rd, directories[i], "service", &drop_ins, err);
	for (size_t i = 0; r >= 0 && i < drop_ins.n_items; i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FS_FILE_MAX);

		r = read_unit_text(rd, drop_ins.items[i].path, &text, err);
		if (r > 0)
			add_unit_text(rd, text.text, drop_ins.items[i].path);
		n += r > 0;
	}
	return r < 0 ? r : n;
}

/* The variables of environment files replace those of Environment=. */
static int read_environment_file(struct reading *rd, const char *value, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(PATH_MAX);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FS_FILE_MAX);
	bool optional = *value == '-';
	int r;

	if (!systemd_add_specifiers(value + optional, rd->name, &path) || strbuf_error(&path) < 0 ||
		strpbrk(path.text, "*?[")) {
		set_gap(rd->unit, "%s: nrtd does not follow EnvironmentFile=%.200s", rd->name, value);
		return 0;
	}
	if (path.text[0] != '/') /* systemd ignores a relative path */
		return 0;
	r = read_unit_text(rd, path.text, &text, err);
	if (r > 0)
		systemd_add_environment(&rd->unit->variables, text.text);
	else if (r == 0 && !optional)
		set_gap(rd->unit, "%s needs the environment file '%s', which does not exist", rd->name,
			path.text);
	return r < 0 ? r : 0;
}

static int read_environment_files(struct reading *rd, struct err *err)
{
	int r = 0;

	if (rd->environment_files.n_items > MAX_ENVIRONMENT_FILES)
		set_gap(rd->unit, "%s has more than %d environment files", rd->name, MAX_ENVIRONMENT_FILES);
	for (size_t i = 0; r == 0 && i < rd->environment_files.n_items && i < MAX_ENVIRONMENT_FILES; i++)
		r = read_environment_file(rd, rd->environment_files.items[i], err);
	return r;
}

/* ---- the command line */

/* The options of a command, before its program (systemd.service(5), "Special executable prefixes"). */
struct command_options {
	bool own_name; /* '@': the next word is argv[0] */
	bool verbatim; /* ':': no variables are replaced */
};

static const char *read_command_prefix(const char *word, struct command_options *ret)
{
	for (; *word && strchr("-@:+!|", *word); word++) {
		ret->own_name = ret->own_name || *word == '@';
		ret->verbatim = ret->verbatim || *word == ':';
	}
	return word;
}

/* Add a word of the command. A word with an unknown specifier is dropped, and so is the flag before the word, if the word is the flag's value. */
static void add_command_word(struct reading *rd, const char *word, const struct command_options *options)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(2 * FS_FILE_MAX);
	struct strv *words = &rd->unit->words;
	size_t n = words->n_items;

	if (systemd_add_specifiers(word, rd->name, &text)) {
		if (options->verbatim || n == 0)
			strv_push(words, text.text);
		else
			systemd_expand_word(text.text, &rd->unit->variables, words);
		return;
	}
	set_gap(rd->unit, "%s: only the running system knows a specifier of '%.200s'", rd->name, word);
	if (n > 1 && word[0] != '-' && !strncmp(words->items[n - 1], "--", 2) &&
		!strchr(words->items[n - 1], '='))
		free(words->items[--words->n_items]);
}

static void read_exec_start(struct reading *rd, const char *p)
{
	struct command_options options = {.own_name = false};

	for (size_t n = 0;; n++) {
		CLEANUP(strbuf_release) struct strbuf word = STRBUF_INIT(FS_FILE_MAX);

		if (next_command_word(&p, n, &word) <= 0)
			return;
		if (rd->unit->words.n_items >= MAX_WORDS)
			break;
		if (n != 1 || !options.own_name) /* argv[0] is no argument */
			add_command_word(
				rd, n == 0 ? read_command_prefix(word.text, &options) : word.text, &options);
	}
	set_gap(rd->unit, "%s: ExecStart= has more than %d words", rd->name, MAX_WORDS);
}

static int read_whole_unit(struct reading *rd, struct err *err)
{
	bool masked = false;
	int has_file = read_unit_file(rd, &masked, err), n;

	if (has_file < 0)
		return has_file;
	if (masked)
		return 0;
	n = read_drop_ins(rd, err);
	if (n < 0 || (n == 0 && !has_file))
		return n;
	if (!has_file)
		set_gap(rd->unit, "%s has drop-ins but no unit file", rd->name);
	n = read_environment_files(rd, err);
	if (n < 0)
		return n;
	if (rd->commands.n_items != 1)
		set_gap(rd->unit, "%s has %zu ExecStart= commands, not 1", rd->name, rd->commands.n_items);
	if (rd->commands.n_items > 0)
		read_exec_start(rd, rd->commands.items[rd->commands.n_items - 1]);
	return 1;
}

int service_unit_read(const char *sysroot, const char *name, struct service_unit *ret, struct err *err)
{
	CLEANUP(reading_release) struct reading rd = {.sysroot = sysroot, .name = name, .unit = ret};
	int r = read_whole_unit(&rd, err);

	if (r <= 0)
		service_unit_release(ret);
	return r;
}

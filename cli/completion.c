/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/completion.h"

#include "common/cleanup.h"

/* Whether the commands have names. The first command of nrtd-extender has none. */
static bool has_commands(const struct program *program)
{
	return *program->commands[0]->name;
}

/* "nrtd_extender", for a shell function. */
static void add_function_name(struct strbuf *out, const struct program *program)
{
	strbuf_addch(out, '_');
	for (const char *p = program->name; *p; p++)
		strbuf_addch(out, *p == '-' ? '_' : *p);
}

/* Appends the values with spaces between them, and the texts around them. False: the flag has no list of values. */
static bool add_values(
	struct strbuf *out, const char *before, const struct option_def *def, const char *after)
{
	CLEANUP(strbuf_release) struct strbuf values = STRBUF_INIT(OPTION_VALUES_MAX);

	if (!option_values(def, &values))
		return false;
	strbuf_addstr(out, before);
	for (const char *p = values.text; *p; p++)
		strbuf_addch(out, *p == '|' ? ' ' : *p);
	strbuf_addstr(out, after);
	return true;
}

static void add_flags(struct strbuf *out, const struct program *program, const struct command_def *c)
{
	FOREACH_OPTION (def, program, c) {
		if (def->word)
			add_values(out, "", def, " ");
		strbuf_addf(out, "%s ", def->flag);
		if (def->letter)
			strbuf_addf(out, "-%c ", def->letter);
	}
}

static void add_names(struct strbuf *out, const struct program *program)
{
	FOREACH_COMMAND (c, program)
		if (*c->name)
			strbuf_addf(out, "%s ", c->name);
}

/* ---- bash */

/* "dump:--output|dump:-o) ...": completes the value of a flag. */
static void add_bash_values(struct strbuf *out, const struct command_def *c, const struct option_def *def)
{
	strbuf_addf(out, "\t%s:%s", c->name, def->flag);
	if (def->letter)
		strbuf_addf(out, " | %s:-%c", c->name, def->letter);
	strbuf_addstr(out, ")\n\t\tCOMPREPLY=(");
	if (!add_values(out, "$(compgen -W \"", def, "\" -- \"$cur\")"))
		strbuf_addstr(out, "$(compgen -f -- \"$cur\")");
	strbuf_addstr(out, ")\n\t\treturn\n\t\t;;\n");
}

/* Sets `command` in the script; "" = the command without a name. */
static void add_bash_command(struct strbuf *out, const struct program *program)
{
	if (has_commands(program)) {
		/* The command is the first word that names one: flags may come before it. */
		strbuf_addstr(out, "\tlocal command='' word\n"
				   "\tfor word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
				   "\t\tcase $word in\n\t\t");
		FOREACH_COMMAND (c, program)
			strbuf_addf(out, "%s | ", c->name);
		strbuf_addstr(out, "help) command=$word; break ;;\n"
				   "\t\tesac\n\tdone\n"
				   "\tif [ -z \"$command\" ]; then\n"
				   "\t\tCOMPREPLY=($(compgen -W \"");
		add_names(out, program);
		strbuf_addstr(out, "help version --help --version\" -- \"$cur\"))\n"
				   "\t\treturn\n"
				   "\tfi\n");
		return;
	}
	strbuf_addstr(out, "\tlocal command=\n");
	FOREACH_COMMAND (c, program)
		if (*c->name)
			strbuf_addf(
				out, "\t[ \"${COMP_WORDS[1]}\" != %s ] || command=%s\n", c->name, c->name);
}

void completion_bash(const struct program *program, struct strbuf *out)
{
	strbuf_addf(out, "# bash completion for %s, written by '%s completion bash'\n", program->name,
		program->name);
	add_function_name(out, program);
	strbuf_addstr(out, "() {\n"
			   "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n");
	add_bash_command(out, program);
	strbuf_addstr(out, "\tcase $command:$prev in\n");
	FOREACH_COMMAND (c, program)
		FOREACH_OPTION (def, program, c)
			if (def->arg && !def->implied)
				add_bash_values(out, c, def);
	strbuf_addstr(out, "\tesac\n\tcase $command in\n");
	FOREACH_COMMAND (c, program) {
		strbuf_addf(out, "\t%s) COMPREPLY=($(compgen -W \"", *c->name ? c->name : "\"\"");
		add_flags(out, program, c);
		strbuf_addstr(out, "\" -- \"$cur\")) ;;\n");
	}
	strbuf_addstr(out, "\thelp) COMPREPLY=($(compgen -W \"");
	add_names(out, program);
	strbuf_addstr(out, "\" -- \"$cur\")) ;;\n\tesac\n}\ncomplete -o filenames -F ");
	add_function_name(out, program);
	strbuf_addf(out, " %s\n", program->name);
}

/* ---- zsh */

/* Text within single quotes and an _arguments description. */
static void add_zsh_text(struct strbuf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			strbuf_addstr(out, "'\\''");
		else if (strchr("[]:", *text))
			strbuf_addf(out, "\\%c", *text);
		else
			strbuf_addch(out, *text);
	}
}

static void add_zsh_flag(struct strbuf *out, const struct option_def *def, const char *flag)
{
	strbuf_addf(out, "\t\t\t'%s%s[", def->repeats ? "*" : "", flag);
	add_zsh_text(out, def->help);
	strbuf_addch(out, ']');
	if (def->arg && !def->implied) {
		strbuf_addch(out, ':');
		add_zsh_text(out, def->arg);
		strbuf_addch(out, ':');
	}
	if (!add_values(out, "(", def, ")") && def->arg && !def->implied)
		strbuf_addstr(out, "_files");
	strbuf_addstr(out, "' \\\n");
}

static void add_zsh_commands(struct strbuf *out, const struct program *program)
{
	strbuf_addstr(out, "\tif ((CURRENT == 2)); then\n\t\tlocal -a commands=(\n");
	FOREACH_COMMAND (c, program) {
		strbuf_addf(out, "\t\t\t'%s:", c->name);
		add_zsh_text(out, c->help);
		strbuf_addstr(out, "'\n");
	}
	strbuf_addstr(out,
		"\t\t\t'help:print the commands, or the flags of one'\n\t\t\t'version:print the version'\n"
		"\t\t)\n\t\t_describe command commands\n\t\treturn\n\tfi\n");
}

static void add_zsh_flags(struct strbuf *out, const struct program *program, const struct command_def *c)
{
	strbuf_addf(out, "\t%s)\n\t\t_arguments \\\n", *c->name ? c->name : "*");
	FOREACH_OPTION (def, program, c) {
		const char letter[] = {'-', def->letter, '\0'};

		add_zsh_flag(out, def, def->flag);
		if (letter[1])
			add_zsh_flag(out, def, letter);
		if (!def->word)
			continue;
		strbuf_addf(out, "\t\t\t'1:%s:(", def->arg);
		add_values(out, "", def, ")' \\\n");
	}
	strbuf_addstr(out, "\t\t\t&& return\n\t\t;;\n");
}

void completion_zsh(const struct program *program, struct strbuf *out)
{
	strbuf_addf(out, "#compdef %s\n# zsh completion for %s, written by '%s completion zsh'\n",
		program->name, program->name, program->name);
	add_function_name(out, program);
	strbuf_addstr(out, "() {\n");
	if (has_commands(program))
		add_zsh_commands(out, program);
	strbuf_addf(out, "\tlocal command=${words[2]}\n%s\tcase $command in\n",
		has_commands(program) ? "\tshift words\n\t((CURRENT--))\n" : "");
	/* The command without a name comes last, because its pattern matches everything. */
	FOREACH_COMMAND (c, program)
		if (*c->name)
			add_zsh_flags(out, program, c);
	FOREACH_COMMAND (c, program)
		if (!*c->name)
			add_zsh_flags(out, program, c);
	strbuf_addstr(out, "\tesac\n}\n");
	add_function_name(out, program);
	strbuf_addstr(out, " \"$@\"\n");
}

/* ---- fish */

/* Text in single quotes, in which fish has two escapes. */
static void add_fish_text(struct strbuf *out, const char *text)
{
	strbuf_addch(out, '\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			strbuf_addch(out, '\\');
		strbuf_addch(out, *text);
	}
	strbuf_addch(out, '\'');
}

/* "complete -c nrtd -n '__fish_seen_subcommand_from fit'" */
static void begin_fish(struct strbuf *out, const struct program *program, const struct command_def *c)
{
	strbuf_addf(out, "complete -c %s", program->name);
	if (*c->name)
		strbuf_addf(out, " -n '__fish_seen_subcommand_from %s'", c->name);
}

static void add_fish_flag(struct strbuf *out, const struct program *program, const struct command_def *c,
	const struct option_def *def)
{
	begin_fish(out, program, c);
	strbuf_addf(out, " -l %s", def->flag + 2);
	if (def->letter)
		strbuf_addf(out, " -s %c", def->letter);
	if (!add_values(out, " -x -a '", def, "'") && def->arg && !def->implied)
		strbuf_addstr(out, " -r -F");
	strbuf_addstr(out, " -d ");
	add_fish_text(out, def->help);
	strbuf_addch(out, '\n');
	if (!def->word)
		return;
	begin_fish(out, program, c);
	add_values(out, " -a '", def, "'\n");
}

static void add_fish_words(struct strbuf *out, const struct program *program)
{
	static const char *const words[][2] = {{"-l help -s h", "print the commands"},
		{"-l version", "print the version"}, {"-a help", "print the commands, or the flags of one"},
		{"-a version", "print the version"}};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		strbuf_addf(out, "complete -c %s -n __fish_use_subcommand %s -d '%s'\n", program->name,
			words[i][0], words[i][1]);
	FOREACH_COMMAND (c, program) {
		strbuf_addf(out, "complete -c %s -n __fish_use_subcommand -a %s -d ", program->name, c->name);
		add_fish_text(out, c->help);
		strbuf_addf(out, "\ncomplete -c %s -n '__fish_seen_subcommand_from help' -a %s\n",
			program->name, c->name);
	}
}

void completion_fish(const struct program *program, struct strbuf *out)
{
	strbuf_addf(out, "# fish completion for %s, written by '%s completion fish'\ncomplete -c %s -f\n",
		program->name, program->name, program->name);
	if (has_commands(program))
		add_fish_words(out, program);
	FOREACH_COMMAND (c, program)
		FOREACH_OPTION (def, program, c)
			add_fish_flag(out, program, c, def);
}

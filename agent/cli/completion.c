/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cli/completion.h"

#include "agent/cli/opts.h"

/* The values "a|b|c" with another separator. */
static void add_values(struct strbuf *out, const char *values, char separator)
{
	for (; *values; values++)
		strbuf_addch(out, *values == '|' ? separator : *values);
}

static bool is_flag_of(enum command c, enum option_id id)
{
	return option_defs[id].commands & 1u << c;
}

static void add_flags(struct strbuf *out, enum command c)
{
	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		if (!is_flag_of(c, id))
			continue;
		if (option_defs[id].word) {
			add_values(out, option_defs[id].values, ' ');
			strbuf_addch(out, ' ');
		}
		strbuf_addf(out, "%s ", option_defs[id].flag);
		if (option_defs[id].letter)
			strbuf_addf(out, "-%c ", option_defs[id].letter);
	}
}

/* ---- bash */

/* "dump:--output|dump:-o) ...": what may follow a flag of a command. */
static void add_bash_values(struct strbuf *out, enum command c, enum option_id id)
{
	const struct option_def *def = &option_defs[id];

	strbuf_addf(out, "\t%s:%s", command_defs[c].name, def->flag);
	if (def->letter)
		strbuf_addf(out, " | %s:-%c", command_defs[c].name, def->letter);
	strbuf_addstr(out, ")\n\t\tCOMPREPLY=(");
	if (def->values) {
		strbuf_addstr(out, "$(compgen -W \"");
		add_values(out, def->values, ' ');
		strbuf_addstr(out, "\" -- \"$cur\")");
	} else {
		strbuf_addstr(out, "$(compgen -f -- \"$cur\")");
	}
	strbuf_addstr(out, ")\n\t\treturn\n\t\t;;\n");
}

void completion_bash(struct strbuf *out)
{
	strbuf_addstr(out, "# bash completion for nrtd, written by 'nrtd completion bash'\n"
			   "_nrtd() {\n"
			   "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
			   "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
			   "\t\tCOMPREPLY=($(compgen -W \"");
	for (enum command c = 0; c < COMMAND_COUNT; c++)
		strbuf_addf(out, "%s ", command_defs[c].name);
	strbuf_addstr(out, "help version --help --version\" -- \"$cur\"))\n"
			   "\t\treturn\n"
			   "\tfi\n"
			   "\tcase ${COMP_WORDS[1]}:$prev in\n");
	for (enum command c = 0; c < COMMAND_COUNT; c++)
		for (enum option_id id = 0; id < OPT_COUNT; id++)
			if (is_flag_of(c, id) && option_defs[id].arg && !option_defs[id].implied)
				add_bash_values(out, c, id);
	strbuf_addstr(out, "\tesac\n\tcase ${COMP_WORDS[1]} in\n");
	for (enum command c = 0; c < COMMAND_COUNT; c++) {
		strbuf_addf(out, "\t%s) COMPREPLY=($(compgen -W \"", command_defs[c].name);
		add_flags(out, c);
		strbuf_addstr(out, "\" -- \"$cur\")) ;;\n");
	}
	strbuf_addstr(out, "\thelp) COMPREPLY=($(compgen -W \"");
	for (enum command c = 0; c < COMMAND_COUNT; c++)
		strbuf_addf(out, "%s ", command_defs[c].name);
	strbuf_addstr(out, "\" -- \"$cur\")) ;;\n\tesac\n}\ncomplete -o filenames -F _nrtd nrtd\n");
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
	if (def->values) {
		strbuf_addch(out, '(');
		add_values(out, def->values, ' ');
		strbuf_addch(out, ')');
	} else if (def->arg && !def->implied) {
		strbuf_addstr(out, "_files");
	}
	strbuf_addstr(out, "' \\\n");
}

void completion_zsh(struct strbuf *out)
{
	strbuf_addstr(out, "#compdef nrtd\n# zsh completion for nrtd, written by 'nrtd completion zsh'\n"
			   "_nrtd() {\n"
			   "\tif ((CURRENT == 2)); then\n"
			   "\t\tlocal -a commands=(\n");
	for (enum command c = 0; c < COMMAND_COUNT; c++) {
		strbuf_addf(out, "\t\t\t'%s:", command_defs[c].name);
		add_zsh_text(out, command_defs[c].help);
		strbuf_addstr(out, "'\n");
	}
	strbuf_addstr(out,
		"\t\t\t'help:print the commands, or the flags of one'\n\t\t\t'version:print the version'\n");
	strbuf_addstr(out,
		"\t\t)\n\t\t_describe command commands\n\t\treturn\n\tfi\n"
		"\tlocal command=${words[2]}\n\tshift words\n\t((CURRENT--))\n\tcase $command in\n");
	for (enum command c = 0; c < COMMAND_COUNT; c++) {
		strbuf_addf(out, "\t%s)\n\t\t_arguments \\\n", command_defs[c].name);
		for (enum option_id id = 0; id < OPT_COUNT; id++) {
			const char letter[] = {'-', option_defs[id].letter, '\0'};

			if (!is_flag_of(c, id))
				continue;
			add_zsh_flag(out, &option_defs[id], option_defs[id].flag);
			if (letter[1])
				add_zsh_flag(out, &option_defs[id], letter);
			if (!option_defs[id].word)
				continue;
			strbuf_addf(out, "\t\t\t'1:%s:(", option_defs[id].arg);
			add_values(out, option_defs[id].values, ' ');
			strbuf_addstr(out, ")' \\\n");
		}
		strbuf_addstr(out, "\t\t\t&& return\n\t\t;;\n");
	}
	strbuf_addstr(out, "\tesac\n}\n_nrtd \"$@\"\n");
}

/* ---- fish */

/* Text in single quotes, in which fish knows two escapes. */
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

static void add_fish_flag(struct strbuf *out, enum command c, const struct option_def *def)
{
	strbuf_addf(out, "complete -c nrtd -n '__fish_seen_subcommand_from %s' -l %s", command_defs[c].name,
		def->flag + 2);
	if (def->letter)
		strbuf_addf(out, " -s %c", def->letter);
	if (def->values) {
		strbuf_addstr(out, " -x -a '");
		add_values(out, def->values, ' ');
		strbuf_addch(out, '\'');
	} else if (def->arg && !def->implied) {
		strbuf_addstr(out, " -r -F");
	}
	strbuf_addstr(out, " -d ");
	add_fish_text(out, def->help);
	strbuf_addch(out, '\n');
	if (!def->word)
		return;
	strbuf_addf(out, "complete -c nrtd -n '__fish_seen_subcommand_from %s' -a '", command_defs[c].name);
	add_values(out, def->values, ' ');
	strbuf_addstr(out, "'\n");
}

void completion_fish(struct strbuf *out)
{
	strbuf_addstr(out,
		"# fish completion for nrtd, written by 'nrtd completion fish'\n"
		"complete -c nrtd -f\n"
		"complete -c nrtd -n __fish_use_subcommand -l help -s h -d 'print the commands'\n"
		"complete -c nrtd -n __fish_use_subcommand -l version -d 'print the version'\n"
		"complete -c nrtd -n __fish_use_subcommand -a help -d 'print the commands, or the flags of one'\n"
		"complete -c nrtd -n __fish_use_subcommand -a version -d 'print the version'\n");
	for (enum command c = 0; c < COMMAND_COUNT; c++) {
		strbuf_addf(out, "complete -c nrtd -n __fish_use_subcommand -a %s -d ", command_defs[c].name);
		add_fish_text(out, command_defs[c].help);
		strbuf_addf(out, "\ncomplete -c nrtd -n '__fish_seen_subcommand_from help' -a %s\n",
			command_defs[c].name);
		for (enum option_id id = 0; id < OPT_COUNT; id++)
			if (is_flag_of(c, id))
				add_fish_flag(out, c, &option_defs[id]);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/completion.h"

#include "common/cleanup.h"
#include "common/settings_table.h"
#include "common/text.h"

/* Whether the commands have names. The first command of nrtd-extender has none. */
static bool has_commands(const struct program *program)
{
	return *program->commands[0]->name;
}

/* ---- words */

/* The last line: cobra's directives ShellCompDirectiveNoFileComp and ShellCompDirectiveDefault. */
#define NOTHING_ELSE "4"
#define FILE_NAMES   "0"

struct completion {
	const struct program *program;
	const struct command_def *command; /* NULL = the words name none */
	bool is_help;                      /* the words begin with "help" */
	size_t n_words;                    /* after the command, without flags and their values */
	const struct option_def *flag;     /* whose value comes next; NULL = none */
	struct strbuf *out;
};

static void add_end(struct completion *c, const char *end)
{
	strbuf_addf(c->out, ":%s\n", end);
}

static void add_described(struct completion *c, const char *word, const char *help)
{
	strbuf_addf(c->out, "%s\t%s\n", word, help);
}

static bool needs_value(const struct option_def *def)
{
	return def && def->arg && !def->implied;
}

/* The flag "--output", of "--output=yaml" also; NULL = there is none. */
static const struct option_def *find_long(const struct completion *c, const char *word)
{
	size_t len = strcspn(word, "=");

	FOREACH_OPTION (def, c->program, c->command)
		if (strlen(def->flag) == len && !strncmp(def->flag, word, len))
			return def;
	return NULL;
}

static const struct option_def *find_letter(const struct completion *c, char letter)
{
	FOREACH_OPTION (def, c->program, c->command)
		if (def->letter == letter)
			return def;
	return NULL;
}

/* The flag in this word whose value is the next word. */
static const struct option_def *find_open_flag(const struct completion *c, const char *word)
{
	const struct option_def *def = NULL;

	if (word[1] == '-') {
		def = find_long(c, word);
		return needs_value(def) && !strchr(word, '=') ? def : NULL;
	}
	for (const char *letter = &word[1]; *letter; letter++) {
		def = find_letter(c, *letter);
		if (needs_value(def))
			return letter[1] ? NULL : def;
	}
	return NULL;
}

static const struct command_def *find_command(const struct program *program, const char *name)
{
	FOREACH_COMMAND (c, program)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

/* The first word names the command; in a program whose main command has no name, only if a command has this name. */
static void read_word(struct completion *c, const char *word)
{
	const struct command_def *named = find_command(c->program, word);

	if (c->flag)
		c->flag = NULL;
	else if (*word == '-' && word[1])
		c->flag = find_open_flag(c, word);
	else if (named && (!c->command || (!*c->command->name && c->n_words == 0)))
		c->command = named;
	else if (!c->command && !strcmp(word, "help"))
		c->is_help = true;
	else
		c->n_words++;
}

static void add_list(struct completion *c, const char *values)
{
	while (*values) {
		size_t len = strcspn(values, "|");

		strbuf_addf(c->out, "%.*s\n", (int)len, values);
		values += len;
		if (*values == '|')
			values++;
	}
}

static void add_choices(struct completion *c, const char *key, const char *const *names, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		strbuf_addf(c->out, "%s=%s\n", key, names[i]);
}

/* The settings of `simulate --set`: choices with their values, others up to the "=". */
static void add_settings(struct completion *c)
{
	static const char *const bools[] = {"true", "false"};

	for (enum setting i = 0; i < SETTING_COUNT; i++) {
		const struct setting_row *row = &settings_table[i];

		if (row->kind == SETTING_IS_CHOICE)
			add_choices(c, row->name, &row->names[1], row->n_names - 1); /* 0 is unknown */
		else if (row->kind == SETTING_IS_CPUS || row->kind == SETTING_IS_RESERVATIONS)
			strbuf_addf(c->out, "%s=\n", row->name);
	}
	strbuf_addstr(c->out, "reservedCPUs=\nkubelet=\n");
	for (size_t i = 0; i < POLICY_OPTION_COUNT; i++) {
		const struct policy_option *o = &policy_options[i];

		if (o->kind == OPTION_IS_NUMBER)
			strbuf_addf(c->out, "%s=\n", o->name);
		else if (o->kind == OPTION_IS_CHOICE)
			add_choices(c, o->name, o->names, o->n_names);
		else
			add_choices(c, o->name, bools, ARRAY_SIZE(bools));
	}
}

static void add_flag_values(struct completion *c, const struct option_def *def)
{
	static const struct {
		enum option_id id;
		const char *list;
	} of_kubeconfig[] = {{OPT_CONTEXT, "contexts"}, {OPT_CLUSTER, "clusters"}, {OPT_USER, "users"}};
	static const char *const of_args[][2] = {{"NODE", "nodes"}, {"NAMESPACE", "namespaces"}};
	static const char *const of_files[] = {"FILE", "DIR", "SOCKET"};
	CLEANUP(strbuf_release) struct strbuf values = STRBUF_INIT(OPTION_VALUES_MAX);
	const char *end = NOTHING_ELSE;

	if (option_values(def, &values))
		add_list(c, values.text);
	else if (def->id == OPT_SET)
		add_settings(c);
	for (size_t i = 0; i < ARRAY_SIZE(of_args); i++)
		if (!strcmp(def->arg, of_args[i][0]))
			end = of_args[i][1];
	for (size_t i = 0; i < ARRAY_SIZE(of_files); i++)
		if (strstr(def->arg, of_files[i]))
			end = FILE_NAMES;
	for (size_t i = 0; i < ARRAY_SIZE(of_kubeconfig); i++)
		if (def->id == of_kubeconfig[i].id)
			end = of_kubeconfig[i].list;
	add_end(c, end);
}

static void add_flags(struct completion *c)
{
	FOREACH_OPTION (def, c->program, c->command) {
		const char letter[] = {'-', def->letter, '\0'};

		add_described(c, def->flag, def->help);
		if (letter[1])
			add_described(c, letter, def->help);
	}
	add_end(c, NOTHING_ELSE);
}

static void add_commands(struct completion *c)
{
	FOREACH_COMMAND (command, c->program)
		if (*command->name)
			add_described(c, command->name, command->help);
	if (!c->is_help) {
		add_described(c, "help", "print the commands, or the flags of one");
		add_described(c, "version", "print the version");
	}
	add_end(c, NOTHING_ELSE);
}

/* What the next word is according to the command's usage, "[NAMESPACE/]POD [NODE] [FLAG...]". */
static void add_arguments(struct completion *c)
{
	const char *usage = c->command->usage;
	size_t n = c->n_words;

	FOREACH_OPTION (def, c->program, c->command) {
		CLEANUP(strbuf_release) struct strbuf values = STRBUF_INIT(OPTION_VALUES_MAX);

		if (def->word && n == 0 && option_values(def, &values))
			add_list(c, values.text);
	}
	while (*usage) {
		size_t len = strcspn(usage, " ");
		bool is_node = !strncmp(usage, "NODE", 4) || !strncmp(usage, "[NODE", 5);
		bool is_pod = !strncmp(usage, "[NAMESPACE/]POD", 15);

		if (!is_node && !is_pod)
			break;
		/* The next word is this argument; "[NODE...]" stands for all following arguments. */
		if (n == 0 || !strncmp(&usage[len - 4], "...]", 4)) {
			add_end(c, is_node ? "nodes" : "pods");
			return;
		}
		n--;
		usage += len;
		if (*usage == ' ')
			usage++;
	}
	add_end(c, NOTHING_ELSE);
}

void completion_words(const struct program *program, char *const *words, size_t n, struct strbuf *out)
{
	struct completion c = {.program = program,
		.command = has_commands(program) ? NULL : program->commands[0],
		.out = out};
	const char *last = n > 0 ? words[n - 1] : "";

	for (size_t i = 0; i + 1 < n; i++)
		read_word(&c, words[i]);
	if (!c.flag && !strncmp(last, "--", 2) && strchr(last, '='))
		c.flag = find_long(&c, last);
	if (c.flag && c.flag->arg)
		add_flag_values(&c, c.flag);
	else if (*last == '-')
		add_flags(&c);
	else if (c.is_help || (!c.command && c.n_words == 0))
		add_commands(&c);
	else if (c.command)
		add_arguments(&c);
	else
		add_end(&c, NOTHING_ELSE);
}

/* ---- scripts */

/*
 * The scripts replace PROGRAM by the program's name, and FUNCTION by that name as part of a function's name. They run the program as the
 * user has typed it; kubectl_complete-numa, if it is installed, also knows names of nodes and pods.
 */
static const char bash_script[] =
	"# bash completion for PROGRAM, written by 'PROGRAM completion bash'\n"
	"FUNCTION() {\n"
	"\tlocal word last=${COMP_WORDS[COMP_CWORD]} want ask=(\"${COMP_WORDS[0]}\" __complete)\n"
	"\tlocal -a words=()\n"
	"\tlocal n=0\n"
	"\tCOMPREPLY=()\n"
	"\t# bash breaks words at \"=\"\n"
	"\tfor word in \"${COMP_WORDS[@]:1:COMP_CWORD}\"; do\n"
	"\t\tif ((n > 0)) && { [[ $word == = ]] || [[ ${words[n - 1]} == *= ]]; }; then\n"
	"\t\t\twords[n - 1]+=$word\n"
	"\t\telse\n"
	"\t\t\twords[n]=$word\n"
	"\t\t\t((n += 1))\n"
	"\t\tfi\n"
	"\tdone\n"
	"\t[[ $last != = ]] || last=\n"
	"\twant=${words[n - 1]}\n"
	"\t[[ $want != --*=* ]] || want=${want#*=}\n"
	"\t[[ PROGRAM != kubectl-numa ]] || ! command -v kubectl_complete-numa >/dev/null || ask=(kubectl_complete-numa)\n"
	"\twhile IFS= read -r word; do\n"
	"\t\tcase $word in\n"
	"\t\t:0) while IFS= read -r word; do COMPREPLY+=(\"$word\"); done < <(compgen -f -- \"$last\") ;;\n"
	"\t\t:*) ;;\n"
	"\t\t\"$want\"*)\n"
	"\t\t\tword=${word%%$'\\t'*}\n"
	"\t\t\tCOMPREPLY+=(\"${word:${#want} - ${#last}}\")\n"
	"\t\t\t;;\n"
	"\t\tesac\n"
	"\tdone < <(\"${ask[@]}\" \"${words[@]}\" 2>/dev/null)\n"
	"}\n"
	"complete -o filenames -F FUNCTION PROGRAM\n";

static const char zsh_script[] =
	"#compdef PROGRAM\n"
	"# zsh completion for PROGRAM, written by 'PROGRAM completion zsh'\n"
	"FUNCTION() {\n"
	"\tlocal line name\n"
	"\tlocal -a ask lines candidates\n"
	"\task=(\"${words[1]}\" __complete)\n"
	"\t[[ PROGRAM != kubectl-numa ]] || (( ! $+commands[kubectl_complete-numa] )) || ask=(kubectl_complete-numa)\n"
	"\tlines=(\"${(@f)$(\"${ask[@]}\" \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\")\n"
	"\t[[ ${words[CURRENT]} != --*=* ]] || compset -P '*='\n"
	"\tfor line in \"${lines[@]}\"; do\n"
	"\t\tcase $line in\n"
	"\t\t:0) _files ;;\n"
	"\t\t:*) ;;\n"
	"\t\t*)\n"
	"\t\t\tname=${line%%$'\\t'*}\n"
	"\t\t\t[[ $line != *$'\\t'* ]] && candidates+=(\"${name//:/\\\\:}\") ||\n"
	"\t\t\t\tcandidates+=(\"${name//:/\\\\:}:${line#*$'\\t'}\")\n"
	"\t\t\t;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"\t(( ! $#candidates )) || _describe PROGRAM candidates\n"
	"}\n"
	"FUNCTION \"$@\"\n";

static const char fish_script[] =
	"# fish completion for PROGRAM, written by 'PROGRAM completion fish'\n"
	"function _FUNCTION_complete\n"
	"\tset -l words (commandline -opc)\n"
	"\tset -l last (commandline -ct)\n"
	"\tset -l ask $words[1] __complete\n"
	"\tif test PROGRAM = kubectl-numa; and type -q kubectl_complete-numa\n"
	"\t\tset ask kubectl_complete-numa\n"
	"\tend\n"
	"\tset -l before\n"
	"\tif string match -q -- '--*=*' \"$last\"\n"
	"\t\tset before (string replace -r -- '=.*' '=' \"$last\")\n"
	"\tend\n"
	"\tfor line in ($ask $words[2..-1] \"$last\" 2>/dev/null)\n"
	"\t\tswitch $line\n"
	"\t\t\tcase ':0'\n"
	"\t\t\t\t__fish_complete_path (string replace -r -- '^--[^=]*=' '' \"$last\")\n"
	"\t\t\tcase ':*'\n"
	"\t\t\tcase '*'\n"
	"\t\t\t\tprintf '%s\\n' \"$before$line\"\n"
	"\t\tend\n"
	"\tend\n"
	"end\n"
	"complete -c PROGRAM -f -a '(_FUNCTION_complete)'\n";

/* Moves *at behind the word if the text at *at begins with the word. */
static bool skip_word(const char **at, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(*at, word, len) != 0)
		return false;
	*at += len;
	return true;
}

void completion_script(const struct program *program, const char *shell, struct strbuf *out)
{
	const char *at = bash_script;

	if (!strcmp(shell, "zsh"))
		at = zsh_script;
	else if (!strcmp(shell, "fish"))
		at = fish_script;
	while (*at) {
		if (skip_word(&at, "PROGRAM")) {
			strbuf_addstr(out, program->name);
		} else if (skip_word(&at, "FUNCTION")) {
			strbuf_addch(out, '_');
			for (const char *p = program->name; *p; p++)
				strbuf_addch(out, *p == '-' ? '_' : *p);
		} else {
			strbuf_addch(out, *at++);
		}
	}
}

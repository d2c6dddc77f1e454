/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/opts.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#include "cli/report/terminal.h"
#include "common/cleanup.h"
#include "common/guess.h"
#include "common/io/fs.h"
#include "common/log.h"
#include "common/text.h"
#include "common/xalloc.h"

unsigned options_commands(const struct program *program, const struct command_def *command)
{
	unsigned commands = 0;

	if (command)
		return 1u << command->id;
	FOREACH_COMMAND (c, program)
		commands |= 1u << c->id;
	return commands;
}

const struct option_def *options_def(const struct options *o, enum option_id id)
{
	FOREACH_OPTION (def, o->program, o->command)
		if (def->id == id)
			return def;
	return NULL;
}

bool option_values(const struct option_def *def, struct strbuf *out)
{
	if (def->print_values)
		def->print_values(out);
	else if (def->values)
		strbuf_addstr(out, def->values);
	return def->print_values || def->values;
}

/* Whether `text` is one of the words of "a|b|c". */
static bool is_one_of(const char *text, const char *values)
{
	size_t len = strlen(text);

	while (*values) {
		size_t n = strcspn(values, "|");

		if (n == len && !strncmp(values, text, n))
			return true;
		values += n + (values[n] == '|');
	}
	return false;
}

/* kubectl's other output formats. */
static bool is_template(const char *format)
{
	static const char *const names[] = {"jsonpath", "custom-columns", "go-template", "template"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(format, names[i], strlen(names[i])))
			return true;
	return false;
}

static int set_value(struct options *o, const struct option_def *def, const char *value, const char *origin,
	struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf values = STRBUF_INIT(OPTION_VALUES_MAX);
	enum option_id id = def->id;

	if (def->empty_is_unset && !*value) {
		o->value[id] = o->origin[id] = NULL;
		return 0;
	}
	if (id == OPT_OUTPUT && is_template(value))
		return err_set(
			err, -EINVAL, "%s: '%.100s' is not supported: use '-o json | jq'", origin, value);
	if (option_values(def, &values) && !is_one_of(value, values.text))
		return err_set(err, -EINVAL, "%s: '%.100s' is not one of %s", origin, value, values.text);
	if (def->check) {
		int r = def->check(value, err);

		if (r < 0)
			return err_wrap(err, r, "%s", origin);
	}
	if (def->repeats) {
		if (o->n_repeated == OPTIONS_MAX_REPEATED)
			return err_set(err, -EINVAL, "%s: given too often", origin);
		o->repeated[o->n_repeated++] = (struct option_value){.id = id, .value = value};
	}
	o->value[id] = value;
	o->origin[id] = origin;
	return 0;
}

const char *options_next(const struct options *o, enum option_id id, size_t *pos)
{
	while (*pos < o->n_repeated) {
		const struct option_value *item = &o->repeated[*pos];

		(*pos)++;
		if (item->id == id)
			return item->value;
	}
	return NULL;
}

size_t options_all(const struct options *o, enum option_id id, const char *ret[OPTIONS_MAX_REPEATED])
{
	const char *value;
	size_t n = 0, pos = 0;

	while ((value = options_next(o, id, &pos)))
		ret[n++] = value;
	return n;
}

/* A flag without value: a boolean as of text_parse_bool(), which "true" or a flag alone turns on. A flag whose value may be omitted has its
 * implied value then. */
static int set_switch(struct options *o, const struct option_def *def, const char *text, const char *origin,
	struct err *err)
{
	bool on = false;

	if (!text_parse_bool(text, &on))
		return err_set(err, -EINVAL, "%s: '%.100s' is not true or false", origin, text);
	if (on)
		return set_value(o, def, def->implied ? def->implied : "true", origin, err);
	o->value[def->id] = def->fallback;
	o->origin[def->id] = NULL;
	return 0;
}

/* Sets also the flags of the program's other commands, because stage_config.c reads all flags for every command; then those of the
 * command, because another command's flag with the same id may have another fallback. */
static void set_fallbacks(struct options *o)
{
	const struct command_def *every = NULL;

	FOREACH_OPTION (def, o->program, every)
		o->value[def->id] = def->fallback;
	FOREACH_OPTION (def, o->program, o->command)
		o->value[def->id] = def->fallback;
}

/* Only daemons read the environment, because systemd units and manifests set variables more easily than flags. */
static int read_environment(struct options *o, struct err *err)
{
	FOREACH_OPTION (def, o->program, o->command) {
		const char *text = def->env ? getenv(def->env) : NULL;
		int r;

		if (!text)
			continue;
		if (def->arg)
			r = set_value(o, def, text, def->env, err);
		else /* an empty variable turns the flag off */
			r = set_switch(o, def, *text ? text : "false", def->env, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A flag replaces all values of its environment variable. */
static void forget_environment(struct options *o, const struct option_def *def)
{
	size_t kept = 0;

	if (o->origin[def->id] != def->env)
		return;
	for (size_t i = 0; i < o->n_repeated; i++)
		if (o->repeated[i].id != def->id)
			o->repeated[kept++] = o->repeated[i];
	o->n_repeated = kept;
}

/* ---- suggestions */

/* Whether `word`, "--namespace=ml" or "-n", is this flag. */
static bool is_named(const struct option_def *def, const char *word)
{
	size_t len = strcspn(word, "=");

	if (word[1] == '-')
		return strlen(def->flag) == len && !strncmp(word, def->flag, len);
	return def->letter && def->letter == word[1];
}

/* "fit and why": the program's commands that have the flag `word`, "--namespace" or "-n". */
static void list_owners(const struct program *program, const char *word, struct strbuf *out)
{
	const struct command_def *every = NULL;
	unsigned owners = 0;

	FOREACH_OPTION (def, program, every)
		if (is_named(def, word))
			owners |= def->commands;
	owners &= options_commands(program, every);
	FOREACH_COMMAND (c, program) {
		if (!(owners >> c->id & 1))
			continue;
		owners &= ~(1u << c->id); /* the commands that are not listed yet */
		if (out->len > 0)
			strbuf_addstr(out, owners ? ", " : " and ");
		strbuf_addstr(out, c->name);
	}
}

static int unknown_flag(const struct options *o, const char *word, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf owners = STRBUF_INIT(256);
	struct guess best = {0};

	list_owners(o->program, word, &owners);
	if (o->command && owners.len > 0)
		return err_set(err, -EINVAL, "'%s' is a flag of %s, not of %s", word, owners.text,
			*o->command->name ? o->command->name : o->program->name);

	FOREACH_OPTION (def, o->program, o->command)
		guess_name(word, strcspn(word, "="), def->flag, &best);
	if (best.name)
		return err_set(err, -EINVAL, "unknown flag '%s'; did you mean %s?", word, best.name);
	return err_set(err, -EINVAL, "unknown flag '%s'", word);
}

/* Finds our name of a command that other programs call `word`. */
static const char *other_name(const char *word)
{
	static const char *const names[][2] = {
		{"list", "top"}, {"get", "top"}, {"nodes", "top"}, {"describe", "show"}, {"explain", "why"}};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(word, names[i][0]))
			return names[i][1];
	return NULL;
}

static int unknown_command(const struct program *program, const char *word, struct err *err)
{
	struct guess best = {0};
	const char *other = other_name(word);

	FOREACH_COMMAND (c, program)
		if (other && !strcmp(c->name, other))
			return err_set(err, -EINVAL, "unknown command '%s'; did you mean %s?", word, other);
	FOREACH_COMMAND (c, program)
		if (*c->name) /* the main command has no name */
			guess_name(word, strlen(word), c->name, &best);
	guess_name(word, strlen(word), "help", &best);
	guess_name(word, strlen(word), "version", &best);
	if (best.name)
		return err_set(err, -EINVAL, "unknown command '%s'; did you mean %s?", word, best.name);
	return err_set(err, -EINVAL, "unknown command '%s'; try '%s --help'", word, program->call);
}

/* ---- flags */

/* The flag of the command, or with NULL of any command, with this name, or with a name of one character this letter; NULL = none. */
static const struct option_def *find_flag(
	const struct program *program, const struct command_def *command, const char *name, size_t len)
{
	FOREACH_OPTION (def, program, command) {
		const char *long_name = def->flag + 2;

		if (len == 1 && def->letter == *name)
			return def;
		if (len != 1 && strlen(long_name) == len && !strncmp(long_name, name, len))
			return def;
	}
	return NULL;
}

/* Whether the next argument is never the flag's value. */
static bool stands_alone(const struct option_def *def)
{
	return !def->arg || def->implied;
}

/* `value`: NULL = the flag stands alone. "--watch=false" turns off a flag whose value may be omitted. */
static int set_flag(struct options *o, const struct option_def *def, const char *value, struct err *err)
{
	bool is_bool = value && (!strcmp(value, "true") || !strcmp(value, "false"));

	forget_environment(o, def);
	if (!value)
		return set_switch(o, def, "true", def->flag, err);
	if (!def->arg || (def->implied && is_bool))
		return set_switch(o, def, value, def->flag, err);
	return set_value(o, def, value, def->flag, err);
}

/* The arguments that are not read yet. */
struct arguments {
	int argc, at;
	char **argv;
};

/* The value of a flag that needs one: `attached`, or the next argument. NULL: there is none. */
static const char *next_value(struct arguments *a, const char *attached)
{
	if (attached)
		return attached;
	return a->at < a->argc ? a->argv[a->at++] : NULL;
}

static int needs_value(const char *word, struct err *err)
{
	return err_set(err, -EINVAL, "flag '%s' needs a value", word);
}

/* The flag "--flag" or "--flag=VALUE"; NULL = none. *ret_value: the value, or NULL. */
static const struct option_def *find_long_flag(const struct program *program,
	const struct command_def *command, const char *word, const char **ret_value)
{
	const char *name = word + 2;
	size_t len = strcspn(name, "=");

	*ret_value = name[len] ? name + len + 1 : NULL;
	/* find_flag() would take "--n" for "-n". */
	return len > 1 ? find_flag(program, command, name, len) : NULL;
}

/* "--flag", "--flag=VALUE" and "--flag VALUE". */
static int read_long(struct options *o, const char *word, struct arguments *a, struct err *err)
{
	const char *value;
	const struct option_def *def = find_long_flag(o->program, o->command, word, &value);

	if (!def)
		return unknown_flag(o, word, err);
	if (!stands_alone(def)) {
		value = next_value(a, value);
		if (!value)
			return needs_value(word, err);
	}
	return set_flag(o, def, value, err);
}

/* "-abc", "-aVALUE", "-a=VALUE" and "-a VALUE". */
static int read_letters(struct options *o, const char *word, struct arguments *a, struct err *err)
{
	for (const char *p = word + 1; *p; p++) {
		const char letter[] = {'-', *p, '\0'};
		const struct option_def *def = find_flag(o->program, o->command, p, 1);
		const char *attached = p[1] ? p + 1 : NULL;
		int r;

		if (!def)
			return unknown_flag(o, letter, err);
		if (stands_alone(def) && p[1] != '=') {
			r = set_flag(o, def, NULL, err);
			if (r < 0)
				return r;
			continue;
		}
		if (p[1] == '=')
			attached = p + 2;
		attached = next_value(a, attached);
		return attached ? set_flag(o, def, attached, err) : needs_value(letter, err);
	}
	return 0;
}

/* What the user may have meant by a word too many: a pod's file or, for a command that takes no NODE (plan, simulate), also nodes. */
static const char *hint_for_word(const struct options *o)
{
	if (!options_def(o, OPT_FILENAME))
		return "";
	if (o->command->max_words == 0 && options_def(o, OPT_SELECTOR))
		return "; -f FILE names the pod's file, -l SELECTOR selects the nodes";
	return "; -f FILE names the pod's file";
}

/* An argument that is not a flag: the command takes it, or it is the value of the first flag with `word` that has none. */
static int set_word(struct options *o, const char *word, struct err *err)
{
	if (o->command && o->n_words < o->command->max_words) {
		o->words[o->n_words++] = word;
		return 0;
	}
	if (!o->command)
		return err_set(err, -EINVAL, "unexpected word '%s'", word);
	FOREACH_OPTION (def, o->program, o->command)
		if (def->word && !o->origin[def->id])
			return set_value(o, def, word, def->flag, err);
	return err_set(err, -EINVAL, "unexpected word '%s'%s", word, hint_for_word(o));
}

static bool is_flag(const char *word)
{
	return word[0] == '-' && word[1] != '\0';
}

/* Reads flags as kubectl's parser (pflag) does: anywhere before "--", never abbreviated. Collects the words at the beginning of argv,
 * because set_word() must know which flags were given. */
static int read_flags(int argc, char **argv, struct options *o, struct err *err)
{
	struct arguments a = {.argc = argc, .at = 1, .argv = argv};
	int n_words = 0;

	while (a.at < argc) {
		char *word = argv[a.at++];
		int r = 0;

		if (!strcmp(word, "--")) {
			while (a.at < argc)
				argv[n_words++] = argv[a.at++];
			break;
		}
		if (!is_flag(word))
			argv[n_words++] = word;
		else if (word[1] == '-')
			r = read_long(o, word, &a, err);
		else
			r = read_letters(o, word, &a, err);
		if (r < 0)
			return r;
	}
	for (int i = 0; i < n_words; i++) {
		int r = set_word(o, argv[i], err);

		if (r < 0)
			return r;
	}
	return 0;
}

static const struct command_def *command_of(const struct program *program, const char *word)
{
	FOREACH_COMMAND (c, program)
		if (!strcmp(word, c->name))
			return c;
	return NULL;
}

/* The words are "help", "help COMMAND" or "version": 1, and `o` is complete; 0 for anything else; -EINVAL. */
static int read_help_or_version(int n_words, char **words, struct options *o, struct err *err)
{
	bool help = !strcmp(words[0], "help");
	int max_words = help ? 2 : 1;
	enum option_id id = help ? OPT_HELP : OPT_VERSION;

	if (!help && strcmp(words[0], "version") != 0)
		return 0;
	if (n_words > max_words)
		return err_set(err, -EINVAL, "unexpected word '%s'", words[max_words]);
	if (n_words == 2)
		o->command = command_of(o->program, words[1]);
	if (n_words == 2 && !o->command)
		return unknown_command(o->program, words[1], err);
	o->value[id] = "true";
	o->origin[id] = "";
	return 1;
}

/*
 * How many words of the command line the flag in `word` and its value are: 1 without a value or with the value in the same word, or 2. 0 = no
 * command has the flag.
 */
static int count_flag_words(const struct program *program, const char *word)
{
	const struct option_def *def;

	if (word[1] == '-') {
		const char *value;

		def = find_long_flag(program, NULL, word, &value);
		if (!def)
			return 0;
		return value || stands_alone(def) ? 1 : 2;
	}
	for (const char *p = word + 1; *p; p++) {
		def = find_flag(program, NULL, p, 1);
		if (!def)
			return 0;
		if (p[1] == '=')
			return 1;
		if (!stands_alone(def))
			return p[1] ? 1 : 2;
	}
	return 1;
}

/* The index of the first argument that is neither a flag nor the value of one; `argc` = none, or an unknown flag is before it. */
static int find_word(const struct program *program, int argc, char **argv)
{
	int i = 1;

	while (i < argc && is_flag(argv[i])) {
		int n = strcmp(argv[i], "--") != 0 ? count_flag_words(program, argv[i]) : 0;

		if (n == 0)
			return argc;
		i += n;
	}
	return i < argc ? i : argc;
}

/* Removes the argument. */
static int take_argument(int at, int argc, char **argv)
{
	for (int i = at; i + 1 < argc; i++)
		argv[i] = argv[i + 1];
	return argc - 1;
}

/* `word`: the index that find_word() returned. */
static int parse_command(struct options *o, int word, int argc, char **argv, struct err *err)
{
	const struct program *program = o->program;
	int r;

	o->command = word < argc ? command_of(program, argv[word]) : NULL;
	if (o->command)
		argc = take_argument(word, argc, argv);
	else
		o->command = command_of(program, "");
	if (!o->command && word < argc)
		return unknown_command(program, argv[word], err);
	if (o->command) {
		set_fallbacks(o);
		r = o->command->daemon ? read_environment(o, err) : 0;
		if (r < 0)
			return r;
	}
	r = read_flags(argc, argv, o, err);
	if (r == 0 && !o->command && !option_set(o, OPT_HELP) && !option_set(o, OPT_VERSION))
		return err_set(err, -EINVAL, "no command; try '%s --help'", program->call);
	return r;
}

int options_parse(const struct program *program, int argc, char **argv, struct options *ret, struct err *err)
{
	struct options o = {.program = program};
	int word = find_word(program, argc, argv);
	int r = word < argc ? read_help_or_version(argc - word, argv + word, &o, err) : 0;

	if (r == 0)
		r = parse_command(&o, word, argc, argv, err);
	if (r < 0)
		return r;
	*ret = o;
	return 0;
}

#define HELP_COLUMN 28 /* where the descriptions of flags begin */

static void help_option(const struct command_def *command, const struct option_def *def, struct strbuf *out)
{
	CLEANUP(strbuf_release)
	struct strbuf left = STRBUF_INIT(512), values = STRBUF_INIT(OPTION_VALUES_MAX);

	if (def->letter)
		strbuf_addf(&left, "-%c, ", def->letter);
	strbuf_addstr(&left, def->flag);
	if (def->implied)
		strbuf_addf(&left, "[=%s]", def->arg);
	else if (def->arg)
		strbuf_addf(&left, " %s", def->arg);
	strbuf_addf(out, "  %-*s", HELP_COLUMN - 2, left.text);
	if (left.len >= HELP_COLUMN - 2)
		strbuf_addf(out, "\n%*s", HELP_COLUMN, "");
	strbuf_addf(out, "%s", def->help);
	if (option_values(def, &values))
		strbuf_addf(out, " [%s]", values.text);
	if (def->implied)
		strbuf_addf(out, " (without a value %s)", def->implied);
	if (def->fallback && *def->fallback)
		strbuf_addf(out, " (default %s)", def->fallback);
	if (def->env && command->daemon)
		strbuf_addf(out, " {%s}", def->env);
	strbuf_addch(out, '\n');
}

static void help_command(const struct program *program, const struct command_def *command, struct strbuf *out)
{
	const char *space = *command->name ? " " : "";

	strbuf_addf(out, "%s%s%s: %s\n\nusage: %s%s%s %s\n\n", program->call, space, command->name,
		command->help, program->call, space, command->name, command->usage);
	if (command->examples)
		strbuf_addf(out, "examples:\n%s\n", command->examples);
	strbuf_addf(out, "flags%s:\n",
		command->daemon ? ", with the environment variable of each in braces" : "");
	FOREACH_OPTION (def, program, command)
		help_option(command, def, out);
}

void options_help(const struct program *program, const struct command_def *command, struct strbuf *out)
{
	if (!command)
		command = command_of(program, "");
	if (command) {
		help_command(program, command, out);
		return;
	}
	strbuf_addf(out, "%s: %s\n\nusage: %s %s\n\ncommands:\n", program->call, program->summary,
		program->call, program->usage);
	FOREACH_COMMAND (c, program)
		strbuf_addf(out, "  %-12s%s\n", c->name, c->help);
	strbuf_addf(out, "  %-12s%s\n", "help", "print this, or the flags of a command");
	strbuf_addf(out, "  %-12s%s\n", "version", "print the version");
	strbuf_addf(
		out, "\n'%s COMMAND --help' lists its flags. Manual: %s.\n", program->call, program->manual);
}

/* Flags whose file may be standard input. */
static const enum option_id input_files[] = {OPT_FILENAME, OPT_NODES, OPT_PODS, OPT_FROM, OPT_NRT};

/* The number of files that are standard input. `origins` becomes the flags of the first two. */
static size_t count_stdin(const struct options *o, const char *origins[2])
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(input_files); i++) {
		enum option_id id = input_files[i];
		const struct option_def *def = options_def(o, id);
		size_t pos = 0;
		const char *value = def && def->repeats ? options_next(o, id, &pos) : o->value[id];

		while (value) {
			if (!strcmp(value, "-")) {
				if (n < 2)
					origins[n] = o->origin[id];
				n++;
			}
			value = def && def->repeats ? options_next(o, id, &pos) : NULL;
		}
	}
	return n;
}

bool options_use_stdin(const struct options *o)
{
	const char *origins[2];

	return count_stdin(o, origins) > 0;
}

int options_stdin_once(const struct options *o, struct err *err)
{
	const char *origins[2];

	if (count_stdin(o, origins) < 2)
		return 0;
	return err_set(err, -EINVAL, "%s and %s cannot both be standard input", origins[0], origins[1]);
}

/* How many bytes of `text` to print in a line: the first `first` bytes, which are never broken, and at most `width` columns after them.
 * A list of values that is longer than a line is broken after a bar. */
static size_t find_line_end(const char *text, size_t first, size_t width)
{
	size_t end = first + text_line_length(text + first, width), bar = end;

	while (bar > first + 1 && text[bar - 1] != '|' && text[bar - 1] != ' ')
		bar--;
	return bar > first + 1 ? bar : end;
}

/* Breaks the descriptions of flags, which begin at HELP_COLUMN, into lines of at most `width` columns. Other lines stay. */
static void wrap_help(const char *text, size_t width, struct strbuf *out)
{
	for (; *text; text += strcspn(text, "\n") + 1) {
		size_t length = strcspn(text, "\n"), indent = 0;
		char *line = xasprintf("%.*s", (int)length, text), *rest = line;

		while (text_width(rest) + indent > width && length > HELP_COLUMN && line[0] == ' ') {
			size_t first = rest == line ? HELP_COLUMN : 0;
			size_t part = find_line_end(rest, first, width - HELP_COLUMN);

			strbuf_addf(out, "%*s%.*s\n", (int)indent, "", (int)part, rest);
			rest += part;
			indent = HELP_COLUMN;
		}
		strbuf_addf(out, "%*s%s\n", (int)indent, "", rest);
		free(line);
	}
}

static int print_help(const struct options *options)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1u << 16), wrapped = STRBUF_INIT(1u << 17);
	struct terminal terminal;

	options_help(options->program, options->command, &text);
	terminal_detect(STDOUT_FILENO, "never", NULL, &terminal);
	if (terminal.is_terminal && terminal.width >= 2 * HELP_COLUMN)
		wrap_help(text.text, terminal.width, &wrapped);
	else
		strbuf_add(&wrapped, text.text, text.len);
	return strbuf_error(&text) == 0 && output_write(wrapped.text, wrapped.len) == 0 ? EXIT_SUCCESS
											: EXIT_FAILURE;
}

static int print_version(const struct program *program)
{
	return printf("%s " NRTD_VERSION "\n", program->name) > 0 && fflush(stdout) == 0 ? EXIT_SUCCESS
											 : EXIT_FAILURE;
}

int program_main(const struct program *program, int argc, char **argv)
{
	struct options options;
	struct err err = {""};

	log_set_program(program->name);
	if (options_parse(program, argc, argv, &options, &err) < 0) {
		log_error("%s", err.text);
		return 2;
	}
	if (option_set(&options, OPT_HELP))
		return print_help(&options);
	if (option_set(&options, OPT_VERSION))
		return print_version(program);
	if (option_set(&options, OPT_VERBOSE))
		log_set_level(LOG_LEVEL_INFO);
	return options.command->run(&options);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cli/opts.h"

#include <errno.h>
#include <getopt.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/text.h"

const struct command_def command_defs[COMMAND_COUNT] = {
	[COMMAND_DUMP] = {"dump", "print this machine's NodeResourceTopology object"},
	[COMMAND_RUN] = {"run",
		"publish this node's NodeResourceTopology object and fit hints, and keep both up to date"},
	[COMMAND_DIFF] = {"diff", "compare the published objects with what nrtd run would write"},
	[COMMAND_EXTENDER] = {"extender",
		"tell a stock kube-scheduler which nodes' kubelets would admit a pod"},
	[COMMAND_CHECK] = {"check",
		"diagnose what prevents nrtd from running on this host, with a remedy for each problem"},
	[COMMAND_FIT] = {"fit",
		"tell whether this machine's kubelet would admit a pod, on which NUMA nodes, or why not"},
	[COMMAND_SHOW] = {"show",
		"draw the machine's NUMA topology, and which pods hold its CPUs, memory and devices"},
	[COMMAND_COMPLETION] = {"completion", "print a completion script for a shell"},
	[COMMAND_LIST] = {"list",
		"list the free CPUs and devices of nodes, from their NodeResourceTopology objects"},
	[COMMAND_SCORE] = {"score", "rank nodes for a pod, from their NodeResourceTopology objects"},
	[COMMAND_WHY] = {"why", "explain why a pod is pending or was rejected, per node"},
};

/* `text` is one of the words of "a|b|c". */
static bool among(const char *text, const char *values)
{
	size_t len = strlen(text);

	for (const char *p = values; p; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL)
		if (len > 0 && !strncmp(p, text, len) && (p[len] == '|' || p[len] == '\0'))
			return true;
	return false;
}

static int set_value(
	struct options *o, enum option_id id, const char *value, const char *origin, struct err *err)
{
	const struct option_def *def = &option_defs[id];

	if (def->values && !among(value, def->values))
		return err_set(err, -EINVAL, "%s: '%.100s' is not one of %s", origin, value, def->values);
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
	while (*pos < o->n_repeated)
		if (o->repeated[(*pos)++].id == id)
			return o->repeated[*pos - 1].value;
	return NULL;
}

/* A flag without value, from the environment: true and false as Go's ParseBool reads them; "" is false. */
static int set_switch(
	struct options *o, enum option_id id, const char *text, const char *origin, struct err *err)
{
	bool on = false;

	if (*text && !text_parse_bool(text, &on))
		return err_set(err, -EINVAL, "%s: '%.100s' is not true or false", origin, text);
	return on ? set_value(o, id, "true", origin, err) : 0;
}

/* A daemon is started by a unit or a manifest, where a variable is easier to set than a flag. */
static bool is_daemon(enum command command)
{
	return command == COMMAND_RUN || command == COMMAND_EXTENDER;
}

static void set_fallbacks(struct options *o)
{
	for (enum option_id id = 0; id < OPT_COUNT; id++)
		o->value[id] = option_defs[id].fallback;
}

static int read_environment(struct options *o, struct err *err)
{
	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		const struct option_def *def = &option_defs[id];
		const char *text = def->env ? getenv(def->env) : NULL;
		int r;

		if (!text || !(def->commands & 1u << o->command))
			continue;
		r = def->arg ? set_value(o, id, text, def->env, err) : set_switch(o, id, text, def->env, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Before a command is known (COMMAND_COUNT) every flag is. */
static bool takes(enum command command, enum option_id id)
{
	return command == COMMAND_COUNT || option_defs[id].commands & 1u << command;
}

/* A flag replaces all that the environment gave. */
static void forget_environment(struct options *o, enum option_id id)
{
	size_t kept = 0;

	if (o->origin[id] != option_defs[id].env)
		return;
	for (size_t i = 0; i < o->n_repeated; i++)
		if (o->repeated[i].id != id)
			o->repeated[kept++] = o->repeated[i];
	o->n_repeated = kept;
}

/* getopt_long's tables for one command; `val` of a long option is its option_id + 256. */
static void make_tables(enum command command, struct option *longs, char *letters)
{
	size_t n = 0;

	*letters++ = ':';
	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		const struct option_def *def = &option_defs[id];

		if (!takes(command, id))
			continue;
		longs[n++] = (struct option){.name = def->flag + 2,
			.has_arg = def->implied ? optional_argument
				   : def->arg   ? required_argument
						: no_argument,
			.val = (int)id + 256};
		if (!def->letter)
			continue;
		*letters++ = def->letter;
		if (def->arg)
			*letters++ = ':';
	}
	longs[n] = (struct option){0};
	*letters = '\0';
}

static enum option_id option_of(enum command command, int val)
{
	if (val >= 256)
		return (enum option_id)(val - 256);
	for (enum option_id id = 0; id < OPT_COUNT; id++)
		if (option_defs[id].letter == val && takes(command, id))
			return id;
	return OPT_COUNT;
}

/* ---- what was meant */

#define NAME_MAX_LENGTH 48u
#define NEAR_ENOUGH     2u

/* Letters to change, add or take away to make one of the other. */
static size_t distance(const char *a, size_t a_len, const char *b)
{
	size_t b_len = strlen(b), row[NAME_MAX_LENGTH + 1];

	if (b_len > NAME_MAX_LENGTH)
		return SIZE_MAX;
	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t changed = diagonal + (a[i - 1] != b[j - 1]);
			size_t least = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;

			diagonal = row[j];
			row[j] = changed < least ? changed : least;
		}
	}
	return row[b_len];
}

struct guess {
	const char *name; /* NULL = none is near enough */
	size_t distance;
};

static void guess_name(const char *word, const char *name, struct guess *best)
{
	size_t d = distance(word, strcspn(word, "="), name);

	if (d <= NEAR_ENOUGH && (!best->name || d < best->distance))
		*best = (struct guess){.name = name, .distance = d};
}

static int unknown_flag(enum command command, const char *word, struct err *err)
{
	struct guess best = {0};

	for (enum option_id id = 0; id < OPT_COUNT; id++)
		if (takes(command, id))
			guess_name(word, option_defs[id].flag, &best);
	if (best.name)
		return err_set(err, -EINVAL, "unknown flag '%s'; did you mean %s?", word, best.name);
	return err_set(err, -EINVAL, "unknown flag '%s'", word);
}

static int unknown_command(const char *word, struct err *err)
{
	struct guess best = {0};

	for (enum command c = 0; c < COMMAND_COUNT; c++)
		guess_name(word, command_defs[c].name, &best);
	guess_name(word, "help", &best);
	guess_name(word, "version", &best);
	if (best.name)
		return err_set(err, -EINVAL, "unknown command '%s'; did you mean %s?", word, best.name);
	return err_set(err, -EINVAL, "unknown command '%s'; try 'nrtd --help'", word);
}

/* ---- flags */

static int flag_error(enum command command, int argc, char **argv, int c, struct err *err)
{
	const char *word = optind > 0 && optind <= argc ? argv[optind - 1] : "";

	if (optopt > 0 && optopt < 256)
		return err_set(
			err, -EINVAL, c == ':' ? "flag '-%c' needs a value" : "unknown flag '-%c'", optopt);
	if (c == ':' || optopt >= 256)
		return err_set(err, -EINVAL,
			c == ':' ? "flag '%s' needs a value" : "flag '%s' takes no value", word);
	return unknown_flag(command, word, err);
}

static const char *without_value(enum option_id id)
{
	return option_defs[id].implied ? option_defs[id].implied : "true";
}

/* The value of the flag that takes one so, once. */
static int set_word(struct options *o, const char *word, struct err *err)
{
	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		const struct option_def *def = &option_defs[id];

		if (o->command != COMMAND_COUNT && def->word && takes(o->command, id) && !o->origin[id])
			return set_value(o, id, word, def->flag, err);
	}
	return err_set(err, -EINVAL, "unexpected word '%s'", word);
}

static int read_flags(int argc, char **argv, struct options *o, struct err *err)
{
	struct option longs[OPT_COUNT + 1];
	char letters[2 * OPT_COUNT + 2];
	int c;

	make_tables(o->command, longs, letters);
	optind = 0; /* begin again, also behind an error within a word */
	opterr = 0;
	while ((c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		enum option_id id;
		int r;

		if (c == '?' || c == ':')
			return flag_error(o->command, argc, argv, c, err);
		id = option_of(o->command, c);
		forget_environment(o, id);
		r = set_value(o, id, optarg ? optarg : without_value(id), option_defs[id].flag, err);
		if (r < 0)
			return r;
	}
	for (; optind < argc; optind++) {
		int r = set_word(o, argv[optind], err);

		if (r < 0)
			return r;
	}
	return 0;
}

static enum command command_of(const char *word)
{
	enum command c = 0;

	while (c < COMMAND_COUNT && strcmp(word, command_defs[c].name) != 0)
		c++;
	return c;
}

/* "help", "help COMMAND" and "version": 1, and `o` is complete; 0 for anything else; -EINVAL. */
static int read_word_for_flag(int argc, char **argv, struct options *o, struct err *err)
{
	bool help = !strcmp(argv[1], "help");
	enum option_id id = help ? OPT_HELP : OPT_VERSION;

	if (!help && strcmp(argv[1], "version") != 0)
		return 0;
	if (argc > (help ? 3 : 2))
		return err_set(err, -EINVAL, "unexpected word '%s'", argv[help ? 3 : 2]);
	if (argc == 3)
		o->command = command_of(argv[2]);
	if (argc == 3 && o->command == COMMAND_COUNT)
		return unknown_command(argv[2], err);
	o->value[id] = "true";
	o->origin[id] = option_defs[id].flag;
	return 1;
}

int options_parse(int argc, char **argv, struct options *ret, struct err *err)
{
	struct options o = {.command = COMMAND_COUNT};
	int r;

	if (argc < 2)
		return err_set(err, -EINVAL, "no command; try 'nrtd --help'");
	r = read_word_for_flag(argc, argv, &o, err);
	if (r < 0)
		return r;
	if (r > 0) {
		*ret = o;
		return 0;
	}
	o.command = command_of(argv[1]);
	if (o.command == COMMAND_COUNT && argv[1][0] != '-')
		return unknown_command(argv[1], err);
	if (o.command != COMMAND_COUNT) {
		set_fallbacks(&o);
		r = is_daemon(o.command) ? read_environment(&o, err) : 0;
		if (r < 0)
			return r;
		argc--;
		argv++;
	}
	r = read_flags(argc, argv, &o, err);
	if (r < 0)
		return r;
	if (o.command == COMMAND_COUNT && !option_set(&o, OPT_HELP) && !option_set(&o, OPT_VERSION))
		return err_set(err, -EINVAL, "a command must come before '%s'; try 'nrtd --help'", argv[1]);
	*ret = o;
	return 0;
}

static void help_option(enum command command, const struct option_def *def, struct strbuf *out)
{
	CLEANUP(strbuf_release) struct strbuf left = STRBUF_INIT(512);

	if (def->letter)
		strbuf_addf(&left, "-%c, ", def->letter);
	strbuf_addstr(&left, def->flag);
	if (def->implied)
		strbuf_addf(&left, "[=%s]", def->arg);
	else if (def->arg)
		strbuf_addf(&left, " %s", def->arg);
	strbuf_addf(out, "  %-26s", left.text);
	if (left.len > 26)
		strbuf_addf(out, "\n%28s", "");
	strbuf_addf(out, "%s", def->help);
	if (def->values)
		strbuf_addf(out, " [%s]", def->values);
	if (def->implied)
		strbuf_addf(out, " (without a value %s)", def->implied);
	if (def->fallback && *def->fallback)
		strbuf_addf(out, " (default %s)", def->fallback);
	if (def->env && is_daemon(command))
		strbuf_addf(out, " {%s}", def->env);
	strbuf_addch(out, '\n');
}

void options_help(enum command command, struct strbuf *out)
{
	if (command == COMMAND_COUNT) {
		strbuf_addstr(out, "nrtd: a node's NUMA topology for Kubernetes schedulers\n\n"
				   "usage: nrtd COMMAND [FLAG...]\n\ncommands:\n");
		for (enum command c = 0; c < COMMAND_COUNT; c++)
			strbuf_addf(out, "  %-12s%s\n", command_defs[c].name, command_defs[c].help);
		strbuf_addf(out, "  %-12s%s\n", "help", "print this, or the flags of a command");
		strbuf_addf(out, "  %-12s%s\n", "version", option_defs[OPT_VERSION].help);
		strbuf_addstr(out, "\n'nrtd COMMAND --help' lists its flags. Manual: nrtd(8).\n");
		return;
	}
	strbuf_addf(out, "nrtd %s: %s\n\nflags%s:\n", command_defs[command].name, command_defs[command].help,
		is_daemon(command) ? ", with the environment variable of each in braces" : "");
	for (enum option_id id = 0; id < OPT_COUNT; id++)
		if (option_defs[id].commands & 1u << command)
			help_option(command, &option_defs[id], out);
}

int options_stdin_once(const struct options *o, const enum option_id *ids, size_t n_ids, struct err *err)
{
	const char *first = NULL;

	for (size_t i = 0; i < n_ids; i++) {
		if (!option_set(o, ids[i]) || strcmp(o->value[ids[i]], "-") != 0)
			continue;
		if (first)
			return err_set(err, -EINVAL, "%s and %s cannot both be standard input", first,
				o->origin[ids[i]]);
		first = o->origin[ids[i]];
	}
	return 0;
}

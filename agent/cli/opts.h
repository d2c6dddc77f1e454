/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Options: one table gives the flag, its environment variable, its values and its help text. Parsing, --help,
 * the manual page's test and shell completion all read that table. Depends on common/ only.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "common/strbuf.h"

enum command {
	COMMAND_DUMP,
	COMMAND_CHECK,
	COMMAND_FIT,
	COMMAND_SCORE,
	COMMAND_WHY,
	COMMAND_LIST,
	COMMAND_SHOW,
	COMMAND_RUN,
	COMMAND_DIFF,
	COMMAND_EXTENDER,
	COMMAND_COMPLETION,
	COMMAND_COUNT
};

enum option_id {
	OPT_SYSROOT,
	OPT_MACHINE,
	OPT_PROC,
	OPT_KUBELET_ROOT,
	OPT_KUBELET_CONFIG,
	OPT_KUBELET_VERSION,
	OPT_NODE_NAME,
	OPT_CPU_MANAGER_POLICY,
	OPT_CPU_MANAGER_POLICY_OPTIONS,
	OPT_MEMORY_MANAGER_POLICY,
	OPT_TOPOLOGY_MANAGER_POLICY,
	OPT_TOPOLOGY_MANAGER_SCOPE,
	OPT_TOPOLOGY_MANAGER_POLICY_OPTIONS,
	OPT_RESERVED_CPUS,
	OPT_POD_RESOURCES,
	OPT_STATE_FILES,
	OPT_CDI_DIR,
	OPT_EXCLUDE_RESOURCES,
	OPT_NAMESPACE,
	OPT_OUTPUT,
	OPT_WHAT,
	OPT_FINGERPRINT,
	OPT_DEPRECATED_POLICIES,
	OPT_NODE_STATE,
	OPT_KOORDINATOR,
	OPT_NUMATOPOLOGY,
	OPT_COEXIST,
	OPT_KUBECONFIG,
	OPT_CONTEXT,
	OPT_API_SERVER,
	OPT_DRY_RUN,
	OPT_CLEANUP,
	OPT_LOCK,
	OPT_HTTP,
	OPT_COALESCE,
	OPT_POLL,
	OPT_REFRESH,
	OPT_NODE_WRITE_INTERVAL,
	OPT_NODE_WRITE_BURST,
	OPT_SHAPE,
	OPT_SHAPE_STRATEGY,
	OPT_FIT_HINTS_MAX,
	OPT_LABELS,
	OPT_FILENAME,
	OPT_POD,
	OPT_CPUS,
	OPT_MEMORY,
	OPT_HUGEPAGES_1GI,
	OPT_HUGEPAGES_2MI,
	OPT_DEVICE,
	OPT_RESOURCE,
	OPT_POLICY,
	OPT_SCOPE,
	OPT_OPTION,
	OPT_WHAT_FREES,
	OPT_BELOW_PRIORITY,
	OPT_WITHOUT_POD,
	OPT_ASSUME_EMPTY,
	OPT_FIT_OUTPUT,
	OPT_NRT,
	OPT_NODES,
	OPT_PODS,
	OPT_EVENTS,
	OPT_REPLICAS,
	OPT_STRATEGY,
	OPT_WEIGHT,
	OPT_VOLCANO_WEIGHT,
	OPT_SCORE_OUTPUT,
	OPT_SCORE_SORT,
	OPT_WHY_OUTPUT,
	OPT_LIST_OUTPUT,
	OPT_LIST_SORT,
	OPT_EXTENDER_HTTP,
	OPT_TLS_CERT,
	OPT_TLS_KEY,
	OPT_TLS_CLIENT_CA,
	OPT_ANSWER,
	OPT_EXTENDER_STRATEGY,
	OPT_UNKNOWN,
	OPT_ASSUME_TIMEOUT,
	OPT_MAX_STALE,
	OPT_STALE,
	OPT_LEASE,
	OPT_ADVERTISE,
	OPT_NO_HEADERS,
	OPT_SHOW_OUTPUT,
	OPT_CHECK_OUTPUT,
	OPT_WATCH,
	OPT_COLOR,
	OPT_WIDTH,
	OPT_SHELL,
	OPT_VERBOSE,
	OPT_HELP,
	OPT_VERSION,
	OPT_COUNT
};

struct option_def {
	const char *flag;  /* "--output" */
	char letter;       /* short flag, or 0 */
	bool repeats;      /* may be given several times; options_next() gives them all */
	bool word;         /* its value may be given as a word of its own, without the flag */
	unsigned commands; /* bit 1 << COMMAND_x for each command that takes it */
	const char *env;   /* NRTD_..., read by the daemons `nrtd run` and `nrtd extender` only; or NULL */
	const char *arg;   /* what the value is called in help, NULL = the flag takes none */
	const char
		*implied; /* value when the flag is given without one, "--watch" or "--watch=5"; else NULL */
	const char *values;                               /* "yaml|json": the only values accepted, or NULL */
	int (*check)(const char *value, struct err *err); /* refuses other values; NULL = any text will do */
	const char *fallback; /* value when neither flag nor environment gives one, or NULL */
	const char *help;
};

struct command_def {
	const char *name;
	const char *help;
};

extern const struct option_def option_defs[OPT_COUNT];
extern const struct command_def command_defs[COMMAND_COUNT];

#define OPTIONS_MAX_REPEATED 64

struct option_value {
	enum option_id id;
	const char *value;
};

struct options {
	enum command command;
	const char *value[OPT_COUNT];  /* points into argv, the environment or the table; NULL = not given */
	const char *origin[OPT_COUNT]; /* the flag or the environment variable; NULL for the fallback */
	struct option_value
		repeated[OPTIONS_MAX_REPEATED]; /* every value of the flags that repeat, in order */
	size_t n_repeated;
};

/*
 * Parse argv[1..]: the command, then its flags. Flags override a daemon's environment, which overrides the fallback.
 * Other commands ignore the environment.
 * A flag without value is "true" when given. "help", "help COMMAND" and "version" are the flags of that name.
 * 0; -EINVAL with a one-line text for an unknown command or flag, with what was probably meant, a bad or missing
 * value, a stray word. `ret` is written only on success and points into argv and the
 * environment.
 */
int options_parse(int argc, char **argv, struct options *ret, struct err *err);

static inline bool option_set(const struct options *o, enum option_id id)
{
	return o->value[id] != NULL;
}

/* The values of a flag that repeats, one a call: *pos starts at 0. NULL after the last. */
const char *options_next(const struct options *o, enum option_id id, size_t *pos);

/* At most one of these may name standard input ("-"), which is read once. 0; -EINVAL with one line. */
int options_stdin_once(const struct options *o, const enum option_id *ids, size_t n_ids, struct err *err);

/* Help for `nrtd` as a whole (COMMAND_COUNT) or for one command. */
void options_help(enum command command, struct strbuf *out);

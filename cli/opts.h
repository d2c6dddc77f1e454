/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Parses the command line by tables of flags. The tables have each flag's environment variable, values and help text, which
 * --help, the shell completions and the test of the manual pages read, too. Depends on common/ only.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "common/strbuf.h"

/* The commands of all programs. */
enum command {
	COMMAND_DUMP,
	COMMAND_CHECK,
	COMMAND_FIT,
	COMMAND_NUMA_FIT,
	COMMAND_NUMA_SHOW,
	COMMAND_SCORE,
	COMMAND_WHY,
	COMMAND_TOP,
	COMMAND_NUMA_PODS,
	COMMAND_NUMA_DEVICES,
	COMMAND_NUMA_CONFIG,
	COMMAND_NUMA_DIFF,
	COMMAND_NUMA_CHANGES,
	COMMAND_PLAN,
	COMMAND_SIMULATE,
	COMMAND_SHOW,
	COMMAND_RUN,
	COMMAND_DIFF,
	COMMAND_EXTENDER,
	COMMAND_COMPLETION,
	COMMAND_COUNT
};

/* Commands as a set, for option_def.commands. */
#define ON(command)  (1u << COMMAND_##command)
#define ALL_COMMANDS (~0u)

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
	OPT_CGROUP,
	OPT_PODS_API,
	OPT_EXCLUDE_RESOURCES,
	OPT_NAMESPACE,
	OPT_OUTPUT,
	OPT_WHAT,
	OPT_FINGERPRINT,
	OPT_DEPRECATED_POLICIES,
	OPT_NODE_STATE,
	OPT_KOORDINATOR,
	OPT_PCIE_ROOTS,
	OPT_NUMATOPOLOGY,
	OPT_COEXIST,
	OPT_KAI,
	OPT_STARTUP_TAINT,
	OPT_KUBECONFIG,
	OPT_CONTEXT,
	OPT_CLUSTER,
	OPT_USER,
	OPT_AS,
	OPT_AS_GROUP,
	OPT_TOKEN,
	OPT_CERTIFICATE_AUTHORITY,
	OPT_CLIENT_CERTIFICATE,
	OPT_CLIENT_KEY,
	OPT_INSECURE_SKIP_TLS_VERIFY,
	OPT_TLS_SERVER_NAME,
	OPT_API_SERVER,
	OPT_DRY_RUN,
	OPT_CLEANUP,
	OPT_LOCK,
	OPT_HTTP,
	OPT_COALESCE,
	OPT_POLL,
	OPT_POD_MEMORY,
	OPT_POD_METRICS,
	OPT_EVENTS,
	OPT_REFRESH,
	OPT_NODE_WRITE_INTERVAL,
	OPT_NODE_WRITE_BURST,
	OPT_SHAPE,
	OPT_SHAPE_STRATEGY,
	OPT_FIT_HINTS_MAX,
	OPT_LABELS,
	OPT_FILENAME,
	OPT_RECURSIVE,
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
	OPT_NRT,
	OPT_FROM,
	OPT_SELECTOR,
	OPT_POD_SELECTOR,
	OPT_ALL_NAMESPACES,
	OPT_MISALIGNED,
	OPT_DIFFERENT,
	OPT_IGNORE,
	OPT_SINCE,
	OPT_REQUEST_TIMEOUT,
	OPT_OBJECTS_ONLY,
	OPT_NODES,
	OPT_PODS,
	OPT_REPLICAS,
	OPT_MIN_COPIES,
	OPT_PENDING,
	OPT_MAX_MOVES,
	OPT_EVICT,
	OPT_ALIGNED,
	OPT_ALLOW_BARE,
	OPT_ALLOW_LOCAL_STORAGE,
	OPT_ALLOW_VOLUMES,
	OPT_KEEP,
	OPT_RECREATED_BY,
	OPT_APPLY,
	OPT_ALLOW_PARTIAL,
	OPT_TIMEOUT,
	OPT_HOLD,
	OPT_EXTENDER_LEASE,
	OPT_EXPECT,
	OPT_MAX_AGE,
	OPT_SET,
	OPT_WITHOUT_NODE,
	OPT_WITHOUT_EACH,
	OPT_RESTART,
	OPT_ADD,
	OPT_LIKE,
	OPT_STRATEGY,
	OPT_WEIGHT,
	OPT_VOLCANO_WEIGHT,
	OPT_SORT_BY,
	OPT_BY,
	OPT_LABEL_COLUMN,
	OPT_TLS_CERT,
	OPT_TLS_KEY,
	OPT_TLS_CLIENT_CA,
	OPT_ANSWER,
	OPT_UNKNOWN,
	OPT_ASSUME_TIMEOUT,
	OPT_MAX_KUBELET_TIME,
	OPT_MAX_STALE,
	OPT_STALE,
	OPT_NOMINATE,
	OPT_LEASE,
	OPT_ADVERTISE,
	OPT_NO_HEADERS,
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
	enum option_id id;
	const char *flag; /* "--output"; NULL at the end of a table */
	char letter;      /* short flag, or 0 */
	bool repeats;     /* may be given several times; options_next() returns the values */
	bool empty_is_unset; /* an empty value is as if the option were not given, as kubectl takes an empty selector */
	bool word;           /* an argument that is not a flag may be the value */
	unsigned commands; /* ON(x) | ON(y): the commands that take the flag */
	const char *env;   /* environment variable, which only daemons read; or NULL */
	const char *arg;   /* the value's name in help; NULL = the flag has no value */
	const char
		*implied; /* the value if none is given: "--watch" means "--watch=2"; NULL = needs a value */
	const char *values;                       /* "yaml|json": the only values accepted, or NULL */
	void (*print_values)(struct strbuf *out); /* appends these values, in place of `values`; or NULL */
	int (*check)(const char *value, struct err *err); /* rejects bad values; NULL = any text */
	const char *fallback;                             /* default value, or NULL */
	const char *help;
};

#define OPTION_VALUES_MAX 1024 /* bytes */

/* Appends the only values accepted, "yaml|json". False: there is no such list. */
bool option_values(const struct option_def *def, struct strbuf *out);

struct options;

struct command_def {
	const char *name;  /* "fit"; "" = the program's main command, which has no name */
	const char *usage; /* the arguments, "[NODE...] (-f FILE | --cpus N...) [FLAG...]" */
	const char *help;
	const char *examples;                      /* lines, each with a newline; NULL = none */
	size_t max_words;                          /* maximum number of arguments that are not flags */
	int (*run)(const struct options *options); /* returns the exit status */
	enum command id;
	bool daemon; /* reads the environment */
};

#define PROGRAM_MAX_TABLES 15 /* without the NULL at the end */

/* One program: commands and flags. Programs share the tables below. */
struct program {
	const char *name;    /* "kubectl-numa" */
	const char *call;    /* as users call the program, "kubectl numa" */
	const char *summary; /* one line without full stop */
	const char *usage;   /* the arguments */
	const char *manual;  /* "nrtd(8)" */
	const struct command_def *commands[PROGRAM_MAX_TABLES + 1]; /* each until run is NULL; then NULL */
	const struct option_def *options[PROGRAM_MAX_TABLES + 1];   /* each until flag is NULL; then NULL */
};

extern const struct program program_nrtd, program_extender, program_numa;

extern const struct option_def options_daemon_api[]; /* the API server of nrtd and nrtd-extender */
extern const struct option_def options_pod[];        /* a pod that is described, and settings to assume */
extern const struct option_def options_picture[];    /* pictures and tables on a terminal */
extern const struct option_def options_completion[];
extern const struct option_def options_common[]; /* --verbose, --help and --version */
extern const struct command_def commands_common[];

/* The commands of a program. The loop's body must not `break`, which ends one table only. */
#define FOREACH_COMMAND(c, program)                                                                     \
	for (const struct command_def *const *c##_table = (program)->commands; *c##_table; c##_table++) \
		for (const struct command_def *c = *c##_table; c->run; c++)

/* The flags of a command, or with NULL all flags of the program. The loop's body must not `break`, either. */
#define FOREACH_OPTION(def, program, cmd)                                                                   \
	for (const struct option_def *const *def##_table = (program)->options; *def##_table; def##_table++) \
		for (const struct option_def *def = *def##_table; def->flag; def++)                         \
			if (def->commands & options_commands(program, cmd))

/* The command as a set, or with NULL all commands of the program. */
unsigned options_commands(const struct program *program, const struct command_def *command);

#define OPTIONS_MAX_REPEATED 64
#define OPTIONS_MAX_WORDS    256

struct option_value {
	enum option_id id;
	const char *value;
};

struct options {
	const struct program *program;
	const struct command_def *command; /* NULL = the program as a whole: --help or --version */
	const char *value[OPT_COUNT];  /* points into argv, the environment or the table; NULL = not given */
	const char *origin[OPT_COUNT]; /* the flag or the environment variable; NULL for the fallback */
	struct option_value
		repeated[OPTIONS_MAX_REPEATED]; /* all values of the flags that repeat, in order */
	size_t n_repeated;
	const char *words[OPTIONS_MAX_WORDS]; /* arguments that are not flags, in order */
	size_t n_words;
};

/*
 * Parse argv[1..]: the command, then its flags. A flag overrides the environment variable, which overrides the fallback. Only
 * daemons read the environment. A flag that has no value becomes "true". "help", "help COMMAND" and "version" mean the flags
 * --help and --version. Flags are read as kubectl reads them: also before the command, "-n=VALUE", "-nVALUE", "-Av", "--flag=false"; but the
 * value of "-n=" is empty. 0; -EINVAL with one line for an unknown command or flag (with a suggestion), a bad or missing value, or
 * an unexpected argument. `ret` is written only on success and points into argv, whose order may change, and the environment.
 */
int options_parse(const struct program *program, int argc, char **argv, struct options *ret, struct err *err);

static inline bool option_set(const struct options *o, enum option_id id)
{
	return o->value[id] != NULL;
}

/* The next value of a flag that repeats. *pos starts at 0. NULL after the last value. */
const char *options_next(const struct options *o, enum option_id id, size_t *pos);

/* Sets ret[] to all values of a flag that repeats, in order. Returns their number. */
size_t options_all(const struct options *o, enum option_id id, const char *ret[OPTIONS_MAX_REPEATED]);

/* Whether a flag names standard input ("-") as its file. */
bool options_use_stdin(const struct options *o);

/* Checks that at most one flag names standard input, which can be read only once. 0; -EINVAL with one line. */
int options_stdin_once(const struct options *o, struct err *err);

/* The command's flag with this id; NULL = the command has no such flag. */
const struct option_def *options_def(const struct options *o, enum option_id id);

/* Append the help of a command, or with NULL of the whole program. */
void options_help(const struct program *program, const struct command_def *command, struct strbuf *out);

/* Parse argv, and run the command or print help or the version. Returns the exit status. */
int program_main(const struct program *program, int argc, char **argv);

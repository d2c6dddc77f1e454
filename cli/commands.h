/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The subcommands. Each takes the parsed options and returns the process's exit status: 0 success, 1 failure, 2
 * wrong usage. Only these functions log errors; the functions that they call return them.
 */
#include <string.h>

#include "cli/opts.h"
#include "common/io/fs.h"
#include "common/log.h"
#include "common/settings.h"

#define EXIT_USAGE        2
#define EXIT_DOES_NOT_FIT 3
#define EXIT_PARTIAL      4

int command_dump(const struct options *options);
int command_check(const struct options *options);
int command_fit(const struct options *options); /* 3: the pod does not fit */
int command_show(const struct options *options);
int command_numa_fit(const struct options *options); /* 3: no node admits the pod */
int command_numa_show(const struct options *options);
int command_score(const struct options *options);
int command_why(const struct options *options);      /* 3: no node admits the pod */
int command_plan(const struct options *options);     /* 4: places for a part of the pods; 3: for none */
int command_simulate(const struct options *options); /* 3: pods would be rejected */
int command_top(const struct options *options);
int command_numa_pods(const struct options *options);
int command_numa_devices(const struct options *options);
int command_numa_config(const struct options *options);
int command_numa_changes(const struct options *options);
int command_numa_diff(const struct options *options);
int command_run(const struct options *options);
int command_diff(const struct options *options); /* 0 equal, 1 different, 2 failure */
int command_extender(const struct options *options);
int command_completion(const struct options *options);

/* As program_main(), and prints the words that a completion script asks for (completion.h). Returns the exit status. */
int command_main(const struct program *program, int argc, char **argv);

/* Prints the text, unless making it has failed with `r` < 0. 0; -errno, which has been logged. */
static inline int print_text(int r, struct strbuf *text)
{
	r = r < 0 ? r : output_text(text);
	if (r < 0)
		log_error("cannot print: %s", strerror(-r));
	return r;
}

/* Log each setting and where it was found, at the level of --verbose. */
void command_log_settings(const struct settings *s);

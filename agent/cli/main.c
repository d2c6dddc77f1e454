/* SPDX-License-Identifier: Apache-2.0 */
/* From the command line to a command and its exit status. */
#include "agent/base/output.h"
#include "agent/cli/commands.h"
#include "common/cleanup.h"
#include "common/log.h"

static int (*const commands[COMMAND_COUNT])(const struct options *options) = {
	[COMMAND_DUMP] = command_dump,
	[COMMAND_CHECK] = command_check,
	[COMMAND_FIT] = command_fit,
	[COMMAND_SCORE] = command_score,
	[COMMAND_WHY] = command_why,
	[COMMAND_LIST] = command_list,
	[COMMAND_SHOW] = command_show,
	[COMMAND_RUN] = command_run,
	[COMMAND_DIFF] = command_diff,
	[COMMAND_EXTENDER] = command_extender,
	[COMMAND_COMPLETION] = command_completion,
};

static int print_help(enum command command)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1u << 16);

	options_help(command, &text);
	return strbuf_error(&text) == 0 && output_write(text.text, text.len) == 0 ? EXIT_SUCCESS
										  : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	struct options options;
	struct err err = {""};

	if (options_parse(argc, argv, &options, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_USAGE;
	}
	if (option_set(&options, OPT_HELP))
		return print_help(options.command);
	if (option_set(&options, OPT_VERSION))
		return puts("nrtd " NRTD_VERSION) >= 0 && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
	if (option_set(&options, OPT_VERBOSE))
		log_set_level(LOG_LEVEL_INFO);
	return commands[options.command](&options);
}

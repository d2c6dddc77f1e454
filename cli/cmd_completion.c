/* SPDX-License-Identifier: Apache-2.0 */
/* completion: prints the script for a shell. */
#include "cli/commands.h"

#include "cli/completion.h"
#include "common/cleanup.h"
#include "common/io/fs.h"
#include "common/log.h"

#define COMPLETION_MAX (1u << 20)

int command_completion(const struct options *options)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(COMPLETION_MAX);
	int r;

	if (!strcmp(options->value[OPT_SHELL], "zsh"))
		completion_zsh(options->program, &text);
	else if (!strcmp(options->value[OPT_SHELL], "fish"))
		completion_fish(options->program, &text);
	else
		completion_bash(options->program, &text);
	r = strbuf_error(&text);
	r = r < 0 ? r : output_write(text.text, text.len);
	if (r < 0) {
		log_error("cannot print: %s", strerror(-r));
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

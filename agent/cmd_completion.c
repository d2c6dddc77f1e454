/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/commands.h"

#include <errno.h>

#include "agent/completion.h"
#include "common/cleanup.h"
#include "common/log.h"

#define COMPLETION_MAX (1u << 20)

int command_completion(const struct options *options)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(COMPLETION_MAX);

	if (!strcmp(options->value[OPT_SHELL], "zsh"))
		completion_zsh(&text);
	else
		completion_bash(&text);
	if (strbuf_error(&text) < 0 || fputs(text.text, stdout) < 0 || fflush(stdout) != 0) {
		log_error(
			"cannot print: %s", strerror(strbuf_error(&text) < 0 ? -strbuf_error(&text) : errno));
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

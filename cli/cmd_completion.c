/* SPDX-License-Identifier: Apache-2.0 */
/* completion: prints the script for a shell; __complete: prints the words that the script asks for. */
#include "cli/commands.h"

#include "cli/completion.h"
#include "common/cleanup.h"
#include "common/io/fs.h"
#include "common/log.h"

#define COMPLETION_MAX (1u << 20)

static int print_completion(struct strbuf *text)
{
	int r = strbuf_error(text);

	r = r < 0 ? r : output_write(text->text, text->len);
	if (r < 0)
		log_error("cannot print: %s", strerror(-r));
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int command_completion(const struct options *options)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(COMPLETION_MAX);

	completion_script(options->program, options->value[OPT_SHELL], &text);
	return print_completion(&text);
}

int command_main(const struct program *program, int argc, char **argv)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(COMPLETION_MAX);

	if (argc < 2 || strcmp(argv[1], COMPLETION_COMMAND) != 0)
		return program_main(program, argc, argv);
	completion_words(program, &argv[2], (size_t)argc - 2, &text);
	return print_completion(&text);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* nrtd check: diagnoses what prevents nrtd from running on this host. */
#include "cli/commands.h"

#include <unistd.h>

#include "agent/check/check.h"
#include "cli/nrtd/stage_config.h"
#include "cli/report/terminal.h"
#include "cli/report/writer.h"
#include "common/cleanup.h"
#include "common/io/fs.h"
#include "common/log.h"

#define CHECK_MAX (8u << 20)

static int print_check(const struct options *options, const struct check_report *report)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(CHECK_MAX);
	CLEANUP(writer_release) struct writer w;

	writer_init(&w, options->value[OPT_OUTPUT], true, &text);
	w.width = terminal_table_width(STDOUT_FILENO);
	w.indent = CHECK_TEXT_COLUMN;
	if (writer_is_doc(&w))
		check_report_doc(report, &w.doc);
	else
		check_report_text(report, &text);
	return print_text(writer_finish(&w), &text);
}

int command_check(const struct options *options)
{
	CLEANUP(check_report_release) struct check_report report = {0};
	CLEANUP(doc_release) struct doc nrt = DOC_INIT;
	struct stage_lists lists;
	const struct check_config config = stage_check(options, &lists);

	check_host(&config, &report, &nrt);
	check_api_server(&config, nrt.kind == DOC_MAP ? &nrt : NULL, &report);
	if (print_check(options, &report) < 0)
		return EXIT_FAILURE;
	return check_report_level(&report) == CHECK_FAIL ? EXIT_FAILURE : EXIT_SUCCESS;
}

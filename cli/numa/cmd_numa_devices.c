/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl numa devices: which devices are near which NUMA nodes, and how many of them are free. */
#include "cli/commands.h"

#include <string.h>
#include <unistd.h>

#include "cli/numa/source.h"
#include "cli/report/devices_report.h"
#include "cli/report/terminal.h"
#include "common/cleanup.h"
#include "common/io/fs.h"
#include "common/log.h"

#define OUTPUT_MAX ((size_t)1 << 30)

static int devices_add_node(struct cluster_node *node, void *data, struct err *err)
{
	(void)err;
	devices_report_add(data, node);
	return 0;
}

static int read_devices(const struct options *options, struct devices_report *report, struct err *err)
{
	CLEANUP(source_closep) struct source *source = NULL;
	int r = options_stdin_once(options, err);

	if (r == 0)
		r = source_open(options, 0, &source, err);
	if (r == 0)
		r = source_each_node(source, devices_add_node, report, err);
	if (r == 0)
		r = source_read_nodes_without_object(source, &report->without_object, err);
	devices_report_sort(report);
	return r;
}

int command_numa_devices(const struct options *options)
{
	CLEANUP(devices_report_release) struct devices_report report = {0};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(OUTPUT_MAX);
	CLEANUP(writer_release) struct writer w = {0};
	struct err err = {""};
	int r = read_devices(options, &report, &err);

	if (r < 0) {
		log_error("%s", err.text);
		return source_exit_status(options, r);
	}
	writer_init(&w, options->value[OPT_OUTPUT], !option_set(options, OPT_NO_HEADERS), &text);
	w.width = terminal_table_width(STDOUT_FILENO);
	devices_report_write(&w, &report);
	if (report.n_rows == 0 && !writer_is_doc(&w))
		source_no_resources(NULL);
	return print_text(writer_finish(&w), &text) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

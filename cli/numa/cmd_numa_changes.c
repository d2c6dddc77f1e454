/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl numa changes: what has changed on a node lately. */
#include "cli/commands.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/numa/source.h"
#include "cli/opts_check.h"
#include "cli/report/changes_report.h"
#include "cli/report/terminal.h"
#include "common/cleanup.h"
#include "common/io/fs.h"
#include "common/io/time.h"
#include "common/log.h"

#define OUTPUT_MAX ((size_t)1 << 30)

struct changes_query {
	const struct options *options;
	struct source *source;
	struct changes_report report;
	bool node_found;
};

static void changes_query_release(struct changes_query *q)
{
	changes_report_release(&q->report);
	source_close(q->source);
}

static int add_history_object(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	struct changes_query *q = data;
	const char *name = doc_object_name(object);

	(void)err;
	if (kind == OBJECT_POD)
		changes_report_add_pod(&q->report, object);
	else if (kind == OBJECT_EVENT)
		changes_report_add_event(&q->report, object);
	else if (name && !strcmp(name, q->report.node))
		q->node_found = true;
	return 0;
}

/* The node's object is optional: it shows what pods hold. */
static int finish_report(struct cluster_node *node, void *data, struct err *err)
{
	struct changes_query *q = data;

	(void)err;
	q->node_found = true;
	changes_report_finish(&q->report, node->basis == CLUSTER_EXACT ? &node->state : NULL);
	return 0;
}

static int make_changes_report(struct changes_query *q, struct err *err)
{
	const struct options *o = q->options;
	struct err why = {""};
	int r;

	if (o->n_words != 1)
		return err_set(err, -EINVAL, "name the node: kubectl numa changes NODE [FLAG...]");
	r = options_stdin_once(o, err);
	if (r == 0)
		r = source_open(o, 0, &q->source, err);
	if (r < 0)
		return r;
	q->report.node = source_node(q->source);
	q->report.now_s = clock_ms(CLOCK_REALTIME) / 1000;
	q->report.since_s = q->report.now_s - (int64_t)(option_ms(o, OPT_SINCE) / 1000);
	r = source_read_history(q->source, add_history_object, q, &q->report.events_known, err);
	if (r < 0)
		return r;
	/* Without the node's object the report only lacks what pods hold. */
	r = source_each_node(q->source, finish_report, q, &why);
	if (r < 0)
		changes_report_finish(&q->report, NULL);
	if (r < 0 && !q->node_found)
		return err_set(err, r, "%s", why.text);
	return 0;
}

static int print_changes(const struct changes_query *q)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(OUTPUT_MAX);
	CLEANUP(writer_release) struct writer w;

	writer_init(&w, q->options->value[OPT_OUTPUT], !option_set(q->options, OPT_NO_HEADERS), &text);
	w.width = terminal_table_width(STDOUT_FILENO);
	changes_report_write(&w, &q->report);
	return print_text(writer_finish(&w), &text);
}

int command_numa_changes(const struct options *options)
{
	CLEANUP(changes_query_release) struct changes_query q = {.options = options};
	struct err err = {""};
	int r = make_changes_report(&q, &err);

	if (r < 0) {
		log_error("%s", err.text);
		return source_exit_status(options, r);
	}
	if (print_changes(&q) < 0)
		return EXIT_FAILURE;
	return EXIT_SUCCESS;
}

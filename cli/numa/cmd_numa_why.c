/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl numa why: why a pod is pending or was rejected, and which nodes' kubelets would admit it. */
#include "cli/commands.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/numa/source.h"
#include "cli/report/terminal.h"
#include "cli/report/why_report.h"
#include "common/cleanup.h"
#include "common/io/fs.h"
#include "common/io/time.h"
#include "common/log.h"

#define WHY_OUTPUT_MAX ((size_t)1 << 30)

struct why_query {
	const struct options *options;
	struct source *source;
	struct doc pod;
	struct why_report report;
};

static void why_query_release(struct why_query *q)
{
	source_close(q->source);
	doc_release(&q->pod);
	why_report_release(&q->report);
}

/* ---- the objects */

static int why_add_object(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	struct why_query *q = data;

	return why_report_add_object(&q->report, kind, object, err);
}

static int why_add_node(struct cluster_node *node, void *data, struct err *err)
{
	struct why_query *q = data;

	(void)err;
	why_report_add_node(&q->report, node);
	return 0;
}

/* Reads the pod's Events. If the user may not list Events, the report omits Events, with a warning. */
static int read_pod_events(struct why_query *q, struct err *err)
{
	const struct object_reader reader =
		source_events(q->source, q->report.status.namespace, q->report.status.name);
	struct err why = {""};
	int r = pod_events_read(&reader, &q->report.status, &q->report.events, &why);

	/* Files without Events were saved without them: that is not "no events". */
	q->report.events_known =
		r == 0 && (!option_set(q->options, OPT_FROM) || q->report.events.n_items > 0);
	if (r != -EREMOTEIO) /* the API server's own refusal */
		return r < 0 ? err_set(err, r, "%s", why.text) : 0;
	log_warning("the answer omits events: %s", why.text);
	return 0;
}

static int make_why_report(struct why_query *q, struct err *err)
{
	int r;

	if (q->options->n_words == 0)
		return err_set(
			err, -EINVAL, "name the pod: kubectl numa why [NAMESPACE/]POD [NODE] [FLAG...]");
	r = options_stdin_once(q->options, err);
	if (r < 0)
		return r;
	r = source_open(q->options, 1, &q->source, err);
	if (r < 0)
		return r;
	r = source_pod(q->source, q->options->words[0], &q->pod, err);
	if (r < 0)
		return r;
	r = why_report_init(&q->report, &q->pod, err);
	if (r < 0)
		return r;
	q->report.only_node = source_node(q->source);
	r = read_pod_events(q, err);
	if (r < 0)
		return r;
	r = source_read_nodes_and_pods(q->source, why_add_object, q, err);
	if (r < 0)
		return r;
	why_report_end_objects(&q->report);
	r = source_each_node(q->source, why_add_node, q, err);
	if (r < 0)
		return r;
	if (why_report_asks(&q->report))
		source_nodes_without_object(q->source, &q->report.cluster, &q->report.pods.without_object);
	q->report.now_s = clock_ms(CLOCK_REALTIME) / 1000;
	why_report_finish(&q->report);
	return 0;
}

/* ---- the command */

static int print_why(const struct why_query *q)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(WHY_OUTPUT_MAX);
	CLEANUP(writer_release) struct writer w;

	writer_init(&w, q->options->value[OPT_OUTPUT], true, &text);
	w.width = terminal_table_width(STDOUT_FILENO);
	why_write(&w, &q->report);
	return print_text(writer_finish(&w), &text);
}

int command_why(const struct options *options)
{
	CLEANUP(why_query_release) struct why_query q = {.options = options};
	struct err err = {""};
	int r = make_why_report(&q, &err);

	if (r < 0) {
		log_error("%s", err.text);
		return source_exit_status(options, r);
	}
	if (print_why(&q) < 0)
		return EXIT_FAILURE;
	if (!why_report_asks(&q.report) || q.report.takes > 0)
		return EXIT_SUCCESS;
	return q.report.unknown > 0 ? EXIT_FAILURE : EXIT_DOES_NOT_FIT;
}

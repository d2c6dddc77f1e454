/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl numa why: why a pod is pending or was rejected, and which nodes' kubelets would admit it. */
#include "agent/cli/commands.h"

#include <errno.h>
#include <string.h>

#include "agent/base/fs.h"
#include "agent/base/time.h"
#include "agent/cli/source.h"
#include "agent/report/why_report.h"
#include "common/cleanup.h"
#include "common/log.h"

#define WHY_OUTPUT_MAX ((size_t)1 << 30)

struct asked {
	const struct options *options;
	struct source *source;
	struct doc pod;
	struct why_report report;
};

static void asked_release(struct asked *a)
{
	source_close(a->source);
	doc_release(&a->pod);
	why_report_release(&a->report);
}

/* ---- the objects */

static int add_object(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	struct asked *a = data;

	return why_report_add_object(&a->report, kind, object, err);
}

static int add_node(struct cluster_node *node, void *data, struct err *err)
{
	struct asked *a = data;

	(void)err;
	why_report_add_node(&a->report, node);
	return 0;
}

/* Without the right to list Events they are left out, with a warning. */
static int read_events(struct asked *a, struct err *err)
{
	const struct object_reader reader =
		source_events(a->source, a->report.status.namespace, a->report.status.name);
	struct err why = {""};
	int r = pod_events_read(&reader, &a->report.status, &a->report.events, &why);

	a->report.events_known =
		r == 0 && (!option_set(a->options, OPT_FROM) || a->report.events.n_items > 0);
	if (r != -EREMOTEIO)
		return r < 0 ? err_set(err, r, "%s", why.text) : 0;
	log_warning("the answer omits events: %s", why.text);
	return 0;
}

static int ask(struct asked *a, struct err *err)
{
	int r;

	if (a->options->n_words == 0)
		return err_set(err, -EINVAL, "name the pod: kubectl numa why POD [NODE] [FLAG...]");
	r = options_stdin_once(a->options, err);
	if (r == 0)
		r = source_open(a->options, 1, &a->source, err);
	if (r == 0)
		r = source_pod(a->source, a->options->words[0], &a->pod, err);
	if (r == 0)
		r = why_report_init(&a->report, &a->pod, err);
	if (r == 0)
		r = read_events(a, err);
	if (r == 0)
		r = source_read_nodes_and_pods(a->source, add_object, a, err);
	if (r == 0) {
		why_report_end_objects(&a->report);
		r = source_each_node(a->source, add_node, a, err);
	}
	if (r < 0)
		return r;
	a->report.now_s = clock_ms(CLOCK_REALTIME) / 1000;
	why_report_finish(&a->report);
	return 0;
}

/* ---- the command */

static int print(const struct asked *a)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(WHY_OUTPUT_MAX);
	CLEANUP(writer_release) struct writer w;
	int r;

	writer_init(&w, a->options->value[OPT_OUTPUT], true, &text);
	why_write(&w, &a->report);
	r = writer_finish(&w);
	return r < 0 ? r : output_text(&text);
}

int command_why(const struct options *options)
{
	CLEANUP(asked_release) struct asked a = {.options = options};
	struct err err = {""};
	int r = ask(&a, &err);

	if (r < 0) {
		log_error("%s", err.text);
		return source_exit_status(options, r);
	}
	r = print(&a);
	if (r < 0) {
		log_error("cannot print: %s", strerror(-r));
		return EXIT_FAILURE;
	}
	if (!why_report_asks(&a.report) || a.report.takes > 0)
		return EXIT_SUCCESS;
	return a.report.unknown > 0 ? EXIT_FAILURE : EXIT_DOES_NOT_FIT;
}

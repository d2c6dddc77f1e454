/* SPDX-License-Identifier: Apache-2.0 */
/* nrtd why: what became of a pod, and which nodes' kubelets would take it. */
#include "agent/cli/commands.h"

#include <errno.h>
#include <string.h>

#include "agent/base/json.h"
#include "agent/base/output.h"
#include "agent/base/yaml.h"
#include "agent/report/why_text.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"

#define WHY_OUTPUT_MAX ((size_t)1 << 30)

struct asked {
	const struct options *options;
	const char *only; /* the one node that is asked for, or NULL */
	bool found;
	struct doc pod;
	size_t n_pods;
	struct why_report report;
};

static void asked_release(struct asked *a)
{
	doc_release(&a->pod);
	why_report_release(&a->report);
}

/* ---- the objects */

static int take_pod(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	struct asked *a = data;

	(void)kind;
	if (a->n_pods++ > 0)
		return err_set(err, -EINVAL, "several Pods, one is expected");
	a->pod = *object;
	*object = (struct doc)DOC_INIT;
	return 0;
}

static int read_pod(struct asked *a, struct err *err)
{
	const char *path = a->options->value[OPT_FILENAME];
	int r = object_input_read(path, 1u << OBJECT_POD, take_pod, a, err);

	if (r < 0)
		return r;
	r = a->n_pods > 0 ? why_report_init(&a->report, &a->pod, err) : err_set(err, -EINVAL, "no Pod in it");
	return r < 0 ? err_wrap(err, r, "%.100s", strcmp(path, "-") ? path : "standard input") : 0;
}

static int take_object(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	struct asked *a = data;

	return why_report_add_object(&a->report, kind, object, err);
}

static int take_node(struct cluster_node *node, void *data, struct err *err)
{
	struct asked *a = data;

	(void)err;
	if (a->only && strcmp(a->only, node->state.node_name) != 0)
		return 0;
	a->found = true;
	if (node->unreadable_state)
		log_warning("node '%s': %s; judged by its zones", node->state.node_name, node->why.text);
	why_report_add_node(&a->report, node);
	return 0;
}

static int read_objects(struct asked *a, struct err *err)
{
	static const enum option_id files[] = {OPT_NODES, OPT_PODS};
	const struct options *options = a->options;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(files) && r == 0; i++)
		if (option_set(options, files[i]))
			r = object_input_read(options->value[files[i]], 1u << OBJECT_NODE | 1u << OBJECT_POD,
				take_object, a, err);
	if (r == 0 && option_set(options, OPT_PODS) && a->report.usage.n_nodes == 0)
		r = err_set(err, -EINVAL, "%s: what the nodes have is not known without --nodes",
			options->origin[OPT_PODS]);
	if (r == 0 && option_set(options, OPT_EVENTS)) {
		a->report.events_known = true;
		r = pod_events_read(options->value[OPT_EVENTS], &a->report.status, &a->report.events, err);
	}
	if (r == 0)
		why_report_end_objects(&a->report);
	if (r == 0)
		r = cluster_nodes_each(options->value[OPT_NRT], take_node, a, err);
	if (r == 0 && a->only && !a->found)
		r = err_set(
			err, -EINVAL, "%.100s: no object of node '%.60s'", options->value[OPT_NRT], a->only);
	return r;
}

/* ---- the command */

static int ask(struct asked *a, struct err *err)
{
	static const enum option_id needed[] = {OPT_FILENAME, OPT_NRT};
	static const enum option_id files[] = {OPT_FILENAME, OPT_NRT, OPT_NODES, OPT_PODS, OPT_EVENTS};
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (!option_set(a->options, needed[i]))
			return err_set(err, -EINVAL, "%s FILE (%s) is needed",
				options_def(a->options, needed[i])->flag, i == 0 ? "the Pod" : "the nodes");
	r = options_stdin_once(a->options, files, ARRAY_SIZE(files), err);
	if (r == 0)
		r = read_pod(a, err);
	if (r == 0)
		r = read_objects(a, err);
	if (r < 0)
		return r;
	a->report.now_s = clock_ms(CLOCK_REALTIME) / 1000;
	why_report_finish(&a->report);
	return 0;
}

static int print(const struct asked *a)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(WHY_OUTPUT_MAX);
	CLEANUP(doc_release) struct doc doc = DOC_INIT;
	const char *output = a->options->value[OPT_WHY_OUTPUT];
	int r;

	if (!strcmp(output, "text"))
		r = why_text(&a->report, &text);
	else {
		why_to_doc(&a->report, &doc);
		r = !strcmp(output, "json") ? json_print(&doc, &text) : yaml_print(&doc, &text);
	}
	return r < 0 ? r : output_text(&text);
}

int command_why(const struct options *options)
{
	CLEANUP(asked_release) struct asked a = {.options = options, .only = options->value[OPT_NODE_NAME]};
	struct err err = {""};
	int r = ask(&a, &err);

	if (r < 0) {
		log_error("%s", err.text);
		return EXIT_USAGE;
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

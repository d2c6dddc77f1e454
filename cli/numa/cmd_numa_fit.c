/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl numa fit: which nodes' kubelets would admit the pod, and how many copies. */
#include "cli/commands.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/fit_flags.h"
#include "cli/numa/source.h"
#include "cli/numa/stored_pod.h"
#include "cli/pod_input.h"
#include "cli/progress.h"
#include "cli/report/fit_report.h"
#include "cli/report/terminal.h"
#include "cluster/constraints/scheduling_constraints.h"
#include "common/cleanup.h"
#include "common/io/fs.h"
#include "common/log.h"
#include "common/text.h"

#define OUTPUT_MAX ((size_t)1 << 30)

struct fit_query {
	const struct options *options;
	struct source *source;
	struct pod_templates templates;
	const struct pod_template *picked;
	struct stored_pod stored;
	struct excluded_pods excluded;
	struct cluster cluster;
	struct scheduling_constraints constraints;
	struct pod_report report;
	const char *only; /* the node, if the command names exactly one; else NULL */
	enum cluster_basis only_basis;
};

static void fit_query_release(struct fit_query *q)
{
	source_close(q->source);
	stored_pod_release(&q->stored);
	pod_templates_release(&q->templates);
	pod_report_release(&q->report);
	cluster_release(&q->cluster);
	scheduling_constraints_release(&q->constraints);
	excluded_pods_release(&q->excluded);
}

/* ---- the nodes */

/* Reports in full on the only node. */
static void report_only_node(struct fit_query *q, const struct node_info *node)
{
	CLEANUP(resource_list_release) struct resource_list requestable = {0};
	struct node_report *n = pod_report_add(&q->report, node, REPORT_ALL);
	struct projected_node *projected;

	if (node->has_node)
		node_info_requestable(node, NULL, &requestable);
	q->only_basis = node->object.basis;
	if (n->rest_fits)
		n->basis = node->object.basis; /* of the verdict on the pod without devices */
	/* What a victim frees would go to the pod of a reservation, as in the extender's preemption. */
	if (n->n_reserved == 0 && project_node_possible(node))
		fit_flags_add_victims(q->options, node, node->has_node ? &requestable : NULL,
			project_node_state(&q->report.projections, node, &projected), &q->picked->pod, n);
	else if (option_set(q->options, OPT_WHAT_FREES)) /* no victims are searched */
		n->victims.answer = n->answer == KUBELET_ADMITS ? VICTIMS_NOTHING : VICTIMS_UNKNOWN;
}

/* Warns if an excluded pod is on the node and the object does not contain what the pod holds. */
static void warn_not_excluded(const struct fit_query *q, const struct cluster_node *node)
{
	if (node->basis != CLUSTER_EXACT && strv_contains(&q->excluded.nodes, node->state.node_name))
		log_warning(
			"node '%s': the object does not list pods, so the resources of excluded pods count as held",
			node->state.node_name);
}

static int fit_add_node(struct cluster_node *object, void *data, struct err *err)
{
	struct fit_query *q = data;
	struct node_info *node;
	int r;

	/* Files may have several objects of the node: the first counts. */
	if (q->only && q->report.n_nodes > 0)
		return 0;
	r = fit_flags_assume(q->options, &object->state.settings, err);
	if (r < 0)
		return r;
	progress_show("nodes judged", q->report.n_nodes, 0);
	warn_not_excluded(q, object);
	cluster_node_exclude(object, &q->excluded);
	node = cluster_set_object(&q->cluster, object, 0);
	if (q->only)
		report_only_node(q, node);
	else
		pod_report_add(&q->report, node, REPORT_PLACEMENTS | REPORT_COPIES | REPORT_NEAREST);
	pod_report_drop_node(&q->report, node);
	return 0;
}

/* ---- the output */

static int print_fits(const struct fit_query *q)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(OUTPUT_MAX);
	CLEANUP(writer_release) struct writer w;
	bool headings = q->only || !option_set(q->options, OPT_NO_HEADERS);

	writer_init(&w, q->options->value[OPT_OUTPUT], headings, &text);
	w.width = terminal_table_width(STDOUT_FILENO);
	if (q->only && w.format != WRITER_NAME)
		fit_write_node(&w, &q->report, &q->report.nodes[0]);
	else
		fit_write(&w, &q->report);
	if (headings)
		fit_write_form(&w, &q->stored.form);
	return print_text(writer_finish(&w), &text);
}

/* Of a question about nodes with several copies. */
static int copies_status(const struct pod_report *report)
{
	bool unknown;

	if (pod_report_count_with_copies(report, &unknown) > 0)
		return EXIT_SUCCESS;
	if (unknown)
		log_error("no verdict: whether a node admits %zu copies is not known", report->min_copies);
	return unknown ? EXIT_FAILURE : EXIT_DOES_NOT_FIT;
}

/* Of a question about many nodes; says on standard error why there is no verdict. */
static int status_of_many(const struct fit_query *q)
{
	const struct pod_report *report = &q->report;
	bool fits = report->n_admit > 0 && report->placed_replicas == report->wanted_replicas;

	if (report->min_copies > 0)
		return copies_status(report);
	if (!fits && report->at_least && report->copies == 0)
		log_error("no verdict: whether the pod fits a node is not known");
	else if (!fits && report->at_least)
		log_error("no verdict: whether more copies than %zu fit is not known", report->copies);
	if (fits)
		return EXIT_SUCCESS;
	return report->at_least ? EXIT_FAILURE : EXIT_DOES_NOT_FIT;
}

/* ---- the command */

/* Checks combinations of flags. */
static int fit_check_flags(const struct fit_query *q, struct err *err)
{
	static const enum option_id of_many[] = {OPT_REPLICAS, OPT_MIN_COPIES};
	const struct options *options = q->options;

	if (option_set(options, OPT_BELOW_PRIORITY) && !option_set(options, OPT_WHAT_FREES))
		return err_set(err, -EINVAL, "%s requires --what-frees", options->origin[OPT_BELOW_PRIORITY]);
	if (option_set(options, OPT_WHAT_FREES) && !q->only)
		return err_set(err, -EINVAL, "%s requires exactly one NODE", options->origin[OPT_WHAT_FREES]);
	for (size_t i = 0; i < ARRAY_SIZE(of_many); i++)
		if (option_set(options, of_many[i]) && q->only)
			return err_set(err, -EINVAL, "%s is not possible with exactly one NODE",
				options->origin[of_many[i]]);
	if (option_set(options, OPT_REPLICAS) && option_set(options, OPT_MIN_COPIES))
		return err_set(err, -EINVAL, "%s and %s exclude each other", options->origin[OPT_REPLICAS],
			options->origin[OPT_MIN_COPIES]);
	return 0;
}

/* Each pod of --without-pod must occur in an object. */
static int check_excluded(const struct fit_query *q, struct err *err)
{
	int r = excluded_pods_check(&q->excluded, err);

	if (r < 0 && q->only && q->only_basis != CLUSTER_EXACT)
		r = err_set(err, r, "the object of node '%.60s' does not list pods", q->only);
	return r < 0 ? err_wrap(err, -EINVAL, "%s", q->options->origin[OPT_WITHOUT_POD]) : 0;
}

static size_t count_replicas(const struct options *options, const struct pod_template *pod)
{
	const char *replicas = options->value[OPT_REPLICAS];

	if (replicas)
		return strtoul(replicas, NULL, 10);
	if (option_set(options, OPT_MIN_COPIES))
		return 0;
	if (!pod->is_counted)
		return 0;
	return pod->replicas < SIZE_MAX ? (size_t)pod->replicas : SIZE_MAX;
}

/* Opens the source, checks the flags, and reads the pod. */
static int read_request(struct fit_query *q, struct err *err)
{
	CLEANUP(settings_release) struct settings scratch;
	int r;

	settings_init(&scratch);
	if (options_stdin_once(q->options, err) < 0 || pod_input_read(q->options, &q->templates, err) < 0)
		return -EINVAL; /* a missing file is wrong usage, too */
	r = source_open(q->options, 0, &q->source, err);
	if (r < 0)
		return r;
	q->only = source_node(q->source);
	r = fit_check_flags(q, err);
	if (r < 0)
		return r;
	r = fit_flags_assume(q->options, &scratch, err); /* wrong usage is reported first */
	if (r < 0)
		return r;
	r = pod_input_pick(q->options, &q->templates, &q->picked, err);
	return r < 0 ? r : stored_pod_find(q->options, q->source, &q->picked, &q->stored, err);
}

static int make_fit_report(struct fit_query *q, struct err *err)
{
	const struct pod_template *pod;
	int r = read_request(q, err);

	if (r < 0)
		return r;
	pod = q->picked;
	pod_report_init(&q->report, &pod->pod);
	q->report.constraints = &q->constraints;
	scheduling_constraints_init_template(&q->constraints, pod, source_namespace(q->source));
	q->constraints.only = q->only;
	q->constraints.excluded = &q->excluded;
	r = source_fill_cluster(q->source, &q->cluster, &q->constraints, &q->excluded, err);
	if (r < 0)
		return r;
	pod_report_set_cluster(&q->report, &q->cluster, pod, source_namespace(q->source));
	scheduling_constraints_finish(&q->constraints);
	r = source_each_node(q->source, fit_add_node, q, err);
	if (r < 0)
		return r;
	r = check_excluded(q, err);
	if (r < 0)
		return r;
	if (q->only)
		return 0;
	source_nodes_without_object(q->source, &q->cluster, &q->report.without_object);
	if (option_set(q->options, OPT_MIN_COPIES))
		q->report.min_copies = strtoul(q->options->value[OPT_MIN_COPIES], NULL, 10);
	pod_report_place(&q->report, count_replicas(q->options, pod));
	return 0;
}

int command_numa_fit(const struct options *options)
{
	CLEANUP(fit_query_release) struct fit_query q = {.options = options};
	struct err err = {""};
	int r;

	fit_flags_exclude(options, &q.excluded);
	progress_begin();
	r = make_fit_report(&q, &err);
	progress_end();
	if (r < 0) {
		log_error("%s", err.text);
		return source_exit_status(options, r);
	}
	if (print_fits(&q) < 0)
		return EXIT_FAILURE;
	return q.only ? fit_flags_status(&q.report.nodes[0]) : status_of_many(&q);
}

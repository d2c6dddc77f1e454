/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl numa fit: which nodes' kubelets would admit the pod, and how many copies. */
#include "agent/cli/commands.h"

#include <errno.h>

#include "agent/base/fs.h"
#include "agent/cli/fit_flags.h"
#include "agent/cli/pod_input.h"
#include "agent/cli/source.h"
#include "agent/cluster/scheduling_constraints.h"
#include "agent/report/fit_report.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/text.h"

#define OUTPUT_MAX ((size_t)1 << 30)

struct asked {
	const struct options *options;
	struct source *source;
	struct pod_templates templates;
	const struct pod_template *picked;
	struct excluded_pods gone;
	struct cluster_usage usage;
	struct scheduling_constraints constraints;
	struct pod_report report;
	const char *only; /* the only node that is asked, or NULL */
	enum cluster_basis only_basis;
};

static void asked_release(struct asked *a)
{
	source_close(a->source);
	pod_templates_release(&a->templates);
	pod_report_release(&a->report);
	cluster_usage_release(&a->usage);
	scheduling_constraints_release(&a->constraints);
	excluded_pods_release(&a->gone);
}

/* ---- the nodes */

/* Reports on the only node, with all parts. */
static void ask_one(struct asked *a, struct cluster_node *node)
{
	const struct pod_request *pod = &a->picked->pod;
	const struct node_usage *use = cluster_usage_find(&a->usage, node->state.node_name);
	struct node_report *n = pod_report_add(&a->report, node, REPORT_ALL);

	a->only_basis = node->basis;
	if (n->rest_fits)
		n->basis = node->basis; /* of the answer without devices */
	fit_flags_add_victims(a->options, use, &node->state, pod, n);
}

/* Warns if an excluded pod is on the node, and the object does not say what the pod holds. */
static void warn_held(const struct asked *a, const struct cluster_node *node)
{
	const struct node_usage *use = cluster_usage_find(&a->usage, node->state.node_name);

	if (use && use->has_excluded && node->basis != CLUSTER_EXACT)
		log_warning("node '%s': its object does not say who holds what; that counts as held",
			node->state.node_name);
}

static int take_node(struct cluster_node *node, void *data, struct err *err)
{
	struct asked *a = data;
	int r;

	if (a->only && a->report.n_nodes > 0)
		return 0;
	r = fit_flags_assume(a->options, &node->state.settings, err);
	if (r < 0)
		return r;
	warn_held(a, node);
	cluster_node_exclude(node, &a->gone);
	if (a->only)
		ask_one(a, node);
	else
		pod_report_add(&a->report, node, REPORT_PLACEMENTS | REPORT_COPIES | REPORT_NEAREST);
	return 0;
}

/* ---- the output */

static int print(const struct asked *a)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(OUTPUT_MAX);
	CLEANUP(writer_release) struct writer w;
	bool headings = a->only || !option_set(a->options, OPT_NO_HEADERS);
	int r;

	writer_init(&w, a->options->value[OPT_OUTPUT], headings, &text);
	if (a->only)
		fit_write_node(&w, &a->report, &a->report.nodes[0]);
	else
		fit_write(&w, &a->report);
	r = writer_finish(&w);
	return r < 0 ? r : output_text(&text);
}

static int status_of_all(const struct asked *a)
{
	const struct pod_report *report = &a->report;
	bool fits = report->n_admit > 0 && report->placed_replicas == report->wanted_replicas;

	if (!fits && report->at_least)
		log_error("no verdict: there may be room for more than %zu cop%s", report->copies,
			report->copies == 1 ? "y" : "ies");
	return fits ? EXIT_SUCCESS : report->at_least ? EXIT_FAILURE : EXIT_DOES_NOT_FIT;
}

/* ---- the command */

/* --what-frees is for one node, --replicas for several. */
static int check_flags(const struct asked *a, struct err *err)
{
	const struct options *options = a->options;

	if (option_set(options, OPT_BELOW_PRIORITY) && !option_set(options, OPT_WHAT_FREES))
		return err_set(
			err, -EINVAL, "%s goes with --what-frees", options->origin[OPT_BELOW_PRIORITY]);
	if (option_set(options, OPT_WHAT_FREES) && !a->only)
		return err_set(err, -EINVAL, "%s is for one node: name it", options->origin[OPT_WHAT_FREES]);
	if (option_set(options, OPT_REPLICAS) && a->only)
		return err_set(err, -EINVAL, "%s is for several nodes: name none, or more than one",
			options->origin[OPT_REPLICAS]);
	return options_stdin_once(options, err);
}

/* Each pod of --without-pod must be known from some object. */
static int check_gone(const struct asked *a, struct err *err)
{
	int r = excluded_pods_check(&a->gone, err);

	if (r < 0 && a->only && a->only_basis != CLUSTER_EXACT)
		r = err_set(err, r, "the object of node '%.60s' does not say who holds what", a->only);
	return r < 0 ? err_wrap(err, -EINVAL, "%s", a->options->origin[OPT_WITHOUT_POD]) : 0;
}

/* A Pod from the API server is bound by a scheduler; only a manifest's spec.nodeName is a constraint. */
static bool is_manifest(const struct doc *owner)
{
	return !doc_get(doc_get(owner, "metadata"), "uid");
}

static size_t wanted(const struct options *options, const struct pod_template *pod)
{
	const char *replicas = options->value[OPT_REPLICAS];

	if (replicas)
		return strtoul(replicas, NULL, 10);
	return !pod->is_counted ? 0 : pod->replicas < SIZE_MAX ? (size_t)pod->replicas : SIZE_MAX;
}

/* Opens the source, checks the flags, and reads the pod. */
static int read_request(struct asked *a, struct err *err)
{
	CLEANUP(settings_release) struct settings scratch;
	int r;

	settings_init(&scratch);
	r = source_open(a->options, 0, &a->source, err);
	if (r < 0)
		return r;
	a->only = source_node(a->source);
	r = check_flags(a, err);
	if (r == 0)
		r = fit_flags_assume(a->options, &scratch, err); /* wrong usage is reported first */
	if (r == 0 && pod_input_read(a->options, &a->templates, err) < 0)
		r = -EINVAL; /* also for a file that is not there */
	return r < 0 ? r : pod_input_pick(a->options, &a->templates, &a->picked, err);
}

static int ask(struct asked *a, struct err *err)
{
	const struct pod_template *pod;
	int r = read_request(a, err);

	if (r < 0)
		return r;
	pod = a->picked;
	a->usage.only = a->only;
	a->usage.excluded = &a->gone;
	pod_report_init(&a->report, &pod->pod);
	a->report.usage = &a->usage;
	a->report.constraints = &a->constraints;
	scheduling_constraints_init(&a->constraints, pod->owner,
		pod->namespace ? pod->namespace : source_namespace(a->source), is_manifest(pod->owner));
	a->constraints.only = a->only;
	a->constraints.excluded = &a->gone;
	r = source_read_usage(a->source, &a->usage, &a->constraints, err);
	if (r < 0)
		return r;
	scheduling_constraints_finish(&a->constraints);
	r = source_each_node(a->source, take_node, a, err);
	if (r == 0)
		r = check_gone(a, err);
	if (r == 0 && !a->only)
		pod_report_place(&a->report, wanted(a->options, pod));
	return r;
}

int command_numa_fit(const struct options *options)
{
	CLEANUP(asked_release) struct asked a = {.options = options};
	struct err err = {""};
	int r;

	fit_flags_exclude(options, &a.gone);
	r = ask(&a, &err);
	if (r < 0) {
		log_error("%s", err.text);
		return source_exit_status(options, r);
	}
	r = print(&a);
	if (r < 0) {
		log_error("cannot print: %s", strerror(-r));
		return EXIT_FAILURE;
	}
	return a.only ? fit_flags_status(&a.report.nodes[0]) : status_of_all(&a);
}

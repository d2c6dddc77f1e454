/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl numa fit: which nodes' kubelets would admit the pod, and how many copies. */
#include "agent/cli/commands.h"

#include <errno.h>

#include "agent/base/fs.h"
#include "agent/base/json.h"
#include "agent/base/yaml.h"
#include "agent/cli/fit_pods.h"
#include "agent/cli/fit_what_if.h"
#include "agent/cli/pod_input.h"
#include "agent/cli/source.h"
#include "agent/cluster/scheduling_constraints.h"
#include "agent/report/cluster_fit_text.h"
#include "agent/report/fit_doc.h"
#include "agent/report/fit_text.h"
#include "agent/report/not_looked_at.h"
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
	struct cluster_fit fit;
	const char *only; /* the one node that is asked for, or NULL */
	bool found;
	struct fit_report report; /* of that */
	struct cluster_node node;
};

static void asked_release(struct asked *a)
{
	source_close(a->source);
	pod_templates_release(&a->templates);
	fit_report_release(&a->report);
	cluster_node_release(&a->node);
	cluster_fit_release(&a->fit);
	cluster_usage_release(&a->usage);
	scheduling_constraints_release(&a->constraints);
	excluded_pods_release(&a->gone);
}

/* ---- the nodes */

/* What schedulers decide about the one node. */
static void apply_constraints(struct asked *a)
{
	const char *name = a->node.state.node_name;
	const char *bar = scheduling_constraints_violated(&a->constraints, name);

	if (*bar) {
		fit_report_keep_away(&a->report, bar);
		return;
	}
	if (a->report.copies.n > 0 && copies_placement_one_per_node(&a->constraints, name))
		a->report.copies = (struct admission_copies){.n = 1};
}

static int ask_one(struct asked *a, struct cluster_node *node)
{
	CLEANUP(resource_list_release) struct resource_list free = {0};
	const struct node_usage *use = cluster_usage_find(&a->usage, node->state.node_name);
	bool known = use && use->known;
	int r;

	if (known)
		node_usage_requestable(use, &free);
	a->found = true;
	a->node = *node;
	*node = (struct cluster_node){.basis = CLUSTER_UNKNOWN};
	node_state_init(&node->state);
	r = fit_report_make(&a->node.state, &a->picked->pod, FIT_ALL, known ? &free : NULL, &a->report);
	if (r == 0)
		fit_pods_add_frees(
			a->options, use, known ? &free : NULL, &a->node.state, &a->picked->pod, &a->report);
	if (r < 0)
		return r;
	apply_constraints(a);
	return 0;
}

/* The Pods say that one which is taken to be gone is here, and what it holds is not known. */
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

	if (a->only && a->found)
		return 0;
	r = fit_what_if(a->options, &node->state.settings, err);
	if (r < 0)
		return r;
	warn_held(a, node);
	cluster_node_exclude(node, &a->gone);
	if (a->only)
		ask_one(a, node);
	else
		cluster_fit_add(&a->fit, node);
	return 0;
}

/* ---- what is printed */

static int print_doc(const struct options *options, const struct doc *doc, struct strbuf *out)
{
	return !strcmp(options->value[OPT_OUTPUT], "json") ? json_print(doc, out) : yaml_print(doc, out);
}

static bool wants_doc(const struct options *options)
{
	return !strcmp(options->value[OPT_OUTPUT], "json") || !strcmp(options->value[OPT_OUTPUT], "yaml");
}

static int print_one(const struct asked *a)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(OUTPUT_MAX);
	CLEANUP(doc_release) struct doc doc = DOC_INIT;
	bool known = a->report.answer != KUBELET_UNKNOWN || a->report.rest_fits;
	const char *basis = cluster_basis_names[known ? a->node.basis : CLUSTER_UNKNOWN];
	int r = 0;

	if (wants_doc(a->options)) {
		fit_to_doc(&a->report, &doc);
		doc_add_string(&doc, "basis", basis);
		doc_add_string(&doc, "why", a->node.why.text);
		not_looked_at_to_doc(&a->constraints.not_looked_at, &doc);
		r = print_doc(a->options, &doc, &text);
	} else {
		fit_text(&a->report, &a->node.state.inventory, &text);
		strbuf_addf(&text, "basis        %s%s", basis, a->node.why.text[0] ? ": " : "");
		strbuf_add_one_line(&text, a->node.why.text);
		strbuf_addch(&text, '\n');
		not_looked_at_text(&a->constraints.not_looked_at, &text);
	}
	return r < 0 ? r : output_text(&text);
}

static int print_all(const struct asked *a)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(OUTPUT_MAX);
	CLEANUP(doc_release) struct doc doc = DOC_INIT;
	const char *output = a->options->value[OPT_OUTPUT];
	int r = 0;

	if (wants_doc(a->options)) {
		cluster_fit_to_doc(&a->fit, &doc);
		r = print_doc(a->options, &doc, &text);
	} else if (!strcmp(output, "name"))
		cluster_fit_names(&a->fit, &text);
	else
		r = cluster_fit_table(
			&a->fit, !strcmp(output, "wide"), !option_set(a->options, OPT_NO_HEADERS), &text);
	return r < 0 ? r : output_text(&text);
}

static int status_of_all(const struct asked *a)
{
	bool fits = a->fit.n_admit > 0 && a->fit.placed == a->fit.wanted;

	if (!fits && a->fit.at_least)
		log_error("no verdict: there may be room for more than %zu cop%s", a->fit.copies,
			a->fit.copies == 1 ? "y" : "ies");
	return fits ? EXIT_SUCCESS : a->fit.at_least ? EXIT_FAILURE : EXIT_DOES_NOT_FIT;
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

/* Each pod that is to be gone is known to some object. */
static int check_gone(const struct asked *a, struct err *err)
{
	int r = excluded_pods_check(&a->gone, err);

	if (r < 0 && a->only && a->node.basis != CLUSTER_EXACT)
		r = err_set(err, r, "the object of node '%.60s' does not say who holds what", a->only);
	return r < 0 ? err_wrap(err, -EINVAL, "%s", a->options->origin[OPT_WITHOUT_POD]) : 0;
}

/* A Pod that the API server has is on its node because a scheduler sent it there. */
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

/* The pod, and what the constraints and the usage are asked for. */
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
		r = fit_what_if(a->options, &scratch, err); /* bad usage is said first */
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
	a->fit = (struct cluster_fit){.pod = &pod->pod, .usage = &a->usage, .constraints = &a->constraints};
	scheduling_constraints_init(&a->constraints, pod->owner, pod->namespace, is_manifest(pod->owner));
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
		cluster_fit_finish(&a->fit, wanted(a->options, pod));
	return r;
}

int command_numa_fit(const struct options *options)
{
	CLEANUP(asked_release) struct asked a = {.options = options};
	struct err err = {""};
	int r;

	node_state_init(&a.node.state);
	fit_pods_gone(options, &a.gone);
	r = ask(&a, &err);
	if (r < 0) {
		log_error("%s", err.text);
		return source_exit_status(options, r);
	}
	r = a.only ? print_one(&a) : print_all(&a);
	if (r < 0) {
		log_error("cannot print: %s", strerror(-r));
		return EXIT_FAILURE;
	}
	return a.only ? fit_status(&a.report) : status_of_all(&a);
}

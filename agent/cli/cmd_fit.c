/* SPDX-License-Identifier: Apache-2.0 */
/* nrtd fit: would this node admit the pod, and where would it go? */
#include "agent/cli/commands.h"

#include <errno.h>

#include "agent/base/fs.h"
#include "agent/cli/fit_flags.h"
#include "agent/cli/observe_local.h"
#include "agent/cli/pod_input.h"
#include "agent/cli/stage_config.h"
#include "agent/report/fit_report.h"
#include "agent/state/projected_state.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define FIT_TEXT_MAX (8u << 20)

/* A pod, and this node. */
struct asked {
	const struct options *options;
	struct pod_templates templates;
	const struct pod_template *picked;
	char *node_name;
	struct excluded_pods gone;
	struct cluster_usage usage; /* of this node */
	struct observation o;
};

static void asked_release(struct asked *a)
{
	pod_templates_release(&a->templates);
	free(a->node_name);
	cluster_usage_release(&a->usage);
	excluded_pods_release(&a->gone);
	observation_release(&a->o);
}

/*
 * Suggests --assume-empty if the verdict is unknown only because this host has no kubelet whose allocations
 * could be read.
 */
static void suggest_empty(const struct asked *a, struct node_report *n)
{
	char *reason = n->reason;

	if (n->answer != KUBELET_UNKNOWN || a->o.from_files || a->o.from_api ||
		option_set(a->options, OPT_ASSUME_EMPTY) ||
		a->o.node.settings.cpu_manager == CPU_MANAGER_UNKNOWN)
		return;
	n->reason = xasprintf("%s; --assume-empty answers as if no pod were here", reason);
	free(reason);
}

static int print(const struct options *options, const struct pod_report *r, const struct node_report *n)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FIT_TEXT_MAX);
	CLEANUP(writer_release) struct writer w;
	int error;

	writer_init(&w, options->value[OPT_OUTPUT], true, &text);
	fit_write_node(&w, r, n);
	error = writer_finish(&w);
	return error < 0 ? error : output_text(&text);
}

static int answer(struct asked *a)
{
	CLEANUP(pod_report_release) struct pod_report report;
	CLEANUP(node_report_release) struct node_report n;
	CLEANUP(resource_list_release) struct resource_list free = {0};
	struct node_state *node = &a->o.node;
	const struct node_usage *use = cluster_usage_find(&a->usage, node->node_name);
	bool known = use && use->known;
	int r;

	if (known)
		node_usage_requestable(use, &free);
	pod_report_init(&report, &a->picked->pod);
	node_report_make(&report, node, REPORT_ALL, known ? &free : NULL, &n);
	suggest_empty(a, &n);
	fit_flags_add_victims(a->options, use, node, &a->picked->pod, &n);
	r = print(a->options, &report, &n);
	if (r < 0) {
		log_error("cannot print: %s", strerror(-r));
		return EXIT_FAILURE;
	}
	return fit_flags_status(&n);
}

/* --assume-empty excludes flags that name the pods of the node, or another node. */
static int check_empty(const struct options *options, struct err *err)
{
	static const enum option_id others[] = {
		OPT_NODES, OPT_PODS, OPT_WITHOUT_POD, OPT_WHAT_FREES, OPT_BELOW_PRIORITY};

	for (size_t i = 0; i < ARRAY_SIZE(others) && option_set(options, OPT_ASSUME_EMPTY); i++)
		if (option_set(options, others[i]))
			return err_set(err, -EINVAL, "%s and %s exclude each other",
				options->origin[OPT_ASSUME_EMPTY], options->origin[others[i]]);
	return 0;
}

/* Flags that go together. */
static int check_flags(const struct options *options, struct err *err)
{
	int r = check_empty(options, err);

	if (r < 0)
		return r;
	if (option_set(options, OPT_BELOW_PRIORITY) && !option_set(options, OPT_WHAT_FREES))
		return err_set(
			err, -EINVAL, "%s goes with --what-frees", options->origin[OPT_BELOW_PRIORITY]);
	return options_stdin_once(options, err);
}

static int add_usage(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	return cluster_usage_add(data, kind, object, err);
}

/* Reads the requests of this node's pods from Nodes and Pods. */
static int read_usage(struct asked *a, struct err *err)
{
	const struct options *options = a->options;
	static const enum option_id files[] = {OPT_NODES, OPT_PODS};
	const struct node_usage *use;
	int r;

	if (!option_set(options, OPT_NODES) && !option_set(options, OPT_PODS))
		return 0;
	r = observe_node_name(options->value[OPT_SYSROOT], options->value[OPT_NODE_NAME], &a->node_name, err);
	if (r < 0)
		return r;
	a->usage.only = a->node_name;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(files); i++)
		if (option_set(options, files[i]))
			r = object_input_read(options->value[files[i]], 1u << OBJECT_NODE | 1u << OBJECT_POD,
				add_usage, &a->usage, err);
	if (r == 0 && option_set(options, OPT_PODS) && a->usage.n_nodes == 0 &&
		!option_set(options, OPT_WHAT_FREES))
		r = err_set(err, -EINVAL, "%s: what the nodes have is not known without --nodes",
			options->origin[OPT_PODS]);
	use = cluster_usage_find(&a->usage, a->node_name);
	if (r == 0 && option_set(options, OPT_NODES) && (!use || !use->known))
		r = err_set(err, -EINVAL, "%s: no Node '%.100s', which is this machine's name (--node-name)",
			options->origin[OPT_NODES], a->node_name);
	return r;
}

/* Reads the flags before the node is observed, so that wrong usage is reported first. */
static int read_request(struct asked *a, struct err *err)
{
	CLEANUP(settings_release) struct settings scratch;
	int r;

	settings_init(&scratch);
	r = check_flags(a->options, err);
	if (r == 0)
		r = fit_flags_assume(a->options, &scratch, err);
	if (r == 0)
		r = pod_input_read(a->options, &a->templates, err);
	if (r == 0)
		r = pod_input_pick(a->options, &a->templates, &a->picked, err);
	if (r < 0)
		return r;
	return read_usage(a, err);
}

/* The pods of --without-pod end. */
static int take_pods(struct asked *a, struct err *err)
{
	int r;

	excluded_pods_take(&a->gone, &a->o.node.allocations);
	r = excluded_pods_check(&a->gone, err);
	return r < 0 ? err_wrap(err, r, "%s", a->options->origin[OPT_WITHOUT_POD]) : 0;
}

/* Observes the node, and applies the what-if flags. */
static int observe_node(struct asked *a, struct err *err)
{
	const struct observe_config config = stage_observe(a->options);
	struct stage_lists lists;
	const struct derive_config model = stage_model(a->options, &lists);
	struct node_state *node = &a->o.node;
	int r = observe(&config, &a->o, err);

	if (r == 0)
		r = fit_flags_assume(a->options, &node->settings, err);
	if (r == 0)
		r = option_set(a->options, OPT_ASSUME_EMPTY) ? projected_state_empty(node, err)
							     : take_pods(a, err);
	return r < 0 ? r : node_derive(&model, node, &a->o.notes, err);
}

int command_fit(const struct options *options)
{
	CLEANUP(asked_release) struct asked a = {.options = options};
	struct err err = {""};
	int r;

	observation_init(&a.o);
	a.usage.excluded = &a.gone;
	fit_flags_exclude(options, &a.gone);
	r = read_request(&a, &err);
	if (r < 0) {
		log_error("%s", err.text);
		return EXIT_USAGE;
	}
	r = observe_node(&a, &err);
	if (r < 0) {
		log_error("%s", err.text);
		return EXIT_FAILURE;
	}
	log_notes(&a.o.notes);
	return answer(&a);
}

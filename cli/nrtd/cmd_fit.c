/* SPDX-License-Identifier: Apache-2.0 */
/* nrtd fit: would this node's kubelet admit the pod, and on which NUMA nodes? */
#include "cli/commands.h"

#include <errno.h>
#include <unistd.h>

#include "agent/observe/pods_api.h"
#include "cli/fit_flags.h"
#include "cli/nrtd/observe_local.h"
#include "cli/nrtd/stage_config.h"
#include "cli/pod_input.h"
#include "cli/report/fit_report.h"
#include "cli/report/terminal.h"
#include "cluster/model/named_pods.h"
#include "cluster/objects/pod_status.h"
#include "common/cleanup.h"
#include "common/io/fs.h"
#include "common/log.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/node/manager_state.h"
#include "scoring/node/node_admission.h"
#include "scoring/node/projected_state.h"

#define FIT_TEXT_MAX (8u << 20)

/* A question about a pod and this node. */
struct fit_query {
	const struct options *options;
	struct pod_templates templates;
	const struct pod_template *picked;
	char *node_name;
	struct excluded_pods excluded;
	struct cluster cluster; /* has this node */
	size_t n_nodes;         /* Node objects */
	bool from_pods_api;     /* the cluster has all pods of the node, and not the Node */
	struct observation o;
};

static void fit_query_release(struct fit_query *q)
{
	pod_templates_release(&q->templates);
	free(q->node_name);
	cluster_release(&q->cluster);
	excluded_pods_release(&q->excluded);
	observation_release(&q->o);
}

/*
 * Names the flags that make an unknown verdict known: those of unknown settings, or --assume-empty if only the kubelet's
 * allocations could not be read on this host.
 */
static void suggest_flags(const struct fit_query *q, struct node_report *n)
{
	const struct settings *s = &q->o.node.settings;
	bool set = s->cpu_manager != CPU_MANAGER_UNKNOWN && s->memory_manager != MEMORY_MANAGER_UNKNOWN &&
		   s->topology.policy != TOPOLOGY_MANAGER_UNKNOWN;
	bool read = q->o.from_files || q->o.from_api || option_set(q->options, OPT_ASSUME_EMPTY);
	char *reason = n->reason;

	if (n->answer != KUBELET_UNKNOWN || (set && read))
		return;
	n->reason = xasprintf(
		set ? "%s; --assume-empty assumes that no pod runs on this machine"
		    : "%s; --kubelet-config names the kubelet's configuration file, and flags such as --cpu-manager-policy its settings",
		reason);
	free(reason);
}

static int print_fit(const struct options *options, const struct pod_report *r, const struct node_report *n)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FIT_TEXT_MAX);
	CLEANUP(writer_release) struct writer w;

	writer_init(&w, options->value[OPT_OUTPUT], true, &text);
	w.width = terminal_table_width(STDOUT_FILENO);
	fit_write_node(&w, r, n);
	return print_text(writer_finish(&w), &text);
}

static int report_verdict(struct fit_query *q)
{
	CLEANUP(pod_report_release) struct pod_report report;
	CLEANUP(node_report_release) struct node_report n;
	CLEANUP(resource_list_release) struct resource_list requestable = {0};
	const struct resource_list none = {0};
	struct node_state *node = &q->o.node;
	const struct node_info *info = cluster_find_node(&q->cluster, node->node_name);
	bool known = (info && info->has_node) || q->from_pods_api;

	if (info && info->has_node)
		node_info_requestable(info, NULL, &requestable);
	else if (known)
		node_admission_requestable(node, info ? &info->requested : &none, &requestable);
	pod_report_init(&report, &q->picked->pod);
	node_report_make(&report, node, REPORT_ALL, known ? &requestable : NULL, &n);
	suggest_flags(q, &n);
	fit_flags_add_victims(q->options, info, known ? &requestable : NULL, node, &q->picked->pod, &n);
	if (print_fit(q->options, &report, &n) < 0)
		return EXIT_FAILURE;
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

/* Checks combinations of flags. */
static int check_flags(const struct options *options, struct err *err)
{
	int r = check_empty(options, err);

	if (r < 0)
		return r;
	if (option_set(options, OPT_BELOW_PRIORITY) && !option_set(options, OPT_WHAT_FREES))
		return err_set(err, -EINVAL, "%s requires --what-frees", options->origin[OPT_BELOW_PRIORITY]);
	return options_stdin_once(options, err);
}

/* Adds this machine's Node, and its pods except the excluded ones. */
static int add_object(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	struct fit_query *q = data;

	q->n_nodes += kind == OBJECT_NODE;
	if (kind == OBJECT_POD && pod_is_excluded(object, &q->excluded, q->node_name))
		return 0;
	return cluster_update(&q->cluster, kind, object, 0, err);
}

/* Reads the requests of this node's pods from Nodes and Pods. */
static int read_nodes_and_pods(struct fit_query *q, struct err *err)
{
	const struct options *options = q->options;
	static const enum option_id files[] = {OPT_NODES, OPT_PODS};
	const struct observe_config config = stage_observe(options);
	const struct node_info *node;
	int r;

	if (!option_set(options, OPT_NODES) && !option_set(options, OPT_PODS))
		return 0;
	r = observe_node_name(&config, &q->node_name, err);
	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(files); i++)
		if (option_set(options, files[i]))
			r = object_input_read(options->value[files[i]], 1u << OBJECT_NODE | 1u << OBJECT_POD,
				add_object, q, err);
	if (r == 0 && option_set(options, OPT_PODS) && q->n_nodes == 0 &&
		!option_set(options, OPT_WHAT_FREES))
		r = err_set(err, -EINVAL, "%s: requires --nodes, for the nodes' allocatable amounts",
			options->origin[OPT_PODS]);
	node = cluster_find_node(&q->cluster, q->node_name);
	if (r == 0 && option_set(options, OPT_NODES) && !(node && node->has_node))
		r = err_set(err, -EINVAL, "%s: no Node '%.100s', which is this machine's name (--node-name)",
			options->origin[OPT_NODES], q->node_name);
	return r;
}

/* Reads the flags before the node is observed, so that wrong usage is reported first. */
static int read_request(struct fit_query *q, struct err *err)
{
	CLEANUP(settings_release) struct settings scratch;
	int r;

	settings_init(&scratch);
	r = check_flags(q->options, err);
	if (r < 0)
		return r;
	r = fit_flags_assume(q->options, &scratch, err);
	if (r < 0)
		return r;
	r = pod_input_read(q->options, &q->templates, err);
	if (r < 0)
		return r;
	r = pod_input_pick(q->options, &q->templates, &q->picked, err);
	return r < 0 ? r : read_nodes_and_pods(q, err);
}

/* Whether flags say which pods the node has: Nodes and Pods of the API server, or none. Then the kubelet is not asked for its pods. */
static bool has_usage_flags(const struct options *options)
{
	return option_set(options, OPT_NODES) || option_set(options, OPT_PODS) ||
	       option_set(options, OPT_ASSUME_EMPTY);
}

/* Frees what pods hold that the kubelet does not list any more, as the kubelet itself does before it admits the next pod. */
static void end_unlisted_pods(struct fit_query *q)
{
	struct allocations *held = &q->o.node.allocations;
	const struct node_info *node = cluster_find_node(&q->cluster, q->node_name);
	CLEANUP(freep) bool *ended = xcalloc(held->n_items + 1, sizeof(*ended));

	for (size_t i = 0; i < held->n_items; i++)
		ended[i] = !node || !named_pods_find(node, &held->items[i]);
	allocations_give_back(held, ended);
}

/*
 * Reads the requests of this node's pods from the kubelet. An API that does not exist is normal before Kubernetes 1.37;
 * another failure is a note, because without the API only less is known.
 */
static void read_pods_api(struct fit_query *q, const struct observe_config *config)
{
	CLEANUP(freep) char *socket = observe_pods_socket(config, q->o.kubelet.root);
	CLEANUP(doc_release) struct doc pods = DOC_INIT;
	struct err err = {""};
	int r;

	if (!socket || has_usage_flags(q->options))
		return;
	q->node_name = xstrdup(q->o.node.node_name);
	r = pods_api_read(socket, q->node_name, &pods, &err);
	for (size_t i = 0; r == 0 && i < pods.n_items; i++)
		r = add_object(OBJECT_POD, &pods.items[i], q, &err);
	q->from_pods_api = r == 0;
	if (r == 0)
		end_unlisted_pods(q);
	if (r < 0 && (r != -ENOENT || config->pods_api_named))
		notes_add(&q->o.notes, "%s; the requests of pods in the shared pool are unknown", err.text);
	if (r < 0)
		cluster_release(&q->cluster);
}

/* Removes the pods of --without-pod from the node's allocations. */
static int exclude_pods(struct fit_query *q, struct err *err)
{
	int r;

	excluded_pods_take(&q->excluded, &q->o.node.allocations);
	r = excluded_pods_check(&q->excluded, err);
	return r < 0 ? err_wrap(err, r, "%s", q->options->origin[OPT_WITHOUT_POD]) : 0;
}

/* Observes the node, and applies the what-if flags. */
static int observe_node(struct fit_query *q, struct err *err)
{
	const struct observe_config config = stage_observe(q->options);
	struct stage_lists lists;
	const struct derive_config derive = stage_derive(q->options, &lists);
	struct node_state *node = &q->o.node;
	int r = observe(&config, &q->o, err);

	if (r < 0)
		return r;
	read_pods_api(q, &config);
	r = fit_flags_assume(q->options, &node->settings, err);
	if (r < 0)
		return r;
	r = option_set(q->options, OPT_ASSUME_EMPTY) ? projected_state_empty(node, err)
						     : exclude_pods(q, err);
	return r < 0 ? r : node_derive(&derive, node, &q->o.notes, err);
}

int command_fit(const struct options *options)
{
	CLEANUP(fit_query_release) struct fit_query q = {.options = options};
	struct err err = {""};
	int r;

	observation_init(&q.o);
	fit_flags_exclude(options, &q.excluded);
	r = read_request(&q, &err);
	if (r < 0) {
		log_error("%s", err.text);
		return EXIT_USAGE;
	}
	r = observe_node(&q, &err);
	if (r < 0) {
		log_error("%s", err.text);
		return EXIT_FAILURE;
	}
	log_notes(&q.o.notes);
	return report_verdict(&q);
}

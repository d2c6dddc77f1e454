/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl numa pods: what each pod holds exclusively, and whether it is aligned. */
#include "cli/commands.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/numa/source.h"
#include "cli/report/pods_report.h"
#include "cli/report/terminal.h"
#include "cluster/model/named_pods.h"
#include "cluster/objects/cluster_node.h"
#include "cluster/objects/pod_parse.h"
#include "common/cleanup.h"
#include "common/hash.h"
#include "common/io/fs.h"
#include "common/log.h"
#include "common/xalloc.h"
#include "scoring/kubelet.h"
#include "scoring/request.h"

#define OUTPUT_MAX ((size_t)1 << 30)

/* A node whose object was read. */
struct read_node {
	char *name;
	char *why;         /* why it is unknown what the pods hold; "" = known */
	bool assigns_cpus; /* the kubelet has the static CPU manager */
};

struct query {
	const struct options *options;
	struct source *source;
	bool compares;             /* what objects report with Pods: Pods were read, and none was left out */
	bool read_pod;             /* at least one Pod */
	bool filtered;             /* only pods whose Pod objects were read, of a namespace or with labels */
	struct cluster cluster;    /* the Pods that were read */
	struct name_table found;   /* UIDs of the pods that a node's object has; borrowed */
	struct name_table by_name; /* positions in `nodes` */
	struct read_node *nodes;
	size_t n_nodes, nodes_size;
	bool has_claims; /* a Pod uses a ResourceClaim */
	struct claim_devices claim_devices;
	struct pods_report report;
};

static void query_release(struct query *q)
{
	source_close(q->source);
	name_table_release(&q->found);
	cluster_release(&q->cluster);
	name_table_release(&q->by_name);
	for (size_t i = 0; i < q->n_nodes; i++) {
		free(q->nodes[i].name);
		free(q->nodes[i].why);
	}
	free(q->nodes);
	pods_report_release(&q->report);
	claim_devices_release(&q->claim_devices);
}

/* ---- Pods */

static int add_queried_pod(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	const struct doc *claims = doc_get(doc_get(object, "spec"), "resourceClaims");
	struct query *q = data;
	struct err why = {""};

	(void)err;
	q->read_pod = true;
	q->has_claims = q->has_claims || doc_list_items(claims);
	if (cluster_update(&q->cluster, kind, object, 0, &why) < 0)
		log_warning("the answer omits a pod: %s", why.text);
	return 0;
}

/* ---- nodes */

/* Notes that the object has the pod. named_pods_apply() has given a pod with only claims a namespace if its Pod was read. */
static enum pod_listing choose_pod(const struct pod_alignment *p, const char *node, void *data)
{
	struct query *q = data;
	const struct node_info *info = cluster_find_node(&q->cluster, node);
	const struct pod_info *pod = info && p->n_items > 0 ? named_pods_find(info, p->items) : NULL;

	if (pod && !name_table_find(&q->found, pod->uid))
		name_table_add(&q->found, pod->uid, pod->uid);
	if (pod || (p->n_items == 0 && *p->ref->namespace))
		return POD_LISTED;
	if (q->filtered)
		return POD_OMITTED;
	/* All Pods were read, and none of them has these CPUs. */
	return q->compares && !hwloc_bitmap_iszero(p->cpus) ? POD_CONTRADICTED : POD_LISTED;
}

static void add_pods(struct query *q, struct node_state *state)
{
	CLEANUP(pod_alignments_release) struct pod_alignments all = {0};

	named_pods_apply(cluster_find_node(&q->cluster, state->node_name), state);
	claim_devices_apply(&q->claim_devices, state);
	pod_alignments_find(state, &all);
	pods_report_add(&q->report, state->node_name, &all, choose_pod, q);
}

static int pods_add_node(struct cluster_node *node, void *data, struct err *err)
{
	struct query *q = data;
	struct read_node *read = vec_push(&q->nodes, &q->n_nodes, &q->nodes_size, sizeof(*read));
	bool exact = node->basis == CLUSTER_EXACT;

	(void)err;
	*read = (struct read_node){.name = xstrdup(node->state.node_name),
		.why = xstrdup(exact ? "" : node->why.text),
		.assigns_cpus = exact && node->state.settings.cpu_manager == CPU_MANAGER_STATIC};
	if (!exact)
		return 0;
	if (q->compares)
		q->report.n_compared++;
	add_pods(q, &node->state);
	return 0;
}

static const char missing[] = "the pod runs, but the node's object does not have it";

/* Why it is unknown what a pod holds that no object has; NULL: it may hold nothing, or its node is not selected. */
static const char *why_unknown(const struct query *q, const struct pod_info *pod)
{
	size_t i = name_table_find_index(&q->by_name, pod->node->name);
	bool all_nodes = q->options->n_words == 0 && !option_set(q->options, OPT_SELECTOR);

	if (i == SIZE_MAX)
		return all_nodes ? "the node has no NodeResourceTopology object" : NULL;
	if (*q->nodes[i].why)
		return q->nodes[i].why;
	/* Only such a pod certainly holds something, so that the object must have it. */
	return pod->runs && pod->class->cpus > 0 && q->nodes[i].assigns_cpus ? missing : NULL;
}

static void add_unknown_pod(struct query *q, const struct pod_info *pod)
{
	bool may_hold = pod->bound && (pod->class->cpus > 0 || request_has_non_native(&pod->class->pod));
	const char *why = may_hold && !name_table_find(&q->found, pod->uid) ? why_unknown(q, pod) : NULL;
	bool out_of_date = q->compares && why == missing;

	if (why)
		pods_report_add_unknown(
			&q->report, pod->namespace, pod->name, pod->node->name, why, out_of_date);
}

/* Adds the pods that no object has. */
static void add_unknown_pods(struct query *q)
{
	for (size_t i = 0; i < q->n_nodes; i++)
		if (name_table_find_index(&q->by_name, q->nodes[i].name) == SIZE_MAX)
			name_table_add_index(&q->by_name, q->nodes[i].name, i);
	for (size_t i = 0; i < q->cluster.n_nodes; i++)
		for (size_t k = 0; q->cluster.nodes[i] && k < q->cluster.nodes[i]->n_pods; k++)
			add_unknown_pod(q, q->cluster.nodes[i]->pods[k]);
}

/* ---- the command */

/* NULL = all namespaces. */
static const char *find_namespace(const struct query *q)
{
	const struct options *o = q->options;

	if (option_set(o, OPT_ALL_NAMESPACES) || (option_set(o, OPT_FROM) && !option_set(o, OPT_NAMESPACE)))
		return NULL;
	return source_namespace(q->source);
}

/* Opens the source and reads what the report is made of. *ret_namespace is that of the Pods; NULL = all. */
static int read_and_report(struct query *q, const char **ret_namespace, struct err *err)
{
	const struct options *o = q->options;
	int r = options_stdin_once(o, err);

	if (r == 0)
		r = source_open(o, 0, &q->source, err);
	if (r < 0)
		return r;
	*ret_namespace = find_namespace(q);
	q->filtered = *ret_namespace || option_set(o, OPT_POD_SELECTOR);
	r = source_read_pods(q->source, *ret_namespace, add_queried_pod, q, err);
	if (r < 0)
		return r;
	if (option_set(o, OPT_POD_SELECTOR) && !q->read_pod)
		log_warning("%s: no Pod matches '%s'; --node-selector selects nodes",
			o->origin[OPT_POD_SELECTOR], o->value[OPT_POD_SELECTOR]);
	q->compares = !q->filtered && q->cluster.n_pods > 0;
	if (q->has_claims)
		r = source_read_claims(q->source, &q->claim_devices, err);
	if (r < 0)
		return r;
	r = source_each_node(q->source, pods_add_node, q, err);
	if (r < 0)
		return r;
	add_unknown_pods(q);
	if (option_set(o, OPT_MISALIGNED))
		pods_report_keep_misaligned(&q->report);
	pods_report_sort(&q->report);
	return 0;
}

/* `namespace`: NULL = all */
static int print_pods(const struct query *q, const char *namespace)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(OUTPUT_MAX);
	CLEANUP(writer_release) struct writer w;

	writer_init(&w, q->options->value[OPT_OUTPUT], !option_set(q->options, OPT_NO_HEADERS), &text);
	w.width = terminal_table_width(STDOUT_FILENO);
	pods_report_write(&w, &q->report, !namespace);
	if (pods_report_is_empty(&q->report) && !writer_is_doc(&w) && w.format != WRITER_NAME)
		source_no_resources(namespace);
	return print_text(writer_finish(&w), &text);
}

int command_numa_pods(const struct options *options)
{
	CLEANUP(query_release) struct query q = {.options = options};
	const char *namespace = NULL;
	struct err err = {""};
	int r = read_and_report(&q, &namespace, &err);

	if (r < 0) {
		log_error("%s", err.text);
		return source_exit_status(options, r);
	}
	if (print_pods(&q, namespace) < 0)
		return EXIT_FAILURE;
	return EXIT_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl numa score: what each scheduler would decide about a pod on each node. */
#include "cli/commands.h"

#include <errno.h>
#include <unistd.h>

#include "cli/numa/source.h"
#include "cli/numa/stored_pod.h"
#include "cli/pod_input.h"
#include "cli/report/score_report.h"
#include "cli/report/terminal.h"
#include "common/cleanup.h"
#include "common/io/fs.h"
#include "common/log.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define SCORE_OUTPUT_MAX ((size_t)1 << 30)

/* ---- flags */

struct weights {
	struct resource_weight *items; /* borrow the names of `names` */
	size_t n_items;
	size_t items_size;
	struct strv names;
};

static void weights_release(struct weights *w)
{
	strv_release(&w->names);
	free(w->items);
	*w = (struct weights){0};
}

static void add_weight(struct weights *w, const char *name, size_t len, int64_t weight)
{
	struct resource_weight *item;

	strv_take(&w->names, xstrndup(name, len));
	item = vec_push(&w->items, &w->n_items, &w->items_size, sizeof(*item));
	*item = (struct resource_weight){.name = w->names.items[w->names.n_items - 1], .weight = weight};
}

/* Reads the values of --weight: "cpu=2", or several weights separated by commas. */
static int read_weights(const struct options *options, struct weights *ret, struct err *err)
{
	const char *text;
	size_t pos = 0;

	while ((text = options_next(options, OPT_WEIGHT, &pos)))
		while (*text) {
			size_t len = strcspn(text, "=,");
			const char *number = text[len] == '=' ? text + len + 1 : "";
			char *end;
			long n;
			bool is_number;

			errno = 0;
			n = strtol(number, &end, 10);
			is_number = errno == 0 && end != number && (*end == '\0' || *end == ',');
			if (len == 0 || !is_number || n < 0 || n > 1000000)
				return err_set(err, -EINVAL, "--weight: '%.100s' is not NAME=N", text);
			add_weight(ret, text, len, n);
			text = *end ? end + 1 : end;
		}
	return 0;
}

static struct score_options make_score_options(const struct options *options, const struct weights *weights)
{
	static const char *const sorts[SCORE_SORT_COUNT] = {"rank", "name", "score"};
	int strategy = strategy_by_name(options->value[OPT_STRATEGY]); /* negative: "volcano" */
	struct score_options ret = {
		.weights = {.items = weights->items, .n_items = weights->n_items},
		.strategy = strategy < 0 ? SCORE_BY_VOLCANO : strategy,
		.volcano_weight = strtol(options->value[OPT_VOLCANO_WEIGHT], NULL, 10),
	};

	for (enum score_sort s = 0; s < SCORE_SORT_COUNT; s++)
		if (!strcmp(sorts[s], options->value[OPT_SORT_BY]))
			ret.sort = s;
	return ret;
}

/* ---- the command */

static int print_scores(
	const struct options *options, const struct score_report *report, const struct pod_form *form)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(SCORE_OUTPUT_MAX);
	CLEANUP(writer_release) struct writer w;

	writer_init(&w, options->value[OPT_OUTPUT], !option_set(options, OPT_NO_HEADERS), &text);
	w.width = terminal_table_width(STDOUT_FILENO);
	score_write(&w, report);
	if (!option_set(options, OPT_NO_HEADERS))
		fit_write_form(&w, form);
	return print_text(writer_finish(&w), &text);
}

static int score_add_node(struct cluster_node *object, void *data, struct err *err)
{
	struct score_report *report = data;
	struct node_info *node = cluster_set_object(report->pods.projections.cluster, object, 0);
	int r = score_report_add(report, node, err);

	pod_report_drop_node(&report->pods, node);
	return r;
}

/* The pod as stored, and the Nodes and Pods: what pods request in total, and the constraints of schedulers. */
struct surroundings {
	struct stored_pod stored;
	struct cluster cluster;
	struct scheduling_constraints constraints;
};

static void surroundings_release(struct surroundings *s)
{
	stored_pod_release(&s->stored);
	cluster_release(&s->cluster);
	scheduling_constraints_release(&s->constraints);
}

static int read_surroundings(struct source *source, const struct pod_template *pod, struct surroundings *s,
	struct score_report *report, struct err *err)
{
	int r;

	report->pods.constraints = &s->constraints;
	s->constraints.only = source_node(source);
	scheduling_constraints_init_template(&s->constraints, pod, source_namespace(source));
	r = source_fill_cluster(source, &s->cluster, &s->constraints, NULL, err);
	if (r < 0)
		return r;
	pod_report_set_cluster(&report->pods, &s->cluster, pod, source_namespace(source));
	scheduling_constraints_finish(&s->constraints);
	return 0;
}

static int make_score_report(const struct options *options, struct pod_templates *pods,
	struct weights *weights, struct surroundings *surroundings, struct score_report *report,
	struct err *err)
{
	CLEANUP(source_closep) struct source *source = NULL;
	const struct pod_template *pod = NULL;
	struct score_options score_options;
	int r = options_stdin_once(options, err);

	if (r < 0)
		return r;
	r = read_weights(options, weights, err);
	if (r < 0)
		return r;
	if (pod_input_read(options, pods, err) < 0)
		return -EINVAL; /* a missing file is wrong usage, too */
	r = pod_input_pick(options, pods, &pod, err);
	if (r < 0)
		return r;
	r = source_open(options, 0, &source, err);
	if (r == 0)
		r = stored_pod_find(options, source, &pod, &surroundings->stored, err);
	if (r < 0)
		return r;
	score_options = make_score_options(options, weights);
	score_report_init(report, pod, &score_options);
	r = read_surroundings(source, pod, surroundings, report, err);
	if (r < 0)
		return r;
	r = source_each_node(source, score_add_node, report, err);
	if (r < 0)
		return r;
	source_nodes_without_object(source, &surroundings->cluster, &report->pods.without_object);
	score_report_rank(report);
	return 0;
}

static int score_exit_status(const struct score_report *report)
{
	size_t unknown = 0;

	for (size_t i = 0; i < report->pods.n_nodes; i++) {
		const struct node_report *n = &report->pods.nodes[i];

		if (score_row_is(n, report->options.strategy, KUBELET_ADMITS))
			return EXIT_SUCCESS;
		if (score_row_is(n, report->options.strategy, KUBELET_UNKNOWN))
			unknown++;
	}
	if (unknown == 0)
		return EXIT_DOES_NOT_FIT;
	log_error("no verdict: the kubelet's verdict is unknown for %zu node%s that the scheduler allows",
		unknown, unknown == 1 ? "" : "s");
	return EXIT_FAILURE;
}

int command_score(const struct options *options)
{
	CLEANUP(pod_templates_release) struct pod_templates pods = {0};
	CLEANUP(weights_release) struct weights weights = {0};
	CLEANUP(score_report_release) struct score_report report = {0};
	CLEANUP(surroundings_release) struct surroundings surroundings = {.constraints = {.pod = NULL}};
	struct err err = {""};
	int r = make_score_report(options, &pods, &weights, &surroundings, &report, &err);

	if (r < 0) {
		log_error("%s", err.text);
		return source_exit_status(options, r);
	}
	if (print_scores(options, &report, &surroundings.stored.form) < 0)
		return EXIT_FAILURE;
	return score_exit_status(&report);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* nrtd score: what each scheduler would say of a pod on each of many nodes. */
#include "agent/cli/commands.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/json.h"
#include "agent/base/output.h"
#include "agent/cluster/object_input.h"
#include "agent/cli/pod_input.h"
#include "agent/cli/score_report.h"
#include "agent/cli/score_text.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/strv.h"
#include "common/vec.h"

#define SCORE_OUTPUT_MAX ((size_t)1 << 30)

/* ---- a progress bar, for a person who has waited half a second already */

#define PROGRESS_AFTER_MS 500
#define PROGRESS_WIDTH    40

struct progress {
	int64_t start_ms;
	bool shown;
};

static void show_progress(size_t done, size_t all, void *data)
{
	struct progress *p = data;
	int filled = (int)(done * PROGRESS_WIDTH / all);

	if (done % 64 != 0 || clock_ms(CLOCK_MONOTONIC) - p->start_ms < PROGRESS_AFTER_MS)
		return;
	p->shown = true;
	fprintf(stderr, "\r[%-*.*s] %zu of %zu nodes", PROGRESS_WIDTH, filled,
		"########################################", done, all);
}

static void end_progress(const struct progress *p)
{
	if (p->shown)
		fprintf(stderr, "\r%*s\r", PROGRESS_WIDTH + 40, "");
}

/* ---- options */

struct weights {
	struct resource_weight *items; /* names are those below */
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

static int add_weight(struct weights *w, const char *name, size_t len, int64_t weight)
{
	struct resource_weight *item;

	if (strv_take(&w->names, strndup(name, len)) < 0)
		return -ENOMEM;
	item = vec_push(&w->items, &w->n_items, &w->items_size, sizeof(*item));
	if (!item)
		return -ENOMEM;
	*item = (struct resource_weight){.name = w->names.items[w->names.n_items - 1], .weight = weight};
	return 0;
}

/* "cpu=2", one or several with commas between them. */
static int read_weights(const struct options *options, struct weights *ret, struct err *err)
{
	const char *text;
	size_t pos = 0;

	while ((text = options_next(options, OPT_WEIGHT, &pos))) {
		while (*text) {
			size_t len = strcspn(text, "=,");
			const char *number = text + len + (text[len] == '=');
			char *end;
			long n;

			errno = 0;
			n = strtol(number, &end, 10);
			if (len == 0 || text[len] != '=' || errno || end == number || (*end && *end != ',') ||
				n < 0 || n > 1000000)
				return err_set(err, -EINVAL, "--weight: '%.100s' is not NAME=N", text);
			if (add_weight(ret, text, len, n) < 0)
				return err_no_memory(err);
			text = *end ? end + 1 : end;
		}
	}
	return 0;
}

static int rank_by(const struct options *options)
{
	int strategy = strategy_by_name(options->value[OPT_STRATEGY]);

	return strategy < 0 ? SCORE_BY_VOLCANO : strategy;
}

/* ---- the command */

static int print(const struct options *options, const struct score_row *rows, size_t n)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(SCORE_OUTPUT_MAX);
	CLEANUP(doc_release) struct doc doc = DOC_INIT;
	int r;

	if (!strcmp(options->value[OPT_SCORE_OUTPUT], "json")) {
		r = score_to_doc(rows, n, &doc);
		if (r == 0)
			r = json_print(&doc, &text);
	} else {
		r = score_table(rows, n, &text);
	}
	return r < 0 ? r : output_text(&text);
}

static int add_node(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	(void)kind;
	return nrt_nodes_add(object, data, err);
}

/* The inputs; what is wrong with them is usage. */
static int read_inputs(const struct options *options, struct nrt_nodes *nodes, struct pod_templates *pods,
	const struct pod_template **ret_pod, struct weights *weights, struct err *err)
{
	int r;

	if (!option_set(options, OPT_NRT) || !option_set(options, OPT_FILENAME))
		return err_set(err, -EINVAL, "%s is needed",
			option_set(options, OPT_NRT) ? "-f FILE (the pod)" : "--nrt FILE (the nodes)");
	if (!strcmp(options->value[OPT_NRT], "-") && !strcmp(options->value[OPT_FILENAME], "-"))
		return err_set(err, -EINVAL, "--nrt and -f cannot both be standard input");
	r = read_weights(options, weights, err);
	if (r == 0)
		r = pod_input_read(options, pods, err);
	if (r == 0)
		r = pod_input_pick(options, pods, ret_pod, err);
	if (r == 0)
		r = object_input_read(options->value[OPT_NRT], 1u << OBJECT_NRT, add_node, nodes, err);
	return r;
}

static int rank_and_print(const struct options *options, const struct nrt_nodes *nodes,
	const struct pod_template *pod, const struct weights *weights, struct err *err)
{
	CLEANUP(freep) struct score_row *rows = NULL;
	struct progress progress = {.shown = false};
	const struct score_options how = {
		.weights = {.items = weights->items, .n_items = weights->n_items},
		.rank_by = rank_by(options),
		.volcano_weight = strtol(options->value[OPT_VOLCANO_WEIGHT], NULL, 10),
		.progress = isatty(STDERR_FILENO) ? show_progress : NULL,
		.data = &progress,
	};
	int r;

	progress.start_ms = clock_ms(CLOCK_MONOTONIC);
	r = score_report(nodes, pod, &how, &rows, err);
	end_progress(&progress);
	if (r < 0)
		return r;
	r = print(options, rows, nodes->n_items);
	return r < 0 ? err_set(err, r, "cannot print: %s", strerror(-r)) : 0;
}

int command_score(const struct options *options)
{
	CLEANUP(nrt_nodes_release) struct nrt_nodes nodes = {0};
	CLEANUP(pod_templates_release) struct pod_templates pods = {0};
	CLEANUP(weights_release) struct weights weights = {0};
	const struct pod_template *pod = NULL;
	struct err err = {""};
	int r = read_inputs(options, &nodes, &pods, &pod, &weights, &err);

	if (r < 0) {
		log_error("%s", err.text);
		return r == -ENOMEM ? EXIT_FAILURE : EXIT_USAGE;
	}
	r = rank_and_print(options, &nodes, pod, &weights, &err);
	if (r < 0)
		log_error("%s", err.text);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl numa plan: which pods to move, and where, so that the kubelets admit wanted pods. */
#include "agent/cli/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/fs.h"
#include "agent/cli/pod_input.h"
#include "agent/cli/source.h"
#include "agent/report/simulated_page.h"
#include "agent/report/simulated_report.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/xalloc.h"

#define OUTPUT_MAX ((size_t)1 << 30)
#define WANTED_MAX 10000u /* pods of one plan */
#define KEEP_MAX   64u    /* namespaces */

struct planning {
	const struct options *options;
	struct source *source;
	struct pod_templates templates;
	struct simulated_cluster cluster;
	struct plan_options limits;
	const char *keep[KEEP_MAX];
	size_t *wanted;
	size_t n_wanted, wanted_size;
	struct plan plan;
};

static void planning_release(struct planning *p)
{
	source_close(p->source);
	pod_templates_release(&p->templates);
	plan_release(&p->plan);
	simulated_cluster_release(&p->cluster);
	free(p->wanted);
}

/* ---- the wanted pods */

static void want(struct planning *p, size_t pod)
{
	*(size_t *)vec_push(&p->wanted, &p->n_wanted, &p->wanted_size, sizeof(*p->wanted)) = pod;
}

static int want_copies(struct planning *p, struct err *err)
{
	const struct pod_template *picked;
	struct pod_template *template;
	const char *replicas = p->options->value[OPT_REPLICAS];
	uint64_t n;
	size_t first;
	int r = pod_input_read(p->options, &p->templates, err);

	if (r == 0)
		r = pod_input_pick(p->options, &p->templates, &picked, err);
	if (r < 0)
		return -EINVAL;
	template = &p->templates.items[picked - p->templates.items];
	n = replicas ? strtoull(replicas, NULL, 10) : template->replicas;
	if (n > WANTED_MAX)
		return err_set(err, -EINVAL, "%llu copies: a plan is for %u pods at most",
			(unsigned long long)n, WANTED_MAX);
	first = simulated_cluster_add_copies(&p->cluster, template->owner, template->namespace,
		template->pod.name && *template->pod.name ? template->pod.name : "wanted", &template->pod,
		(size_t)n);
	for (size_t i = 0; i < n; i++)
		want(p, first + i);
	return 0;
}

/* By priority, then by CPUs, both descending; then by age. */
static int compare_wanted(const void *va, const void *vb, void *cluster)
{
	size_t a = *(const size_t *)va, b = *(const size_t *)vb;
	const struct simulated_cluster *c = cluster;
	const struct simulated_pod *pod_a = &c->pods[a], *pod_b = &c->pods[b];

	if (pod_a->priority != pod_b->priority)
		return pod_a->priority > pod_b->priority ? -1 : 1;
	if (pod_a->class->cpus != pod_b->class->cpus)
		return pod_a->class->cpus > pod_b->class->cpus ? -1 : 1;
	return (a > b) - (a < b);
}

/* The pods that wait for a scheduler. */
static int want_pending(struct planning *p, struct err *err)
{
	for (size_t i = 0; i < p->cluster.n_pods; i++) {
		const struct simulated_pod *pod = &p->cluster.pods[i];

		if (pod->node == SIMULATED_NOWHERE && !pod->gated && !pod->terminating && !pod->unreadable)
			want(p, i);
	}
	if (p->n_wanted > WANTED_MAX)
		return err_set(err, -EINVAL, "%zu pending pods: a plan is for %u pods at most", p->n_wanted,
			WANTED_MAX);
	vec_sort(p->wanted, p->n_wanted, sizeof(*p->wanted), compare_wanted, &p->cluster);
	return 0;
}

/* ---- the command */

static int read_flags(struct planning *p, struct err *err)
{
	const struct options *o = p->options;
	const char *name;
	size_t pos = 0;

	p->limits = (struct plan_options){.max_moves = strtoul(o->value[OPT_MAX_MOVES], NULL, 10),
		.evict = option_set(o, OPT_EVICT),
		.allow_bare = option_set(o, OPT_ALLOW_BARE),
		.allow_local_storage = option_set(o, OPT_ALLOW_LOCAL_STORAGE),
		.has_below_priority = option_set(o, OPT_BELOW_PRIORITY),
		.keep = p->keep};
	if (p->limits.has_below_priority)
		p->limits.below_priority = (int32_t)strtol(o->value[OPT_BELOW_PRIORITY], NULL, 10);
	while ((name = options_next(o, OPT_KEEP, &pos))) {
		if (p->limits.n_keep == KEEP_MAX)
			return err_set(
				err, -EINVAL, "%s: more than %u namespaces", o->origin[OPT_KEEP], KEEP_MAX);
		p->keep[p->limits.n_keep++] = name;
	}
	if (option_set(o, OPT_PENDING) && (pod_input_given(o) || option_set(o, OPT_REPLICAS)))
		return err_set(err, -EINVAL,
			"%s is for the pods of the cluster, not for a pod that is described",
			o->origin[OPT_PENDING]);
	return options_stdin_once(o, err);
}

static int make_plan(struct planning *p, struct err *err)
{
	int r = read_flags(p, err);

	if (r == 0)
		r = source_open(p->options, p->options->n_words, &p->source, err);
	if (r == 0)
		r = source_read_cluster(p->source, &p->cluster, err);
	if (r == 0)
		r = option_set(p->options, OPT_PENDING) ? want_pending(p, err) : want_copies(p, err);
	if (r == 0)
		plan_find(&p->cluster, p->wanted, p->n_wanted, &p->limits, &p->plan);
	return r;
}

static int print(struct planning *p)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(OUTPUT_MAX);
	CLEANUP(writer_release) struct writer w;
	int r;

	writer_init(&w, p->options->value[OPT_OUTPUT], !option_set(p->options, OPT_NO_HEADERS), &text);
	plan_report(&w, &p->cluster, &p->plan);
	if (w.format == WRITER_HTML)
		r = simulated_page(
			"Plan of moves", &w.doc, &p->cluster, p->options->value[OPT_POOL_LABEL], &text);
	else
		r = writer_finish(&w);
	return r < 0 ? r : output_text(&text);
}

int command_plan(const struct options *options)
{
	CLEANUP(planning_release) struct planning p = {.options = options};
	struct err err = {""};
	int r;

	simulated_cluster_init(&p.cluster);
	r = make_plan(&p, &err);
	if (r < 0) {
		log_error("%s", err.text);
		return source_exit_status(options, r);
	}
	r = print(&p);
	if (r < 0) {
		log_error("cannot print: %s", strerror(-r));
		return EXIT_FAILURE;
	}
	return p.plan.outcome == PLAN_FULL      ? EXIT_SUCCESS
	       : p.plan.outcome == PLAN_PARTIAL ? EXIT_PARTIAL
						: EXIT_DOES_NOT_FIT;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl numa plan: which pods to move, and where, so that the kubelets admit wanted pods. */
#include "cli/commands.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/numa/expected_plan.h"
#include "cli/numa/plan_apply.h"
#include "cli/numa/read_cluster.h"
#include "cli/numa/source.h"
#include "cli/numa/stored_pod.h"
#include "cli/opts_check.h"
#include "cli/pod_input.h"
#include "cli/progress.h"
#include "cli/report/simulated_report.h"
#include "cli/report/terminal.h"
#include "common/cleanup.h"
#include "common/io/fs.h"
#include "common/io/time.h"
#include "common/log.h"
#include "common/xalloc.h"

#define OUTPUT_MAX ((size_t)1 << 30)
#define WANTED_MAX 10000u /* pods of one plan */

struct planning {
	const struct options *options;
	struct source *source;
	struct pod_templates templates;
	struct stored_pod stored;
	struct simulated_cluster cluster;
	struct plan_options limits;
	const char *keep[OPTIONS_MAX_REPEATED], *recreated_by[OPTIONS_MAX_REPEATED];
	size_t *wanted;
	size_t n_wanted, wanted_size;
	struct strv
		first_wanted; /* UIDs of the wanted pods of the first plan; empty while the current plan is the first */
	struct doc expected;      /* the plan of --expect; null = none */
	const struct doc *object; /* of the file: the wanted pods' metadata and spec; part of `templates` */
	struct plan plan;
};

/* Releases the cluster, the wanted pods and the plan. */
static void forget_plan(struct planning *p)
{
	stored_pod_release(&p->stored);
	pod_templates_release(&p->templates);
	plan_release(&p->plan);
	simulated_cluster_release(&p->cluster);
	p->n_wanted = 0;
}

static void planning_release(struct planning *p)
{
	forget_plan(p);
	source_close(p->source);
	strv_release(&p->first_wanted);
	doc_release(&p->expected);
	free(p->wanted);
}

/* ---- the wanted pods */

static void add_wanted(struct planning *p, size_t pod)
{
	*(size_t *)vec_push(&p->wanted, &p->n_wanted, &p->wanted_size, sizeof(*p->wanted)) = pod;
}

static int add_wanted_copies(struct planning *p, struct err *err)
{
	CLEANUP(pod_request_release) struct pod_request request; /* its content moves to the cluster */
	const struct pod_template *template = NULL;
	const char *replicas = p->options->value[OPT_REPLICAS];
	uint64_t n;
	size_t first;

	pod_request_init(&request);
	if (pod_input_read(p->options, &p->templates, err) < 0 ||
		pod_input_pick(p->options, &p->templates, &template, err) < 0 ||
		stored_pod_find(p->options, p->source, &template, &p->stored, err) < 0)
		return -EINVAL;
	n = replicas ? strtoull(replicas, NULL, 10) : template->replicas;
	if (n > WANTED_MAX)
		return err_set(err, -EINVAL, "%llu copies: a plan is for %u pods at most",
			(unsigned long long)n, WANTED_MAX);
	p->object = template->owner;
	pod_request_copy(&template->pod, &request);
	first = simulated_cluster_add_copies(&p->cluster, template->owner,
		template->namespace ? template->namespace : source_namespace(p->source),
		template->pod.name && *template->pod.name ? template->pod.name : "wanted", &request,
		(size_t)n);
	for (size_t i = 0; i < n; i++)
		add_wanted(p, first + i);
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

/* Whether the pod waits for a node. Pods created after the first plan are not wanted. */
static bool is_wanted(const struct planning *p, const struct simulated_pod *pod)
{
	if (pod->node != SIMULATED_NOWHERE || pod->gated || pod->terminating || pod->unreadable)
		return false;
	for (size_t i = 0; i < p->first_wanted.n_items; i++)
		if (!strcmp(p->first_wanted.items[i], pod->uid))
			return true;
	return p->first_wanted.n_items == 0;
}

/* Adds the pods that wait for a node. */
static int add_pending_pods(struct planning *p, struct err *err)
{
	for (size_t i = 0; i < p->cluster.n_pods; i++)
		if (is_wanted(p, &p->cluster.pods[i]))
			add_wanted(p, i);
	if (p->n_wanted > WANTED_MAX)
		return err_set(err, -EINVAL, "%zu pending pods: a plan is for %u pods at most", p->n_wanted,
			WANTED_MAX);
	vec_sort(p->wanted, p->n_wanted, sizeof(*p->wanted), compare_wanted, &p->cluster);
	return 0;
}

/* ---- the command */

static int check_apply(const struct options *o, struct err *err)
{
	const char *flag = o->origin[OPT_APPLY];
	uint64_t hold_ms = option_ms(o, OPT_HOLD), timeout_ms = option_ms(o, OPT_TIMEOUT);

	if (!option_set(o, OPT_APPLY))
		return option_set(o, OPT_EXPECT)
			       ? err_set(err, -EINVAL, "%s: only with --apply", o->origin[OPT_EXPECT])
			       : options_stdin_once(o, err);
	if (option_set(o, OPT_FROM))
		return err_set(err, -EINVAL, "%s: files cannot be changed, omit --from", flag);
	if (!option_set(o, OPT_PENDING) && !option_set(o, OPT_FILENAME))
		return err_set(err, -EINVAL, "%s: name the pods with --filename or --pending", flag);
	if (option_set(o, OPT_FILENAME) && options_use_stdin(o))
		return err_set(
			err, -EINVAL, "%s: the pod is read repeatedly, read from a file instead", flag);
	if (option_set(o, OPT_ALLOW_BARE))
		return err_set(err, -EINVAL,
			"%s: nothing recreates pods without a controller, omit --allow-bare", flag);
	if (strcmp(o->value[OPT_OUTPUT], "text") != 0)
		return err_set(err, -EINVAL, "%s: the output is text", flag);
	if (hold_ms > RESERVATION_MAX_S * 1000u)
		return err_set(err, -EINVAL, "%s: at most 1h", o->origin[OPT_HOLD]);
	if (timeout_ms < 1000 || timeout_ms > PLAN_APPLY_TIMEOUT_MAX_MS)
		return err_set(err, -EINVAL, "%s: from 1s to 25m", o->origin[OPT_TIMEOUT]);
	return 0;
}

static int read_plan_flags(struct planning *p, struct err *err)
{
	const struct options *o = p->options;
	int r;

	p->limits = (struct plan_options){.max_moves = strtoul(o->value[OPT_MAX_MOVES], NULL, 10),
		.evict = option_set(o, OPT_EVICT),
		.reserves = option_set(o, OPT_APPLY),
		.allow_bare = option_set(o, OPT_ALLOW_BARE),
		.allow_local_storage = option_set(o, OPT_ALLOW_LOCAL_STORAGE),
		.allow_volumes = option_set(o, OPT_ALLOW_VOLUMES),
		.has_below_priority = option_set(o, OPT_BELOW_PRIORITY),
		.keep = p->keep,
		.n_keep = options_all(o, OPT_KEEP, p->keep),
		.recreated_by = p->recreated_by,
		.n_recreated_by = options_all(o, OPT_RECREATED_BY, p->recreated_by),
		.max_grace_s = (int64_t)(option_ms(o, OPT_TIMEOUT) / 1000)};
	if (p->limits.max_grace_s < POD_GRACE_DEFAULT_S) /* few pods use the time that they have by default */
		p->limits.max_grace_s = POD_GRACE_DEFAULT_S;
	if (p->limits.has_below_priority)
		p->limits.below_priority = (int32_t)strtol(o->value[OPT_BELOW_PRIORITY], NULL, 10);
	if (option_set(o, OPT_PENDING) && (pod_input_given(o) || option_set(o, OPT_REPLICAS)))
		return err_set(err, -EINVAL,
			"%s is for the pods of the cluster, not for a pod that is described",
			o->origin[OPT_PENDING]);
	r = check_apply(o, err);
	if (r == 0 && !option_set(o, OPT_PENDING) && !pod_input_given(o))
		r = err_set(err, -EINVAL,
			"no pods: give a file with -f, a request with flags such as --cpus and --memory, or --pending");
	if (r < 0 || !option_set(o, OPT_EXPECT))
		return r;
	return expected_plan_read(o->value[OPT_EXPECT], &p->expected, err);
}

/* Reads the cluster, leaves out what the flags exclude, and plans for the wanted pods. */
static int find_plan(struct planning *p, struct err *err)
{
	uint64_t max_age_ms = option_ms(p->options, OPT_MAX_AGE);
	int r;

	/* First: the caller releases the cluster after a failure, too. */
	simulated_cluster_init(&p->cluster);
	p->cluster.progress = progress_show;
	r = source_begin(p->options, &p->source, err);
	if (r < 0)
		return r;
	r = read_cluster(p->source, &p->cluster, err);
	if (r < 0)
		return r;
	if (max_age_ms > 0 && source_client(p->source)) /* objects from files may be of any age */
		simulated_set_aside_outdated(
			&p->cluster, (clock_ms(CLOCK_REALTIME) - (int64_t)max_age_ms) / 1000);
	if (option_set(p->options, OPT_ALIGNED))
		simulated_require_alignment(&p->cluster);
	r = option_set(p->options, OPT_PENDING) ? add_pending_pods(p, err) : add_wanted_copies(p, err);
	if (r < 0)
		return r;
	plan_find(&p->cluster, p->wanted, p->n_wanted, &p->limits, &p->plan);
	return 0;
}

static int make_plan(struct planning *p, struct err *err)
{
	int r;

	progress_begin();
	r = find_plan(p, err);
	progress_end();
	return r;
}

static int print_plan(struct planning *p)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(OUTPUT_MAX);
	CLEANUP(writer_release) struct writer w;

	writer_init(&w, p->options->value[OPT_OUTPUT], !option_set(p->options, OPT_NO_HEADERS), &text);
	w.width = terminal_table_width(STDOUT_FILENO);
	plan_report(&w, &p->cluster, &p->plan);
	fit_write_form(&w, &p->stored.form);
	return print_text(writer_finish(&w), &text);
}

static int plan_exit_status(enum plan_outcome outcome)
{
	if (outcome == PLAN_FULL)
		return EXIT_SUCCESS;
	return outcome == PLAN_PARTIAL ? EXIT_PARTIAL : EXIT_DOES_NOT_FIT;
}

/* ---- --apply */

static void print_line(const char *line, void *data)
{
	(void)data;
	printf("%s\n", line);
	fflush(stdout);
}

static volatile sig_atomic_t stop;

static void catch_stop(int signal)
{
	(void)signal;
	stop = 1;
}

/* The first of these signals stops the plan where nothing is half done; a second one ends the process. */
static void catch_signals(void)
{
	const struct sigaction action = {.sa_handler = catch_stop, .sa_flags = (int)SA_RESETHAND};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/* Plans again after a move. The new plan must not be worse than the first plan. */
static int plan_again(
	struct planning *p, size_t n_moved, size_t first_moves, size_t first_unplaced, struct err *err)
{
	int r;

	forget_plan(p);
	r = make_plan(p, err);
	if (r < 0)
		return r;
	if (p->plan.n_unplaced > first_unplaced)
		return err_set(err, -EAGAIN, "the cluster has changed: no plan for %zu of the pods",
			p->plan.n_unplaced);
	if (n_moved + p->plan.n_moves > first_moves)
		return err_set(err, -EAGAIN, "the cluster has changed: the plan needs %zu more moves",
			p->plan.n_moves);
	return 0;
}

/* Whether the plan may be carried out: the extender is asked about its pods, and --expect has its steps. */
static int check_plan(const struct planning *p, struct plan_apply *apply, struct err *err)
{
	const char *expect = p->options->value[OPT_EXPECT];
	int r = expect ? expected_plan_check(&p->expected, expect, &p->cluster, &p->plan, err) : 0;

	return r < 0 ? r : plan_apply_check(apply, &p->cluster, &p->plan, err);
}

#define IDLE_ROUNDS 10u /* consecutive plans that a change of the cluster outdates before the first move */

/* Carries out one move after the other, and plans again after each. */
static int apply_plan(struct planning *p)
{
	const struct plan_apply_options options = {.client = source_client(p->source),
		.extender_lease = option_is(p->options, OPT_EXTENDER_LEASE, "none")
					  ? NULL
					  : p->options->value[OPT_EXTENDER_LEASE],
		.timeout_ms = option_ms(p->options, OPT_TIMEOUT),
		.hold_ms = option_ms(p->options, OPT_HOLD),
		.aligned = option_set(p->options, OPT_ALIGNED),
		.stop = &stop,
		.progress = print_line};
	CLEANUP(plan_apply_release) struct plan_apply apply;
	size_t first_moves = p->plan.n_moves, first_unplaced = p->plan.n_unplaced, n_idle = 0, n_moved = 0;
	enum plan_outcome outcome = p->plan.outcome;
	const struct own_reservation *left;
	struct err err = {""};
	int r;

	for (size_t i = 0; i < p->n_wanted; i++)
		if (option_set(p->options, OPT_PENDING))
			strv_push(&p->first_wanted, p->cluster.pods[p->wanted[i]].uid);
	plan_apply_init(&apply, &options);
	r = check_plan(p, &apply, &err);
	if (r < 0) {
		log_error("not carried out: %s", err.text);
		return EXIT_FAILURE;
	}
	catch_signals();
	while ((r = plan_apply_round(&apply, &p->cluster, &p->plan, p->object, &err)) == PLAN_APPLY_AGAIN) {
		if (apply.n_evicted > n_moved)
			n_idle = 0;
		else
			n_idle++;
		n_moved = apply.n_evicted;
		if (n_idle < IDLE_ROUNDS)
			r = plan_again(p, n_moved, first_moves, first_unplaced, &err);
		else
			r = err_set(&err, -EAGAIN, "the cluster changes faster than plans can be made");
		if (r == 0)
			r = check_plan(p, &apply, &err);
		if (r < 0)
			break;
	}
	if (r >= 0)
		return plan_exit_status(outcome);
	left = plan_apply_abandon(&apply);
	if (left)
		log_error(
			"stopped, %zu of %zu moves done: %s; the place of '%s/%s' on node '%s' stays reserved for its new pod",
			apply.n_done, first_moves, err.text, left->facts.namespace, left->facts.pod,
			left->node);
	else
		log_error("stopped, %zu of %zu moves done: %s", apply.n_done, first_moves, err.text);
	if (r == -EINTR && left)
		log_error(
			"the same command goes on; to give the place up: kubectl annotate node %s " RESERVATION_PREFIX
			"%s-",
			left->node, left->facts.id);
	else if (r == -EINTR)
		log_error("the same command goes on; no place is reserved");
	return EXIT_FAILURE;
}

/* Applies the plan if the flags ask for it. Returns the exit status. */
static int apply_if_asked(struct planning *p)
{
	if (!option_set(p->options, OPT_APPLY) || p->plan.outcome == PLAN_NONE)
		return plan_exit_status(p->plan.outcome);
	if (p->plan.outcome == PLAN_PARTIAL && !option_set(p->options, OPT_ALLOW_PARTIAL)) {
		log_error(
			"not carried out: some of the pods would have no place; --allow-partial carries out such a plan");
		return EXIT_PARTIAL;
	}
	return apply_plan(p);
}

int command_plan(const struct options *options)
{
	CLEANUP(planning_release) struct planning p = {.options = options};
	struct err err = {""};
	int r = read_plan_flags(&p, &err);

	r = r < 0 ? r : make_plan(&p, &err);
	if (r < 0) {
		log_error("%s", err.text);
		return source_exit_status(options, r);
	}
	if (print_plan(&p) < 0)
		return EXIT_FAILURE;
	return apply_if_asked(&p);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* nrtd run: configures the daemon from the flags and runs it. */
#include "cli/commands.h"

#include <errno.h>
#include <signal.h>

#include "agent/publish/target.h"
#include "cli/nrtd/stage_config.h"
#include "cli/opts_check.h"
#include "common/cleanup.h"
#include "common/io/thread.h"
#include "common/log.h"
#include "common/xalloc.h"

#define LOCK_FORMAT "/run/nrtd/%s.lock"

struct run {
	const struct options *options;
	char *node_name;
	char *lock; /* NULL = none */
	struct reconcile_config config;
	struct stage_lists lists; /* of config */
	struct target_api api;
	struct target_stdout printer;
	const char *targets[PUBLISH_OBJECT_COUNT]; /* of the metrics */
	struct metrics *metrics;
	struct cancel cancel;
};

static void run_release(struct run *run)
{
	hints_config_release(&run->config.render.hints);
	target_api_release(&run->api);
	target_stdout_release(&run->printer);
	metrics_free(run->metrics);
	free(run->node_name);
	free(run->lock);
	cancel_release(&run->cancel);
}

/* A dry run writes nothing and therefore takes no lock. */
static void set_lock_path(struct run *run)
{
	const char *lock = run->options->value[OPT_LOCK];

	if ((lock && !strcmp(lock, "none")) || option_set(run->options, OPT_DRY_RUN))
		return;
	if (lock)
		run->lock = xstrdup(lock);
	else
		run->lock = xasprintf(LOCK_FORMAT, run->node_name);
}

static int open_api(struct run *run, struct err *err)
{
	struct publish_config config = stage_publish(run->options);

	config.cancel = &run->cancel;
	return target_api_open(&config, run->node_name, &run->api, err);
}

/* Omits the metrics of targets that are not published: they would show no success. */
static void open_metrics(struct run *run)
{
	struct metrics_labels labels = reconcile_labels;

	memcpy(run->targets, publish_object_names, sizeof(run->targets));
	if (!run->config.render.numatopology)
		run->targets[PUBLISH_NUMATOPOLOGY] = NULL;
	if (option_is(run->options, OPT_STARTUP_TAINT, "keep"))
		run->targets[PUBLISH_TAINT] = NULL;
	if (!run->config.render.kai)
		run->targets[PUBLISH_PODS] = NULL;
	labels.targets.names = run->targets;
	metrics_new(&labels, &run->metrics);
}

static int prepare(struct run *run, struct err *err)
{
	struct reconcile_config *c = &run->config;
	int r;

	c->observe = stage_observe(run->options);
	r = observe_node_name(&c->observe, &run->node_name, err);
	c->node_name = run->node_name;
	c->derive = stage_derive(run->options, &run->lists);
	c->pod_memory_ms = option_ms(run->options, OPT_POD_MEMORY);
	c->changes.settle_ms = option_ms(run->options, OPT_EVENTS);
	c->changes.on = c->changes.settle_ms > 0;
	c->pod_metrics = option_set(run->options, OPT_POD_METRICS);
	if (r < 0)
		return r;
	r = stage_render(run->options, &c->render, err);
	if (r < 0)
		return r;
	set_lock_path(run);
	r = option_set(run->options, OPT_DRY_RUN) ? 0 : open_api(run, err);
	if (r < 0)
		return r;
	open_metrics(run);
	return 0;
}

static int serve(struct run *run, struct err *err)
{
	CLEANUP(reconciler_release)
	struct reconciler reconciler = {
		.config = &run->config, .metrics = run->metrics, .sources.cancel = &run->cancel};
	struct loop_config config = {.reconciler = &reconciler,
		.metrics = run->metrics,
		.cancel = &run->cancel,
		.lock = run->lock};
	int r = stage_daemon(run->options, &config, err);

	if (r < 0)
		return r;
	run->printer.node_name = run->node_name;
	reconciler.target = run->api.publisher ? target_api(&run->api) : target_stdout(&run->printer);
	return loop_run(&config, err);
}

static int clean_up(struct run *run, struct err *err)
{
	int r;

	if (!run->api.publisher) /* --dry-run */
		return err_set(err, -EINVAL, "--cleanup and --dry-run exclude each other");
	r = signals_release(); /* a signal may end --cleanup at any point: it can be run again */
	return r < 0 ? r : publisher_cleanup(run->api.publisher, run->config.render.numatopology, err);
}

static int prepare_and_run(struct run *run, struct err *err)
{
	int r = signals_hold();

	if (r < 0)
		return r;
	r = cancel_init(&run->cancel);
	if (r < 0)
		return r;
	r = prepare(run, err);
	if (r < 0)
		return r;
	return option_set(run->options, OPT_CLEANUP) ? clean_up(run, err) : serve(run, err);
}

int command_run(const struct options *options)
{
	CLEANUP(run_release) struct run run = {.options = options, .cancel = CANCEL_INIT};
	struct err err = {""};
	int r;

	log_set_level(LOG_LEVEL_INFO);
	signal(SIGPIPE, SIG_IGN); /* writing to a closed connection returns an error */
	r = prepare_and_run(&run, &err);
	if (r == 0)
		return EXIT_SUCCESS;
	log_error("%s", err.text[0] ? err.text : strerror(-r));
	return r == -EINVAL ? EXIT_USAGE : EXIT_FAILURE;
}

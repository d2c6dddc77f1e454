/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/commands.h"

#include <errno.h>
#include <signal.h>

#include "agent/api_target.h"
#include "agent/loop.h"
#include "agent/node_name.h"
#include "agent/target_stdout.h"
#include "common/cleanup.h"
#include "common/duration.h"
#include "common/log.h"

#define LOCK_FORMAT        "/run/nrtd/%s.lock"
#define CHANGE_INTERVAL_MS 500u /* at most two publications a second, however much changes */

struct run {
	const struct options *options;
	char *node_name;
	char *lock; /* NULL = none */
	struct hints_config hints;
	struct api_target api;
	struct target_stdout printer;
	struct metrics *metrics;
	atomic_bool cancel;
};

static void run_release(struct run *run)
{
	hints_config_release(&run->hints);
	api_target_release(&run->api);
	metrics_free(run->metrics);
	free(run->node_name);
	free(run->lock);
}

static uint64_t milliseconds(const struct options *options, enum option_id id)
{
	uint64_t ms = 0;

	duration_parse(options->value[id], &ms, NULL); /* checked with the flags */
	return ms;
}

/* Nothing is written in a dry run, so nobody has to wait for it. */
static int find_lock(struct run *run, struct err *err)
{
	const char *lock = run->options->value[OPT_LOCK];

	if ((lock && !strcmp(lock, "none")) || option_set(run->options, OPT_DRY_RUN))
		return 0;
	if (lock)
		run->lock = strdup(lock);
	else if (asprintf(&run->lock, LOCK_FORMAT, run->node_name) < 0)
		run->lock = NULL;
	return run->lock ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int prepare(struct run *run, struct err *err)
{
	int r = node_name_find(run->options->value[OPT_NODE_NAME], &run->node_name, err);

	if (r == 0)
		r = hints_config_read(run->options, &run->hints, err);
	if (r == 0)
		r = find_lock(run, err);
	if (r == 0 && !option_set(run->options, OPT_DRY_RUN))
		r = api_target_open(run->options, run->node_name, &run->cancel, &run->api, err);
	if (r == 0)
		r = metrics_new(&reconcile_labels, &run->metrics);
	return r;
}

static int serve(struct run *run, struct err *err)
{
	CLEANUP(reconciler_release)
	struct reconciler reconciler = {.options = run->options,
		.hints = &run->hints,
		.metrics = run->metrics,
		.sources.cancel = &run->cancel};
	struct loop_config config = {.reconciler = &reconciler,
		.metrics = run->metrics,
		.cancel = &run->cancel,
		.lock = run->lock,
		.coalesce_ms = milliseconds(run->options, OPT_COALESCE),
		.interval_ms = CHANGE_INTERVAL_MS,
		.poll_ms = milliseconds(run->options, OPT_POLL)};
	int r = http_listen_parse(run->options->value[OPT_HTTP], &config.http, err);

	if (r < 0)
		return r;
	run->printer.node_name = run->node_name;
	reconciler.target = run->api.publisher ? api_target(&run->api) : target_stdout(&run->printer);
	return loop_run(&config, err);
}

int command_run(const struct options *options)
{
	CLEANUP(run_release) struct run run = {.options = options};
	struct err err = {""};
	int r;

	log_set_level(LOG_LEVEL_INFO);
	signal(SIGPIPE, SIG_IGN); /* a peer that goes away is an error of the write */
	r = loop_hold_signals();
	if (r == 0)
		r = prepare(&run, &err);
	if (r == 0 && option_set(options, OPT_CLEANUP)) {
		if (!run.api.publisher)
			r = err_set(&err, -EINVAL, "--cleanup and --dry-run exclude each other");
		else
			r = loop_open_signals(); /* it may end at any point, to be run again */
		if (r == 0)
			r = publisher_cleanup(run.api.publisher, &err);
	} else if (r == 0) {
		r = serve(&run, &err);
	}
	if (r == 0)
		return EXIT_SUCCESS;
	log_error("%s", err.text[0] ? err.text : strerror(-r));
	return r == -EINVAL ? EXIT_USAGE : EXIT_FAILURE;
}

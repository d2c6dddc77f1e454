/* SPDX-License-Identifier: Apache-2.0 */
/* nrtd-extender: serves the requests of kube-scheduler. */
#include "cli/commands.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "cli/opts.h"
#include "cli/opts_check.h"
#include "cluster/extender/extender.h"
#include "common/cleanup.h"
#include "common/io/thread.h"
#include "common/log.h"
#include "common/xalloc.h"

#define REJECTION_MS          30000u
#define NAMESPACE_ASSUMED_MAX 1000u /* more pods than a scheduler binds in a few seconds */

/* The configuration, and the texts that it borrows. */
struct setup {
	struct extender_config config;
	char *namespace;
};

static void setup_release(struct setup *setup)
{
	free(setup->namespace);
}

/* "NAMESPACE/NAME", or none. */
static void read_lease(const char *text, struct setup *setup)
{
	const char *slash = strchr(text, '/');

	if (!slash)
		return;
	setup->namespace = xstrndup(text, (size_t)(slash - text));
	setup->config.lease_namespace = setup->namespace;
	setup->config.lease_name = slash + 1;
}

static int read_config(const struct options *options, struct setup *setup, struct err *err)
{
	struct extender_config *c = &setup->config;
	const char *strategy = options->value[OPT_STRATEGY];
	bool nominate;
	int r;

	c->nrt = options->value[OPT_NRT];
	c->credentials = (struct credentials_options){.kubeconfig = options->value[OPT_KUBECONFIG],
		.context = options->value[OPT_CONTEXT],
		.api_server = options->value[OPT_API_SERVER]};
	c->tls = (struct http_tls_files){.certificate = options->value[OPT_TLS_CERT],
		.key = options->value[OPT_TLS_KEY],
		.client_ca = options->value[OPT_TLS_CLIENT_CA]};
	nominate = option_is(options, OPT_NOMINATE, "on") && !c->nrt && strcmp(strategy, "Volcano") != 0 &&
		   option_is(options, OPT_ANSWER, "best");
	c->server = (struct server_config){
		.verbs = {.strategy = !strcmp(strategy, "Volcano") ? VERB_STRATEGY_VOLCANO
								   : strategy_by_name(strategy),
			.all = option_is(options, OPT_ANSWER, "all"),
			.pass_unknown = option_is(options, OPT_UNKNOWN, "pass")},
		.cluster = {.assume_ms = option_ms(options, OPT_ASSUME_TIMEOUT),
			.rejection_ms = REJECTION_MS,
			.namespace_assumed_max = NAMESPACE_ASSUMED_MAX,
			.keep_constraints = true},
		.max_kubelet_ns = option_ms(options, OPT_MAX_KUBELET_TIME) * 1000000,
		.replica.max_stale_ms = option_ms(options, OPT_MAX_STALE),
		.replica.takeover_ms = 1000,
		.replica.stale_open = option_is(options, OPT_STALE, "open"),
		.log_answers = option_set(options, OPT_VERBOSE),
		.nominate = nominate,
	};
	c->advertise = options->value[OPT_ADVERTISE];
	r = http_listen_parse(options->value[OPT_HTTP], &c->http, err);
	if (r < 0)
		return r;
	if (c->http.off)
		return err_set(err, -EINVAL, "--http: none is not possible, the extender must listen");
	read_lease(options->value[OPT_LEASE], setup);
	if (c->nrt && c->lease_name)
		return err_set(err, -EINVAL, "--lease and --nrt exclude each other");
	return 0;
}

int command_extender(const struct options *options)
{
	CLEANUP(setup_release) struct setup setup = {.namespace = NULL};
	struct err err = {""};
	int r;

	log_set_level(LOG_LEVEL_INFO);
	signal(SIGPIPE, SIG_IGN); /* writing to a closed connection returns an error */
	r = signals_hold();
	if (r == 0)
		r = read_config(options, &setup, &err);
	if (r == 0)
		r = extender_run(&setup.config, &err);
	if (r == 0)
		return EXIT_SUCCESS;
	log_error("%s", err.text[0] ? err.text : strerror(-r));
	return r == -EINVAL ? EXIT_USAGE : EXIT_FAILURE;
}

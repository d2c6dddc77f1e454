/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow KUBECONFIG PATH [PAGE [STOP]]: what a reflector hands on, a line each: "begin", "object NAME", "gone NAME", "end".
 * With the STOPth object it stops itself until SIGCONT.
 * follow KUBECONFIG lease NAMESPACE/NAME IDENTITY: takes part in a lease: "held" or "not held" when that changes.
 *
 * Until SIGTERM or SIGINT; then how often what has happened, or the lease is given up.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/io/thread.h"
#include "common/io/time.h"
#include "common/kube/lease.h"
#include "common/kube/reflector.h"
#include "common/log.h"

static struct cancel cancel;

static void on_signal(int signal)
{
	(void)signal;
	cancel_request(&cancel);
}

static void say(const char *what, const struct doc *object)
{
	const char *name = doc_object_name(object);

	printf("%s%s%s\n", what, object ? " " : "", name ? name : "");
	fflush(stdout);
}

static int on_begin(void *ctx)
{
	(void)ctx;
	say("begin", NULL);
	return 0;
}

static int on_object(void *ctx, struct doc *object)
{
	unsigned long *left = ctx;

	say("object", object);
	if (*left > 0 && --*left == 0)
		raise(SIGSTOP);
	return 0;
}

static int on_gone(void *ctx, struct doc *object)
{
	(void)ctx;
	say("gone", object);
	return 0;
}

static int on_end(void *ctx, const char *version)
{
	(void)ctx;
	(void)version;
	say("end", NULL);
	return 0;
}

static void on_skip(void *ctx, const struct err *why)
{
	(void)ctx;
	printf("skip %s\n", why->text);
}

static void on_alive(void *ctx)
{
	(void)ctx;
}

static int follow(const struct credentials_options *credentials, const char *path, unsigned page,
	unsigned long stop, struct err *err)
{
	static const struct reflector_events events = {.begin = on_begin,
		.object = on_object,
		.deleted = on_gone,
		.skip = on_skip,
		.end = on_end,
		.alive = on_alive};
	const struct reflector_options options = {.path = path, .page = page};
	struct reflector *reflector;
	struct reflector_counts c;
	int r = reflector_new(&options, credentials, &events, &stop, &cancel, &reflector, err);

	if (r < 0)
		return r;
	while (!cancel_requested(&cancel))
		(void)cancel_poll(&cancel, -1, 0, 60000);
	reflector_counts(reflector, &c);
	reflector_free(reflector);
	printf("lists=%llu watches=%llu objects=%llu events=%llu bookmarks=%llu expired=%llu errors=%llu\n",
		(unsigned long long)c.lists, (unsigned long long)c.watches, (unsigned long long)c.objects,
		(unsigned long long)c.events, (unsigned long long)c.bookmarks, (unsigned long long)c.expired,
		(unsigned long long)c.errors);
	return 0;
}

static int take_part(
	const struct credentials_options *credentials, char *name, const char *identity, struct err *err)
{
	char *slash = strchr(name, '/');
	struct lease_options options = {.namespace = name, .name = slash + 1, .identity = identity};
	CLEANUP(lease_freep) struct lease *lease = NULL;
	bool was_held = false;
	int r;

	*slash = '\0';
	r = lease_new(&options, credentials, &cancel, &lease, err);
	if (r < 0)
		return r;
	say("not held", NULL);
	for (int64_t at = 0; !cancel_requested(&cancel); usleep(20000)) {
		struct lease_state state;
		struct err line = {""};

		if (clock_ms(CLOCK_MONOTONIC) >= at) {
			if (lease_step(lease, &state, &line) < 0)
				fprintf(stderr, "%s: %s\n", identity, line.text);
			at = state.call_again_ms;
		}
		if (lease_held(lease) != was_held)
			say(was_held ? "not held" : "held", NULL);
		was_held = lease_held(lease);
	}
	return lease_step_down(lease, err);
}

int main(int argc, char **argv)
{
	struct credentials_options credentials = {.kubeconfig = argc > 1 ? argv[1] : NULL};
	const struct sigaction action = {.sa_handler = on_signal};
	bool is_lease = argc == 5 && !strcmp(argv[2], "lease") && strchr(argv[3], '/');
	struct err err = {""};
	int r;

	if (!is_lease && (argc < 3 || argc > 5)) {
		fputs("usage: follow KUBECONFIG PATH [PAGE [STOP]] | follow KUBECONFIG lease NAMESPACE/NAME IDENTITY\n",
			stderr);
		return 2;
	}
	log_set_level(LOG_LEVEL_INFO);
	if (cancel_init(&cancel) < 0)
		return 1;
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	r = is_lease ? take_part(&credentials, argv[3], argv[4], &err)
		     : follow(&credentials, argv[2], argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0,
			       argc > 4 ? strtoul(argv[4], NULL, 10) : 0, &err);
	if (r < 0)
		fprintf(stderr, "follow: %s\n", err.text);
	return r < 0;
}

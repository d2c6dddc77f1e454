/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extender_api [CERTIFICATE KEY CLIENT-CA]: serves the extender API as `nrtd-extender` does, for tests/upstream/cmd/extenderapi.
 *
 * Listens on a free port, prints the port, and runs until its standard input ends. The answers depend only on names: a node whose
 * name begins with "no" does not pass, with its reversed name as the reason; a node whose name begins with "never" is unresolvable;
 * a node's score is the length of its name modulo 11. /describe returns the parsed request as an error. A request for
 * /to/PORT/VERB is redirected to the server on that port.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cluster/extender/extender_api.h"
#include "common/cleanup.h"
#include "common/http/http.h"

#define BODY_MAX ((size_t)64 << 20)

static bool ok(void *ctx, struct strbuf *line)
{
	(void)ctx;
	strbuf_addstr(line, "ok");
	return true;
}

static int no_metrics(void *ctx, struct strbuf *text)
{
	(void)ctx;
	strbuf_addstr(text, "");
	return 0;
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Owned by the caller. */
static char *backwards(const char *text)
{
	size_t len = strlen(text);
	char *copy = strdup(text);

	for (size_t i = 0; copy && i < len; i++)
		copy[i] = text[len - 1 - i];
	return copy;
}

static int filter(const struct extender_args *args, struct strbuf *reply)
{
	CLEANUP(freep) struct extender_failure *failures = calloc(args->n_names + 1, sizeof(*failures));
	CLEANUP(freep) char **reasons = calloc(args->n_names + 1, sizeof(*reasons));
	int r;

	for (size_t i = 0; i < args->n_names; i++) {
		bool never = begins(args->names[i], "never");

		if (never || begins(args->names[i], "no"))
			reasons[i] = backwards(args->names[i]);
		failures[i] = (struct extender_failure){reasons[i], never};
	}
	r = extender_filter_print(args, failures, reply);
	for (size_t i = 0; i < args->n_names; i++)
		free(reasons[i]);
	return r;
}

static int prioritize(const struct extender_args *args, struct strbuf *reply)
{
	CLEANUP(freep) int *scores = calloc(args->n_names + 1, sizeof(*scores));

	for (size_t i = 0; scores && i < args->n_names; i++)
		scores[i] = (int)(strlen(args->names[i]) % (EXTENDER_SCORE_MAX + 1));
	return extender_priorities_print(args, scores, reply);
}

/* UID NAMESPACE/NAME PRIORITY CONTAINERS NODES, and each container's cpu in thousandths of a millionth. */
static int describe(const struct extender_args *args, struct strbuf *reply)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(BODY_MAX);
	const struct pod_request *pod = &args->pod.template.pod;

	strbuf_addf(&text, "%s %s/%s %d %zu %zu", args->pod.uid, args->pod.namespace, args->pod.name,
		(int)args->pod.priority, pod->n_containers, args->n_names);
	for (size_t i = 0; i < pod->n_containers; i++) {
		const struct resource_quantity *cpu = resource_list_find(&pod->containers[i].requests, "cpu");

		strbuf_addf(&text, " %lld", cpu ? (long long)cpu->quantity.nano : -1);
	}
	return extender_error_print(text.text, reply);
}

/* Nodes that begin with "no" are left out, and of the others the last victim is. */
static int preempt(const char *body, size_t len, struct strbuf *reply, struct err *err)
{
	CLEANUP(extender_preemption_release) struct extender_preemption p = {.items = NULL};
	CLEANUP(freep) struct extender_victims *left = NULL;
	int r = extender_preemption_parse(body, len, &p, err);
	size_t n = 0;

	if (r < 0)
		return r;
	left = calloc(p.n_items + 1, sizeof(*left));
	for (size_t i = 0; i < p.n_items; i++) {
		if (begins(p.items[i].node, "no"))
			continue;
		left[n] = p.items[i];
		left[n].n_uids -= left[n].n_uids > 0;
		n++;
	}
	return extender_preemption_print(left, n, reply);
}

static int post(void *ctx, const char *path, const char *body, size_t len, struct strbuf *reply)
{
	CLEANUP(extender_args_release) struct extender_args args = {.names = NULL};
	const char *scheme = ctx;
	struct err err = {""};
	int r;

	if (begins(path, "/to/")) {
		strbuf_addf(reply, "%s://127.0.0.1:%s", scheme, path + strlen("/to/"));
		return 307;
	}
	if (!strcmp(path, "/preempt")) {
		r = preempt(body, len, reply, &err);
	} else {
		r = extender_args_parse(body, len, &args, &err);
		if (r == 0)
			r = !strcmp(path, "/filter")       ? filter(&args, reply)
			    : !strcmp(path, "/prioritize") ? prioritize(&args, reply)
							   : describe(&args, reply);
	}
	if (r < 0)
		fprintf(stderr, "%s: %s\n", path, err.text);
	return r < 0 ? 400 : 200;
}

int main(int argc, char **argv)
{
	static const struct http_callbacks callbacks = {
		.healthy = ok, .ready = ok, .metrics = no_metrics, .post = post};
	CLEANUP(http_server_freep) struct http_server *server = NULL;
	struct http_options options = {.idle_seconds = 120, .body_max = BODY_MAX};
	static char http[] = "http", https[] = "https";
	struct err err = {""};

	if (argc == 4)
		options.tls = (struct http_tls_files){argv[1], argv[2], argv[3]};
	if (http_server_start("127.0.0.1", 0, &options, &callbacks, argc == 4 ? https : http, &server, &err) <
		0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	printf("%u\n", http_server_port(server));
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}

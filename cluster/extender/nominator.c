/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/extender/nominator.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/objects/pod_parse.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/io/time.h"
#include "common/kube/access_review.h"
#include "common/kube/api_client.h"
#include "common/log.h"
#include "common/xalloc.h"

#define RIGHT_CHECK_MS 60000u /* how long a right that was denied is believed to be denied */
#define RIGHT_RETRY_MS 5000u  /* after a check without an answer */
#define WAIT_MS        1000u
#define TEXT_MAX       4096u

struct nominator {
	struct server *server;
	const struct cancel *cancel;
	struct credentials *credentials;
	struct api_client *client;
	struct api_response response;
	pthread_t thread;
	bool has_thread;
	uint64_t check_ms; /* the right is checked again at this time */
	bool denied_logged;
	bool failed; /* the last request had no answer, which is logged */
};

static void log_no_answer(struct nominator *n, const struct err *why)
{
	if (!n->failed && !cancel_requested(n->cancel))
		log_warning("nominations: %s", why->text);
	n->failed = true;
}

static void log_denied(struct nominator *n, const char *why)
{
	if (!n->denied_logged)
		log_warning(
			"nominations are not written: %s; pods that no node of a sample admits are retried with other samples: grant the right to patch pods/status, or set percentageOfNodesToScore to 100 and --nominate=off",
			why);
	n->denied_logged = true;
}

/* -ENODATA: the API server does not know whether the right is granted, which counts as denied. */
static void check_right(struct nominator *n, uint64_t now_ms)
{
	static const struct access_right right = {
		.verb = "patch", .resource = "pods", .subresource = "status"};
	struct err reason = {""};
	int r = access_review_ask(n->client, &right, &reason);
	bool allowed = r == 1, has_answer = r >= 0 || r == -ENODATA;

	n->check_ms = now_ms + (has_answer ? RIGHT_CHECK_MS : RIGHT_RETRY_MS);
	if (!has_answer) {
		log_no_answer(n, &reason);
		return;
	}
	n->failed = false;
	server_set_nomination_right(n->server, allowed ? RIGHT_GRANTED : RIGHT_DENIED);
	if (!allowed)
		log_denied(n, *reason.text ? reason.text : "the extender may not patch pods/status");
	else if (n->denied_logged)
		log_info("nominations are written again");
	if (allowed)
		n->denied_logged = false;
}

static void print_patch(const struct nomination_write *w, struct strbuf *path, struct strbuf *body)
{
	strbuf_addstr(path, "/api/v1/namespaces/");
	api_path_escape(path, w->namespace);
	strbuf_addstr(path, "/pods/");
	api_path_escape(path, w->name);
	strbuf_addstr(path, "/status?fieldManager=nrtd-extender");
	strbuf_addstr(body, "{\"metadata\":{\"uid\":");
	json_add_string(body, w->uid);
	strbuf_addf(
		body, ",\"resourceVersion\":\"%" PRIu64 "\"},\"status\":{\"nominatedNodeName\":", w->version);
	json_add_string(body, w->node);
	strbuf_addstr(body, "}}");
}

static void write_nomination(struct nominator *n, const struct nomination_write *w)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(TEXT_MAX);
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT(TEXT_MAX);
	CLEANUP(doc_release) struct doc pod = DOC_INIT;
	struct api_request request = {.method = "PATCH", .content_type = "application/merge-patch+json"};
	char message[API_MESSAGE_MAX];
	struct err err = {""};
	uint64_t version;
	int status = 0;

	print_patch(w, &path, &body);
	request.path = path.text;
	request.body = body.text;
	request.body_len = body.len;
	if (api_client_request(n->client, &request, &n->response, &err) < 0) {
		log_no_answer(n, &err);
	} else {
		n->failed = false;
		status = n->response.status;
		if (status == HTTP_OK)
			json_parse(n->response.body.text, n->response.body.len, &pod, NULL);
	}
	/* 0 without a readable answer. */
	version = resource_version_parse(doc_text(doc_get(&pod, "metadata"), "resourceVersion"));
	server_nomination_written(n->server, w, status, version);
	if (status != HTTP_FORBIDDEN)
		return;
	n->check_ms = (uint64_t)clock_ms(CLOCK_BOOTTIME) + RIGHT_CHECK_MS;
	api_response_message(&n->response, message);
	log_denied(n, message);
}

static void *run_nominator(void *arg)
{
	struct nominator *n = arg;

	while (!cancel_requested(n->cancel)) {
		uint64_t now_ms = (uint64_t)clock_ms(CLOCK_BOOTTIME);
		struct nomination_write w = {NULL};

		if (server_nomination_right(n->server) != RIGHT_GRANTED && now_ms >= n->check_ms)
			check_right(n, now_ms);
		if (server_next_nomination(n->server, WAIT_MS, &w))
			write_nomination(n, &w);
		nomination_write_release(&w);
	}
	return NULL;
}

int nominator_new(struct server *server, const struct credentials_options *credentials,
	const struct cancel *cancel, struct nominator **ret, struct err *err)
{
	CLEANUP(nominator_freep) struct nominator *n = xcalloc(1, sizeof(*n));
	const struct api_client_options options = {.cancel = cancel};
	int r;

	n->server = server;
	n->cancel = cancel;
	api_response_init(&n->response);
	r = credentials_new(credentials, &n->credentials, err);
	if (r == 0)
		r = api_client_new(n->credentials, &options, &n->client, err);
	if (r < 0)
		return r;
	r = thread_start(&n->thread, run_nominator, n);
	if (r < 0)
		return err_set(err, r, "cannot start the thread of the nominations: %s", strerror(-r));
	n->has_thread = true;
	*ret = TAKE(n);
	return 0;
}

void nominator_free(struct nominator *n)
{
	if (!n)
		return;
	server_end_nominations(n->server);
	if (n->has_thread)
		thread_join(n->thread);
	api_client_free(n->client);
	credentials_free(n->credentials);
	api_response_release(&n->response);
	free(n);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/api_server.h"

#include <stdlib.h>
#include <unistd.h>
#include <netinet/in.h>
#include <microhttpd.h>

#include "tests/lib/test.h"

struct upload {
	size_t len;
	char text[API_SERVER_BODY];
};

static void note(
	struct MHD_Connection *connection, enum MHD_ValueKind kind, const char *name, char *to, size_t size)
{
	const char *value = MHD_lookup_connection_value(connection, kind, name);

	snprintf(to, size, "%s", value ? value : "");
}

static enum MHD_Result reply(struct MHD_Connection *connection, const struct api_answer *a)
{
	size_t len = a->padding ? a->padding : strlen(a->body);
	char *body = calloc(1, len + 1); /* the library wants one it may write to, and frees it */
	struct MHD_Response *response;
	enum MHD_Result r;

	if (!body)
		return MHD_NO;
	memcpy(body, a->body ? a->body : "", a->padding ? 0 : len);
	response = MHD_create_response_from_buffer(len, body, MHD_RESPMEM_MUST_FREE);

	if (a->delay_ms)
		usleep(a->delay_ms * 1000);
	if (a->date)
		MHD_add_response_header(response, "Date", a->date);
	if (a->retry_after)
		MHD_add_response_header(response, "Retry-After", a->retry_after);
	r = MHD_queue_response(connection, (unsigned)a->status, response);
	MHD_destroy_response(response);
	return r;
}

static enum MHD_Result on_request(void *data, struct MHD_Connection *connection, const char *url,
	const char *method, const char *version, const char *upload, size_t *upload_len, void **state)
{
	struct api_server *s = data;
	struct upload *u = *state;
	size_t at;

	(void)version;
	if (!u) {
		*state = calloc(1, sizeof(*u));
		return *state ? MHD_YES : MHD_NO;
	}
	if (*upload_len) {
		assert_true(u->len + *upload_len < API_SERVER_BODY);
		memcpy(u->text + u->len, upload, *upload_len);
		u->len += *upload_len;
		*upload_len = 0;
		return MHD_YES;
	}
	at = s->n_requests < API_SERVER_REQUESTS ? s->n_requests++ : API_SERVER_REQUESTS - 1;
	snprintf(s->method[at], sizeof(s->method[at]), "%s", method);
	snprintf(s->url[at], sizeof(s->url[at]), "%s", url);
	snprintf(s->body[at], sizeof(s->body[at]), "%s", u->text);
	note(connection, MHD_GET_ARGUMENT_KIND, "dryRun", s->dry_run[at], sizeof(s->dry_run[at]));
	note(connection, MHD_HEADER_KIND, "Content-Type", s->type[at], sizeof(s->type[at]));
	note(connection, MHD_HEADER_KIND, "Accept", s->accept, sizeof(s->accept));
	note(connection, MHD_HEADER_KIND, "User-Agent", s->agent, sizeof(s->agent));
	free(u);
	*state = NULL;
	return reply(connection, &s->script[at < s->n_script ? at : s->n_script - 1]);
}

static void on_completed(
	void *data, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode why)
{
	(void)data;
	(void)connection;
	(void)why;
	free(*state);
	*state = NULL;
}

void api_server_start(struct api_server *s, const struct api_answer *script, size_t n)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	*s = (struct api_server){.script = script, .n_script = n};
	s->daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_SUPPRESS_DATE_NO_CLOCK, 0,
		NULL, NULL, on_request, s, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_END);
	assert_non_null(s->daemon);
	s->port = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

void api_server_stop(struct api_server *s)
{
	if (s->daemon)
		MHD_stop_daemon(s->daemon);
	s->daemon = NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/api_server.h"

#include <stdlib.h>
#include <time.h>
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

static enum MHD_Result add_argument(void *data, enum MHD_ValueKind kind, const char *name, const char *value)
{
	char *query = data;
	size_t len = strlen(query), size = sizeof(((struct api_server *)NULL)->query[0]);

	(void)kind;
	snprintf(query + len, size - len, "%s%s=%s", len ? "&" : "", name, value ? value : "");
	return MHD_YES;
}

/* ---- a body in pieces */

struct pieces {
	struct api_server *server;
	const char *const *next;
	size_t offset; /* within the piece */
};

static bool wait_for_the_test(struct api_server *s)
{
	bool stopping;

	pthread_mutex_lock(&s->lock);
	while (!s->stopping && s->n_go_on == 0)
		pthread_cond_wait(&s->changed, &s->lock);
	stopping = s->stopping;
	if (!stopping)
		s->n_go_on--;
	pthread_mutex_unlock(&s->lock);
	return !stopping;
}

static ssize_t next_piece(void *data, uint64_t position, char *to, size_t max)
{
	struct pieces *p = data;
	size_t len;

	(void)position;
	while (*p->next && !strcmp(*p->next, API_SERVER_WAIT)) {
		if (!wait_for_the_test(p->server))
			return MHD_CONTENT_READER_END_WITH_ERROR;
		p->next++;
	}
	if (!*p->next)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (!strcmp(*p->next, API_SERVER_CUT))
		return MHD_CONTENT_READER_END_WITH_ERROR;
	len = strlen(*p->next + p->offset);
	len = len < max ? len : max;
	memcpy(to, *p->next + p->offset, len);
	p->offset += len;
	if (!(*p->next)[p->offset]) {
		p->next++;
		p->offset = 0;
	}
	return (ssize_t)len;
}

static struct MHD_Response *in_pieces(struct api_server *s, const struct api_answer *a)
{
	struct pieces *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	*p = (struct pieces){.server = s, .next = a->pieces};
	return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 32768, next_piece, p, free);
}

/* ---- answers */

static struct MHD_Response *at_once(const struct api_answer *a)
{
	size_t len = a->padding ? a->padding : strlen(a->body);
	char *body = calloc(1, len + 1); /* the library wants one it may write to, and frees it */

	if (!body)
		return NULL;
	memcpy(body, a->body ? a->body : "", a->padding ? 0 : len);
	return MHD_create_response_from_buffer(len, body, MHD_RESPMEM_MUST_FREE);
}

static enum MHD_Result reply(
	struct api_server *s, struct MHD_Connection *connection, const struct api_answer *a)
{
	struct MHD_Response *response = a->pieces ? in_pieces(s, a) : at_once(a);
	enum MHD_Result r;

	if (!response)
		return MHD_NO;
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

/* Returns which line of the script it is. */
static size_t keep_request(struct api_server *s, struct MHD_Connection *connection, const char *url,
	const char *method, const char *body)
{
	size_t at, line;

	pthread_mutex_lock(&s->lock);
	at = s->n_requests < API_SERVER_REQUESTS ? s->n_requests++ : API_SERVER_REQUESTS - 1;
	snprintf(s->method[at], sizeof(s->method[at]), "%s", method);
	snprintf(s->url[at], sizeof(s->url[at]), "%s", url);
	snprintf(s->body[at], sizeof(s->body[at]), "%s", body);
	s->query[at][0] = '\0';
	MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add_argument, s->query[at]);
	note(connection, MHD_GET_ARGUMENT_KIND, "dryRun", s->dry_run[at], sizeof(s->dry_run[at]));
	note(connection, MHD_HEADER_KIND, "Content-Type", s->type[at], sizeof(s->type[at]));
	note(connection, MHD_HEADER_KIND, "Accept", s->accept, sizeof(s->accept));
	note(connection, MHD_HEADER_KIND, "User-Agent", s->agent, sizeof(s->agent));
	note(connection, MHD_HEADER_KIND, "Impersonate-User", s->impersonate, sizeof(s->impersonate));
	note(connection, MHD_HEADER_KIND, "Impersonate-Group", s->group, sizeof(s->group));
	line = at - s->script_begins;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return line;
}

static enum MHD_Result on_request(void *data, struct MHD_Connection *connection, const char *url,
	const char *method, const char *version, const char *upload, size_t *upload_len, void **state)
{
	struct api_server *s = data;
	struct upload *u = *state;
	size_t line;

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
	line = keep_request(s, connection, url, method, u->text);
	free(u);
	*state = NULL;
	return reply(s, connection, &s->script[line < s->n_script ? line : s->n_script - 1]);
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

static void serve(struct api_server *s)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(s->port)};

	s->daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION |
					     MHD_USE_SUPPRESS_DATE_NO_CLOCK,
		0, NULL, NULL, on_request, s, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_END);
	assert_non_null(s->daemon);
	s->port = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

void api_server_start(struct api_server *s, const struct api_answer *script, size_t n)
{
	*s = (struct api_server){.script = script, .n_script = n};
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	serve(s);
}

void api_server_start_again(struct api_server *s, const struct api_answer *script, size_t n)
{
	s->script = script;
	s->n_script = n;
	s->script_begins = s->n_requests;
	s->n_go_on = 0;
	s->stopping = false;
	serve(s);
}

void api_server_stop(struct api_server *s)
{
	if (!s->daemon)
		return;
	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	MHD_stop_daemon(s->daemon);
	s->daemon = NULL;
}

void api_server_wait(struct api_server *s, size_t n_requests)
{
	struct timespec limit;
	size_t seen;
	int r = 0;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += 30;
	pthread_mutex_lock(&s->lock);
	while (s->n_requests < n_requests && r == 0)
		r = pthread_cond_timedwait(&s->changed, &s->lock, &limit);
	seen = s->n_requests;
	pthread_mutex_unlock(&s->lock);
	if (seen < n_requests)
		fail_msg("%zu requests came in 30 s, %zu are expected", seen, n_requests);
}

void api_server_go_on(struct api_server *s)
{
	pthread_mutex_lock(&s->lock);
	s->n_go_on++;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

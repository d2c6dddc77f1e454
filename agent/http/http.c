/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/http/http.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

#include <microhttpd.h>

#include "agent/http/http_clients.h"
#include "agent/http/http_workers.h"
#include "agent/kube/credentials.h"
#include "common/cleanup.h"
#include "common/xalloc.h"

#ifndef MHD_HTTP_CONTENT_TOO_LARGE /* before 0.9.74 */
#define MHD_HTTP_CONTENT_TOO_LARGE MHD_HTTP_PAYLOAD_TOO_LARGE
#endif

#define TEXT_MAX           (16u << 20)
#define CONNECTION_BYTES   ((size_t)8 << 10) /* one request's line and headers, and our headers */
#define IDLE_SECONDS       2u
#define THREAD_STACK_BYTES ((size_t)128 << 10)
#define PIECE_BYTES        ((size_t)1 << 10)   /* as the library has it */
#define POST_BYTES         ((size_t)256 << 10) /* of a connection, where bodies come in pieces */
#define POST_PIECE_BYTES   ((size_t)64 << 10)
#define POST_STACK_BYTES   ((size_t)1 << 20)
#define WORKERS            4u
#define SEND_MS            1000u /* so long a server that ends waits for clients to take their answers */
#define TLS_PRIORITIES     "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"
#define CONTENT_TYPE       "text/plain; charset=utf-8"
#define CONTENT_TYPE_JSON  "application/json"
#define CONTENT_TYPE_PROM  "text/plain; version=0.0.4; charset=utf-8"
#define LIBRARY            "libmicrohttpd.so.12"
#define LIBRARY_REMEDY     "install libmicrohttpd, or give --http=off"

/* ---- the library; the types of its functions are those of its header */

struct library {
	void *handle;
	__typeof__(&MHD_start_daemon) start_daemon;
	__typeof__(&MHD_quiesce_daemon) quiesce_daemon;
	__typeof__(&MHD_stop_daemon) stop_daemon;
	__typeof__(&MHD_create_response_from_buffer) create_response_from_buffer;
	__typeof__(&MHD_add_response_header) add_response_header;
	__typeof__(&MHD_queue_response) queue_response;
	__typeof__(&MHD_destroy_response) destroy_response;
	__typeof__(&MHD_get_connection_info) get_connection_info;
	__typeof__(&MHD_lookup_connection_value) lookup_connection_value;
	__typeof__(&MHD_suspend_connection) suspend_connection;
	__typeof__(&MHD_resume_connection) resume_connection;
};

#define LOAD(lib, name) ((lib)->name = (__typeof__((lib)->name))dlsym((lib)->handle, "MHD_" #name))

/* RTLD_NODELETE: once loaded it stays, as the libraries behind it register things with each other. */
static int library_load(struct library *ret, struct err *err)
{
	struct library lib = {.handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)};

	if (!lib.handle)
		return err_set(err, -ENOENT, "HTTP: %s; " LIBRARY_REMEDY, dlerror());
	if (!LOAD(&lib, start_daemon) || !LOAD(&lib, quiesce_daemon) || !LOAD(&lib, stop_daemon) ||
		!LOAD(&lib, create_response_from_buffer) || !LOAD(&lib, add_response_header) ||
		!LOAD(&lib, queue_response) || !LOAD(&lib, destroy_response) ||
		!LOAD(&lib, get_connection_info) || !LOAD(&lib, lookup_connection_value) ||
		!LOAD(&lib, suspend_connection) || !LOAD(&lib, resume_connection)) {
		dlclose(lib.handle);
		return err_set(err, -ENOENT, "HTTP: a function is missing in " LIBRARY "; " LIBRARY_REMEDY);
	}
	*ret = lib;
	return 0;
}

struct http_server {
	struct library lib;
	struct http_callbacks callbacks;
	struct http_options options;
	void *ctx;
	uint16_t port;
	bool v6;
	int fd; /* listens; the library has duplicates of it */
	struct http_tls tls;
	struct front *front;
	struct http_workers *workers; /* where POST is taken: they answer it, and /metrics */
};

/* What one start of the library serves. */
struct front {
	const struct http_server *server;
	struct MHD_Daemon *daemon;
	struct http_clients clients;
	size_t body_bytes; /* of all bodies under way */
	struct http_jobs jobs;
};

/* ---- connections: all of this runs in the library's thread */

/* A connection begins, or has ended and its socket is about to be closed. */
static void notice(void *data, struct MHD_Connection *connection, void **context,
	enum MHD_ConnectionNotificationCode what)
{
	struct front *f = data;
	const union MHD_ConnectionInfo *info;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (*context)
			http_clients_remove(&f->clients, *context);
		return;
	}
	info = f->server->lib.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	if (info)
		*context = http_clients_add(&f->clients, info->connect_fd);
}

static struct http_client *client_of(const struct front *f, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		f->server->lib.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

/* ---- answering */

/* What is answered, before the library knows of it. */
struct answer {
	unsigned status;
	const char *content_type;
	bool allow; /* say which methods there are */
	struct strbuf text;
};

static void release_answer(struct answer *a)
{
	strbuf_release(&a->text);
}

static void answer_state(
	const struct http_server *s, bool (*state)(void *ctx, struct strbuf *line), struct answer *a)
{
	a->status = state(s->ctx, &a->text) ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
	strbuf_addch(&a->text, '\n');
}

static void answer_metrics(const struct http_server *s, struct answer *a)
{
	a->content_type = CONTENT_TYPE_PROM;
	if (s->callbacks.metrics(s->ctx, &a->text) == 0)
		return;
	strbuf_reset(&a->text);
	a->status = MHD_HTTP_INTERNAL_SERVER_ERROR;
}

static bool is_page(const char *path)
{
	return !strcmp(path, "/healthz") || !strcmp(path, "/readyz") || !strcmp(path, "/metrics");
}

static void answer_path(const struct http_server *s, const char *path, bool readable, struct answer *a)
{
	if (!is_page(path)) {
		a->status = MHD_HTTP_NOT_FOUND;
		strbuf_addstr(&a->text, "there are /healthz, /readyz and /metrics\n");
	} else if (!readable) {
		a->status = MHD_HTTP_METHOD_NOT_ALLOWED;
		a->allow = true;
		strbuf_addstr(&a->text, "GET and HEAD only\n");
	} else if (!strcmp(path, "/healthz")) {
		answer_state(s, s->callbacks.healthy, a);
	} else if (!strcmp(path, "/readyz")) {
		answer_state(s, s->callbacks.ready, a);
	} else {
		answer_metrics(s, a);
	}
}

static enum MHD_Result send_answer(
	const struct http_server *s, struct MHD_Connection *connection, struct answer *a)
{
	size_t len = a->text.len;
	char *text = strbuf_detach(&a->text);
	struct MHD_Response *response =
		text ? s->lib.create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE) : NULL;
	enum MHD_Result r;

	if (!response) {
		free(text);
		return MHD_NO;
	}
	r = s->lib.add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, a->content_type);
	if (r == MHD_YES && a->allow)
		r = s->lib.add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	if (r == MHD_YES && a->status == MHD_HTTP_TEMPORARY_REDIRECT)
		r = s->lib.add_response_header(response, MHD_HTTP_HEADER_LOCATION, text);
	if (r == MHD_YES)
		r = s->lib.queue_response(connection, a->status, response);
	s->lib.destroy_response(response);
	return r;
}

/* ---- what the workers answer: POST, whose body is kept until it has ended, and /metrics */

struct request {
	struct http_job job;
	struct front *front;
	struct MHD_Connection *connection;
	char *path;
	struct strbuf body;
	bool stranger; /* nothing is kept, and it is answered 403 at its end: who still sends would not see an earlier one */
	size_t n_dropped;    /* bytes */
	bool begun, is_post; /* a worker has it, or has answered it */
	struct answer answer;
};

static bool client_is_known(const struct front *f, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info;
	struct http_client *c = client_of(f, connection);
	bool known;

	if (!f->server->options.tls.client_ca || (c && c->known))
		return true;
	info = f->server->lib.get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	known = info && http_tls_client_is_known(info->tls_session);
	if (c)
		c->known = known;
	return known;
}

/* As it says of itself; a body in chunks does not. */
static bool is_too_large(const struct front *f, struct MHD_Connection *connection)
{
	const char *text = f->server->lib.lookup_connection_value(
		connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);

	return text && strtoull(text, NULL, 10) > f->server->options.body_max;
}

static void request_free(struct request *q)
{
	strbuf_release(&q->body);
	release_answer(&q->answer);
	free(q->path);
	free(q);
}

/* */
static struct request *request_new(struct front *f, struct MHD_Connection *connection, const char *path)
{
	size_t body_max = f->server->options.body_max;
	struct request *q = xcalloc(1, sizeof(*q));

	q->front = f;
	q->connection = connection;
	q->body = (struct strbuf)STRBUF_INIT(body_max);
	q->answer = (struct answer){.status = MHD_HTTP_OK,
		.content_type = CONTENT_TYPE,
		.text = STRBUF_INIT(TEXT_MAX + body_max)};
	q->path = xstrdup(path);
	return q;
	request_free(q);
	return NULL;
}

static void answer_post(const struct http_server *s, struct request *q)
{
	struct answer *a = &q->answer;

	a->status = (unsigned)s->callbacks.post(s->ctx, q->path, q->body.text, q->body.len, &a->text);
	if (strbuf_error(&a->text) < 0) {
		strbuf_reset(&a->text);
		a->status = MHD_HTTP_INTERNAL_SERVER_ERROR;
	}
	if (a->status != MHD_HTTP_TEMPORARY_REDIRECT)
		a->content_type = CONTENT_TYPE_JSON;
}

/* In a worker. Once it goes on the connection may end, and the request with it. */
static void run_request(struct http_job *job)
{
	struct request *q = (struct request *)(void *)job;
	struct front *f = q->front;

	if (q->is_post)
		answer_post(f->server, q);
	else
		answer_metrics(f->server, &q->answer);
	f->server->lib.resume_connection(q->connection);
	http_jobs_end(&f->jobs);
}

/* The connection waits until a worker has the answer, and then calls again. */
static enum MHD_Result begin_job(struct front *f, struct request *q)
{
	if (!http_jobs_begin(&f->jobs))
		return MHD_NO;
	q->begun = true;
	q->job.run = run_request;
	f->server->lib.suspend_connection(q->connection);
	http_workers_add(f->server->workers, &q->job);
	return MHD_YES;
}

/* Refused before the body comes where it is too large, or begun. The scheduler's connections are old. */
static enum MHD_Result begin_post(
	struct front *f, struct MHD_Connection *connection, const char *path, void **request)
{
	CLEANUP(release_answer)
	struct answer a = {.status = MHD_HTTP_CONTENT_TOO_LARGE,
		.content_type = CONTENT_TYPE,
		.text = STRBUF_INIT(TEXT_MAX)};
	struct http_client *client = client_of(f, connection);
	struct request *q;

	if (client)
		http_clients_use(&f->clients, client);
	if (is_too_large(f, connection)) {
		strbuf_addf(&a.text, "at most %zu bytes\n", f->server->options.body_max);
		return send_answer(f->server, connection, &a);
	}
	q = request_new(f, connection, path);
	if (!q)
		return MHD_NO;
	q->is_post = true;
	q->stranger = !client_is_known(f, connection);
	*request = q;
	return MHD_YES;
}

static enum MHD_Result add_body(struct front *f, struct request *q, const char *body, size_t *len)
{
	if (q->stranger) {
		q->n_dropped += *len;
		*len = 0;
		return q->n_dropped > f->server->options.body_max ? MHD_NO : MHD_YES;
	}
	if (f->body_bytes + *len > 2 * f->server->options.body_max)
		return MHD_NO;
	strbuf_add(&q->body, body, *len);
	if (strbuf_error(&q->body) < 0)
		return MHD_NO;
	f->body_bytes += *len;
	*len = 0;
	return MHD_YES;
}

static enum MHD_Result handle_post(struct front *f, struct MHD_Connection *connection, const char *path,
	const char *body, size_t *body_len, void **request)
{
	struct request *q = *request;

	if (!q)
		return begin_post(f, connection, path, request);
	if (*body_len > 0)
		return add_body(f, q, body, body_len);
	if (q->stranger) {
		q->answer.status = MHD_HTTP_FORBIDDEN;
		strbuf_addstr(&q->answer.text, "no certificate of the client CA\n");
	} else if (!q->begun) {
		return begin_job(f, q);
	}
	return send_answer(f->server, connection, &q->answer);
}

static enum MHD_Result handle_metrics(
	struct front *f, struct MHD_Connection *connection, const char *path, void **request)
{
	struct request *q = *request != f ? *request : request_new(f, connection, path);

	if (!q)
		return MHD_NO;
	*request = q;
	return q->begun ? send_answer(f->server, connection, &q->answer) : begin_job(f, q);
}

/* A request has been answered, or its connection ends. */
static void completed(
	void *data, struct MHD_Connection *connection, void **request, enum MHD_RequestTerminationCode how)
{
	struct front *f = data;
	struct request *q = *request;

	(void)connection;
	(void)how;
	*request = NULL;
	if (!q || (void *)q == data)
		return;
	f->body_bytes -= q->body.len;
	if (q->begun)
		http_jobs_sent(&f->jobs);
	request_free(q);
}

/* Called when a request's headers are there, then for each piece of its body, then at its end. MHD_NO closes
 * the connection. */
static enum MHD_Result handle(void *data, struct MHD_Connection *connection, const char *path,
	const char *method, const char *version, const char *body, size_t *body_len, void **request)
{
	struct front *f = data;
	bool readable = !strcmp(method, MHD_HTTP_METHOD_GET) || !strcmp(method, MHD_HTTP_METHOD_HEAD);
	CLEANUP(release_answer)
	struct answer a = {
		.status = MHD_HTTP_OK, .content_type = CONTENT_TYPE, .text = STRBUF_INIT(TEXT_MAX)};

	if (strncmp(version, "HTTP/1.", strlen("HTTP/1.")) != 0)
		return MHD_NO; /* libmicrohttpd before 0.9.74 takes another word too */
	if (f->server->callbacks.post && !strcmp(method, MHD_HTTP_METHOD_POST) && !is_page(path))
		return handle_post(f, connection, path, body, body_len, request);
	if (!*request && readable) {
		*request = data;
		return MHD_YES;
	}
	if (*body_len > 0)
		return MHD_NO; /* no request of ours has a body */
	if (f->server->workers && readable && !strcmp(path, "/metrics"))
		return handle_metrics(f, connection, path, request);
	answer_path(f->server, path, readable, &a);
	return send_answer(f->server, connection, &a);
}

/* ---- life */

static void front_free(struct front *f)
{
	if (!f)
		return;
	if (f->daemon) {
		CLEANUP(closep) int fd = f->server->lib.quiesce_daemon(f->daemon);

		http_jobs_drain(&f->jobs, SEND_MS);
		f->server->lib.stop_daemon(f->daemon);
	}
	http_jobs_release(&f->jobs);
	free(f);
}

static void front_freep(struct front **f)
{
	front_free(*f);
	*f = NULL;
}

/* What differs with TLS. */
static void add_tls(const struct http_tls *tls, char *priorities, struct MHD_OptionItem *items)
{
	size_t n = 0;

	if (tls->certificate.len > 0) {
		items[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, tls->certificate.text};
		items[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, tls->key.text};
		items[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0, priorities};
	}
	if (tls->client_ca.len > 0)
		items[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_TRUST, 0, tls->client_ca.text};
	items[n] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
}

/* The library's thread inherits the signal mask: signals are the business of the caller's threads. */
static struct MHD_Daemon *start_daemon(struct front *f, int fd, const struct http_tls *tls)
{
	const struct http_server *s = f->server;
	bool posts = s->callbacks.post != NULL;
	unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | (s->v6 ? MHD_USE_IPv6 : 0u) |
			 (posts ? (unsigned)MHD_ALLOW_SUSPEND_RESUME : 0u) |
			 (tls->certificate.len > 0 ? MHD_USE_TLS : 0u);
	unsigned idle = s->options.idle_seconds > 0 ? s->options.idle_seconds : IDLE_SECONDS;
	char priorities[] = TLS_PRIORITIES;
	struct MHD_OptionItem items[5];
	struct MHD_Daemon *daemon;
	sigset_t all, before;

	add_tls(tls, priorities, items);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	daemon = s->lib.start_daemon(flags, 0, NULL, NULL, handle, f, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, HTTP_CLIENTS_MAX, MHD_OPTION_NOTIFY_CONNECTION, notice, f,
		MHD_OPTION_NOTIFY_COMPLETED, completed, f, MHD_OPTION_CONNECTION_TIMEOUT, idle,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, posts ? POST_BYTES : CONNECTION_BYTES,
		MHD_OPTION_CONNECTION_MEMORY_INCREMENT, posts ? POST_PIECE_BYTES : PIECE_BYTES,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_THREAD_STACK_SIZE,
		posts ? POST_STACK_BYTES : THREAD_STACK_BYTES, MHD_OPTION_ARRAY, items, MHD_OPTION_END);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return daemon;
}

/* Serve on the server's socket with what is in `tls`. */
static int front_start(
	const struct http_server *s, const struct http_tls *tls, struct front **ret, struct err *err)
{
	CLEANUP(front_freep) struct front *f = xcalloc(1, sizeof(*f));
	CLEANUP(closep) int fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 0);

	http_jobs_init(&f->jobs);
	f->server = s;
	if (fd < 0)
		return err_set(err, -errno, "HTTP: cannot listen: %s", strerror(errno));
	f->daemon = start_daemon(f, fd, tls);
	if (!f->daemon) {
		/* It has closed the socket on most of its ways to fail. */
		if (fcntl(fd, F_GETFD) < 0)
			fd = -1;
		return err_set(err, -EAGAIN, "HTTP: cannot start the server's thread");
	}
	fd = -1; /* the library's now */
	*ret = TAKE(f);
	return 0;
}

int http_server_start(const char *address, uint16_t port, const struct http_options *options,
	const struct http_callbacks *callbacks, void *ctx, struct http_server **ret, struct err *err)
{
	CLEANUP(http_server_freep) struct http_server *s = xcalloc(1, sizeof(*s));
	int r;

	s->fd = -1;
	s->callbacks = *callbacks;
	if (options)
		s->options = *options;
	s->ctx = ctx;
	http_tls_init(&s->tls);
	r = library_load(&s->lib, err);
	if (r == 0)
		r = http_tls_read(&s->options.tls, &s->tls, err);
	if (r == 0)
		r = http_tls_check(&s->tls, &s->options.tls, err);
	if (r < 0)
		return r;
	s->fd = http_listen_open(address, port, &s->v6, err);
	if (s->fd < 0)
		return s->fd;
	s->port = http_listen_port(s->fd);
	r = callbacks->post ? http_workers_start(WORKERS, &s->workers) : 0;
	if (r < 0)
		return err_set(err, r, "HTTP: cannot start a thread: %s", strerror(-r));
	r = front_start(s, &s->tls, &s->front, err);
	if (r < 0)
		return r;
	*ret = TAKE(s);
	return 0;
}

int http_server_renew(struct http_server *s, struct err *err)
{
	CLEANUP(http_tls_release) struct http_tls tls;
	struct front *front = NULL;
	int r;

	http_tls_init(&tls);
	r = http_tls_read(&s->options.tls, &tls, err);
	if (r < 0 || http_tls_equal(&tls, &s->tls))
		return r;
	r = http_tls_check(&tls, &s->options.tls, err);
	if (r == 0)
		r = front_start(s, &tls, &front, err);
	if (r < 0)
		return r;
	front_free(s->front);
	s->front = front;
	http_tls_release(&s->tls);
	s->tls = tls;
	http_tls_init(&tls);
	return 1;
}

void http_server_free(struct http_server *s)
{
	if (!s)
		return;
	front_free(s->front);
	http_workers_free(s->workers);
	closep(&s->fd);
	http_tls_release(&s->tls);
	if (s->lib.handle)
		dlclose(s->lib.handle);
	free(s);
}

uint16_t http_server_port(const struct http_server *s)
{
	return s->port;
}

int64_t http_server_certificate_until(const struct http_server *s)
{
	return certificate_until_s(s->tls.certificate.text);
}

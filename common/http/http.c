/* SPDX-License-Identifier: Apache-2.0 */
#include "common/http/http.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>

#include <microhttpd.h>

#include "common/cleanup.h"
#include "common/kube/credentials.h"
#include "common/xalloc.h"

#ifndef MHD_HTTP_CONTENT_TOO_LARGE /* before 0.9.74 */
#define MHD_HTTP_CONTENT_TOO_LARGE MHD_HTTP_PAYLOAD_TOO_LARGE
#endif

#define TEXT_MAX           (16u << 20)
#define CONNECTION_BYTES   ((size_t)8 << 10) /* one request's line and headers, and our headers */
#define IDLE_SECONDS       2u
#define THREAD_STACK_BYTES ((size_t)128 << 10)
#define PIECE_BYTES        ((size_t)1 << 10)   /* libmicrohttpd's default */
#define POST_BYTES         ((size_t)256 << 10) /* per connection, if a server accepts POST */
#define POST_PIECE_BYTES   ((size_t)64 << 10)
#define POST_STACK_BYTES   ((size_t)1 << 20)
#define SEND_S             1 /* longest wait for responses to be sent when the server ends */
#define TLS_PRIORITIES     "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"
#define CONTENT_TYPE       "text/plain; charset=utf-8"
#define CONTENT_TYPE_JSON  "application/json"
#define CONTENT_TYPE_PROM  "text/plain; version=0.0.4; charset=utf-8"
#define BACKLOG            4096 /* at most net.core.somaxconn; strangers must not fill it */
#define CLIENTS_KEPT       48u
#define CLIENTS_MAX        512u /* including clients that are being disconnected: a busy machine closes late */
#define LIBRARY            "libmicrohttpd.so.12"
#define LIBRARY_REMEDY     "install libmicrohttpd, or give --http=off"

/* ---- the listen address */

static int parse_port(const char *text, uint16_t *ret)
{
	unsigned long port;
	char *end;

	errno = 0;
	port = strtoul(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || port == 0 || port > UINT16_MAX)
		return -EINVAL;
	*ret = (uint16_t)port;
	return 0;
}

int http_listen_parse(const char *text, struct http_listen *ret, struct err *err)
{
	const char *colon = strrchr(text, ':');
	bool v6 = *text == '[';
	struct http_listen l = {.off = !strcmp(text, "off")};
	struct in6_addr parsed;
	size_t len;

	if (l.off) {
		*ret = l;
		return 0;
	}
	if (!colon || parse_port(colon + 1, &l.port) < 0)
		return err_set(err, -EINVAL, "'%.100s' is not ADDRESS:PORT or 'off'", text);
	len = (size_t)(colon - text);
	if (v6 && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	if (len >= sizeof(l.address))
		return err_set(err, -EINVAL, "'%.100s' is not an address", text);
	memcpy(l.address, text, len);
	if (inet_pton(v6 ? AF_INET6 : AF_INET, l.address, &parsed) != 1)
		return err_set(err, -EINVAL,
			"'%.100s' is not a numeric address; IPv6 addresses are in brackets", l.address);
	*ret = l;
	return 0;
}

int http_listen_check(const char *text, struct err *err)
{
	struct http_listen ignored;

	return http_listen_parse(text, &ignored, err);
}

int http_listen_check_address(const char *text, struct err *err)
{
	struct in6_addr parsed;

	if (inet_pton(AF_INET, text, &parsed) == 1 || inet_pton(AF_INET6, text, &parsed) == 1)
		return 0;
	return err_set(err, -EINVAL, "'%.100s' is not a numeric address", text);
}

/* A listening socket, which the caller closes, or -errno with one line. */
static int open_socket(const char *address, uint16_t port, bool *ret_v6, struct err *err)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	bool is_v6 = inet_pton(AF_INET6, address, &v6.sin6_addr) == 1;
	const void *sockaddr = is_v6 ? (const void *)&v6 : &v4;
	CLEANUP(closep) int fd = -1;
	int on = 1, r;

	if (!is_v6 && inet_pton(AF_INET, address, &v4.sin_addr) != 1)
		return err_set(err, -EINVAL, "HTTP: '%.100s' is not a numeric address", address);
	fd = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
		bind(fd, sockaddr, is_v6 ? sizeof(v6) : sizeof(v4)) < 0 || listen(fd, BACKLOG) < 0)
		return err_set(
			err, -errno, "HTTP: cannot listen on %s port %u: %s", address, port, strerror(errno));
	*ret_v6 = is_v6;
	r = fd;
	fd = -1;
	return r;
}

static uint16_t socket_port(int fd)
{
	struct sockaddr_in6 a = {0}; /* sin_port of struct sockaddr_in is at the same place */
	socklen_t len = sizeof(a);

	return getsockname(fd, (struct sockaddr *)&a, &len) < 0 ? 0 : ntohs(a.sin6_port);
}

/* ---- connected clients: if there are too many, one is disconnected, so that nobody blocks the kubelet's probes and the schedulers */

/* What a client has done so far. Opening a connection costs it nothing; only schedulers may post. */
enum client_progress {
	CLIENT_IS_SILENT,
	CLIENT_SENDS, /* at least a byte */
	CLIENT_ASKS,  /* the headers of a request */
	CLIENT_POSTS  /* a POST that it may send: it has a valid client certificate, or needs none */
};

struct client {
	bool open;
	enum client_progress progress;
	int fd; /* -1 = being disconnected */
	struct in6_addr address;
	uint64_t number; /* the lowest is idle for the longest */
};

/* Initially zeroed. */
struct clients {
	struct client items[CLIENTS_MAX];
	size_t n; /* without clients that are being disconnected */
	uint64_t n_uses;
};

static void mark_disconnected(struct clients *c, struct client *client)
{
	client->fd = -1;
	c->n--;
}

/* Whether the client has sent a byte; also true if the kernel does not say. */
static bool has_sent(int fd)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0 || info.tcpi_bytes_received > 0;
}

static bool is_connected(const struct client *client)
{
	return client->open && client->fd >= 0;
}

static size_t count_of_address(const struct clients *c, const struct in6_addr *address)
{
	size_t n = 0;

	for (size_t i = 0; i < CLIENTS_MAX; i++)
		n += is_connected(&c->items[i]) && IN6_ARE_ADDR_EQUAL(&c->items[i].address, address);
	return n;
}

/* The client with the least progress is disconnected first; then one of the address with the most connections; then the one that is idle for
 * the longest. */
static bool is_dropped_before(const struct clients *c, const struct client *a, const struct client *b)
{
	size_t n_a, n_b;

	if (a->progress != b->progress)
		return a->progress < b->progress;
	if (IN6_ARE_ADDR_EQUAL(&a->address, &b->address))
		return a->number < b->number;
	n_a = count_of_address(c, &a->address);
	n_b = count_of_address(c, &b->address);
	return n_a != n_b ? n_a > n_b : a->number < b->number;
}

/* The library sees the end of the input and closes the connection. */
static void disconnect_one(struct clients *c)
{
	struct client *first = NULL;

	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		struct client *client = &c->items[i];

		if (!is_connected(client))
			continue;
		if (client->progress == CLIENT_IS_SILENT && has_sent(client->fd))
			client->progress = CLIENT_SENDS;
		if (!first || is_dropped_before(c, client, first))
			first = client;
	}
	if (!first)
		return;
	shutdown(first->fd, SHUT_RDWR);
	mark_disconnected(c, first);
}

/* An IPv4 address as IPv6 maps it. */
static struct in6_addr address_of(const struct sockaddr *a)
{
	struct in6_addr address = {0};

	if (a && a->sa_family == AF_INET6)
		return ((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
	if (a && a->sa_family == AF_INET) {
		memset(&address.s6_addr[10], 0xff, 2);
		memcpy(&address.s6_addr[12], &((const struct sockaddr_in *)(const void *)a)->sin_addr, 4);
	}
	return address;
}

/* May disconnect another client. NULL = CLIENTS_MAX connections have not been closed yet. */
static struct client *add_client(struct clients *c, int fd, const struct sockaddr *address)
{
	size_t i = 0;

	if (c->n >= CLIENTS_KEPT)
		disconnect_one(c);
	while (i < CLIENTS_MAX && c->items[i].open)
		i++;
	if (i == CLIENTS_MAX)
		return NULL;
	c->items[i] = (struct client){
		.open = true, .fd = fd, .address = address_of(address), .number = c->n_uses++};
	c->n++;
	return &c->items[i];
}

static void remove_client(struct clients *c, struct client *client)
{
	if (client->fd >= 0)
		mark_disconnected(c, client);
	client->open = false;
}

/* ---- libmicrohttpd; the types of its functions are those of its header */

/* clang-format off */
#define MHD_FUNCTIONS(X)                                                                          \
	X(start_daemon) X(quiesce_daemon) X(stop_daemon) X(create_response_from_buffer)           \
	X(add_response_header) X(queue_response) X(destroy_response) X(get_connection_info)       \
	X(lookup_connection_value)
/* clang-format on */

struct library {
	void *handle;
#define X(name) __typeof__(&MHD_##name) name;
	MHD_FUNCTIONS(X)
#undef X
};

/* RTLD_NODELETE: the library stays loaded, because its dependencies register callbacks with each other. */
static int load_libmicrohttpd(struct library *ret, struct err *err)
{
	struct library lib = {.handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)};
	bool complete = true;

	if (!lib.handle)
		return err_set(err, -ENOENT, "HTTP: %s; " LIBRARY_REMEDY, dlerror());
#define X(name)                                                           \
	lib.name = (__typeof__(lib.name))dlsym(lib.handle, "MHD_" #name); \
	complete = complete && lib.name;
	MHD_FUNCTIONS(X)
#undef X
	if (!complete) {
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
	int fd; /* listening; each instance has a duplicate */
	struct http_tls tls;
	struct instance *instance;
};

/* One running instance of libmicrohttpd; a change of the TLS files starts another. */
struct instance {
	const struct http_server *server;
	struct MHD_Daemon *daemon;
	pthread_mutex_t lock;   /* protects the members below; never held while a request is answered */
	pthread_cond_t changed; /* with `lock` */
	struct clients clients;
	size_t body_bytes; /* of all current requests */
	size_t n_computed; /* POST requests whose response is being computed */
	size_t n_unsent;   /* POST requests whose response was not sent yet, including n_computed */
	bool ends;         /* no more POST requests are answered */
};

static void unlock(pthread_mutex_t **lock)
{
	pthread_mutex_unlock(*lock);
}

/* Holds the instance's lock until the end of the block. */
#define LOCKED(in)                                                                      \
	CLEANUP(unlock) __attribute__((unused)) pthread_mutex_t *locked_ = &(in)->lock; \
	pthread_mutex_lock(locked_)

/* ---- connections */

/* A connection was accepted, or has ended and its socket is about to be closed. *context is its struct client; NULL = none was added. */
static void on_connection(void *data, struct MHD_Connection *connection, void **context,
	enum MHD_ConnectionNotificationCode what)
{
	struct instance *in = data;
	const union MHD_ConnectionInfo *info, *from;
	LOCKED(in);

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (*context)
			remove_client(&in->clients, *context);
		return;
	}
	info = in->server->lib.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	from = in->server->lib.get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	if (info)
		*context = add_client(&in->clients, info->connect_fd, from ? from->client_addr : NULL);
}

static struct client *client_of(const struct instance *in, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		in->server->lib.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

/* ---- responses */

struct answer {
	unsigned status;
	const char *content_type;
	bool allow; /* with the Allow header */
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

static bool is_page(const char *path)
{
	return !strcmp(path, "/healthz") || !strcmp(path, "/readyz") || !strcmp(path, "/metrics");
}

static void answer_path(const struct http_server *s, const char *path, bool is_get_or_head, struct answer *a)
{
	if (!is_page(path)) {
		a->status = MHD_HTTP_NOT_FOUND;
		strbuf_addf(&a->text, "there are /healthz, /readyz and /metrics%s%s\n",
			s->options.posts ? ", and by POST " : "", s->options.posts ? s->options.posts : "");
	} else if (!is_get_or_head) {
		a->status = MHD_HTTP_METHOD_NOT_ALLOWED;
		a->allow = true;
		strbuf_addstr(&a->text, "GET and HEAD only\n");
	} else if (!strcmp(path, "/healthz")) {
		answer_state(s, s->callbacks.healthy, a);
	} else if (!strcmp(path, "/readyz")) {
		answer_state(s, s->callbacks.ready, a);
	} else {
		a->content_type = CONTENT_TYPE_PROM;
		if (s->callbacks.metrics(s->ctx, &a->text) != 0) {
			strbuf_reset(&a->text);
			a->status = MHD_HTTP_INTERNAL_SERVER_ERROR;
		}
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
	if (r == MHD_YES && a->status == MHD_HTTP_TEMPORARY_REDIRECT) /* the text is the URL */
		r = s->lib.add_response_header(response, MHD_HTTP_HEADER_LOCATION, text);
	if (r == MHD_YES)
		r = s->lib.queue_response(connection, a->status, response);
	s->lib.destroy_response(response);
	return r;
}

/* ---- POST requests, which are answered after their body is complete */

struct request {
	struct instance *instance;
	char *path;
	struct strbuf body;
	/* The body is discarded, and 403 sent after it: a client that is still sending would miss an earlier
	 * response. */
	bool forbidden;
	size_t n_dropped;     /* bytes of the body */
	size_t counted_bytes; /* in body_bytes */
	bool begun;           /* counted in n_unsent */
};

/* At a request's headers: the client is not the one that is idle for the longest any more. */
static void note_request(struct instance *in, struct client *client, enum client_progress progress)
{
	LOCKED(in);

	client->number = in->clients.n_uses++;
	if (progress > client->progress)
		client->progress = progress;
}

/* Why the client may not post; NULL = it may, as every client without a client CA. */
static const char *post_problem(
	const struct instance *in, const struct client *client, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info;

	/* Reads without the lock: only this thread, the connection's, sets CLIENT_POSTS. */
	if (!in->server->options.tls.client_ca || (client && client->progress == CLIENT_POSTS))
		return NULL;
	info = in->server->lib.get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	return info ? http_tls_client_problem(info->tls_session) : "no TLS session";
}

/* By the body's Content-Length. A chunked body has none: add_post_body() limits it. */
static bool is_too_large(const struct instance *in, struct MHD_Connection *connection)
{
	const char *text = in->server->lib.lookup_connection_value(
		connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);

	return text && strtoull(text, NULL, 10) > in->server->options.body_max;
}

static void request_free(struct request *q)
{
	strbuf_release(&q->body);
	free(q->path);
	free(q);
}

/* False after wait_for_responses() has begun: then no response is computed. */
static bool begin_post_response(struct instance *in, struct request *q)
{
	LOCKED(in);

	if (in->ends)
		return false;
	q->begun = true;
	in->n_computed++;
	in->n_unsent++;
	return true;
}

static void end_post_response(struct instance *in)
{
	LOCKED(in);

	in->n_computed--;
	pthread_cond_broadcast(&in->changed);
}

static enum MHD_Result answer_post(struct request *q, struct MHD_Connection *connection)
{
	const struct http_server *s = q->instance->server;
	CLEANUP(release_answer)
	struct answer a = {
		.content_type = CONTENT_TYPE_JSON, .text = STRBUF_INIT(TEXT_MAX + s->options.body_max)};

	if (q->forbidden) {
		a.status = MHD_HTTP_FORBIDDEN;
		a.content_type = CONTENT_TYPE;
		strbuf_addstr(&a.text, "no certificate of the client CA\n");
		return send_answer(s, connection, &a);
	}
	if (!begin_post_response(q->instance, q))
		return MHD_NO;
	a.status = (unsigned)s->callbacks.post(s->ctx, q->path, q->body.text, q->body.len, &a.text);
	end_post_response(q->instance);
	if (a.status == MHD_HTTP_TEMPORARY_REDIRECT)
		a.content_type = CONTENT_TYPE;
	if (strbuf_error(&a.text) < 0) {
		strbuf_reset(&a.text);
		a.status = MHD_HTTP_INTERNAL_SERVER_ERROR;
	}
	return send_answer(s, connection, &a);
}

/* Reports a POST that gets 403; an IPv4 address, which IPv6 maps to "::ffff:10.0.0.1", in its usual form. */
static void note_forbidden(
	const struct instance *in, const struct client *client, const char *path, const char *problem)
{
	const struct http_server *s = in->server;
	char address[INET6_ADDRSTRLEN] = "an unknown address";
	const char *v4 = NULL;

	if (!s->callbacks.forbidden)
		return;
	if (client)
		inet_ntop(AF_INET6, &client->address, address, sizeof(address));
	if (client && IN6_IS_ADDR_V4MAPPED(&client->address))
		v4 = strrchr(address, ':');
	s->callbacks.forbidden(s->ctx, path, v4 ? v4 + 1 : address, problem);
}

/* Handles the headers of a POST. A body that is too large is rejected before it is received. */
static enum MHD_Result begin_post(
	struct instance *in, struct MHD_Connection *connection, const char *path, void **request)
{
	CLEANUP(release_answer)
	struct answer a = {.status = MHD_HTTP_CONTENT_TOO_LARGE,
		.content_type = CONTENT_TYPE,
		.text = STRBUF_INIT(TEXT_MAX)};
	struct client *client = client_of(in, connection);
	const char *problem = post_problem(in, client, connection);
	struct request *q;

	if (client && !problem)
		note_request(in, client, CLIENT_POSTS);
	if (problem)
		note_forbidden(in, client, path, problem);
	if (is_too_large(in, connection)) {
		strbuf_addf(&a.text, "at most %zu bytes\n", in->server->options.body_max);
		return send_answer(in->server, connection, &a);
	}
	q = xcalloc(1, sizeof(*q));
	q->instance = in;
	q->body = (struct strbuf)STRBUF_INIT(in->server->options.body_max);
	q->path = xstrdup(path);
	q->forbidden = problem;
	*request = q;
	return MHD_YES;
}

/* Counts the bytes of a body's piece. False: the bodies of all current requests together are too large. */
static bool count_bytes(struct instance *in, size_t len)
{
	LOCKED(in);

	if (in->body_bytes + len > 2 * in->server->options.body_max)
		return false;
	in->body_bytes += len;
	return true;
}

/* *len: the bytes of this piece; 0 afterwards, which tells libmicrohttpd that all of them were taken. */
static enum MHD_Result add_post_body(struct instance *in, struct request *q, const char *body, size_t *len)
{
	if (q->forbidden) {
		q->n_dropped += *len;
		*len = 0;
		return q->n_dropped > in->server->options.body_max ? MHD_NO : MHD_YES;
	}
	if (!count_bytes(in, *len))
		return MHD_NO;
	q->counted_bytes += *len;
	strbuf_add(&q->body, body, *len);
	*len = 0;
	return strbuf_error(&q->body) < 0 ? MHD_NO : MHD_YES;
}

static void end_request(struct instance *in, const struct request *q)
{
	LOCKED(in);

	in->body_bytes -= q->counted_bytes;
	in->n_unsent -= q->begun;
	pthread_cond_broadcast(&in->changed);
}

/* A request was answered, or its connection has ended. */
static void on_completed(
	void *data, struct MHD_Connection *connection, void **request, enum MHD_RequestTerminationCode how)
{
	struct instance *in = data;
	struct request *q = *request;

	(void)connection;
	(void)how;
	*request = NULL;
	if (!q || (void *)q == data) /* the request is a GET: see handle() */
		return;
	end_request(in, q);
	request_free(q);
}

/* Called after a request's headers, after each piece of its body, and at its end. *request is NULL, then a struct request for a POST, or `data`, the
 * instance, for a GET, which has no state. MHD_NO closes the connection. */
static enum MHD_Result handle(void *data, struct MHD_Connection *connection, const char *path,
	const char *method, const char *version, const char *body, size_t *body_len, void **request)
{
	struct instance *in = data;
	bool is_get_or_head = !strcmp(method, MHD_HTTP_METHOD_GET) || !strcmp(method, MHD_HTTP_METHOD_HEAD);
	struct client *client = client_of(in, connection);
	CLEANUP(release_answer)
	struct answer a = {
		.status = MHD_HTTP_OK, .content_type = CONTENT_TYPE, .text = STRBUF_INIT(TEXT_MAX)};

	if (!*request && client)
		note_request(in, client, CLIENT_ASKS);
	if (strncmp(version, "HTTP/1.", strlen("HTTP/1.")) != 0)
		return MHD_NO; /* libmicrohttpd before 0.9.74 accepts requests of other protocols */
	if (in->server->callbacks.post && !strcmp(method, MHD_HTTP_METHOD_POST) && !is_page(path)) {
		if (!*request)
			return begin_post(in, connection, path, request);
		return *body_len > 0 ? add_post_body(in, *request, body, body_len)
				     : answer_post(*request, connection);
	}
	if (!*request && is_get_or_head) {
		*request = data;
		return MHD_YES;
	}
	if (*body_len > 0)
		return MHD_NO; /* a GET has no body */
	answer_path(in->server, path, is_get_or_head, &a);
	return send_answer(in->server, connection, &a);
}

/* ---- life */

/* Allows no further response to a POST. Waits until the responses that were begun are computed, and then up to SEND_S until they are sent. */
static void wait_for_responses(struct instance *in)
{
	struct timespec until;
	LOCKED(in);

	in->ends = true;
	while (in->n_computed > 0)
		pthread_cond_wait(&in->changed, &in->lock);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += SEND_S;
	while (in->n_unsent > 0 && pthread_cond_timedwait(&in->changed, &in->lock, &until) == 0)
		;
}

static void instance_free(struct instance *in)
{
	if (!in)
		return;
	if (in->daemon) {
		/* No new connections; the library gives the listening socket back. */
		CLEANUP(closep) int fd = in->server->lib.quiesce_daemon(in->daemon);

		wait_for_responses(in);
		in->server->lib.stop_daemon(in->daemon);
	}
	pthread_mutex_destroy(&in->lock);
	pthread_cond_destroy(&in->changed);
	free(in);
}

static void instance_freep(struct instance **in)
{
	instance_free(*in);
	*in = NULL;
}

static void add_tls_options(const struct http_tls *tls, char *priorities, struct MHD_OptionItem *items)
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

/* The library's threads inherit the signal mask: they must handle no signals. With a `post` each connection has a thread, so that no request
 * delays another connection. */
static struct MHD_Daemon *start_daemon(struct instance *in, int fd, const struct http_tls *tls)
{
	const struct http_server *s = in->server;
	bool posts = s->callbacks.post != NULL;
	unsigned flags = MHD_USE_ITC | (s->v6 ? MHD_USE_IPv6 : 0u) |
			 (posts ? MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL_INTERNAL_THREAD
				: (unsigned)MHD_USE_EPOLL_INTERNAL_THREAD) |
			 (tls->certificate.len > 0 ? MHD_USE_TLS : 0u);
	unsigned idle = s->options.idle_seconds > 0 ? s->options.idle_seconds : IDLE_SECONDS;
	char priorities[] = TLS_PRIORITIES;
	struct MHD_OptionItem items[5];
	struct MHD_Daemon *daemon;
	sigset_t all, before;

	add_tls_options(tls, priorities, items);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	daemon = s->lib.start_daemon(flags, 0, NULL, NULL, handle, in, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, CLIENTS_MAX, MHD_OPTION_NOTIFY_CONNECTION, on_connection, in,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, in, MHD_OPTION_CONNECTION_TIMEOUT, idle,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, posts ? POST_BYTES : CONNECTION_BYTES,
		MHD_OPTION_CONNECTION_MEMORY_INCREMENT, posts ? POST_PIECE_BYTES : PIECE_BYTES,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_THREAD_STACK_SIZE,
		posts ? POST_STACK_BYTES : THREAD_STACK_BYTES, MHD_OPTION_ARRAY, items, MHD_OPTION_END);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return daemon;
}

static void instance_init_lock(struct instance *in)
{
	pthread_condattr_t attributes;

	pthread_mutex_init(&in->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&in->changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

static int instance_start(
	const struct http_server *s, const struct http_tls *tls, struct instance **ret, struct err *err)
{
	CLEANUP(instance_freep) struct instance *in = xcalloc(1, sizeof(*in));
	CLEANUP(closep) int fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 0);

	instance_init_lock(in);
	in->server = s;
	if (fd < 0)
		return err_set(err, -errno, "HTTP: cannot listen: %s", strerror(errno));
	in->daemon = start_daemon(in, fd, tls);
	if (!in->daemon) {
		/* On most errors the library has closed the socket. */
		if (fcntl(fd, F_GETFD) < 0)
			fd = -1;
		return err_set(err, -EAGAIN, "HTTP: cannot start the server's thread");
	}
	fd = -1; /* owned by the library */
	*ret = TAKE(in);
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
	r = load_libmicrohttpd(&s->lib, err);
	if (r < 0)
		return r;
	r = http_tls_read(&s->options.tls, &s->tls, err);
	if (r < 0)
		return r;
	r = http_tls_check(&s->tls, &s->options.tls, err);
	if (r < 0)
		return r;
	s->fd = open_socket(address, port, &s->v6, err);
	if (s->fd < 0)
		return s->fd;
	s->port = socket_port(s->fd);
	r = instance_start(s, &s->tls, &s->instance, err);
	if (r < 0)
		return r;
	*ret = TAKE(s);
	return 0;
}

int http_server_renew(struct http_server *s, struct err *err)
{
	CLEANUP(http_tls_release) struct http_tls tls;
	struct instance *instance = NULL;
	int r;

	http_tls_init(&tls);
	r = http_tls_read(&s->options.tls, &tls, err);
	if (r < 0 || http_tls_equal(&tls, &s->tls))
		return r;
	r = http_tls_check(&tls, &s->options.tls, err);
	if (r < 0)
		return r;
	r = instance_start(s, &tls, &instance, err);
	if (r < 0)
		return r;
	instance_free(s->instance);
	s->instance = instance;
	http_tls_release(&s->tls);
	s->tls = tls;
	http_tls_init(&tls);
	return 1;
}

void http_server_free(struct http_server *s)
{
	if (!s)
		return;
	instance_free(s->instance);
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

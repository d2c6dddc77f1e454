/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/daemon/http.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

#include <microhttpd.h>

#include "common/cleanup.h"

#define TEXT_MAX           (16u << 20)
#define BACKLOG            128
#define CONNECTIONS_KEPT   48u /* of more the oldest ends, so that nobody keeps the kubelet's probes out */
#define CONNECTIONS_MAX    64u /* the library takes several before it ends one */
#define CONNECTION_BYTES   ((size_t)8 << 10) /* one request's line and headers, and our headers */
#define IDLE_SECONDS       2u
#define THREAD_STACK_BYTES ((size_t)128 << 10)
#define CONTENT_TYPE       "text/plain; charset=utf-8"
#define CONTENT_TYPE_PROM  "text/plain; version=0.0.4; charset=utf-8"
#define LIBRARY            "libmicrohttpd.so.12"
#define LIBRARY_REMEDY     "install libmicrohttpd, or give --http=off"

/* ---- the address */

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

/* A listening socket on a numeric address of either family. */
static int listen_on(const char *address, uint16_t port, bool *ret_v6, struct err *err)
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

static uint16_t local_port(int fd)
{
	struct sockaddr_in6 a = {0}; /* its port is where that of the other family is */
	socklen_t len = sizeof(a);

	return getsockname(fd, (struct sockaddr *)&a, &len) < 0 ? 0 : ntohs(a.sin6_port);
}

/* ---- the library; the types of its functions are those of its header */

struct library {
	void *handle;
	__typeof__(&MHD_start_daemon) start_daemon;
	__typeof__(&MHD_stop_daemon) stop_daemon;
	__typeof__(&MHD_create_response_from_buffer) create_response_from_buffer;
	__typeof__(&MHD_add_response_header) add_response_header;
	__typeof__(&MHD_queue_response) queue_response;
	__typeof__(&MHD_destroy_response) destroy_response;
	__typeof__(&MHD_get_connection_info) get_connection_info;
};

#define LOAD(lib, name) ((lib)->name = (__typeof__((lib)->name))dlsym((lib)->handle, "MHD_" #name))

/* RTLD_NODELETE: once loaded it stays, as the libraries behind it register things with each other. */
static int library_load(struct library *ret, struct err *err)
{
	struct library lib = {.handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)};

	if (!lib.handle)
		return err_set(err, -ENOENT, "HTTP: %s; " LIBRARY_REMEDY, dlerror());
	if (!LOAD(&lib, start_daemon) || !LOAD(&lib, stop_daemon) ||
		!LOAD(&lib, create_response_from_buffer) || !LOAD(&lib, add_response_header) ||
		!LOAD(&lib, queue_response) || !LOAD(&lib, destroy_response) ||
		!LOAD(&lib, get_connection_info)) {
		dlclose(lib.handle);
		return err_set(err, -ENOENT, "HTTP: a function is missing in " LIBRARY "; " LIBRARY_REMEDY);
	}
	*ret = lib;
	return 0;
}

struct http_server {
	struct library lib;
	struct MHD_Daemon *daemon;
	struct http_callbacks callbacks;
	void *ctx;
	uint16_t port;
	struct client {
		bool open;
		int fd; /* -1 = its end has begun */
		uint64_t number;
	} clients[CONNECTIONS_MAX];
	size_t n_clients; /* whose end has not begun */
	uint64_t n_accepted;
};

/* ---- connections: all of this runs in the library's thread */

static void drop(struct http_server *s, struct client *c)
{
	c->fd = -1;
	s->n_clients--;
}

/* The library sees the end of its input, and closes. */
static void end_oldest(struct http_server *s)
{
	struct client *oldest = NULL;

	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		struct client *c = &s->clients[i];

		if (c->open && c->fd >= 0 && (!oldest || c->number < oldest->number))
			oldest = c;
	}
	if (!oldest)
		return;
	shutdown(oldest->fd, SHUT_RDWR);
	drop(s, oldest);
}

static void count_client(struct http_server *s, int fd, void **context)
{
	size_t i = 0;

	if (s->n_clients >= CONNECTIONS_KEPT)
		end_oldest(s);
	while (i < CONNECTIONS_MAX && s->clients[i].open)
		i++;
	if (i == CONNECTIONS_MAX)
		return;
	s->clients[i] = (struct client){.open = true, .fd = fd, .number = s->n_accepted++};
	s->n_clients++;
	*context = &s->clients[i];
}

/* A connection begins, or has ended and its socket is about to be closed. */
static void notice(void *data, struct MHD_Connection *connection, void **context,
	enum MHD_ConnectionNotificationCode what)
{
	struct http_server *s = data;
	const union MHD_ConnectionInfo *info;
	struct client *c = *context;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (c && c->fd >= 0)
			drop(s, c);
		if (c)
			c->open = false;
		return;
	}
	info = s->lib.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	if (info)
		count_client(s, info->connect_fd, context);
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

static void answer_path(const struct http_server *s, const char *path, bool readable, struct answer *a)
{
	bool healthz = !strcmp(path, "/healthz"), readyz = !strcmp(path, "/readyz");

	if (!healthz && !readyz && strcmp(path, "/metrics") != 0) {
		a->status = MHD_HTTP_NOT_FOUND;
		strbuf_addstr(&a->text, "there are /healthz, /readyz and /metrics\n");
	} else if (!readable) {
		a->status = MHD_HTTP_METHOD_NOT_ALLOWED;
		a->allow = true;
		strbuf_addstr(&a->text, "GET and HEAD only\n");
	} else if (healthz) {
		answer_state(s, s->callbacks.healthy, a);
	} else if (readyz) {
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
	if (r == MHD_YES)
		r = s->lib.queue_response(connection, a->status, response);
	s->lib.destroy_response(response);
	return r;
}

/* Called when a request's headers are there, then for each piece of its body, then at its end. MHD_NO closes
 * the connection. */
static enum MHD_Result handle(void *data, struct MHD_Connection *connection, const char *path,
	const char *method, const char *version, const char *body, size_t *body_len, void **request)
{
	const struct http_server *s = data;
	bool readable = !strcmp(method, MHD_HTTP_METHOD_GET) || !strcmp(method, MHD_HTTP_METHOD_HEAD);
	CLEANUP(release_answer)
	struct answer a = {
		.status = MHD_HTTP_OK, .content_type = CONTENT_TYPE, .text = STRBUF_INIT(TEXT_MAX)};

	(void)version;
	(void)body;
	if (!*request && readable) {
		*request = data;
		return MHD_YES;
	}
	if (*body_len > 0)
		return MHD_NO; /* no request of ours has a body */
	answer_path(s, path, readable, &a);
	return send_answer(s, connection, &a);
}

/* ---- life */

/* The library's thread inherits the signal mask: signals are the business of the caller's threads. */
static struct MHD_Daemon *start_daemon(struct http_server *s, int fd, bool v6)
{
	unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | (v6 ? MHD_USE_IPv6 : 0u);
	struct MHD_Daemon *daemon;
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	daemon = s->lib.start_daemon(flags, 0, NULL, NULL, handle, s, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX, MHD_OPTION_NOTIFY_CONNECTION, notice, s,
		MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		CONNECTION_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_THREAD_STACK_SIZE,
		THREAD_STACK_BYTES, MHD_OPTION_END);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return daemon;
}

int http_server_start(const char *address, uint16_t port, const struct http_callbacks *callbacks, void *ctx,
	struct http_server **ret, struct err *err)
{
	CLEANUP(http_server_freep) struct http_server *s = calloc(1, sizeof(*s));
	CLEANUP(closep) int fd = -1;
	bool v6 = false;
	int r;

	if (!s)
		return err_no_memory(err);
	s->callbacks = *callbacks;
	s->ctx = ctx;
	r = library_load(&s->lib, err);
	if (r < 0)
		return r;
	fd = listen_on(address, port, &v6, err);
	if (fd < 0)
		return fd;
	s->port = local_port(fd);
	s->daemon = start_daemon(s, fd, v6);
	if (!s->daemon) {
		/* It has closed the socket on most of its ways to fail. */
		if (fcntl(fd, F_GETFD) < 0)
			fd = -1;
		return err_set(err, -ENOMEM, "HTTP: cannot start the server's thread");
	}
	fd = -1; /* the server's now */
	*ret = TAKE(s);
	return 0;
}

void http_server_free(struct http_server *s)
{
	if (!s)
		return;
	if (s->daemon)
		s->lib.stop_daemon(s->daemon);
	if (s->lib.handle)
		dlclose(s->lib.handle);
	free(s);
}

uint16_t http_server_port(const struct http_server *s)
{
	return s->port;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe/grpc_unary.h"

#include <errno.h>
#include <fcntl.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/observe/fs_root.h"
#include "common/cleanup.h"
#include "common/io/thread.h"
#include "common/io/time.h"
#include "common/xalloc.h"

#define PREFIX_LEN   5u /* of a gRPC message: compressed or not, and four bytes of length */
#define WINDOW       ((int32_t)(1u << 30))
#define READ_SIZE    (64u << 10)
#define REQUEST_MAX  (64u << 10)
#define MESSAGE_MAX  400u
#define NOT_ANSWERED (-1)
#define LOOK_MS      1000 /* how often a waiting call looks whether its socket was replaced */

/* The call in progress. */
struct call {
	int32_t stream;
	struct strbuf request; /* with the prefix, sent up to `sent` */
	size_t sent;
	struct strbuf reply; /* with the prefix */
	int http_status;
	bool is_grpc;
	int status; /* NOT_ANSWERED until the trailers are there */
	struct err text;
	bool heard, closed; /* something of the reply has arrived; the stream is closed */
	uint32_t reset;     /* why the stream was closed */
	int error;          /* 0 or -errno met in a callback */
};

struct grpc_channel {
	struct sockaddr_un address; /* sun_path "" = connected from the start */
	int fd;
	dev_t dev; /* of the socket when it was connected */
	ino_t ino;
	nghttp2_session *session;
	const struct cancel *cancel; /* NULL = calls cannot be cancelled */
	struct call call;
};

static const struct call no_call = {
	.stream = -1, .request = STRBUF_INIT(REQUEST_MAX), .reply = STRBUF_INIT(0), .status = NOT_ANSWERED};

static void call_release(struct call *call)
{
	strbuf_release(&call->request);
	strbuf_release(&call->reply);
	*call = no_call;
}

void grpc_reply_release(struct grpc_reply *reply)
{
	strbuf_release(&reply->message);
	*reply = (struct grpc_reply)GRPC_REPLY_INIT;
}

/* ---- callbacks of nghttp2 */

/* Gives nghttp2 the next bytes of the request to send. */
static ssize_t provide_request(nghttp2_session *session, int32_t stream, uint8_t *buf, size_t len,
	uint32_t *flags, nghttp2_data_source *source, void *user)
{
	struct call *call = source->ptr;
	size_t n = call->request.len - call->sent;

	(void)session;
	(void)stream;
	(void)user;
	if (n > len)
		n = len;
	memcpy(buf, call->request.text + call->sent, n);
	call->sent += n;
	if (call->sent == call->request.len)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)n;
}

static bool is_header_named(const uint8_t *name, size_t len, const char *want)
{
	return len == strlen(want) && !memcmp(name, want, len);
}

/* A number of at most three digits, else -1. */
static int small_number(const uint8_t *value, size_t len)
{
	int n = 0;

	if (len == 0 || len > 3)
		return -1;
	for (size_t i = 0; i < len; i++) {
		if (value[i] < '0' || value[i] > '9')
			return -1;
		n = n * 10 + (value[i] - '0');
	}
	return n;
}

static int hex_value(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* grpc-message is percent-encoded. */
static void decode_message(const uint8_t *value, size_t len, struct err *ret)
{
	char text[MESSAGE_MAX + 1];
	size_t n = 0;

	for (size_t i = 0; i < len && n < MESSAGE_MAX; i++) {
		uint8_t c = value[i];

		if (c == '%' && i + 2 < len && hex_value(value[i + 1]) >= 0 && hex_value(value[i + 2]) >= 0) {
			c = (uint8_t)(hex_value(value[i + 1]) * 16 + hex_value(value[i + 2]));
			i += 2;
		}
		text[n++] = (char)(c ? c : '?');
	}
	text[n] = '\0';
	err_set(ret, 0, "%s", text);
}

static int on_grpc_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
	size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags, void *user)
{
	static const char type[] = "application/grpc";
	struct grpc_channel *c = user;
	struct call *call = &c->call;

	(void)session;
	(void)flags;
	if (frame->hd.stream_id != call->stream)
		return 0;
	call->heard = true;
	if (is_header_named(name, name_len, ":status"))
		call->http_status = small_number(value, value_len);
	else if (is_header_named(name, name_len, "content-type"))
		call->is_grpc = value_len >= strlen(type) && !memcmp(value, type, strlen(type));
	else if (is_header_named(name, name_len, "grpc-status"))
		call->status = small_number(value, value_len);
	else if (is_header_named(name, name_len, "grpc-message"))
		decode_message(value, value_len, &call->text);
	return 0;
}

static int on_grpc_data(
	nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data, size_t len, void *user)
{
	struct grpc_channel *c = user;

	(void)session;
	(void)flags;
	if (stream != c->call.stream)
		return 0;
	c->call.heard = true;
	strbuf_add(&c->call.reply, data, len);
	c->call.error = strbuf_error(&c->call.reply);
	return c->call.error < 0 ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t code, void *user)
{
	struct grpc_channel *c = user;

	(void)session;
	if (stream == c->call.stream) {
		c->call.closed = true;
		c->call.reset = code;
	}
	return 0;
}

/* ---- the connection */

static void disconnect(struct grpc_channel *c)
{
	nghttp2_session_del(c->session);
	c->session = NULL;
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

static void start_http2_session(struct grpc_channel *c)
{
	/* No header table, no server push, and windows that never delay a reply. */
	static const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 0},
		{NGHTTP2_SETTINGS_ENABLE_PUSH, 0}, {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW}};
	nghttp2_session_callbacks *callbacks;
	int r;

	if (nghttp2_session_callbacks_new(&callbacks) != 0)
		xalloc_failed();
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_grpc_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_grpc_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
	r = nghttp2_session_client_new(&c->session, callbacks, c);
	nghttp2_session_callbacks_del(callbacks);
	if (r != 0 ||
		nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings, ARRAY_SIZE(settings)) != 0 ||
		nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, 0, WINDOW) != 0)
		xalloc_failed();
}

/* On failure c->fd may be open: the caller calls disconnect(). */
static int connect_socket(struct grpc_channel *c)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(sizeof(c->address.sun_path) - 1);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat st;
	int r = fs_resolve("", c->address.sun_path, &path);

	if (r < 0)
		return r;
	memcpy(address.sun_path, path.text, path.len + 1);
	/* A unix socket connects at once or not at all. */
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->fd < 0)
		return -errno;
	/* Before connect(2): a socket that is replaced in between has another inode, and is_replaced() notices it. */
	if (stat(address.sun_path, &st) < 0 ||
		connect(c->fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	c->dev = st.st_dev;
	c->ino = st.st_ino;
	start_http2_session(c);
	return 0;
}

/* Another server has made a socket at the path, or the socket is gone. */
static bool is_replaced(const struct grpc_channel *c)
{
	struct stat st;

	return c->address.sun_path[0] &&
	       (fs_stat("", c->address.sun_path, &st) < 0 || st.st_dev != c->dev || st.st_ino != c->ino);
}

/* Whether the peer closed the connection, or announced that it will close, or the socket was replaced. */
static bool is_channel_stale(const struct grpc_channel *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLIN | POLLRDHUP};
	char byte;

	if (!nghttp2_session_check_request_allowed(c->session))
		return true;
	if (poll(&p, 1, 0) > 0 && ((p.revents & (POLLHUP | POLLERR | POLLRDHUP)) ||
					  recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0))
		return true;
	return is_replaced(c);
}

static const char *socket_name(const struct grpc_channel *c)
{
	return c->address.sun_path[0] ? c->address.sun_path : "socket";
}

/* A channel that was made from a file descriptor has no address. */
static bool can_connect_again(const struct grpc_channel *c)
{
	return c->address.sun_path[0] != '\0';
}

/* *ret_fresh: the connection is new, so that a failure is not that of an idle connection, and the call is not repeated. */
static int ensure_connected(struct grpc_channel *c, bool *ret_fresh, struct err *err)
{
	int r;

	if (c->fd >= 0 && c->session && !is_channel_stale(c)) {
		*ret_fresh = false;
		return 0;
	}
	if (!can_connect_again(c))
		return err_set(err, -ECONNRESET, "%s: the connection is closed", socket_name(c));
	disconnect(c);
	r = connect_socket(c);
	if (r < 0) {
		disconnect(c);
		return err_set(err, r, "cannot connect to '%s': %s", socket_name(c),
			r == -ECONNREFUSED ? "nobody listens on it" : strerror(-r));
	}
	*ret_fresh = true;
	return 0;
}

static void channel_new(struct grpc_channel **ret)
{
	*ret = xcalloc(1, sizeof(**ret));
	(*ret)->address.sun_family = AF_UNIX;
	(*ret)->fd = -1;
	(*ret)->call = no_call;
}

int grpc_channel_new(const char *socket, const struct cancel *cancel, struct grpc_channel **ret)
{
	CLEANUP(grpc_channel_freep) struct grpc_channel *c = NULL;

	channel_new(&c);
	if (strlen(socket) >= sizeof(c->address.sun_path))
		return -ENAMETOOLONG;
	memcpy(c->address.sun_path, socket, strlen(socket) + 1);
	c->cancel = cancel;
	*ret = TAKE(c);
	return 0;
}

int grpc_channel_new_connected(int fd, struct grpc_channel **ret)
{
	CLEANUP(grpc_channel_freep) struct grpc_channel *c = NULL;

	channel_new(&c);
	if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	start_http2_session(c);
	c->fd = fd;
	*ret = TAKE(c);
	return 0;
}

void grpc_channel_free(struct grpc_channel *c)
{
	if (!c)
		return;
	disconnect(c);
	call_release(&c->call);
	free(c);
}

void grpc_channel_freep(struct grpc_channel **c)
{
	grpc_channel_free(*c);
	*c = NULL;
}

/* ---- one call */

static int ms_until(int64_t deadline)
{
	int64_t left = deadline - clock_ms(CLOCK_MONOTONIC);

	if (left > INT32_MAX)
		return INT32_MAX;
	return left > 0 ? (int)left : 0;
}

/* nghttp2 takes pointers to non-const bytes and does not write to them. */
static nghttp2_nv make_header(const char *name, const char *value)
{
	const union {
		const char *text;
		uint8_t *bytes;
	} n = {.text = name}, v = {.text = value};

	return (nghttp2_nv){
		.name = n.bytes, .namelen = strlen(name), .value = v.bytes, .valuelen = strlen(value)};
}

static int submit_request(struct grpc_channel *c, const char *method)
{
	const nghttp2_nv headers[] = {make_header(":method", "POST"), make_header(":scheme", "http"),
		make_header(":path", method), make_header(":authority", "localhost"),
		make_header("content-type", "application/grpc"), make_header("te", "trailers"),
		make_header("user-agent", "nrtd/" NRTD_VERSION)};
	const nghttp2_data_provider body = {.source.ptr = &c->call, .read_callback = provide_request};

	c->call.stream = nghttp2_submit_request(c->session, NULL, headers, ARRAY_SIZE(headers), &body, NULL);
	return c->call.stream < 0 ? -EPROTO : 0;
}

/* Send until the socket takes no more. `pending`: bytes that nghttp2 has made and the socket has not taken yet. 0 or -errno. */
static int send_pending(struct grpc_channel *c, struct strbuf *pending)
{
	for (;;) {
		const uint8_t *data;
		ssize_t n;

		if (pending->len == 0) {
			n = nghttp2_session_mem_send(c->session, &data);
			if (n <= 0)
				return n < 0 ? -EPROTO : 0;
			strbuf_add(pending, data, (size_t)n);
			if (strbuf_error(pending) < 0)
				return strbuf_error(pending);
		}
		n = send(c->fd, pending->text, pending->len, MSG_NOSIGNAL);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		memmove(pending->text, pending->text + n, pending->len - (size_t)n);
		pending->len -= (size_t)n;
	}
}

/* Process the bytes that have arrived. 0 or -errno; -ECONNRESET when the peer closed the connection. */
static int receive_available(struct grpc_channel *c, uint8_t *buf)
{
	ssize_t used, n = recv(c->fd, buf, READ_SIZE, 0);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -ECONNRESET;
	used = nghttp2_session_mem_recv(c->session, buf, (size_t)n);
	if (c->call.error < 0)
		return c->call.error;
	return used == n ? 0 : -EPROTO;
}

/*
 * Run the connection until the stream is closed. 0 or -errno. Bytes that have arrived are read even after
 * the deadline. *ret_broken: the stream is closed, but the connection cannot be used again.
 */
static int run_call(struct grpc_channel *c, int64_t deadline, bool *ret_broken)
{
	CLEANUP(strbuf_release) struct strbuf pending = STRBUF_INIT(REQUEST_MAX * 4);
	CLEANUP(freep) uint8_t *buf = xmalloc(READ_SIZE);

	while (!c->call.closed) {
		int left = ms_until(deadline);
		short events = POLLIN;
		int r, ready;

		if (cancel_requested(c->cancel))
			return -ECANCELED;
		r = send_pending(c, &pending);
		/* A peer that closed the connection may have answered before. */
		if (r < 0 && r != -EPIPE && r != -ECONNRESET)
			return r;
		/* After bad data from the peer, nghttp2 has closed the stream, or wants to read nothing
		 * more. */
		if (c->call.closed)
			break;
		if (r == 0 && !nghttp2_session_want_read(c->session))
			return -EPROTO;
		if (pending.len > 0 && r == 0)
			events |= POLLOUT;
		ready = cancel_poll(c->cancel, c->fd, events, left < LOOK_MS ? left : LOOK_MS);
		if (ready < 0)
			return ready;
		/* A server that hangs may keep the connection open after another one has taken its place. */
		if (ready == 0 && left > 0 && is_replaced(c))
			return -ECONNRESET;
		if (ready & (POLLIN | POLLHUP | POLLERR))
			r = receive_available(c, buf);
		if (r < 0 && !c->call.closed)
			return r;
		if (left == 0 && !c->call.closed)
			return -ETIMEDOUT;
	}
	/* Send the acknowledgements. The reply is complete; a peer may close the connection after it. */
	*ret_broken = send_pending(c, &pending) < 0 || pending.len > 0;
	return 0;
}

/* Move the reply of a call whose stream is closed. */
static int take_reply(struct grpc_channel *c, struct grpc_reply *ret, struct err *err)
{
	struct call *call = &c->call;
	const uint8_t *p = (const uint8_t *)call->reply.text;
	size_t len;

	if (call->http_status != 200 || !call->is_grpc)
		return err_set(err, -EPROTO, "%s: not a gRPC server (HTTP status %d)", socket_name(c),
			call->http_status);
	if (call->status < 0)
		return err_set(err, -EPROTO, "%s: the reply ends without a status", socket_name(c));
	if (call->status == GRPC_OK) {
		if (call->reply.len < PREFIX_LEN)
			return err_set(err, -EPROTO, "%s: the reply is cut off", socket_name(c));
		if (p[0] != 0)
			return err_set(err, -EPROTO, "%s: the reply is compressed, which was not asked for",
				socket_name(c));
		len = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
		if (len != call->reply.len - PREFIX_LEN)
			return err_set(err, -EPROTO, "%s: the reply is cut off: %zu of %zu bytes",
				socket_name(c), call->reply.len - PREFIX_LEN, len);
		memmove(call->reply.text, call->reply.text + PREFIX_LEN, len);
		call->reply.len = len;
		grpc_reply_release(ret);
		ret->message = call->reply;
		call->reply = no_call.reply;
	}
	ret->status = call->status;
	ret->text = call->text;
	return 0;
}

/* Sets `err`. Returns the -errno that grpc_unary.h documents for the failure `r`. */
static int explain_failure(
	const struct grpc_channel *c, int r, size_t max_reply, unsigned deadline_ms, struct err *err)
{
	switch (r) {
	case -EFBIG:
		return err_set(err, -EMSGSIZE, "%s: the reply is over %zu bytes", socket_name(c), max_reply);
	case -ETIMEDOUT:
		return err_set(err, r, "%s: no reply within %u ms", socket_name(c), deadline_ms);
	case -ECONNRESET:
	case -EPIPE:
		return err_set(err, -ECONNRESET, "%s: the connection was closed before the reply was whole",
			socket_name(c));
	case -EPROTO:
		return err_set(err, r, "%s: not an HTTP/2 server", socket_name(c));
	default:
		return err_set(err, r, "%s: %s", socket_name(c), strerror(-r));
	}
}

static int start_call(
	struct grpc_channel *c, const char *method, const void *request, size_t len, size_t max_reply)
{
	const uint8_t prefix[PREFIX_LEN] = {
		0, (uint8_t)(len >> 24), (uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len};
	struct call *call = &c->call;

	call_release(call);
	call->reply.max = max_reply + PREFIX_LEN;
	strbuf_add(&call->request, prefix, sizeof(prefix));
	strbuf_add(&call->request, request, len);
	if (strbuf_error(&call->request) < 0)
		return strbuf_error(&call->request);
	return submit_request(c, method);
}

int grpc_call(struct grpc_channel *c, const char *method, const void *request, size_t len, size_t max_reply,
	unsigned deadline_ms, struct grpc_reply *ret, struct err *err)
{
	int64_t deadline = clock_ms(CLOCK_MONOTONIC) + deadline_ms;
	bool fresh = false, again, broken = false;
	int r;

	do {
		r = ensure_connected(c, &fresh, err);
		if (r < 0)
			return r;
		r = start_call(c, method, request, len, max_reply);
		if (r == 0)
			r = run_call(c, deadline, &broken);
		/* The peer may just have closed an idle connection, or announced that it would. */
		again = (r == -ECONNRESET || r == -EPIPE ||
				(r == 0 && c->call.reset == NGHTTP2_REFUSED_STREAM)) &&
			!fresh && !c->call.heard && can_connect_again(c);
		if (again)
			disconnect(c);
	} while (again);
	/* A reset after the trailers is no failure: the reply is complete. */
	if (r == 0 && c->call.reset != NGHTTP2_NO_ERROR && c->call.status < 0)
		r = err_set(err, -EPROTO, "%s: the call was reset: %s", socket_name(c),
			nghttp2_http2_strerror(c->call.reset));
	else
		r = r < 0 ? explain_failure(c, r, max_reply, deadline_ms, err) : take_reply(c, ret, err);
	if (r < 0 || broken)
		disconnect(c);
	call_release(&c->call);
	return r;
}

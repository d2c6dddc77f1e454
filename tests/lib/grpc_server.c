/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/grpc_server.h"

#include <nghttp2/nghttp2.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/strbuf.h"

struct grpc_server {
	const struct grpc_answer *answers;
	size_t n_answers;
	int listener;
	pthread_t thread;
	atomic_uint connections, calls;
	pthread_mutex_t lock; /* guards the two below */
	int fd;               /* of the connection, -1 = none */
	bool stopping;
	/* the connection's; one stream at a time */
	nghttp2_session *session;
	bool hang_up;
	char method[100];
	struct strbuf request;
	struct strbuf body; /* of the answer, sent up to `sent` */
	size_t sent, chunk;
	bool trailers;
	char status[12];
	const char *text;
	uint32_t reset;
};

static void must(bool condition)
{
	if (!condition)
		abort();
}

static nghttp2_nv header(const char *name, const char *value)
{
	return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
		.namelen = strlen(name),
		.value = (uint8_t *)(uintptr_t)value,
		.valuelen = strlen(value)};
}

static ssize_t on_body(nghttp2_session *session, int32_t stream, uint8_t *buf, size_t len, uint32_t *flags,
	nghttp2_data_source *source, void *user)
{
	struct grpc_server *s = user;
	size_t n = s->body.len - s->sent;

	(void)source;
	if (n > len)
		n = len;
	if (s->chunk && n > s->chunk)
		n = s->chunk;
	memcpy(buf, s->body.text + s->sent, n);
	s->sent += n;
	if (s->sent < s->body.len)
		return (ssize_t)n;
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (s->reset || s->trailers)
		*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
	if (s->reset) {
		must(nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream, s->reset) == 0);
	} else if (s->trailers) {
		const nghttp2_nv trailers[] = {
			header("grpc-status", s->status), header("grpc-message", s->text ? s->text : "")};

		must(nghttp2_submit_trailer(session, stream, trailers, s->text ? 2 : 1) == 0);
	}
	return (ssize_t)n;
}

static void prepare_body(struct grpc_server *s, const struct grpc_answer *a)
{
	size_t len = a->declared ? a->declared : a->len;
	const uint8_t prefix[] = {
		a->compressed, (uint8_t)(len >> 24), (uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len};

	strbuf_release(&s->body);
	strbuf_add(&s->body, prefix, sizeof(prefix));
	strbuf_add(&s->body, a->message, a->len);
	must(strbuf_error(&s->body) == 0);
	s->sent = 0;
	s->chunk = a->chunk;
	s->trailers = !a->no_trailers;
	s->text = a->text;
	s->reset = a->reset;
	s->hang_up = a->hang_up_after;
}

static void answer(struct grpc_server *s, int32_t stream)
{
	const struct grpc_answer *a = &s->answers[s->calls++ % s->n_answers];
	const nghttp2_data_provider body = {.read_callback = on_body};
	nghttp2_nv headers[4] = {header(":status", a->http_status ? a->http_status : "200"),
		header("content-type", a->type ? a->type : "application/grpc")};

	if (a->meanwhile)
		a->meanwhile(a->data);
	if (a->silent)
		return;
	if (a->hang_up || a->refuse) {
		s->hang_up = true;
		if (a->refuse)
			must(nghttp2_submit_goaway(s->session, NGHTTP2_FLAG_NONE, stream > 2 ? stream - 2 : 0,
				     NGHTTP2_NO_ERROR, NULL, 0) == 0);
		return;
	}
	prepare_body(s, a);
	snprintf(s->status, sizeof(s->status), "%d", a->status);
	if (a->status == 0) {
		must(nghttp2_submit_response(s->session, stream, headers, 2, &body) == 0);
		return;
	}
	headers[2] = header("grpc-status", s->status);
	headers[3] = header("grpc-message", a->text ? a->text : "");
	must(nghttp2_submit_response(s->session, stream, headers, a->text ? 4 : 3, NULL) == 0);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
	size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags, void *user)
{
	struct grpc_server *s = user;

	(void)session;
	(void)frame;
	(void)flags;
	if (name_len == strlen(":path") && !memcmp(name, ":path", name_len) &&
		value_len < sizeof(s->method)) {
		memcpy(s->method, value, value_len);
		s->method[value_len] = '\0';
		strbuf_reset(&s->request);
	}
	return 0;
}

static int on_data(
	nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data, size_t len, void *user)
{
	struct grpc_server *s = user;

	(void)session;
	(void)flags;
	(void)stream;
	strbuf_add(&s->request, data, len);
	return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	(void)session;
	if ((frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS) &&
		(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		answer(user, frame->hd.stream_id);
	return 0;
}

static bool send_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

		if (n < 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

static void start_session(struct grpc_server *s)
{
	const nghttp2_settings_entry settings = {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 100};
	nghttp2_session_callbacks *callbacks;

	must(nghttp2_session_callbacks_new(&callbacks) == 0);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	must(nghttp2_session_server_new(&s->session, callbacks, s) == 0);
	nghttp2_session_callbacks_del(callbacks);
	must(nghttp2_submit_settings(s->session, NGHTTP2_FLAG_NONE, &settings, 1) == 0);
}

/* Until one side closes. */
static void talk(struct grpc_server *s, int fd)
{
	const struct grpc_answer *next = &s->answers[s->calls % s->n_answers];
	static const size_t size = 65536;
	CLEANUP(freep) uint8_t *buf = malloc(size);
	const uint8_t *data;
	ssize_t n;

	must(buf != NULL);
	if (next->raw) {
		s->calls++;
		send_all(fd, next->raw, next->raw_len);
		shutdown(fd, SHUT_WR);
		while (recv(fd, buf, size, 0) > 0)
			;
		return;
	}
	s->hang_up = false;
	start_session(s);
	for (;;) {
		while ((n = nghttp2_session_mem_send(s->session, &data)) > 0)
			if (!send_all(fd, data, (size_t)n))
				break;
		if (s->hang_up)
			break;
		n = recv(fd, buf, size, 0);
		if (n <= 0 || nghttp2_session_mem_recv(s->session, buf, (size_t)n) < 0)
			break;
	}
	nghttp2_session_del(s->session);
}

static bool set_fd(struct grpc_server *s, int fd)
{
	bool stopping;

	pthread_mutex_lock(&s->lock);
	s->fd = fd;
	stopping = s->stopping;
	pthread_mutex_unlock(&s->lock);
	return !stopping;
}

static void *serve(void *user)
{
	struct grpc_server *s = user;

	for (;;) {
		int fd = accept(s->listener, NULL, NULL);

		if (fd < 0)
			return NULL;
		s->connections++;
		if (set_fd(s, fd))
			talk(s, fd);
		set_fd(s, -1);
		close(fd);
	}
}

struct grpc_server *grpc_server_start(const char *path, const struct grpc_answer *answers, size_t n_answers)
{
	struct grpc_server *s = calloc(1, sizeof(*s));
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	must(s && strlen(path) < sizeof(address.sun_path));
	memcpy(address.sun_path, path, strlen(path) + 1);
	s->answers = answers;
	s->n_answers = n_answers;
	s->fd = -1;
	s->request = s->body = (struct strbuf)STRBUF_INIT(64u << 20);
	s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	unlink(path);
	must(s->listener >= 0 && bind(s->listener, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
		listen(s->listener, 5) == 0 && pthread_mutex_init(&s->lock, NULL) == 0 &&
		pthread_create(&s->thread, NULL, serve, s) == 0);
	return s;
}

void grpc_server_stop(struct grpc_server *s)
{
	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	shutdown(s->listener, SHUT_RDWR);
	if (s->fd >= 0)
		shutdown(s->fd, SHUT_RDWR);
	pthread_mutex_unlock(&s->lock);
	must(pthread_join(s->thread, NULL) == 0);
	pthread_mutex_destroy(&s->lock);
	close(s->listener);
	strbuf_release(&s->request);
	strbuf_release(&s->body);
	free(s);
}

unsigned grpc_server_connections(const struct grpc_server *s)
{
	return s->connections;
}

unsigned grpc_server_calls(const struct grpc_server *s)
{
	return s->calls;
}

const char *grpc_server_method(const struct grpc_server *s)
{
	return s->method;
}

const void *grpc_server_request(const struct grpc_server *s, size_t *ret_len)
{
	*ret_len = s->request.len;
	return s->request.text;
}

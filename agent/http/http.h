/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The HTTP endpoint: GET and HEAD of /healthz, /readyz and /metrics, POST where the caller takes it.
 * libmicrohttpd serves it in a thread of its own, and http.c is the only file that includes it; the library is loaded
 * when the server starts, because it and the libraries behind it would cost every command more than a millisecond at
 * start.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/http/http_listen.h"
#include "agent/http/http_tls.h"
#include "common/err.h"
#include "common/strbuf.h"

/*
 * The first two are called in the server's thread, so they take a lock for what the rest of the process changes; they must not
 * block. Where there is a `post`, it and `metrics` are called in threads of their own, several at the same time.
 */
struct http_callbacks {
	bool (*healthy)(void *ctx, struct strbuf *line); /* the process works; `line` says why not, or "ok" */
	bool (*ready)(void *ctx, struct strbuf *line);   /* what is published is there and fresh */
	int (*metrics)(void *ctx, struct strbuf *text);  /* 0 or -errno */
	/*
	 * A POST to another path than the three, with its whole body (and a NUL behind it). Returns the HTTP status;
	 * `reply` goes out as application/json; with 307 it is the URL that the client is to ask instead. NULL = there is no
	 * such path.
	 */
	int (*post)(void *ctx, const char *path, const char *body, size_t len, struct strbuf *reply);
};

struct http_options {
	/*
	 * With a client CA only a client that shows a certificate of it is answered a POST (403 otherwise). GET is
	 * answered to everybody: the kubelet's probes have no certificate.
	 */
	struct http_tls_files tls;
	unsigned idle_seconds; /* after which a connection ends; 0 = 2. Go's clients keep one for 90 s. */
	size_t body_max;       /* bytes of a POST's body; all bodies under way together have twice that */
};

struct http_server;

/*
 * Start serving on a numeric address; port 0 takes a free one. `options` NULL = plain HTTP, idle for 2 s at most. The
 * callbacks and options are copied, not the paths of files, and the callbacks get `ctx`. Every signal stays with the
 * threads of the caller. *ret is the caller's, to be ended by http_server_free(). 0; -errno with one line: a library
 * is not there (-ENOENT), no such address, port in use, a file that cannot be read or used (http_tls.h).
 */
int http_server_start(const char *address, uint16_t port, const struct http_options *options,
	const struct http_callbacks *callbacks, void *ctx, struct http_server **ret, struct err *err);

/*
 * Read the files of TLS again. Where something in them has changed, new connections get it, and the old ones end; an
 * answer under way is finished. To be called now and then. 1 when they have changed; 0; -errno as from
 * http_server_start(), and the server goes on with what it has.
 */
int http_server_renew(struct http_server *s, struct err *err);

/* Finish the answer under way, close every connection, end the thread. NULL is fine. */
void http_server_free(struct http_server *s);

static inline void http_server_freep(struct http_server **s)
{
	http_server_free(*s);
	*s = NULL;
}

/* When its certificate ends, in seconds since 1970; 0 = it has none, or none that is read. Not while another thread calls
 * http_server_renew(). */
int64_t http_server_certificate_until(const struct http_server *s);

/* The port it listens on. */
uint16_t http_server_port(const struct http_server *s);

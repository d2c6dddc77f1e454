/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The HTTP endpoint: GET and HEAD of /healthz, /readyz and /metrics, nothing else. libmicrohttpd serves it in
 * a thread of its own, and http.c is the only file that includes it; the library is loaded when the server
 * starts, because it and the libraries behind it would cost every command more than a millisecond at start.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/strbuf.h"

#define HTTP_LISTEN_DEFAULT "127.0.0.1:8095"

/* What --http says. */
struct http_listen {
	bool off;
	char address[INET6_ADDRSTRLEN]; /* without brackets */
	uint16_t port;
};

/* Parse "127.0.0.1:8095", "[::1]:8095" or "off": addresses are numeric. 0 or -EINVAL; `ret` is untouched on
 * failure. */
int http_listen_parse(const char *text, struct http_listen *ret, struct err *err);

/* The same as the check of an option. */
int http_listen_check(const char *text, struct err *err);

/* Called in the server's thread, so they take a lock for what the rest of the process changes; they must not
 * block. */
struct http_callbacks {
	bool (*healthy)(void *ctx, struct strbuf *line); /* the process works; `line` says why not, or "ok" */
	bool (*ready)(void *ctx, struct strbuf *line);   /* what is published is there and fresh */
	int (*metrics)(void *ctx, struct strbuf *text);  /* 0 or -errno */
};

struct http_server;

/*
 * Start serving on a numeric address; port 0 takes a free one. The callbacks are copied and get `ctx`. Every
 * signal stays with the threads of the caller. *ret is the caller's, to be ended by http_server_free(). 0;
 * -errno with one line: the library is not there (-ENOENT), no such address, port in use, out of memory.
 */
int http_server_start(const char *address, uint16_t port, const struct http_callbacks *callbacks, void *ctx,
	struct http_server **ret, struct err *err);

/* Finish the answer under way, close every connection, end the thread. NULL is fine. */
void http_server_free(struct http_server *s);

static inline void http_server_freep(struct http_server **s)
{
	http_server_free(*s);
	*s = NULL;
}

/* The port it listens on. */
uint16_t http_server_port(const struct http_server *s);

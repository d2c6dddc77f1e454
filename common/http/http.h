/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Serves HTTP: GET and HEAD of /healthz, /readyz and /metrics, and POST if the caller handles it.
 *
 * libmicrohttpd serves connections in its own thread. Only http.c includes libmicrohttpd, and only http_tls.c
 * includes GnuTLS. Both libraries are loaded when the server starts, because with their dependencies they
 * would cost every command more than a millisecond at its start.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/strbuf.h"

/* ---- the listen address */

#define HTTP_LISTEN_DEFAULT "127.0.0.1:8095"

/* The value of --http. */
struct http_listen {
	bool off;
	char address[INET6_ADDRSTRLEN]; /* without brackets */
	uint16_t port;
};

/* Parses "127.0.0.1:8095", "[::1]:8095" or "off"; addresses are numeric. 0 or -EINVAL; `ret` is untouched on
 * failure. */
int http_listen_parse(const char *text, struct http_listen *ret, struct err *err);

/* As http_listen_parse(), to check the value of an option. */
int http_listen_check(const char *text, struct err *err);

/* Checks the value of an option that is only an address: numeric, without brackets. */
int http_listen_check_address(const char *text, struct err *err);

/* ---- TLS: http_tls.c */

/* Paths of PEM files, each NULL if not used. */
struct http_tls_files {
	const char *certificate; /* with its intermediate certificates; NULL = plain HTTP */
	const char *key;
	const char *client_ca; /* signs the certificates of clients; NULL = clients need no certificate */
};

/* The contents of the files; empty without a file. */
struct http_tls {
	struct strbuf certificate, key, client_ca;
};

void http_tls_init(struct http_tls *t);
void http_tls_release(struct http_tls *t);

/*
 * Reads the files into `t`, which must be initialized. Without a certificate `t` stays empty. 0; -EINVAL: a
 * certificate without a key or a key without a certificate, or a client CA without both; the errors of
 * fs_read_file(). The error names the file.
 */
int http_tls_read(const struct http_tls_files *files, struct http_tls *t, struct err *err);

bool http_tls_equal(const struct http_tls *a, const struct http_tls *b);

/* Checks that the files fit together. 0; -EINVAL with one line that names the files; -ENOENT without
 * GnuTLS. */
int http_tls_check(const struct http_tls *t, const struct http_tls_files *files, struct err *err);

/* Why the client of a session, a gnutls_session_t, may not post: "an expired certificate"; NULL = its certificate is for clients and of the client CA. */
const char *http_tls_client_problem(void *session);

/* ---- the server */

/*
 * Called in the server's threads: they lock what other threads change. With a `post` each connection has a thread, and all are called
 * concurrently; without it all are called in one thread, and must not block.
 */
struct http_callbacks {
	bool (*healthy)(
		void *ctx, struct strbuf *line);       /* the process works; `line` gets the reason or "ok" */
	bool (*ready)(void *ctx, struct strbuf *line); /* the published state exists and is recent */
	int (*metrics)(void *ctx, struct strbuf *text); /* 0 or -errno */
	/*
	 * A POST to any other path, with its whole body (NUL-terminated). Returns the HTTP status; `reply` is
	 * sent as application/json, with 307 as the URL to redirect to. NULL = such paths do not exist.
	 */
	int (*post)(void *ctx, const char *path, const char *body, size_t len, struct strbuf *reply);
	/* A POST got 403, because the client at this address has `problem`, "an expired certificate". NULL = nobody needs to know. */
	void (*forbidden)(void *ctx, const char *path, const char *address, const char *problem);
};

struct http_options {
	/* With a client CA, a POST requires a certificate signed by it (403 otherwise). A GET does not: the
	 * kubelet's probes have no certificate. */
	struct http_tls_files tls;
	/* An idle connection is closed after this time; 0 = 2. Go's clients keep connections for 90 s. */
	unsigned idle_seconds;
	size_t body_max; /* bytes of a POST's body; the concurrent bodies together may have twice this number */
	const char *posts; /* for messages, the paths of POST requests, "/filter and /preempt"; NULL = none */
};

struct http_server;

/*
 * Starts serving on a numeric address; port 0 selects a free port. `options` NULL = plain HTTP with an idle
 * time of 2 s. Copies the callbacks and options, but not the paths of files; passes `ctx` to the callbacks.
 * The server's threads handle no signals. The caller owns *ret and frees it with http_server_free(). 0;
 * -errno with one line: a library is missing (-ENOENT), no such address, port in use, the errors of
 * http_tls_read() and http_tls_check().
 */
int http_server_start(const char *address, uint16_t port, const struct http_options *options,
	const struct http_callbacks *callbacks, void *ctx, struct http_server **ret, struct err *err);

/*
 * Reads the TLS files again; to be called periodically. If they have changed, new connections use the new
 * files and old connections are closed after their current response. 1 if the files have changed; 0; -errno
 * as from http_server_start(), and the server continues with the old files.
 */
int http_server_renew(struct http_server *s, struct err *err);

/* Finishes current responses, closes every connection and ends the threads. Accepts NULL. */
void http_server_free(struct http_server *s);

static inline void http_server_freep(struct http_server **s)
{
	http_server_free(*s);
	*s = NULL;
}

/* When the server's certificate expires, in seconds since 1970; 0 without a readable certificate. Not
 * concurrently with http_server_renew(). */
int64_t http_server_certificate_until(const struct http_server *s);

/* The port the server listens on. */
uint16_t http_server_port(const struct http_server *s);

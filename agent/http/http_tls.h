/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The server's side of TLS: certificate, key and the CA of its clients, from PEM files. The only file that includes
 * GnuTLS is http_tls.c; libmicrohttpd uses that library too, and it is loaded when a server with TLS starts.
 */
#include <stdbool.h>

#include "common/err.h"
#include "common/strbuf.h"

/* Paths of PEM files, each NULL where there is none. */
struct http_tls_files {
	const char *certificate; /* and what leads to the root; NULL = plain HTTP */
	const char *key;
	const char *client_ca; /* who may sign a client's certificate; NULL = clients need none */
};

/* What is in them; empty where there is no file. */
struct http_tls {
	struct strbuf certificate, key, client_ca;
};

void http_tls_init(struct http_tls *t);
void http_tls_release(struct http_tls *t);

/*
 * Read the files into `t`, which is initialized. Without a certificate `t` stays empty. 0; -EINVAL: a certificate
 * without a key, or the other way round, or a client CA without both; as fs_read(). The error names the file.
 */
int http_tls_read(const struct http_tls_files *files, struct http_tls *t, struct err *err);

bool http_tls_equal(const struct http_tls *a, const struct http_tls *b);

/* Whether they can be used together. 0; -EINVAL with one line that names the files; -ENOENT: no GnuTLS. */
int http_tls_check(const struct http_tls *t, const struct http_tls_files *files, struct err *err);

/*
 * Whether the client of a GnuTLS session (gnutls_session_t) has shown a certificate for clients that is valid now and
 * that the session's CA has signed.
 */
bool http_tls_client_is_known(void *session);

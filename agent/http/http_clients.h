/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Who is connected to an HTTP server: of too many the one that has been idle for the longest is hung up on, so that nobody keeps
 * the kubelet's probes out. For one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_CLIENTS_KEPT 48u
#define HTTP_CLIENTS_MAX  64u /* the library takes several before it ends one */

struct http_client {
	bool open;
	bool known; /* has shown a certificate that counts */
	int fd;     /* -1 = its end has begun */
	uint64_t number;
};

/* Zeroed there is none. */
struct http_clients {
	struct http_client items[HTTP_CLIENTS_MAX];
	size_t n; /* whose end has not begun */
	uint64_t n_uses;
};

/* A connection has begun; the oldest one may be ended. NULL = there are HTTP_CLIENTS_MAX that have not ended yet. */
struct http_client *http_clients_add(struct http_clients *c, int fd);

/* The client asks something that only schedulers ask: it is among the last to be hung up on. */
void http_clients_use(struct http_clients *c, struct http_client *client);

/* The connection has ended. */
void http_clients_remove(struct http_clients *c, struct http_client *client);

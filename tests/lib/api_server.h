/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A stand-in for the API server: HTTP on a free port of the loopback, each request answered by the next line
 * of a script and kept to be looked at. Each connection has a thread.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define API_SERVER_REQUESTS 32
#define API_SERVER_BODY     4096

/* Among the pieces of a body: the answer goes on at api_server_go_on(); the connection is closed within it. */
#define API_SERVER_WAIT "<wait>"
#define API_SERVER_CUT  "<cut>"

struct api_answer {
	int status;
	const char *body, *retry_after;
	const char *date; /* header Date; NULL = none */
	unsigned delay_ms;
	size_t padding;            /* bytes to send in place of the body */
	const char *const *pieces; /* in place of it: chunks up to NULL */
};

struct api_server {
	void *daemon;                    /* of libmicrohttpd */
	const struct api_answer *script; /* the last one is given again and again */
	size_t n_script, n_requests;
	size_t script_begins; /* with which request */
	uint16_t port;
	pthread_mutex_t lock; /* protects what follows, n_requests and what is kept of requests */
	pthread_cond_t changed;
	unsigned n_go_on; /* waits that may end */
	bool stopping;
	char method[API_SERVER_REQUESTS][8], url[API_SERVER_REQUESTS][160], type[API_SERVER_REQUESTS][48],
		body[API_SERVER_REQUESTS][API_SERVER_BODY];
	char query[API_SERVER_REQUESTS][256]; /* "limit=2&continue=x", unescaped */
	char dry_run[API_SERVER_REQUESTS][8]; /* the query's dryRun */
	char accept[128], agent[64], impersonate[64], group[64];
};

/* Fails the test when it cannot. `script` must outlive the server. */
void api_server_start(struct api_server *s, const struct api_answer *script, size_t n);

/* Start it again on the same port, with another script. What it has seen stays: `script` begins with the next request. */
void api_server_start_again(struct api_server *s, const struct api_answer *script, size_t n);

/* What it has seen stays; stopping it again is fine. Answers under way are cut off. */
void api_server_stop(struct api_server *s);

/* Wait until so many requests have come, 30 s at most: then the test fails. */
void api_server_wait(struct api_server *s, size_t n_requests);

/* One API_SERVER_WAIT ends, this or the next one. */
void api_server_go_on(struct api_server *s);

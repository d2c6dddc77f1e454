/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A stand-in for the API server: HTTP on a free port of the loopback, each request answered by the next line
 * of a script and kept to be looked at.
 */
#include <stddef.h>
#include <stdint.h>

#define API_SERVER_REQUESTS 16
#define API_SERVER_BODY     4096

struct api_answer {
	int status;
	const char *body, *retry_after;
	const char *date; /* header Date; NULL = none */
	unsigned delay_ms;
	size_t padding; /* bytes to send in place of the body */
};

struct api_server {
	void *daemon;                    /* of libmicrohttpd */
	const struct api_answer *script; /* the last one is given again and again */
	size_t n_script, n_requests;
	uint16_t port;
	char method[API_SERVER_REQUESTS][8], url[API_SERVER_REQUESTS][160], type[API_SERVER_REQUESTS][48],
		body[API_SERVER_REQUESTS][API_SERVER_BODY];
	char dry_run[API_SERVER_REQUESTS][8]; /* the query's dryRun */
	char accept[128], agent[64];
};

/* Fails the test when it cannot. `script` must outlive the server. */
void api_server_start(struct api_server *s, const struct api_answer *script, size_t n);

/* What it has seen stays; stopping it again is fine. */
void api_server_stop(struct api_server *s);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A gRPC server on a unix socket, in a thread of the test, that answers as it is told: well, badly or not at
 * all. It aborts when it cannot be set up.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What to do with one call. All zero is an empty message with status 0. */
struct grpc_answer {
	const char *raw; /* bytes for whoever connects, before a request is read; then the end */
	size_t raw_len;
	bool silent;             /* no answer at all */
	bool hang_up;            /* the connection is closed instead of an answer */
	bool refuse;             /* GOAWAY that leaves this call out; then the connection is closed */
	bool hang_up_after;      /* the connection is closed behind the answer */
	bool no_trailers;        /* the stream ends without a status */
	uint32_t reset;          /* the stream is reset with this code behind the message */
	const char *http_status; /* NULL = 200 */
	const char *type;        /* NULL = application/grpc */
	int status;              /* of gRPC; other than 0: no message, headers only */
	const char *text;        /* grpc-message, as it is sent; NULL = none */
	const void *message;
	size_t len;
	size_t declared;               /* length that the prefix tells; 0 = the true one */
	bool compressed;               /* the prefix says so */
	size_t chunk;                  /* bytes a DATA frame; 0 = as many as fit */
	void (*meanwhile)(void *data); /* called before it is answered; NULL = nothing */
	void *data;
};

struct grpc_server;

/* The n-th call, of any connection, gets answers[n % n_answers]; they must outlive the server. */
struct grpc_server *grpc_server_start(const char *path, const struct grpc_answer *answers, size_t n_answers);
/* End it; the socket's file stays. */
void grpc_server_stop(struct grpc_server *s);

/* How many connections there were, and calls. */
unsigned grpc_server_connections(const struct grpc_server *s);
unsigned grpc_server_calls(const struct grpc_server *s);
/* Method and bytes (with the prefix) of the last call that was answered: valid until the next one. */
const char *grpc_server_method(const struct grpc_server *s);
const void *grpc_server_request(const struct grpc_server *s, size_t *ret_len);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Makes gRPC calls over a unix socket, one at a time, by HTTP/2 without TLS. The only file that includes
 * nghttp2. Everything that the peer sends is checked: bad data ends a call with an error, never the
 * process.
 */
#include <stddef.h>

#include "common/err.h"
#include "common/strbuf.h"

struct cancel; /* common/io/thread.h */

/* The gRPC statuses that callers distinguish. */
enum grpc_status {
	GRPC_OK = 0,
	GRPC_UNKNOWN = 2,
	GRPC_DEADLINE_EXCEEDED = 4,
	GRPC_NOT_FOUND = 5,
	GRPC_RESOURCE_EXHAUSTED = 8,
	GRPC_UNIMPLEMENTED = 12,
	GRPC_UNAVAILABLE = 14,
};

/* A connection, kept between calls. */
struct grpc_channel;

/* Nothing is opened yet. `cancel` (NULL = none) must outlive the channel, and ends the current call.
 * 0; -ENAMETOOLONG (longer than a socket's path can be). */
int grpc_channel_new(const char *socket, const struct cancel *cancel, struct grpc_channel **ret);
/* A channel over `fd`, a connected stream socket that the channel closes and does not connect again. 0 or -errno. */
int grpc_channel_new_connected(int fd, struct grpc_channel **ret);
void grpc_channel_free(struct grpc_channel *c);
void grpc_channel_freep(struct grpc_channel **c);

struct grpc_reply {
	struct strbuf message; /* the reply's bytes, when status is GRPC_OK */
	int status;            /* enum grpc_status, or another number that gRPC defines */
	struct err text;       /* the peer's message for a status other than GRPC_OK */
};

#define GRPC_REPLY_INIT                                 \
	{                                               \
		.message = STRBUF_INIT(0), .status = -1 \
	}

void grpc_reply_release(struct grpc_reply *reply);

/*
 * Call `method` ("/package.Service/Method") with the `len` bytes of an encoded message, and wait for the
 * whole reply: at most `max_reply` bytes, at most `deadline_ms` milliseconds in all. A connection that the
 * peer has closed, or whose socket was replaced, is opened again first; such a call may be repeated, so it
 * must be idempotent. A call whose socket is replaced while it waits ends within a second.
 *
 * 0 when the peer answered, with any status. Otherwise one line in `err` that names the socket: -ENOENT (no
 * socket), -EACCES, -ECONNREFUSED (no listener), -ECONNRESET (the peer closed the connection), -ETIMEDOUT,
 * -ECANCELED, -EMSGSIZE (the reply exceeds the limit), -EPROTO (no gRPC server, or the reply is cut off);
 * *ret is then untouched.
 */
int grpc_call(struct grpc_channel *c, const char *method, const void *request, size_t len, size_t max_reply,
	unsigned deadline_ms, struct grpc_reply *ret, struct err *err);

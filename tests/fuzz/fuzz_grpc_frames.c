/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes from a peer: two calls over one connection, the first two bytes say where the second one's begin. */
#include "tests/fuzz/fuzz.h"

#include <sys/socket.h>
#include <unistd.h>

#include "agent/observe/grpc_unary.h"
#include "common/cleanup.h"

#define REPLY_MAX 4096u

/* Everything the peer says is there before the call, so nothing is waited for. */
static bool call(struct grpc_channel *channel, int peer, const uint8_t *data, size_t size)
{
	CLEANUP(grpc_reply_release) struct grpc_reply reply = GRPC_REPLY_INIT;
	struct err err = {""};

	if (send(peer, data, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return false;
	if (grpc_call(channel, "/v1.PodResourcesLister/List", "", 0, REPLY_MAX, 0, &reply, &err) < 0) {
		fuzz_check_line(err.text);
		fuzz_require(reply.status == -1 && reply.message.len == 0);
		return false;
	}
	fuzz_require(reply.status >= 0 && reply.message.len <= REPLY_MAX);
	fuzz_require(reply.status == GRPC_OK || reply.message.len == 0);
	if (*reply.text.text)
		fuzz_check_line(reply.text.text);
	return true;
}

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(grpc_channel_freep) struct grpc_channel *channel = NULL;
	size_t first;
	int fds[2];

	if (!fuzz_split(&data, &size, &first))
		return;
	fuzz_require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
	fuzz_require(grpc_channel_new_connected(fds[0], &channel) == 0);
	if (call(channel, fds[1], data, first))
		call(channel, fds[1], data + first, size - first);
	close(fds[1]);
}

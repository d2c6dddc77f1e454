/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_resources SOCKET LIST ALLOCATABLE [GATE]: a pod-resources server for the scripts beside it. Each List is answered with
 * the one message, the GetAllocatableResources behind it with the other; both are written as in tests/lib/wire.h. It
 * prints "ready" and serves until its standard input ends. While there is no file GATE, it does not answer.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/strbuf.h"
#include "tests/lib/grpc_server.h"
#include "tests/lib/wire.h"

static atomic_bool ends;

static void wait_for_gate(void *gate)
{
	while (access(gate, F_OK) < 0 && !ends)
		usleep(1000);
}

int main(int argc, char **argv)
{
	CLEANUP(strbuf_release) struct strbuf list = STRBUF_INIT(1u << 20);
	CLEANUP(strbuf_release) struct strbuf allocatable = STRBUF_INIT(1u << 20);
	struct grpc_answer answers[2];
	struct grpc_server *server;
	char byte;

	if (argc != 4 && argc != 5) {
		fprintf(stderr, "usage: pod_resources SOCKET LIST ALLOCATABLE [GATE]\n");
		return 2;
	}
	wire_add(&list, argv[2]);
	wire_add(&allocatable, argv[3]);
	answers[0] = (struct grpc_answer){.message = list.text, .len = list.len};
	answers[1] = (struct grpc_answer){.message = allocatable.text, .len = allocatable.len};
	for (size_t i = 0; i < 2 && argc == 5; i++) {
		answers[i].meanwhile = wait_for_gate;
		answers[i].data = argv[4];
	}
	server = grpc_server_start(argv[1], answers, 2);
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	ends = true;
	grpc_server_stop(server);
	return 0;
}

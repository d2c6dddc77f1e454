/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_pod_resources [SOCKET]: wall time of asking the pod-resources API over a kept connection, a node of
 * 250 pods that a server in this process plays; with SOCKET the server there, without a goal. A line each.
 */
#include <unistd.h>

#include "agent/observe/pod_resources.h"
#include "common/cleanup.h"
#include "tests/bench/bench.h"
#include "tests/lib/grpc_server.h"
#include "tests/lib/wire.h"

#define RUNS     200
#define PODS     250u
#define GOAL_MS  2.0
#define PAUSE_US 25000 /* below the rate limit of a real kubelet: 100 calls a second, two a reading */

/* Median of RUNS readings, after one that opens the connection; negative when one failed. */
static double measure(const char *socket, unsigned pause_us, size_t *ret_pods)
{
	CLEANUP(pod_resources_client_freep) struct pod_resources_client *client = NULL;
	double times[RUNS];
	struct err err = {""};

	if (pod_resources_client_new(socket, NULL, &client) < 0)
		return -1;
	for (int i = -1; i < RUNS; i++) {
		struct pod_resources p;
		double start = bench_ms();

		pod_resources_init(&p);
		if (pod_resources_read(client, NULL, &p, NULL, &err) < 0) {
			fprintf(stderr, "bench_pod_resources: %s\n", err.text);
			return -1;
		}
		if (i >= 0)
			times[i] = bench_ms() - start;
		*ret_pods = p.n_pods;
		pod_resources_release(&p);
		if (pause_us)
			usleep(pause_us);
	}
	return bench_median(times, RUNS);
}

/* What a node of such pods answers: about 24 kB. */
static void add_pods(struct strbuf *list)
{
	for (unsigned i = 0; i < PODS; i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);

		strbuf_addf(&text,
			"1{1'web-frontend-7d9c5b6f4-%05u' 2'production' 3{1'app' 3[%u %u] "
			"4{1'memory' 2:1073741824 3{1{1:%u}}} 2{1'vendor.com/nic' 2'%u' 3{1{1:%u}}}}}",
			i, 2 * i, 2 * i + 1, i % 2, i, i % 2);
		wire_add(list, text.text);
	}
}

static int bench_here(void)
{
	CLEANUP(strbuf_release) struct strbuf list = STRBUF_INIT(1u << 20);
	CLEANUP(strbuf_release) struct strbuf allocatable = STRBUF_INIT(1u << 20);
	struct grpc_answer answers[2] = {{.status = 0}};
	struct grpc_server *server;
	char path[64];
	size_t n_pods = 0;
	double ms;

	add_pods(&list);
	wire_add(&allocatable, "2[0 1 2 3] 3{1'memory' 2:1073741824 3{1{}}}");
	answers[0] = (struct grpc_answer){.message = list.text, .len = list.len};
	answers[1] = (struct grpc_answer){.message = allocatable.text, .len = allocatable.len};
	snprintf(path, sizeof(path), "/tmp/nrtd-bench-%d", (int)getpid());
	server = grpc_server_start(path, answers, 2);
	ms = measure(path, 0, &n_pods);
	grpc_server_stop(server);
	unlink(path);
	if (ms < 0 || n_pods != PODS)
		return 1;
	printf("pod-resources API, %u pods, %zu bytes: %.2f ms (goal %.0f ms, %s)\n", PODS, list.len, ms,
		GOAL_MS, ms <= GOAL_MS ? "ok" : "missed");
	return 0;
}

int main(int argc, char **argv)
{
	size_t n_pods = 0;
	double ms;

	if (argc < 2)
		return bench_here();
	ms = measure(argv[1], PAUSE_US, &n_pods);
	if (ms < 0)
		return 1;
	printf("pod-resources API at %s, %zu pods: %.2f ms\n", argv[1], n_pods, ms);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A node with a kubelet: policies by file and by flag, one container with CPUs, memory and a device, another pod
 * with nothing, and of three devices two free. Both sources say it.
 */
#include <stdatomic.h>

#include "agent/observe/observe.h"
#include "common/strbuf.h"
#include "tests/lib/grpc_server.h"

#define HEAD "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
#define CONFIG \
	HEAD "cpuManagerPolicy: static\nmemoryManagerPolicy: Static\ntopologyManagerPolicy: restricted\n"
#define COMMAND "kubelet\0--config=/etc/k.yaml\0--topology-manager-policy=single-numa-node\0--reserved-cpus=0"
#define NODE_0  "3{1{}}"
#define NODE_1  "3{1{1:1}}"
#define REST    "4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31"

/* What the API lists, and what it could allocate. */
extern const char world_list[], world_allocatable[];

/* Calls of the API are answered one by one, each when the test says so. */
struct gate {
	struct strbuf later; /* an answer for later */
	atomic_uint n_called, n_answered, n_allowed;
};

struct world {
	char *dir, *socket;
	struct gate gate;
	struct sources sources;
	struct observe_config config;
	struct grpc_server *server;
	struct strbuf replies[2];
	struct grpc_answer answers[2];
	/* The last observation: the object, the notes. */
	struct strbuf object, notes;
	bool settings_kept, api_kept;
};

/* No file has a later time yet. time(NULL) lags behind by up to a tick of the kernel, and files may have either time. */
time_t world_now(void);
void world_write_state(const struct world *w, const char *pool, const char *entries);
void world_write_kubelet(const struct world *w, const char *command, size_t len, unsigned start, int age);
void world_end_kubelet(const struct world *w);
void world_remove_cpu_state(const struct world *w);
void world_make_old(const struct world *w, const char *name);
void world_serve(struct world *w, const char *pods, const char *could_be);
void world_stop_serving(struct world *w);
int world_setup(void **state);
int world_teardown(void **state);
void world_look_with(struct world *w, struct sources *sources);
void world_look(struct world *w);
void world_assert_has(const struct strbuf *text, const char *part);
void world_assert_whole(const struct world *w);

/* `data` is the world: another kubelet with other settings replaces the first. */
void world_start_another(void *data);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Limits the CPU time per scheduler request and per namespace.
 *
 * One user's expensive pods therefore do not delay the pods of other users.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/io/time.h"

/* ---- per namespace */

#define WORK_NAMESPACES 64u

/* Namespaces whose requests reached the limit recently. */
struct work_namespaces {
	struct {
		uint64_t hash;       /* of the name */
		uint64_t expires_ms; /* the entry may be reused then */
		struct budget budget;
	} items[WORK_NAMESPACES];
	struct budget all; /* shared by all namespaces */
};

/* Whether a request of the namespace may compute results, or must be answered from cached results. `now_ms`: CLOCK_BOOTTIME. */
bool work_namespaces_may(const struct work_namespaces *n, const char *name, uint64_t now_ms);

/* Charges the namespace for a request that reached its limit after cpu_ms of CPU time. In the long run such requests
 * get 1/20 of a CPU per namespace, and 1/4 of a CPU for all namespaces together. */
void work_namespaces_note(struct work_namespaces *n, const char *name, uint64_t now_ms, uint64_t cpu_ms);

/* ---- all requests */

/* Requests with more nodes get a proportionally higher limit. */
#define WORK_NODES          500u
#define WORK_LOGGED_CLASSES 64u

/* A zeroed struct has seen no request. */
struct work_history {
	struct work_namespaces namespaces;
	uint64_t logged_classes
		[WORK_LOGGED_CLASSES]; /* numbers of the pod classes last logged; a ring buffer */
	size_t n_logged;
	uint64_t next_log_ms; /* the earliest time of the next log line */
};

struct work_request {
	const char *namespace, *name; /* of the pod */
	size_t n_nodes;
	uint64_t begun_ns; /* work_now_ns() before the request was parsed */
};

/* The limit of a request; `limit_ms` 0 = no limit. Parsing counts, but at least half of the limit remains for the nodes. */
struct work_limit work_begin(const struct work_history *history, const struct work_request *request,
	uint64_t limit_ms, uint64_t now_ms);

/* To be called after each request. If the request reached its limit, charges the namespace, unless the request had only cached results, and logs
 * how many nodes are not judged yet (`unreached`): one line per pod class, and at most one line per 10 s. */
void work_end(struct work_history *history, const struct work_request *request,
	const struct work_limit *limit, uint64_t class_number, size_t unreached, uint64_t now_ms);

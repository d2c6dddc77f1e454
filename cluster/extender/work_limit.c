/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/extender/work_limit.h"

#include <string.h>

#include "common/hash.h"
#include "common/log.h"

#define SHARE     20u /* a namespace gets 1/SHARE of a CPU */
#define SHARE_ALL 4u  /* all namespaces together get 1/SHARE_ALL */
#define BURST \
	8u /* requests per namespace before the shares apply: the first requests of ordinary pods may reach the limit */
#define BURST_ALL 32u

#define REMEMBERED_MS   60000u
#define LOG_INTERVAL_MS 10000u

static uint64_t hash_of(const char *name)
{
	return hash_bytes(name, strlen(name), 0);
}

bool work_namespaces_may(const struct work_namespaces *n, const char *name, uint64_t now_ms)
{
	uint64_t hash = hash_of(name);

	for (size_t i = 0; i < WORK_NAMESPACES; i++) {
		if (n->items[i].hash == hash && n->items[i].expires_ms > now_ms)
			return budget_at(&n->items[i].budget) <= now_ms && budget_at(&n->all) <= now_ms;
	}
	return true;
}

void work_namespaces_note(struct work_namespaces *n, const char *name, uint64_t now_ms, uint64_t cpu_ms)
{
	uint64_t hash = hash_of(name);
	size_t at = 0;

	/* The namespace's entry, or the least recently noted entry. */
	for (size_t i = 0; i < WORK_NAMESPACES; i++) {
		if (n->items[i].hash == hash) {
			at = i;
			break;
		}
		if (n->items[i].expires_ms < n->items[at].expires_ms)
			at = i;
	}
	if (n->items[at].hash != hash)
		n->items[at].budget = (struct budget){0};
	n->items[at].hash = hash;
	n->items[at].expires_ms = now_ms + REMEMBERED_MS;
	n->items[at].budget.burst = BURST;
	n->items[at].budget.interval_ms = SHARE * cpu_ms;
	budget_take(&n->items[at].budget, now_ms);
	n->all.burst = BURST_ALL;
	n->all.interval_ms = SHARE_ALL * cpu_ms;
	budget_take(&n->all, now_ms);
}

/* ---- all requests */

struct work_limit work_begin(const struct work_history *history, const struct work_request *request,
	uint64_t limit_ms, uint64_t now_ms)
{
	uint64_t limit = limit_ms * 1000000, until, least;

	if (limit == 0)
		return (struct work_limit){0};
	if (request->n_nodes > WORK_NODES)
		limit = limit * request->n_nodes / WORK_NODES;
	until = request->begun_ns + limit;
	least = work_now_ns() + limit / 2; /* half of the limit after the request was parsed */
	return (struct work_limit){.until_ns = until > least ? until : least,
		.cached_only = !work_namespaces_may(&history->namespaces, request->namespace, now_ms)};
}

static bool is_logged(const struct work_history *history, uint64_t class_number)
{
	for (size_t i = 0; i < WORK_LOGGED_CLASSES; i++)
		if (history->logged_classes[i] == class_number)
			return true;
	return false;
}

void work_end(struct work_history *history, const struct work_request *request,
	const struct work_limit *limit, uint64_t class_number, size_t unreached, uint64_t now_ms)
{
	if (!limit->reached)
		return;
	/* A request with only cached results has used almost no CPU time: charging it would keep the namespace above its share for as long as its pods
	 * are retried. */
	if (!limit->cached_only)
		work_namespaces_note(&history->namespaces, request->namespace, now_ms,
			(work_now_ns() - request->begun_ns) / 1000000 + 1);
	if (now_ms < history->next_log_ms || is_logged(history, class_number))
		return;
	history->logged_classes[history->n_logged++ % WORK_LOGGED_CLASSES] = class_number;
	history->next_log_ms = now_ms + LOG_INTERVAL_MS;
	log_warning("pod '%s/%s': reached the CPU time limit per %s: %zu of %zu nodes are not judged yet",
		request->namespace, request->name, limit->cached_only ? "namespace" : "request", unreached,
		request->n_nodes);
}

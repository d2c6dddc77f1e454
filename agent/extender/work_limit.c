/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/work_limit.h"

#include <string.h>
#include <time.h>

#include "agent/base/hash.h"

#define SHARE     20u /* a namespace gets 1/SHARE of a CPU */
#define SHARE_ALL 4u  /* all namespaces together get 1/SHARE_ALL */
#define BURST     8u  /* requests before the shares apply: even ordinary first requests may reach the limit */
#define BURST_ALL 32u

#define REMEMBERED_MS 60000u

uint64_t work_limit_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool work_limit_has_time(struct work_limit *w)
{
	bool has_time = w->until_ns == 0 || (!w->cached_only && work_limit_now_ns() < w->until_ns);

	w->reached = w->reached || !has_time;
	return has_time;
}

bool work_limit_goes_on(struct work_limit *w)
{
	return (!w->advanced && !w->cached_only) || work_limit_has_time(w);
}

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

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/publish/contention.h"

#define REWRITES_MAX 2u

bool contention_seen(struct contention *c, const char *rival)
{
	if (!strcmp(c->rival, rival))
		return false;
	snprintf(c->rival, sizeof(c->rival), "%s", rival);
	return true;
}

void contention_rewritten(struct contention *c, const char *rival, uint64_t now_ms)
{
	snprintf(c->rival, sizeof(c->rival), "%s", *rival ? rival : "(unknown)");
	if (now_ms - c->last_ms > CONTENTION_WINDOW_MS)
		c->rewrites = 0;
	c->rewrites++;
	c->last_ms = now_ms;
	c->held = c->trial || c->rewrites >= REWRITES_MAX;
}

void contention_refresh(struct contention *c, uint64_t now_ms)
{
	if (c->held) {
		c->held = false;
		c->trial = true;
	} else if (!c->rewrites || now_ms - c->last_ms > CONTENTION_WINDOW_MS) {
		*c = (struct contention){0};
	}
}

uint64_t contention_look_at(const struct contention *c, uint64_t at_ms)
{
	return c->rival[0] && !c->held ? at_ms + CONTENTION_LOOK_MS : UINT64_MAX;
}

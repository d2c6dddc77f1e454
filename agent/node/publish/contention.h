/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Another program writes what nrtd writes: when nrtd gives way. No I/O.
 *
 * Two exporters of one object overwrite each other without end, and each write wakes every scheduler. So nrtd gives way
 * once what it wrote was rewritten twice within ten minutes: it writes no more until the next refresh, then tries once,
 * and gives way again at the first rewrite. Ten minutes without a rewrite end it.
 */
#include <stdbool.h>
#include <stdint.h>

#define CONTENTION_WINDOW_MS 600000u /* two rewrites in this time are one too many */
#define CONTENTION_LOOK_MS   15000u  /* while another writer is suspected the object is looked at so often */

struct contention {
	char rival[80];    /* who else writes, "" = nobody known */
	unsigned rewrites; /* of what nrtd wrote, since it was last untouched */
	uint64_t last_ms;  /* the last of them */
	bool held;         /* nrtd gives way */
	bool trial;        /* it did, and tries again */
};

/* `rival` wrote the object before nrtd did. Returns whether that is news. */
bool contention_seen(struct contention *c, const char *rival);

/* What nrtd wrote was rewritten by `rival`, as found at `now_ms`. */
void contention_rewritten(struct contention *c, const char *rival, uint64_t now_ms);

/* A refresh begins: everything that was held back may be tried again. */
void contention_refresh(struct contention *c, uint64_t now_ms);

/* When to look whether the object, as last written or looked at at `at_ms`, is still nrtd's; UINT64_MAX = there is no
 * reason to. */
uint64_t contention_look_at(const struct contention *c, uint64_t at_ms);

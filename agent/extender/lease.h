/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Which of several replicas answers: a Lease of coordination.k8s.io/v1, as client-go's leader election uses it.
 * Decisions are made by CLOCK_BOOTTIME of this process, which never goes back and counts the time in which the machine was
 * suspended: when another replica was seen
 * to renew, not what time it wrote. Depends on agent/base/json.h and agent/publish/api_client.h.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/publish/credentials.h"
#include "common/err.h"

struct lease_options {
	const char *namespace, *name; /* of the Lease object; valid names */
	const char *identity;         /* of this process, another one in each: HOST_NUMBER */
	const char *url; /* where it answers, which the Lease says behind the identity; NULL = it does not */
	unsigned duration_s; /* after which another replica may take it; 0 = 15 */
	unsigned
		deadline_ms; /* without a renewal, after which it is not held any more; 0 = two thirds of that */
	unsigned retry_ms;            /* between two steps; 0 = 2000 */
	int64_t (*clock)(void *data); /* milliseconds that never go back; NULL = CLOCK_BOOTTIME */
	void *clock_data;
};

struct lease;

/*
 * With credentials and a client of its own; nothing is sent yet. The texts are copied; `cancel` lives until
 * lease_free() and ends requests under way when raised. *ret is the caller's. 0; what credentials_new() and
 * api_client_new() return.
 */
int lease_new(const struct lease_options *options, const struct credentials_options *credentials,
	const atomic_bool *cancel, struct lease **ret, struct err *err);
void lease_free(struct lease *l);

static inline void lease_freep(struct lease **l)
{
	lease_free(*l);
	*l = NULL;
}

struct lease_state {
	bool held;
	int64_t call_again_ms; /* by the clock */
	const char *holder;    /* as last seen, "" = nobody; valid until the next step */
	const char
		*url; /* where another one that holds it now answers; NULL = none does, or it does not say */
};

/*
 * Acquire it where it is free or has expired, renew it where it is held. One that a process of the same host and url holds
 * is free: its port is this one's by now. Blocks for at most half of the deadline for
 * each of three requests. `ret` is always filled. 0; -errno with one line when the API server does not answer
 * or refuses: it may still be held.
 */
int lease_step(struct lease *l, struct lease_state *ret, struct err *err);

/* Whether it is held at this moment, from any thread. It ends by itself, before another replica may take it. */
bool lease_held(const struct lease *l);

/* Give it up, so that another replica takes it at once. Blocks for 1 s at most, *cancel raised or not. 0 when it was
 * not held. */
int lease_give_up(struct lease *l, struct err *err);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Elects one replica as the leader, through a Lease of coordination.k8s.io/v1 as in client-go.
 *
 * As in client-go, expiry counts from the local time at which a renewal was observed, not from the time in
 * the Lease. The clock is CLOCK_BOOTTIME, which is monotonic and includes suspend. Depends on
 * common/io/json.h and common/kube/api_client.h.
 */
#include <stdbool.h>
#include <stdint.h>

#include "common/doc.h"
#include "common/err.h"
#include "common/kube/credentials.h"

struct lease_options {
	const char *namespace, *name; /* of the Lease object; valid names */
	const char *identity;         /* unique per process: HOST_NUMBER */
	const char *url; /* this replica's URL for clients, published in the Lease; NULL = not published */
	unsigned duration_s; /* another replica may take over after this time without renewal; 0 = 15 */
	/* This replica stops holding the lease after this time without renewal; 0 = 2/3 of duration_s. */
	unsigned deadline_ms;
	unsigned retry_ms;            /* between steps; 0 = 2000 */
	int64_t (*clock)(void *data); /* monotonic milliseconds; NULL = CLOCK_BOOTTIME */
	void *clock_data;
	/*
	 * Called before each write by which this replica acquires or renews the Lease: adds annotations to `ret`, an empty
	 * map. `before`: the annotations that the Lease has, NULL = none. NULL = the annotations do not change.
	 */
	void (*annotate)(void *data, const struct doc *before, struct doc *ret);
	void *annotate_data;
};

struct lease;

/*
 * Creates a lease with its own credentials and client; sends nothing yet. Copies the texts. `cancel` must
 * live until lease_free(), and ends requests. The caller owns *ret. 0; the errors of
 * credentials_new() and api_client_new().
 */
int lease_new(const struct lease_options *options, const struct credentials_options *credentials,
	const struct cancel *cancel, struct lease **ret, struct err *err);
void lease_free(struct lease *l);

static inline void lease_freep(struct lease **l)
{
	lease_free(*l);
	*l = NULL;
}

struct lease_state {
	bool held;
	int64_t call_again_ms; /* by the clock */
	const char *holder;    /* as last observed, "" = none; valid until the next step */
	const char *url; /* of another replica that holds the lease now; NULL = none, or not published */
};

/*
 * Acquires the lease if it is free or expired, or renews it if it is held. A lease held by a process of the
 * same host and URL counts as free: this process has replaced that process. Blocks for at most half of the
 * deadline for each of three requests. Always fills `ret`. 0; -errno with one line when the API server does
 * not respond or denies the request: the lease may still be held.
 */
int lease_step(struct lease *l, struct lease_state *ret, struct err *err);

/* Whether this replica holds the lease now; from any thread. Becomes false before another replica may take
 * over. */
bool lease_held(const struct lease *l);

/* Releases the lease, so that another replica takes over immediately. Blocks for at most 1 s, even if *cancel
 * is set. 0 also if the lease was not held. */
int lease_step_down(struct lease *l, struct err *err);

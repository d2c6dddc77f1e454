/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Writes the nominations of a server to the API server, in a thread of its own.
 */
#include "cluster/extender/server.h"
#include "common/err.h"
#include "common/io/thread.h"
#include "common/kube/credentials.h"

struct nominator;

/* `server` and `cancel` must outlive the nominator. The caller owns *ret. 0; the errors of credentials_new() and api_client_new(); -errno when no
 * thread can be started. */
int nominator_new(struct server *server, const struct credentials_options *credentials,
	const struct cancel *cancel, struct nominator **ret, struct err *err);

/* Waits for the end of the thread; request the cancellation first. Accepts NULL. */
void nominator_free(struct nominator *n);

static inline void nominator_freep(struct nominator **n)
{
	nominator_free(*n);
	*n = NULL;
}

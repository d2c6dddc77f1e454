/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * nrtd extender: the API server watched, or a file read, and schedulers answered.
 */
#include <stdatomic.h>

#include "agent/daemon/http.h"
#include "agent/extender/server.h"
#include "agent/publish/credentials.h"
#include "common/err.h"

#define EXTENDER_LISTEN_DEFAULT "127.0.0.1:8096"

/* Texts are borrowed. */
struct extender_config {
	struct server_config service;
	const char *nrt; /* the objects are in this file; NULL = on the API server */
	struct credentials_options credentials;
	struct http_listen http;
	struct http_tls_files tls;
	const char *lease_namespace,
		*lease_name; /* of the Lease that one replica holds; NULL = there is none */
	const char *
		advertise; /* the address at which schedulers reach this replica; NULL = where it listens, if others reach that */
};

/*
 * Run until SIGTERM or SIGINT, which wait since loop_hold_signals(). `cancel` is set then, and requests under way give
 * up. 0, or -errno with one line when it cannot start.
 */
int extender_run(const struct extender_config *config, atomic_bool *cancel, struct err *err);

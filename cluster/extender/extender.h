/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Runs nrtd-extender: watches the API server or reads a file, and serves scheduler requests.
 */
#include "cluster/extender/server.h"
#include "common/err.h"
#include "common/http/http.h"
#include "common/kube/credentials.h"

#define EXTENDER_LISTEN_DEFAULT "127.0.0.1:8096"

/* Texts are borrowed. */
struct extender_config {
	struct server_config server;
	const char *nrt; /* a file with the objects; NULL = watch the API server */
	struct credentials_options credentials;
	struct http_listen http;
	struct http_tls_files tls;
	const char *lease_namespace,
		*lease_name; /* of the leader election's Lease; NULL = a single replica */
	/* Where schedulers reach this replica; NULL = the listening address, unless wildcard or loopback. */
	const char *advertise;
};

/*
 * Runs until SIGTERM or SIGINT, which must be blocked by signals_hold(). 0, or -errno with one line if the extender cannot
 * start.
 */
int extender_run(const struct extender_config *config, struct err *err);

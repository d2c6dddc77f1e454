/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Connects kubectl-numa to the API server that the command's flags name, as kubectl does.
 */
#include "cli/opts.h"
#include "common/kube/api_client.h"

struct connection {
	struct credentials *credentials;
	struct api_client *client;
	unsigned idle_ms; /* --request-timeout: longest pause within a list; 0 = the default */
	const char *groups[OPTIONS_MAX_REPEATED + 1]; /* --as-group */
};

/*
 * Opens the connection, at its final address, without sending a request. The caller releases it, also after an error. 0; -EINVAL for flags that
 * exclude each other; otherwise the errors of credentials_new().
 */
int connection_open(const struct options *options, struct connection *c, struct err *err);
void connection_release(struct connection *c);

/* If the status of a response is HTTP_FORBIDDEN, adds to its message what grants the right. */
void connection_explain_denial(int status, struct err *err);

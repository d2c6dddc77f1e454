/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/numa/connection.h"

#include <errno.h>

#include "cli/opts_check.h"

#define OBJECT_MAX ((size_t)64 << 20)

/* --request-timeout; 0 = not given: the client's default. As for kubectl "0" is no timeout: 24 days, the longest deadline of
 * libcurl. */
static unsigned timeout_of(const struct options *o)
{
	uint64_t ms;

	if (!option_set(o, OPT_REQUEST_TIMEOUT))
		return 0;
	ms = option_timeout_ms(o, OPT_REQUEST_TIMEOUT);
	return ms == 0 || ms > INT32_MAX ? INT32_MAX : (unsigned)ms;
}

static int connection_check_flags(const struct options *o, struct err *err)
{
	if (option_set(o, OPT_AS_GROUP) && !option_set(o, OPT_AS))
		return err_set(err, -EINVAL, "%s requires --as", o->origin[OPT_AS_GROUP]);
	if (option_set(o, OPT_INSECURE_SKIP_TLS_VERIFY) && option_set(o, OPT_CERTIFICATE_AUTHORITY))
		return err_set(err, -EINVAL, "%s and %s exclude each other",
			o->origin[OPT_INSECURE_SKIP_TLS_VERIFY], o->origin[OPT_CERTIFICATE_AUTHORITY]);
	return 0;
}

int connection_open(const struct options *options, struct connection *c, struct err *err)
{
	const struct options *o = options;
	const struct credentials_options credentials = {
		.api_server = o->value[OPT_API_SERVER],
		.kubeconfig = o->value[OPT_KUBECONFIG],
		.context = o->value[OPT_CONTEXT],
		.cluster = o->value[OPT_CLUSTER],
		.user = o->value[OPT_USER],
		.token = o->value[OPT_TOKEN],
		.ca_file = o->value[OPT_CERTIFICATE_AUTHORITY],
		.certificate_file = o->value[OPT_CLIENT_CERTIFICATE],
		.key_file = o->value[OPT_CLIENT_KEY],
		.tls_server_name = o->value[OPT_TLS_SERVER_NAME],
		.insecure = option_set(o, OPT_INSECURE_SKIP_TLS_VERIFY),
		.home = true,
	};
	struct api_client_options client = {.reply_max = OBJECT_MAX,
		.total_ms = timeout_of(o),
		.impersonate = o->value[OPT_AS],
		.impersonate_groups = c->groups};
	int r = connection_check_flags(o, err);

	if (r < 0)
		return r;
	options_all(o, OPT_AS_GROUP, c->groups);
	c->idle_ms = client.total_ms;
	r = credentials_new(&credentials, &c->credentials, err);
	return r < 0 ? r : api_client_new(c->credentials, &client, &c->client, err);
}

void connection_release(struct connection *c)
{
	api_client_free(c->client);
	credentials_free(c->credentials);
}

void connection_explain_denial(int status, struct err *err)
{
	struct err why;

	if (status != HTTP_FORBIDDEN || !err)
		return;
	why = *err;
	err_set(err, 0,
		"%s; the ClusterRole kubectl-numa of packaging/kubernetes/rbac-users.yaml grants the right",
		why.text);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/publish/target_api.h"

void target_api_release(struct target_api *t)
{
	publisher_free(t->publisher);
	api_client_free(t->client);
	credentials_free(t->credentials);
	*t = (struct target_api){0};
}

int target_api_open(
	const struct publish_config *config, const char *node_name, struct target_api *ret, struct err *err)
{
	const struct api_client_options how = {.cancel = config->cancel};
	const struct publisher_options what = {.node_name = node_name,
		.refresh_ms = config->refresh_ms,
		.node_interval_ms = config->node_interval_ms,
		.node_burst = config->node_burst,
		.numatopology_if_served = config->numatopology_if_served};
	int r = credentials_new(&config->credentials, &ret->credentials, err);

	if (r == 0)
		r = api_client_new(ret->credentials, &how, &ret->client, err);
	if (r == 0)
		r = publisher_new(ret->client, &what, &ret->publisher, err);
	return r;
}

static int publish(void *ctx, const struct publish_request *request, uint64_t now_ms,
	struct publish_result *ret, struct err *err)
{
	const struct target_api *t = ctx;
	int r = publisher_publish(t->publisher, request, now_ms, ret, err);

	ret->certificate_until_s = api_client_certificate_until(t->client);
	return r;
}

static void forget(void *ctx)
{
	const struct target_api *t = ctx;

	publisher_forget(t->publisher);
}

struct target target_api(struct target_api *t)
{
	return (struct target){.ctx = t, .publish = publish, .forget = forget};
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/api_target.h"

#include "common/duration.h"

void api_target_release(struct api_target *t)
{
	publisher_free(t->publisher);
	api_client_free(t->client);
	credentials_free(t->credentials);
	*t = (struct api_target){0};
}

struct credentials_options api_target_credentials(const struct options *options)
{
	return (struct credentials_options){.api_server = options->value[OPT_API_SERVER],
		.kubeconfig = options->value[OPT_KUBECONFIG],
		.context = options->value[OPT_CONTEXT]};
}

static uint64_t milliseconds(const struct options *options, enum option_id id)
{
	uint64_t ms = 0;

	if (options->value[id])
		duration_parse(options->value[id], &ms, NULL); /* checked with the flags */
	return ms;
}

int api_target_open(const struct options *options, const char *node_name, const atomic_bool *cancel,
	struct api_target *ret, struct err *err)
{
	const struct credentials_options who = api_target_credentials(options);
	const struct api_client_options how = {.cancel = cancel};
	const struct publisher_options what = {.node_name = node_name,
		.refresh_ms = milliseconds(options, OPT_REFRESH),
		.node_interval_ms = milliseconds(options, OPT_NODE_WRITE_INTERVAL)};
	int r = credentials_new(&who, &ret->credentials, err);

	if (r == 0)
		r = api_client_new(ret->credentials, &how, &ret->client, err);
	if (r == 0)
		r = publisher_new(ret->client, &what, &ret->publisher, err);
	return r;
}

static int publish(void *ctx, const struct publish_request *request, uint64_t now_ms,
	struct publish_result *ret, struct err *err)
{
	return publisher_publish(ctx, request, now_ms, ret, err);
}

static void forget(void *ctx)
{
	publisher_forget(ctx);
}

struct target api_target(struct api_target *t)
{
	return (struct target){.ctx = t->publisher, .publish = publish, .forget = forget};
}

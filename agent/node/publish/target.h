/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Where the object and the Node's metadata go: the API server or standard output.
 */
#include "agent/node/publish/publish.h"

struct target {
	void *ctx;
	int (*publish)(void *ctx, const struct publish_request *request, uint64_t now_ms,
		struct publish_result *ret, struct err *err);
	void (*forget)(void *ctx); /* what was written is not known any more */
};

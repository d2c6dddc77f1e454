/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The API server as a target: credentials, client and publisher in one.
 */
#include <stdatomic.h>

#include "agent/node/publish/target.h"

struct publish_config {
	struct credentials_options credentials;
	uint64_t refresh_ms, node_interval_ms; /* see struct publisher_options */
	unsigned node_burst;                   /* see there */
	bool numatopology_if_served;           /* see there */
	const atomic_bool *cancel;             /* ends requests under way when raised; NULL = never */
};

struct target_api {
	struct credentials *credentials;
	struct api_client *client;
	struct publisher *publisher;
};

void target_api_release(struct target_api *t);

/* Open it for this node; nothing is sent yet. 0 or -errno with one line; `ret` (zeroed) is released by the
 * caller in any case. */
int target_api_open(
	const struct publish_config *config, const char *node_name, struct target_api *ret, struct err *err);

struct target target_api(struct target_api *t);

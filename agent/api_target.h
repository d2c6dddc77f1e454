/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * api_target: the API server as a command's flags name it: credentials, client and publisher in one.
 */
#include <stdatomic.h>

#include "agent/opts.h"
#include "agent/reconcile.h"

struct api_target {
	struct credentials *credentials;
	struct api_client *client;
	struct publisher *publisher;
};

void api_target_release(struct api_target *t);

/* Open it for this node; nothing is sent yet. `cancel` (NULL = never) ends requests under way. 0 or -errno
 * with one line; `ret` (zeroed) is released by the caller in any case. */
int api_target_open(const struct options *options, const char *node_name, const atomic_bool *cancel,
	struct api_target *ret, struct err *err);

/* Who nrtd is to the API server, as the flags say. */
struct credentials_options api_target_credentials(const struct options *options);

struct target api_target(struct api_target *t);

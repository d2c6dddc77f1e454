/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Writes the objects and the Node's metadata to the API server or to standard output.
 */

#include "agent/publish/publish.h"

struct cancel; /* common/io/thread.h */

struct target {
	void *ctx;
	int (*publish)(void *ctx, const struct publish_request *request, uint64_t now_ms,
		struct publish_result *ret, struct err *err);
	void (*forget)(void *ctx); /* forgets what was written */
	/* As publisher_write_event(). NULL = the target takes no Events. */
	enum publish_outcome (*write_event)(void *ctx, const struct node_event *event, uint64_t now_ms,
		uint64_t *ret_again_ms, struct err *err);
};

/* ---- the API server */

struct publish_config {
	struct credentials_options credentials;
	uint64_t refresh_ms, node_interval_ms; /* as in struct publisher_options */
	unsigned node_burst;
	bool events, numatopology_if_served, keep_taint;
	const struct cancel *cancel; /* ends the current request; NULL = never */
};

struct target_api {
	struct credentials *credentials;
	struct api_client *client;
	struct publisher *publisher;
};

void target_api_release(struct target_api *t);

/* Creates credentials, client and publisher for this node; sends nothing yet. 0 or -errno with one line; in
 * both cases the caller releases `ret`, which must be zeroed. */
int target_api_open(
	const struct publish_config *config, const char *node_name, struct target_api *ret, struct err *err);

struct target target_api(struct target_api *t);

/* ---- standard output: one YAML document per change, of each object, of the Node's metadata and of each pod's
 * annotation */

struct target_stdout {
	const char *node_name;
	uint64_t nrt, node, numatopology; /* hashes of the last printed documents, 0 = none */
	struct pods_written pods;
};

void target_stdout_release(struct target_stdout *state);

struct target target_stdout(struct target_stdout *state);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A publisher for node-a against a scripted API server (api_server.h).
 */

#include "agent/publish/publish.h"
#include "common/io/thread.h"
#include "tests/lib/api_server.h"

/* What a test holds: the server and a publisher that speaks to it. */
struct bench {
	struct api_server server;
	struct credentials *credentials;
	struct api_client *client;
	struct publisher *publisher;
	struct cancel cancel;
	uint64_t random;
	uint64_t now_ms, took_ms; /* of the call under way, and what its requests take */
	char url[64];
};

void bench_open(struct bench *b, const struct api_answer *script, size_t n);
void bench_close(struct bench *b);

/* In place of the publisher: one with these options, with the bench's name, chance and clock. */
void bench_renew(struct bench *b, struct publisher_options options);

/* One call with an object of this content hash and these annotations (JSON, NULL = none). */
int bench_publish(struct bench *b, const char *hash, const char *annotations, uint64_t now_ms,
	struct publish_result *ret, struct err *err);

/* The same with a Numatopology whose spec is this text. */
int bench_publish_numatopology(
	struct bench *b, const char *spec, uint64_t now_ms, struct publish_result *ret, struct err *err);

/* One call, which ends as this. */
void bench_expect(struct bench *b, const char *hash, uint64_t now_ms, int r, enum publish_outcome nrt,
	enum publish_outcome node, uint64_t again_ms);

/* The document of a JSON text. */
struct doc bench_doc(const char *text);

#define NODE(uid, annotations) \
	"{\"kind\":\"Node\",\"metadata\":{\"uid\":\"" uid "\",\"annotations\":{" annotations "}}}"
#define STATUS(message) "{\"kind\":\"Status\",\"message\":\"" message "\"}"

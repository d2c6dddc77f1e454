/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the API server's answer to a write or read means, and what a person has to do about it. No I/O. */
#include "agent/publish.h"

/*
 * The outcome of an answer with this status code and body (a Status object, or whatever stands between us and
 * the server sends). PUBLISH_WRITTEN for 2xx; else one line in `err` that says what is missing or wrong and
 * what to apply.
 */
enum publish_outcome publish_answer(enum publish_target target, const char *node_name, int status,
	const char *body, size_t len, struct err *err);

/* The outcome of a request that got no answer: `r` is what api_client_request() returned. */
enum publish_outcome publish_no_answer(int r);

/* The -errno that stands for an outcome that is none of success: -EAGAIN, -EACCES, ... 0 for the others. */
int publish_errno(enum publish_outcome outcome);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the API server's answer to a write or read means, and what a person has to do about it. No I/O. */
#include <stddef.h>

#include "common/err.h"

enum publish_object {
	PUBLISH_NRT,          /* the NodeResourceTopology object */
	PUBLISH_NODE,         /* the Node: its uid, its annotations and labels */
	PUBLISH_NUMATOPOLOGY, /* Volcano's Numatopology object */
	PUBLISH_OBJECT_COUNT
};

enum publish_outcome {
	PUBLISH_UNCHANGED,    /* what is there is what is wanted, nothing was sent */
	PUBLISH_DEFERRED,     /* to be written later: rate limit, backoff, or the NRT has to come first */
	PUBLISH_WRITTEN,      /* success */
	PUBLISH_UNREACHABLE,  /* no answer: refused, reset, no route, no such name, bad certificate */
	PUBLISH_TIMEOUT,      /* no answer in time */
	PUBLISH_CONFLICT,     /* 409, 410 */
	PUBLISH_THROTTLED,    /* 429 */
	PUBLISH_SERVER_ERROR, /* 5xx */
	PUBLISH_UNAUTHORIZED, /* 401: not known to the server, or credentials that are not available */
	PUBLISH_FORBIDDEN,    /* 403: known, but without the right */
	PUBLISH_NOT_FOUND,    /* 404: the CRD, or the Node, is not there */
	PUBLISH_REJECTED,     /* any other answer: the server does not take the object */
	PUBLISH_CONTENDED,    /* another program keeps rewriting it: nrtd gives way for a while */
	PUBLISH_CANCELLED,    /* the cancel flag of the client ended the request */
	PUBLISH_FAILED,       /* trouble on our side: no memory, a reply above the cap, a bad request */
	PUBLISH_OUTCOME_COUNT
};

/* "nrt", "node", "numatopology"; "unchanged", "deferred", ...: values of metric labels. */
extern const char *const publish_object_names[PUBLISH_OBJECT_COUNT];
extern const char *const publish_outcome_names[PUBLISH_OUTCOME_COUNT];

/* "the Node", "the Numatopology object", ... */
const char *publish_what(enum publish_object object);

#define PUBLISH_MESSAGE_MAX 300

/* What an answer's body says in words: the message of a Status object, else the beginning of the text. */
void publish_message(const char *body, size_t len, char ret[PUBLISH_MESSAGE_MAX]);

/*
 * The outcome of an answer with this status code and body (a Status object, or whatever is between us and
 * the server sends). PUBLISH_WRITTEN for 2xx; else one line in `err` that says what is missing or wrong and
 * what to apply.
 */
enum publish_outcome publish_answer(enum publish_object object, const char *node_name, int status,
	const char *body, size_t len, struct err *err);

/* The outcome of a request that got no answer: `r` is what api_client_request() returned. */
enum publish_outcome publish_no_answer(int r);

/* The -errno of an outcome that is not a success: -EAGAIN, -EACCES, ... 0 for the others. */
int publish_errno(enum publish_outcome outcome);

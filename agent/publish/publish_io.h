/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Sends the publisher's requests and classifies the API server's responses: an outcome, and a message with
 * the remedy.
 */
#include <stddef.h>

#include "common/doc.h"
#include "common/err.h"
#include "common/kube/api_client.h"

#define PUBLISH_MANAGER       "nrtd" /* nrtd's name as a field manager */
#define PUBLISH_MANAGER_QUERY "fieldManager=" PUBLISH_MANAGER

enum publish_object {
	PUBLISH_NRT,          /* the NodeResourceTopology object */
	PUBLISH_NODE,         /* the Node: its UID, its annotations and labels */
	PUBLISH_TAINT,        /* the Node's startup taint, which nrtd removes */
	PUBLISH_NUMATOPOLOGY, /* Volcano's Numatopology object */
	PUBLISH_PODS,         /* KAI's annotations of pods */
	PUBLISH_EVENT,        /* an Event about the Node */
	PUBLISH_OBJECT_COUNT
};

enum publish_outcome {
	PUBLISH_UNCHANGED, /* nothing was sent: the object is as requested */
	PUBLISH_DEFERRED,  /* to be written later: rate limit, backoff, or the NRT has to be written first */
	PUBLISH_WRITTEN,   /* success */
	PUBLISH_UNREACHABLE,  /* no response: refused, reset, no route, no such name, bad certificate */
	PUBLISH_TIMEOUT,      /* no response in time */
	PUBLISH_CONFLICT,     /* 409, 410 */
	PUBLISH_THROTTLED,    /* 429 */
	PUBLISH_SERVER_ERROR, /* 5xx */
	PUBLISH_UNAUTHORIZED, /* 401, or the credentials cannot be read */
	PUBLISH_FORBIDDEN,    /* 403 */
	PUBLISH_NOT_FOUND,    /* 404: the CRD or the Node does not exist */
	PUBLISH_REJECTED,     /* any other status */
	PUBLISH_CONTENDED,    /* another program keeps rewriting the object: nrtd backs off for a while */
	PUBLISH_CANCELLED,    /* the client's cancel flag ended the request */
	PUBLISH_FAILED,       /* a local error: a response above the limit, a bad request */
	PUBLISH_OUTCOME_COUNT
};

/* "nrt", "node", "taint", "numatopology", "pods", "event"; "unchanged", "deferred", ...: values of metric labels. */
extern const char *const publish_object_names[PUBLISH_OBJECT_COUNT];
extern const char *const publish_outcome_names[PUBLISH_OUTCOME_COUNT];

/* "the Node", "the Numatopology object", ...: for messages. */
extern const char *const publish_object_titles[PUBLISH_OBJECT_COUNT];

/* The -errno of a failure: -EAGAIN, -EACCES, ...; 0 for success and for UNCHANGED and DEFERRED. */
int publish_errno(enum publish_outcome outcome);

/*
 * Classifies a response, which may be a Status object or the text of a proxy. PUBLISH_WRITTEN for 2xx;
 * otherwise `err` has one line with the cause and the remedy.
 */
enum publish_outcome publish_classify(enum publish_object object, const char *node_name,
	const struct api_response *response, struct err *err);

/* What the requests of one publisher share. */
struct publish_io {
	struct api_client *client;    /* not owned */
	const char *node_name;        /* not owned */
	struct api_response response; /* to the last request */
};

/* Sends a request. PUBLISH_WRITTEN on success; otherwise `err` has one line. */
enum publish_outcome publish_send(struct publish_io *io, enum publish_object object,
	const struct api_request *request, struct err *err);

/* As publish_send(), with a document as body. If the server supports it, the response has only the object's metadata: a
 * Node is tens of kilobytes, mostly its status. */
enum publish_outcome publish_send_doc(struct publish_io *io, enum publish_object object, const char *method,
	const char *path, const char *content_type, const struct doc *doc, struct err *err);

/* Reads an object's metadata, as PartialObjectMetadata if the server supports it. */
enum publish_outcome publish_read_metadata(
	struct publish_io *io, enum publish_object object, const char *path, struct err *err);

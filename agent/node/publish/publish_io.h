/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One request of a publisher: sent, and what became of it.
 */
#include "agent/base/doc.h"
#include "agent/kube/api_client.h"
#include "agent/kube/publish_answer.h"

struct publish_io {
	struct api_client *client;    /* not owned */
	const char *node_name;        /* not owned */
	struct api_response response; /* to the last request */
};

/* Send. PUBLISH_WRITTEN for success; what is not leaves its line in `err`. */
enum publish_outcome publish_send(struct publish_io *io, enum publish_object object,
	const struct api_request *request, struct err *err);

/* The same with a document as body. An object in the answer is reduced to its metadata where the server can do that: a
 * Node is tens of kilobytes, mostly its status. */
enum publish_outcome publish_send_doc(struct publish_io *io, enum publish_object object, const char *method,
	const char *path, const char *content_type, const struct doc *doc, struct err *err);

/* Read an object's metadata, as PartialObjectMetadata where the server can do that. */
enum publish_outcome publish_read_metadata(
	struct publish_io *io, enum publish_object object, const char *path, struct err *err);

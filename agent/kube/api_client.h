/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Requests to the API server, one at a time, over one kept connection. The only file that includes libcurl is
 * api_client.c.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/kube/credentials.h"
#include "common/err.h"
#include "common/strbuf.h"

/* Accept: the metadata of an object and no more, where the server can do that. */
#define API_METADATA_ONLY "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

#define API_CLIENT_CONNECT_MS 5000u
#define API_CLIENT_TOTAL_MS   10000u
#define API_CLIENT_REPLY_MAX  ((size_t)1 << 20)

struct api_client_options {
	unsigned connect_ms;       /* deadline of connecting; 0 = API_CLIENT_CONNECT_MS */
	unsigned total_ms;         /* deadline of a whole request; 0 = API_CLIENT_TOTAL_MS */
	size_t reply_max;          /* cap of a reply in bytes; 0 = API_CLIENT_REPLY_MAX */
	const atomic_bool *cancel; /* a request under way ends soon after it becomes true; NULL = never */
};

struct api_request {
	const char *method;       /* "GET", "PATCH", "DELETE" */
	const char *path;         /* "/api/v1/nodes/node-a?fieldManager=nrtd", already escaped */
	const char *accept;       /* NULL = application/json */
	const char *content_type; /* of the body; NULL without one */
	const char *body;
	size_t body_len;
	unsigned idle_ms; /* of api_client_stream(): it ends when nothing came for so long; 0 = never */
};

/* Status codes that callers look at. */
enum {
	HTTP_OK = 200,
	HTTP_CREATED = 201,
	HTTP_UNAUTHORIZED = 401,
	HTTP_FORBIDDEN = 403,
	HTTP_NOT_FOUND = 404,
	HTTP_CONFLICT = 409,
	HTTP_GONE = 410,
	HTTP_TOO_MANY_REQUESTS = 429
};

struct api_response {
	int status;         /* HTTP status code */
	int retry_after_s;  /* Retry-After in seconds; -1 = not given */
	int64_t date_s;     /* Date in seconds since 1970; -1 = not given */
	struct strbuf body; /* kept from one request to the next to be reused */
};

void api_response_init(struct api_response *r);
void api_response_release(struct api_response *r);

struct api_client;

/*
 * A client that acts with `credentials`, which must outlive it. Nothing is sent yet. *ret is the caller's, to
 * be freed by api_client_free(). 0; -ENOSYS when libcurl cannot be loaded.
 */
int api_client_new(struct credentials *credentials, const struct api_client_options *options,
	struct api_client **ret, struct err *err);
void api_client_free(struct api_client *c);

static inline void api_client_freep(struct api_client **c)
{
	api_client_free(*c);
	*c = NULL;
}

/*
 * Send a request and wait for its answer. The server's certificate is always verified. After a 401 the
 * credentials are read again, and if they are others then the request is sent once more.
 *
 * 0: the server answered, with whatever status; `response` is filled. Otherwise it did not: -ECONNREFUSED,
 * -EHOSTUNREACH (no way, no such name), -ETIMEDOUT, -ECONNRESET (connection lost), -EPROTO (TLS; not HTTP),
 * -EFBIG (reply above the cap), -ECANCELED, and what credentials_access() gives. The text names the server,
 * never a token.
 */
int api_client_request(struct api_client *c, const struct api_request *request, struct api_response *response,
	struct err *err);

/* Called when an answer with a body for it begins, without a byte, and with each piece of that as it comes. 0, or -errno, which ends the request. */
typedef int api_stream_fn(const char *piece, size_t len, void *data, struct err *err);

/*
 * The same for an answer of any length that may take any time, as of a watch: the body of a 2xx goes to `fn`, every
 * other one to `response` as there. The deadline of a whole request does not count, that of connecting does.
 *
 * 0: the answer came to its end. Otherwise what api_client_request() returns, -ETIMEDOUT also after
 * request->idle_ms without a byte, -ECONNRESET also when the answer was cut off; or what `fn` returned, with its
 * text. A failure may come after any number of pieces.
 */
int api_client_stream(struct api_client *c, const struct api_request *request, api_stream_fn *fn, void *data,
	struct api_response *response, struct err *err);

/* When the client certificate as last used ends, in seconds since 1970; 0 where there is none, or none that is read. */
int64_t api_client_certificate_until(const struct api_client *c);

/* The server's URL as last used, "" before the first request. Valid until the next request. */
const char *api_client_server(const struct api_client *c);

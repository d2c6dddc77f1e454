/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Sends requests to the API server, one at a time, over one persistent connection. Only api_client.c includes
 * libcurl.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/kube/credentials.h"
#include "common/strbuf.h"

/* Accept: only the metadata of an object, if the server supports it. */
#define API_METADATA_ONLY "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

#define API_CLIENT_CONNECT_MS 5000u
#define API_CLIENT_TOTAL_MS   10000u
#define API_CLIENT_REPLY_MAX  ((size_t)1 << 20)

struct api_client_options {
	unsigned connect_ms;     /* deadline for connecting; 0 = API_CLIENT_CONNECT_MS */
	unsigned total_ms;       /* deadline for a whole request; 0 = API_CLIENT_TOTAL_MS */
	size_t reply_max;        /* limit of a response body in bytes; 0 = API_CLIENT_REPLY_MAX */
	const char *impersonate; /* user name to act as (Impersonate-User); NULL = none; borrowed */
	const char *const *impersonate_groups; /* until NULL (Impersonate-Group); NULL = none; borrowed */
	const struct cancel *cancel;           /* ends the current request; NULL = never */
};

struct api_request {
	const char *method;       /* "GET", "PATCH", "DELETE" */
	const char *path;         /* "/api/v1/nodes/node-a?fieldManager=nrtd", already escaped */
	const char *accept;       /* NULL = application/json */
	const char *content_type; /* of the body; NULL without a body */
	const char *body;
	size_t body_len;
	unsigned idle_ms; /* api_client_stream() ends after this time without data; 0 = never */
};

/* Status codes that callers check. */
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
	struct strbuf body; /* its memory is reused by the next request */
};

void api_response_init(struct api_response *r);
void api_response_release(struct api_response *r);

#define API_MESSAGE_MAX 300

/* The message of a response that is a Status object; otherwise its text. A long one is cut off after a word, and ends with " ...". */
void api_response_message(const struct api_response *r, char ret[API_MESSAGE_MAX]);

struct api_client;

/*
 * Creates a client that uses `credentials`, which must outlive the client. Sends nothing yet. The caller owns
 * *ret and frees it with api_client_free(). 0; -ENOSYS if libcurl cannot be loaded.
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
 * Sends a request and waits for its response. Verifies the server's certificate unless the credentials are insecure. After a 401 the
 * credentials are read again; if they have changed, the request is sent once more.
 *
 * 0: the server responded, with any status; `response` is filled. Without a response: -ECONNREFUSED,
 * -EHOSTUNREACH (no route, no such name), -ETIMEDOUT, -ECONNRESET (connection lost), -EPROTO (TLS; not HTTP),
 * -EFBIG (body above the limit), -ECANCELED, and the errors of credentials_access(). The text names the
 * server, never a token.
 */
int api_client_request(struct api_client *c, const struct api_request *request, struct api_response *response,
	struct err *err);

/* Called without data when a 2xx response begins, and with each piece of its body. 0, or -errno, which ends
 * the request. */
typedef int api_stream_fn(const char *piece, size_t len, void *data, struct err *err);

/*
 * As api_client_request(), for responses of any length and duration, such as a watch: passes the body of a
 * 2xx response to `fn` and stores any other body in `response`. total_ms does not apply, connect_ms does.
 *
 * 0: the response is complete. Otherwise the errors of api_client_request(), -ETIMEDOUT also after
 * request->idle_ms without data, -ECONNRESET also for a truncated response; or the return value of `fn`, with
 * its text. An error may follow any number of pieces.
 */
int api_client_stream(struct api_client *c, const struct api_request *request, api_stream_fn *fn, void *data,
	struct api_response *response, struct err *err);

/* When the last used client certificate expires, in seconds since 1970; 0 without a readable certificate. */
int64_t api_client_certificate_until(const struct api_client *c);

/* The last used URL of the server, "" before the first request. Valid until the next request. */
const char *api_client_server(const struct api_client *c);

/* Appends a value of a query parameter, or a name in a path, percent-encoded. */
void api_path_escape(struct strbuf *path, const char *value);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads objects from the API server: all objects of a list one at a time, or a single object.
 */
#include "common/doc.h"
#include "common/kube/api_client.h"

#define API_LIST_IDLE_MS 60000u /* longer than an API server computes a list of 5000 nodes */

/* Called with one object, whose members the function may modify or move out. 0, or -errno, which ends the
 * reading. */
typedef int api_object_fn(struct doc *object, void *data, struct err *err);

/*
 * Calls `fn` for each object of the list at `path`. Only one object at a time is in memory. `idle_ms` is the
 * longest pause within the response, 0 = API_LIST_IDLE_MS. *ret_status is the HTTP status, 0 without a
 * response.
 *
 * 0; -EREMOTEIO with the API server's message when the status is not 2xx; -EBADMSG when the response is not a
 * list; the errors of api_client_stream() and `fn`. An error may follow any number of objects.
 */
int api_list(struct api_client *c, const char *path, unsigned idle_ms, api_object_fn *fn, void *data,
	int *ret_status, struct err *err);

/* The object at `path`. Errors as of api_list(); `ret` is untouched on failure. */
int api_get(struct api_client *c, const char *path, struct doc *ret, int *ret_status, struct err *err);

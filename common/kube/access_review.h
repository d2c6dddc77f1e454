/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Asks the API server whether the client's identity has a right: a SelfSubjectAccessReview.
 */
#include "common/err.h"
#include "common/kube/api_client.h"
#include "common/strbuf.h"

#define ACCESS_REVIEWS_PATH "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

/* Texts are "" or NULL if the right has none. */
struct access_right {
	const char *verb, *group, *resource, *subresource, *namespace, *name;
};

/* Appends the body of the request: to be sent with POST to ACCESS_REVIEWS_PATH. */
void access_review_print(const struct access_right *right, struct strbuf *out);

/* Asks. As access_review_answer(); or the errors of api_client_request(). */
int access_review_ask(struct api_client *client, const struct access_right *right, struct err *ret_reason);

/* The response. 1: granted; 0: missing, with the API server's reason ("" = none); -ENODATA: unknown, with one line. */
int access_review_answer(const struct api_response *response, struct err *ret_reason);

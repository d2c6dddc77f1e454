/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/access_review.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/doc.h"
#include "common/io/json.h"

#define BODY_MAX 4096u

void access_review_print(const struct access_right *right, struct strbuf *out)
{
	const char *const members[][2] = {{"verb", right->verb}, {"group", right->group},
		{"resource", right->resource}, {"subresource", right->subresource},
		{"namespace", right->namespace}, {"name", right->name}};
	CLEANUP(doc_release) struct doc review = {.kind = DOC_MAP};
	struct doc *attributes;

	doc_add_string(&review, "apiVersion", "authorization.k8s.io/v1");
	doc_add_string(&review, "kind", "SelfSubjectAccessReview");
	attributes = doc_add_map(doc_add_map(&review, "spec"), "resourceAttributes");
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (members[i][1] && *members[i][1])
			doc_add_string(attributes, members[i][0], members[i][1]);
	json_print_compact(&review, out);
}

int access_review_ask(struct api_client *client, const struct access_right *right, struct err *ret_reason)
{
	CLEANUP(api_response_release) struct api_response response;
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT(BODY_MAX);
	struct api_request request = {
		.method = "POST", .path = ACCESS_REVIEWS_PATH, .content_type = "application/json"};
	int r;

	api_response_init(&response);
	access_review_print(right, &body);
	request.body = body.text;
	request.body_len = body.len;
	r = api_client_request(client, &request, &response, ret_reason);
	return r < 0 ? r : access_review_answer(&response, ret_reason);
}

int access_review_answer(const struct api_response *response, struct err *ret_reason)
{
	CLEANUP(doc_release) struct doc review = DOC_INIT;
	const struct doc *status, *allowed;

	if (response->status == HTTP_CREATED)
		json_parse(response->body.text, response->body.len, &review, NULL);
	status = doc_get(&review, "status");
	allowed = doc_get(status, "allowed");
	if (!allowed || allowed->kind != DOC_BOOL)
		return err_set(ret_reason, -ENODATA,
			"not known: " ACCESS_REVIEWS_PATH " answers with status %d", response->status);
	if (doc_is_true(allowed))
		return 1;
	return err_set(ret_reason, 0, "%.200s", doc_text(status, "reason"));
}

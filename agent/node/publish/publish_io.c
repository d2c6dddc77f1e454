/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/publish/publish_io.h"

#include "agent/base/json.h"
#include "common/cleanup.h"

#define BODY_MAX ((size_t)1 << 20)

enum publish_outcome publish_send(
	struct publish_io *io, enum publish_object object, const struct api_request *request, struct err *err)
{
	int r = api_client_request(io->client, request, &io->response, err);

	if (r < 0)
		return publish_no_answer(r);
	return publish_answer(object, io->node_name, io->response.status, io->response.body.text,
		io->response.body.len, err);
}

enum publish_outcome publish_send_doc(struct publish_io *io, enum publish_object object, const char *method,
	const char *path, const char *content_type, const struct doc *doc, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT(BODY_MAX);
	int r = json_print_compact(doc, &body);
	struct api_request request = {.method = method,
		.path = path,
		.accept = API_METADATA_ONLY,
		.content_type = content_type,
		.body = body.text,
		.body_len = body.len};

	if (r < 0) {
		err_set(err, r, "cannot print the object: %s", strerror(-r));
		return PUBLISH_FAILED;
	}
	return publish_send(io, object, &request, err);
}

enum publish_outcome publish_read_metadata(
	struct publish_io *io, enum publish_object object, const char *path, struct err *err)
{
	const struct api_request request = {.method = "GET", .path = path, .accept = API_METADATA_ONLY};

	return publish_send(io, object, &request, err);
}

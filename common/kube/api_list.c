/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/api_list.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/text.h"

struct listing {
	api_object_fn *fn;
	void *data;
	struct json_stream stream;
	bool is_list; /* the end of a list was read */
};

static void listing_release(struct listing *l)
{
	json_stream_release(&l->stream);
}

/* A list without items may have "items": null, as Go prints an empty slice. */
static bool is_list_kind(const struct doc *object)
{
	const char *kind = doc_string(doc_get(object, "kind"));

	return kind && text_ends_with(kind, "List");
}

static int deliver_item(
	enum json_stream_part what, struct doc *part, const struct doc *list, void *data, struct err *err)
{
	struct listing *l = data;

	(void)list;
	if (what == JSON_STREAM_ITEM)
		return l->fn(part, l->data, err);
	l->is_list = what == JSON_STREAM_LIST || is_list_kind(part);
	return 0;
}

static int feed_stream(const char *piece, size_t len, void *data, struct err *err)
{
	struct listing *l = data;

	return len == 0 ? 0 : json_stream_feed(&l->stream, piece, len, err);
}

/* The API server's message of a response that is not 2xx. */
static int report_rejection(const struct api_response *response, struct err *err)
{
	char message[API_MESSAGE_MAX];

	api_response_message(response, message);
	return err_set(err, -EREMOTEIO, "%s", message);
}

int api_list(struct api_client *c, const char *path, unsigned idle_ms, api_object_fn *fn, void *data,
	int *ret_status, struct err *err)
{
	CLEANUP(listing_release) struct listing l = {.fn = fn, .data = data};
	CLEANUP(api_response_release) struct api_response response;
	const struct api_request get = {
		.method = "GET", .path = path, .idle_ms = idle_ms > 0 ? idle_ms : API_LIST_IDLE_MS};
	int r;

	*ret_status = 0;
	api_response_init(&response);
	json_stream_init(&l.stream, deliver_item, &l);
	r = api_client_stream(c, &get, feed_stream, &l, &response, err);
	*ret_status = response.status;
	if (r < 0)
		return r;
	if (response.status / 100 != 2)
		return report_rejection(&response, err);
	r = json_stream_end(&l.stream, err);
	if (r < 0)
		return r;
	return l.is_list ? 0 : err_set(err, -EBADMSG, "the API server's response is not a list");
}

int api_get(struct api_client *c, const char *path, struct doc *ret, int *ret_status, struct err *err)
{
	CLEANUP(api_response_release) struct api_response response;
	const struct api_request get = {.method = "GET", .path = path};
	int r;

	*ret_status = 0;
	api_response_init(&response);
	r = api_client_request(c, &get, &response, err);
	if (r < 0)
		return r;
	*ret_status = response.status;
	return response.status / 100 == 2 ? json_parse(response.body.text, response.body.len, ret, err)
					  : report_rejection(&response, err);
}

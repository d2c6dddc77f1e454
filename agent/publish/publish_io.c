/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/publish/publish_io.h"

#include <assert.h>
#include <errno.h>

#include "common/cleanup.h"
#include "common/io/json.h"

#define BODY_MAX ((size_t)1 << 20)

const char *const publish_object_names[] = {"nrt", "node", "taint", "numatopology", "pods", "event"};
static_assert(ARRAY_SIZE(publish_object_names) == PUBLISH_OBJECT_COUNT, "a name for each object");

const char *const publish_object_titles[] = {"the NodeResourceTopology object", "the Node",
	"the startup taint", "the Numatopology object", "the annotations of pods", "an Event about the Node"};
static_assert(ARRAY_SIZE(publish_object_titles) == PUBLISH_OBJECT_COUNT, "a title for each object");

const char *const publish_outcome_names[] = {
	[PUBLISH_UNCHANGED] = "unchanged",
	[PUBLISH_DEFERRED] = "deferred",
	[PUBLISH_WRITTEN] = "written",
	[PUBLISH_UNREACHABLE] = "unreachable",
	[PUBLISH_TIMEOUT] = "timeout",
	[PUBLISH_CONFLICT] = "conflict",
	[PUBLISH_THROTTLED] = "throttled",
	[PUBLISH_SERVER_ERROR] = "server_error",
	[PUBLISH_UNAUTHORIZED] = "unauthorized",
	[PUBLISH_FORBIDDEN] = "forbidden",
	[PUBLISH_NOT_FOUND] = "not_found",
	[PUBLISH_REJECTED] = "rejected",
	[PUBLISH_CONTENDED] = "contended",
	[PUBLISH_CANCELLED] = "cancelled",
	[PUBLISH_FAILED] = "failed",
};
static_assert(ARRAY_SIZE(publish_outcome_names) == PUBLISH_OUTCOME_COUNT, "a name for each outcome");

int publish_errno(enum publish_outcome outcome)
{
	static const int codes[PUBLISH_OUTCOME_COUNT] = {
		[PUBLISH_UNREACHABLE] = -ECONNREFUSED,
		[PUBLISH_TIMEOUT] = -ETIMEDOUT,
		[PUBLISH_CONFLICT] = -EAGAIN,
		[PUBLISH_THROTTLED] = -EBUSY,
		[PUBLISH_SERVER_ERROR] = -EIO,
		[PUBLISH_UNAUTHORIZED] = -EACCES,
		[PUBLISH_FORBIDDEN] = -EPERM,
		[PUBLISH_NOT_FOUND] = -ENOENT,
		[PUBLISH_REJECTED] = -EINVAL,
		[PUBLISH_CONTENDED] = -EALREADY,
		[PUBLISH_CANCELLED] = -ECANCELED,
		[PUBLISH_FAILED] = -EBADMSG,
	};

	return codes[outcome];
}

/* ---- responses */

/* An admission policy denies with 403 or 422, depending on the policy. */
static bool is_denied_by_policy(const char *message)
{
	return strstr(message, "ValidatingAdmissionPolicy") != NULL;
}

/* What grants the right to write the object to the identity that the message names. */
static const char *manifest_of(enum publish_object object, const char *message)
{
	if (object == PUBLISH_NUMATOPOLOGY)
		return "numatopology.yaml";
	if (object == PUBLISH_PODS)
		return "kai.yaml";
	return strstr(message, "User \"system:node:") ? "rbac-nodes.yaml" : "rbac.yaml";
}

static enum publish_outcome set_forbidden(
	enum publish_object object, const char *node, const char *message, struct err *err)
{
	if (is_denied_by_policy(message))
		err_set(err, 0,
			"an admission policy denies %s of '%.100s': does nrtd run on that node? --node-name must be the one its token is bound to: %s",
			publish_object_titles[object], node, message);
	else if (object == PUBLISH_TAINT && strstr(message, "not allowed to modify taints"))
		err_set(err, 0,
			"a kubelet's identity may not remove the startup taint of '%.100s': give nrtd a service account (packaging/kubernetes/rbac.yaml): %s",
			node, message);
	else
		err_set(err, 0,
			"the right to write %s of '%.100s' is missing: apply packaging/kubernetes/%s: %s",
			publish_object_titles[object], node, manifest_of(object, message), message);
	return PUBLISH_FORBIDDEN;
}

static enum publish_outcome set_not_found(enum publish_object object, const char *node, struct err *err)
{
	if (object == PUBLISH_NODE || object == PUBLISH_TAINT)
		err_set(err, 0,
			"there is no Node '%.100s': either its kubelet has not registered it yet, or --node-name is wrong",
			node);
	else if (object == PUBLISH_PODS)
		err_set(err, 0, "a pod of '%.100s' does not exist any more", node);
	else if (object == PUBLISH_EVENT)
		err_set(err, 0, "the API server has no events of events.k8s.io/v1 in the namespace default");
	else if (object == PUBLISH_NUMATOPOLOGY)
		err_set(err, 0,
			"the API server has no numatopologies of nodeinfo.volcano.sh/v1alpha1: apply the CRD of Volcano, or set --numatopology=auto");
	else
		err_set(err, 0,
			"the API server has no noderesourcetopologies of topology.node.k8s.io/v1alpha2: apply the CRD, kubectl apply --server-side -k packaging/kubernetes/crd");
	return PUBLISH_NOT_FOUND;
}

enum publish_outcome publish_classify(enum publish_object object, const char *node_name,
	const struct api_response *response, struct err *err)
{
	int status = response->status;
	char message[API_MESSAGE_MAX];

	if (status >= 200 && status < 300)
		return PUBLISH_WRITTEN;
	api_response_message(response, message);
	if (status == 401) {
		err_set(err, 0,
			"the API server does not accept the credentials (401: %s): has the token or certificate expired, or is it from another cluster?",
			message);
		return PUBLISH_UNAUTHORIZED;
	}
	/* 403 is the status for a moment after the CRD was deleted. */
	if (status == 404 || (status == 403 && strstr(message, "custom resource definition is terminating")))
		return set_not_found(object, node_name, err);
	if (status == 403 || (status == 422 && is_denied_by_policy(message)))
		return set_forbidden(object, node_name, message, err);
	/* The patch of a Node contains the UID of the intended Node. */
	if (status == 422 && object == PUBLISH_NODE && strstr(message, "metadata.uid")) {
		err_set(err, 0, "the Node '%.100s' was replaced by another one of this name", node_name);
		return PUBLISH_CONFLICT;
	}
	/* The JSON patch tests the UID and the taint. */
	if (status == 422 && object == PUBLISH_TAINT) {
		err_set(err, 0, "the taints of Node '%.100s' changed in the meantime", node_name);
		return PUBLISH_CONFLICT;
	}
	err_set(err, 0, "the API server answers %d for %s of '%.100s': %s", status,
		publish_object_titles[object], node_name, message);
	if (status == 409 || status == 410)
		return PUBLISH_CONFLICT;
	if (status == 429)
		return PUBLISH_THROTTLED;
	if (status == 408 || status == 504)
		return PUBLISH_TIMEOUT;
	return status >= 500 ? PUBLISH_SERVER_ERROR : PUBLISH_REJECTED;
}

/* For a request without response: `r` is the error of api_client_request(). */
static enum publish_outcome classify_error(int r)
{
	switch (-r) {
	case ECANCELED:
		return PUBLISH_CANCELLED;
	case ETIMEDOUT:
		return PUBLISH_TIMEOUT;
	case ECONNREFUSED:
	case ECONNRESET:
	case EHOSTUNREACH:
	case EPROTO:
		return PUBLISH_UNREACHABLE;
	case EFBIG:
	case EIO:
	case ENOSYS:
		return PUBLISH_FAILED;
	default:
		return PUBLISH_UNAUTHORIZED; /* the credentials cannot be read */
	}
}

/* ---- requests */

enum publish_outcome publish_send(
	struct publish_io *io, enum publish_object object, const struct api_request *request, struct err *err)
{
	int r = api_client_request(io->client, request, &io->response, err);

	return r < 0 ? classify_error(r) : publish_classify(object, io->node_name, &io->response, err);
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

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/kube/publish_answer.h"

#include <assert.h>
#include <errno.h>

#include "agent/base/json.h"
#include "common/cleanup.h"

const char *const publish_object_names[] = {"nrt", "node", "numatopology"};
static_assert(ARRAY_SIZE(publish_object_names) == PUBLISH_OBJECT_COUNT, "a name for each object");

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

void publish_message(const char *body, size_t len, char ret[PUBLISH_MESSAGE_MAX])
{
	CLEANUP(doc_release) struct doc status = DOC_INIT;
	const char *text;

	if (json_parse(body, len, &status, NULL) == 0) {
		text = doc_string(doc_get(&status, "message"));
		snprintf(ret, PUBLISH_MESSAGE_MAX, "%s", text ? text : "(no message)");
		return;
	}
	while (len > 0 && (body[len - 1] == '\n' || body[len - 1] == ' '))
		len--;
	if (len > 0)
		snprintf(ret, PUBLISH_MESSAGE_MAX, "%.*s",
			(int)(len < PUBLISH_MESSAGE_MAX ? len : PUBLISH_MESSAGE_MAX), body);
	else
		snprintf(ret, PUBLISH_MESSAGE_MAX, "(no message)");
}

const char *publish_what(enum publish_object object)
{
	static const char *const names[PUBLISH_OBJECT_COUNT] = {
		"the NodeResourceTopology object", "the Node", "the Numatopology object"};

	return names[object];
}

static enum publish_outcome unauthorized(const char *message, struct err *err)
{
	err_set(err, 0,
		"the API server does not accept the credentials (401: %s): has the token or certificate expired, or is it from another cluster?",
		message);
	return PUBLISH_UNAUTHORIZED;
}

/* An admission policy refuses with 403 or 422, as it is written. */
static bool is_policy(const char *message)
{
	return strstr(message, "ValidatingAdmissionPolicy") != NULL;
}

static enum publish_outcome forbidden(
	enum publish_object object, const char *node, const char *message, struct err *err)
{
	if (is_policy(message))
		err_set(err, 0,
			"an admission policy refuses %s of '%.100s': does nrtd run on that node? --node-name must be the one its token is bound to: %s",
			publish_what(object), node, message);
	else
		err_set(err, 0,
			"the right to write %s of '%.100s' is missing: apply packaging/kubernetes/%s: %s",
			publish_what(object), node,
			object == PUBLISH_NUMATOPOLOGY ? "numatopology.yaml" : "rbac.yaml", message);
	return PUBLISH_FORBIDDEN;
}

static enum publish_outcome not_found(enum publish_object object, const char *node, struct err *err)
{
	if (object == PUBLISH_NODE)
		err_set(err, 0,
			"there is no Node '%.100s': either its kubelet has not registered it yet, or --node-name is wrong",
			node);
	else if (object == PUBLISH_NUMATOPOLOGY)
		err_set(err, 0,
			"the API server has no numatopologies of nodeinfo.volcano.sh/v1alpha1: apply the CRD of Volcano, or set --numatopology=auto");
	else
		err_set(err, 0,
			"the API server has no noderesourcetopologies of topology.node.k8s.io/v1alpha2: apply the CRD, manifests/crd.yaml of github.com/k8stopologyawareschedwg/noderesourcetopology-api");
	return PUBLISH_NOT_FOUND;
}

enum publish_outcome publish_answer(enum publish_object object, const char *node_name, int status,
	const char *body, size_t len, struct err *err)
{
	char message[PUBLISH_MESSAGE_MAX];
	enum publish_outcome outcome;

	if (status >= 200 && status < 300)
		return PUBLISH_WRITTEN;
	publish_message(body, len, message);
	/* For a moment after it was deleted. */
	if (status == 403 && strstr(message, "custom resource definition is terminating"))
		return not_found(object, node_name, err);
	if (status == 401)
		return unauthorized(message, err);
	if (status == 403 || (status == 422 && is_policy(message)))
		return forbidden(object, node_name, message, err);
	if (status == 404)
		return not_found(object, node_name, err);
	/* The patch of a Node names the uid of the Node it is meant for. */
	if (status == 422 && object == PUBLISH_NODE && strstr(message, "metadata.uid")) {
		err_set(err, 0, "the Node '%.100s' was replaced by another one of this name", node_name);
		return PUBLISH_CONFLICT;
	}
	outcome = status == 409 || status == 410   ? PUBLISH_CONFLICT
		  : status == 429                  ? PUBLISH_THROTTLED
		  : status == 408 || status == 504 ? PUBLISH_TIMEOUT
		  : status >= 500                  ? PUBLISH_SERVER_ERROR
						   : PUBLISH_REJECTED;
	err_set(err, 0, "the API server answers %d for %s of '%.100s': %s", status, publish_what(object),
		node_name, message);
	return outcome;
}

enum publish_outcome publish_no_answer(int r)
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
		return PUBLISH_UNAUTHORIZED; /* credentials that cannot be read */
	}
}

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

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/check/check_own_node.h"

#include <string.h>

#include "agent/node/publish/publish.h"
#include "common/cleanup.h"
#include "common/clock.h"

#define NO_NODE "nrtd-check.invalid" /* no Node has this name: RFC 2606 reserves it */

static const char another_nodes_object[] =
	"{\"apiVersion\":\"topology.node.k8s.io/v1alpha2\",\"kind\":\"NodeResourceTopology\","
	"\"metadata\":{\"name\":\"" NO_NODE "\"},\"zones\":[]}";
static const char foreign_annotation[] =
	"{\"metadata\":{\"annotations\":{\"" NO_NODE "/check\":\"may not be written\"}}}";

enum verdict { DENIED, ALLOWED, UNKNOWN };

/* What the API server says to a write that it does not keep; `why` is for UNKNOWN. */
static enum verdict ask(
	const struct own_node_check *c, const char *path, const char *type, const char *body, struct err *why)
{
	struct api_response response;
	enum verdict verdict = UNKNOWN;
	char message[API_MESSAGE_MAX];

	if (clock_ms(CLOCK_MONOTONIC) > c->until_ms) {
		err_set(why, 0, "not asked: the earlier answers took too long");
		return UNKNOWN;
	}
	api_response_init(&response);
	if (api_client_request(c->client,
		    &(struct api_request){.method = "PATCH",
			    .path = path,
			    .content_type = type,
			    .body = body,
			    .body_len = strlen(body)},
		    &response, why) == 0) {
		api_response_message(&response, message);
		if (response.status >= 200 && response.status < 300)
			verdict = ALLOWED;
		else if (response.status == HTTP_FORBIDDEN)
			verdict = DENIED;
		else
			err_set(why, 0, "not known: the API server answers %d to the dry run: %s",
				response.status, message);
	}
	api_response_release(&response);
	return verdict;
}

static const char *remedy(const struct own_node_check *c)
{
	static const char account[] = "system:serviceaccount:";

	if (c->is_node)
		return "kubectl apply -f packaging/kubernetes/admission-policy.yaml";
	if (c->user && strncmp(c->user, account, strlen(account)) != 0)
		return "the admission policy restricts service accounts and nodes: give nrtd the token of its pod, or the kubelet's kubeconfig";
	return "kubectl apply -k packaging/kubernetes, or your overlay of it (in the chart admissionPolicy.create=true): it brings the admission policy, and write-own-node on agents.nrtd.dev for the agent's ClusterRole";
}

static void report_verdict(const struct own_node_check *c, enum verdict verdict, const char *allowed,
	const struct err *why, struct check_report *report)
{
	switch (verdict) {
	case DENIED:
		check_report_line(report, CHECK_OK, "own node", "restricted",
			c->is_node
				? "the API server denies this identity other nodes' objects"
				: "the API server denies this identity other nodes' objects and others' annotations",
			NULL);
		break;
	case ALLOWED:
		check_report_line(report, CHECK_WARN, "own node", "unrestricted", allowed, remedy(c));
		break;
	case UNKNOWN:
		check_report_line(report, CHECK_NOTE, "own node", "unknown", why->text, NULL);
		break;
	}
}

void check_own_node(const struct own_node_check *c, struct check_report *report)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(512);
	const char *allowed = "the API server lets this identity write the objects of other nodes";
	struct err why = {""};
	enum verdict verdict =
		ask(c, APPLY_NRT_PATH NO_NODE "?" PUBLISH_MANAGER_QUERY "&force=true&dryRun=All",
			"application/apply-patch+yaml", another_nodes_object, &why);

	if (verdict == DENIED && !c->is_node) {
		allowed =
			"the API server lets this identity write annotations of the Node that are not nrtd's";
		strbuf_addf(&path, PUBLISH_NODE_PATH "%s?" PUBLISH_MANAGER_QUERY "&dryRun=All", c->node_name);
		verdict = ask(c, path.text, "application/merge-patch+json", foreign_annotation, &why);
	}
	report_verdict(c, verdict, allowed, &why, report);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/check/check_api_server.h"

#include <errno.h>

#include "agent/base/json.h"
#include "agent/base/node_name.h"

#include "agent/node/check/check_affinity.h"
#include "agent/node/check/check_credentials.h"
#include "agent/node/check/check_exporters.h"
#include "agent/node/check/check_own_node.h"
#include "agent/node/publish/publish.h"
#include "agent/state/content_hash.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/text.h"

#define CONNECT_MS   2000u
#define REQUEST_MS   3000u
#define ALL_MS       5000
#define BODY_MAX     ((size_t)1 << 20)
#define GROUP        "topology.node.k8s.io"
#define RESOURCE     "noderesourcetopologies"
#define VOLCANO      "nodeinfo.volcano.sh"
#define VERSION      "v1alpha2"
#define REVIEWS_PATH "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
#define WHOAMI_PATH  "/apis/authentication.k8s.io/v1/selfsubjectreviews"
#define MANIFESTS    "packaging/kubernetes"

static const char apply_crd[] = "kubectl apply --server-side -k " MANIFESTS "/crd";

/* What the steps share. */
struct check {
	const struct check_config *config;
	const struct doc *nrt;
	struct check_report *report;
	char *node_name;
	struct credentials *credentials;
	struct api_client *client;
	struct api_response response;
	int64_t begun_ms;
	char *user;        /* who the API server says we are; NULL = it does not say */
	bool is_node;      /* a kubelet's identity */
	bool cannot_write; /* something was found without which a write is refused */
	bool cannot_read_node;
	bool object_stays;         /* nrtd leaves the object to others, or has to clear it first */
	bool labelled;             /* the Node has labels of nrtd's that affinity may name */
	struct node_metadata node; /* uid NULL = not read */
};

static void check_release(struct check *c)
{
	api_response_release(&c->response);
	api_client_free(c->client);
	credentials_free(c->credentials);
	node_metadata_release(&c->node);
	free(c->node_name);
	free(c->user);
}

/* ---- requests */

static const char *remedy_of_no_answer(int r)
{
	switch (-r) {
	case ECONNREFUSED:
		return "nobody listens there: is the API server up, and is this its address? --api-server names another";
	case EHOSTUNREACH:
		return "is the name right, and does this machine's DNS know it? --api-server names another URL";
	case ETIMEDOUT:
	case ECONNRESET:
		return "does a firewall, a proxy (HTTPS_PROXY, NO_PROXY) or a network policy block the way?";
	case EPROTO:
		return "certificate-authority of the credentials must be the CA of this API server; a wrong clock fails certificates too";
	default:
		return NULL;
	}
}

/* Send it. False: no answer, or no time left to ask; the item `source` says so. */
static bool ask(struct check *c, const char *source, const struct api_request *request)
{
	struct err err = {""};
	int r;

	if (clock_ms(CLOCK_MONOTONIC) - c->begun_ms > ALL_MS) {
		check_report_line(c->report, CHECK_WARN, source, "slow",
			"not asked: the earlier answers took too long",
			"look at the API server's load and the network path to it");
		return false;
	}
	r = api_client_request(c->client, request, &c->response, &err);
	if (r == 0)
		return true;
	check_report_line(c->report, CHECK_FAIL, source, "unreachable", err.text, remedy_of_no_answer(r));
	return false;
}

static bool get(struct check *c, const char *source, const char *path)
{
	return ask(
		c, source, &(struct api_request){.method = "GET", .path = path, .accept = API_METADATA_ONLY});
}

static bool send_body(struct check *c, const char *source, const char *method, const char *path,
	const char *type, const struct strbuf *body)
{
	if (strbuf_error(body) < 0) {
		check_report_line(c->report, CHECK_FAIL, source, "too large",
			"the request is longer than allowed", NULL);
		return false;
	}
	return ask(c, source,
		&(struct api_request){.method = method,
			.path = path,
			.content_type = type,
			.body = body->text,
			.body_len = body->len});
}

/* The answer's document; null when it is none. */
static struct doc parse_answer(struct check *c)
{
	struct doc answer = DOC_INIT;

	if (json_parse(c->response.body.text, c->response.body.len, &answer, NULL) < 0)
		return (struct doc)DOC_INIT;
	return answer;
}

/* ---- credentials */

static bool step_credentials(struct check *c)
{
	const struct api_client_options how = {.connect_ms = CONNECT_MS, .total_ms = REQUEST_MS};
	struct err err = {""};
	int r;

	if (!check_credentials(&c->config->credentials, c->report, &c->credentials))
		return false;
	r = api_client_new(c->credentials, &how, &c->client, &err);
	if (r < 0)
		check_report_line(c->report, CHECK_FAIL, "API server", NULL, err.text,
			r == -ENOSYS ? "install libcurl (libcurl4)" : NULL);
	return r == 0;
}

/* ---- the server and its clock */

enum check_level check_clock_level(int64_t ahead_ms)
{
	int64_t off_ms = ahead_ms < 0 ? -ahead_ms : ahead_ms;

	return off_ms > CHECK_CLOCK_FAIL_MS   ? CHECK_FAIL
	       : off_ms > CHECK_CLOCK_WARN_MS ? CHECK_WARN
					      : CHECK_OK;
}

/* The header Date has whole seconds, so half a second is added; the answer came in the middle of the request.
 */
static void report_clock(struct check *c, int64_t from_ms, int64_t to_ms)
{
	int64_t ahead_ms = (from_ms + to_ms) / 2 - (c->response.date_s * 1000 + 500);
	enum check_level level = check_clock_level(ahead_ms);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(256);

	if (c->response.date_s < 0) {
		check_report_line(
			c->report, CHECK_NOTE, "clock", NULL, "not compared: the answer has no Date", NULL);
		return;
	}
	if (level == CHECK_OK)
		strbuf_addstr(&text, "agrees with the API server's");
	else {
		check_span((ahead_ms < 0 ? -ahead_ms : ahead_ms) / 1000, &text);
		strbuf_addf(&text, " %s the API server's", ahead_ms < 0 ? "behind" : "ahead of");
	}
	check_report_line(c->report, level, "clock", NULL, text.text,
		level == CHECK_OK
			? NULL
			: "let chrony or systemd-timesyncd set the clock (timedatectl shows it); certificates and tokens are judged by it");
}

static void report_server(struct check *c, const char *version, int64_t took_ms)
{
	const char *server = api_client_server(c->client);
	struct check_item *item =
		check_report_add(c->report, CHECK_OK, "API server", "%s, answered in %lld ms",
			strncmp(server, "https:", 6) != 0 ? "no TLS" : "its certificate is trusted",
			(long long)took_ms);

	if (!item)
		return;
	item->state = "reached";
	check_report_set(&item->path, "%s", server);
	if (version)
		check_report_set(&item->format, "%s", version);
}

static bool step_server(struct check *c)
{
	int64_t from_ms = clock_ms(CLOCK_REALTIME), to_ms;
	CLEANUP(doc_release) struct doc answer = DOC_INIT;
	const char *version;
	struct err err = {""};

	if (!get(c, "API server", "/version"))
		return false;
	to_ms = clock_ms(CLOCK_REALTIME);
	answer = parse_answer(c);
	version = doc_string(doc_get(&answer, "gitVersion"));
	if (c->response.status == HTTP_FORBIDDEN || (c->response.status == HTTP_OK && version)) {
		report_server(c, version, to_ms - from_ms);
		report_clock(c, from_ms, to_ms);
		return true;
	}
	if (c->response.status == HTTP_UNAUTHORIZED) {
		publish_classify(PUBLISH_NODE, c->node_name, &c->response, &err);
		check_report_line(c->report, CHECK_FAIL, "API server", "refused", err.text,
			"use credentials that this cluster has issued and that have not expired");
		report_clock(c, from_ms, to_ms);
		return false;
	}
	err_set(&err, 0, "%s/version answers with status %d%s", api_client_server(c->client),
		c->response.status, c->response.status == HTTP_OK ? " and no version" : "");
	check_report_line(c->report, CHECK_FAIL, "API server", "fails", err.text,
		c->response.status < 500 ? "is this the URL of a Kubernetes API server?"
					 : "the API server is not healthy: look at its log and /readyz");
	return false;
}

/* ---- what is on the server */

static bool serves_version(const struct doc *group, struct strbuf *all)
{
	const struct doc *versions = doc_get(group, "versions");
	bool found = false;

	if (!versions || versions->kind != DOC_LIST)
		return false;
	DOC_FOREACH (item, versions) {
		const char *version = doc_string(doc_get(item, "version"));

		if (!version)
			continue;
		strbuf_addf(all, "%s%s", all->len > 0 ? ", " : "", version);
		found |= !strcmp(version, VERSION);
	}
	return found;
}

static bool step_crd(struct check *c)
{
	CLEANUP(strbuf_release) struct strbuf versions = STRBUF_INIT(1024);
	CLEANUP(doc_release) struct doc group = DOC_INIT;
	struct err err = {""};

	if (!get(c, "CRD", "/apis/" GROUP))
		return false;
	if (c->response.status != HTTP_OK && c->response.status != HTTP_NOT_FOUND) {
		err_set(&err, 0, "not known: /apis/" GROUP " answers with status %d", c->response.status);
		check_report_line(c->report, CHECK_WARN, "CRD", "unknown", err.text, NULL);
		return true;
	}
	if (c->response.status == HTTP_OK)
		group = parse_answer(c);
	if (serves_version(&group, &versions)) {
		err_set(&err, 0, GROUP " serves %s", versions.text);
		check_report_line(c->report, CHECK_OK, "CRD", "served", err.text, NULL);
		return true;
	}
	c->cannot_write = true;
	if (c->response.status == HTTP_OK)
		err_set(&err, 0, GROUP " serves %s, not " VERSION,
			versions.len > 0 ? versions.text : "nothing");
	else
		err_set(&err, 0, "the CustomResourceDefinition " RESOURCE "." GROUP " is missing");
	check_report_line(c->report, CHECK_FAIL, "CRD", "absent", err.text, apply_crd);
	return true;
}

/* Who the server takes us for. Before Kubernetes 1.28 it does not say, and then there is no item. */
static bool step_identity(struct check *c)
{
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT(256);
	CLEANUP(doc_release) struct doc review = DOC_INIT;
	const struct doc *info, *groups;
	const char *user;

	strbuf_addstr(&body, "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"SelfSubjectReview\"}");
	if (!send_body(c, "identity", "POST", WHOAMI_PATH, "application/json", &body))
		return false;
	review = parse_answer(c);
	info = doc_get(doc_get(&review, "status"), "userInfo");
	if (c->response.status != HTTP_CREATED || !info || info->kind != DOC_MAP)
		return true;
	groups = doc_get(info, "groups");
	if (groups && groups->kind == DOC_LIST)
		DOC_FOREACH (item, groups)
			c->is_node |= item->kind == DOC_STRING && !strcmp(item->text, "system:nodes");
	user = doc_string(doc_get(info, "username"));
	if (!user)
		return true;
	text_set(&c->user, user);
	check_report_line(c->report, CHECK_OK, "identity", NULL, user, NULL);
	return true;
}

/* ---- rights */

static const struct right {
	const char *group, *resource, *verb;
	enum check_level missing; /* how bad that is */
	const char *what_for;
} rights[] = {
	{GROUP, RESOURCE, "create", CHECK_FAIL, "nrtd run"},
	{GROUP, RESOURCE, "patch", CHECK_FAIL, "nrtd run"},
	{GROUP, RESOURCE, "get", CHECK_WARN, "nrtd diff, and to see who else writes them"},
	{GROUP, RESOURCE, "delete", CHECK_NOTE, "nrtd run --cleanup"},
	{"", "nodes", "get", CHECK_FAIL, "nrtd run"},
	{"", "nodes", "patch", CHECK_FAIL, "nrtd run"},
	{VOLCANO, "numatopologies", "create", CHECK_FAIL, "nrtd run --numatopology=on"},
	{VOLCANO, "numatopologies", "patch", CHECK_FAIL, "nrtd run --numatopology=on"},
};

static void set_remedy_of_right(struct check *c, const struct right *right, struct check_item *item)
{
	const char *user = c->user ? c->user : "";

	if (!item)
		return;
	if (!strcmp(right->group, VOLCANO))
		check_report_set(&item->remedy, "kubectl apply -f " MANIFESTS "/numatopology.yaml");
	else if (c->is_node && *right->group == '\0')
		check_report_set(&item->remedy,
			"a node's identity may do so on its own Node only: name that by --node-name");
	else if (c->is_node)
		check_report_set(&item->remedy, "kubectl apply -f " MANIFESTS "/rbac-nodes.yaml");
	else if (!*user || !strcmp(user, "system:serviceaccount:nrtd:nrtd"))
		check_report_set(&item->remedy, "kubectl apply -f " MANIFESTS "/rbac.yaml");
	else
		check_report_set(&item->remedy,
			"kubectl apply -f " MANIFESTS
			"/rbac.yaml, then kubectl create clusterrolebinding NAME --clusterrole=nrtd --user=%s",
			user);
}

static void report_missing(struct check *c, const struct right *right, const char *reason)
{
	struct check_item *item = check_report_add(c->report, right->missing, "right",
		"missing: %s %s%s%s, for %s%s%.200s", right->verb, right->resource, *right->group ? "." : "",
		right->group, right->what_for, *reason ? ": " : "", reason);

	set_remedy_of_right(c, right, item);
	if (item)
		item->state = "missing";
	c->cannot_write |= right->missing == CHECK_FAIL && strcmp(right->group, VOLCANO) != 0;
	c->cannot_read_node |= *right->group == '\0' && !strcmp(right->verb, "get");
}

/* 1 = granted, 0 = missing; -ENODATA = the server does not say, -EIO = it does not answer: an item says so.
 */
static int ask_right(struct check *c, const struct right *right)
{
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT(1024);
	CLEANUP(doc_release) struct doc review = DOC_INIT;
	const struct doc *allowed;
	const char *reason;
	struct err err = {""};

	strbuf_addf(&body,
		"{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SelfSubjectAccessReview\","
		"\"spec\":{\"resourceAttributes\":{\"group\":\"%s\",\"resource\":\"%s\",\"verb\":\"%s\",\"name\":\"%s\"}}}",
		right->group, right->resource, right->verb, c->node_name);
	if (!send_body(c, "right", "POST", REVIEWS_PATH, "application/json", &body))
		return -EIO;
	review = parse_answer(c);
	allowed = doc_get(doc_get(&review, "status"), "allowed");
	if (c->response.status != HTTP_CREATED || !allowed || allowed->kind != DOC_BOOL) {
		err_set(&err, 0, "not known: " REVIEWS_PATH " answers with status %d", c->response.status);
		check_report_line(c->report, CHECK_WARN, "right", "unknown", err.text, NULL);
		return -ENODATA;
	}
	if (!strcmp(allowed->text, "true"))
		return 1;
	reason = doc_string(doc_get(doc_get(&review, "status"), "reason"));
	report_missing(c, right, reason ? reason : "");
	return 0;
}

static bool step_rights(struct check *c)
{
	CLEANUP(strbuf_release) struct strbuf granted = STRBUF_INIT(1024);
	const char *of = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(rights); i++) {
		bool wanted = c->config->numatopology || strcmp(rights[i].group, VOLCANO) != 0;
		int r = wanted ? ask_right(c, &rights[i]) : 0;

		/* What it refuses without saying so, the dry run shows. */
		if (r < 0)
			return r == -ENODATA;
		if (r == 0)
			continue;
		if (of == rights[i].resource)
			strbuf_addf(&granted, ", %s", rights[i].verb);
		else
			strbuf_addf(&granted, "%s%s: %s", of ? "; " : "", rights[i].resource, rights[i].verb);
		of = rights[i].resource;
	}
	if (granted.len > 0)
		check_report_line(c->report, CHECK_OK, "right", "granted", granted.text, NULL);
	return true;
}

static bool step_node(struct check *c)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(512);
	struct err err = {""};

	if (c->cannot_read_node)
		return true;
	strbuf_addf(&path, PUBLISH_NODE_PATH "%s", c->node_name);
	if (!get(c, "Node", path.text))
		return false;
	if (publish_classify(PUBLISH_NODE, c->node_name, &c->response, &err) == PUBLISH_WRITTEN &&
		node_metadata_parse(c->response.body.text, c->response.body.len, &c->node, &err) == 0) {
		CLEANUP(doc_release) struct doc node = parse_answer(c);

		c->labelled = check_affinity_labelled(&node);
		err_set(&err, 0, "'%s' is registered", c->node_name);
		check_report_line(c->report, CHECK_OK, "Node", "registered", err.text, NULL);
		return true;
	}
	c->cannot_write = true;
	check_report_line(c->report, CHECK_FAIL, "Node",
		c->response.status == HTTP_NOT_FOUND ? "absent" : "fails", err.text,
		c->response.status == HTTP_NOT_FOUND
			? "name it by --node-name; kubectl get nodes lists the names"
			: NULL);
	return true;
}

/* ---- pods that require nrtd's labels */

static bool step_affinity(struct check *c)
{
	if (c->labelled)
		check_affinity(c->client, c->node_name, c->begun_ms + ALL_MS, c->report);
	return true;
}

/* ---- others that write the object */

static bool step_exporters(struct check *c)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(512);
	CLEANUP(doc_release) struct doc object = DOC_INIT;

	strbuf_addf(&path, APPLY_NRT_PATH "%s", c->node_name);
	if (c->cannot_write || !c->node.uid)
		return true;
	if (!get(c, "exporters", path.text))
		return false;
	if (c->response.status == HTTP_OK) {
		object = parse_answer(c);
		c->object_stays = check_exporters(&object, c->config->others_nrt, c->report);
	}
	return true;
}

/* ---- the last word: admission */

/* A write that the server judges as any other but does not keep. False: refused, or no answer. */
static bool dry_run(struct check *c, enum publish_object object, const char *path, const char *type,
	const struct doc *doc)
{
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT(BODY_MAX);
	struct err err = {""};

	/* A failure stays in `body`. */
	json_print_compact(doc, &body);
	if (!send_body(c, "dry run", "PATCH", path, type, &body))
		return false;
	if (publish_classify(object, c->node_name, &c->response, &err) == PUBLISH_WRITTEN)
		return true;
	check_report_line(c->report, CHECK_FAIL, "dry run", "refused", err.text, NULL);
	return false;
}

static bool step_dry_run(struct check *c)
{
	CLEANUP(strbuf_release) struct strbuf nrt_path = STRBUF_INIT(512), node_path = STRBUF_INIT(512);
	CLEANUP(doc_release) struct doc object = DOC_INIT, patch = {.kind = DOC_MAP};
	struct doc *annotations = doc_add_map(doc_add_map(&patch, "metadata"), "annotations");

	if (c->cannot_write || !c->node.uid || !c->nrt) {
		check_report_line(c->report, CHECK_NOTE, "dry run", NULL,
			c->nrt ? "not tried: it needs what is missing above"
			       : "not tried: there is nothing to publish",
			NULL);
		return false;
	}
	strbuf_addf(
		&nrt_path, APPLY_NRT_PATH "%s?" PUBLISH_MANAGER_QUERY "&force=true&dryRun=All", c->node_name);
	strbuf_addf(&node_path, PUBLISH_NODE_PATH "%s?" PUBLISH_MANAGER_QUERY "&dryRun=All", c->node_name);
	if (apply_make_object(c->nrt, c->node_name, c->node.uid, NULL, &object, NULL) < 0)
		return false;
	doc_add_string(annotations, NRT_CONTENT_HASH, nrt_content_hash(c->nrt));
	if ((!c->object_stays &&
		    !dry_run(c, PUBLISH_NRT, nrt_path.text, "application/apply-patch+yaml", &object)) ||
		!dry_run(c, PUBLISH_NODE, node_path.text, "application/merge-patch+json", &patch))
		return false;
	check_report_line(c->report, CHECK_OK, "dry run", NULL,
		c->object_stays ? "the API server would take the Node's annotations"
				: "the API server would take the object and the Node's annotations",
		NULL);
	return true;
}

/* ---- what other nodes' agents may do to this one's objects */

static bool step_own_node(struct check *c)
{
	check_own_node(&(struct own_node_check){.client = c->client,
			       .node_name = c->node_name,
			       .user = c->user,
			       .is_node = c->is_node,
			       .until_ms = c->begun_ms + ALL_MS},
		c->report);
	return true;
}

/* In the order in which they stop nrtd; false = no later one can be asked. */
static bool (*const steps[])(struct check *c) = {
	step_credentials,
	step_server,
	step_crd,
	step_identity,
	step_rights,
	step_node,
	step_affinity,
	step_exporters,
	step_dry_run,
	step_own_node,
};

void check_api_server(const struct check_config *config, const struct doc *nrt, struct check_report *report)
{
	CLEANUP(check_release)
	struct check c = {
		.config = config, .nrt = nrt, .report = report, .begun_ms = clock_ms(CLOCK_MONOTONIC)};
	struct err err = {""};

	api_response_init(&c.response);
	node_metadata_init(&c.node);
	/* A name that no Node can have is an item of the observation already. */
	if (node_name_find(config->observe.node_name, &c.node_name, &err) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(steps) && steps[i](&c); i++)
		;
}

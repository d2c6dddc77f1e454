/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the API server: what would prevent nrtd from publishing. */
#include <errno.h>

#include "agent/check/check.h"
#include "agent/publish/publish.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/io/time.h"
#include "common/kube/access_review.h"
#include "common/text.h"
#include "scoring/kubelet_release.h"
#include "scoring/node/node_state_codec.h"

#define CONNECT_MS    2000u
#define REQUEST_MS    3000u
#define ALL_MS        5000
#define BODY_MAX      ((size_t)1 << 20)
#define GROUP         "topology.node.k8s.io"
#define RESOURCE      "noderesourcetopologies"
#define VOLCANO       "nodeinfo.volcano.sh"
#define VERSION       "v1alpha2"
#define WHOAMI_PATH   "/apis/authentication.k8s.io/v1/selfsubjectreviews"
#define MANIFESTS     "packaging/kubernetes"
#define PODS_NAMED    3u
#define PODS_PER_PAGE "40"                 /* a page is about half a megabyte */
#define NO_NODE       "nrtd-check.invalid" /* RFC 2606 reserves the name: no Node has it */

/* helm may own the CRD that serves another version. */
static const char apply_crd[] = "kubectl apply --server-side --force-conflicts -k " MANIFESTS "/crd";

/* What the steps share. A step returns false if no later step is possible. */
struct check {
	const struct check_config *config;
	const struct doc *nrt;
	struct check_report *report;
	char *node_name;
	struct credentials *credentials;
	struct api_client *client;
	struct api_response response;
	int64_t begun_ms;
	char *user;        /* nrtd's name on the API server; NULL = unknown */
	bool is_node;      /* a kubelet's identity */
	bool cannot_write; /* something that every write requires is missing */
	bool cannot_read_node;
	bool skip_object; /* nrtd does not write the object, or would have to clear its managedFields first */
	bool labelled;    /* the Node has labels of nrtd, which affinities may require */
	struct node_metadata node; /* UID NULL = not read */
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

static bool is_out_of_time(const struct check *c)
{
	return clock_ms(CLOCK_MONOTONIC) - c->begun_ms > ALL_MS;
}

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
		return "certificate-authority of the credentials must be the CA of this API server; a wrong clock also makes certificates invalid";
	default:
		return "see the message; --api-server or the kubeconfig names the server, and its log tells more";
	}
}

/* Sends a request. False: no response, or no time left, with an item of `source`. */
static bool send_check_request(struct check *c, const char *source, const struct api_request *request)
{
	struct err err = {""};
	int r;

	if (is_out_of_time(c)) {
		check_report_line(c->report, CHECK_WARN, source, "slow",
			"not checked: earlier answers of the API server took too long",
			"look at the API server's load and the network path to it");
		return false;
	}
	r = api_client_request(c->client, request, &c->response, &err);
	if (r == 0)
		return true;
	check_report_line(c->report, CHECK_FAIL, source, "unreachable", err.text, remedy_of_no_answer(r));
	return false;
}

static bool send_get(struct check *c, const char *source, const char *path)
{
	return send_check_request(
		c, source, &(struct api_request){.method = "GET", .path = path, .accept = API_METADATA_ONLY});
}

static bool send_body(struct check *c, const char *source, const char *method, const char *path,
	const char *type, const struct strbuf *body)
{
	if (strbuf_error(body) < 0) {
		check_report_line(c->report, CHECK_FAIL, source, "too large",
			"the request is longer than allowed",
			"publish less: --exclude-resources and --namespace make the object smaller");
		return false;
	}
	return send_check_request(c, source,
		&(struct api_request){.method = method,
			.path = path,
			.content_type = type,
			.body = body->text,
			.body_len = body->len});
}

/* The response's document; null if it is not JSON. */
static struct doc parse_response(const struct check *c)
{
	struct doc response = DOC_INIT;

	json_parse(c->response.body.text, c->response.body.len, &response, NULL);
	return response;
}

/* ---- credentials */

static bool step_credentials(struct check *c)
{
	const struct api_client_options options = {.connect_ms = CONNECT_MS, .total_ms = REQUEST_MS};
	struct err err = {""};
	int r;

	if (!check_credentials(&c->config->credentials, c->report, &c->credentials))
		return false;
	r = api_client_new(c->credentials, &options, &c->client, &err);
	if (r < 0)
		check_report_line(c->report, CHECK_FAIL, "API server", NULL, err.text,
			r == -ENOSYS
				? "install libcurl (libcurl4)"
				: "correct the server's URL and its certificate authority in the kubeconfig, or --api-server");
	return r == 0;
}

/* ---- the server and its clock */

enum check_level check_clock_level(int64_t ahead_ms)
{
	int64_t off_ms = ahead_ms < 0 ? -ahead_ms : ahead_ms;

	if (off_ms > CHECK_CLOCK_FAIL_MS)
		return CHECK_FAIL;
	return off_ms > CHECK_CLOCK_WARN_MS ? CHECK_WARN : CHECK_OK;
}

/* The Date header has whole seconds, so half a second is added; the response is assumed in the middle of the
 * request. */
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
		check_duration((ahead_ms < 0 ? -ahead_ms : ahead_ms) / 1000, &text);
		strbuf_addf(&text, " %s the API server's", ahead_ms < 0 ? "behind" : "ahead of");
	}
	check_report_line(c->report, level, "clock", NULL, text.text,
		level == CHECK_OK
			? NULL
			: "let chrony or systemd-timesyncd set the clock (timedatectl shows it); the validity of certificates and tokens depends on it");
}

static void report_server(struct check *c, const char *version, int64_t took_ms)
{
	const char *server = api_client_server(c->client);
	struct check_item *item =
		check_report_add(c->report, CHECK_OK, "API server", "%s, answered in %lld ms",
			strncmp(server, "https:", 6) != 0 ? "no TLS" : "its certificate is trusted",
			(long long)took_ms);

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

	if (!send_get(c, "API server", "/version"))
		return false;
	to_ms = clock_ms(CLOCK_REALTIME);
	answer = parse_response(c);
	version = doc_string(doc_get(&answer, "gitVersion"));
	/* 403: the API server accepts the credentials, but does not show its version. */
	if (c->response.status == HTTP_FORBIDDEN || (c->response.status == HTTP_OK && version)) {
		report_server(c, version, to_ms - from_ms);
		report_clock(c, from_ms, to_ms);
		return true;
	}
	if (c->response.status == HTTP_UNAUTHORIZED) {
		/* Only for the sentence in `err`. */
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

/* ---- the CRD and the identity */

/* Whether the group serves VERSION. `all`: the list of its versions. */
static bool serves_version(const struct doc *group, struct strbuf *all)
{
	const struct doc *versions = doc_get(group, "versions");
	bool found = false;

	DOC_FOREACH_ITEM (item, versions) {
		const char *version = doc_string(doc_get(item, "version"));

		if (!version)
			continue;
		strbuf_addf(all, "%s%s", all->len > 0 ? ", " : "", version);
		if (!strcmp(version, VERSION))
			found = true;
	}
	return found;
}

static bool step_crd(struct check *c)
{
	CLEANUP(strbuf_release) struct strbuf versions = STRBUF_INIT(1024);
	CLEANUP(doc_release) struct doc group = DOC_INIT;
	struct err err = {""};

	if (!send_get(c, "CRD", "/apis/" GROUP))
		return false;
	if (c->response.status != HTTP_OK && c->response.status != HTTP_NOT_FOUND) {
		err_set(&err, 0, "not known: /apis/" GROUP " answers with status %d", c->response.status);
		check_report_line(c->report, CHECK_WARN, "CRD", "unknown", err.text,
			"let this identity discover APIs (ClusterRole system:discovery), and look at the API server's log");
		return true;
	}
	if (c->response.status == HTTP_OK)
		group = parse_response(c);
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

/* nrtd's name on the API server. Before Kubernetes 1.28 the API server does not report it, and there is no
 * item. */
static bool step_identity(struct check *c)
{
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT(256);
	CLEANUP(doc_release) struct doc review = DOC_INIT;
	const struct doc *info, *groups;
	const char *user;

	strbuf_addstr(&body, "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"SelfSubjectReview\"}");
	if (!send_body(c, "identity", "POST", WHOAMI_PATH, "application/json", &body))
		return false;
	review = parse_response(c);
	info = doc_get(doc_get(&review, "status"), "userInfo");
	if (c->response.status != HTTP_CREATED || !info || info->kind != DOC_MAP)
		return true;
	groups = doc_get(info, "groups");
	if (groups && groups->kind == DOC_LIST)
		DOC_FOREACH (item, groups)
			if (item->kind == DOC_STRING && !strcmp(item->text, "system:nodes"))
				c->is_node = true;
	user = doc_string(doc_get(info, "username"));
	if (!user)
		return true;
	text_set(&c->user, user);
	check_report_line(c->report, CHECK_OK, "identity", NULL, user, NULL);
	return true;
}

/* ---- rights */

static const struct right {
	const char *group, *namespace, *resource, *verb; /* namespace: "" = the resource has none */
	enum check_level missing;                        /* level of the item if it is missing */
	const char *what_for;
} rights[] = {
	{GROUP, "", RESOURCE, "create", CHECK_FAIL, "nrtd run"},
	{GROUP, "", RESOURCE, "patch", CHECK_FAIL, "nrtd run"},
	{GROUP, "", RESOURCE, "get", CHECK_WARN, "nrtd diff, and to see who else writes them"},
	{GROUP, "", RESOURCE, "delete", CHECK_NOTE, "nrtd run --cleanup"},
	{"", "", "nodes", "get", CHECK_FAIL, "nrtd run"},
	{"", "", "nodes", "patch", CHECK_FAIL, "nrtd run"},
	{"events.k8s.io", "default", "events", "create", CHECK_NOTE, "Events about changes of the Node"},
	{VOLCANO, "", "numatopologies", "create", CHECK_FAIL, "nrtd run --numatopology=on"},
	{VOLCANO, "", "numatopologies", "patch", CHECK_FAIL, "nrtd run --numatopology=on"},
	{"", "", "pods", "patch", CHECK_FAIL, "nrtd run --kai=on"},
};

static bool is_of_pods(const struct right *right)
{
	return !strcmp(right->resource, "pods");
}

static bool is_right_wanted(const struct check_config *config, const struct right *right)
{
	if (!strcmp(right->group, VOLCANO))
		return config->numatopology;
	return is_of_pods(right) ? config->kai : true;
}

static void set_remedy_of_right(struct check *c, const struct right *right, struct check_item *item)
{
	const char *user = c->user ? c->user : "";

	if (!strcmp(right->group, VOLCANO))
		check_report_set(&item->remedy, "kubectl apply -f " MANIFESTS "/numatopology.yaml");
	else if (is_of_pods(right))
		check_report_set(&item->remedy,
			c->is_node
				? "a kubelet's identity may not patch pods: give nrtd a service account, or set --kai=off"
				: "kubectl apply -f " MANIFESTS "/kai.yaml");
	else if (c->is_node && *right->group == '\0')
		check_report_set(&item->remedy,
			"a node's identity may do so on its own Node only: name that by --node-name");
	else if (c->is_node && *right->namespace)
		check_report_set(&item->remedy,
			"the API server's Node authorizer permits it: --authorization-mode=Node,RBAC");
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

static void report_missing_right(struct check *c, const struct right *right, const char *reason)
{
	struct check_item *item = check_report_add(c->report, right->missing, "right",
		"missing: %s %s%s%s, for %s%s%.200s", right->verb, right->resource, *right->group ? "." : "",
		right->group, right->what_for, *reason ? ": " : "", reason);

	set_remedy_of_right(c, right, item);
	item->state = "missing";
	/* The other writes do not require the rights for Numatopologies and pods. */
	if (right->missing == CHECK_FAIL && strcmp(right->group, VOLCANO) != 0 && !is_of_pods(right))
		c->cannot_write = true;
	if (!strcmp(right->resource, "nodes") && !strcmp(right->verb, "get"))
		c->cannot_read_node = true;
}

/* 1 = granted; 0 = missing; -ENODATA = unknown; -EIO = no response; 0 and errors have an item. */
static int check_right(struct check *c, const struct right *right)
{
	const struct access_right asked = {.verb = right->verb,
		.group = right->group,
		.resource = right->resource,
		.namespace = right->namespace,
		.name = c->node_name};
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT(1024);
	struct err reason = {""};
	int r;

	access_review_print(&asked, &body);
	if (!send_body(c, "right", "POST", ACCESS_REVIEWS_PATH, "application/json", &body))
		return -EIO;
	r = access_review_answer(&c->response, &reason);
	if (r == -ENODATA)
		check_report_line(c->report, CHECK_WARN, "right", "unknown", reason.text,
			"let this identity create SelfSubjectAccessReviews (ClusterRole system:basic-user), and look at the API server's log");
	else if (r == 0)
		report_missing_right(c, right, reason.text);
	return r;
}

static bool step_rights(struct check *c)
{
	CLEANUP(strbuf_release) struct strbuf granted = STRBUF_INIT(1024);
	const char *last = NULL; /* resource in `granted` */

	for (size_t i = 0; i < ARRAY_SIZE(rights); i++) {
		int r = is_right_wanted(c->config, &rights[i]) ? check_right(c, &rights[i]) : 0;

		/* Rights that are unknown end this step only: step_dry_run() shows what is denied. */
		if (r < 0)
			return r == -ENODATA;
		if (r == 0)
			continue;
		if (last && !strcmp(last, rights[i].resource))
			strbuf_addf(&granted, ", %s", rights[i].verb);
		else
			strbuf_addf(
				&granted, "%s%s: %s", last ? "; " : "", rights[i].resource, rights[i].verb);
		last = rights[i].resource;
	}
	if (granted.len > 0)
		check_report_line(c->report, CHECK_OK, "right", "granted", granted.text, NULL);
	return true;
}

/* ---- the Node */

static bool is_own_label(const char *label)
{
	return label && !strncmp(label, HINTS_LABEL_PREFIX, strlen(HINTS_LABEL_PREFIX));
}

static bool has_own_label(const struct doc *node)
{
	const struct doc *labels = doc_get(doc_get(node, "metadata"), "labels");

	if (labels && labels->kind == DOC_MAP)
		DOC_FOREACH (label, labels)
			if (is_own_label(label->key))
				return true;
	return false;
}

static bool term_requires_own_label(const struct doc *term)
{
	const struct doc *expressions = doc_get(term, "matchExpressions");

	if (expressions && expressions->kind == DOC_LIST)
		DOC_FOREACH (expression, expressions)
			if (is_own_label(doc_string(doc_get(expression, "key"))))
				return true;
	return false;
}

static bool requires_own_label(const struct doc *spec)
{
	const struct doc *selector = doc_get(spec, "nodeSelector"),
			 *affinity = doc_get(doc_get(spec, "affinity"), "nodeAffinity"),
			 *terms = doc_get(doc_get(affinity, "requiredDuringSchedulingIgnoredDuringExecution"),
				 "nodeSelectorTerms");

	if (selector && selector->kind == DOC_MAP)
		DOC_FOREACH (label, selector)
			if (is_own_label(label->key))
				return true;
	if (terms && terms->kind == DOC_LIST)
		DOC_FOREACH (term, terms)
			if (term_requires_own_label(term))
				return true;
	return false;
}

/* The observation notes the release that --kubelet-version names. */
static void check_kubelet_release(struct check *c)
{
	struct err caution;

	kubelet_release_caution(c->node.kubelet, &caution);
	if (caution.text[0] && c->config->observe.kubelet.minor == 0)
		check_report_line(c->report, CHECK_WARN, "Node", "kubelet newer", caution.text,
			"update nrtd when a release supports this kubelet");
}

static bool step_node(struct check *c)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(512);
	struct err err = {""};

	if (c->cannot_read_node)
		return true;
	strbuf_addf(&path, PUBLISH_NODE_PATH "%s", c->node_name);
	if (!send_check_request(c, "Node", &(struct api_request){.method = "GET", .path = path.text}))
		return false;
	if (publish_classify(PUBLISH_NODE, c->node_name, &c->response, &err) == PUBLISH_WRITTEN &&
		node_metadata_parse(c->response.body.text, c->response.body.len, &c->node, &err) == 0) {
		CLEANUP(doc_release) struct doc node = parse_response(c);

		c->labelled = has_own_label(&node);
		err_set(&err, 0, "'%s' is registered", c->node_name);
		check_report_line(c->report, CHECK_OK, "Node", "registered", err.text, NULL);
		check_kubelet_release(c);
		return true;
	}
	c->cannot_write = true;
	check_report_line(c->report, CHECK_FAIL, "Node",
		c->response.status == HTTP_NOT_FOUND ? "absent" : "fails", err.text,
		c->response.status == HTTP_NOT_FOUND
			? "name it by --node-name; kubectl get nodes lists the names"
			: "give this identity the right to get its Node, and look at the API server's log");
	return true;
}

/* ---- affinity: pods that require nrtd's labels. A kubelet that restarts admits running pods again, and
 * rejects those that require a label which their own CPUs have lowered. */

/* Appends "NAMESPACE/NAME" of each pod of a PodList that requires a label of nrtd. */
static void add_requiring_pods(const struct doc *list, struct strv *ret)
{
	const struct doc *items = doc_get(list, "items");

	DOC_FOREACH_ITEM (pod, items) {
		const struct doc *metadata = doc_get(pod, "metadata");

		if (requires_own_label(doc_get(pod, "spec")))
			strv_take(ret, xasprintf("%.253s/%.253s", doc_text(metadata, "namespace"),
					       doc_text(metadata, "name")));
	}
}

/* Reads one page. False after any failure: the list of pods is then incomplete. */
static bool read_pods_page(struct check *c, const char *path, struct doc *ret)
{
	const struct api_request request = {.method = "GET", .path = path};

	if (is_out_of_time(c) || api_client_request(c->client, &request, &c->response, NULL) < 0)
		return false;
	return c->response.status == HTTP_OK &&
	       json_parse(c->response.body.text, c->response.body.len, ret, NULL) == 0;
}

/* Reads the Node's pods page by page. True if all were read. */
static bool list_requiring_pods(struct check *c, struct strv *pods)
{
	CLEANUP(strbuf_release) struct strbuf next = STRBUF_INIT(4096);

	do {
		CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(8192);
		CLEANUP(doc_release) struct doc list = DOC_INIT;

		strbuf_addf(&path,
			"/api/v1/pods?limit=" PODS_PER_PAGE "&fieldSelector=spec.nodeName%%3D%s%s%s",
			c->node_name, next.len > 0 ? "&continue=" : "", next.text);
		if (strbuf_error(&path) < 0 || !read_pods_page(c, path.text, &list))
			return false;
		add_requiring_pods(&list, pods);
		strbuf_reset(&next);
		strbuf_addstr(&next, doc_text(doc_get(&list, "metadata"), "continue"));
	} while (next.len > 0 && strbuf_error(&next) == 0);
	return strbuf_error(&next) == 0;
}

static bool step_affinity(struct check *c)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);
	CLEANUP(strv_release) struct strv pods = {0};
	bool all;

	if (!c->labelled)
		return true;
	all = list_requiring_pods(c, &pods);
	if (pods.n_items > 0) {
		strbuf_addf(&text, "%zu %s nrtd's labels: ", pods.n_items,
			pods.n_items == 1 ? "pod requires one of" : "pods require");
		strbuf_add_list(&text, &pods, PODS_NAMED);
		check_report_line(c->report, CHECK_WARN, "affinity", NULL, text.text,
			"prefer the label instead: a restarted kubelet rejects running pods that require a label which their own CPUs have lowered");
	} else if (all)
		check_report_line(
			c->report, CHECK_OK, "affinity", NULL, "no pod requires nrtd's labels", NULL);
	else
		check_report_line(c->report, CHECK_NOTE, "affinity", NULL,
			"the Node's pods cannot be listed: whether one requires nrtd's labels is not known",
			NULL);
	return true;
}

/* ---- other exporters that write this node's object */

static void report_exporters(struct check *c, const struct doc *object)
{
	CLEANUP(managed_fields_release) struct managed_fields m = {0};
	bool others = c->config->others_nrt; /* --coexist: another exporter writes the object */
	struct check_item *item;
	const char *remedy;

	c->skip_object = others;
	if (managed_fields_read(object, &apply_nrt, &m) < 0)
		return;
	/* The API server rejects an apply until nrtd run has cleared the managedFields. */
	if (m.other_version)
		c->skip_object = true;
	if (!m.rival[0]) {
		check_report_line(c->report, CHECK_OK, "exporters", NULL,
			"no other program writes this node's object", NULL);
		return;
	}
	item = check_report_add(c->report, others ? CHECK_OK : CHECK_WARN, "exporters",
		others ? "'%s' writes this node's object; nrtd does not"
		       : "'%s' has written this node's object",
		m.rival);
	remedy = apply_rival_remedy(m.rival);
	if (!others)
		check_report_set(&item->remedy, "%s",
			remedy ? remedy
			       : "if it still runs, stop it: two exporters of one object overwrite each other");
}

/* Reports who else writes the object, and sets c->skip_object for step_dry_run(), which does nothing without the Node's UID or if nrtd
 * cannot write. */
static bool step_exporters(struct check *c)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(512);

	strbuf_addf(&path, APPLY_NRT_PATH "%s", c->node_name);
	if (c->cannot_write || !c->node.uid)
		return true;
	if (!send_get(c, "exporters", path.text))
		return false;
	if (c->response.status == HTTP_OK) {
		CLEANUP(doc_release) struct doc object = parse_response(c);

		report_exporters(c, &object);
	}
	return true;
}

/* ---- dry runs of nrtd's writes */

/* False: the write would be rejected, or there was no response. */
static bool dry_run(struct check *c, enum publish_object object, const char *path, const char *type,
	const struct doc *doc)
{
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT(BODY_MAX);
	struct err err = {""};

	/* send_body() reports an error of `body`. */
	json_print_compact(doc, &body);
	if (!send_body(c, "dry run", "PATCH", path, type, &body))
		return false;
	if (publish_classify(object, c->node_name, &c->response, &err) == PUBLISH_WRITTEN)
		return true;
	check_report_line(c->report, CHECK_FAIL, "dry run", "refused", err.text,
		"change what the message names: an admission policy or webhook, a quota, or the CRD's schema (kubectl apply the CRD of this release)");
	return false;
}

/* The startup taint, if the Node has it. False: nrtd run could not remove it. */
static bool try_taint(struct check *c, const char *node_path)
{
	CLEANUP(doc_release) struct doc patch = DOC_INIT;

	if (!c->node.has_taint)
		return true;
	if (c->config->keep_taint) {
		check_report_line(c->report, CHECK_NOTE, "startup taint", NULL,
			"the Node has it, and --startup-taint=keep does not remove it", NULL);
		return true;
	}
	node_metadata_taint_patch(&c->node, &patch);
	if (!dry_run(c, PUBLISH_TAINT, node_path, "application/json-patch+json", &patch))
		return false;
	check_report_line(c->report, CHECK_OK, "startup taint", NULL,
		"the Node has it, and nrtd run removes it when everything is published", NULL);
	return true;
}

static bool step_dry_run(struct check *c)
{
	CLEANUP(strbuf_release) struct strbuf nrt_path = STRBUF_INIT(512), node_path = STRBUF_INIT(512);
	CLEANUP(doc_release) struct doc object = DOC_INIT, patch = {.kind = DOC_MAP};
	struct doc *annotations = doc_add_map(doc_add_map(&patch, "metadata"), "annotations");

	if (c->cannot_write || !c->node.uid || !c->nrt) {
		check_report_line(c->report, CHECK_NOTE, "dry run", NULL,
			c->nrt ? "not tried: it requires what is missing above"
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
	if (!c->skip_object &&
		!dry_run(c, PUBLISH_NRT, nrt_path.text, "application/apply-patch+yaml", &object))
		return false;
	if (!dry_run(c, PUBLISH_NODE, node_path.text, "application/merge-patch+json", &patch))
		return false;
	if (!try_taint(c, node_path.text))
		return false;
	check_report_line(c->report, CHECK_OK, "dry run", NULL,
		c->skip_object ? "the API server would accept the Node's annotations"
			       : "the API server would accept the object and the Node's annotations",
		NULL);
	return true;
}

/* ---- own node: whether the API server restricts this identity to its own node's objects. Dry runs of two
 * writes that the admission policies deny (nrtd-own-node, and nrtd-nodes for a kubelet's identity): the object of another node, which does not exist,
 * and an annotation of this Node that is not under nrtd.dev/. A kubelet may write other annotations, so for a
 * kubelet's identity only the first write is tried. */

static const char another_nodes_object[] =
	"{\"apiVersion\":\"topology.node.k8s.io/v1alpha2\",\"kind\":\"NodeResourceTopology\","
	"\"metadata\":{\"name\":\"" NO_NODE "\"},\"zones\":[]}";
static const char foreign_annotation[] =
	"{\"metadata\":{\"annotations\":{\"" NO_NODE "/check\":\"may not be written\"}}}";

enum write_result { WRITE_DENIED, WRITE_ALLOWED, WRITE_UNKNOWN };

static enum write_result try_foreign_write(
	struct check *c, const char *path, const char *type, const char *body, struct err *why)
{
	const struct api_request request = {.method = "PATCH",
		.path = path,
		.content_type = type,
		.body = body,
		.body_len = strlen(body)};
	char message[API_MESSAGE_MAX];

	if (is_out_of_time(c)) {
		err_set(why, 0, "not checked: earlier answers of the API server took too long");
		return WRITE_UNKNOWN;
	}
	if (api_client_request(c->client, &request, &c->response, why) < 0)
		return WRITE_UNKNOWN;
	if (c->response.status >= 200 && c->response.status < 300)
		return WRITE_ALLOWED;
	if (c->response.status == HTTP_FORBIDDEN)
		return WRITE_DENIED;
	api_response_message(&c->response, message);
	err_set(why, 0, "not known: the API server answers %d to the dry run: %s", c->response.status,
		message);
	return WRITE_UNKNOWN;
}

static const char *remedy_of_unrestricted(const struct check *c)
{
	static const char account[] = "system:serviceaccount:";

	if (c->is_node)
		return "kubectl apply -f " MANIFESTS "/rbac-nodes.yaml";
	if (c->user && strncmp(c->user, account, strlen(account)) != 0)
		return "the admission policies restrict service accounts and nodes: give nrtd the token of its pod, or the kubelet's kubeconfig";
	return "kubectl apply -k packaging/kubernetes, or your overlay of it (in the chart admissionPolicy.create=true): it brings the admission policy, and write-own-node on agents.nrtd.dev for the agent's ClusterRole";
}

static void report_own_node(
	struct check *c, enum write_result result, const char *allowed, const struct err *why)
{
	switch (result) {
	case WRITE_DENIED:
		check_report_line(c->report, CHECK_OK, "own node", "restricted",
			c->is_node
				? "the API server denies this identity other nodes' objects"
				: "the API server denies this identity other nodes' objects and others' annotations",
			NULL);
		break;
	case WRITE_ALLOWED:
		check_report_line(c->report, CHECK_WARN, "own node", "unrestricted", allowed,
			remedy_of_unrestricted(c));
		break;
	case WRITE_UNKNOWN:
		check_report_line(c->report, CHECK_NOTE, "own node", "unknown", why->text, NULL);
		break;
	}
}

static bool step_own_node(struct check *c)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(512);
	const char *allowed = "the API server lets this identity write the objects of other nodes";
	struct err why = {""};
	enum write_result result = try_foreign_write(c,
		APPLY_NRT_PATH NO_NODE "?" PUBLISH_MANAGER_QUERY "&force=true&dryRun=All",
		"application/apply-patch+yaml", another_nodes_object, &why);

	if (result == WRITE_DENIED && !c->is_node) {
		allowed =
			"the API server lets this identity write annotations of the Node that are not nrtd's";
		strbuf_addf(&path, PUBLISH_NODE_PATH "%s?" PUBLISH_MANAGER_QUERY "&dryRun=All", c->node_name);
		result = try_foreign_write(
			c, path.text, "application/merge-patch+json", foreign_annotation, &why);
	}
	report_own_node(c, result, allowed, &why);
	return true;
}

/* In the order in which failures stop nrtd. */
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
	/* The observation has an item for an invalid Node name. */
	if (observe_node_name(&config->observe, &c.node_name, &err) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(steps) && steps[i](&c); i++)
		;
}

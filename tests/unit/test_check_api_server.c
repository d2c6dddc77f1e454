/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `nrtd check` says of publishing, against a server that answers as it is told; tests/upstream/check.sh
 * asks a real one.
 */
#include "tests/lib/test.h"

#include <unistd.h>

#include "agent/check/check.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "scoring/kubelet_release.h"
#include "tests/lib/api_server.h"

#define VERSION                                                       \
	{                                                             \
		.status = 200, .body = "{\"gitVersion\":\"v1.35.4\"}" \
	}
#define CRD                                                                                      \
	{                                                                                        \
		.status = 200,                                                                   \
		.body = "{\"versions\":[{\"version\":\"v1alpha1\"},{\"version\":\"v1alpha2\"}]}" \
	}
#define WHO(user, group)                                                                 \
	{                                                                                \
		.status = 201, .body = "{\"status\":{\"userInfo\":{\"username\":\"" user \
				       "\",\"groups\":[\"a\",\"" group "\"]}}}"          \
	}
#define AGENT WHO("system:serviceaccount:nrtd:nrtd", "b")
#define YES                                                              \
	{                                                                \
		.status = 201, .body = "{\"status\":{\"allowed\":true}}" \
	}
#define NO                                                                                         \
	{                                                                                          \
		.status = 201, .body = "{\"status\":{\"allowed\":false,\"reason\":\"no\\nrole\"}}" \
	}
#define NODE                                                                               \
	{                                                                                  \
		.status = 200, .body = "{\"kind\":\"Node\",\"metadata\":{\"uid\":\"u1\"}}" \
	}
#define TAKEN                               \
	{                                   \
		.status = 200, .body = "{}" \
	}
#define SAYS(code, text)                                                                   \
	{                                                                                  \
		.status = (code), .body = "{\"kind\":\"Status\",\"message\":\"" text "\"}" \
	}
/* What the admission policy says to the writes that it must deny. */
#define DENIED    SAYS(403, "ValidatingAdmissionPolicy 'nrtd-own-node' denied request")
#define OWN_ONLY  DENIED, DENIED
#define SERVER_OK "ok    API server     URL: reached, v1.35.4, no TLS, answered in N ms\n"
#define CLOCK     "note  clock          not compared: the answer has no Date\n"
#define BEGIN     "ok    credentials    none\n" SERVER_OK CLOCK
#define CRD_OK    "ok    CRD            topology.node.k8s.io serves v1alpha1, v1alpha2\n"
#define AGENT_OK  "ok    identity       system:serviceaccount:nrtd:nrtd\n"
#define RIGHTS_OK \
	"ok    right          noderesourcetopologies: create, patch, get, delete; nodes: get, patch; events: create\n"
#define NODE_OK "ok    Node           'node-a' is registered\n"
#define TAKES   "ok    dry run        the API server would accept the object and the Node's annotations\n"
#define OWN_OK \
	"ok    own node       the API server denies this identity other nodes' objects and others' annotations\n"
#define DRY_OK       TAKES OWN_OK
#define EXPORTERS_OK "ok    exporters      no other program writes this node's object\n"
#define NOT_TRIED    "note  dry run        not tried: it requires what is missing above\n"
#define REMEDY       "                     remedy: "
#define REMEDY_DRY_RUN \
	REMEDY "change what the message names: an admission policy or webhook, a quota, or the CRD's schema (kubectl apply the CRD of this release)\n"
#define REMEDY_CRD \
	REMEDY "let this identity discover APIs (ClusterRole system:discovery), and look at the API server's log\n"
#define REMEDY_REVIEW \
	REMEDY "let this identity create SelfSubjectAccessReviews (ClusterRole system:basic-user), and look at the API server's log\n"

/* Replace what differs from run to run: the URL by URL, the time that an answer took by N. */
static void mask(const char *text, const char *url, struct strbuf *out)
{
	static const char took[] = "answered in ";

	while (*text) {
		if (!strncmp(text, url, strlen(url))) {
			strbuf_addstr(out, "URL");
			text += strlen(url);
		} else if (!strncmp(text, took, strlen(took))) {
			strbuf_addf(out, "%sN", took);
			text += strlen(took);
			text += strspn(text, "0123456789");
		} else {
			strbuf_addch(out, *text++);
		}
	}
}

static bool numatopology, kai, keep_taint; /* --numatopology=on, --kai=on, --startup-taint=keep */

/* Ask a server with this script; its address is in `s` and what there is to say, masked, in `out`. */
static void check_with(const struct api_answer *script, size_t n, struct api_server *s,
	struct check_report *report, struct strbuf *out)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1u << 16);
	CLEANUP(doc_release) struct doc nrt = DOC_INIT;
	static const char object[] =
		"{\"kind\":\"NodeResourceTopology\",\"metadata\":{\"name\":\"node-a\"},\"attributes\":[{"
		"\"name\":\"nrtd.dev/content-hash\",\"value\":\"0123\"}]}";
	char url[64];
	const struct check_config config = {.observe.node_name = "node-a",
		.numatopology = numatopology,
		.kai = kai,
		.keep_taint = keep_taint,
		.credentials.api_server = url};

	assert_int_equal(json_parse(object, strlen(object), &nrt, NULL), 0);
	api_server_start(s, script, n);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", s->port);
	check_api_server(&config, &nrt, report);
	api_server_stop(s);
	check_report_text(report, &text);
	mask(text.text, url, out);
}

static void expect(
	const char *name, const struct api_answer *script, enum check_level level, const char *want)
{
	CLEANUP(check_report_release) struct check_report report = {0};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1u << 16);
	struct api_server s;
	size_t n = 0;

	while (script[n].status)
		n++;
	check_with(script, n, &s, &report, &text);
	test_assert_text(name, text.text, want);
	assert_int_equal(check_report_level(&report), level);
	assert_int_equal(s.n_requests, n);
}

static void nothing_stops_it(void **state)
{
	static const struct api_answer script[] = {
		VERSION, CRD, AGENT, YES, YES, YES, YES, YES, YES, YES, NODE, TAKEN, TAKEN, TAKEN, OWN_ONLY};
	static const struct {
		size_t at;
		const char *method, *url, *body;
	} requests[] = {
		{0, "GET", "/version", ""},
		{1, "GET", "/apis/topology.node.k8s.io", ""},
		{2, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews",
			"{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"SelfSubjectReview\"}"},
		{4, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
			"{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SelfSubjectAccessReview\","
			"\"spec\":{\"resourceAttributes\":{\"verb\":\"patch\",\"group\":\"topology.node.k8s.io\",\"resource\":"
			"\"noderesourcetopologies\",\"name\":\"node-a\"}}}"},
		{10, "GET", "/api/v1/nodes/node-a", ""},
		{11, "GET", "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/node-a", ""},
		{12, "PATCH", "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/node-a",
			"{\"kind\":\"NodeResourceTopology\",\"metadata\":{\"name\":\"node-a\","
			"\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"node-a\","
			"\"uid\":\"u1\"}]},\"attributes\":[{\"name\":\"nrtd.dev/content-hash\",\"value\":"
			"\"0123\"}]}"},
		{13, "PATCH", "/api/v1/nodes/node-a",
			"{\"metadata\":{\"annotations\":{\"nrtd.dev/content-hash\":\"0123\"}}}"},
		{14, "PATCH", "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/nrtd-check.invalid",
			"{\"apiVersion\":\"topology.node.k8s.io/v1alpha2\",\"kind\":\"NodeResourceTopology\","
			"\"metadata\":{\"name\":\"nrtd-check.invalid\"},\"zones\":[]}"},
		{15, "PATCH", "/api/v1/nodes/node-a",
			"{\"metadata\":{\"annotations\":{\"nrtd-check.invalid/check\":\"may not be "
			"written\"}}}"},
	};
	CLEANUP(check_report_release) struct check_report report = {0};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1u << 16);
	struct api_server s;

	(void)state;
	check_with(script, ARRAY_SIZE(script), &s, &report, &text);
	test_assert_text("text", text.text, BEGIN CRD_OK AGENT_OK RIGHTS_OK NODE_OK EXPORTERS_OK DRY_OK);
	assert_int_equal(s.n_requests, ARRAY_SIZE(script));
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		test_assert_text("method", s.method[requests[i].at], requests[i].method);
		test_assert_text("url", s.url[requests[i].at], requests[i].url);
		test_assert_text("body", s.body[requests[i].at], requests[i].body);
	}
	/* What must not change anything there. */
	for (size_t at = 12; at < 16; at++)
		test_assert_text("dry run", s.dry_run[at], "All");
}

/* Required affinity on nrtd's labels, where the Node has them. */
static void pods_that_require_a_label_are_named(void **state)
{
#define LABELLED                                                                                   \
	{                                                                                          \
		.status = 200,                                                                     \
		.body = "{\"kind\":\"Node\",\"metadata\":{\"uid\":\"u1\",\"labels\":{\"a\":\"b\"," \
			"\"nrtd.dev/max-exclusive-cpus.1-numa\":\"4\"}}}"                          \
	}
#define POD(name, spec)       "{\"metadata\":{\"namespace\":\"d\",\"name\":\"" name "\"},\"spec\":{" spec "}}"
#define AFFINITY(when, terms) "\"affinity\":{\"nodeAffinity\":{\"" when "\":" terms "}}"
#define TERM(label)           "{\"matchExpressions\":[{\"key\":\"x\"},{\"key\":\"" label "\",\"operator\":\"Gt\"}]}"
#define REQUIRED              "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED             "preferredDuringSchedulingIgnoredDuringExecution"
#define OURS                  "nrtd.dev/max-exclusive-cpus.1-numa"
#define UP_TO_NODE            VERSION, CRD, AGENT, YES, YES, YES, YES, YES, YES, YES, LABELLED
#define FOUND                 BEGIN CRD_OK AGENT_OK RIGHTS_OK NODE_OK
	static const struct api_answer some[] = {UP_TO_NODE,
		{.status = 200,
			.body = "{\"metadata\":{\"continue\":\"next-1\"},\"items\":[" POD(
				"one", AFFINITY(REQUIRED, "{\"nodeSelectorTerms\":[" TERM("y") "," TERM(
								  OURS) "]}")) "," POD("fine",
				AFFINITY(PREFERRED,
					"[{\"weight\":1,\"preference\":" TERM(OURS) "}]")) "," POD("other",
				AFFINITY(REQUIRED, "{\"nodeSelectorTerms\":[" TERM("y") "]}")) "]}"},
		{.status = 200,
			.body = "{\"items\":[" POD("two", "\"nodeSelector\":{\"" OURS "\":\"4\"}") "," POD(
				"bare", "") "]}"},
		TAKEN, TAKEN, TAKEN, OWN_ONLY, {.status = 0}};
	static const struct api_answer none[] = {UP_TO_NODE,
		{.status = 200, .body = "{\"items\":[" POD("bare", "") "]}"}, TAKEN, TAKEN, TAKEN, OWN_ONLY,
		{.status = 0}};
	static const struct api_answer unseen[] = {
		UP_TO_NODE, SAYS(403, "pods is forbidden"), TAKEN, TAKEN, TAKEN, OWN_ONLY, {.status = 0}};

	(void)state;
	expect("some", some, CHECK_WARN,
		FOUND
		"warn  affinity       2 pods require nrtd's labels: d/one, d/two\n" REMEDY
		"prefer the label instead: a restarted kubelet rejects running pods that require a label which "
		"their own CPUs have lowered\n" EXPORTERS_OK DRY_OK);
	expect("none", none, CHECK_NOTE,
		FOUND "ok    affinity       no pod requires nrtd's labels\n" EXPORTERS_OK DRY_OK);
	expect("unseen", unseen, CHECK_NOTE,
		FOUND
		"note  affinity       the Node's pods cannot be listed: whether one requires nrtd's labels is "
		"not known\n" EXPORTERS_OK DRY_OK);
}

static void missing_rights_are_named(void **state)
{
#define MISSING(level, verb, resource, why, remedy) \
	level "  right          missing: " verb " " resource ", for " why ": no?role\n" REMEDY remedy "\n"
#define NRTS "noderesourcetopologies.topology.node.k8s.io"
#define ALL_MISSING(remedy, node_remedy, event_remedy)                                     \
	MISSING("FAIL", "create", NRTS, "nrtd run", remedy)                                \
	MISSING("FAIL", "patch", NRTS, "nrtd run", remedy)                                 \
	MISSING("warn", "get", NRTS, "nrtd diff, and to see who else writes them", remedy) \
	MISSING("note", "delete", NRTS, "nrtd run --cleanup", remedy)                      \
	MISSING("FAIL", "get", "nodes", "nrtd run", node_remedy)                           \
	MISSING("FAIL", "patch", "nodes", "nrtd run", node_remedy)                         \
	MISSING("note", "create", "events.events.k8s.io", "Events about changes of the Node", event_remedy)
#define RBAC       "kubectl apply -f packaging/kubernetes/rbac.yaml"
#define NODES      "kubectl apply -f packaging/kubernetes/rbac-nodes.yaml"
#define OWN        "a node's identity may do so on its own Node only: name that by --node-name"
#define AUTHORIZER "the API server's Node authorizer permits it: --authorization-mode=Node,RBAC"
#define BIND       RBAC ", then kubectl create clusterrolebinding NAME --clusterrole=nrtd --user=jane"
	static const struct api_answer agent[] = {VERSION, CRD, AGENT, NO, NO, NO, NO, NO, NO, NO, {0}};
	static const struct api_answer node[] = {
		VERSION, CRD, WHO("system:node:x", "system:nodes"), NO, NO, NO, NO, NO, NO, NO, {0}};
	static const struct api_answer jane[] = {
		VERSION, CRD, WHO("jane", "b"), YES, YES, YES, YES, YES, NO, YES, NODE, {0}};
	static const struct api_answer cleanup[] = {VERSION, CRD, AGENT, YES, YES, YES, NO, YES, YES, YES,
		NODE, TAKEN, TAKEN, TAKEN, OWN_ONLY, {0}};

	(void)state;
	expect("an agent", agent, CHECK_FAIL, BEGIN CRD_OK AGENT_OK ALL_MISSING(RBAC, RBAC, RBAC) NOT_TRIED);
	expect("a node", node, CHECK_FAIL,
		BEGIN CRD_OK "ok    identity       system:node:x\n" ALL_MISSING(NODES, OWN, AUTHORIZER)
			NOT_TRIED);
	expect("a person", jane, CHECK_FAIL,
		BEGIN CRD_OK "ok    identity       jane\n" MISSING("FAIL", "patch", "nodes", "nrtd run",
			BIND) "ok    right          noderesourcetopologies: create, patch, get, delete; "
			      "nodes: get; events: create\n" NODE_OK NOT_TRIED);
	expect("what only --cleanup needs", cleanup, CHECK_NOTE,
		BEGIN CRD_OK AGENT_OK MISSING("note", "delete", NRTS, "nrtd run --cleanup",
			RBAC) "ok    right          noderesourcetopologies: create, patch, get; nodes: get, "
			      "patch; events: create\n" NODE_OK EXPORTERS_OK DRY_OK);
}

static void other_exporters_are_named(void **state)
{
#define WRITTEN_BY(manager)                                                                                \
	{                                                                                                  \
		.status = 200,                                                                             \
		.body = "{\"metadata\":{\"managedFields\":[{\"manager\":\"nrtd\",\"operation\":\"Apply\"," \
			"\"fieldsV1\":{\"f:attributes\":{}}},{\"manager\":\"" manager "\",\"operation\":"  \
			"\"Update\",\"fieldsV1\":{\"f:zones\":{}}}]}}"                                     \
	}
#define WITH(manager)                                                                                    \
	VERSION, CRD, AGENT, YES, YES, YES, YES, YES, YES, YES, NODE, WRITTEN_BY(manager), TAKEN, TAKEN, \
		OWN_ONLY,                                                                                \
	{                                                                                                \
		0                                                                                        \
	}
#define NAMED(manager)                                                           \
	BEGIN CRD_OK AGENT_OK RIGHTS_OK NODE_OK "warn  exporters      '" manager \
						"' has written this node's object\n" REMEDY
	static const struct api_answer koordlet[] = {WITH("koordlet")};
	static const struct api_answer nfd[] = {WITH("node-feature-discovery-topology-updater")};
	static const struct api_answer rte[] = {WITH("resource-topology-exporter")};
	static const struct api_answer nri[] = {WITH("nri-resource-policy-balloons")};
	static const struct api_answer somebody[] = {WITH("kubectl-edit")};

	(void)state;
	expect("koordlet", koordlet, CHECK_WARN,
		NAMED("koordlet") "that is Koordinator's: nrtd run --coexist=koordinator leaves the object to it, or set koordlet's feature gate NodeTopologyReport=false\n" DRY_OK);
	expect("nfd", nfd, CHECK_WARN,
		NAMED("node-feature-discovery-topology-updater") "that is NFD's: uninstall its topology-updater (in its chart topologyUpdater.enable=false)\n" DRY_OK);
	expect("rte", rte, CHECK_WARN,
		NAMED("resource-topology-exporter") "uninstall the resource-topology-exporter\n" DRY_OK);
	expect("nri-plugins", nri, CHECK_WARN,
		NAMED("nri-resource-policy-balloons") "that is nri-plugins': set agent.nodeResourceTopology=false in its policy's configuration, or nrtd run --coexist=nri-plugins leaves the object to it\n" DRY_OK);
	expect("somebody", somebody, CHECK_WARN,
		NAMED("kubectl-edit") "if it still runs, stop it: two exporters of one object overwrite each other\n" DRY_OK);
}

/* What nrtd does not write, or not like this, is not tried. */
static void an_object_that_stays_is_not_tried(void **state)
{
	static const char by_old[] =
		"{\"metadata\":{\"managedFields\":[{\"manager\":\"koordlet\",\"operation\":\"Update\",\"apiVersion\":"
		"\"topology.node.k8s.io/v1alpha1\",\"fieldsV1\":{\"f:zones\":{}}}]}}";
	static const struct api_answer script[] = {VERSION, CRD, AGENT, YES, YES, YES, YES, YES, YES, YES,
		NODE, {.status = 200, .body = by_old}, TAKEN, OWN_ONLY, {0}};

	(void)state;
	expect("an old client's", script, CHECK_WARN,
		BEGIN CRD_OK AGENT_OK RIGHTS_OK NODE_OK
		"warn  exporters      'koordlet' has written this node's object\n" REMEDY
		"that is Koordinator's: nrtd run --coexist=koordinator leaves the object to it, or set koordlet's feature gate NodeTopologyReport=false\n"
		"ok    dry run        the API server would accept the Node's annotations\n" OWN_OK);
}

static void a_kubelet_that_is_newer_than_nrtd_is_named(void **state)
{
#define NEWER_NODE                                                                                   \
	{                                                                                            \
		.status = 200,                                                                       \
		.body = "{\"kind\":\"Node\",\"metadata\":{\"uid\":\"u1\"},\"status\":{\"nodeInfo\":" \
			"{\"kubeletVersion\":\"v1.99.1\"}}}"                                         \
	}
	static const struct api_answer script[] = {VERSION, CRD, AGENT, YES, YES, YES, YES, YES, YES, YES,
		NEWER_NODE, TAKEN, TAKEN, TAKEN, OWN_ONLY, {0}};
	CLEANUP(strbuf_release) struct strbuf want = STRBUF_INIT(4096);
	struct err caution;

	(void)state;
	kubelet_release_caution((struct kubelet_release){.minor = 99}, &caution);
	strbuf_addf(&want,
		BEGIN CRD_OK AGENT_OK RIGHTS_OK NODE_OK
		"warn  Node           %s\n" REMEDY
		"update nrtd when a release supports this kubelet\n" EXPORTERS_OK DRY_OK,
		caution.text);
	expect("newer", script, CHECK_WARN, want.text);
}

/* The Node's startup taint, whose removal is tried unless it is kept. */
static void a_startup_taint_is_named(void **state)
{
#define TAINTED                                                                                  \
	{                                                                                        \
		.status = 200,                                                                   \
		.body = "{\"kind\":\"Node\",\"metadata\":{\"uid\":\"u1\"},\"spec\":{\"taints\":" \
			"[{\"key\":\"nrtd.dev/not-ready\",\"effect\":\"NoSchedule\"}]}}"         \
	}
#define UP_TO_TAINT VERSION, CRD, AGENT, YES, YES, YES, YES, YES, YES, YES, TAINTED, TAKEN, TAKEN, TAKEN
	static const struct api_answer taken[] = {UP_TO_TAINT, TAKEN, OWN_ONLY, {0}};
	static const struct api_answer refused[] = {
		UP_TO_TAINT, SAYS(403, "is not allowed to modify taints"), {0}};
	static const struct api_answer kept[] = {UP_TO_TAINT, OWN_ONLY, {0}};

	(void)state;
	expect("removed", taken, CHECK_NOTE,
		BEGIN CRD_OK AGENT_OK RIGHTS_OK NODE_OK EXPORTERS_OK
		"ok    startup taint  the Node has it, and nrtd run removes it when everything is published\n" DRY_OK);
	expect("refused", refused, CHECK_FAIL,
		BEGIN CRD_OK AGENT_OK RIGHTS_OK NODE_OK EXPORTERS_OK
		"FAIL  dry run        a kubelet's identity may not remove the startup taint of 'node-a': give nrtd a service account (packaging/kubernetes/rbac.yaml): is not allowed to modify taints\n" REMEDY_DRY_RUN);
	keep_taint = true;
	expect("kept", kept, CHECK_NOTE,
		BEGIN CRD_OK AGENT_OK RIGHTS_OK NODE_OK EXPORTERS_OK
		"note  startup taint  the Node has it, and --startup-taint=keep does not remove it\n" DRY_OK);
	keep_taint = false;
}

/* What must be denied is asked for: an admission policy that does not know this identity is a warning. */
static void writes_of_other_nodes_objects_must_be_denied(void **state)
{
#define UP_TO_DRY_RUN(who) VERSION, CRD, who, YES, YES, YES, YES, YES, YES, YES, NODE, TAKEN, TAKEN, TAKEN
#define IS(user)           "ok    identity       " user "\n"
#define OTHERS_OBJECTS                                                                                       \
	RIGHTS_OK NODE_OK EXPORTERS_OK TAKES "warn  own node       the API server lets this identity write " \
					     "the objects of other nodes\n" REMEDY
#define APPLY                                                                                  \
	"kubectl apply -k packaging/kubernetes, or your overlay of it (in the chart "          \
	"admissionPolicy.create=true): it brings the admission policy, and write-own-node on " \
	"agents.nrtd.dev for the agent's ClusterRole\n"
#define NUMA   "system:serviceaccount:numa:x-nrtd"
#define A_NODE "system:node:node-a"
	static const struct api_answer account[] = {UP_TO_DRY_RUN(WHO(NUMA, "b")), TAKEN, {0}};
	static const struct api_answer nobody[] = {
		UP_TO_DRY_RUN(SAYS(404, "x")), {.status = 201, .body = "{}"}, {0}};
	static const struct api_answer jane[] = {UP_TO_DRY_RUN(WHO("jane", "b")), TAKEN, {0}};
	static const struct api_answer node[] = {UP_TO_DRY_RUN(WHO(A_NODE, "system:nodes")), TAKEN, {0}};
	static const struct api_answer good_node[] = {
		UP_TO_DRY_RUN(WHO(A_NODE, "system:nodes")), DENIED, {0}};
	static const struct api_answer annotation[] = {UP_TO_DRY_RUN(AGENT), DENIED, TAKEN, {0}};
	static const struct api_answer webhook[] = {
		UP_TO_DRY_RUN(AGENT), SAYS(400, "a webhook does not support dry run"), {0}};
	static const struct api_answer fails[] = {UP_TO_DRY_RUN(AGENT), DENIED, SAYS(500, "etcd"), {0}};

	(void)state;
	expect("a service account", account, CHECK_WARN, BEGIN CRD_OK IS(NUMA) OTHERS_OBJECTS APPLY);
	expect("an unnamed identity", nobody, CHECK_WARN, BEGIN CRD_OK OTHERS_OBJECTS APPLY);
	expect("a person", jane, CHECK_WARN,
		BEGIN CRD_OK IS("jane") OTHERS_OBJECTS
		"the admission policies restrict service accounts and nodes: give nrtd the token of its pod, or "
		"the kubelet's kubeconfig\n");
	expect("a node", node, CHECK_WARN, BEGIN CRD_OK IS(A_NODE) OTHERS_OBJECTS NODES "\n");
	expect("a restricted node", good_node, CHECK_NOTE,
		BEGIN CRD_OK IS(A_NODE) RIGHTS_OK NODE_OK EXPORTERS_OK TAKES
		"ok    own node       the API server denies this identity other nodes' objects\n");
	expect("an annotation", annotation, CHECK_WARN,
		BEGIN CRD_OK AGENT_OK RIGHTS_OK NODE_OK EXPORTERS_OK TAKES
		"warn  own node       the API server lets this identity write annotations of the Node that are not "
		"nrtd's\n" REMEDY APPLY);
	expect("a webhook", webhook, CHECK_NOTE,
		BEGIN CRD_OK AGENT_OK RIGHTS_OK NODE_OK EXPORTERS_OK TAKES
		"note  own node       not known: the API server answers 400 to the dry run: a webhook does not "
		"support dry run\n");
	expect("a server that fails", fails, CHECK_NOTE,
		BEGIN CRD_OK AGENT_OK RIGHTS_OK NODE_OK EXPORTERS_OK TAKES
		"note  own node       not known: the API server answers 500 to the dry run: etcd\n");
}

static void the_right_to_write_numatopologies_is_asked_for_where_they_are_wanted(void **state)
{
	static const struct api_answer script[] = {VERSION, CRD, AGENT, YES, YES, YES, YES, YES, YES, YES,
		YES, NO, NODE, TAKEN, TAKEN, TAKEN, OWN_ONLY, {0}};

	(void)state;
	numatopology = true;
	expect("numatopology", script, CHECK_FAIL,
		BEGIN CRD_OK AGENT_OK
		"FAIL  right          missing: patch numatopologies.nodeinfo.volcano.sh, for nrtd run --numatopology=on: no?role\n" REMEDY
		"kubectl apply -f packaging/kubernetes/numatopology.yaml\n"
		"ok    right          noderesourcetopologies: create, patch, get, delete; nodes: get, patch; events: create; numatopologies: create\n" NODE_OK
			EXPORTERS_OK DRY_OK);
	numatopology = false;
}

static void the_right_to_patch_pods_is_asked_for_where_it_is_wanted(void **state)
{
#define NO_PODS(who) VERSION, CRD, who, YES, YES, YES, YES, YES, YES, YES, NO, NODE, TAKEN, TAKEN, TAKEN
#define MISSING_PODS(remedy) \
	"FAIL  right          missing: patch pods, for nrtd run --kai=on: no?role\n" REMEDY remedy "\n"
	static const struct api_answer account[] = {NO_PODS(AGENT), OWN_ONLY, {0}};
	static const struct api_answer node[] = {NO_PODS(WHO(A_NODE, "system:nodes")), DENIED, {0}};

	(void)state;
	kai = true;
	expect("an account", account, CHECK_FAIL,
		BEGIN CRD_OK AGENT_OK MISSING_PODS("kubectl apply -f packaging/kubernetes/kai.yaml")
			RIGHTS_OK NODE_OK EXPORTERS_OK DRY_OK);
	expect("a node", node, CHECK_FAIL,
		BEGIN CRD_OK IS(A_NODE) MISSING_PODS(
			"a kubelet's identity may not patch pods: give nrtd a service account, or set --kai=off")
			RIGHTS_OK NODE_OK EXPORTERS_OK TAKES
		"ok    own node       the API server denies this identity other nodes' objects\n");
	kai = false;
}

static void what_is_not_there_is_named(void **state)
{
#define APPLY_CRD REMEDY "kubectl apply --server-side --force-conflicts -k packaging/kubernetes/crd\n"
	static const struct api_answer no_crd[] = {VERSION, {.status = 404, .body = "404 page not found\n"},
		SAYS(404, "x"), YES, YES, YES, YES, YES, YES, YES, NODE, {0}};
	static const struct api_answer old_crd[] = {VERSION,
		{.status = 200, .body = "{\"versions\":[{\"version\":\"v1alpha1\"},7,{}]}"}, AGENT, YES, YES,
		YES, YES, YES, YES, YES, SAYS(404, "x"), {0}};
	static const struct api_answer no_reviews[] = {VERSION, SAYS(403, "x"), SAYS(403, "x"),
		SAYS(403, "x"), NODE, SAYS(404, "x"), TAKEN,
		SAYS(422, "ValidatingAdmissionPolicy 'p' denied"), {0}};
	static const struct api_answer refused[] = {VERSION, CRD, {.status = 201, .body = "[]"},
		{.status = 201, .body = "{\"status\":7}"}, NODE, SAYS(404, "x"), SAYS(422, "zones: too many"),
		{0}};

	(void)state;
	expect("no CRD", no_crd, CHECK_FAIL,
		BEGIN "FAIL  CRD            the CustomResourceDefinition noderesourcetopologies.topology.node"
		      ".k8s.io is missing\n" APPLY_CRD RIGHTS_OK NODE_OK NOT_TRIED);
	expect("an old CRD and no Node", old_crd, CHECK_FAIL,
		BEGIN
		"FAIL  CRD            topology.node.k8s.io serves v1alpha1, not v1alpha2\n" APPLY_CRD AGENT_OK
			RIGHTS_OK "FAIL  Node           there is no Node 'node-a': either its kubelet has "
		"not registered it yet, "
		"or --node-name is wrong\n" REMEDY
		"name it by --node-name; kubectl get nodes lists the names\n" NOT_TRIED);
	expect("questions that are refused", no_reviews, CHECK_FAIL,
		BEGIN
		"warn  CRD            not known: /apis/topology.node.k8s.io answers with status 403\n" REMEDY_CRD
		"warn  right          not known: /apis/authorization.k8s.io/v1/"
		"selfsubjectaccessreviews answers with status 403\n" REMEDY_REVIEW NODE_OK
		"FAIL  dry run        an admission policy denies the Node of 'node-a': does nrtd run on "
		"that node? --node-name must be the one its token is bound to: ValidatingAdmissionPolicy "
		"'p' denied\n" REMEDY_DRY_RUN);
	expect("answers of another kind", refused, CHECK_FAIL,
		BEGIN CRD_OK "warn  right          not known: /apis/authorization.k8s.io/v1/"
			     "selfsubjectaccessreviews answers with status 201\n" REMEDY_REVIEW NODE_OK
			     "FAIL  dry run        the API server answers 422 for the NodeResourceTopology "
			     "object of 'node-a': zones: too many\n" REMEDY_DRY_RUN);
}

static void what_is_no_api_server_is_told(void **state)
{
	static const struct api_answer unknown[] = {SAYS(401, "Unauthorized"), {0}};
	static const struct api_answer page[] = {{.status = 200, .body = "<html>"}, {0}};
	static const struct api_answer broken[] = {SAYS(503, "starting"), {0}};
	static const struct api_answer large[] = {{.status = 200, .padding = 2000000}, {0}};

	(void)state;
	expect("401", unknown, CHECK_FAIL,
		"ok    credentials    none\n"
		"FAIL  API server     the API server does not accept the credentials (401: Unauthorized): has the token or "
		"certificate expired, or is it from another cluster?\n" REMEDY
		"use credentials that this cluster has issued and that have not expired\n" CLOCK);
	expect("a page", page, CHECK_FAIL,
		"ok    credentials    none\n"
		"FAIL  API server     URL/version answers with status 200 and no version\n" REMEDY
		"is this the URL of a Kubernetes API server?\n");
	expect("503", broken, CHECK_FAIL,
		"ok    credentials    none\n"
		"FAIL  API server     URL/version answers with status 503\n" REMEDY
		"the API server is not healthy: look at its log and /readyz\n");
	expect("too much", large, CHECK_FAIL,
		"ok    credentials    none\n"
		"FAIL  API server     URL: answer larger than 1048576 bytes\n" REMEDY
		"see the message; --api-server or the kubeconfig names the server, and its log tells more\n");
}

/* The line about the clock of a server that is this far behind ours. */
static void expect_clock(int64_t ahead_s, const char *date, const char *want)
{
	CLEANUP(check_report_release) struct check_report report = {0};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1u << 16);
	time_t server = time(NULL) - ahead_s;
	struct api_answer answer = SAYS(401, "x");
	struct api_server s;
	struct tm tm;
	char stamp[64];

	gmtime_r(&server, &tm);
	strftime(stamp, sizeof(stamp), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	answer.date = date ? date : stamp;
	check_with(&answer, 1, &s, &report, &text);
	if (!strstr(text.text, want))
		fail_msg("'%s' is not in:\n%s", want, text.text);
}

static void the_clock_is_compared(void **state)
{
	(void)state;
	expect_clock(0, NULL, "ok    clock          agrees with the API server's\n");
	expect_clock(4, NULL, "ok    clock");
	expect_clock(90, NULL, "warn  clock          ");
	expect_clock(-90, NULL, " s behind the API server's\n" REMEDY "let chrony or systemd-timesyncd");
	expect_clock(3630, NULL, "FAIL  clock          60 min ahead of the API server's\n" REMEDY);
	expect_clock(-3630, NULL, "FAIL  clock          60 min behind the API server's\n");
	expect_clock(0, "yesterday", CLOCK);
}

static void slow_answers_end_it(void **state)
{
	static const struct api_answer slow[] = {
		{.status = 200, .body = "{\"gitVersion\":\"v1.35.4\"}", .delay_ms = 1700},
		{.status = 404, .body = "", .delay_ms = 1700}, {.status = 404, .body = "", .delay_ms = 1700},
		{0}};

	(void)state;
	expect("slow", slow, CHECK_FAIL,
		BEGIN
		"FAIL  CRD            the CustomResourceDefinition noderesourcetopologies.topology.node"
		".k8s.io is missing\n" APPLY_CRD
		"warn  right          not checked: earlier answers of the API server took too long\n" REMEDY
		"look at the API server's load and the network path to it\n");
}

static void without_credentials_it_is_a_note(void **state)
{
	CLEANUP(check_report_release) struct check_report report = {0};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1u << 16);
	CLEANUP(doc_release) struct doc doc = DOC_INIT;
	const struct check_config config = {.observe.node_name = "node-a"};

	(void)state;
	check_api_server(&config, NULL, &report);
	assert_int_equal(check_report_level(&report), CHECK_NOTE);
	check_report_doc(&report, &doc);
	assert_int_equal(json_print_compact(&doc, &text), 0);
	test_assert_text("json", text.text,
		"{\"level\":\"note\",\"sources\":[{\"level\":\"note\",\"source\":\"credentials\",\"path\":"
		"null,"
		"\"state\":\"absent\",\"format\":null,\"ageSeconds\":null,\"text\":\"none are given, so the API "
		"server is not checked; only run and diff require them\",\"remedy\":\"give --kubeconfig FILE (on many "
		"nodes /etc/kubernetes/kubelet.conf), or run in a pod with a service account\"}]}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_stops_it),
		cmocka_unit_test(pods_that_require_a_label_are_named),
		cmocka_unit_test(missing_rights_are_named),
		cmocka_unit_test(other_exporters_are_named),
		cmocka_unit_test(an_object_that_stays_is_not_tried),
		cmocka_unit_test(a_kubelet_that_is_newer_than_nrtd_is_named),
		cmocka_unit_test(a_startup_taint_is_named),
		cmocka_unit_test(writes_of_other_nodes_objects_must_be_denied),
		cmocka_unit_test(the_right_to_write_numatopologies_is_asked_for_where_they_are_wanted),
		cmocka_unit_test(the_right_to_patch_pods_is_asked_for_where_it_is_wanted),
		cmocka_unit_test(what_is_not_there_is_named),
		cmocka_unit_test(what_is_no_api_server_is_told),
		cmocka_unit_test(the_clock_is_compared),
		cmocka_unit_test(slow_answers_end_it),
		cmocka_unit_test(without_credentials_it_is_a_note),
	};

	unsetenv("KUBECONFIG");
	unsetenv("KUBERNETES_SERVICE_HOST");
	setenv("NO_PROXY", "*", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

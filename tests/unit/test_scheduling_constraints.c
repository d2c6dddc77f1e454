/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What keeps a pod away from nodes as kube-scheduler judges it, and how many copies its constraints let onto them.
 */
#include "tests/lib/test.h"

#include "cluster/constraints/scheduling_constraints.h"
#include "common/cleanup.h"
#include "common/io/yaml.h"

static void parse(const char *text, struct doc *ret)
{
	if (yaml_parse(text, strlen(text), ret, NULL) < 0)
		fail_msg("not YAML: %s", text);
}

/* ---- the node alone */

#define AFFINITY(term)                                                                                           \
	"{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{" term \
	"}]}}}}"
#define DISK(value) "{metadata: {name: w1, labels: {disk: '" value "'}}}"
#define READY(status)                                                                                    \
	"{status: {conditions: [{type: MemoryPressure, status: 'False'}, {type: Ready, status: '" status \
	"'}]}}"
#define NO_AFFINITY "node affinity does not match"

static void nodes_keep_pods_away(void **state)
{
	static const struct {
		const char *pod, *node, *bar;
	} cases[] = {
		{"{}", "{}", ""},
		{"{}", "{spec: {unschedulable: true}}", "cordoned"},
		{"{}", "{spec: {unschedulable: false}}", ""},
		{"{}", "{spec: {unschedulable: 'true'}}", ""},
		{"{tolerations: [{key: node.kubernetes.io/unschedulable, operator: Exists, effect: NoSchedule}]}",
			"{spec: {unschedulable: true}}", ""},
		{"{tolerations: [{operator: Exists}]}",
			"{spec: {unschedulable: true, taints: [{key: a, effect: NoExecute}]}}", ""},
		{"{}", "{spec: {taints: [{key: a, value: b, effect: NoSchedule}]}}",
			"taint a=b:NoSchedule is not tolerated"},
		{"{}", "{spec: {taints: [{key: a, effect: NoExecute}]}}",
			"taint a:NoExecute is not tolerated"},
		{"{}", "{spec: {taints: [{key: a, effect: PreferNoSchedule}]}}", ""},
		{"{tolerations: [{key: a, value: b}]}",
			"{spec: {taints: [{key: a, value: b, effect: NoSchedule}]}}", ""},
		{"{tolerations: [{key: a, operator: Equal, value: c}]}",
			"{spec: {taints: [{key: a, value: b, effect: NoSchedule}]}}",
			"taint a=b:NoSchedule is not tolerated"},
		{"{tolerations: [{key: a, operator: Exists, effect: NoExecute}]}",
			"{spec: {taints: [{key: a, value: b, effect: NoSchedule}]}}",
			"taint a=b:NoSchedule is not tolerated"},
		{"{tolerations: [{key: b, operator: Exists}]}",
			"{spec: {taints: [{key: a, effect: NoSchedule}]}}",
			"taint a:NoSchedule is not tolerated"},
		{"{tolerations: [{key: a, operator: Exists}]}",
			"{spec: {taints: [{key: a, effect: NoSchedule}, {key: b, effect: NoSchedule}]}}",
			"taint b:NoSchedule is not tolerated"},
		{"{tolerations: [{key: a, operator: Gt, value: '5'}]}",
			"{spec: {taints: [{key: a, value: '7', effect: NoSchedule}]}}", ""},
		{"{tolerations: [{key: a, operator: Lt, value: '5'}]}",
			"{spec: {taints: [{key: a, value: '7', effect: NoSchedule}]}}",
			"taint a=7:NoSchedule is not tolerated"},
		{"{tolerations: [{key: a, operator: Gt, value: '5'}]}",
			"{spec: {taints: [{key: a, value: high, effect: NoSchedule}]}}",
			"taint a=high:NoSchedule is not tolerated"},
		/* An operator that kube-scheduler does not know tolerates nothing. */
		{"{tolerations: [{key: a, operator: Matches, value: b}]}",
			"{spec: {taints: [{key: a, value: b, effect: NoSchedule}]}}",
			"taint a=b:NoSchedule is not tolerated"},
		/* Before the node controller has written its taint. */ {"{}", READY("True"), ""},
		{"{}", READY("False"), "not ready"},
		{"{}", READY("Unknown"), "not ready"},
		{"{tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists}]}", READY("False"),
			""},
		{"{tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists}]}", READY("Unknown"),
			"not ready"},
		{"{tolerations: [{key: node.kubernetes.io/unreachable, operator: Exists}]}", READY("Unknown"),
			""},
		{"{nodeSelector: {disk: ssd}}", "{metadata: {labels: {disk: ssd}}}", ""},
		{"{nodeSelector: {disk: ssd}}", "{metadata: {labels: {disk: hdd}}}",
			"nodeSelector disk=ssd does not match"},
		{"{nodeSelector: {disk: ssd}}", "{metadata: {}}", "nodeSelector disk=ssd does not match"},
		{"{nodeSelector: {a: b, disk: ssd}}", "{metadata: {labels: {a: b}}}",
			"nodeSelector disk=ssd does not match"},
		{"{nodeSelector: {gpu: true}}", "{metadata: {labels: {gpu: 'true'}}}",
			"nodeSelector gpu=true does not match"},
		{AFFINITY("matchExpressions: [{key: disk, operator: In, values: [ssd, nvme]}]"), DISK("nvme"),
			""},
		{AFFINITY("matchExpressions: [{key: disk, operator: In, values: [ssd, nvme]}]"), DISK("hdd"),
			NO_AFFINITY},
		{AFFINITY("matchExpressions: [{key: disk, operator: NotIn, values: [ssd]}]"), DISK("hdd"),
			""},
		{AFFINITY("matchExpressions: [{key: disk, operator: NotIn, values: [ssd]}]"), DISK("ssd"),
			NO_AFFINITY},
		{AFFINITY("matchExpressions: [{key: cpu, operator: NotIn, values: [x]}]"), DISK("ssd"), ""},
		{AFFINITY("matchExpressions: [{key: disk, operator: Exists}]"), DISK("x"), ""},
		{AFFINITY("matchExpressions: [{key: cpu, operator: Exists}]"), DISK("x"), NO_AFFINITY},
		{AFFINITY("matchExpressions: [{key: cpu, operator: DoesNotExist}]"), DISK("x"), ""},
		{AFFINITY("matchExpressions: [{key: disk, operator: DoesNotExist}]"), DISK("x"), NO_AFFINITY},
		{AFFINITY("matchExpressions: [{key: disk, operator: Gt, values: ['9']}]"), DISK("10"), ""},
		{AFFINITY("matchExpressions: [{key: disk, operator: Gt, values: ['10']}]"), DISK("10"),
			NO_AFFINITY},
		{AFFINITY("matchExpressions: [{key: disk, operator: Lt, values: ['11']}]"), DISK("10"), ""},
		{AFFINITY("matchExpressions: [{key: disk, operator: Lt, values: ['11']}]"), DISK("ten"),
			NO_AFFINITY},
		{AFFINITY("matchExpressions: [{key: disk, operator: Like, values: [x]}]"), DISK("x"),
			NO_AFFINITY},
		{AFFINITY("matchFields: [{key: metadata.name, operator: In, values: [w1]}]"), DISK("x"), ""},
		{AFFINITY("matchFields: [{key: metadata.name, operator: In, values: [w2]}]"), DISK("x"),
			NO_AFFINITY},
		{AFFINITY("matchFields: [{key: metadata.name, operator: NotIn, values: [w1]}]"), DISK("x"),
			NO_AFFINITY},
		{AFFINITY(
			 "matchFields: [{key: metadata.name, operator: In, values: [w1]}], matchExpressions: "
			 "[{key: disk, operator: In, values: [ssd]}]"),
			DISK("hdd"), NO_AFFINITY},
		/* Terms are alternatives; one without requirements matches nothing, and so do no terms. */
		{AFFINITY("matchExpressions: [{key: disk, operator: In, values: [a]}]}, {matchExpressions: "
			  "[{key: disk, operator: In, values: [b]}]"),
			DISK("b"), ""},
		{AFFINITY(""), DISK("b"), NO_AFFINITY},
		{"{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}}}",
			DISK("b"), NO_AFFINITY},
		{"{affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1}]}}}",
			DISK("b"), ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(doc_release) struct doc pod = DOC_INIT, node = DOC_INIT;
		CLEANUP(freep) char *bar = NULL;
		char text[1024];

		snprintf(text, sizeof(text), "{spec: %s}", cases[i].pod);
		parse(text, &pod);
		parse(cases[i].node, &node);
		bar = scheduling_constraints_of_node(&pod, &node, false);
		test_assert_text(cases[i].node, bar, cases[i].bar);
	}
}

/* Where spec.nodeName names the node, its kubelet looks at labels and at taints with NoExecute. */
static void kubelets_look_at_less(void **state)
{
	static const struct {
		const char *pod, *node, *bar;
	} cases[] = {
		{"{}", "{spec: {unschedulable: true, taints: [{key: a, effect: NoSchedule}]}}", ""},
		{"{}", READY("False"), ""},
		{"{}", "{spec: {taints: [{key: a, effect: NoExecute}]}}",
			"taint a:NoExecute is not tolerated"},
		{"{nodeSelector: {disk: ssd}}", DISK("hdd"), "nodeSelector disk=ssd does not match"},
		{AFFINITY("matchExpressions: [{key: disk, operator: In, values: [ssd]}]"), DISK("hdd"),
			NO_AFFINITY},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(doc_release) struct doc pod = DOC_INIT, node = DOC_INIT;
		CLEANUP(freep) char *bar = NULL;
		char text[1024];

		snprintf(text, sizeof(text), "{spec: %s}", cases[i].pod);
		parse(text, &pod);
		parse(cases[i].node, &node);
		bar = scheduling_constraints_of_node(&pod, &node, true);
		test_assert_text(cases[i].node, bar, cases[i].bar);
	}
}

/* ---- the node among others */

/* Four nodes in two zones; w4 is in none. */
#define NODES                                                                                 \
	"{kind: Node, metadata: {name: w1, labels: {kubernetes.io/hostname: w1, zone: a}}}, " \
	"{kind: Node, metadata: {name: w2, labels: {kubernetes.io/hostname: w2, zone: a}}}, " \
	"{kind: Node, metadata: {name: w3, labels: {kubernetes.io/hostname: w3, zone: b}}}, " \
	"{kind: Node, metadata: {name: w4, labels: {kubernetes.io/hostname: w4}}}, "
#define ONE_NODE "{kind: Node, metadata: {name: w1, labels: {kubernetes.io/hostname: w1, zone: a}}}, "
#define ON(node, labels)                                                                                    \
	"{kind: Pod, metadata: {name: p, namespace: default, labels: {" labels "}}, spec: {nodeName: " node \
	"}}, "
#define TERM(key, labels) "{topologyKey: " key ", labelSelector: {matchLabels: {" labels "}}}"
#define APART(term) \
	"affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [" term "]}}"
#define TOGETHER(term) "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [" term "]}}"
#define SPREAD(more)                                                                                                                                  \
	"topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}" more \
	"}]"
#define PORT(more) "containers: [{name: c, ports: [{containerPort: 80, hostPort: 8080" more "}]}]"
#define NOBODY     ON("w1", "app: other")

struct cluster {
	struct doc pod, objects;
	struct scheduling_constraints sc;
};

static void cluster_release(struct cluster *c)
{
	scheduling_constraints_release(&c->sc);
	doc_release(&c->pod);
	doc_release(&c->objects);
}

/* The pod has the label app=web. */
static void try_cluster(struct cluster *c, const char *only)
{
	scheduling_constraints_init(&c->sc, &c->pod, NULL, true);
	c->sc.only = only;
	DOC_FOREACH (object, &c->objects)
		scheduling_constraints_add(&c->sc,
			!strcmp(doc_string(doc_get(object, "kind")), "Node") ? OBJECT_NODE : OBJECT_POD,
			object);
	scheduling_constraints_finish(&c->sc);
}

static void make(struct cluster *c, const char *spec, const char *objects)
{
	char text[4096];

	snprintf(text, sizeof(text), "{metadata: {labels: {app: web}}, spec: {%s}}", spec);
	parse(text, &c->pod);
	snprintf(text, sizeof(text), "[%s]", objects);
	parse(text, &c->objects);
	try_cluster(c, NULL);
}

/* A DaemonSet has one pod on each node, without any constraint. */
static void daemons_are_alone_on_a_node(void **state)
{
	struct pod_template template = {0};

	(void)state;
	for (int daemon = 0; daemon < 2; daemon++) {
		CLEANUP(scheduling_constraints_release) struct scheduling_constraints sc;

		template.one_per_node = daemon;
		scheduling_constraints_init_template(&sc, &template, NULL);
		scheduling_constraints_finish(&sc);
		assert_int_equal(copies_placement_one_per_node(&sc, "w1"), daemon);
	}
}

static void pods_keep_pods_away(void **state)
{
	static const struct {
		const char *spec, *objects;
		const char *bars[4]; /* of w1 to w4; NULL = "" */
	} cases[] = {
		{"", NODES NOBODY, {NULL}},
		/* the pod's own anti-affinity; a node without the label is in no domain */
		{APART(TERM("zone", "app: db")), NODES ON("w1", "app: db"),
			{"pod anti-affinity: a matching pod in zone=a",
				"pod anti-affinity: a matching pod in zone=a", NULL, NULL}},
		{APART(TERM("zone", "app: db")), NODES ON("w4", "app: db"), {NULL}},
		{APART(TERM("kubernetes.io/hostname", "app: db")), NODES ON("w2", "app: db"),
			{NULL, "pod anti-affinity: a matching pod in kubernetes.io/hostname=w2", NULL, NULL}},
		{APART(TERM("zone", "app: web")), NODES NOBODY, {NULL}},
		/* of another namespace, unless the term names it; one that has ended */
		{APART(TERM("zone", "app: db")),
			NODES
			"{kind: Pod, metadata: {name: p, namespace: x, labels: {app: db}}, spec: {nodeName: w3}}",
			{NULL}},
		{APART("{topologyKey: zone, namespaces: [x], labelSelector: {matchExpressions: [{key: app, operator: Exists}]}}"),
			NODES
			"{kind: Pod, metadata: {name: p, namespace: x, labels: {app: db}}, spec: {nodeName: w3}}",
			{NULL, NULL, "pod anti-affinity: a matching pod in zone=b", NULL}},
		{APART("{topologyKey: zone, namespaceSelector: {}, labelSelector: {}}"),
			NODES "{kind: Pod, metadata: {name: p, namespace: x}, spec: {nodeName: w3}}",
			{NULL, NULL, "pod anti-affinity: a matching pod in zone=b", NULL}},
		{APART("{topologyKey: zone}"), NODES NOBODY, {NULL}},
		{APART(TERM("zone", "app: db")),
			NODES
			"{kind: Pod, metadata: {name: p, labels: {app: db}}, spec: {nodeName: w3}, status: {phase: Failed}}",
			{NULL}},
		/* anti-affinity of those that are there */
		{"",
			NODES "{kind: Pod, metadata: {name: p}, spec: {nodeName: w3, " APART(
				TERM("zone", "app: web")) "}}",
			{NULL, NULL, "anti-affinity of another pod in zone=b", NULL}},
		{"",
			NODES "{kind: Pod, metadata: {name: p, namespace: x}, spec: {nodeName: w3, " APART(
				TERM("zone", "app: web")) "}}",
			{NULL}},
		{"",
			NODES "{kind: Pod, metadata: {name: p}, spec: {nodeName: w3, " APART(
				TERM("zone", "app: db")) "}}",
			{NULL}},
		/* affinity: pods that are there, or the pod's own kind */
		{TOGETHER(TERM("zone", "app: db")), NODES ON("w3", "app: db"),
			{"pod affinity: no matching pod in zone=a", "pod affinity: no matching pod in zone=a",
				NULL, "pod affinity: the node has no label zone"}},
		{TOGETHER(TERM("zone", "app: web")), NODES NOBODY,
			{NULL, NULL, NULL, "pod affinity: the node has no label zone"}},
		{TOGETHER(TERM("zone", "app: db") ", " TERM("zone", "tier: x")), NODES ON("w3", "app: db"),
			{"pod affinity: no matching pod in zone=a", "pod affinity: no matching pod in zone=a",
				"pod affinity: no matching pod in zone=b",
				"pod affinity: the node has no label zone"}},
		/* topology spread */
		{SPREAD(""), NODES ON("w1", "app: web"),
			{"topology spread: the maximum skew of zone is reached in a",
				"topology spread: the maximum skew of zone is reached in a", NULL,
				"topology spread: the node has no label zone"}},
		{SPREAD(", minDomains: 3"), NODES ON("w1", "app: web") ON("w3", "app: web"),
			{"topology spread: the maximum skew of zone is reached in a",
				"topology spread: the maximum skew of zone is reached in a",
				"topology spread: the maximum skew of zone is reached in b",
				"topology spread: the node has no label zone"}},
		{SPREAD(""),
			NODES
			"{kind: Pod, metadata: {name: p, labels: {app: web}, deletionTimestamp: x}, spec: {nodeName: w1}}",
			{NULL, NULL, NULL, "topology spread: the node has no label zone"}},
		/* A zone that the node selector does not let the pod into does not count for the least. */
		{"nodeSelector: {zone: a}, " SPREAD(""), NODES ON("w1", "app: web"),
			{NULL, NULL, "nodeSelector zone=a does not match",
				"nodeSelector zone=a does not match"}},
		{"nodeSelector: {zone: a}, " SPREAD(", nodeAffinityPolicy: Ignore"),
			NODES ON("w1", "app: web"),
			{"topology spread: the maximum skew of zone is reached in a",
				"topology spread: the maximum skew of zone is reached in a",
				"nodeSelector zone=a does not match", "nodeSelector zone=a does not match"}},
		{"topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}]",
			NODES ON("w1", "app: web"), {NULL}},
		/* host ports */
		{PORT(""), NODES "{kind: Pod, metadata: {name: p}, spec: {nodeName: w1, " PORT("") "}}",
			{"host ports are taken", NULL, NULL, NULL}},
		{PORT(", protocol: UDP"),
			NODES "{kind: Pod, metadata: {name: p}, spec: {nodeName: w1, " PORT("") "}}", {NULL}},
		{PORT(", hostIP: 10.0.0.1"),
			NODES "{kind: Pod, metadata: {name: p}, spec: {nodeName: w1, " PORT(
				", hostIP: 10.0.0.2") "}}",
			{NULL}},
		{PORT(", hostIP: 10.0.0.1"),
			NODES "{kind: Pod, metadata: {name: p}, spec: {nodeName: w1, " PORT("") "}}",
			{"host ports are taken", NULL, NULL, NULL}},
		{"hostNetwork: true, containers: [{name: c, ports: [{containerPort: 8080}]}]",
			NODES "{kind: Pod, metadata: {name: p}, spec: {nodeName: w1, " PORT("") "}}",
			{"host ports are taken", NULL, NULL, NULL}},
		/* the user's own node */
		{"nodeName: w3, " APART(TERM("zone", "app: db")), NODES ON("w3", "app: db"),
			{"spec.nodeName is w3", "spec.nodeName is w3", NULL, "spec.nodeName is w3"}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(cluster_release) struct cluster c = {0};

		make(&c, cases[i].spec, cases[i].objects);
		for (size_t n = 0; n < 4; n++) {
			const char name[] = {'w', (char)('1' + n), '\0'};
			const char *want = cases[i].bars[n] ? cases[i].bars[n] : "";
			const char *got = scheduling_constraints_violated_by_first(&c.sc, name);

			if (strcmp(got, want) != 0)
				fail_msg("case %zu, %s: '%s', not '%s'\n%s\n%s", i, name, got, want,
					cases[i].spec, cases[i].objects);
		}
		assert_string_equal(
			scheduling_constraints_violated_by_first(&c.sc, "w9"), "there is no such Node");
		assert_int_equal(c.sc.not_evaluated.n_items, 0);
	}
}

/* ---- what is said not to be looked at */

static void what_is_not_evaluated_is_named(void **state)
{
	static const struct {
		const char *spec, *objects, *only, *want;
	} cases[] = {
		{"", NODES NOBODY, NULL, ""},
		{"volumes: [{emptyDir: {}}, {persistentVolumeClaim: {claimName: c}}]", NODES NOBODY, NULL,
			"volumes"},
		{"volumes: [{emptyDir: {}}, {configMap: {}}]", NODES NOBODY, NULL, ""},
		{"", NODES, NULL, "anti-affinity of other pods (no Pod objects)"},
		{"", "", NULL, "labels, taints and cordons of the nodes (no Node objects)"},
		{SPREAD(""), "", NULL,
			"labels, taints and cordons of the nodes (no Node objects), topology spread"},
		{PORT(""), NODES, NULL, "anti-affinity of other pods (no Pod objects), host ports"},
		{TOGETHER(TERM("zone", "app: db")), NODES, NULL,
			"anti-affinity of other pods (no Pod objects), pod affinity"},
		{APART("{topologyKey: zone, namespaceSelector: {matchLabels: {a: b}}, labelSelector: {}}"),
			NODES NOBODY, NULL, "pod anti-affinity"},
		{"",
			NODES "{kind: Pod, metadata: {name: p}, spec: {nodeName: w3, " APART(
				"{topologyKey: zone, namespaceSelector: {matchLabels: {a: b}}, labelSelector: {}}") "}}",
			NULL, "anti-affinity of some other pods"},
		/* A pod is on a node whose Node object is not there. */
		{SPREAD(""), NODES ON("w9", "app: web"), NULL,
			"anti-affinity of some other pods, topology spread"},
		{APART(TERM("kubernetes.io/hostname", "app: db")), NODES ON("w9", "app: web"), NULL,
			"anti-affinity of some other pods"},
		/* One node is asked about, with its own objects alone, or with those of all nodes. */
		{APART(TERM("zone", "app: db")), ONE_NODE NOBODY, "w1",
			"anti-affinity of some other pods, pod anti-affinity"},
		{PORT(""), ONE_NODE NOBODY, "w1", "anti-affinity of some other pods"},
		{APART(TERM("zone", "app: db")), NODES NOBODY, "w1", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(cluster_release) struct cluster c = {0};
		CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(1024);
		char text[4096];

		snprintf(text, sizeof(text), "{metadata: {labels: {app: web}}, spec: {%s}}", cases[i].spec);
		parse(text, &c.pod);
		snprintf(text, sizeof(text), "[%s]", cases[i].objects);
		parse(text, &c.objects);
		try_cluster(&c, cases[i].only);
		for (size_t n = 0; n < c.sc.not_evaluated.n_items; n++)
			strbuf_addf(&got, "%s%s", n > 0 ? ", " : "", c.sc.not_evaluated.items[n]);
		strbuf_addstr(&got, "");
		test_assert_text(cases[i].spec, got.text, cases[i].want);
	}
}

/* ---- copies */

static void copies_limit_each_other(void **state)
{
	static const struct {
		const char *spec, *objects;
		size_t room[4], wanted;
		size_t placed[4], replicas;
	} cases[] = {
		{"", NODES NOBODY, {5, 3, 2, 1}, 6, {5, 3, 2, 1}, 6},
		{"", "", {5, 3, 2, 1}, 20, {5, 3, 2, 1}, 11},
		/* one a node, one a zone; w4 is in no zone */
		{APART(TERM("kubernetes.io/hostname", "app: web")), NODES NOBODY, {5, 3, 0, 1}, 9,
			{1, 1, 0, 1}, 3},
		{APART(TERM("kubernetes.io/hostname", "app: web")), "", {5, 3, 0, 1}, 9, {1, 1, 0, 1}, 3},
		{APART(TERM("zone", "app: web")), NODES NOBODY, {5, 3, 2, 4}, 9, {1, 0, 1, 4}, 6},
		{APART(TERM("zone", "app: web")), NODES ON("w2", "app: web"), {5, 3, 2, 0}, 9, {0, 0, 1, 0},
			1},
		{APART(TERM("zone", "app: db")), NODES NOBODY, {5, 3, 2, 1}, 9, {5, 3, 2, 1}, 9},
		{PORT(""), NODES NOBODY, {5, 3, 2, 0}, 9, {1, 1, 1, 0}, 3},
		/* all in the zone that takes the most, or where one is */
		{TOGETHER(TERM("zone", "app: web")), NODES NOBODY, {3, 3, 5, 9}, 9, {3, 3, 0, 0}, 6},
		{TOGETHER(TERM("zone", "app: web")), NODES NOBODY, {1, 1, 5, 9}, 4, {0, 0, 5, 0}, 4},
		{TOGETHER(TERM("zone", "app: web")), NODES ON("w1", "app: web"), {1, 1, 5, 9}, 4,
			{1, 1, 0, 0}, 2},
		{TOGETHER(TERM("zone", "app: db")), NODES NOBODY, {1, 1, 5, 9}, 4, {0, 0, 0, 0}, 0},
		{"affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [" TERM("zone",
			 "app: web") "]}, podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [" TERM("kubernetes.io/hostname",
			 "app: web") "]}}",
			NODES NOBODY, {2, 2, 9, 9}, 3, {1, 1, 0, 0}, 2},
		/* zone b has room for two, so zone a gets three */
		{SPREAD(""), NODES NOBODY, {5, 3, 2, 9}, 9, {3, 0, 2, 0}, 5},
		{SPREAD(""), NODES ON("w3", "app: web"), {1, 1, 2, 9}, 9, {1, 1, 2, 0}, 4},
		{SPREAD(", minDomains: 3"), NODES NOBODY, {5, 3, 2, 9}, 9, {1, 0, 1, 0}, 2},
		/* an empty selector counts no pod, one with matchLabelKeys those of the same value */
		{"topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, labelSelector: {}}]",
			NODES NOBODY, {5, 3, 2, 9}, 9, {5, 3, 2, 0}, 9},
		{"topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, labelSelector: {}, matchLabelKeys: [app]}]",
			NODES NOBODY, {5, 3, 2, 9}, 9, {3, 0, 2, 0}, 5},
		{"topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, labelSelector: {}, matchLabelKeys: [x]}]",
			NODES NOBODY, {5, 3, 2, 9}, 9, {5, 3, 2, 0}, 9},
		/* what the selector does not match does not add up */
		{"topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, "
		 "labelSelector: {matchLabels: {app: db}}}]",
			NODES NOBODY, {5, 3, 2, 9}, 9, {5, 3, 2, 0}, 9},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(cluster_release) struct cluster c = {0};
		struct copies_node nodes[4] = {
			{.name = "w1"}, {.name = "w2"}, {.name = "w3"}, {.name = "w4"}};
		size_t replicas = 0;
		bool complete;

		make(&c, cases[i].spec, cases[i].objects);
		for (size_t n = 0; n < 4; n++)
			nodes[n].admitted =
				scheduling_constraints_allow_any(&c.sc, nodes[n].name) ? cases[i].room[n] : 0;
		copies_placement_find(&c.sc, nodes, 4, cases[i].wanted, &complete);
		assert_true(complete);
		for (size_t n = 0; n < 4; n++) {
			replicas += nodes[n].replicas;
			if (nodes[n].placed != cases[i].placed[n])
				fail_msg("case %zu, %s: %zu, not %zu\n%s\n%s", i, nodes[n].name,
					nodes[n].placed, cases[i].placed[n], cases[i].spec, cases[i].objects);
		}
		if (replicas != cases[i].replicas)
			fail_msg("case %zu: %zu replicas, not %zu\n%s", i, replicas, cases[i].replicas,
				cases[i].spec);
	}
}

/* 5000 nodes with room for 1000 copies each: the work is bounded, and what was found is said to be the least. */
static void the_search_ends(void **state)
{
	enum { N = 5000 };
	static struct copies_node nodes[N];
	static char names[N][8];
	CLEANUP(cluster_release) struct cluster c = {0};
	size_t placed = 0;
	bool complete;

	(void)state;
	parse("{metadata: {labels: {app: web}}, spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: "
	      "kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}, "
	      "{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]}}",
		&c.pod);
	c.objects.kind = DOC_LIST;
	for (size_t i = 0; i < N; i++) {
		struct doc *node = doc_add_map(&c.objects, NULL), *metadata, *labels;

		snprintf(names[i], sizeof(names[i]), "n%zu", i);
		doc_add_string(node, "kind", "Node");
		metadata = doc_add_map(node, "metadata");
		doc_add_string(metadata, "name", names[i]);
		labels = doc_add_map(metadata, "labels");
		doc_add_string(labels, "kubernetes.io/hostname", names[i]);
		assert_non_null(doc_add_string(labels, "zone", i < 10 ? "a" : "b"));
		nodes[i] = (struct copies_node){.name = names[i], .admitted = 1000};
	}
	try_cluster(&c, NULL);
	copies_placement_find(&c.sc, nodes, N, 10, &complete);
	for (size_t i = 0; i < N; i++)
		placed += nodes[i].placed;
	/* Each of the ten nodes of zone a gets one copy, zone b ten or eleven, of which no node gets two. */
	assert_true(complete);
	assert_true(placed >= 20 && placed <= 21);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_keep_pods_away),
		cmocka_unit_test(kubelets_look_at_less),
		cmocka_unit_test(daemons_are_alone_on_a_node),
		cmocka_unit_test(pods_keep_pods_away),
		cmocka_unit_test(what_is_not_evaluated_is_named),
		cmocka_unit_test(copies_limit_each_other),
		cmocka_unit_test(the_search_ends),
	};

	return cmocka_run_group_tests_name("scheduling_constraints", tests, NULL, NULL);
}

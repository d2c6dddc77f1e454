/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "cli/pod_input.h"
#include "common/cleanup.h"

#define WORDS_MAX 14

/* Options of "nrtd fit" followed by the words of a line. */
static void parse(const char *line, struct options *ret)
{
	static char text[512];
	char *argv[WORDS_MAX + 3] = {(char[]){"nrtd"}, (char[]){"fit"}};
	char *save = NULL;
	int argc = 2;

	snprintf(text, sizeof(text), "%s", line);
	for (char *word = strtok_r(text, " ", &save); word && argc <= WORDS_MAX;
		word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	assert_int_equal(options_parse(&program_nrtd, argc, argv, ret, NULL), 0);
}

static int read_line(const char *line, struct pod_templates *ret, struct err *err)
{
	struct options o;

	parse(line, &o);
	return pod_input_read(&o, ret, err);
}

/* "cpu=4,memory=8Gi" */
static char *list_text(const struct resource_list *list)
{
	struct strbuf out = STRBUF_INIT(1024);
	char text[QUANTITY_TEXT_MAX];

	for (size_t i = 0; i < list->n_items; i++) {
		quantity_print(list->items[i].quantity, text);
		strbuf_addf(&out, "%s%s=%s", i > 0 ? "," : "", list->items[i].name, text);
	}
	if (list->n_items == 0)
		strbuf_addstr(&out, "nothing");
	return strbuf_detach(&out);
}

static void flags_make_one_guaranteed_container(void **state)
{
	static const char *const cases[][2] = {
		{"--cpus 16 --memory 32Gi", "cpu=16,memory=32Gi"},
		{"--cpus 500m", "cpu=500m"},
		{"--hugepages-1Gi 4 --hugepages-2Mi 3", "hugepages-1Gi=4Gi,hugepages-2Mi=6Mi"},
		{"--hugepages-1Gi 4Gi --hugepages-2Mi 2048Ki", "hugepages-1Gi=4Gi,hugepages-2Mi=2Mi"},
		{"--device v.com/nic=2 --device v.com/gpu=1", "v.com/gpu=1,v.com/nic=2"},
		{"--resource hugepages-64Ki=128Ki --resource ephemeral-storage=1.5G",
			"ephemeral-storage=1500M,hugepages-64Ki=128Ki"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(pod_templates_release) struct pod_templates t = {0};
		CLEANUP(freep) char *requests = NULL, *limits = NULL;

		assert_int_equal(read_line(cases[i][0], &t, NULL), 0);
		assert_int_equal(t.n_items, 1);
		assert_int_equal(t.items[0].pod.n_containers, 1);
		assert_int_equal(t.items[0].pod.qos, QOS_GUARANTEED);
		requests = list_text(&t.items[0].pod.containers[0].requests);
		limits = list_text(&t.items[0].pod.containers[0].limits);
		test_assert_text(cases[i][0], requests, cases[i][1]);
		test_assert_text(cases[i][0], limits, cases[i][1]);
	}
}

static void bad_flags_are_named(void **state)
{
	static const char *const cases[][2] = {
		{"", "no pod: give a file with -f, or a request with flags such as --cpus and --memory"},
		{"--cpus -1", "--cpus: '-1' is negative"},
		{"--cpus four", "--cpus: not a quantity: 'four'"},
		{"--memory 8x",
			"--memory: not a quantity: '8x'; units are as in 5k, 5M, 5G and 5Ki, 5Mi, 5Gi"},
		{"--hugepages-1Gi 1.5", "--hugepages-1Gi: '1.5' is not a whole number"},
		{"--hugepages-1Gi 1500Mi", "--hugepages-1Gi: '1500Mi' is not a whole number of pages"},
		{"--hugepages-1Gi 999999999999999999999",
			"--hugepages-1Gi: '999999999999999999999' pages are too many"},
		{"--device nic=1",
			"--device: 'nic' is not the name of a device resource, \"vendor.com/nic\""},
		{"--device v.com/nic", "--device: 'v.com/nic' is not NAME=N"},
		{"--device v.com/nic=", "--device: not a quantity: ''"},
		{"--device v.com/nic=1.5", "--device: '1.5' is not a whole number"},
		{"--device v.com/nic=1 --device v.com/nic=2", "--device: v.com/nic is requested twice"},
		{"--resource =1", "--resource: '=1' is not NAME=QUANTITY"},
		{"--resource gpu=1", "--resource: unknown resource 'gpu'"},
		{"--cpus 1 --resource cpu=1", "--resource: cpu is requested twice"},
		{"--cpus 1 --pod x", "--pod requires --filename"},
		{"--cpus 1 -f x.yaml", "--filename and --cpus exclude each other"},
		{"-f /nonexistent/x.yaml", "cannot open '/nonexistent/x.yaml': No such file or directory"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pod_templates t = {0};
		struct err err = {""};

		assert_true(read_line(cases[i][0], &t, &err) < 0);
		test_assert_text(cases[i][0], err.text, cases[i][1]);
		assert_int_equal(t.n_items, 0);
	}
}

#define POD(name, cpus)                                                                                \
	"{kind: Pod, metadata: {name: " name "}, spec: {containers: [{name: c, resources: {requests: " \
	"{cpu: " cpus "}}}]}}"
#define TEMPLATE(kind, api, name, more)                                                  \
	"{kind: " kind ", apiVersion: " api ", metadata: {name: " name "}, spec: {" more \
	"template: {spec: {containers: [{resources: {limits: {cpu: 3, memory: 1Gi}}}]}}}}"

/* What a file holds, as names and replicas; or the error behind "PATH: ". */
static void check_file(const char *dir, const char *text, const char *want)
{
	CLEANUP(pod_templates_release) struct pod_templates t = {0};
	CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(1024);
	char line[256], prefix[256];
	struct err err = {""};

	test_write_file(dir, "pod.yaml", text);
	snprintf(line, sizeof(line), "-f %s/pod.yaml", dir);
	snprintf(prefix, sizeof(prefix), "'%s/pod.yaml': ", dir);
	if (read_line(line, &t, &err) < 0) {
		assert_int_equal(strncmp(err.text, prefix, strlen(prefix)), 0);
		test_assert_text(text, err.text + strlen(prefix), want);
		return;
	}
	for (size_t i = 0; i < t.n_items; i++)
		strbuf_addf(&got, "%s%s x%llu", i > 0 ? ", " : "", t.items[i].pod.name,
			(unsigned long long)t.items[i].replicas);
	test_assert_text(text, got.text, want);
}

/* The controller of a DaemonSet adds tolerations, more of them in the host's network. */
static void daemons_tolerate_more(void **state)
{
	static const struct {
		const char *network;
		size_t n;
	} cases[] = {{"", 7}, {"hostNetwork: true, ", 8}};
	CLEANUP(test_rmtree) char *dir = test_tmpdir();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(pod_templates_release) struct pod_templates t = {0};
		const struct doc *tolerations;
		char line[256], text[512];

		snprintf(text, sizeof(text),
			"{kind: DaemonSet, apiVersion: apps/v1, metadata: {name: d}, spec: {template: {spec: {%stolerations: "
			"[{key: mine}], containers: [{}]}}}}",
			cases[i].network);
		test_write_file(dir, "pod.yaml", text);
		snprintf(line, sizeof(line), "-f %s/pod.yaml", dir);
		assert_int_equal(read_line(line, &t, NULL), 0);
		assert_true(t.items[0].one_per_node);
		tolerations = doc_get(doc_get(t.items[0].owner, "spec"), "tolerations");
		assert_int_equal(tolerations->n_items, cases[i].n);
		assert_string_equal(
			doc_text(&tolerations->items[6], "key"), "node.kubernetes.io/unschedulable");
		assert_string_equal(doc_text(&tolerations->items[6], "effect"), "NoSchedule");
	}
}

static void files_hold_pods_and_templates(void **state)
{
	static const char *const cases[][2] = {
		{POD("a", "1"), "a x1"},
		{"# only\n---\n" POD("a", "1") "\n---\n" POD("b", "2"), "a x1, b x1"},
		{"{\"kind\":\"Pod\",\"spec\":{\"containers\":[{}]},\n\t\"metadata\":{\"name\":\"json\"}}",
			"json x1"},
		{TEMPLATE("Deployment", "apps/v1", "d", "replicas: 3, "), "d x3"},
		{TEMPLATE("StatefulSet", "apps/v1", "s", ""), "s x1"},
		{TEMPLATE("DaemonSet", "apps/v1", "ds", ""), "ds x1"},
		{TEMPLATE("Job", "batch/v1", "j", "parallelism: 4, "), "j x4"},
		{"{kind: Job, apiVersion: batch.volcano.sh/v1alpha1, metadata: {name: v}, spec: {tasks: "
		 "[{name: "
		 "t1, replicas: 2, template: {spec: {containers: [{}]}}}, {name: t2, template: {spec: "
		 "{containers: "
		 "[{}]}}}]}}",
			"t1 x2, t2 x1"},
		{"{kind: LeaderWorkerSet, apiVersion: leaderworkerset.x-k8s.io/v1, metadata: {name: l}, spec: {replicas: 3, "
		 "leaderWorkerTemplate: {size: 4, leaderTemplate: {spec: {containers: [{}]}}, workerTemplate: {spec: {containers: "
		 "[{}]}}}}}",
			"l-leader x3, l-worker x9"},
		{"{kind: LeaderWorkerSet, apiVersion: leaderworkerset.x-k8s.io/v1, metadata: {name: l}, spec: "
		 "{leaderWorkerTemplate: {size: 4, workerTemplate: {spec: {containers: [{}]}}}}}",
			"l x4"},
		{"{kind: JobSet, apiVersion: jobset.x-k8s.io/v1alpha2, metadata: {name: j}, spec: {replicatedJobs: [{name: a, "
		 "replicas: 2, template: {spec: {parallelism: 8, completions: 4, template: {spec: {containers: [{}]}}}}}, {name: b, "
		 "template: {spec: {template: {spec: {containers: [{}]}}}}}]}}",
			"a x8, b x1"},
		{"{kind: RayJob, apiVersion: ray.io/v1, metadata: {name: r}, spec: {rayClusterSpec: {headGroupSpec: {template: "
		 "{spec: {containers: [{}]}}}, workerGroupSpecs: [{groupName: gpu, replicas: 3, numOfHosts: 2, template: {spec: "
		 "{containers: [{}]}}}]}}}",
			"head x1, gpu x6"},
		{"{kind: PyTorchJob, apiVersion: kubeflow.org/v1, metadata: {name: p}, spec: {pytorchReplicaSpecs: {Master: "
		 "{template: {spec: {containers: [{}]}}}, Worker: {replicas: 7, template: {spec: {containers: [{}]}}}}}}",
			"Master x1, Worker x7"},
		{"{kind: VirtualMachineInstance, apiVersion: kubevirt.io/v1, metadata: {name: vm}, spec: {domain: {}}}",
			"VirtualMachineInstance 'vm': KubeVirt makes its pod: judge the virt-launcher pod of a machine that runs"},
		{"{kind: JobSet, apiVersion: jobset.x-k8s.io/v1alpha2, metadata: {name: j}, spec: {}}",
			"spec.replicatedJobs: no jobs in it"},
		{"{kind: RayCluster, apiVersion: ray.io/v1, metadata: {name: r}, spec: {}}",
			"spec.headGroupSpec.template: no template in it"},
		{"{kind: Service, metadata: {name: s}, spec: {}}\n---\n" POD("a", "1"), "a x1"},
		{"{kind: List, items: [" POD("a", "1") ", {kind: ConfigMap, metadata: {name: c}}, " POD(
			 "b", "1") "]}",
			"a x1, b x1"},
		{"{kind: PodList, items: [" POD("a", "1") "]}", "a x1"},
		/* Nothing to read a pod from. */
		{"", "no YAML document in it"},
		{"---\n", "no objects in it"},
		{"just words", "not a Kubernetes object: it has no kind"},
		{"a: [", "not valid YAML at line 2, column 1: did not find expected node content"},
		{"kind: Service\nmetadata: {name: s}",
			"Service 's' is not one of the kinds whose pods are read: Pods, workloads of Kubernetes, Jobs of Volcano, LeaderWorkerSets, JobSets, RayClusters, RayJobs, RayServices, jobs of Kubeflow, and kinds with spec.template"},
		{"{kind: Deployment, apiVersion: v1, metadata: {name: d}}",
			"Deployment 'd': apiVersion is 'v1', not apps/v1"},
		{"{kind: Pod, apiVersion: v2, metadata: {name: p}}", "Pod 'p': apiVersion is 'v2', not v1"},
		{"kind: Pod\nspec: {containers: []}", "spec: no containers in it"},
		{"kind: Pod", "spec: no pod spec in it"},
		{"{kind: Job, apiVersion: batch.volcano.sh/v1alpha1, spec: {tasks: []}}",
			"spec.tasks: no tasks in it"},
		{POD("a", "-1"), "spec: containers[0]: resources.requests: cpu: '-1' is negative"},
		{POD("a", "1x"),
			"spec: containers[0]: resources.requests: cpu: not a quantity: '1x'; units are as in 5k, 5M, 5G and 5Ki, 5Mi, 5Gi"},
		{POD("a", "{}"),
			"spec: containers[0]: resources.requests: cpu: a quantity is expected, not a map"},
		{"{kind: Pod, spec: {containers: [{resources: {limits: {gpu: 1}}}]}}",
			"spec: containers[0]: resources.limits: gpu: unknown resource 'gpu'"},
		{POD("a", "1") "\n---\n" POD("b", "-1"),
			"document 2: spec: containers[0]: resources.requests: cpu: '-1' is negative"},
	};
	char *dir = test_tmpdir();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check_file(dir, cases[i][0], cases[i][1]);
	test_rmtree(&dir);
}

static void large_files_are_refused(void **state)
{
	struct strbuf text = STRBUF_INIT(POD_INPUT_MAX_BYTES + 64);
	char *dir = test_tmpdir();

	(void)state;
	for (unsigned i = 0; i < 10000; i++)
		strbuf_addf(&text, "line%u: nothing of use\n", i);
	check_file(dir, text.text, "not a Kubernetes object: it has no kind");
	strbuf_reset(&text);
	for (unsigned i = 0; i <= POD_INPUT_MAX_OBJECTS; i++)
		strbuf_addstr(&text, "---\nkind: Service\n");
	check_file(dir, text.text, "more than 1000 objects");
	strbuf_reset(&text);
	while (text.len <= POD_INPUT_MAX_BYTES)
		strbuf_addstr(&text, "# nothing\n");
	check_file(dir, text.text, "larger than 1048576 bytes");
	strbuf_release(&text);
	test_rmtree(&dir);
}

/* A merge key, in a file with a byte order mark. */
static void resources_may_be_merged(void **state)
{
	static const char pod[] = "\xef\xbb\xbf"
				  "kind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n"
				  "  - {name: a, resources: &r {requests: {cpu: 12}}}\n"
				  "  - name: b\n    resources: {<<: *r}\n";
	CLEANUP(pod_templates_release) struct pod_templates t = {0};
	char *dir = test_tmpdir();
	char line[256];

	(void)state;
	test_write_file(dir, "pod.yaml", pod);
	snprintf(line, sizeof(line), "-f %s/pod.yaml", dir);
	assert_int_equal(read_line(line, &t, NULL), 0);
	assert_int_equal(t.items[0].pod.n_containers, 2);
	for (size_t i = 0; i < 2; i++) {
		CLEANUP(freep) char *requests = list_text(&t.items[0].pod.containers[i].requests);

		test_assert_text("requests", requests, "cpu=12");
	}
	test_rmtree(&dir);
}

static void one_template_is_picked(void **state)
{
	const struct pod_template *picked = NULL;
	struct pod_templates t = {0};
	struct err err = {""};
	struct options o;
	char *dir = test_tmpdir();
	char line[256];

	(void)state;
	test_write_file(dir, "pod.yaml", POD("a", "1") "\n---\n" POD("b", "2"));
	snprintf(line, sizeof(line), "-f %s/pod.yaml", dir);
	parse(line, &o);
	assert_int_equal(pod_input_read(&o, &t, NULL), 0);
	assert_int_equal(pod_input_pick(&o, &t, &picked, &err), -EINVAL);
	test_assert_text("which?", err.text, "--filename: 2 pod templates, choose one with --pod: 'a', 'b'");
	snprintf(line, sizeof(line), "-f %s/pod.yaml --pod b", dir);
	parse(line, &o);
	assert_int_equal(pod_input_pick(&o, &t, &picked, NULL), 0);
	test_assert_text("by name", picked->pod.name, "b");
	snprintf(line, sizeof(line), "-f %s/pod.yaml --pod c", dir);
	parse(line, &o);
	assert_int_equal(pod_input_pick(&o, &t, &picked, &err), -EINVAL);
	test_assert_text("no such", err.text, "--pod: no pod template is named 'c'; the file has 'a', 'b'");
	pod_templates_release(&t);
	test_write_file(dir, "pod.yaml", POD("a", "1") "\n---\n" POD("a", "2"));
	snprintf(line, sizeof(line), "-f %s/pod.yaml --pod a", dir);
	parse(line, &o);
	assert_int_equal(pod_input_read(&o, &t, NULL), 0);
	assert_int_equal(pod_input_pick(&o, &t, &picked, &err), -EINVAL);
	test_assert_text(
		"two", err.text, "--pod: 2 pod templates are named 'a': remove all but one from the file");
	pod_templates_release(&t);
	test_write_file(dir, "pod.yaml", POD("a", "1"));
	snprintf(line, sizeof(line), "-f %s/pod.yaml", dir);
	parse(line, &o);
	assert_int_equal(pod_input_read(&o, &t, NULL), 0);
	assert_int_equal(pod_input_pick(&o, &t, &picked, NULL), 0);
	test_assert_text("the only one", picked->pod.name, "a");
	pod_templates_release(&t);
	test_rmtree(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flags_make_one_guaranteed_container),
		cmocka_unit_test(bad_flags_are_named),
		cmocka_unit_test(daemons_tolerate_more),
		cmocka_unit_test(files_hold_pods_and_templates),
		cmocka_unit_test(large_files_are_refused),
		cmocka_unit_test(resources_may_be_merged),
		cmocka_unit_test(one_template_is_picked),
	};

	const struct command_def *every = NULL;

	FOREACH_OPTION (def, &program_nrtd, every)
		if (def->env)
			unsetenv(def->env);
	return cmocka_run_group_tests_name("pod_input", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>
#include <unistd.h>

#include "agent/observe/kubelet_config.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "tests/lib/settings.h"
#include "tests/lib/states.h"

#define HEAD "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"

/* ---- values from a configuration */

static int convert(const char *text, bool defaults, struct settings *s, struct notes *notes, struct err *err)
{
	CLEANUP(kubelet_config_release) struct kubelet_config config = {0};
	int r = kubelet_config_parse(text, strlen(text), false, "f", &config, err);

	return r < 0 ? r : settings_convert(&config, defaults, s, notes, err);
}

static void the_recorded_configuration(void **state)
{
	CLEANUP(kubelet_config_release) struct kubelet_config config = {0};
	CLEANUP(settings_release) struct settings s;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(65536);
	struct err err = {""};

	(void)state;
	settings_init(&s);
	if (kubelet_config_read("tests/fixtures", "/kubelet/config.yaml", &config, &err) < 0 ||
		settings_convert(&config, true, &s, NULL, &err) < 0)
		fail_msg("%s", err.text);
	test_settings_text(&s, &text);
	test_assert_text("config.yaml", text.text,
		"cpuManagerPolicy=static [/kubelet/config.yaml]\n"
		"cpuManagerPolicyOptions=distribute-cpus-across-numa=false,full-pcpus-only=true "
		"[/kubelet/config.yaml]\n"
		"memoryManagerPolicy=Static [/kubelet/config.yaml]\n"
		"topologyManagerPolicy=restricted [/kubelet/config.yaml]\n"
		"topologyManagerScope=pod [/kubelet/config.yaml]\n"
		"topologyManagerPolicyOptions=max-allowable-numa-nodes=16,prefer-closest-numa-nodes=true "
		"[/kubelet/config.yaml]\n"
		"reservedSystemCPUs=0-1,32-33 [/kubelet/config.yaml]\n"
		"kubeReserved=cpu=500m,memory=1Gi [/kubelet/config.yaml]\n"
		"systemReserved=cpu=1,memory=1Gi [/kubelet/config.yaml]\n"
		"evictionHard=memory.available=500Mi [/kubelet/config.yaml]\n"
		"reservedMemory=0:hugepages-1Gi=2Gi;0:memory=1Gi;1:memory=512Mi [/kubelet/config.yaml]\n"
		"featureGates=CPUManagerPolicyAlphaOptions=true,NodeSwap=false [/kubelet/config.yaml]\n");
	assert_true(s.cpu_options.full_pcpus_only);
	assert_false(s.cpu_options.distribute_cpus_across_numa);
	assert_true(s.topology.prefer_closest_numa_nodes);
	assert_int_equal(s.topology.max_numa_nodes, 16);
	assert_true(s.reserved_known);
}

static void defaults_are_the_kubelets(void **state)
{
	CLEANUP(settings_release) struct settings s;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(65536);

	(void)state;
	settings_init(&s);
	assert_int_equal(
		convert(HEAD "cpuManagerPolicy: \"\"\nreservedSystemCPUs: \"\"\n", true, &s, NULL, NULL), 0);
	test_settings_text(&s, &text);
	test_assert_text("defaults", text.text,
		"cpuManagerPolicy=none [f]\n"
		"cpuManagerPolicyOptions= [kubelet default]\n"
		"memoryManagerPolicy=None [kubelet default]\n"
		"topologyManagerPolicy=none [kubelet default]\n"
		"topologyManagerScope=container [kubelet default]\n"
		"topologyManagerPolicyOptions= [kubelet default]\n"
		"reservedSystemCPUs= [f]\n"
		"kubeReserved=cpu=0,memory=0 [kubelet default]\n"
		"systemReserved=cpu=0,memory=0 [kubelet default]\n"
		"evictionHard=memory.available=100Mi [kubelet default]\n"
		"reservedMemory= [kubelet default]\n"
		"featureGates= [kubelet default]\n");
	assert_true(s.reserved_known);
	assert_null(s.reserved_system_cpus);
	assert_int_equal(s.topology.max_numa_nodes, TOPOLOGY_MANAGER_DEFAULT_MAX_NUMA_NODES);
}

static void without_defaults_the_rest_is_unknown(void **state)
{
	CLEANUP(kubelet_config_release) struct kubelet_config config = {0};
	CLEANUP(settings_release) struct settings s;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(65536);

	(void)state;
	settings_init(&s);
	assert_int_equal(kubelet_config_set_flag(
				 &config, SETTING_KUBE_RESERVED, "cpu=1500m, memory = 1G,", "here", NULL),
		0);
	assert_int_equal(settings_convert(&config, false, &s, NULL, NULL), 0);
	test_settings_text(&s, &text);
	test_assert_text("one", text.text, "kubeReserved=cpu=1500m,memory=1000000000 [here]\n");
	assert_int_equal(s.cpu_manager, CPU_MANAGER_UNKNOWN);
	assert_int_equal(s.topology.policy, TOPOLOGY_MANAGER_UNKNOWN);
	/* systemReserved may be anything. */
	assert_false(s.reserved_known);
}

static void single_fields(void **state)
{
	static const struct {
		const char *text; /* after HEAD */
		enum setting what;
		const char *want, *notes;
	} cases[] = {
		{"evictionHard: {nodefs.available: 5%}", SETTING_EVICTION_HARD,
			"evictionHard=memory.available=0 [f]", NULL},
		{"evictionHard: {nodefs.available: 5%}\nmergeDefaultEvictionSettings: true",
			SETTING_EVICTION_HARD, "evictionHard=memory.available=100Mi [f, kubelet default]",
			NULL},
		{"evictionHard: {memory.available: 7.5%}\nmergeDefaultEvictionSettings: true",
			SETTING_EVICTION_HARD, "evictionHard=memory.available=7.5% [f]", NULL},
		{"evictionHard: {}", SETTING_EVICTION_HARD, "evictionHard=memory.available=0 [f]", NULL},
		{"evictionHard: null", SETTING_EVICTION_HARD,
			"evictionHard=memory.available=100Mi [kubelet default]", NULL},
		{"featureGates: {NodeSwap: true, MemoryQoS: off}", SETTING_FEATURE_GATES,
			"featureGates=MemoryQoS=false,NodeSwap=true [f]", NULL},
		{"systemReserved: &x {cpu: \"1\"}\nkubeReserved:\n  <<: *x\n  memory: 1Gi",
			SETTING_KUBE_RESERVED, "kubeReserved=cpu=1,memory=1Gi [f]", NULL},
		/* Of a key that appears twice the last one counts. */
		{"kubeReserved: {cpu: \"1\", cpu: \"2\"}", SETTING_KUBE_RESERVED,
			"kubeReserved=cpu=2,memory=0 [f]", NULL},
		{"kubeReserved: {cpu: \"1\"}\nkubeReserved: {memory: 1Gi}", SETTING_KUBE_RESERVED,
			"kubeReserved=cpu=0,memory=1Gi [f]", NULL},
		{"reservedMemory: [{numaNode: 0, limits: {memory: 1073741824}}]", SETTING_RESERVED_MEMORY,
			"reservedMemory=0:memory=1Gi [f]", NULL},
		{"cpuManagerPolicyOptions: {align-by-socket: T, later: x}",
			SETTING_CPU_MANAGER_POLICY_OPTIONS,
			"cpuManagerPolicyOptions=align-by-socket=T,later=x [f]",
			"f: cpuManagerPolicyOptions: option 'later' is not known"},
		{"topologyManagerPolicyOptions: {later: x}", SETTING_TOPOLOGY_MANAGER_POLICY_OPTIONS,
			"topologyManagerPolicyOptions=later=x [f]",
			"f: topologyManagerPolicyOptions: option 'later' is not known"},
		{"CPUManagerPolicy: static", SETTING_CPU_MANAGER_POLICY,
			"cpuManagerPolicy=none [kubelet default]",
			"f: field 'CPUManagerPolicy' is not known"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(settings_release) struct settings s;
		CLEANUP(notes_release) struct notes notes = {0};
		CLEANUP(strbuf_release) struct strbuf noted = STRBUF_INIT(4096);
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);
		CLEANUP(freep) char *line = NULL;
		struct err err = {""};

		settings_init(&s);
		strbuf_addf(&text, HEAD "%s\n", cases[i].text);
		if (convert(text.text, true, &s, &notes, &err) < 0)
			fail_msg("%s: %s", cases[i].text, err.text);
		line = test_setting_line(&s, cases[i].what);
		test_assert_text(cases[i].text, line, cases[i].want);
		test_notes_text(&notes, &noted);
		test_assert_text(cases[i].text, noted.text, cases[i].notes ? cases[i].notes : "");
	}
}

/* What is off changes nothing. */
static void options_that_are_not_known_are_named(void **state)
{
	static const char text[] = HEAD
		"cpuManagerPolicyOptions: {full-pcpus-only: \"true\", gone: \"false\", later: \"true\", then: x}\n"
		"topologyManagerPolicyOptions: {numa-allocation-strategy: most}\n"
		"featureGates: {CPUManagerPolicyAlphaOptions: true, NeverHeardOfPods: false, NeverHeardOfCPUs: true, "
		"WindowsGracefulNodeShutdown: true}\n";
	CLEANUP(settings_release) struct settings s;
	CLEANUP(notes_release) struct notes notes = {0};
	struct err err = {""};

	(void)state;
	settings_init(&s);
	if (convert(text, true, &s, &notes, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(s.unknown_cpu_option, "later");
	assert_string_equal(s.unknown_topology_option, "numa-allocation-strategy");
	assert_string_equal(s.unknown_feature_gate, "NeverHeardOfCPUs");
	assert_true(s.cpu_options.full_pcpus_only);
}

static void fields_that_are_not_known_are_named(void **state)
{
	static const char text[] =
		HEAD "tlsCertFile: x\nother: null\nsystemPartition: {cpus: 0-3}\nmore: 1\n";
	CLEANUP(settings_release) struct settings s;
	CLEANUP(notes_release) struct notes notes = {0};
	struct err err = {""};

	(void)state;
	settings_init(&s);
	if (convert(text, true, &s, &notes, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(s.unknown_field, "systemPartition");
	assert_string_equal(notes.lines.items[0], "f: field 'systemPartition' is not known");
}

static void bad_values_are_one_clear_line(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"", "f: empty, no YAML document in it"},
		{"[]", "f: no KubeletConfiguration but a list"},
		{"kind: KubeletConfiguration", "f: no KubeletConfiguration: apiVersion is absent"},
		{"apiVersion: v1\nkind: Pod", "f: no KubeletConfiguration: apiVersion is 'v1', not "
					      "'kubelet.config.k8s.io/v1beta1'"},
		{"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: Pod",
			"f: no KubeletConfiguration: kind is 'Pod', not 'KubeletConfiguration'"},
		{"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: [x]",
			"f: no KubeletConfiguration: kind is a list"},
		{HEAD "mergeDefaultEvictionSettings: maybe",
			"f: mergeDefaultEvictionSettings: a boolean expected, not a string"},
		{HEAD "cpuManagerPolicy: statik",
			"f: cpuManagerPolicy: 'statik' is not one of: none, static"},
		{HEAD "cpuManagerPolicy: 5", "f: cpuManagerPolicy: a string expected, not a number"},
		{HEAD "memoryManagerPolicy: static",
			"f: memoryManagerPolicy: 'static' is not one of: None, Static"},
		{HEAD "topologyManagerPolicy: strict",
			"f: topologyManagerPolicy: 'strict' is not one of: none, best-effort, restricted, "
			"single-numa-node"},
		{HEAD "topologyManagerScope: Pod",
			"f: topologyManagerScope: 'Pod' is not one of: container, pod"},
		{HEAD "cpuManagerPolicyOptions: {full-pcpus-only: true}",
			"f: cpuManagerPolicyOptions: full-pcpus-only: a string expected, not a boolean"},
		{HEAD "cpuManagerPolicyOptions: {full-pcpus-only: \"yes\"}",
			"f: cpuManagerPolicyOptions: full-pcpus-only: 'yes' is not a boolean"},
		{HEAD "cpuManagerPolicyOptions: [a]",
			"f: cpuManagerPolicyOptions: a map expected, not a list"},
		{HEAD "topologyManagerPolicy: restricted\ntopologyManagerPolicyOptions: {max-allowable-numa-nodes: \"1e3\"}",
			"f: topologyManagerPolicyOptions: max-allowable-numa-nodes: '1e3' is not a number"},
		{HEAD "topologyManagerPolicy: restricted\ntopologyManagerPolicyOptions: {prefer-closest-numa-nodes: \"2\"}",
			"f: topologyManagerPolicyOptions: prefer-closest-numa-nodes: '2' is not a boolean"},
		{HEAD "reservedSystemCPUs: 0-", "f: reservedSystemCPUs: not a CPU list: '0-'"},
		{HEAD "reservedSystemCPUs: 7", "f: reservedSystemCPUs: a string expected, not a number"},
		{HEAD "kubeReserved: {cpu: 1}", "f: kubeReserved: cpu: a string expected, not a number"},
		{HEAD "kubeReserved: {cpu: 1core}",
			"f: kubeReserved: cpu: not a quantity: '1core'; units are as in 5k, 5M, 5G and 5Ki, 5Mi, 5Gi"},
		{HEAD "systemReserved: {memory: -1Gi}", "f: systemReserved: memory: '-1Gi' is negative"},
		{HEAD "systemReserved: {cpu: 1e28}",
			"f: systemReserved: cpu: a string expected, not a number"},
		{HEAD "systemReserved: {cpu: \"1e28\"}", "f: systemReserved: cpu: '1e28' is too much"},
		{HEAD "evictionHard: {memory.available: 101%}",
			"f: evictionHard: memory.available: not a quantity: '101%'"},
		{HEAD "evictionHard: {memory.available: \"\"}",
			"f: evictionHard: memory.available: not a quantity: ''"},
		{HEAD "evictionHard: 5%", "f: evictionHard: a map expected, not a string"},
		{HEAD "reservedMemory: {}", "f: reservedMemory: a list expected, not a map"},
		{HEAD "reservedMemory: [0]", "f: reservedMemory: a map expected, not a number"},
		{HEAD "reservedMemory: [{numaNode: -1, limits: {}}]",
			"f: reservedMemory: numaNode: '-1' is not a NUMA node id"},
		{HEAD "reservedMemory: [{numaNode: 0}]",
			"f: reservedMemory: limits: a map expected, not absent"},
		{HEAD "reservedMemory: [{numaNode: 0, limits: {memory: lots}}]",
			"f: reservedMemory: memory: not a quantity: 'lots'"},
		{HEAD "featureGates: {A: \"true\"}", "f: featureGates: A: a boolean expected, not a string"},
		{HEAD "cpuManagerPolicy: [",
			"f: not valid YAML at line 4, column 1: did not find expected node "
			"content"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(settings_release) struct settings s;
		struct err err = {""};

		settings_init(&s);
		assert_int_equal(convert(cases[i].text, true, &s, NULL, &err), -EINVAL);
		test_assert_text(cases[i].text, err.text, cases[i].want);
		assert_null(s.from[SETTING_CPU_MANAGER_POLICY]);
	}
}

/* nrtd reads on, and the validator (scoring/kubelet_start.h) has the reason. */
static void what_only_the_kubelet_refuses_is_kept(void **state)
{
	CLEANUP(settings_release) struct settings s, lenient;
	struct err err = {""};

	(void)state;
	settings_init(&s);
	settings_init(&lenient);
	if (convert(HEAD
		    "topologyManagerPolicy: restricted\ntopologyManagerPolicyOptions: {max-allowable-numa-nodes: \"7\"}\n"
		    "kubeReserved: {cpu: \"1\", pid: \"9\", ephemeral-storage: 1Gi}\nsystemReserved: {hugepages-2Mi: 2Mi}\n"
		    "reservedMemory: [{numaNode: 0, limits: {memory: 1}}, {limits: {memory: 2}}]",
		    true, &s, NULL, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(s.topology.max_numa_nodes, 7);
	assert_int_equal(s.n_memory_reservations, 2);
	assert_null(s.refused[SETTING_KUBE_RESERVED]);
	test_assert_text("systemReserved", s.refused[SETTING_SYSTEM_RESERVED],
		"cannot reserve \"hugepages-2Mi\" resource");
	/* With policy none the kubelet does not read the Topology Manager's options. */
	if (convert(HEAD
		    "topologyManagerPolicyOptions: {max-allowable-numa-nodes: many, prefer-closest-numa-nodes: maybe}",
		    true, &lenient, NULL, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(lenient.topology.max_numa_nodes, 8);
}

static void maps_have_a_limit(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1u << 20);
	CLEANUP(settings_release) struct settings s;
	struct err err = {""};

	(void)state;
	settings_init(&s);
	strbuf_addstr(&text, HEAD "featureGates:\n");
	for (int i = 0; i < 1025; i++)
		strbuf_addf(&text, "  G%d: true\n", i);
	assert_int_equal(convert(text.text, true, &s, NULL, &err), -EINVAL);
	test_assert_text("gates", err.text, "f: featureGates: more than 1024 keys");
}

/* ---- drop-ins */

static void drop_ins_merge_as_the_kubelet_merges(void **state)
{
	CLEANUP(kubelet_config_release) struct kubelet_config config = {0};
	CLEANUP(settings_release) struct settings s;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(65536);
	CLEANUP(strv_release) struct strv files = {0};
	struct err err = {""};

	(void)state;
	settings_init(&s);
	if (kubelet_config_read("tests/fixtures", "/kubelet/config.yaml", &config, &err) < 0 ||
		kubelet_config_read_dropins(
			"tests/fixtures", "/kubelet/kubelet.conf.d", &config, &files, &err) < 0 ||
		settings_convert(&config, true, &s, NULL, &err) < 0)
		fail_msg("%s", err.text);
	test_settings_text(&s, &text);
	test_assert_text("drop-ins", text.text,
		"cpuManagerPolicy=static [/kubelet/config.yaml]\n"
		"cpuManagerPolicyOptions=distribute-cpus-across-numa=false "
		"[/kubelet/config.yaml, /kubelet/kubelet.conf.d/10-second.conf]\n"
		"memoryManagerPolicy=Static [/kubelet/config.yaml]\n"
		"topologyManagerPolicy=single-numa-node [/kubelet/kubelet.conf.d/10-second.conf]\n"
		"topologyManagerScope=pod [/kubelet/config.yaml]\n"
		"topologyManagerPolicyOptions=max-allowable-numa-nodes=16,prefer-closest-numa-nodes=true "
		"[/kubelet/config.yaml]\n"
		"reservedSystemCPUs=0-1,32-33 [/kubelet/config.yaml]\n"
		"kubeReserved=cpu=2,memory=1Gi [/kubelet/config.yaml, "
		"/kubelet/kubelet.conf.d/00-first.conf]\n"
		"systemReserved=cpu=0,memory=0 [kubelet default]\n"
		"evictionHard=memory.available=500Mi [/kubelet/config.yaml]\n"
		"reservedMemory=0:memory=2Gi [/kubelet/kubelet.conf.d/10-second.conf]\n"
		"featureGates=CPUManagerPolicyAlphaOptions=true,NodeSwap=true "
		"[/kubelet/config.yaml, /kubelet/kubelet.conf.d/00-first.conf]\n");
}

/* evictionHard's defaults are set after the configuration file is read, and only then, so a drop-in adds to them or removes them. */
static void drop_ins_change_default_thresholds(void **state)
{
	static const struct {
		bool has_file;
		const char *drop_in, *want;
	} cases[] = {
		{true, HEAD "evictionHard: {nodefs.available: 5%}\n",
			"evictionHard=memory.available=100Mi [kubelet default, d]"},
		{true, HEAD "evictionHard: null\n", "evictionHard=memory.available=0 [d]"},
		{false, HEAD, "evictionHard=memory.available=0 [kubelet default]"},
		{false, HEAD "evictionHard: {nodefs.available: 5%}\n",
			"evictionHard=memory.available=0 [kubelet default, d]"},
		{false, HEAD "evictionHard: {memory.available: 5%}\n",
			"evictionHard=memory.available=5% [kubelet default, d]"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(kubelet_config_release) struct kubelet_config config = {0};
		CLEANUP(settings_release) struct settings s;
		CLEANUP(freep) char *line = NULL;

		settings_init(&s);
		if (cases[i].has_file)
			assert_int_equal(
				kubelet_config_parse(HEAD, strlen(HEAD), false, "f", &config, NULL), 0);
		else
			assert_int_equal(kubelet_config_without_file(&config, NULL), 0);
		assert_int_equal(kubelet_config_parse(cases[i].drop_in, strlen(cases[i].drop_in), true, "d",
					 &config, NULL),
			0);
		assert_int_equal(settings_convert(&config, true, &s, NULL, NULL), 0);
		line = test_setting_line(&s, SETTING_EVICTION_HARD);
		test_assert_text("evictionHard", line, cases[i].want);
	}
}

/* The kubelet ignores the case of fields in drop-ins; of several spellings the one that sorts last counts. */
static void drop_ins_are_read_without_case(void **state)
{
	static const struct {
		const char *drop_ins[2];
		enum setting what;
		const char *want;
	} cases[] = {
		{{HEAD "reservedSystemCpus: 0-3\n"}, SETTING_RESERVED_SYSTEM_CPUS,
			"reservedSystemCPUs=0-3 [d]"},
		{{HEAD "ReservedSystemCPUs: 0-3\n"}, SETTING_RESERVED_SYSTEM_CPUS,
			"reservedSystemCPUs=0 [f]"},
		{{HEAD "reservedSystemCpus: 0-3\n", HEAD "reservedSystemCPUs: 0-7\n"},
			SETTING_RESERVED_SYSTEM_CPUS, "reservedSystemCPUs=0-3 [d]"},
		{{HEAD "cpumanagerpolicy: none\ncpuManagerPolicy: static\n"}, SETTING_CPU_MANAGER_POLICY,
			"cpuManagerPolicy=none [d]"},
		{{HEAD "reservedMemory: [{numanode: 1, Limits: {memory: 100Mi}}]\n"}, SETTING_RESERVED_MEMORY,
			"reservedMemory=1:memory=100Mi [d]"},
		{{HEAD "CPUManagerPolicy: static\n"}, SETTING_CPU_MANAGER_POLICY,
			"cpuManagerPolicy=none [kubelet default]"},
		{{HEAD "reservedsystemcpus: null\n"}, SETTING_RESERVED_SYSTEM_CPUS,
			"reservedSystemCPUs=0 [f]"},
		{{HEAD "reservedSystemCpus: 0-3\n", HEAD "reservedSystemCpus: null\n"},
			SETTING_RESERVED_SYSTEM_CPUS, "reservedSystemCPUs=0 [f]"},
		{{HEAD "FeatureGates: {A: true, B: true}\nfeatureGates: {B: false}\n"}, SETTING_FEATURE_GATES,
			"featureGates=A=true,B=false [d]"},
	};
	static const char file[] = HEAD "reservedSystemCPUs: \"0\"\n";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(kubelet_config_release) struct kubelet_config config = {0};
		CLEANUP(settings_release) struct settings s;
		CLEANUP(freep) char *line = NULL;
		struct err err = {""};

		settings_init(&s);
		assert_int_equal(kubelet_config_parse(file, strlen(file), false, "f", &config, NULL), 0);
		for (size_t k = 0; k < 2 && cases[i].drop_ins[k]; k++)
			if (kubelet_config_parse(cases[i].drop_ins[k], strlen(cases[i].drop_ins[k]), true,
				    "d", &config, &err) < 0)
				fail_msg("%s", err.text);
		assert_null(config.unknown_field);
		if (kubelet_config_end_drop_ins(&config, &err) < 0 ||
			settings_convert(&config, true, &s, NULL, &err) < 0)
			fail_msg("%s", err.text);
		line = test_setting_line(&s, cases[i].what);
		test_assert_text("setting", line, cases[i].want);
	}
}

/* filepath.WalkDir does not follow a link at its root. */
static void a_link_to_drop_ins_is_not_followed(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(freep) char *link = xasprintf("%s/conf.d", dir);
	static const struct {
		const char *dir;
		size_t n_fields;
	} cases[] = {{"/conf.d", 0}, {"/conf.d/", 3}, {"/real.d", 3}};

	(void)state;
	test_write_file(dir, "real.d/10.conf", HEAD "cpuManagerPolicy: static\n");
	assert_int_equal(symlink("real.d", link), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(kubelet_config_release) struct kubelet_config config = {0};
		CLEANUP(strv_release) struct strv files = {0};

		assert_int_equal(kubelet_config_read_dropins(dir, cases[i].dir, &config, &files, NULL), 0);
		assert_int_equal(config.fields.n_items, cases[i].n_fields);
	}
}

static void bad_drop_ins_are_named(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(kubelet_config_release) struct kubelet_config config = {0};
	CLEANUP(strv_release) struct strv files = {0};
	struct err err = {""};

	(void)state;
	assert_int_equal(kubelet_config_read_dropins(dir, "/none", &config, &files, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/none': No such file or directory"));
	test_write_file(dir, "conf.d/10-a.conf", HEAD);
	test_write_file(dir, "conf.d/sub/20-b.conf", "cpuManagerPolicy: static\n");
	test_write_file(dir, "conf.d/sub/README", "not read");
	assert_int_equal(kubelet_config_read_dropins(dir, "/conf.d", &config, &files, &err), -EINVAL);
	test_assert_text(
		"error", err.text, "/conf.d/sub/20-b.conf: no KubeletConfiguration: apiVersion is absent");
}

/* The kubelet reads its configuration file leniently and its drop-ins strictly. */
static void drop_ins_have_no_key_twice(void **state)
{
	static const char text[] = HEAD "kubeReserved: {cpu: \"1\"}\nkubeReserved: {cpu: \"2\"}\n";
	CLEANUP(kubelet_config_release) struct kubelet_config config = {0};
	struct err err = {""};

	(void)state;
	assert_int_equal(kubelet_config_parse(text, strlen(text), false, "f", &config, &err), 0);
	assert_int_equal(kubelet_config_parse(text, strlen(text), true, "d", &config, &err), -EINVAL);
	test_assert_text(
		"error", err.text, "d: key 'kubeReserved' appears twice in the map that begins at line 1");
}

/* The folders below are walked without going into them: paths may begin where the process is. */
static void drop_ins_below_a_relative_root_are_read(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(kubelet_config_release) struct kubelet_config config = {0};
	CLEANUP(strv_release) struct strv files = {0};
	CLEANUP(freep) char *before = getcwd(NULL, 0);
	struct err err = {""};
	int r;

	(void)state;
	test_write_file(dir, "root/conf.d/a/10.conf", HEAD);
	test_write_file(dir, "root/conf.d/b/20.conf", HEAD);
	assert_int_equal(chdir(dir), 0);
	r = kubelet_config_read_dropins("root", "/conf.d", &config, &files, &err);
	assert_int_equal(chdir(before), 0);
	if (r < 0)
		fail_msg("%s", err.text);
	assert_true(files.n_items >= 2);
}

/* ---- flags */

static void flags_are_the_kubelets(void **state)
{
	static const struct {
		const char *flag;
		const char *texts[2]; /* given one after the other */
		const char *want;
	} cases[] = {
		{"cpu-manager-policy", {"none", "static"}, "cpuManagerPolicy=static [x]"},
		{"cpu-manager-policy-options", {"full-pcpus-only=true", "align-by-socket=1"},
			"cpuManagerPolicyOptions=align-by-socket=1,full-pcpus-only=true [x]"},
		{"cpu-manager-policy-options", {"\xc3\xa9\x90\n\xd2=true"},
			"cpuManagerPolicyOptions=\xc3\xa9??"
			"?=true [x]"},
		{"memory-manager-policy", {"Static"}, "memoryManagerPolicy=Static [x]"},
		{"topology-manager-policy", {"best-effort"}, "topologyManagerPolicy=best-effort [x]"},
		{"topology-manager-scope", {"pod"}, "topologyManagerScope=pod [x]"},
		{"topology-manager-policy-options", {"max-allowable-numa-nodes=9"},
			"topologyManagerPolicyOptions=max-allowable-numa-nodes=9 [x]"},
		{"reserved-cpus", {"0,4-5"}, "reservedSystemCPUs=0,4-5 [x]"},
		{"kube-reserved", {"cpu=1,memory=1Gi", "cpu=2"}, "kubeReserved=cpu=2,memory=1Gi [x]"},
		{"system-reserved", {""}, "systemReserved=cpu=0,memory=0 [x]"},
		{"eviction-hard", {"memory.available<10%,nodefs.available<5%"},
			"evictionHard=memory.available=10% [x]"},
		{"reserved-memory", {"0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=1Gi", "3:memory=1"},
			"reservedMemory=0:hugepages-1Gi=2Gi;0:memory=1Gi;1:memory=1Gi;3:memory=1 [x]"},
		{"feature-gates", {"MemoryQoS=T,CPUManagerPolicyAlphaOptions=0", "NodeSwap=True"},
			"featureGates=CPUManagerPolicyAlphaOptions=false,MemoryQoS=true,NodeSwap=true [x]"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(kubelet_config_release) struct kubelet_config config = {0};
		CLEANUP(settings_release) struct settings s;
		CLEANUP(freep) char *line = NULL;
		int what = kubelet_config_find_flag(cases[i].flag, strlen(cases[i].flag));

		settings_init(&s);
		assert_in_range(what, 0, SETTING_COUNT - 1);
		for (size_t t = 0; t < 2 && cases[i].texts[t]; t++)
			assert_int_equal(kubelet_config_set_flag(
						 &config, (enum setting)what, cases[i].texts[t], "x", NULL),
				0);
		assert_int_equal(settings_convert(&config, false, &s, NULL, NULL), 0);
		line = test_setting_line(&s, (enum setting)what);
		test_assert_text(cases[i].flag, line, cases[i].want);
	}
	assert_int_equal(kubelet_config_find_flag("cpu_manager_policy", 18), SETTING_CPU_MANAGER_POLICY);
	assert_int_equal(kubelet_config_find_flag("cpu-manager-polic", 17), -1);
	assert_int_equal(kubelet_config_find_flag("", 0), -1);
}

static void malformed_flags_are_one_clear_line(void **state)
{
	static const struct {
		enum setting what;
		const char *text, *want;
	} cases[] = {
		{SETTING_KUBE_RESERVED, "cpu", "x: 'cpu' is not of the form key=value"},
		{SETTING_EVICTION_HARD, "memory.available=1Gi",
			"x: 'memory.available=1Gi' is not of the form key<value"},
		{SETTING_FEATURE_GATES, "A=maybe", "x: A: 'maybe' is not a boolean"},
		{SETTING_RESERVED_MEMORY, "memory=1Gi",
			"x: 'memory=1Gi' is not of the form node:type=quantity"},
		{SETTING_RESERVED_MEMORY, "0:memory=1Gi;", "x: '' is not of the form node:type=quantity"},
		{SETTING_RESERVED_MEMORY, "0:1:memory=1Gi",
			"x: '0:1:memory=1Gi' is not of the form node:type=quantity"},
		{SETTING_RESERVED_MEMORY, "a:memory=1Gi",
			"x: reservedMemory: numaNode: 'a' is not a NUMA node id"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(kubelet_config_release) struct kubelet_config config = {0};
		CLEANUP(settings_release) struct settings s;
		struct err err = {""};
		int r;

		settings_init(&s);
		r = kubelet_config_set_flag(&config, cases[i].what, cases[i].text, "x", &err);
		if (r == 0)
			r = settings_convert(&config, false, &s, NULL, &err);
		assert_int_equal(r, -EINVAL);
		test_assert_text(cases[i].text, err.text, cases[i].want);
	}
}

static void booleans_are_gos(void **state)
{
	static const char *const yes[] = {"1", "t", "T", "true", "True", "TRUE"};
	static const char *const no[] = {"0", "f", "F", "false", "False", "FALSE"};
	static const char *const neither[] = {"", "yes", "on", "tRUE", "2", " true"};
	bool value;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
		assert_true(text_parse_bool(yes[i], &value) && value);
		assert_true(text_parse_bool(no[i], &value) && !value);
		assert_false(text_parse_bool(neither[i], &value));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_recorded_configuration),
		cmocka_unit_test(defaults_are_the_kubelets),
		cmocka_unit_test(without_defaults_the_rest_is_unknown),
		cmocka_unit_test(single_fields),
		cmocka_unit_test(options_that_are_not_known_are_named),
		cmocka_unit_test(fields_that_are_not_known_are_named),
		cmocka_unit_test(bad_values_are_one_clear_line),
		cmocka_unit_test(what_only_the_kubelet_refuses_is_kept),
		cmocka_unit_test(maps_have_a_limit),
		cmocka_unit_test(drop_ins_merge_as_the_kubelet_merges),
		cmocka_unit_test(drop_ins_change_default_thresholds),
		cmocka_unit_test(drop_ins_are_read_without_case),
		cmocka_unit_test(a_link_to_drop_ins_is_not_followed),
		cmocka_unit_test(bad_drop_ins_are_named),
		cmocka_unit_test(drop_ins_have_no_key_twice),
		cmocka_unit_test(drop_ins_below_a_relative_root_are_read),
		cmocka_unit_test(flags_are_the_kubelets),
		cmocka_unit_test(malformed_flags_are_one_clear_line),
		cmocka_unit_test(booleans_are_gos),
	};

	return cmocka_run_group_tests_name("settings_raw", tests, NULL, NULL);
}

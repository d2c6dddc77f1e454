/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of kubelet releases: their order, their feature gates, and what is said of those that are newer than nrtd knows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/observe/kubelet_config.h"
#include "agent/observe/release_names.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "scoring/kubelet_release.h"
#include "scoring/kubelet_version.h"
#include "tests/lib/test.h"

#define HEAD "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"

static struct kubelet_release release_of(const char *version)
{
	struct kubelet_release release = {0};
	struct err err = {""};

	if (*version && kubelet_release_parse(version, &release, &err) < 0)
		fail_msg("%s", err.text);
	return release;
}

static void versions_are_parsed_and_printed(void **state)
{
	static const struct {
		const char *version, *want;
	} good[] = {
		{"1.35", "1.35"},
		{"v1.35.4", "1.35"},
		{"v1.34.1-eks-113cf36", "1.34"},
		{"v1.31.4-gke.1000", "1.31"},
		{"1.36+", "1.36"},
		{"v1.9", "1.9"},
		{"v1.33.5+k3s1", "1.33"},
		{"v1.38.0-alpha.3", "1.38.0-alpha.3"},
		{"v1.38.0-beta.0", "1.38.0-beta.0"},
		{"v1.38.0-rc.1+rke2r1", "1.38.0-rc.1"},
		{"1.38.0-beta.0-eks-1", "1.38.0-beta.0"},
		{"v1.38.0-beta.0.12+b2a4f7d", "1.38.0-beta.1"},
		{"v1.38.0-betas", "1.38"},
		{"v1.38.0-beta.x", "1.38"},
		{"v1.38.0-beta.1000", "1.38"},
	};
	static const char *const bad[] = {
		"", "v", "1", "v2.1", "1.", "1.x", "1.035", "1.35x", "1.-3", "1.9999"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		char text[KUBELET_RELEASE_TEXT_MAX];

		kubelet_release_print(release_of(good[i].version), text);
		test_assert_text(good[i].version, text, good[i].want);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct kubelet_release release = {.minor = 7};
		struct err err = {""};

		assert_int_equal(kubelet_release_parse(bad[i], &release, &err), -EINVAL);
		assert_non_null(strstr(err.text, "is not a release of Kubernetes 1"));
		assert_int_equal(release.minor, 7);
	}
}

/* A patch release counts as its minor release. Of a release that was compared before it was released, only the pre-release counts. */
static void a_release_was_compared_or_not(void **state)
{
	static const struct {
		const char *version;
		bool want;
	} cases[] = {{"", true}, {"v1.30.0", true}, {"v1.37.2", true}, {"v1.37.99", true},
		{"v1.37.0-rc.1", true}, {"v1.38.0-alpha.2", true}, {"v1.38.0-beta.0", true},
		{"v1.38.0-beta.0.1+abc", false}, {"v1.38.0-beta.1", false}, {"v1.38.0-rc.0", false},
		{"v1.38.0", false}, {"v1.38.4", false}, {"1.38", false}, {"v1.39.0-alpha.0", false},
		{"v1.40.1", false}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct kubelet_release release = release_of(cases[i].version);
		struct err caution;

		kubelet_release_caution(release, &caution);
		if (kubelet_is_compared(release) != cases[i].want ||
			(caution.text[0] == '\0') != cases[i].want)
			fail_msg("%s: '%s'", cases[i].version, caution.text);
	}
}

static void the_caution_names_both_releases(void **state)
{
	struct err caution;

	(void)state;
	kubelet_release_caution(release_of("v1.38.0-rc.0"), &caution);
	test_assert_text("pre-release", caution.text,
		"kubelet 1.38.0-rc.0 is newer than 1.38.0-beta.0, the newest that nrtd was compared with, and may decide differently");
}

/* ---- the tables of names */

static void gates_are_in_a_release_or_not(void **state)
{
	static const struct {
		const char *gate, *letters; /* 1.30 to 1.38 */
	} cases[] = {{"CPUManager", "LLL------"}, {"MemoryManager", "BBLLLL---"},
		{"SecurityProfileOCI", "--------a"}, {"TopologyManagerPolicyOptions", "BBGGGGLLL"},
		{"DynamicResourceAllocation", "aabbGLLL-"}, {"NodeSwap", "BBBBLLLL-"},
		{"AlibabaPlatform", "---------"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (unsigned k = 0; cases[i].letters[k]; k++)
			if (feature_gate_maturity(cases[i].gate, RELEASE_NAMES_OLDEST + k) !=
				cases[i].letters[k])
				fail_msg("%s in 1.%u: %c", cases[i].gate, RELEASE_NAMES_OLDEST + k,
					feature_gate_maturity(cases[i].gate, RELEASE_NAMES_OLDEST + k));
	assert_int_equal(feature_gate_maturity("CPUManager", 29), 'L');
	assert_int_equal(feature_gate_maturity("SecurityProfileOCI", 39), 'a');
	assert_true(feature_gate_is_known("CPUManager"));
	assert_false(feature_gate_is_known("AlibabaPlatform"));
	assert_true(config_field_exists("topologyManagerPolicy", 30));
	assert_false(config_field_exists("serverCertificateKeyAlgorithm", 37));
	assert_true(config_field_exists("serverCertificateKeyAlgorithm", 38));
	assert_false(config_field_is_known("systemPartition"));
}

static bool gate_is_on(const char *gates, unsigned minor, enum kubelet_gate gate)
{
	CLEANUP(settings_release) struct settings s;

	settings_init(&s);
	s.kubelet_minor = minor;
	s.feature_gates_text = gates ? xstrdup(gates) : NULL;
	return kubelet_gate_on(&s, gate);
}

/* The gates that scoring knows have the maturity that Kubernetes gives them. */
static void gates_that_decide_are_as_in_the_table(void **state)
{
	(void)state;
	for (enum kubelet_gate gate = 0; gate < KUBELET_GATE_COUNT; gate++)
		for (unsigned minor = RELEASE_NAMES_OLDEST; minor <= KUBELET_MINOR_COMPARED; minor++) {
			const char *name = kubelet_gate_names[gate];
			char letter = feature_gate_maturity(name, minor);
			CLEANUP(freep) char *on = xasprintf("A=false,%s=true", name);
			CLEANUP(freep) char *off = xasprintf("AllAlpha=true,AllBeta=true,%s=false", name);

			if (!strchr("-abB", letter))
				fail_msg("%s in 1.%u: '%c' is not handled", name, minor, letter);
			assert_int_equal(gate_is_on(NULL, minor, gate), letter == 'B');
			assert_int_equal(
				gate_is_on("AllAlpha=true", minor, gate), strchr("aB", letter) != NULL);
			assert_int_equal(
				gate_is_on("AllBeta=true", minor, gate), strchr("bB", letter) != NULL);
			assert_false(gate_is_on("AllBeta=false", minor, gate));
			assert_int_equal(gate_is_on(on, minor, gate), letter != RELEASE_NAMES_ABSENT);
			assert_false(gate_is_on(off, minor, gate));
		}
}

static void unknown_releases_have_the_gates_of_all(void **state)
{
	(void)state;
	assert_true(gate_is_on("PodLevelResourceManagers=true", 0, KUBELET_POD_LEVEL_MANAGERS));
	assert_true(gate_is_on("AllAlpha=true", 0, KUBELET_POD_LEVEL_MANAGERS));
	assert_true(gate_is_on("AllBeta=true", 0, KUBELET_POD_LEVEL_MANAGERS));
	assert_false(gate_is_on(NULL, 0, KUBELET_POD_LEVEL_MANAGERS));
	assert_false(gate_is_on("AllBeta=true", 0, KUBELET_RESIZE_CPUS));
}

/* ---- gates and fields of the configuration */

struct configured {
	struct kubelet_config config;
	struct settings s;
	struct notes notes;
};

static void configured_release(struct configured *c)
{
	kubelet_config_release(&c->config);
	settings_release(&c->s);
	notes_release(&c->notes);
}

static void configure(struct configured *c, const char *text, const char *version)
{
	CLEANUP(freep) char *all = xasprintf(HEAD "%s", text);
	struct err err = {""};

	*c = (struct configured){.config = {.unknown_field = NULL}};
	settings_init(&c->s);
	if (kubelet_config_parse(all, strlen(all), false, "f", &c->config, &err) < 0 ||
		settings_convert(&c->config, true, &c->s, &c->notes, &err) < 0)
		fail_msg("%s", err.text);
	settings_apply_release(&c->s, release_of(version), &c->notes);
}

/* OpenShift's kubelet has gates of its own in its configuration, and ignores them. */
static void gates_that_no_release_has_are_one_note(void **state)
{
	CLEANUP(configured_release) struct configured c;

	(void)state;
	configure(&c,
		"featureGates: {AlibabaPlatform: true, OpenShiftPodSecurityAdmission: true, GCPLabelsTags: false}\n",
		"v1.33.5");
	assert_int_equal(c.notes.lines.n_items, 1);
	test_assert_text("note", c.notes.lines.items[0],
		"f: featureGates: no kubelet that nrtd knows has the feature gates 'AlibabaPlatform', 'GCPLabelsTags', 'OpenShiftPodSecurityAdmission'");
	assert_null(kubelet_unknown_name(&c.s));
}

static void a_release_refuses_gates(void **state)
{
	static const struct {
		const char *gates, *version, *want; /* NULL = the kubelet accepts the gates */
	} cases[] = {
		{"{CPUManagerPolicyAlphaOptions: true}", "v1.37.2", NULL},
		{"{CPUManager: true}", "v1.34.1", "unrecognized feature gate: CPUManager"},
		{"{CPUManager: true}", "v1.32.1", NULL},
		{"{CPUManagerPolicyOptions: true}", "v1.37.2", NULL},
		{"{CPUManagerPolicyOptions: false}", "v1.37.2",
			"cannot set feature gate CPUManagerPolicyOptions to false, feature is locked to true"},
		{"{PodLevelResourceManagers: true, PodLevelResources: false}", "v1.36.1",
			"InPlacePodLevelResourcesVerticalScaling is enabled, but depends on features that are disabled: [PodLevelResources]"},
		{"{PodLevelResourceManagers: true}", "v1.36.1", NULL},
		/* Kubelets compare gates with each other from 1.35 on. */
		{"{InPlacePodVerticalScalingExclusiveCPUs: true, InPlacePodVerticalScaling: false}",
			"v1.34.1", NULL},
		/* A kubelet that is newer, or not known; and the kubelet of a distribution, with gates of its own. */
		{"{CPUManager: true}", "v1.39.0", NULL},
		{"{CPUManager: true}", "", NULL},
		{"{CPUManager: true, AlibabaPlatform: true}", "v1.34.1", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(configured_release) struct configured c;
		CLEANUP(freep) char *text = xasprintf("featureGates: %s\n", cases[i].gates);

		configure(&c, text, cases[i].version);
		test_assert_text(text, text_or_empty(c.s.refused[SETTING_FEATURE_GATES]),
			text_or_empty(cases[i].want));
	}
}

static bool is_on_by_default(const void *arg, const char *gate)
{
	return kubelet_gate_on_by_text(NULL, gate, feature_gate_maturity(gate, *(const unsigned *)arg));
}

static void every_release_starts_with_its_default_gates(void **state)
{
	(void)state;
	for (unsigned minor = RELEASE_NAMES_OLDEST; minor <= KUBELET_MINOR_COMPARED; minor++)
		assert_null(feature_gate_unmet(minor, is_on_by_default, &minor));
}

static void names_of_other_releases_are_noted(void **state)
{
	CLEANUP(configured_release) struct configured c;

	(void)state;
	configure(&c,
		"featureGates: {CPUManager: true, SecurityProfileOCI: true}\nserverCertificateKeyAlgorithm: x\n",
		"v1.34.1");
	assert_int_equal(c.notes.lines.n_items, 2);
	test_assert_text("gates", c.notes.lines.items[0],
		"kubelet 1.34 does not have the feature gates 'CPUManager', 'SecurityProfileOCI'");
	test_assert_text("field", c.notes.lines.items[1],
		"kubelet 1.34 does not have the configuration field 'serverCertificateKeyAlgorithm'");
	assert_null(kubelet_unknown_name(&c.s));
}

static void only_gates_about_the_managers_of_newer_kubelets_are_unknown(void **state)
{
	static const struct {
		const char *gates, *version, *want; /* NULL = verdicts are known */
	} cases[] = {
		{"{NUMAAllocationStrategy: true}", "v1.39.0", "NUMAAllocationStrategy"},
		{"{NUMAAllocationStrategy: true}", "v1.38.0", "NUMAAllocationStrategy"},
		{"{NUMAAllocationStrategy: true}", "v1.38.0-beta.0", NULL},
		{"{NUMAAllocationStrategy: true}", "", NULL}, /* as 1.37 */
		{"{NUMAAllocationStrategy: false}", "v1.39.0", NULL},
		{"{CertificateColours: true}", "v1.39.0", NULL},
		{"{CertificateColours: true, MixedCPUs: true, DRAMore: true}", "v1.39.0", "MixedCPUs"},
		{"{DRAMore: true}", "v1.39.0-alpha.1", "DRAMore"},
		{"{PodResourcesLater: true}", "v1.39.0", "PodResourcesLater"},
		{"{SecurityProfileOCI: true}", "v1.39.0", NULL},
		{"{AllAlpha: true}", "v1.38.0-beta.0", NULL},
		{"{AllAlpha: true}", "v1.39.0", "AllAlpha"},
		{"{AllAlpha: false}", "v1.39.0", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(configured_release) struct configured c;
		CLEANUP(freep) char *text = xasprintf("featureGates: %s\n", cases[i].gates);
		const char *name;

		configure(&c, text, cases[i].version);
		name = kubelet_unknown_name(&c.s);
		test_assert_text(text, text_or_empty(name), text_or_empty(cases[i].want));
	}
}

static void the_memory_manager_can_be_off_until_1_31(void **state)
{
	static const struct {
		const char *gates, *version;
		enum memory_manager_policy want;
	} cases[] = {
		{"{MemoryManager: false}", "v1.31.4", MEMORY_MANAGER_NONE},
		{"{MemoryManager: false}", "", MEMORY_MANAGER_NONE},
		{"{AllBeta: false}", "v1.30.1", MEMORY_MANAGER_NONE},
		{"{AllBeta: false, MemoryManager: true}", "v1.30.1", MEMORY_MANAGER_STATIC},
		{"{AllBeta: false}", "v1.32.1", MEMORY_MANAGER_STATIC},
		{"{MemoryManager: true}", "v1.31.4", MEMORY_MANAGER_STATIC},
		{"{KubeletMemoryManager: false}", "v1.31.4", MEMORY_MANAGER_STATIC},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(configured_release) struct configured c;
		CLEANUP(freep)
		char *text = xasprintf("memoryManagerPolicy: Static\nfeatureGates: %s\n", cases[i].gates);

		configure(&c, text, cases[i].version);
		if (c.s.memory_manager != cases[i].want)
			fail_msg("%s, %s: %d", cases[i].gates, cases[i].version, (int)c.s.memory_manager);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_are_parsed_and_printed),
		cmocka_unit_test(a_release_was_compared_or_not),
		cmocka_unit_test(the_caution_names_both_releases),
		cmocka_unit_test(gates_are_in_a_release_or_not),
		cmocka_unit_test(gates_that_decide_are_as_in_the_table),
		cmocka_unit_test(unknown_releases_have_the_gates_of_all),
		cmocka_unit_test(gates_that_no_release_has_are_one_note),
		cmocka_unit_test(names_of_other_releases_are_noted),
		cmocka_unit_test(a_release_refuses_gates),
		cmocka_unit_test(every_release_starts_with_its_default_gates),
		cmocka_unit_test(only_gates_about_the_managers_of_newer_kubelets_are_unknown),
		cmocka_unit_test(the_memory_manager_can_be_off_until_1_31),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>

#include "agent/node/observe/settings_args.h"
#include "common/cleanup.h"

enum file_kind { KIND_ENV, KIND_ARGS, KIND_K3S };

static int add_text(enum file_kind kind, struct kubelet_args *args, const char *text, struct err *err)
{
	static const char *const variables[] = {"SNAP_DATA", "/d", "SNAP", "/s", NULL};
	size_t len = strlen(text);

	switch (kind) {
	case KIND_ENV:
		return kubelet_args_add_env(args, text, len, "F", err);
	case KIND_ARGS:
		return kubelet_args_add_file(args, text, len, variables, "F", err);
	case KIND_K3S:
	default:
		return kubelet_args_add_k3s(args, text, len, "F", err);
	}
}

/* "policy=... config=... config-dir=... root-dir=...": what is there of it. */
static void describe_args(const struct kubelet_args *args, struct strbuf *out)
{
	const struct doc *policy = &args->flags.values[SETTING_CPU_MANAGER_POLICY];

	if (doc_string(policy))
		strbuf_addf(out, "policy=%s ", policy->text);
	if (args->config)
		strbuf_addf(out, "config=%s ", args->config);
	if (args->config_dir)
		strbuf_addf(out, "config-dir=%s ", args->config_dir);
	if (args->root_dir)
		strbuf_addf(out, "root-dir=%s ", args->root_dir);
}

static void files_of_flags_are_read(void **state)
{
	static const struct {
		enum file_kind kind;
		const char *text, *want;
	} cases[] = {
		{KIND_ENV, "", ""},
		{KIND_ENV, "KUBELET_EXTRA_ARGS=", ""},
		{KIND_ENV, "PATH=--config=/x", ""},
		{KIND_ENV, "KUBELET_EXTRA_ARGS=--cpu-manager-policy=static\n", "policy=static "},
		{KIND_ENV, "KUBELET_KUBEADM_ARGS=\"--x=y --cpu-manager-policy static --config '/a b'\"\n",
			"policy=static config=/a b "},
		{KIND_ENV,
			"# --cpu-manager-policy=none\n; KUBELET_A=--config=/x\n\n  KUBELET_B=--root-dir=/r # "
			"c\n",
			"root-dir=/r "},
		{KIND_ENV,
			"PATH=--config=/x\nexport KUBELET_A=--config=/x\nnonsense\nKUBELET_C=--config=/y\n",
			"config=/y "},
		{KIND_ENV, "KUBELET_A=--config=/x \\\n --root-dir=/r\nKUBELET_B=--config=/y",
			"config=/y root-dir=/r "},
		{KIND_ENV, "KUBELET_A=\"--config=/x\\\"q\\\"\"", "config=/xq "},
		{KIND_ENV, "KUBELET_A='--config=\"/x y\" --config-dir=/d'", "config=/x y config-dir=/d "},
		{KIND_ENV, "KUBELET_A=-- --config=/x", ""},
		{KIND_ENV, "KUBELET_A=- x '' --config=/x", "config=/x "},
		{KIND_ENV, "KUBELET_A=-config=/x config --v=2 --confi=/y --configs=/z", ""},
		{KIND_ARGS,
			"--config=${SNAP_DATA}/c\n#--root-dir=/x\n--root-dir \"$SNAP/r\"\n--x=${OTHER}$\n",
			"config=/d/c root-dir=/s/r "},
		{KIND_ARGS, "--config=$SNAP_DATAX/c --config-dir=${SNAP",
			"config=$SNAP_DATAX/c config-dir=${SNAP "},
		{KIND_K3S, "", ""},
		{KIND_K3S, "# nothing\n", ""},
		{KIND_K3S, "write-kubeconfig-mode: 644\n", ""},
		{KIND_K3S, "kubelet-arg: cpu-manager-policy=static\n", "policy=static "},
		{KIND_K3S, "kubelet-arg:\n- v=2\n- --cpu-manager-policy=static\n- root-dir=/r\n",
			"policy=static root-dir=/r "},
		{KIND_K3S, "kubelet-arg:\n- config=/a\nkubelet-arg+:\n- config-dir=/b\n",
			"config=/a config-dir=/b "},
		{KIND_K3S, "kubelet-arg: null\n", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(kubelet_args_release) struct kubelet_args args = {0};
		CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(4096);
		struct err err = {""};

		if (add_text(cases[i].kind, &args, cases[i].text, &err) < 0)
			fail_msg("%s: %s", cases[i].text, err.text);
		describe_args(&args, &got);
		test_assert_text(cases[i].text, got.text, cases[i].want);
	}
}

static void later_k3s_files_replace_or_add(void **state)
{
	CLEANUP(kubelet_args_release) struct kubelet_args args = {0};
	CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(4096);

	(void)state;
	assert_int_equal(add_text(KIND_K3S, &args, "kubelet-arg: [config=/a, root-dir=/r]\n", NULL), 0);
	assert_int_equal(add_text(KIND_K3S, &args, "token: x\n", NULL), 0);
	assert_int_equal(add_text(KIND_K3S, &args, "kubelet-arg+: [config-dir=/d]\n", NULL), 0);
	describe_args(&args, &got);
	test_assert_text("added", got.text, "config=/a config-dir=/d root-dir=/r ");
	strbuf_reset(&got);
	assert_int_equal(add_text(KIND_K3S, &args, "kubelet-arg: [config=/b]\n", NULL), 0);
	describe_args(&args, &got);
	test_assert_text("replaced", got.text, "config=/b ");
}

static void bad_flag_files_are_one_clear_line(void **state)
{
	static const struct {
		enum file_kind kind;
		const char *text, *want;
	} cases[] = {
		{KIND_ENV, "KUBELET_A=--config", "F: --config has no value"},
		{KIND_ENV, "KUBELET_A=--kube-reserved=cpu",
			"--kube-reserved of F: 'cpu' is not of the form key=value"},
		{KIND_ARGS, "--feature-gates=A=x", "--feature-gates of F: A: 'x' is not a boolean"},
		{KIND_K3S, "kubelet-arg: {a: b}", "F: kubelet-arg: a string expected, not a map"},
		{KIND_K3S, "kubelet-arg: [1]", "F: kubelet-arg: a string expected, not a number"},
		{KIND_K3S, "kubelet-arg: [config]", "F: --config has no value"},
		{KIND_K3S, "kubelet-arg: [",
			"F: not valid YAML at line 2, column 1: did not find expected node "
			"content"},
	};
	static const char nul[] = "KUBELET_A=\0--config=/x";
	CLEANUP(kubelet_args_release) struct kubelet_args args = {0};
	struct err err = {""};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(add_text(cases[i].kind, &args, cases[i].text, &err), -EINVAL);
		test_assert_text(cases[i].text, err.text, cases[i].want);
	}
	assert_int_equal(kubelet_args_add_env(&args, nul, sizeof(nul) - 1, "F", &err), -EINVAL);
	test_assert_text("NUL", err.text, "F: has a NUL byte");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_flags_are_read),
		cmocka_unit_test(later_k3s_files_replace_or_add),
		cmocka_unit_test(bad_flag_files_are_one_clear_line),
	};

	return cmocka_run_group_tests_name("settings_args", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Every row of the table of settings is in everything that reads the table, and in the documentation. */
#include "common/settings_table.h"

#include <errno.h>

#include "agent/observe/kubelet_config.h"
#include "agent/render/render.h"
#include "cli/opts.h"
#include "cli/report/node_comparison.h"
#include "cluster/objects/cluster_node.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "scoring/node/node_state_codec.h"
#include "scoring/node/settings_change.h"
#include "tests/lib/node_states.h"
#include "tests/lib/observations.h"
#include "tests/lib/test.h"

#define HEAD "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
/* With which the policies have options. */
#define POLICIES \
	"cpuManagerPolicy: static\nmemoryManagerPolicy: Static\ntopologyManagerPolicy: restricted\nreservedSystemCPUs: \"0\"\n"

#define ROW_MAX 1024

/* ---- steps that a setting takes */

static void convert(const struct kubelet_config *config, struct settings *ret)
{
	CLEANUP(notes_release) struct notes notes = {0};
	struct err err = {""};

	settings_init(ret);
	if (settings_convert(config, true, ret, &notes, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(notes.lines.n_items, 0);
}

/* POLICIES, and "setting: value" in YAML; later lines replace earlier ones. */
static void from_file(const char *setting, const char *value, struct settings *ret)
{
	CLEANUP(kubelet_config_release) struct kubelet_config config = {.unknown_field = NULL};
	CLEANUP(freep) char *line = xasprintf(HEAD "%s: %s\n", setting, value);
	struct err err = {""};

	if (kubelet_config_parse(HEAD POLICIES, strlen(HEAD POLICIES), false, "file", &config, &err) < 0 ||
		kubelet_config_parse(line, strlen(line), true, "drop-in", &config, &err) < 0)
		fail_msg("%s", err.text);
	convert(&config, ret);
}

static void from_flag(enum setting what, const char *value, struct settings *ret)
{
	CLEANUP(kubelet_config_release) struct kubelet_config config = {.unknown_field = NULL};
	CLEANUP(kubelet_config_release) struct kubelet_config flags = {.unknown_field = NULL};
	const char *flag = settings_table[what].flag;
	struct err err = {""};

	assert_int_equal(kubelet_config_find_flag(flag, strlen(flag)), what);
	if (kubelet_config_parse(HEAD POLICIES, strlen(HEAD POLICIES), false, "file", &config, &err) < 0 ||
		kubelet_config_set_flag(&flags, what, value, "flag", &err) < 0 ||
		kubelet_config_overlay(&config, &flags, &err) < 0)
		fail_msg("%s", err.text);
	convert(&config, ret);
}

/* The object of a node with these settings, which move into the node. */
static void publish(struct settings *settings, bool node_state, struct observation *o, struct doc *ret)
{
	const struct nrt_config config = {.node_state = node_state};

	observation_init(o);
	observation_of_kubelet("2s-smt2-split", "0", NULL, 0, o);
	settings_release(&o->node.settings);
	o->node.settings = *settings;
	settings_init(settings);
	text_set(&o->node.node_name, "n1");
	node_state_complete(&o->node);
	nrt_render(&o->node, &config, ret, NULL);
}

static void read_object(const struct doc *object, struct cluster_node *ret)
{
	struct err err = {""};

	if (cluster_node_read(object, ret, &err) < 0)
		fail_msg("%s", err.text);
	ret->object = object;
}

/* The fact of the setting on the node itself, and of its object. */
static void check_facts(const struct observation *o, const struct cluster_node *read, enum setting what,
	const char *want, const char *want_published)
{
	CLEANUP(node_facts_release) struct node_facts on_node = {0};
	CLEANUP(node_facts_release) struct node_facts published = {0};
	const char *name = settings_table[what].fact;

	node_facts_add_settings(&on_node, &o->node);
	node_comparison_add_settings(&published, read);
	assert_int_equal(on_node.n_items, published.n_items);
	for (size_t i = 0; i < on_node.n_items; i++)
		assert_string_equal(on_node.items[i].name, published.items[i].name);
	test_assert_text(name, fact_text(node_facts_find(&on_node, FACT_SETTING, name)), want);
	test_assert_text(name, fact_text(node_facts_find(&published, FACT_SETTING, name)), want_published);
}

/* ---- options */

/* The text of a value that is not the default. */
static const char *other_value(const struct policy_option *o)
{
	return o->kind == OPTION_IS_BOOL ? "true" : o->kind == OPTION_IS_NUMBER ? "12" : o->names[1];
}

/* Only this option has another value than its default. */
static void check_option(const struct policy_option *o, const struct settings *s)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(ROW_MAX);
	CLEANUP(strbuf_release) struct strbuf all = STRBUF_INIT(ROW_MAX);
	CLEANUP(freep) char *want = xasprintf("%s=%s", o->name, other_value(o));

	for (size_t i = 0; i < POLICY_OPTION_COUNT; i++)
		if (&policy_options[i] != o)
			assert_int_equal(
				policy_option_value(&policy_options[i], s), policy_options[i].fallback);
	policy_options_print(SETTING_CPU_MANAGER_POLICY_OPTIONS, s, &all);
	policy_options_print(SETTING_TOPOLOGY_MANAGER_POLICY_OPTIONS, s, &all);
	test_assert_text("all options", all.text, want);
	policy_options_print(o->setting, s, &text);
	test_assert_text("the option", text.text, want);
}

/* From a file to the object, to whoever reads the object, and to comparisons. */
static void publish_option(
	const struct policy_option *o, const char *pair, struct settings *s, bool node_state)
{
	CLEANUP(observation_release) struct observation node;
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	CLEANUP(cluster_node_release) struct cluster_node read = {.basis = CLUSTER_UNKNOWN};

	publish(s, node_state, &node, &object);
	read_object(&object, &read);
	if (node_state) {
		assert_int_equal(read.basis, CLUSTER_EXACT);
		check_option(o, &read.state.settings);
	}
	check_facts(&node, &read, o->setting, pair, pair);
}

static void an_option_is_everywhere(const struct policy_option *o)
{
	CLEANUP(freep) char *pair = xasprintf("%s=%s", o->name, other_value(o));
	CLEANUP(freep) char *map = xasprintf("{%s: \"%s\"}", o->name, other_value(o));
	CLEANUP(settings_release) struct settings file, flag, set, option, attribute, copy;
	struct settings_changes changes = {0};
	struct err err = {""};

	from_file(settings_table[o->setting].name, map, &file);
	check_option(o, &file);
	assert_string_equal(setting_options_text(&file, o->setting), pair);
	from_flag(o->setting, pair, &flag);
	check_option(o, &flag);
	settings_copy(&file, &copy);
	check_option(o, &copy);
	settings_init(&set);
	if (settings_change(&set, pair, &changes, &err) < 0)
		fail_msg("--set: %s", err.text);
	check_option(o, &set);
	assert_false(settings_change_is_proposed(pair));
	settings_init(&option);
	if (settings_change_option(&option, o->name, other_value(o), &err) < 0)
		fail_msg("--option: %s", err.text);
	check_option(o, &option);
	settings_init(&attribute);
	policy_options_parse(o->setting, pair, &attribute);
	check_option(o, &attribute);
	publish_option(o, pair, &file, true);
	publish_option(o, pair, &flag, false);
}

static void a_proposed_option_is_in_simulations_only(const struct policy_option *o)
{
	CLEANUP(freep) char *pair = xasprintf("%s=%s", o->name, other_value(o));
	CLEANUP(settings_release) struct settings set;
	struct settings_changes changes = {0};

	settings_init(&set);
	assert_int_equal(settings_change_option(&set, o->name, other_value(o), NULL), -EINVAL);
	assert_int_equal(settings_change(&set, pair, &changes, NULL), 0);
	assert_int_not_equal(policy_option_value(o, &set), o->fallback);
	assert_true(settings_change_is_proposed(pair));
	assert_null(policy_option_of(o->setting, o->name));
}

static void each_option_is_everywhere(void **state)
{
	size_t n_cpu = 0;

	(void)state;
	for (size_t i = 0; i < POLICY_OPTION_COUNT; i++) {
		const struct policy_option *o = &policy_options[i];

		assert_ptr_equal(policy_option_find(o->name), o);
		assert_true(*o->decides);
		assert_true(o->kind != OPTION_IS_CHOICE || o->n_names > 1);
		n_cpu += o->setting == SETTING_CPU_MANAGER_POLICY_OPTIONS;
		if (policy_option_is_released(o))
			an_option_is_everywhere(o);
		else
			a_proposed_option_is_in_simulations_only(o);
	}
	/* No member without a row. */
	assert_int_equal(n_cpu * sizeof(bool), sizeof(struct cpu_manager_options));
}

/* Readers of older versions know the order. */
static void the_node_state_has_the_options_in_order(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(NODE_STATE_TEXT_MAX);
	CLEANUP(settings_release) struct settings s;
	CLEANUP(doc_release) struct doc object = DOC_INIT;

	(void)state;
	from_file("topologyManagerScope", "pod", &s);
	for (size_t i = 0; i < POLICY_OPTION_COUNT; i++)
		if (policy_options[i].kind == OPTION_IS_BOOL)
			policy_option_set(&policy_options[i], true, &s);
	text_set(&s.unknown_cpu_option, "later");
	text_set(&s.unknown_topology_option, "later,too");
	publish(&s, false, &o, &object);
	assert_int_equal(node_state_print(&o.node, &text), 0);
	/* Newer options may be before the unknown one. */
	assert_non_null(strstr(text.text,
		";cpu=static,full-pcpus-only,distribute-cpus-across-numa,align-by-socket,"
		"distribute-cpus-across-cores,strict-cpu-reservation,prefer-align-cpus-by-uncorecache,"));
	assert_non_null(strstr(text.text, ",later;memory=Static;"));
	assert_non_null(strstr(text.text, ";topology=restricted,pod,8,prefer-closest-numa-nodes,"));
	assert_non_null(strstr(text.text, ",later%2Ctoo;"));
}

/* ---- settings */

/* Each value of a choice. */
static void a_choice_is_everywhere(enum setting what)
{
	const struct setting_row *row = &settings_table[what];

	for (unsigned i = 1; i < row->n_names; i++) {
		CLEANUP(freep) char *pair = xasprintf("%s=%s", row->name, row->names[i]);
		CLEANUP(settings_release) struct settings file, flag, set;
		CLEANUP(observation_release) struct observation node;
		CLEANUP(observation_release) struct observation estimated;
		CLEANUP(doc_release) struct doc object = DOC_INIT;
		CLEANUP(doc_release) struct doc zones = DOC_INIT;
		CLEANUP(cluster_node_release) struct cluster_node exact = {.basis = CLUSTER_UNKNOWN};
		CLEANUP(cluster_node_release) struct cluster_node estimate = {.basis = CLUSTER_UNKNOWN};
		struct settings_changes changes = {0};
		struct err err = {""};

		from_file(row->name, row->names[i], &file);
		assert_int_equal(setting_choice(&file, what), i);
		from_flag(what, row->names[i], &flag);
		assert_int_equal(setting_choice(&flag, what), i);
		settings_init(&set);
		if (settings_change(&set, pair, &changes, &err) < 0)
			fail_msg("--set: %s", err.text);
		assert_int_equal(setting_choice(&set, what), i);
		publish(&file, true, &node, &object);
		read_object(&object, &exact);
		assert_int_equal(setting_choice(&exact.state.settings, what), i);
		check_facts(&node, &exact, what, row->names[i], row->names[i]);
		publish(&flag, false, &estimated, &zones);
		read_object(&zones, &estimate);
		check_facts(&estimated, &estimate, what, row->names[i], row->names[i]);
	}
}

/* The default is that of an empty configuration. */
static void check_default(enum setting what)
{
	CLEANUP(kubelet_config_release) struct kubelet_config none = {.unknown_field = NULL};
	CLEANUP(settings_release) struct settings s;

	convert(&none, &s);
	assert_int_equal(setting_choice(&s, what), settings_table[what].fallback);
	assert_string_equal(s.from[what], SETTINGS_KUBELET_DEFAULT);
}

static void each_choice_is_everywhere(void **state)
{
	(void)state;
	for (enum setting what = 0; what < SETTING_COUNT; what++) {
		if (settings_table[what].kind != SETTING_IS_CHOICE)
			continue;
		a_choice_is_everywhere(what);
		check_default(what);
	}
}

static void check_flag_values(const struct option_def *def, const struct setting_row *row)
{
	CLEANUP(strbuf_release) struct strbuf want = STRBUF_INIT(ROW_MAX);

	for (unsigned i = 1; i < row->n_names; i++)
		strbuf_addf(&want, "%s%s", i > 1 ? "|" : "", row->names[i]);
	test_assert_text(def->flag, def->values, want.text);
}

/* Flags of nrtd that have the name of a flag of the kubelet. */
static void flags_accept_the_values_of_the_kubelet(void **state)
{
	const struct command_def *every = NULL;
	size_t n = 0;

	(void)state;
	FOREACH_OPTION (def, &program_nrtd, every) {
		int what = kubelet_config_find_flag(def->flag + 2, strlen(def->flag + 2));

		if (what < 0 || settings_table[what].kind != SETTING_IS_CHOICE)
			continue;
		check_flag_values(def, &settings_table[what]);
		n++;
	}
	assert_int_equal(n, 4);
}

/* A value of each kind that is not a choice: for a flag, in YAML, and as settings_text() has it. */
static const struct {
	const char *flag, *yaml, *text;
} values[SETTING_KIND_COUNT] = {
	[SETTING_IS_OPTIONS] = {"later=1", "{later: \"1\"}", "later=1"},
	[SETTING_IS_CPUS] = {"0-1", "0-1", "0-1"},
	[SETTING_IS_AMOUNTS] = {"memory=1Gi,cpu=1500m", "{cpu: 1500m, memory: 1Gi}", "cpu=1500m,memory=1Gi"},
	[SETTING_IS_THRESHOLDS] = {"memory.available<7%", "{memory.available: 7%}", "memory.available=7%"},
	[SETTING_IS_RESERVATIONS] = {"0:memory=1Gi;1:memory=2Gi",
		"[{numaNode: 1, limits: {memory: 2Gi}}, {numaNode: 0, limits: {memory: 1Gi}}]",
		"0:memory=1Gi;1:memory=2Gi"},
	[SETTING_IS_GATES] = {"NodeSwap=true", "{NodeSwap: true}", "NodeSwap=true"},
};

static void convert_with_notes(enum setting what, const char *yaml, struct settings *ret)
{
	CLEANUP(kubelet_config_release) struct kubelet_config config = {.unknown_field = NULL};
	CLEANUP(freep) char *text = NULL;
	struct err err = {""};

	settings_init(ret);
	if (yaml)
		text = xasprintf(HEAD "%s: %s\n", settings_table[what].name, yaml);
	if ((yaml ? kubelet_config_parse(text, strlen(text), false, "file", &config, &err)
		  : kubelet_config_set_flag(
			    &config, what, values[settings_table[what].kind].flag, "flag", &err)) < 0 ||
		settings_convert(&config, false, ret, NULL, &err) < 0)
		fail_msg("%s", err.text);
}

static void check_text(enum setting what)
{
	const struct setting_row *row = &settings_table[what];
	CLEANUP(settings_release) struct settings file, flag, copy;
	CLEANUP(freep) char *file_text = NULL, *flag_text = NULL, *copy_text = NULL;

	convert_with_notes(what, values[row->kind].yaml, &file);
	convert_with_notes(what, NULL, &flag);
	settings_copy(&file, &copy);
	file_text = settings_text(&file, what);
	flag_text = settings_text(&flag, what);
	copy_text = settings_text(&copy, what);
	test_assert_text(row->name, file_text, values[row->kind].text);
	test_assert_text(row->name, flag_text, values[row->kind].text);
	test_assert_text(row->name, copy_text, values[row->kind].text);
}

static void each_setting_has_a_text(void **state)
{
	(void)state;
	for (enum setting what = 0; what < SETTING_COUNT; what++) {
		const struct setting_row *row = &settings_table[what];

		assert_int_equal(setting_find(row->name), what);
		assert_true(*row->flag && *row->decides);
		if (row->kind != SETTING_IS_CHOICE)
			check_text(what);
	}
}

/* ---- documents */

static void check_row(const char *page, const char *file, const char *row)
{
	if (!strstr(page, row))
		fail_msg("%s lacks the row '%s'", file, row);
}

static void add_part(struct strbuf *out, const char *maturity, unsigned minor)
{
	if (minor > 0)
		strbuf_addf(out, "%s%s from 1.%u", out->len > 0 ? ", " : "", maturity, minor);
}

static void the_documentation_has_each_option(void **state)
{
	CLEANUP(freep) char *page = test_read_file(test_fixture("../../doc/kubelets.md"), NULL);
	CLEANUP(freep) char *fit = test_read_file(test_fixture("../../man/nrtd-fit.1"), NULL);
	CLEANUP(freep)
	char *simulate = test_read_file(test_fixture("../../man/kubectl-numa-simulate.1"), NULL);

	(void)state;
	for (size_t i = 0; i < POLICY_OPTION_COUNT; i++) {
		const struct policy_option *o = &policy_options[i];
		CLEANUP(strbuf_release) struct strbuf releases = STRBUF_INIT(ROW_MAX);
		CLEANUP(freep) char *row = NULL;

		add_part(&releases, "alpha", o->alpha);
		add_part(&releases, "beta", o->beta);
		add_part(&releases, "GA", o->stable);
		row = xasprintf("| %s | %s | %s | %s |", o->name, settings_table[o->setting].name,
			releases.len > 0 ? releases.text : "proposed", o->decides);
		check_row(page, "doc/kubelets.md", row);
		check_row(simulate, "kubectl-numa-simulate.1", o->name);
		if (policy_option_is_released(o))
			check_row(fit, "nrtd-fit.1", o->name);
	}
}

/* The tests that cannot read the table, and draw an option only if they name it. */
static void the_tests_draw_each_option(void **state)
{
	static const struct {
		const char *path;
		bool draws_topology;
	} lists[] = {
		{"../upstream/internal/kubelet/case.go", false},
		{"../upstream/internal/vectors/cpus.go", false},
		{"../upstream/cmd/start/draw.go", true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		CLEANUP(freep) char *text = test_read_file(test_fixture(lists[i].path), NULL);

		for (size_t k = 0; k < POLICY_OPTION_COUNT; k++) {
			const struct policy_option *o = &policy_options[k];
			CLEANUP(freep) char *quoted = xasprintf("\"%s\"", o->name);

			if (policy_option_is_released(o) &&
				(lists[i].draws_topology || o->setting == SETTING_CPU_MANAGER_POLICY_OPTIONS))
				check_row(text, lists[i].path, quoted);
		}
	}
}

static void the_documentation_has_each_setting(void **state)
{
	static const char *const evidence[] = {
		"cpu_manager_state", "memory_manager_state", "the pod-resources API"};
	CLEANUP(freep) char *page = test_read_file(test_fixture("../../doc/kubelets.md"), NULL);

	(void)state;
	for (enum setting what = 0; what < SETTING_COUNT; what++) {
		const struct setting_row *row = &settings_table[what];
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(ROW_MAX);
		const char *comma = "";

		strbuf_addf(&text, "| %s | --%s |", row->name, row->flag);
		if (row->kind == SETTING_IS_CHOICE)
			strbuf_addf(&text, " %s", row->names[row->fallback]);
		if (row->kind == SETTING_IS_THRESHOLDS)
			strbuf_addstr(&text, " memory.available: " EVICTION_HARD_DEFAULT);
		strbuf_addstr(&text, " |");
		for (size_t i = 0; i < ARRAY_SIZE(evidence); i++)
			if (row->evidence & 1u << i) {
				strbuf_addf(&text, "%s %s", comma, evidence[i]);
				comma = ",";
			}
		strbuf_addf(&text, " | %s |", row->decides);
		check_row(page, "doc/kubelets.md", text.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_option_is_everywhere),
		cmocka_unit_test(the_node_state_has_the_options_in_order),
		cmocka_unit_test(each_choice_is_everywhere),
		cmocka_unit_test(flags_accept_the_values_of_the_kubelet),
		cmocka_unit_test(each_setting_has_a_text),
		cmocka_unit_test(the_documentation_has_each_option),
		cmocka_unit_test(the_tests_draw_each_option),
		cmocka_unit_test(the_documentation_has_each_setting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

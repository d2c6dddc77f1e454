/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl numa simulate: what other kubelet settings, lost nodes or new machines would mean for the pods. */
#include "cli/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/numa/object_word.h"
#include "cli/numa/read_cluster.h"
#include "cli/numa/source.h"
#include "cli/numa/stored_pod.h"
#include "cli/pod_input.h"
#include "cli/progress.h"
#include "cli/report/simulated_report.h"
#include "cli/report/terminal.h"
#include "common/cleanup.h"
#include "common/io/fs.h"
#include "common/log.h"
#include "scoring/node/machine_spec.h"

#define OUTPUT_MAX ((size_t)1 << 30)

struct simulating {
	const struct options *options;
	struct source *source;
	struct pod_templates templates;
	struct stored_pod stored;
	struct simulated_cluster cluster;
	struct simulate_options changes;
	const char *settings[OPTIONS_MAX_REPEATED], *without[OPTIONS_MAX_REPEATED];
	struct simulated_addition additions[OPTIONS_MAX_REPEATED];
	struct simulation simulation;
};

static void simulating_release(struct simulating *s)
{
	for (size_t i = 0; i < s->changes.n_additions; i++)
		node_state_release(&s->additions[i].hardware);
	source_close(s->source);
	stored_pod_release(&s->stored);
	pod_templates_release(&s->templates);
	simulation_release(&s->simulation);
	simulated_cluster_release(&s->cluster);
}

static int read_shape(struct simulating *s, struct err *err)
{
	const struct pod_template *picked;

	if (!pod_input_given(s->options))
		return 0;
	if (pod_input_read(s->options, &s->templates, err) < 0 ||
		pod_input_pick(s->options, &s->templates, &picked, err) < 0)
		return -EINVAL;
	s->changes.shape = picked;
	return 0;
}

/* ---- machines that do not exist yet */

static int read_hardware(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	struct node_state *ret = data;
	struct cluster_node node;
	int r;

	(void)kind;
	if (ret->machine.n_nodes > 0)
		return err_set(err, -EINVAL, "more than one NodeResourceTopology object");
	r = cluster_node_read(object, &node, err);
	if (r < 0)
		return r;
	if (node.basis == CLUSTER_EXACT) {
		node_state_release(ret);
		*ret = node.state;
		node_state_init(&node.state);
	} else
		r = err_set(err, -EINVAL, "the object has no node state: write the object with nrtd dump");
	cluster_node_release(&node);
	return r;
}

/* Reads a value of --add, "8:2x4x16,512Gi". */
static int read_addition(struct simulating *s, const char *value, struct err *err)
{
	struct simulated_addition *a = &s->additions[s->changes.n_additions];
	char *end;
	unsigned long n = strtoul(value, &end, 10);
	/* strtoul() also accepts spaces and signs. */
	bool counted = end != value && *end == ':' && *value >= '0' && *value <= '9';
	const char *machine = counted ? end + 1 : value;

	node_state_init(&a->hardware);
	s->changes.n_additions++;
	a->n = counted ? n : 1;
	if (a->n == 0 || a->n > SIMULATED_ADDITIONS_MAX)
		return err_set(err, -EINVAL, "the number of machines is from 1 to %u, not %.*s",
			SIMULATED_ADDITIONS_MAX, (int)(end - value), value);
	if (access(machine, F_OK) == 0)
		return object_input_read(
			machine, 1u << OBJECT_NRT | OBJECT_SKIP_OTHERS, read_hardware, &a->hardware, err);
	return machine_spec_parse(machine, &a->hardware, err);
}

static int read_additions(struct simulating *s, struct err *err)
{
	const char *value;
	size_t pos = 0, n = 0;
	int r = 0;

	while (r == 0 && (value = options_next(s->options, OPT_ADD, &pos))) {
		r = read_addition(s, value, err);
		if (r < 0)
			return err_wrap(err, r, "%s", s->options->origin[OPT_ADD]);
		n += s->additions[s->changes.n_additions - 1].n;
	}
	s->changes.additions = s->additions;
	value = s->options->value[OPT_LIKE];
	s->changes.like = value ? object_word_node(value) : NULL;
	if (r == 0 && n > SIMULATED_ADDITIONS_MAX)
		return err_set(err, -EINVAL, "--add: more than %u machines", SIMULATED_ADDITIONS_MAX);
	if (r == 0 && n > 0 && option_set(s->options, OPT_RESTART))
		return err_set(err, -EINVAL, "--restart is for nodes that exist, not for --add");
	if (r == 0 && n == 0 && s->changes.like)
		return err_set(err, -EINVAL, "--like is for the machines of --add");
	return r;
}

/* ---- flags */

static int read_simulate_flags(struct simulating *s, struct err *err)
{
	const char *value;
	size_t pos = 0;
	int r = read_additions(s, err);

	if (r < 0)
		return -EINVAL; /* wrong usage, also if a file of --add cannot be read */
	s->changes.n_settings = options_all(s->options, OPT_SET, s->settings);
	while ((value = options_next(s->options, OPT_WITHOUT_NODE, &pos)))
		s->without[s->changes.n_without++] = object_word_node(value);
	s->changes.settings = s->settings;
	s->changes.without = s->without;
	s->changes.restart = option_set(s->options, OPT_RESTART);
	if (s->changes.n_settings == 0 && s->changes.n_without == 0 && s->changes.n_additions == 0 &&
		!s->changes.restart && !option_set(s->options, OPT_WITHOUT_EACH))
		return err_set(err, -EINVAL,
			"nothing to simulate: use --set KEY=VALUE, --restart, --without-node NAME, --without-each or --add SPEC");
	return options_stdin_once(s->options, err);
}

/* Without its Pod object nothing is known of a pod but what it holds. */
static void warn_of_missing_pods(struct simulating *s)
{
	size_t n = simulated_set_aside_without_pods(&s->cluster);

	if (n > 0) {
		log_warning(
			"no Pods are given, although the object%s of %zu node%s report%s pods: these nodes are left alone",
			n == 1 ? "" : "s", n, n == 1 ? "" : "s", n == 1 ? "s" : "");
		return;
	}
	/* Without --restart a node with other settings is drained, and only pods with a Pod object come back. */
	if (s->changes.n_settings > 0 && !s->changes.restart && s->changes.n_additions == 0)
		n = simulated_count_unlisted(&s->cluster);
	if (n > 0)
		log_warning(
			"the object%s of %zu node%s report%s pods that are not among the Pods: these pods are simulated as ended",
			n == 1 ? "" : "s", n, n == 1 ? "" : "s", n == 1 ? "s" : "");
}

/* All flags first: a wrong flag is an error before any request is sent. */
static int read_changes(struct simulating *s, struct err *err)
{
	int r = read_simulate_flags(s, err);

	if (r == 0)
		r = read_shape(s, err);
	if (r == 0)
		r = source_open(s->options, s->options->n_words, &s->source, err);
	if (r == 0 && s->changes.shape)
		r = stored_pod_find(s->options, s->source, &s->changes.shape, &s->stored, err);
	if (r < 0)
		return r;
	s->changes.namespace = source_namespace(s->source);
	return 0;
}

static int run_simulation(struct simulating *s, struct err *err)
{
	int r = read_changes(s, err);

	if (r == 0)
		r = read_cluster(s->source, &s->cluster, err);
	if (r < 0)
		return r;
	warn_of_missing_pods(s);
	r = simulate(&s->cluster, &s->changes, &s->simulation, err);
	if (r == 0 && option_set(s->options, OPT_WITHOUT_EACH))
		simulate_losses(&s->cluster, &s->simulation);
	return r;
}

static int print_simulation(const struct simulating *s)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(OUTPUT_MAX);
	CLEANUP(writer_release) struct writer w;

	writer_init(&w, s->options->value[OPT_OUTPUT], !option_set(s->options, OPT_NO_HEADERS), &text);
	w.width = terminal_table_width(STDOUT_FILENO);
	simulate_report(&w, &s->cluster, &s->simulation, s->changes.shape != NULL);
	if (s->changes.shape)
		fit_write_form(&w, &s->stored.form);
	if (option_set(s->options, OPT_WITHOUT_EACH))
		simulate_report_losses(&w, &s->cluster, &s->simulation);
	return print_text(writer_finish(&w), &text);
}

int command_simulate(const struct options *options)
{
	CLEANUP(simulating_release) struct simulating s = {.options = options};
	struct err err = {""};
	int r;

	simulated_cluster_init(&s.cluster);
	s.cluster.progress = progress_show;
	progress_begin();
	r = run_simulation(&s, &err);
	progress_end();
	if (r < 0) {
		log_error("%s", err.text);
		return source_exit_status(options, r);
	}
	if (print_simulation(&s) < 0)
		return EXIT_FAILURE;
	if (simulation_count_rejected(&s.simulation) > 0 || simulation_count_bad_losses(&s.simulation) > 0 ||
		simulation_count_actions(&s.simulation) > 0)
		return EXIT_DOES_NOT_FIT;
	if (simulation_count_unknown(&s.simulation) > 0 ||
		simulation_count_left_alone(&s.simulation, &s.cluster) > 0)
		return EXIT_FAILURE;
	return EXIT_SUCCESS;
}

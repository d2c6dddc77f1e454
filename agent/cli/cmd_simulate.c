/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl numa simulate: what other kubelet settings, or the loss of nodes, would mean for the pods. */
#include "agent/cli/commands.h"

#include <errno.h>
#include <string.h>

#include "agent/base/fs.h"
#include "agent/cli/pod_input.h"
#include "agent/cli/source.h"
#include "agent/report/simulated_report.h"
#include "common/cleanup.h"
#include "common/log.h"

#define OUTPUT_MAX ((size_t)1 << 30)

struct simulating {
	const struct options *options;
	struct source *source;
	struct pod_templates templates;
	struct simulated_cluster cluster;
	struct simulate_options changes;
	const char *settings[OPTIONS_MAX_REPEATED], *without[OPTIONS_MAX_REPEATED];
	struct simulation simulation;
};

static void simulating_release(struct simulating *s)
{
	source_close(s->source);
	pod_templates_release(&s->templates);
	simulation_release(&s->simulation);
	simulated_cluster_release(&s->cluster);
}

static int read_shape(struct simulating *s, struct err *err)
{
	const struct pod_template *picked;
	int r;

	if (!pod_input_given(s->options))
		return 0;
	r = pod_input_read(s->options, &s->templates, err);
	if (r == 0)
		r = pod_input_pick(s->options, &s->templates, &picked, err);
	if (r < 0)
		return -EINVAL;
	s->changes.shape = &picked->pod;
	return 0;
}

static int read_flags(struct simulating *s, struct err *err)
{
	const char *value;
	size_t pos = 0;

	while ((value = options_next(s->options, OPT_SET, &pos)))
		s->settings[s->changes.n_settings++] = value;
	pos = 0;
	while ((value = options_next(s->options, OPT_WITHOUT_NODE, &pos)))
		s->without[s->changes.n_without++] = value;
	s->changes.settings = s->settings;
	s->changes.without = s->without;
	s->changes.restart = option_set(s->options, OPT_RESTART);
	if (s->changes.n_settings == 0 && s->changes.n_without == 0 && !s->changes.restart)
		return err_set(err, -EINVAL,
			"nothing to simulate: use --set KEY=VALUE, --restart or --without-node NAME");
	return options_stdin_once(s->options, err);
}

static int run_simulation(struct simulating *s, struct err *err)
{
	int r = read_flags(s, err);

	if (r == 0)
		r = read_shape(s, err);
	if (r == 0)
		r = source_open(s->options, s->options->n_words, &s->source, err);
	if (r == 0)
		r = source_read_cluster(s->source, &s->cluster, err);
	return r < 0 ? r : simulate(&s->cluster, &s->changes, &s->simulation, err);
}

static int print(const struct simulating *s)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(OUTPUT_MAX);
	CLEANUP(writer_release) struct writer w;
	int r;

	writer_init(&w, s->options->value[OPT_OUTPUT], !option_set(s->options, OPT_NO_HEADERS), &text);
	simulate_report(&w, &s->cluster, &s->simulation, s->changes.shape != NULL);
	r = writer_finish(&w);
	return r < 0 ? r : output_text(&text);
}

int command_simulate(const struct options *options)
{
	CLEANUP(simulating_release) struct simulating s = {.options = options};
	struct err err = {""};
	int r;

	simulated_cluster_init(&s.cluster);
	r = run_simulation(&s, &err);
	if (r < 0) {
		log_error("%s", err.text);
		return source_exit_status(options, r);
	}
	r = print(&s);
	if (r < 0) {
		log_error("cannot print: %s", strerror(-r));
		return EXIT_FAILURE;
	}
	if (simulation_count_rejected(&s.simulation) > 0)
		return EXIT_DOES_NOT_FIT;
	return simulation_count_unknown(&s.simulation) > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

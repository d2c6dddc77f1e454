/* SPDX-License-Identifier: Apache-2.0 */
/* nrtd fit: would this node admit the pod, and where would it go? */
#include "agent/cli/commands.h"

#include <errno.h>

#include "agent/base/json.h"
#include "agent/base/output.h"
#include "agent/base/yaml.h"
#include "agent/cli/cmd_fit_nrt.h"
#include "agent/cli/fit_doc.h"
#include "agent/cli/fit_text.h"
#include "agent/cli/fit_what_if.h"
#include "agent/cli/pod_input.h"
#include "agent/cli/stage_config.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/text.h"
#include "common/vec.h"

#define FIT_TEXT_MAX (8u << 20)

static int print(const struct options *options, const struct fit_report *report, const struct inventory *inv)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FIT_TEXT_MAX);
	CLEANUP(doc_release) struct doc doc = DOC_INIT;
	const char *output = options->value[OPT_FIT_OUTPUT];
	int r = 0;

	if (!strcmp(output, "text"))
		fit_text(report, inv, &text);
	else
		r = fit_to_doc(report, &doc);
	if (r == 0 && !strcmp(output, "json"))
		r = json_print(&doc, &text);
	else if (r == 0 && !strcmp(output, "yaml"))
		r = yaml_print(&doc, &text);
	return r < 0 ? r : output_text(&text);
}

static int answer(const struct options *options, const struct observation *o, const struct pod_request *pod)
{
	CLEANUP(fit_report_release) struct fit_report report = {0};
	int r = fit_report_make(&o->node, pod, FIT_ALL, NULL, &report);

	if (r == 0 && option_set(options, OPT_WHAT_FREES))
		r = fit_report_add_frees(&o->node, pod, NULL, &report);
	if (r < 0) {
		log_error("out of memory");
		return EXIT_FAILURE;
	}
	r = print(options, &report, &o->node.inventory);
	if (r < 0) {
		log_error("cannot print: %s", strerror(-r));
		return EXIT_FAILURE;
	}
	return fit_status(&report);
}

/* What is for many nodes only. */
static int check_flags(const struct options *options, struct err *err)
{
	static const enum option_id many[] = {OPT_NODES, OPT_PODS, OPT_REPLICAS, OPT_NO_HEADERS};
	const char *output = options->value[OPT_FIT_OUTPUT];

	if (option_set(options, OPT_NRT))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		if (option_set(options, many[i]))
			return err_set(err, -EINVAL, "%s goes with --nrt", options->origin[many[i]]);
	if (!strcmp(output, "wide") || !strcmp(output, "name"))
		return err_set(err, -EINVAL, "--output %s goes with --nrt", output);
	return 0;
}

/* The pods of --without-pod end. */
static int take_pods(const struct options *options, struct allocations *a, struct err *err)
{
	const char *names[OPTIONS_MAX_REPEATED];
	size_t n = 0, pos = 0;
	int r;

	while (n < ARRAY_SIZE(names) && (names[n] = options_next(options, OPT_WITHOUT_POD, &pos)))
		n++;
	r = n > 0 ? what_frees_take(a, names, n, err) : 0;
	return r < 0 ? err_wrap(err, r, "%s", options->origin[OPT_WITHOUT_POD]) : 0;
}

/* What the command line asks for, before anything is observed: bad usage is said first. */
static int read_request(const struct options *options, struct pod_templates *templates,
	const struct pod_template **ret_picked, struct err *err)
{
	CLEANUP(settings_release) struct settings scratch;
	int r;

	settings_init(&scratch);
	r = check_flags(options, err);
	if (r == 0)
		r = fit_what_if(options, &scratch, err);
	if (r == 0)
		r = pod_input_read(options, templates, err);
	return r < 0 ? r : pod_input_pick(options, templates, ret_picked, err);
}

int command_fit(const struct options *options)
{
	CLEANUP(pod_templates_release) struct pod_templates templates = {0};
	CLEANUP(observation_release) struct observation o;
	const struct observe_config config = stage_observe(options);
	const struct pod_template *picked = NULL;
	struct stage_lists lists;
	const struct model_config model = stage_model(options, &lists);
	struct err err = {""};
	int r;

	observation_init(&o);
	r = read_request(options, &templates, &picked, &err);
	if (r < 0) {
		log_error("%s", err.text);
		return r == -ENOMEM ? EXIT_FAILURE : EXIT_USAGE;
	}
	if (option_set(options, OPT_NRT))
		return fit_nrt(options, &picked->pod);
	r = observe(&config, &o, &err);
	if (r == 0)
		r = fit_what_if(options, &o.node.settings, &err);
	if (r == 0)
		r = take_pods(options, &o.node.allocations, &err);
	if (r == 0)
		r = model_node(&model, &o.node, &o.notes, &err);
	if (r < 0) {
		log_error("%s", err.text);
		return EXIT_FAILURE;
	}
	log_notes(&o.notes);
	return answer(options, &o, &picked->pod);
}

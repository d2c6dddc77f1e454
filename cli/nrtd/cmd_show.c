/* SPDX-License-Identifier: Apache-2.0 */
/* nrtd show: draws this node, once or repeatedly. */
#include "cli/commands.h"

#include <errno.h>

#include "cli/nrtd/observe_local.h"
#include "cli/watching.h"
#include "common/cleanup.h"
#include "common/log.h"

/* One picture of the node, for a terminal or as SVG. */
static int picture(const struct options *options, void *data, const struct terminal *terminal,
	struct strbuf *out, struct err *err)
{
	CLEANUP(observation_release) struct observation o;
	int r;

	(void)data;
	observation_init(&o);
	r = observe_local(options, &o, err);
	if (r < 0)
		return r;
	observe_pod_memory(options, &o, NULL); /* optional in the picture */
	/* A log would spoil a picture that is redrawn. */
	if (!option_set(options, OPT_WATCH))
		command_log_settings(&o.node.settings);
	return watching_draw(options, &o.node, &o.notes, terminal, out, err);
}

int command_show(const struct options *options)
{
	struct err err = {""};

	if (watching_check(options, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_USAGE;
	}
	return watching(options, picture, NULL, EXIT_FAILURE);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* nrtd show: the node drawn, once or again and again. */
#include "agent/cli/commands.h"

#include <errno.h>

#include "agent/cli/observe_local.h"
#include "agent/cli/watching.h"
#include "agent/cluster/nrt_parse.h"
#include "agent/cluster/object_input.h"
#include "agent/report/show.h"
#include "agent/report/show_svg.h"
#include "agent/report/show_text.h"
#include "common/cleanup.h"
#include "common/log.h"

#define SVG_PER_COLUMN 8 /* pixels */

/* From the object that --nrt names. */
static int look_at_object(const struct options *options, struct observation *ret, struct err *err)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	const char *path = options->value[OPT_NRT];
	int r = object_input_choose(path, options->value[OPT_NODE_NAME], &object, err);

	if (r < 0)
		return r;
	r = observe_nrt(&object, &ret->node, &ret->notes, err);
	return r < 0 ? err_wrap(err, r, "%.100s", strcmp(path, "-") != 0 ? path : "standard input") : 0;
}

/* What there is to draw. 0; -errno with one line in `err` and `ret` untouched. */
static int look_at(const struct options *options, struct observation *ret, struct err *err)
{
	int r;

	if (option_set(options, OPT_NRT))
		return look_at_object(options, ret, err);
	r = observe_local(options, ret, err);
	/* A log would spoil a picture that is redrawn. */
	if (r == 0 && !option_set(options, OPT_WATCH))
		command_log_settings(&ret->node.settings);
	return r;
}

/* 0, or -errno with one line in `err`. */
static int draw(const struct options *options, const struct observation *o, const struct terminal *terminal,
	struct strbuf *out, struct err *err)
{
	CLEANUP(show_view_release) struct show_view view;
	const char *columns = options->value[OPT_WIDTH];
	size_t width = columns ? strtoul(columns, NULL, 10) * SVG_PER_COLUMN : SHOW_SVG_WIDTH;
	int r;

	show_view_init(&view);
	show_view(&o->node, &o->notes, &view);
	if (!strcmp(options->value[OPT_SHOW_OUTPUT], "svg"))
		r = show_svg(&view, width, out);
	else
		r = show_text(&view, terminal->width, terminal->colour, terminal->utf8, out);
	return r < 0 ? err_set(err, r, "cannot draw: %s", strerror(-r)) : 0;
}

/* One picture of the node, for a terminal or as SVG. */
static int picture(
	const struct options *options, const struct terminal *terminal, struct strbuf *out, struct err *err)
{
	CLEANUP(observation_release) struct observation o;
	int r;

	observation_init(&o);
	r = look_at(options, &o, err);
	return r < 0 ? r : draw(options, &o, terminal, out, err);
}

/* Flags that go together. */
static int check_flags(const struct options *options, struct err *err)
{
	if (option_set(options, OPT_WATCH) && strcmp(options->value[OPT_SHOW_OUTPUT], "text") != 0)
		return err_set(err, -EINVAL, "%s: only text can be watched", options->origin[OPT_WATCH]);
	if (!option_set(options, OPT_NRT))
		return 0;
	if (option_set(options, OPT_WATCH) && !strcmp(options->value[OPT_NRT], "-"))
		return err_set(err, -EINVAL, "%s: standard input can be read only once, give %s a file",
			options->origin[OPT_WATCH], options->origin[OPT_NRT]);
	return check_nrt_conflicts(options, err);
}

int command_show(const struct options *options)
{
	struct err err = {""};

	if (check_flags(options, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_USAGE;
	}
	return watching(options, picture);
}

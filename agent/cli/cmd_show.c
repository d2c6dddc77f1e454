/* SPDX-License-Identifier: Apache-2.0 */
/* nrtd show: the node drawn, once or again and again. */
#include "agent/cli/commands.h"

#include <errno.h>
#include <signal.h>

#include "agent/cli/look.h"
#include "agent/cluster/object_input.h"
#include "agent/cluster/observe_nrt.h"
#include "agent/base/output.h"
#include "agent/show/show.h"
#include "agent/show/show_svg.h"
#include "agent/show/show_text.h"
#include "agent/show/terminal.h"
#include "common/cleanup.h"
#include "common/log.h"

#define SHOW_MAX       (256u << 20)
#define SVG_PER_COLUMN 8 /* pixels */

/* From the object that --nrt names. */
static int look_at_object(const struct options *options, struct observation *ret, struct err *err)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	const char *path = options->value[OPT_NRT];
	int r = object_input_choose(path, options->value[OPT_NODE_NAME], &object, err);

	if (r < 0)
		return r;
	r = observe_nrt(&object, ret, err);
	return r < 0 ? err_wrap(err, r, "%.100s", strcmp(path, "-") != 0 ? path : "standard input") : 0;
}

/* What there is to draw. 0; -errno with one line in `err` and `ret` untouched. */
static int look_at(const struct options *options, struct observation *ret, struct err *err)
{
	int r;

	if (option_set(options, OPT_NRT))
		return look_at_object(options, ret, err);
	r = look(options, ret, err);
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
	r = show_view(o, &view);
	if (r == 0 && !strcmp(options->value[OPT_SHOW_OUTPUT], "svg"))
		r = show_svg(&view, width, out);
	else if (r == 0)
		r = show_text(&view, terminal->width, terminal->colour, terminal->utf8, out);
	return r < 0 ? err_set(err, r, "cannot draw: %s", strerror(-r)) : 0;
}

static void detect(const struct options *options, struct terminal *ret)
{
	terminal_detect(STDOUT_FILENO, options->value[OPT_COLOR], options->value[OPT_WIDTH], ret);
}

static int show_once(const struct options *options)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(SHOW_MAX);
	struct terminal terminal;
	struct err err = {""};
	int r;

	observation_init(&o);
	r = look_at(options, &o, &err);
	if (r < 0) {
		log_error("%s", err.text);
		/* A file that the user gave is usage, as for the other commands. */
		return option_set(options, OPT_NRT) && r != -ENOMEM ? EXIT_USAGE : EXIT_FAILURE;
	}
	detect(options, &terminal);
	if (draw(options, &o, &terminal, &text, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_FAILURE;
	}
	r = output_write(text.text, text.len);
	if (r < 0) {
		log_error("cannot print: %s", strerror(-r));
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

/* ---- --watch */

/* One picture. What cannot be read now may be readable the next time: the error takes its place. */
static int watch_once(const struct options *options, bool redraw)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(SHOW_MAX);
	CLEANUP(strbuf_release) struct strbuf frame = STRBUF_INIT(SHOW_MAX);
	struct terminal terminal;
	struct err err = {""};
	int r;

	observation_init(&o);
	detect(options, &terminal);
	r = look_at(options, &o, &err);
	if (r == 0)
		r = draw(options, &o, &terminal, &text, &err);
	if (r < 0) {
		strbuf_reset(&text);
		strbuf_addf(&text, "nrtd: error: %s\n", err.text);
	}
	if (!redraw) {
		strbuf_addch(&text, '\n');
		return output_write(text.text, text.len);
	}
	r = terminal_frame(text.text, terminal.height, &frame);
	return r < 0 ? r : output_write(frame.text, frame.len);
}

/* Stop as the terminal's user asked, with the screen given back in the meantime. */
static int suspend(void)
{
	int r = output_write(terminal_leave, strlen(terminal_leave));

	if (r == 0 && raise(SIGSTOP) != 0)
		r = -errno;
	return r < 0 ? r : output_write(terminal_enter, strlen(terminal_enter));
}

/* Pictures until a signal says to end: 0, or -errno when one could not be printed. */
static int watch_loop(const struct options *options, const sigset_t *signals, bool redraw)
{
	const struct timespec pause = {.tv_sec = strtol(options->value[OPT_WATCH], NULL, 10)};

	for (;;) {
		int r = watch_once(options, redraw), signal;

		if (r < 0)
			return r;
		signal = sigtimedwait(signals, NULL, &pause);
		if (signal == SIGTSTP && redraw)
			r = suspend();
		else if (signal > 0 && signal != SIGWINCH && signal != SIGTSTP)
			return 0;
		if (r < 0)
			return r;
	}
}

/* Signals are blocked and waited for, so no handler runs and none is missed while a picture is made. */
static int watch(const struct options *options)
{
	static const int ours[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP};
	struct terminal terminal;
	sigset_t signals, before;
	bool redraw;
	int r = 0;

	detect(options, &terminal);
	redraw = terminal_can_redraw(&terminal);
	sigemptyset(&signals);
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		if (redraw || ours[i] != SIGTSTP)
			sigaddset(&signals, ours[i]);
	if (sigprocmask(SIG_BLOCK, &signals, &before) < 0)
		r = -errno;
	if (r == 0 && redraw)
		r = output_write(terminal_enter, strlen(terminal_enter));
	if (r == 0)
		r = watch_loop(options, &signals, redraw);
	if (redraw && output_write(terminal_leave, strlen(terminal_leave)) < 0 && r == 0)
		r = -EIO;
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (r < 0)
		log_error("cannot print: %s", strerror(-r));
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Flags that go together; what the environment says of the machine is passed over when there is an object. */
static int check_flags(const struct options *options, struct err *err)
{
	const unsigned machine = 1u << COMMAND_SHOW | 1u << COMMAND_DUMP;

	if (option_set(options, OPT_WATCH) && strcmp(options->value[OPT_SHOW_OUTPUT], "text") != 0)
		return err_set(err, -EINVAL, "%s: only text can be watched", options->origin[OPT_WATCH]);
	if (!option_set(options, OPT_NRT))
		return 0;
	if (option_set(options, OPT_WATCH) && !strcmp(options->value[OPT_NRT], "-"))
		return err_set(err, -EINVAL, "%s: standard input can be read only once, give %s a file",
			options->origin[OPT_WATCH], options->origin[OPT_NRT]);
	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		const char *origin = options->origin[id];

		if (id == OPT_NODE_NAME || id == OPT_VERBOSE ||
			(option_defs[id].commands & machine) != machine)
			continue;
		if (origin && !strncmp(origin, "--", 2))
			return err_set(err, -EINVAL, "%s and %s exclude each other", options->origin[OPT_NRT],
				origin);
	}
	return 0;
}

int command_show(const struct options *options)
{
	struct err err = {""};

	if (check_flags(options, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_USAGE;
	}
	return option_set(options, OPT_WATCH) ? watch(options) : show_once(options);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/watching.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/report/show.h"
#include "common/cleanup.h"
#include "common/io/fs.h"
#include "common/io/json.h"
#include "common/io/yaml.h"
#include "common/log.h"

#define SVG_PER_COLUMN 8            /* pixels */
#define WATCHING_MAX   (256u << 20) /* bytes of a picture */

static void find_terminal(const struct options *options, struct terminal *ret)
{
	terminal_detect(STDOUT_FILENO, options->value[OPT_COLOR], options->value[OPT_WIDTH], ret);
}

static int print_picture(const struct options *options, watching_fn *draw, void *data, bool redraw)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(WATCHING_MAX);
	CLEANUP(strbuf_release) struct strbuf frame = STRBUF_INIT(WATCHING_MAX);
	struct terminal terminal;
	struct err err = {""};
	int r;

	find_terminal(options, &terminal);
	r = draw(options, data, &terminal, &text, &err);
	if (r < 0) {
		strbuf_reset(&text);
		strbuf_addf(&text, "%s: error: %s\n", options->program->name, err.text);
	}
	if (!redraw) {
		strbuf_addch(&text, '\n');
		return output_write(text.text, text.len);
	}
	r = terminal_frame(text.text, terminal.height, &frame);
	return r < 0 ? r : output_write(frame.text, frame.len);
}

/* Stop the process for the user's Ctrl-Z, and restore the terminal for that time. */
static int suspend(void)
{
	int r = output_write(terminal_leave, strlen(terminal_leave));

	if (r == 0 && raise(SIGSTOP) != 0)
		r = -errno;
	return r < 0 ? r : output_write(terminal_enter, strlen(terminal_enter));
}

static volatile sig_atomic_t caught_signal; /* 0 = none */

/* Signals that end the watch take precedence over SIGTSTP and SIGWINCH. */
static void catch_signal(int signal)
{
	if (!caught_signal || (signal != SIGWINCH && signal != SIGTSTP))
		caught_signal = signal;
}

/* Waits until the time has passed or a signal arrives; `unblocked` is the signal mask while waiting. Returns the signal, or 0. */
static int wait_for_signal(const struct timespec *time, const sigset_t *unblocked)
{
	caught_signal = 0;
	pselect(0, NULL, NULL, NULL, time, unblocked);
	return caught_signal;
}

/* Draw pictures until a signal ends the watch. 0, or -errno when a picture could not be printed. */
static int watch_loop(
	const struct options *options, watching_fn *draw, void *data, const sigset_t *unblocked, bool redraw)
{
	const struct timespec pause = {.tv_sec = strtol(options->value[OPT_WATCH], NULL, 10)};

	for (;;) {
		int r = print_picture(options, draw, data, redraw), signal;

		if (r < 0)
			return r;
		signal = wait_for_signal(&pause, unblocked);
		if (signal == SIGTSTP && redraw)
			r = suspend();
		else if (signal > 0 && signal != SIGWINCH && signal != SIGTSTP)
			return 0;
		if (r < 0)
			return r;
	}
}

static int draw_once(const struct options *options, watching_fn *draw, void *data, int failed)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(WATCHING_MAX);
	struct terminal terminal;
	struct err err = {""};
	int r;

	find_terminal(options, &terminal);
	r = draw(options, data, &terminal, &text, &err);
	if (r < 0) {
		log_error("%s", err.text);
		return failed;
	}
	r = output_write(text.text, text.len);
	if (r < 0)
		log_error("cannot print: %s", strerror(-r));
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Blocks the signals of a watch and installs their handler. *ret_unblocked is the mask that lets them through. Unless pictures are
 * redrawn, Ctrl-Z works without a handler: the terminal needs no restoring. */
static int hold_signals(bool redraw, sigset_t *ret_unblocked)
{
	static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP};
	const struct sigaction action = {.sa_handler = catch_signal};
	sigset_t signals;

	sigemptyset(&signals);
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++)
		if (redraw || watched[i] != SIGTSTP)
			sigaddset(&signals, watched[i]);
	if (sigprocmask(SIG_BLOCK, &signals, ret_unblocked) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++) {
		if (!sigismember(&signals, watched[i]))
			continue;
		sigdelset(ret_unblocked, watched[i]);
		if (sigaction(watched[i], &action, NULL) < 0)
			return -errno;
	}
	return 0;
}

/* The signals are blocked except between two pictures, so that no signal interrupts a picture. They stay blocked until the
 * process exits: a second signal does not change the exit status. */
static int draw_again(const struct options *options, watching_fn *draw, void *data)
{
	struct terminal terminal;
	sigset_t unblocked;
	bool redraw;
	int r;

	find_terminal(options, &terminal);
	redraw = terminal_can_redraw(&terminal);
	r = hold_signals(redraw, &unblocked);
	if (r == 0 && redraw)
		r = output_write(terminal_enter, strlen(terminal_enter));
	if (r == 0)
		r = watch_loop(options, draw, data, &unblocked, redraw);
	if (redraw && output_write(terminal_leave, strlen(terminal_leave)) < 0 && r == 0)
		r = -EIO;
	if (r < 0)
		log_error("cannot print: %s", strerror(-r));
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int watching(const struct options *options, watching_fn *draw, void *data, int failed)
{
	return option_set(options, OPT_WATCH) ? draw_again(options, draw, data)
					      : draw_once(options, draw, data, failed);
}

int watching_check(const struct options *options, struct err *err)
{
	if (!option_set(options, OPT_WATCH))
		return options_stdin_once(options, err);
	if (strcmp(options->value[OPT_OUTPUT], "text") != 0)
		return err_set(err, -EINVAL, "%s requires a text output format", options->origin[OPT_WATCH]);
	if (options_use_stdin(options))
		return err_set(err, -EINVAL,
			"%s: standard input can be read only once, read from a file instead",
			options->origin[OPT_WATCH]);
	return 0;
}

static int print_document(const struct options *options, const struct show_view *view, struct strbuf *out)
{
	CLEANUP(doc_release) struct doc doc = DOC_INIT;

	show_doc(view, &doc);
	return !strcmp(options->value[OPT_OUTPUT], "json") ? json_print(&doc, out) : yaml_print(&doc, out);
}

int watching_draw(const struct options *options, const struct node_state *state, const struct notes *notes,
	const struct terminal *terminal, struct strbuf *out, struct err *err)
{
	CLEANUP(show_view_release) struct show_view view;
	const char *columns = options->value[OPT_WIDTH];
	size_t width = columns ? strtoul(columns, NULL, 10) * SVG_PER_COLUMN : SHOW_SVG_WIDTH;
	int r;

	show_view_init(&view);
	show_view(state, notes, &view);
	if (!strcmp(options->value[OPT_OUTPUT], "svg"))
		r = show_svg(&view, width, out);
	else if (strcmp(options->value[OPT_OUTPUT], "text") != 0)
		r = print_document(options, &view, out);
	else
		r = show_text(&view, terminal->width, terminal->colour, terminal->utf8, out);
	return r < 0 ? err_set(err, r, "cannot draw: %s", strerror(-r)) : 0;
}

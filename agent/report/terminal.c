/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/report/terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agent/report/show_text.h"

/* The alternate screen; no cursor; lines are cut, not wrapped. */
const char terminal_enter[] = "\033[?1049h\033[?25l\033[?7l";
const char terminal_leave[] = "\033[?7h\033[?25h\033[?1049l";

/* The first of these that is set and not empty, as setlocale(3) takes them. */
static const char *locale_name(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return value;
	}
	return "";
}

static bool names_utf8(const char *text)
{
	return strcasestr(text, "utf-8") || strcasestr(text, "utf8");
}

/* The process keeps the locale "C". */
static bool is_utf8(void)
{
	bool utf8 = names_utf8(setlocale(LC_CTYPE, "") ? nl_langinfo(CODESET) : locale_name());

	setlocale(LC_CTYPE, "C");
	return utf8;
}

/* A number of columns that can be drawn, or 0. */
static size_t read_columns(const char *text)
{
	char *end;
	unsigned long n = text ? strtoul(text, &end, 10) : 0;

	return n > 0 && *end == '\0' && n <= SHOW_TEXT_MAX_WIDTH ? n : 0;
}

void terminal_detect(int fd, const char *colour, const char *width, struct terminal *ret)
{
	const char *no_color = getenv("NO_COLOR");
	struct winsize size = {0};
	struct terminal t = {.is_terminal = isatty(fd) == 1, .utf8 = is_utf8()};

	if (t.is_terminal && ioctl(fd, TIOCGWINSZ, &size) == 0)
		t.height = size.ws_row;
	t.width = read_columns(width ? width : getenv("COLUMNS"));
	if (t.width == 0)
		t.width = size.ws_col <= SHOW_TEXT_MAX_WIDTH ? size.ws_col : SHOW_TEXT_MAX_WIDTH;
	if (t.width == 0)
		t.width = TERMINAL_WIDTH;
	if (!strcmp(colour, "auto"))
		t.colour = terminal_can_redraw(&t) && !(no_color && *no_color);
	else
		t.colour = !strcmp(colour, "always");
	*ret = t;
}

bool terminal_can_redraw(const struct terminal *t)
{
	const char *term = getenv("TERM");

	return t->is_terminal && term && *term && strcmp(term, "dumb") != 0;
}

static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

int terminal_frame(const char *text, size_t height, struct strbuf *out)
{
	size_t lines = count_lines(text), shown = lines;

	if (height > 0 && lines > height)
		shown = height - 1;
	/* Synchronized update (mode 2026) where the terminal knows it; home; then line over line. */
	strbuf_addstr(out, "\033[?2026h\033[H");
	for (size_t i = 0; i < shown; i++) {
		size_t len = strcspn(text, "\n");

		/* Erased before it is written: behind a text of full width the cursor is on its last
		 * character. */
		strbuf_addstr(out, i > 0 ? "\r\n\033[K" : "\033[K");
		strbuf_add(out, text, len);
		text += len + 1;
	}
	if (shown < lines)
		strbuf_addf(out, "\r\n\033[K%zu more lines", lines - shown);
	else if (height == 0 || lines < height)
		strbuf_addstr(out, "\r\n\033[J");
	strbuf_addstr(out, "\033[?2026l");
	return strbuf_error(out);
}

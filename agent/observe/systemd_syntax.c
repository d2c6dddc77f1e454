/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe/systemd_syntax.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/io/fs.h"
#include "common/text.h"
#include "common/xalloc.h"

#define BLANKS  " \t\n\r"
#define NEWLINE "\n\r"

static bool is_one_of(char c, const char *set)
{
	return c && strchr(set, c);
}

/* ---- lines of unit files */

/* Whether the text ends with a backslash that no other backslash escapes. */
static bool ends_with_backslash(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && text[len - 1 - n] == '\\')
		n++;
	return n % 2 == 1;
}

static const char *skip_newline(const char *p)
{
	p += *p == '\r';
	return p + (*p == '\n');
}

bool systemd_next_line(const char **p, struct strbuf *line)
{
	bool any = false; /* text that is no comment */

	for (*p += strspn(*p, " \t"); **p;) {
		size_t len = strcspn(*p, NEWLINE);
		bool comment = is_one_of((*p)[strspn(*p, " \t")], "#;"), more = ends_with_backslash(*p, len);

		if (!comment)
			strbuf_add(line, *p, len - more);
		*p = skip_newline(*p + len);
		any = any || !comment;
		if (!comment && !more)
			break;
		if (!comment)
			strbuf_addch(line, ' ');
	}
	while (line->len > 0 && is_one_of(line->text[line->len - 1], BLANKS))
		line->text[--line->len] = '\0';
	return any;
}

/* ---- words */

/* Append the byte (is_byte), or otherwise the Unicode character, of a number of `digits` digits. The number of bytes read, or 0. */
static size_t add_numeric_escape(const char *p, size_t digits, int base, bool is_byte, struct strbuf *out)
{
	char number[9] = "";
	char *end;
	unsigned long value;

	if (strlen(p) < digits)
		return 0;
	memcpy(number, p, digits);
	value = strspn(number, "0123456789abcdefABCDEF") == digits ? strtoul(number, &end, base) : 0;
	if (value == 0 || *end || (is_byte && value > 0xff))
		return 0;
	if (is_byte)
		strbuf_addch(out, (char)value);
	else
		strbuf_add_utf8(out, (uint32_t)value);
	return digits;
}

/* Append what a C escape stands for; `p` is behind the backslash. The number of bytes read, or 0 if there is no such escape. */
static size_t add_escape(const char *p, struct strbuf *out)
{
	static const char letters[] = "abfnrtv\\\"'s", values[] = "\a\b\f\n\r\t\v\\\"' ";
	const char *letter = *p ? strchr(letters, *p) : NULL;
	size_t n = 0;

	if (letter) {
		strbuf_addch(out, values[letter - letters]);
		return 1;
	}
	if (is_one_of(*p, "01234567"))
		return add_numeric_escape(p, 3, 8, true, out);
	if (*p == 'x')
		n = add_numeric_escape(p + 1, 2, 16, true, out);
	else if (*p == 'u' || *p == 'U')
		n = add_numeric_escape(p + 1, *p == 'u' ? 4 : 8, 16, false, out);
	return n > 0 ? n + 1 : 0;
}

/* `*p` is a backslash, and moves behind what the backslash stands for. 0; -EINVAL: an unknown escape, which the rules do not allow. */
static int add_backslash(const char **p, enum systemd_words rules, struct strbuf *word)
{
	size_t n;

	(*p)++;
	if (rules == SYSTEMD_VARIABLE) {
		if (**p)
			strbuf_addch(word, *(*p)++);
		return 0;
	}
	n = add_escape(*p, word);
	*p += n;
	if (n > 0)
		return 0;
	if (rules == SYSTEMD_ASSIGNMENT)
		return -EINVAL;
	strbuf_addch(word, '\\');
	if (**p)
		strbuf_addch(word, *(*p)++);
	return 0;
}

int systemd_next_word(const char **p, enum systemd_words rules, struct strbuf *word)
{
	char quote = '\0'; /* the open quote */
	int r = 0;

	*p += strspn(*p, BLANKS);
	if (!**p)
		return 0;
	while (r == 0 && **p && (quote || !is_one_of(**p, BLANKS))) {
		if (**p == '\\') {
			r = add_backslash(p, rules, word);
			continue;
		}
		if (!quote && is_one_of(**p, "'\""))
			quote = **p;
		else if (**p == quote)
			quote = '\0';
		else
			strbuf_addch(word, **p);
		(*p)++;
	}
	return r == 0 && (!quote || rules == SYSTEMD_VARIABLE) ? 1 : -EINVAL;
}

/* ---- variables */

static bool is_variable_name(const char *name, size_t len)
{
	static const char characters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";

	return len > 0 && !is_one_of(*name, "0123456789") && strspn(name, characters) >= len;
}

static char **find_assignment(const struct strv *variables, const char *name, size_t len)
{
	for (size_t i = 0; i < variables->n_items; i++)
		if (!strncmp(variables->items[i], name, len) && variables->items[i][len] == '=')
			return &variables->items[i];
	return NULL;
}

void systemd_set_variable(struct strv *variables, const char *assignment)
{
	size_t len = strcspn(assignment, "=");
	char **old;

	if (!assignment[len] || !is_variable_name(assignment, len))
		return;
	old = find_assignment(variables, assignment, len);
	if (old)
		text_set(old, assignment);
	else
		strv_push(variables, assignment);
}

const char *systemd_find_variable(const struct strv *variables, const char *name)
{
	char **found = find_assignment(variables, name, strlen(name));

	return found ? *found + strlen(name) + 1 : NULL;
}

/* Append a value between double quotes; `p` is behind the first quote. Returns the address behind the second one. */
static const char *add_double_quoted(const char *p, struct strbuf *value)
{
	for (; *p && *p != '"'; p++) {
		if (*p != '\\' || !p[1]) {
			strbuf_addch(value, *p);
			continue;
		}
		p++;
		if (*p == '\n')
			continue;
		if (!is_one_of(*p, "\"\\`$"))
			strbuf_addch(value, '\\');
		strbuf_addch(value, *p);
	}
	return p + (*p == '"');
}

/* Append the value of an environment file's variable. Quotes count only before the first character outside of quotes. Returns the
 * address of the newline behind it. */
static const char *add_variable_value(const char *p, struct strbuf *value)
{
	size_t end = value->len; /* without trailing blanks */
	bool plain = false;      /* a character outside of quotes has been read */

	while (*p && !is_one_of(*p, NEWLINE)) {
		char c = *p++;

		if (c == '\\') {
			plain = true;
			if (*p && !is_one_of(*p, NEWLINE))
				strbuf_addch(value, *p);
			p += *p != '\0';
		} else if (!plain && c == '\'') {
			size_t n = strcspn(p, "'");

			strbuf_add(value, p, n);
			p += n + (p[n] == '\'');
		} else if (!plain && c == '"') {
			p = add_double_quoted(p, value);
		} else if (plain || !is_one_of(c, BLANKS)) {
			plain = true;
			strbuf_addch(value, c);
			if (is_one_of(c, BLANKS))
				continue;
		}
		end = value->len;
	}
	if (value->len > end)
		value->text[value->len = end] = '\0';
	return p;
}

void systemd_add_environment(struct strv *variables, const char *text)
{
	for (text += strspn(text, BLANKS); *text; text += strspn(text, BLANKS)) {
		CLEANUP(strbuf_release) struct strbuf assignment = STRBUF_INIT(2 * FS_FILE_MAX);
		size_t name = strcspn(text, "=" NEWLINE), len = name;

		if (is_one_of(*text, "#;") || text[name] != '=') {
			text += strcspn(text, NEWLINE);
			continue;
		}
		while (len > 0 && is_one_of(text[len - 1], BLANKS))
			len--;
		strbuf_add(&assignment, text, len);
		strbuf_addch(&assignment, '=');
		text = add_variable_value(text + name + 1, &assignment);
		systemd_set_variable(variables, assignment.text);
	}
}

/* Append the word with each "${NAME}" replaced, by nothing if the variable is not set, and each "$$" as "$". */
static void add_replaced(const char *word, const struct strv *variables, struct strbuf *out)
{
	while (*word) {
		bool has_brace = word[0] == '$' && word[1] == '{';
		size_t len = has_brace ? strcspn(word + 2, "}") : 0;

		if (has_brace && word[2 + len]) {
			char **found = find_assignment(variables, word + 2, len);

			if (found)
				strbuf_addstr(out, *found + len + 1);
			word += len + 3;
			continue;
		}
		strbuf_addch(out, *word);
		word += word[0] == '$' && word[1] == '$' ? 2 : 1;
	}
}

void systemd_expand_word(const char *word, const struct strv *variables, struct strv *ret)
{
	CLEANUP(strbuf_release) struct strbuf replaced = STRBUF_INIT(2 * FS_FILE_MAX);
	const char *value;

	if (word[0] != '$' || word[1] == '{' || word[1] == '$') {
		add_replaced(word, variables, &replaced);
		strv_push(ret, replaced.text);
		return;
	}
	value = text_or_empty(systemd_find_variable(variables, word + 1));
	while (systemd_next_word(&value, SYSTEMD_VARIABLE, &replaced) > 0) {
		strv_push(ret, replaced.text);
		strbuf_reset(&replaced);
	}
}

/* ---- specifiers */

/* The value of a specifier; "" for one that only a running system knows, NULL for one that does not exist. */
static const char *specifier_value(char letter)
{
	static const struct {
		char letter;
		const char *value;
	} fixed[] = {{'%', "%"}, {'t', "/run"}, {'S', "/var/lib"}, {'C', "/var/cache"}, {'L', "/var/log"},
		{'E', "/etc"}, {'T', "/tmp"}, {'V', "/var/tmp"}, {'u', "root"}, {'U', "0"}, {'g', "root"},
		{'G', "0"}, {'h', "/root"}};

	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		if (fixed[i].letter == letter)
			return fixed[i].value;
	return is_one_of(letter, "aAbBdfHiIjJlmMopPqsvwWyY") ? "" : NULL;
}

bool systemd_add_specifiers(const char *text, const char *unit, struct strbuf *out)
{
	const char *suffix = strrchr(unit, '.');
	int prefix = (int)(suffix ? (size_t)(suffix - unit) : strlen(unit));
	bool known = true;

	for (; *text; text++) {
		const char *value;

		if (*text != '%' || !text[1]) {
			strbuf_addch(out, *text);
			continue;
		}
		text++;
		value = specifier_value(*text);
		if (*text == 'n') {
			strbuf_addstr(out, unit);
		} else if (is_one_of(*text, "NpP")) {
			strbuf_addf(out, "%.*s", prefix, unit);
		} else if (value && *value) {
			strbuf_addstr(out, value);
		} else {
			/* A specifier that does not exist is text for systemd, too. */
			strbuf_addf(out, "%%%c", *text);
			known = known && !value;
		}
	}
	return known;
}

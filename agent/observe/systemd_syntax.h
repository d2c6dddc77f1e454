/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Parses what systemd reads: lines of unit files, words, environment files, variables and specifiers. The rules are those of
 * systemd.syntax(7), systemd.service(5) and systemd.exec(5), and where these are silent those of systemd's source
 * (src/basic/extract-word.c, src/basic/env-file.c, src/basic/env-util.c, src/shared/conf-parser.c).
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/strbuf.h"
#include "common/vec.h"

/*
 * Read the next logical line of a unit file into the empty `line`: without comments, with continuation lines joined, without white
 * space at both ends. *p moves to the line after it. False at the end of the text.
 */
bool systemd_next_line(const char **p, struct strbuf *line);

/* What a word's quotes and backslashes mean. */
enum systemd_words {
	SYSTEMD_COMMAND,    /* of ExecStart=: C escapes; an unknown escape keeps its backslash */
	SYSTEMD_ASSIGNMENT, /* of Environment=: C escapes; an unknown escape is an error */
	SYSTEMD_VARIABLE /* of a variable's value: a backslash only quotes the next character; a missing quote is allowed */
};

/* Append the next word to the empty `word`; *p moves behind it. 1; 0 at the end of the text; -EINVAL: a quote without its end, or
 * an unknown escape. */
int systemd_next_word(const char **p, enum systemd_words rules, struct strbuf *word);

/* ---- variables: strings "NAME=value", each name once */

/* Set a variable from "NAME=value". An invalid name is ignored. */
void systemd_set_variable(struct strv *variables, const char *assignment);

/* The value of a variable, NULL if it is not set. */
const char *systemd_find_variable(const struct strv *variables, const char *name);

/* Set the variables of an environment file. */
void systemd_add_environment(struct strv *variables, const char *text);

/* Append the arguments that a word of a command line becomes: any number for "$NAME", otherwise one, with each "${NAME}" replaced. */
void systemd_expand_word(const char *word, const struct strv *variables, struct strv *ret);

/* ---- specifiers */

/*
 * Append the text with its specifiers ("%N") replaced for the service `unit` of the system's service manager. False if the value of
 * a specifier is not known from files, such as that of the host's name: it is appended as it is.
 */
bool systemd_add_specifiers(const char *text, const char *unit, struct strbuf *out);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Completes command lines from the tables of commands and flags: words, and scripts that ask a program for these words.
 */
#include "cli/opts.h"
#include "common/strbuf.h"

/* The command that the scripts run: `nrtd __complete WORD...`. --help does not list the command. */
#define COMPLETION_COMMAND "__complete"

/*
 * Appends what the last word can be, a line for each candidate, of which a tab and a description may be a part, and a last line as
 * the plugins of kubectl print it, ":4": nothing else, or ":0": file names. Other last lines name what kubectl lists: ":nodes",
 * ":pods", ":namespaces", ":contexts", ":clusters" and ":users". `words`: those after the program, of which the last may be "".
 * Candidates do not depend on what the last word begins with, except that "--flag=" asks for the flag's values.
 */
void completion_words(const struct program *program, char *const *words, size_t n, struct strbuf *out);

/* A script for a shell: bash, zsh (a #compdef file) or fish. */
void completion_script(const struct program *program, const char *shell, struct strbuf *out);

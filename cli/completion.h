/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Writes shell completion scripts from the tables of commands and flags. */
#include "cli/opts.h"
#include "common/strbuf.h"

/* A bash script that completes commands, flags, the values of flags that have a list of values, and file names. */
void completion_bash(const struct program *program, struct strbuf *out);

/* As completion_bash(), for zsh: a #compdef file. */
void completion_zsh(const struct program *program, struct strbuf *out);

/* As completion_bash(), for fish. */
void completion_fish(const struct program *program, struct strbuf *out);

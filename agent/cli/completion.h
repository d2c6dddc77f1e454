/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Shell completion, written from the option table. */
#include "common/strbuf.h"

/* A bash script that completes commands, flags, the values of flags that have a list of them, and file names.
 */
void completion_bash(struct strbuf *out);

/* The same for zsh, as a #compdef file. */
void completion_zsh(struct strbuf *out);

/* The same for fish. */
void completion_fish(struct strbuf *out);

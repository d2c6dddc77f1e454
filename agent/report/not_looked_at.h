/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What schedulers look at and an answer does not, as a line for a person and as a list for programs.
 */
#include "agent/base/doc.h"
#include "common/strbuf.h"
#include "common/vec.h"

/* "not looked at, and schedulers do: volumes, ..." and a newline; nothing for an empty list. */
void not_looked_at_text(const struct strv *list, struct strbuf *out);

/* The member notLookedAt. */
void not_looked_at_to_doc(const struct strv *list, struct doc *map);

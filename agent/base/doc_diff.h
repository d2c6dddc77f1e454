/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * doc_diff: what of two documents is different, one line a value: "zones[node-0].resources[cpu].available: 13
 * -> 12".
 */
#include "agent/base/doc.h"
#include "common/strbuf.h"

/*
 * Append a line for each value that is not alike in `from` and `to`; NULL means one that is not there.
 * Maps go by key, lists of maps that have names by name, other lists by place. `path` is put in front.
 * Returns how many lines.
 */
size_t doc_diff(const char *path, const struct doc *from, const struct doc *to, struct strbuf *out);

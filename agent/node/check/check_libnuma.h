/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What libnuma says about the running system, held against what nrtd discovered: for `nrtd check`. libnuma is
 * never on the data path: it reads fixed paths and assumes where it cannot read. The only file that includes
 * numa.h is check_libnuma.c, and the library is loaded for the comparison, as what it does then takes 1 ms.
 */
#include "common/err.h"
#include "common/machine.h"
#include "common/strbuf.h"

/*
 * Compare the NUMA node ids, their CPUs and their distances of `m`, discovered on the running system, with
 * libnuma's. Each difference appends one line with a closing newline to `differences`. A distance that `m`
 * does not know is not compared.
 *
 * Returns the number of differences, 0 for agreement; -ENODEV when libnuma sees no NUMA node, so that there is
 * nothing to compare, and -ENOENT when it cannot be loaded, both with the reason in `err`; -EFBIG from
 * `differences`.
 */
int libnuma_compare(const struct machine *m, struct strbuf *differences, struct err *err);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Where the distributions put the kubelet's configuration, for when no kubelet can be seen running.
 */
#include "agent/node/observe/settings_args.h"

struct distribution; /* a row of the table of usual places */

const char *distribution_root_dir(const struct distribution *d);

/* The first distribution whose files are below sysroot, NULL when there is none. */
const struct distribution *distribution_find(const char *sysroot);

/*
 * Read what the distribution's files say of the kubelet's command line; config and config_dir are then the
 * ones that the flags name, else the distribution's own where they exist. `ret` starts at
 * {0}. 0 or -errno with the file's name.
 */
int distribution_args(
	const struct distribution *d, const char *sysroot, struct kubelet_args *ret, struct err *err);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a command looks at: this node, observed and modelled as its flags say.
 */
#include "agent/cli/opts.h"
#include "agent/observe/observe.h"

/* With --nrt a machine is looked at by its object: -EINVAL with one line when a flag names another source for it. What
 * the environment says of the machine is passed over. */
int look_excludes(const struct options *options, struct err *err);

/* 0 or -errno with one line in `err`; `ret` (as after observation_init()) is to be released in any case. */
int look(const struct options *options, struct observation *ret, struct err *err);

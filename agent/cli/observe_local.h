/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a command looks at: this node, observed and modelled as its flags say.
 */
#include "agent/cli/opts.h"
#include "agent/node/observe/observe.h"

/* 0 or -errno with one line in `err`; `ret` (as after observation_init()) is to be released in any case. */
int observe_local(const struct options *options, struct observation *ret, struct err *err);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Observes this node and derives its state, as a command's flags ask for.
 */
#include "agent/observe/observe.h"
#include "cli/opts.h"

/* 0 or -errno with one line in `err`; `ret` (as after observation_init()) is to be released in any case. */
int observe_local(const struct options *options, struct observation *ret, struct err *err);

/* Read where the memory of the observed pods is, unless --cgroup is none. A note says why it cannot be read;
 * `notes` may be NULL. */
void observe_pod_memory(const struct options *options, struct observation *o, struct notes *notes);

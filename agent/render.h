/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * render: from what was observed to the object that is published; one way for every command.
 */
#include "agent/doc.h"
#include "agent/observe.h"
#include "agent/opts.h"

/* The NodeResourceTopology of what was observed, as the options say (--fingerprint). What is left out of it
 * goes to `notes`. 0 or -ENOMEM; `ret` is untouched on failure. */
int render_nrt(
	const struct options *options, const struct observation *o, struct doc *ret, struct notes *notes);

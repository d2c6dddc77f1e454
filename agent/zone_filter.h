/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the user wants left out of the zones: resources by name (--exclude-resources), and what pods of other
 * namespaces hold (--namespace). Neither changes what the kubelet is known to have handed out, on which its
 * verdicts and the pods' fingerprint rest.
 */
#include "agent/opts.h"
#include "common/allocation.h"
#include "common/inventory.h"

/* Take the resources out that a --exclude-resources names, exactly or as a shell pattern. */
void zone_filter_resources(const struct options *options, struct inventory *inv);

/* Some --namespace was given. */
bool zone_filter_has_namespaces(const struct options *options);

/*
 * The allocations of which only what counts is held: items of the namespaces that are asked for, and those
 * whose pod's namespace no source tells (what is certainly taken is never shown as free). Memory that the
 * other pods hold is given back to the machine state. *ret borrows everything from `all` but its items array
 * and its memory state; zone_filter_view_release() frees these. 0 or -ENOMEM.
 */
int zone_filter_view(const struct options *options, const struct allocations *all, struct allocations *ret);
void zone_filter_view_release(struct allocations *view);

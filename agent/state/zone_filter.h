/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the user wants left out of the zones: resources by name (--exclude-resources), and what pods of other
 * namespaces hold (--namespace). Neither changes what the kubelet is known to have handed out, on which its
 * verdicts and the pods' fingerprint rest.
 */
#include "common/allocation.h"
#include "common/claim.h"
#include "common/inventory.h"

/* What is left out. Borrowed texts; zeroed leaves nothing out. */
struct zone_filter {
	const char *const *resources; /* names or shell patterns of resources that are left out */
	size_t n_resources;
	const char *const *namespaces; /* only what their pods hold counts; none = every pod's does */
	size_t n_namespaces;
	const char *namespaces_from; /* where they were given, for notes: "--namespace" */
};

/* Take the resources out that the filter names, exactly or as a shell pattern. */
void zone_filter_resources(const struct zone_filter *filter, struct inventory *inv);

/*
 * The allocations, reduced to what counts as held: items of the namespaces that are asked for, and those
 * whose pod's namespace is unknown (what is certainly taken is never shown as free). Memory that the
 * other pods hold is given back to the machine state. A view as allocations_view_without() makes it.
 */
void zone_filter_view(
	const struct zone_filter *filter, const struct allocations *all, struct allocations *ret);

/* The same of claims, by their own namespaces. What is in the list is borrowed: the caller frees ret->items. */
void zone_filter_claims(const struct zone_filter *filter, const struct claims *all, struct claims *ret);

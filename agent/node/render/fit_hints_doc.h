/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The fit hints as the document in the node annotation nrtd.dev/fit-hints, version 2:
 *
 *	version            2; a reader passes over a version that it does not know
 *	nrt                content hash of the NodeResourceTopology object it was computed from
 *	topologyManager    {policy, scope, maxNUMANodes, preferClosestNUMANodes}; policy, scope null = unknown
 *	resources          names of what some NUMA node has; a request of none of them needs no NUMA node,
 *	                   one of these and of others fits nowhere
 *	fits               [{numaNodes, minDistance, available}]: the first entry that has every resource of a
 *	                   request in its amount (null: not even in amount 0) is its fit; minDistance null =
 *	                   unknown; amounts are CPUs, bytes and devices
 *	truncated          entries are missing at the end: what none covers may fit or not
 *	exclusiveCPUs      {step, ranges: [[first, last], ...] or null = unknown}, what the kubelet would admit as it
 *	                   is; absent when nothing is known of it
 *
 * Version 1 had the amounts as quantities, the ranges of three policies, and the shapes' scores.
 */
#include "agent/base/doc.h"
#include "common/err.h"
#include "scoring/fit_hints.h"

#define FIT_HINTS_ANNOTATION "nrtd.dev/fit-hints"
#define FIT_HINTS_VERSION    2

/* Bytes of the compact JSON, unless configured otherwise. */
#define FIT_HINTS_MAX_SIZE ((size_t)16 * 1024)

/*
 * The document whose compact JSON has at most `max_size` bytes: entries are left out from the end of fits
 * until it fits. 0; -EFBIG when it is too large without any entry. `ret` is untouched on failure.
 */
int fit_hints_to_doc(
	const struct fit_hints *h, const char *nrt_hash, size_t max_size, struct doc *ret, struct err *err);

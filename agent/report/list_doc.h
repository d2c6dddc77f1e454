/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The rows of `kubectl numa top` as a document, for programs.
 */
#include "agent/base/doc.h"
#include "agent/report/list_row.h"

/*
 * {"nodes": [{"name", "exporter", "ageSeconds", "basis", "reason", "topologyManager": {"policy", "scope"},
 * "cpus": {"free", "allocatable", "stranded"}, "largestPods": [of 1 NUMA node, of 2], "numaNodes": [{"id", "free",
 * "allocatable"}], "devices": {NAME: {"free", "healthy"}}}], "totals": {"nodes", "estimated", "cpus", "largestPods",
 * "devices"}}; null is what is not known, and the amounts of a NUMA node without CPUs.
 */
void list_to_doc(const struct list_row *rows, size_t n, const struct list_totals *totals, struct doc *ret);

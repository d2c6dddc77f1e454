/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Other exporters that write this node's NodeResourceTopology object, for `nrtd check`.
 */
#include <stdbool.h>

#include "agent/base/doc.h"
#include "agent/node/check/check_report.h"

/*
 * Append an item for the object (or its PartialObjectMetadata) as the API server has it. `leaves_it`: --coexist leaves the
 * object to the others. Returns whether an apply cannot be tried: it would not be made, or only after nrtd has had the
 * server forget a client of another version.
 */
bool check_exporters(const struct doc *object, bool leaves_it, struct check_report *report);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Other exporters that write this node's NodeResourceTopology object, for `nrtd check`.
 */
#include <stdbool.h>

#include "agent/base/doc.h"
#include "agent/check/check_report.h"

/* Append an item for the object (or its PartialObjectMetadata) as the API server has it. `leaves_it`: --coexist leaves
 * the object to the others. */
void check_exporters(const struct doc *object, bool leaves_it, struct check_report *report);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A pod's fit on many nodes as a table for a person, and as a document for programs. */
#include "agent/base/doc.h"
#include "agent/report/cluster_fit.h"
#include "common/strbuf.h"

/*
 * A row a node, and below the totals, unless `headings` is false. `wide`: how each node's kubelet is set up, on what
 * the answer rests and who wrote the object. 0 or -EFBIG.
 */
int cluster_fit_table(const struct cluster_fit *fit, bool wide, bool headings, struct strbuf *out);

/* "node/NAME" of each node that takes a copy (of the replicas, where a number was asked for), a line each. */
void cluster_fit_names(const struct cluster_fit *fit, struct strbuf *out);

/*
 * {"fits", "nodes", "unknown", "copies", "copiesAtLeast", "replicas": null or {"wanted", "placed"}, "items": [{"name",
 * "admitted" (null = not known), "rejection", "reason", "nearest", "numaNodes" (ids; null = no affinity, or none
 * are needed), "copies", "copiesAtLeast", "replicas", "basis", "why", "exporter", "policy", "scope"}]}.
 */
void cluster_fit_to_doc(const struct cluster_fit *fit, struct doc *ret);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A fit report as a document, for programs.
 */
#include "agent/base/doc.h"
#include "agent/report/fit_report.h"

/*
 * Members, null where something is not known or does not apply:
 *   admitted    true, false, null
 *   reason      a sentence, "" when admitted; rejection: the kubelet's word for it
 *   containers  name, numaNodes (ids; null = no affinity), preferred (the kubelet's word for its hint), remote (others, as
 *               many, are closer to each other), cpus (a list; "" = the shared pool), memoryNUMANodes (ids;
 *               null = the memory manager has no say); empty unless admitted
 *   numaNodes, minDistance, scores (by strategy), schedulerPasses   what the scheduler's plugin makes of it
 *   copies, copiesAtLeast
 *   nearest     container (null where there is one only), resource, request, fits
 *   whatFrees   answer ("set", "none", "fits", "unknown"), pods (namespace, name, uid, cpus), smallest (of a set; false
 *               where the search gave up); null where it was not asked for
 *   unchecked   names of device resources that were not checked, and "resourceClaims" where the pod has them
 */
void fit_to_doc(const struct fit_report *report, struct doc *ret);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The stage before the object as a document, for `nrtd dump --what inventory`. nrtd(8) documents the fields:
 *
 *	node, kubeletRoot
 *	settings      [{name, value, from}] in the order of enum setting; an unknown one has value and from null
 *	reservedCPUs  {cpus, from}; cpus null = unknown
 *	sharedCPUs    the shared pool as a list, null = not known
 *	numaNodes     [{id, resources: [{name, capacity, allocatable, available}], costs: [...]}]
 *	allocations   [{podUID, namespace, pod, container, cpus, memory: [...], devices: [...]}]
 */
#include "agent/base/doc.h"
#include "agent/node/observe/observe.h"

void inventory_to_doc(const struct observation *o, struct doc *ret);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a node has and can still take, as families of gauges: by NUMA node and resource, and for whole pods.
 */
#include "agent/node/render/render.h"
#include "common/inventory.h"
#include "common/strbuf.h"

/* nrtd_resource_capacity, _allocatable, _available: CPUs, bytes, devices. */
void node_gauges_print_inventory(const struct inventory *inv, struct strbuf *out);

/* nrtd_max_exclusive_cpus, nrtd_stranded_cpus, nrtd_shape_copies; what is not known has no series. `shapes` is
 * what `room` was found with. */
void node_gauges_print_headroom(
	const struct headroom *headroom, const struct hints_config *shapes, struct strbuf *out);

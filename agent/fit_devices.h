/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The devices of a node as the scoring core takes them, for a fit report.
 */
#include "common/allocation.h"
#include "scoring/device_manager.h"

/*
 * Every registered device of each resource of which all devices' NUMA nodes are told (or told to be none); of
 * the other resources nothing can be said. Devices that some container holds are allocated. 0 or -ENOMEM;
 * `ret` (as after device_inventory_init()) is untouched on failure.
 */
int fit_devices_make(const struct allocations *a, struct device_inventory *ret);

/* Devices of the resource that nobody holds. */
size_t fit_devices_free(const struct device_resource *resource);

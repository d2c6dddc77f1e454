/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Where kubelet releases decide differently. All false = kubelet 1.36.2, the newest whose decisions were
 * recorded. Pinned by comparing the sources of 1.33.5, 1.34.1, 1.35.0 and 1.36.2.
 */
#include <stdbool.h>

struct kubelet_version {
	/* Up to 1.33: prefer-align-cpus-by-uncorecache counts whole cores only (floor), so an odd request on
	 * SMT is not aligned. */
	bool uncore_rounds_down;
	/* Up to 1.35: device hints range over every NUMA node of the machine, not only those with a device.
	 */
	bool device_hints_on_every_node;
	/* After 1.36: a core or socket is whole when all its own CPUs are free; before, the average size of
	 * the machine's cores or sockets is what counts. */
	bool whole_by_own_size;
	/* Not in any release yet: combinations of four and more NUMA nodes that do not overwrite each other.
	 */
	bool separate_combinations;
};

#define KUBELET_MINOR_RECORDED 36u /* kubelet_version_of() takes a release that is not known for this one */

/* How the kubelet of release 1.`minor` decides; 0 = not known, as the newest that was recorded. */
static inline struct kubelet_version kubelet_version_of(unsigned minor)
{
	return (struct kubelet_version){
		.uncore_rounds_down = minor > 0 && minor <= 33,
		.device_hints_on_every_node = minor > 0 && minor <= 35,
		.whole_by_own_size = minor > 36,
	};
}

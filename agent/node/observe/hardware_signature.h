/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * hardware_signature: a cheap look at whether CPUs, memory or hugepages came or went. The whole machine is
 * discovered again only then.
 */
#include <stdint.h>

/*
 * A number that is another one when the CPUs that are online, the NUMA nodes, the CPUs, memory or hugepages
 * of one of them, or the whole memory are others; of the tree below `root` ("" = the running system). What
 * cannot be read counts as absent.
 */
uint64_t hardware_signature(const char *root);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A made machine with a kubelet on it, for the tests of scoring/kubelet.h. */
#include "scoring/kubelet.h"
#include "tests/lib/synthetic.h"

/* A test changes the parts that `node` points to before kubelet_fixture_ready(). */
struct kubelet_fixture {
	struct machine machine;
	struct settings settings;
	struct memory_state memory;
	struct device_inventory devices;
	hwloc_bitmap_t shared, reserved;
	struct kubelet_node node;
	struct kubelet k;
	struct kubelet_workspace *ws;
	struct kubelet_verdict verdict;
};

/* Static CPU and memory managers, scope container. No pod holds anything, CPU 0 is reserved, there are no devices. */
void kubelet_fixture_init(
	struct kubelet_fixture *f, const struct synthetic *s, enum topology_manager_policy policy);
void kubelet_fixture_release(struct kubelet_fixture *f);

/* One more type of memory for a NUMA node of the memory manager's state, all of it free. */
void kubelet_fixture_add_table(struct memory_node *node, const char *type, uint64_t bytes);

/* The kubelet and its workspace, made from `node`. */
void kubelet_fixture_ready(struct kubelet_fixture *f);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Sections of kubelet_cases.json: one runner each. `root` is the whole file (topologies, numa_infos).
 */
#include "tests/vectors/kubelet_support.h"

struct kubelet_section {
	const char *name;
	void (*run)(struct vectors_run *run, const vj *root, const vj *c); /* NULL: tested elsewhere */
};

/* The sections about the CPU manager; ends with an empty name. */
extern const struct kubelet_section kubelet_cpu_sections[];

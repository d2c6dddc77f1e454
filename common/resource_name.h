/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the name of a Kubernetes resource says. Rules: k8s.io/kubernetes pkg/apis/core/v1/helper/helpers.go
 * and the scheduler plugin's numaresources.go. Depends on common/ only.
 */
#include <stdbool.h>
#include <stdint.h>

/* "hugepages-2Mi" */
bool resource_name_is_hugepages(const char *name);

/* No domain ("cpu", "gpu") or one of kubernetes.io. */
bool resource_name_is_native(const char *name);

/* cpu, memory or hugepages: must lie on NUMA nodes. */
bool resource_name_is_numa_affine(const char *name);

/* May exist without belonging to any NUMA node: storage, ephemeral-storage, every name that is not native. */
bool resource_name_is_host_level(const char *name);

/* The scheduler keeps it as a node's scalar resource: extended, hugepages, of kubernetes.io, volume counts.
 * Names that are neither this nor cpu, memory, pods or ephemeral-storage ("storage", "gpu") exist on no node
 * for it. */
bool resource_name_is_scalar(const char *name);

/* "hugepages-2Mi" for a page size in bytes. */
#define RESOURCE_NAME_HUGEPAGES_SIZE 96
void resource_name_of_hugepages(uint64_t page_bytes, char name[RESOURCE_NAME_HUGEPAGES_SIZE]);

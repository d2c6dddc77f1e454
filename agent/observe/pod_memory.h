/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads on which NUMA nodes the kernel has put the memory of pods. Only pods that hold CPUs or memory
 * exclusively are read, from memory.numa_stat and hugetlb.SIZE.numa_stat of their cgroups (cgroup v2).
 */
#include "common/err.h"
#include "common/node_state.h"

#define CGROUP_DIR "/sys/fs/cgroup"

/*
 * Fill node->pods_memory (empty before), one item per pod in node->allocations that holds CPUs or memory.
 *
 * `cgroup` is a directory below `sysroot` with the kubelet's cgroup kubepods, of either driver: in the
 * directory itself (the kubelet's default), or in the cgroup "kubelet" there (kind). A pod whose cgroup cannot
 * be read has no amounts, and the reason. In a pod with exclusive CPUs, only the containers count whose
 * cpuset.cpus the pod holds, because the memory of other containers has no CPUs of its own. If no container is
 * found in this way, the whole pod counts.
 *
 * 0; -ENOENT (no cgroup v2, or no kubelet's cgroup, in this directory), -EACCES and others, with one line.
 * node->pods_memory stays empty on failure.
 */
int pod_memory_read(const char *sysroot, const char *cgroup, struct node_state *node, struct err *err);

/* A pod with remote memory remains one until it has less than this percentage, so that objects do not change too often. */
#define POD_MEMORY_LOCAL_PERCENT 5u

/*
 * Updates the list of pods with remote memory from node->pods_memory; a pod whose amounts are unknown remains as it was. Returns
 * whether the list has changed. `remote` is zeroed before the first call.
 */
bool pod_memory_update(const struct node_state *node, struct strv *remote);

/* Sets remote_memory of the node's allocations from the list. */
void pod_memory_mark(const struct strv *remote, struct node_state *node);

/*
 * Add the bytes of the line that begins with `key` ("anon", "total=...") of a numa_stat file to bytes[], by
 * position in m->nodes: "anon N0=4096 N1=0". NUMA nodes that the machine does not have are ignored. 0; -EINVAL
 * (there is no such line, or it has another form); bytes[] is unspecified on failure.
 */
int numa_stat_add(const char *text, const char *key, const struct machine *m, uint64_t *bytes);

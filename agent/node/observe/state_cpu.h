/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The CPU manager's state file, cpu_manager_state: which CPUs are the shared pool and which containers hold
 * the others. Formats v1 (kubelet 1.10) to v4 (1.37). Source of the formats and the rules:
 * pkg/kubelet/cm/cpumanager/state/checkpoint.go, policy_static.go.
 */
#include "agent/node/observe/state_file.h"

#define STATE_CPU_FILE_MAX (1024u * 1024u) /* bytes */

/*
 * policy is "none", "static", or what a foreign kubelet calls it. Of the allocations items, shared and cpus_known
 * are filled, items in their order. shared is NULL under a policy "none" that writes no default set. v1 knows
 * container ids only: pod_uid is "" and container the id.
 *
 * A pod that has an entry in podEntries holds those CPUs as a whole: it is one item with container "". Its
 * containers' entries are parts of that set which may overlap (the pod's own shared pool is the entry of each
 * container that runs in it): they make no items unless they go beyond it. A pod without containers whose CPUs
 * are all in the default set again has been released and makes none either.
 *
 * All CPUs must exist in `machine` (offline CPUs exist, with a note). CPUs in no set at all are legal: the kubelet
 * writes twice a change, and strictly reserved CPUs are in none. CPUs of different pods, and of the default set,
 * should be disjoint, and a container's within its pod's: where they are not, one note names the first CPUs and
 * their holders if the checksum is right (some kubelets hand out a CPU twice on hybrid machines), and the content
 * is refused if it is not. A wrong checksum is a note when the content is consistent.
 */
extern const struct state_kind state_cpu;

/*
 * The checksum of a parsed file, whose content was found well formed, and in `text` (unless NULL) what it is
 * taken over. 0; -EINVAL (the content is not what the kubelet writes), -EFBIG.
 */
int state_cpu_checksum(const struct state_file *file, struct strbuf *text, struct checksum_match *ret);

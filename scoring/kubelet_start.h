/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Predicts whether a kubelet starts with its settings on its machine, and if not, why. The only validator of
 * kubelet settings: the verdicts, `nrtd check` and simulations call it. The rules are those of 1.33 to 1.38.0-beta.0:
 * cmd/kubelet/app/server.go, pkg/kubelet/apis/config/validation, the constructors of the managers in pkg/kubelet/cm
 * (cpumanager, memorymanager and topologymanager: NewManager and policy_options.go) and validateNodeAllocatable().
 * scoring/node/kubelet_restart.h has the rules about the state files. Depends on common/ and scoring/ only.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "common/machine.h"
#include "common/settings.h"
#include "scoring/cpu_topology.h"

/* One reason for which the kubelet would not start. */
struct kubelet_start_problem {
	enum setting setting; /* the setting that the kubelet refuses */
	struct err what;      /* what the kubelet refuses, without a prefix */
	const char *remedy;   /* what to change; not owned */
	/* The managers cannot be modelled with such settings: no verdict is possible even if the kubelet is seen running. */
	bool no_model;
	bool of_memory; /* kubeReserved and others reserve too much memory */
	/* No reason for a verdict, because a kubelet may run all the same: what the kernel does not list may have been there when the kubelet
	 * started, and the kubelets of some distributions accept feature gates of other releases. */
	bool doubtful;
};

/* At most one problem of each group of rules is found, in the order in which the kubelet would find them. */
#define KUBELET_START_PROBLEMS_MAX 8

struct kubelet_start_problems {
	struct kubelet_start_problem items[KUBELET_START_PROBLEMS_MAX];
	size_t n;
};

/* What is known about the start. Pointers are borrowed. */
struct kubelet_start {
	const struct machine *machine;       /* that the kubelet finds at its start */
	const struct cpu_topology *topology; /* of this machine; NULL = the rules that need it are omitted */
	const struct settings *settings;
	/* Reserved CPUs that a running kubelet reports, so that it has some; NULL = the settings decide. */
	hwloc_const_bitmap_t reserved;
	bool eviction_known;
	qty_t eviction; /* what evictionHard keeps free of memory.available, in nano-units of a byte */
};

/*
 * Finds the problems that follow from the settings alone and from simple facts of the machine. A setting that is unknown is no
 * problem. Cheap: for verdicts, which make the managers themselves.
 */
void kubelet_start_find(const struct kubelet_start *start, struct kubelet_start_problems *ret);

/* The same and, if no problem of the CPU manager was found, whether the CPU manager can choose its reserved CPUs.
 * start->topology is not read. */
void kubelet_start_try(const struct kubelet_start *start, struct kubelet_start_problems *ret);

/* The sum of the NUMA nodes' reservations of ordinary memory (reservedMemory), in nano-units of a byte. */
qty_t kubelet_start_reserved_memory(const struct settings *s);

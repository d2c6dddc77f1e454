/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Would this node's kubelet admit the pod, and where would it put it? The CPU, memory and device managers and
 * the Topology Manager together, container by container as pkg/kubelet/cm/topologymanager/scope_*.go
 * (1.36.2). Not asked here: whether the node has the amounts at all (OutOfcpu) - the scheduler's filter does
 * that. Depends on common/ and scoring/ only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/machine.h"
#include "common/request.h"
#include "common/settings.h"
#include "scoring/cpu_manager.h"
#include "scoring/device_manager.h"
#include "scoring/memory_manager.h"
#include "scoring/request.h"
#include "scoring/topology_manager.h"
#include "scoring/work.h"

/* What is known of a node. All of it must outlive the struct kubelet made from it. */
struct kubelet_node {
	const struct machine *machine;
	const struct settings *settings;
	hwloc_const_bitmap_t shared;   /* the CPU manager's shared pool (defaultCpuSet); NULL = not known */
	hwloc_const_bitmap_t reserved; /* CPUs it reserves, when observed; NULL = from the settings */
	const struct memory_state *memory;      /* the memory manager's state; NULL = not known */
	const struct device_inventory *devices; /* NULL = there are none */
};

/* A node's kubelet, ready to judge any number of pods against one state of the node. Not to be moved. */
struct kubelet {
	struct topology_rules rules; /* its policy is unknown when the settings do not have it */
	enum topology_manager_scope scope;
	struct topology_nodes nodes;
	uint64_t reach; /* NUMA nodes that a hint can name */
	bool cpu_static, memory_static, pod_level_managers;
	struct cpu_topology topology;
	struct cpu_manager cpu;
	struct memory_manager memory;
	struct device_manager devices;
	struct device_inventory no_devices;
	bool *shared;
	/* Why a verdict is not possible, "" when it is: for any pod that asks for something that is aligned;
	 * for exclusive CPUs; for exclusive memory. */
	struct err unknown, cpu_unknown, memory_unknown;
};

/*  A node that is not fully known, or whose kubelet would not start, is not a failure: the
 * verdicts say so. */
void kubelet_init(struct kubelet *k, const struct kubelet_node *node);
void kubelet_release(struct kubelet *k);

enum kubelet_answer { KUBELET_UNKNOWN, KUBELET_ADMITS, KUBELET_REJECTS, KUBELET_ANSWER_COUNT };

/* The reason in the pod's status. */
enum kubelet_rejection {
	KUBELET_NOT_REJECTED,
	KUBELET_TOPOLOGY_AFFINITY,    /* TopologyAffinityError */
	KUBELET_SMT_ALIGNMENT,        /* SMTAlignmentError */
	KUBELET_UNEXPECTED_ADMISSION, /* UnexpectedAdmissionError: a manager could not allocate */
	KUBELET_REJECTION_COUNT
};

extern const char *const kubelet_rejection_names[KUBELET_REJECTION_COUNT];

/* Where one container goes. */
struct kubelet_placement {
	struct topology_hint hint; /* what the Topology Manager decided; any_node = no affinity */
	size_t exclusive_cpus;
	const bool *cpus;      /* of struct kubelet.topology; NULL without exclusive CPUs */
	uint64_t memory_nodes; /* where its memory is charged; 0 without the memory manager */
};

struct kubelet_verdict {
	enum kubelet_answer answer;
	enum kubelet_rejection rejection;
	size_t container;  /* the container that is rejected; 0 for the whole pod in scope pod */
	bool beyond_limit; /* unknown, because the work limit was met */
	struct err reason; /* one sentence for a person; "" when admitted */
	const struct kubelet_placement *placements; /* those of the pod's containers that were placed */
	size_t n_placements;
};

/* So many devices of a resource, by its position in the node's inventory, are asked for; maybe 0. */
struct device_demand {
	size_t resource, n;
};

/* Memory to judge in, made for one kubelet; one user at a time. */
struct kubelet_workspace {
	struct work work; /* of the verdict; its limit */
	struct cpu_workspace *cpu;
	bool counting; /* only whether CPUs can be taken is asked, not which: see cpu_manager_try() */
	bool *sets;    /* what the next six lie in */
	bool *shared, *reusable, *available, *taken, *scratch[2];
	struct memory_books memory;
	struct memory_needs needs;
	struct device_books devices;
	struct device_demand *demands; /* sorted by resource */
	size_t n_demands;
	struct request_peak *peaks; /* scratch: per resource */
	bool *asked;
	struct topology_hints hints;
	struct topology_merge merge;
	struct kubelet_placement *placements;
	size_t placements_size;
	bool *cpus; /* the sets of the placements with exclusive CPUs */
	size_t cpus_size;
};

struct kubelet_workspace *kubelet_workspace_new(const struct kubelet *k);
void kubelet_workspace_freep(struct kubelet_workspace **ws);

/*
 * A verdict takes no more than about this many steps, of about a nanosecond each; what takes more is answered with
 * "unknown". A limit for each of the next verdicts, and the steps that the last one took.
 */
#define KUBELET_WORK_MAX ((uint64_t)16 << 20)

/*
 * The verdict on one pod. `qos` is the pod's class (without it the answer is unknown unless the pod asks for
 * devices alone).  *ret points into the workspace and is valid until its next use. Allocates
 * nothing, except for a pod with more containers or memory types than any before.
 */
void kubelet_judge(const struct kubelet *k, struct kubelet_workspace *ws, const struct pod_request *pod,
	enum qos_class qos, struct kubelet_verdict *ret);

/*
 * The same for a pod that comes after the one this workspace was last asked about, which was admitted and
 * stays: as if no init container of it had finished yet.
 */
void kubelet_judge_next(const struct kubelet *k, struct kubelet_workspace *ws, const struct pod_request *pod,
	enum qos_class qos, struct kubelet_verdict *ret);

/* Whether a device (by its position in resource `r` of the node's devices) is taken after the pods that this workspace
 * was asked about. */
bool kubelet_device_taken(
	const struct kubelet *k, const struct kubelet_workspace *ws, size_t r, size_t device);

/*
 * The CPUs that can still be handed out on each NUMA node, after the pods that this workspace was asked about: ret[i]
 * belongs to the NUMA node k->topology.levels[CPU_LEVEL_NUMA].ids[i]. All 0 without the static policy.
 */
void kubelet_free_cpus(const struct kubelet *k, struct kubelet_workspace *ws, size_t *ret);

/* guaranteedCPUs(): how many CPUs the container gets for itself; 0 = it runs in the shared pool. */
size_t kubelet_exclusive_cpus(const struct container_request *container, enum qos_class qos);

/* podGuaranteedCPUs(): the most exclusive CPUs that the pod's containers hold at one time. */
size_t kubelet_pod_exclusive_cpus(const struct pod_request *pod, enum qos_class qos);

/* Feature gates that are off by default and change what can be said; the two of resizing let a container with
 * exclusive CPUs, or memory of its own, be resized in place. */
enum kubelet_gate {
	KUBELET_POD_LEVEL_MANAGERS, /* alpha in 1.36, beta in 1.37 */
	KUBELET_RESIZE_CPUS,        /* alpha from 1.34 to 1.38 */
	KUBELET_RESIZE_MEMORY,      /* as well */
	KUBELET_GATE_COUNT
};

extern const char *const kubelet_gate_names[KUBELET_GATE_COUNT];

/* Whether it is on, by itself or by AllAlpha or AllBeta. */
bool kubelet_has_gate(const struct settings *settings, enum kubelet_gate gate);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Predicts whether a node's kubelet admits a pod, and on which CPUs and NUMA nodes the pod runs. Models the
 * CPU, memory and device managers and the Topology Manager together, container by container as
 * pkg/kubelet/cm/topologymanager/scope_*.go (1.36.2). scoring/admit.h adds the amounts of the whole
 * node (OutOfcpu) to the verdict. Depends on common/ and scoring/ only.
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
#include "scoring/kubelet_release.h"
#include "scoring/kubelet_time.h"
#include "scoring/memory_manager.h"
#include "scoring/request.h"
#include "scoring/topology_manager.h"
#include "scoring/work.h"

/* What is known about a node. All pointers must outlive the struct kubelet made from them. */
struct kubelet_node {
	const struct machine *machine; /* as the kubelet knows it: the machine of its start */
	const struct machine *present; /* the hardware now; NULL = the same */
	const struct settings *settings;
	hwloc_const_bitmap_t shared;       /* the CPU manager's shared pool (defaultCpuSet); NULL = unknown */
	hwloc_const_bitmap_t reserved;     /* reserved CPUs, when observed; NULL = from the settings */
	const struct memory_state *memory; /* the memory manager's state; NULL = unknown */
	const struct device_inventory *devices; /* NULL = the node has none */
	bool eviction_known;
	qty_t eviction; /* what evictionHard keeps free, as in struct kubelet_start */
};

/* A node's kubelet, ready to judge any number of pods against one state of the node. Must not be moved. */
struct kubelet {
	struct topology_rules rules; /* the policy is unknown when the settings do not have it */
	enum topology_manager_scope scope;
	struct topology_nodes nodes;
	uint64_t reach;     /* NUMA nodes that a hint can name */
	uint64_t cpu_nodes; /* NUMA nodes with CPUs */
	bool cpu_static, memory_static, pod_level_managers, pod_level_resources;
	bool preferred_hints_first; /* struct kubelet_version; false with policy single-numa-node */
	bool hints_have_scores;     /* struct kubelet_version */
	struct cpu_topology topology;
	struct cpu_manager cpu; /* of the static policy, also when the shared pool is not known */
	struct memory_manager memory;
	struct device_manager devices;
	struct device_inventory no_devices;
	bool *shared;
	/*
	 * Why no verdict is possible, "" = a verdict is possible: on any pod that requests an aligned
	 * resource, also set if `start` is set; on exclusive CPUs; on exclusive memory.
	 */
	struct err unknown, cpu_unknown, memory_unknown;
	/* The NUMA nodes have more sets than a verdict can walk, "" = they have not. Only the kubelet's time is known then. */
	struct err too_many_sets;
	/* Why the kubelet would not start, "" = it would, or is seen running: no verdict is possible on any pod. */
	struct err start;
	/* Why the kubelet panics, "" = it does not: for every pod; for every pod that is Guaranteed. */
	struct err panics, memory_panics;
};

/*
 * An incompletely known node, or a kubelet that would not start, is not a failure: the verdicts on it are unknown
 * and give the reason.
 */
void kubelet_init(struct kubelet *k, const struct kubelet_node *node);
void kubelet_release(struct kubelet *k);

/* Whether the kubelet panics for every pod. False if `unknown` is set: a kubelet that would not start does not panic. */
bool kubelet_panics_for_every_pod(const struct kubelet *k);

enum kubelet_answer { KUBELET_UNKNOWN, KUBELET_ADMITS, KUBELET_REJECTS, KUBELET_ANSWER_COUNT };

/*
 * The reason in the pod's status; or what happens to the kubelet itself, so that nothing is written into the status
 * and the node admits no pod any more.
 */
enum kubelet_rejection {
	KUBELET_NOT_REJECTED,
	KUBELET_TOPOLOGY_AFFINITY,    /* TopologyAffinityError */
	KUBELET_SMT_ALIGNMENT,        /* SMTAlignmentError */
	KUBELET_UNEXPECTED_ADMISSION, /* UnexpectedAdmissionError: a manager could not allocate */
	KUBELET_HANGS,                /* the kubelet would loop forever */
	KUBELET_PANICS,               /* the kubelet would crash, and again after each restart */
	KUBELET_TOO_SLOW, /* nrtd's own reason: the kubelet would admit the pod, but too late (kubelet_limit_time()) */
	KUBELET_REJECTION_COUNT
};

extern const char *const kubelet_rejection_names[KUBELET_REJECTION_COUNT];

/* Where one container goes. */
struct kubelet_placement {
	struct topology_hint hint; /* the Topology Manager's decision; any_node = no affinity */
	size_t exclusive_cpus;
	const bool *cpus;      /* of struct kubelet.topology; NULL without exclusive CPUs */
	uint64_t memory_nodes; /* where its memory is charged; 0 without the memory manager */
};

struct kubelet_verdict {
	enum kubelet_answer answer;
	/* ---- the managers' part, by kubelet_judge() */
	enum kubelet_rejection rejection;
	size_t container; /* the rejected container; 0 for the whole pod in scope pod; SIZE_MAX with KUBELET_TOO_SLOW */
	bool beyond_limit; /* unknown, because the verdict exceeds the work limit */
	struct err reason; /* one sentence for a person; "" when admitted */
	bool none_left;    /* rejected because nothing at all is left of a resource */
	/* Rejected because a container must reuse the CPUs of an init container, which are on other NUMA nodes than the hints of all free CPUs. */
	bool reuses_cpus;
	struct kubelet_time time; /* an upper bound, if that is at most KUBELET_TIME_SHORT per container */
	const struct kubelet_placement *placements; /* of the pod's containers that were placed */
	size_t n_placements;
	/* ---- the part of the node's amounts, by admit_judge() */
	enum kubelet_answer managers_answer; /* without regard to the amounts */
	/* The first resource that the node has too little of (the pod's string), or NULL. */
	const char *short_of;
	/* The first resource that the node may have too little of, if none is short; or NULL. */
	const char *unsure_of;
	bool other_may_be_short; /* the kubelet may name another resource than short_of, which it checks earlier */
	qty_t wanted;            /* of short_of or unsure_of */
	qty_t free;              /* of short_of: at most; of unsure_of: at least */
};

/* A demand for `n` devices (maybe 0) of the resource at this position of the node's inventory. */
struct device_demand {
	size_t resource, n;
};

/* A verdict takes no more than about this many steps (scoring/work.h); beyond them the answer is "unknown". */
#define KUBELET_WORK_MAX ((uint64_t)16 << 20)

/* Memory for verdicts, made for one kubelet; one user at a time. Holds what the judged pods were allocated. */
struct kubelet_workspace {
	/* work.limit bounds each verdict (KUBELET_WORK_MAX unless changed); work.steps counts the last
	 * verdict */
	struct work work;
	struct cpu_workspace *cpu;
	bool counting; /* only whether CPUs can be taken matters, not which: see cpu_manager_allocate_counted() */
	bool *sets; /* owns the memory of the next five sets */
	bool *shared, *reusable, *available, *scratch[2];
	struct memory_books memory;
	struct memory_needs needs;
	struct device_books devices;
	struct device_demand *demands; /* sorted by resource */
	size_t n_demands;
	struct request_peak *peaks; /* scratch: per resource */
	bool *requested;            /* scratch: per resource */
	struct topology_hints hints;
	struct topology_merge merge;
	struct kubelet_placement *placements;
	size_t placements_size;
	bool *cpus; /* the CPU sets of the placements with exclusive CPUs */
	size_t cpus_size;
};

struct kubelet_workspace *kubelet_workspace_new(const struct kubelet *k);
void kubelet_workspace_freep(struct kubelet_workspace **pointer);

/*
 * The verdict on one pod. `qos` is the pod's class (if unknown, so is the answer, unless the pod requests devices
 * alone). *ret points into the workspace and is valid until the workspace's next use. Allocates nothing, except for
 * a pod with more containers or memory types than any before.
 */
void kubelet_judge(const struct kubelet *k, struct kubelet_workspace *ws, const struct pod_request *pod,
	enum qos_class qos, struct kubelet_verdict *ret);

/*
 * Change a verdict that is no rejection to KUBELET_TOO_SLOW if the kubelet needs more time than max_ns; 0 = no limit. The time may be known of an
 * unknown verdict. The placements stay. Pods
 * that are on their way to the node already are judged without this limit, because the kubelet admits them in the end.
 */
void kubelet_limit_time(struct kubelet_verdict *verdict, uint64_t max_ns);

/*
 * The verdict on a pod that arrives after the pod that this workspace judged last. The earlier pod was admitted and is still on the node,
 * and none of its init containers has finished.
 */
void kubelet_judge_next(const struct kubelet *k, struct kubelet_workspace *ws, const struct pod_request *pod,
	enum qos_class qos, struct kubelet_verdict *ret);

/* What the state files of a restarted kubelet list for a running pod. Borrowed. */
struct kubelet_held {
	/* Per container of the pod: what the container holds; NULL = the files do not name the container. */
	const struct allocation *const *containers;
	/* The CPU manager's file was read: CPUs that the files list for several containers are listed with the last one. */
	bool cpus_complete;
	/* The manager's file was kept; without the file the manager assigns anew. Devices are always kept. */
	bool cpus, memory;
};

/*
 * The verdict on a running pod that a restarted kubelet admits again. The device plugins may register before
 * or after the admission; if the answer depends on the order, the answer is unknown. Placements have only
 * CPUs and memory that are assigned anew.
 */
void kubelet_judge_again(const struct kubelet *k, struct kubelet_workspace *ws, const struct pod_request *pod,
	enum qos_class qos, const struct kubelet_held *held, struct kubelet_verdict *ret);

/*
 * Whether a device (by its position in resource `r` of the node's inventory) is held after the pods that this
 * workspace has judged.
 */
bool kubelet_device_taken(
	const struct kubelet *k, const struct kubelet_workspace *ws, size_t r, size_t device);

/*
 * The allocatable free CPUs of each NUMA node after the pods that this workspace has judged: ret[i] belongs to the
 * NUMA node k->topology.levels[CPU_LEVEL_NUMA].ids[i]. All 0 without the static policy, and if no
 * verdict is possible.
 */
void kubelet_free_cpus(const struct kubelet *k, struct kubelet_workspace *ws, size_t *ret);

/*
 * The NUMA nodes, by id, of the CPUs and memory that the kubelet would assign to the pod of this verdict; for
 * a pod with devices only, the merged hint. Meaningless for a pod without devices, assigned CPUs and assigned
 * memory.
 */
uint64_t kubelet_assigned_nodes(
	const struct kubelet *k, const struct pod_request *pod, const struct kubelet_verdict *v);

/* guaranteedCPUs(): the number of the container's exclusive CPUs; 0 = it runs in the shared pool. */
size_t kubelet_exclusive_cpus(const struct container_request *container, enum qos_class qos);

/* podGuaranteedCPUs(): the most exclusive CPUs that the pod's containers hold at one time. */
size_t kubelet_pod_exclusive_cpus(const struct pod_request *pod, enum qos_class qos);

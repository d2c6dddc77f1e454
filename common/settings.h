/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * settings: the effective settings of the kubelet: policies, options, scope and reservations. Every value may
 * be unknown; unknown is never the same as "none". Depends on common/ only.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/cpuset.h"
#include "common/err.h"
#include "common/policy_options.h"
#include "common/resource.h"
#include "common/vec.h"

enum cpu_manager_policy {
	CPU_MANAGER_UNKNOWN,
	CPU_MANAGER_NONE,
	CPU_MANAGER_STATIC,
	CPU_MANAGER_POLICY_COUNT
};

enum memory_manager_policy {
	MEMORY_MANAGER_UNKNOWN,
	MEMORY_MANAGER_NONE,
	MEMORY_MANAGER_STATIC,
	MEMORY_MANAGER_POLICY_COUNT
};

enum topology_manager_policy {
	TOPOLOGY_MANAGER_UNKNOWN,
	TOPOLOGY_MANAGER_NONE,
	TOPOLOGY_MANAGER_BEST_EFFORT,
	TOPOLOGY_MANAGER_RESTRICTED,
	TOPOLOGY_MANAGER_SINGLE_NUMA_NODE,
	TOPOLOGY_MANAGER_POLICY_COUNT
};

enum topology_manager_scope {
	TOPOLOGY_SCOPE_UNKNOWN,
	TOPOLOGY_SCOPE_CONTAINER,
	TOPOLOGY_SCOPE_POD,
	TOPOLOGY_SCOPE_COUNT
};

/* The kubelet's spellings ("static", "Static", "best-effort", "container"); index 0 is "unknown". */
extern const char *const cpu_manager_policy_names[CPU_MANAGER_POLICY_COUNT];
extern const char *const memory_manager_policy_names[MEMORY_MANAGER_POLICY_COUNT];
extern const char *const topology_manager_policy_names[TOPOLOGY_MANAGER_POLICY_COUNT];
extern const char *const topology_manager_scope_names[TOPOLOGY_SCOPE_COUNT];

/* Position of `text` in a table of `count` names (case-sensitive; index 0 never matches), or -1. */
int settings_name_index(const char *const *names, size_t count, const char *text);

#define POLICY_OPTION_MEMBER(type, member, ...) type member;

/* cpuManagerPolicyOptions of the static policy. */
struct cpu_manager_options {
	CPU_MANAGER_OPTIONS(POLICY_OPTION_MEMBER)
};

/*
 * The Topology Manager's option numa-allocation-strategy, as KEP-6007 proposes it: which of equally good combinations of NUMA nodes
 * the kubelet chooses. Set by simulations only.
 */
enum numa_allocation_strategy {
	NUMA_ALLOCATION_NONE, /* the lowest ids, as all kubelets do without the option */
	NUMA_ALLOCATION_MOST, /* the nodes of which the most is allocated */
	NUMA_ALLOCATION_LEAST,
	NUMA_ALLOCATION_COUNT
};

extern const char *const numa_allocation_names[NUMA_ALLOCATION_COUNT]; /* "none", "most-allocated", ... */

struct topology_manager_config {
	enum topology_manager_policy policy;
	enum topology_manager_scope scope;
	TOPOLOGY_MANAGER_OPTIONS(POLICY_OPTION_MEMBER)
};

#undef POLICY_OPTION_MEMBER

/* Memory or hugepages reserved on one NUMA node (reservedMemory). */
struct memory_reservation {
	unsigned node;
	char *type; /* "memory", "hugepages-1Gi" */
	qty_t bytes;
};

/* The index of settings.from[] and of settings_table[]. */
enum setting {
	SETTING_CPU_MANAGER_POLICY,
	SETTING_CPU_MANAGER_POLICY_OPTIONS,
	SETTING_MEMORY_MANAGER_POLICY,
	SETTING_TOPOLOGY_MANAGER_POLICY,
	SETTING_TOPOLOGY_MANAGER_SCOPE,
	SETTING_TOPOLOGY_MANAGER_POLICY_OPTIONS,
	SETTING_RESERVED_SYSTEM_CPUS,
	SETTING_KUBE_RESERVED,
	SETTING_SYSTEM_RESERVED,
	SETTING_EVICTION_HARD,
	SETTING_RESERVED_MEMORY,
	SETTING_FEATURE_GATES,
	SETTING_COUNT
};

/*
 * A kubelet's release: 1.`minor`, or a pre-release of it. Patch numbers are not kept, because patch releases decide alike. Zeroed is
 * unknown.
 */
struct kubelet_release {
	unsigned minor;
	/* Pre-releases in their order, KUBELET_ALPHA + N for alpha.N; 0 = not a pre-release. */
	unsigned prerelease;
};

#define KUBELET_ALPHA 1000u
#define KUBELET_BETA  2000u
#define KUBELET_RC    3000u

#define KUBELET_RELEASE_TEXT_MAX 32u

#define KUBELET_ROOT "/var/lib/kubelet" /* the kubelet's default --root-dir */

struct settings {
	enum cpu_manager_policy cpu_manager;
	struct cpu_manager_options cpu_options;
	enum memory_manager_policy memory_manager;
	struct topology_manager_config topology;
	hwloc_bitmap_t reserved_system_cpus; /* reservedSystemCPUs; NULL = not set */
	bool reserved_known; /* kubeReserved and systemReserved are known (possibly 0): CPUs and memory */
	bool started;        /* a kubelet runs: it has been started, with these settings as far as is known */
	/* A flag of nrtd names the setting: the settings from other sources may be of a kubelet with another value. */
	bool assumed[SETTING_COUNT];
	qty_t kube_reserved_cpu, system_reserved_cpu; /* nano-CPUs; the kubelet reserves the sum's ceiling */
	qty_t kube_reserved_memory, system_reserved_memory; /* bytes (nano-units) */
	char *eviction_hard_memory; /* memory.available as written ("100Mi", "5%"); NULL = unknown */
	struct memory_reservation *memory_reservations;
	size_t n_memory_reservations;
	size_t memory_reservations_size;
	unsigned kubelet_minor;      /* the kubelet's release is 1.N; 0 = unknown */
	unsigned kubelet_prerelease; /* of this release; see struct kubelet_release */
	char *cpu_options_text; /* "full-pcpus-only=true,..." sorted by key; NULL = none set or unknown */
	char *topology_options_text; /* the same for topologyManagerPolicyOptions */
	char *feature_gates_text;    /* the same for featureGates */
	/* The first enabled option of each policy that nrtd does not know; NULL = none. */
	char *unknown_cpu_option, *unknown_topology_option;
	/* The first enabled feature gate, of those whose names are about what the kubelet's managers do, and the first configuration
	 * field, that no compared kubelet release has. A compared kubelet ignores the field; the kubelets of some distributions have such
	 * gates or ignore them, and others do not start. NULL = none. */
	char *unknown_feature_gate, *unknown_field;
	struct strv fields; /* the names of the configuration's fields */
	/* Per setting, what the kubelet refuses and no other member keeps: a resource that cannot be reserved, a feature gate. NULL =
	 * nothing. */
	char *refused[SETTING_COUNT];
	char *from[SETTING_COUNT]; /* "--reserved-cpus of nrtd", "kubelet default", a path; NULL = unknown */
};

void settings_init(struct settings *s);
void settings_release(struct settings *s);

/* Remove all of memory_reservations. */
void settings_remove_reservations(struct settings *s);

/* `to` must be empty. */
void settings_copy(const struct settings *from, struct settings *to);

void settings_set_kubelet(struct settings *s, struct kubelet_release release);
struct kubelet_release settings_kubelet(const struct settings *s);

/*
 * Parses a Kubernetes version ("1.35", "v1.35.4", "v1.34.1-eks-113cf36", "v1.38.0-beta.0"). A build between two pre-releases
 * ("v1.38.0-beta.0.12+b2a4f7d") counts as the later of them. 0; -EINVAL (not a release 1.x); *ret is untouched on failure.
 */
int kubelet_release_parse(const char *text, struct kubelet_release *ret, struct err *err);

/* "1.35", "1.38.0-beta.0"; "" if unknown. */
void kubelet_release_print(struct kubelet_release release, char ret[KUBELET_RELEASE_TEXT_MAX]);

/* "alpha.N", "beta.N", "rc.N", the text of struct kubelet_release.prerelease. The number, or 0 with *end == text for another text. */
unsigned kubelet_prerelease_parse(const char *text, const char **end);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads NodeResourceTopology objects into node states, each with the basis of the verdicts on it.
 */
#include <stdint.h>

#include "cluster/objects/object_input.h"
#include "common/doc.h"
#include "common/err.h"
#include "common/hash.h"
#include "common/node_state.h"
#include "common/pod_fingerprint.h"
#include "scoring/node/pod_names.h"

/* The basis of the verdicts on a node. */
enum cluster_basis {
	CLUSTER_UNKNOWN,   /* nothing: verdicts are unknown */
	CLUSTER_ESTIMATED, /* the zones */
	CLUSTER_EXACT,     /* the node's own state, nrtd.dev/node-state */
	CLUSTER_BASIS_COUNT
};

extern const char *const cluster_basis_names[CLUSTER_BASIS_COUNT]; /* "unknown", "estimated", "exact" */

struct cluster_node {
	/*
	 * Contains the node's name. Whatever the basis, the inventory is that of the object's zones, in the
	 * zones' order, as the scheduler plugins read the zones.
	 */
	struct node_state state;
	enum cluster_basis basis;
	bool has_release;      /* the object has the kubelet's release */
	struct err why;        /* why the basis is not exact; "" if it is exact */
	bool unreadable_state; /* the object has a node state that cannot be read, which deserves a warning */
	enum cpu_manager_policy
		cpu_manager;     /* attribute cpuManagerPolicy, unknown if the exporter does not publish it */
	char *exporter;          /* "" = not known */
	int64_t written_s;       /* the object's last write, in seconds since the epoch; 0 = not known */
	int64_t zones_written_s; /* cluster_zones_written_s() */
	int64_t created_s;       /* object_created_s() */
	/* Of the pods that the zones count; FINGERPRINT_NONE: not known. Of an object without node state. */
	enum fingerprint_method fingerprint_method;
	char fingerprint[FINGERPRINT_SIZE];
	bool zones_count_no_pods; /* the exporter never subtracts what pods hold from the zones */
	const struct doc *object; /* borrowed while cluster_nodes_each() calls its function, else NULL */
};

void cluster_node_release(struct cluster_node *n);

/*
 * Reads an object of any exporter, v1alpha1 or v1alpha2. 0; -EINVAL with one line that names the node: no
 * name, or an object that nrt_inventory() rejects; -ERANGE. `ret` is untouched on failure, else to be
 * released.
 */
int cluster_node_read(const struct doc *object, struct cluster_node *ret, struct err *err);

/* Sets the kubelet's release unless the object has it: nrtd on a node without access to its Node does not know the release. */
void cluster_node_set_release(struct cluster_node *n, struct kubelet_release release);

/*
 * When the field manager that owns the object's zones last wrote them, according to metadata.managedFields:
 * seconds since the epoch, by the API server's clock; 0 = not known. Other managers' writes, such as labels,
 * do not count.
 */
int64_t cluster_zones_written_s(const struct doc *object);

/*
 * Removes pods as if they had ended, and rebuilds the zones' amounts. Only an exact node's pods are known;
 * other nodes do not change.
 */
void cluster_node_exclude(struct cluster_node *n, struct excluded_pods *excluded);

/*
 * Reads an object for a picture of the node. With a node state (*ret_basis is CLUSTER_EXACT): the state and inventory as on the node itself. Else
 * only what the zones contain, zone_state_known(). Adds what the object does not contain to `notes`. 0; -EINVAL or
 * -ERANGE with one line, as cluster_node_read() and zone_state_make(), or -EINVAL for a negative amount. `ret` is
 * untouched on failure.
 */
int cluster_node_read_picture(const struct doc *object, struct node_state *ret, enum cluster_basis *ret_basis,
	struct notes *notes, struct err *err);

/* Called with one node, from which it may move content. 0, or -errno, which ends the reading. */
typedef int cluster_node_fn(struct cluster_node *node, void *data, struct err *err);

/*
 * Calls `fn` for each NodeResourceTopology object of the source, in order. Skips unreadable objects, with a
 * warning for each of the first three and one warning for all others. -EINVAL if every object was skipped;
 * else as the source.
 */
int cluster_nodes_each(const struct object_reader *reader, cluster_node_fn *fn, void *data, struct err *err);

/* ---- estimated states (zone_state.c) */

/* What an object without a node state contains. */
struct zone_facts {
	struct inventory *inventory; /* the Node zones and the effective Topology Manager settings */
	const struct topology_manager_config *topology; /* the kubelet's; NULL = those of the inventory */
	enum cpu_manager_policy cpu_manager;            /* or unknown */
	bool full_pcpus_only;
	enum memory_manager_policy memory_manager; /* or unknown */
};

#define ZONE_STATE_MAX_DEVICES 65536 /* in all zones */

/*
 * Makes a node state that would produce these zones, for objects without nrtd.dev/node-state. Verdicts on
 * such a state are estimates.
 *
 * Each CPU is a core (two CPUs under full-pcpus-only), each NUMA node a socket. A zone's devices have
 * affinity to that NUMA node only. As many CPUs, bytes and devices are free as the zones have available, with
 * invented ids; one container without a name holds all other allocatable CPUs,
 * memory and devices. Zones without resources
 * are omitted, because they only fill gaps in the ids. The kubelet is of the newest release and reserves what
 * is not allocatable.
 *
 * An unknown CPU manager policy becomes static if the Topology Manager aligns or full-pcpus-only is set, else
 * none. An unknown memory manager policy becomes Static if a zone has memory or hugepages that are not
 * available: Static requires a reservation, and no other policy subtracts memory from a zone.
 *
 * The inventory moves to `ret`. 0; -EINVAL (a NUMA node appears twice) or -ERANGE (more than MACHINE_MAX_CPUS
 * CPUs or ZONE_STATE_MAX_DEVICES devices), with one line. `ret` and the inventory are untouched on failure.
 */
int zone_state_make(
	const char *node_name, const struct zone_facts *facts, struct node_state *ret, struct err *err);

/*
 * Makes a node state with only what the zones contain: NUMA nodes, amounts, distances, the CPU and memory
 * manager's policies; CPUs if the zones in `zones` have the attribute "cpus", and sockets if their parents
 * are named "socket-N". Cores are unknown. The inventory's rows are those of the machine. Errors as
 * zone_state_make(), and -EINVAL for a negative amount or an invalid CPU list, -ERANGE for a CPU id of
 * MACHINE_MAX_CPUS or above.
 */
int zone_state_known(const char *node_name, const struct zone_facts *facts, const struct doc *zones,
	struct node_state *ret, struct err *err);

/* The object's nrtd.dev/content-hash, else a hash over attributes, policies and zones. 0; -errno. */
int cluster_content_hash(const struct doc *object, char ret[HASH_TEXT_SIZE]);

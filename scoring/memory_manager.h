/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The kubelet's memory manager, policy Static (pkg/kubelet/cm/memorymanager/policy_static.go, 1.36.2):
 * topology hints and allocation of memory and hugepages, including groups of NUMA nodes. Amounts are bytes.
 * Depends on common/ and scoring/ only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/allocation.h"
#include "common/request.h"
#include "scoring/kubelet_version.h"
#include "scoring/node_mask.h"
#include "scoring/request.h"
#include "scoring/topology_manager.h"

struct memory_amount {
	uint64_t allocatable, free;
};

/* The use of a NUMA node. */
struct memory_use {
	unsigned assignments; /* containers x types */
	uint64_t cells;       /* the group of NUMA nodes that the node belongs to */
};

/* Memory of finished init containers that the rest of their pod can reuse. */
struct memory_reuse {
	uint64_t nodes; /* exactly these */
	size_t type;
	uint64_t bytes;
};

/* The manager's books: the state of all memory at some moment. */
struct memory_books {
	struct memory_amount *amounts; /* [node][type] */
	struct memory_use *use;        /* [node] */
	struct memory_reuse *reuse;
	size_t n_reuse;
	size_t reuse_size;
	unsigned char *fits; /* scratch: per set of nodes */
};

struct memory_manager {
	uint64_t nodes; /* ids; position = rank among them */
	size_t n_nodes, n_types;
	const char **types;   /* names, the state's, sorted */
	uint64_t *nodes_with; /* [n_types] the nodes that have the type */
	struct kubelet_version version;
	struct memory_books now;
};

/*
 * Initialize from the kubelet's machine state, which must outlive the manager. Returns 0; -ERANGE when an
 * id exceeds NODE_MASK_MAX_ID. A type that a node does not have counts as 0 there.
 */
int memory_manager_init(
	struct memory_manager *mm, const struct memory_state *state, const struct kubelet_version *version);
void memory_manager_release(struct memory_manager *mm);

/* A copy of the books to allocate in. */
void memory_books_init(struct memory_books *books, const struct memory_manager *mm);
void memory_books_release(struct memory_books *books);

/* Reset the books to the manager's state. */
void memory_books_reset(struct memory_books *books, const struct memory_manager *mm);

/* Continue with another pod, which has no memory to reuse. */
void memory_books_begin_pod(struct memory_books *books);

/*
 * Allocate space for the reusable memory of a container with `n_needs` needs. Call this before the
 * container's allocation.
 */
void memory_books_reserve(struct memory_books *books, size_t n_needs);

/* What a container or pod requests, one item per type. */
struct memory_need {
	const char *name; /* borrowed from the request */
	size_t type;      /* position in types[]; n_types if no node has the type */
	uint64_t bytes;
	size_t container; /* of a pod's needs: the first app container that names it; else the number of containers */
};

struct memory_needs {
	struct memory_need *items;
	size_t n_items;
	size_t items_size;
	struct request_entries entries; /* scratch */
};

void memory_needs_release(struct memory_needs *needs);

/*
 * The needs of one container: memory and hugepages of its requests. Returns 0; -EINVAL when an amount is
 * not a whole number of bytes (the kubelet does not admit such a Guaranteed pod).
 */
int memory_needs_of_container(const struct memory_manager *mm, const struct container_request *container,
	struct memory_needs *ret_needs);

/*
 * The needs of a pod in scope pod: for each type that an app container requests, the most that is held at
 * one time. From 1.38 on also for each type that only init containers and sidecars request. Returns as above.
 */
int memory_needs_of_pod(
	const struct memory_manager *mm, const struct pod_request *pod, struct memory_needs *ret_needs);

/*
 * A requested type that some of the nodes do not have (*ret_node: the first of these), or NULL. The kubelet panics when it
 * looks up such a type: calculateHints() on all nodes, Allocate() on the hint's nodes (DEFECTS.md, K8).
 */
const char *memory_manager_missing(const struct memory_manager *mm, const struct memory_needs *needs,
	uint64_t nodes, unsigned *ret_node);

/*
 * calculateHints(): the list is the same for each requested type. An empty list means "no preference" to
 * the kubelet, which then rejects the pod when it allocates; this module does the same. At most
 * NODE_MASK_WALK_MAX nodes.
 */
void memory_manager_hints(const struct memory_manager *mm, const struct memory_books *books,
	const struct memory_needs *needs, struct topology_hints *ret_hints);

/* The amounts of one type (a position in types[]; 0 for n_types), summed over the nodes of a mask. */
struct memory_amount memory_manager_sum(
	const struct memory_manager *mm, const struct memory_books *books, size_t type, uint64_t mask);

/* Score the hints by the assigned memory of this type on their nodes (topology_hints_score()). */
void memory_manager_score(const struct memory_manager *mm, const struct memory_books *books, size_t type,
	struct topology_hints *hints);

struct node_mask_fit memory_manager_fit(
	const struct memory_manager *mm, const struct memory_books *books, const struct memory_need *need);

/*
 * Whether the hint's nodes have enough free memory; if not, memory_manager_allocate() makes all hints to
 * find other nodes.
 */
bool memory_manager_suffices(const struct memory_manager *mm, const struct memory_books *books,
	const struct memory_needs *needs, struct topology_hint hint);

enum memory_take_status {
	MEMORY_TAKE_OK,
	MEMORY_TAKE_NO_NODES,      /* no combination of NUMA nodes has enough */
	MEMORY_TAKE_NOT_PREFERRED, /* the hint is preferred, the best hint with enough memory is not */
	MEMORY_TAKE_GROUPED        /* the nodes belong to other groups */
};

/*
 * Allocate(): charge the needs to the hint's nodes, or if these do not suffice to the best nodes that
 * include them. An ordinary init container leaves its memory for reuse, other containers consume it. The
 * books change only on MEMORY_TAKE_OK; *ret_nodes is then where the memory is (0 without needs, which a
 * Guaranteed pod always has). `hints` is scratch. Allocates nothing.
 */
enum memory_take_status memory_manager_allocate(const struct memory_manager *mm, struct memory_books *books,
	const struct memory_needs *needs, struct topology_hint hint, enum container_kind kind,
	struct topology_hints *hints, uint64_t *ret_nodes);

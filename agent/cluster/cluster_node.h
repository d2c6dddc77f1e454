/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One node of a cluster, as its NodeResourceTopology object shows it: what schedulers and its kubelet are asked with.
 */
#include <stdint.h>

#include "agent/base/doc.h"
#include "agent/state/pod_names.h"
#include "common/err.h"
#include "common/node_state.h"

/* What the kubelet's answers rest on. */
enum cluster_basis {
	CLUSTER_UNKNOWN,   /* nothing: it has no answer */
	CLUSTER_ESTIMATED, /* the zones */
	CLUSTER_EXACT,     /* the node's own state, nrtd.dev/node-state */
	CLUSTER_BASIS_COUNT
};

extern const char *const cluster_basis_names[CLUSTER_BASIS_COUNT]; /* "unknown", "estimated", "exact" */

struct cluster_node {
	/* The node's name; its inventory is that of the zones in the object's order, as the scheduler plugins read
	 * it, also where the rest is exact. */
	struct node_state state;
	enum cluster_basis basis;
	struct err why; /* of a basis that is not exact; else "" */
	bool odd;       /* the object has a node state that cannot be read: worth a warning */
	/* The attribute cpuManagerPolicy, unknown where the exporter does not publish it. */
	enum cpu_manager_policy cpu_manager;
	char *exporter;    /* "" = not known */
	int64_t written_s; /* when the object was last written, in seconds since the epoch; 0 = not known */
	int64_t zones_written_s; /* when the owner of its zones last wrote it: cluster_zones_written_s() */
};

void cluster_node_release(struct cluster_node *n);

/*
 * Of an object of any exporter, v1alpha1 or v1alpha2. 0; -EINVAL with one line that names the node (no name, what
 * nrt_inventory() refuses); -ERANGE. `ret` is untouched on failure, else to be released.
 */
int cluster_node_read(const struct doc *object, struct cluster_node *ret, struct err *err);

/* When the field manager that owns the object's zones last wrote them, by metadata.managedFields: seconds since the epoch, by
 * the API server's clock; 0 = not known. A label that somebody else sets does not count. */
int64_t cluster_zones_written_s(const struct doc *object);

/*
 * Take pods out as if they had ended, and count the zones again. Only an exact node is known to hold something of a pod;
 * others stay as they are.
 */
void cluster_node_without(struct cluster_node *n, struct excluded_pods *gone);

/* Called with one node, which it may take parts away from. 0, or -errno that ends the reading. */
typedef int cluster_node_fn(struct cluster_node *node, void *data, struct err *err);

/* Call `fn` for each object of the file, directory or standard input ("-"), one at a time, in their order. Objects
 * that cannot be read are skipped, with a warning for each of the first few and one for the rest. Returns -EINVAL when every
 * object was skipped, else as object_input_read(). */
int cluster_nodes_each(const char *path, cluster_node_fn *fn, void *data, struct err *err);

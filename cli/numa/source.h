/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads a cluster's objects for kubectl-numa, from the API server or from the files of --from.
 */
#include "cli/opts.h"
#include "cluster/constraints/scheduling_constraints.h"
#include "cluster/model/cluster.h"
#include "cluster/objects/claim_devices.h"
#include "cluster/objects/cluster_node.h"
#include "cluster/objects/object_input.h"
#include "common/kube/api_client.h"

struct source;

/*
 * Opens the source that the command's flags name. The command's arguments from index `first_node` on are the names of nodes;
 * objects of other nodes are omitted. Sends no request yet. The caller closes *ret with source_close(). 0; -ENOTCONN with one
 * line for bad credentials; other errors of credentials_new().
 */
int source_open(const struct options *options, size_t first_node, struct source **ret, struct err *err);
void source_close(struct source *s);

/*
 * For a command that reads repeatedly, and whose arguments are all names of nodes: opens *s as source_open() if it is
 * NULL. Otherwise forgets what was read, and keeps the connection and the credentials, which renew themselves.
 */
int source_begin(const struct options *options, struct source **s, struct err *err);

static inline void source_closep(struct source **s)
{
	source_close(*s);
	*s = NULL;
}

/*
 * The exit status of a command that failed with `r`: EXIT_USAGE for wrong usage (-EINVAL) and for files that cannot be read,
 * EXIT_FAILURE for an API server that cannot be reached, denies a request or lacks an object.
 */
int source_exit_status(const struct options *options, int r);

/* The node, if the command names exactly one; else NULL. */
const char *source_node(const struct source *s);

/* The name of the API server's cluster in the kubeconfig; NULL = unknown, or the source is files. Valid until the next request. */
const char *source_cluster(const struct source *s);

/* The file or directory of --from, as messages name it; "--from" for several. NULL = the source is the API server. */
const char *source_file(const struct source *s);

/* The namespace of --namespace, else of the kubeconfig's context, else "default". */
const char *source_namespace(const struct source *s);

/* Tells on standard error, as kubectl does, that a list is empty. `namespace`: NULL = of all namespaces, or nodes. */
void source_no_resources(const char *namespace);

/* The client of the API server; NULL if the source is files. */
struct api_client *source_client(const struct source *s);

/* A reader of the source, which must outlive the reader. */
struct object_reader source_reader(struct source *s);

/*
 * Calls `fn` for each NodeResourceTopology object, as cluster_nodes_each(). Logs a warning for nodes whose node state cannot be
 * read. -ENOENT with one line if a node that the command names has no object.
 */
int source_each_node(struct source *s, cluster_node_fn *fn, void *data, struct err *err);

/*
 * Adds the Nodes and Pods to the cluster, and to the constraints (NULL = none). Adds nothing with --objects-only. Kinds that the API
 * server denies are omitted, with a warning. Omits the pods of `excluded` (NULL = none), on the node that the command names, and adds the
 * names of their nodes to `excluded`. 0; -EINVAL with one line for an invalid object.
 */
int source_fill_cluster(struct source *s, struct cluster *cluster, struct scheduling_constraints *constraints,
	struct excluded_pods *excluded, struct err *err);

/* Whether the command is about the node. A node that the command names counts as found. */
bool source_selects_node(struct source *s, const char *name);

/*
 * After source_each_node() with a function that drops each object: appends the names of the Nodes of the cluster that the command's flags
 * select and that have no object, in natural order.
 */
void source_nodes_without_object(struct source *s, const struct cluster *cluster, struct strv *ret);

/* As source_nodes_without_object(), for a command that has not read the Nodes: reads them. If the API server denies that, *ret stays
 * empty, with a warning. */
int source_read_nodes_without_object(struct source *s, struct strv *ret, struct err *err);

/* Calls `fn` for each Node and Pod. Kinds that the API server denies are omitted, with a warning. */
int source_read_nodes_and_pods(struct source *s, object_fn *fn, void *data, struct err *err);

/*
 * Calls `fn` for each Pod of the namespace (NULL = all) that --pod-selector selects and that has not ended. A denied list is
 * omitted, with a warning. 0; -EINVAL with one line for a bad selector.
 */
int source_read_pods(struct source *s, const char *namespace, object_fn *fn, void *data, struct err *err);

/* Reads the cluster's ResourceClaims and ResourceSlices. If the API server denies or does not know them, they are omitted, with a
 * warning. `ret` is zeroed. */
int source_read_claims(struct source *s, struct claim_devices *ret, struct err *err);

/*
 * The Pod of this name: "NAME", "NAMESPACE/NAME", or either after "pod/". -ENOENT: there is none; -EINVAL: files have several, in different
 * namespaces, or the word is none of these names.
 */
int source_pod(struct source *s, const char *word, struct doc *ret, struct err *err);

/* The NodeResourceTopology object of the named node, or of the only one. -ENOENT, -EINVAL with one line. */
int source_nrt(struct source *s, struct doc *ret, struct err *err);

/*
 * Calls `fn` for the node that the command names, for all Pods that are or were on it, also ended ones, for Events about the Node, and
 * for Events of kubelets about pods. From files it also delivers other objects of these kinds. Kinds that the API server denies are
 * omitted, with a warning. *ret_events: Events were read. -ENOENT with one line if there is no such node.
 */
int source_read_history(struct source *s, object_fn *fn, void *data, bool *ret_events, struct err *err);

/* A reader of the pod's Events. From files it also delivers other Events. */
struct object_reader source_events(struct source *s, const char *namespace, const char *pod);

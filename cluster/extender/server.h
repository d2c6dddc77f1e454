/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Serves scheduler requests from the cluster: locking, readiness, forwarding and metrics.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/extender/metrics.h"
#include "cluster/extender/nominations.h"
#include "cluster/extender/verbs.h"
#include "cluster/extender/work_limit.h"
#include "cluster/model/cluster.h"
#include "common/doc.h"
#include "common/err.h"
#include "common/kube/lease.h"
#include "common/strbuf.h"

struct server_config {
	struct verb_config verbs;
	struct cluster_config cluster;
	uint64_t
		max_kubelet_ns; /* nodes whose kubelets need more time for the pod do not pass; 0 = no limit */
	uint64_t max_stale_ms;  /* the cluster is stale if the API server has sent nothing for this time */
	bool stale_open; /* while the cluster is stale, every node passes; false = every request gets an error */
	/* A replica that begins to answer rejects requests for this time: pods that the replica before it has assumed may not
	 * be bound yet. */
	uint64_t takeover_ms;
	bool log_answers; /* log each answer of /filter, and each nomination */
	bool nominate;    /* nodes outside of the scheduler's sample; requires cluster.keep_constraints */
	/* How long a /filter request about a pod's nominated node waits for the deletion of the pod's victims: the scheduler may know of the
	 * deletion a little earlier. */
	uint64_t victims_ms;
	/* CPU time limit of a request for up to WORK_NODES nodes; grows in proportion above. 0 = no limit. */
	uint64_t work_ms;
};

struct server;

/* With a `lease`, which must outlive the server, only the replica that holds the lease answers; other replicas forward requests
 * to the holder. `lease` NULL = no other replicas. Free *ret with server_free(). */
void server_new(const struct server_config *config, const struct lease *lease, struct server **ret);
void server_free(struct server *s);

static inline void server_freep(struct server **s)
{
	server_free(*s);
	*s = NULL;
}

/* Fills the cluster from a file, a directory or standard input instead of an API server. Objects that cannot be read are skipped, unless there is
 * no other. Returns as object_input_read(). */
int server_load(struct server *s, const char *path, struct err *err);

/* ---- updates of the cluster, from any thread. An unreadable object is logged and skipped. */

void server_list_begin(struct server *s, enum object_kind kind);
void server_update(struct server *s, enum object_kind kind, struct doc *object);
void server_delete(struct server *s, enum object_kind kind, const struct doc *object);

/* An object that cannot be parsed was skipped. */
void server_skip(struct server *s, enum object_kind kind, const struct err *why);

/* `version` as for cluster_list_end(). */
void server_list_end(struct server *s, enum object_kind kind, uint64_t version);

/* Notes that the API server has sent something about this kind: the kind's part of the cluster is not stale. */
void server_api_alive(struct server *s, enum object_kind kind);

/* Whether each kind was listed completely at least once. */
bool server_has_lists(struct server *s);

/* Annotations of the Lease that this replica holds: those of extender_record.h. `before`: the annotations that the Lease has,
 * from this replica or an earlier holder; NULL = none. */
void server_annotate_lease(struct server *s, const struct doc *before, struct doc *ret);

/* Sets the identity of the lease's holder ("" = none), and the holder's URL if the holder is another replica (NULL = not
 * known). From any thread. */
void server_set_leader(struct server *s, const char *holder, const char *url);

/* Expires assumed pods and logs changes of readiness. To be called about once a second. */
void server_tick(struct server *s);

/* ---- nominations, for the thread that writes them */

/* Waits for a nomination that this replica is to write. False after `ms`, or when server_end_nominations() has been called. `ret` is to be
 * released. */
bool server_next_nomination(struct server *s, uint64_t ms, struct nomination_write *ret);
void server_end_nominations(struct server *s);

/* As nominations_written(). */
void server_nomination_written(
	struct server *s, const struct nomination_write *w, int status, uint64_t version);

/* Whether the extender may write nominations. */
void server_set_nomination_right(struct server *s, enum nomination_right right);
enum nomination_right server_nomination_right(struct server *s);

/* ---- HTTP */

/* Whether the replica is ready: each kind was listed completely, the replica holds the lease or can forward requests,
 * and the cluster is not stale (unless stale_open is set). Writes the reason to `line`. Never waits for a request. */
bool server_ready(struct server *s, struct strbuf *line);

/* Answers a POST of a verb; returns the HTTP status. */
int server_post(struct server *s, const char *path, const char *body, size_t len, struct strbuf *reply);

/* Prints the metrics. The caller sets the members of `from` about watches and the certificate. 0; -EFBIG of `text`. */
int server_metrics(struct server *s, struct metrics_source *from, struct strbuf *text);

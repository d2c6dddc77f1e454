/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Serves scheduler requests from the cluster: locking, limits, nominations and metrics.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/extender/metrics.h"
#include "cluster/extender/nominations.h"
#include "cluster/extender/replica.h"
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
	struct replica_config replica;
	bool log_answers; /* log each answer of /filter, and each nomination */
	bool nominate;    /* nodes outside of the scheduler's sample */
	/* How long a /filter request about a pod's nominated node waits for the deletion of the pod's victims: the scheduler may know of the
	 * deletion a little earlier. */
	uint64_t victims_ms;
	/* CPU time limit of a request for up to WORK_NODES nodes; grows in proportion above. 0 = no limit. */
	uint64_t work_ms;
};

struct server;

/* `lease` as for replica_init(). Free *ret with server_free(). */
void server_new(const struct server_config *config, const struct lease *lease, struct server **ret);
void server_free(struct server *s);

static inline void server_freep(struct server **s)
{
	server_free(*s);
	*s = NULL;
}

/* Whether the server answers: its readiness, and its lease. Owned by the server. */
struct replica *server_replica(struct server *s);

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

/* Expires assumed pods. To be called about once a second, as replica_tick(). */
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

/* Answers a POST of a verb; returns the HTTP status. Of 307, `reply` is the URL of the leader. The lock is not held while the body is parsed. */
int server_post(struct server *s, const char *path, const char *body, size_t len, struct strbuf *reply);

/* Counts a request that got 403, and logs at most one a minute. As http_callbacks.forbidden. */
void server_forbidden(struct server *s, const char *path, const char *address, const char *problem);

/* Prints the metrics. The caller sets the members of `from` about watches and the certificate. 0; -EFBIG of `text`. */
int server_metrics(struct server *s, struct metrics_source *from, struct strbuf *text);

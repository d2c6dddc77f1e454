/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Decides whether this replica answers requests, by its lists, its lease and the API server's silence.
 *
 * All functions may be called from any thread, and none waits for a request.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "cluster/model/cluster.h"
#include "cluster/objects/extender_record.h"
#include "common/doc.h"
#include "common/kube/lease.h"
#include "common/strbuf.h"

struct replica_config {
	uint64_t max_stale_ms; /* the cluster is stale if the API server has sent nothing for this time */
	bool stale_open; /* while the cluster is stale, every node passes; false = every request gets an error */
	/* A replica that begins to answer rejects requests for this time: pods that the replica before it has assumed may not
	 * be bound yet. */
	uint64_t takeover_ms;
};

struct replica {
	struct replica_config config;
	const struct lease *lease;  /* NULL = no other replicas */
	pthread_mutex_t lock;       /* of all members below */
	bool from_file;             /* there is no API server */
	bool listed[CLUSTER_KINDS]; /* at least one list was complete */
	uint64_t alive_ms[CLUSTER_KINDS];
	struct extender_record record; /* nodes_version: 0 while the Nodes are listed */
	char *holder;                  /* identity of the lease's holder, "" = none; for messages */
	char *url;                     /* of the holder if the holder is another replica; "" = not known */
	uint64_t answers_since_ms;     /* when this replica began to answer; 0 = it does not answer */
	bool was_ready;                /* as last logged */
};

/* With a `lease`, which must outlive the replica, only the replica that holds the lease answers; other replicas forward requests to the
 * holder. */
void replica_init(struct replica *r, const struct replica_config *config, const struct lease *lease);
void replica_release(struct replica *r);

/* The cluster comes from a file: it is complete, and never stale. */
void replica_set_from_file(struct replica *r);

/* ---- what the API server has sent */

void replica_list_begin(struct replica *r, enum object_kind kind);
/* `version` as for cluster_list_end(). */
void replica_list_end(struct replica *r, enum object_kind kind, uint64_t version);
/* The version of a Node that a watch has delivered. The objects of a list have versions in any order. */
void replica_note_version(struct replica *r, enum object_kind kind, uint64_t version);
/* Notes that the API server has sent something about this kind: the kind's part of the cluster is not stale. */
void replica_note_alive(struct replica *r, enum object_kind kind);

/* Whether each kind was listed completely at least once. */
bool replica_has_lists(struct replica *r);

/* ---- the lease */

/* Annotations of the Lease that this replica holds: those of extender_record.h. `before`: the annotations that the Lease has,
 * from this replica or an earlier holder; NULL = none. */
void replica_annotate_lease(struct replica *r, const struct doc *before, struct doc *ret);

/* Notes a scheduler that has asked; the Lease names it. */
void replica_note_scheduler(struct replica *r, const char *name);

/* Sets the identity of the lease's holder ("" = none), and the holder's URL if the holder is another replica (NULL = not
 * known). */
void replica_set_leader(struct replica *r, const char *holder, const char *url);

/* ---- the decision */

enum replica_role { REPLICA_ANSWERS, REPLICA_FORWARDS, REPLICA_UNAVAILABLE };

/* What the replica does with a request now. Writes to `ret` the URL of the replica that answers, or why nothing is answered. */
enum replica_role replica_role(struct replica *r, struct strbuf *ret);

/* Whether the replica answers or forwards, and the cluster is not stale (unless stale_open is set). Writes the reason to `line`. */
bool replica_ready(struct replica *r, struct strbuf *line);

/* Logs changes of readiness. To be called about once a second. */
void replica_tick(struct replica *r);

/* Whether the cluster is stale and stale_open lets every node pass. */
bool replica_passes_stale(struct replica *r);

/* Whether the API server has sent something about the kind within max_stale_ms. */
bool replica_is_current(struct replica *r, enum object_kind kind);

/* Time since the API server last sent anything about a kind; the maximum over the required kinds. */
uint64_t replica_silence_ms(struct replica *r);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What nrtd keeps true on the API server for its node: the NodeResourceTopology object, Volcano's Numatopology where
 * that is asked for, and the annotations and labels of the Node under nrtd.dev/. A publisher remembers what it last wrote
 * and when; it keeps no queue: the caller calls with its newest state, whenever that may have changed and when the last
 * call asked for it.
 *
 * The objects are written by server-side apply (field manager nrtd, forced: nrtd owns their lists whole; see applied.h) and
 * carry an ownerReference to the Node. A refresh applies them once more: one request both finds and repairs whatever was
 * edited or deleted, and an apply that changes nothing makes the API server write nothing (no new resourceVersion, no
 * event for watchers). Where another program keeps rewriting an object nrtd gives way (contention.h). The Node's metadata
 * is read at the start and at each refresh, and changed by a merge patch that names keys under nrtd.dev/ only, null for
 * those that are to vanish.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/kube/api_client.h"
#include "agent/kube/publish_answer.h"
#include "agent/node/publish/applied.h"
#include "agent/node/publish/publish_doc.h"
#include "common/err.h"

#define PUBLISH_NODE_PATH "/api/v1/nodes/"

/* What a call did. */
struct publish_result {
	enum publish_outcome nrt, node, numatopology;
	bool current;                /* everything wanted is on the API server */
	unsigned kubelet_minor;      /* the Node's kubelet is of release 1.N; 0 = not known */
	int64_t certificate_until_s; /* the client certificate ends, in seconds since 1970; 0 = there is none */
	uint64_t call_again_ms;      /* call at this time at the latest, changed or not (clock of `now_ms`) */
};

struct publisher_options {
	const char *node_name;
	uint64_t
		refresh_ms; /* 0 = 10 min; each is 10 % shorter to 10 % longer by chance, the first any part of it */
	uint64_t node_interval_ms;   /* writes of the Node: so many at once, then one in this time; 0 = 5 s */
	unsigned node_burst;         /* so many; 0 = 12 */
	bool numatopology_if_served; /* write a Numatopology only where the API server knows them */
	uint64_t (*random)(void *data); /* 64 random bits; NULL = the kernel's */
	void *random_data;
	uint64_t (*clock)(void *data); /* milliseconds, as now_ms is; NULL = CLOCK_MONOTONIC */
	void *clock_data;
};

struct publisher;

/* A publisher that knows nothing yet of what is there. `client` must outlive it; the options are copied. *ret
 * is the caller's, to be freed by publisher_free(). 0; -EINVAL for a node name no Node can have. */
int publisher_new(struct api_client *client, const struct publisher_options *options, struct publisher **ret,
	struct err *err);
void publisher_free(struct publisher *p);

static inline void publisher_freep(struct publisher **p)
{
	publisher_free(*p);
	*p = NULL;
}

/*
 * Bring the API server to `request`, as far as rate limits and backoff allow at `now_ms` (a clock that never
 * goes back, CLOCK_MONOTONIC in milliseconds). Blocks for as long as the requests take, 100 s at most. *ret is always filled.
 * 0; -errno when something failed that this call tried, with one line that says
 * what is missing and what to do about it (the caller logs it; the retry is in ret->call_again_ms). A call
 * during a backoff tries nothing and gives 0.
 */
int publisher_publish(struct publisher *p, const struct publish_request *request, uint64_t now_ms,
	struct publish_result *ret, struct err *err);

/* Forget what was written and every rate limit and backoff: the next call reads and writes everything
 * (SIGHUP, the kubelet registered the Node again). Counts stay. */
void publisher_forget(struct publisher *p);

/*
 * Take away what nrtd has put there: the Node's annotations and labels under nrtd.dev/, the NRT object and with
 * `numatopology` the Numatopology, where they are nrtd's and nobody else's. What is not there is fine. 0; -errno with one
 * line.
 */
int publisher_cleanup(struct publisher *p, bool numatopology, struct err *err);

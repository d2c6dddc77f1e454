/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What nrtd keeps true on the API server for its node: the NodeResourceTopology object and the annotations
 * and labels of the Node under nrtd.dev/. A publisher remembers what it last wrote and when; it keeps no
 * queue: the caller calls with its newest state, whenever that may have changed and when the last call asked
 * for it.
 *
 * The object is written by server-side apply (field manager nrtd, forced: nrtd owns its lists whole) and
 * carries an ownerReference to the Node. A refresh applies it once more without looking first: one request
 * both finds and repairs whatever was edited or deleted, and an apply that changes nothing makes the API
 * server write nothing (no new resourceVersion, no event for watchers). The Node's metadata is read at the
 * start and at each refresh, and changed by a merge patch that names keys under nrtd.dev/ only, null for
 * those that are to vanish.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/api_client.h"
#include "agent/doc.h"
#include "common/err.h"

#define PUBLISH_PREFIX    "nrtd.dev/" /* keys of the Node that are ours */
#define PUBLISH_NRT_PATH  "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/"
#define PUBLISH_NODE_PATH "/api/v1/nodes/"
#define PUBLISH_MANAGER   "fieldManager=nrtd"

/* A Node is tens of kilobytes, mostly its status; this has the server send no more than its metadata. */
#define PUBLISH_METADATA_ONLY "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

enum publish_target {
	PUBLISH_NRT,  /* the NodeResourceTopology object */
	PUBLISH_NODE, /* the Node: its uid, its annotations and labels */
	PUBLISH_TARGET_COUNT
};

enum publish_outcome {
	PUBLISH_UNCHANGED,    /* what is there is what is wanted, nothing was sent */
	PUBLISH_DEFERRED,     /* to be written later: rate limit, backoff, or the NRT has to come first */
	PUBLISH_WRITTEN,      /* success */
	PUBLISH_UNREACHABLE,  /* no answer: refused, reset, no route, no such name, bad certificate */
	PUBLISH_TIMEOUT,      /* no answer in time */
	PUBLISH_CONFLICT,     /* 409, 410 */
	PUBLISH_THROTTLED,    /* 429 */
	PUBLISH_SERVER_ERROR, /* 5xx */
	PUBLISH_UNAUTHORIZED, /* 401: not known to the server, or credentials that cannot be had */
	PUBLISH_FORBIDDEN,    /* 403: known, but without the right */
	PUBLISH_NOT_FOUND,    /* 404: the CRD, or the Node, is not there */
	PUBLISH_REJECTED,     /* any other answer: the server does not take the object */
	PUBLISH_CANCELLED,    /* the cancel flag of the client ended the request */
	PUBLISH_FAILED,       /* trouble on our side: no memory, a reply above the cap, a bad request */
	PUBLISH_OUTCOME_COUNT
};

/* "nrt", "node"; "unchanged", "deferred", ...: values of metric labels. */
extern const char *const publish_target_names[PUBLISH_TARGET_COUNT];
extern const char *const publish_outcome_names[PUBLISH_OUTCOME_COUNT];

/* What shall be on the API server. Borrowed for the call. */
struct publish_request {
	const struct doc *nrt;         /* the object as nrt_render() makes it */
	const char *content_hash;      /* of it (nrt_content_hash()) */
	const struct doc *annotations; /* map of strings, keys under nrtd.dev/; NULL = none shall be there */
	const struct doc *labels;      /* the same */
	/* The annotations are for a kubelet of release 1.N: they are held back from a Node that has another.
	 * 0 = for any. */
	unsigned kubelet_minor;
};

/* What a call did. */
struct publish_result {
	enum publish_outcome nrt, node;
	bool current;           /* everything wanted is on the API server */
	unsigned kubelet_minor; /* the Node's kubelet is of release 1.N; 0 = not known */
	uint64_t call_again_ms; /* call at this time at the latest, changed or not (clock of `now_ms`) */
};

struct publisher_options {
	const char *node_name;
	uint64_t refresh_ms;            /* 0 = 10 min; each is 10 % shorter to 10 % longer by chance */
	uint64_t nrt_interval_ms;       /* least time between two writes of the object; 0 = 500 ms */
	uint64_t node_interval_ms;      /* least time between two writes of the Node; 0 = 5 s */
	uint64_t (*random)(void *data); /* 64 random bits; NULL = the kernel's */
	void *random_data;
	uint64_t (*clock)(void *data); /* milliseconds, as now_ms is; NULL = CLOCK_MONOTONIC */
	void *clock_data;
};

struct publisher;

/* A publisher that knows nothing yet of what is there. `client` must outlive it; the options are copied. *ret
 * is the caller's, to be freed by publisher_free(). 0; -EINVAL for a node name no Node can have; -ENOMEM. */
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
 * goes back, CLOCK_MONOTONIC in milliseconds). Blocks for as long as the requests take, at most three of
 * them. *ret is always filled. 0; -errno when something failed that this call tried, with one line that says
 * what is missing and what to do about it (the caller logs it; the retry is in ret->call_again_ms). A call
 * during a backoff tries nothing and gives 0.
 */
int publisher_publish(struct publisher *p, const struct publish_request *request, uint64_t now_ms,
	struct publish_result *ret, struct err *err);

/* Forget what was written and every rate limit and backoff: the next call reads and writes everything
 * (SIGHUP, the kubelet registered the Node anew). Counts stay. */
void publisher_forget(struct publisher *p);

/*
 * Take away what nrtd has put there: the Node's annotations and labels under nrtd.dev/, and the NRT object
 * when nrtd wrote it last (it then has the attribute nrtd.dev/content-hash). What is not there is fine. 0;
 * -errno with one line.
 */
int publisher_cleanup(struct publisher *p, struct err *err);

/* How often each target had each outcome since the start. */
uint64_t publisher_count(const struct publisher *p, enum publish_target target, enum publish_outcome outcome);

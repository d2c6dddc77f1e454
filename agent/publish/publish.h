/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Publishes a node's state to the API server: the NodeResourceTopology object, Volcano's Numatopology object
 * if requested, and the annotations and labels of the Node under nrtd.dev/. When the API server has all of these,
 * the startup taint is removed from the Node. KAI's annotations of pods follow, at a bounded rate. A publisher
 * remembers what it last wrote and when. It has no queue: the caller calls with the newest state whenever that may have
 * changed, and at the time that the last call returned.
 *
 * Objects are written by server-side apply (apply.h: field manager nrtd, forced, because nrtd owns the lists
 * as a whole) with an ownerReference to the Node. A refresh applies them again: one request finds and repairs
 * any edit or deletion, and the API server writes nothing for an apply without changes (no new
 * resourceVersion, no watch event). The Node's metadata is read at the start and at each refresh, and written
 * by a merge patch that contains only keys under nrtd.dev/, with null for removed keys.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/publish/apply.h"
#include "agent/publish/node_event.h"
#include "agent/publish/node_metadata.h"
#include "agent/publish/pod_annotations.h"

#define PUBLISH_NODE_PATH "/api/v1/nodes/"

/* What is to be published. Borrowed for the call. */
struct publish_request {
	const struct doc *nrt;          /* the object of nrt_render(); NULL = another exporter writes it */
	const char *content_hash;       /* of `nrt` (nrt_content_hash()) */
	const struct doc *numatopology; /* the object of numatopology_render(); NULL = none */
	const struct doc *annotations;  /* map of strings with keys under nrtd.dev/; NULL = none */
	const struct doc *labels;       /* the same */
	const struct kai_pods *pods;    /* NULL = no annotations of pods */
	/* All but `pods` are for a kubelet of this release, and are not written if the Node reports another release. Unknown = for
	 * any release. */
	struct kubelet_release kubelet;
	bool release_unknown; /* nor if the Node reports a release */
};

/* The result of a call. */
struct publish_result {
	enum publish_outcome nrt, node, taint, numatopology, pods;
	bool current;                   /* the API server has all that was requested */
	struct kubelet_release kubelet; /* as the Node reports it */
	char rival[80]; /* another program that writes the NodeResourceTopology object; "" = none known */
	/* The text of the node state that the NRT object had before the first write, "" = none; NULL = not known. Valid until
	 * publisher_free(). */
	const char *found_state;
	int64_t certificate_until_s; /* the client certificate expires, in s since 1970; 0 = no certificate */
	uint64_t call_again_ms; /* call again by this time, with or without changes (clock of `now_ms`) */
};

struct publisher_options {
	const char *node_name;
	uint64_t
		refresh_ms; /* 0 = 10 min; varied by +-10 %; the first refresh is after a random part of it */
	uint64_t node_interval_ms; /* rate limit of Node writes: node_burst, then one per interval; 0 = 5 s */
	unsigned node_burst;       /* 0 = 12 */
	bool events;               /* find publish_result.found_state, to report what has changed */
	bool numatopology_if_served;    /* write a Numatopology only if the API server serves them */
	bool keep_taint;                /* do not remove the startup taint */
	uint64_t (*random)(void *data); /* 64 random bits; NULL = backoff_random() */
	void *random_data;
	uint64_t (*clock)(void *data); /* milliseconds, same clock as now_ms; NULL = CLOCK_MONOTONIC */
	void *clock_data;
};

struct publisher;

/* Creates a publisher that knows nothing of the API server's state yet. `client` must outlive the publisher;
 * the options are copied. The caller owns *ret and frees it with publisher_free(). 0; -EINVAL for an invalid
 * Node name. */
int publisher_new(struct api_client *client, const struct publisher_options *options, struct publisher **ret,
	struct err *err);
void publisher_free(struct publisher *p);

static inline void publisher_freep(struct publisher **p)
{
	publisher_free(*p);
	*p = NULL;
}

/*
 * Publishes `request`, as far as rate limits and backoff allow at `now_ms` (milliseconds of CLOCK_MONOTONIC).
 * Blocks while the requests last, at most 100 s. Always fills *ret. 0; -errno if a request of this call
 * failed, with one line that says what is missing and what to do (the caller logs the line;
 * ret->call_again_ms is the time of the retry). A call during a backoff sends nothing and returns 0.
 */
int publisher_publish(struct publisher *p, const struct publish_request *request, uint64_t now_ms,
	struct publish_result *ret, struct err *err);

/*
 * Creates an Event about the Node, as far as rate limits and backoff allow at `now_ms`: ten Events at once, then one per 5 minutes.
 * Call after publisher_publish(), which reads the Node. PUBLISH_DEFERRED: nothing was sent. After an Event that the API server denies
 * or rejects, nothing is sent for an hour. *ret_again_ms: when a call may send something again.
 */
enum publish_outcome publisher_write_event(struct publisher *p, const struct node_event *event,
	uint64_t now_ms, uint64_t *ret_again_ms, struct err *err);

/* Forgets what was written and all rate limits and backoffs: the next call reads and writes everything (after
 * SIGHUP, or when the kubelet has registered the Node again). */
void publisher_forget(struct publisher *p);

/*
 * Removes what nrtd has published: the Node's annotations and labels under nrtd.dev/, the NRT object and,
 * with `numatopology`, the Numatopology object, if only nrtd owns them. Missing objects are no error. 0;
 * -errno with one line.
 */
int publisher_cleanup(struct publisher *p, bool numatopology, struct err *err);

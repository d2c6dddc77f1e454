/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Lists and watches all objects of one kind, in its own thread, and recovers from all failures.
 *
 * Only one object is in memory at a time. The thread runs until it is cancelled. Depends on common/io/json.h
 * and common/kube/api_client.h.
 */
#include <stdint.h>

#include "common/doc.h"
#include "common/err.h"
#include "common/kube/credentials.h"

/*
 * Callbacks, called in the reflector's thread. After a return value of -errno the reflector waits and lists
 * again. A callback may modify the object. Objects of a list have no kind and no apiVersion for built-in
 * kinds, because the API server omits them.
 */
struct reflector_events {
	int (*begin)(void *ctx); /* a list begins; an earlier list may have been aborted */
	int (*object)(void *ctx, struct doc *object);  /* listed, added or modified */
	int (*deleted)(void *ctx, struct doc *object); /* the object's last state */
	/* An object was skipped because it cannot be parsed or is too large. A new list would contain the
	 * same object, so the reflector continues. */
	void (*skip)(void *ctx, const struct err *why);
	/* The list of this resourceVersion is complete: objects not seen since `begin` do not exist. */
	int (*end)(void *ctx, const char *version);
	/* The API server has sent a page, an event, a bookmark, or the start or end of a watch. A healthy API
	 * server does so at least every 90 s. */
	void (*alive)(void *ctx);
};

struct reflector_options {
	const char *path;  /* "/api/v1/pods" */
	const char *query; /* "fieldSelector=...", already escaped; NULL = all objects */
	unsigned page;     /* objects per page; 0 = 500 */
	unsigned watch_s;  /* timeoutSeconds of a watch; 0 = 300 */
	/* A connection without data for this time is closed; 0 = 90 s. Bookmarks arrive every minute. */
	unsigned idle_ms;
	uint64_t (*random)(void); /* for the back-off's jitter; NULL = backoff_random() */
};

struct reflector_counts {
	uint64_t lists;   /* completed */
	uint64_t watches; /* started */
	uint64_t objects; /* delivered by lists */
	uint64_t events;  /* delivered by watches */
	uint64_t bookmarks;
	uint64_t expired; /* 410 Gone, followed by a list */
	uint64_t errors;  /* all other failures */
};

struct reflector;

/*
 * Starts a thread with its own API client and credentials. Copies the options and the callbacks. `ctx` and
 * `cancel` must live until reflector_free(). The caller owns *ret. 0; the errors of credentials_new() and
 * api_client_new(); -errno when no thread can be started.
 */
int reflector_new(const struct reflector_options *options, const struct credentials_options *credentials,
	const struct reflector_events *events, void *ctx, const struct cancel *cancel, struct reflector **ret,
	struct err *err);

/* Waits for the end of the thread; set *cancel first. Accepts NULL. */
void reflector_free(struct reflector *r);

static inline void reflector_freep(struct reflector **r)
{
	reflector_free(*r);
	*r = NULL;
}

/* From any thread. */
void reflector_counts(const struct reflector *r, struct reflector_counts *ret);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * All objects of one kind, listed and watched in a thread of its own. One object is in memory at a time.
 * Whatever happens to the API server or the connection, it goes on until it is cancelled. Depends on
 * agent/base/json_stream.h and agent/publish/api_client.h.
 */
#include <stdatomic.h>
#include <stdint.h>

#include "agent/base/doc.h"
#include "agent/publish/credentials.h"
#include "common/err.h"

/*
 * Called in the reflector's thread. 0, or -errno: then everything is listed again after a while. An object may be
 * taken apart. Those of a list have no kind and no apiVersion where the API server leaves them out, as it does for the
 * kinds of Kubernetes itself.
 */
struct reflector_events {
	int (*begin)(void *ctx); /* a list begins, maybe instead of one that came to no end */
	int (*object)(void *ctx, struct doc *object); /* in the list; later, added or modified */
	int (*gone)(void *ctx, struct doc *object);   /* deleted: as it was last */
	/* An object that cannot be parsed or is too large is passed over. The others are not held up, and the API server is
	 * not asked again: it would send the same. */
	void (*skip)(void *ctx, const struct err *why);
	/* The list of this resourceVersion is complete: what it did not have since `begin` is gone. */
	int (*end)(void *ctx, const char *version);
	void (*alive)(
		void *ctx); /* the API server answered: each page, event and bookmark, each watch that opens or
				     comes to its end; at least every 90 s while it is well */
};

struct reflector_options {
	const char *path;  /* "/api/v1/pods" */
	const char *query; /* "fieldSelector=...", already escaped; NULL = all */
	unsigned page;     /* objects in an answer; 0 = 500 */
	unsigned watch_s;  /* after which the server ends a watch; 0 = 300 */
	unsigned
		idle_ms; /* without a byte, after which it is asked again; 0 = 90 s: a bookmark comes every minute */
	uint64_t (*random)(void); /* for the jitter of waits; NULL = backoff_random() */
};

struct reflector_counts {
	uint64_t lists;   /* complete ones */
	uint64_t watches; /* opened */
	uint64_t objects; /* handed on in lists */
	uint64_t events;  /* handed on of watches */
	uint64_t bookmarks;
	uint64_t expired; /* 410: listed again */
	uint64_t errors;  /* every other attempt that failed */
};

struct reflector;

/*
 * Start it, with a client and credentials of its own. The texts are copied, the functions as well; `ctx` and `cancel`
 * live until reflector_free(). *ret is the caller's. 0; what credentials_new() and api_client_new() return; -errno when
 * no thread can be started.
 */
int reflector_new(const struct reflector_options *options, const struct credentials_options *credentials,
	const struct reflector_events *events, void *ctx, const atomic_bool *cancel, struct reflector **ret,
	struct err *err);

/* Wait for the end of its thread: *cancel is true by then. NULL is fine. */
void reflector_free(struct reflector *r);

static inline void reflector_freep(struct reflector **r)
{
	reflector_free(*r);
	*r = NULL;
}

/* How often what has happened, from any thread. */
void reflector_counts(const struct reflector *r, struct reflector_counts *ret);

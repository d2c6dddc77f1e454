/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The extender without its connections: the cluster cache under a lock, what schedulers are answered from it over HTTP, and
 * whether it may answer at all.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/doc.h"
#include "agent/extender/answer.h"
#include "agent/extender/cluster_cache.h"
#include "agent/extender/lease.h"
#include "common/err.h"
#include "common/strbuf.h"

struct server_config {
	struct answer_config answer;
	struct cache_config cache;
	uint64_t max_stale_ms; /* so long it answers from what it has when the API server is away */
	bool stale_open;       /* after that every node passes; else every question gets an error */
	bool log_answers;      /* a line for each question about a pod */
	/* CPU time that a question about up to SERVER_WORK_NODES nodes may take, and in proportion one about more; 0 = any. */
	uint64_t work_ms;
};

#define SERVER_WORK_NODES 500u

struct server;

/* It answers only while `lease` is held, which outlives it; NULL = always. Meanwhile questions are sent on to who holds it.
 * *ret is the caller's, to be freed by
 * server_free(). 0 or -ENOMEM. */
int server_new(const struct server_config *config, const struct lease *lease, struct server **ret);
void server_free(struct server *s);

static inline void server_freep(struct server **s)
{
	server_free(*s);
	*s = NULL;
}

/* Every NodeResourceTopology, Node and Pod of a file, a directory or standard input, instead of an API server. Returns
 * as object_input_read(). */
int server_load(struct server *s, const char *path, struct err *err);

/* ---- what is known, from any thread. An object that cannot be read is logged and passed over. 0 or -ENOMEM. */

int server_list_begin(struct server *s, enum cache_kind kind);
int server_object(struct server *s, enum cache_kind kind, struct doc *object);
int server_gone(struct server *s, enum cache_kind kind, const struct doc *object);
void server_skip(
	struct server *s, enum cache_kind kind, const struct err *why);        /* one that cannot be parsed */
int server_list_end(struct server *s, enum cache_kind kind, uint64_t version); /* as cache_list_end() */
void server_alive(struct server *s, enum cache_kind kind);                     /* the API server answers */

/* All three lists were complete once: what this replica knows is enough to answer. */
bool server_listed(struct server *s);

/* Who holds the lease ("" = nobody), and where it answers unless that is this replica (NULL = not known). From any thread.
 * 0 or -ENOMEM. */
int server_led_by(struct server *s, const char *holder, const char *url);

/* To be called about once a second: promises end, and a change of readiness is logged. */
void server_tick(struct server *s);

/* ---- what is answered, as struct http_callbacks takes it. The first two never wait for a question. */

bool server_healthy(void *ctx, struct strbuf *line);

/* All three lists are complete, the lease is held or questions can be sent on, and the API server answers, or it does not
 * matter. */
bool server_ready(void *ctx, struct strbuf *line);
int server_metrics(void *ctx, struct strbuf *text);
int server_post(void *ctx, const char *path, const char *body, size_t len, struct strbuf *reply);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The extender without its connections: the book under a lock, what schedulers are answered from it over HTTP, and
 * whether it may answer at all.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/doc.h"
#include "agent/extender/answer.h"
#include "agent/extender/book.h"
#include "agent/extender/lease.h"
#include "common/err.h"
#include "common/strbuf.h"

struct service_config {
	struct answer_config answer;
	struct book_config book;
	uint64_t max_stale_ms; /* so long it answers from what it has when the API server is away */
	bool stale_open;       /* after that every node passes; else every question gets an error */
	bool log_answers;      /* a line for each question about a pod */
	/* CPU time that a question about up to SERVICE_WORK_NODES nodes may take, and in proportion one about more; 0 = any. */
	uint64_t work_ms;
};

#define SERVICE_WORK_NODES 500u

struct service;

/* It answers only while `lease` is held, which outlives it; NULL = always. Meanwhile questions are sent on to who holds it.
 * *ret is the caller's, to be freed by
 * service_free(). 0 or -ENOMEM. */
int service_new(const struct service_config *config, const struct lease *lease, struct service **ret);
void service_free(struct service *s);

static inline void service_freep(struct service **s)
{
	service_free(*s);
	*s = NULL;
}

/* Every NodeResourceTopology, Node and Pod of a file, a directory or standard input, instead of an API server. Returns
 * as object_input_read(). */
int service_load(struct service *s, const char *path, struct err *err);

/* ---- what is known, from any thread. An object that cannot be read is logged and passed over. 0 or -ENOMEM. */

int service_list_begin(struct service *s, enum book_kind kind);
int service_object(struct service *s, enum book_kind kind, struct doc *object);
int service_gone(struct service *s, enum book_kind kind, const struct doc *object);
void service_skip(
	struct service *s, enum book_kind kind, const struct err *why); /* one that cannot be parsed */
int service_list_end(struct service *s, enum book_kind kind, uint64_t version); /* as book_list_end() */
void service_alive(struct service *s, enum book_kind kind);                     /* the API server answers */

/* All three lists were complete once: what this replica knows is enough to answer. */
bool service_listed(struct service *s);

/* Who holds the lease ("" = nobody), and where it answers unless that is this replica (NULL = not known). From any thread.
 * 0 or -ENOMEM. */
int service_led_by(struct service *s, const char *holder, const char *url);

/* To be called about once a second: promises end, and a change of readiness is logged. */
void service_tick(struct service *s);

/* ---- what is answered, as struct http_callbacks takes it. The first two never wait for a question. */

bool service_healthy(void *ctx, struct strbuf *line);

/* All three lists are complete, the lease is held or questions can be sent on, and the API server answers, or it does not
 * matter. */
bool service_ready(void *ctx, struct strbuf *line);
int service_metrics(void *ctx, struct strbuf *text);
int service_post(void *ctx, const char *path, const char *body, size_t len, struct strbuf *reply);

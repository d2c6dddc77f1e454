/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/extender/replica.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "common/io/thread.h"
#include "common/io/time.h"
#include "common/log.h"
#include "common/text.h"

/* CLOCK_BOOTTIME includes the time in suspend, during which the cluster becomes outdated. */
static uint64_t now_ms(void)
{
	return (uint64_t)clock_ms(CLOCK_BOOTTIME);
}

void replica_init(struct replica *r, const struct replica_config *config, const struct lease *lease)
{
	*r = (struct replica){.config = *config, .lease = lease};
	pthread_mutex_init(&r->lock, NULL);
	text_set(&r->holder, "");
	text_set(&r->url, "");
}

void replica_release(struct replica *r)
{
	pthread_mutex_destroy(&r->lock);
	free(r->holder);
	free(r->url);
}

void replica_set_from_file(struct replica *r)
{
	LOCKED(r);

	r->from_file = true;
}

/* ---- what the API server has sent */

void replica_list_begin(struct replica *r, enum object_kind kind)
{
	LOCKED(r);

	if (kind == OBJECT_NODE)
		r->record.nodes_version = 0;
}

void replica_list_end(struct replica *r, enum object_kind kind, uint64_t version)
{
	LOCKED(r);

	if (kind == OBJECT_NODE)
		r->record.nodes_version = version;
	r->listed[kind] = true;
}

void replica_note_version(struct replica *r, enum object_kind kind, uint64_t version)
{
	LOCKED(r);

	if (kind == OBJECT_NODE && r->record.nodes_version > 0 && version > r->record.nodes_version)
		r->record.nodes_version = version;
}

void replica_note_alive(struct replica *r, enum object_kind kind)
{
	LOCKED(r);

	r->alive_ms[kind] = now_ms();
}

/* The first required kind that is not listed yet; CLUSTER_KINDS_REQUIRED = none. */
static size_t first_unlisted(const struct replica *r)
{
	size_t k = 0;

	while (k < CLUSTER_KINDS_REQUIRED && (r->from_file || r->listed[k]))
		k++;
	return k;
}

bool replica_has_lists(struct replica *r)
{
	LOCKED(r);

	return first_unlisted(r) == CLUSTER_KINDS_REQUIRED;
}

static uint64_t silence_ms(const struct replica *r)
{
	uint64_t now = now_ms(), longest = 0;

	for (size_t k = 0; k < CLUSTER_KINDS_REQUIRED && !r->from_file; k++)
		if (now - r->alive_ms[k] > longest)
			longest = now - r->alive_ms[k];
	return longest;
}

uint64_t replica_silence_ms(struct replica *r)
{
	LOCKED(r);

	return silence_ms(r);
}

static bool is_stale(const struct replica *r)
{
	return silence_ms(r) > r->config.max_stale_ms;
}

bool replica_passes_stale(struct replica *r)
{
	LOCKED(r);

	return r->config.stale_open && is_stale(r);
}

bool replica_is_current(struct replica *r, enum object_kind kind)
{
	LOCKED(r);

	return r->from_file || now_ms() - r->alive_ms[kind] <= r->config.max_stale_ms;
}

/* ---- the lease */

void replica_annotate_lease(struct replica *r, const struct doc *before, struct doc *ret)
{
	struct extender_record earlier = {.n_schedulers = 0};
	LOCKED(r);

	extender_record_read(&earlier, before, clock_ms(CLOCK_REALTIME) / 1000);
	for (size_t i = 0; i < earlier.n_schedulers; i++)
		extender_record_add(&r->record, earlier.schedulers[i].name, earlier.schedulers[i].asked_s);
	extender_record_write(&r->record, ret);
}

void replica_note_scheduler(struct replica *r, const char *name)
{
	LOCKED(r);

	extender_record_add(&r->record, name, clock_ms(CLOCK_REALTIME) / 1000);
}

void replica_set_leader(struct replica *r, const char *holder, const char *url)
{
	LOCKED(r);

	text_set(&r->holder, holder);
	text_set(&r->url, text_or_empty(url));
	text_one_line(r->holder);
}

static bool is_leader(const struct replica *r)
{
	return !r->lease || lease_held(r->lease);
}

/* ---- the decision */

/* Notes when this replica began to answer. Called at least every second, and before each request. */
static void note_takeover(struct replica *r)
{
	if (!is_leader(r) || first_unlisted(r) < CLUSTER_KINDS_REQUIRED)
		r->answers_since_ms = 0;
	else if (r->answers_since_ms == 0)
		r->answers_since_ms = now_ms();
}

/* How long requests are still rejected after this replica has begun to answer. */
static uint64_t takeover_left_ms(const struct replica *r)
{
	uint64_t now = now_ms(), since = r->answers_since_ms > 0 ? r->answers_since_ms : now;

	if (r->from_file || !is_leader(r) || now >= since + r->config.takeover_ms)
		return 0;
	return since + r->config.takeover_ms - now;
}

/* What the replica would do with a request if the cluster were not stale. Writes to `ret` why it is unavailable. */
static enum replica_role role_if_current(const struct replica *r, struct strbuf *ret)
{
	size_t unlisted = first_unlisted(r);
	uint64_t takeover_ms = takeover_left_ms(r);

	if (unlisted < CLUSTER_KINDS_REQUIRED)
		strbuf_addf(ret, "the %s are not listed yet", cluster_kind_names[unlisted]);
	else if (takeover_ms > 0)
		strbuf_addf(ret,
			"this replica answers in %llu ms: pods that the replica before it has assumed may not be bound yet",
			(unsigned long long)takeover_ms);
	else if (is_leader(r))
		return REPLICA_ANSWERS;
	else if (*r->url)
		return REPLICA_FORWARDS;
	else if (*r->holder)
		strbuf_addf(
			ret, "'%s' holds the lease, but its address is not known (--advertise)", r->holder);
	else
		strbuf_addf(ret, "no replica holds the lease");
	return REPLICA_UNAVAILABLE;
}

/* Whether requests are rejected because the cluster is stale, which is written to `ret`. False also if stale_open lets every node pass. */
static bool rejects_stale(const struct replica *r, struct strbuf *ret)
{
	if (!is_stale(r) || r->config.stale_open)
		return false;
	strbuf_addf(
		ret, "the API server has sent nothing for %llu s", (unsigned long long)silence_ms(r) / 1000);
	return true;
}

enum replica_role replica_role(struct replica *r, struct strbuf *ret)
{
	enum replica_role role;
	LOCKED(r);

	note_takeover(r);
	role = role_if_current(r, ret);
	if (role == REPLICA_FORWARDS)
		strbuf_addstr(ret, r->url);
	return role == REPLICA_ANSWERS && rejects_stale(r, ret) ? REPLICA_UNAVAILABLE : role;
}

/* As replica_ready(). */
static bool is_ready(const struct replica *r, struct strbuf *line)
{
	enum replica_role role = role_if_current(r, line);

	if (role == REPLICA_UNAVAILABLE || rejects_stale(r, line))
		return false;
	strbuf_addstr(line, "ok");
	if (role == REPLICA_FORWARDS)
		strbuf_addf(line, ": requests are forwarded to '%s', which holds the lease", r->holder);
	return true;
}

bool replica_ready(struct replica *r, struct strbuf *line)
{
	LOCKED(r);

	return is_ready(r, line);
}

void replica_tick(struct replica *r)
{
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(1024);
	bool ready;
	LOCKED(r);

	note_takeover(r);
	ready = is_ready(r, &line);
	if (ready != r->was_ready)
		log_info("%s: %s", ready ? "ready" : "not ready",
			!ready         ? line.text
			: is_leader(r) ? "requests are answered"
				       : "requests are forwarded to the replica that holds the lease");
	r->was_ready = ready;
}

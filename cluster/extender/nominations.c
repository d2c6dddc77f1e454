/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/extender/nominations.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/kube/api_client.h"
#include "common/text.h"
#include "common/xalloc.h"

/* The scheduler's message has the number of nodes before the reason. */
#define REASON_HEAD      "node(s) whose kubelets reject the pod; node "
#define REASON_NOMINATED ", outside of the scheduler's sample, admits it and is nominated"
#define REASON_TRY       ", outside of the scheduler's sample, admits it (try %u)"

struct nomination {
	char *uid, *namespace, *name;
	char *node; /* that the last answer of /filter named, or the Pod's condition; "" = none */
	char *written; /* the nomination that this replica has written, and that the Pod still has; NULL = none */
	uint64_t written_version; /* of the Pod after the write */
	uint64_t version;         /* of the Pod as last seen */
	uint64_t
		failed_version; /* of the Pod at the last write that was refused because the Pod had changed */
	uint64_t last_ms;       /* the last request or update */
	uint64_t write_ms;      /* `node` is not written before this time */
	uint64_t refuse_preemption_ms; /* /preempt is refused until this time */
	unsigned n_tries, n_repeated;
	struct budget tries;
	struct strv refused;  /* nodes that were nominated, and that the scheduler itself has refused */
	bool wanted;          /* `node` is to be written */
	bool repeated;        /* during a request: `node` was to be written */
	bool named;           /* the last answer of /filter named `node` */
	bool seen;            /* the Pod's condition names `node` */
	bool replaceable;     /* the Pod has no nomination, or one that this replica has written */
	bool has_node;        /* the Pod's nomination is `node` already */
	bool requested_alone; /* /filter was requested for the node `written` alone */
};

static void nomination_free(void *item)
{
	struct nomination *x = item;

	free(x->uid);
	free(x->namespace);
	free(x->name);
	free(x->node);
	free(x->written);
	strv_release(&x->refused);
	free(x);
}

void nominations_release(struct nominations *n)
{
	name_table_release_values(&n->by_uid, nomination_free);
	*n = (struct nominations){0};
}

static void set_wanted(struct nominations *n, struct nomination *x, bool wanted)
{
	if (wanted && !x->wanted)
		n->n_wanted++;
	if (!wanted && x->wanted)
		n->n_wanted--;
	x->wanted = wanted;
}

static void remove_nomination(struct nominations *n, struct nomination *x)
{
	set_wanted(n, x, false);
	name_table_remove(&n->by_uid, x->uid);
	nomination_free(x);
}

/* NULL if there are too many. */
static struct nomination *find_or_add(
	struct nominations *n, const char *uid, const char *namespace, const char *name)
{
	struct nomination *x = name_table_find(&n->by_uid, uid);

	if (x || n->by_uid.n >= NOMINATIONS_MAX)
		return x;
	x = xcalloc(1, sizeof(*x));
	x->uid = xstrdup(uid);
	x->namespace = xstrdup(namespace);
	x->name = xstrdup(name);
	x->node = xstrdup("");
	name_table_add(&n->by_uid, x->uid, x);
	return x;
}

/* The node that the scheduler's message names as nominated; NULL = none. The caller frees the text. */
static char *nominated_in(const char *message)
{
	const char *end = strstr(message, REASON_NOMINATED), *begin = NULL;

	/* The last REASON_HEAD before the end: another text of the message may have one, too. */
	for (const char *at = strstr(message, REASON_HEAD); at && end && at < end;
		at = strstr(at + 1, REASON_HEAD))
		begin = at + strlen(REASON_HEAD);
	return begin && begin <= end ? xstrndup(begin, (size_t)(end - begin)) : NULL;
}

static bool message_nominates(const char *message, const char *node)
{
	CLEANUP(freep) char *named = nominated_in(message);

	return named && !strcmp(named, node);
}

/* ---- budgets */

/* The namespace's budget. If there is none, replaces the budget of the namespace that can take a whole burst again the soonest: least is lost by
 * this. */
static struct budget *namespace_budget(struct nominations *n, const char *namespace)
{
	uint64_t hash = hash_bytes(namespace, strlen(namespace), 0);
	size_t at = 0;

	for (size_t i = 0; i < NOMINATION_SPACES; i++) {
		if (n->namespaces[i].hash == hash)
			return &n->namespaces[i].budget;
		if (n->namespaces[i].budget.full_at_ms < n->namespaces[at].budget.full_at_ms)
			at = i;
	}
	n->namespaces[at].hash = hash;
	n->namespaces[at].budget =
		(struct budget){.interval_ms = NAMESPACE_TRIES_MS, .burst = NAMESPACE_TRIES};
	return &n->namespaces[at].budget;
}

/* The limits depend on the right to write, which may have changed. */
static void set_limits(struct nominations *n, struct nomination *x)
{
	bool granted = n->right == RIGHT_GRANTED;

	n->all.interval_ms = ALL_TRIES_MS;
	n->all.burst = ALL_TRIES;
	x->tries.interval_ms = granted ? NOMINATION_TRIES_MS : UNGRANTED_TRIES_MS;
	x->tries.burst = granted ? NOMINATION_TRIES : UNGRANTED_TRIES;
}

/* Whether the pod may be tried now. `x` NULL = the pod has no nomination yet. May replace another namespace's budget. */
static bool has_tries(struct nominations *n, struct nomination *x, const char *namespace, uint64_t now_ms)
{
	if (x)
		set_limits(n, x);
	return budget_at(&n->all) <= now_ms && budget_at(namespace_budget(n, namespace)) <= now_ms &&
	       (x ? budget_at(&x->tries) <= now_ms : n->by_uid.n < NOMINATIONS_MAX);
}

static void take_try(struct nominations *n, struct nomination *x, uint64_t now_ms)
{
	set_limits(n, x);
	budget_take(&n->all, now_ms);
	budget_take(namespace_budget(n, x->namespace), now_ms);
	budget_take(&x->tries, now_ms);
	x->n_tries++;
}

/* ---- requests */

/* The scheduler evaluates a nominated node first. A request with other nodes, without an earlier one for this node alone, shows that the
 * scheduler itself has refused the node. */
static void note_refused(struct nomination *x, const struct extender_args *args)
{
	if (!x->written || strcmp(args->pod.nominated, x->written) != 0)
		return;
	x->requested_alone |= args->n_names == 1 && !strcmp(args->names[0], x->written);
	if (!x->requested_alone && x->refused.n_items < NOMINATION_REFUSED)
		strv_push_new(&x->refused, x->written);
}

/* Whether the Pod's nomination may be replaced: there is none, or this replica or the replica before it has written it. `x` NULL = unknown pod. */
static bool is_ours(const struct nomination *x, const char *nominated, const char *message)
{
	return !*nominated || (x && x->written && !strcmp(nominated, x->written)) ||
	       message_nominates(message, nominated);
}

/* Notes the size of the request. Returns whether the request may be a sample: no request of the scheduler has had more nodes lately. The size of
 * the samples changes with the number of Nodes, of which the scheduler may learn later. */
static bool note_sample(
	struct nominations *n, const struct extender_args *args, size_t n_nodes, uint64_t now_ms)
{
	uint64_t hash = hash_bytes(args->pod.scheduler, strlen(args->pod.scheduler), 0);
	size_t at = 0;

	while (at < SAMPLERS && n->samplers[at].hash != hash)
		at++;
	if (at == SAMPLERS)
		at = n->next_sampler++ % SAMPLERS;
	if (n->samplers[at].hash != hash || n->samplers[at].n_nodes != n_nodes ||
		now_ms >= n->samplers[at].seen_ms + SAMPLE_KEPT_MS)
		n->samplers[at].size = 0;
	n->samplers[at].hash = hash;
	n->samplers[at].n_nodes = n_nodes;
	if (args->n_names < SAMPLE_MIN || args->n_names < n->samplers[at].size)
		return false;
	n->samplers[at].size = args->n_names;
	n->samplers[at].seen_ms = now_ms;
	return true;
}

bool nominations_begin(struct nominations *n, struct extender_args *args, size_t n_nodes, uint64_t now_ms)
{
	const struct extender_pod *pod = &args->pod;
	struct nomination *x = n->on ? name_table_find(&n->by_uid, pod->uid) : NULL;

	if (x) {
		note_refused(x, args);
		for (size_t i = 0; i < x->refused.n_items; i++)
			strv_push(&args->refused, x->refused.items[i]);
		/* The scheduler tries the pod again before the nomination of the last answer is written. */
		x->repeated = x->wanted && x->n_repeated < NOMINATION_REPEATED;
		x->n_repeated += x->wanted;
		/* The last answer no longer counts. */
		set_wanted(n, x, false);
		x->named = false;
		x->refuse_preemption_ms = 0;
		x->last_ms = now_ms;
	}
	if (!n->on || !note_sample(n, args, n_nodes, now_ms))
		return false;
	if (!*pod->uid || *pod->gang || !is_ours(x, pod->nominated, pod->message))
		return false;
	return (x && x->repeated) || has_tries(n, x, pod->namespace, now_ms);
}

/* The content of an answer that names the node: the Pod may have the condition and the nomination already. */
static void set_named_node(struct nomination *x, const char *node, const char *message, const char *nominated)
{
	text_set(&x->node, node);
	x->seen = message_nominates(message, node);
	x->has_node = !strcmp(nominated, node);
	x->replaceable = is_ours(x, nominated, message);
}

char *nominations_try(
	struct nominations *n, const struct extender_pod *pod, const char *node, uint64_t now_ms)
{
	struct nomination *x = find_or_add(n, pod->uid, pod->namespace, pod->name);
	bool granted = n->right == RIGHT_GRANTED;

	assert(x);
	/* The scheduler may try the pod again before the nomination is written. The same answer is not another try. A
	 * repeated request may get another node although no try is left: n_repeated stays then, and limits such requests. */
	if (!x->repeated || strcmp(x->node, node) != 0) {
		x->n_repeated = has_tries(n, x, x->namespace, now_ms) ? 0 : x->n_repeated;
		take_try(n, x, now_ms);
		n->counts.tries++;
	}
	set_named_node(x, node, pod->message, pod->nominated);
	if (pod->version > x->version)
		x->version = pod->version;
	x->named = true;
	x->last_ms = now_ms;
	x->write_ms = now_ms + NOMINATION_SETTLE_MS;
	x->refuse_preemption_ms = now_ms + NOMINATION_PREEMPT_MS;
	set_wanted(n, x, granted);
	return granted ? xasprintf(REASON_HEAD "%s" REASON_NOMINATED, node)
		       : xasprintf(REASON_HEAD "%s" REASON_TRY, node, x->n_tries);
}

bool nominations_refuse_preemption(const struct nominations *n, const char *uid, uint64_t now_ms)
{
	const struct nomination *x = name_table_find(&n->by_uid, uid);

	return x && now_ms < x->refuse_preemption_ms;
}

/* ---- updates of Pods */

/* Counts and forgets the nomination. `node`: to which the pod was bound; "" = none. */
static void end_nomination(struct nominations *n, struct nomination *x, const char *node)
{
	if (x->written && !strcmp(x->written, node))
		n->counts.used++;
	else if (x->written)
		n->counts.lost++;
	remove_nomination(n, x);
}

void nominations_end(struct nominations *n, const char *uid)
{
	struct nomination *x = name_table_find(&n->by_uid, uid);

	if (x)
		end_nomination(n, x, "");
}

/* The Pod's condition names a node that nobody has nominated: the replica that answered has ended since. */
static void adopt(struct nominations *n, const struct nominated_pod *pod, const char *node, uint64_t now_ms)
{
	struct nomination *x;

	if (*pod->nominated || !has_tries(n, NULL, pod->namespace, now_ms))
		return;
	x = find_or_add(n, pod->uid, pod->namespace, pod->name);
	take_try(n, x, now_ms);
	set_named_node(x, node, pod->message, pod->nominated);
	x->version = pod->version;
	x->last_ms = now_ms;
	x->write_ms = now_ms + NOMINATION_SETTLE_MS;
	set_wanted(n, x, true);
}

/* Whether the pod is assumed on the node that the last answer of /filter named, although no nomination of this node is to be written. */
static bool is_assumed_in_vain(const struct nomination *x)
{
	return x->named && !x->wanted;
}

bool nominations_update(struct nominations *n, const struct nominated_pod *pod, uint64_t now_ms)
{
	struct nomination *x = n->on ? name_table_find(&n->by_uid, pod->uid) : NULL;
	CLEANUP(freep) char *named = n->on ? nominated_in(pod->message) : NULL;
	bool is_lost;

	if (*pod->node) {
		if (x)
			end_nomination(n, x, pod->node);
		return false;
	}
	if (!x && named)
		adopt(n, pod, named, now_ms);
	if (!x || pod->version < x->version) /* nothing is known of the pod, or something newer */
		return false;
	x->version = pod->version;
	x->last_ms = now_ms;
	is_lost = x->written && pod->version >= x->written_version && strcmp(pod->nominated, x->written) != 0;
	if (is_lost) {
		n->counts.lost++;
		free(TAKE(x->written));
	}
	x->seen = named && !strcmp(named, x->node);
	x->has_node = !strcmp(pod->nominated, x->node);
	x->replaceable = is_ours(x, pod->nominated, pod->message);
	return is_lost && is_assumed_in_vain(x);
}

/* ---- writes */

void nomination_write_release(struct nomination_write *w)
{
	free(w->uid);
	free(w->namespace);
	free(w->name);
	free(w->node);
	*w = (struct nomination_write){0};
}

/* Whether the Pod has the scheduler's condition for the node, but not the nomination, and may get it. With the version of a refused write, the
 * next write would be refused, too. */
static bool is_writable(const struct nomination *x)
{
	return x->wanted && x->seen && x->replaceable && !x->has_node && x->version > x->failed_version;
}

bool nominations_take(
	struct nominations *n, uint64_t now_ms, struct nomination_write *ret, uint64_t *ret_wait_ms)
{
	struct nomination *next = NULL;

	*ret_wait_ms = UINT64_MAX;
	if (n->right != RIGHT_GRANTED || n->n_wanted == 0)
		return false;
	for (size_t i = 0; i < n->by_uid.size; i++) {
		struct nomination *x = n->by_uid.entries[i].name ? n->by_uid.entries[i].value : NULL;

		if (x && is_writable(x) && (!next || x->write_ms < next->write_ms))
			next = x;
	}
	if (!next)
		return false;
	*ret_wait_ms = next->write_ms > now_ms ? next->write_ms - now_ms : 0;
	if (*ret_wait_ms > 0)
		return false;
	set_wanted(n, next, false);
	*ret = (struct nomination_write){.uid = xstrdup(next->uid),
		.namespace = xstrdup(next->namespace),
		.name = xstrdup(next->name),
		.node = xstrdup(next->node),
		.version = next->version};
	return true;
}

static bool is_temporary(int status)
{
	return status == 0 || status == HTTP_TOO_MANY_REQUESTS || status >= 500;
}

bool nominations_written(struct nominations *n, const struct nomination_write *w, int status,
	uint64_t version, uint64_t now_ms)
{
	struct nomination *x = name_table_find(&n->by_uid, w->uid);
	/* No request has asked for another node since: the write may be tried again. */
	bool may_retry = x && !x->wanted && !strcmp(x->node, w->node);
	/* The watch has delivered a Pod after the write that has no nomination, or another one. */
	bool is_lost = status == HTTP_OK && x && x->version > version && !x->has_node;

	if (status == HTTP_FORBIDDEN)
		n->right = RIGHT_DENIED;
	n->counts.lost += is_lost;
	if (status == HTTP_OK && x && !is_lost) {
		text_set(&x->written, w->node);
		x->written_version = version;
		x->requested_alone = false;
	} else if (status == HTTP_CONFLICT && may_retry) {
		x->failed_version = w->version;
		set_wanted(n, x, true);
	} else if (is_temporary(status) && may_retry) {
		x->write_ms = now_ms + NOMINATION_RETRY_MS;
		set_wanted(n, x, true);
	} else if (status != HTTP_OK) {
		n->counts.refused++;
	}
	return is_lost && is_assumed_in_vain(x);
}

void nominations_expire(struct nominations *n, uint64_t now_ms)
{
	struct name_table *t = &n->by_uid;

	for (size_t i = 0; i < t->size;) { /* removing an entry may move another entry to its index */
		struct nomination *x = t->entries[i].name ? t->entries[i].value : NULL;

		if (x && now_ms >= x->last_ms + NOMINATION_KEPT_MS)
			end_nomination(n, x, "");
		else
			i++;
	}
}

/* ---- samples */

/* numFeasibleNodesToFind() of kube-scheduler, with percentageOfNodesToScore 0. */
bool exceeds_default_sample(size_t n_requested, size_t n_nodes)
{
	size_t reduced = n_nodes / 125, percentage = reduced < 45 ? 50 - reduced : 5;
	size_t sample = n_nodes * percentage / 100;

	return n_requested > SAMPLE_MIN && n_requested > sample;
}

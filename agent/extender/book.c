/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/book.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cluster/cluster_usage.h"
#include "agent/cluster/pod_fate.h"
#include "agent/cluster/pod_parse.h"
#include "agent/render/nrt.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/text.h"
#include "common/vec.h"

/* ---- memory */

void book_forget_held(struct book_pod *pod)
{
	if (pod->held)
		allocation_release(pod->held);
	free(pod->held);
	pod->held = NULL;
}

static void pod_free(void *item)
{
	struct book_pod *pod = item;

	book_forget_held(pod);
	free(pod->uid);
	free(pod->full_name);
	free(pod);
}

static void pod_freep(struct book_pod **pod)
{
	if (*pod)
		pod_free(*pod);
}

static void node_free(void *item)
{
	struct book_node *node = item;

	free(node->name);
	if (node->has_object)
		cluster_node_release(&node->object);
	free(node->content_hash);
	resource_list_release(&node->allocatable);
	resource_list_release(&node->requested);
	free(node->pods);
	free(node->ended);
	for (size_t i = 0; i < node->n_refusals; i++)
		free(node->refusals[i].reason);
	free(node->refusals);
	free(node);
}

static void node_freep(struct book_node **node)
{
	if (*node)
		node_free(*node);
}

void book_init(struct book *b, const struct book_config *config)
{
	*b = (struct book){.config = *config};
}

void book_release(struct book *b)
{
	tdestroy(b->pods_by_uid, pod_free);
	for (size_t i = 0; i < b->n_nodes; i++)
		node_freep(&b->nodes[i]);
	name_table_release(&b->nodes_by_name);
	free(b->nodes);
	outlooks_release(&b->outlooks);
	distances_kept_release(&b->distances);
	shapes_release(&b->shapes);
	*b = (struct book){0};
}

/* ---- nodes */

static int by_uid(const void *a, const void *b)
{
	const struct book_pod *x = a, *y = b;

	return strcmp(x->uid, y->uid);
}

/* For a member of a key, which is only compared. */
static char *key_text(const char *text)
{
	union {
		const char *in;
		char *out;
	} u = {.in = text};

	return u.out;
}

static void touch(struct book *b, struct book_node *node)
{
	node->version = ++b->version;
}

/* The pod came or went. Of pods that the kubelet's managers have nothing to do with only the amounts count. */
static void touch_for(struct book *b, struct book_node *node, const struct shape *shape)
{
	if (shape->aligned)
		touch(b, node);
	else
		node->amounts = ++b->version;
}

struct book_node *book_find(const struct book *b, const char *name)
{
	return name_table_find(&b->nodes_by_name, name);
}

static int find_slot(struct book *b, size_t *ret)
{
	for (size_t i = 0; i < b->n_nodes; i++)
		if (!b->nodes[i]) {
			*ret = i;
			return 0;
		}
	*ret = b->n_nodes;
	return vec_push(&b->nodes, &b->n_nodes, &b->nodes_size, sizeof(*b->nodes)) ? 0 : -ENOMEM;
}

/* NULL = out of memory. */
static struct book_node *find_or_add(struct book *b, const char *name)
{
	CLEANUP(node_freep) struct book_node *node = NULL;
	struct book_node *found = book_find(b, name);

	if (found)
		return found;
	node = calloc(1, sizeof(*node));
	if (!node || text_set(&node->name, name) < 0 || text_set(&node->content_hash, "") < 0 ||
		find_slot(b, &node->slot) < 0 || name_table_add(&b->nodes_by_name, node->name, node) < 0)
		return NULL;
	b->nodes[node->slot] = node;
	touch(b, node);
	return TAKE(node);
}

/* A node goes when nothing is known of it any more. */
static void drop_if_empty(struct book *b, struct book_node *node)
{
	if (node->has_object || node->has_node || node->n_pods > 0)
		return;
	while (node->n_refusals > 0)
		shapes_drop(&b->shapes, node->refusals[--node->n_refusals].shape);
	b->nodes[node->slot] = NULL;
	name_table_remove(&b->nodes_by_name, node->name);
	node_free(node);
}

/* ---- who holds what */

static bool is_shown(const struct book_node *node, const struct pod_names *names)
{
	return node->has_object && pod_names_shown(names, &node->object.state.allocations);
}

/* Those who have ended and are not shown any more are forgotten. */
static void forget_ended(struct book_node *node)
{
	size_t kept = 0;

	for (size_t i = 0; i < node->n_ended; i++)
		if (is_shown(node, &node->ended[i].names))
			node->ended[kept++] = node->ended[i];
	node->n_ended = kept;
}

/* A new pod of the name of one that has ended: an item without a UID is the new one's. */
static void forget_ended_name(struct book *b, struct book_node *node, const char *name)
{
	size_t kept = 0;

	for (size_t i = 0; i < node->n_ended; i++)
		if (strcmp(node->ended[i].names.pod, name) != 0)
			node->ended[kept++] = node->ended[i];
	if (kept < node->n_ended)
		touch(b, node);
	node->n_ended = kept;
}

/* ---- pods on nodes */

static int arrive(struct book *b, struct book_pod *pod, struct book_node *node)
{
	struct book_pod **slot = vec_push(&node->pods, &node->n_pods, &node->pods_size, sizeof(*slot));

	if (!slot)
		return -ENOMEM;
	if (resource_list_add(&node->requested, &pod->shape->wanted, 1) < 0) {
		node->n_pods--;
		return -ENOMEM;
	}
	*slot = pod;
	forget_ended_name(b, node, pod->names.pod);
	pod->node = node;
	b->n_promises += !pod->bound;
	touch_for(b, node, pod->shape);
	pod->since = b->version;
	pod->arrived_at = pod->arrived ? b->version : 0;
	return 0;
}

/* The names are in the list already: nothing is allocated. */
static void leave(struct book *b, struct book_pod *pod)
{
	struct book_node *node = pod->node;

	resource_list_add(&node->requested, &pod->shape->wanted, -1);
	for (size_t i = 0; i < node->n_pods; i++)
		if (node->pods[i] == pod) {
			memmove(&node->pods[i], &node->pods[i + 1],
				(node->n_pods - i - 1) * sizeof(node->pods[0]));
			node->n_pods--;
			break;
		}
	b->n_promises -= !pod->bound;
	touch_for(b, node, pod->shape);
}

static struct book_pod *find_pod(const struct book *b, const char *uid)
{
	const struct book_pod key = {.uid = key_text(uid)};
	struct book_pod *const *found = tfind(&key, &b->pods_by_uid, by_uid);

	return found ? *found : NULL;
}

static void remove_pod(struct book *b, struct book_pod *pod)
{
	struct book_node *node = pod->node;

	leave(b, pod);
	shapes_drop(&b->shapes, pod->shape);
	tdelete(pod, &b->pods_by_uid, by_uid);
	b->n_pods--;
	pod_free(pod);
	drop_if_empty(b, node);
}

/* The pod does not hold anything any more, whatever its node's object shows. */
static int end_pod(struct book *b, struct book_pod *pod)
{
	struct book_node *node = pod->node;
	struct book_ended *slot;

	if (pod->bound && is_shown(node, &pod->names)) {
		slot = vec_push(&node->ended, &node->n_ended, &node->ended_size, sizeof(*slot));
		if (!slot)
			return -ENOMEM;
		touch(b, node);
		*slot = (struct book_ended){.names = pod->names, .at = b->version};
	}
	remove_pod(b, pod);
	return 0;
}

/* A new string; NULL = out of memory. */
static char *full_name_of(const char *namespace, const char *name)
{
	char *text = NULL;

	return asprintf(&text, "%s/%s", namespace, name) < 0 ? NULL : text;
}

/* A pod that is new here. `shape` moves to it on success. */
static int add_pod(struct book *b, const struct book_pod *like, struct book_node *node)
{
	CLEANUP(pod_freep) struct book_pod *pod = calloc(1, sizeof(*pod));

	if (!pod)
		return -ENOMEM;
	*pod = *like;
	pod->uid = strdup(like->uid);
	pod->full_name = strdup(like->full_name);
	if (!pod->uid || !pod->full_name || !tsearch(pod, &b->pods_by_uid, by_uid))
		return -ENOMEM;
	if (arrive(b, pod, node) < 0) {
		tdelete(pod, &b->pods_by_uid, by_uid);
		return -ENOMEM;
	}
	b->n_pods++;
	TAKE(pod);
	return 0;
}

/* ---- promises */

int book_promise(struct book *b, const struct book_promise *promise, struct book_node *node, uint64_t now_ms,
	struct book_pod **ret)
{
	CLEANUP(freep) char *full_name = NULL;
	struct book_pod like = {.uid = key_text(promise->uid),
		.shape = promise->shape,
		.until_ms = now_ms + b->config.promise_ms,
		.priority = promise->priority};
	const struct book_pod *have = find_pod(b, promise->uid);

	*ret = NULL;
	if (have && have->bound)
		return 0;
	book_unpromise(b, promise->uid);
	full_name = full_name_of(promise->namespace, promise->name);
	if (!full_name)
		return -ENOMEM;
	like.full_name = full_name;
	like.names = pod_names_of(promise->uid, promise->namespace, promise->name);
	if (add_pod(b, &like, node) < 0)
		return -ENOMEM;
	promise->shape->users++;
	*ret = find_pod(b, promise->uid);
	return 0;
}

void book_unpromise(struct book *b, const char *uid)
{
	struct book_pod *pod = find_pod(b, uid);

	if (pod && !pod->bound)
		remove_pod(b, pod);
}

static void expire_refusals(struct book *b, struct book_node *node, uint64_t now_ms)
{
	size_t kept = 0;

	for (size_t i = 0; i < node->n_refusals; i++) {
		struct book_refusal *refusal = &node->refusals[i];

		if (now_ms < refusal->until_ms) {
			node->refusals[kept++] = *refusal;
			continue;
		}
		free(refusal->reason);
		shapes_drop(&b->shapes, refusal->shape);
		touch(b, node);
	}
	node->n_refusals = kept;
}

static struct book_pod *find_expired(const struct book_node *node, uint64_t now_ms)
{
	for (size_t i = 0; node && i < node->n_pods; i++)
		if (!node->pods[i]->bound && now_ms >= node->pods[i]->until_ms)
			return node->pods[i];
	return NULL;
}

void book_expire(struct book *b, uint64_t now_ms)
{
	for (size_t i = 0; i < b->n_nodes; i++) {
		struct book_pod *pod;

		if (b->nodes[i])
			expire_refusals(b, b->nodes[i], now_ms);
		while ((pod = find_expired(b->nodes[i], now_ms))) {
			log_info("the promise of node '%s' to pod '%s' has ended: the pod was not bound",
				pod->node->name, pod->full_name);
			b->n_expired++;
			remove_pod(b, pod);
		}
	}
}

/* ---- objects */

static int take_nrt(
	struct book *b, struct book_node *node, struct doc *object, uint64_t now_ms, struct err *err)
{
	const char *hash = nrt_content_hash(object);
	struct cluster_node read;
	int r;

	/* A refresh without a change: nrtd's objects say so. */
	if (node->has_object && hash && !strcmp(hash, node->content_hash))
		return 0;
	r = cluster_node_read(object, &read, err);
	if (r < 0)
		return r;
	if (node->has_object)
		cluster_node_release(&node->object);
	if (read.odd)
		log_warning("node '%s': %s", node->name, read.why.text);
	node->object = read;
	node->has_object = true;
	node->object_ms = now_ms;
	forget_ended(node);
	touch(b, node);
	return text_set(&node->content_hash, hash ? hash : "") < 0 ? err_no_memory(err) : 0;
}

static int take_node(struct book *b, struct book_node *node, const struct doc *object, struct err *err)
{
	CLEANUP(resource_list_release) struct resource_list allocatable = {0};
	int r = cluster_allocatable(object, &allocatable, err);

	if (r < 0)
		return err_wrap(err, r, "Node '%.60s'", node->name);
	if (node->has_node && resource_list_equal(&node->allocatable, &allocatable))
		return 0; /* its kubelet writes it every few minutes */
	resource_list_release(&node->allocatable);
	node->allocatable = allocatable;
	allocatable = (struct resource_list){0};
	node->has_node = true;
	touch(b, node);
	return 0;
}

/* For a while no such pod goes to that node, or until its object is another. */
static int note_refusal(struct book *b, struct book_pod *pod, const char *reason, uint64_t now_ms)
{
	struct book_node *node = pod->node;
	struct book_refusal *refusal =
		vec_push(&node->refusals, &node->n_refusals, &node->refusals_size, sizeof(*refusal));

	if (!refusal)
		return -ENOMEM;
	refusal->reason = strdup(reason);
	if (!refusal->reason) {
		node->n_refusals--;
		return -ENOMEM;
	}
	refusal->shape = pod->shape;
	refusal->until_ms = now_ms + b->config.refusal_ms;
	pod->shape->users++;
	b->n_refused++;
	if (pod->promised)
		refused_count(&b->promises_refused, reason);
	log_warning("the kubelet of node '%s' refused pod '%s': %s", node->name, pod->full_name, reason);
	return 0;
}

/* The pod has a node: it is put there with what it asks for now. */
static int place_pod(
	struct book *b, struct doc *object, const struct pod_fate *fate, uint64_t now_ms, struct err *err)
{
	CLEANUP(pod_template_release) struct pod_template template = {0};
	CLEANUP(freep) char *full_name = NULL;
	struct book_pod *have = find_pod(b, fate->uid);
	/* The kubelet sets the start when it has admitted the pod. */
	bool arrived = doc_get(doc_get(object, "status"), "startTime") || fate->stage == POD_RUNS;
	struct book_pod like = {.uid = fate->uid,
		.bound = true,
		.arrived = arrived,
		.bound_ms = fate->stage == POD_RUNS ? 0 : now_ms,
		.round = b->round[BOOK_POD]};
	struct book_node *node;
	int64_t priority = 0;
	int r;

	r = pod_template_from_pod(object, &template, err);
	if (r < 0)
		return err_wrap(err, r, "Pod '%.60s/%.60s'", fate->namespace, fate->name);
	if (shapes_take(&b->shapes, &template.pod, &like.shape) < 0)
		return err_no_memory(err);
	if (have && have->shape == like.shape && !strcmp(have->node->name, fate->node)) {
		shapes_drop(&b->shapes, like.shape);
		b->n_promises -= !have->bound;
		have->bound_ms = have->bound ? have->bound_ms : now_ms;
		have->promised |= !have->bound;
		have->bound = true;
		if (arrived && !have->arrived) {
			if (have->shape->aligned)
				touch(b, have->node);
			have->arrived_at = b->version;
		}
		have->arrived = arrived;
		have->round = b->round[BOOK_POD];
		return 0;
	}
	doc_int64(doc_get(doc_get(object, "spec"), "priority"), &priority);
	like.priority = (int32_t)priority;
	like.promised = have && !strcmp(have->node->name, fate->node) && (!have->bound || have->promised);
	like.names = pod_names_of(fate->uid, fate->namespace, fate->name);
	if (have)
		remove_pod(b, have);
	node = find_or_add(b, fate->node);
	full_name = full_name_of(fate->namespace, fate->name);
	like.full_name = full_name;
	if (!node || !full_name || add_pod(b, &like, node) < 0) {
		shapes_drop(&b->shapes, like.shape);
		return err_no_memory(err);
	}
	return 0;
}

static int take_pod(struct book *b, struct doc *object, uint64_t now_ms, struct err *err)
{
	CLEANUP(pod_fate_release) struct pod_fate fate = {0};
	struct book_pod *have;
	int r = pod_fate_read(object, &fate, err);

	if (r < 0)
		return r;
	have = find_pod(b, fate.uid);
	if (fate.stage == POD_REFUSED || fate.stage == POD_ENDED) {
		if (have && have->bound && fate.stage == POD_REFUSED)
			r = note_refusal(b, have, fate.reason, now_ms);
		if (have && r == 0)
			r = end_pod(b, have);
		return r < 0 ? err_no_memory(err) : 0;
	}
	if (!*fate.node)
		return 0;
	return place_pod(b, object, &fate, now_ms, err);
}

int book_object(struct book *b, enum book_kind kind, struct doc *object, uint64_t now_ms, struct err *err)
{
	const char *name = doc_string(doc_get(doc_get(object, "metadata"), "name"));
	struct book_node *node;
	int r;

	if (kind == BOOK_POD)
		return take_pod(b, object, now_ms, err);
	if (!name || !*name)
		return err_set(err, -EINVAL, "an object without a name");
	node = find_or_add(b, name);
	if (!node)
		return err_no_memory(err);
	node->round[kind] = b->round[kind];
	r = kind == BOOK_NRT ? take_nrt(b, node, object, now_ms, err) : take_node(b, node, object, err);
	drop_if_empty(b, node);
	return r;
}

static void lose(struct book *b, struct book_node *node, enum book_kind kind)
{
	if (kind == BOOK_NRT && node->has_object) {
		cluster_node_release(&node->object);
		node->has_object = false;
		*node->content_hash = '\0';
		node->n_ended = 0;
	} else if (kind == BOOK_NODE && node->has_node) {
		resource_list_release(&node->allocatable);
		node->has_node = false;
	} else {
		return;
	}
	touch(b, node);
	drop_if_empty(b, node);
}

int book_gone(struct book *b, enum book_kind kind, const struct doc *object, struct err *err)
{
	const struct doc *metadata = doc_get(object, "metadata");
	const char *name = doc_string(doc_get(metadata, "name")), *uid = doc_string(doc_get(metadata, "uid"));
	struct book_node *node = name && kind != BOOK_POD ? book_find(b, name) : NULL;
	struct book_pod *pod = uid && kind == BOOK_POD ? find_pod(b, uid) : NULL;

	if (node)
		lose(b, node, kind);
	return pod && end_pod(b, pod) < 0 ? err_no_memory(err) : 0;
}

/* ---- lists */

void book_list_begin(struct book *b, enum book_kind kind)
{
	b->round[kind]++;
}

static struct book_pod *find_unlisted(const struct book *b, const struct book_node *node)
{
	for (size_t i = 0; node && i < node->n_pods; i++)
		if (node->pods[i]->bound && node->pods[i]->round < b->round[BOOK_POD])
			return node->pods[i];
	return NULL;
}

int book_list_end(struct book *b, enum book_kind kind, struct err *err)
{
	for (size_t i = 0; i < b->n_nodes; i++) {
		struct book_pod *pod;

		while (kind == BOOK_POD && (pod = find_unlisted(b, b->nodes[i])))
			if (end_pod(b, pod) < 0)
				return err_no_memory(err);
		if (kind != BOOK_POD && b->nodes[i] && b->nodes[i]->round[kind] < b->round[kind])
			lose(b, b->nodes[i], kind);
	}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/book.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/json.h"
#include "agent/base/timestamp.h"
#include "agent/cluster/cluster_usage.h"
#include "agent/cluster/pod_fate.h"
#include "agent/cluster/pod_parse.h"
#include "agent/render/nrt.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/text.h"
#include "common/vec.h"

#define NAMESPACE_SIZE 64
#define ENDED_MS       120000u /* an object that reports a pod is at most this late */
#define CONTENT_MAX    ((size_t)8 << 20)

/* ---- memory */

void book_forget_held(struct book_pod *pod)
{
	if (pod->held)
		allocation_release(pod->held);
	free(pod->held);
	pod->held = NULL;
	pod->held_is_rest = false;
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
	shown_index_release(&node->shown);
	resource_list_release(&node->allocatable);
	resource_list_release(&node->requested);
	free(node->pods);
	free(node->ended);
	free(node->refusals);
	for (size_t i = 0; i < ARRAY_SIZE(node->resources); i++)
		strv_release(&node->resources[i]);
	free(node);
}

static void node_freep(struct book_node **node)
{
	if (*node)
		node_free(*node);
}

static void namespace_free(struct book_namespace *namespace)
{
	free(namespace->name);
	free(namespace);
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
	for (size_t i = 0; i < b->namespaces.size; i++)
		if (b->namespaces.entries[i].name)
			namespace_free(b->namespaces.entries[i].value);
	name_table_release(&b->namespaces);
	pending_pods_release(&b->pending);
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

static struct book_pod *find_pod(const struct book *b, const char *uid)
{
	const struct book_pod key = {.uid = key_text(uid)};
	struct book_pod *const *found = tfind(&key, &b->pods_by_uid, by_uid);

	return found ? *found : NULL;
}

static void touch(struct book *b, struct book_node *node)
{
	node->version = ++b->version;
}

/* Something that was held may be free now. */
static void touch_freed(struct book *b, struct book_node *node)
{
	touch(b, node);
	node->freed = b->version;
}

/* The kubelet's managers may give the pod something that its node's object does not report yet. */
static bool is_managed(const struct book_pod *pod)
{
	return pod->shape->aligned && !pod->mirror;
}

/* The pod came or went. Of pods that the kubelet's managers have nothing to do with only the amounts count. */
static void touch_for(struct book *b, struct book_node *node, const struct book_pod *pod)
{
	if (is_managed(pod))
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
	if (!node || text_set(&node->name, name) < 0 || find_slot(b, &node->slot) < 0 ||
		name_table_add(&b->nodes_by_name, node->name, node) < 0)
		return NULL;
	b->nodes[node->slot] = node;
	touch(b, node);
	return TAKE(node);
}

static void drop_refusals(struct book *b, struct book_node *node)
{
	for (size_t i = 0; i < node->n_refusals; i++)
		shapes_drop(&b->shapes, node->refusals[i].shape);
	node->n_refusals = 0;
}

/* A node goes when nothing is known of it any more. */
static void drop_if_empty(struct book *b, struct book_node *node)
{
	if (node->has_object || node->has_node || node->n_pods > 0)
		return;
	drop_refusals(b, node);
	b->nodes[node->slot] = NULL;
	name_table_remove(&b->nodes_by_name, node->name);
	node_free(node);
}

/* ---- pods that have ended */

static bool is_reported(const struct book_node *node, const struct pod_names *names)
{
	size_t by_uid, by_name;

	shown_by_uid(&node->shown, names, &by_uid);
	shown_by_name(&node->shown, names, &by_name);
	return by_uid + by_name > 0;
}

/* Forget those that no object will report any more: one has reported the pod, and this one does not; or none has for as long
 * as an object can be late. */
static void forget_ended(struct book_node *node, uint64_t now_ms)
{
	size_t kept = 0;

	for (size_t i = 0; i < node->n_ended; i++) {
		struct book_ended *ended = &node->ended[i];
		bool reported = is_reported(node, &ended->names);

		if (!reported && (ended->reported || now_ms >= ended->ended_ms + ENDED_MS))
			continue;
		ended->reported = ended->reported || reported;
		node->ended[kept++] = *ended;
	}
	node->n_ended = kept;
}

/* Whatever the node's object reports of the pod, now or later, is free. */
static int note_end(struct book *b, struct book_node *node, const struct pod_names *names, uint64_t now_ms)
{
	struct book_ended *slot;

	if (node->n_ended == BOOK_ENDED_MAX) {
		node->n_ended--;
		memmove(&node->ended[0], &node->ended[1], node->n_ended * sizeof(node->ended[0]));
	}
	slot = vec_push(&node->ended, &node->n_ended, &node->ended_size, sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	touch_freed(b, node);
	*slot = (struct book_ended){
		.names = *names, .at = b->version, .ended_ms = now_ms, .reported = is_reported(node, names)};
	return 0;
}

/* ---- promises of a namespace */

/* The part of NAMESPACE/NAME before the slash, in `buffer`; Kubernetes allows 63 bytes. */
static const char *namespace_of(const struct book_pod *pod, char buffer[NAMESPACE_SIZE])
{
	snprintf(buffer, NAMESPACE_SIZE, "%.*s", (int)strcspn(pod->full_name, "/"), pod->full_name);
	return buffer;
}

static struct book_namespace *add_namespace(struct book *b, const char *name)
{
	CLEANUP(freep) struct book_namespace *ns = calloc(1, sizeof(*ns));

	if (!ns || !(ns->name = strdup(name)))
		return NULL;
	if (name_table_add(&b->namespaces, ns->name, ns) < 0) {
		free(ns->name);
		return NULL;
	}
	return TAKE(ns);
}

/* One promise more. 0 or -ENOMEM. */
static int count_promise(struct book *b, const struct book_pod *pod)
{
	char name[NAMESPACE_SIZE];
	struct book_namespace *ns = name_table_find(&b->namespaces, namespace_of(pod, name));

	if (!ns)
		ns = add_namespace(b, name);
	if (!ns)
		return -ENOMEM;
	ns->n_promises++;
	b->n_promises++;
	return 0;
}

static void uncount_promise(struct book *b, const struct book_pod *pod)
{
	char name[NAMESPACE_SIZE];
	struct book_namespace *ns = name_table_find(&b->namespaces, namespace_of(pod, name));

	b->n_promises--;
	if (!ns || --ns->n_promises > 0)
		return;
	name_table_remove(&b->namespaces, ns->name);
	namespace_free(ns);
}

bool book_namespace_is_full(const struct book *b, const char *namespace, const char *uid)
{
	const struct book_namespace *found = name_table_find(&b->namespaces, namespace);
	const struct book_pod *have = find_pod(b, uid);
	size_t n = found ? found->n_promises - (have && !have->bound) : 0;

	return b->config.namespace_promises > 0 && n >= b->config.namespace_promises;
}

/* ---- pods on nodes */

static int arrive(struct book *b, struct book_pod *pod, struct book_node *node)
{
	struct book_pod **slot = vec_push(&node->pods, &node->n_pods, &node->pods_size, sizeof(*slot));

	if (!slot)
		return -ENOMEM;
	if ((!pod->bound && count_promise(b, pod) < 0) ||
		resource_list_add(&node->requested, &pod->shape->wanted, 1) < 0) {
		node->n_pods--;
		return -ENOMEM;
	}
	*slot = pod;
	pod->node = node;
	touch_for(b, node, pod);
	pod->since = b->version;
	pod->arrived_at = pod->arrived ? b->version : 0;
	return 0;
}

/* The names are in the list already: nothing is allocated. */
static void leave(struct book *b, struct book_pod *pod)
{
	struct book_node *node = pod->node;

	shape_take_away(pod->shape, &node->requested);
	for (size_t i = 0; i < node->n_pods; i++)
		if (node->pods[i] == pod) {
			memmove(&node->pods[i], &node->pods[i + 1],
				(node->n_pods - i - 1) * sizeof(node->pods[0]));
			node->n_pods--;
			break;
		}
	if (!pod->bound)
		uncount_promise(b, pod);
	touch_for(b, node, pod);
	node->freed = b->version;
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

/* The pod does not hold anything any more, whatever its node's object reports. The end of a mirror pod says nothing: its
 * static pod may run on. */
static int end_pod(struct book *b, struct book_pod *pod, uint64_t now_ms)
{
	int r = pod->bound && is_managed(pod) ? note_end(b, pod->node, &pod->names, now_ms) : 0;

	if (r == 0)
		remove_pod(b, pod);
	return r;
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

/* How long the scheduler may take to bind the pod. */
static uint64_t promise_ms(const struct book *b, const struct book_promise *promise)
{
	uint64_t ms = b->config.promise_ms;

	return promise->has_volumes && ms < BOOK_VOLUMES_MS ? BOOK_VOLUMES_MS : ms;
}

int book_promise(struct book *b, const struct book_promise *promise, struct book_node *node, uint64_t now_ms,
	struct book_pod **ret)
{
	CLEANUP(freep) char *full_name = NULL;
	struct book_pod like = {.uid = key_text(promise->uid),
		.shape = promise->shape,
		.until_ms = now_ms + promise_ms(b, promise),
		.version = promise->version,
		.priority = promise->priority};
	const struct book_pod *have = find_pod(b, promise->uid);

	*ret = NULL;
	if ((have && have->bound) ||
		(!have && pending_pods_lack(&b->pending, promise->uid, promise->version)))
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

/* A hash of what the object says: its exporter's own where that is nrtd, else of attributes and zones. 0 or -errno. */
static int hash_content(const struct doc *object, char ret[HASH_TEXT_SIZE])
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(CONTENT_MAX);
	static const char *const members[] = {"attributes", "topologyPolicies", "zones"};
	const char *hash = nrt_content_hash(object);
	int r = 0;

	if (hash) {
		snprintf(ret, HASH_TEXT_SIZE, "%s", hash);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(members) && r == 0; i++) {
		const struct doc *member = doc_get(object, members[i]);

		if (member)
			r = json_print_compact(member, &text);
		strbuf_addch(&text, '\n');
	}
	if (r == 0)
		r = strbuf_error(&text);
	if (r == 0)
		hash_text(text.text, text.len, ret);
	return r;
}

/* The object has not changed: a refresh by its exporter, a label, or a list that has it again. Where its exporter names no
 * pods, that it wrote the same again says that the pods of that time are in it. */
static void renew_nrt(struct book *b, struct book_node *node, const struct doc *object)
{
	int64_t written_s = cluster_zones_written_s(object);

	if (node->object.basis == CLUSTER_EXACT || written_s <= node->object.zones_written_s)
		return;
	node->object.zones_written_s = written_s;
	touch_freed(b, node);
}

static int take_nrt(
	struct book *b, struct book_node *node, struct doc *object, uint64_t now_ms, struct err *err)
{
	CLEANUP(shown_index_release) struct shown_index shown = {0};
	char hash[HASH_TEXT_SIZE];
	struct cluster_node read;
	int r = hash_content(object, hash);

	if (r < 0)
		return err_set(err, r, "NodeResourceTopology '%.100s': %s", node->name, strerror(-r));
	if (node->has_object && !strcmp(hash, node->content_hash)) {
		renew_nrt(b, node, object);
		return 0;
	}
	r = cluster_node_read(object, &read, err);
	if (r < 0)
		return r;
	if (shown_index_init(&shown, &read.state.allocations) < 0 ||
		known_resources_of_state(&b->shapes.known, &read.state, &node->resources[BOOK_NRT]) < 0) {
		cluster_node_release(&read);
		return err_no_memory(err);
	}
	if (read.odd)
		log_warning("node '%s': %s", node->name, read.why.text);
	node->object_ms = node->has_object ? now_ms : 0;
	if (node->has_object)
		cluster_node_release(&node->object);
	shown_index_release(&node->shown);
	node->object = read;
	node->has_object = true;
	node->shown = shown;
	shown = (struct shown_index){0};
	snprintf(node->content_hash, sizeof(node->content_hash), "%s", hash);
	forget_ended(node, now_ms);
	drop_refusals(b, node);
	touch_freed(b, node);
	return 0;
}

static int take_node(struct book *b, struct book_node *node, const struct doc *object, struct err *err)
{
	CLEANUP(resource_list_release) struct resource_list allocatable = {0};
	int r = cluster_allocatable(object, &allocatable, err);

	if (r < 0)
		return err_wrap(err, r, "Node '%.60s'", node->name);
	if (node->has_node && resource_list_equal(&node->allocatable, &allocatable))
		return 0; /* its kubelet writes it every few minutes */
	if (known_resources_of_node(&b->shapes.known, &allocatable, &node->resources[BOOK_NODE]) < 0)
		return err_no_memory(err);
	resource_list_release(&node->allocatable);
	node->allocatable = allocatable;
	allocatable = (struct resource_list){0};
	node->has_node = true;
	touch(b, node);
	return 0;
}

/* The reasons with which the kubelet's managers reject a pod: for them the node's state was another one than is known here.
 * Every other reason is about the pod, or about amounts that the scheduler looks at itself. */
static const char *const manager_reasons[] = {
	"TopologyAffinityError", "SMTAlignmentError", "UnexpectedAdmissionError"};

/* The reason as a text that stays, NULL = not one of the managers'. */
static const char *find_manager_reason(const char *reason)
{
	for (size_t i = 0; i < ARRAY_SIZE(manager_reasons); i++)
		if (!strcmp(reason, manager_reasons[i]))
			return manager_reasons[i];
	return NULL;
}

/* For a while no such pod goes to that node. A pod that somebody else put there says nothing about the next one. */
static int note_refusal(struct book *b, struct book_pod *pod, const char *reason, uint64_t now_ms)
{
	struct book_node *node = pod->node;
	const char *known = find_manager_reason(reason);
	struct book_refusal *refusal;

	b->n_refused++;
	log_warning("the kubelet of node '%s' refused pod '%s': %s", node->name, pod->full_name, reason);
	if (!pod->promised)
		return 0;
	refused_count(&b->promises_refused, reason);
	if (!known)
		return 0;
	refusal = vec_push(&node->refusals, &node->n_refusals, &node->refusals_size, sizeof(*refusal));
	if (!refusal)
		return -ENOMEM;
	*refusal = (struct book_refusal){
		.shape = pod->shape, .reason = known, .until_ms = now_ms + b->config.refusal_ms};
	pod->shape->users++;
	return 0;
}

static int64_t started_at(const struct doc *object)
{
	const char *text = doc_string(doc_get(doc_get(object, "status"), "startTime"));
	int64_t at;

	return text && timestamp_parse(text, &at) == 0 ? at : 0;
}

/* The pod that is there has been admitted: from here on it comes before all others on the way. */
static void note_arrival(struct book *b, struct book_pod *pod, const struct doc *object, uint64_t now_ms)
{
	if (pod->arrived)
		return;
	pod->arrived = true;
	pod->arrived_ms = now_ms;
	pod->started_s = started_at(object);
	if (is_managed(pod))
		touch(b, pod->node);
	pod->arrived_at = b->version;
}

/* The pod asks for something else: it was resized. It stays where it is. */
static int change_shape(struct book *b, struct book_pod *pod, struct shape *shape)
{
	struct resource_list *requested = &pod->node->requested;

	if (resource_list_add(requested, &shape->wanted, 1) < 0)
		return -ENOMEM;
	shape_take_away(pod->shape, requested);
	touch_freed(b, pod->node);
	shapes_drop(&b->shapes, pod->shape);
	pod->shape = shape;
	book_forget_held(pod);
	return 0;
}

/* The pod is known on the node that it has: what is new about it. `shape` moves to the pod on success. */
static int update_pod(struct book *b, struct book_pod *have, struct shape *shape, uint64_t now_ms)
{
	if (have->shape == shape)
		shapes_drop(&b->shapes, shape);
	else if (change_shape(b, have, shape) < 0)
		return -ENOMEM;
	if (!have->bound) {
		uncount_promise(b, have);
		have->bound = have->promised = true;
		have->bound_ms = now_ms;
	}
	have->round = b->round[BOOK_POD];
	return 0;
}

/* The pod has a node: it is put there with what it asks for now. */
static int place_pod(
	struct book *b, struct doc *object, const struct pod_fate *fate, uint64_t now_ms, struct err *err)
{
	CLEANUP(pod_template_release) struct pod_template template = {0};
	CLEANUP(freep) char *full_name = NULL;
	struct book_pod *have = find_pod(b, fate->uid);
	bool stays = have && !strcmp(have->node->name, fate->node);
	struct book_pod like = {.uid = fate->uid,
		.names = fate->names,
		.mirror = fate->names.mirror,
		.bound = true,
		.bound_ms = fate->stage == POD_RUNS ? 0 : now_ms,
		.round = b->round[BOOK_POD]};
	struct book_node *node;
	int r = pod_template_from_pod(object, &template, err);

	if (r < 0)
		return err_wrap(err, r, "Pod '%.60s/%.60s'", fate->namespace, fate->name);
	if (shapes_take(&b->shapes, &template.pod, &like.shape) < 0)
		return err_no_memory(err);
	if (stays) {
		r = update_pod(b, have, like.shape, now_ms);
	} else {
		pod_priority_read(object, &like.priority);
		if (have)
			remove_pod(b, have);
		node = find_or_add(b, fate->node);
		full_name = full_name_of(fate->namespace, fate->name);
		like.full_name = full_name;
		r = node && full_name ? add_pod(b, &like, node) : -ENOMEM;
		have = find_pod(b, fate->uid);
	}
	if (r < 0) {
		shapes_drop(&b->shapes, like.shape);
		return err_no_memory(err);
	}
	/* The kubelet sets the start when it has admitted the pod. */
	if (started_at(object) > 0 || fate->stage == POD_RUNS)
		note_arrival(b, have, object, now_ms);
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
	if (fate.stage == POD_REFUSED || fate.stage == POD_ENDED || *fate.node)
		pending_pods_remove(&b->pending, fate.uid);
	if (fate.stage == POD_REFUSED || fate.stage == POD_ENDED) {
		if (have && have->bound && fate.stage == POD_REFUSED)
			r = note_refusal(b, have, fate.reason, now_ms);
		if (have && r == 0)
			r = end_pod(b, have, now_ms);
		return r < 0 ? err_no_memory(err) : 0;
	}
	if (!*fate.node) {
		if (have)
			have->round = b->round[BOOK_POD];
		return pending_pods_add(&b->pending, fate.uid) < 0 ? err_no_memory(err) : 0;
	}
	return place_pod(b, object, &fate, now_ms, err);
}

static uint64_t version_of(const struct doc *object)
{
	return resource_version_parse(doc_string(doc_get(doc_get(object, "metadata"), "resourceVersion")));
}

int book_object(struct book *b, enum book_kind kind, struct doc *object, uint64_t now_ms, struct err *err)
{
	const char *name = doc_string(doc_get(doc_get(object, "metadata"), "name"));
	struct book_node *node;
	int r;

	if (kind == BOOK_POD) {
		pending_pods_told(&b->pending, version_of(object));
		return take_pod(b, object, now_ms, err);
	}
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
		shown_index_release(&node->shown);
		node->n_ended = 0;
	} else if (kind == BOOK_NODE && node->has_node) {
		resource_list_release(&node->allocatable);
		node->has_node = false;
	} else {
		return;
	}
	known_resources_forget(&b->shapes.known, &node->resources[kind]);
	touch(b, node);
	drop_if_empty(b, node);
}

int book_gone(struct book *b, enum book_kind kind, const struct doc *object, uint64_t now_ms, struct err *err)
{
	const struct doc *metadata = doc_get(object, "metadata");
	const char *name = doc_string(doc_get(metadata, "name")), *uid = doc_string(doc_get(metadata, "uid"));
	struct book_node *node = name && kind != BOOK_POD ? book_find(b, name) : NULL;
	struct book_pod *pod = uid && kind == BOOK_POD ? find_pod(b, uid) : NULL;

	if (node)
		lose(b, node, kind);
	if (kind == BOOK_POD)
		pending_pods_told(&b->pending, version_of(object));
	if (uid && kind == BOOK_POD)
		pending_pods_remove(&b->pending, uid);
	return pod && end_pod(b, pod, now_ms) < 0 ? err_no_memory(err) : 0;
}

void book_skipped(struct book *b, enum book_kind kind)
{
	if (kind == BOOK_POD)
		pending_pods_skip(&b->pending);
}

/* ---- lists */

void book_list_begin(struct book *b, enum book_kind kind)
{
	b->round[kind]++;
	if (kind == BOOK_POD) {
		b->list_version = b->version;
		pending_pods_list_begin(&b->pending);
	}
}

/* The list of that version would have the pod if it still existed. */
static bool is_unlisted(const struct book *b, const struct book_pod *pod, uint64_t version)
{
	return pod->round < b->round[BOOK_POD] &&
	       (pod->bound || pod->since <= b->list_version || (pod->version > 0 && pod->version <= version));
}

/* The node may go with its last pod: it is looked up by its slot. */
static int end_unlisted(struct book *b, size_t slot, uint64_t version, uint64_t now_ms)
{
	int r = 0;

	for (size_t i = b->nodes[slot]->n_pods; i > 0 && r == 0; i--)
		if (is_unlisted(b, b->nodes[slot]->pods[i - 1], version))
			r = end_pod(b, b->nodes[slot]->pods[i - 1], now_ms);
	return r;
}

int book_list_end(struct book *b, enum book_kind kind, uint64_t version, uint64_t now_ms, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < b->n_nodes && r == 0; i++) {
		if (!b->nodes[i])
			continue;
		if (kind == BOOK_POD)
			r = end_unlisted(b, i, version, now_ms);
		else if (b->nodes[i]->round[kind] < b->round[kind])
			lose(b, b->nodes[i], kind);
	}
	if (kind == BOOK_POD && r == 0)
		pending_pods_list_end(&b->pending, version);
	return r < 0 ? err_no_memory(err) : 0;
}

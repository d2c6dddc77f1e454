/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/model/cluster_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/model/cluster_usage.h"
#include "cluster/objects/node_status.h"
#include "cluster/objects/pod_parse.h"
#include "cluster/objects/pod_status.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/vec.h"
#include "scoring/node/node_state_codec.h"
#include "scoring/node/settings_change.h"

void cache_init(struct cluster_cache *cache, const struct cache_config *config)
{
	*cache = (struct cluster_cache){.config = *config};
}

void cache_release(struct cluster_cache *cache)
{
	cache_release_nodes(cache);
	namespace_counts_release(&cache->namespaces);
	pending_pods_release(&cache->pending);
	disruption_budgets_release(&cache->budgets);
	free(cache->nominations);
	free(cache->hidden);
	free(cache->nodes);
	pod_classes_release(&cache->classes);
	*cache = (struct cluster_cache){0};
}

/* ---- assumed pods */

/* How long the scheduler may take to bind the pod. */
static uint64_t assume_ms(const struct cluster_cache *cache, const struct assume_request *request)
{
	uint64_t ms = cache->config.assume_ms;

	return request->has_volumes && ms < ASSUME_VOLUMES_MS ? ASSUME_VOLUMES_MS : ms;
}

struct pod_info *cache_assume_pod(struct cluster_cache *cache, const struct assume_request *request,
	struct node_info *node, uint64_t now_ms)
{
	struct pod_info init = {.class = request->class,
		.names = pod_names_of(request->uid, request->namespace, request->name),
		.expires_ms = now_ms + assume_ms(cache, request),
		.resource_version = request->resource_version,
		.arrival = request->arrival,
		.priority = request->priority};
	const struct pod_info *cached = cache_find_pod(cache, request->uid);
	struct pod_info *pod;

	if ((cached && cached->bound) || (!cached && pending_pods_is_deleted(&cache->pending, request->uid,
							     request->resource_version)))
		return NULL;
	cache_forget_pod(cache, request->uid);
	request->class->users++;
	pod = cache_add_pod(cache, request->uid, request->namespace, request->name, &init, node);
	cache_join_gang(cache, pod, request->namespace, request->gang, now_ms);
	return pod;
}

static void expire_rejections(struct cluster_cache *cache, struct node_info *node, uint64_t now_ms)
{
	size_t kept = 0;

	for (size_t i = 0; i < node->n_rejections; i++) {
		struct node_rejection *rejection = &node->rejections[i];

		if (now_ms < rejection->expires_ms) {
			node->rejections[kept++] = *rejection;
			continue;
		}
		pod_classes_drop(&cache->classes, rejection->class);
		cache_bump_version(cache, node);
	}
	node->n_rejections = kept;
}

static struct pod_info *find_expired(const struct node_info *node, uint64_t now_ms)
{
	for (size_t i = 0; node && i < node->n_pods; i++) {
		struct pod_info *pod = node->pods[i];

		if (!pod->bound && !pod->is_reservation && now_ms >= pod->expires_ms)
			return pod;
	}
	return NULL;
}

void cache_expire(struct cluster_cache *cache, uint64_t now_ms)
{
	cache_expire_gangs(cache, now_ms);
	for (size_t i = 0; i < cache->n_nodes; i++) {
		struct pod_info *pod;

		if (cache->nodes[i]) {
			expire_rejections(cache, cache->nodes[i], now_ms);
			cache_expire_reservations(cache, cache->nodes[i], now_ms);
			cache_expire_ended(cache, cache->nodes[i], now_ms);
		}
		while ((pod = find_expired(cache->nodes[i], now_ms))) {
			log_info("assumed pod '%s' was not bound to node '%s' in time and is forgotten",
				pod->full_name, pod->node->name);
			cache->n_expired++;
			cache_remove_pod(cache, pod);
		}
	}
}

/* ---- objects */

/* For an object whose content has not changed: updates the time of the last write. When another exporter writes
 * unchanged zones, the zones include the node's pods at that time. */
static void update_written_time(struct cluster_cache *cache, struct node_info *node, const struct doc *object)
{
	int64_t written_s = cluster_zones_written_s(object);

	if (node->object.basis == CLUSTER_EXACT || written_s <= node->object.zones_written_s)
		return;
	node->object.zones_written_s = written_s;
	cache_bump_freed_version(cache, node);
}

static void note_device(struct node_info *node, const char *resource)
{
	if (node->devices.n_items < DEVICE_NAMES_MAX)
		strv_push_new(&node->devices, resource);
}

/* Remembers the device resources that the object reports, also when a later object omits them: a restarted kubelet reports a device
 * resource only after its device plugin has registered. */
static void note_devices(struct node_info *node)
{
	const struct allocations *a = &node->object.state.allocations;

	for (size_t i = 0; i < a->n_registered; i++)
		note_device(node, a->registered[i].resource);
	for (size_t i = 0; i < a->n_items; i++)
		for (size_t k = 0; k < a->items[i].n_devices; k++)
			note_device(node, a->items[i].devices[k].resource);
}

static int update_nrt(struct cluster_cache *cache, struct node_info *node, struct doc *object,
	uint64_t now_ms, struct err *err)
{
	char hash[HASH_TEXT_SIZE];
	struct cluster_node read;
	int r = cluster_content_hash(object, hash);

	if (r < 0)
		return err_set(err, r, "NodeResourceTopology '%.100s': %s", node->name, strerror(-r));
	if (node->has_object && !strcmp(hash, node->content_hash)) {
		update_written_time(cache, node, object);
		return 0;
	}
	r = cluster_node_read(object, &read, err);
	if (r < 0)
		return r;
	known_resources_of_state(&cache->classes.known, &read.state, &node->resources[CACHE_NRT]);
	if (read.unreadable_state)
		log_warning("node '%s': %s", node->name, read.why.text);
	node->object_ms = node->has_object ? now_ms : 0;
	if (node->has_object)
		cluster_node_release(&node->object);
	reported_index_release(&node->reported);
	node->object = read;
	node->has_object = true;
	note_devices(node);
	cluster_node_set_release(&node->object, node->kubelet);
	reported_index_init(&node->reported, &read.state.allocations);
	snprintf(node->content_hash, sizeof(node->content_hash), "%s", hash);
	node_info_forget_ended(node, now_ms);
	cache_drop_rejections(cache, node);
	cache_bump_freed_version(cache, node);
	return 0;
}

static void update_release(
	struct cluster_cache *cache, struct node_info *node, struct kubelet_release kubelet)
{
	if (kubelet.minor == node->kubelet.minor && kubelet.prerelease == node->kubelet.prerelease)
		return;
	node->kubelet = kubelet;
	if (!node->has_object || node->object.has_release)
		return;
	cluster_node_set_release(&node->object, kubelet);
	cache_bump_freed_version(cache, node);
}

static int update_node(struct cluster_cache *cache, struct node_info *node, const struct doc *object,
	uint64_t now_ms, struct err *err)
{
	CLEANUP(resource_list_release) struct resource_list allocatable = {0};
	int r = node_allocatable(object, &allocatable, err);

	if (r < 0)
		return err_wrap(err, r, "Node '%.60s'", node->name);
	cache_update_reservations(cache, node, object, now_ms);
	update_release(cache, node, node_kubelet_release(object));
	if (node->has_node && resource_list_equal(&node->allocatable, &allocatable))
		return 0; /* kubelets write their Node every few minutes */
	known_resources_of_node(&cache->classes.known, &allocatable, &node->resources[CACHE_NODE]);
	resource_list_release(&node->allocatable);
	node->allocatable = allocatable;
	allocatable = (struct resource_list){0};
	node->has_node = true;
	cache_bump_version(cache, node);
	return 0;
}

/* Reasons of the kubelet's managers: the kubelet's state differed from the cached state. All other reasons concern the pod
 * itself, or node-level amounts, which the scheduler checks. */
static const char *const manager_reasons[] = {
	"TopologyAffinityError", "SMTAlignmentError", "UnexpectedAdmissionError"};

/* A static string, or NULL for another component's reason. */
static const char *find_manager_reason(const char *reason)
{
	for (size_t i = 0; i < ARRAY_SIZE(manager_reasons); i++)
		if (!strcmp(reason, manager_reasons[i]))
			return manager_reasons[i];
	return NULL;
}

const char *const cache_reasons[CACHE_REASONS] = {
	"TopologyAffinityError", "UnexpectedAdmissionError", "OutOfcpu", "OutOfmemory", "OutOfpods", "other"};

static void count_broken(struct cluster_cache *cache, const char *reason)
{
	size_t i = 0;

	while (i < CACHE_REASONS - 1 && strcmp(reason, cache_reasons[i]) != 0)
		i++;
	cache->n_assumed_rejected[i]++;
}

/* Keeps pods of this class away from the node for config.rejection_ms, if the extender had assumed the pod there. */
static void note_rejection(
	struct cluster_cache *cache, struct pod_info *pod, const char *reason, uint64_t now_ms)
{
	struct node_info *node = pod->node;
	const char *known = find_manager_reason(reason);
	struct node_rejection *rejection;

	cache->n_rejected++;
	log_warning("the kubelet of node '%s' rejected pod '%s': %s", node->name, pod->full_name, reason);
	if (!pod->assumed)
		return;
	count_broken(cache, reason);
	if (!known)
		return;
	rejection =
		vec_push(&node->rejections, &node->n_rejections, &node->rejections_size, sizeof(*rejection));
	*rejection = (struct node_rejection){
		.class = pod->class, .reason = known, .expires_ms = now_ms + cache->config.rejection_ms};
	pod->class->users++;
}

/* Notes the kubelet's admission: the pod precedes all pods that are bound to the node later. */
static void note_admission(
	struct cluster_cache *cache, struct pod_info *pod, const struct doc *object, uint64_t now_ms)
{
	if (pod->admitted)
		return;
	pod->admitted = true;
	pod->admitted_ms = now_ms;
	pod->started_s = pod_started_s(object);
	if (pod_info_is_managed(pod))
		cache_bump_version(cache, pod->node);
	pod->admitted_version = cache->lists_pods ? VERSION_UNKNOWN : cache->version;
}

/* The pod was resized. */
static void change_class(struct cluster_cache *cache, struct pod_info *pod, struct pod_class *class)
{
	struct resource_list *requested = &pod->node->requested;

	resource_list_add(requested, &class->wanted, 1);
	pod_class_subtract(pod->class, requested);
	cache_bump_freed_version(cache, pod->node);
	pod_classes_drop(&cache->classes, pod->class);
	pod->class = class;
	pod_info_forget_held(pod);
}

/* Updates a pod that has kept its node. `class` moves to the pod on success. */
static void update_pod(
	struct cluster_cache *cache, struct pod_info *cached, struct pod_class *class, uint64_t now_ms)
{
	if (cached->class == class)
		pod_classes_drop(&cache->classes, class);
	else
		change_class(cache, cached, class);
	if (!cached->bound) {
		cache_uncount_assumed(cache, cached);
		cache_leave_gang(cache, cached);
		cached->bound = cached->assumed = true;
		cached->bound_ms = now_ms;
		cached->bound_version = cache->lists_pods ? cache->list_version : cache->version;
	}
	cached->list_number = cache->list_number[CACHE_POD];
}

/* Notes what decides whether the pod uses a reservation. Returns whether it has found the pod's controller now. */
static bool note_owner(struct pod_info *pod, const struct doc *object)
{
	const char *controller = controller_uid(doc_get(object, "metadata"));

	pod->created_s = pod_created_s(object);
	if (!*controller || pod->controller)
		return false;
	pod->controller = xstrdup(controller);
	return true;
}

/* Adds or updates a pod that has a node. */
static int place_pod(struct cluster_cache *cache, struct doc *object, const struct pod_status *status,
	uint64_t now_ms, struct err *err)
{
	CLEANUP(pod_template_release) struct pod_template template = {0};
	struct pod_info *cached;
	bool keeps_node, may_use;
	struct pod_info init = {.names = status->names,
		.mirror = status->names.mirror,
		.bound = true,
		.bound_ms = status->stage == POD_RUNS ? 0 : now_ms,
		.list_number = cache->list_number[CACHE_POD]};
	int r = pod_template_from_pod(object, &template, err);

	if (r < 0)
		return err_wrap(err, r, "Pod '%.60s/%.60s'", status->namespace, status->name);
	cache_choose_node(cache, status->namespace, pod_gang_name(object), status->uid, status->node, now_ms);
	cached = cache_find_pod(cache, status->uid);
	keeps_node = cached && !strcmp(cached->node->name, status->node);
	init.class = pod_classes_take(&cache->classes, &template.pod);
	may_use = init.class->aligned && !(keeps_node && cached->bound && cached->class == init.class);
	if (keeps_node)
		update_pod(cache, cached, init.class, now_ms);
	else {
		pod_priority_read(object, &init.priority);
		if (cached)
			cache_remove_pod(cache, cached);
		cached = cache_add_pod(cache, status->uid, status->namespace, status->name, &init,
			cache_find_or_add_node(cache, status->node));
	}
	cached->terminating = pod_is_terminating(object);
	cached->repels = doc_get(doc_get(doc_get(object, "spec"), "affinity"), "podAntiAffinity");
	if (cached->class->aligned) {
		budgeted_pod_set_labels(&cached->budgeted, doc_get(doc_get(object, "metadata"), "labels"));
		may_use |= note_owner(cached, object);
	}
	if (may_use)
		cache_match_reservations(cache, cached->node);
	/* The kubelet sets status.startTime after it has admitted the pod. */
	if (pod_started_s(object) > 0 || status->stage == POD_RUNS)
		note_admission(cache, cached, object, now_ms);
	return 0;
}

/* A reservation that the pod used may be another pod's now. A node with reservations has an object, and stays. */
static void end_pod(struct cluster_cache *cache, struct pod_info *pod, bool may_run, uint64_t now_ms)
{
	struct node_info *node = pod->node->n_reservations > 0 ? pod->node : NULL;

	cache_end_pod(cache, pod, may_run, now_ms);
	if (node)
		cache_match_reservations(cache, node);
}

static uint64_t version_of(const struct doc *object)
{
	return resource_version_parse(doc_string(doc_get(doc_get(object, "metadata"), "resourceVersion")));
}

static int update_from_pod(struct cluster_cache *cache, struct doc *object, uint64_t now_ms, struct err *err)
{
	CLEANUP(pod_status_release) struct pod_status status = {0};
	struct pod_info *cached;
	int r = pod_status_read(object, &status, err);

	if (r < 0)
		return r;
	cached = cache_find_pod(cache, status.uid);
	if (status.stage == POD_REJECTED || status.stage == POD_ENDED || *status.node) {
		pending_pods_remove(&cache->pending, status.uid);
		cache_drop_nomination(cache, status.uid);
	}
	if (status.stage == POD_REJECTED || status.stage == POD_ENDED) {
		if (cached && cached->bound && status.stage == POD_REJECTED)
			note_rejection(cache, cached, status.reason, now_ms);
		cache_forget_gang_pod(cache, status.namespace, pod_gang_name(object), status.uid);
		cached = cache_find_pod(cache, status.uid);
		if (cached)
			end_pod(cache, cached, false, now_ms);
		return 0;
	}
	if (!*status.node) {
		cache_keep_nominated(cache, status.namespace, pod_gang_name(object), status.uid,
			pod_nominated_node(object), version_of(object));
		if (cached)
			cached->list_number = cache->list_number[CACHE_POD];
		pending_pods_add(&cache->pending, status.uid);
		return *pod_gang_name(object) ? 0 : cache_nominate_pod(cache, object, &status, err);
	}
	return place_pod(cache, object, &status, now_ms, err);
}

void cache_skip(struct cluster_cache *cache, enum cache_kind kind)
{
	if (kind == CACHE_POD)
		pending_pods_skip(&cache->pending);
}

int cache_update(struct cluster_cache *cache, enum cache_kind kind, struct doc *object, uint64_t now_ms,
	struct err *err)
{
	const char *name = doc_object_name(object);
	struct node_info *node;
	int r;

	if (kind == CACHE_POD) {
		pending_pods_advance(&cache->pending, version_of(object));
		r = update_from_pod(cache, object, now_ms, err);
		if (r < 0 && !*doc_text(doc_get(object, "metadata"), "uid"))
			cache_skip(cache, kind);
		return r;
	}
	if (kind == CACHE_PDB)
		return disruption_budgets_update(&cache->budgets, object, err);
	if (!name || !*name)
		return err_set(err, -EINVAL, "an object has no name");
	node = cache_find_or_add_node(cache, name);
	node->list_number[kind] = cache->list_number[kind];
	r = kind == CACHE_NRT ? update_nrt(cache, node, object, now_ms, err)
			      : update_node(cache, node, object, now_ms, err);
	cache_drop_if_empty(cache, node);
	return r;
}

static void forget_object(struct cluster_cache *cache, struct node_info *node, enum cache_kind kind)
{
	if (kind == CACHE_NRT && node->has_object) {
		cluster_node_release(&node->object);
		node->has_object = false;
		*node->content_hash = '\0';
		reported_index_release(&node->reported);
		node->n_ended = 0;
	} else if (kind == CACHE_NODE && node->has_node) {
		resource_list_release(&node->allocatable);
		cache_drop_reservations(cache, node);
		node->has_node = false;
	} else {
		return;
	}
	known_resources_forget(&cache->classes.known, &node->resources[kind]);
	cache_bump_version(cache, node);
	cache_drop_if_empty(cache, node);
}

void cache_delete(
	struct cluster_cache *cache, enum cache_kind kind, const struct doc *object, uint64_t now_ms)
{
	const struct doc *metadata = doc_get(object, "metadata");
	const char *name = doc_string(doc_get(metadata, "name")), *uid = doc_string(doc_get(metadata, "uid"));
	bool is_of_node = kind == CACHE_NRT || kind == CACHE_NODE;
	struct node_info *node = name && is_of_node ? cache_find_node(cache, name) : NULL;
	struct pod_info *pod;

	if (node)
		forget_object(cache, node, kind);
	if (kind == CACHE_PDB)
		disruption_budgets_delete(&cache->budgets, object);
	if (kind == CACHE_POD)
		pending_pods_advance(&cache->pending, version_of(object));
	if (!uid || kind != CACHE_POD)
		return;
	pending_pods_remove(&cache->pending, uid);
	cache_drop_nomination(cache, uid);
	cache_forget_gang_pod(cache, doc_text(metadata, "namespace"), pod_gang_name(object), uid);
	pod = cache_find_pod(cache, uid);
	if (pod)
		end_pod(cache, pod, pod_has_running_containers(object), now_ms);
}

/* ---- lists */

void cache_list_begin(struct cluster_cache *cache, enum cache_kind kind)
{
	cache->list_number[kind]++;
	if (kind == CACHE_PDB)
		disruption_budgets_list_begin(&cache->budgets);
	if (kind == CACHE_POD) {
		cache->list_version = cache->version;
		cache->lists_pods = true;
		pending_pods_list_begin(&cache->pending);
	}
}

/* Whether a list of this version would contain the pod if the pod still existed. */
static bool is_unlisted(const struct cluster_cache *cache, const struct pod_info *pod, uint64_t version)
{
	return !pod->is_reservation && !pod->earlier && pod->list_number < cache->list_number[CACHE_POD] &&
	       (pod->bound || pod->placed_version <= cache->list_version ||
		       (pod->resource_version > 0 && pod->resource_version <= version));
}

/* Removing the last pod may free the node, so the node is accessed by its slot. */
static void end_unlisted(struct cluster_cache *cache, size_t slot, uint64_t version, uint64_t now_ms)
{
	for (size_t i = cache->nodes[slot]->n_pods; i > 0; i--)
		if (is_unlisted(cache, cache->nodes[slot]->pods[i - 1], version))
			cache_end_pod(cache, cache->nodes[slot]->pods[i - 1], false, now_ms);
}

/* The admissions that the list has reported precede all later ends. */
static void end_admissions(struct cluster_cache *cache)
{
	cache->version++;
	for (size_t i = 0; i < cache->n_nodes; i++)
		for (size_t k = 0; cache->nodes[i] && k < cache->nodes[i]->n_pods; k++)
			if (cache->nodes[i]->pods[k]->admitted_version == VERSION_UNKNOWN)
				cache->nodes[i]->pods[k]->admitted_version = cache->version;
	cache->lists_pods = false;
}

void cache_list_end(struct cluster_cache *cache, enum cache_kind kind, uint64_t version, uint64_t now_ms)
{
	if (kind == CACHE_PDB) {
		disruption_budgets_list_end(&cache->budgets);
		return;
	}
	for (size_t i = 0; i < cache->n_nodes; i++) {
		if (!cache->nodes[i])
			continue;
		if (kind == CACHE_POD)
			end_unlisted(cache, i, version, now_ms);
		else if (cache->nodes[i]->list_number[kind] < cache->list_number[kind])
			forget_object(cache, cache->nodes[i], kind);
	}
	if (kind == CACHE_POD) {
		end_admissions(cache);
		for (size_t i = 0; i < cache->n_nodes; i++)
			if (cache->nodes[i])
				cache_match_reservations(cache, cache->nodes[i]);
		cache_drop_unlisted_nominations(cache);
		pending_pods_list_end(&cache->pending, version);
	}
}

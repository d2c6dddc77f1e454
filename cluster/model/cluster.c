/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/model/cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/objects/node_status.h"
#include "cluster/objects/pod_parse.h"
#include "cluster/objects/pod_status.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/node/node_state_codec.h"
#include "scoring/node/settings_change.h"

const char *const cluster_kind_names[CLUSTER_KINDS] = {
	"NodeResourceTopologies", "Nodes", "Pods", "PodDisruptionBudgets"};

void cluster_init(struct cluster *cluster, const struct cluster_config *config)
{
	*cluster = (struct cluster){.config = *config};
}

void cluster_release(struct cluster *cluster)
{
	cluster_release_nodes(cluster);
	namespace_counts_release(&cluster->namespaces);
	pending_pods_release(&cluster->pending);
	rejected_pods_release(&cluster->rejected);
	disruption_budgets_release(&cluster->budgets);
	free(cluster->nominations);
	free(cluster->hidden);
	free(cluster->nodes);
	pod_classes_release(&cluster->classes);
	*cluster = (struct cluster){0};
}

/* ---- assumed pods */

/* How long the scheduler may take to bind the pod. */
static uint64_t assume_ms(const struct cluster *cluster, const struct assume_request *request)
{
	uint64_t ms = cluster->config.assume_ms;

	return request->has_volumes && ms < ASSUME_VOLUMES_MS ? ASSUME_VOLUMES_MS : ms;
}

struct pod_info *cluster_assume_pod(struct cluster *cluster, const struct assume_request *request,
	struct node_info *node, uint64_t now_ms)
{
	struct pod_info init = {.class = request->class,
		.names = pod_names_of(request->uid, request->namespace, request->name),
		.expires_ms = now_ms + assume_ms(cluster, request),
		.resource_version = request->resource_version,
		.arrival = request->arrival,
		.priority = request->priority};
	const struct pod_info *cached = cluster_find_pod(cluster, request->uid);
	struct pod_info *pod;

	if (cached && cached->bound)
		return NULL;
	if (!cached && pending_pods_is_deleted(&cluster->pending, request->uid, request->resource_version))
		return NULL;
	cluster_forget_pod(cluster, request->uid);
	request->class->users++;
	pod = cluster_add_pod(cluster, request->uid, request->namespace, request->name, &init, node);
	cluster_join_gang(cluster, pod, request->namespace, request->gang, now_ms);
	return pod;
}

static void expire_rejections(struct cluster *cluster, struct node_info *node, uint64_t now_ms)
{
	size_t kept = 0;

	for (size_t i = 0; i < node->n_rejections; i++) {
		struct node_rejection *rejection = &node->rejections[i];

		if (now_ms < rejection->expires_ms) {
			node->rejections[kept++] = *rejection;
			continue;
		}
		pod_classes_drop(&cluster->classes, rejection->class);
		cluster_bump_version(cluster, node); /* verdicts on the class were rejections */
	}
	node->n_rejections = kept;
}

/* `node` NULL = a free slot: a node without objects is freed with its last pod. */
static struct pod_info *find_expired(const struct node_info *node, uint64_t now_ms)
{
	for (size_t i = 0; node && i < node->n_pods; i++) {
		struct pod_info *pod = node->pods[i];

		if (!pod->bound && !pod->is_reservation && now_ms >= pod->expires_ms)
			return pod;
	}
	return NULL;
}

void cluster_expire(struct cluster *cluster, uint64_t now_ms)
{
	cluster_expire_gangs(cluster, now_ms);
	for (size_t i = 0; i < cluster->n_nodes; i++) {
		struct pod_info *pod;

		if (cluster->nodes[i]) {
			expire_rejections(cluster, cluster->nodes[i], now_ms);
			cluster_expire_reservations(cluster, cluster->nodes[i], now_ms);
			cluster_expire_ended(cluster, cluster->nodes[i], now_ms);
		}
		while ((pod = find_expired(cluster->nodes[i], now_ms))) {
			log_info("assumed pod '%s/%s' was not bound to node '%s' in time and is forgotten",
				pod->namespace, pod->name, pod->node->name);
			cluster->n_expired++;
			cluster_remove_pod(cluster, pod);
		}
	}
}

/* ---- objects */

/* For an object whose content has not changed: updates the time of the last write. When another exporter writes
 * unchanged zones, the zones include the node's pods at that time. An object of nrtd (CLUSTER_EXACT) lists its pods. */
static void update_written_time(struct cluster *cluster, struct node_info *node, const struct doc *object)
{
	int64_t written_s = cluster_zones_written_s(object);

	if (node->object.basis == CLUSTER_EXACT || written_s <= node->object.zones_written_s)
		return;
	node->object.zones_written_s = written_s;
	cluster_bump_freed_version(cluster, node);
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

/* The object moves. */
static void set_object(
	struct cluster *cluster, struct node_info *node, struct cluster_node *object, uint64_t now_ms)
{
	known_resources_of_state(&cluster->classes.known, &object->state, &node->resources[OBJECT_NRT]);
	/* When the first object got its content is unknown. */
	node->object_ms = node->has_object ? now_ms : 0;
	if (node->has_object)
		cluster_node_release(&node->object);
	reported_index_release(&node->reported);
	node->object = *object;
	*object = (struct cluster_node){.basis = CLUSTER_UNKNOWN};
	node_state_init(&object->state);
	node->has_object = true;
	node->object_dropped = false;
	note_devices(node);
	cluster_node_set_release(&node->object, node->kubelet);
	reported_index_init(&node->reported, &node->object.state.allocations);
	node_info_forget_ended(node, now_ms);
	cluster_drop_rejections(cluster, node);
	cluster_bump_freed_version(cluster, node);
}

static void update_nrt(struct cluster *cluster, struct node_info *node, const struct doc *object,
	struct object_content *content, uint64_t now_ms)
{
	if (content->unchanged) {
		update_written_time(cluster, node, object);
		return;
	}
	if (content->zones.unreadable_state)
		log_warning("node '%s': %s", node->name, content->zones.why.text);
	set_object(cluster, node, &content->zones, now_ms);
	snprintf(node->content_hash, sizeof(node->content_hash), "%s", content->hash);
}

struct node_info *cluster_set_object(struct cluster *cluster, struct cluster_node *object, uint64_t now_ms)
{
	struct node_info *node = cluster_find_or_add_node(cluster, object->state.node_name);

	set_object(cluster, node, object, now_ms);
	return node;
}

/* Sets the kubelet's release that the Node reports. An object with a release of its own keeps that one. */
static void update_release(struct cluster *cluster, struct node_info *node, struct kubelet_release kubelet)
{
	if (kubelet.minor == node->kubelet.minor && kubelet.prerelease == node->kubelet.prerelease)
		return;
	node->kubelet = kubelet;
	if (!node->has_object || node->object.has_release)
		return;
	cluster_node_set_release(&node->object, kubelet);
	cluster_bump_freed_version(cluster, node);
}

void cluster_set_allocatable(
	struct cluster *cluster, struct node_info *node, struct resource_list *allocatable)
{
	known_resources_of_node(&cluster->classes.known, allocatable, &node->resources[OBJECT_NODE]);
	resource_list_release(&node->allocatable);
	node->allocatable = *allocatable;
	*allocatable = (struct resource_list){0};
	cluster->n_with_node += !node->has_node;
	node->has_node = true;
	cluster_bump_version(cluster, node);
}

static void update_node(struct cluster *cluster, struct node_info *node, const struct doc *object,
	struct object_content *content, uint64_t now_ms)
{
	cluster_update_reservations(cluster, node, content, now_ms);
	update_release(cluster, node, node_kubelet_release(object));
	if (cluster->config.keep_constraints) {
		doc_release(&node->constraints);
		node_copy_constraints(object, &node->constraints);
	}
	node->is_ready = !strcmp(node_ready_status(object), "True");
	node->is_cordoned = node_is_cordoned(object);
	/* Kubelets write their Node every few minutes; cached verdicts stay valid if the amounts are the same. */
	if (!node->has_node || !resource_list_equal(&node->allocatable, &content->allocatable))
		cluster_set_allocatable(cluster, node, &content->allocatable);
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

/* Counts the rejection of a pod once, also of a pod that the model does not have. */
static void count_rejected_pod(struct cluster *cluster, const struct pod_status *status, bool was_bound)
{
	struct node_info *node = cluster_find_node(cluster, status->node);

	if (!rejected_pods_add(&cluster->rejected, status->uid, was_bound))
		return;
	log_warning("the kubelet of node '%s' rejected pod '%s/%s': %s", status->node, status->namespace,
		status->name, status->reason);
	if (!node)
		return;
	if (!node->n_rejected)
		node->n_rejected = xcalloc(REJECTION_REASONS, sizeof(*node->n_rejected));
	node->n_rejected[rejection_reason_find(status->reason)]++;
}

/* If the extender had assumed the pod on the node: counts the rejection, and keeps pods of this class away from the node for
 * config.rejection_ms if one of the kubelet's managers rejected the pod. */
static void note_rejection(struct cluster *cluster, struct pod_info *pod, const char *reason, uint64_t now_ms)
{
	struct node_info *node = pod->node;
	const char *manager_reason = find_manager_reason(reason);
	struct node_rejection *rejection;

	if (!pod->assumed)
		return;
	cluster->n_assumed_rejected[rejection_reason_find(reason)]++;
	if (!manager_reason)
		return;
	rejection =
		vec_push(&node->rejections, &node->n_rejections, &node->rejections_size, sizeof(*rejection));
	*rejection = (struct node_rejection){.class = pod->class,
		.reason = manager_reason,
		.expires_ms = now_ms + cluster->config.rejection_ms};
	pod->class->users++;
}

/* Notes the kubelet's admission: the pod precedes all pods that are bound to the node later. */
static void note_admission(
	struct cluster *cluster, struct pod_info *pod, const struct doc *object, uint64_t now_ms)
{
	if (pod->admitted)
		return;
	pod->admitted = true;
	pod->admitted_ms = now_ms;
	pod->started_s = pod_started_s(object);
	pod->scheduled_s = pod_scheduled_s(object);
	if (pod_info_is_managed(pod))
		cluster_bump_version(cluster, pod->node);
	pod->admitted_version = cluster->lists_pods ? VERSION_UNKNOWN : cluster->version;
}

/* The pod was resized. `class` moves to the pod. */
static void change_class(struct cluster *cluster, struct pod_info *pod, struct pod_class *class)
{
	struct resource_list *requested = &pod->node->requested;

	resource_list_add(requested, &class->wanted, 1);
	pod_class_subtract(pod->class, requested);
	cluster_bump_freed_version(cluster, pod->node);
	pod_classes_drop(&cluster->classes, pod->class);
	pod->class = class;
	pod_info_forget_held(pod);
}

/* Whether the class requests less of some resource of the other one. */
static bool is_smaller(const struct pod_class *class, const struct pod_class *other)
{
	for (size_t i = 0; i < other->wanted.n_items; i++)
		if (resource_list_amount(&class->wanted, other->wanted.items[i].name) <
			other->wanted.items[i].quantity.nano)
			return true;
	return false;
}

/*
 * Updates a pod that has kept its node. `class` moves to the pod on success. A user may make a pod smaller before the kubelet reports what it
 * has allocated: until then the pod counts with its previous size.
 */
static void update_pod(struct cluster *cluster, struct pod_info *cached, struct pod_class *class,
	const struct doc *object, uint64_t now_ms)
{
	if (cached->class == class || (is_smaller(class, cached->class) && !pod_reports_resources(object)))
		pod_classes_drop(&cluster->classes, class);
	else
		change_class(cluster, cached, class);
	if (!cached->bound) {
		cluster_uncount_assumed(cluster, cached);
		cluster_leave_gang(cluster, cached);
		cached->bound = cached->assumed = true;
		cached->bound_ms = now_ms;
		cached->bound_version = cluster->lists_pods ? cluster->list_version : cluster->version;
	}
	cached->list_number = cluster->list_number[OBJECT_POD];
}

/* Notes what decides whether the pod uses a reservation. Returns whether the pod's controller was unknown before. */
static bool note_owner(struct pod_info *pod, const struct doc *object)
{
	const char *controller = controller_uid(doc_get(object, "metadata"));

	pod->created_s = object_created_s(object);
	if (!*controller || pod->controller)
		return false;
	pod->controller = xstrdup(controller);
	return true;
}

/* Adds or updates a pod that has a node. An earlier assumption on another node is removed. */
static void place_pod(struct cluster *cluster, const struct doc *object, const struct pod_status *status,
	struct pod_request *request, uint64_t now_ms)
{
	struct pod_info *cached;
	bool keeps_node, may_use_reservation;
	struct pod_info init = {.names = status->names,
		.mirror = status->names.mirror,
		.daemon = !strncmp(status->owner, "DaemonSet ", strlen("DaemonSet ")),
		.bound = true,
		.bound_ms = status->stage == POD_RUNS ? 0 : now_ms,
		.list_number = cluster->list_number[OBJECT_POD]};

	cluster_choose_node(
		cluster, status->namespace, pod_gang_name(object), status->uid, status->node, now_ms);
	cached = cluster_find_pod(cluster, status->uid);
	keeps_node = cached && !strcmp(cached->node->name, status->node);
	init.class = pod_classes_take(&cluster->classes, request);
	/* If the pod was bound to the node before, and has the same requests, nothing has changed for the reservations. */
	may_use_reservation =
		init.class->aligned && !(keeps_node && cached->bound && cached->class == init.class);
	if (keeps_node)
		update_pod(cluster, cached, init.class, object, now_ms);
	else {
		init.priority_known = pod_priority_read(object, &init.priority);
		if (cached)
			cluster_remove_pod(cluster, cached);
		cached = cluster_add_pod(cluster, status->uid, status->namespace, status->name, &init,
			cluster_find_or_add_node(cluster, status->node));
	}
	cached->terminating = pod_is_terminating(object);
	cached->repels = doc_get(doc_get(doc_get(object, "spec"), "affinity"), "podAntiAffinity");
	if (cached->class->aligned) {
		budgeted_pod_set_labels(&cached->budgeted, doc_get(doc_get(object, "metadata"), "labels"));
		may_use_reservation |= note_owner(cached, object);
	}
	if (may_use_reservation)
		cluster_match_reservations(cluster, cached->node);
	cached->runs = status->stage == POD_RUNS;
	if (cached->mirror)
		text_set(&cached->static_uid, pod_names_kubelets_uid(doc_get(object, "metadata")));
	/* The kubelet sets status.startTime after it has admitted the pod. */
	if (pod_started_s(object) > 0 || status->stage == POD_RUNS)
		note_admission(cluster, cached, object, now_ms);
}

/* A reservation that the pod used may be another pod's now. A node with reservations has a Node object, so the node is not freed
 * with its last pod. */
static void end_pod(struct cluster *cluster, struct pod_info *pod, bool may_run, uint64_t now_ms)
{
	struct node_info *node = pod->node->n_reservations > 0 ? pod->node : NULL;

	cluster_end_pod(cluster, pod, may_run, now_ms);
	if (node)
		cluster_match_reservations(cluster, node);
}

static uint64_t version_of(const struct doc *object)
{
	return resource_version_parse(doc_string(doc_get(doc_get(object, "metadata"), "resourceVersion")));
}

/* The pod has ended, or its kubelet has rejected it. */
static void update_ended_pod(
	struct cluster *cluster, const struct doc *object, const struct pod_status *status, uint64_t now_ms)
{
	struct pod_info *cached = cluster_find_pod(cluster, status->uid);

	if (status->stage == POD_REJECTED) {
		count_rejected_pod(cluster, status, cached && cached->bound);
		if (cached && cached->bound)
			note_rejection(cluster, cached, status->reason, now_ms);
	}
	cluster_forget_gang_pod(cluster, status->namespace, pod_gang_name(object), status->uid);
	cached = cluster_find_pod(cluster, status->uid); /* NULL now if the pod was assumed with its gang */
	if (cached)
		end_pod(cluster, cached, false, now_ms);
}

/* The pod has no node. Returns the error of the content: the pod is pending also if its requests cannot be read. */
static int update_pending_pod(struct cluster *cluster, const struct doc *object,
	const struct pod_status *status, struct object_content *content, struct err *err)
{
	struct pod_info *assumed = cluster_find_pod(cluster, status->uid);

	cluster_keep_nominated(cluster, status->namespace, pod_gang_name(object), status->uid,
		pod_nominated_node(object), version_of(object));
	if (assumed)
		assumed->list_number = cluster->list_number[OBJECT_POD];
	pending_pods_add(&cluster->pending, status->uid);
	if (*pod_gang_name(object)) /* a gang's pod has no stand-in */
		return 0;
	cluster_nominate_pod(cluster, object, status, content);
	return content->error < 0 ? err_set(err, content->error, "%s", content->why.text) : 0;
}

static int update_from_pod(struct cluster *cluster, const struct doc *object, struct object_content *content,
	uint64_t now_ms, struct err *err)
{
	CLEANUP(pod_status_release) struct pod_status status = {0};
	bool has_ended;
	int r = pod_status_read(object, &status, err);

	if (r < 0)
		return r;
	free(status.uid);
	status.uid = pod_key(object); /* a Pod from a file may have no UID */
	has_ended = status.stage == POD_REJECTED || status.stage == POD_ENDED;
	if (!has_ended && !*status.node)
		return update_pending_pod(cluster, object, &status, content, err);
	pending_pods_remove(&cluster->pending, status.uid);
	cluster_drop_nomination(cluster, status.uid);
	if (has_ended) {
		update_ended_pod(cluster, object, &status, now_ms);
		return 0;
	}
	if (content->error < 0)
		return err_set(err, content->error, "%s", content->why.text);
	place_pod(cluster, object, &status, &content->request, now_ms);
	return 0;
}

void cluster_skip(struct cluster *cluster, enum object_kind kind)
{
	if (kind == OBJECT_POD)
		pending_pods_skip(&cluster->pending);
}

const char *cluster_known_hash(const struct cluster *cluster, enum object_kind kind, const struct doc *object)
{
	const char *name = doc_object_name(object);
	const struct node_info *node = name ? cluster_find_node(cluster, name) : NULL;

	if (node && kind == OBJECT_NRT)
		return node->content_hash;
	return node && kind == OBJECT_NODE ? node->reservations_hash : "";
}

int cluster_update_read(struct cluster *cluster, enum object_kind kind, struct doc *object,
	struct object_content *content, uint64_t now_ms, struct err *err)
{
	const char *name = doc_object_name(object);
	struct node_info *node;
	int r;

	if (kind == OBJECT_POD) {
		pending_pods_advance(&cluster->pending, version_of(object));
		r = update_from_pod(cluster, object, content, now_ms, err);
		/* Without a UID, any pod that is not known may be this Pod. */
		if (r < 0 && !*doc_text(doc_get(object, "metadata"), "uid"))
			cluster_skip(cluster, kind);
		return r;
	}
	if (kind == OBJECT_PDB)
		return disruption_budgets_update(&cluster->budgets, object, err);
	if (!name || !*name)
		return err_set(err, -EINVAL, "a %s without a name", object_kind_names[kind]);
	node = cluster_find_or_add_node(cluster, name);
	node->list_number[kind] = cluster->list_number[kind]; /* an unreadable object is in the list, too */
	r = content->error;
	if (r < 0)
		err_set(err, r, "%s", content->why.text);
	else if (kind == OBJECT_NRT)
		update_nrt(cluster, node, object, content, now_ms);
	else
		update_node(cluster, node, object, content, now_ms);
	cluster_drop_if_empty(cluster, node);
	return r;
}

int cluster_update(
	struct cluster *cluster, enum object_kind kind, struct doc *object, uint64_t now_ms, struct err *err)
{
	CLEANUP(object_content_release) struct object_content content;

	object_content_read(kind, object, cluster_known_hash(cluster, kind, object), &content);
	return cluster_update_read(cluster, kind, object, &content, now_ms, err);
}

static void forget_object(struct cluster *cluster, struct node_info *node, enum object_kind kind)
{
	if (kind == OBJECT_NRT && node->has_object) {
		cluster_node_release(&node->object);
		node->has_object = false;
		*node->content_hash = '\0';
		reported_index_release(&node->reported);
		node->n_ended = 0; /* without an object nothing reports ended pods */
	} else if (kind == OBJECT_NODE && node->has_node) {
		resource_list_release(&node->allocatable);
		doc_release(&node->constraints);
		cluster_drop_reservations(cluster, node);
		node->has_node = false;
		cluster->n_with_node--;
	} else {
		return;
	}
	known_resources_forget(&cluster->classes.known, &node->resources[kind]);
	cluster_bump_version(cluster, node);
	cluster_drop_if_empty(cluster, node);
}

void cluster_drop_object(struct cluster *cluster, struct node_info *node)
{
	node->object_dropped = true;
	forget_object(cluster, node, OBJECT_NRT);
}

bool cluster_node_lacks_object(const struct node_info *node)
{
	return node->has_node && !node->has_object && !node->object_dropped;
}

static void delete_pod(struct cluster *cluster, const struct doc *object, uint64_t now_ms)
{
	const struct doc *metadata = doc_get(object, "metadata");
	const char *uid = doc_string(doc_get(metadata, "uid"));
	struct pod_info *pod;

	pending_pods_advance(&cluster->pending, version_of(object));
	if (!uid)
		return;
	pending_pods_remove(&cluster->pending, uid);
	rejected_pods_remove(&cluster->rejected, uid);
	cluster_drop_nomination(cluster, uid);
	cluster_forget_gang_pod(cluster, doc_text(metadata, "namespace"), pod_gang_name(object), uid);
	pod = cluster_find_pod(cluster, uid);
	if (pod)
		end_pod(cluster, pod, pod_has_running_containers(object), now_ms);
}

void cluster_delete(struct cluster *cluster, enum object_kind kind, const struct doc *object, uint64_t now_ms)
{
	const char *name = doc_string(doc_get(doc_get(object, "metadata"), "name"));
	struct node_info *node;

	if (kind == OBJECT_POD) {
		delete_pod(cluster, object, now_ms);
	} else if (kind == OBJECT_PDB) {
		disruption_budgets_delete(&cluster->budgets, object);
	} else {
		node = name ? cluster_find_node(cluster, name) : NULL;
		if (node)
			forget_object(cluster, node, kind);
	}
}

/* ---- lists */

void cluster_list_begin(struct cluster *cluster, enum object_kind kind)
{
	cluster->list_number[kind]++;
	if (kind == OBJECT_PDB)
		disruption_budgets_list_begin(&cluster->budgets);
	if (kind == OBJECT_POD) {
		cluster->list_version = cluster->version;
		cluster->lists_pods = true;
		pending_pods_list_begin(&cluster->pending);
		rejected_pods_list_begin(&cluster->rejected);
	}
}

/* Whether the complete list of this version shows that the Pod no longer exists: the list does not contain the Pod, and would contain it
 * if it existed. */
static bool has_vanished(const struct cluster *cluster, const struct pod_info *pod, uint64_t version)
{
	/* A stand-in is no Pod. Of a gang's pod only the last assumption gets the number of the list. */
	if (pod->is_reservation || pod->earlier)
		return false;
	if (pod->list_number == cluster->list_number[OBJECT_POD]) /* the list has the pod */
		return false;
	/* A list contains each Pod that is older. That a Pod is bound was reported by this list or before it, and the Pod was created before
	 * it was assumed or requested. */
	return pod->bound || pod->placed_version <= cluster->list_version ||
	       (pod->resource_version > 0 && pod->resource_version <= version);
}

/* Removing the last pod may free the node, so the node is accessed by its slot. */
static void end_unlisted(struct cluster *cluster, size_t slot, uint64_t version, uint64_t now_ms)
{
	for (size_t i = cluster->nodes[slot]->n_pods; i > 0; i--)
		if (has_vanished(cluster, cluster->nodes[slot]->pods[i - 1], version))
			cluster_end_pod(cluster, cluster->nodes[slot]->pods[i - 1], false, now_ms);
}

/* The admissions that the list has reported precede all later ends. */
static void end_admissions(struct cluster *cluster)
{
	cluster->version++;
	for (size_t i = 0; i < cluster->n_nodes; i++)
		for (size_t k = 0; cluster->nodes[i] && k < cluster->nodes[i]->n_pods; k++)
			if (cluster->nodes[i]->pods[k]->admitted_version == VERSION_UNKNOWN)
				cluster->nodes[i]->pods[k]->admitted_version = cluster->version;
	cluster->lists_pods = false;
}

void cluster_list_end(struct cluster *cluster, enum object_kind kind, uint64_t version, uint64_t now_ms)
{
	if (kind == OBJECT_PDB) {
		disruption_budgets_list_end(&cluster->budgets);
		return;
	}
	for (size_t i = 0; i < cluster->n_nodes; i++) {
		if (!cluster->nodes[i])
			continue;
		if (kind == OBJECT_POD)
			end_unlisted(cluster, i, version, now_ms);
		else if (cluster->nodes[i]->list_number[kind] < cluster->list_number[kind])
			forget_object(cluster, cluster->nodes[i], kind);
	}
	if (kind == OBJECT_POD) {
		end_admissions(cluster);
		for (size_t i = 0; i < cluster->n_nodes; i++)
			if (cluster->nodes[i])
				cluster_match_reservations(cluster, cluster->nodes[i]);
		cluster_drop_unlisted_nominations(cluster);
		pending_pods_list_end(&cluster->pending, version);
		rejected_pods_list_end(&cluster->rejected);
	}
}

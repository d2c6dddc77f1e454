/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe/pods_api.h"

#include <errno.h>
#include <string.h>

#include "agent/observe/grpc_unary.h"
#include "agent/observe/pods_api.pb-c.h"
#include "common/cleanup.h"

#define LIST_PODS   "/v1alpha1.Pods/ListPods"
#define DEADLINE_MS 2000u

/* ---- a Pod as a document */

static void add_optional_text(struct doc *map, const char *key, const char *text)
{
	if (text)
		doc_add_string(map, key, text);
}

/* A Quantity without text is 0, as in Go. */
static void add_quantities(struct doc *map, const char *key, Podsapi__QuantityEntry *const *entries, size_t n)
{
	struct doc *amounts = n > 0 ? doc_add_map(map, key) : NULL;

	for (size_t i = 0; i < n; i++)
		if (entries[i]->key)
			doc_add_string(amounts, entries[i]->key,
				entries[i]->value && entries[i]->value->string ? entries[i]->value->string
									       : "0");
}

static void add_container_resources(struct doc *map, const Podsapi__ResourceRequirements *from)
{
	struct doc *resources = from ? doc_add_map(map, "resources") : NULL;

	if (!from)
		return;
	add_quantities(resources, "requests", from->requests, from->n_requests);
	add_quantities(resources, "limits", from->limits, from->n_limits);
}

static void add_spec_containers(
	struct doc *spec, const char *key, Podsapi__Container *const *containers, size_t n)
{
	struct doc *list = n > 0 ? doc_add_list(spec, key) : NULL;

	for (size_t i = 0; i < n; i++) {
		struct doc *map = doc_add_map(list, NULL);

		add_optional_text(map, "name", containers[i]->name);
		add_optional_text(map, "restartPolicy", containers[i]->restartpolicy);
		add_container_resources(map, containers[i]->resources);
	}
}

static void add_pod_metadata(struct doc *pod, const Podsapi__ObjectMeta *from)
{
	struct doc *map = doc_add_map(pod, "metadata"), *annotations;

	if (!from)
		return;
	add_optional_text(map, "name", from->name);
	add_optional_text(map, "namespace", from->namespace_);
	add_optional_text(map, "uid", from->uid);
	annotations = from->n_annotations > 0 ? doc_add_map(map, "annotations") : NULL;
	for (size_t i = 0; i < from->n_annotations; i++)
		if (from->annotations[i]->key)
			add_optional_text(annotations, from->annotations[i]->key,
				from->annotations[i]->value ? from->annotations[i]->value : "");
}

static void add_spec(struct doc *pod, const Podsapi__PodSpec *from, const char *node)
{
	struct doc *map = doc_add_map(pod, "spec"), *claims;

	doc_add_string(map, "nodeName", node);
	if (!from)
		return;
	add_spec_containers(map, "initContainers", from->initcontainers, from->n_initcontainers);
	add_spec_containers(map, "containers", from->containers, from->n_containers);
	add_optional_text(map, "priorityClassName", from->priorityclassname);
	if (from->has_priority)
		doc_add_number(map, "priority", from->priority);
	add_quantities(map, "overhead", from->overhead, from->n_overhead);
	add_container_resources(map, from->resources);
	claims = from->n_resourceclaims > 0 ? doc_add_list(map, "resourceClaims") : NULL;
	for (size_t i = 0; i < from->n_resourceclaims; i++)
		add_optional_text(doc_add_map(claims, NULL), "name", from->resourceclaims[i]->name);
}

static void add_container_statuses(
	struct doc *status, const char *key, Podsapi__ContainerStatus *const *statuses, size_t n)
{
	struct doc *list = n > 0 ? doc_add_list(status, key) : NULL;

	for (size_t i = 0; i < n; i++) {
		struct doc *map = doc_add_map(list, NULL);

		add_optional_text(map, "name", statuses[i]->name);
		add_quantities(map, "allocatedResources", statuses[i]->allocatedresources,
			statuses[i]->n_allocatedresources);
		add_container_resources(map, statuses[i]->resources);
	}
}

static void add_pod_status(struct doc *pod, const Podsapi__PodStatus *from)
{
	struct doc *map = doc_add_map(pod, "status"), *conditions;

	if (!from)
		return;
	add_optional_text(map, "phase", from->phase);
	add_optional_text(map, "qosClass", from->qosclass);
	conditions = from->n_conditions > 0 ? doc_add_list(map, "conditions") : NULL;
	for (size_t i = 0; i < from->n_conditions; i++) {
		struct doc *condition = doc_add_map(conditions, NULL);

		add_optional_text(condition, "type", from->conditions[i]->type);
		add_optional_text(condition, "status", from->conditions[i]->status);
		add_optional_text(condition, "reason", from->conditions[i]->reason);
	}
	add_container_statuses(
		map, "initContainerStatuses", from->initcontainerstatuses, from->n_initcontainerstatuses);
	add_container_statuses(map, "containerStatuses", from->containerstatuses, from->n_containerstatuses);
}

static int add_api_pod(struct doc *list, const ProtobufCBinaryData *bytes, const char *node, struct err *err)
{
	Podsapi__Pod *pod = podsapi__pod__unpack(NULL, bytes->len, bytes->data);
	struct doc *map;

	if (!pod)
		return err_set(err, -EBADMSG, "ListPods: the reply has a pod that is not a valid message");
	map = doc_add_map(list, NULL);
	doc_add_string(map, "kind", "Pod");
	add_pod_metadata(map, pod->metadata);
	add_spec(map, pod->spec, node);
	add_pod_status(map, pod->status);
	podsapi__pod__free_unpacked(pod, NULL);
	return 0;
}

int pods_api_parse(const void *bytes, size_t len, const char *node, struct doc *ret, struct err *err)
{
	CLEANUP(doc_release) struct doc list = {.kind = DOC_LIST};
	Podsapi__ListPodsResponse *reply = podsapi__list_pods_response__unpack(NULL, len, bytes);
	int r = 0;

	if (!reply)
		return err_set(err, -EBADMSG, "ListPods: the reply is not a valid message");
	for (size_t i = 0; i < reply->n_pods && r == 0; i++)
		r = add_api_pod(&list, &reply->pods[i], node, err);
	podsapi__list_pods_response__free_unpacked(reply, NULL);
	if (r < 0)
		return r;
	*ret = list;
	list = (struct doc)DOC_INIT;
	return 0;
}

/* ---- the call */

int pods_api_read(const char *socket, const char *node, struct doc *ret, struct err *err)
{
	CLEANUP(grpc_channel_freep) struct grpc_channel *channel = NULL;
	CLEANUP(grpc_reply_release) struct grpc_reply reply = GRPC_REPLY_INIT;
	int r = grpc_channel_new(socket, NULL, &channel);

	if (r < 0)
		return err_set(err, r, "%s: %s", socket, strerror(-r));
	r = grpc_call(channel, LIST_PODS, "", 0, PODS_API_REPLY_MAX, DEADLINE_MS, &reply, err);
	if (r < 0)
		return r;
	if (reply.status != GRPC_OK)
		return err_set(err, reply.status == GRPC_UNIMPLEMENTED ? -EOPNOTSUPP : -EAGAIN,
			"%s: ListPods failed with gRPC status %d: %.200s", socket, reply.status,
			reply.text.text);
	r = pods_api_parse(reply.message.text, reply.message.len, node, ret, err);
	return r < 0 ? err_wrap(err, r, "%s", socket) : 0;
}

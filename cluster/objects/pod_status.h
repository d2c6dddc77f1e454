/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads a pod's status, its events, and what it holds on its node.
 */
#include <stddef.h>
#include <stdint.h>

#include "cluster/objects/object_input.h"
#include "common/doc.h"
#include "common/err.h"
#include "common/node_state.h"
#include "scoring/node/pod_names.h"

enum pod_stage {
	POD_WAITS,    /* the pod has no node */
	POD_BOUND,    /* the pod has a node, and no container has started */
	POD_REJECTED, /* by the admission of the node's kubelet */
	POD_RUNS,
	POD_ENDED,
	POD_STAGE_COUNT
};

extern const char *const pod_stage_names[POD_STAGE_COUNT]; /* "waits", "bound", "rejected", "runs", "ended" */

/* Texts are those of the object, "" if omitted. */
struct pod_status {
	enum pod_stage stage;
	char *namespace, *name, *uid; /* namespace: "default" if omitted */
	struct pod_names names;       /* the pod's names in the NodeResourceTopology object */
	char *node;
	char *nominated; /* status.nominatedNodeName: the scheduler keeps room for the pod there */
	char *phase, *reason, *message; /* status.* */
	char *scheduler;                /* message of the condition PodScheduled while its status is False */
	char *owner; /* "ReplicaSet 'web-1'": the first owner reference, whose controller would recreate the pod */
	bool gated;       /* spec.schedulingGates is set: schedulers ignore the pod */
	bool terminating; /* the pod is being deleted */
};

void pod_status_release(struct pod_status *s);

/* Reads a Pod. 0; -EINVAL with one line if the Pod has no name. `ret` is untouched on failure. */
int pod_status_read(const struct doc *pod, struct pod_status *ret, struct err *err);

/* The Pod's UID; "NAMESPACE/NAME" of a Pod that is not from an API server. The caller frees the text. */
char *pod_key(const struct doc *pod);

/* The message of the Pod's condition PodScheduled while its status is False; "" otherwise. */
const char *pod_scheduler_message(const struct doc *pod);

/* spec.nodeName and status.nominatedNodeName of the Pod; "" if omitted. */
const char *pod_node_name(const struct doc *pod);
const char *pod_nominated_node(const struct doc *pod);

#define POD_GRACE_DEFAULT_S \
	30 /* terminationGracePeriodSeconds, by the API server (pkg/apis/core/v1/defaults.go) */

/* Whether the Pod is being deleted. */
bool pod_is_terminating(const struct doc *pod);

/* Whether the Pod's phase is Succeeded or Failed. */
bool pod_has_ended(const struct doc *pod);

/* Whether the Pod is one of the excluded pods (NULL = none), and holds something: it is on this node (NULL = on any), and has not ended.
 * Marks the excluded pod as found (excluded_pods_match()). */
bool pod_is_excluded(const struct doc *pod, struct excluded_pods *excluded, const char *node);

/* Whether the Pod's status reports a running container. A kubelet reports all containers as terminated before it deletes a Pod, so a deleted
 * Pod with a running container was deleted by force, and its containers may still run. */
bool pod_has_running_containers(const struct doc *pod);

/* What volumes mean for a pod. */
enum volume_trait {
	VOLUME_IS_CLAIMED = 1,   /* the scheduler may wait for the volume before it binds the pod */
	VOLUME_LIMITS_NODES = 2, /* only some nodes may be able to mount the volume */
	VOLUME_HAS_PLUGIN = 4,   /* a plugin of the scheduler may look at volumes of this kind */
	VOLUME_IS_TEMPORARY = 8, /* its content is lost when the pod is evicted, as for `kubectl drain` */
};

/* The traits of the volumes of the Pod or pod template: a sum of enum volume_trait. */
unsigned pod_volume_traits(const struct doc *pod);

/* The Pod's status.startTime in seconds since the epoch; 0 = not set. The kubelet sets it after it has admitted the pod. */
int64_t pod_started_s(const struct doc *pod);

/*
 * When the Pod's condition PodScheduled became true, in seconds since the epoch; 0 = not set. The API server sets it, by its own clock, when a
 * scheduler binds the pod; of a pod that was created with spec.nodeName the kubelet sets it.
 */
int64_t pod_scheduled_s(const struct doc *pod);

/* spec.schedulingGroup.podGroupName of the Pod; "" = none. */
const char *pod_gang_name(const struct doc *pod);

/* ---- events */

/* An Event, of v1 or events.k8s.io/v1. Texts are those of the object, "" if omitted. */
struct pod_event {
	char *type;   /* "Normal", "Warning" */
	char *reason; /* "FailedScheduling" */
	char *message;
	char *source;   /* the reporting component */
	uint64_t count; /* occurrences, at least 1 */
	int64_t last_s; /* last occurrence, in seconds since the epoch; 0 = not known */
};

struct pod_events {
	struct pod_event *items; /* newest first; events that differ only in count and time are merged */
	size_t n_items;
	size_t items_size;
};

void pod_events_release(struct pod_events *e);

void pod_event_release(struct pod_event *e);

/* Reads an Event, about whatever it is. `ret` is zeroed. */
void pod_event_read(const struct doc *event, struct pod_event *ret);

/* The object that the Event is about, an object reference; NULL if omitted. */
const struct doc *pod_event_about(const struct doc *event);

/* The node of the reporting component, "" if omitted. */
const char *pod_event_host(const struct doc *event);

/*
 * Reads the pod's events from the source. An event belongs to the pod if namespace and name
 * match, and the UIDs if both have one. Returns as the source. `ret` (zeroed) is untouched on failure.
 */
int pod_events_read(const struct object_reader *reader, const struct pod_status *pod, struct pod_events *ret,
	struct err *err);

/* ---- resources */

/* What a pod holds exclusively on its node, according to the node's state. */
struct pod_held {
	bool found;
	hwloc_bitmap_t cpus; /* NULL unless found */
	hwloc_bitmap_t numa; /* NUMA nodes of the CPUs, memory and devices; NULL unless found */
};

void pod_held_release(struct pod_held *h);

void pod_held_find(const struct node_state *state, const struct pod_names *names, struct pod_held *ret);

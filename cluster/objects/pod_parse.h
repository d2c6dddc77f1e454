/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Parses the resource requests of pods and pod templates.
 *
 * Objects are Pods, and workloads with pod templates (workloads.c).
 */
#include "common/doc.h"
#include "common/request.h"
#include "common/settings.h"

struct pod_template {
	struct pod_request pod;
	uint64_t replicas; /* the object's number of replicas; 1 if omitted */
	bool is_counted;   /* the object's kind has replicas: all kinds but Pod, DaemonSet and PodTemplate */
	bool one_per_node; /* a DaemonSet */
	bool is_native; /* of a Pod or a workload of Kubernetes' own, whose template the API server stores as a Pod's */
	bool claims_volumes; /* the object has volumeClaimTemplates: its controller adds volumes to the pods */
	const struct doc *owner; /* has the pod's metadata and spec; NULL = none; part of the object */
	const char *namespace;   /* of the object; NULL = none; part of the object */
	/* Annotation volcano.sh/numa-topology-policy, or topologyPolicy of the task. */
	enum topology_manager_policy volcano_policy;
};

struct pod_templates {
	struct doc documents; /* the objects into which the templates point, if the templates own them */
	struct pod_template *items;
	size_t n_items;
	size_t items_size;
};

void pod_template_release(struct pod_template *t);
void pod_templates_release(struct pod_templates *t);

/*
 * Adds the template of `replicas` pods: `owner` has their metadata and spec, `name` is theirs (NULL = none), and `task` the task of a Volcano Job
 * (NULL = none). A Pod with a UID, which the API server has accepted, is not validated. 0; -EINVAL with one line that names the member.
 */
int pod_templates_add(struct pod_templates *t, const struct doc *owner, const char *name, uint64_t replicas,
	const struct doc *task, struct err *err);

/*
 * Adds what the controller of a Deployment, StatefulSet, DaemonSet or Job adds to new pods: labels that the template does not have, with values
 * that no pod of the cluster has, because constraints such as anti-affinity with matchLabelKeys depend on them; and the tolerations of
 * DaemonSets. Other objects do not change.
 */
void workload_add_by_controller(struct doc *object);

/*
 * Parses the pod templates of an object, in order (workloads.c). Omitted requests of a container default to its limits, as in the API
 * server. The templates point into the object, which must outlive them. 0; -ENOENT with one line: the kind has no pod template
 * that nrtd knows; -EINVAL with one line that names the member: no Kubernetes object, no containers, an invalid or negative
 * quantity, or resources that the API server would reject (pod_request_validate()). `ret` (zeroed) is untouched on failure.
 */
int pod_templates_from_doc(const struct doc *object, struct pod_templates *ret, struct err *err);

/*
 * Parses a Pod, whatever its kind: items of lists and pods of scheduler requests have no kind. While the kubelet defers
 * a resize or reports it as infeasible (condition PodResizePending), the resources of the containers are those that
 * their status reports as allocated; else the larger of both. What a deferred resize would add to the pod's request of its node, which
 * schedulers count, is added to the pod's overhead. What the pod's DRA claims take from the node's allocatable amounts (KEP-5517, in the pod's
 * status) is added to the pod's overhead. Returns as pod_templates_from_doc(), without -ENOENT. `ret` is to be released by
 * pod_template_release().
 */
int pod_template_from_pod(const struct doc *pod, struct pod_template *ret, struct err *err);

/* Whether the Pod's status reports the resources that the kubelet has allocated to the pod or to a container. */
bool pod_reports_resources(const struct doc *pod);

#define POD_PRIORITY_CRITICAL 2000000000 /* SystemCriticalPriority (pkg/apis/scheduling/types.go) */

/*
 * spec.priority of a Pod, 0 if the Pod has neither a priority nor a priority class. False, and 0, if the priority is not
 * known: the Pod has only a class of the cluster's own, whose value the API server would look up, or spec.priority is not an int32.
 */
bool pod_priority_read(const struct doc *pod, int32_t *ret);

/* Whether the Pod or pod template is not from the API server, where a scheduler binds pods: only a manifest's spec.nodeName is a
 * constraint. NULL = a pod without an object. */
bool pod_is_manifest(const struct doc *owner);

/* spec.schedulerName, with the API server's default. Valid as long as the object. */
const char *pod_scheduler_name(const struct doc *pod);

/* metadata.resourceVersion of an object or a list as a number; of two versions of a kind the larger number is newer (KEP-5504).
 * 0 = NULL, or not a number. */
uint64_t resource_version_parse(const char *text);

/*
 * Parses the amount of one resource of a container, with the checks of the API server. 0; -EINVAL: a resource name that the API
 * server would reject, no quantity, a negative quantity, a fraction of an integral resource; -ERANGE.
 */
int pod_resource_parse(const char *name, const char *text, struct quantity *ret, struct err *err);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * From a Kubernetes object to the requests in it: a Pod, or anything with a pod template (Deployment,
 * ReplicaSet, StatefulSet, DaemonSet, ReplicationController, Job, CronJob, PodTemplate, Volcano's Job with
 * its tasks).
 */
#include "agent/base/doc.h"
#include "common/request.h"
#include "common/settings.h"

struct pod_template {
	struct pod_request pod;
	uint64_t replicas; /* copies the object asks for; 1 where it does not say */
	bool is_counted; /* the object is of a kind that asks for a number of copies: no Pod, no DaemonSet */
	const struct doc
		*owner;        /* what has the pod's metadata and spec, NULL = nothing; part of the object */
	const char *namespace; /* of the object, or NULL; part of it */
	enum topology_manager_policy
		volcano_policy; /* volcano.sh/numa-topology-policy, or the task's topologyPolicy */
};

struct pod_templates {
	struct doc documents; /* what the templates point into, where that is theirs */
	struct pod_template *items;
	size_t n_items;
	size_t items_size;
};

void pod_template_release(struct pod_template *t);
void pod_templates_release(struct pod_templates *t);

/*
 * Read every pod template of an object, in its order. Requests that a container leaves out become its limits,
 * as the API server does. The templates point into the object, which is to outlive them. 0; -ENOENT (an object of a kind that
 * has no pod template); -EINVAL with one line
 * that names the member: no Kubernetes object, no containers, a quantity that is none or negative, a resource
 * name the API would refuse. `ret` (zeroed) is untouched on failure.
 */
int pod_templates_from_doc(const struct doc *object, struct pod_templates *ret, struct err *err);

/* The one of a Pod, whose kind is not looked at: items of lists and what schedulers send have none. While the kubelet defers a
 * resize or calls it infeasible (condition PodResizePending), its containers' resources are those that their status reports as
 * allocated. Returns as above but -ENOENT; pod_template_release() releases it. */
int pod_template_from_pod(const struct doc *pod, struct pod_template *ret, struct err *err);

/*
 * spec.priority of a Pod, 0 where the Pod has neither a priority nor a class. False, and 0, where the priority is not known:
 * the Pod names a class alone, whose value the API server would fill in, or spec.priority is not an int32.
 */
bool pod_priority_read(const struct doc *pod, int32_t *ret);

/* metadata.resourceVersion of an object or a list as a number: of two versions of one kind the larger one is newer
 * (KEP-5504). 0 = NULL, or not a number. */
uint64_t resource_version_parse(const char *text);

/*
 * The amount of one resource of a container, checked as the API server does. 0; -EINVAL: a resource name it
 * would refuse, no quantity, a negative one, a fraction of what comes in whole numbers; -ERANGE.
 */
int pod_resource_parse(const char *name, const char *text, struct quantity *ret, struct err *err);

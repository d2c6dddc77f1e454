/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/objects/pod_parse.h"

#include <errno.h>
#include <stdlib.h>

#include "cluster/objects/pod_validate.h"
#include "common/cleanup.h"
#include "common/resource.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/request.h"

#define VOLCANO_POLICY "volcano.sh/numa-topology-policy"

void pod_template_release(struct pod_template *t)
{
	pod_request_release(&t->pod);
	*t = (struct pod_template){0};
}

void pod_templates_release(struct pod_templates *t)
{
	for (size_t i = 0; i < t->n_items; i++)
		pod_template_release(&t->items[i]);
	free(t->items);
	doc_release(&t->documents);
	*t = (struct pod_templates){0};
}

/* ---- resource lists */

/* The names that the API server accepts: cpu, memory, ephemeral-storage, hugepages-*, and names with a domain. */
static bool is_container_resource(const char *name)
{
	return !strcmp(name, "cpu") || !strcmp(name, "memory") || !strcmp(name, "ephemeral-storage") ||
	       resource_name_is_hugepages(name) || strchr(name, '/');
}

int pod_resource_parse(const char *name, const char *text, struct quantity *ret, struct err *err)
{
	struct quantity q;
	int r;

	if (!is_container_resource(name))
		return err_set(err, -EINVAL, "unknown resource '%.100s'", name);
	r = quantity_parse(text, &q, err);
	if (r < 0)
		return r;
	if (q.nano < 0)
		return err_set(err, -EINVAL, "'%.100s' is negative", text);
	if ((resource_name_is_hugepages(name) || !resource_name_is_native(name)) && q.nano % QTY_UNIT != 0)
		return err_set(err, -EINVAL, "'%.100s' is not a whole number", text);
	*ret = q;
	return 0;
}

static int read_list(const struct doc *map, struct resource_list *ret, struct err *err)
{
	if (!map || map->kind == DOC_NULL)
		return 0;
	if (map->kind != DOC_MAP)
		return err_set(err, -EINVAL, "a map is expected, not %s", doc_kind_name(map));
	DOC_FOREACH (item, map) {
		struct quantity q;
		int r;

		if (item->kind == DOC_STRING || item->kind == DOC_NUMBER)
			r = pod_resource_parse(item->key, item->text, &q, err);
		else
			r = err_set(err, -EINVAL, "a quantity is expected, not %s", doc_kind_name(item));
		if (r < 0)
			return err_wrap(err, r, "%.100s", item->key);
		resource_list_append(ret, item->key, q);
	}
	resource_list_sort(ret);
	return 0;
}

/* The member `resources` of a container or a pod. */
static int read_resources(const struct doc *resources, struct resource_list *requests,
	struct resource_list *limits, struct err *err)
{
	int r;

	if (!resources || resources->kind == DOC_NULL)
		return 0;
	if (resources->kind != DOC_MAP)
		return err_set(
			err, -EINVAL, "resources: a map is expected, not %s", doc_kind_name(resources));
	r = read_list(doc_get(resources, "requests"), requests, err);
	if (r < 0)
		return err_wrap(err, r, "resources.requests");
	r = read_list(doc_get(resources, "limits"), limits, err);
	if (r < 0)
		return err_wrap(err, r, "resources.limits");
	for (size_t i = 0; i < limits->n_items; i++) {
		const struct resource_quantity *limit = &limits->items[i];
		const struct resource_quantity *request = resource_list_find(requests, limit->name);

		if (request && quantity_cmp(request->quantity, limit->quantity) > 0)
			return err_set(
				err, -EINVAL, "resources.requests.%s is more than its limit", limit->name);
	}
	return 0;
}

/* ---- containers */

static int read_container(const struct doc *item, bool init, struct pod_request *pod, struct err *err)
{
	enum container_kind kind = CONTAINER_APP;
	struct container_request *c;

	if (item->kind != DOC_MAP)
		return err_set(err, -EINVAL, "a map is expected, not %s", doc_kind_name(item));
	if (init)
		kind = !strcmp(doc_text(item, "restartPolicy"), "Always") ? CONTAINER_SIDECAR
									  : CONTAINER_INIT;
	c = pod_request_add(pod, kind, doc_text(item, "name"));
	return read_resources(doc_get(item, "resources"), &c->requests, &c->limits, err);
}

static int read_containers(const struct doc *spec, const char *key, struct pod_request *pod, struct err *err)
{
	const struct doc *list = doc_get(spec, key);
	size_t i = 0;

	if (!list || list->kind == DOC_NULL)
		return 0;
	if (list->kind != DOC_LIST)
		return err_set(err, -EINVAL, "%s: a list is expected, not %s", key, doc_kind_name(list));
	DOC_FOREACH (item, list) {
		int r = read_container(item, !strcmp(key, "initContainers"), pod, err);

		if (r < 0)
			return err_wrap(err, r, "%s[%zu]", key, i);
		i++;
	}
	return 0;
}

static int read_spec(const struct doc *spec, struct pod_request *pod, struct err *err)
{
	size_t n_init;
	int r;

	if (!spec || spec->kind != DOC_MAP)
		return err_set(err, -EINVAL, "no pod spec in it");
	r = read_containers(spec, "initContainers", pod, err);
	n_init = pod->n_containers;
	if (r < 0)
		return r;
	r = read_containers(spec, "containers", pod, err);
	if (r < 0)
		return r;
	if (pod->n_containers == n_init)
		return err_set(err, -EINVAL, "no containers in it");
	r = read_list(doc_get(spec, "overhead"), &pod->overhead, err);
	if (r < 0)
		return err_wrap(err, r, "overhead");
	pod->has_claims = doc_get(spec, "resourceClaims") && doc_get(spec, "resourceClaims")->n_items > 0;
	pod->has_pod_resources = doc_get(spec, "resources") && doc_get(spec, "resources")->kind == DOC_MAP;
	return read_resources(doc_get(spec, "resources"), &pod->pod_requests, &pod->pod_limits, err);
}

/* ---- the object */

static enum topology_manager_policy volcano_policy(const struct doc *metadata, const struct doc *task)
{
	const char *text = doc_string(doc_get(task, "topologyPolicy"));
	int index;

	if (!text)
		text = doc_string(doc_get(doc_get(metadata, "annotations"), VOLCANO_POLICY));
	index = text ? settings_name_index(topology_manager_policy_names, TOPOLOGY_MANAGER_POLICY_COUNT, text)
		     : -1;
	return index < 0 ? TOPOLOGY_MANAGER_UNKNOWN : (enum topology_manager_policy)index;
}

static enum qos_class read_qos(const struct doc *pod)
{
	const char *text = doc_string(doc_get(doc_get(pod, "status"), "qosClass"));

	for (enum qos_class q = QOS_BEST_EFFORT; text && q < QOS_COUNT; q++)
		if (!strcmp(qos_class_names[q], text))
			return q;
	return QOS_UNKNOWN;
}

/* As pod_templates_add(), without the checks of check_manifest(). */
static int add_unvalidated(const struct doc *owner, const char *name, uint64_t replicas,
	const struct doc *task, struct pod_templates *ret, struct err *err)
{
	CLEANUP(pod_template_release) struct pod_template t = {.replicas = replicas, .owner = owner};
	struct pod_template *slot;
	int r;

	t.pod.name = xstrdup(text_or_empty(name));
	t.pod.qos = read_qos(owner);
	t.volcano_policy = volcano_policy(doc_get(owner, "metadata"), task);
	r = read_spec(doc_get(owner, "spec"), &t.pod, err);
	if (r < 0)
		return err_wrap(err, r, "spec");
	request_default(&t.pod);
	slot = vec_push(&ret->items, &ret->n_items, &ret->items_size, sizeof(*slot));
	*slot = t;
	t = (struct pod_template){0};
	return 0;
}

static int check_restart_policies(const struct doc *spec, const char *key, struct err *err)
{
	const struct doc *list = doc_get(spec, key);
	size_t i = 0;

	DOC_FOREACH_ITEM (container, list) {
		const char *policy = doc_string(doc_get(container, "restartPolicy"));

		if (policy && strcmp(policy, "Always") != 0 && strcmp(policy, "OnFailure") != 0 &&
			strcmp(policy, "Never") != 0)
			return err_set(err, -EINVAL,
				"spec: %s[%zu]: restartPolicy: '%.60s' is not Always, OnFailure or Never",
				key, i, policy);
		i++;
	}
	return 0;
}

/* Checks what the API server checks in a new pod. */
static int check_manifest(const struct doc *owner, const struct pod_request *pod, struct err *err)
{
	int r = check_restart_policies(doc_get(owner, "spec"), "initContainers", err);

	if (r == 0)
		r = check_restart_policies(doc_get(owner, "spec"), "containers", err);
	return r < 0 ? r : pod_request_validate(pod, err);
}

int pod_templates_add(struct pod_templates *t, const struct doc *owner, const char *name, uint64_t replicas,
	const struct doc *task, struct err *err)
{
	int r = add_unvalidated(owner, name, replicas, task, t, err);

	if (r < 0 || !pod_is_manifest(owner))
		return r;
	return check_manifest(owner, &t->items[t->n_items - 1].pod, err);
}

/* ---- resized containers */

struct container_status {
	const char *name;
	const struct doc *status;
};

static int by_container(const void *a, const void *b)
{
	const struct container_status *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Why the kubelet has not resized the containers: "Deferred" or "Infeasible"; NULL = no resize is pending. */
static const char *find_pending_resize(const struct doc *status)
{
	const struct doc *conditions = doc_get(status, "conditions");

	DOC_FOREACH_ITEM (condition, conditions)
		if (!strcmp(doc_text(condition, "type"), "PodResizePending") &&
			!strcmp(doc_text(condition, "status"), "True"))
			return doc_text(condition, "reason");
	return NULL;
}

static size_t count_statuses(const struct doc *list)
{
	return list && list->kind == DOC_LIST ? list->n_items : 0;
}

static size_t add_statuses(const struct doc *list, struct container_status *statuses)
{
	size_t n = 0;

	DOC_FOREACH_ITEM (item, list) {
		const char *name = doc_string(doc_get(item, "name"));

		if (name)
			statuses[n++] = (struct container_status){name, item};
	}
	return n;
}

/* Replaces the list if `map` is not empty. */
static int replace_list(struct resource_list *list, const struct doc *map, struct err *err)
{
	CLEANUP(resource_list_release) struct resource_list read = {0};
	int r = map && map->kind == DOC_MAP ? read_list(map, &read, err) : 0;

	if (r < 0 || read.n_items == 0)
		return r;
	resource_list_release(list);
	*list = read;
	read = (struct resource_list){0};
	return 0;
}

/* Sets amounts of the list that are larger in `map`. */
static int raise_list(struct resource_list *list, const struct doc *map, struct err *err)
{
	CLEANUP(resource_list_release) struct resource_list read = {0};
	int r = map && map->kind == DOC_MAP ? read_list(map, &read, err) : 0;

	for (size_t i = 0; i < read.n_items; i++) {
		const struct resource_quantity *own = resource_list_find(list, read.items[i].name);

		if (own && quantity_cmp(read.items[i].quantity, own->quantity) > 0)
			resource_list_set(list, read.items[i].name, read.items[i].quantity);
	}
	return r;
}

/* Sets amounts of the list to zero that `map` has. */
static void lower_to_zero(struct resource_list *list, const struct doc *map)
{
	for (size_t i = 0; i < list->n_items; i++)
		if (doc_get(map, list->items[i].name))
			list->items[i].quantity = (struct quantity){0};
}

/* While a resize is pending, the container has what its status reports. Else the kubelet may not know of a resize yet: the larger amounts count.
 * Limits that are equal to requests stay equal, even if the status reports only requests: no resize changes the QoS class. */
static int apply_status(
	struct container_request *c, const struct doc *status, bool is_pending, struct err *err)
{
	int (*apply)(struct resource_list * list, const struct doc *map, struct err *err) =
		is_pending ? replace_list : raise_list;
	const struct doc *resources = doc_get(status, "resources");
	const struct doc *allocated = doc_get(status, "allocatedResources");
	bool equal = resource_list_equal(&c->requests, &c->limits);
	int r = apply(&c->requests, allocated ? allocated : doc_get(resources, "requests"), err);

	if (r == 0) /* until a smaller amount is in effect */
		r = raise_list(&c->requests, doc_get(resources, "requests"), err);
	if (r == 0)
		r = apply(&c->limits, doc_get(resources, "limits"), err);
	if (r == 0 && equal)
		resource_list_override(&c->limits, &c->requests);
	return r < 0 ? err_wrap(err, r, "status of container '%.60s'", c->name) : 0;
}

static int apply_statuses(struct pod_request *pod, const struct doc *status, bool is_pending, struct err *err)
{
	const struct doc *apps = doc_get(status, "containerStatuses"),
			 *inits = doc_get(status, "initContainerStatuses");
	CLEANUP(freep) struct container_status *statuses = NULL;
	size_t max = count_statuses(apps) + count_statuses(inits), n;
	int r = 0;

	if (max == 0)
		return 0;
	statuses = xcalloc(max, sizeof(*statuses));
	n = add_statuses(apps, statuses);
	n += add_statuses(inits, statuses + n);
	qsort(statuses, n, sizeof(*statuses), by_container);
	for (size_t i = 0; i < pod->n_containers && r == 0; i++) {
		const struct container_status key = {.name = pod->containers[i].name}, *found;

		found = bsearch(&key, statuses, n, sizeof(*statuses), by_container);
		if (found)
			r = apply_status(&pod->containers[i], found->status, is_pending, err);
	}
	return r;
}

/* The same of pod-level resources. Without pod-level resources in the spec, the status has the sums of the containers. */
static int apply_pod_status(
	struct pod_request *pod, const struct doc *status, bool is_pending, struct err *err)
{
	const struct doc *resources = doc_get(status, "resources");
	const struct doc *requests[] = {
		doc_get(status, "allocatedResources"), doc_get(resources, "requests")};
	bool equal = resource_list_equal(&pod->pod_requests, &pod->pod_limits);
	int r = 0;

	if (!resources)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(requests) && is_pending; i++)
		lower_to_zero(&pod->pod_requests, requests[i]);
	if (is_pending)
		lower_to_zero(&pod->pod_limits, doc_get(resources, "limits"));
	for (size_t i = 0; i < ARRAY_SIZE(requests) && r == 0; i++)
		r = raise_list(&pod->pod_requests, requests[i], err);
	if (r == 0)
		r = raise_list(&pod->pod_limits, doc_get(resources, "limits"), err);
	if (r == 0 && equal)
		resource_list_override(&pod->pod_limits, &pod->pod_requests);
	return r < 0 ? err_wrap(err, r, "status of the pod") : 0;
}

/* Adds to the overhead the amounts by which `spec_request` is larger than what the pod requests of its node now. */
static void raise_to_spec(struct pod_request *pod, const struct resource_list *spec_request)
{
	CLEANUP(resource_list_release) struct resource_list own = {0}, more = {0};

	request_of_node(pod, &own);
	for (size_t i = 0; i < spec_request->n_items; i++) {
		struct quantity q = spec_request->items[i].quantity;

		q.nano -= resource_list_amount(&own, spec_request->items[i].name);
		if (q.nano > 0)
			resource_list_append(&more, spec_request->items[i].name, q);
	}
	resource_list_sort(&more);
	resource_list_add(&pod->overhead, &more, 1);
}

/*
 * While the kubelet defers a resize or reports it as infeasible, containers keep the resources of their status. Schedulers count the larger
 * amounts of both, unless the resize is infeasible (k8s.io/component-helpers/resource PodRequests with UseStatusResources).
 */
static int apply_resize(struct pod_request *pod, const struct doc *status, struct err *err)
{
	CLEANUP(resource_list_release) struct resource_list spec_request = {0};
	const char *pending = find_pending_resize(status);
	bool deferred = pending && strcmp(pending, "Infeasible") != 0;
	int r;

	/* Kept before the status replaces the requests. */
	if (deferred)
		request_of_node(pod, &spec_request);
	r = apply_statuses(pod, status, pending != NULL, err);
	if (r == 0)
		r = apply_pod_status(pod, status, pending != NULL, err);
	if (r == 0 && deferred)
		raise_to_spec(pod, &spec_request);
	return r;
}

bool pod_reports_resources(const struct doc *pod)
{
	const struct doc *statuses = doc_get(doc_get(pod, "status"), "containerStatuses");

	if (doc_get(doc_get(pod, "status"), "resources"))
		return true;
	DOC_FOREACH_ITEM (status, statuses)
		if (doc_get(status, "allocatedResources") || doc_get(status, "resources"))
			return true;
	return false;
}

/* ---- what DRA claims take from the node's allocatable amounts (KEP-5517) */

/*
 * Adds `times` the quantity of one resource of a claim to the pod's overhead, as kube-scheduler counts it. Pod-level requests of the
 * resource include the claim's amount.
 */
static int add_claimed(
	struct pod_request *pod, const char *name, const struct doc *quantity, size_t times, struct err *err)
{
	CLEANUP(resource_list_release) struct resource_list added = {0};
	struct quantity q = {0};
	int r;

	if (!quantity || quantity->kind == DOC_NULL || times == 0)
		return 0;
	if (resource_list_find(&pod->pod_requests, name))
		return 0;
	r = pod_resource_parse(name, text_or_empty(quantity->text), &q, err);
	if (r < 0)
		return err_wrap(err, r, "%.100s", name);
	q.nano = qty_multiply(q.nano, times);
	resource_list_append(&added, name, q);
	resource_list_add(&pod->overhead, &added, 1);
	return 0;
}

/* One claim: "resources" in Kubernetes 1.36, "mapping" and "overhead" since 1.37. */
static int add_claim_status(struct pod_request *pod, const struct doc *claim, struct err *err)
{
	const struct doc *containers = doc_get(claim, "containers"), *resources = doc_get(claim, "resources");
	const struct doc *mapping = doc_get(claim, "mapping"), *overhead = doc_get(claim, "overhead");
	size_t n_containers = containers && containers->kind == DOC_LIST ? containers->n_items : 0;
	int r = 0;

	if (resources && resources->kind == DOC_MAP)
		DOC_FOREACH (item, resources)
			if (r == 0)
				r = add_claimed(pod, item->key, item, 1, err);
	DOC_FOREACH_ITEM (item, mapping)
		if (r == 0)
			r = add_claimed(pod, doc_text(item, "name"), doc_get(item, "quantity"), 1, err);
	DOC_FOREACH_ITEM (item, overhead) {
		if (r == 0)
			r = add_claimed(pod, doc_text(item, "name"), doc_get(item, "perPod"), 1, err);
		if (r == 0)
			r = add_claimed(pod, doc_text(item, "name"), doc_get(item, "perContainer"),
				n_containers, err);
	}
	return r;
}

/*
 * kube-scheduler writes the amounts to the pod's status when it binds the pod.
 * perContainer amounts of init containers are counted as long as the pod runs, so the sum may be too large.
 */
static int add_claimed_amounts(struct pod_request *pod, const struct doc *status, struct err *err)
{
	static const char *const members[] = {"nodeAllocatableResourceClaimStatuses",
		"additionalNodeAllocatableResources"}; /* since 1.38 */

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		const struct doc *list = doc_get(status, members[i]);

		DOC_FOREACH_ITEM (claim, list) {
			int r = add_claim_status(pod, claim, err);

			if (r < 0)
				return err_wrap(err, r, "status.%s", members[i]);
		}
	}
	return 0;
}

int pod_template_from_pod(const struct doc *pod, struct pod_template *ret, struct err *err)
{
	CLEANUP(pod_templates_release) struct pod_templates t = {0};
	int r = add_unvalidated(pod, doc_object_name(pod), 1, NULL, &t, err);

	if (r < 0)
		return r;
	r = apply_resize(&t.items[0].pod, doc_get(pod, "status"), err);
	if (r == 0)
		r = add_claimed_amounts(&t.items[0].pod, doc_get(pod, "status"), err);
	if (r < 0)
		return r;
	*ret = t.items[0];
	t.n_items = 0;
	return 0;
}

/* The value of a priority class that every cluster has, and that cannot be changed (pkg/apis/scheduling/v1/helpers.go). False: another class. */
static bool read_system_class(const char *class, int64_t *ret)
{
	if (!strcmp(class, "system-cluster-critical"))
		*ret = POD_PRIORITY_CRITICAL;
	else if (!strcmp(class, "system-node-critical"))
		*ret = POD_PRIORITY_CRITICAL + 1000;
	else
		return false;
	return true;
}

bool pod_priority_read(const struct doc *pod, int32_t *ret)
{
	const struct doc *spec = doc_get(pod, "spec"), *given = doc_get(spec, "priority");
	const char *class = doc_text(spec, "priorityClassName");
	int64_t n = 0;
	bool known;

	if (given && given->kind != DOC_NULL)
		known = doc_int64(given, &n) == 0 && n == (int32_t)n;
	else
		known = !*class || read_system_class(class, &n);
	*ret = known ? (int32_t)n : 0;
	return known;
}

bool pod_is_manifest(const struct doc *owner)
{
	return !doc_get(doc_get(owner, "metadata"), "uid");
}

const char *pod_scheduler_name(const struct doc *pod)
{
	const char *name = doc_text(doc_get(pod, "spec"), "schedulerName");

	return *name ? name : "default-scheduler";
}

uint64_t resource_version_parse(const char *text)
{
	uint64_t version;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return 0;
	errno = 0;
	version = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0' ? version : 0;
}

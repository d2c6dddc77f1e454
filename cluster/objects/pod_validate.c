/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/objects/pod_validate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/resource.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "scoring/request.h"

#define QUOTA_PREFIX "requests." /* the API server also needs the name in quotas */

/* ---- names */

/* Of a name that pod_resource_parse() has accepted: a native resource, or a name with a domain before the slash. */
static bool is_resource_name(const char *name)
{
	const char *slash = strchr(name, '/'), *last = slash ? slash + 1 : name;
	CLEANUP(freep) char *quota = NULL;

	if (!text_is_label_name(last, strlen(last)) ||
		(slash && !text_is_dns_subdomain(name, (size_t)(slash - name))))
		return false;
	if (resource_name_is_native(name))
		return true;
	quota = xasprintf(QUOTA_PREFIX "%.*s", (int)(slash - name), name);
	return strncmp(name, QUOTA_PREFIX, strlen(QUOTA_PREFIX)) != 0 &&
	       text_is_dns_subdomain(quota, strlen(quota));
}

/* ---- one list of requests and one of limits */

/* Whether pods may request less than their limit. */
static bool can_overcommit(const char *name)
{
	return resource_name_is_native(name) && !resource_name_is_hugepages(name);
}

static int check_hugepages(const struct resource_quantity *q, const char *what, struct err *err)
{
	const char *size = q->name + strlen("hugepages-");
	struct quantity page;

	if (quantity_parse(size, &page, NULL) < 0 || page.nano <= 0 || page.nano % QTY_UNIT != 0)
		return err_set(err, -EINVAL, "%s.%.100s: '%.60s' is not a page size, such as 2Mi and 1Gi",
			what, q->name, size);
	if (q->quantity.nano % page.nano != 0)
		return err_set(err, -EINVAL, "%s.%.100s is not a whole number of pages", what, q->name);
	return 0;
}

/* `what`: "requests" or "limits", for messages. `of_pod`: pod-level resources, of which only some are allowed. */
static int check_names_and_pages(
	const struct resource_list *list, const char *what, bool of_pod, struct err *err)
{
	for (size_t i = 0; i < list->n_items; i++) {
		const struct resource_quantity *q = &list->items[i];
		int r = 0;

		if (!is_resource_name(q->name))
			return err_set(
				err, -EINVAL, "%s: '%.100s' is not the name of a resource", what, q->name);
		if (of_pod && !resource_name_is_numa_affine(q->name))
			return err_set(err, -EINVAL,
				"%s.%.100s: only cpu, memory and hugepages can be pod-level resources", what,
				q->name);
		if (resource_name_is_hugepages(q->name))
			r = check_hugepages(q, what, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool has_compute(const struct resource_list *list)
{
	return resource_list_find(list, "cpu") || resource_list_find(list, "memory");
}

static bool has_hugepages(const struct resource_list *list)
{
	for (size_t i = 0; i < list->n_items; i++)
		if (resource_name_is_hugepages(list->items[i].name))
			return true;
	return false;
}

static int check_resources(const struct resource_list *requests, const struct resource_list *limits,
	bool of_pod, struct err *err)
{
	int r = check_names_and_pages(limits, "limits", of_pod, err);

	if (r == 0)
		r = check_names_and_pages(requests, "requests", of_pod, err);
	for (size_t i = 0; i < requests->n_items && r == 0; i++) {
		const struct resource_quantity *q = &requests->items[i];
		const struct resource_quantity *limit = resource_list_find(limits, q->name);
		int order = limit ? quantity_cmp(q->quantity, limit->quantity) : 0;

		if (!limit && !can_overcommit(q->name))
			r = err_set(err, -EINVAL, "limits.%.100s is missing: it must be equal to the request",
				q->name);
		else if (order != 0 && !can_overcommit(q->name))
			r = err_set(err, -EINVAL, "requests.%.100s is not equal to the limit", q->name);
		else if (order > 0)
			r = err_set(err, -EINVAL, "requests.%.100s is more than its limit", q->name);
	}
	if (r == 0 && !has_compute(requests) && !has_compute(limits) &&
		(has_hugepages(requests) || has_hugepages(limits)))
		r = err_set(err, -EINVAL, "hugepages require cpu or memory");
	return r;
}

/* ---- the pod */

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int check_container_names(const struct pod_request *pod, struct err *err)
{
	CLEANUP(freep) const char **names = xcalloc(pod->n_containers + 1, sizeof(*names));

	for (size_t i = 0; i < pod->n_containers; i++)
		names[i] = pod->containers[i].name;
	qsort(names, pod->n_containers, sizeof(*names), compare_texts);
	for (size_t i = 1; i < pod->n_containers; i++)
		if (*names[i] && !strcmp(names[i - 1], names[i]))
			return err_set(err, -EINVAL, "spec: two containers are named '%.60s'", names[i]);
	return 0;
}

static int check_containers(const struct pod_request *pod, struct err *err)
{
	size_t n_init = 0;

	while (n_init < pod->n_containers && pod->containers[n_init].kind != CONTAINER_APP)
		n_init++;
	for (size_t i = 0; i < pod->n_containers; i++) {
		const struct container_request *c = &pod->containers[i];
		int r = check_resources(&c->requests, &c->limits, false, err);

		if (r < 0)
			return err_wrap(err, r, "spec.%s[%zu].resources",
				i < n_init ? "initContainers" : "containers", i < n_init ? i : i - n_init);
	}
	return 0;
}

/* The first resource of which the list has more than `most` has; NULL = none. Resources that `most` does not have are not compared. */
static const struct resource_quantity *find_more(
	const struct resource_list *list, const struct resource_list *most, bool hugepages_only)
{
	for (size_t i = 0; i < list->n_items; i++) {
		const struct resource_quantity *q = &list->items[i];
		const struct resource_quantity *own = resource_list_find(most, q->name);

		if (own && quantity_cmp(q->quantity, own->quantity) > 0 &&
			(!hugepages_only || resource_name_is_hugepages(q->name)))
			return q;
	}
	return NULL;
}

/* The limits of all containers together: what a copy of the pod would request whose requests are the limits. */
static void sum_limits(const struct pod_request *pod, struct resource_list *ret)
{
	CLEANUP(freep) struct container_request *limits = xcalloc(pod->n_containers + 1, sizeof(*limits));
	struct pod_request borrowed = *pod;

	for (size_t i = 0; i < pod->n_containers; i++) {
		limits[i] = pod->containers[i];
		limits[i].requests = pod->containers[i].limits;
	}
	borrowed.containers = limits;
	request_of_containers(&borrowed, ret);
}

/* Pod-level requests are at least those of the containers together, and so are limits of hugepages; no container has a higher limit than the
 * pod. */
static int check_pod_level(const struct pod_request *pod, struct err *err)
{
	CLEANUP(resource_list_release) struct resource_list requests = {0}, limits = {0};
	const struct resource_quantity *more;
	size_t n_apps = 0;
	int r;

	request_of_containers(pod, &requests);
	more = find_more(&requests, &pod->pod_limits, false);
	if (more)
		return err_set(err, -EINVAL,
			"spec.resources.limits.%.100s is less than the containers request together",
			more->name);
	r = check_resources(&pod->pod_requests, &pod->pod_limits, true, err);
	if (r < 0)
		return err_wrap(err, r, "spec.resources");
	more = find_more(&requests, &pod->pod_requests, false);
	if (more)
		return err_set(err, -EINVAL,
			"spec.resources.requests.%.100s is less than the containers request together",
			more->name);
	sum_limits(pod, &limits);
	more = find_more(&limits, &pod->pod_limits, true);
	if (more)
		return err_set(err, -EINVAL,
			"spec.resources.limits.%.100s is less than the containers' limits together",
			more->name);
	for (size_t i = 0; i < pod->n_containers; i++) {
		if (pod->containers[i].kind != CONTAINER_APP)
			continue;
		more = find_more(&pod->containers[i].limits, &pod->pod_limits, false);
		if (more)
			return err_set(err, -EINVAL,
				"spec.containers[%zu].resources.limits.%.100s is more than the pod's limit",
				n_apps, more->name);
		n_apps++;
	}
	return 0;
}

int pod_request_validate(const struct pod_request *pod, struct err *err)
{
	int r = check_container_names(pod, err);

	if (r == 0)
		r = check_containers(pod, err);
	return r < 0 || !pod->has_pod_resources ? r : check_pod_level(pod, err);
}

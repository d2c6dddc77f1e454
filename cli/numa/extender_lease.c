/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/numa/extender_lease.h"

#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/io/time.h"
#include "common/kube/api_list.h"
#include "common/xalloc.h"

#define PATH_BYTES 1600u

/*
 * Creation times of pods are by the API server's clock, the record's times by the clock of the extender's node; and the Lease is
 * written every 2 s.
 */
#define CLOCK_SKEW_S 60

int extender_lease_read(
	struct api_client *client, const char *lease, struct extender_record *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(PATH_BYTES);
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	const char *slash = strchr(lease, '/');
	CLEANUP(freep) char *namespace = xstrndup(lease, (size_t)(slash - lease));
	const struct doc *annotations;
	int status, r;

	strbuf_addstr(&path, "/apis/coordination.k8s.io/v1/namespaces/");
	api_path_escape(&path, namespace);
	strbuf_addstr(&path, "/leases/");
	api_path_escape(&path, slash + 1);
	r = api_get(client, path.text, &object, &status, err);
	if (r < 0 && status == HTTP_NOT_FOUND)
		return err_set(err, -ENOENT, "nrtd-extender has no Lease '%s' (--extender-lease)", lease);
	if (r < 0)
		return err_wrap(err, r, "cannot read nrtd-extender's Lease '%s'", lease);
	if (!*doc_text(doc_get(&object, "spec"), "holderIdentity"))
		return err_set(err, -ENOENT, "no nrtd-extender holds the Lease '%s'", lease);
	annotations = doc_get(doc_get(&object, "metadata"), "annotations");
	if (!doc_string(doc_get(annotations, EXTENDER_RECORD_SCHEDULERS)))
		return err_set(err, -ENODATA,
			"the Lease '%s' does not name the schedulers that ask nrtd-extender: upgrade nrtd-extender",
			lease);
	*ret = (struct extender_record){.n_schedulers = 0};
	extender_record_read(ret, annotations, clock_ms(CLOCK_REALTIME) / 1000);
	return 0;
}

/* ---- the schedulers */

static bool is_in_plan(const struct plan *plan, size_t pod)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		if (plan->steps[i].pod == pod)
			return true;
	return false;
}

/* Whether the plan starts pods of the namespace. */
static bool concerns_namespace(
	const struct simulated_cluster *c, const struct plan *plan, const char *namespace)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		if (!strcmp(c->pods[plan->steps[i].pod].namespace, namespace))
			return true;
	return false;
}

/* A pod that the scheduler must have bound after `last_request_s`; NULL = none. Pods of DaemonSets, static pods and pods without a
 * controller may have been created with a nodeName, and whoever may create pods in a namespace can give them any controller: pods of
 * namespaces that the plan does not concern are no evidence. */
static const struct simulated_pod *find_bound_since(const struct simulated_cluster *c,
	const struct plan *plan, const char *scheduler, int64_t last_request_s)
{
	for (size_t i = 0; i < c->n_pods; i++) {
		const struct simulated_pod *p = &c->pods[i];

		if (p->node == SIMULATED_NOWHERE || p->created_s <= last_request_s + CLOCK_SKEW_S)
			continue;
		if (!*p->owner || p->daemon || p->names.mirror || strcmp(p->scheduler, scheduler) != 0)
			continue;
		if (!is_in_plan(plan, i) && concerns_namespace(c, plan, p->namespace))
			return p;
	}
	return NULL;
}

static int check_scheduler(const struct extender_record *record, const struct simulated_cluster *c,
	const struct plan *plan, const struct simulated_pod *pod, struct err *err)
{
	int64_t last_request_s = extender_record_find(record, pod->scheduler);
	const struct simulated_pod *since;
	char last_request[TIMESTAMP_MICRO_MAX];

	if (last_request_s == 0)
		return err_set(err, -EPERM,
			"scheduler '%s' of pod '%s/%s' has never asked nrtd-extender, so it would ignore the places that the plan reserves",
			pod->scheduler, pod->namespace, pod->name);
	since = find_bound_since(c, plan, pod->scheduler, last_request_s);
	if (!since)
		return 0;
	timestamp_print_micro(last_request_s * 1000000, last_request);
	return err_set(err, -EPERM,
		"scheduler '%s' of pod '%s/%s' does not ask nrtd-extender any more: it has bound pod '%s/%s' since it asked last, at %.19sZ",
		pod->scheduler, pod->namespace, pod->name, since->namespace, since->name, last_request);
}

int extender_lease_check(struct api_client *client, const char *lease, const struct simulated_cluster *c,
	const struct plan *plan, struct err *err)
{
	const char *checked = ""; /* the last scheduler: most plans have only one */
	struct extender_record record;
	int r = extender_lease_read(client, lease, &record, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct simulated_pod *pod = &c->pods[plan->steps[i].pod];

		if (!strcmp(pod->scheduler, checked))
			continue;
		r = check_scheduler(&record, c, plan, pod, err);
		if (r < 0)
			return r;
		checked = pod->scheduler;
	}
	return 0;
}

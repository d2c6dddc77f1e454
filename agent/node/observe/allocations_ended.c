/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/observe/allocations_ended.h"

#include <errno.h>

#include "agent/node/observe/allocations_merge.h"
#include "agent/state/manager_state.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/text.h"
#include "common/xalloc.h"

/* ---- by the files */

void allocations_end_by_files(struct allocations *files, const struct pod_evidence *e)
{
	CLEANUP(freep) bool *ended = xcalloc(files->n_items + 1, sizeof(*ended));

	for (size_t i = 0; i < files->n_items; i++)
		ended[i] = pod_evidence_gone(e, files->items[i].pod_uid);
	allocations_give_back(files, ended);
}

/* ---- by the API */

static bool is_of(const struct allocation *item, const char *namespace, const char *name)
{
	return !strcmp(item->namespace, namespace) && !strcmp(item->pod, name);
}

static bool is_listed(const struct pods_listed *l, const struct pod_log *log)
{
	for (size_t i = 0; i < l->n_pods; i++)
		if (!strcmp(l->pods[i].namespace, log->namespace) && !strcmp(l->pods[i].name, log->name))
			return true;
	return false;
}

/* Items of the named pod get the UID; false when they have another. */
static void set_uid(struct allocations *api, const struct pod_log *log, bool *ret_is)
{
	*ret_is = true;
	for (size_t i = 0; i < api->n_items; i++) {
		struct allocation *item = &api->items[i];

		if (!is_of(item, log->namespace, log->name))
			continue;
		if (*item->pod_uid && strcmp(item->pod_uid, log->uid) != 0)
			*ret_is = false;
		else if (!*item->pod_uid)
			text_set(&item->pod_uid, log->uid);
	}
}

static bool holds_something(const struct allocation *item)
{
	return item->n_memory > 0 || item->n_devices > 0 || !hwloc_bitmap_iszero(item->cpus);
}

/* A container of this name would be listed with what it holds. */
static bool names_a_container(const struct allocations *files, const char *uid, const struct allocation *item)
{
	for (size_t i = 0; i < files->n_items; i++)
		if (!strcmp(files->items[i].pod_uid, uid) &&
			!strcmp(files->items[i].container, item->container))
			return true;
	return false;
}

/* The pod with this UID can be the one listed under this name: by init containers alone it may hold
 * something. */
static bool may_be(const struct pods_listed *l, const struct pod_ref *pod, const struct allocations *files,
	const char *uid, const struct pod_evidence *e)
{
	if (pod_evidence_has_logs(e, pod->namespace, pod->name))
		return false;
	for (size_t i = 0; i < l->api->n_items; i++) {
		const struct allocation *item = &l->api->items[i];

		if (is_of(item, pod->namespace, pod->name) &&
			(*item->pod_uid || holds_something(item) || names_a_container(files, uid, item)))
			return false;
	}
	return true;
}

static bool may_be_listed(const struct pods_listed *l, const struct allocations *files, const char *uid,
	const struct pod_evidence *e)
{
	for (size_t i = 0; i < l->n_pods; i++)
		if (may_be(l, &l->pods[i], files, uid, e))
			return true;
	return false;
}

static void has_ended(const struct pods_listed *l, const struct allocations *files, const char *uid,
	const struct pod_evidence *e, bool *ret)
{
	const struct pod_log *log = pod_evidence_log(e, uid);
	bool is = false;

	*ret = false;
	if (!*uid || allocations_pod_with(l->api, uid))
		return;
	if (log && is_listed(l, log))
		set_uid(l->api, log, &is);
	if (is)
		return;
	if (l->young || (!log && may_be_listed(l, files, uid, e)))
		*ret = pod_evidence_gone(e, uid);
	else
		*ret = true;
}

void allocations_end_by_api(
	struct allocations *files, const struct pods_listed *l, const struct pod_evidence *e)
{
	CLEANUP(freep) bool *ended = xcalloc(files->n_items + 1, sizeof(*ended));

	allocations_find_uids(l->api, files, e);
	for (size_t i = 0; i < files->n_items; i++)
		if (i > 0 && !strcmp(files->items[i].pod_uid, files->items[i - 1].pod_uid))
			ended[i] = ended[i - 1];
		else
			has_ended(l, files, files->items[i].pod_uid, e, &ended[i]);
	allocations_give_back(files, ended);
}

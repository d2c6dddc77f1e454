/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/state/excluded_pods.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/state/give_back.h"
#include "agent/state/node_state_codec.h"
#include "common/cleanup.h"
#include "common/xalloc.h"

/* What is known of the pod is a name and a UID, or the hashes of these; `asked` is any of the four. */
static bool is_named(const char *asked, const char *namespace, const char *name, const char *uid)
{
	const char *slash = strchr(asked, '/');
	char asked_namespace[256] = "", asked_pod[NODE_STATE_HASH_SIZE] = "";
	char asked_uid[NODE_STATE_HASH_SIZE], own_pod[NODE_STATE_HASH_SIZE], own_uid[NODE_STATE_HASH_SIZE];

	node_state_hash_uid(asked, asked_uid);
	node_state_hash_uid(uid, own_uid);
	node_state_hash_pod(namespace, name, own_pod);
	if (slash && (size_t)(slash - asked) < sizeof(asked_namespace)) {
		memcpy(asked_namespace, asked, (size_t)(slash - asked));
		node_state_hash_pod(asked_namespace, slash + 1, asked_pod);
	}
	if (*uid && (!strcmp(uid, asked) || !strcmp(uid, asked_uid) || !strcmp(own_uid, asked)))
		return true;
	if (!*name)
		return false;
	return !strcmp(name, asked_pod) || (*name == '#' && !strcmp(name, asked)) ||
	       !strcmp(own_pod, asked) ||
	       (slash && !strcmp(namespace, asked_namespace) && !strcmp(name, slash + 1));
}

void excluded_pods_release(struct excluded_pods *g)
{
	strv_release(&g->uids);
	*g = (struct excluded_pods){0};
}

/* With "" for what is not known of the pod. */
static bool has(struct excluded_pods *g, const char *namespace, const char *name, const char *uid)
{
	bool is = false;

	for (size_t i = 0; i < g->n; i++)
		if (is_named(g->names[i], namespace, name, uid))
			is = g->found[i] = true;
	for (size_t i = 0; i < g->uids.n_items && !is; i++)
		is = is_named(g->uids.items[i], namespace, name, uid);
	return is;
}

void excluded_pods_find(
	struct excluded_pods *g, const char *namespace, const char *name, const char *uid, bool *ret_is_gone)
{
	bool is = has(g, namespace, name, uid);

	if (is && *uid)
		strv_push_new(&g->uids, uid);
	*ret_is_gone = is;
}

void excluded_pods_take(struct excluded_pods *g, struct allocations *a)
{
	CLEANUP(freep) bool *gone = xcalloc(a->n_items + 1, sizeof(*gone));

	for (size_t i = 0; i < a->n_items; i++)
		gone[i] = has(g, a->items[i].namespace, a->items[i].pod, a->items[i].pod_uid);
	allocations_give_back(a, gone);
}

int excluded_pods_check(const struct excluded_pods *g, struct err *err)
{
	for (size_t i = 0; i < g->n; i++)
		if (!g->found[i])
			return err_set(
				err, -ENOENT, "no pod '%.300s' holds anything exclusively", g->names[i]);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/model/pod_names.h"

#include <stdio.h>
#include <string.h>

struct pod_names pod_names_of(const char *uid, const char *namespace, const char *name)
{
	struct pod_names names = {.uid = ""};

	if (*uid)
		node_state_hash_uid(uid, names.uid);
	node_state_hash_pod(namespace, name, names.pod);
	return names;
}

const char *pod_names_kubelets_uid(const struct doc *metadata)
{
	const struct doc *annotations = doc_get(metadata, "annotations");
	const char *mirror = doc_string(doc_get(annotations, "kubernetes.io/config.mirror"));
	const char *uid = mirror ? mirror : doc_string(doc_get(metadata, "uid"));

	return uid ? uid : "";
}

/* A state that was parsed has hashes already; no UID and no name begins with their mark. "" stays. */
static const char *hash_of_uid(const struct allocation *item, char buffer[NODE_STATE_HASH_SIZE])
{
	if (!*item->pod_uid || *item->pod_uid == '#')
		return item->pod_uid;
	node_state_hash_uid(item->pod_uid, buffer);
	return buffer;
}

static const char *hash_of_pod(const struct allocation *item, char buffer[NODE_STATE_HASH_SIZE])
{
	if (!*item->pod || *item->pod == '#')
		return item->pod;
	node_state_hash_pod(item->namespace, item->pod, buffer);
	return buffer;
}

struct pod_names pod_names_of_item(const struct allocation *item)
{
	struct pod_names names;
	char buffer[NODE_STATE_HASH_SIZE];

	snprintf(names.uid, sizeof(names.uid), "%s", hash_of_uid(item, buffer));
	snprintf(names.pod, sizeof(names.pod), "%s", hash_of_pod(item, buffer));
	return names;
}

bool pod_names_match(const struct pod_names *names, const struct allocation *item)
{
	char buffer[NODE_STATE_HASH_SIZE];

	if (*item->pod_uid && *names->uid)
		return !strcmp(hash_of_uid(item, buffer), names->uid);
	return *item->pod && !strcmp(hash_of_pod(item, buffer), names->pod);
}

bool pod_names_shown(const struct pod_names *names, const struct allocations *a)
{
	for (size_t i = 0; i < a->n_items; i++)
		if (pod_names_match(names, &a->items[i]))
			return true;
	return false;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/state/pod_names.h"

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

#define MIRROR_ANNOTATION "kubernetes.io/config.mirror"

static const char *member_text(const struct doc *map, const char *key)
{
	const char *text = doc_string(doc_get(map, key));

	return text ? text : "";
}

const char *pod_names_kubelets_uid(const struct doc *metadata)
{
	const char *mirror = doc_string(doc_get(doc_get(metadata, "annotations"), MIRROR_ANNOTATION));

	return mirror ? mirror : member_text(metadata, "uid");
}

struct pod_names pod_names_of_object(const struct doc *metadata)
{
	const char *namespace = member_text(metadata, "namespace");
	struct pod_names names = pod_names_of(pod_names_kubelets_uid(metadata),
		*namespace ? namespace : "default", member_text(metadata, "name"));

	names.mirror = doc_get(doc_get(metadata, "annotations"), MIRROR_ANNOTATION) != NULL;
	return names;
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
	struct pod_names names = {.mirror = false};
	char buffer[NODE_STATE_HASH_SIZE];

	snprintf(names.uid, sizeof(names.uid), "%s", hash_of_uid(item, buffer));
	snprintf(names.pod, sizeof(names.pod), "%s", hash_of_pod(item, buffer));
	return names;
}

bool pod_names_match(const struct pod_names *names, const struct allocation *item)
{
	char buffer[NODE_STATE_HASH_SIZE];

	if (names->mirror)
		return *item->pod_uid && *item->pod && !strcmp(hash_of_uid(item, buffer), names->uid) &&
		       !strcmp(hash_of_pod(item, buffer), names->pod);
	if (*item->pod_uid && *names->uid)
		return !strcmp(hash_of_uid(item, buffer), names->uid);
	return *item->pod && !strcmp(hash_of_pod(item, buffer), names->pod);
}

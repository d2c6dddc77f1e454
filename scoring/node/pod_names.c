/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/node/pod_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/hash.h"
#include "common/xalloc.h"
#include "scoring/node/manager_state.h"

/* ---- hashes */

/* Six bits per character, the highest first. */
static void add_digits(uint64_t hash, char ret[POD_NAMES_HASH_SIZE])
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

	ret[0] = '#';
	for (unsigned i = 1; i < POD_NAMES_HASH_SIZE - 1; i++)
		ret[i] = digits[hash >> (64 - 6 * i) & 63];
	ret[POD_NAMES_HASH_SIZE - 1] = '\0';
}

void pod_names_hash_uid(const char *uid, char ret[POD_NAMES_HASH_SIZE])
{
	add_digits(hash_bytes(uid, strlen(uid), 0), ret);
}

void pod_names_hash_pod(const char *namespace, const char *name, char ret[POD_NAMES_HASH_SIZE])
{
	char text[512]; /* Kubernetes allows 63 and 253 bytes */
	int len = snprintf(text, sizeof(text), "%s/%s", namespace, name);

	add_digits(hash_bytes(text, (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1, 0), ret);
}

/* ---- names of a pod */

struct pod_names pod_names_of(const char *uid, const char *namespace, const char *name)
{
	struct pod_names names = {.uid = ""};

	if (*uid)
		pod_names_hash_uid(uid, names.uid);
	pod_names_hash_pod(namespace, name, names.pod);
	return names;
}

#define MIRROR_ANNOTATION "kubernetes.io/config.mirror"

const char *pod_names_kubelets_uid(const struct doc *metadata)
{
	const char *mirror = doc_string(doc_get(doc_get(metadata, "annotations"), MIRROR_ANNOTATION));

	return mirror ? mirror : doc_text(metadata, "uid");
}

struct pod_names pod_names_of_object(const struct doc *metadata)
{
	const char *namespace = doc_text(metadata, "namespace");
	struct pod_names names = pod_names_of(pod_names_kubelets_uid(metadata),
		*namespace ? namespace : "default", doc_text(metadata, "name"));

	names.mirror = doc_get(doc_get(metadata, "annotations"), MIRROR_ANNOTATION) != NULL;
	return names;
}

/* A parsed state has hashes already; no UID and no name begins with '#'. "" stays. */
static const char *hash_of_uid(const struct allocation *item, char buffer[POD_NAMES_HASH_SIZE])
{
	if (!*item->pod_uid || *item->pod_uid == '#')
		return item->pod_uid;
	pod_names_hash_uid(item->pod_uid, buffer);
	return buffer;
}

static const char *hash_of_pod(const struct allocation *item, char buffer[POD_NAMES_HASH_SIZE])
{
	if (!*item->pod || *item->pod == '#')
		return item->pod;
	pod_names_hash_pod(item->namespace, item->pod, buffer);
	return buffer;
}

struct pod_names pod_names_of_item(const struct allocation *item)
{
	struct pod_names names = {.mirror = false};
	char buffer[POD_NAMES_HASH_SIZE];

	snprintf(names.uid, sizeof(names.uid), "%s", hash_of_uid(item, buffer));
	snprintf(names.pod, sizeof(names.pod), "%s", hash_of_pod(item, buffer));
	return names;
}

bool pod_names_match(const struct pod_names *names, const struct allocation *item)
{
	char buffer[POD_NAMES_HASH_SIZE];

	/* The UID alone is not enough: struct pod_names says why. */
	if (names->mirror)
		return *item->pod_uid && *item->pod && !strcmp(hash_of_uid(item, buffer), names->uid) &&
		       !strcmp(hash_of_pod(item, buffer), names->pod);
	if (*item->pod_uid && *names->uid)
		return !strcmp(hash_of_uid(item, buffer), names->uid);
	return *item->pod && !strcmp(hash_of_pod(item, buffer), names->pod);
}

/* ---- excluded pods */

/* Whether `asked` is the pod's NAMESPACE/NAME, its UID, or the hash of either. `name` and `uid` may be
 * hashes, or "" = unknown. */
static bool is_named_by(const char *asked, const char *namespace, const char *name, const char *uid)
{
	const char *slash = strchr(asked, '/');
	char asked_namespace[256] = "", asked_pod[POD_NAMES_HASH_SIZE] = "";
	char asked_uid[POD_NAMES_HASH_SIZE], own_pod[POD_NAMES_HASH_SIZE], own_uid[POD_NAMES_HASH_SIZE];

	pod_names_hash_uid(asked, asked_uid);
	pod_names_hash_uid(uid, own_uid);
	pod_names_hash_pod(namespace, name, own_pod);
	if (slash && (size_t)(slash - asked) < sizeof(asked_namespace)) {
		memcpy(asked_namespace, asked, (size_t)(slash - asked));
		pod_names_hash_pod(asked_namespace, slash + 1, asked_pod);
	}
	if (*uid && (!strcmp(uid, asked) || !strcmp(uid, asked_uid) || !strcmp(own_uid, asked)))
		return true;
	if (!*name)
		return false;
	if (slash && !strcmp(namespace, asked_namespace) && !strcmp(name, slash + 1))
		return true;
	/* The state's pod name, the user's name, or both are hashes. */
	return !strcmp(name, asked_pod) || !strcmp(own_pod, asked) || (*name == '#' && !strcmp(name, asked));
}

void excluded_pods_release(struct excluded_pods *e)
{
	strv_release(&e->uids);
	strv_release(&e->nodes);
	*e = (struct excluded_pods){0};
}

/* Whether the pod is excluded. Each name that the user gave and that matches counts as found. "" = unknown. */
static bool match_excluded_pod(
	struct excluded_pods *e, const char *namespace, const char *name, const char *uid)
{
	bool excluded = false;

	for (size_t i = 0; i < e->n; i++)
		if (is_named_by(e->names[i], namespace, name, uid)) {
			e->found[i] = true;
			excluded = true;
		}
	for (size_t i = 0; i < e->uids.n_items && !excluded; i++)
		excluded = is_named_by(e->uids.items[i], namespace, name, uid);
	return excluded;
}

bool excluded_pods_match(struct excluded_pods *e, const char *namespace, const char *name, const char *uid)
{
	bool excluded = match_excluded_pod(e, namespace, name, uid);

	if (excluded && *uid)
		strv_push_new(&e->uids, uid);
	return excluded;
}

void excluded_pods_take(struct excluded_pods *e, struct allocations *a)
{
	CLEANUP(freep) bool *excluded = xcalloc(a->n_items + 1, sizeof(*excluded));

	for (size_t i = 0; i < a->n_items; i++)
		excluded[i] =
			match_excluded_pod(e, a->items[i].namespace, a->items[i].pod, a->items[i].pod_uid);
	allocations_give_back(a, excluded);
}

int excluded_pods_check(const struct excluded_pods *e, struct err *err)
{
	for (size_t i = 0; i < e->n; i++)
		if (!e->found[i])
			return err_set(err, -ENOENT, "no pod '%.300s' holds anything exclusively%s",
				e->names[i],
				strchr(e->names[i], '/') ? "" : "; a name has the form NAMESPACE/NAME");
	return 0;
}

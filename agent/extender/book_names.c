/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/book_names.h"

#include <string.h>

struct book_names book_names_of(const char *uid, const char *namespace, const char *name)
{
	struct book_names names;

	node_state_hash_uid(uid, names.uid);
	node_state_hash_pod(namespace, name, names.name);
	return names;
}

const char *book_names_kubelets_uid(const struct doc *metadata, const char *uid)
{
	const struct doc *annotations = doc_get(metadata, "annotations");
	const char *mirror = doc_string(doc_get(annotations, "kubernetes.io/config.mirror"));

	return mirror ? mirror : uid;
}

bool book_names_match(const struct book_names *names, const struct allocation *item)
{
	return *item->pod_uid ? !strcmp(item->pod_uid, names->uid)
			      : *item->pod && !strcmp(item->pod, names->name);
}

bool book_names_shown(const struct book_names *names, const struct allocations *a)
{
	for (size_t i = 0; i < a->n_items; i++)
		if (book_names_match(names, &a->items[i]))
			return true;
	return false;
}

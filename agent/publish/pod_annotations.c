/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/publish/pod_annotations.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/hash.h"
#include "common/vec.h"
#include "common/xalloc.h"

void pods_written_release(struct pods_written *w)
{
	free(w->hashes);
	*w = (struct pods_written){0};
}

static uint64_t hash_pod_annotation(const struct kai_pod *pod)
{
	const char *const texts[] = {pod->namespace, pod->name, pod->uid, pod->value};
	uint64_t hash = 0;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		hash = hash_bytes(texts[i], strlen(texts[i]) + 1, hash);
	return hash;
}

static bool is_pod_written(const struct pods_written *w, uint64_t hash)
{
	size_t i = 0;

	while (i < w->n_hashes && w->hashes[i] != hash)
		i++;
	return i < w->n_hashes;
}

static void add_hash(struct pods_written *w, uint64_t hash)
{
	uint64_t *new = vec_push(&w->hashes, &w->n_hashes, &w->hashes_size, sizeof(*new));

	*new = hash;
}

void pods_written_keep(struct pods_written *w, const struct kai_pods *want)
{
	struct pods_written kept = {.next = w->next};

	for (size_t i = 0; i < want->n_items; i++) {
		uint64_t hash = hash_pod_annotation(&want->items[i]);

		if (is_pod_written(w, hash))
			add_hash(&kept, hash);
	}
	pods_written_release(w);
	*w = kept;
}

const struct kai_pod *pods_written_next(const struct pods_written *w, const struct kai_pods *want)
{
	for (size_t i = 0; i < want->n_items; i++) {
		size_t at = (w->next + i) % want->n_items;

		if (!is_pod_written(w, hash_pod_annotation(&want->items[at])))
			return &want->items[at];
	}
	return NULL;
}

void pods_written_skip(struct pods_written *w, const struct kai_pods *want, const struct kai_pod *pod)
{
	w->next = (size_t)(pod - want->items) + 1;
}

void pods_written_add(struct pods_written *w, const struct kai_pod *pod)
{
	add_hash(w, hash_pod_annotation(pod));
}

char *pod_annotation_path(const struct kai_pod *pod)
{
	return xasprintf("/api/v1/namespaces/%s/pods/%s", pod->namespace, pod->name);
}

void pod_annotation_object(const struct kai_pod *pod, struct doc *ret)
{
	struct doc *metadata;

	doc_add_string(ret, "apiVersion", "v1");
	doc_add_string(ret, "kind", "Pod");
	metadata = doc_add_map(ret, "metadata");
	doc_add_string(metadata, "namespace", pod->namespace);
	doc_add_string(metadata, "name", pod->name);
	doc_add_string(doc_add_map(metadata, "annotations"), KAI_OBSERVED, pod->value);
}

void pod_annotation_patch(const struct kai_pod *pod, struct doc *ret)
{
	*ret = (struct doc){.kind = DOC_MAP};
	doc_add_string(doc_add_map(doc_add_map(ret, "metadata"), "annotations"), KAI_OBSERVED, pod->value);
}

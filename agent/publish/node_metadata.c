/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/publish/node_metadata.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/settings.h"
#include "common/text.h"
#include "scoring/node/node_state_codec.h"
#include "scoring/node/settings_change.h"

void node_metadata_init(struct node_metadata *m)
{
	*m = (struct node_metadata){.annotations = {.kind = DOC_MAP}, .labels = {.kind = DOC_MAP}};
}

void node_metadata_release(struct node_metadata *m)
{
	free(m->uid);
	doc_release(&m->annotations);
	doc_release(&m->labels);
	node_metadata_init(m);
}

static bool is_own_key(const char *key)
{
	return !strncmp(key, NODE_METADATA_PREFIX, strlen(NODE_METADATA_PREFIX));
}

void node_metadata_keep_own(const struct doc *map, struct doc *ret)
{
	if (!map || map->kind != DOC_MAP)
		return;
	/* Of a repeated key doc_get() returns the first. */
	DOC_FOREACH (item, map)
		if (is_own_key(item->key) && doc_string(item) && item == doc_get(map, item->key))
			doc_add_string(ret, item->key, item->text);
}

static void read_taint(const struct doc *object, struct node_metadata *ret)
{
	const struct doc *taints = doc_get(doc_get(object, "spec"), "taints");

	if (!taints || taints->kind != DOC_LIST)
		return;
	for (size_t i = 0; i < taints->n_items; i++)
		if (!strcmp(doc_text(&taints->items[i], "key"), STARTUP_TAINT_KEY) &&
			!strcmp(doc_text(&taints->items[i], "effect"), STARTUP_TAINT_EFFECT)) {
			ret->has_taint = true;
			ret->taint = i;
			return;
		}
}

int node_metadata_parse(const char *text, size_t len, struct node_metadata *ret, struct err *err)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	const struct doc *metadata;
	const char *uid;

	if (json_parse(text, len, &object, NULL) < 0)
		return err_set(err, -EPROTO, "the API server's answer is not a Node");
	metadata = doc_get(&object, "metadata");
	uid = doc_string(doc_get(metadata, "uid"));
	if (!uid || !*uid)
		return err_set(err, -EPROTO, "the API server's answer is not a Node");
	node_metadata_init(ret);
	ret->kubelet = node_kubelet_release(&object);
	text_set(&ret->uid, uid);
	node_metadata_keep_own(doc_get(metadata, "annotations"), &ret->annotations);
	node_metadata_keep_own(doc_get(metadata, "labels"), &ret->labels);
	read_taint(&object, ret);
	return 0;
}

static int copy_wanted(const struct doc *map, struct doc *ret, struct err *err)
{
	if (!map)
		return 0;
	DOC_FOREACH (item, map) {
		if (!item->key || !is_own_key(item->key) || !doc_string(item))
			return err_set(err, -EINVAL,
				"'%.100s' is not a string with a key under " NODE_METADATA_PREFIX,
				item->key ? item->key : "");
		doc_add_string(ret, item->key, item->text);
	}
	return 0;
}

int node_metadata_wanted(const struct doc *annotations, const struct doc *labels, const char *content_hash,
	struct node_metadata *ret, struct err *err)
{
	int r;

	node_metadata_init(ret);
	r = copy_wanted(annotations, &ret->annotations, err);
	if (r == 0)
		r = copy_wanted(labels, &ret->labels, err);
	if (r < 0) {
		node_metadata_release(ret);
		return r;
	}
	if (ret->annotations.n_items || ret->labels.n_items)
		doc_add_string(&ret->annotations, NRT_CONTENT_HASH, content_hash);
	return 0;
}

/* Adds the changes from `have` to `want`: new values, and null for removed keys. */
static void add_changes(const struct doc *have, const struct doc *want, struct doc *ret)
{
	DOC_FOREACH (item, want) {
		const char *now = doc_string(doc_get(have, item->key));

		if (!now || strcmp(now, item->text) != 0)
			doc_add_string(ret, item->key, item->text);
	}
	DOC_FOREACH (item, have)
		if (!doc_get(want, item->key))
			doc_add(ret, item->key);
}

static void add_section(
	struct doc *metadata, const char *name, const struct doc *have, const struct doc *want)
{
	struct doc *section = doc_add_map(metadata, name);

	add_changes(have, want, section);
	/* Without a change the patch omits the section. */
	if (section->n_items == 0) {
		doc_release(section);
		metadata->n_items--;
	}
}

void node_metadata_patch(const struct node_metadata *have, const struct node_metadata *want, struct doc *ret)
{
	CLEANUP(doc_release) struct doc patch = {.kind = DOC_MAP};
	struct doc *metadata = doc_add_map(&patch, "metadata");

	add_section(metadata, "annotations", &have->annotations, &want->annotations);
	add_section(metadata, "labels", &have->labels, &want->labels);
	if (metadata->n_items == 0) {
		*ret = (struct doc){.kind = DOC_MAP};
		return;
	}
	doc_add_string(metadata, "uid", have->uid);
	*ret = patch;
	patch = (struct doc)DOC_INIT;
}

static void add_operation(struct doc *patch, const char *op, const char *path, const char *value)
{
	struct doc *operation = doc_add_map(patch, NULL);

	doc_add_string(operation, "op", op);
	doc_add_string(operation, "path", path);
	if (value)
		doc_add_string(operation, "value", value);
}

void node_metadata_taint_patch(const struct node_metadata *m, struct doc *ret)
{
	char path[64];

	*ret = (struct doc){.kind = DOC_LIST};
	add_operation(ret, "test", "/metadata/uid", m->uid);
	snprintf(path, sizeof(path), "/spec/taints/%zu/key", m->taint);
	add_operation(ret, "test", path, STARTUP_TAINT_KEY);
	snprintf(path, sizeof(path), "/spec/taints/%zu/effect", m->taint);
	add_operation(ret, "test", path, STARTUP_TAINT_EFFECT);
	snprintf(path, sizeof(path), "/spec/taints/%zu", m->taint);
	add_operation(ret, "remove", path, NULL);
}

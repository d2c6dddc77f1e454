/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/objects/object_content.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/objects/node_status.h"
#include "cluster/objects/pod_parse.h"
#include "cluster/objects/pod_status.h"
#include "common/cleanup.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/text.h"
#include "common/xalloc.h"

#define ANNOTATIONS_MAX ((size_t)1 << 20) /* the API server accepts 256 KiB per object */

void object_content_release(struct object_content *c)
{
	for (size_t i = 0; i < c->n_reservations; i++)
		reservation_release(&c->reservations[i]);
	free(c->reservations);
	cluster_node_release(&c->zones);
	resource_list_release(&c->allocatable);
	pod_request_release(&c->request);
}

static void read_zones(const struct doc *object, const char *known_hash, struct object_content *c)
{
	c->error = cluster_content_hash(object, c->hash);
	if (c->error < 0) {
		err_set(&c->why, c->error, "NodeResourceTopology '%.100s': %s",
			text_or_empty(doc_object_name(object)), strerror(-c->error));
		return;
	}
	c->unchanged = *known_hash && !strcmp(c->hash, known_hash);
	if (!c->unchanged)
		c->error = cluster_node_read(object, &c->zones, &c->why);
}

static void hash_reservations(const struct doc *annotations, char ret[HASH_TEXT_SIZE])
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(ANNOTATIONS_MAX);

	if (annotations && annotations->kind == DOC_MAP)
		DOC_FOREACH (annotation, annotations)
			if (reservation_id(annotation->key))
				strbuf_addf(&text, "%s=%s\n", annotation->key,
					text_or_empty(doc_string(annotation)));
	*ret = '\0';
	if (text.len > 0)
		hash_text(text.text, text.len, ret);
}

static void log_invalid(const struct err *err, const void *node)
{
	log_warning("node '%s': %s", (const char *)node, err->text);
}

static void read_node(const struct doc *object, const char *known_hash, struct object_content *c)
{
	const struct doc *annotations = doc_get(doc_get(object, "metadata"), "annotations");

	c->error = node_allocatable(object, &c->allocatable, &c->why);
	if (c->error < 0) {
		err_wrap(&c->why, c->error, "Node '%.60s'", text_or_empty(doc_object_name(object)));
		return;
	}
	hash_reservations(annotations, c->hash);
	c->unchanged = !strcmp(c->hash, known_hash);
	/* Without reservations the hash is "". */
	if (c->unchanged || !*c->hash)
		return;
	c->reservations = xcalloc(RESERVATIONS_MAX, sizeof(*c->reservations));
	c->n_reservations = reservations_parse(
		annotations, log_invalid, text_or_empty(doc_object_name(object)), c->reservations);
}

static void read_pod(const struct doc *object, struct object_content *c)
{
	CLEANUP(pod_template_release) struct pod_template template = {0};
	const struct doc *metadata = doc_get(object, "metadata");
	const char *namespace = doc_text(metadata, "namespace");

	if (pod_has_ended(object) || (!*pod_node_name(object) && !*pod_nominated_node(object)))
		return;
	c->error = pod_template_from_pod(object, &template, &c->why);
	if (c->error < 0) {
		err_wrap(&c->why, c->error, "Pod '%.60s/%.60s'", *namespace ? namespace : "default",
			doc_text(metadata, "name"));
		return;
	}
	c->request = template.pod;
	pod_request_init(&template.pod);
}

void object_content_read(
	enum object_kind kind, const struct doc *object, const char *known_hash, struct object_content *ret)
{
	*ret = (struct object_content){.error = 0};
	node_state_init(&ret->zones.state);
	pod_request_init(&ret->request);
	if (kind == OBJECT_NRT)
		read_zones(object, known_hash, ret);
	else if (kind == OBJECT_NODE)
		read_node(object, known_hash, ret);
	else if (kind == OBJECT_POD)
		read_pod(object, ret);
}

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * An object that nrtd writes whole by server-side apply, and keeps its own: the NRT object, the Numatopology.
 *
 * An apply is forced and names the resourceVersion that was seen last, so the API server says when somebody else has
 * written in between (409). Then the object's managedFields say whether what nrtd had written was taken from it, and by
 * whom; contention.h says when nrtd gives way.
 *
 * A client of another version of the API (koordlet writes NodeResourceTopologies as v1alpha1) leaves an entry of that
 * version in managedFields, and the API server then fails every apply of a newer one (500, "failed to prune fields: ... field
 * not declared in schema"; seen with kube-apiserver 1.35.4). nrtd then has it forget who wrote what, and applies.
 */
#include "agent/base/doc.h"
#include "agent/node/publish/contention.h"
#include "agent/node/publish/publish_io.h"

#define PUBLISH_NRT_PATH           "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/"
#define PUBLISH_NUMATOPOLOGY_GROUP "/apis/nodeinfo.volcano.sh/v1alpha1"
#define PUBLISH_NUMATOPOLOGY_PATH  PUBLISH_NUMATOPOLOGY_GROUP "/numatopologies/"

/* What is written. */
struct applied_kind {
	enum publish_object object;
	const char *api_version;     /* "GROUP/VERSION" */
	const char *prefix;          /* of its path, before the Node's name */
	const char *const *sections; /* the members it has beside its metadata, ended by NULL */
};

extern const struct applied_kind applied_nrt, applied_numatopology;

struct applied {
	const struct applied_kind *kind; /* not owned */

	char *path;
	char *written_hash;     /* as last applied; NULL = apply, whatever it is */
	bool looked;            /* what follows is known */
	char *resource_version; /* NULL = there is no such object */
	uint64_t ours;          /* see struct object_managers */
	bool foreign_version;   /* the same */
	bool blind;             /* the right to read it is missing */
	uint64_t at_ms;         /* of the last write or look */
	struct contention contention;
};

/* The one of that node. */
void applied_init(struct applied *a, const struct applied_kind *kind, const char *node_name);
void applied_release(struct applied *a);

/* What was seen and written is not known any more; contention is. */
void applied_forget(struct applied *a);

/*
 * Apply `want` (to be owned by the Node of that uid, "content-hash" `hash`). PUBLISH_CONTENDED: another program writes it, and
 * nrtd gives way until contention_refresh(). Each outcome but PUBLISH_WRITTEN leaves one line in `err`. At most six
 * requests.
 */
enum publish_outcome applied_write(struct applied *a, struct publish_io *io, const struct doc *want,
	const char *hash, const char *node_uid, uint64_t now_ms, struct err *err);

/* See whether the object is still nrtd's; where it is not it has to be applied again. As applied_write(), with
 * PUBLISH_UNCHANGED where all is well. */
enum publish_outcome applied_look(struct applied *a, struct publish_io *io, uint64_t now_ms, struct err *err);

/* Delete the object where nrtd holds fields of it and nobody else does: the very version that was looked at. What is not
 * there is fine. 0 or -errno with one line. */
int applied_delete(const struct applied *a, struct publish_io *io, struct err *err);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Writes a whole object by server-side apply and keeps nrtd its owner: the NRT object, the Numatopology
 * object.
 *
 * An apply is forced and contains the last observed resourceVersion, so the API server reports a write by
 * another client in between (409). The object's managedFields then show whether that client took over fields
 * that nrtd had written.
 *
 * Contention: two exporters of one object would overwrite each other forever, and each write wakes every
 * scheduler. So nrtd backs off after two rewrites within ten minutes: it does not write until the next
 * refresh, then tries once, and backs off again at the first rewrite. Ten minutes without a rewrite end the
 * contention.
 *
 * A client of another API version (koordlet writes NodeResourceTopologies as v1alpha1) leaves an entry of
 * that version in managedFields, and the API server then fails every apply of a newer version (500, "failed
 * to prune fields: ... field not declared in schema"; seen with kube-apiserver 1.35.4). nrtd then clears
 * managedFields and applies.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/publish/publish_io.h"

#define APPLY_NRT_PATH            "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/"
#define APPLY_NUMATOPOLOGY_GROUP  "/apis/nodeinfo.volcano.sh/v1alpha1"
#define APPLY_NUMATOPOLOGY_SCHEMA "/openapi/v3" APPLY_NUMATOPOLOGY_GROUP

/* ---- metadata.managedFields */

struct managed_fields {
	char *resource_version; /* NULL = not given */
	uint64_t own_hash;      /* hash of the fields that nrtd's apply owns in the sections; 0 = none */
	char rival[80];         /* another manager that wrote fields of the sections after nrtd; "" = none */
	bool other_version;     /* an entry has another API version, with which the server cannot merge */
};

void managed_fields_release(struct managed_fields *m);

/* A kind of object that nrtd applies. */
struct apply_kind {
	enum publish_object object;
	const char *api_version;     /* "GROUP/VERSION" */
	const char *prefix;          /* of its path, before the Node's name */
	const char *const *sections; /* its members besides metadata, terminated by NULL */
};

extern const struct apply_kind apply_nrt, apply_numatopology;

/*
 * Reads the managers of an object of this kind, or of its PartialObjectMetadata. An apply owns a field until
 * another manager gives the field another value (Kubernetes documentation, Server-Side Apply, "Field
 * management"). Without managedFields no manager is known. 0 or -EFBIG.
 */
int managed_fields_read(const struct doc *object, const struct apply_kind *kind, struct managed_fields *ret);

/* ---- contention; no I/O */

/* What to do about another program that writes the NodeResourceTopology object, by its name as a field
 * manager, as static text; NULL = an unknown program. */
const char *apply_rival_remedy(const char *manager);

#define CONTENTION_WINDOW_MS 600000u /* two rewrites within this time are contention */
#define CONTENTION_CHECK_MS  15000u  /* interval of checks while another writer is suspected */

struct contention {
	char rival[80];    /* the other writer, "" = none known */
	unsigned rewrites; /* of nrtd's fields, within the window */
	uint64_t last_ms;  /* time of the last rewrite */
	bool held;         /* nrtd has backed off */
	bool trial;        /* nrtd tries again after backing off */
};

/* A refresh begins: a held object may be tried again. */
void contention_refresh(struct contention *c, uint64_t now_ms);

/* When to check the object that was written or checked at `at_ms`; UINT64_MAX = no check is necessary. */
uint64_t contention_check_at(const struct contention *c, uint64_t at_ms);

/* ---- the object */

struct apply {
	const struct apply_kind *kind; /* not owned */

	char *path;
	char *written_hash; /* of the last applied object; NULL = apply in any case */
	bool checked;       /* no check is needed before the next write */
	/* NULL = the object does not exist, or its version is unknown: nrtd must not get it, or the last response was unreadable. */
	char *resource_version;
	uint64_t own_hash;  /* as in struct managed_fields */
	bool other_version; /* as in struct managed_fields */
	bool unreadable;    /* the right to get the object is missing */
	uint64_t at_ms;     /* time of the last write or check */
	struct contention contention;
	bool keeps_state;  /* keep the node state that the object has when it is read for the first time */
	char *found_state; /* the text of this node state; "" = none; NULL = not read yet */
};

/* The object of this node. */
void apply_init(struct apply *a, const struct apply_kind *kind, const char *node_name);
void apply_release(struct apply *a);

/* Forgets what was read and written, but not the contention. */
void apply_forget(struct apply *a);

/*
 * Applies `want`, owned by the Node of that UID; `hash` is its content hash. PUBLISH_CONTENDED: another
 * program writes the object, and nrtd backs off until contention_refresh(). Every outcome but PUBLISH_WRITTEN
 * sets one line in `err`. At most six requests.
 */
enum publish_outcome apply_write(struct apply *a, struct publish_io *io, const struct doc *want,
	const char *hash, const char *node_uid, uint64_t now_ms, struct err *err);

/* Checks whether nrtd still owns the object; if not, the object has to be applied again. As apply_write(),
 * with PUBLISH_UNCHANGED if nrtd owns the object. */
enum publish_outcome apply_check(struct apply *a, struct publish_io *io, uint64_t now_ms, struct err *err);

/* Deletes the object if only nrtd owns fields of it, and only in the version that was just read. A missing
 * object is no error. 0 or -errno with one line. */
int apply_delete(const struct apply *a, struct publish_io *io, struct err *err);

/* The object to apply: a copy of `from` with an ownerReference to the Node and, unless NULL, the
 * resourceVersion that it replaces. 0; -EINVAL if `from` has no metadata. */
int apply_make_object(const struct doc *from, const char *node_name, const char *node_uid,
	const char *resource_version, struct doc *ret, struct err *err);

/* ---- the schema */

/* Whether the Numatopology CRD on the API server has podAllocations, by the API server's OpenAPI schema.
 * PUBLISH_WRITTEN: *ret is set, also if the schema cannot be read for good; otherwise `err` has one line. */
enum publish_outcome apply_has_pod_allocations(struct publish_io *io, bool *ret, struct err *err);

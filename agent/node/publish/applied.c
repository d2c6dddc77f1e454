/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/publish/applied.h"

#include <errno.h>

#include "agent/base/json.h"
#include "agent/kube/object_managers.h"
#include "agent/node/publish/publish_doc.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/text.h"
#include "common/xalloc.h"

const struct applied_kind applied_nrt = {
	.object = PUBLISH_NRT,
	.api_version = "topology.node.k8s.io/v1alpha2",
	.prefix = PUBLISH_NRT_PATH,
	.sections = (const char *const[]){"topologyPolicies", "attributes", "zones", NULL},
};
const struct applied_kind applied_numatopology = {
	.object = PUBLISH_NUMATOPOLOGY,
	.api_version = "nodeinfo.volcano.sh/v1alpha1",
	.prefix = PUBLISH_NUMATOPOLOGY_PATH,
	.sections = (const char *const[]){"spec", NULL},
};

void applied_init(struct applied *a, const struct applied_kind *kind, const char *node_name)
{
	*a = (struct applied){.kind = kind};
	a->path = xasprintf("%s%s", kind->prefix, node_name);
}

void applied_release(struct applied *a)
{
	free(a->path);
	free(a->written_hash);
	free(a->resource_version);
	*a = (struct applied){0};
}

void applied_forget(struct applied *a)
{
	free(TAKE(a->written_hash));
	free(TAKE(a->resource_version));
	a->looked = a->foreign_version = false;
	a->ours = 0;
}

/* ---- what is there */

/* Read the managers in the last answer. */
static int read_managers(
	const struct applied *a, const struct publish_io *io, struct object_managers *ret, struct err *err)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	int r = json_parse(io->response.body.text, io->response.body.len, &object, err);

	if (r == 0)
		r = object_managers_read(&object, a->kind->api_version, a->kind->sections, ret);
	return r < 0 ? err_set(err, r, "the API server's answer is not %s", publish_what(a->kind->object))
		     : 0;
}

static void take(struct applied *a, struct object_managers *m, uint64_t now_ms)
{
	free(a->resource_version);
	a->resource_version = TAKE(m->resource_version);
	a->ours = m->ours;
	a->foreign_version = m->foreign_version;
	a->at_ms = now_ms;
	a->looked = true;
}

/* What nrtd wrote is not there any more, or is another's. */
static void lost(struct applied *a, const struct object_managers *m, uint64_t now_ms)
{
	free(TAKE(a->written_hash));
	a->ours = 0; /* one loss counts once */
	contention_rewritten(&a->contention, m->rival, now_ms);
	log_info("%s was rewritten by '%s'", a->path, a->contention.rival);
}

/* See what is there, and whether it is what nrtd saw or wrote last. */
static enum publish_outcome look(struct applied *a, struct publish_io *io, uint64_t now_ms, struct err *err)
{
	CLEANUP(object_managers_release) struct object_managers m = {0};
	enum publish_outcome outcome = publish_read_metadata(io, a->kind->object, a->path, err);
	uint64_t ours = a->ours;

	if (outcome == PUBLISH_FORBIDDEN && !a->blind)
		log_warning("without the right to get %s nrtd does not see who else writes it", a->path);
	a->blind = outcome == PUBLISH_FORBIDDEN;
	if (outcome == PUBLISH_NOT_FOUND || outcome == PUBLISH_FORBIDDEN) {
		*err = (struct err){""};
		applied_forget(a);
		a->looked = true;
		a->at_ms = now_ms;
		return PUBLISH_WRITTEN;
	}
	if (outcome != PUBLISH_WRITTEN)
		return outcome;
	if (read_managers(a, io, &m, err) < 0)
		return PUBLISH_SERVER_ERROR;
	take(a, &m, now_ms);
	if (ours && ours != m.ours)
		lost(a, &m, now_ms);
	else if (m.rival[0] && contention_seen(&a->contention, m.rival))
		log_warning("%s was written by '%s': nrtd takes it over", a->path, m.rival);
	return PUBLISH_WRITTEN;
}

/* ---- writing */

static enum publish_outcome contended(const struct applied *a, struct err *err)
{
	err_set(err, 0,
		"'%s' keeps rewriting %s: nrtd gives way until the next refresh; only one of them should run (nrtd(8), OTHER EXPORTERS)",
		a->contention.rival, a->path);
	return PUBLISH_CONTENDED;
}

/* Have the server forget who wrote what. */
static enum publish_outcome forget_managers(
	struct applied *a, struct publish_io *io, uint64_t now_ms, struct err *err)
{
	CLEANUP(object_managers_release) struct object_managers m = {0};
	CLEANUP(doc_release) struct doc patch = {.kind = DOC_MAP};
	struct doc *metadata = doc_add_map(&patch, "metadata");
	enum publish_outcome outcome;

	doc_add_map(doc_add_list(metadata, "managedFields"), NULL);
	doc_add_string(metadata, "resourceVersion", a->resource_version);
	outcome = publish_send_doc(
		io, a->kind->object, "PATCH", a->path, "application/merge-patch+json", &patch, err);
	if (outcome != PUBLISH_WRITTEN)
		return outcome;
	if (read_managers(a, io, &m, err) < 0)
		return PUBLISH_SERVER_ERROR;
	take(a, &m, now_ms);
	return PUBLISH_WRITTEN;
}

static enum publish_outcome apply(struct applied *a, struct publish_io *io, const struct doc *want,
	const char *node_uid, uint64_t now_ms, struct err *err)
{
	CLEANUP(object_managers_release) struct object_managers m = {0};
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	CLEANUP(freep) char *path = NULL;
	enum publish_outcome outcome =
		a->foreign_version ? forget_managers(a, io, now_ms, err) : PUBLISH_WRITTEN;

	if (outcome != PUBLISH_WRITTEN)
		return outcome;
	if (publish_object(want, io->node_name, node_uid, a->resource_version, &object, err) < 0)
		return PUBLISH_FAILED;
	path = xasprintf("%s?" PUBLISH_MANAGER "&force=true", a->path);
	/* Whatever comes of it: what was written before may be replaced. */
	free(TAKE(a->written_hash));
	outcome = publish_send_doc(
		io, a->kind->object, "PATCH", path, "application/apply-patch+yaml", &object, err);
	if (outcome == PUBLISH_TIMEOUT || outcome == PUBLISH_UNREACHABLE)
		a->ours = 0; /* it may come through later, with other fields */
	if (outcome != PUBLISH_WRITTEN)
		return outcome;
	/* Where the answer does not say what is there now the next write names no version. */
	applied_forget(a);
	a->looked = true;
	a->at_ms = now_ms;
	if (read_managers(a, io, &m, err) == 0)
		take(a, &m, now_ms);
	*err = (struct err){""};
	return PUBLISH_WRITTEN;
}

/* The object that was seen has changed or is gone. Where a client of another version has written the server fails before it
 * compares versions. */
static bool is_outdated(const struct applied *a, enum publish_outcome outcome, const struct err *err)
{
	return a->resource_version &&
	       (outcome == PUBLISH_CONFLICT || outcome == PUBLISH_NOT_FOUND ||
		       (outcome == PUBLISH_SERVER_ERROR && strstr(err->text, "failed to prune fields")));
}

enum publish_outcome applied_write(struct applied *a, struct publish_io *io, const struct doc *want,
	const char *hash, const char *node_uid, uint64_t now_ms, struct err *err)
{
	enum publish_outcome outcome = PUBLISH_WRITTEN;

	if (a->contention.held)
		return contended(a, err);
	if (!a->looked)
		outcome = look(a, io, now_ms, err);
	if (outcome == PUBLISH_WRITTEN)
		outcome = apply(a, io, want, node_uid, now_ms, err);
	if (is_outdated(a, outcome, err)) {
		outcome = look(a, io, now_ms, err);
		if (outcome == PUBLISH_WRITTEN && a->contention.held)
			return contended(a, err);
		if (outcome == PUBLISH_WRITTEN)
			outcome = apply(a, io, want, node_uid, now_ms, err);
	}
	if (outcome == PUBLISH_WRITTEN)
		text_set(&a->written_hash, hash);
	return outcome;
}

enum publish_outcome applied_look(struct applied *a, struct publish_io *io, uint64_t now_ms, struct err *err)
{
	enum publish_outcome outcome = look(a, io, now_ms, err);

	if (outcome == PUBLISH_WRITTEN && a->contention.held)
		return contended(a, err);
	return outcome == PUBLISH_WRITTEN ? PUBLISH_UNCHANGED : outcome;
}

/* ---- taking it away again */

/* The uid and version of the last answer's object, as a delete is to name them. */
static int add_preconditions(const struct publish_io *io, struct doc *body, struct err *err)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	struct doc *preconditions = doc_add_map(body, "preconditions");
	const struct doc *metadata;
	int r = json_parse(io->response.body.text, io->response.body.len, &object, err);

	if (r < 0)
		return err_wrap(err, -EPROTO, "the API server's answer");
	metadata = doc_get(&object, "metadata");
	doc_add_string(preconditions, "uid", doc_string(doc_get(metadata, "uid")));
	doc_add_string(preconditions, "resourceVersion", doc_string(doc_get(metadata, "resourceVersion")));
	return 0;
}

int applied_delete(const struct applied *a, struct publish_io *io, struct err *err)
{
	CLEANUP(object_managers_release) struct object_managers m = {0};
	CLEANUP(doc_release) struct doc body = {.kind = DOC_MAP};
	enum publish_outcome outcome = publish_read_metadata(io, a->kind->object, a->path, err);
	int r;

	if (outcome != PUBLISH_WRITTEN)
		return outcome == PUBLISH_NOT_FOUND ? 0 : publish_errno(outcome);
	r = read_managers(a, io, &m, err);
	if (r < 0 || !m.ours || m.rival[0])
		return r;
	r = add_preconditions(io, &body, err);
	if (r < 0)
		return r;
	outcome = publish_send_doc(io, a->kind->object, "DELETE", a->path, "application/json", &body, err);
	return outcome == PUBLISH_NOT_FOUND ? 0 : publish_errno(outcome);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/publish/apply.h"

#include <errno.h>

#include "agent/render/render.h"
#include "common/cleanup.h"
#include "common/hash.h"
#include "common/io/json.h"
#include "common/log.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "scoring/node/node_state_codec.h"

#define FIELDS_MAX   ((size_t)1 << 20)
#define REWRITES_MAX 2u

const struct apply_kind apply_nrt = {
	.object = PUBLISH_NRT,
	.api_version = "topology.node.k8s.io/v1alpha2",
	.prefix = APPLY_NRT_PATH,
	.sections = (const char *const[]){"topologyPolicies", "attributes", "zones", NULL},
};
const struct apply_kind apply_numatopology = {
	.object = PUBLISH_NUMATOPOLOGY,
	.api_version = "nodeinfo.volcano.sh/v1alpha1",
	.prefix = APPLY_NUMATOPOLOGY_GROUP "/numatopologies/",
	.sections = (const char *const[]){"spec", NULL},
};

/* ---- managed fields */

void managed_fields_release(struct managed_fields *m)
{
	free(m->resource_version);
	*m = (struct managed_fields){0};
}

/* The fields of a section that a manager's entry owns; NULL = none. */
static const struct doc *owned_fields(const struct doc *entry, const char *section)
{
	char key[64];

	snprintf(key, sizeof(key), "f:%.60s", section);
	return doc_get(doc_get(entry, "fieldsV1"), key);
}

static bool is_own_entry(const struct doc *entry)
{
	const char *manager = doc_string(doc_get(entry, "manager"));
	const char *operation = doc_string(doc_get(entry, "operation"));

	return manager && operation && !strcmp(manager, PUBLISH_MANAGER) && !strcmp(operation, "Apply");
}

/* Mixes the fields of the sections that the entry owns into `*hash`, which does not change if there are none. */
static int mix_owned_fields(const struct doc *entry, const char *const *sections, uint64_t *hash)
{
	for (; *sections; sections++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FIELDS_MAX);
		const struct doc *fields = owned_fields(entry, *sections);
		int r = fields ? json_print_compact(fields, &text) : 0;

		if (r < 0)
			return r;
		if (fields)
			*hash = hash_bytes(
				*sections, strlen(*sections), hash_bytes(text.text, text.len, *hash + 1));
	}
	return 0;
}

static bool owns_any_section(const struct doc *entry, const char *const *sections)
{
	while (*sections && !owned_fields(entry, *sections))
		sections++;
	return *sections != NULL;
}

/* Makes the entry's manager the rival if it owns fields of the sections and changed them at `*latest` or
 * later. */
static void update_rival(
	const struct doc *entry, const char *const *sections, const char **latest, struct managed_fields *ret)
{
	const char *manager = doc_text(entry, "manager");

	/* The API server names writers from before the first apply "before-first-apply". */
	if (!owns_any_section(entry, sections) || !strcmp(manager, "before-first-apply") ||
		strcmp(doc_text(entry, "time"), *latest) < 0)
		return;
	snprintf(ret->rival, sizeof(ret->rival), "%s", *manager ? manager : "(unnamed)");
	*latest = doc_text(entry, "time");
}

/* `ret` is zeroed on entry. The second loop needs nrtd's own time, and the entries are in no order. */
static int read_managed_fields(
	const struct doc *entries, const struct apply_kind *kind, struct managed_fields *ret)
{
	const char *latest = "";

	DOC_FOREACH (entry, entries) {
		const char *version = doc_string(doc_get(entry, "apiVersion"));
		int r = is_own_entry(entry) ? mix_owned_fields(entry, kind->sections, &ret->own_hash) : 0;

		if (r < 0)
			return r;
		if (is_own_entry(entry) && owns_any_section(entry, kind->sections))
			latest = doc_text(entry, "time");
		if (version && strcmp(version, kind->api_version) != 0)
			ret->other_version = true;
	}
	DOC_FOREACH (entry, entries)
		if (!is_own_entry(entry))
			update_rival(entry, kind->sections, &latest, ret);
	return 0;
}

int managed_fields_read(const struct doc *object, const struct apply_kind *kind, struct managed_fields *ret)
{
	const struct doc *metadata = doc_get(object, "metadata");
	const struct doc *entries = doc_get(metadata, "managedFields");
	const char *version = doc_string(doc_get(metadata, "resourceVersion"));
	struct managed_fields m = {0};
	int r = entries && entries->kind == DOC_LIST ? read_managed_fields(entries, kind, &m) : 0;

	if (r < 0)
		return r;
	if (version)
		text_set(&m.resource_version, version);
	*ret = m;
	return 0;
}

/* ---- contention */

const char *apply_rival_remedy(const char *manager)
{
	static const struct {
		const char *prefix, *remedy;
	} known[] = {
		{"koordlet",
			"that is Koordinator's: nrtd run --coexist=koordinator leaves the object to it, or set koordlet's feature gate NodeTopologyReport=false"},
		{"node-feature-discovery-topology-updater",
			"that is NFD's: uninstall its topology-updater (in its chart topologyUpdater.enable=false)"},
		{"nfd-topology-updater",
			"that is NFD's: uninstall its topology-updater (in its chart topologyUpdater.enable=false)"},
		{"resource-topology-exporter", "uninstall the resource-topology-exporter"},
		{"nri-resource-policy-",
			"that is nri-plugins': set agent.nodeResourceTopology=false in its policy's configuration, or nrtd run --coexist=nri-plugins leaves the object to it"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strncmp(manager, known[i].prefix, strlen(known[i].prefix)))
			return known[i].remedy;
	return NULL;
}

/* Keeps the name of another manager that wrote the object. Returns whether the name is new. */
static bool contention_add_rival(struct contention *c, const char *rival)
{
	if (!strcmp(c->rival, rival))
		return false;
	snprintf(c->rival, sizeof(c->rival), "%s", rival);
	return true;
}

/* Without a rewrite in the last window the contention ends, and with it the suspicion of `rival`. */
void contention_refresh(struct contention *c, uint64_t now_ms)
{
	if (c->held) {
		c->held = false;
		c->trial = true;
	} else if (!c->rewrites || now_ms - c->last_ms > CONTENTION_WINDOW_MS) {
		*c = (struct contention){0};
	}
}

uint64_t contention_check_at(const struct contention *c, uint64_t at_ms)
{
	return c->rival[0] && !c->held ? at_ms + CONTENTION_CHECK_MS : UINT64_MAX;
}

/* ---- the state of an object */

void apply_init(struct apply *a, const struct apply_kind *kind, const char *node_name)
{
	*a = (struct apply){.kind = kind};
	a->path = xasprintf("%s%s", kind->prefix, node_name);
}

void apply_release(struct apply *a)
{
	free(a->path);
	free(a->written_hash);
	free(a->resource_version);
	free(a->found_state);
	*a = (struct apply){0};
}

void apply_forget(struct apply *a)
{
	free(TAKE(a->written_hash));
	free(TAKE(a->resource_version));
	a->checked = a->other_version = false;
	a->own_hash = 0;
}

/* ---- reading */

/* Parses the managers of the object in the last response, and unless `ret_state` is NULL its node state. */
static int parse_managers(const struct apply *a, const struct publish_io *io, struct managed_fields *ret,
	char **ret_state, struct err *err)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	int r = json_parse(io->response.body.text, io->response.body.len, &object, err);

	if (r == 0)
		r = managed_fields_read(&object, a->kind, ret);
	if (r == 0 && ret_state)
		text_set(ret_state, text_or_empty(nrt_node_state(&object)));
	return r < 0 ? err_set(err, r, "the API server's answer is not %s",
			       publish_object_titles[a->kind->object])
		     : 0;
}

static void store_managers(struct apply *a, struct managed_fields *m, uint64_t now_ms)
{
	free(a->resource_version);
	a->resource_version = TAKE(m->resource_version);
	a->own_hash = m->own_hash;
	a->other_version = m->other_version;
	a->at_ms = now_ms;
	a->checked = true;
}

/* Forgets the object's version: the next write needs no check, and contains no resourceVersion. */
static void apply_forget_version(struct apply *a, uint64_t now_ms)
{
	apply_forget(a);
	a->at_ms = now_ms;
	a->checked = true;
}

/* Fields that nrtd wrote are gone, or another manager owns them. */
static void note_rewrite(struct apply *a, const struct managed_fields *m, uint64_t now_ms)
{
	struct contention *c = &a->contention;

	free(TAKE(a->written_hash));
	a->own_hash = 0; /* one rewrite counts once */
	snprintf(c->rival, sizeof(c->rival), "%s", *m->rival ? m->rival : "(unknown)");
	if (now_ms - c->last_ms > CONTENTION_WINDOW_MS)
		c->rewrites = 0;
	c->rewrites++;
	c->last_ms = now_ms;
	c->held = c->trial || c->rewrites >= REWRITES_MAX;
	log_info("%s was rewritten by '%s'", a->path, a->contention.rival);
}

/* Reads the object, and whether another manager has changed what nrtd last read or wrote. PUBLISH_WRITTEN: the check
 * is done, also if the object does not exist or nrtd must not read it. */
static enum publish_outcome check_object(
	struct apply *a, struct publish_io *io, uint64_t now_ms, struct err *err)
{
	CLEANUP(managed_fields_release) struct managed_fields m = {0};
	const struct api_request whole = {.method = "GET", .path = a->path};
	bool wants_state = a->keeps_state && !a->found_state;
	enum publish_outcome outcome = wants_state ? publish_send(io, a->kind->object, &whole, err)
						   : publish_read_metadata(io, a->kind->object, a->path, err);
	uint64_t own_hash = a->own_hash;

	if (outcome == PUBLISH_FORBIDDEN && !a->unreadable)
		log_warning("without the right to get %s nrtd does not see who else writes it", a->path);
	a->unreadable = outcome == PUBLISH_FORBIDDEN;
	if (outcome == PUBLISH_NOT_FOUND || outcome == PUBLISH_FORBIDDEN) {
		*err = (struct err){""};
		apply_forget_version(a, now_ms);
		if (wants_state)
			a->found_state = xstrdup("");
		return PUBLISH_WRITTEN;
	}
	if (outcome != PUBLISH_WRITTEN)
		return outcome;
	if (parse_managers(a, io, &m, wants_state ? &a->found_state : NULL, err) < 0)
		return PUBLISH_SERVER_ERROR;
	store_managers(a, &m, now_ms);
	if (own_hash && own_hash != m.own_hash)
		note_rewrite(a, &m, now_ms);
	else if (m.rival[0] && contention_add_rival(&a->contention, m.rival))
		log_warning("%s was written by '%s': nrtd overwrites it", a->path, m.rival);
	return PUBLISH_WRITTEN;
}

/* ---- writing */

static void add_owner_reference(struct doc *metadata, const char *node_name, const char *node_uid)
{
	struct doc *owner = doc_add_map(doc_add_list(metadata, "ownerReferences"), NULL);

	doc_add_string(owner, "apiVersion", "v1");
	doc_add_string(owner, "kind", "Node");
	doc_add_string(owner, "name", node_name);
	doc_add_string(owner, "uid", node_uid);
}

int apply_make_object(const struct doc *from, const char *node_name, const char *node_uid,
	const char *resource_version, struct doc *ret, struct err *err)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;

	doc_copy(from, &object);
	DOC_FOREACH (item, &object) {
		if (strcmp(item->key, "metadata") != 0 || item->kind != DOC_MAP)
			continue;
		add_owner_reference(item, node_name, node_uid);
		if (resource_version)
			doc_add_string(item, "resourceVersion", resource_version);
		*ret = object;
		object = (struct doc)DOC_INIT;
		return 0;
	}
	return err_set(err, -EINVAL, "the object has no metadata");
}

static enum publish_outcome set_contended(const struct apply *a, struct err *err)
{
	const char *remedy = a->kind->object == PUBLISH_NRT ? apply_rival_remedy(a->contention.rival) : NULL;

	err_set(err, 0, "'%s' keeps rewriting %s: nrtd backs off until the next refresh; %s",
		a->contention.rival, a->path,
		remedy ? remedy : "run only one of them (nrtd-run(8), OTHER EXPORTERS)");
	return PUBLISH_CONTENDED;
}

/* Clears metadata.managedFields, for which the API server requires a list of one empty entry. */
static enum publish_outcome clear_managers(
	struct apply *a, struct publish_io *io, uint64_t now_ms, struct err *err)
{
	CLEANUP(managed_fields_release) struct managed_fields m = {0};
	CLEANUP(doc_release) struct doc patch = {.kind = DOC_MAP};
	struct doc *metadata = doc_add_map(&patch, "metadata");
	enum publish_outcome outcome;

	doc_add_map(doc_add_list(metadata, "managedFields"), NULL);
	doc_add_string(metadata, "resourceVersion", a->resource_version);
	outcome = publish_send_doc(
		io, a->kind->object, "PATCH", a->path, "application/merge-patch+json", &patch, err);
	if (outcome != PUBLISH_WRITTEN)
		return outcome;
	if (parse_managers(a, io, &m, NULL, err) < 0)
		return PUBLISH_SERVER_ERROR;
	store_managers(a, &m, now_ms);
	return PUBLISH_WRITTEN;
}

static enum publish_outcome send_apply(struct apply *a, struct publish_io *io, const struct doc *want,
	const char *node_uid, uint64_t now_ms, struct err *err)
{
	CLEANUP(managed_fields_release) struct managed_fields m = {0};
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	CLEANUP(freep) char *path = NULL;
	enum publish_outcome outcome =
		a->other_version ? clear_managers(a, io, now_ms, err) : PUBLISH_WRITTEN;

	if (outcome != PUBLISH_WRITTEN)
		return outcome;
	if (apply_make_object(want, io->node_name, node_uid, a->resource_version, &object, err) < 0)
		return PUBLISH_FAILED;
	path = xasprintf("%s?" PUBLISH_MANAGER_QUERY "&force=true", a->path);
	/* The previous content may be replaced even if the request fails. */
	free(TAKE(a->written_hash));
	outcome = publish_send_doc(
		io, a->kind->object, "PATCH", path, "application/apply-patch+yaml", &object, err);
	if (outcome == PUBLISH_TIMEOUT || outcome == PUBLISH_UNREACHABLE)
		a->own_hash = 0; /* the write may still arrive, with other fields */
	if (outcome != PUBLISH_WRITTEN)
		return outcome;
	if (parse_managers(a, io, &m, NULL, err) == 0)
		store_managers(a, &m, now_ms);
	else
		apply_forget_version(a, now_ms);
	/* The write has succeeded: an unreadable response is no failure, nor is a conflict of an earlier try. */
	*err = (struct err){""};
	return PUBLISH_WRITTEN;
}

/* The object has changed since it was read, or is gone. After a write by a client of another API version the
 * server fails before it compares resourceVersions. */
static bool is_object_outdated(const struct apply *a, enum publish_outcome outcome, const struct err *err)
{
	return a->resource_version &&
	       (outcome == PUBLISH_CONFLICT || outcome == PUBLISH_NOT_FOUND ||
		       (outcome == PUBLISH_SERVER_ERROR && strstr(err->text, "failed to prune fields")));
}

enum publish_outcome apply_write(struct apply *a, struct publish_io *io, const struct doc *want,
	const char *hash, const char *node_uid, uint64_t now_ms, struct err *err)
{
	enum publish_outcome outcome = PUBLISH_WRITTEN;

	if (a->contention.held)
		return set_contended(a, err);
	if (!a->checked)
		outcome = check_object(a, io, now_ms, err);
	if (outcome == PUBLISH_WRITTEN)
		outcome = send_apply(a, io, want, node_uid, now_ms, err);
	/* Once more, with the version that the object has now. */
	if (is_object_outdated(a, outcome, err)) {
		outcome = check_object(a, io, now_ms, err);
		if (outcome == PUBLISH_WRITTEN && a->contention.held)
			return set_contended(a, err);
		if (outcome == PUBLISH_WRITTEN)
			outcome = send_apply(a, io, want, node_uid, now_ms, err);
	}
	if (outcome == PUBLISH_WRITTEN)
		text_set(&a->written_hash, hash);
	return outcome;
}

enum publish_outcome apply_check(struct apply *a, struct publish_io *io, uint64_t now_ms, struct err *err)
{
	enum publish_outcome outcome = check_object(a, io, now_ms, err);

	if (outcome == PUBLISH_WRITTEN && a->contention.held)
		return set_contended(a, err);
	return outcome == PUBLISH_WRITTEN ? PUBLISH_UNCHANGED : outcome;
}

/* ---- deleting */

/* The UID and resourceVersion of the object in the last response, as preconditions of a delete. */
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

int apply_delete(const struct apply *a, struct publish_io *io, struct err *err)
{
	CLEANUP(managed_fields_release) struct managed_fields m = {0};
	CLEANUP(doc_release) struct doc body = {.kind = DOC_MAP};
	enum publish_outcome outcome = publish_read_metadata(io, a->kind->object, a->path, err);
	int r;

	if (outcome != PUBLISH_WRITTEN)
		return outcome == PUBLISH_NOT_FOUND ? 0 : publish_errno(outcome);
	r = parse_managers(a, io, &m, NULL, err);
	if (r < 0)
		return r;
	if (!m.own_hash || m.rival[0])
		return 0; /* nrtd owns nothing of the object, or not alone */
	r = add_preconditions(io, &body, err);
	if (r < 0)
		return r;
	outcome = publish_send_doc(io, a->kind->object, "DELETE", a->path, "application/json", &body, err);
	return outcome == PUBLISH_NOT_FOUND ? 0 : publish_errno(outcome);
}

/* ---- the schema */

enum publish_outcome apply_has_pod_allocations(struct publish_io *io, bool *ret, struct err *err)
{
	const struct api_request request = {.method = "GET", .path = APPLY_NUMATOPOLOGY_SCHEMA};
	enum publish_outcome outcome = publish_send(io, PUBLISH_NUMATOPOLOGY, &request, err);

	if (outcome == PUBLISH_WRITTEN) {
		*ret = strstr(text_or_empty(io->response.body.text), "\"" NUMATOPOLOGY_PODS "\"") != NULL;
		return PUBLISH_WRITTEN;
	}
	/* No CRD, or no OpenAPI v3 (before Kubernetes 1.24); or the schema is too large. */
	if (outcome != PUBLISH_NOT_FOUND && outcome != PUBLISH_FORBIDDEN && outcome != PUBLISH_REJECTED &&
		outcome != PUBLISH_FAILED)
		return outcome;
	*ret = false;
	*err = (struct err){""};
	return PUBLISH_WRITTEN;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl numa show: draws a node from its object, once or repeatedly. */
#include "cli/commands.h"

#include <errno.h>

#include "cli/numa/source.h"
#include "cli/watching.h"
#include "cluster/model/named_pods.h"
#include "cluster/model/reserved_places.h"
#include "cluster/objects/cluster_node.h"
#include "common/cleanup.h"
#include "common/log.h"

/* What Nodes and Pods add to the node's object. */
struct known {
	struct named_pods pods;
	struct cluster_usage usage;
};

static void known_release(struct known *k)
{
	named_pods_release(&k->pods);
	cluster_usage_release(&k->usage);
}

static int add_object(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	struct known *known = data;

	if (kind == OBJECT_POD)
		named_pods_add(&known->pods, object);
	return cluster_usage_add(&known->usage, kind, object, err);
}

static void note_unnamed(const struct allocations *a, struct notes *notes)
{
	for (size_t i = 0; i < a->n_items; i++)
		if (!*a->items[i].pod || *a->items[i].pod == '#') {
			notes_add(
				notes, "pods with '#' are named by hashes: their Pod objects were not read");
			return;
		}
}

/* The NUMA nodes of claims' devices that the object does not have. */
static int place_claims(struct source *source, struct node_state *state, struct err *err)
{
	CLEANUP(claim_devices_release) struct claim_devices devices = {0};
	int r = claim_devices_are_missing(state) ? source_read_claims(source, &devices, err) : 0;

	if (r == 0)
		claim_devices_apply(&devices, state);
	return r;
}

/* Names the pods, and adds the places that are reserved. */
static int add_known(
	struct source *source, bool exact, struct node_state *state, struct notes *notes, struct err *err)
{
	CLEANUP(known_release) struct known known = {.usage = {.excluded = NULL}};
	struct node_usage *use;
	int r = source_read_nodes_and_pods(source, add_object, &known, err);

	if (r == -ENOENT) /* the Node was deleted */
		return 0;
	if (r < 0)
		return r;
	named_pods_finish(&known.pods);
	named_pods_apply(&known.pods, state);
	note_unnamed(&state->allocations, notes);
	r = place_claims(source, state, err);
	if (r < 0)
		return r;
	use = cluster_usage_find(&known.usage, state->node_name);
	if (use && use->known)
		reserved_places_draw(state, use, exact, notes);
	return 0;
}

/* One picture of the node, for a terminal or as SVG. `data` is the source. */
static int picture(const struct options *options, void *data, const struct terminal *terminal,
	struct strbuf *out, struct err *err)
{
	struct source **source = data;
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	CLEANUP(node_state_release) struct node_state state;
	CLEANUP(notes_release) struct notes notes;
	enum cluster_basis basis;
	int r = source_begin(options, source, err);

	node_state_init(&state);
	notes = (struct notes){0};
	if (r == 0)
		r = source_nrt(*source, &object, err);
	if (r < 0) {
		source_closep(source);
		return r;
	}
	r = cluster_node_read_picture(&object, &state, &basis, &notes, err);
	if (r < 0)
		return err_wrap(err, r, "%s", source_reader(*source).name);
	if (!option_set(options, OPT_OBJECTS_ONLY))
		r = add_known(*source, basis == CLUSTER_EXACT, &state, &notes, err);
	return r < 0 ? r : watching_draw(options, &state, &notes, terminal, out, err);
}

int command_numa_show(const struct options *options)
{
	CLEANUP(source_closep) struct source *source = NULL;
	struct err err = {""};
	int r = watching_check(options, &err);

	if (r == 0 && options->n_words == 0 && !option_set(options, OPT_FROM))
		r = err_set(&err, -EINVAL, "name the node: kubectl numa show NODE [FLAG...]");
	if (r < 0) {
		log_error("%s", err.text);
		return EXIT_USAGE;
	}
	return watching(options, picture, &source, source_exit_status(options, 0));
}

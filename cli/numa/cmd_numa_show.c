/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl numa show: draws a node from its object, once or repeatedly. */
#include "cli/commands.h"

#include <errno.h>

#include "cli/numa/source.h"
#include "cli/report/show_expected.h"
#include "cli/watching.h"
#include "cluster/model/named_pods.h"
#include "cluster/objects/cluster_node.h"
#include "common/cleanup.h"
#include "common/log.h"

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

/* Adds what the Pods say: their names, the NUMA nodes of their claims, and what they will hold that the object does not report yet. */
static int complete_picture(struct source *source, const struct doc *object, struct node_state *state,
	struct notes *notes, struct err *err)
{
	CLEANUP(projections_release) struct projections projections = {.last = NULL};
	CLEANUP(cluster_release) struct cluster cluster = {.n_nodes = 0};
	CLEANUP(cluster_node_release) struct cluster_node read = {.basis = CLUSTER_UNKNOWN};
	int r = source_fill_cluster(source, &cluster, NULL, NULL, err);

	if (r == -ENOENT) /* the Node was deleted */
		return 0;
	if (r < 0)
		return r;
	named_pods_apply(cluster_find_node(&cluster, state->node_name), state);
	note_unnamed(&state->allocations, notes);
	r = place_claims(source, state, err);
	if (r == 0)
		r = cluster_node_read(object, &read, err);
	if (r < 0)
		return r;
	projections.cluster = &cluster;
	/* The object is the only one, so its time does not matter. */
	show_add_expected(&projections, cluster_set_object(&cluster, &read, 0), state, notes);
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
		r = complete_picture(*source, &object, &state, &notes, err);
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

/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl numa show: draws a node from its object, once or repeatedly. */
#include "agent/cli/commands.h"

#include <errno.h>

#include "agent/cli/source.h"
#include "agent/cli/watching.h"
#include "agent/cluster/cluster_node.h"
#include "common/cleanup.h"
#include "common/log.h"

/* One picture of the node, for a terminal or as SVG. `data` is the source. */
static int picture(const struct options *options, void *data, const struct terminal *terminal,
	struct strbuf *out, struct err *err)
{
	struct source **source = data;
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	CLEANUP(node_state_release) struct node_state state;
	CLEANUP(notes_release) struct notes notes;
	int r = source_begin(options, source, err);

	node_state_init(&state);
	notes = (struct notes){0};
	if (r == 0)
		r = source_nrt(*source, &object, err);
	if (r < 0) {
		source_closep(source);
		return r;
	}
	r = cluster_node_read_picture(&object, &state, &notes, err);
	if (r < 0)
		return err_wrap(err, r, "%s", source_reader(*source).name);
	return watching_draw(options, &state, &notes, terminal, out, err);
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

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/numa/read_cluster.h"

#include <errno.h>

static int add_to_cluster(struct cluster_node *node, void *data, struct err *err)
{
	const struct simulated_cluster *c = data;

	(void)err;
	simulated_cluster_add_node(data, node);
	simulated_show_progress(c, "objects read", c->n_nodes + c->n_pods, 0);
	return 0;
}

static int add_object_to_cluster(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	const struct simulated_cluster *c = data;

	simulated_show_progress(c, "objects read", c->n_nodes + c->n_pods, 0);
	return simulated_cluster_add_object(data, kind, object, err);
}

int read_cluster(struct source *s, struct simulated_cluster *c, struct err *err)
{
	const unsigned kinds = 1u << OBJECT_NODE | 1u << OBJECT_POD | 1u << OBJECT_PDB;
	const struct object_reader reader = source_reader(s);
	size_t n_selected = 0;
	int r = source_each_node(s, add_to_cluster, c, err);

	if (r == 0)
		r = reader.read(reader.source, kinds, add_object_to_cluster, c, err);
	if (r < 0)
		return r;
	simulated_cluster_finish(c);
	for (size_t i = 0; i < c->n_nodes; i++) {
		if (source_selects_node(s, c->nodes[i].name))
			n_selected++;
		else
			c->nodes[i].obstacle = SIMULATED_NOT_SELECTED;
	}
	return n_selected > 0 ? 0 : err_set(err, -ENOENT, "%s: no node is selected", reader.name);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cli/look.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "agent/cli/stage_config.h"
#include "common/log.h"
#include "common/cleanup.h"

/* The kubelet's files and its socket are for root only. */
static int add_remedy(int r, struct err *err)
{
	struct err why;

	if ((r != -EACCES && r != -EPERM) || geteuid() == 0 || !err)
		return r;
	why = *err;
	return err_set(err, r, "%.400s; run nrtd as root, or with CAP_DAC_READ_SEARCH", why.text);
}

int look_excludes(const struct options *options, struct err *err)
{
	const unsigned machine = 1u << COMMAND_SHOW | 1u << COMMAND_DUMP | 1u << COMMAND_FIT;

	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		const char *origin = options->origin[id];

		if (id == OPT_NODE_NAME || id == OPT_VERBOSE ||
			(option_defs[id].commands & machine) != machine)
			continue;
		if (origin && !strncmp(origin, "--", 2))
			return err_set(err, -EINVAL, "%s and %s exclude each other", options->origin[OPT_NRT],
				origin);
	}
	return 0;
}

#define ODD_NAMED 5

void look_warn_odd(const struct cluster_node *node, size_t *n)
{
	if (node->odd && ++*n <= ODD_NAMED)
		log_warning("node '%s': %s; judged by its zones", node->state.node_name, node->why.text);
}

void look_warn_odd_rest(size_t n)
{
	if (n > ODD_NAMED)
		log_warning("and %zu other nodes whose node state cannot be read", n - ODD_NAMED);
}

int look_usage(const struct options *options, struct cluster_usage *u, struct err *err)
{
	static const enum option_id files[] = {OPT_NODES, OPT_PODS};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(files) && r == 0; i++)
		if (option_set(options, files[i]))
			r = cluster_usage_read(u, options->value[files[i]], err);
	if (r == 0 && option_set(options, OPT_PODS) && u->n_nodes == 0 &&
		!option_set(options, OPT_WHAT_FREES))
		r = err_set(err, -EINVAL, "%s: what the nodes have is not known without --nodes",
			options->origin[OPT_PODS]);
	return r;
}

int look(const struct options *options, struct observation *ret, struct err *err)
{
	const struct observe_config config = stage_observe(options);
	struct stage_lists lists;
	const struct model_config model = stage_model(options, &lists);
	int r = observe(&config, ret, err);

	return r < 0 ? add_remedy(r, err) : model_node(&model, &ret->node, &ret->notes, err);
}

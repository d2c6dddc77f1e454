/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cli/observe_local.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "agent/cli/stage_config.h"
#include "common/cleanup.h"
#include "common/log.h"

/* The kubelet's files and its socket are for root only. */
static int add_remedy(int r, struct err *err)
{
	struct err why;

	if ((r != -EACCES && r != -EPERM) || geteuid() == 0 || !err)
		return r;
	why = *err;
	return err_set(err, r, "%.400s; run nrtd as root, or with CAP_DAC_READ_SEARCH", why.text);
}

int check_nrt_conflicts(const struct options *options, struct err *err)
{
	const unsigned machine = 1u << COMMAND_SHOW | 1u << COMMAND_DUMP | 1u << COMMAND_FIT;

	for (const struct option_def *def = options->program->options; def->flag; def++) {
		if (def->id == OPT_NODE_NAME || def->id == OPT_VERBOSE ||
			(def->commands & machine) != machine)
			continue;
		if (options->origin[def->id])
			return err_set(err, -EINVAL, "%s and %s exclude each other", options->origin[OPT_NRT],
				options->origin[def->id]);
	}
	return 0;
}

#define ODD_NAMED 5

void observe_local_warn(const struct cluster_node *node, size_t *n)
{
	if (node->unreadable_state && ++*n <= ODD_NAMED)
		log_warning("node '%s': %s; judged by its zones", node->state.node_name, node->why.text);
}

void observe_local_warn_rest(size_t n)
{
	if (n > ODD_NAMED)
		log_warning("and %zu other nodes whose node state cannot be read", n - ODD_NAMED);
}

struct usage_sink {
	struct cluster_usage *usage;
	struct scheduling_constraints *constraints;
};

static int take_object(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	struct usage_sink *sink = data;
	int r = cluster_usage_add(sink->usage, kind, object, err);

	if (r == 0 && sink->constraints)
		scheduling_constraints_add(sink->constraints, kind, object);
	return r;
}

int observe_local_usage(const struct options *options, struct cluster_usage *u,
	struct scheduling_constraints *constraints, struct err *err)
{
	static const enum option_id files[] = {OPT_NODES, OPT_PODS};
	struct usage_sink sink = {.usage = u, .constraints = constraints};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(files) && r == 0; i++)
		if (option_set(options, files[i]))
			r = object_input_read(options->value[files[i]], 1u << OBJECT_NODE | 1u << OBJECT_POD,
				take_object, &sink, err);
	if (r == 0 && option_set(options, OPT_PODS) && u->n_nodes == 0 &&
		!option_set(options, OPT_WHAT_FREES))
		r = err_set(err, -EINVAL, "%s: what the nodes have is not known without --nodes",
			options->origin[OPT_PODS]);
	return r;
}

int observe_local(const struct options *options, struct observation *ret, struct err *err)
{
	const struct observe_config config = stage_observe(options);
	struct stage_lists lists;
	const struct derive_config model = stage_model(options, &lists);
	int r = observe(&config, ret, err);

	return r < 0 ? add_remedy(r, err) : node_derive(&model, &ret->node, &ret->notes, err);
}

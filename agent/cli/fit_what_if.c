/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cli/fit_what_if.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cli/commands.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/text.h"
#include "common/xalloc.h"

/* One K=V of --option. */
static int set_option(struct settings *s, const char *text, struct err *err)
{
	const char *equals = strchr(text, '=');
	CLEANUP(freep) char *name = equals ? xstrndup(text, (size_t)(equals - text)) : NULL;
	bool *value;
	char *end;
	unsigned long n;

	if (!equals)
		return err_set(err, -EINVAL, "'%.60s' is not K=V", text);
	if (!strcmp(name, "max-allowable-numa-nodes")) {
		errno = 0;
		n = strtoul(equals + 1, &end, 10);
		if (errno || *end || equals[1] < '0' || equals[1] > '9' || n > MACHINE_MAX_NODES)
			return err_set(err, -EINVAL, "'%.60s' is not a number of NUMA nodes", text);
		s->topology.max_numa_nodes = (unsigned)n;
		return 0;
	}
	value = !strcmp(name, "prefer-closest-numa-nodes") ? &s->topology.prefer_closest_numa_nodes
							   : cpu_manager_option(&s->cpu_options, name);
	if (!value)
		return err_set(err, -EINVAL, "unknown policy option '%.60s'", name);
	return text_parse_bool(equals + 1, value)
		       ? 0
		       : err_set(err, -EINVAL, "'%.60s' is not true or false", equals + 1);
}

/* The settings as asked for. The values of --policy and --scope were checked with the flags. */
int fit_what_if(const struct options *options, struct settings *s, struct err *err)
{
	const char *policy = options->value[OPT_POLICY], *scope = options->value[OPT_SCOPE], *text;
	size_t pos = 0;

	if (policy)
		s->topology.policy = (enum topology_manager_policy)settings_name_index(
			topology_manager_policy_names, TOPOLOGY_MANAGER_POLICY_COUNT, policy);
	if (scope)
		s->topology.scope = (enum topology_manager_scope)settings_name_index(
			topology_manager_scope_names, TOPOLOGY_SCOPE_COUNT, scope);
	while ((text = options_next(options, OPT_OPTION, &pos))) {
		int r = set_option(s, text, err);

		if (r < 0)
			return err_wrap(err, r, "%s", options->origin[OPT_OPTION]);
	}
	return 0;
}

int fit_status(const struct node_report *n)
{
	if (n->answer == KUBELET_UNKNOWN)
		log_error("no verdict: %s", n->reason);
	return n->answer == KUBELET_ADMITS    ? EXIT_SUCCESS
	       : n->answer == KUBELET_REJECTS ? EXIT_DOES_NOT_FIT
					      : EXIT_FAILURE;
}

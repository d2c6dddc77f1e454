/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cli/fit_what_if.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cli/commands.h"
#include "agent/state/settings_change.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/text.h"
#include "common/xalloc.h"

/* One K=V of --option. */
static int set_option(struct settings *s, const char *text, struct err *err)
{
	const char *equals = strchr(text, '=');
	CLEANUP(freep) char *name = equals ? xstrndup(text, (size_t)(equals - text)) : NULL;

	if (!equals)
		return err_set(err, -EINVAL, "'%.60s' is not K=V", text);
	return settings_change_option(s, name, equals + 1, err);
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

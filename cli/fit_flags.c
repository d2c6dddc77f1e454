/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/fit_flags.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cluster/model/named_pods.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/xalloc.h"
#include "scoring/node/settings_change.h"

/* ---- the settings to assume */

/* One K=V of --option. */
static int set_option(struct settings *s, const char *text, struct err *err)
{
	const char *equals = strchr(text, '=');
	CLEANUP(freep) char *name = equals ? xstrndup(text, (size_t)(equals - text)) : NULL;

	if (!equals)
		return err_set(err, -EINVAL, "'%.60s' is not K=V", text);
	return settings_change_option(s, name, equals + 1, err);
}

int fit_flags_assume(const struct options *options, struct settings *s, struct err *err)
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

/* ---- pods that are assumed to have ended */

void fit_flags_exclude(const struct options *options, struct excluded_pods *ret)
{
	const char *name;
	size_t pos = 0;

	while (ret->n < ARRAY_SIZE(ret->names) && (name = options_next(options, OPT_WITHOUT_POD, &pos)))
		ret->names[ret->n++] = name;
}

/* ---- the possible victims */

/* Excludes the pod from the victims if its priority is that of --below-priority or higher, or unknown. Counts excluded pods. */
static void exclude_by_priority(struct victim_pod *p, const struct pod_info *pod, struct victim_priority *ret)
{
	bool known = pod && pod->priority_known;

	if (known && pod->priority < ret->below)
		return;
	p->may_leave = false;
	if (known)
		ret->n_excluded++;
	else
		ret->n_unknown_priority++;
}

static const char *uid_of(const struct pod_info *pod)
{
	return pod->mirror ? pod->static_uid : pod->uid;
}

/* Sets what is known of the victim, which has just been added. `pod`: NULL = there is no Pod object. */
static void init_victim(const struct options *options, const struct pod_info *pod, struct victim_pod *p,
	struct victim_priority *priority)
{
	if (pod)
		p->requests = &pod->class->wanted;
	if (pod && (pod->mirror || pod->daemon)) /* the pod comes back to the node */
		p->may_leave = false;
	else if (option_set(options, OPT_BELOW_PRIORITY))
		exclude_by_priority(p, pod, priority);
}

/* The pods that hold something exclusively, and with `node` those that only request resources. */
static void add_victims(const struct options *options, const struct node_info *node,
	const struct node_state *state, struct victim_pods *pods, struct victim_priority *priority)
{
	size_t n_pods = 0;

	for (size_t i = 0; i < state->allocations.n_items; i++) {
		const struct allocation *item = &state->allocations.items[i];
		const struct pod_info *owner = node ? named_pods_find(node, item) : NULL;
		struct victim_pod *p =
			owner ? victim_pods_add_item(pods, i, owner->namespace, owner->name, uid_of(owner))
			      : victim_pods_add_item(pods, i, item->namespace, item->pod, item->pod_uid);

		if (pods->n_items > n_pods) /* the pod's first item */
			init_victim(options, owner, p, priority);
		n_pods = pods->n_items;
	}
	for (size_t i = 0; node && pods->by_requests && i < node->n_pods; i++) {
		const struct pod_info *pod = node->pods[i];
		struct victim_pod *p;

		if (pod->is_reservation)
			continue;
		p = victim_pods_add(pods, pod->namespace, pod->name, uid_of(pod));
		if (pods->n_items > n_pods)
			init_victim(options, pod, p, priority);
		n_pods = pods->n_items;
	}
}

void fit_flags_add_victims(const struct options *options, const struct node_info *node,
	const struct resource_list *requestable, const struct node_state *state,
	const struct pod_request *pod, struct node_report *n)
{
	CLEANUP(victim_pods_release)
	struct victim_pods pods = {.requestable = requestable, .by_requests = node && requestable};
	const char *below = options->value[OPT_BELOW_PRIORITY];

	if (!option_set(options, OPT_WHAT_FREES))
		return;
	if (below) {
		n->priority.asked = true;
		n->priority.below = (int32_t)strtol(below, NULL, 10);
	}
	add_victims(options, node, state, &pods, &n->priority);
	node_report_add_victims(state, pod, &pods, n);
}

/* ---- the answer */

int fit_flags_status(const struct node_report *n)
{
	if (n->answer == KUBELET_UNKNOWN)
		log_error("no verdict: %s", n->reason);
	if (n->answer == KUBELET_ADMITS)
		return EXIT_SUCCESS;
	return n->answer == KUBELET_REJECTS ? EXIT_DOES_NOT_FIT : EXIT_FAILURE;
}

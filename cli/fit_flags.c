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

/* The holders of the node's allocations, per item. */
struct holders {
	const struct pod_info **pods; /* NULL = unknown */
	const struct resource_list **requests;
	bool *kept;               /* the pod is no victim */
	struct allocation *named; /* the items, with the names of the pods */
	size_t n;
};

static void holders_release(struct holders *h)
{
	for (size_t i = 0; i < h->n; i++) {
		free(h->named[i].namespace);
		free(h->named[i].pod);
		free(h->named[i].pod_uid);
	}
	free(h->named);
	free(h->pods);
	free(h->requests);
	free(h->kept);
}

/* Finds the holders, and copies the items with the names of their pods. */
static void holders_find(const struct node_info *node, const struct allocations *held, struct holders *h)
{
	h->n = held->n_items;
	h->pods = xcalloc(h->n + 1, sizeof(*h->pods));
	h->requests = xcalloc(h->n + 1, sizeof(*h->requests));
	h->kept = xcalloc(h->n + 1, sizeof(*h->kept));
	h->named = xcalloc(h->n + 1, sizeof(*h->named));
	for (size_t i = 0; i < h->n; i++) {
		const struct allocation *item = &held->items[i];
		const struct pod_info *pod = node ? named_pods_find(node, item) : NULL;

		h->pods[i] = pod;
		h->requests[i] = pod ? &pod->class->wanted : NULL;
		h->named[i] = *item;
		h->named[i].namespace = xstrdup(pod ? pod->namespace : item->namespace);
		h->named[i].pod = xstrdup(pod ? pod->name : item->pod);
		h->named[i].pod_uid = xstrdup(!pod          ? item->pod_uid
					      : pod->mirror ? pod->static_uid
							    : pod->uid);
	}
}

/* Excludes pods from the victims: those with a priority of --below-priority or higher, and those with an unknown priority. */
static void keep_pods(struct holders *h, struct victim_priority *ret)
{
	for (size_t i = 0; i < h->n; i++) {
		const struct pod_info *pod = h->pods[i];
		bool known = pod && pod->priority_known;
		bool first = i == 0 || !allocation_same_pod(&h->named[i - 1], &h->named[i]);

		h->kept[i] = !known || pod->priority >= ret->below;
		ret->n_unknown_priority += first && !known;
		ret->n_excluded += first && known && h->kept[i];
	}
}

void fit_flags_add_victims(const struct options *options, const struct node_info *node,
	const struct resource_list *requestable, const struct node_state *state,
	const struct pod_request *pod, struct node_report *n)
{
	CLEANUP(holders_release) struct holders h = {0};
	const char *below = options->value[OPT_BELOW_PRIORITY];
	struct victims_known known = {.requestable = requestable};
	struct node_state named = *state; /* borrowed */

	if (!option_set(options, OPT_WHAT_FREES))
		return;
	holders_find(node, &state->allocations, &h);
	named.allocations.items = h.named;
	known.requests = h.requests;
	if (below) {
		n->priority.asked = true;
		n->priority.below = (int32_t)strtol(below, NULL, 10);
		keep_pods(&h, &n->priority);
		known.stays = h.kept;
	}
	node_report_add_victims(&named, pod, &known, n);
}

/* ---- the answer */

int fit_flags_status(const struct node_report *n)
{
	if (n->answer == KUBELET_UNKNOWN)
		log_error("no verdict: %s", n->reason);
	return n->answer == KUBELET_ADMITS    ? EXIT_SUCCESS
	       : n->answer == KUBELET_REJECTS ? EXIT_DOES_NOT_FIT
					      : EXIT_FAILURE;
}

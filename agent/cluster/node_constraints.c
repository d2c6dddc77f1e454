/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cluster/node_constraints.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/cluster/label_match.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/xalloc.h"

/* The text of a member, "" where there is none. */
static const char *text_of(const struct doc *map, const char *key)
{
	const char *text = doc_string(doc_get(map, key));

	return text ? text : "";
}

static bool is_list(const struct doc *d)
{
	return d && d->kind == DOC_LIST;
}

/* ---- taints (k8s.io/component-helpers/scheduling/corev1 Toleration.ToleratesTaint) */

struct taint {
	const char *key, *value, *effect;
};

/* The API server lets Gt and Lt pass with the feature gate TaintTolerationComparisonOperators alone. */
static bool tolerates(const struct doc *toleration, const struct taint *taint)
{
	const char *key = text_of(toleration, "key"), *effect = text_of(toleration, "effect");
	const char *op = text_of(toleration, "operator");

	if (*effect && strcmp(effect, taint->effect) != 0)
		return false;
	if (*key && strcmp(key, taint->key) != 0)
		return false;
	if (!*op || !strcmp(op, "Equal"))
		return !strcmp(text_of(toleration, "value"), taint->value);
	return !strcmp(op, "Exists") || label_compares(taint->value, op, text_of(toleration, "value"));
}

static bool is_tolerated(const struct doc *pod, const struct taint *taint)
{
	const struct doc *tolerations = doc_get(doc_get(pod, "spec"), "tolerations");

	if (is_list(tolerations))
		DOC_FOREACH (toleration, tolerations)
			if (tolerates(toleration, taint))
				return true;
	return false;
}

/* The kubelet of a pod that is bound to its node looks at NoExecute alone. */
static bool keeps_away(const struct taint *taint, bool bound)
{
	return !strcmp(taint->effect, "NoExecute") || (!bound && !strcmp(taint->effect, "NoSchedule"));
}

/* The first taint that the pod does not tolerate. */
static bool find_untolerated(
	const struct doc *pod, const struct doc *node, bool bound, struct taint *ret_taint)
{
	const struct doc *taints = doc_get(doc_get(node, "spec"), "taints");

	if (!is_list(taints))
		return false;
	DOC_FOREACH (item, taints) {
		const struct taint taint = {.key = text_of(item, "key"),
			.value = text_of(item, "value"),
			.effect = text_of(item, "effect")};

		if (!keeps_away(&taint, bound) || is_tolerated(pod, &taint))
			continue;
		*ret_taint = taint;
		return true;
	}
	return false;
}

static void find_taint(const struct doc *pod, const struct doc *node, bool bound, char **ret)
{
	struct taint taint;

	if (!find_untolerated(pod, node, bound, &taint))
		return;
	*ret = xasprintf("taint %s%s%s:%s is not tolerated", taint.key, *taint.value ? "=" : "", taint.value,
		taint.effect);
}

bool node_constraints_tolerate(const struct doc *pod, const struct doc *node)
{
	struct taint taint;

	return !find_untolerated(pod, node, false, &taint);
}

static bool is_cordoned(const struct doc *pod, const struct doc *node)
{
	static const struct taint cordon = {"node.kubernetes.io/unschedulable", "", "NoSchedule"};
	const struct doc *unschedulable = doc_get(doc_get(node, "spec"), "unschedulable");

	return unschedulable && unschedulable->kind == DOC_BOOL && !strcmp(unschedulable->text, "true") &&
	       !is_tolerated(pod, &cordon);
}

/* The node controller gives such a node a taint, a moment later. */
static bool is_not_ready(const struct doc *pod, const struct doc *node)
{
	static const struct taint not_ready = {"node.kubernetes.io/not-ready", "", "NoSchedule"};
	static const struct taint unreachable = {"node.kubernetes.io/unreachable", "", "NoSchedule"};
	const struct doc *conditions = doc_get(doc_get(node, "status"), "conditions");

	if (is_list(conditions))
		DOC_FOREACH (condition, conditions)
			if (!strcmp(text_of(condition, "type"), "Ready")) {
				const char *status = text_of(condition, "status");

				return strcmp(status, "True") != 0 &&
				       !is_tolerated(
					       pod, strcmp(status, "Unknown") ? &not_ready : &unreachable);
			}
	return false;
}

/* ---- labels */

/* The label that the pod wants and the node does not have, NULL = none. */
static const struct doc *find_missing_label(const struct doc *pod, const struct doc *node)
{
	const struct doc *selector = doc_get(doc_get(pod, "spec"), "nodeSelector");
	const struct doc *labels = doc_get(doc_get(node, "metadata"), "labels");

	if (!selector || selector->kind != DOC_MAP)
		return NULL;
	DOC_FOREACH (want, selector) {
		const char *value = doc_string(want), *have = doc_string(doc_get(labels, want->key));

		if (!value || !have || strcmp(have, value) != 0)
			return want;
	}
	return NULL;
}

/* Any term of the required node affinity. */
static bool affinity_matches(const struct doc *pod, const struct doc *node)
{
	const struct doc *required =
		doc_get(doc_get(doc_get(doc_get(pod, "spec"), "affinity"), "nodeAffinity"),
			"requiredDuringSchedulingIgnoredDuringExecution");
	const struct doc *terms = doc_get(required, "nodeSelectorTerms");

	if (!required || required->kind == DOC_NULL)
		return true;
	if (is_list(terms))
		DOC_FOREACH (term, terms)
			if (label_node_term_matches(term, node))
				return true;
	return false;
}

bool node_constraints_select(const struct doc *pod, const struct doc *node)
{
	return !find_missing_label(pod, node) && affinity_matches(pod, node);
}

static void find_selector(const struct doc *pod, const struct doc *node, char **ret)
{
	const struct doc *missing = find_missing_label(pod, node);

	if (missing) {
		*ret = xasprintf(
			"nodeSelector %s=%s does not match", missing->key, text_or_empty(missing->text));
		return;
	}
	if (!affinity_matches(pod, node))
		text_set(ret, "node affinity does not match");
}

void node_constraints_violated(const struct doc *pod, const struct doc *node, bool bound, char **ret)
{
	CLEANUP(freep) char *bar = NULL;

	if (!bound && is_cordoned(pod, node))
		text_set(&bar, "cordoned");
	if (!bar)
		find_taint(pod, node, bound, &bar);
	if (!bar && !bound && is_not_ready(pod, node))
		text_set(&bar, "not ready");
	if (!bar)
		find_selector(pod, node, &bar);
	if (!bar)
		text_set(&bar, "");
	*ret = TAKE(bar);
}

/* ---- what else there is */

bool pod_has_volumes(const struct doc *pod)
{
	static const char *const kinds[] = {"persistentVolumeClaim", "ephemeral", "csi", "iscsi", "rbd",
		"awsElasticBlockStore", "azureDisk", "gcePersistentDisk"};
	const struct doc *volumes = doc_get(doc_get(pod, "spec"), "volumes");

	if (is_list(volumes))
		DOC_FOREACH (volume, volumes)
			for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
				if (doc_get(volume, kinds[i]))
					return true;
	return false;
}

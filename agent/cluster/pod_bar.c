/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cluster/pod_bar.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text.h"

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

static bool tolerates(const struct doc *toleration, const struct taint *taint)
{
	const char *key = text_of(toleration, "key"), *effect = text_of(toleration, "effect");
	const char *operator= text_of(toleration, "operator");

	if (*effect && strcmp(effect, taint->effect) != 0)
		return false;
	if (*key && strcmp(key, taint->key) != 0)
		return false;
	if (!*operator|| !strcmp(operator, "Equal"))
		return !strcmp(text_of(toleration, "value"), taint->value);
	return true;
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

static bool keeps_away(const struct taint *taint)
{
	return !strcmp(taint->effect, "NoSchedule") || !strcmp(taint->effect, "NoExecute");
}

static int find_taint(const struct doc *pod, const struct doc *node, char **ret)
{
	const struct doc *taints = doc_get(doc_get(node, "spec"), "taints");

	if (!is_list(taints))
		return 0;
	DOC_FOREACH (item, taints) {
		const struct taint taint = {.key = text_of(item, "key"),
			.value = text_of(item, "value"),
			.effect = text_of(item, "effect")};

		if (!keeps_away(&taint) || is_tolerated(pod, &taint))
			continue;
		return asprintf(ret, "taint %s%s%s:%s is not tolerated", taint.key, *taint.value ? "=" : "",
			       taint.value, taint.effect) < 0
			       ? -ENOMEM
			       : 1;
	}
	return 0;
}

static bool is_cordoned(const struct doc *pod, const struct doc *node)
{
	static const struct taint cordon = {"node.kubernetes.io/unschedulable", "", "NoSchedule"};
	const struct doc *unschedulable = doc_get(doc_get(node, "spec"), "unschedulable");

	return unschedulable && unschedulable->kind == DOC_BOOL && !strcmp(unschedulable->text, "true") &&
	       !is_tolerated(pod, &cordon);
}

/* ---- labels */

static int find_selector(const struct doc *pod, const struct doc *node, char **ret)
{
	const struct doc *selector = doc_get(doc_get(pod, "spec"), "nodeSelector");
	const struct doc *labels = doc_get(doc_get(node, "metadata"), "labels");

	if (!selector || selector->kind != DOC_MAP)
		return 0;
	DOC_FOREACH (want, selector) {
		const char *value = doc_string(want), *have = doc_string(doc_get(labels, want->key));

		if (!value || (have && !strcmp(have, value)))
			continue;
		return asprintf(ret, "nodeSelector %s=%s does not match", want->key, value) < 0 ? -ENOMEM : 1;
	}
	return 0;
}

int pod_bar_find(const struct doc *pod, const struct doc *node, char **ret)
{
	CLEANUP(freep) char *bar = NULL;
	int r;

	if (is_cordoned(pod, node))
		r = text_set(&bar, "cordoned");
	else
		r = find_taint(pod, node, &bar);
	if (r == 0 && !bar)
		r = find_selector(pod, node, &bar);
	if (r == 0 && !bar)
		r = text_set(&bar, "");
	if (r < 0)
		return r;
	*ret = TAKE(bar);
	return 0;
}

/* ---- what else there is */

static bool has_items(const struct doc *map, const char *key)
{
	const struct doc *member = doc_get(map, key);

	return member && (member->kind == DOC_LIST || member->kind == DOC_MAP) && member->n_items > 0;
}

static bool requires(const struct doc *affinity, const char *kind)
{
	return has_items(doc_get(affinity, kind), "requiredDuringSchedulingIgnoredDuringExecution");
}

/* Volumes that some nodes can mount and others cannot. */
static bool has_bound_volumes(const struct doc *spec)
{
	static const char *const kinds[] = {"persistentVolumeClaim", "ephemeral", "csi", "iscsi", "rbd",
		"awsElasticBlockStore", "azureDisk", "gcePersistentDisk"};
	const struct doc *volumes = doc_get(spec, "volumes");

	if (is_list(volumes))
		DOC_FOREACH (volume, volumes)
			for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
				if (doc_get(volume, kinds[i]))
					return true;
	return false;
}

static bool has_host_ports(const struct doc *spec)
{
	const struct doc *containers = doc_get(spec, "containers");

	if (is_list(containers))
		DOC_FOREACH (container, containers) {
			const struct doc *ports = doc_get(container, "ports");

			if (is_list(ports))
				DOC_FOREACH (port, ports)
					if (doc_get(port, "hostPort"))
						return true;
		}
	return false;
}

int pod_bar_others(const struct doc *pod, struct strv *ret)
{
	const struct doc *spec = doc_get(pod, "spec"), *affinity = doc_get(spec, "affinity");
	const struct {
		bool there;
		const char *name;
	} others[] = {
		{requires(affinity, "nodeAffinity"), "node affinity"},
		{requires(affinity, "podAffinity") || requires(affinity, "podAntiAffinity"), "pod affinity"},
		{has_items(spec, "topologySpreadConstraints"), "topology spread"},
		{has_bound_volumes(spec), "volumes"},
		{has_host_ports(spec), "host ports"},
		{has_items(spec, "resourceClaims"), "resource claims"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (others[i].there && strv_push(ret, others[i].name) < 0)
			return -ENOMEM;
	return 0;
}

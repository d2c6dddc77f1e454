/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/objects/manifest_fields.h"

#include <string.h>

#include "common/cleanup.h"
#include "common/guess.h"
#include "common/xalloc.h"

/* The JSON names of k8s.io/api v0.38.0-beta.0. tests/upstream/internal/manifests compares them with the pinned release. */
static const char *const pod_spec_fields[] = {"activeDeadlineSeconds", "affinity",
	"automountServiceAccountToken", "containers", "dnsConfig", "dnsPolicy", "enableServiceLinks",
	"ephemeralContainers", "evictionResponders", "hostAliases", "hostIPC", "hostNetwork", "hostPID",
	"hostUsers", "hostname", "hostnameOverride", "imagePullSecrets", "initContainers", "nodeName",
	"nodeSelector", "os", "overhead", "preemptionPolicy", "priority", "priorityClassName",
	"readinessGates", "resourceClaims", "resources", "restartPolicy", "runtimeClassName", "schedulerName",
	"schedulingGates", "schedulingGroup", "securityContext", "serviceAccount", "serviceAccountName",
	"setHostnameAsFQDN", "shareProcessNamespace", "subdomain", "terminationGracePeriodSeconds",
	"tolerations", "topologySpreadConstraints", "volumes", "workloadRef", NULL};
static const char *const container_fields[] = {"args", "command", "env", "envFrom", "image",
	"imagePullPolicy", "lifecycle", "livenessProbe", "name", "ports", "readinessProbe", "resizePolicy",
	"resources", "restartPolicy", "restartPolicyRules", "securityContext", "startupProbe", "stdin",
	"stdinOnce", "terminationMessagePath", "terminationMessagePolicy", "tty", "volumeDevices",
	"volumeMounts", "workingDir", NULL};
static const char *const resources_fields[] = {"claims", "limits", "requests", NULL};
static const char *const object_fields[] = {"apiVersion", "kind", "metadata", "spec", "status", NULL};
static const char *const deployment_fields[] = {"minReadySeconds", "paused", "progressDeadlineSeconds",
	"replicas", "revisionHistoryLimit", "selector", "strategy", "template", NULL};
static const char *const stateful_set_fields[] = {"minReadySeconds", "ordinals",
	"persistentVolumeClaimRetentionPolicy", "podManagementPolicy", "replicas", "revisionHistoryLimit",
	"selector", "serviceName", "template", "updateStrategy", "volumeClaimTemplates", NULL};
static const char *const daemon_set_fields[] = {
	"minReadySeconds", "revisionHistoryLimit", "selector", "template", "updateStrategy", NULL};
static const char *const replica_set_fields[] = {"minReadySeconds", "replicas", "selector", "template", NULL};
static const char *const job_fields[] = {"activeDeadlineSeconds", "backoffLimit", "backoffLimitPerIndex",
	"completionMode", "completions", "failedPodsLimit", "managedBy", "manualSelector", "maxFailedIndexes",
	"parallelism", "podFailurePolicy", "podReplacementPolicy", "scheduling", "selector", "successPolicy",
	"suspend", "template", "ttlSecondsAfterFinished", NULL};
static const char *const cron_job_fields[] = {"concurrencyPolicy", "failedJobsHistoryLimit", "jobTemplate",
	"schedule", "startingDeadlineSeconds", "successfulJobsHistoryLimit", "suspend", "timeZone", NULL};

static const struct kind_fields {
	const char *api, *kind;
	const char *const *fields; /* of `spec` */
} kinds[] = {{"apps/v1", "Deployment", deployment_fields}, {"apps/v1", "StatefulSet", stateful_set_fields},
	{"apps/v1", "DaemonSet", daemon_set_fields}, {"apps/v1", "ReplicaSet", replica_set_fields},
	{"batch/v1", "Job", job_fields}, {"batch/v1", "CronJob", cron_job_fields}};

static bool is_field(const char *const *fields, const char *key)
{
	while (*fields && strcmp(*fields, key) != 0)
		fields++;
	return *fields;
}

/* Appends the members of the map that are not among `fields`. `resources` are the fields of the map's field "resources", to which such a member may
 * belong; NULL = no such field. */
static void add_unknown(const struct doc *map, const char *path, const char *const *fields,
	const char *const *resources, struct strv *ret)
{
	if (!map || map->kind != DOC_MAP)
		return;
	DOC_FOREACH (member, map) {
		struct guess guess = {0}, inner = {0};
		const char *key = member->key;

		if (is_field(fields, key))
			continue;
		for (const char *const *f = fields; *f; f++)
			guess_name(key, strlen(key), *f, &guess);
		for (const char *const *f = resources; f && *f; f++)
			guess_name(key, strlen(key), *f, &inner);
		if (inner.name && (!guess.name || inner.distance < guess.distance))
			strv_take(
				ret, xasprintf("%s%.60s; did you mean resources.%s?", path, key, inner.name));
		else if (guess.name)
			strv_take(ret, xasprintf("%s%.60s; did you mean %s?", path, key, guess.name));
		else
			strv_take(ret, xasprintf("%s%.60s", path, key));
	}
}

static void add_unknown_of_containers(const struct doc *spec, const char *key, struct strv *ret)
{
	const struct doc *list = doc_get(spec, key);
	size_t i = 0;

	DOC_FOREACH_ITEM (container, list) {
		CLEANUP(freep) char *path = xasprintf("spec.%s[%zu].", key, i++);
		CLEANUP(freep) char *resources = xasprintf("%sresources.", path);

		add_unknown(container, path, container_fields, resources_fields, ret);
		add_unknown(doc_get(container, "resources"), resources, resources_fields, NULL, ret);
	}
}

void manifest_pod_unknown_fields(const struct doc *owner, struct strv *ret)
{
	const struct doc *spec = doc_get(owner, "spec");

	add_unknown(owner, "", object_fields, NULL, ret);
	add_unknown(spec, "spec.", pod_spec_fields, NULL, ret);
	add_unknown(doc_get(spec, "resources"), "spec.resources.", resources_fields, NULL, ret);
	add_unknown_of_containers(spec, "initContainers", ret);
	add_unknown_of_containers(spec, "containers", ret);
}

void manifest_unknown_fields(const struct doc *object, struct strv *ret)
{
	const char *api = doc_text(object, "apiVersion"), *kind = doc_text(object, "kind");

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(kinds[i].kind, kind) != 0 || strcmp(kinds[i].api, api) != 0)
			continue;
		add_unknown(object, "", object_fields, NULL, ret);
		add_unknown(doc_get(object, "spec"), "spec.", kinds[i].fields, NULL, ret);
	}
}

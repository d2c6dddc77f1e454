/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads which pods an object asks for: pods, and workloads of Kubernetes and of others. Shapes of the others were read in the modules
 * volcano.sh/apis v1.11.0, sigs.k8s.io/lws v0.9.0, sigs.k8s.io/jobset v0.12.0, ray-operator v1.3.0 and kubeflow/training-operator v1.8.1.
 */
#include <errno.h>
#include <string.h>

#include "cluster/objects/pod_parse.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/xalloc.h"

#define KINDS_READ \
	"Pods, workloads of Kubernetes, Jobs of Volcano, LeaderWorkerSets, JobSets, RayClusters, RayJobs, RayServices, jobs of Kubeflow, and kinds with spec.template"

#define NEW_REVISION "nrtd-new-revision" /* a label's value that no revision has */

/* ---- numbers of pods */

/*
 * A whole number, `fallback` if there is none. If the member is something else, this sets `problem` and the reader continues:
 * pod_templates_from_doc() fails if `problem` is set at the end, whatever the add_*() functions return.
 */
static uint64_t read_number(const struct doc *spec, const char *key, uint64_t fallback, struct err *problem)
{
	const struct doc *member = doc_get(spec, key);
	uint64_t n;

	if (!member || member->kind == DOC_NULL)
		return fallback;
	if (doc_uint64(member, &n) == 0)
		return n;
	if (member->kind == DOC_STRING || member->kind == DOC_NUMBER)
		err_set(problem, 0, "%s: '%.60s' is not a whole number of 0 or more", key, member->text);
	else
		err_set(problem, 0, "%s: a number is expected, not %s", key, doc_kind_name(member));
	return fallback;
}

/* A Job never runs more pods than it has completions. */
static uint64_t read_parallelism(const struct doc *spec, struct err *problem)
{
	uint64_t n = read_number(spec, "parallelism", 1, problem),
		 completions = read_number(spec, "completions", UINT64_MAX, problem);

	return completions < n ? completions : n;
}

/* UINT64_MAX if the product is larger. */
static uint64_t multiply_capped(uint64_t a, uint64_t b)
{
	return a > 0 && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

/* ---- workloads with several templates */

/* Adds one template. `where`: its path in the object, for errors. */
static int add_template(const struct doc *template, const char *name, uint64_t replicas, const char *where,
	struct pod_templates *ret, struct err *problem)
{
	int r = template ? pod_templates_add(ret, template, name, replicas, NULL, problem)
			 : err_set(problem, -EINVAL, "no template in it");

	return r < 0 ? err_wrap(problem, r, "%s", where) : 0;
}

static int add_volcano_tasks(
	const struct doc *spec, const char *name, struct pod_templates *ret, struct err *problem)
{
	const struct doc *tasks = doc_get(spec, "tasks");
	size_t i = 0;

	if (!tasks || tasks->kind != DOC_LIST || tasks->n_items == 0)
		return err_set(problem, -EINVAL, "spec.tasks: no tasks in it");
	DOC_FOREACH (task, tasks) {
		const struct doc *template = doc_get(task, "template");
		const char *task_name = doc_string(doc_get(task, "name"));
		int r;

		if (!template)
			return err_set(problem, -EINVAL, "spec.tasks[%zu]: no template in it", i);
		r = pod_templates_add(ret, template, task_name ? task_name : name,
			read_number(task, "replicas", 1, problem), task, problem);
		if (r < 0)
			return err_wrap(problem, r, "spec.tasks[%zu].template", i);
		i++;
	}
	return 0;
}

/* Groups of `size` pods. The first pod of each is the leader, which may have a template of its own. */
static int add_leader_workers(
	const struct doc *spec, const char *name, struct pod_templates *ret, struct err *problem)
{
	const struct doc *group = doc_get(spec, "leaderWorkerTemplate"),
			 *leader = doc_get(group, "leaderTemplate");
	uint64_t replicas = read_number(spec, "replicas", 1, problem),
		 size = read_number(group, "size", 1, problem);
	CLEANUP(freep) char *leader_name = xasprintf("%s-leader", name), *worker_name = NULL;
	int r = 0;

	if (leader)
		r = add_template(leader, leader_name, replicas, "spec.leaderWorkerTemplate.leaderTemplate",
			ret, problem);
	if (r < 0 || (leader && size <= 1))
		return r;
	worker_name = leader ? xasprintf("%s-worker", name) : xstrdup(name);
	return add_template(doc_get(group, "workerTemplate"), worker_name,
		multiply_capped(replicas, leader ? size - 1 : size),
		"spec.leaderWorkerTemplate.workerTemplate", ret, problem);
}

static int add_job_set(
	const struct doc *spec, const char *name, struct pod_templates *ret, struct err *problem)
{
	const struct doc *jobs = doc_get(spec, "replicatedJobs");
	size_t i = 0;

	DOC_FOREACH_ITEM (job, jobs) {
		const struct doc *job_spec = doc_get(doc_get(job, "template"), "spec");
		const char *job_name = doc_string(doc_get(job, "name"));
		uint64_t n = multiply_capped(
			read_number(job, "replicas", 1, problem), read_parallelism(job_spec, problem));
		CLEANUP(freep)
		char *where = xasprintf("spec.replicatedJobs[%zu].template.spec.template", i++);
		int r = add_template(
			doc_get(job_spec, "template"), job_name ? job_name : name, n, where, ret, problem);

		if (r < 0)
			return r;
	}
	return i > 0 ? 0 : err_set(problem, -EINVAL, "spec.replicatedJobs: no jobs in it");
}

static int add_ray_cluster(
	const struct doc *cluster, const char *path, struct pod_templates *ret, struct err *problem)
{
	const struct doc *groups = doc_get(cluster, "workerGroupSpecs");
	CLEANUP(freep) char *head = xasprintf("%s.headGroupSpec.template", path);
	int r = add_template(
		doc_get(doc_get(cluster, "headGroupSpec"), "template"), "head", 1, head, ret, problem);
	size_t i = 0;

	DOC_FOREACH_ITEM (group, groups) {
		CLEANUP(freep) char *where = xasprintf("%s.workerGroupSpecs[%zu].template", path, i++);
		const char *name = doc_string(doc_get(group, "groupName"));

		if (r == 0)
			r = add_template(doc_get(group, "template"), name ? name : "worker",
				multiply_capped(read_number(group, "replicas", 0, problem),
					read_number(group, "numOfHosts", 1, problem)),
				where, ret, problem);
	}
	return r;
}

/* "pytorchReplicaSpecs" and the like: a map by the type of the replicas. */
static int add_kubeflow_job(const struct doc *spec, struct pod_templates *ret, struct err *problem)
{
	static const char suffix[] = "ReplicaSpecs";
	const struct doc *specs = NULL;

	if (spec && spec->kind == DOC_MAP)
		DOC_FOREACH (member, spec)
			if (text_ends_with(member->key, suffix) && member->kind == DOC_MAP)
				specs = member;
	if (!specs)
		return err_set(problem, -EINVAL, "spec: no replica specs in it");
	DOC_FOREACH (replica, specs) {
		CLEANUP(freep) char *where = xasprintf("spec.%s.%s.template", specs->key, replica->key);
		int r = add_template(doc_get(replica, "template"), replica->key,
			read_number(replica, "replicas", 1, problem), where, ret, problem);

		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- what controllers add */

/* The labels that a controller of Kubernetes adds to its pods: with a value of their own for each revision, or each Job. */
static const struct controller_labels {
	const char *kind, *keys[4];
} controller_labels[] = {
	{"Deployment", {"pod-template-hash"}},
	{"StatefulSet", {"controller-revision-hash"}},
	{"DaemonSet", {"controller-revision-hash"}},
	{"Job", {"batch.kubernetes.io/controller-uid", "controller-uid", "batch.kubernetes.io/job-name",
			"job-name"}},
};

static void add_labels(struct doc *template, const struct controller_labels *l)
{
	struct doc *labels = doc_find_or_add_map(doc_find_or_add_map(template, "metadata"), "labels");

	for (size_t k = 0; k < ARRAY_SIZE(l->keys) && l->keys[k]; k++)
		if (!doc_get(labels, l->keys[k]))
			doc_add_string(labels, l->keys[k], NEW_REVISION);
}

/* pkg/controller/daemon/util AddOrUpdateDaemonPodTolerations() */
static void add_daemon_tolerations(struct doc *template)
{
	static const struct {
		const char *taint, *effect;
	} added[] = {{"not-ready", "NoExecute"}, {"unreachable", "NoExecute"},
		{"disk-pressure", "NoSchedule"}, {"memory-pressure", "NoSchedule"},
		{"pid-pressure", "NoSchedule"}, {"unschedulable", "NoSchedule"},
		{"network-unavailable", "NoSchedule"} /* only in the host's network */};
	struct doc *spec = doc_find_or_add_map(template, "spec");
	size_t n = doc_is_true(doc_get(spec, "hostNetwork")) ? ARRAY_SIZE(added) : ARRAY_SIZE(added) - 1;
	struct doc *tolerations = doc_find_or_add_list(spec, "tolerations");

	for (size_t i = 0; i < n; i++) {
		struct doc *toleration = doc_add_map(tolerations, NULL);
		CLEANUP(freep) char *key = xasprintf("node.kubernetes.io/%s", added[i].taint);

		doc_add_string(toleration, "key", key);
		doc_add_string(toleration, "operator", "Exists");
		doc_add_string(toleration, "effect", added[i].effect);
	}
}

void workload_add_by_controller(struct doc *object)
{
	const char *kind = doc_text(object, "kind");
	struct doc *template;

	if (!doc_get(doc_get(object, "spec"), "template"))
		return;
	template = doc_find_or_add_map(doc_find_or_add_map(object, "spec"), "template");
	for (size_t i = 0; i < ARRAY_SIZE(controller_labels); i++)
		if (!strcmp(kind, controller_labels[i].kind))
			add_labels(template, &controller_labels[i]);
	if (!strcmp(kind, "DaemonSet"))
		add_daemon_tolerations(template);
}

/* ---- the object */

static bool is_of(const char *api, const char *group)
{
	return !strncmp(api, group, strlen(group));
}

/* The pods of a kind that is not Kubernetes' own. -ENOENT: no kind that nrtd reads. */
static int read_other(const struct doc *object, const char *api, const char *kind, const char *name,
	struct pod_templates *ret, struct err *problem)
{
	const struct doc *spec = doc_get(object, "spec");

	if (is_of(api, "batch.volcano.sh/") && !strcmp(kind, "Job"))
		return add_volcano_tasks(spec, name, ret, problem);
	if (is_of(api, "leaderworkerset.x-k8s.io/") && !strcmp(kind, "LeaderWorkerSet"))
		return add_leader_workers(spec, name, ret, problem);
	if (is_of(api, "jobset.x-k8s.io/") && !strcmp(kind, "JobSet"))
		return add_job_set(spec, name, ret, problem);
	if (is_of(api, "ray.io/") && !strcmp(kind, "RayCluster"))
		return add_ray_cluster(spec, "spec", ret, problem);
	if (is_of(api, "ray.io/") && !strcmp(kind, "RayJob"))
		return add_ray_cluster(doc_get(spec, "rayClusterSpec"), "spec.rayClusterSpec", ret, problem);
	if (is_of(api, "ray.io/") && !strcmp(kind, "RayService"))
		return add_ray_cluster(
			doc_get(spec, "rayClusterConfig"), "spec.rayClusterConfig", ret, problem);
	if (is_of(api, "kubeflow.org/v1") && text_ends_with(kind, "Job"))
		return add_kubeflow_job(spec, ret, problem);
	if (is_of(api, "kubevirt.io/"))
		return err_set(problem, -ENOENT,
			"%s '%s': KubeVirt makes its pod: judge the virt-launcher pod of a machine that runs",
			kind, name);
	return err_set(problem, -ENOENT, "%s '%s' is not one of the kinds whose pods are read: " KINDS_READ,
		kind, name);
}

/* The apiVersion of Kubernetes' own kind; NULL = another kind. */
static const char *own_api_version(const char *kind)
{
	static const struct {
		const char *kind, *api;
	} own[] = {{"Pod", "v1"}, {"PodTemplate", "v1"}, {"ReplicationController", "v1"},
		{"Deployment", "apps/v1"}, {"ReplicaSet", "apps/v1"}, {"StatefulSet", "apps/v1"},
		{"DaemonSet", "apps/v1"}, {"Job", "batch/v1"}, {"CronJob", "batch/v1"}};

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (!strcmp(kind, own[i].kind))
			return own[i].api;
	return NULL;
}

/* Items of lists have no apiVersion. Groups of others, which may have the same kinds, have a dot. */
static int check_api_version(const char *kind, const char *api, const char *name, struct err *problem)
{
	const char *own = own_api_version(kind);

	if (!own || !*api || strchr(api, '.') || !strcmp(api, own))
		return 0;
	return err_set(problem, -EINVAL, "%s '%s': apiVersion is '%.60s', not %s", kind, name, api, own);
}

static int read_object(const struct doc *object, struct pod_templates *ret, struct err *problem)
{
	const char *kind = doc_string(doc_get(object, "kind")), *api = doc_text(object, "apiVersion");
	const char *name = text_or_empty(doc_object_name(object));
	const struct doc *spec = doc_get(object, "spec"), *template = doc_get(spec, "template");
	const char *path = "spec.template";

	if (object->kind != DOC_MAP || !kind)
		return err_set(problem, -EINVAL, "not a Kubernetes object: it has no kind");
	if (check_api_version(kind, api, name, problem) < 0)
		return -EINVAL;
	if (!strcmp(kind, "Pod"))
		return pod_templates_add(ret, object, name, 1, NULL, problem);
	if (!strcmp(kind, "CronJob")) {
		spec = doc_get(doc_get(spec, "jobTemplate"), "spec");
		template = doc_get(spec, "template");
		path = "spec.jobTemplate.spec.template";
	} else if (!strcmp(kind, "PodTemplate")) {
		template = doc_get(object, "template");
		path = "template";
	}
	if (!template && (is_of(api, "apps/") || is_of(api, "batch/v1") || !strcmp(kind, "PodTemplate")))
		return err_set(problem, -EINVAL, "%s '%s': no %s in it", kind, name, path);
	if (!template)
		return read_other(object, api, kind, name, ret, problem);
	return add_template(template, name,
		!strcmp(kind, "Job") || !strcmp(kind, "CronJob") ? read_parallelism(spec, problem)
								 : read_number(spec, "replicas", 1, problem),
		path, ret, problem);
}

static bool is_counted(const char *kind)
{
	return strcmp(kind, "Pod") != 0 && strcmp(kind, "DaemonSet") != 0 && strcmp(kind, "PodTemplate") != 0;
}

int pod_templates_from_doc(const struct doc *object, struct pod_templates *ret, struct err *err)
{
	CLEANUP(pod_templates_release) struct pod_templates t = {0};
	const char *kind = doc_text(object, "kind");
	const char *namespace = doc_string(doc_get(doc_get(object, "metadata"), "namespace"));
	bool claims_volumes = doc_get(doc_get(object, "spec"), "volumeClaimTemplates");
	struct err problem = {""};
	int r = read_object(object, &t, &problem);

	if (r < 0 || problem.text[0])
		return err_set(err, r < 0 ? r : -EINVAL, "%s", problem.text);
	for (size_t i = 0; i < t.n_items; i++) {
		t.items[i].is_counted = is_counted(kind);
		t.items[i].is_native = own_api_version(kind) && !strchr(doc_text(object, "apiVersion"), '.');
		t.items[i].one_per_node = !strcmp(kind, "DaemonSet");
		t.items[i].claims_volumes = claims_volumes;
		t.items[i].namespace = namespace;
	}
	*ret = t;
	t = (struct pod_templates){0};
	return 0;
}

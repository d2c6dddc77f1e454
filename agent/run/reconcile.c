/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/run/reconcile.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <unistd.h>

#include "agent/observe/discover.h"
#include "agent/observe/dra_claims.h"
#include "agent/observe/fs_root.h"
#include "agent/observe/pod_evidence.h"
#include "agent/observe/pod_memory.h"
#include "agent/observe/settings_find.h"
#include "agent/observe/state_file.h"
#include "agent/render/dump_doc.h"
#include "agent/render/render.h"
#include "agent/run/resident.h"
#include "common/cleanup.h"
#include "common/hash.h"
#include "common/io/json.h"
#include "common/io/time.h"
#include "common/kube/backoff.h"
#include "common/log.h"
#include "common/xalloc.h"
#include "scoring/kubelet_version.h"
#include "scoring/node/node_state_codec.h"

/* How long a run waits for the pod-resources API: from the first sign of the change, but at least for a moment if the run
 * itself is late. */
#define API_WAIT_MS     500u
#define API_WAIT_MIN_MS 100u

static const char *const source_names[] = {[RECONCILE_SETTINGS] = "kubelet-settings",
	[RECONCILE_STATE_FILES] = "state-files",
	[RECONCILE_POD_RESOURCES] = "pod-resources"};
enum { SOURCE_ABSENT, SOURCE_OK, SOURCE_KEPT };
static const char *const state_names[] = {
	[SOURCE_ABSENT] = "absent", [SOURCE_OK] = "ok", [SOURCE_KEPT] = "kept"};
static const char *const cause_names[] = {"start", "files", "timer", "reload", "hardware"};

const struct metrics_labels reconcile_labels = {
	.targets = {publish_object_names, PUBLISH_EVENT}, /* METRIC_EVENTS counts Events */
	.results = {publish_outcome_names, PUBLISH_OUTCOME_COUNT},
	.sources = {source_names, ARRAY_SIZE(source_names)},
	.states = {state_names, ARRAY_SIZE(state_names)},
	.causes = {cause_names, ARRAY_SIZE(cause_names)},
};

void reconciler_release(struct reconciler *r)
{
	sources_release(&r->sources);
	doc_release(&r->annotations);
	doc_release(&r->labels);
	distances_kept_release(&r->distances);
	changes_release(&r->changes);
	strv_release(&r->remote);
}

void reconcile_result_release(struct reconcile_result *r)
{
	strv_release(&r->files);
	*r = (struct reconcile_result){0};
}

/* ---- observe */

/* Discovers the machine again only if a cheap signature of the hardware has changed. */
static int check_hardware(struct reconciler *r, struct err *err)
{
	uint64_t signature = 0;
	int e = hardware_signature(r->config->observe.sysroot, &signature, err);

	if (e < 0)
		return e;
	if (r->sources.machine_known && signature != r->signature)
		log_info(
			"the hardware changed: CPUs, memory, hugepages or PCI devices were added or removed");
	if (signature != r->signature)
		sources_forget_machine(&r->sources);
	r->signature = signature;
	return 0;
}

/* Logs the notes of a run unless they equal those of the last run. */
static void log_new_notes(struct reconciler *r, const struct notes *notes)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < notes->lines.n_items; i++)
		hash = hash_bytes(notes->lines.items[i], strlen(notes->lines.items[i]), hash);
	if (hash == r->logged_notes)
		return;
	r->logged_notes = hash;
	log_notes(notes);
}

/* Resolves links relative to `root`, because inotify would follow them out of `root`. */
static int add_watched_file(struct reconcile_result *ret, const char *root, const char *path)
{
	CLEANUP(strbuf_release) struct strbuf full = STRBUF_INIT(PATH_MAX);
	const char *name = strrchr(path, '/');
	CLEANUP(freep) char *folder = xstrndup(path, name ? (size_t)(name - path) : 0);
	CLEANUP(freep) char *directory = NULL; /* watch_set() requires absolute paths */
	int r = fs_resolve(root, folder, &full);

	strbuf_addstr(&full, name ? name : path);
	if (r < 0 || strbuf_error(&full) < 0)
		return r < 0 ? r : strbuf_error(&full);
	if (*full.text != '/') {
		directory = getcwd(NULL, 0);
		if (!directory)
			return -errno;
	}
	strv_take(&ret->files, directory ? xasprintf("%s/%s", directory, full.text) : xstrdup(full.text));
	return 0;
}

static int add_cdi_dir(const struct observe_config *config, struct reconcile_result *ret)
{
	char path[PATH_MAX];

	if (!config->cdi_dir)
		return 0;
	snprintf(path, sizeof(path), "%.4000s/", config->cdi_dir);
	return add_watched_file(ret, config->sysroot, path);
}

/* The kubelet's state files, its socket, the claims, and the files of its settings. While the kubelet's root leads through
 * a process that has ended (root_ended), no file below the root can be watched. */
static int list_files(
	const struct observe_config *config, const struct observation *o, struct reconcile_result *ret)
{
	static const char pods[] = PODS_FOLDER "/";
	static const char *const states[] = {
		STATE_CPU_FILE, STATE_MEMORY_FILE, STATE_DEVICES_FILE, STATE_CLAIMS_FILE, pods};
	const char *sysroot = config->sysroot;
	CLEANUP(freep) char *socket = observe_socket(config, o->kubelet.root);
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(states) && r == 0 && !o->kubelet.root_ended; i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%.3000s/%s", o->kubelet.root, states[i]);
		r = add_watched_file(ret, sysroot, path);
	}
	if (r == 0 && socket && *socket == '/' && !o->kubelet.root_ended)
		r = add_watched_file(ret, "", socket);
	if (r == 0)
		r = add_cdi_dir(config, ret);
	for (size_t i = 0; i < SETTING_COUNT && r == 0; i++)
		if (o->node.settings.from[i] && *o->node.settings.from[i] == '/')
			r = add_watched_file(ret, sysroot, o->node.settings.from[i]);
	return r;
}

/* Before the first observation: all files in the kubelet's folder, and the claims. */
static void list_folder(struct reconciler *r, struct reconcile_result *ret)
{
	const char *root = r->config->observe.settings.kubelet_root;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.3000s/", root ? root : KUBELET_ROOT);
	add_watched_file(ret, r->config->observe.sysroot,
		path); /* on failure the next run after the backoff tries again */
	add_cdi_dir(&r->config->observe, ret);
}

/* Index into reconcile_labels.states. `kept`: the source does not answer now, and its last answer is used. */
static unsigned source_state(bool known, bool kept)
{
	if (!known)
		return SOURCE_ABSENT;
	return kept ? SOURCE_KEPT : SOURCE_OK;
}

static int observe_node(struct reconciler *r, struct observation *o, struct reconcile_result *ret)
{
	struct observe_config config = r->config->observe;
	double start = clock_s(CLOCK_MONOTONIC);
	int e = check_hardware(r, &ret->err);

	if (e < 0)
		return e;
	/* The release decides which CPUs are reserved. */
	if (config.kubelet.minor == 0)
		config.kubelet = r->kubelet;
	e = observe_with(&r->sources, &config, o, &ret->err);
	if (e == 0)
		e = node_derive(&r->config->derive, &o->node, &o->notes, &ret->err);
	if (e < 0)
		return e;
	metrics_observe(r->metrics, METRIC_OBSERVE_SECONDS, 0, clock_s(CLOCK_MONOTONIC) - start);
	metrics_set_source(r->metrics, RECONCILE_SETTINGS,
		source_state(o->node.settings.cpu_manager != CPU_MANAGER_UNKNOWN, o->kubelet.kept));
	metrics_set_source(r->metrics, RECONCILE_STATE_FILES, source_state(o->from_files, false));
	metrics_set_source(r->metrics, RECONCILE_POD_RESOURCES, source_state(o->from_api, o->api_kept));
	for (unsigned i = 0; i < o->contradictions; i++)
		metrics_count(r->metrics, METRIC_DISAGREEMENTS, 0, 0);
	metrics_set_inventory(r->metrics, &o->node.inventory);
	return 0;
}

/* ---- score and render */

/* A hash of everything that the hints are computed from: the inventory's document does not contain the release. */
static uint64_t hash_observation(struct observation *o, const char *nrt_hash)
{
	CLEANUP(doc_release) struct doc inventory = DOC_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(SIZE_MAX);
	const struct settings *s = &o->node.settings;
	uint64_t release = 1 + s->kubelet_minor + 1000 * s->kubelet_prerelease, hash;

	inventory_to_doc(o, &inventory);
	json_print_compact(&inventory, &text);
	hash = hash_bytes(text.text, text.len, release);
	return hash_bytes(nrt_hash, strlen(nrt_hash), hash);
}

/* Computes the hints, unless the last run observed the same. */
static void refresh_hints(struct reconciler *r, struct observation *o, const char *nrt_hash)
{
	uint64_t hash = hash_observation(o, nrt_hash);

	if (hash == r->hints_of)
		return;
	doc_release(&r->annotations);
	doc_release(&r->labels);
	hints_make(&r->config->render.hints, &o->node, nrt_hash, &r->annotations, &r->labels, &o->notes,
		&r->distances);
	r->hints_of = hash;
	r->headroom_known = false;
}

/* ---- publish */

static void count_outcome(
	struct reconciler *r, enum publish_object object, enum publish_outcome outcome, uint64_t now_ms)
{
	if (outcome == PUBLISH_DEFERRED)
		return;
	metrics_count(r->metrics, METRIC_PUBLISHES, (unsigned)object, (unsigned)outcome);
	if (outcome == PUBLISH_WRITTEN || outcome == PUBLISH_UNCHANGED)
		metrics_succeeded(r->metrics, (unsigned)object, (double)now_ms / 1000);
}

static int publish_objects(struct reconciler *r, const struct publish_request *request, uint64_t now_ms,
	struct reconcile_result *ret)
{
	const struct render_config *wanted = &r->config->render;
	double start = clock_s(CLOCK_MONOTONIC);
	int e = r->target.publish(r->target.ctx, request, now_ms, &ret->publish, &ret->err);

	/* With the other outcomes publishing the object took no time. */
	if (ret->publish.nrt != PUBLISH_UNCHANGED && ret->publish.nrt != PUBLISH_DEFERRED &&
		ret->publish.nrt != PUBLISH_CONTENDED)
		metrics_observe(
			r->metrics, METRIC_PUBLISH_SECONDS, PUBLISH_NRT, clock_s(CLOCK_MONOTONIC) - start);
	if (!wanted->others_nrt)
		count_outcome(r, PUBLISH_NRT, ret->publish.nrt, now_ms);
	count_outcome(r, PUBLISH_NODE, ret->publish.node, now_ms);
	count_outcome(r, PUBLISH_TAINT, ret->publish.taint, now_ms);
	if (wanted->numatopology)
		count_outcome(r, PUBLISH_NUMATOPOLOGY, ret->publish.numatopology, now_ms);
	if (wanted->kai)
		count_outcome(r, PUBLISH_PODS, ret->publish.pods, now_ms);
	metrics_set_rival(r->metrics, ret->publish.rival);
	metrics_set_certificate(r->metrics, ret->publish.certificate_until_s);
	ret->call_again_ms = ret->publish.call_again_ms;
	return e;
}

/* For the metrics; after publishing, which should not wait for the computation. */
static void measure_headroom(struct reconciler *r, const struct observation *o)
{
	CLEANUP(headroom_release) struct headroom headroom = {0};
	CLEANUP(pod_alignments_release) struct pod_alignments pods = {0};
	const struct hints_config *hints = &r->config->render.hints;

	if (r->headroom_known)
		return;
	headroom_find(hints, &o->node, &headroom);
	metrics_set_headroom(r->metrics, &headroom, hints);
	if (o->node.allocations.cpus_known) {
		pod_alignments_find(&o->node, &pods);
		metrics_set_alignment(r->metrics, &pods);
	}
	r->headroom_known = true;
}

/* Updates r->remote for the object, and requests another run at once if the object has to change. `result`: of
 * pod_memory_read(). */
static void update_remote(struct reconciler *r, int result, const struct observation *o, uint64_t now_ms,
	struct reconcile_result *ret)
{
	bool known = result == 0;
	bool changed = known && pod_memory_update(&o->node, &r->remote);

	if (changed || known != r->remote_known)
		ret->call_again_ms = now_ms;
	r->remote_known = known;
}

/* For the metrics and the object, at a low rate. Without cgroup v2 the log says so once. */
static void measure_pod_memory(
	struct reconciler *r, struct observation *o, uint64_t now_ms, struct reconcile_result *ret)
{
	const struct reconcile_config *c = r->config;
	const struct allocations *a = &o->node.allocations;
	struct err err = {""};

	if (!c->observe.cgroup || c->pod_memory_ms == 0)
		return;
	if (now_ms >= r->pod_memory_at) {
		if (allocations_hold_cpus_or_memory(a->items, a->n_items)) {
			int result = pod_memory_read(c->observe.sysroot, c->observe.cgroup, &o->node, &err);

			update_remote(r, result, o, now_ms, ret);
		}
		if (*err.text && strcmp(err.text, r->pod_memory_error.text) != 0)
			log_info("%s; nrtd does not report the NUMA nodes of the pods' memory", err.text);
		r->pod_memory_error = err;
		metrics_set_pod_memory(r->metrics, *err.text ? NULL : &o->node, c->pod_metrics);
		r->pod_memory_at = now_ms + c->pod_memory_ms;
	}
	if (r->pod_memory_at < ret->call_again_ms)
		ret->call_again_ms = r->pod_memory_at;
}

/* After publishing, so that the Event is true of the object. */
static void report_changes(
	struct reconciler *r, const struct observation *o, uint64_t now_ms, struct reconcile_result *ret)
{
	const struct changes_input in = {.config = &r->config->changes,
		.node = &o->node,
		.found_state = r->config->render.others_nrt ? "" : ret->publish.found_state,
		.file_missing = r->sources.state_files.gone,
		.target = &r->target,
		.metrics = r->metrics};

	if (ret->publish.current)
		changes_update(&r->changes, &in, now_ms, &ret->call_again_ms);
}

static void print_status(const struct observation *o, struct reconcile_result *ret)
{
	int cpu = inventory_resource(&o->node.inventory, "cpu");
	qty_t free = 0;

	for (size_t i = 0; i < o->node.inventory.n_nodes && cpu >= 0; i++)
		free += inventory_amount(&o->node.inventory, i, (size_t)cpu)->available;
	if (ret->err.text[0])
		snprintf(ret->status, sizeof(ret->status), "%.150s", ret->err.text);
	else
		snprintf(ret->status, sizeof(ret->status), "%s: %zu NUMA nodes, %" PRId64 " CPUs available",
			o->node.node_name, o->node.inventory.n_nodes, (int64_t)(free / QTY_UNIT));
}

/*
 * The release of the kubelet is known from its settings or, after the first call, from the Node. Until then nothing is written, unless
 * the Node does not report a release either. 0 or -errno with one line in ret->err.
 */
static int render_and_publish(
	struct reconciler *r, struct observation *o, uint64_t now_ms, struct reconcile_result *ret)
{
	CLEANUP(doc_release) struct doc nrt = DOC_INIT, numatopology = DOC_INIT;
	CLEANUP(kai_pods_release) struct kai_pods pods = {0};
	struct publish_request request = {.nrt = r->config->render.others_nrt ? NULL : &nrt,
		.numatopology = r->config->render.numatopology ? &numatopology : NULL,
		.annotations = &r->annotations,
		.labels = &r->labels,
		.pods = r->config->render.kai ? &pods : NULL};
	int e;

	/* The configuration does not name the release. */
	if (r->config->observe.kubelet.minor == 0) {
		request.kubelet = r->kubelet;
		request.release_unknown = r->kubelet.minor == 0;
	}
	if (r->remote_known)
		pod_memory_mark(&r->remote, &o->node);
	nrt_render(&o->node, &r->config->render.nrt, &nrt, &o->notes);
	request.content_hash = nrt_content_hash(&nrt);
	if (r->config->render.numatopology)
		numatopology_render(&o->node, &numatopology, &o->notes);
	if (r->config->render.kai)
		kai_render(&o->node, &pods, &o->notes);
	if (request.release_unknown)
		observation_set_release(
			o, (struct kubelet_release){.minor = KUBELET_MINOR_ASSUMED}); /* for the hints */
	refresh_hints(r, o, request.content_hash);
	e = publish_objects(r, &request, now_ms, ret);
	if (ret->publish.kubelet.minor > 0)
		r->kubelet = ret->publish.kubelet;
	return e;
}

static uint64_t api_deadline(uint64_t since_ms, uint64_t now_ms)
{
	uint64_t usual = since_ms + API_WAIT_MS, at_least = now_ms + API_WAIT_MIN_MS;

	return usual > at_least ? usual : at_least;
}

void reconcile(
	struct reconciler *r, bool forget, uint64_t since_ms, uint64_t now_ms, struct reconcile_result *ret)
{
	CLEANUP(observation_release) struct observation o;
	int e;

	observation_init(&o);
	ret->call_again_ms = UINT64_MAX;
	if (forget) {
		/* The kubelet's last answers stay valid until it answers again. */
		sources_forget_machine(&r->sources);
		r->logged_notes = r->hints_of = 0;
		r->target.forget(r->target.ctx);
	}
	r->sources.sign_ms = (int64_t)since_ms;
	r->sources.until_ms = (int64_t)api_deadline(since_ms, now_ms);
	e = observe_node(r, &o, ret);
	ret->answer_due = sources_await_answer(&r->sources);
	if (e == 0 && r->config->node_name && strcmp(r->config->node_name, o.node.node_name) != 0) {
		ret->renamed = true;
		e = err_set(&ret->err, -ESTALE,
			"the name of this node was '%s' when nrtd started, and now it is '%s': start nrtd again",
			r->config->node_name, o.node.node_name);
	}
	if (e == 0) {
		ret->err = (struct err){""}; /* of a source that had an alternative */
		e = list_files(&r->config->observe, &o, ret);
	}
	if (e < 0) {
		r->failures++;
		if (!r->observed)
			list_folder(r, ret);
		ret->call_again_ms = now_ms + backoff_ms(r->failures, hash_bytes(&now_ms, sizeof(now_ms), 0));
		snprintf(ret->status, sizeof(ret->status), "%.150s", ret->err.text);
		return;
	}
	r->failures = 0;
	ret->observed = r->observed = true;
	resident_trim_large(); /* publishing needs memory of its own */
	e = render_and_publish(r, &o, now_ms, ret);
	ret->published_ms = (uint64_t)clock_ms(CLOCK_MONOTONIC);
	if (e < 0 && ret->call_again_ms == UINT64_MAX)
		ret->call_again_ms = now_ms + BACKOFF_BASE_MS;
	measure_headroom(r, &o);
	measure_pod_memory(r, &o, now_ms, ret);
	report_changes(r, &o, now_ms, ret);
	log_new_notes(r, &o.notes);
	print_status(&o, ret);
}

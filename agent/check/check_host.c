/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the host: the machine, and the kubelet's files, socket and settings. */
#include <errno.h>
#include <limits.h>

#include "agent/check/check.h"
#include "agent/observe/allocations_files.h"
#include "agent/observe/discover.h"
#include "agent/observe/fs_root.h"
#include "agent/observe/pod_memory.h"
#include "agent/observe/pods_api.h"
#include "common/cleanup.h"
#include "common/io/time.h"
#include "common/settings.h"
#include "common/settings_table.h"
#include "common/xalloc.h"
#include "scoring/kubelet_hazards.h"
#include "scoring/node/node_admission.h"

#define DIFFERENCES_MAX (8u << 20)

/* What the steps share. A step returns false if no later step is possible. */
struct host {
	const struct check_config *config;
	struct check_report *report;
	struct doc *nrt; /* the object that would be published */
	char *kubelet_root;
	struct machine machine;
	struct sources sources;
	struct observation o;
	struct check_state_files files;
	bool file_damaged;       /* some state file */
	bool files_absent;       /* the kubelet has written neither of the managers' state files */
	size_t n_start_problems; /* reasons for which the kubelet would not start */
};

static void host_release(struct host *h)
{
	observation_release(&h->o);
	kubelet_state_release(&h->files.cpus);
	kubelet_state_release(&h->files.memory);
	sources_release(&h->sources);
	machine_release(&h->machine);
	free(h->kubelet_root);
}

/* ---- the machine */

static bool step_machine(struct host *h)
{
	const struct machine_source source = {
		.root = h->config->observe.sysroot, .xml = h->config->observe.machine_xml};
	const struct machine *m = &h->machine;
	struct err err = {""};

	if (machine_discover(&source, &h->machine, &err) < 0) {
		check_report_line(h->report, CHECK_FAIL, "machine", NULL, err.text,
			source.xml
				? "give --machine an XML file that lstopo has written"
				: "in a container mount the host's /sys read-only, at /sys or below the directory that --sysroot names");
		return false;
	}
	check_report_add(h->report, CHECK_OK, "machine",
		"%zu socket%s, %zu NUMA node%s, %zu core%s, %zu CPU%s online, %zu offline, distances %s",
		m->n_sockets, m->n_sockets == 1 ? "" : "s", m->n_nodes, m->n_nodes == 1 ? "" : "s",
		m->n_cores, m->n_cores == 1 ? "" : "s", m->n_cpus, m->n_cpus == 1 ? "" : "s",
		cpuset_size(m->offline), m->distances ? "known" : "not known");
	return true;
}

static bool step_libnuma(struct host *h)
{
	CLEANUP(strbuf_release) struct strbuf differences = STRBUF_INIT(DIFFERENCES_MAX);
	struct err err = {""};
	char *save = NULL;
	int n;

	if (*h->config->observe.sysroot || h->config->observe.machine_xml) {
		check_report_add(
			h->report, CHECK_OK, "libnuma", "not compared: it sees the running system only");
		return true;
	}
	n = libnuma_compare(&h->machine, &differences, &err);
	if (n == 0)
		check_report_add(
			h->report, CHECK_OK, "libnuma", "agrees on node ids, distances and CPU lists");
	else if (n < 0)
		check_report_set(&check_report_add(h->report, CHECK_WARN, "libnuma", "not compared: %s",
					 n == -ENODEV || n == -ENOENT ? err.text : strerror(-n))
					  ->remedy,
			"install libnuma (libnuma1, numactl-libs); nrtd itself does not need it");
	if (n <= 0)
		return true;
	for (char *line = strtok_r(differences.text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		check_report_line(h->report, CHECK_FAIL, "libnuma", NULL, line,
			"look at both: `numactl --hardware` and /sys/devices/system/node; in a container mount the host's /sys");
	return true;
}

/* ---- state files: contents */

static void print_cpu_state(const struct kubelet_state *state, struct strbuf *text)
{
	strbuf_addf(text, "policy '%s', %zu containers with exclusive CPUs", state->policy,
		state->allocations.n_items);
}

static void print_memory_state(const struct kubelet_state *state, struct strbuf *text)
{
	strbuf_addf(
		text, "policy '%s', %zu containers with memory", state->policy, state->allocations.n_items);
}

static void print_device_state(const struct kubelet_state *state, struct strbuf *text)
{
	strbuf_addf(text, "%zu resources of device plugins, %zu containers with devices", state->n_registered,
		state->allocations.n_items);
}

static const struct state_file_kind {
	const char *file, *source;
	const struct state_kind *state;
	void (*print)(const struct kubelet_state *state, struct strbuf *text);
} state_files[] = {
	{STATE_CPU_FILE, "CPU state", &state_cpu, print_cpu_state},
	{STATE_MEMORY_FILE, "memory state", &state_memory, print_memory_state},
	{STATE_DEVICES_FILE, "device state", &state_devices, print_device_state},
};

/* ---- state files: items */

#define DAMAGED_REMEDY \
	"the kubelet would not start with it either: drain the node, stop the kubelet, remove the file, start it"

static void add_state_file_remedy(struct check_item *item, int r)
{
	if (r == -ENOENT || r == -ENOTDIR)
		check_report_set(&item->remedy,
			"the kubelet writes the file when it starts; in a container mount the kubelet's root directory (the directory, not the file), and name it by --kubelet-root");
	else if (r == -EACCES || r == -EPERM)
		check_report_set(&item->remedy,
			"only root may read it: run as root, or give the process CAP_DAC_READ_SEARCH");
	else
		check_report_set(&item->remedy, DAMAGED_REMEDY);
}

/* The file's format, or 0. */
static unsigned read_format(const struct state_file_kind *kind, const char *sysroot, const char *path)
{
	CLEANUP(state_file_release) struct state_file file = STATE_FILE_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(kind->state->max);

	if (fs_read(sysroot, path, &text, NULL) < 0 ||
		state_file_parse(text.text, text.len, kind->state->max, &file, NULL) < 0)
		return 0;
	return kind->state->format(&file);
}

static void set_file_age(const char *sysroot, const char *path, struct check_item *item)
{
	struct stat st;
	time_t now = time(NULL);

	if (fs_stat(sysroot, path, &st) == 0)
		item->age_s = now > st.st_mtime ? now - st.st_mtime : 0;
}

/* Exchanges the state that the host keeps, which is empty so far, and the state of a file. */
static void swap_states(struct kubelet_state *kept, struct kubelet_state *state)
{
	struct kubelet_state empty = *kept;

	*kept = *state;
	*state = empty;
}

static void check_state_file(struct host *h, const struct state_file_kind *kind)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);
	CLEANUP(kubelet_state_release) struct kubelet_state state = {0};
	CLEANUP(notes_release) struct notes notes = {0};
	const char *sysroot = h->config->observe.sysroot, *finding;
	struct err err = {""};
	char path[PATH_MAX];
	struct check_item *item;
	unsigned format;
	int r;

	snprintf(path, sizeof(path), "%s/%s", h->kubelet_root, kind->file);
	r = state_read(kind->state, sysroot, path, &h->machine, NULL, &state, &notes, &err);
	if (r == 0)
		kind->print(&state, &text);
	for (size_t i = 0; i < notes.lines.n_items; i++)
		strbuf_addf(&text, "%s%s", text.len > 0 ? "; " : "", notes.lines.items[i]);
	if (r == 0)
		finding = text.text;
	else
		finding = r == -ENOENT || r == -ENOTDIR ? "" : err.text;
	item = check_report_add(h->report, r < 0 || notes.lines.n_items > 0 ? CHECK_WARN : CHECK_OK,
		kind->source, "%s", finding);
	item->state = r == 0 ? "read" : check_state_of(r);
	check_report_set(&item->path, "%s%s", sysroot, path);
	set_file_age(sysroot, path, item);
	format = read_format(kind, sysroot, path);
	if (format > 0)
		check_report_set(&item->format, "v%u", format);
	h->file_damaged = h->file_damaged || r == -EINVAL;
	if (r < 0)
		add_state_file_remedy(item, r);
	else if (notes.lines.n_items > 0)
		check_report_set(&item->remedy,
			"if this message stays after the kubelet's next restart: drain the node, stop the kubelet, remove the file, start the kubelet");
	/* For check_kubelet_files(). */
	if (kind->state == &state_cpu)
		swap_states(&h->files.cpus, &state);
	else if (kind->state == &state_memory)
		swap_states(&h->files.memory, &state);
	if (kind->state != &state_devices)
		h->files_absent = h->files_absent && fs_is_absent(r);
}

static bool step_state_files(struct host *h)
{
	h->files.kubelet_root = h->kubelet_root;
	h->files_absent = h->config->observe.state_files;
	for (size_t i = 0; i < ARRAY_SIZE(state_files) && h->config->observe.state_files; i++)
		check_state_file(h, &state_files[i]);
	return true;
}

static bool is_state_file(const char *source)
{
	for (size_t i = 0; i < ARRAY_SIZE(state_files); i++)
		if (source == state_files[i].source)
			return true;
	return false;
}

/* The pod-resources API replaces absent state files: their warnings become notes. */
static void excuse_absent_files(struct check_report *report)
{
	for (size_t i = 0; i < report->n_items; i++) {
		struct check_item *item = &report->items[i];

		if (!is_state_file(item->source) || !item->state || strcmp(item->state, "absent") != 0)
			continue;
		item->level = CHECK_NOTE;
		check_report_set(&item->text, "the pod-resources API reports who holds what");
		free(TAKE(item->remedy));
	}
}

/* ---- the pod-resources API */

static const char pod_resources[] = "pod-resources";

static const char *remedy_of_socket(int r)
{
	switch (r) {
	case -ENOENT:
	case -ENOTDIR:
		return "in a container mount the kubelet's pod-resources directory (the directory, not the socket) and name the socket by --pod-resources";
	case -EACCES:
	case -EPERM:
		return "only root may use it: run as root, and allow it in SELinux or AppArmor";
	case -ECONNREFUSED:
		return "nobody listens: is the kubelet running? Mount the directory, not the socket, so that a restarted kubelet is found";
	default:
		return "is it the kubelet's pod-resources socket?";
	}
}

static void report_api_failure(struct check_report *report, const char *socket, int r, const struct err *err)
{
	bool absent = r == -ENOENT || r == -ENOTDIR;
	struct check_item *item =
		check_report_add(report, CHECK_WARN, pod_resources, "%s", absent ? "" : err->text);

	item->state = absent || r == -EACCES || r == -EPERM ? check_state_of(r) : "fails";
	check_report_set(&item->path, "%s", socket);
	check_report_set(&item->remedy, "%s", remedy_of_socket(r));
}

static void report_api_answer(
	struct check_report *report, const char *socket, const struct pod_resources *answer, double ms)
{
	struct check_item *item = check_report_add(report, CHECK_OK, pod_resources,
		"%zu pods, %zu containers hold something, answered in %.1f ms", answer->n_pods,
		answer->held.n_items, ms);

	item->state = "read";
	check_report_set(&item->path, "%s", socket);
	check_report_set(&item->format, "v1");
	if (!answer->allocatable_known)
		check_report_line(report, CHECK_WARN, pod_resources, NULL,
			"GetAllocatableResources is not offered",
			"before Kubernetes 1.23 the kubelet needs the feature gate KubeletPodResourcesGetAllocatable; state files and configuration are used instead");
}

static bool step_pod_resources(struct host *h)
{
	CLEANUP(freep) char *socket = observe_socket(&h->config->observe, h->kubelet_root);
	CLEANUP(pod_resources_client_freep) struct pod_resources_client *client = NULL;
	CLEANUP(pod_resources_release) struct pod_resources answer;
	CLEANUP(notes_release) struct notes notes = {0};
	struct err err = {""};
	double begin = clock_s(CLOCK_MONOTONIC);
	int r;

	pod_resources_init(&answer);
	if (!socket) {
		check_report_add(h->report, CHECK_OK, pod_resources, "not asked");
		return true;
	}
	r = pod_resources_client_new(socket, NULL, &client);
	if (r == 0)
		r = pod_resources_read(client, &h->machine, &answer, &notes, &err);
	if (r < 0) {
		report_api_failure(h->report, socket, r, &err);
		return true;
	}
	report_api_answer(h->report, socket, &answer, (clock_s(CLOCK_MONOTONIC) - begin) * 1e3);
	excuse_absent_files(h->report);
	return true;
}

/* ---- the pods API */

static bool step_pods_api(struct host *h)
{
	static const char source[] = "pods API";
	CLEANUP(freep) char *socket = observe_pods_socket(&h->config->observe, h->kubelet_root);
	CLEANUP(doc_release) struct doc pods = DOC_INIT;
	struct check_item *item;
	struct err err = {""};
	int r = socket ? pods_api_read(socket, "", &pods, &err) : 0;

	if (!socket) {
		check_report_add(h->report, CHECK_OK, source, "not asked");
	} else if (r == 0) {
		item = check_report_add(h->report, CHECK_OK, source, "%zu pods", pods.n_items);
		item->state = "read";
		check_report_set(&item->path, "%s", socket);
		check_report_set(&item->format, "v1alpha1");
	} else if (r == -ENOENT || r == -ENOTDIR) {
		item = check_report_add(h->report, CHECK_OK, source,
			"kubelets serve it from Kubernetes 1.37; nrtd fit then knows what all pods request");
		item->state = check_state_of(r);
		check_report_set(&item->path, "%s", socket);
	} else {
		check_report_line(h->report, CHECK_NOTE, source, "fails", err.text, remedy_of_socket(r));
	}
	return true;
}

/* ---- the observation */

static bool step_observation(struct host *h)
{
	struct err err = {""};
	int r = observe_with(&h->sources, &h->config->observe, &h->o, &err);
	const char *remedy =
		"run as root, in a container with the host's /sys, /proc and the kubelet's root directory; try again if the line names a file that is being written";

	if (r == 0) {
		check_report_add(h->report, CHECK_OK, "node", "%s", h->o.node.node_name);
		return true;
	}
	if (r == -EINVAL)
		remedy =
			h->file_damaged
				? DAMAGED_REMEDY
				: "correct what the line names; the kubelet does not start with a setting that it cannot read either";
	check_report_line(h->report, CHECK_FAIL, "observation", NULL, err.text, remedy);
	return false;
}

/* Its process is seen, or its API answers. */
static bool kubelet_runs(const struct host *h)
{
	return h->sources.settings.n_running > 0 || h->o.node.settings.started;
}

static bool step_start(struct host *h)
{
	h->n_start_problems = check_kubelet_settings(&h->o.node, kubelet_runs(h), h->report);
	check_kubelet_files(&h->files, &h->o.node, kubelet_runs(h), h->report);
	return true;
}

static bool step_derive(struct host *h)
{
	struct err err = {""};

	if (node_derive(&h->config->derive, &h->o.node, &h->o.notes, &err) == 0)
		return true;
	check_report_line(h->report, CHECK_FAIL, "observation", NULL, err.text,
		h->n_start_problems > 0 ? "see \"kubelet start\" above"
					: "correct --reserved-cpus or reservedSystemCPUs");
	return false;
}

/* Only a running kubelet's settings are certain; its files may have changed. */
static bool step_process(struct host *h)
{
	/* In a saved tree, or with a machine from XML, no kubelet can be seen to run. */
	bool elsewhere = *h->config->observe.sysroot || h->config->observe.machine_xml;
	struct check_item *item;

	if (h->config->observe.settings.kubelet_config)
		return true;
	if (h->sources.settings.pid) {
		check_report_add(h->report, CHECK_OK, "kubelet", "runs (pid %u)", h->sources.settings.pid);
	} else if (h->sources.settings.n_running > 1) {
		item = check_report_add(h->report, CHECK_WARN, "kubelet",
			"%u are running, and nrtd cannot tell which is this node's",
			h->sources.settings.n_running);
		check_report_set(&item->remedy,
			"stop the kubelet that is not this node's, or name the configuration of this node's kubelet by --kubelet-config");
	} else if (h->files_absent && !h->o.from_api) {
		check_report_line(h->report, elsewhere ? CHECK_NOTE : CHECK_WARN, "kubelet", NULL,
			"none is running, and none has written state files: this may be a new node",
			h->n_start_problems > 0
				? "mend \"kubelet start\" above, then start the kubelet"
				: "on a new node start the kubelet, and run nrtd check again; in a container mount the host's /proc and name it by --proc, and the kubelet's root directory and name it by --kubelet-root");
	} else {
		check_report_line(h->report, elsewhere ? CHECK_NOTE : CHECK_WARN, "kubelet", NULL,
			"none is running: its settings are from files, which a running kubelet may not have read",
			h->n_start_problems > 0
				? "mend \"kubelet start\" above, then start the kubelet"
				: "start it; in a container mount the host's /proc and name it by --proc");
	}
	return true;
}

static bool step_settings(struct host *h)
{
	const struct settings *s = &h->o.node.settings;
	size_t known = 0;

	for (enum setting what = 0; what < SETTING_COUNT; what++)
		if (s->from[what])
			known++;
	/* If no setting is known, the last item says so once. */
	for (enum setting what = 0; known > 0 && what < SETTING_COUNT; what++) {
		CLEANUP(freep) char *value = s->from[what] ? settings_text(s, what) : NULL;

		if (value)
			check_report_add(h->report, CHECK_OK, "setting", "%s = '%s' (%s)",
				settings_table[what].name, value, s->from[what]);
		else
			check_report_set(&check_report_add(h->report, CHECK_WARN, "setting", "%s is unknown",
						 settings_table[what].name)
						  ->remedy,
				"name the kubelet's configuration by --kubelet-config");
	}
	if (known < SETTING_COUNT)
		check_report_line(h->report, CHECK_WARN, "kubelet", NULL,
			known > 0 ? "not all of its settings are known" : "none of its settings is known",
			"share the host's PID namespace so that its command line can be read, or name its configuration by --kubelet-config");
	return true;
}

/* How a pod could crash or hang the kubelet. */
static bool step_hazards(struct host *h)
{
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	struct kubelet_hazard hazards[KUBELET_HAZARDS_MAX];
	size_t n;

	node_admission_init(&admission, &h->o.node);
	n = kubelet_find_hazards(&admission.kubelet, hazards);
	for (size_t i = 0; i < n; i++)
		check_report_line(
			h->report, CHECK_WARN, "kubelet", NULL, hazards[i].what.text, hazards[i].remedy);
	return true;
}

static bool step_reserved(struct host *h)
{
	const struct node_state *node = &h->o.node;
	CLEANUP(freep) char *reserved = node->reserved.cpus ? cpuset_print(node->reserved.cpus) : NULL;
	struct check_item *item;

	if (reserved) {
		check_report_add(
			h->report, CHECK_OK, "reserved", "CPUs '%s' (%s)", reserved, node->reserved.from);
		return true;
	}
	item = check_report_add(h->report, CHECK_WARN, "reserved", "CPUs unknown (%s)", node->reserved.from);
	check_report_set(&item->remedy, "name them by --reserved-cpus, or let the pod-resources API be read");
	return true;
}

static bool step_comparison(struct host *h)
{
	if (h->o.from_files && h->o.from_api && h->o.contradictions == 0)
		check_report_add(h->report, CHECK_OK, "comparison", "API and state files agree");
	return true;
}

static const char *name_sources(const struct observation *o)
{
	if (o->from_files && o->from_api)
		return "the state files and the pod-resources API";
	if (o->from_api)
		return "the pod-resources API";
	return o->from_files ? "the state files" : "the hardware alone: what containers hold is not known";
}

/* A source must report what the static policies assign. */
static bool step_accounting(struct host *h)
{
	const struct node_state *node = &h->o.node;
	bool cpus = node->settings.cpu_manager == CPU_MANAGER_STATIC && !node->allocations.cpus_known;
	bool memory =
		node->settings.memory_manager == MEMORY_MANAGER_STATIC && !node->allocations.memory_known;
	const char *missing = cpus ? "CPUs" : "memory";
	struct check_item *item;

	if (!cpus && !memory) {
		check_report_add(h->report, CHECK_OK, "accounting", "from %s", name_sources(&h->o));
		return true;
	}
	if (cpus && memory)
		missing = "CPUs and memory";
	item = check_report_add(h->report, CHECK_FAIL, "accounting",
		"policy static, and no source reports which %s containers hold", missing);
	check_report_set(&item->remedy, "%s",
		h->files_absent && !kubelet_runs(h)
			? "start the kubelet, which writes its state files; if it runs, make its state files or the pod-resources socket readable: one of them is enough"
			: "make the state files or the pod-resources socket readable; one of them is enough");
	return true;
}

static bool step_claims(struct host *h)
{
	const struct claims *claims = &h->o.node.claims;
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = claims_cpus(claims);
	CLEANUP(freep) char *text = cpuset_print(cpus);

	if (claims->n_items > 0)
		check_report_add(h->report, CHECK_OK, "claims", "%zu of DRA drivers, with %s%s%s",
			claims->n_items, *text ? "CPUs '" : "no CPU", text, *text ? "'" : "");
	return true;
}

static bool step_tuning(struct host *h)
{
	check_tuning(&h->config->observe, &h->o.node, h->report);
	return true;
}

#define EXAMPLES_MAX 3 /* pods that a message names */

/* Counts the pods whose memory is known, and names pods with much memory on NUMA nodes without their CPUs. */
static void report_pod_memory(struct host *h)
{
	const struct node_state *node = &h->o.node;
	CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT(4096);
	size_t n_known = 0, n_remote = 0;
	struct check_item *item;

	for (size_t i = 0; i < node->pods_memory.n_items; i++) {
		const struct pod_memory *p = &node->pods_memory.items[i];
		unsigned percent = p->unknown ? 0 : pod_memory_remote_percent(p, &node->machine);

		if (!p->unknown)
			n_known++;
		if (percent <= POD_MEMORY_REMOTE_PERCENT)
			continue;
		n_remote++;
		if (n_remote > EXAMPLES_MAX)
			continue;
		strbuf_addstr(&names, n_remote > 1 ? ", " : "");
		if (*p->pod)
			strbuf_addf(&names, "%.63s/%.253s", p->namespace, p->pod);
		else
			strbuf_addf(&names, "pod %.253s", p->pod_uid);
		strbuf_addf(&names, " has %u%%", percent);
	}
	item = check_report_add(h->report, n_remote > 0 ? CHECK_NOTE : CHECK_OK, "pod memory",
		"known of %zu of %zu pods with exclusive CPUs or memory, %zu with more than %u%% on NUMA nodes without their CPUs%s%s%s",
		n_known, node->pods_memory.n_items, n_remote, POD_MEMORY_REMOTE_PERCENT,
		n_remote > 0 ? ": " : "", names.text, n_remote > EXAMPLES_MAX ? ", ..." : "");
	if (n_remote > 0)
		check_report_set(&item->remedy,
			"memory is local from the start if the memory manager has the policy Static, and the pod requests memory; `nrtd dump --what pods` has the amounts");
}

static bool step_pod_memory(struct host *h)
{
	const struct observe_config *c = &h->config->observe;
	struct err err = {""};

	if (!c->cgroup || h->o.node.allocations.n_items == 0)
		return true;
	if (pod_memory_read(c->sysroot, c->cgroup, &h->o.node, &err) == 0)
		report_pod_memory(h);
	else
		check_report_line(h->report, CHECK_NOTE, "pod memory", NULL, err.text,
			"on a host with cgroup v1 this is not possible; in a container mount the host's /sys/fs/cgroup, and name it by --cgroup");
	return true;
}

static bool step_object(struct host *h)
{
	nrt_render(&h->o.node, &h->config->nrt, h->nrt, &h->o.notes);
	for (size_t i = 0; i < h->o.notes.lines.n_items; i++)
		check_note(h->o.notes.lines.items[i], h->report);
	return true;
}

/* In the order of the report. */
static bool (*const steps[])(struct host *h) = {
	step_machine,
	step_libnuma,
	step_state_files,
	step_pod_resources,
	step_pods_api,
	step_observation,
	step_start,
	step_derive,
	step_process,
	step_settings,
	step_reserved,
	step_hazards,
	step_comparison,
	step_accounting,
	step_claims,
	step_tuning,
	step_pod_memory,
	step_object,
};

void check_host(const struct check_config *config, struct check_report *report, struct doc *ret_nrt)
{
	CLEANUP(host_release)
	struct host h = {.config = config,
		.report = report,
		.nrt = ret_nrt,
		.kubelet_root = observe_kubelet_root(&config->observe)};

	machine_init(&h.machine);
	observation_init(&h.o);
	for (size_t i = 0; i < ARRAY_SIZE(steps) && steps[i](&h); i++)
		;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe/observe.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/observe/discover.h"
#include "agent/observe/dra_claims.h"
#include "agent/observe/fs_root.h"
#include "agent/observe/pci_addresses.h"
#include "agent/observe/pods_api.h"
#include "agent/observe/settings_evidence.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/hash.h"
#include "common/io/node_name.h"
#include "common/text.h"
#include "common/xalloc.h"

#define HOSTNAME_MAX   4096 /* bytes of etc/hostname */
#define READ_AGAIN_MAX 2    /* because a kubelet started or stopped during the reading */

void observation_init(struct observation *o)
{
	memset(o, 0, sizeof(*o));
	node_state_init(&o->node);
	o->notes = (struct notes){0};
}

void observation_release(struct observation *o)
{
	node_state_release(&o->node);
	kubelet_place_release(&o->kubelet);
	notes_release(&o->notes);
	observation_init(o);
}

int sources_call_in_background(struct sources *s, struct err *err)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0)
		return err_set(err, -errno, "cannot create an eventfd: %s", strerror(errno));
	s->late_fd = fd;
	s->background = true;
	return 0;
}

bool sources_await_answer(const struct sources *s)
{
	return s->api && pod_resources_has_begun(s->api);
}

void sources_release(struct sources *s)
{
	sources_forget_machine(s);
	state_texts_release(&s->state_files);
	pods_seen_release(&s->pods_seen);
	cdi_texts_release(&s->cdi);
	free(s->socket);
	pod_resources_client_free(s->api);
	settings_finding_release(&s->settings);
	if (s->background)
		close(s->late_fd);
	*s = (struct sources){.cancel = s->cancel};
}

void sources_forget_machine(struct sources *s)
{
	if (s->machine_known)
		machine_release(&s->machine);
	s->machine_known = false;
}

static struct machine_source machine_source(const struct observe_config *config)
{
	return (struct machine_source){.root = config->sysroot, .xml = config->machine_xml};
}

int observe_prepare(const struct observe_config *config, struct err *err)
{
	const struct machine_source source = machine_source(config);

	return machine_prepare(&source, err);
}

static int observe_machine(
	struct sources *sources, const struct observe_config *config, struct machine *ret, struct err *err)
{
	const struct machine_source source = machine_source(config);

	if (!sources->machine_known) {
		int r;

		machine_init(&sources->machine);
		r = machine_discover(&source, &sources->machine, err);
		if (r < 0)
			return r;
		sources->machine_known = true;
	}
	machine_copy(&sources->machine, ret);
	return 0;
}

void observation_set_release(struct observation *o, struct kubelet_release release)
{
	settings_apply_release(&o->node.settings, release, &o->notes);
}

static int observe_settings(
	struct sources *sources, const struct observe_config *config, struct observation *o, struct err *err)
{
	int r = settings_find(config->sysroot, &config->settings, &sources->settings, &o->node.settings,
		&o->kubelet, &o->notes, err);

	if (r < 0)
		return r;
	observation_set_release(o, config->kubelet);
	/* settings_find() keeps the settings of the kubelet that ran last, with its process id. */
	o->node.settings.started = sources->settings.pid > 0;
	for (size_t i = 0; i < SETTING_COUNT; i++)
		o->node.settings.assumed[i] = config->settings.settings[i].value != NULL;
	return 0;
}

char *observe_kubelet_root(const struct observe_config *config)
{
	CLEANUP(settings_release) struct settings settings;
	CLEANUP(kubelet_place_release) struct kubelet_place place = {.root = NULL};
	const char *given = config->settings.kubelet_root;

	settings_init(&settings);
	if (settings_find(config->sysroot, &config->settings, NULL, &settings, &place, NULL, NULL) < 0)
		return xstrdup(given ? given : KUBELET_ROOT);
	return TAKE(place.root);
}

/* ---- the node's name */

/* The name that the user or the pod's manifest sets; NULL = none. */
static const char *find_given_name(const struct observe_config *config)
{
	const char *variable = getenv("NODE_NAME");

	if (config->node_name)
		return config->node_name;
	return variable && *variable ? variable : NULL;
}

/*
 * Sets *ret_name to the first name that is set, in the order of observe_node_name(). Without etc/hostname below a root directory, or if the
 * file is empty, this is the name of this host. The kubelet converts the host name to lower case.
 */
static int choose_node_name(const struct observe_config *config, const struct kubelet_place *kubelet,
	char **ret_name, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf host = STRBUF_INIT(HOSTNAME_MAX);
	const char *given = find_given_name(config);
	int r;

	if (given)
		return node_name_find(given, ret_name, err);
	if (kubelet->hostname) {
		r = node_name_find(kubelet->hostname, ret_name, err);
		return r < 0 ? err_wrap(err, r, "%s (--node-name sets another name)", kubelet->hostname_from)
			     : 0;
	}
	r = *config->sysroot ? fs_read(config->sysroot, "/etc/hostname", &host, err) : -ENOENT;
	if (r < 0 && !fs_is_absent(r))
		return r;
	if (r < 0 || strcspn(host.text, "\n") == 0)
		return node_name_find(NULL, ret_name, err);
	host.text[strcspn(host.text, "\n")] = '\0';
	for (char *p = host.text; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	r = node_name_find(host.text, ret_name, err);
	return r < 0 ? err_wrap(err, r, "%s/etc/hostname (--node-name sets another name)", config->sysroot)
		     : 0;
}

int observe_node_name(const struct observe_config *config, char **ret_name, struct err *err)
{
	CLEANUP(settings_release) struct settings settings;
	CLEANUP(kubelet_place_release) struct kubelet_place place = {.root = NULL};

	settings_init(&settings);
	if (!find_given_name(config))
		settings_find(config->sysroot, &config->settings, NULL, &settings, &place, NULL, NULL);
	return choose_node_name(config, &place, ret_name, err);
}

/* Finds the name, and notes if the kubelet registers the Node under another name. */
static int observe_registered_name(
	const struct observe_config *config, struct observation *o, struct err *err)
{
	const char *hostname = o->kubelet.hostname;
	int r = choose_node_name(config, &o->kubelet, &o->node.node_name, err);

	if (r == 0 && hostname && strcmp(hostname, o->node.node_name) != 0)
		notes_add(&o->notes,
			"the kubelet registers this host as the Node '%.253s' (--hostname-override), and nrtd reports it as '%s': correct --node-name or NODE_NAME, or start nrtd again",
			hostname, o->node.node_name);
	return r;
}

/* ---- allocations */

/* NULL and "" have different hashes. */
static uint64_t hash_optional_text(const char *text, uint64_t hash)
{
	return text ? hash_bytes(text, strlen(text) + 1, hash) : hash + 1;
}

/* A hash of the managers' policies and the reservations, which decide what the allocations leave free. */
static uint64_t hash_reservations(const struct settings *s)
{
	CLEANUP(freep) char *cpus = s->reserved_system_cpus ? cpuset_print(s->reserved_system_cpus) : NULL;
	const qty_t reserved[] = {(qty_t)s->cpu_manager, (qty_t)s->memory_manager, s->kube_reserved_cpu,
		s->system_reserved_cpu, s->kube_reserved_memory, s->system_reserved_memory};
	uint64_t hash = hash_bytes(reserved, sizeof(reserved), 0);

	hash = hash_optional_text(cpus, hash);
	hash = hash_optional_text(s->eviction_hard_memory, hash);
	for (size_t i = 0; i < s->n_memory_reservations; i++) {
		const struct memory_reservation *m = &s->memory_reservations[i];
		const qty_t amount[] = {(qty_t)m->node, m->bytes};

		hash = hash_optional_text(m->type, hash_bytes(amount, sizeof(amount), hash));
	}
	return hash;
}

#define UNIX_SCHEME "unix://"

/*
 * The path of a socket, or NULL: do not read the API. `value` is the flag's value, `path` the default below the kubelet's root. The kubelet of
 * a saved machine does not run here, so "auto" finds no socket then.
 */
static char *find_kubelet_socket(
	const struct observe_config *config, const char *value, const char *kubelet_root, const char *path)
{
	bool is_saved_machine = *config->sysroot || config->machine_xml;

	if (!value || !strcmp(value, "none") || (!strcmp(value, "auto") && is_saved_machine))
		return NULL;
	if (!strncmp(value, UNIX_SCHEME, strlen(UNIX_SCHEME)))
		value += strlen(UNIX_SCHEME);
	return strcmp(value, "auto") != 0 ? xstrdup(value) : xasprintf("%s/%s", kubelet_root, path);
}

char *observe_socket(const struct observe_config *config, const char *kubelet_root)
{
	return find_kubelet_socket(config, config->pod_resources, kubelet_root, "pod-resources/kubelet.sock");
}

char *observe_pods_socket(const struct observe_config *config, const char *kubelet_root)
{
	return find_kubelet_socket(config, config->pods_api, kubelet_root, PODS_API_SOCKET);
}

/* Make the client for the socket, unless there is one for the same socket. A new client has no last answer. */
static int open_pod_resources(
	struct sources *sources, const struct observe_config *config, const char *kubelet_root)
{
	CLEANUP(freep) char *socket = observe_socket(config, kubelet_root);
	struct pod_resources_client *client = NULL;
	int r = 0;

	if (socket && sources->socket && !strcmp(socket, sources->socket))
		return 0;
	if (socket && sources->background)
		r = pod_resources_client_new_background(socket, sources->cancel, sources->late_fd, &client);
	else if (socket)
		r = pod_resources_client_new(socket, sources->cancel, &client);
	if (r < 0)
		return r;
	pod_resources_client_free(sources->api);
	free(sources->socket);
	sources->api = client;
	sources->files_before_answer.known = false;
	sources->socket = TAKE(socket);
	return 0;
}

/* Move the answer to the observation, without the allocatable CPUs if the API answered under other
 * settings. */
static void move_answer(struct allocations_answer *a, bool other_settings, struct observation *o)
{
	o->from_files = a->from_files;
	o->from_api = a->from_api;
	o->api_kept = a->api_kept;
	o->contradictions = a->contradictions;
	o->node.allocations = a->all;
	allocations_init(&a->all);
	o->node.pods_known = a->from_api;
	o->node.pods = TAKE(a->api.pods);
	o->node.n_pods = a->api.n_pods;
	a->api.n_pods = a->api.pods_size = 0;
	o->node.claims = a->api.claims;
	a->api.claims = (struct claims){0};
	if (a->from_api && a->api.allocatable_known && !other_settings)
		o->node.allocatable_cpus = TAKE(a->api.allocatable_cpus);
}

static int observe_allocations(
	struct sources *sources, const struct observe_config *config, struct observation *o, struct err *err)
{
	CLEANUP(allocations_answer_release) struct allocations_answer a;
	struct allocations_query q = {.sysroot = config->sysroot,
		.kubelet_root = o->kubelet.root,
		.root_ended = o->kubelet.root_ended,
		.files = config->state_files,
		.api_named = config->pod_resources_named,
		.files_before_answer = &sources->files_before_answer,
		.files_before_call = sources->background ? &sources->files_before_call : NULL,
		.sign_ms = sources->sign_ms,
		.until_ms = sources->until_ms,
		.last = &sources->state_files,
		.settings = hash_reservations(&o->node.settings),
		.seen = &sources->pods_seen,
		.ages = &sources->ages,
		.down = settings_kubelet_is_down(&sources->settings),
		.machine = &o->node.machine};
	bool other_settings;
	int r = open_pod_resources(sources, config, o->kubelet.root);

	allocations_answer_init(&a);
	if (r < 0)
		return err_set(err, r, "cannot use the pod-resources socket: %s", strerror(-r));
	q.api = sources->api;
	q.socket = sources->socket;
	r = allocations_read(&q, &a, &o->notes, err);
	if (r < 0)
		return r;
	/* allocations_read() stores in files_before_answer under which settings the API answered last. */
	other_settings = sources->files_before_answer.settings != q.settings;
	settings_weigh(&o->node.settings, o->kubelet.evidence,
		&(struct settings_proofs){.policies = &a.policies,
			.memory_from_file = a.memory_from_file,
			.allocations = &a.all,
			.api = a.from_api && !other_settings ? &a.api : NULL},
		&o->notes);
	/* A kubelet that answers has started, whichever settings are in the files. */
	o->node.settings.started = o->node.settings.started || (a.from_api && !a.api_kept);
	move_answer(&a, other_settings, o);
	return 0;
}

/* ---- claims */

#define CPU_DRIVER "dra.cpu"
#define REGISTRY   "plugins_registry"
#define REGISTERED "-reg.sock" /* dra.cpu-reg.sock, or with something in between while it is updated */

/* Whether the kubelet's plugin directory has a socket of the driver: 1 or 0; -errno if nrtd cannot tell now. */
static int is_cpu_driver_registered(const char *sysroot, const char *kubelet_root, struct err *err)
{
	CLEANUP(strv_release) struct strv names = {0};
	char path[PATH_MAX];
	int r;

	snprintf(path, sizeof(path), "%.3000s/" REGISTRY, kubelet_root);
	r = fs_list(sysroot, path, &names, err);
	if (r < 0)
		return fs_is_transient(r) ? r : 0;
	for (size_t i = 0; i < names.n_items; i++)
		if (!strncmp(names.items[i], CPU_DRIVER, strlen(CPU_DRIVER)) &&
			strstr(names.items[i], REGISTERED))
			return 1;
	return 0;
}

/* *ret is the driver of a claim that holds CPUs, else a registered driver that may allocate some; or NULL. 0 or -errno. */
static int find_cpu_driver(
	const struct observe_config *config, const struct observation *o, const char **ret, struct err *err)
{
	const struct claims *claims = &o->node.claims;
	int r;

	*ret = NULL;
	for (size_t i = 0; i < claims->n_items && !*ret; i++)
		if (!hwloc_bitmap_iszero(claims->items[i].cpus))
			*ret = claims->items[i].driver;
	if (*ret || o->kubelet.root_ended)
		return 0;
	r = is_cpu_driver_registered(config->sysroot, o->kubelet.root, err);
	*ret = r > 0 ? CPU_DRIVER : NULL;
	return r < 0 ? r : 0;
}

/* The kubelet's CPU manager and a DRA driver do not know each other's allocations. */
static int note_two_cpu_managers(const struct observe_config *config, struct observation *o, struct err *err)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t both = NULL;
	CLEANUP(cpuset_freep) hwloc_bitmap_t held = NULL;
	CLEANUP(freep) char *text = NULL;
	const char *driver = NULL;
	int r;

	if (o->node.settings.cpu_manager != CPU_MANAGER_STATIC)
		return 0;
	r = find_cpu_driver(config, o, &driver, err);
	if (!driver)
		return r;
	both = claims_cpus(&o->node.claims);
	held = allocations_exclusive_cpus(&o->node.allocations);
	cpuset_and(both, both, held);
	text = cpuset_print(both);
	notes_add(&o->notes,
		"the kubelet's CPU manager (policy 'static') and the DRA driver '%.100s' both allocate CPUs and do not know each other's allocations%s%s%s; set cpuManagerPolicy to 'none'",
		driver, *text ? ": CPUs " : "", text, *text ? " are allocated twice" : "");
	return 0;
}

/* dra-driver-cpu 0.2.0 can give a CPU to two claims on machines with several sockets: tests/upstream/dra.sh. */
static void note_claims_overlap(struct observation *o)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t in_earlier_claims = cpuset_new();
	CLEANUP(cpuset_freep) hwloc_bitmap_t overlap = cpuset_new();
	CLEANUP(cpuset_freep) hwloc_bitmap_t in_several = cpuset_new();
	CLEANUP(freep) char *text = NULL;

	for (size_t i = 0; i < o->node.claims.n_items; i++) {
		hwloc_const_bitmap_t cpus = o->node.claims.items[i].cpus;

		cpuset_and(overlap, cpus, in_earlier_claims);
		cpuset_or(in_several, in_several, overlap);
		cpuset_or(in_earlier_claims, in_earlier_claims, cpus);
	}
	if (hwloc_bitmap_iszero(in_several))
		return;
	text = cpuset_print(in_several);
	notes_add(&o->notes, "CPUs %s belong to several claims of DRA drivers", text);
}

/* The kubelet's memory manager and a DRA driver must not both allocate memory. */
static void note_two_memory_managers(struct observation *o)
{
	const struct claims *claims = &o->node.claims;

	if (o->node.settings.memory_manager != MEMORY_MANAGER_STATIC)
		return;
	for (size_t i = 0; i < claims->n_items; i++)
		if (claims->items[i].n_memory > 0) {
			notes_add(&o->notes,
				"the kubelet's memory manager (policy 'Static') and the DRA driver '%.100s' both allocate memory and do not know each other's allocations; set memoryManagerPolicy to 'None'",
				claims->items[i].driver);
			return;
		}
}

static int observe_claims(
	struct sources *sources, const struct observe_config *config, struct observation *o, struct err *err)
{
	CLEANUP(claims_release) struct claims specs = {0};
	int r = 0;

	/* The API of an older kubelet lists no claims: read the state file whenever the API lists none. */
	if (config->state_files && o->node.claims.n_items == 0 && !o->kubelet.root_ended)
		r = state_claims_read(config->sysroot, o->kubelet.root, &o->node.claims, &o->notes, err);
	if (r == 0 && config->cdi_dir)
		r = cdi_claims_read(config->sysroot, config->cdi_dir, &sources->cdi, &specs, &o->notes, err);
	if (r < 0)
		return r;
	cdi_claims_join(&o->node.claims, &specs);
	r = note_two_cpu_managers(config, o, err);
	note_two_memory_managers(o);
	note_claims_overlap(o);
	return r;
}

/* All steps of an observation. After a failure `o` has what the earlier steps have read. */
static int observe_all(
	struct sources *sources, const struct observe_config *config, struct observation *o, struct err *err)
{
	const struct pci_address_sources from = {
		.sysroot = config->sysroot, .proc = config->settings.proc, .cdi_dir = config->cdi_dir};
	int r = observe_machine(sources, config, &o->node.machine, err);

	if (r < 0)
		return r;
	r = observe_settings(sources, config, o, err);
	if (r < 0)
		return r;
	r = observe_registered_name(config, o, err);
	if (r < 0)
		return r;
	r = observe_allocations(sources, config, o, err);
	if (r < 0)
		return r;
	r = observe_claims(sources, config, o, err);
	if (r < 0)
		return r;
	return pci_addresses_find(&from, &sources->machine, &o->node, err);
}

int observe_with(struct sources *sources, const struct observe_config *config, struct observation *ret,
	struct err *err)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(pods_seen_release) struct pods_seen seen = {0};

	observation_init(&o);
	pods_seen_copy(&sources->pods_seen, &seen);
	for (int again = 0;; again++) {
		int r = observe_all(sources, config, &o, err);

		if (r == 0)
			r = settings_kubelet_is_same(
				config->sysroot, &config->settings, &sources->settings, err);
		if (r < 0)
			return r;
		if (r > 0 || again == READ_AGAIN_MAX)
			break;
		/* The kubelet changed meanwhile: drop the observation, and what it has learned about the pods. */
		observation_release(&o);
		pods_seen_release(&sources->pods_seen);
		pods_seen_copy(&seen, &sources->pods_seen);
	}
	*ret = o;
	observation_init(&o);
	return 0;
}

int observe(const struct observe_config *config, struct observation *ret, struct err *err)
{
	CLEANUP(sources_release) struct sources sources = {0};

	return observe_with(&sources, config, ret, err);
}

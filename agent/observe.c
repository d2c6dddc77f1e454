/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe.h"

#include <errno.h>

#include "agent/discover.h"
#include "agent/node_name.h"
#include "agent/settings_find.h"
#include "agent/zone_filter.h"
#include "common/cleanup.h"

void observation_init(struct observation *o)
{
	memset(o, 0, sizeof(*o));
	machine_init(&o->machine);
	settings_init(&o->settings);
	allocations_init(&o->allocations);
	inventory_init(&o->inventory);
	notes_init(&o->notes);
}

void observation_release(struct observation *o)
{
	free(o->node_name);
	free(o->kubelet_root);
	machine_release(&o->machine);
	settings_release(&o->settings);
	allocations_release(&o->allocations);
	pod_refs_free(o->pods, o->n_pods);
	hwloc_bitmap_free(o->allocatable_cpus);
	reserved_cpus_release(&o->reserved);
	inventory_release(&o->inventory);
	notes_release(&o->notes);
	observation_init(o);
}

void sources_release(struct sources *s)
{
	sources_forget_machine(s);
	free(s->socket);
	pod_resources_client_free(s->api);
	*s = (struct sources){.cancel = s->cancel};
}

void sources_forget_machine(struct sources *s)
{
	if (s->machine_known)
		machine_release(&s->machine);
	s->machine_known = false;
}

static int read_machine(
	struct sources *sources, const struct options *options, struct machine *ret, struct err *err)
{
	const struct machine_source source = {
		.root = options->value[OPT_SYSROOT],
		.xml = options->value[OPT_MACHINE],
	};

	if (!sources->machine_known) {
		int r;

		machine_init(&sources->machine);
		r = machine_discover(&source, &sources->machine, err);
		if (r < 0)
			return r;
		sources->machine_known = true;
	}
	return machine_copy(&sources->machine, ret) < 0 ? err_set(err, -ENOMEM, "out of memory") : 0;
}

int observe_settings(const struct options *options, struct settings *ret, char **ret_root,
	struct notes *notes, struct err *err)
{
	static const struct {
		enum option_id option;
		enum setting setting;
	} flags[] = {
		{OPT_CPU_MANAGER_POLICY, SETTING_CPU_MANAGER_POLICY},
		{OPT_CPU_MANAGER_POLICY_OPTIONS, SETTING_CPU_MANAGER_POLICY_OPTIONS},
		{OPT_MEMORY_MANAGER_POLICY, SETTING_MEMORY_MANAGER_POLICY},
		{OPT_TOPOLOGY_MANAGER_POLICY, SETTING_TOPOLOGY_MANAGER_POLICY},
		{OPT_TOPOLOGY_MANAGER_SCOPE, SETTING_TOPOLOGY_MANAGER_SCOPE},
		{OPT_TOPOLOGY_MANAGER_POLICY_OPTIONS, SETTING_TOPOLOGY_MANAGER_POLICY_OPTIONS},
		{OPT_RESERVED_CPUS, SETTING_RESERVED_SYSTEM_CPUS},
	};
	struct settings_overrides overrides = {
		.kubelet_config = options->value[OPT_KUBELET_CONFIG],
		.kubelet_root = options->value[OPT_KUBELET_ROOT],
		.proc = options->value[OPT_PROC],
	};
	const char *release = options->value[OPT_KUBELET_VERSION];
	unsigned minor = 0;
	int r = release ? settings_parse_release(release, &minor, err) : 0;

	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		overrides.settings[flags[i].setting].value = options->value[flags[i].option];
		overrides.settings[flags[i].setting].from = options->origin[flags[i].option];
	}
	r = settings_find(options->value[OPT_SYSROOT], &overrides, ret, ret_root, notes, err);
	if (r == 0)
		ret->kubelet_minor = minor;
	return r;
}

/* ---- allocations */

#define UNIX_SCHEME "unix://"

int observe_socket(const struct options *options, const char *kubelet_root, char **ret)
{
	const char *value = options->value[OPT_POD_RESOURCES];
	bool elsewhere = *options->value[OPT_SYSROOT] || option_set(options, OPT_MACHINE);
	char *socket = NULL;

	if (!strcmp(value, "none") || (!strcmp(value, "auto") && elsewhere)) {
		*ret = NULL;
		return 0;
	}
	if (!strncmp(value, UNIX_SCHEME, strlen(UNIX_SCHEME)))
		value += strlen(UNIX_SCHEME);
	if (strcmp(value, "auto") != 0)
		socket = strdup(value);
	else if (asprintf(&socket, "%s/pod-resources/kubelet.sock", kubelet_root) < 0)
		socket = NULL;
	if (!socket)
		return -ENOMEM;
	*ret = socket;
	return 0;
}

/* The client for the socket, kept while that stays the same. */
static int open_api(struct sources *sources, const struct options *options, const char *kubelet_root)
{
	CLEANUP(freep) char *socket = NULL;
	struct pod_resources_client *client = NULL;
	int r = observe_socket(options, kubelet_root, &socket);

	if (r < 0 || (socket && sources->socket && !strcmp(socket, sources->socket)))
		return r;
	if (socket)
		r = pod_resources_client_new(socket, sources->cancel, &client);
	if (r < 0)
		return r;
	pod_resources_client_free(sources->api);
	free(sources->socket);
	sources->api = client;
	sources->socket = TAKE(socket);
	return 0;
}

/* The managers' policies, where nothing else tells them: the API lists what is allocatable of CPUs and memory
 * under the static policies only. */
static int settings_from_api(struct settings *s, const struct pod_resources *api)
{
	static const char from[] = "the pod-resources API";
	int r = 0;

	if (!api->allocatable_known)
		return 0;
	if (s->cpu_manager == CPU_MANAGER_UNKNOWN) {
		s->cpu_manager =
			hwloc_bitmap_iszero(api->allocatable_cpus) ? CPU_MANAGER_NONE : CPU_MANAGER_STATIC;
		r = settings_set_from(s, SETTING_CPU_MANAGER_POLICY, from);
	}
	if (r == 0 && s->memory_manager == MEMORY_MANAGER_UNKNOWN) {
		s->memory_manager =
			api->n_allocatable_memory > 0 ? MEMORY_MANAGER_STATIC : MEMORY_MANAGER_NONE;
		r = settings_set_from(s, SETTING_MEMORY_MANAGER_POLICY, from);
	}
	return r;
}

static void take_answer(struct allocations_answer *a, struct observation *o)
{
	o->from_files = a->from_files;
	o->from_api = a->from_api;
	o->contradictions = a->contradictions;
	o->allocations = a->all;
	allocations_init(&a->all);
	o->pods_known = a->from_api;
	o->pods = TAKE(a->api.pods);
	o->n_pods = a->api.n_pods;
	o->pods_size = a->api.pods_size;
	a->api.n_pods = a->api.pods_size = 0;
	if (a->from_api && a->api.allocatable_known)
		o->allocatable_cpus = TAKE(a->api.allocatable_cpus);
}

static int read_allocations(
	struct sources *sources, const struct options *options, struct observation *o, struct err *err)
{
	CLEANUP(allocations_answer_release) struct allocations_answer a;
	struct allocations_query q = {.sysroot = options->value[OPT_SYSROOT],
		.kubelet_root = o->kubelet_root,
		.files = strcmp(options->value[OPT_STATE_FILES], "none") != 0,
		.api_named = options->origin[OPT_POD_RESOURCES] != NULL,
		.machine = &o->machine};
	int r = open_api(sources, options, o->kubelet_root);

	allocations_answer_init(&a);
	if (r < 0)
		return err_set(err, r, "out of memory");
	q.api = sources->api;
	r = allocations_read(&q, &a, &o->notes, err);
	if (r < 0)
		return r;
	r = settings_check_state(&o->settings, &a.policies, &o->notes);
	if (r == 0 && a.from_api)
		r = settings_from_api(&o->settings, &a.api);
	take_answer(&a, o);
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}

/* ---- reserved CPUs and inventory */

/* The CPUs that the kubelet does not allocate, as it tells itself: it knows better than its configuration,
 * which may have been changed since it started. *ret_known: it tells. */
static int observe_reserved(const struct options *options, const struct observation *o,
	struct reserved_cpus *ret, bool *ret_known)
{
	hwloc_bitmap_t set;

	*ret_known = o->allocatable_cpus && !hwloc_bitmap_iszero(o->allocatable_cpus) &&
		     !option_set(options, OPT_RESERVED_CPUS);
	if (!*ret_known)
		return 0;
	set = hwloc_bitmap_alloc();
	if (!set || hwloc_bitmap_andnot(set, o->machine.online, o->allocatable_cpus) < 0) {
		hwloc_bitmap_free(set);
		return -ENOMEM;
	}
	ret->cpus = set;
	ret->observed = true;
	ret->from = strdup("the pod-resources API");
	return ret->from ? 0 : -ENOMEM;
}

static int make_reserved(const struct options *options, struct observation *o, struct err *err)
{
	bool known = false;
	int r = observe_reserved(options, o, &o->reserved, &known);

	if (r < 0)
		return err_set(err, r, "out of memory");
	return known ? 0 : model_reserved_cpus(&o->machine, &o->settings, &o->reserved, err);
}

/* Where no file tells the shared pool: what is allocatable and not held, and unless they are kept apart what
 * is reserved. */
static int make_shared(struct observation *o)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t held = NULL;
	CLEANUP(cpuset_freep) hwloc_bitmap_t shared = NULL;

	if (o->allocations.shared || !o->reserved.observed)
		return 0;
	held = model_exclusive_cpus(&o->allocations);
	shared = hwloc_bitmap_dup(
		o->settings.cpu_options.strict_cpu_reservation ? o->allocatable_cpus : o->machine.online);
	if (!held || !shared || hwloc_bitmap_andnot(shared, shared, held) < 0)
		return -ENOMEM;
	o->allocations.shared = TAKE(shared);
	return 0;
}

static int count_zones(const struct options *options, struct observation *o, struct notes *notes)
{
	CLEANUP(zone_filter_view_release) struct allocations view = {0};
	bool filtered = zone_filter_has_namespaces(options);
	int r = filtered ? zone_filter_view(options, &o->allocations, &view) : 0;

	if (r == 0)
		r = model_inventory(&o->machine, &o->settings, filtered ? &view : &o->allocations,
			o->reserved.cpus, &o->inventory, notes);
	if (r < 0)
		return r;
	if (filtered && !o->from_api)
		notes_add(notes, "%s: no source tells the pods' namespaces; all pods count",
			options->origin[OPT_NAMESPACE]);
	zone_filter_resources(options, &o->inventory);
	return 0;
}

static int make_inventory(
	const struct options *options, struct observation *o, struct notes *notes, struct err *err)
{
	int r = make_reserved(options, o, err);

	if (r < 0)
		return r;
	r = make_shared(o);
	if (r == 0)
		r = count_zones(options, o, notes);
	return r < 0 || o->notes.error < 0 ? err_set(err, -ENOMEM, "out of memory") : 0;
}

int observe_again(const struct options *options, struct observation *o, struct err *err)
{
	reserved_cpus_release(&o->reserved);
	inventory_release(&o->inventory);
	return make_inventory(options, o, NULL, err);
}

/* Every step; what was read before a failure stays in `o` for its owner to release. */
static int read_all(
	struct sources *sources, const struct options *options, struct observation *o, struct err *err)
{
	int r = node_name_find(options->value[OPT_NODE_NAME], &o->node_name, err);

	if (r == 0)
		r = read_machine(sources, options, &o->machine, err);
	if (r == 0)
		r = observe_settings(options, &o->settings, &o->kubelet_root, &o->notes, err);
	if (r == 0)
		r = read_allocations(sources, options, o, err);
	return r < 0 ? r : make_inventory(options, o, &o->notes, err);
}

int observe_with(
	struct sources *sources, const struct options *options, struct observation *ret, struct err *err)
{
	CLEANUP(observation_release) struct observation o;
	int r;

	observation_init(&o);
	r = read_all(sources, options, &o, err);
	if (r < 0)
		return r;
	*ret = o;
	observation_init(&o);
	return 0;
}

int observe(const struct options *options, struct observation *ret, struct err *err)
{
	CLEANUP(sources_release) struct sources sources = {0};

	return observe_with(&sources, options, ret, err);
}

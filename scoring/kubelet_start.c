/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/kubelet_start.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/resource.h"
#include "common/settings_table.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "scoring/cpu_manager.h"
#include "scoring/kubelet_release.h"
#include "scoring/kubelet_version.h"

static struct kubelet_start_problem *add_problem(
	struct kubelet_start_problems *p, enum setting setting, const char *remedy)
{
	assert(p->n < KUBELET_START_PROBLEMS_MAX);
	p->items[p->n] = (struct kubelet_start_problem){.setting = setting, .remedy = remedy};
	return &p->items[p->n++];
}

static void print_bytes(qty_t bytes, char text[QUANTITY_TEXT_MAX])
{
	quantity_print((struct quantity){.nano = bytes, .format = QUANTITY_BINARY_SI}, text);
}

/* ---- what was refused when the settings were read */

static void add_refused(const struct settings *s, enum setting what, struct kubelet_start_problems *p)
{
	err_set(&add_problem(p, what, "correct or remove what the kubelet refuses")->what, 0, "%s: %.180s",
		settings_table[what].name, s->refused[what]);
}

static void check_refused(const struct settings *s, struct kubelet_start_problems *p)
{
	for (enum setting what = 0; what < SETTING_COUNT; what++)
		if (s->refused[what] && what != SETTING_FEATURE_GATES) {
			add_refused(s, what, p);
			break;
		}
	if (!s->refused[SETTING_FEATURE_GATES])
		return;
	add_refused(s, SETTING_FEATURE_GATES, p);
	p->items[p->n - 1].doubtful = strstr(s->refused[SETTING_FEATURE_GATES], "unrecognized") != NULL;
}

/* ---- reserved CPUs */

/* getReservedCPUs() */
static void check_reserved_list(const struct kubelet_start *start, struct kubelet_start_problems *p)
{
	hwloc_const_bitmap_t list = start->settings->reserved_system_cpus;
	CLEANUP(cpuset_freep) hwloc_bitmap_t missing = NULL;
	CLEANUP(cpuset_freep) hwloc_bitmap_t all = NULL;
	CLEANUP(freep) char *text = NULL;
	struct kubelet_start_problem *problem;

	if (!list || hwloc_bitmap_iszero(list) || start->reserved)
		return;
	all = machine_counted_cpus(start->machine);
	missing = cpuset_dup(list);
	cpuset_andnot(missing, missing, all);
	if (hwloc_bitmap_iszero(missing))
		return;
	problem = add_problem(p, SETTING_RESERVED_SYSTEM_CPUS,
		"name CPUs in reservedSystemCPUs that the machine has and that are online, or bring them online");
	problem->doubtful =
		start->machine->offline && hwloc_bitmap_isincluded(missing, start->machine->offline);
	text = cpuset_print(missing);
	err_set(&problem->what, 0,
		"reservedSystemCPUs names CPUs %.120s, which are not online on this machine", text);
}

/* ---- options of the policies */

/* The text from the next option of "NAME=VALUE,NAME=VALUE" on, or NULL. */
static const char *next_option_text(const char *at)
{
	const char *comma = strchr(at, ',');

	return comma ? comma + 1 : NULL;
}

/* Whether "NAME=..." is in the text "NAME=VALUE,NAME=VALUE". */
static bool option_is_named(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = text; at; at = next_option_text(at))
		if (!strncmp(at, name, n) && at[n] == '=')
			return true;
	return false;
}

/* Whether the setting names the option, or the option has another value than the kubelet's default. */
static bool option_is_given(const struct settings *s, const struct policy_option *o)
{
	return policy_option_value(o, s) != o->fallback ||
	       option_is_named(setting_options_text(s, o->setting), o->name);
}

/* The feature gate that the option needs and that is off, or NULL. */
static const char *find_missing_gate(const struct settings *s, const struct policy_option *o)
{
	bool of_cpus = o->setting == SETTING_CPU_MANAGER_POLICY_OPTIONS;
	const char *alpha_gate =
		of_cpus ? "CPUManagerPolicyAlphaOptions" : "TopologyManagerPolicyAlphaOptions";
	const char *beta_gate = of_cpus ? "CPUManagerPolicyBetaOptions" : "TopologyManagerPolicyBetaOptions";
	unsigned minor = s->kubelet_minor > 0 ? s->kubelet_minor : KUBELET_MINOR_ASSUMED;

	if (o->stable > 0 && minor >= o->stable)
		return NULL;
	if (o->beta > 0 && minor >= o->beta)
		return kubelet_gate_on_by_text(s->feature_gates_text, beta_gate, 'B') ? NULL : beta_gate;
	return kubelet_gate_on_by_text(s->feature_gates_text, alpha_gate, 'a') ? NULL : alpha_gate;
}

/* False: no problem was added. */
static bool add_missing_gate(struct kubelet_start_problems *p, const struct settings *s, enum setting setting)
{
	if (!s->from[SETTING_FEATURE_GATES]) /* the gates are not known */
		return false;
	for (size_t i = 0; i < POLICY_OPTION_COUNT; i++) {
		const struct policy_option *o = &policy_options[i];
		const char *gate;

		if (o->setting != setting || !policy_option_is_released(o) || !option_is_given(s, o))
			continue;
		gate = find_missing_gate(s, o);
		if (!gate)
			continue;
		err_set(&add_problem(
				p, setting, "enable this feature gate in featureGates, or remove the option")
				 ->what,
			0, "%s: the option %s needs the feature gate %s", settings_table[setting].name,
			o->name, gate);
		return true;
	}
	return false;
}

/* The minor release that introduced the option. */
static unsigned first_release_of(const struct policy_option *o)
{
	if (o->alpha > 0)
		return o->alpha;
	return o->beta > 0 ? o->beta : o->stable;
}

/* The first option of the setting's text that this kubelet does not have; a new string, or NULL. */
static char *find_unknown_option(const struct settings *s, enum setting setting)
{
	for (const char *at = setting_options_text(s, setting); at; at = next_option_text(at)) {
		const char *equals = strchr(at, '=');
		CLEANUP(freep) char *name = xstrndup(at, equals ? (size_t)(equals - at) : strlen(at));
		const struct policy_option *o = policy_option_of(setting, name);

		if (!o || s->kubelet_minor < first_release_of(o))
			return TAKE(name);
	}
	return NULL;
}

/* A kubelet that nrtd knows has no other options. False: no problem was added. */
static bool add_unknown_option(
	struct kubelet_start_problems *p, const struct settings *s, enum setting setting)
{
	CLEANUP(freep) char *name = NULL;

	if (s->kubelet_minor == 0 || !kubelet_is_compared(settings_kubelet(s)))
		return false;
	name = find_unknown_option(s, setting);
	if (!name)
		return false;
	err_set(&add_problem(p, setting, "correct the option's name, or remove the option")->what, 0,
		"%s: the kubelet has no option '%.60s'", settings_table[setting].name, name);
	return true;
}

/* ---- the Topology Manager */

/* Whether some NUMA node has no known distance: cadvisor did not find the node's file. */
static bool lacks_distances(const struct machine *m)
{
	for (size_t i = 0; i < m->n_nodes; i++) {
		bool any = m->nodes[i].lists_distances;

		for (size_t k = 0; k < m->n_nodes && !any; k++)
			any = machine_distance(m, i, k) > 0;
		if (!any)
			return true;
	}
	return false;
}

/* NewPolicyOptions(). True: a problem was added. */
static bool check_topology_options(const struct settings *s, struct kubelet_start_problems *p)
{
	static const enum setting setting = SETTING_TOPOLOGY_MANAGER_POLICY_OPTIONS;
	struct kubelet_start_problem *problem;

	if (add_unknown_option(p, s, setting) || add_missing_gate(p, s, setting))
		return true;
	if (s->topology.max_numa_nodes >= TOPOLOGY_MANAGER_DEFAULT_MAX_NUMA_NODES)
		return false;
	problem = add_problem(p, setting, "set max-allowable-numa-nodes to 8 or more, or remove it");
	problem->no_model = true;
	err_set(&problem->what, 0, "max-allowable-numa-nodes %u is below %u", s->topology.max_numa_nodes,
		TOPOLOGY_MANAGER_DEFAULT_MAX_NUMA_NODES);
	return true;
}

/* topologymanager.NewManager(). With policy none the Topology Manager reads nothing else. */
static void check_topology(const struct kubelet_start *start, struct kubelet_start_problems *p)
{
	const struct settings *s = start->settings;
	struct kubelet_start_problem *problem;

	if (s->topology.policy == TOPOLOGY_MANAGER_NONE || s->topology.policy == TOPOLOGY_MANAGER_UNKNOWN ||
		check_topology_options(s, p))
		return;
	/* Where the options are not read from the kubelet, off the node, unknown distances are no proof. */
	if (s->topology.prefer_closest_numa_nodes && s->from[SETTING_TOPOLOGY_MANAGER_POLICY_OPTIONS] &&
		lacks_distances(start->machine)) {
		problem = add_problem(p, SETTING_TOPOLOGY_MANAGER_POLICY_OPTIONS,
			"remove prefer-closest-numa-nodes from topologyManagerPolicyOptions");
		problem->doubtful = true; /* a file of hwloc may lack what the kernel lists */
		err_set(&problem->what, 0,
			"prefer-closest-numa-nodes is set, and the kernel lists no distances of NUMA nodes");
		return;
	}
	if (start->machine->n_nodes <= s->topology.max_numa_nodes)
		return;
	problem = add_problem(p, SETTING_TOPOLOGY_MANAGER_POLICY,
		"set max-allowable-numa-nodes in topologyManagerPolicyOptions, or topologyManagerPolicy none, or let the firmware make fewer NUMA nodes (NPS, SNC)");
	problem->no_model = true;
	err_set(&problem->what, 0, "%zu NUMA nodes, max-allowable-numa-nodes is %u", start->machine->n_nodes,
		s->topology.max_numa_nodes);
}

/* ---- the CPU manager */

static bool has_cpu_options(const struct settings *s)
{
	bool any = s->cpu_options_text && *s->cpu_options_text;

	for (size_t i = 0; i < POLICY_OPTION_COUNT; i++)
		any = any || (policy_options[i].setting == SETTING_CPU_MANAGER_POLICY_OPTIONS &&
				     policy_option_value(&policy_options[i], s) > 0);
	return any;
}

/* The CPUs of kubeReserved and systemReserved; false = unknown, or reservedSystemCPUs decides. */
static bool reserved_amount(const struct settings *s, qty_t *ret)
{
	*ret = s->kube_reserved_cpu + s->system_reserved_cpu;
	return s->reserved_known &&
	       (!s->reserved_system_cpus || hwloc_bitmap_iszero(s->reserved_system_cpus));
}

/* NewStaticPolicyOptions() and ValidateStaticPolicyOptions() */
static void check_static_options(const struct kubelet_start *start, struct kubelet_start_problems *p)
{
	static const enum setting setting = SETTING_CPU_MANAGER_POLICY_OPTIONS;
	const struct settings *s = start->settings;
	const char *conflict;
	struct kubelet_start_problem *problem;

	if (add_unknown_option(p, s, setting) || add_missing_gate(p, s, setting))
		return;
	conflict = start->topology ? cpu_manager_options_conflict(
					     &s->cpu_options, s->topology.policy, start->topology)
				   : NULL;
	if (!conflict)
		return;
	problem = add_problem(p, setting, "remove one of what excludes the other");
	problem->no_model = true;
	err_set(&problem->what, 0, "%s", conflict);
}

/* cpumanager.NewManager(), without the choice of the reserved CPUs */
static void check_cpus(const struct kubelet_start *start, struct kubelet_start_problems *p)
{
	const struct settings *s = start->settings;
	struct kubelet_start_problem *problem;
	qty_t amount;

	if (s->cpu_manager == CPU_MANAGER_NONE && !s->assumed[SETTING_CPU_MANAGER_POLICY] &&
		has_cpu_options(s))
		err_set(&add_problem(p, SETTING_CPU_MANAGER_POLICY_OPTIONS,
				"remove cpuManagerPolicyOptions, or set cpuManagerPolicy static")
				 ->what,
			0, "cpuManagerPolicy none takes no cpuManagerPolicyOptions");
	if (s->cpu_manager != CPU_MANAGER_STATIC)
		return;
	if (!start->reserved && reserved_amount(s, &amount) && amount == 0) {
		problem = add_problem(p, SETTING_RESERVED_SYSTEM_CPUS,
			"set reservedSystemCPUs, or cpu in kubeReserved or systemReserved");
		problem->no_model = true;
		err_set(&problem->what, 0, "policy static needs reserved CPUs");
		return;
	}
	check_static_options(start, p);
}

/* ---- the memory manager */

static bool is_reserved_before(const struct settings *s, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (s->memory_reservations[k].node == s->memory_reservations[i].node &&
			!strcmp(s->memory_reservations[k].type, s->memory_reservations[i].type))
			return true;
	return false;
}

/* validateReservedMemoryConfiguration(), whatever the memory manager's policy is. True: a problem was added. */
static bool check_memory_syntax(const struct settings *s, struct kubelet_start_problems *p)
{
	static const char remedy[] = "correct this entry of reservedMemory";

	for (size_t i = 0; i < s->n_memory_reservations; i++) {
		const struct memory_reservation *m = &s->memory_reservations[i];
		struct err *what;

		if (m->bytes > 0 && !is_reserved_before(s, i) &&
			(!strcmp(m->type, "memory") || resource_name_is_hugepages(m->type)))
			continue;
		what = &add_problem(p, SETTING_RESERVED_MEMORY, remedy)->what;
		if (strcmp(m->type, "memory") != 0 && !resource_name_is_hugepages(m->type))
			err_set(what, 0,
				"reservedMemory reserves %.60s, which is neither memory nor hugepages",
				m->type);
		else if (m->bytes <= 0)
			err_set(what, 0, "reservedMemory reserves 0 of %.60s on NUMA node %u", m->type,
				m->node);
		else
			err_set(what, 0, "reservedMemory reserves %.60s on NUMA node %u twice", m->type,
				m->node);
		return true;
	}
	return false;
}

qty_t kubelet_start_reserved_memory(const struct settings *s)
{
	qty_t sum = 0;

	for (size_t i = 0; i < s->n_memory_reservations; i++)
		if (!strcmp(s->memory_reservations[i].type, "memory"))
			sum = qty_add(sum, s->memory_reservations[i].bytes);
	return sum;
}

/* validateReservedMemory(): one reservation under policy Static. True: a problem was added. */
static bool check_reservation(
	const struct machine *machine, const struct memory_reservation *m, struct kubelet_start_problems *p)
{
	struct kubelet_start_problem *problem;
	char text[QUANTITY_TEXT_MAX];

	if (machine_node_index(machine, m->node) < 0) {
		problem = add_problem(
			p, SETTING_RESERVED_MEMORY, "name NUMA nodes in reservedMemory that the machine has");
		problem->doubtful = true;
		err_set(&problem->what, 0,
			"reservedMemory names NUMA node %u, which the machine does not have", m->node);
		return true;
	}
	print_bytes(m->bytes, text);
	if (strcmp(m->type, "memory") != 0) {
		err_set(&add_problem(p, SETTING_RESERVED_MEMORY, "remove hugepages from reservedMemory")
				 ->what,
			0,
			"reservedMemory reserves %s of %.60s, which kubeReserved and systemReserved cannot reserve",
			text, m->type);
		return true;
	}
	if (m->bytes % QTY_UNIT == 0)
		return false;
	err_set(&add_problem(p, SETTING_RESERVED_MEMORY, "reserve whole bytes")->what, 0,
		"reservedMemory reserves %s of memory on NUMA node %u, which is not a whole number of bytes",
		text, m->node);
	return true;
}

static void check_memory(const struct kubelet_start *start, struct kubelet_start_problems *p)
{
	const struct settings *s = start->settings;
	qty_t sum = kubelet_start_reserved_memory(s), reserved;
	char texts[2][QUANTITY_TEXT_MAX];

	/* Without reservedMemory itself, as in a node's object, only its effects are known. */
	if (!s->from[SETTING_RESERVED_MEMORY] || check_memory_syntax(s, p) ||
		s->memory_manager != MEMORY_MANAGER_STATIC || s->assumed[SETTING_MEMORY_MANAGER_POLICY])
		return;
	for (size_t i = 0; i < s->n_memory_reservations; i++)
		if (check_reservation(start->machine, &s->memory_reservations[i], p))
			return;
	reserved = s->kube_reserved_memory + s->system_reserved_memory + start->eviction;
	if (!start->eviction_known || (sum == reserved && sum > 0))
		return;
	print_bytes(sum, texts[0]);
	print_bytes(reserved, texts[1]);
	err_set(&add_problem(p, SETTING_RESERVED_MEMORY,
			"reserve ordinary memory only, and as much of it in reservedMemory as in kubeReserved, systemReserved and evictionHard (memory.available) together")
			 ->what,
		0,
		"reservedMemory reserves %s of memory, and kubeReserved, systemReserved and evictionHard %s",
		texts[0], texts[1]);
}

/* ---- the amounts of the node */

/* validateNodeAllocatable() of pkg/kubelet/cm: what is reserved must not exceed the machine. */
static void check_amounts(const struct kubelet_start *start, struct kubelet_start_problems *p)
{
	static const char remedy[] =
		"reserve less in kubeReserved, systemReserved and evictionHard than the machine has";
	const struct settings *s = start->settings;
	qty_t memory = s->kube_reserved_memory + s->system_reserved_memory + start->eviction;
	qty_t capacity = (qty_t)start->machine->memory_bytes * QTY_UNIT, cpus;
	CLEANUP(cpuset_freep) hwloc_bitmap_t all = NULL;
	struct kubelet_start_problem *problem;
	char texts[2][QUANTITY_TEXT_MAX];

	if (start->eviction_known && s->reserved_known && capacity > 0 && memory > capacity) {
		problem = add_problem(p, SETTING_KUBE_RESERVED, remedy);
		problem->doubtful = problem->of_memory = true;
		print_bytes(memory, texts[0]);
		print_bytes(capacity, texts[1]);
		err_set(&problem->what, 0, "%s of memory are reserved, and the machine has %s", texts[0],
			texts[1]);
		return;
	}
	if (!reserved_amount(s, &cpus))
		return;
	all = machine_counted_cpus(start->machine);
	if (cpus <= (qty_t)cpuset_size(all) * QTY_UNIT)
		return;
	problem = add_problem(p, SETTING_KUBE_RESERVED, remedy);
	problem->doubtful = true;
	quantity_print((struct quantity){.nano = cpus, .format = QUANTITY_DECIMAL_SI}, texts[0]);
	err_set(&problem->what, 0, "%s CPUs are reserved, and the machine has %zu", texts[0],
		cpuset_size(all));
}

/* ---- all rules */

void kubelet_start_find(const struct kubelet_start *start, struct kubelet_start_problems *ret)
{
	ret->n = 0;
	check_refused(start->settings, ret);
	check_reserved_list(start, ret);
	check_topology(start, ret);
	check_cpus(start, ret);
	check_memory(start, ret);
	check_amounts(start, ret);
}

static bool has_problem_of_cpus(const struct kubelet_start_problems *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->items[i].setting == SETTING_CPU_MANAGER_POLICY_OPTIONS ||
			p->items[i].setting == SETTING_RESERVED_SYSTEM_CPUS ||
			(p->items[i].setting == SETTING_KUBE_RESERVED && !p->items[i].of_memory))
			return true;
	return false;
}

/* The choice of the reserved CPUs, if only their number is configured (NewStaticPolicy()). */
static void try_reserved(const struct kubelet_start *start, struct kubelet_start_problems *p)
{
	const struct settings *s = start->settings;
	const struct kubelet_version version = kubelet_version_of(s->kubelet_minor);
	CLEANUP(cpu_manager_release) struct cpu_manager manager = {0};
	struct kubelet_start_problem *problem;
	struct err err = {""};
	qty_t amount;

	if (s->cpu_manager != CPU_MANAGER_STATIC || !reserved_amount(s, &amount) || has_problem_of_cpus(p))
		return;
	if (cpu_manager_init(&manager, start->topology, &s->cpu_options, s->topology.policy, &version, NULL,
		    cpu_manager_reserved_count(amount), &err) != -EINVAL)
		return;
	problem = add_problem(p, SETTING_KUBE_RESERVED,
		"name the reserved CPUs in reservedSystemCPUs, or reserve a number of whole cores");
	problem->no_model = true;
	problem->what = err;
}

void kubelet_start_try(const struct kubelet_start *start, struct kubelet_start_problems *ret)
{
	CLEANUP(cpu_topology_release) struct cpu_topology topology = {0};
	struct kubelet_start with = *start;

	with.topology = cpu_topology_init(&topology, start->machine) == 0 ? &topology : NULL;
	kubelet_start_find(&with, ret);
	if (with.topology)
		try_reserved(&with, ret);
}

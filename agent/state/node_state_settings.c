/* SPDX-License-Identifier: Apache-2.0 */
/* The kubelet's settings, as sections of the node state. */
#include "agent/state/node_state_sections.h"

#include <inttypes.h>
#include <string.h>

#include "agent/state/node_derive.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "scoring/kubelet.h"

#define GATES_MAX 256u /* bytes; twice the names of all gates */

#define MAX_RELEASE    1000u
#define PREFER_CLOSEST "prefer-closest-numa-nodes"

static const char *const cpu_options[] = {"full-pcpus-only", "distribute-cpus-across-numa", "align-by-socket",
	"distribute-cpus-across-cores", "strict-cpu-reservation", "prefer-align-cpus-by-uncorecache"};

/* ---- the release */

/* A reader without this section assumes a release; older readers skip it. */
static bool print_prerelease(const struct node_state_printer *p)
{
	char text[KUBELET_RELEASE_TEXT_MAX];
	const char *prerelease;

	kubelet_release_print(settings_kubelet(&p->state->settings), text);
	prerelease = strchr(text, '-');
	strbuf_addstr(p->out, prerelease ? prerelease + 1 : "");
	return prerelease != NULL;
}

static void parse_prerelease(struct node_state_parser *p)
{
	const char *end;

	p->state.settings.kubelet_prerelease = kubelet_prerelease_parse(p->reader.at, &end);
	if (p->state.settings.kubelet_minor == 0 || p->state.settings.kubelet_prerelease == 0)
		token_reader_fail(&p->reader, "not a pre-release");
	else
		p->reader.at = end;
}

/* ---- policies */

static bool print_kubelet(const struct node_state_printer *p)
{
	strbuf_addf(p->out, "%u", p->state->settings.kubelet_minor);
	return p->state->settings.kubelet_minor > 0;
}

static void parse_kubelet(struct node_state_parser *p)
{
	p->state.settings.kubelet_minor = (unsigned)token_reader_number(&p->reader, MAX_RELEASE);
}

static void add_policy(struct strbuf *out, const char *const *names, int policy)
{
	strbuf_addstr(out, policy == 0 ? "?" : names[policy]);
}

/* A policy's position in its table of names, 0 for "?". */
static int read_policy(struct token_reader *r, const char *const *names, size_t count)
{
	CLEANUP(freep) char *name = token_reader_skip(r, '?') ? NULL : token_reader_name(r);
	int policy = name ? settings_name_index(names, count, name) : 0;

	if (policy < 0)
		token_reader_fail(r, "an unknown policy");
	return policy < 0 ? 0 : policy;
}

static bool print_cpu_policy(const struct node_state_printer *p)
{
	struct settings s = p->state->settings;

	add_policy(p->out, cpu_manager_policy_names, (int)s.cpu_manager);
	for (size_t i = 0; i < ARRAY_SIZE(cpu_options); i++)
		if (*cpu_manager_option(&s.cpu_options, cpu_options[i]))
			strbuf_addf(p->out, ",%s", cpu_options[i]);
	/* A reader that does not know the option gives no verdict; a later nrtd may know the option. */
	if (s.cpu_manager == CPU_MANAGER_STATIC && s.unknown_cpu_option) {
		strbuf_addch(p->out, ',');
		token_add_name(p->out, s.unknown_cpu_option);
	}
	return true;
}

/* Sets *unknown, for which verdicts are unknown: the writer may have had an option that this version does not know. Only one is written. */
static void take_unknown(struct token_reader *r, char *name, char **unknown, const char *what)
{
	if (name && *name && !*unknown)
		*unknown = name;
	else
		free(name);
	if (*unknown != name)
		token_reader_fail(r, "%s", what);
}

static void parse_cpu_policy(struct node_state_parser *p)
{
	struct settings *s = &p->state.settings;
	struct token_reader *r = &p->reader;

	s->cpu_manager =
		(enum cpu_manager_policy)read_policy(r, cpu_manager_policy_names, CPU_MANAGER_POLICY_COUNT);
	while (token_reader_skip(r, ',')) {
		CLEANUP(freep) char *name = token_reader_name(r);
		bool *option = name ? cpu_manager_option(&s->cpu_options, name) : NULL;

		if (option)
			*option = true;
		else if (s->cpu_manager == CPU_MANAGER_STATIC)
			take_unknown(r, TAKE(name), &s->unknown_cpu_option, "a second unknown option");
		else
			token_reader_fail(r, "an option of a policy without options");
	}
}

static bool print_memory_policy(const struct node_state_printer *p)
{
	add_policy(p->out, memory_manager_policy_names, (int)p->state->settings.memory_manager);
	return true;
}

static void parse_memory_policy(struct node_state_parser *p)
{
	p->state.settings.memory_manager = (enum memory_manager_policy)read_policy(
		&p->reader, memory_manager_policy_names, MEMORY_MANAGER_POLICY_COUNT);
}

/* A kubelet accepts any number; all numbers above this limit mean the same. */
static unsigned limit_max_numa_nodes(const struct topology_manager_config *t)
{
	return t->max_numa_nodes < TOPOLOGY_MANAGER_MOST_MAX_NUMA_NODES
		       ? t->max_numa_nodes
		       : TOPOLOGY_MANAGER_MOST_MAX_NUMA_NODES;
}

static bool print_topology_policy(const struct node_state_printer *p)
{
	const struct topology_manager_config *t = &p->state->settings.topology;

	add_policy(p->out, topology_manager_policy_names, (int)t->policy);
	strbuf_addch(p->out, ',');
	add_policy(p->out, topology_manager_scope_names, (int)t->scope);
	strbuf_addf(p->out, ",%u%s", limit_max_numa_nodes(t),
		t->prefer_closest_numa_nodes ? "," PREFER_CLOSEST : "");
	if (t->policy != TOPOLOGY_MANAGER_NONE && p->state->settings.unknown_topology_option) {
		strbuf_addch(p->out, ',');
		token_add_name(p->out, p->state->settings.unknown_topology_option);
	}
	return true;
}

static void parse_topology_policy(struct node_state_parser *p)
{
	struct topology_manager_config *t = &p->state.settings.topology;
	struct token_reader *r = &p->reader;

	t->policy = (enum topology_manager_policy)read_policy(
		r, topology_manager_policy_names, TOPOLOGY_MANAGER_POLICY_COUNT);
	token_reader_expect(r, ',');
	t->scope = (enum topology_manager_scope)read_policy(
		r, topology_manager_scope_names, TOPOLOGY_SCOPE_COUNT);
	token_reader_expect(r, ',');
	t->max_numa_nodes = (unsigned)token_reader_number(r, TOPOLOGY_MANAGER_MOST_MAX_NUMA_NODES);
	t->prefer_closest_numa_nodes = token_reader_skip_word(r, "," PREFER_CLOSEST);
	if (!token_reader_skip(r, ','))
		return;
	if (t->policy == TOPOLOGY_MANAGER_NONE)
		token_reader_fail(r, "an option of a policy without options");
	else
		take_unknown(r, token_reader_name(r), &p->state.settings.unknown_topology_option,
			"an option without a name");
}

static bool print_gates(const struct node_state_printer *p)
{
	const struct settings *s = &p->state->settings;
	const char *unknown = kubelet_unknown_name(s), *comma = "";

	/* A reader may know the release from the Node. */
	if (s->kubelet_minor == 0)
		unknown = s->unknown_feature_gate;
	for (enum kubelet_gate i = 0; i < KUBELET_GATE_COUNT; i++) {
		if (!kubelet_gate_is_set(s, i))
			continue;
		strbuf_addf(p->out, "%s%s", comma, kubelet_gate_names[i]);
		comma = ",";
	}
	/* As for CPU manager options. */
	if (unknown) {
		strbuf_addstr(p->out, comma);
		token_add_name(p->out, unknown);
	}
	return *comma || unknown;
}

static bool read_gate(struct token_reader *r, struct strbuf *text)
{
	for (enum kubelet_gate i = 0; i < KUBELET_GATE_COUNT; i++) {
		if (!token_reader_skip_word(r, kubelet_gate_names[i]))
			continue;
		strbuf_addf(text, "%s%s=true", text->len > 0 ? "," : "", kubelet_gate_names[i]);
		return true;
	}
	return false;
}

static void parse_gates(struct node_state_parser *p)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(GATES_MAX);
	bool known;

	do
		known = read_gate(&p->reader, &text);
	while (known && token_reader_skip(&p->reader, ','));
	if (!known)
		take_unknown(&p->reader, token_reader_name(&p->reader),
			&p->state.settings.unknown_feature_gate, "a feature gate without a name");
	if (strbuf_error(&text) < 0)
		token_reader_fail(&p->reader, "too many feature gates");
	else if (text.len > 0)
		text_set(&p->state.settings.feature_gates_text, text.text);
}

/* ---- reservations */

/* Only if a running kubelet reports them: else they follow from the settings. */
static bool print_reserved_observed(const struct node_state_printer *p)
{
	if (p->state->reserved.observed)
		token_add_set(p->out, p->state->reserved.cpus, MACHINE_MAX_CPUS - 1);
	return p->state->reserved.observed;
}

static void parse_reserved_observed(struct node_state_parser *p)
{
	p->reserved = token_reader_set(&p->reader, MACHINE_MAX_CPUS - 1);
}

/* An empty list is the same as none. */
static bool print_reserved_list(const struct node_state_printer *p)
{
	hwloc_const_bitmap_t list = p->state->settings.reserved_system_cpus;
	bool any = list && !hwloc_bitmap_iszero(list);

	if (any)
		token_add_set(p->out, list, MACHINE_MAX_CPUS - 1);
	return any;
}

static void parse_reserved_list(struct node_state_parser *p)
{
	struct settings *s = &p->state.settings;

	s->reserved_system_cpus = token_reader_set(&p->reader, MACHINE_MAX_CPUS - 1);
	text_set(&s->from[SETTING_RESERVED_SYSTEM_CPUS], "the node state");
}

static bool print_reserved_cpu(const struct node_state_printer *p)
{
	const struct settings *s = &p->state->settings;

	token_add_quantity(p->out, s->kube_reserved_cpu + s->system_reserved_cpu);
	return s->reserved_cpu_known;
}

static void parse_reserved_cpu(struct node_state_parser *p)
{
	p->state.settings.kube_reserved_cpu = token_reader_quantity(&p->reader);
	p->state.settings.reserved_cpu_known = true;
}

static bool print_reserved_memory(const struct node_state_printer *p)
{
	qty_t sum = p->state->settings.kube_reserved_memory + p->state->settings.system_reserved_memory;

	token_add_quantity(p->out, sum);
	return sum != 0;
}

static void parse_reserved_memory(struct node_state_parser *p)
{
	p->state.settings.kube_reserved_memory = token_reader_quantity(&p->reader);
}

static bool print_eviction(const struct node_state_printer *p)
{
	token_add_quantity(p->out, node_derive_eviction_threshold(p->state));
	return p->state->settings.eviction_hard_memory != NULL;
}

static void parse_eviction(struct node_state_parser *p)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(QUANTITY_TEXT_MAX);

	token_add_quantity(&text, token_reader_quantity(&p->reader));
	if (!p->reader.error)
		text_set(&p->state.settings.eviction_hard_memory, text.text);
}

const struct node_state_section node_state_settings_sections[] = {
	{"kubelet", false, print_kubelet, parse_kubelet},
	{"?prerelease", false, print_prerelease, parse_prerelease},
	{"cpu", true, print_cpu_policy, parse_cpu_policy},
	{"memory", true, print_memory_policy, parse_memory_policy},
	{"topology", true, print_topology_policy, parse_topology_policy},
	{"gates", false, print_gates, parse_gates},
	{"reserved", false, print_reserved_observed, parse_reserved_observed},
	{"reserved-cpus", false, print_reserved_list, parse_reserved_list},
	{"reserved-cpu", false, print_reserved_cpu, parse_reserved_cpu},
	{"reserved-memory", false, print_reserved_memory, parse_reserved_memory},
	{"eviction", false, print_eviction, parse_eviction},
	{0},
};

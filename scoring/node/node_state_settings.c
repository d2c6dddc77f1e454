/* SPDX-License-Identifier: Apache-2.0 */
/* The kubelet's settings, as sections of the node state. */
#include "scoring/node/node_state_sections.h"

#include <inttypes.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/settings_table.h"
#include "common/text.h"
#include "scoring/kubelet.h"
#include "scoring/node/node_derive.h"
#include "scoring/node/node_start.h"

#define GATES_MAX 256u /* bytes; twice the names of all gates */

#define MAX_RELEASE 1000u

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

/* Written for a kubelet that runs although a reader would conclude from the other sections that the kubelet does not start. A reader does
 * not check reservedMemory, whose source the text omits. */
static bool print_started(const struct node_state_printer *p)
{
	const struct kubelet_start start = node_start_of(p->state, NULL);
	struct kubelet_start_problems problems = {.n = 0};
	bool reads_as_stopped = false;

	if (p->state->settings.started)
		kubelet_start_find(&start, &problems);
	for (size_t i = 0; i < problems.n; i++)
		reads_as_stopped =
			reads_as_stopped ||
			(!problems.items[i].doubtful && problems.items[i].setting != SETTING_RESERVED_MEMORY);
	strbuf_addch(p->out, '1');
	return reads_as_stopped;
}

static void parse_started(struct node_state_parser *p)
{
	if (token_reader_number(&p->reader, 1) == 1)
		p->state.settings.started = true;
	else
		token_reader_fail(&p->reader, "not 1");
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

/* A policy's position in its table of names, 0 for "?". */
static int read_policy_name(struct token_reader *r, const char *const *names, size_t count)
{
	CLEANUP(freep) char *name = token_reader_skip(r, '?') ? NULL : token_reader_name(r);
	int policy = name ? settings_name_index(names, count, name) : 0;

	if (policy < 0)
		token_reader_fail(r, "an unknown policy");
	return policy < 0 ? 0 : policy;
}

/* Whether the manager's policy has options. */
static bool has_options(const struct settings *s, enum kubelet_manager manager)
{
	return manager == MANAGER_CPU ? s->cpu_manager == CPU_MANAGER_STATIC
				      : s->topology.policy != TOPOLOGY_MANAGER_NONE;
}

/* The numbers, the names of the options that are on, and an option that nrtd does not know, each after a comma. */
static void print_options(struct settings *s, enum setting what, struct strbuf *out)
{
	const char *unknown = *(char **)setting_second(s, what);

	for (size_t i = 0; i < POLICY_OPTION_COUNT; i++) {
		const struct policy_option *o = &policy_options[i];
		unsigned value = policy_option_value(o, s);

		if (o->setting != what || !policy_option_is_released(o))
			continue;
		if (o->kind == OPTION_IS_NUMBER)
			strbuf_addf(out, ",%u", value < o->most ? value : o->most);
		else if (value > 0)
			strbuf_addf(out, ",%s", o->name);
	}
	/* A reader that does not know the option gives no verdict; a later nrtd may know the option. */
	if (unknown && has_options(s, settings_table[what].manager)) {
		strbuf_addch(out, ',');
		token_add_name(out, unknown);
	}
}

static bool print_manager(const struct node_state_printer *p, enum kubelet_manager manager)
{
	struct settings s = p->state->settings; /* a copy, because setting_second() takes no const */
	const char *comma = "";

	for (enum setting what = 0; what < SETTING_COUNT; what++) {
		const struct setting_row *row = &settings_table[what];
		unsigned choice;

		if (row->manager != manager)
			continue;
		if (row->kind == SETTING_IS_OPTIONS) {
			print_options(&s, what, p->out);
			continue;
		}
		choice = setting_choice(&s, what);
		strbuf_addf(p->out, "%s%s", comma, choice > 0 ? row->names[choice] : "?");
		comma = ",";
	}
	return true;
}

/* Sets *unknown to an option or gate that this version does not know: verdicts are then unknown. `name` moves. A writer writes only one
 * such name: a second one, or "", is a failure with the message `problem`. */
static void take_unknown(struct token_reader *r, char *name, char **unknown, const char *problem)
{
	if (name && *name && !*unknown) {
		*unknown = name;
		return;
	}
	/* Without effect if `name` is NULL, because the reader has failed then. */
	token_reader_fail(r, "%s", problem);
	free(name);
}

static void parse_option(struct node_state_parser *p, enum setting what)
{
	CLEANUP(freep) char *name = token_reader_name(&p->reader);
	const struct policy_option *o = name ? policy_option_of(what, name) : NULL;

	if (o && o->kind == OPTION_IS_BOOL)
		policy_option_set(o, true, &p->state.settings);
	else if (has_options(&p->state.settings, settings_table[what].manager))
		take_unknown(&p->reader, TAKE(name), setting_second(&p->state.settings, what),
			"a second unknown option");
	else
		token_reader_fail(&p->reader, "an option of a policy without options");
}

/* The numbers, in the order of the rows, and then the names: print_options() prints the rows in their order, so rows of numbers precede others. */
static void parse_options(struct node_state_parser *p, enum setting what)
{
	for (size_t i = 0; i < POLICY_OPTION_COUNT; i++) {
		const struct policy_option *o = &policy_options[i];

		if (o->setting != what || o->kind != OPTION_IS_NUMBER)
			continue;
		token_reader_expect(&p->reader, ',');
		policy_option_set(o, (unsigned)token_reader_number(&p->reader, o->most), &p->state.settings);
	}
	while (token_reader_skip(&p->reader, ','))
		parse_option(p, what);
}

static void parse_manager(struct node_state_parser *p, enum kubelet_manager manager)
{
	bool first = true;

	for (enum setting what = 0; what < SETTING_COUNT; what++) {
		const struct setting_row *row = &settings_table[what];

		if (row->manager != manager)
			continue;
		if (row->kind == SETTING_IS_OPTIONS) {
			parse_options(p, what);
			continue;
		}
		if (!first)
			token_reader_expect(&p->reader, ',');
		setting_set_choice(&p->state.settings, what,
			(unsigned)read_policy_name(&p->reader, row->names, row->n_names));
		first = false;
	}
}

static bool print_cpu_manager(const struct node_state_printer *p)
{
	return print_manager(p, MANAGER_CPU);
}

static void parse_cpu_manager(struct node_state_parser *p)
{
	parse_manager(p, MANAGER_CPU);
}

static bool print_memory_manager(const struct node_state_printer *p)
{
	return print_manager(p, MANAGER_MEMORY);
}

static void parse_memory_manager(struct node_state_parser *p)
{
	parse_manager(p, MANAGER_MEMORY);
}

static bool print_topology_manager(const struct node_state_printer *p)
{
	return print_manager(p, MANAGER_TOPOLOGY);
}

static void parse_topology_manager(struct node_state_parser *p)
{
	parse_manager(p, MANAGER_TOPOLOGY);
}

static bool print_gates(const struct node_state_printer *p)
{
	const struct settings *s = &p->state->settings;
	const char *unknown = kubelet_unknown_name(s), *comma = "";

	/* Without the release kubelet_unknown_name() may be NULL, but a reader may know the release from the Node. */
	if (s->kubelet_minor == 0)
		unknown = s->unknown_feature_gate;
	for (enum kubelet_gate i = 0; i < KUBELET_GATE_COUNT; i++) {
		if (!kubelet_gate_is_set(s, i))
			continue;
		strbuf_addf(p->out, "%s%s", comma, kubelet_gate_names[i]);
		comma = ",";
	}
	/* A reader that does not know the gate gives no verdict. */
	if (unknown) {
		strbuf_addstr(p->out, comma);
		token_add_name(p->out, unknown);
	}
	return *comma || unknown;
}

/* Appends "GATE=true" to the text. False: the next name is no gate that this version knows. */
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

/* Gates that are on, and after them at most one name that the writer did not know. */
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
	return s->reserved_known;
}

static void parse_reserved_cpu(struct node_state_parser *p)
{
	p->state.settings.kube_reserved_cpu = token_reader_quantity(&p->reader);
	p->state.settings.reserved_known = true;
	text_set(&p->state.settings.from[SETTING_KUBE_RESERVED], "the node state");
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
	{"?started", false, print_started, parse_started},
	{"cpu", true, print_cpu_manager, parse_cpu_manager},
	{"memory", true, print_memory_manager, parse_memory_manager},
	{"topology", true, print_topology_manager, parse_topology_manager},
	{"gates", false, print_gates, parse_gates},
	{"reserved", false, print_reserved_observed, parse_reserved_observed},
	{"reserved-cpus", false, print_reserved_list, parse_reserved_list},
	{"reserved-cpu", false, print_reserved_cpu, parse_reserved_cpu},
	{"reserved-memory", false, print_reserved_memory, parse_reserved_memory},
	{"eviction", false, print_eviction, parse_eviction},
	{0},
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe/settings_evidence.h"

#include <inttypes.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/settings_table.h"
#include "common/strbuf.h"
#include "common/text.h"
#include "scoring/node/node_derive.h"

#define API "the pod-resources API"

struct weighing {
	struct settings *s;
	enum evidence *evidence;
	const struct settings_proofs *proofs;
	struct notes *notes;
	bool contradicted; /* a weaker source does not describe this kubelet */
};

/* ---- contradictions */

/* Whether a proof replaces the stated value: unless the kubelet's process states the value. */
static bool proof_outweighs(const struct weighing *w, enum setting what)
{
	return w->evidence[what] < EVIDENCE_PROCESS;
}

/* Notes that `source` proves the value `proved` of the setting, and another source states another value. */
static void note_contradiction(struct weighing *w, enum setting what, const char *source, const char *proved)
{
	const char *from = w->s->from[what], *name = settings_table[what].name;
	CLEANUP(freep) char *stated = settings_text(w->s, what);

	if (!proof_outweighs(w, what))
		notes_add(w->notes,
			"%s was written under %s '%s', but %s says '%s': was the kubelet restarted?", source,
			name, proved, from ? from : "another source", stated);
	else if (w->evidence[what] == EVIDENCE_DEFAULT)
		notes_add(w->notes, "%s shows %s '%s', and no source that nrtd has found sets %s", source,
			name, proved, name);
	else
		notes_add(w->notes, "%s shows %s '%s', but %s says '%s'", source, name, proved,
			from ? from : "another source", stated);
}

/* ---- policies */

/* What proves a policy: a value of the setting, 0 = nothing. */
struct proof {
	const char *source;
	unsigned value;
};

/* The policy in a state file; nothing if the file is missing, or if its policy has no such name, with a note. */
static struct proof find_in_file(struct weighing *w, enum setting what)
{
	const struct setting_row *row = &settings_table[what];
	const struct state_policies *p = w->proofs->policies;
	bool cpu = row->evidence & PROVEN_BY_CPU_STATE;
	const char *name = cpu ? p->cpu : p->memory, *path = cpu ? p->cpu_path : p->memory_path;
	int found = name ? settings_name_index(row->names, row->n_names, name) : 0;

	if (found < 0)
		notes_add(w->notes, "%s: policyName '%.100s' is not a value of %s", path, name, row->name);
	return (struct proof){.source = path, .value = found > 0 ? (unsigned)found : 0};
}

/*
 * The pod-resources API lists allocatable CPUs and memory under the static policies only. If the kubelet's process states the setting, the
 * answer proves nothing: the kubelet may have given it before a restart with other settings.
 */
static struct proof find_in_pod_resources(const struct weighing *w, enum setting what)
{
	const struct pod_resources *api = w->proofs->api;
	struct proof proof = {.source = API};

	if (!api || !api->allocatable_known || w->evidence[what] >= EVIDENCE_PROCESS)
		return proof;
	if (what == SETTING_CPU_MANAGER_POLICY)
		proof.value =
			hwloc_bitmap_iszero(api->allocatable_cpus) ? CPU_MANAGER_NONE : CPU_MANAGER_STATIC;
	else
		proof.value = api->n_allocatable_memory > 0 ? MEMORY_MANAGER_STATIC : MEMORY_MANAGER_NONE;
	return proof;
}

/*
 * Replaces the stated policy by the one that a state file or the API proves, unless the stated one comes from the
 * kubelet's process.
 */
static void weigh_policy(struct weighing *w, enum setting what)
{
	const struct setting_row *row = &settings_table[what];
	unsigned stated = setting_choice(w->s, what);
	struct proof proof = find_in_file(w, what);
	bool contradicts;

	if (proof.value == 0 && row->evidence & PROVEN_BY_POD_RESOURCES)
		proof = find_in_pod_resources(w, what);
	if (proof.value == 0)
		return;
	contradicts = stated > 0 && proof.value != stated;
	if (contradicts)
		note_contradiction(w, what, proof.source, row->names[proof.value]);
	if (contradicts && !proof_outweighs(w, what))
		return;
	w->contradicted = w->contradicted || contradicts;
	if (proof.value != stated)
		text_set(&w->s->from[what], proof.source);
	setting_set_choice(w->s, what, proof.value);
	if (w->evidence[what] < EVIDENCE_PROOF)
		w->evidence[what] = EVIDENCE_PROOF;
}

/* ---- reservations */

/* The kubelet gives no reserved CPU to a container, and does not start with a reservation that contradicts its state file. */
static void weigh_reserved_cpus(struct weighing *w)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t held = NULL;
	CLEANUP(freep) char *text = NULL;

	if (!w->s->reserved_system_cpus || w->s->cpu_manager != CPU_MANAGER_STATIC ||
		w->evidence[SETTING_RESERVED_SYSTEM_CPUS] >= EVIDENCE_PROCESS)
		return;
	held = allocations_exclusive_cpus(w->proofs->allocations);
	cpuset_and(held, held, w->s->reserved_system_cpus);
	if (hwloc_bitmap_iszero(held))
		return;
	text = cpuset_print(held);
	notes_add(w->notes, "%s: containers hold CPUs %s, but %s reserves them (%s)",
		w->proofs->policies->cpu ? w->proofs->policies->cpu_path : API, text,
		w->s->from[SETTING_RESERVED_SYSTEM_CPUS] ? w->s->from[SETTING_RESERVED_SYSTEM_CPUS]
							 : "another source",
		settings_table[SETTING_RESERVED_SYSTEM_CPUS].name);
	w->contradicted = true;
}

/* The memory manager's state file has what the kubelet reserves on each NUMA node. A state that is made from the API's answer has no more than
 * the memory that is not allocatable. */
static void weigh_reserved_memory(struct weighing *w)
{
	const struct memory_state *state = &w->proofs->allocations->memory;

	if (!w->proofs->allocations->memory_known || !w->proofs->memory_from_file ||
		w->evidence[SETTING_RESERVED_MEMORY] >= EVIDENCE_PROCESS ||
		w->evidence[SETTING_RESERVED_MEMORY] == EVIDENCE_NONE)
		return;
	for (size_t i = 0; i < state->n_nodes; i++)
		for (size_t k = 0; k < state->nodes[i].n_tables; k++) {
			const struct memory_table *t = &state->nodes[i].tables[k];
			uint64_t stated = node_derive_reserved_memory(w->s, state->nodes[i].id, t->type);

			if (stated == t->system_reserved)
				continue;
			notes_add(w->notes,
				"%s: %" PRIu64
				" bytes of %.60s are reserved on NUMA node %u, but %s says %" PRIu64,
				w->proofs->policies->memory_path, t->system_reserved, t->type,
				state->nodes[i].id,
				w->s->from[SETTING_RESERVED_MEMORY] ? w->s->from[SETTING_RESERVED_MEMORY]
								    : "another source",
				stated);
			w->contradicted = true;
			return;
		}
}

/* ---- weaker sources */

/* Forget what only sources state that do not describe this kubelet. */
static void forget_weaker(struct weighing *w)
{
	CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT(1024);

	for (enum setting what = 0; what < SETTING_COUNT; what++) {
		if (w->evidence[what] == EVIDENCE_NONE || w->evidence[what] >= EVIDENCE_PROOF)
			continue;
		strbuf_addf(&names, "%s%s", names.len > 0 ? ", " : "", settings_table[what].name);
		setting_forget(w->s, what);
		w->evidence[what] = EVIDENCE_NONE;
	}
	if (names.len > 0)
		notes_add(w->notes,
			"the kubelet was not started with the settings that nrtd has found, so these are not known: %s; name its configuration with --kubelet-config, or let nrtd see its process",
			names.text);
}

void settings_weigh(struct settings *s, enum evidence evidence[SETTING_COUNT],
	const struct settings_proofs *proofs, struct notes *notes)
{
	struct weighing w = {.s = s, .evidence = evidence, .proofs = proofs, .notes = notes};

	for (enum setting what = 0; what < SETTING_COUNT; what++)
		if (settings_table[what].kind == SETTING_IS_CHOICE && settings_table[what].evidence)
			weigh_policy(&w, what);
	weigh_reserved_cpus(&w);
	weigh_reserved_memory(&w);
	if (w.contradicted)
		forget_weaker(&w);
}

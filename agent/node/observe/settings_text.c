/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/observe/settings_text.h"

#include "common/cleanup.h"
#include "common/strbuf.h"

#define SETTINGS_TEXT_MAX 65536

static void add_amount(struct strbuf *out, const char *name, qty_t nano, enum quantity_format format)
{
	struct quantity q = {.nano = nano, .format = format};
	char text[QUANTITY_TEXT_MAX];

	quantity_print(q, text);
	strbuf_addf(out, "%s%s=%s", out->len > 0 ? "," : "", name, text);
}

/* "0:memory=1Gi;1:memory=512Mi", as the kubelet's --reserved-memory. */
static void add_memory_reservations(struct strbuf *out, const struct settings *s)
{
	for (size_t i = 0; i < s->n_memory_reservations; i++) {
		const struct memory_reservation *m = &s->memory_reservations[i];
		struct quantity q = {.nano = m->bytes, .format = QUANTITY_BINARY_SI};
		char text[QUANTITY_TEXT_MAX];

		quantity_print(q, text);
		strbuf_addf(out, "%s%u:%s=%s", i > 0 ? ";" : "", m->node, m->type, text);
	}
}

static void add_cpus(struct strbuf *out, hwloc_const_bitmap_t set)
{
	CLEANUP(freep) char *text = set ? cpuset_print(set) : NULL;

	if (text)
		strbuf_addstr(out, text);
	else if (set)
		out->error = -1;
}

char *settings_text(const struct settings *s, enum setting what)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(SETTINGS_TEXT_MAX);
	const char *text = "";

	switch (what) {
	case SETTING_CPU_MANAGER_POLICY:
		text = cpu_manager_policy_names[s->cpu_manager];
		break;
	case SETTING_CPU_MANAGER_POLICY_OPTIONS:
		text = s->cpu_options_text;
		break;
	case SETTING_MEMORY_MANAGER_POLICY:
		text = memory_manager_policy_names[s->memory_manager];
		break;
	case SETTING_TOPOLOGY_MANAGER_POLICY:
		text = topology_manager_policy_names[s->topology.policy];
		break;
	case SETTING_TOPOLOGY_MANAGER_SCOPE:
		text = topology_manager_scope_names[s->topology.scope];
		break;
	case SETTING_TOPOLOGY_MANAGER_POLICY_OPTIONS:
		text = s->topology_options_text;
		break;
	case SETTING_RESERVED_SYSTEM_CPUS:
		add_cpus(&out, s->reserved_system_cpus);
		break;
	case SETTING_KUBE_RESERVED:
		add_amount(&out, "cpu", s->kube_reserved_cpu, QUANTITY_DECIMAL_SI);
		add_amount(&out, "memory", s->kube_reserved_memory, QUANTITY_BINARY_SI);
		break;
	case SETTING_SYSTEM_RESERVED:
		add_amount(&out, "cpu", s->system_reserved_cpu, QUANTITY_DECIMAL_SI);
		add_amount(&out, "memory", s->system_reserved_memory, QUANTITY_BINARY_SI);
		break;
	case SETTING_EVICTION_HARD:
		strbuf_addf(
			&out, "memory.available=%s", s->eviction_hard_memory ? s->eviction_hard_memory : "");
		break;
	case SETTING_RESERVED_MEMORY:
		add_memory_reservations(&out, s);
		break;
	case SETTING_FEATURE_GATES:
		text = s->feature_gates_text;
		break;
	case SETTING_COUNT:
	default:
		break;
	}
	strbuf_addstr(&out, text ? text : "");
	return strbuf_detach(&out);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/node/node_facts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/settings_table.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/kubelet.h"
#include "scoring/node/node_derive.h"

#define TEXT_MAX_BYTES 65536u /* of a value */
#define SHOWN_BYTES    160u   /* of a value in the text of a change */

const char *const fact_section_names[FACT_SECTION_COUNT] = {"settings", "topology", "devices", "free"};

static void fact_release(struct fact *fact)
{
	free(fact->name);
	free(fact->value);
}

void node_facts_release(struct node_facts *f)
{
	for (size_t i = 0; i < f->n_items; i++)
		fact_release(&f->items[i]);
	free(f->items);
	free(f->node);
	*f = (struct node_facts){0};
}

const char *fact_text(const struct fact *fact)
{
	if (!fact->value)
		return "unknown";
	return *fact->value ? fact->value : "none";
}

struct fact *node_facts_add(struct node_facts *f, enum fact_section section, char *name, char *value)
{
	struct fact *fact = vec_push(&f->items, &f->n_items, &f->items_size, sizeof(*fact));

	*fact = (struct fact){.section = section, .name = name, .value = value};
	if (value)
		text_one_line(value);
	return fact;
}

const struct fact *node_facts_find(const struct node_facts *f, enum fact_section section, const char *name)
{
	for (size_t i = 0; i < f->n_items; i++)
		if (f->items[i].section == section && !strcmp(f->items[i].name, name))
			return &f->items[i];
	return NULL;
}

/* ---- settings */

static char *amount_text(qty_t nano, enum quantity_format format)
{
	char text[QUANTITY_TEXT_MAX];

	quantity_print((struct quantity){.nano = nano, .format = format}, text);
	return xstrdup(text);
}

static char *bytes_text(uint64_t bytes)
{
	return amount_text((qty_t)bytes * QTY_UNIT, QUANTITY_BINARY_SI);
}

/* "0:memory=1Gi;1:hugepages-1Gi=2Gi", as the kubelet's flag has it. NULL = the memory manager's state is unknown. */
static char *reserved_memory_text(const struct node_state *s)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(TEXT_MAX_BYTES);
	const struct memory_state *state = &s->allocations.memory;

	if (!s->allocations.memory_known)
		return s->settings.memory_manager == MEMORY_MANAGER_NONE ? xstrdup("") : NULL;
	for (size_t i = 0; i < state->n_nodes; i++)
		for (size_t k = 0; k < state->nodes[i].n_tables; k++) {
			const struct memory_table *t = &state->nodes[i].tables[k];
			CLEANUP(freep) char *amount = NULL;

			if (t->system_reserved == 0)
				continue;
			amount = bytes_text(t->system_reserved);
			strbuf_addf(&out, "%s%u:%s=%s", out.len > 0 ? ";" : "", state->nodes[i].id, t->type,
				amount);
		}
	return strbuf_detach(&out);
}

static char *reserved_text(const struct settings *s)
{
	CLEANUP(freep)
	char *cpu = amount_text(s->kube_reserved_cpu + s->system_reserved_cpu, QUANTITY_DECIMAL_SI);
	CLEANUP(freep)
	char *memory = amount_text(s->kube_reserved_memory + s->system_reserved_memory, QUANTITY_BINARY_SI);

	return xasprintf("cpu=%s,memory=%s", cpu, memory);
}

/* "GATE=true,...": the gates that are on and change verdicts, and a gate that nrtd does not know, as in the text of a state. */
static char *gates_text(const struct settings *s)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(TEXT_MAX_BYTES);
	const char *unknown = kubelet_unknown_name(s); /* a gate, or a field of the configuration */

	for (enum kubelet_gate i = 0; i < KUBELET_GATE_COUNT; i++)
		if (kubelet_gate_is_set(s, i))
			strbuf_addf(&out, "%s%s=true", out.len > 0 ? "," : "", kubelet_gate_names[i]);
	if (unknown && unknown != s->unknown_field)
		strbuf_addf(&out, "%s%s=true", out.len > 0 ? "," : "", unknown);
	return strbuf_detach(&out);
}

/* What the node state has of a setting; NULL = unknown. */
static char *setting_fact(const struct node_state *state, enum setting what)
{
	CLEANUP(strbuf_release) struct strbuf options = STRBUF_INIT(TEXT_MAX_BYTES);
	const struct settings *s = &state->settings;

	switch (settings_table[what].kind) {
	case SETTING_IS_CHOICE:
		return setting_choice(s, what) > 0 ? settings_text(s, what) : NULL;
	case SETTING_IS_OPTIONS:
		policy_options_print(what, s, &options);
		return strbuf_detach(&options);
	case SETTING_IS_CPUS:
		return state->reserved.cpus ? cpuset_print(state->reserved.cpus) : NULL;
	case SETTING_IS_AMOUNTS:
		return s->reserved_known ? reserved_text(s) : NULL;
	case SETTING_IS_THRESHOLDS:
		/* The amount of a percentage, as the text of a state has it. */
		return s->eviction_hard_memory
			       ? amount_text(node_derive_eviction_threshold(state), QUANTITY_BINARY_SI)
			       : NULL;
	case SETTING_IS_RESERVATIONS:
		return reserved_memory_text(state);
	case SETTING_IS_GATES:
	case SETTING_KIND_COUNT:
	default:
		return gates_text(s);
	}
}

void node_facts_add_settings(struct node_facts *f, const struct node_state *state)
{
	char release[KUBELET_RELEASE_TEXT_MAX];

	kubelet_release_print(settings_kubelet(&state->settings), release);
	node_facts_add(f, FACT_SETTING, xstrdup("kubeletRelease"), *release ? xstrdup(release) : NULL);
	for (enum setting what = 0; what < SETTING_COUNT; what++)
		if (settings_table[what].fact)
			node_facts_add(f, FACT_SETTING, xstrdup(settings_table[what].fact),
				setting_fact(state, what));
}

/* ---- hardware */

static void add_amount_fact(
	struct node_facts *f, enum fact_section section, char *name, char *value, uint64_t amount)
{
	node_facts_add(f, section, name, value)->amount = amount > INT64_MAX ? INT64_MAX : (int64_t)amount;
}

static void add_numa_node(struct node_facts *f, const struct numa_node *n)
{
	/* In whole MiB: kernels of one release report some KiB more or less. */
	uint64_t memory = n->memory_bytes >> 20 << 20;

	add_amount_fact(
		f, FACT_TOPOLOGY, xasprintf("memory of NUMA node %u", n->id), bytes_text(memory), memory);
	for (size_t i = 0; i < n->n_pools; i++) {
		uint64_t bytes = n->pools[i].pages * n->pools[i].page_bytes;
		char name[RESOURCE_NAME_HUGEPAGES_SIZE];

		resource_name_of_hugepages(n->pools[i].page_bytes, name);
		add_amount_fact(f, FACT_TOPOLOGY, xasprintf("%s of NUMA node %u", name, n->id),
			bytes_text(bytes), bytes);
	}
}

/* ---- devices */

static int compare_device_blocks(const void *va, const void *vb)
{
	const struct device_block *a = va, *b = vb;
	int r = strcmp(a->resource, b->resource);

	return r != 0 ? r : hwloc_bitmap_compare(a->nodes, b->nodes);
}

/* "4 on NUMA node 0, 4 on NUMA node 1" of the blocks from `first` on, which have one resource. Returns their end. */
static size_t add_device_fact(struct node_facts *f, const struct allocations *a, size_t first)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(TEXT_MAX_BYTES);
	const char *resource = a->registered[first].resource;
	size_t end = first, n = 0;

	while (end < a->n_registered && !strcmp(a->registered[end].resource, resource)) {
		const struct device_block *b = &a->registered[end];
		CLEANUP(freep) char *nodes = cpuset_print(b->nodes);
		size_t n_here = 0;

		/* A parsed state may have several blocks of devices on the same NUMA nodes. */
		for (; end < a->n_registered && compare_device_blocks(b, &a->registered[end]) == 0; end++)
			n_here += a->registered[end].ids.n_items;
		strbuf_addf(&out, "%s%zu%s%s", out.len > 0 ? ", " : "", n_here,
			*nodes ? " on NUMA node " : "", nodes);
		n += n_here;
	}
	add_amount_fact(f, FACT_DEVICE, xstrdup(resource), strbuf_detach(&out), n);
	return end;
}

static void add_device_facts(struct node_facts *f, const struct allocations *a)
{
	CLEANUP(freep) struct device_block *sorted = xcalloc(a->n_registered + 1, sizeof(*sorted));
	const struct allocations view = {.registered = sorted, .n_registered = a->n_registered};

	f->devices_known = a->registered_known;
	if (!a->registered_known)
		return;
	if (a->n_registered > 0)
		memcpy(sorted, a->registered, a->n_registered * sizeof(*sorted));
	if (a->n_registered > 1)
		qsort(sorted, a->n_registered, sizeof(*sorted), compare_device_blocks);
	for (size_t i = 0; i < view.n_registered;)
		i = add_device_fact(f, &view, i);
}

void node_facts_add_all(struct node_facts *f, const struct node_state *state)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t ids = cpuset_new();
	const struct machine *m = &state->machine;

	if (state->node_name)
		text_set(&f->node, state->node_name);
	node_facts_add_settings(f, state);
	for (size_t i = 0; i < m->n_nodes; i++)
		cpuset_set(ids, m->nodes[i].id);
	add_amount_fact(f, FACT_TOPOLOGY, xstrdup("online CPUs"), cpuset_print(m->online), m->n_cpus);
	add_amount_fact(f, FACT_TOPOLOGY, xstrdup("NUMA nodes"), cpuset_print(ids), m->n_nodes);
	for (size_t i = 0; i < m->n_nodes; i++)
		add_numa_node(f, &m->nodes[i]);
	add_device_facts(f, &state->allocations);
}

/* ---- changes */

static void copy_fact(struct node_facts *f, const struct fact *fact)
{
	node_facts_add(f, fact->section, xstrdup(fact->name), fact->value ? xstrdup(fact->value) : NULL)
		->amount = fact->amount;
}

void node_facts_keep(struct node_facts *now, const struct node_facts *before)
{
	for (size_t i = 0; i < now->n_items; i++) {
		struct fact *fact = &now->items[i];
		const struct fact *old = node_facts_find(before, fact->section, fact->name);

		if (!fact->value && old && old->value) {
			fact->value = xstrdup(old->value);
			fact->amount = old->amount;
		}
	}
	/* While the devices are unknown, `now` has no facts of them whose values could be filled in. */
	if (now->devices_known || !before->devices_known)
		return;
	for (size_t i = 0; i < before->n_items; i++)
		if (before->items[i].section == FACT_DEVICE)
			copy_fact(now, &before->items[i]);
	now->devices_known = true;
}

/* A value that is too long is cut, at any byte. */
static char *shown_text(const struct fact *fact)
{
	const char *text = fact_text(fact);

	return strlen(text) <= SHOWN_BYTES ? xstrdup(text) : xasprintf("%.*s...", (int)SHOWN_BYTES - 3, text);
}

struct change_text {
	struct strbuf *out;
	size_t start;     /* of the text in `out` */
	size_t max;       /* bytes of the text */
	size_t n;         /* changes */
	size_t n_omitted; /* of these: not in the text, because `max` was reached */
	bool less;        /* an amount has decreased */
};

/* `before` or `now` may be NULL: the node had, or has, no fact of this name. */
static void add_fact_change(struct change_text *c, const struct fact *before, const struct fact *now)
{
	char empty[] = "";
	const struct fact none = {.value = empty};
	const char *name;
	CLEANUP(freep) char *text = NULL;
	CLEANUP(freep) char *from = NULL;
	CLEANUP(freep) char *to = NULL;

	before = before ? before : &none;
	name = now ? now->name : before->name;
	now = now ? now : &none;
	if (!before->value || !now->value || !strcmp(before->value, now->value))
		return;
	from = shown_text(before);
	to = shown_text(now);
	text = xasprintf("%s%s: %s -> %s", c->out->len > c->start ? "; " : "", name, from, to);
	c->n++;
	c->less |= now->amount < before->amount;
	if (c->n_omitted > 0 || c->out->len - c->start + strlen(text) > c->max)
		c->n_omitted++;
	else
		strbuf_addstr(c->out, text);
}

size_t node_facts_changes(const struct node_facts *before, const struct node_facts *now,
	enum fact_section section, size_t max, struct strbuf *out, bool *ret_less)
{
	struct change_text c = {.out = out, .start = out->len, .max = max};

	*ret_less = false;
	if (section == FACT_DEVICE && !(before->devices_known && now->devices_known))
		return 0;
	for (size_t i = 0; i < before->n_items; i++)
		if (before->items[i].section == section)
			add_fact_change(
				&c, &before->items[i], node_facts_find(now, section, before->items[i].name));
	for (size_t i = 0; i < now->n_items; i++)
		if (now->items[i].section == section && !node_facts_find(before, section, now->items[i].name))
			add_fact_change(&c, NULL, &now->items[i]);
	if (c.n_omitted > 0)
		strbuf_addf(out, "%s%zu more change%s", out->len > c.start ? "; " : "", c.n_omitted,
			c.n_omitted == 1 ? "" : "s");
	*ret_less = c.less;
	return c.n;
}

void node_facts_replace(struct node_facts *f, const struct node_facts *from, enum fact_section section)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->n_items; i++)
		if (f->items[i].section == section)
			fact_release(&f->items[i]);
		else
			f->items[kept++] = f->items[i];
	f->n_items = kept;
	for (size_t i = 0; i < from->n_items; i++)
		if (from->items[i].section == section)
			copy_fact(f, &from->items[i]);
	if (section == FACT_DEVICE)
		f->devices_known = from->devices_known;
}

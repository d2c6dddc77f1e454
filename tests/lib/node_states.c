/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/node_states.h"

#include <inttypes.h>

#include "common/cleanup.h"
#include "common/settings_table.h"
#include "common/text.h"
#include "common/vec.h"
#include "scoring/node/node_admission.h"
#include "scoring/node/node_derive.h"
#include "scoring/node/node_state_codec.h"
#include "tests/lib/claims.h"
#include "tests/lib/pods.h"
#include "tests/lib/test.h"

static const char *const types[] = {"hugepages-1Gi", "hugepages-2Mi", "memory"};
static const char *const resources[] = {"a.com/x", "b.com/near", "vendor.com/nic"};

static size_t below(uint64_t *seed, size_t n)
{
	return (size_t)(test_random(seed) % n);
}

static bool once_in(uint64_t *seed, size_t n)
{
	return below(seed, n) == 0;
}

static void *push(void *vec, size_t *n, size_t *size, size_t item)
{
	void *new = vec_push(vec, n, size, item);

	assert_non_null(new);
	return new;
}

/* ---- settings */

static void random_reservations(struct node_state *node, uint64_t *seed)
{
	struct settings *s = &node->settings;
	const struct machine *m = &node->machine;

	s->reserved_known = !once_in(seed, 6);
	s->kube_reserved_cpu = (qty_t)below(seed, 3000) * (QTY_UNIT / 1000);
	s->system_reserved_cpu = once_in(seed, 2) ? (qty_t)below(seed, 2) * QTY_UNIT : 1;
	s->kube_reserved_memory = (qty_t)below(seed, 1u << 30) * QTY_UNIT;
	s->system_reserved_memory = (qty_t)below(seed, 2) << 33;
	if (!once_in(seed, 4))
		s->eviction_hard_memory = strdup(once_in(seed, 2) ? "5%" : "100.5Mi");
	if (once_in(seed, 3) && m->n_cpus > 0) {
		s->reserved_system_cpus = hwloc_bitmap_alloc();
		hwloc_bitmap_set(s->reserved_system_cpus, m->cpus[below(seed, m->n_cpus)].id);
		text_set(&s->from[SETTING_RESERVED_SYSTEM_CPUS], "a test");
	}
	for (size_t i = 0; i < m->n_nodes && once_in(seed, 3); i++) {
		struct memory_reservation *r = push(&s->memory_reservations, &s->n_memory_reservations,
			&s->memory_reservations_size, sizeof(*r));

		r->node = m->nodes[i].id;
		r->type = strdup(types[below(seed, 3)]);
		r->bytes = (qty_t)below(seed, 1u << 31) * QTY_UNIT;
	}
}

static void random_settings(struct node_state *node, uint64_t *seed)
{
	struct settings *s = &node->settings;

	settings_release(s);
	settings_init(s);
	s->cpu_manager = once_in(seed, 8) ? below(seed, CPU_MANAGER_POLICY_COUNT) : CPU_MANAGER_STATIC;
	s->memory_manager = below(seed, MEMORY_MANAGER_POLICY_COUNT);
	if (once_in(seed, 2))
		s->memory_manager = MEMORY_MANAGER_STATIC;
	s->topology.policy = below(seed, TOPOLOGY_MANAGER_POLICY_COUNT);
	s->topology.scope = once_in(seed, 8) ? 0 : 1 + below(seed, TOPOLOGY_SCOPE_COUNT - 1);
	s->topology.max_numa_nodes = once_in(seed, 8) ? 4 : 8 + (unsigned)below(seed, 2) * 64;
	for (size_t i = 0; i < POLICY_OPTION_COUNT; i++)
		if (policy_options[i].kind == OPTION_IS_BOOL)
			policy_option_set(&policy_options[i], once_in(seed, 4), s);
	s->kubelet_minor = once_in(seed, 3) ? 0 : 32 + (unsigned)below(seed, 6);
	if (once_in(seed, 6))
		s->feature_gates_text = strdup("A=true,PodLevelResourceManagers=true");
	random_reservations(node, seed);
}

/* ---- what is held */

static void random_nodes(const struct machine *m, uint64_t *seed, hwloc_bitmap_t ret)
{
	hwloc_bitmap_zero(ret);
	for (size_t i = 0; i < m->n_nodes; i++)
		if (once_in(seed, m->n_nodes))
			hwloc_bitmap_set(ret, m->nodes[i].id);
}

static void random_block(const struct machine *m, struct allocation *item, const char *type, uint64_t *seed)
{
	struct memory_block *b = push(&item->memory, &item->n_memory, &item->memory_size, sizeof(*b));

	b->type = strdup(type);
	b->bytes = (uint64_t)below(seed, 64) << (20 + below(seed, 10));
	b->nodes = hwloc_bitmap_alloc();
	random_nodes(m, seed, b->nodes);
}

static void random_tables(struct node_state *node, uint64_t *seed)
{
	struct memory_state *state = &node->allocations.memory;

	for (size_t i = 0; i < node->machine.n_nodes && !once_in(seed, 12); i++) {
		const struct numa_node *from = &node->machine.nodes[i];
		struct memory_node *to =
			push(&state->nodes, &state->n_nodes, &state->nodes_size, sizeof(*to));

		to->id = from->id;
		to->assignments = (unsigned)below(seed, 3);
		to->cells = hwloc_bitmap_alloc();
		if (!once_in(seed, 3))
			hwloc_bitmap_set(to->cells, from->id);
		if (once_in(seed, 4))
			random_nodes(&node->machine, seed, to->cells);
		for (size_t t = 0; t < ARRAY_SIZE(types); t++) {
			struct memory_table *table;

			if (once_in(seed, 4))
				continue;
			table = push(&to->tables, &to->n_tables, &to->tables_size, sizeof(*table));
			table->type = strdup(types[t]);
			table->total =
				once_in(seed, 2) ? from->memory_bytes : (uint64_t)below(seed, 64) << 30;
			table->system_reserved = once_in(seed, 2) ? 0 : (uint64_t)below(seed, 1u << 30);
			table->allocatable = table->total - table->system_reserved;
			table->reserved = (uint64_t)below(seed, 8) << 28;
			table->free = table->allocatable - table->reserved;
			if (once_in(seed, 3))
				table->free = (uint64_t)below(seed, 32) << 30;
		}
	}
}

static void random_devices(struct node_state *node, uint64_t *seed)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = hwloc_bitmap_alloc();
	struct allocations *a = &node->allocations;
	char id[32];

	a->registered_known = !once_in(seed, 8);
	a->devices_known = !once_in(seed, 8);
	for (size_t r = 0; r < ARRAY_SIZE(resources); r++) {
		bool unknown = once_in(seed, 6);
		size_t n = below(seed, 14);

		for (size_t i = 0; i < n; i++) {
			bool is = unknown && once_in(seed, 2);

			random_nodes(&node->machine, seed, nodes);
			if (is)
				hwloc_bitmap_zero(nodes);
			snprintf(id, sizeof(id), "id-%zu", (i * 71 + 13) % 100); /* each once */
			device_blocks_add(&a->registered, &a->n_registered, &a->registered_size, resources[r],
				nodes, is, id);
		}
	}
}

/* Devices that are registered, and now and then one that is not; no other item holds the same. */
static void hold_devices(struct node_state *node, struct allocation *item, size_t turn, uint64_t *seed)
{
	struct allocations *a = &node->allocations;
	size_t at = 0;
	char id[32];

	for (size_t b = 0; b < a->n_registered; b++)
		for (size_t i = 0; i < a->registered[b].ids.n_items; i++, at++)
			if (at % 5 == turn % 5 && once_in(seed, 2))
				device_blocks_add(&item->devices, &item->n_devices, &item->devices_size,
					a->registered[b].resource, a->registered[b].nodes,
					a->registered[b].nodes_unknown, a->registered[b].ids.items[i]);
	if (once_in(seed, 4)) {
		CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = hwloc_bitmap_alloc();

		random_nodes(&node->machine, seed, nodes);
		snprintf(id, sizeof(id), "gone-%zu", turn);
		device_blocks_add(&item->devices, &item->n_devices, &item->devices_size, "vendor.com/nic",
			nodes, false, id);
	}
}

static void random_item(struct node_state *node, size_t turn, hwloc_bitmap_t left, uint64_t *seed)
{
	struct allocation *item = allocations_add(&node->allocations);
	const struct machine *m = &node->machine;
	size_t start = m->n_cpus ? below(seed, m->n_cpus) : 0;
	char text[40];

	assert_non_null(item);
	snprintf(text, sizeof(text), "%s%zu", once_in(seed, 5) ? "" : "uid-", turn / 2);
	free(item->pod_uid);
	item->pod_uid = strdup(*text == 'u' ? text : "");
	free(item->container);
	snprintf(text, sizeof(text), "c%zu", turn);
	item->container = strdup(text);
	if (once_in(seed, 2)) {
		free(item->pod);
		snprintf(text, sizeof(text), "pod-%zu", turn / 2);
		item->pod = strdup(text);
	}
	for (size_t i = start; i < m->n_cpus && i < start + 8; i++)
		if (hwloc_bitmap_isset(left, m->cpus[i].id) && !once_in(seed, 3)) {
			hwloc_bitmap_set(item->cpus, m->cpus[i].id);
			hwloc_bitmap_clr(left, m->cpus[i].id);
		}
	for (size_t t = 0; t < ARRAY_SIZE(types); t++)
		if (once_in(seed, 3))
			random_block(m, item, types[t], seed);
	if (once_in(seed, 2))
		hold_devices(node, item, turn, seed);
}

static void random_allocations(struct node_state *node, uint64_t *seed)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t left = hwloc_bitmap_dup(node->machine.online);
	struct allocations *a = &node->allocations;
	size_t n = below(seed, 12);

	allocations_release(a);
	a->cpus_known = !once_in(seed, 10);
	a->memory_known = !once_in(seed, 6);
	random_devices(node, seed);
	if (a->memory_known)
		random_tables(node, seed);
	for (size_t i = 0; i < n; i++)
		random_item(node, i, left, seed);
	allocations_sort(a);
	if (once_in(seed, 8))
		return;
	if (once_in(seed, 3) && node->machine.n_cpus > 0) /* one that nobody has */
		hwloc_bitmap_clr(left, node->machine.cpus[below(seed, node->machine.n_cpus)].id);
	a->shared = TAKE(left);
}

static void random_claims(struct node_state *node, uint64_t *seed)
{
	const struct machine *m = &node->machine;
	size_t n = once_in(seed, 2) ? 0 : below(seed, 5);

	claims_release(&node->claims);
	for (size_t i = 0; i < n; i++) {
		size_t start = m->n_cpus ? below(seed, m->n_cpus) : 0, devices = below(seed, 4);
		struct claim *c = test_add_claim(&node->claims, once_in(seed, 2) ? "dra.cpu" : "b.com/x y",
			"", "", once_in(seed, 2) ? types[below(seed, 3)] : NULL,
			(uint64_t)below(seed, 64) << 28,
			m->n_nodes ? m->nodes[below(seed, m->n_nodes)].id : 0);

		for (size_t k = start; k < m->n_cpus && k < start + 5; k++)
			if (once_in(seed, 2))
				hwloc_bitmap_set(c->cpus, m->cpus[k].id);
		for (size_t k = below(seed, 3); k > 0; k--)
			claim_add_pod(c, "ns", k > 1 ? "a" : "b");
		while (devices-- > 0)
			strv_push(&c->devices, "pool/device");
	}
}

void node_state_complete(struct node_state *node)
{
	const struct derive_config config = {0};
	CLEANUP(notes_release) struct notes notes = {0};
	struct err err = {""};

	reserved_cpus_release(&node->reserved);
	inventory_release(&node->inventory);
	if (node_derive(&config, node, &notes, &err) < 0)
		fail_msg("%s", err.text);
}

/* The kubelet may have too few CPUs to reserve; then nothing is published either. */
static bool can_reserve(const struct node_state *node)
{
	struct reserved_cpus reserved = {0};
	int r = node_derive_reserved_cpus(node, &reserved, NULL);

	reserved_cpus_release(&reserved);
	return r == 0;
}

void node_state_randomize(struct node_state *node, uint64_t *seed)
{
	const struct machine *m = &node->machine;

	hwloc_bitmap_free(node->allocatable_cpus);
	node->allocatable_cpus = NULL;
	do
		random_settings(node, seed);
	while (!can_reserve(node));
	random_allocations(node, seed);
	random_claims(node, seed);
	if (once_in(seed, 2) && m->n_cpus > 1) {
		node->allocatable_cpus = hwloc_bitmap_dup(m->online);
		hwloc_bitmap_clr(node->allocatable_cpus, m->cpus[below(seed, m->n_cpus)].id);
	}
	node_state_complete(node);
}

/* ---- comparing */

static void assert_same_set(const char *what, hwloc_const_bitmap_t a, hwloc_const_bitmap_t b)
{
	if (!a != !b || (a && !hwloc_bitmap_isequal(a, b)))
		fail_msg("%s: the sets differ", what);
}

void node_state_assert_same(const char *what, const struct node_state *a, const struct node_state *b)
{
	const struct inventory *x = &a->inventory, *y = &b->inventory;

	assert_same_set(what, a->reserved.cpus, b->reserved.cpus);
	assert_same_set(what, a->allocations.shared, b->allocations.shared);
	if (a->reserved.observed != b->reserved.observed || x->n_nodes != y->n_nodes ||
		x->n_resources != y->n_resources)
		fail_msg("%s: the inventories differ", what);
	for (size_t i = 0; i < x->n_nodes; i++)
		for (size_t r = 0; r < x->n_resources; r++) {
			const struct inventory_amount *p = inventory_amount(x, i, r),
						      *q = inventory_amount(y, i, r);

			test_assert_text(what, y->resources[r], x->resources[r]);
			if (p->present != q->present || p->capacity != q->capacity ||
				p->allocatable != q->allocatable || p->available != q->available)
				fail_msg("%s: %s on node %zu differs", what, x->resources[r], i);
		}
	for (size_t i = 0; i < x->n_nodes * x->n_nodes; i++)
		assert_int_equal(x->costs[i], y->costs[i]);
}

static void assert_same_list(const char *what, const struct resource_list *a, const struct resource_list *b)
{
	if (a->n_items != b->n_items)
		fail_msg("%s: the free amounts differ", what);
	for (size_t i = 0; i < a->n_items; i++) {
		test_assert_text(what, b->items[i].name, a->items[i].name);
		if (quantity_cmp(a->items[i].quantity, b->items[i].quantity) != 0)
			fail_msg("%s: free %s differs", what, a->items[i].name);
	}
}

static void assert_same_answer(
	const char *what, struct node_admission *a, struct node_admission *b, const struct pod_request *pod)
{
	struct kubelet_verdict x, y;
	const struct kubelet_verdict *v = &x, *w = &y;

	node_admission_judge(a, pod, &x);
	node_admission_judge(b, pod, &y);

	assert_same_list(what, &a->free, &b->free);
	assert_same_list(what, &a->unsure, &b->unsure);
	test_assert_text(what, w->reason.text, v->reason.text);
	if (x.answer != y.answer || x.wanted != y.wanted || x.free != y.free || v->answer != w->answer ||
		v->rejection != w->rejection || v->n_placements != w->n_placements)
		fail_msg("%s: the verdicts differ", what);
	for (size_t i = 0; i < v->n_placements; i++) {
		const struct kubelet_placement *p = &v->placements[i], *q = &w->placements[i];

		if (p->hint.nodes != q->hint.nodes || p->hint.any_node != q->hint.any_node ||
			p->exclusive_cpus != q->exclusive_cpus || p->memory_nodes != q->memory_nodes ||
			(p->cpus &&
				memcmp(p->cpus, q->cpus, a->kubelet.topology.n_cpus * sizeof(*p->cpus)) != 0))
			fail_msg("%s: the placements differ", what);
	}
}

static void random_pod(const struct machine *m, uint64_t *seed, struct pod_request *ret)
{
	static const char *const kinds[] = {"init", "sidecar", "app"};
	size_t n = 1 + below(seed, 3), at = 0;
	char text[512];

	for (size_t i = 0; i < n; i++) {
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s cpu=%zu memory=%zuMi",
			i > 0 ? "; " : "", i + 1 == n ? "app" : kinds[below(seed, 3)],
			below(seed, m->n_cpus / 2 + 2) + 1, 1 + (below(seed, 64) << below(seed, 12)));
		if (once_in(seed, 4))
			at += (size_t)snprintf(
				text + at, sizeof(text) - at, " vendor.com/nic=%zu", below(seed, 4));
		if (once_in(seed, 4))
			at += (size_t)snprintf(text + at, sizeof(text) - at, " a.com/x=%zu", below(seed, 4));
		if (once_in(seed, 4))
			at += (size_t)snprintf(
				text + at, sizeof(text) - at, " hugepages-1Gi=%zuGi", below(seed, 4));
	}
	pod_from_text(ret, text);
}

void node_state_assert_same_verdicts(
	const char *what, const struct node_state *a, const struct node_state *b, size_t n, uint64_t *seed)
{
	CLEANUP(node_admission_release) struct node_admission x;
	CLEANUP(node_admission_release) struct node_admission y;

	node_admission_init(&x, a);
	node_admission_init(&y, b);
	for (size_t i = 0; i < n; i++) {
		CLEANUP(pod_request_release) struct pod_request pod = {0};

		random_pod(&a->machine, seed, &pod);
		assert_same_answer(what, &x, &y, &pod);
	}
}

char *node_state_print_text(const struct node_state *state)
{
	struct strbuf text = STRBUF_INIT(NODE_STATE_TEXT_MAX);
	char *out;

	assert_int_equal(node_state_print(state, &text), 0);
	out = strbuf_detach(&text);
	assert_non_null(out);
	return out;
}

void node_state_parse_text(const char *text, struct node_state *ret)
{
	struct err err = {""};

	if (node_state_parse(text, ret, &err) < 0)
		fail_msg("%s\n%s", err.text, text);
	node_state_complete(ret);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Renders Koordinator's annotations of the NodeResourceTopology object. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/render/render.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/io/json.h"
#include "common/xalloc.h"

/* A CPU's socket and core, numbered on the machine from 0. */
struct cpu_place {
	unsigned socket, core;
};

/* The position of a CPU before `at` on the same socket; `at` if there is none. Tries the previous CPU first, because most
 * machines number the CPUs of a socket in sequence. */
static size_t find_earlier_cpu_of_socket(const struct machine *m, size_t at)
{
	if (at > 0 && m->cpus[at - 1].socket == m->cpus[at].socket)
		return at - 1;
	for (size_t i = 0; i < at; i++)
		if (m->cpus[i].socket == m->cpus[at].socket)
			return i;
	return at;
}

/* Numbers sockets and cores in the order of their first CPUs, as koordlet does. An array per position in m->cpus. */
static struct cpu_place *number_places(const struct machine *m)
{
	struct cpu_place *places = xcalloc(m->n_cpus + 1, sizeof(*places));
	unsigned sockets = 0, cores = 0;

	for (size_t i = 0; i < m->n_cpus; i++) {
		const struct cpu *cpu = &m->cpus[i], *first_of_core = machine_cpu(m, cpu->hardware_core);
		size_t earlier = find_earlier_cpu_of_socket(m, i);

		places[i].socket = earlier < i ? places[earlier].socket : sockets++;
		places[i].core =
			first_of_core && first_of_core < cpu ? places[first_of_core - m->cpus].core : cores++;
	}
	return places;
}

/* Adds the document's text to the map if it fits in *left, the bytes left for annotations, which become fewer. 0 or -EFBIG. */
static int add_annotation(struct doc *map, const char *key, const struct doc *value, size_t *left)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(*left);
	int r = json_print_compact(value, &text);

	if (r < 0)
		return r;
	*left -= text.len;
	doc_add_string(map, key, text.text);
	return 0;
}

/* ---- the CPUs */

static int add_topology(
	const struct machine *m, const struct cpu_place *places, struct doc *ret, size_t *left)
{
	CLEANUP(doc_release) struct doc top = {.kind = DOC_MAP};
	struct doc *detail = doc_add_list(&top, "detail");

	for (size_t i = 0; i < m->n_cpus; i++) {
		struct doc *map;

		if (m->cpus[i].numa == MACHINE_NONE)
			continue;
		map = doc_add_map(detail, NULL);
		doc_add_number(map, "id", m->cpus[i].id);
		doc_add_number(map, "core", places[i].core);
		doc_add_number(map, "socket", places[i].socket);
		doc_add_number(map, "node", m->cpus[i].numa);
	}
	return add_annotation(ret, KOORDINATOR_CPU_TOPOLOGY, &top, left);
}

/* ---- the kubelet */

/* "full-pcpus-only=true,..." as a map. */
static void add_policy_options(struct doc *top, const char *text)
{
	struct doc *map = doc_add_map(top, "options");

	while (*text) {
		size_t len = strcspn(text, ",");
		CLEANUP(freep) char *pair = xstrndup(text, len);
		char *equals = strchr(pair, '=');

		if (equals)
			*equals = '\0';
		doc_add_string(map, pair, equals ? equals + 1 : "");
		text += len;
		if (*text == ',')
			text++;
	}
}

static int add_policy(const struct node_state *node, struct doc *ret, size_t *left)
{
	const struct settings *s = &node->settings;
	CLEANUP(doc_release) struct doc top = {.kind = DOC_MAP};

	if (s->cpu_manager == CPU_MANAGER_UNKNOWN)
		return 0;
	doc_add_string(&top, "policy", cpu_manager_policy_names[s->cpu_manager]);
	if (s->cpu_options_text)
		add_policy_options(&top, s->cpu_options_text);
	if (s->cpu_manager == CPU_MANAGER_STATIC) {
		CLEANUP(freep) char *reserved = cpuset_print(node->reserved.cpus);

		doc_add_string(&top, "reservedCPUs", reserved);
	}
	return add_annotation(ret, KOORDINATOR_CPU_MANAGER_POLICY, &top, left);
}

/* ---- allocations */

/* A name of the pod's log directory is not published. */
static void add_pod_alloc(struct doc *list, const struct allocation *a, hwloc_const_bitmap_t cpus)
{
	bool publish_name = !a->named_by_logs;
	CLEANUP(freep) char *text = cpuset_print(cpus);
	CLEANUP(freep)
	char *uid = *a->pod_uid ? xstrdup(a->pod_uid) : xasprintf("%s/%s", a->namespace, a->pod);
	struct doc *map = doc_add_map(list, NULL);

	if (publish_name && *a->namespace)
		doc_add_string(map, "namespace", a->namespace);
	if (publish_name && *a->pod)
		doc_add_string(map, "name", a->pod);
	doc_add_string(map, "uid", uid);
	doc_add_string(map, "cpuset", text);
	doc_add_bool(map, "managedByKubelet", true);
}

static int add_pod_allocs(const struct allocations *a, struct doc *ret, size_t *left)
{
	CLEANUP(doc_release) struct doc list = {.kind = DOC_LIST};

	for (size_t i = 0, next; i < a->n_items; i = next) {
		CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = cpuset_new();

		for (next = i; next < a->n_items && allocation_same_pod(&a->items[i], &a->items[next]);
			next++)
			cpuset_or(cpus, cpus, a->items[next].cpus);
		if (!hwloc_bitmap_iszero(cpus))
			add_pod_alloc(&list, &a->items[i], cpus);
	}
	return add_annotation(ret, KOORDINATOR_POD_CPU_ALLOCS, &list, left);
}

/* ---- shared pools */

struct pool {
	unsigned socket; /* number of the first CPU's socket */
	unsigned node;   /* position on the machine */
};

static int compare_cpu_pools(const void *va, const void *vb)
{
	const struct pool *a = va, *b = vb;

	if (a->socket != b->socket)
		return a->socket < b->socket ? -1 : 1;
	return (a->node > b->node) - (a->node < b->node);
}

static void add_pool(
	struct doc *list, const struct machine *m, const struct pool *pool, hwloc_const_bitmap_t exclusive)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = NULL;
	CLEANUP(freep) char *text = NULL;
	struct doc *map;

	cpus = machine_own_cpus(m, pool->node);
	cpuset_andnot(cpus, cpus, exclusive);
	if (hwloc_bitmap_iszero(cpus))
		return;
	text = cpuset_print(cpus);
	map = doc_add_map(list, NULL);
	doc_add_number(map, "socket", pool->socket);
	doc_add_number(map, "node", m->nodes[pool->node].id);
	doc_add_string(map, "cpuset", text);
}

/* The NUMA nodes with CPUs, ordered by socket and number. `ret` must have space for all NUMA nodes. */
static void list_cpu_pools(
	const struct machine *m, const struct cpu_place *places, struct pool *ret, size_t *ret_n)
{
	*ret_n = 0;
	for (unsigned node = 0; node < m->n_nodes; node++) {
		CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = NULL;
		const struct cpu *cpu;

		cpus = machine_own_cpus(m, node);
		cpu = hwloc_bitmap_iszero(cpus) ? NULL : machine_cpu(m, (unsigned)hwloc_bitmap_first(cpus));
		if (cpu)
			ret[(*ret_n)++] = (struct pool){places[cpu - m->cpus].socket, node};
	}
	qsort(ret, *ret_n, sizeof(*ret), compare_cpu_pools);
}

/* Both pools are equal: koordlet removes pods that its scheduler has bound to CPUs from one or both pools,
 * but only the API server knows these pods. */
static int add_cpu_pools(
	const struct node_state *node, const struct cpu_place *places, struct doc *ret, size_t *left)
{
	const struct machine *m = &node->machine;
	CLEANUP(doc_release) struct doc list = {.kind = DOC_LIST};
	CLEANUP(freep) struct pool *pools = xcalloc(m->n_nodes + 1, sizeof(*pools));
	CLEANUP(cpuset_freep) hwloc_bitmap_t taken = allocations_exclusive_cpus(&node->allocations);
	CLEANUP(cpuset_freep) hwloc_bitmap_t of_claims = claims_cpus(&node->claims);
	size_t n;
	int r;

	list_cpu_pools(m, places, pools, &n);
	cpuset_or(taken, taken, of_claims);
	for (size_t i = 0; i < n; i++)
		add_pool(&list, m, &pools[i], taken);
	r = add_annotation(ret, KOORDINATOR_SHARED_POOLS, &list, left);
	return r < 0 ? r : add_annotation(ret, KOORDINATOR_BE_SHARED_POOLS, &list, left);
}

/* The reason why the annotations would be wrong, or NULL. Under CPU manager policy none no pod holds CPUs. */
static const char *find_unknown_source(const struct node_state *node)
{
	if (node->settings.cpu_manager == CPU_MANAGER_NONE)
		return NULL;
	if (!node->allocations.cpus_known)
		return "the pods that hold CPUs are unknown";
	if (node->settings.cpu_manager == CPU_MANAGER_STATIC && !node->reserved.cpus)
		return "the reserved CPUs are unknown";
	return NULL;
}

static int add_all_annotations(const struct node_state *node, struct doc *ret)
{
	CLEANUP(freep) struct cpu_place *places = number_places(&node->machine);
	size_t left = KOORDINATOR_MAX_BYTES;
	int r = add_topology(&node->machine, places, ret, &left);

	if (r < 0)
		return r;
	r = add_policy(node, ret, &left);
	if (r < 0)
		return r;
	r = add_pod_allocs(&node->allocations, ret, &left);
	return r < 0 ? r : add_cpu_pools(node, places, ret, &left);
}

void koordinator_render(const struct node_state *node, struct doc *ret, struct notes *notes)
{
	CLEANUP(doc_release) struct doc map = {.kind = DOC_MAP};
	const char *why = find_unknown_source(node);

	if (!why && add_all_annotations(node, &map) < 0)
		why = "they exceed the API server's limit for annotations";
	if (why) {
		notes_add(notes, "Koordinator's annotations are omitted: %s", why);
		*ret = (struct doc){.kind = DOC_MAP};
		return;
	}
	*ret = map;
	map = (struct doc)DOC_INIT;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/node/machine_spec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/allocation.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/machine.h"
#include "common/resource.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define MAX_DEVICES 1024u /* of one resource */

enum { SOCKETS, NUMAS, CORES, THREADS, N_FACTORS };

struct layout {
	unsigned factors[N_FACTORS]; /* sockets; NUMA nodes, cores, threads: within one of the level above */
	unsigned n_nodes, n_cores;
	uint64_t memory_bytes; /* of the machine */
};

/* ---- CPUs and NUMA nodes */

static void add_spec_cpus(const struct layout *l, struct machine *m)
{
	/* The first thread of every core, then the second threads. machine_derive() sets `numa` from the CPUs of the nodes. */
	for (unsigned id = 0; id < l->n_cores * l->factors[THREADS]; id++) {
		unsigned core = id % l->n_cores, numa = core / l->factors[CORES];
		struct cpu *cpu = vec_push(&m->cpus, &m->n_cpus, &m->cpus_size, sizeof(*cpu));

		*cpu = (struct cpu){.id = id,
			.core = core,
			.socket = (int)(numa / l->factors[NUMAS]),
			.numa = MACHINE_NONE,
			.l3 = (int)numa};
		cpuset_set(m->nodes[numa].cpus, id);
	}
}

static unsigned spec_distance(const struct layout *l, unsigned from, unsigned to)
{
	if (from == to)
		return 10;
	return from / l->factors[NUMAS] == to / l->factors[NUMAS] ? 12 : 32; /* in one socket, or not */
}

static void add_spec_nodes(const struct layout *l, struct machine *m)
{
	m->distances = xcalloc((size_t)l->n_nodes * l->n_nodes, sizeof(*m->distances));
	for (unsigned i = 0; i < l->n_nodes; i++) {
		struct numa_node *node = vec_push(&m->nodes, &m->n_nodes, &m->nodes_size, sizeof(*node));

		*node = (struct numa_node){
			.id = i, .cpus = cpuset_new(), .memory_bytes = l->memory_bytes / l->n_nodes};
		for (unsigned k = 0; k < l->n_nodes; k++)
			m->distances[i * l->n_nodes + k] = spec_distance(l, i, k);
	}
}

/* ---- parts of the text */

/* "2x4x16x2"; the last factor may be omitted. */
static int parse_factors(const char *text, unsigned ret[N_FACTORS])
{
	size_t n = 0;

	for (;;) {
		char *end;
		unsigned long factor = strtoul(text, &end, 10);

		if (*text < '0' || *text > '9' || factor == 0 || factor > MACHINE_MAX_CPUS || n == N_FACTORS)
			return -EINVAL;
		ret[n++] = (unsigned)factor;
		if (!*end)
			return n >= THREADS ? 0 : -EINVAL;
		if (*end != 'x')
			return -EINVAL;
		text = end + 1;
	}
}

static int parse_layout(const char *text, struct layout *ret)
{
	*ret = (struct layout){.factors = {[THREADS] = 2}};
	if (parse_factors(text, ret->factors) < 0)
		return -EINVAL;
	ret->n_nodes = ret->factors[SOCKETS] * ret->factors[NUMAS];
	if (ret->n_nodes > MACHINE_MAX_NODES)
		return -EINVAL;
	ret->n_cores = ret->n_nodes * ret->factors[CORES];
	return (uint64_t)ret->n_cores * ret->factors[THREADS] > MACHINE_MAX_CPUS ? -EINVAL : 0;
}

/* A whole number of bytes, or of devices. */
static int parse_spec_amount(const char *text, uint64_t max, uint64_t *ret)
{
	struct quantity q;

	if (quantity_parse(text, &q, NULL) < 0 || q.nano <= 0 || q.nano % QTY_UNIT != 0 ||
		q.nano / QTY_UNIT > (qty_t)max)
		return -EINVAL;
	*ret = (uint64_t)(q.nano / QTY_UNIT);
	return 0;
}

static int add_spec_pages(const char *name, const char *amount, const struct layout *l, struct machine *m)
{
	uint64_t bytes, page;

	if (parse_spec_amount(amount, l->memory_bytes, &bytes) < 0 ||
		parse_spec_amount(name + strlen("hugepages-"), l->memory_bytes, &page) < 0)
		return -EINVAL;
	for (size_t i = 0; i < m->n_nodes; i++) {
		struct numa_node *node = &m->nodes[i];
		struct hugepage_pool *pool =
			vec_push(&node->pools, &node->n_pools, &node->pools_size, sizeof(*pool));

		*pool = (struct hugepage_pool){.page_bytes = page, .pages = bytes / page / l->n_nodes};
	}
	return 0;
}

static int add_spec_devices(
	const char *name, const char *amount, const struct layout *l, struct node_state *ret)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = cpuset_new();
	struct allocations *a = &ret->allocations;
	uint64_t n;
	char id[16];

	if (parse_spec_amount(amount, MAX_DEVICES, &n) < 0)
		return -EINVAL;
	for (unsigned i = 0; i < n; i++) {
		cpuset_only(nodes, (unsigned)(i * (uint64_t)l->n_nodes / n));
		snprintf(id, sizeof(id), "%u", i);
		device_blocks_add(
			&a->registered, &a->n_registered, &a->registered_size, name, nodes, false, id);
	}
	return 0;
}

static int add_spec_resource(const char *text, const struct layout *l, struct node_state *ret)
{
	const char *equals = strchr(text, '=');
	CLEANUP(freep) char *name = equals ? xstrndup(text, (size_t)(equals - text)) : NULL;

	if (!name)
		return -EINVAL;
	if (resource_name_is_hugepages(name))
		return add_spec_pages(name, equals + 1, l, &ret->machine);
	return resource_name_is_native(name) ? -EINVAL : add_spec_devices(name, equals + 1, l, ret);
}

static int compare_page_sizes(const void *a, const void *b)
{
	uint64_t x = ((const struct hugepage_pool *)a)->page_bytes,
		 y = ((const struct hugepage_pool *)b)->page_bytes;

	return (x > y) - (x < y);
}

/* strtok_r() changes `text`. After a failure, `ret` holds a part. */
static int parse_whole_spec(char *text, struct node_state *ret)
{
	struct layout l;
	char *next = NULL;
	const char *part = strtok_r(text, ",", &next);
	int r = part ? parse_layout(part, &l) : -EINVAL;

	part = strtok_r(NULL, ",", &next);
	if (r < 0 || !part || parse_spec_amount(part, (uint64_t)1 << 60, &l.memory_bytes) < 0)
		return -EINVAL;
	ret->machine.offline = cpuset_new();
	add_spec_nodes(&l, &ret->machine);
	add_spec_cpus(&l, &ret->machine);
	while (r == 0 && (part = strtok_r(NULL, ",", &next)))
		r = add_spec_resource(part, &l, ret);
	for (size_t i = 0; i < ret->machine.n_nodes; i++)
		if (ret->machine.nodes[i].n_pools > 1)
			qsort(ret->machine.nodes[i].pools, ret->machine.nodes[i].n_pools,
				sizeof(struct hugepage_pool), compare_page_sizes);
	machine_derive(&ret->machine);
	ret->allocations.registered_known = true;
	return r;
}

int machine_spec_parse(const char *text, struct node_state *ret, struct err *err)
{
	CLEANUP(node_state_release) struct node_state state;
	CLEANUP(freep) char *copy = xstrdup(text);

	node_state_init(&state);
	if (parse_whole_spec(copy, &state) < 0)
		return err_set(err, -EINVAL,
			"'%.80s' is not SOCKETSxNUMAxCORES[xTHREADS],MEMORY[,RESOURCE=AMOUNT...] such as 2x4x16,512Gi",
			text);
	*ret = state;
	node_state_init(&state);
	return 0;
}

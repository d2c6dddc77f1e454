/* SPDX-License-Identifier: Apache-2.0 */
/* The machine, as sections of the node state. */
#include "scoring/node/node_state_sections.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define MAX_DISTANCE   65535u
#define MAX_PAGE_SIZES 16u
#define MAX_STRIDE     16u

/* ---- memory */

static bool print_ram(const struct node_state_printer *p)
{
	token_add_bytes(p->out, p->state->machine.memory_bytes);
	return true;
}

static void parse_ram(struct node_state_parser *p)
{
	p->state.machine.memory_bytes = token_reader_bytes(&p->reader);
}

static bool print_pages(const struct node_state_printer *p)
{
	const struct machine *m = &p->state->machine;
	uint64_t first = machine_next_page_size(m, 0);

	for (uint64_t size = first; size > 0; size = machine_next_page_size(m, size)) {
		strbuf_addstr(p->out, size == first ? "" : ",");
		token_add_bytes(p->out, size);
	}
	return first > 0;
}

static void parse_pages(struct node_state_parser *p)
{
	struct token_reader *r = &p->reader;

	p->page_bytes = xcalloc(MAX_PAGE_SIZES, sizeof(*p->page_bytes));
	do {
		uint64_t size = token_reader_bytes(r), last = 0;

		if (p->n_page_sizes > 0)
			last = p->page_bytes[p->n_page_sizes - 1];
		if (size <= last || p->n_page_sizes == MAX_PAGE_SIZES)
			token_reader_fail(r, "page sizes are not in ascending order, or too many");
		if (!r->error)
			p->page_bytes[p->n_page_sizes++] = size;
	} while (token_reader_skip(r, ','));
}

/* "0:65970284k:0:4": id, memory, and the number of pages of each size, '-' if there is no pool. */
static bool print_nodes(const struct node_state_printer *p)
{
	const struct machine *m = &p->state->machine;

	for (size_t i = 0; i < m->n_nodes; i++) {
		const struct numa_node *node = &m->nodes[i];
		size_t k = 0;

		strbuf_addf(p->out, "%s%u:", i > 0 ? "|" : "", node->id);
		token_add_bytes(p->out, node->memory_bytes);
		for (uint64_t size = machine_next_page_size(m, 0); size > 0;
			size = machine_next_page_size(m, size))
			if (k < node->n_pools && node->pools[k].page_bytes == size)
				strbuf_addf(p->out, ":%" PRIu64, node->pools[k++].pages);
			else
				strbuf_addstr(p->out, ":-");
	}
	return true;
}

static void read_pool(struct token_reader *r, uint64_t page_bytes, struct numa_node *node)
{
	struct hugepage_pool *pool;
	uint64_t pages;

	token_reader_expect(r, ':');
	if (r->error || token_reader_skip(r, '-'))
		return;
	pages = token_reader_number(r, UINT64_MAX / page_bytes);
	pool = vec_push(&node->pools, &node->n_pools, &node->pools_size, sizeof(*pool));
	*pool = (struct hugepage_pool){.page_bytes = page_bytes, .pages = pages};
}

static void read_numa_node(struct node_state_parser *p)
{
	struct machine *m = &p->state.machine;
	struct token_reader *r = &p->reader;
	unsigned id = (unsigned)token_reader_number(r, MACHINE_MAX_NODES - 1);
	struct numa_node *node;

	if (m->n_nodes > 0 && id <= m->nodes[m->n_nodes - 1].id)
		token_reader_fail(r, "NUMA nodes are not in ascending order");
	token_reader_expect(r, ':');
	if (r->error)
		return;
	node = vec_push(&m->nodes, &m->n_nodes, &m->nodes_size, sizeof(*node));
	node->id = id;
	node->cpus = cpuset_new();
	node->memory_bytes = token_reader_bytes(r);
	for (size_t i = 0; i < p->n_page_sizes && !r->error; i++)
		read_pool(r, p->page_bytes[i], node);
}

static void parse_nodes(struct node_state_parser *p)
{
	if (*p->reader.at == ';')
		return;
	do
		read_numa_node(p);
	while (token_reader_skip(&p->reader, '|'));
}

/* ---- distances */

static bool is_symmetric(const struct machine *m)
{
	for (size_t i = 0; i < m->n_nodes; i++)
		for (size_t k = 0; k < i; k++)
			if (machine_distance(m, i, k) != machine_distance(m, k, i))
				return false;
	return true;
}

static void print_distance_run(struct strbuf *out, unsigned distance, size_t n)
{
	if (n == 0)
		return;
	strbuf_addf(out, "%u", distance);
	if (n > 1)
		strbuf_addf(out, "*%zu", n);
}

/* Row by row with run lengths: "10,12*3"; after '~' each row begins at the diagonal. */
static bool print_distances(const struct node_state_printer *p)
{
	const struct machine *m = &p->state->machine;
	bool half = is_symmetric(m); /* the other half is equal */
	unsigned last = 0;
	size_t n = 0; /* pairs of NUMA nodes with the distance `last`, which are not printed yet */

	if (!m->distances)
		return false;
	strbuf_addstr(p->out, half ? "~" : "");
	for (size_t i = 0; i < m->n_nodes; i++)
		for (size_t k = half ? i : 0; k < m->n_nodes; k++) {
			unsigned distance = machine_distance(m, i, k);

			if (n > 0 && distance != last) {
				print_distance_run(p->out, last, n);
				strbuf_addch(p->out, ',');
				n = 0;
			}
			last = distance;
			n++;
		}
	print_distance_run(p->out, last, n);
	return true;
}

static void parse_distances(struct node_state_parser *p)
{
	struct machine *m = &p->state.machine;
	struct token_reader *r = &p->reader;
	bool half = token_reader_skip(r, '~');
	uint64_t left = 0; /* pairs of NUMA nodes that the last distance is still for */
	unsigned distance = 0;

	m->distances = xcalloc(m->n_nodes * m->n_nodes + 1, sizeof(*m->distances));
	for (size_t i = 0; i < m->n_nodes && !r->error; i++)
		for (size_t k = half ? i : 0; k < m->n_nodes && !r->error; k++) {
			if (left == 0) {
				if (i > 0 || k > 0) /* not the first pair */
					token_reader_expect(r, ',');
				distance = (unsigned)token_reader_number(r, MAX_DISTANCE);
				left = token_reader_skip(r, '*') ? token_reader_number(r, UINT32_MAX) : 1;
				if (left == 0)
					token_reader_fail(r, "a distance that is repeated 0 times");
			}
			m->distances[i * m->n_nodes + k] = distance;
			if (half)
				m->distances[k * m->n_nodes + i] = distance;
			left--;
		}
	if (left > 0)
		token_reader_fail(r, "more distances than pairs of NUMA nodes");
}

/* ---- a number per CPU: runs of "FIRST-LAST:STRIDE/BLOCK=VALUE+STEP" */

/*
 * `n` CPUs, whose ids begin at `first` and are `stride` apart. The first `block` CPUs have `value`, the next
 * block has `value` + `step`, and so on. A single block: `block` is `n`.
 */
struct cpu_run {
	unsigned first, stride;
	size_t n, block;
	int value, step;
};

/* By CPU id the value that is still to be printed, or MACHINE_NONE. */
struct cpu_values {
	int *of;
	unsigned end; /* the last id + 1 */
};

static int cpu_value_at(const struct cpu_values *v, const struct cpu_run *run, size_t k)
{
	size_t id = run->first + k * run->stride;

	return id < v->end ? v->of[id] : MACHINE_NONE;
}

/* The first block sets the length of the others, and the second block the step; the last block may be shorter. */
static struct cpu_run find_longest_run(const struct cpu_values *v, unsigned first, unsigned stride)
{
	struct cpu_run run = {.first = first, .stride = stride, .value = v->of[first]};
	int next;

	while (cpu_value_at(v, &run, run.block) == run.value)
		run.block++;
	next = cpu_value_at(v, &run, run.block);
	run.n = run.block;
	if (next <= run.value) /* also if the next CPU has no value, or is not there */
		return run;
	run.step = next - run.value;
	while ((int64_t)cpu_value_at(v, &run, run.n) ==
		run.value + (int64_t)run.step * (int64_t)(run.n / run.block))
		run.n++;
	return run;
}

static void print_cpu_run(struct strbuf *out, const struct cpu_run *run)
{
	strbuf_addf(out, "%u", run->first);
	if (run->n > 1)
		strbuf_addf(out, "-%zu", run->first + (run->n - 1) * run->stride);
	if (run->n > 1 && run->stride > 1)
		strbuf_addf(out, ":%u", run->stride);
	if (run->block < run->n)
		strbuf_addf(out, "/%zu", run->block);
	strbuf_addf(out, "=%d", run->value);
	if (run->block < run->n && run->step > 1)
		strbuf_addf(out, "+%d", run->step);
}

/*
 * Print this int member of every CPU. Of the runs that begin at the first remaining CPU the longest is
 * printed, of equals the one with the smallest stride.
 */
static bool print_cpu_values(const struct node_state_printer *p, size_t member)
{
	const struct machine *m = &p->state->machine;
	struct cpu_values v = {.end = m->n_cpus > 0 ? m->cpus[m->n_cpus - 1].id + 1 : 0};
	CLEANUP(freep) int *of = xmalloc((v.end + 1) * sizeof(*of));
	const char *comma = "";

	if (v.end > MACHINE_MAX_CPUS) {
		p->out->error = -EFBIG;
		return false;
	}
	v.of = of;
	for (unsigned id = 0; id < v.end; id++)
		of[id] = MACHINE_NONE;
	for (size_t i = 0; i < m->n_cpus; i++) {
		const int *value = (const void *)((const char *)&m->cpus[i] + member);

		of[m->cpus[i].id] = *value;
	}
	for (unsigned id = 0; id < v.end; id++) {
		struct cpu_run best = {0};

		for (unsigned stride = 1; stride <= MAX_STRIDE && of[id] != MACHINE_NONE; stride++) {
			struct cpu_run run = find_longest_run(&v, id, stride);

			best = run.n > best.n ? run : best;
		}
		if (best.n == 0)
			continue;
		strbuf_addstr(p->out, comma);
		print_cpu_run(p->out, &best);
		comma = ",";
		for (size_t k = 0; k < best.n; k++)
			of[id + k * best.stride] = MACHINE_NONE;
	}
	return true;
}

/* Without '/' all CPUs of the run are one block. `n` is 0 after a failure. */
static struct cpu_run read_cpu_run(struct token_reader *r)
{
	struct cpu_run run = {.stride = 1, .step = 1};
	unsigned last;

	run.first = (unsigned)token_reader_number(r, MACHINE_MAX_CPUS - 1);
	last = token_reader_skip(r, '-') ? (unsigned)token_reader_number(r, MACHINE_MAX_CPUS - 1) : run.first;
	if (token_reader_skip(r, ':'))
		run.stride = (unsigned)token_reader_number(r, MACHINE_MAX_CPUS);
	run.block = token_reader_skip(r, '/') ? (size_t)token_reader_number(r, MACHINE_MAX_CPUS) : SIZE_MAX;
	token_reader_expect(r, '=');
	run.value = (int)token_reader_number(r, INT_MAX);
	if (token_reader_skip(r, '+'))
		run.step = (int)token_reader_number(r, INT_MAX);
	if (last < run.first || run.stride == 0 || run.block == 0)
		token_reader_fail(r, "an invalid range of CPUs");
	if (!r->error)
		run.n = (last - run.first) / run.stride + 1;
	return run;
}

/* Call `set` for each CPU of the section with the CPU's value. A text cannot name more CPUs than a machine has, also not repeatedly. */
static void read_cpu_values(
	struct node_state_parser *p, void (*set)(struct node_state_parser *p, unsigned id, int value))
{
	struct token_reader *r = &p->reader;
	size_t left = MACHINE_MAX_CPUS;

	if (*r->at == ';')
		return;
	do {
		struct cpu_run run = read_cpu_run(r);

		if (run.n > left)
			token_reader_fail(r, "more than %d CPUs", MACHINE_MAX_CPUS);
		for (size_t k = 0; k < run.n && !r->error; k++) {
			int64_t value = run.value + (int64_t)run.step * (int64_t)(k / run.block);

			if (value > INT_MAX)
				token_reader_fail(r, "a number is too large");
			else
				set(p, run.first + (unsigned)k * run.stride, (int)value);
		}
		left -= run.n;
	} while (token_reader_skip(r, ','));
}

/* ---- cores: of every online CPU */

static bool print_cores(const struct node_state_printer *p)
{
	return print_cpu_values(p, offsetof(struct cpu, core));
}

static void add_core_cpu(struct node_state_parser *p, unsigned id, int value)
{
	struct machine *m = &p->state.machine;
	struct cpu *cpu = vec_push(&m->cpus, &m->n_cpus, &m->cpus_size, sizeof(*cpu));

	*cpu = (struct cpu){.id = id,
		.core = (unsigned)value,
		.socket = MACHINE_NONE,
		.numa = MACHINE_NONE,
		.l3 = MACHINE_NONE};
}

static int compare_cpu_ids(const void *a, const void *b)
{
	const struct cpu *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static void parse_cores(struct node_state_parser *p)
{
	struct machine *m = &p->state.machine;

	read_cpu_values(p, add_core_cpu);
	if (m->n_cpus > 0)
		qsort(m->cpus, m->n_cpus, sizeof(*m->cpus), compare_cpu_ids);
	for (size_t i = 0; i < m->n_cpus && !p->reader.error; i++)
		if (i > 0 && m->cpus[i].id == m->cpus[i - 1].id)
			token_reader_fail(&p->reader, "CPU %u comes twice", m->cpus[i].id);
		else if (!machine_cpu(m, m->cpus[i].core))
			token_reader_fail(
				&p->reader, "the core of CPU %u is not an online CPU", m->cpus[i].id);
}

/* ---- sockets, NUMA nodes and uncore caches of the CPUs that have one */

static bool print_sockets(const struct node_state_printer *p)
{
	return print_cpu_values(p, offsetof(struct cpu, socket));
}

static bool print_numa(const struct node_state_printer *p)
{
	return print_cpu_values(p, offsetof(struct cpu, numa));
}

static bool print_uncore(const struct node_state_printer *p)
{
	return print_cpu_values(p, offsetof(struct cpu, uncore));
}

/* Set this int member of a CPU, which must not be set yet. */
static void set_cpu_member(struct node_state_parser *p, unsigned id, size_t member, int value)
{
	const struct machine *m = &p->state.machine;
	const struct cpu *cpu = machine_cpu(m, id);
	int *place;

	if (!cpu) {
		token_reader_fail(&p->reader, "CPU %u is not among the cores", id);
		return;
	}
	/* `cpu` again, without the const of machine_cpu(). */
	place = (void *)((char *)&m->cpus[cpu - m->cpus] + member);
	if (*place != MACHINE_NONE)
		token_reader_fail(&p->reader, "CPU %u comes twice", id);
	*place = value;
}

static void set_cpu_socket(struct node_state_parser *p, unsigned id, int value)
{
	set_cpu_member(p, id, offsetof(struct cpu, socket), value);
}

static void set_cpu_numa(struct node_state_parser *p, unsigned id, int value)
{
	const struct machine *m = &p->state.machine;
	int at = machine_node_index(m, (unsigned)value);

	set_cpu_member(p, id, offsetof(struct cpu, numa), value);
	if (at < 0)
		token_reader_fail(&p->reader, "there is no NUMA node %d", value);
	else if (!p->reader.error)
		cpuset_set(m->nodes[at].cpus, id);
}

/* Until node_state_finish_machine() the value is in `l3`, which the text does not have. */
static void set_cpu_uncore(struct node_state_parser *p, unsigned id, int value)
{
	set_cpu_member(p, id, offsetof(struct cpu, l3), value);
}

static void parse_sockets(struct node_state_parser *p)
{
	read_cpu_values(p, set_cpu_socket);
}

static void parse_numa(struct node_state_parser *p)
{
	read_cpu_values(p, set_cpu_numa);
}

static void parse_uncore(struct node_state_parser *p)
{
	read_cpu_values(p, set_cpu_uncore);
}

void node_state_finish_machine(struct node_state_parser *p)
{
	struct machine *m = &p->state.machine;
	uint64_t memory = m->memory_bytes;

	if (p->reader.error)
		return;
	m->offline = cpuset_new();
	/* Also replaces a memory of 0 by the sum of the NUMA nodes, but the text's amount counts, and computes `uncore` from `l3`. */
	machine_derive(m);
	m->memory_bytes = memory;
	/* machine_derive() left `l3` as it was, and may have changed `uncore` to the socket. */
	for (size_t i = 0; i < m->n_cpus; i++) {
		m->cpus[i].uncore = m->cpus[i].l3;
		m->cpus[i].l3 = MACHINE_NONE;
	}
}

static bool print_isolated(const struct node_state_printer *p)
{
	hwloc_const_bitmap_t isolated = p->state->machine.isolated;

	if (isolated)
		token_add_set(p->out, isolated, MACHINE_MAX_CPUS - 1);
	return isolated != NULL;
}

static void parse_isolated(struct node_state_parser *p)
{
	p->state.machine.isolated = token_reader_set(&p->reader, MACHINE_MAX_CPUS - 1);
}

const struct node_state_section node_state_machine_sections[] = {
	{"ram", true, print_ram, parse_ram},
	{"pages", false, print_pages, parse_pages},
	{"nodes", true, print_nodes, parse_nodes},
	{"distances", false, print_distances, parse_distances},
	{"cores", true, print_cores, parse_cores},
	{"sockets", true, print_sockets, parse_sockets},
	{"numa", true, print_numa, parse_numa},
	{"uncore", true, print_uncore, parse_uncore},
	{"?isolated", false, print_isolated, parse_isolated},
	{0},
};

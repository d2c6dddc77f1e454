/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * show: what `nrtd show` draws, as plain data: the observation sorted into sockets, NUMA nodes, cores and
 * CPUs, with a letter for each pod that holds something. No layout and no colours; show_text.c and show_svg.c
 * have these.
 */
#include <stddef.h>

#include "agent/observe.h"

/* In the order of the legends. */
enum show_state {
	SHOW_RESERVED,
	SHOW_SHARED,  /* the pool of all pods without exclusive CPUs */
	SHOW_UNKNOWN, /* online; no source tells who uses it */
	SHOW_OFFLINE,
	SHOW_EXCLUSIVE,
	SHOW_STATE_COUNT
};

extern const char *const show_state_names[SHOW_STATE_COUNT]; /* "use not known", "shared", ... */

#define SHOW_NOBODY (-1) /* "no holder" where the index of one can stand */

struct show_cpu {
	unsigned id;
	unsigned core; /* lowest CPU id of its core */
	enum show_state state;
	int holder; /* index into holders[]; SHOW_NOBODY unless the state is SHOW_EXCLUSIVE */
};

enum show_kind { SHOW_CPUS, SHOW_BYTES, SHOW_DEVICES, SHOW_KIND_COUNT };

/* A resource that some NUMA node has, or devices of which some pod holds. */
struct show_resource {
	const char *name;
	char *label;       /* as short as it can be told: "memory", "1Gi pages", "nic" */
	char *short_label; /* "mem", "1Gi", "nic" */
	enum show_kind kind;
};

/* Who holds the devices of one resource on one NUMA node, one entry a device, in the order of holders. */
struct show_devices {
	int *holders;
	size_t n_holders;
	size_t holders_size;
};

struct show_node {
	int id;                /* NUMA node id; MACHINE_NONE for the CPUs outside every NUMA node */
	char *cpu_list;        /* "0-5,48-53"; "" without CPUs */
	struct show_cpu *cpus; /* by core, then id */
	size_t n_cpus;
	struct inventory_amount
		*amounts;             /* one per resources[]; devices nobody has counted are not present */
	struct show_devices *devices; /* one per resources[] */
};

/* NUMA nodes of the same socket (or the same sockets, or none). */
struct show_group {
	char *title;  /* "socket 0", "sockets 0-1", "no socket" */
	size_t first; /* of nodes[] */
	size_t n_nodes;
};

struct show_holder {
	char key;            /* its letter, or SHOW_KEY_MORE */
	char *name;          /* "namespace/pod (container, container)", "pod 3f2a9c51 (container)" */
	char *holds;         /* "8 CPUs 1-4,49-52; memory 16Gi on 0; 2 vendor.com/nic on 0" */
	hwloc_bitmap_t cpus; /* exclusive CPUs of all its containers */
	const struct allocation *items; /* the pod's run of the allocations, borrowed */
	size_t n_items;
};

#define SHOW_KEYS     "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
#define SHOW_KEY_MORE '+' /* of every pod after the last key */

struct show_view {
	const char *node_name;
	char *machine;  /* "2 sockets, 8 NUMA nodes, 48 cores, 96 CPUs, 256Gi memory" */
	char *kubelet;  /* "CPU manager static, memory manager Static, ..." */
	char *reserved; /* the reserved CPUs as a list, NULL = unknown */
	char *offline;  /* "3,12-13"; "" when all are online */
	size_t n_offline;
	struct show_group *groups; /* lowest socket first, "no socket" last */
	size_t n_groups;
	size_t groups_size;
	struct show_node *nodes; /* group by group, ascending id within */
	size_t n_nodes;
	size_t nodes_size;
	struct show_resource *resources; /* cpu, memory, hugepages by page size, devices by name */
	size_t n_resources;
	size_t resources_size;
	struct show_holder *holders; /* by lowest CPU; those without CPUs last, by name */
	size_t n_holders;
	size_t holders_size;
	bool states[SHOW_STATE_COUNT]; /* which occur */
	bool cores_known;              /* else each CPU stands for itself */
	const unsigned
		*distances; /* n_distances x n_distances, ascending node id, row = from; 0 = not told */
	const struct numa_node *distance_nodes; /* the nodes of its rows */
	size_t n_distances;                     /* 0 = the machine tells none, or has one node */
	const struct notes *notes;
};

void show_view_init(struct show_view *v);
void show_view_release(struct show_view *v);

/*
 * The view of an observation, from which it borrows names, distances and notes: `o` must outlive it. 0 or
 * -ENOMEM; `ret` is untouched on failure.
 *
 * A CPU is exclusive when an allocation has it, else reserved, else shared when the shared pool has it or the
 * CPU manager's policy is none; what remains is unknown. One pod is one holder, whatever its containers.
 */
int show_view(const struct observation *o, struct show_view *ret);

/* Threads of the core that begins at cpus[at]. */
size_t show_core_size(const struct show_node *node, size_t at);

/* Resource `at` has a line among what the node has: memory, hugepages, devices, and CPUs that are counted but
 * not told one by one. */
bool show_has_line(const struct show_view *v, const struct show_node *node, size_t at);

static inline size_t show_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

static inline size_t show_max(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* How many of `n` things to put on a line where `most` fit, so that the lines are evenly filled: four where
 * three fit are 2 + 2, not 3 + 1. */
static inline size_t show_spread(size_t n, size_t most)
{
	size_t lines = (n + most - 1) / most;

	return (n + lines - 1) / lines;
}

/* The key of a holder, or `nobody` for SHOW_NOBODY. */
char show_key(const struct show_view *v, int holder, char nobody);

/* "31.9Gi", "512Mi", "12": rounded down to what fits in 7 characters for amounts below 10^5 of the unit. */
#define SHOW_AMOUNT_SIZE QUANTITY_TEXT_MAX
void show_amount_text(enum show_kind kind, qty_t nano, char text[SHOW_AMOUNT_SIZE]);

/*
 * What a node tells of a resource: "12.5Gi of 31.9Gi" (available of allocatable), only "12.5Gi" when `brief`,
 * "none" where the capacity is 0, "2 held" for devices nobody has counted, "" for nothing.
 */
#define SHOW_AMOUNTS_SIZE (2 * SHOW_AMOUNT_SIZE + 8)
void show_amounts_text(const struct show_view *v, const struct show_node *node, size_t resource, bool brief,
	char text[SHOW_AMOUNTS_SIZE]);

/* "2 of 10 free" ("2 free" when brief), "no CPUs". */
void show_cpus_text(
	const struct show_view *v, const struct show_node *node, bool brief, char text[SHOW_AMOUNTS_SIZE]);

/*
 * Split a bar of `width` cells: reserved (capacity - allocatable), held (allocatable - available), the rest
 * is free. A part that is not 0 has a cell as long as there are enough.
 */
struct show_bar {
	size_t reserved, held, free;
};
struct show_bar show_bar(const struct inventory_amount *amount, size_t width);

/* Levels of the heat map: 0 for the least distance of the matrix, SHOW_HEAT_LEVELS - 1 for the largest. */
#define SHOW_HEAT_LEVELS 5
struct show_heat {
	unsigned least, most;
};
struct show_heat show_heat(const struct show_view *v);
size_t show_heat_level(const struct show_heat *heat, unsigned distance);

/*
 * The distance to show for a block of `block` by `block` NUMA nodes, the one in this row and column of such
 * blocks: the largest, or 0 when one of it is not told.
 */
unsigned show_block_distance(const struct show_view *v, size_t block, size_t row, size_t col);

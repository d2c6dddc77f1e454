/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Draws a node: its NUMA nodes, CPUs, memory and devices, and which pods hold them.
 *
 * show.c converts the node's state into struct show_view, show_pci.c its PCI devices. show_layout.c lays out the picture of a
 * view, show_text.c draws the picture on a terminal, show_svg.c as SVG. show_doc.c makes a document of the view. show_amount.c
 * converts amounts for all of them.
 */
#include <stddef.h>

#include "cli/report/terminal.h"
#include "common/doc.h"
#include "common/node_state.h"
#include "common/resource.h"

/* ---- the view: plain data, without layout or colours */

/* In the order of the legends. */
enum show_state {
	SHOW_RESERVED,
	SHOW_SHARED,  /* in the pool of all pods without exclusive CPUs */
	SHOW_UNKNOWN, /* online, use unknown */
	SHOW_OFFLINE,
	SHOW_EXCLUSIVE,
	SHOW_STATE_COUNT
};

extern const char *const show_state_names[SHOW_STATE_COUNT]; /* "reserved", "shared", ... */

#define SHOW_NOBODY (-1) /* instead of the index of a holder */

struct show_cpu {
	unsigned id;
	unsigned core;  /* lowest CPU id of the core */
	int l3;         /* id of the L3 cache if the NUMA node has several L3 caches, else MACHINE_NONE */
	size_t l3_rank; /* position of the L3 cache in the NUMA node; 0 if there is only one */
	enum show_state state;
	int holder; /* index in holders[]; SHOW_NOBODY unless the state is SHOW_EXCLUSIVE */
};

enum show_kind { SHOW_CPUS, SHOW_BYTES, SHOW_DEVICES, SHOW_KIND_COUNT };

/* A resource of some NUMA node, or of devices that a pod holds. */
struct show_resource {
	const char *name;
	char *label;       /* "memory", "1Gi pages", "nic" */
	char *short_label; /* "mem", "1Gi", "nic" */
	enum show_kind kind;
};

/* The holders of one resource's devices on one NUMA node, one entry per device, in the order of holders[]. */
struct show_devices {
	int *holders;
	size_t n_holders;
	size_t holders_size;
};

struct show_node {
	int id;          /* NUMA node id; MACHINE_NONE for the CPUs outside every NUMA node */
	char *cpu_list;  /* "0-5,48-53"; "" without CPUs */
	char *cpu_short; /* the same as of cpuset_print_short(), for places where cpu_list does not fit */
	struct show_cpu *cpus; /* by L3 cache, core, id */
	size_t n_cpus;
	struct inventory_amount *amounts; /* per resources[]; uncounted devices are not present */
	struct show_devices *devices;     /* per resources[] */
};

/* The NUMA nodes of one socket, of one set of sockets, or without a socket. */
struct show_group {
	char *title;  /* "socket 0", "socket L#1 (P#36)", "sockets 0-1", "no socket" */
	size_t first; /* in nodes[] */
	size_t n_nodes;
};

/* A pod or a claim that holds resources exclusively. */
struct show_holder {
	char key; /* the letter in the picture, or SHOW_KEY_MORE */
	/*
	 * "namespace/pod (container, container)", "pod 3f2a9c51 (container)", "claim namespace/name (dra.cpu,
	 * pod namespace/pod)"
	 */
	char *name;
	/* "8 CPUs 1-4,49-52; memory 16Gi on 0; 2 vendor.com/nic on 0", and the alignment unless the pod is aligned */
	char *holds;
	hwloc_bitmap_t cpus;            /* exclusive CPUs of all containers */
	const struct allocation *items; /* the pod's allocations, borrowed from the state; none for a claim */
	size_t n_items;
	const struct claim *claim; /* borrowed from the state; NULL for a pod */
};

enum show_use { SHOW_USE_UNKNOWN, SHOW_USE_FREE, SHOW_USE_HELD };

/* A GPU, accelerator, NIC or NVMe disk, or a virtual function that a plugin or a claim has. */
struct show_pci {
	const struct pci_device *device; /* borrowed from the state */
	const char *resource;            /* of a plugin; NULL = no plugin is known to have the device */
	enum show_use use;
	int holder; /* index in holders[]; SHOW_NOBODY unless the use is SHOW_USE_HELD */
};

/* The devices below one PCIe root that are near one NUMA node. */
struct show_root {
	char name[PCI_ROOT_SIZE];     /* "pci0000:16"; "" = unknown */
	int numa;                     /* NUMA node id, or MACHINE_NONE */
	const struct show_node *node; /* in nodes[]; NULL = unknown */
	size_t first, n_devices;      /* in pci[] */
};

#define SHOW_KEYS     "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
#define SHOW_KEY_MORE '+' /* of each holder after the last key */

struct show_view {
	const char *node_name;
	char *machine;  /* "2 sockets, 8 NUMA nodes, 48 cores, 96 CPUs, 256Gi memory" */
	char *kubelet;  /* "CPU manager static, memory manager Static, ..." */
	char *reserved; /* the reserved CPUs as a list, NULL = unknown */
	char *offline;  /* "3,12-13"; "" if all are online */
	size_t n_offline;
	struct show_group *groups; /* lowest socket first, "no socket" last */
	size_t n_groups;
	size_t groups_size;
	struct show_node *nodes; /* by group, then by id */
	size_t n_nodes;
	size_t nodes_size;
	struct show_resource *resources; /* cpu, memory, hugepages by page size, devices by name */
	size_t n_resources;
	size_t resources_size;
	struct show_holder *holders; /* by lowest CPU; holders without CPUs last, by name */
	size_t n_holders;
	size_t holders_size;
	bool states[SHOW_STATE_COUNT]; /* which states occur */
	bool cores_known;              /* false: each CPU is drawn as a core */
	bool l3_borders;               /* a NUMA node has several L3 caches */
	const unsigned *distances;     /* n_distances x n_distances, by node id, row = from; 0 = unknown */
	const struct numa_node *distance_nodes; /* the nodes of the rows */
	size_t n_distances;                     /* 0 = the machine has no distances, or only one node */
	bool pci_known;       /* the object or the machine lists PCI devices (possibly none) */
	struct show_pci *pci; /* by NUMA node, root, kind, address */
	size_t n_pci;
	size_t pci_size;
	struct show_root *roots; /* by NUMA node, then name; unknown ones last */
	size_t n_roots;
	size_t roots_size;
	const struct notes *notes;
};

void show_view_init(struct show_view *v);
void show_view_release(struct show_view *v);

/*
 * Makes the view of a node. Borrows names, distances and notes: `state` and `notes` must outlive the view.
 *
 * The state of a CPU: exclusive if an allocation contains the CPU, else reserved, else shared if the shared
 * pool contains the CPU or the CPU manager's policy is none, else unknown. All containers of a
 * pod are one holder. If state->pods_memory has the pod, the holder's text ends with the memory that the pod
 * uses and how much of it is remote. Devices with affinity to several NUMA nodes or none appear only in the holder's text.
 */
void show_view(const struct node_state *state, const struct notes *notes, struct show_view *ret);

/* For show_view(): fill in the PCI devices and their roots; nodes[] and holders[] must be complete. */
void show_fill_pci(struct show_view *v, const struct node_state *state);

/*
 * Append the devices of a root: "GPU 0000:17:00.0 held by A, NIC 0000:1a:00.0 eth0 mlx5_0 free", and per resource the number
 * of virtual functions: "nic: 5 of 8 virtual functions free". A device that no plugin is known to have has neither "free" nor
 * a holder.
 */
void show_root_text(const struct show_view *v, const struct show_root *root, struct strbuf *out);

/* "pci0000:16  NUMA 0  CPUs 0-5,48-53", "pci0000:16  NUMA 0  CPUs 0-30:2" */
void show_root_title(const struct show_root *root, struct strbuf *out);

/* ---- the document: `show -o json`, see nrtd-show(1). `ret` must be empty. */
void show_doc(const struct show_view *v, struct doc *ret);

/* ---- the drawings */

/* Draws the view on an empty canvas, which is at least TERMINAL_MIN_WIDTH wide. */
void show_text_draw(const struct show_view *v, bool colour, struct canvas *c);

/*
 * Appends the view as lines of at most `width` columns (at least TERMINAL_MIN_WIDTH). Characters show
 * everything that colours show. 0 or -EFBIG.
 */
int show_text(const struct show_view *v, size_t width, bool colour, bool utf8, struct strbuf *out);

#define SHOW_SVG_MIN_WIDTH 480
#define SHOW_SVG_WIDTH     960

/*
 * Appends one SVG document of `width` pixels (at least SHOW_SVG_MIN_WIDTH), without scripts or external fonts
 * and pictures. Follows the reader's preference for light or dark. Patterns and letters show everything that
 * colours show. 0 or -EFBIG.
 */
int show_svg(const struct show_view *v, size_t width, struct strbuf *out);

/*
 * Appends the picture without a style sheet, for an HTML page that contains show_svg_style in its style sheet and
 * show_svg_defs in one <svg> element. The pictures of a page share both. 0 or -EFBIG.
 */
int show_svg_inline(const struct show_view *v, size_t width, struct strbuf *out);
extern const char show_svg_style[]; /* CSS */
extern const char show_svg_defs[];  /* a <defs> element */

/* Appends text as XML; bytes that are not printable ASCII become '?'. */
void svg_escape(struct strbuf *out, const char *text);

/* ---- for show_layout.c, show_text.c and show_svg.c */

/* The key of a holder, or `nobody` for SHOW_NOBODY. */
char show_key(const struct show_view *v, int holder, char nobody);

/* Threads of the core that begins at cpus[at]. */
size_t show_core_size(const struct show_node *node, size_t at);

/*
 * Whether cpus[at] is the first of its L3 cache, so that a border precedes it unless it is the first of its
 * NUMA node.
 */
bool show_is_l3_first(const struct show_node *node, size_t at);

/*
 * Whether the node has a line for resource `at`: memory, hugepages, devices, and CPUs that are counted but
 * not listed.
 */
bool show_has_line(const struct show_view *v, const struct show_node *node, size_t at);

/* An amount, rounded down: "31.9Gi", "512Mi", "12". At most 7 characters below 10^5 of the unit. */
#define SHOW_AMOUNT_SIZE QUANTITY_TEXT_MAX
void show_amount_text(enum show_kind kind, qty_t nano, char text[SHOW_AMOUNT_SIZE]);

/*
 * A node's amount of a resource: "12.5Gi of 31.9Gi" (available of allocatable), "12.5Gi" if `brief`, "none"
 * if the capacity is 0, "2 held" for uncounted devices, else "".
 */
#define SHOW_AMOUNTS_SIZE (2 * SHOW_AMOUNT_SIZE + 8)
void show_available_text(const struct show_view *v, const struct show_node *node, size_t resource, bool brief,
	char text[SHOW_AMOUNTS_SIZE]);

/* "2 of 10 free" ("2 free" if brief), "no CPUs". */
void show_cpus_text(
	const struct show_view *v, const struct show_node *node, bool brief, char text[SHOW_AMOUNTS_SIZE]);

/*
 * Splits a bar of `width` cells: reserved (capacity - allocatable), held (allocatable - available) and free
 * cells. Each part that is not 0 has at least one cell if the bar has enough cells.
 */
struct show_bar {
	size_t reserved, held, free;
};
struct show_bar show_bar(const struct inventory_amount *amount, size_t width);

/* Levels of the heat map: 0 for the smallest distance of the matrix, SHOW_HEAT_LEVELS - 1 for the largest. */
#define SHOW_HEAT_LEVELS 5
struct show_heat {
	unsigned min, max; /* of the known distances */
};
struct show_heat show_heat(const struct show_view *v);
size_t show_heat_level(const struct show_heat *heat, unsigned distance);

/*
 * The distance in a cell that represents a block of `block` by `block` NUMA nodes: the largest distance of the
 * block, or 0 if a distance of the block is unknown.
 */
unsigned show_block_distance(const struct show_view *v, size_t block, size_t row, size_t col);

static inline size_t show_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

static inline size_t show_max(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The sections of the node state's text, for node_state_codec.c alone: it prints and parses each file's
 * sections in turn.
 */
#include "common/allocation.h"
#include "common/node_state.h"
#include "common/vec.h"
#include "scoring/node/token_reader.h"

/* Limits, so that hostile text does not cost more than a large node. */
#define NODE_STATE_MAX_TYPES     64u
#define NODE_STATE_MAX_RESOURCES 1024u
#define NODE_STATE_MAX_DEVICES   65536u
#define NODE_STATE_MAX_HELD      (2 * NODE_STATE_MAX_DEVICES) /* over all containers */
#define NODE_STATE_MAX_AMOUNTS   (UINT64_C(1) << 18)          /* NUMA nodes x resources of the inventory */
#define NODE_STATE_MAX_PCI       (16u << 10) /* bytes of the PCI devices; a longer section is omitted */
#define NODE_STATE_MAX_WORK      (UINT64_C(1) << 22) /* NUMA nodes x devices, or x page sizes x claims */

/*
 * Devices of one resource, by their positions in the text: registered devices, then devices that are only
 * held.
 */
struct printed_resource {
	size_t first, n;                     /* in `registered` */
	size_t first_held_only, n_held_only; /* in `held` */
};

struct node_state_printer {
	const struct node_state *state;
	struct strbuf *out;
	struct strv types;                    /* of memory, sorted */
	struct strv resources;                /* of devices, sorted */
	struct printed_resource *printed;     /* one per resource */
	struct device_index registered, held; /* `held` omits registered devices */
};

/* Devices of one resource that follow each other on the same NUMA nodes. */
struct parsed_run {
	hwloc_bitmap_t nodes;
	bool nodes_unknown;
};

enum parsed_shared { PARSED_SHARED_LISTED, PARSED_SHARED_REST, PARSED_SHARED_UNRESERVED };

struct node_state_parser {
	struct node_state state;
	struct token_reader reader;
	hwloc_bitmap_t reserved; /* as a running kubelet reports them; NULL = not reported */
	enum parsed_shared shared;
	uint64_t *page_bytes; /* hugepage sizes, in the order of the text */
	size_t n_page_sizes;
	struct strv types, resources;
	size_t *first_device; /* per resource, and one after the last: positions in run_of[] */
	uint32_t *run_of;     /* per device: its run */
	size_t n_devices, run_of_size, n_held, n_held_cpus, n_claim_blocks;
	struct parsed_run *runs;
	size_t n_runs, runs_size;
};

/*
 * print() appends the section's value; false: the section is omitted. parse() reads the value up to the ';'
 * or the end after it. Failures are sticky in `out` and `reader`.
 */
struct node_state_section {
	const char *name;
	bool required;
	bool (*print)(const struct node_state_printer *p);
	void (*parse)(struct node_state_parser *p);
};

/* In the order of the text; each array ends with a section without a name. */
extern const struct node_state_section node_state_settings_sections[];
extern const struct node_state_section node_state_machine_sections[];
extern const struct node_state_section node_state_held_sections[];
extern const struct node_state_section node_state_pods_sections[];
extern const struct node_state_section node_state_pci_sections[];

/* Before parsing: everything is known, unless a section says otherwise. */
void node_state_know_all(struct node_state_parser *p);

/* After the machine's sections: derive the rest of the machine. */
void node_state_finish_machine(struct node_state_parser *p);

/* After all sections: set the shared pool if the text has "rest" or "unreserved" instead of a list. */
void node_state_finish_shared(struct node_state_parser *p);

/* The position of a memory type among p->types. */
size_t node_state_type(const struct node_state_printer *p, const char *name);

/*
 * The id of a device and the name of a container in a parsed state: their position, as text in the same
 * order.
 */
#define NODE_STATE_ID_SIZE 7
void node_state_id(size_t position, char ret[NODE_STATE_ID_SIZE]);

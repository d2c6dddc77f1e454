/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Inside of node_state_codec.h: the sections that the text consists of.
 */
#include "agent/state/node_state_names.h"
#include "agent/state/token_reader.h"
#include "common/device_index.h"
#include "common/node_state.h"
#include "common/strv.h"

/* Hostile text must not cost more than a large node. */
#define NODE_STATE_MAX_TYPES     64u
#define NODE_STATE_MAX_RESOURCES 1024u
#define NODE_STATE_MAX_DEVICES   65536u
#define NODE_STATE_MAX_HELD      (2 * NODE_STATE_MAX_DEVICES) /* over all containers */
#define NODE_STATE_MAX_AMOUNTS   (UINT64_C(1) << 18)          /* NUMA nodes x resources of the inventory */
#define NODE_STATE_MAX_WORK      (UINT64_C(1) << 22) /* NUMA nodes x devices, or x page sizes x claims */

/* Devices of one resource, by their positions in the text: the registered ones, then those that are only held. */
struct printed_resource {
	size_t first, n;           /* in `registered` */
	size_t first_gone, n_gone; /* in `gone` */
};

struct node_state_printer {
	const struct node_state *state;
	struct strbuf *out;
	struct strv types;                /* of memory, sorted */
	struct strv resources;            /* of devices, sorted */
	struct printed_resource *printed; /* as many */
	struct device_index registered, gone;
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
	hwloc_bitmap_t reserved; /* as a running kubelet reports them; NULL = it does not */
	enum parsed_shared shared;
	uint64_t *page_bytes; /* the hugepage sizes that follow */
	size_t n_page_sizes;
	struct strv types, resources;
	size_t *first_device; /* per resource, and one behind the last: positions in run_of[] */
	uint32_t *run_of;     /* per device: its run */
	size_t n_devices, run_of_size, n_held, n_held_cpus, n_claim_blocks;
	struct parsed_run *runs;
	size_t n_runs, runs_size;
};

/*
 * One section. A printer appends its value; false: the section is left out. A parser reads one up to the ';' or the
 * end behind it. Failures are sticky in `out` and `reader`.
 */
struct node_state_section {
	const char *name;
	bool required;
	bool (*print)(const struct node_state_printer *p);
	void (*parse)(struct node_state_parser *p);
};

/* In the order of the text; each ends with a section without name. */
extern const struct node_state_section node_state_settings_sections[];
extern const struct node_state_section node_state_machine_sections[];
extern const struct node_state_section node_state_held_sections[];
extern const struct node_state_section node_state_pods_sections[];
extern const struct node_state_section node_state_claims_sections[];

/* All is known, unless a section says otherwise. */
void node_state_know_all(struct node_state_parser *p);

/* All of the machine's sections have been read: fill what follows from them. */
void node_state_finish_machine(struct node_state_parser *p);

/* All sections have been read: the shared pool, where it is what is left over. */
void node_state_finish_shared(struct node_state_parser *p);

/* Whether a hash may have this character. */
bool node_state_is_hash_digit(char c);

/* Position of a memory type. */
size_t node_state_type(const struct node_state_printer *p, const char *name);

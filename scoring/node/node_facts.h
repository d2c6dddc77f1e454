/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Describes a node's settings, hardware and devices as named values, and compares two descriptions.
 */
#include "common/node_state.h"
#include "common/strbuf.h"

enum fact_section {
	FACT_SETTING,
	FACT_TOPOLOGY, /* the hardware */
	FACT_DEVICE,   /* of device plugins; of a comparison the PCI devices */
	FACT_FREE,     /* what no pod holds */
	FACT_SECTION_COUNT
};

extern const char
	*const fact_section_names[FACT_SECTION_COUNT]; /* "settings", "topology", "devices", "free" */

/* A value of a node, as text. */
struct fact {
	enum fact_section section;
	char *name;     /* "topologyManagerPolicy", "memory of NUMA node 0" */
	char *value;    /* NULL = unknown */
	int64_t amount; /* of a value that is an amount, to compare amounts; else 0 */
};

struct node_facts {
	char *node;
	struct fact *items;
	size_t n_items, items_size;
	bool devices_known; /* a device without a fact does not exist */
};

void node_facts_release(struct node_facts *f);

/* The text for users: an empty value is "none", an unknown value "unknown". */
const char *fact_text(const struct fact *fact);

/* Adds a fact. `name` and `value` move; a NULL value is unknown. */
struct fact *node_facts_add(struct node_facts *f, enum fact_section section, char *name, char *value);

/* The fact of this section and name, or NULL. */
const struct fact *node_facts_find(const struct node_facts *f, enum fact_section section, const char *name);

/* Adds the kubelet's settings, the same settings in the same order for every node. The state has been derived. */
void node_facts_add_settings(struct node_facts *f, const struct node_state *state);

/* ---- changes of one node */

/* Adds all that decides about the alignment of pods and does not depend on pods: settings, CPUs, memory, hugepages and devices. The
 * text of a state (node_state_codec.h) has the same facts as the state. */
void node_facts_add_all(struct node_facts *f, const struct node_state *state);

/* Copies values from `before` that are unknown in `now`. */
void node_facts_keep(struct node_facts *now, const struct node_facts *before);

/*
 * Appends what differs in a section: "topologyManagerPolicy: best-effort -> restricted; online CPUs: 0-7 -> 0-6". Values that are
 * unknown in one of the two do not differ. A text longer than `max` bytes ends with the number of further changes. *ret_less: an
 * amount has decreased. Returns the number of differences.
 */
size_t node_facts_changes(const struct node_facts *before, const struct node_facts *now,
	enum fact_section section, size_t max, struct strbuf *out, bool *ret_less);

/* Replaces the facts of a section with those of `from`. */
void node_facts_replace(struct node_facts *f, const struct node_facts *from, enum fact_section section);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Counts nodes per reason, for a text like "3 nodes: cordoned".
 */
#include <stddef.h>

struct node_reason {
	char *text;
	size_t n_nodes;
};

/* A zeroed struct is empty. */
struct node_reasons {
	struct node_reason *items;
	size_t n_items, items_size;
};

void node_reasons_release(struct node_reasons *r);

/* Counts a node for a reason. A reason beyond the first `max` different ones does not count. */
void node_reasons_count(struct node_reasons *r, const char *text, size_t max);

/* Sorts by the number of nodes, the most frequent reason first, then by the text. */
void node_reasons_sort(struct node_reasons *r);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Judges the hugepages of a node: whether the kubelet gives pods hugepages of the NUMA nodes of their CPUs.
 */
#include "common/node_state.h"

/* In the order of importance. */
enum hugepages_problem {
	HUGEPAGES_FINE,
	HUGEPAGES_NO_POLICY, /* the kubelet aligns neither CPUs nor memory */
	HUGEPAGES_UNKNOWN,   /* the memory manager's policy is unknown */
	HUGEPAGES_ONE_NODE,  /* all pages are on one of several NUMA nodes with CPUs */
	HUGEPAGES_UNALIGNED, /* the memory manager does not align them */
	HUGEPAGES_UNCOUNTED, /* the kubelet has counted other pages at its start than there are */
	HUGEPAGES_PROBLEM_COUNT
};

extern const char *const hugepages_problem_texts[HUGEPAGES_PROBLEM_COUNT];
extern const char *const hugepages_remedies[HUGEPAGES_PROBLEM_COUNT]; /* "" = none */

/* The pages of one size. */
struct hugepages {
	char name[RESOURCE_NAME_HUGEPAGES_SIZE]; /* "hugepages-1Gi" */
	uint64_t bytes;                          /* of all NUMA nodes, not 0 */
	char *where;       /* "4Gi on NUMA node 0, 2Gi on NUMA node 1" or "4Gi on each of 2 NUMA nodes" */
	uint64_t reserved; /* bytes that reservedMemory keeps from pods */
	uint64_t assigned; /* bytes that the memory manager has assigned to pods; with policy Static */
	enum hugepages_problem problem;
};

/* The sizes of which the node has pages. */
struct hugepages_list {
	struct hugepages *items;
	size_t n_items, items_size;
};

void hugepages_list_release(struct hugepages_list *l);

void hugepages_find(const struct node_state *node, struct hugepages_list *ret);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The columns of `kubectl numa top`: their names and the order that each gives the rows.
 */
#include "agent/report/list_row.h"

enum list_column {
	LIST_NODE,
	LIST_POLICY,
	LIST_SCOPE,
	LIST_NUMA, /* free CPUs of each NUMA node */
	LIST_FREE,
	LIST_ONE_NUMA,
	LIST_TWO_NUMA,
	LIST_STRANDED,
	LIST_AGE,
	LIST_EXPORTER,
	LIST_DEVICES,
	LIST_ALLOCATABLE, /* this and the following are for those who want more */
	LIST_BASIS,
	LIST_COLUMN_COUNT
};

#define LIST_WIDE LIST_ALLOCATABLE

extern const char *const list_column_names[LIST_COLUMN_COUNT]; /* "NODE", "1-NUMA", ... */

/* The column of this name, in any case; LIST_COLUMN_COUNT = there is none. */
enum list_column list_column_find(const char *name);

/*
 * Bring the rows into the order of a column: numbers descending, the unknown ones last; texts ascending; the oldest
 * object first. NUMA and FREE are the free CPUs, ALLOCATABLE all of them, DEVICES the free devices. What is equal is
 * in natural order of the nodes' names ("node-2" before "node-10").
 */
void list_sort(struct list_row *rows, size_t n, enum list_column column);

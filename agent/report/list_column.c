/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/report/list_column.h"
#include "common/text.h"
#include "common/vec.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *const list_column_names[] = {"NODE", "POLICY", "SCOPE", "NUMA", "FREE", "1-NUMA", "2-NUMA",
	"STRANDED", "AGE", "EXPORTER", "DEVICES", "ALLOCATABLE", "BASIS"};

_Static_assert(sizeof(list_column_names) / sizeof(*list_column_names) == LIST_COLUMN_COUNT,
	"a name for each column");

enum list_column list_column_find(const char *name)
{
	enum list_column c = 0;

	while (c < LIST_COLUMN_COUNT && strcasecmp(name, list_column_names[c]) != 0)
		c++;
	return c;
}

/* What a column is ordered by, the most first; -1 = unknown. */
static int64_t number(const struct list_number *n)
{
	return n->known ? (int64_t)n->n : -1;
}

static int64_t free_devices(const struct list_row *row)
{
	int64_t sum = 0;

	for (size_t i = 0; i < row->n_devices; i++)
		sum += row->devices[i].free;
	return sum;
}

static int64_t amount(const struct list_row *row, enum list_column column)
{
	switch (column) {
	case LIST_NUMA:
	case LIST_FREE:
		return row->free;
	case LIST_ONE_NUMA:
	case LIST_TWO_NUMA:
		return number(&row->largest[column - LIST_ONE_NUMA]);
	case LIST_STRANDED:
		return number(&row->stranded);
	case LIST_AGE:
		return row->age_s;
	case LIST_DEVICES:
		return free_devices(row);
	case LIST_ALLOCATABLE:
		return row->allocatable;
	case LIST_NODE:
	case LIST_POLICY:
	case LIST_SCOPE:
	case LIST_EXPORTER:
	case LIST_BASIS:
	case LIST_COLUMN_COUNT:
		break;
	}
	return 0;
}

/* What a column of texts is ordered by. */
static const char *text(const struct list_row *row, enum list_column column)
{
	if (column == LIST_POLICY)
		return topology_manager_policy_names[row->policy];
	if (column == LIST_SCOPE)
		return topology_manager_scope_names[row->scope];
	if (column == LIST_EXPORTER)
		return row->exporter;
	return column == LIST_BASIS ? cluster_basis_names[row->basis] : "";
}

static int compare(const void *va, const void *vb, void *data)
{
	const struct list_row *a = va, *b = vb;
	enum list_column column = *(const enum list_column *)data;
	int64_t of_a = amount(a, column), of_b = amount(b, column);
	int r = strcmp(text(a, column), text(b, column));

	if (of_a != of_b)
		return of_a > of_b ? -1 : 1;
	return r ? r : text_compare_numbered(a->name, b->name);
}

void list_sort(struct list_row *rows, size_t n, enum list_column column)
{
	vec_sort(rows, n, sizeof(*rows), compare, &column);
}

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A hash table of values by their names.
 */
#include <stddef.h>
#include <stdint.h>

struct name_entry {
	const char *name; /* NULL = empty */
	uint64_t hash;
	void *value;
};

/* Zeroed it is empty. */
struct name_table {
	struct name_entry *entries; /* one behind the other from the name's place on, without a gap */
	size_t size;                /* a power of two, at least twice n */
	size_t n;
};

/* The values are not touched. */
void name_table_release(struct name_table *t);

/* Call `free_value` with each value, then release the table. */
void name_table_release_values(struct name_table *t, void (*free_value)(void *value));

/* The value of that name, NULL = there is none. */
void *name_table_find(const struct name_table *t, const char *name);

/* Add a name that is not there. It is borrowed until it is removed, as the value is. */
void name_table_add(struct name_table *t, const char *name, void *value);

/* Take a name out; nothing where there is none. */
void name_table_remove(struct name_table *t, const char *name);

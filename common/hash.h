/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * hash: XXH64 of bytes, and a hash table of values by name. hash.c is the only file that includes xxhash.
 */
#include <stddef.h>
#include <stdint.h>

/* XXH64. The hashes may be published and stored. */
uint64_t hash_bytes(const void *data, size_t len, uint64_t seed);

/* XXH64 with seed 0 as 16 lower-case hex digits, most significant first. */
#define HASH_TEXT_SIZE 17
void hash_text(const void *data, size_t len, char text[HASH_TEXT_SIZE]);

/* ---- table of values by name */

struct name_entry {
	const char *name; /* NULL = empty */
	uint64_t hash;
	void *value;
};

/* Open addressing with linear probing. Zeroed, a table is empty. */
struct name_table {
	struct name_entry *entries;
	size_t size; /* a power of two, at least twice n */
	size_t n;
};

/* Free the table, but not the values. */
void name_table_release(struct name_table *t);

/* Call `free_value` with each value, then free the table. */
void name_table_release_values(struct name_table *t, void (*free_value)(void *value));

/* The value of a name, or NULL. */
void *name_table_find(const struct name_table *t, const char *name);

/* Add a name that the table does not have. The table borrows the name and the value until the name is
 * removed. */
void name_table_add(struct name_table *t, const char *name, void *value);

/* Store an array index as the value of a name, for items of an array that may move. Finding returns SIZE_MAX
 * if the table does not have the name. */
void name_table_add_index(struct name_table *t, const char *name, size_t index);
size_t name_table_find_index(const struct name_table *t, const char *name);

/* Remove a name if the table has it. */
void name_table_remove(struct name_table *t, const char *name);

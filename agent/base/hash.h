/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * hash: XXH64 of bytes, and a hash table of values by name. hash.c is the only file that includes xxhash.
 */
#include <stddef.h>
#include <stdint.h>

/* ---- hashes */

#define HASH_TEXT_SIZE 17

/* XXH64 of the bytes. */
uint64_t hash_bytes(const void *data, size_t len, uint64_t seed);

/* XXH64 with seed 0 of the bytes, as 16 lower-case hex digits, most significant first. */
void hash_text(const void *data, size_t len, char text[HASH_TEXT_SIZE]);

/* ---- a table of values by name */

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

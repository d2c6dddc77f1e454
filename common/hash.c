/* SPDX-License-Identifier: Apache-2.0 */
#include "common/hash.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "common/xalloc.h"

/* ---- hashes */

uint64_t hash_bytes(const void *data, size_t len, uint64_t seed)
{
	return XXH64(data, len, seed);
}

void hash_text(const void *data, size_t len, char text[HASH_TEXT_SIZE])
{
	snprintf(text, HASH_TEXT_SIZE, "%016" PRIx64, hash_bytes(data, len, 0));
}

/* ---- a table of values by name */

#define FIRST_SIZE 64u /* entries */

static uint64_t hash_name(const char *name)
{
	return hash_bytes(name, strlen(name), 0);
}

void name_table_release(struct name_table *t)
{
	free(t->entries);
	*t = (struct name_table){0};
}

void name_table_release_values(struct name_table *t, void (*free_value)(void *value))
{
	for (size_t i = 0; i < t->size; i++)
		if (t->entries[i].name)
			free_value(t->entries[i].value);
	name_table_release(t);
}

/* The entry of the name, or the empty entry where the name belongs. */
static struct name_entry *find_name_entry(const struct name_table *t, const char *name, uint64_t hash)
{
	size_t at = hash & (t->size - 1);

	while (t->entries[at].name && (t->entries[at].hash != hash || strcmp(t->entries[at].name, name) != 0))
		at = (at + 1) & (t->size - 1);
	return &t->entries[at];
}

void *name_table_find(const struct name_table *t, const char *name)
{
	return t->size > 0 ? find_name_entry(t, name, hash_name(name))->value : NULL;
}

static void grow_table(struct name_table *t)
{
	struct name_table larger = {.size = t->size > 0 ? 2 * t->size : FIRST_SIZE, .n = t->n};

	larger.entries = xcalloc(larger.size, sizeof(*larger.entries));
	for (size_t i = 0; i < t->size; i++)
		if (t->entries[i].name)
			*find_name_entry(&larger, t->entries[i].name, t->entries[i].hash) = t->entries[i];
	free(t->entries);
	*t = larger;
}

void name_table_add(struct name_table *t, const char *name, void *value)
{
	uint64_t hash = hash_name(name);

	if (2 * (t->n + 1) > t->size)
		grow_table(t);
	*find_name_entry(t, name, hash) = (struct name_entry){.name = name, .hash = hash, .value = value};
	t->n++;
}

/* Deletes without tombstones: a later entry that can no longer be found because of the gap moves into the
 * gap. */
void name_table_remove(struct name_table *t, const char *name)
{
	struct name_entry *gap = t->size > 0 ? find_name_entry(t, name, hash_name(name)) : NULL;
	size_t mask = t->size - 1;

	if (!gap || !gap->name)
		return;
	t->n--;
	for (size_t at = (size_t)(gap - t->entries + 1) & mask; t->entries[at].name; at = (at + 1) & mask) {
		size_t home = t->entries[at].hash & mask, hole = (size_t)(gap - t->entries);

		/* A search for the entry goes from its home to its position, cyclically, and would end at a hole between. */
		if (((at - home) & mask) >= ((at - hole) & mask)) {
			*gap = t->entries[at];
			gap = &t->entries[at];
		}
	}
	*gap = (struct name_entry){0};
}

/* The index plus 1, because NULL is no value. */
void name_table_add_index(struct name_table *t, const char *name, size_t index)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): never dereferenced */
	name_table_add(t, name, (void *)(uintptr_t)(index + 1));
}

size_t name_table_find_index(const struct name_table *t, const char *name)
{
	const void *value = name_table_find(t, name);

	return value ? (size_t)(uintptr_t)value - 1 : SIZE_MAX;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/model/uid_set.h"

#include <stdlib.h>

#include "common/xalloc.h"

struct uid_entry {
	char *uid;
	uint64_t list_number; /* the last list that contained the object */
};

static void uid_entry_free(void *item)
{
	struct uid_entry *entry = item;

	free(entry->uid);
	free(entry);
}

void uid_set_release(struct uid_set *s)
{
	name_table_release_values(&s->by_uid, uid_entry_free);
	*s = (struct uid_set){0};
}

void uid_set_list_begin(struct uid_set *s)
{
	s->list_number++;
}

void uid_set_list_end(struct uid_set *s)
{
	struct name_table *t = &s->by_uid;

	for (size_t i = 0; i < t->size;) { /* removing an entry may move another entry to its index */
		const struct uid_entry *entry = t->entries[i].name ? t->entries[i].value : NULL;

		if (entry && entry->list_number < s->list_number)
			uid_set_remove(s, entry->uid);
		else
			i++;
	}
}

bool uid_set_has(const struct uid_set *s, const char *uid)
{
	return name_table_find(&s->by_uid, uid);
}

void uid_set_add(struct uid_set *s, const char *uid)
{
	struct uid_entry *entry = name_table_find(&s->by_uid, uid);

	if (!entry) {
		entry = xcalloc(1, sizeof(*entry));
		entry->uid = xstrdup(uid);
		name_table_add(&s->by_uid, entry->uid, entry);
	}
	entry->list_number = s->list_number;
}

void uid_set_remove(struct uid_set *s, const char *uid)
{
	struct uid_entry *entry = name_table_find(&s->by_uid, uid);

	if (!entry)
		return;
	name_table_remove(&s->by_uid, uid);
	uid_entry_free(entry);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/known_resources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/xalloc.h"

struct known_resource {
	size_t n_objects; /* with this resource */
	char name[];
};

void known_resources_release(struct known_resources *k)
{
	for (size_t i = 0; i < k->by_name.size; i++)
		free(k->by_name.entries[i].value);
	name_table_release(&k->by_name);
}

bool known_resources_has(const struct known_resources *k, const char *name)
{
	return name_table_find(&k->by_name, name) != NULL;
}

/* ---- the names of one object */

static void sort_unique(struct strv *v)
{
	size_t kept = 0;

	strv_sort(v);
	for (size_t i = 0; i < v->n_items; i++)
		if (kept > 0 && !strcmp(v->items[i], v->items[kept - 1]))
			free(v->items[i]);
		else
			v->items[kept++] = v->items[i];
	v->n_items = kept;
}

/* ---- the names of all objects */

static void count_name(struct known_resources *k, const char *name)
{
	struct known_resource *known = name_table_find(&k->by_name, name);
	size_t len = strlen(name);

	if (known) {
		known->n_objects++;
		return;
	}
	known = xmalloc(sizeof(*known) + len + 1);
	known->n_objects = 1;
	memcpy(known->name, name, len + 1);
	name_table_add(&k->by_name, known->name, known);
	k->version++;
}

static void uncount_name(struct known_resources *k, const char *name)
{
	struct known_resource *known = name_table_find(&k->by_name, name);

	if (--known->n_objects > 0)
		return;
	name_table_remove(&k->by_name, known->name);
	free(known);
	k->version++;
}

void known_resources_forget(struct known_resources *k, struct strv *counted)
{
	for (size_t i = 0; i < counted->n_items; i++)
		uncount_name(k, counted->items[i]);
	strv_release(counted);
}

/* `names` move to `counted` on success. */
static void replace_names(struct known_resources *k, struct strv *names, struct strv *counted)
{
	for (size_t i = 0; i < names->n_items; i++)
		count_name(k, names->items[i]);
	known_resources_forget(k, counted);
	*counted = *names;
	*names = (struct strv){0};
}

void known_resources_of_node(
	struct known_resources *k, const struct resource_list *allocatable, struct strv *counted)
{
	CLEANUP(strv_release) struct strv names = {0};

	for (size_t i = 0; i < allocatable->n_items; i++)
		strv_push(&names, allocatable->items[i].name);
	replace_names(k, &names, counted);
}

void known_resources_of_state(struct known_resources *k, const struct node_state *state, struct strv *counted)
{
	CLEANUP(strv_release) struct strv names = {0};
	const struct allocations *a = &state->allocations;

	for (size_t i = 0; i < state->inventory.n_resources; i++)
		strv_push(&names, state->inventory.resources[i]);
	for (size_t i = 0; i < a->n_registered; i++)
		strv_push(&names, a->registered[i].resource);
	sort_unique(&names);
	replace_names(k, &names, counted);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/model/namespace_counts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/xalloc.h"

#define NAMESPACE_SIZE 64 /* Kubernetes allows 63 bytes */

struct namespace_count {
	char *name;
	size_t n;
};

static void count_free(void *item)
{
	struct namespace_count *count = item;

	free(count->name);
	free(count);
}

void namespace_counts_release(struct namespace_counts *c)
{
	name_table_release_values(&c->by_name, count_free);
}

/* The part before the slash, in `buffer`. */
static const char *namespace_of(const char *full_name, char buffer[NAMESPACE_SIZE])
{
	snprintf(buffer, NAMESPACE_SIZE, "%.*s", (int)strcspn(full_name, "/"), full_name);
	return buffer;
}

void namespace_counts_add(struct namespace_counts *c, const char *full_name)
{
	char name[NAMESPACE_SIZE];
	struct namespace_count *count = name_table_find(&c->by_name, namespace_of(full_name, name));

	if (!count) {
		count = xcalloc(1, sizeof(*count));
		count->name = xstrdup(name);
		name_table_add(&c->by_name, count->name, count);
	}
	count->n++;
}

void namespace_counts_remove(struct namespace_counts *c, const char *full_name)
{
	char name[NAMESPACE_SIZE];
	struct namespace_count *count = name_table_find(&c->by_name, namespace_of(full_name, name));

	if (!count || --count->n > 0)
		return;
	name_table_remove(&c->by_name, count->name);
	count_free(count);
}

size_t namespace_counts_get(const struct namespace_counts *c, const char *namespace)
{
	const struct namespace_count *count = name_table_find(&c->by_name, namespace);

	return count ? count->n : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/model/namespace_counts.h"

#include <stdlib.h>

#include "common/xalloc.h"

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

void namespace_counts_add(struct namespace_counts *c, const char *namespace)
{
	struct namespace_count *count = name_table_find(&c->by_name, namespace);

	if (!count) {
		count = xcalloc(1, sizeof(*count));
		count->name = xstrdup(namespace);
		name_table_add(&c->by_name, count->name, count);
	}
	count->n++;
}

void namespace_counts_remove(struct namespace_counts *c, const char *namespace)
{
	struct namespace_count *count = name_table_find(&c->by_name, namespace);

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

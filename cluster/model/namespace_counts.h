/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Counts objects per namespace.
 */
#include <stddef.h>

#include "common/hash.h"

/* Only namespaces with objects. A zeroed struct is empty. */
struct namespace_counts {
	struct name_table by_name;
};

void namespace_counts_release(struct namespace_counts *c);

void namespace_counts_add(struct namespace_counts *c, const char *namespace);
void namespace_counts_remove(struct namespace_counts *c, const char *namespace);

size_t namespace_counts_get(const struct namespace_counts *c, const char *namespace);

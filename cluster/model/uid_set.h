/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Remembers UIDs of watched objects. A UID that a list does not report is removed at the end of the list.
 */
#include <stdbool.h>
#include <stdint.h>

#include "common/hash.h"

/* A zeroed struct is empty. */
struct uid_set {
	struct name_table by_uid; /* struct uid_entry */
	uint64_t list_number;
};

void uid_set_release(struct uid_set *s);

/* Begins and ends a list. UIDs not added during the list are removed at its end. */
void uid_set_list_begin(struct uid_set *s);
void uid_set_list_end(struct uid_set *s);

bool uid_set_has(const struct uid_set *s, const char *uid);

/* Adds the UID, or notes that the current list has it. */
void uid_set_add(struct uid_set *s, const char *uid);

/* A UID that was not added is ignored. */
void uid_set_remove(struct uid_set *s, const char *uid);

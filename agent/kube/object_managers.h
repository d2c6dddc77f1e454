/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Who writes an object of the API server: what its metadata.managedFields say. No I/O.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/base/doc.h"

#define OBJECT_MANAGER  "nrtd" /* nrtd's own name as a field manager */
#define PUBLISH_MANAGER "fieldManager=" OBJECT_MANAGER

struct object_managers {
	char *resource_version; /* NULL = it says none */
	uint64_t ours;          /* a number for which of the sections' fields nrtd's apply holds; 0 = none */
	char rival[80];         /* the manager beside nrtd that wrote any of them, after nrtd; "" = nobody */
	bool foreign_version;   /* an entry is of another API version, beside which the server cannot merge */
};

void object_managers_release(struct object_managers *m);

/*/*
 * Read `object`, an object or its PartialObjectMetadata. `api_version` is what nrtd writes, "GROUP/VERSION"; `sections` are
 * the members that it writes ("zones", "spec"), ended by NULL. An apply holds a field until another manager gives it
 * another value (Kubernetes documentation, Server-Side Apply, "Field management"). Where the server says nothing of
 * managers nobody is known.
 */
int object_managers_read(const struct doc *object, const char *api_version, const char *const *sections,
	struct object_managers *ret);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The attribute by which a reader recognizes an object's content: equal hashes, equal content.
 */
#include "agent/base/doc.h"

#define NRT_CONTENT_HASH "nrtd.dev/content-hash"

/* The attribute of a NodeResourceTopology object, NULL where it has none. Valid as long as the object. */
const char *nrt_content_hash(const struct doc *nrt);

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/state/content_hash.h"

#include <string.h>

const char *nrt_content_hash(const struct doc *nrt)
{
	const struct doc *attributes = doc_get(nrt, "attributes");

	if (!attributes || attributes->kind != DOC_LIST)
		return NULL;
	DOC_FOREACH (item, attributes) {
		const char *name = doc_string(doc_get(item, "name"));

		if (name && !strcmp(name, NRT_CONTENT_HASH))
			return doc_string(doc_get(item, "value"));
	}
	return NULL;
}

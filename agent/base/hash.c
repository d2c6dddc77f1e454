/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/base/hash.h"

#include <inttypes.h>

#include <xxhash.h>

uint64_t hash_bytes(const void *data, size_t len, uint64_t seed)
{
	return XXH64(data, len, seed);
}

void hash_text(const void *data, size_t len, char text[HASH_TEXT_SIZE])
{
	snprintf(text, HASH_TEXT_SIZE, "%016" PRIx64, hash_bytes(data, len, 0));
}

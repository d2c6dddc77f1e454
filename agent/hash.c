/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/hash.h"

#include <inttypes.h>

#include <xxhash.h>

void hash_text(const void *data, size_t len, char text[HASH_TEXT_SIZE])
{
	snprintf(text, HASH_TEXT_SIZE, "%016" PRIx64, (uint64_t)XXH64(data, len, 0));
}

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Hashes that leave this process. The only file that includes xxhash is hash.c. */
#include <stddef.h>
#include <stdint.h>

#define HASH_TEXT_SIZE 17

/* XXH64 of the bytes. */
uint64_t hash_bytes(const void *data, size_t len, uint64_t seed);

/* XXH64 with seed 0 of the bytes, as 16 lower-case hex digits, most significant first. */
void hash_text(const void *data, size_t len, char text[HASH_TEXT_SIZE]);

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/state/node_state_names.h"

#include <stdio.h>
#include <string.h>

#include "agent/base/hash.h"

/* Six bits a character, the highest first. */
static void add_digits(uint64_t hash, char ret[NODE_STATE_HASH_SIZE])
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

	ret[0] = '#';
	for (unsigned i = 1; i < NODE_STATE_HASH_SIZE - 1; i++)
		ret[i] = digits[hash >> (64 - 6 * i) & 63];
	ret[NODE_STATE_HASH_SIZE - 1] = '\0';
}

void node_state_hash_uid(const char *uid, char ret[NODE_STATE_HASH_SIZE])
{
	add_digits(hash_bytes(uid, strlen(uid), 0), ret);
}

void node_state_hash_pod(const char *namespace, const char *name, char ret[NODE_STATE_HASH_SIZE])
{
	char text[512]; /* Kubernetes allows 63 and 253 bytes */
	int len = snprintf(text, sizeof(text), "%s/%s", namespace, name);

	add_digits(hash_bytes(text, (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1, 0), ret);
}

void node_state_id(size_t position, char ret[NODE_STATE_ID_SIZE])
{
	ret[NODE_STATE_ID_SIZE - 1] = '\0';
	for (size_t i = NODE_STATE_ID_SIZE - 1; i > 0; i--, position /= 10)
		ret[i - 1] = (char)('0' + position % 10);
}

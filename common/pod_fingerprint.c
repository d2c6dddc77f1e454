/* SPDX-License-Identifier: Apache-2.0 */
#include "common/pod_fingerprint.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/hash.h"
#include "common/xalloc.h"

#define FINGERPRINT_PREFIX "pfp0v001"

const char *const fingerprint_method_names[FINGERPRINT_METHOD_COUNT] = {
	[FINGERPRINT_NONE] = "none",
	[FINGERPRINT_ALL] = "all",
	[FINGERPRINT_WITH_EXCLUSIVE_RESOURCES] = "with-exclusive-resources",
};

static uint64_t hash_pod_name(const struct pod_ref *pod)
{
	uint64_t seed = hash_bytes(pod->namespace, strlen(pod->namespace), 0);

	return hash_bytes(pod->name, strlen(pod->name), seed);
}

static int compare_hashes(const void *va, const void *vb)
{
	const uint64_t *a = va, *b = vb;

	return (*a > *b) - (*a < *b);
}

void fingerprint_pods(
	const struct pod_ref *pods, size_t n_pods, enum fingerprint_method method, char ret[FINGERPRINT_SIZE])
{
	CLEANUP(freep) uint64_t *hashes = xcalloc(n_pods + 1, sizeof(*hashes));
	CLEANUP(freep) unsigned char *bytes = NULL;
	char text[HASH_TEXT_SIZE];
	size_t n = 0;

	for (size_t i = 0; i < n_pods; i++)
		if (method == FINGERPRINT_ALL || pods[i].exclusive)
			hashes[n++] = hash_pod_name(&pods[i]);
	qsort(hashes, n, sizeof(*hashes), compare_hashes);
	bytes = xcalloc(n + 1, sizeof(*hashes));
	for (size_t i = 0; i < n * sizeof(*hashes); i++) /* little-endian */
		bytes[i] = (unsigned char)(hashes[i / sizeof(*hashes)] >> 8 * (i % sizeof(*hashes)));
	hash_text(bytes, n * sizeof(*hashes), text);
	snprintf(ret, FINGERPRINT_SIZE, FINGERPRINT_PREFIX "%s", text);
}

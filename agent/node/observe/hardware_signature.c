/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/observe/hardware_signature.h"

#include <inttypes.h>
#include <stdio.h>

#include "agent/base/fs.h"
#include "agent/base/hash.h"
#include "common/cleanup.h"

#define NODES    "/sys/devices/system/node"
#define FILE_MAX (64u << 10)

static uint64_t add_text(const char *text, uint64_t hash)
{
	return hash_bytes(text, strlen(text), hash);
}

static uint64_t add_file(const char *root, const char *path, uint64_t hash)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FILE_MAX);

	if (fs_read(root, path, &text, NULL) < 0)
		return add_text("absent", hash);
	return hash_bytes(text.text, text.len, hash);
}

/* MemTotal alone: the other lines of a meminfo change all the time. */
static uint64_t add_total(const char *root, const char *path, uint64_t hash)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FILE_MAX);
	const char *total = NULL;

	if (fs_read(root, path, &text, NULL) == 0)
		total = strstr(text.text, "MemTotal:");
	return total ? hash_bytes(total, strcspn(total, "\n"), hash) : add_text("absent", hash);
}

static uint64_t add_pools(const char *root, const char *dir, uint64_t hash)
{
	CLEANUP(freep) uint64_t *sizes = NULL;
	size_t n = 0;
	char path[160];

	if (fs_list_numbers(root, dir, "hugepages-", "kB", &sizes, &n, NULL) < 0)
		return add_text("absent", hash);
	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/hugepages-%" PRIu64 "kB/nr_hugepages", dir, sizes[i]);
		hash = add_file(root, path, add_text(path, hash));
	}
	return hash;
}

uint64_t hardware_signature(const char *root)
{
	CLEANUP(freep) uint64_t *nodes = NULL;
	size_t n = 0;
	char path[96];
	uint64_t hash = add_file(root, "/sys/devices/system/cpu/online", 0);

	hash = add_file(root, NODES "/online", hash);
	hash = add_total(root, "/proc/meminfo", hash);
	if (fs_list_numbers(root, NODES, "node", "", &nodes, &n, NULL) < 0)
		return add_pools(root, "/sys/kernel/mm/hugepages", hash);
	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), NODES "/node%" PRIu64 "/cpulist", nodes[i]);
		hash = add_file(root, path, add_text(path, hash));
		snprintf(path, sizeof(path), NODES "/node%" PRIu64 "/meminfo", nodes[i]);
		hash = add_total(root, path, hash);
		snprintf(path, sizeof(path), NODES "/node%" PRIu64 "/hugepages", nodes[i]);
		hash = add_pools(root, path, hash);
	}
	return hash;
}

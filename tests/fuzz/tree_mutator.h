/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Mutates the directory trees of tests/fuzz/tree.h as hardware, kernels, kubelets and administrators change them, and as
 * nothing should: other numbers and CPU lists, entries swapped, removed, duplicated under other numbers, replaced by links,
 * directories and FIFOs.
 */
#include "common/policy_options.h"
#include "tests/fuzz/tree.h"

#ifdef __clang__
#pragma clang attribute push(__attribute__((no_sanitize("coverage"))), apply_to = function)
#endif

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

#define TREE_TEXT_MAX ((size_t)1 << 20) /* bytes of one tree */

static inline uint32_t tree_random(uint32_t *state, size_t n)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return (uint32_t)(*state % (n > 0 ? n : 1));
}

#define TREE_CHOOSE(random, table) ((table)[tree_random(random, sizeof(table) / sizeof((table)[0]))])

static inline struct tree_entry *tree_pick(const struct tree *t, uint32_t *random)
{
	return &t->items[tree_random(random, t->n_items)];
}

/* A file, if some entries are files. */
static inline struct tree_entry *tree_pick_file(const struct tree *t, uint32_t *random)
{
	for (int i = 0; i < 8; i++) {
		struct tree_entry *e = tree_pick(t, random);

		if (tree_is_file(e) && e->len > 0)
			return e;
	}
	return NULL;
}

/* ---- within a file */

/* Replaces `n` bytes at `at`. */
static inline void tree_splice(struct tree_entry *e, size_t at, size_t n, const char *with)
{
	struct strbuf text = STRBUF_INIT(TREE_TEXT_MAX);

	strbuf_add(&text, e->text, at);
	strbuf_addstr(&text, with);
	strbuf_add(&text, e->text + at + n, e->len - at - n);
	tree_set_text(e, text.text, text.len);
	strbuf_release(&text);
}

/* A place of the text that consists of these characters; *ret_n is 0 if there is none. */
static inline size_t tree_find_run(
	const char *text, size_t len, const char *set, uint32_t *random, size_t *ret_n)
{
	size_t start = tree_random(random, len), at;

	*ret_n = 0;
	for (size_t i = 0; i < len && *ret_n == 0; i++) {
		at = (start + i) % len;
		if (at > 0 && text[at - 1] && strchr(set, text[at - 1]))
			continue;
		while (at + *ret_n < len && text[at + *ret_n] && strchr(set, text[at + *ret_n]))
			++*ret_n;
		if (*ret_n > 0)
			return at;
	}
	return 0;
}

static inline void tree_change_number(struct tree_entry *e, uint32_t *random)
{
	static const char *const numbers[] = {"0", "1", "2", "3", "4", "5", "7", "8", "-1", "9", "16", "31",
		"32", "63", "64", "255", "256", "1023", "1024", "2048", "4095", "8191", "8192", "65536",
		"1048576", "2147483647", "2147483648", "4294967295", "4294967296", "9223372036854775807",
		"9223372036854775808", "18446744073709551615", "18446744073709551616", "1e3", "0x1", "01",
		"+1", "1.5", ""};
	size_t n, at = tree_find_run(e->text, e->len, "0123456789", random, &n);
	char near[32];

	if (n == 0)
		return;
	snprintf(near, sizeof(near), "%lld",
		(n < 18 ? atoll(e->text + at) : 0) + (tree_random(random, 2) ? 1 : -1));
	tree_splice(e, at, n, tree_random(random, 3) == 0 ? near : TREE_CHOOSE(random, numbers));
}

static inline void tree_set_list(struct tree_entry *e, uint32_t *random)
{
	static const char *const lists[] = {"", "0", "1", "0-1", "0-3", "2-3", "4-7", "0-7", "1,3", "0,2",
		"1-2", "5", "8", "0-8", "3-1", "0-1023", "1023", "1024", "8191", "0,0", "0-1,1-2", "0-", "-",
		",", "0,,1", "0-3:2", " 0-1", "2,6", "3,7"};
	size_t n, at = tree_find_run(e->text, e->len, "0123456789,-", random, &n);

	tree_splice(e, at, n, TREE_CHOOSE(random, lists));
}

#define TREE_CPU_OPTION(type, member, name, ...) "cpuManagerPolicyOptions: {" name ": \"true\"}\n",

static inline void tree_insert_word(struct tree_entry *e, uint32_t *random)
{
	static const char *const words[] = {"static", "none", "Static", "None", "single-numa-node",
		"restricted", "best-effort", "pod", "container", "cpuManagerPolicy: static\n",
		"cpuManagerPolicy: none\n", "memoryManagerPolicy: Static\n",
		"topologyManagerPolicy: restricted\n", "topologyManagerScope: pod\n",
		"reservedSystemCPUs: 0,2\n",
		CPU_MANAGER_OPTIONS(
			TREE_CPU_OPTION) "cpuManagerPolicyOptions: {distribute-cpus-across-numa: \"true\", align-by-socket: \"true\"}\n",
		"topologyManagerPolicyOptions: {max-allowable-numa-nodes: \"16\", prefer-closest-numa-nodes: \"true\"}\n",
		"kubeReserved: {cpu: 500m, memory: 1Gi}\n", "systemReserved: {cpu: \"2\", memory: 100Mi}\n",
		"evictionHard: {memory.available: 10%}\n",
		"featureGates: {CPUManagerPolicyAlphaOptions: true}\n",
		"reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]\n", "--config=/etc/k.yaml",
		"--root-dir=/var/lib/kubelet", "--cpu-manager-policy=static", "--reserved-cpus=0",
		"--hostname-override=other", "--node-ip=1.2.3.4", "\"podEntries\":", "\"entries\":{}",
		"\"defaultCpuSet\":\"0-3\"", "\"data\":\"{}\"", "\"checksum\":1", "null", "{}", "[]", "\"\"",
		"<<: *a\n", "&a ", "*a", "---\n", "\xef\xbb\xbf", "!!binary ", "# ", "N0=4096 ", "\\\"", "\t",
		"\n", "\"", ",", "-1"};
	size_t at = tree_random(random, e->len + 1), n;

	if (tree_random(random, 2)) { /* instead of another word, or at the beginning of a line */
		at = tree_find_run(
			e->text, e->len, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-", random, &n);
		tree_splice(e, at, n, TREE_CHOOSE(random, words));
		return;
	}
	while (at > 0 && at < e->len && e->text[at - 1] != '\n')
		at--;
	tree_splice(e, at, 0, TREE_CHOOSE(random, words));
}

static inline void tree_change_bytes(struct tree_entry *e, uint32_t *random)
{
	size_t max = e->len + 64;
	uint8_t *bytes = xcalloc(max, 1);
	size_t n;

	(void)random;
	memcpy(bytes, e->text, e->len);
	n = LLVMFuzzerMutate(bytes, e->len, max);
	tree_set_text(e, (const char *)bytes, n);
	free(bytes);
}

/* ---- whole entries */

/* "/a/cpu3/b" -> "/a/cpu12/b": another number in one component of the path. */
static inline bool tree_renumber(
	const char *path, uint32_t *random, char ret_old[TREE_PATH_MAX], char ret_new[TREE_PATH_MAX])
{
	static const unsigned numbers[] = {
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 31, 63, 64, 127, 1023, 1024, 4096, 8191, 8192};
	size_t n, at = tree_find_run(path, strlen(path), "0123456789", random, &n), end;

	if (n == 0)
		return false;
	end = at + n + strcspn(path + at + n, "/");
	snprintf(ret_old, TREE_PATH_MAX, "%.*s", (int)end, path);
	snprintf(ret_new, TREE_PATH_MAX, "%.*s%0*u%.*s", (int)at, path, path[at] == '0' ? (int)n : 1,
		TREE_CHOOSE(random, numbers), (int)(end - at - n), path + at + n);
	return strcmp(ret_old, ret_new) != 0;
}

static inline bool tree_is_below(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	return !strncmp(path, folder, n) && (path[n] == '/' || path[n] == '\0');
}

/* Duplicates or moves an entry, and what is below it, under another number. */
static inline void tree_copy_numbered(struct tree *t, uint32_t *random, bool move)
{
	char old[TREE_PATH_MAX], new[TREE_PATH_MAX], path[2 * TREE_PATH_MAX];
	size_t n = t->n_items;

	if (!tree_renumber(tree_pick(t, random)->path, random, old, new))
		return;
	for (size_t i = 0; i < n && t->n_items < TREE_ENTRIES_MAX; i++) {
		if (!tree_is_below(t->items[i].path, old))
			continue;
		snprintf(path, sizeof(path), "%s%s", new, t->items[i].path + strlen(old));
		if (strlen(path) >= TREE_PATH_MAX)
			continue;
		if (move) {
			free(t->items[i].path);
			t->items[i].path = xstrdup(path);
		} else {
			char *text = t->items[i].text; /* stays where it is when the array grows */

			tree_add(t, path, t->items[i].kind, text, t->items[i].len);
		}
	}
}

/* Removes an entry, or a directory with all that is below it. */
static inline void tree_drop(struct tree *t, uint32_t *random)
{
	char folder[TREE_PATH_MAX];
	size_t n_slashes = 0, cut;

	snprintf(folder, sizeof(folder), "%s", tree_pick(t, random)->path);
	for (const char *p = folder; *p; p++)
		n_slashes += *p == '/';
	for (cut = tree_random(random, 3) ? 0 : tree_random(random, n_slashes); cut > 0; cut--)
		*strrchr(folder, '/') = '\0';
	for (size_t i = t->n_items; i-- > 0;)
		if (tree_is_below(t->items[i].path, folder))
			tree_remove(t, i);
}

static inline void tree_change_kind(struct tree *t, uint32_t *random)
{
	static const char *const targets[] = {
		"/", ".", "..", "/etc/hostname", "/nonexistent", "../../../../..", "/proc/self"};
	static const enum tree_kind kinds[] = {
		TREE_FOLDER, TREE_LINK, TREE_LINK, TREE_LINK, TREE_FIFO, TREE_FILE};
	struct tree_entry *e = tree_pick(t, random);
	const char *target = TREE_CHOOSE(random, targets);
	enum tree_kind kind = TREE_CHOOSE(random, kinds);

	if (kind == TREE_LINK && strchr(e->path, ' '))
		return;
	if (tree_random(random, 3) == 0)
		target = e->path; /* a loop: nobody can read this entry */
	else if (tree_random(random, 2))
		target = tree_pick(t, random)->path;
	e->kind = kind;
	tree_set_text(e, kind == TREE_LINK ? target : "", kind == TREE_LINK ? strlen(target) : 0);
}

static inline void tree_swap(struct tree *t, uint32_t *random, bool copy)
{
	struct tree_entry *a = tree_pick_file(t, random), *b = tree_pick_file(t, random);
	struct tree_entry kept;

	if (!a || !b || a == b)
		return;
	if (copy) {
		tree_set_text(a, b->text, b->len);
		return;
	}
	kept = *a;
	a->text = b->text;
	a->len = b->len;
	b->text = kept.text;
	b->len = kept.len;
}

/* Swaps two numbers of one file, for example the CPUs of two pods. */
static inline void tree_move_within(struct tree_entry *e, uint32_t *random)
{
	size_t n, m, from = tree_find_run(e->text, e->len, "0123456789,-", random, &n);
	size_t to = tree_find_run(e->text, e->len, "0123456789,-", random, &m);
	char copy[64];

	if (n == 0 || m == 0 || n >= sizeof(copy))
		return;
	memcpy(copy, e->text + from, n);
	copy[n] = '\0';
	tree_splice(e, to, m, copy);
}

static inline void tree_mutate_once(struct tree *t, uint32_t *random)
{
	struct tree_entry *e = tree_pick_file(t, random);

	switch (tree_random(random, e ? 16 : 6)) {
	case 0:
		tree_swap(t, random, tree_random(random, 2));
		break;
	case 1:
		tree_drop(t, random);
		break;
	case 2:
		tree_change_kind(t, random);
		break;
	case 3:
	case 4:
		tree_copy_numbered(t, random, false);
		break;
	case 5:
		tree_copy_numbered(t, random, true);
		break;
	case 6:
	case 7:
	case 8:
		tree_change_number(e, random);
		break;
	case 9:
	case 10:
		tree_set_list(e, random);
		break;
	case 11:
		tree_insert_word(e, random);
		break;
	case 12:
		tree_move_within(e, random);
		break;
	case 13:
		tree_set_text(e, e->text, tree_random(random, e->len));
		break;
	default:
		tree_change_bytes(e, random);
	}
}

static inline size_t tree_put(const struct tree *t, uint8_t *data, size_t max)
{
	struct strbuf text = STRBUF_INIT(TREE_TEXT_MAX);
	size_t n;

	tree_print(t, &text);
	n = strbuf_error(&text) < 0 || text.len > max ? 0 : text.len;
	if (n > 0)
		memcpy(data, text.text, n);
	strbuf_release(&text);
	return n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	uint32_t random = seed * 2654435761u + 1;
	struct tree t = {0};
	size_t n = 0;

	tree_parse((const char *)data, size, &t);
	random += random == 0;
	if (t.n_items > 0 && tree_random(&random, 50) > 0) {
		for (uint32_t i = 1 + tree_random(&random, 4); i > 0 && t.n_items > 0; i--)
			tree_mutate_once(&t, &random);
		n = tree_put(&t, data, max);
	}
	tree_release(&t);
	return n > 0 ? n : LLVMFuzzerMutate(data, size, max);
}

/* The first tree with some entries of the second: one subtree, or a part of all. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1, const uint8_t *data2, size_t size2,
	uint8_t *out, size_t max_out, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1, const uint8_t *data2, size_t size2,
	uint8_t *out, size_t max_out, unsigned seed)
{
	uint32_t random = seed * 2654435761u + 1;
	struct tree a = {0}, b = {0};
	size_t n = 0;

	random += random == 0;
	tree_parse((const char *)data1, size1, &a);
	tree_parse((const char *)data2, size2, &b);
	if (a.n_items > 0 && b.n_items > 0) {
		uint32_t share = tree_random(&random, 3);
		char folder[TREE_PATH_MAX];

		snprintf(folder, sizeof(folder), "%s", tree_pick(&b, &random)->path);
		if (strrchr(folder, '/') != folder)
			*strrchr(folder, '/') = '\0';
		for (size_t i = 0; i < b.n_items; i++) /* of two entries with one path the last counts */
			if (share == 0 ? tree_is_below(b.items[i].path, folder)
				       : tree_random(&random, 8 * share) == 0)
				tree_add(&a, b.items[i].path, b.items[i].kind, b.items[i].text,
					b.items[i].len);
		n = tree_put(&a, out, max_out);
	}
	tree_release(&a);
	tree_release(&b);
	if (n == 0) {
		n = size1 < max_out ? size1 : max_out;
		memcpy(out, data1, n);
	}
	return n;
}

#ifdef __clang__
#pragma clang attribute pop
#endif

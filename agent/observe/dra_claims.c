/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe/dra_claims.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "agent/observe/fs_root.h"
#include "agent/observe/state_file.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/io/json.h"
#include "common/io/yaml.h"
#include "common/machine.h"
#include "common/resource.h"
#include "common/strbuf.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define CPUS   "DRA_CPUSET_"
#define MEMORY "DRAMEMORY_"

/* ---- the kubelet's file */

/* The claim that is being read. */
struct claim_reader {
	const struct pod_evidence *evidence;
	const char *uid, *namespace, *name;
	struct claims *claims;
	struct err *err;
};

static int read_prepared_device(const struct doc *device, struct claim *claim, struct err *err)
{
	struct state_members m = {.map = device, .err = err};
	const char *pool = state_string(&m, "PoolName"), *name = state_string(&m, "DeviceName");
	const char *share = state_string(&m, "ShareID");
	const struct doc *cdi = state_member(&m, "CDIDeviceIDs", DOC_LIST);

	if (m.r < 0)
		return m.r;
	claim_add_device(claim, pool, name, share);
	for (size_t i = 0; cdi && i < cdi->n_items; i++)
		if (doc_string(&cdi->items[i]))
			strv_push(&claim->cdi, cdi->items[i].text);
	return 0;
}

/* Appends a claim with the devices that one driver has prepared: the list of claims has an entry for each driver. */
static int read_driver(const struct claim_reader *rd, const struct doc *driver, const struct doc *pods)
{
	CLEANUP(claim_release) struct claim claim = {0};
	struct state_members m = {.map = driver, .err = rd->err};
	const struct doc *devices = driver->kind == DOC_MAP ? state_member(&m, "Devices", DOC_LIST) : NULL;

	if (!devices)
		return m.r;
	claim_init(&claim, driver->key, rd->uid, rd->namespace, rd->name);
	DOC_FOREACH (device, devices) {
		int r = device->kind == DOC_MAP ? read_prepared_device(device, &claim, rd->err) : 0;

		if (r < 0)
			return r;
	}
	for (size_t i = 0; pods && i < pods->n_items; i++) {
		const struct pod_log *log = pod_evidence_log(rd->evidence, pods->items[i].key);

		if (log)
			claim_add_pod(&claim, log->namespace, log->name);
	}
	claims_append(rd->claims, &claim);
	return 0;
}

static int read_prepared_claim(struct claim_reader *rd, const struct doc *claim)
{
	struct state_members m = {.map = claim, .err = rd->err};
	const struct doc *pods, *drivers;

	if (claim->kind != DOC_MAP)
		return err_set(rd->err, -EINVAL, "a claim is %s", doc_kind_name(claim));
	rd->uid = state_string(&m, "ClaimUID");
	rd->namespace = state_string(&m, "Namespace");
	rd->name = state_string(&m, "ClaimName");
	pods = state_member(&m, "PodUIDs", DOC_MAP);
	drivers = state_member(&m, "DriverState", DOC_MAP);
	for (size_t i = 0; m.r == 0 && drivers && i < drivers->n_items; i++)
		m.r = read_driver(rd, &drivers->items[i], pods);
	return m.r;
}

int state_claims_parse(
	const char *text, size_t len, const struct pod_evidence *e, struct claims *ret, struct err *err)
{
	CLEANUP(state_file_release) struct state_file file = STATE_FILE_INIT;
	CLEANUP(claims_release) struct claims claims = {0};
	struct claim_reader rd = {.evidence = e, .claims = &claims, .err = err};
	struct state_members m = {.err = err};
	const struct doc *list;
	int r = state_file_parse(text, len, STATE_CLAIMS_MAX, &file, err);

	if (r < 0)
		return r;
	m.map = state_file_content(&file);
	list = state_member(&m, "ClaimInfoStateList", DOC_LIST);
	for (size_t i = 0; m.r == 0 && list && i < list->n_items; i++)
		m.r = read_prepared_claim(&rd, &list->items[i]);
	if (m.r < 0)
		return m.r;
	claims_merge(&claims);
	*ret = claims;
	claims = (struct claims){0};
	return 0;
}

int state_claims_read(const char *sysroot, const char *kubelet_root, struct claims *ret, struct notes *notes,
	struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(STATE_CLAIMS_MAX);
	CLEANUP(pod_evidence_release) struct pod_evidence evidence = {0};
	char path[PATH_MAX];
	struct err why = {""};
	int r;

	snprintf(path, sizeof(path), "%.3000s/" STATE_CLAIMS_FILE, kubelet_root);
	r = fs_read(sysroot, path, &text, &why);
	if (fs_is_transient(r))
		return err_set(err, r, "%s", why.text);
	if (fs_is_absent(r))
		return 0;
	if (r == 0) {
		r = pod_evidence_read(sysroot, sysroot, kubelet_root, &evidence, NULL, err);
		if (r < 0)
			return r;
		r = state_claims_parse(text.text, text.len, &evidence, ret, &why);
	}
	if (r < 0)
		notes_add(notes, "%.3000s: %s; the names of claims are unknown", path, why.text);
	return 0;
}

/* How these drivers name their files; other files are recognised by the variables in them. */
static const char *const spec_prefixes[] = {"dra.cpu", "dra.memory", "dra.k8s.io-cpu", "dra.k8s.io-memory"};

void cdi_texts_release(struct cdi_texts *t)
{
	for (size_t i = 0; i < t->n_items; i++) {
		free(t->items[i].name);
		free(t->items[i].text);
	}
	free(t->items);
	*t = (struct cdi_texts){0};
}

/* ---- one CDI spec file */

/* A device of a spec; its claims are in `claims` from index `first`. */
struct device {
	const char *kind, *name;
	struct claims *claims;
	size_t first;
	struct err *err;
};

static struct claim *find_or_add_claim(const struct device *d, const char *uid, size_t len)
{
	CLEANUP(freep) char *copy = xstrndup(uid, len);
	CLEANUP(claim_release) struct claim fresh = {0};

	for (size_t i = d->first; i < d->claims->n_items; i++)
		if (!strcmp(d->claims->items[i].uid, copy))
			return &d->claims->items[i];
	claim_init(&fresh, d->kind, copy, "", "");
	strv_take(&fresh.cdi, xasprintf("%s=%s", d->kind, d->name));
	claims_append(d->claims, &fresh);
	return &d->claims->items[d->claims->n_items - 1];
}

/* DRA_CPUSET_<UID>=0-3; `value` points behind the "=" in the text of `key`. */
static int read_cpus_variable(const struct device *d, const char *key, const char *value)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = NULL;
	size_t len = (size_t)(value - key) - 1;
	struct claim *claim;
	int r = cpuset_parse(value, &cpus, d->err);

	if (r == 0 && hwloc_bitmap_last(cpus) >= (int)MACHINE_MAX_CPUS)
		r = err_set(d->err, -EINVAL, "%d is not a CPU", hwloc_bitmap_last(cpus));
	if (r < 0)
		return r;
	if (len == strlen(CPUS))
		return err_set(d->err, -EINVAL, "it names no claim");
	claim = find_or_add_claim(d, key + strlen(CPUS), len - strlen(CPUS));
	cpuset_or(claim->cpus, claim->cpus, cpus);
	return 0;
}

/* "numanode:0,size:16Mi" */
static int parse_memory_amount(const char *value, unsigned *ret_node, uint64_t *ret_bytes, struct err *err)
{
	static const char node[] = "numanode:", size[] = ",size:";
	const char *at = value + strlen(node);
	char *end = NULL;
	struct quantity q;
	unsigned long id;
	int r;

	if (strncmp(value, node, strlen(node)) != 0 || *at < '0' || *at > '9')
		return err_set(err, -EINVAL, "'%.100s' is not of the form numanode:N,size:Q", value);
	id = strtoul(at, &end, 10);
	if (id >= MACHINE_MAX_NODES)
		return err_set(err, -EINVAL, "%lu is not a NUMA node", id);
	if (strncmp(end, size, strlen(size)) != 0)
		return err_set(err, -EINVAL, "'%.100s' is not of the form numanode:N,size:Q", value);
	r = quantity_parse(end + strlen(size), &q, err);
	if (r < 0)
		return r;
	if (q.nano < 0 || q.nano % QTY_UNIT != 0 || q.nano / QTY_UNIT > INT64_MAX)
		return err_set(err, -EINVAL, "'%.100s' is not a number of bytes", end + strlen(size));
	*ret_node = (unsigned)id;
	*ret_bytes = (uint64_t)(q.nano / QTY_UNIT);
	return 0;
}

/* Add to the claim's block of this type and NUMA node, because several devices may give a claim such
 * memory. */
static void add_claim_memory(struct claim *claim, const char *type, unsigned node, uint64_t bytes)
{
	struct memory_block *block = NULL;

	for (size_t i = 0; i < claim->n_memory; i++)
		if (!strcmp(claim->memory[i].type, type) && hwloc_bitmap_isset(claim->memory[i].nodes, node))
			block = &claim->memory[i];
	if (!block) {
		block = vec_push(&claim->memory, &claim->n_memory, &claim->memory_size, sizeof(*block));
		block->type = xstrdup(type);
		block->nodes = cpuset_new();
		cpuset_set(block->nodes, node);
	}
	if (__builtin_add_overflow(block->bytes, bytes, &block->bytes))
		block->bytes = UINT64_MAX;
}

/* DRAMEMORY_<UID>_memory=..., DRAMEMORY_<UID>_hugepages_2Mi=...; ..._NUMANodes=0,1 repeats the nodes. `value` points behind the "=" in the text
 * of `key`. */
static int read_memory_variable(const struct device *d, const char *key, const char *value)
{
	const char *uid = key + strlen(MEMORY), *separator = strchr(uid, '_');
	CLEANUP(freep) char *type = NULL;
	struct claim *claim;
	uint64_t bytes = 0;
	unsigned node = 0;
	int r;

	if (!separator || separator >= value || separator == uid)
		return err_set(d->err, -EINVAL, "it names no claim");
	type = xstrndup(separator + 1, (size_t)(value - separator) - 2); /* without "_" and "=" */
	if (!strcmp(type, "NUMANodes"))
		return 0;
	for (char *c = type; *c; c++) /* "hugepages_2Mi" is hugepages-2Mi */
		*c = *c == '_' ? '-' : *c;
	if (strcmp(type, "memory") != 0 && !resource_name_is_hugepages(type))
		return err_set(d->err, -EINVAL, "'%.100s' is not a memory type", type);
	r = parse_memory_amount(value, &node, &bytes, d->err);
	if (r < 0)
		return r;
	claim = find_or_add_claim(d, uid, (size_t)(separator - uid));
	add_claim_memory(claim, type, node, bytes);
	return 0;
}

static int read_variable(const struct device *d, const char *text)
{
	const char *equals = strchr(text, '=');
	bool cpus = !strncmp(text, CPUS, strlen(CPUS)), memory = !strncmp(text, MEMORY, strlen(MEMORY));
	int r;

	if (!cpus && !memory)
		return 0;
	if (!equals)
		return err_set(d->err, -EINVAL, "'%.100s' has no value", text);
	r = cpus ? read_cpus_variable(d, text, equals + 1) : read_memory_variable(d, text, equals + 1);
	return r < 0 ? err_wrap(d->err, r, "%.*s", (int)(equals - text < 100 ? equals - text : 100), text)
		     : r;
}

/* Adds the CPUs and the memory of claims to `ret`: they are in environment variables of the CDI device, which name the claims. */
static int read_cdi_device(const struct doc *doc, const char *kind, struct claims *ret, struct err *err)
{
	const struct doc *env = doc_get(doc_get(doc, "containerEdits"), "env");
	const char *name = doc_string(doc_get(doc, "name"));
	const struct device d = {kind, name, ret, ret->n_items, err};

	if (doc->kind != DOC_MAP || !name)
		return err_set(err, -EINVAL, "a device without name");
	if (!env || env->kind == DOC_NULL)
		return 0;
	if (env->kind != DOC_LIST)
		return err_set(err, -EINVAL, "device '%.100s': env: a list is expected, not %s", name,
			doc_kind_name(env));
	DOC_FOREACH (item, env) {
		const char *text = doc_string(item);
		int r = text ? read_variable(&d, text)
			     : err_set(err, -EINVAL, "env holds %s", doc_kind_name(item));

		if (r < 0)
			return err_wrap(err, r, "device '%.100s'", name);
	}
	return 0;
}

static int read_cdi_spec(const struct doc *spec, struct claims *ret, struct err *err)
{
	const struct doc *devices = doc_get(spec, "devices");
	const char *kind = doc_string(doc_get(spec, "kind"));

	if (spec->kind != DOC_MAP || !kind)
		return err_set(err, -EINVAL, "not a CDI spec: it has no kind");
	if (!devices || devices->kind == DOC_NULL)
		return 0;
	if (devices->kind != DOC_LIST)
		return err_set(err, -EINVAL, "devices: a list is expected, not %s", doc_kind_name(devices));
	DOC_FOREACH (device, devices) {
		int r = read_cdi_device(device, kind, ret, err);

		if (r < 0)
			return r;
	}
	return 0;
}

int cdi_claims_parse(const char *text, size_t len, bool yaml, struct claims *ret, struct err *err)
{
	CLEANUP(doc_release) struct doc spec = DOC_INIT;
	int r;

	if (len == 0)
		return err_set(err, -EINVAL, "the file is empty");
	r = yaml ? yaml_parse_unique(text, len, &spec, err) : json_parse_unique(text, len, &spec, err);
	return r < 0 ? r : read_cdi_spec(&spec, ret, err);
}

/* ---- all CDI spec files */

struct cdi_reader {
	const char *root, *dir;
	struct cdi_texts *last; /* NULL = not kept */
	struct cdi_texts now;
	struct claims claims;
	struct notes *notes;
	struct err *err;
};

static void cdi_reader_release(struct cdi_reader *rd)
{
	cdi_texts_release(&rd->now);
	claims_release(&rd->claims);
}

static bool is_of_known_driver(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(spec_prefixes); i++)
		if (!strncmp(name, spec_prefixes[i], strlen(spec_prefixes[i])))
			return true;
	return false;
}

static const char *last_text(const struct cdi_reader *rd, const char *name)
{
	for (size_t i = 0; rd->last && i < rd->last->n_items; i++)
		if (!strcmp(rd->last->items[i].name, name))
			return rd->last->items[i].text;
	return NULL;
}

/* Add the claims of the text, all or nothing. */
static int add_cdi_text(
	struct cdi_reader *rd, const char *name, const char *text, size_t len, struct err *err)
{
	CLEANUP(claims_release) struct claims some = {0};
	struct cdi_text *slot;
	int r = cdi_claims_parse(text, len, text_ends_with(name, ".yaml"), &some, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < some.n_items; i++)
		claims_append(&rd->claims, &some.items[i]);
	slot = vec_push(&rd->now.items, &rd->now.n_items, &rd->now.items_size, sizeof(*slot));
	*slot = (struct cdi_text){xstrdup(name), xstrdup(text)};
	return 0;
}

/* Add the last claims of a file that cannot be read or parsed: -errno `e`, for the reason in `why`. */
static int recall_text(struct cdi_reader *rd, const char *name, int e, const struct err *why)
{
	const char *text = last_text(rd, name);

	if (!text)
		return err_set(rd->err, e, "%.200s/%.200s: %.300s; the holdings of its claims are unknown",
			rd->dir, name, why->text);
	notes_add(rd->notes, "%s/%s: %s; its last content is still used", rd->dir, name, why->text);
	return add_cdi_text(rd, name, text, strlen(text), rd->err);
}

static int read_cdi_file(struct cdi_reader *rd, const char *name)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(CDI_SPEC_MAX);
	char path[PATH_MAX];
	struct err why = {""};
	int r;

	snprintf(path, sizeof(path), "%.3500s/%.300s", rd->dir, name);
	r = fs_read(rd->root, path, &text, &why);
	if (fs_is_absent(r) || (r == -EFBIG && !is_of_known_driver(name)))
		return 0; /* the file was removed meanwhile, or is another driver's */
	if (r < 0)
		return recall_text(rd, name, r, &why);
	if (!is_of_known_driver(name) && !memmem(text.text, text.len, CPUS, strlen(CPUS)) &&
		!memmem(text.text, text.len, MEMORY, strlen(MEMORY)))
		return 0;
	r = add_cdi_text(rd, name, text.text, text.len, &why);
	return r < 0 ? recall_text(rd, name, r, &why) : 0;
}

static int read_cdi_files(struct cdi_reader *rd)
{
	CLEANUP(strv_release) struct strv files = {0};
	int r = fs_list(rd->root, rd->dir, &files, rd->err);

	if (fs_is_absent(r))
		return 0;
	for (size_t i = 0; i < files.n_items && r == 0; i++)
		if (text_ends_with(files.items[i], ".json") || text_ends_with(files.items[i], ".yaml"))
			r = read_cdi_file(rd, files.items[i]);
	return r;
}

int cdi_claims_read(const char *root, const char *dir, struct cdi_texts *last, struct claims *ret,
	struct notes *notes, struct err *err)
{
	CLEANUP(cdi_reader_release)
	struct cdi_reader rd = {.root = root, .dir = dir, .last = last, .notes = notes, .err = err};
	int r = read_cdi_files(&rd);

	if (r < 0)
		return r;
	claims_merge(&rd.claims);
	if (last) {
		cdi_texts_release(last);
		*last = rd.now;
		rd.now = (struct cdi_texts){0};
	}
	*ret = rd.claims;
	rd.claims = (struct claims){0};
	return 0;
}

/* ---- together with the claims that the kubelet names */

static struct claim *find_by_cdi_device(struct claims *claims, size_t n, const char *cdi)
{
	for (size_t i = 0; i < n; i++)
		if (strv_contains(&claims->items[i].cdi, cdi))
			return &claims->items[i];
	return NULL;
}

void cdi_claims_join(struct claims *claims, struct claims *specs)
{
	size_t n_known = claims->n_items; /* the kubelet's claims; specs are appended behind them */

	for (size_t i = 0; i < specs->n_items; i++) {
		struct claim *spec = &specs->items[i], *known = NULL;

		if (spec->cdi.n_items > 0)
			known = find_by_cdi_device(claims, n_known, spec->cdi.items[0]);
		if (known)
			claim_add_resources(known, spec);
		else
			claims_append(claims, spec);
	}
	claims_release(specs);
	claims_merge(claims);
}

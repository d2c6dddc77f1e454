/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/observe/cross_check.h"

#include <errno.h>
#include <inttypes.h>

#include "common/cleanup.h"
#include "common/device_index.h"

static void separate(struct strbuf *out)
{
	if (out->len > 0)
		strbuf_addstr(out, "; ");
}

static int check_cpus(const struct allocations *api, const struct allocations *files, struct strbuf *out)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t by_api = allocations_exclusive_cpus(api);
	CLEANUP(cpuset_freep) hwloc_bitmap_t by_files = allocations_exclusive_cpus(files);
	CLEANUP(freep) char *one = by_api ? cpuset_print(by_api) : NULL;
	CLEANUP(freep) char *two = by_files ? cpuset_print(by_files) : NULL;

	if (!api->cpus_known || !files->cpus_known || hwloc_bitmap_isincluded(by_api, by_files))
		return 0;
	separate(out);
	strbuf_addf(out, "CPUs held: '%s' by the API, '%s' by the files", one, two);
	return 1;
}

/* Sums over the nodes: the API does not report how a block lies on several. */
struct sums {
	uint64_t allocatable, reserved;
};

static struct sums sum_type(const struct memory_state *state, const char *type)
{
	struct sums sum = {0, memory_state_reserved(state, type)};

	for (size_t i = 0; i < state->n_nodes; i++) {
		const struct memory_table *t = memory_node_table(&state->nodes[i], type);

		sum.allocatable += t ? t->allocatable : 0;
	}
	return sum;
}

static int check_memory(const struct allocations *api, const struct allocations *files, struct strbuf *out)
{
	const struct memory_node *first = files->memory.n_nodes > 0 ? &files->memory.nodes[0] : NULL;
	int n = 0;

	if (!api->memory_known || !files->memory_known)
		return 0;
	for (size_t i = 0; first && i < first->n_tables; i++) {
		const char *type = first->tables[i].type;
		struct sums one = sum_type(&api->memory, type), two = sum_type(&files->memory, type);

		if (one.allocatable != two.allocatable) {
			separate(out);
			strbuf_addf(out,
				"%.60s allocatable: %" PRIu64 " by the API, %" PRIu64 " by the files", type,
				one.allocatable, two.allocatable);
			n++;
		}
		if (one.reserved > two.reserved) {
			separate(out);
			strbuf_addf(out, "%.60s held: %" PRIu64 " by the API, %" PRIu64 " by the files", type,
				one.reserved, two.reserved);
			n++;
		}
	}
	return n;
}

/* The first of `a` that `b` does not have, and how many. */
static const struct device_ref *missing(
	const struct device_index *a, const struct device_index *b, size_t *ret_n)
{
	const struct device_ref *first = NULL;

	*ret_n = 0;
	for (size_t i = 0; i < a->n_items; i++)
		if (!device_index_find(b, a->items[i].resource, a->items[i].id)) {
			first = first ? first : &a->items[i];
			(*ret_n)++;
		}
	return first;
}

static int report_missing(const struct device_index *a, const struct device_index *b, const char *what,
	const char *in, const char *not_in, struct strbuf *out)
{
	size_t n;
	const struct device_ref *first = missing(a, b, &n);

	if (!first)
		return 0;
	separate(out);
	strbuf_addf(out, "devices %s: %zu by %s and not by %s, '%.60s' of %.60s first", what, n, in, not_in,
		first->id, first->resource);
	return 1;
}

static int check_devices(const struct allocations *api, const struct allocations *files, struct strbuf *out)
{
	CLEANUP(device_index_release) struct device_index one = {0};
	CLEANUP(device_index_release) struct device_index two = {0};
	int n = 0;

	device_index_held(api, &one);
	device_index_held(files, &two);
	if (api->devices_known && files->devices_known)
		n += report_missing(&one, &two, "held", "the API", "the files", out);
	if (!api->registered_known || !files->registered_known)
		return n;
	device_index_release(&one);
	device_index_release(&two);
	device_index_registered(api, &one);
	device_index_registered(files, &two);
	n += report_missing(&one, &two, "registered", "the API", "the files", out);
	return n + report_missing(&two, &one, "registered", "the files", "the API", out);
}

int cross_check(const struct allocations *api, const struct allocations *files, struct strbuf *out)
{
	int cpus = check_cpus(api, files, out), memory = check_memory(api, files, out);
	int devices = check_devices(api, files, out);

	return cpus + memory + devices;
}

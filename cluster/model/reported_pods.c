/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/model/reported_pods.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/resource.h"
#include "common/vec.h"
#include "common/xalloc.h"

/* ---- the index */

static int by_key(const void *a, const void *b)
{
	const struct reported_key *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	return r ? r : (x->item > y->item) - (x->item < y->item);
}

static int by_text(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

static void collect_plugins(struct reported_index *index, const struct allocations *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n_registered; i++)
		index->plugins[i] = a->registered[i].resource;
	qsort(index->plugins, a->n_registered, sizeof(*index->plugins), by_text);
	for (size_t i = 0; i < a->n_registered; i++)
		if (n == 0 || strcmp(index->plugins[n - 1], index->plugins[i]) != 0)
			index->plugins[n++] = index->plugins[i];
	index->n_plugins = n;
}

void reported_index_init(struct reported_index *ret, const struct allocations *a)
{
	*ret = (struct reported_index){.by_uid = xcalloc(a->n_items + 1, sizeof(*ret->by_uid)),
		.by_name = xcalloc(a->n_items + 1, sizeof(*ret->by_name)),
		.plugins = xcalloc(a->n_registered + 1, sizeof(*ret->plugins))};
	for (size_t i = 0; i < a->n_items; i++) {
		const struct allocation *item = &a->items[i];

		if (*item->pod_uid)
			ret->by_uid[ret->n_by_uid++] = (struct reported_key){item->pod_uid, i};
		else if (*item->pod)
			ret->by_name[ret->n_by_name++] = (struct reported_key){item->pod, i};
	}
	qsort(ret->by_uid, ret->n_by_uid, sizeof(*ret->by_uid), by_key);
	qsort(ret->by_name, ret->n_by_name, sizeof(*ret->by_name), by_key);
	collect_plugins(ret, a);
}

void reported_index_release(struct reported_index *index)
{
	free(index->by_uid);
	free(index->by_name);
	free(index->plugins);
	*index = (struct reported_index){0};
}

/* The first of the *ret_n keys with this name. */
static const struct reported_key *find_keys(
	const struct reported_key *keys, size_t n, const char *name, size_t *ret_n)
{
	size_t lo = VEC_LOWER_BOUND(keys, n, name, name), end;

	for (end = lo; end < n && !strcmp(keys[end].name, name);)
		end++;
	*ret_n = end - lo;
	return n > 0 ? keys + lo : NULL;
}

struct reported_items reported_find(const struct reported_index *index, const struct pod_names *names)
{
	struct reported_items items = {NULL};

	if (names->mirror)
		return items;
	items.by_uid =
		find_keys(index->by_uid, *names->uid ? index->n_by_uid : 0, names->uid, &items.n_by_uid);
	items.by_name = find_keys(index->by_name, index->n_by_name, names->pod, &items.n_by_name);
	return items;
}

/* ---- amounts */

/* The sums over a pod's items. */
struct amounts {
	size_t cpus;
	bool memory;
	size_t *devices; /* per plugin of the index */
};

static void amounts_release(struct amounts *amounts)
{
	free(amounts->devices);
}

static void count_devices(
	const struct reported_index *index, const struct device_index *devices, struct amounts *ret)
{
	for (size_t i = 0; i < devices->n_items; i++) {
		const char *const *plugin = bsearch(&devices->items[i].block->resource, index->plugins,
			index->n_plugins, sizeof(*index->plugins), by_text);

		if (plugin)
			ret->devices[plugin - index->plugins]++;
	}
}

/* Adds the items' CPUs to `cpus`, their devices to `devices`, and whether they hold memory to *ret. */
static void add_items(const struct allocations *a, const struct reported_key *keys, size_t n,
	hwloc_bitmap_t cpus, struct device_index *devices, struct amounts *ret)
{
	for (size_t i = 0; i < n; i++) {
		const struct allocation *item = &a->items[keys[i].item];

		cpuset_or(cpus, cpus, item->cpus);
		ret->memory = ret->memory || item->n_memory > 0;
		device_index_add(devices, item);
	}
}

/* A CPU or a device in several items counts once: containers get those of an earlier init container. To be released. */
static struct amounts amounts_of(
	const struct reported_index *index, const struct allocations *a, const struct reported_items *items)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = cpuset_new();
	CLEANUP(device_index_release) struct device_index devices = {0};
	struct amounts amounts = {.devices = xcalloc(index->n_plugins + 1, sizeof(*amounts.devices))};

	add_items(a, items->by_uid, items->n_by_uid, cpus, &devices, &amounts);
	add_items(a, items->by_name, items->n_by_name, cpus, &devices, &amounts);
	device_index_sort(&devices);
	count_devices(index, &devices, &amounts);
	amounts.cpus = cpuset_size(cpus);
	return amounts;
}

/* ---- comparison with the request */

static size_t devices_wanted(const struct pod_class *class, const char *resource)
{
	qty_t n = resource_list_amount(&class->wanted, resource) / QTY_UNIT;

	return n > 0 ? (size_t)n : 0;
}

static bool lacks_cpus(
	const struct node_state *state, const struct pod_class *class, const struct amounts *amounts)
{
	return state->settings.cpu_manager == CPU_MANAGER_STATIC && amounts->cpus < class->cpus;
}

static bool lacks_memory(
	const struct node_state *state, const struct pod_class *class, const struct amounts *amounts)
{
	return state->settings.memory_manager == MEMORY_MANAGER_STATIC && class->qos == QOS_GUARANTEED &&
	       !amounts->memory;
}

enum reported reported_compare(const struct reported_index *index, const struct node_state *state,
	const struct pod_class *class, const struct reported_items *items)
{
	CLEANUP(amounts_release) struct amounts amounts = {0};

	if (items->n_by_uid + items->n_by_name == 0)
		return REPORTED_NOTHING;
	if (class->pod.has_pod_resources)
		return REPORTED_ALL;
	amounts = amounts_of(index, &state->allocations, items);
	if (lacks_cpus(state, class, &amounts) || lacks_memory(state, class, &amounts))
		return REPORTED_PART;
	for (size_t i = 0; i < index->n_plugins; i++)
		if (amounts.devices[i] < devices_wanted(class, index->plugins[i]))
			return REPORTED_PART;
	return REPORTED_ALL;
}

/* Sets the request and the limit. */
static void add_amount(struct container_request *c, const char *name, qty_t nano, enum quantity_format format)
{
	const struct quantity q = {.nano = nano, .format = format};

	if (nano == 0)
		return;
	resource_list_set(&c->requests, name, q);
	resource_list_set(&c->limits, name, q);
}

void reported_rest(const struct reported_index *index, const struct node_state *state,
	const struct pod_class *class, const struct reported_items *items, struct pod_request *ret)
{
	CLEANUP(amounts_release) struct amounts amounts = amounts_of(index, &state->allocations, items);
	struct container_request *c;

	pod_request_init(ret);
	ret->qos = class->qos;
	ret->name = xstrdup("");
	c = pod_request_add(ret, CONTAINER_APP, "rest");
	if (lacks_cpus(state, class, &amounts))
		add_amount(c, "cpu", (qty_t)(class->cpus - amounts.cpus) * QTY_UNIT, QUANTITY_DECIMAL_SI);
	for (size_t i = 0; lacks_memory(state, class, &amounts) && i < class->wanted.n_items; i++) {
		const struct resource_quantity *q = &class->wanted.items[i];

		if (!strcmp(q->name, "memory") || resource_name_is_hugepages(q->name))
			add_amount(c, q->name, q->quantity.nano, q->quantity.format);
	}
	for (size_t i = 0; i < index->n_plugins; i++) {
		size_t wanted = devices_wanted(class, index->plugins[i]);

		if (wanted > amounts.devices[i])
			add_amount(c, index->plugins[i], (qty_t)(wanted - amounts.devices[i]) * QTY_UNIT,
				QUANTITY_DECIMAL_SI);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cases of the kubelet's own tests and of real nodes (kubelet_cases.json): a map of sections, most of them
 * lists of cases. The CPU manager's sections are in kubelet_cases_cpu.c.
 */
#include "tests/vectors/kubelet_cases.h"

#include "common/cleanup.h"
#include "scoring/device_manager.h"
#include "scoring/memory_manager.h"
#include "tests/lib/peers.h"

static bool recognise(const struct vj_file *file)
{
	const vj *root = file->docs[0];

	return vj_is_map(root) && vj_get(root, "take_packed") && vj_get(root, "numa_infos");
}

/* ---- topology manager */

static void read_numa_info(const vj *root, const vj *c, struct topology_nodes *ret)
{
	const vj *info = vj_need(vj_need(root, "numa_infos"), vj_string(vj_need(c, "numa_info")));

	kv_nodes(ret, vj_count(vj_need(info, "nodes")), vj_need(info, "distances"));
}

static void add_resource(struct topology_merge *merge, const vj *list)
{
	struct topology_hints hints;

	kv_hints(list, &hints);
	topology_merge_add(merge, &hints);
	topology_hints_release(&hints);
}

static void run_merge(struct vectors_run *run, const vj *root, const vj *c)
{
	static struct topology_nodes nodes;
	struct topology_rules rules = kv_rules(vj_string(vj_need(c, "policy")), &nodes);
	const vj *want = vj_need(c, "expected_hint");
	struct topology_merge merge;
	struct topology_hint best;
	bool admit;

	read_numa_info(root, c, &nodes);
	rules.prefer_closest = vj_bool(vj_need(vj_need(c, "policy_options"), "prefer-closest-numa-nodes"));
	if (topology_merge_init(&merge, nodes.all, nodes.all) < 0)
		vj_die(c, "too many NUMA nodes");
	topology_merge_start(&merge, &rules);
	VJ_FOREACH (provider, vj_need(c, "providers")) {
		if (vj_is_null(provider) || vj_count(provider) == 0)
			add_resource(&merge, NULL);
		else
			VJ_FOREACH (resource, provider)
				add_resource(&merge, resource);
	}
	best = topology_merge_finish(&merge, &admit);
	kv_check_hint(run, "merged", best, vj_first(want), vj_bool(vj_next(vj_first(want))));
	if (admit != vj_bool(vj_need(c, "expected_admit")))
		vectors_differ(run, "admit %d, recorded %d", admit, !admit);
	topology_merge_release(&merge);
}

/* "current" or "candidate" */
static void check_choice(struct vectors_run *run, bool candidate, const vj *c)
{
	const char *got = candidate ? "candidate" : "current", *want = vj_string(vj_need(c, "expected"));

	if (strcmp(got, want) != 0)
		vectors_differ(run, "%s, recorded %s", got, want);
}

static void run_compare(struct vectors_run *run, const vj *root, const vj *c)
{
	const struct topology_rules rules = {.policy = TOPOLOGY_MANAGER_BEST_EFFORT};
	int64_t best_count = vj_int(vj_need(c, "best_non_preferred_affinity_count"));
	const vj *current = vj_get(c, "current"), *candidate = vj_need(c, "candidate");
	struct topology_hint hints[2] = {{0}};

	(void)root;
	hints[1].nodes = kv_mask(vj_first(candidate));
	hints[1].preferred = vj_bool(vj_next(vj_first(candidate)));
	if (current) {
		hints[0].nodes = kv_mask(vj_first(current));
		hints[0].preferred = vj_bool(vj_next(vj_first(current)));
	}
	/* -1 stands where it does not matter. */
	check_choice(run,
		topology_hint_replaces(&rules, best_count < 0 ? 0 : (unsigned)best_count,
			current ? &hints[0] : NULL, &hints[1]),
		c);
}

static void run_max_of_min(struct vectors_run *run, const vj *root, const vj *c)
{
	unsigned most = 0;

	(void)root;
	VJ_FOREACH (resource, vj_need(c, "hints_per_resource")) {
		struct topology_hints hints;
		unsigned n;

		kv_hints(resource, &hints);
		n = topology_hints_narrowest(&hints);
		most = n > most ? n : most;
		topology_hints_release(&hints);
	}
	if (most != vj_unsigned(vj_need(c, "expected")))
		vectors_differ(run, "%u, recorded %u", most, vj_unsigned(vj_need(c, "expected")));
}

static void run_filter(struct vectors_run *run, const vj *root, const vj *c)
{
	const vj *want = vj_first(vj_need(c, "expected"));

	(void)root;
	VJ_FOREACH (resource, vj_need(c, "hints_per_resource")) {
		struct topology_hints hints;
		size_t n = 0;

		kv_hints(resource, &hints);
		for (size_t i = 0; i < hints.n_items; i++)
			if (topology_single_node_hint(hints.items[i]))
				hints.items[n++] = hints.items[i];
		hints.n_items = n;
		if (!want)
			vj_die(c, "fewer resources expected than given");
		kv_check_hints(run, "filtered", &hints, want);
		want = vj_next(want);
		topology_hints_release(&hints);
	}
}

static void run_can_admit(struct vectors_run *run, const vj *root, const vj *c)
{
	struct topology_rules rules = kv_rules(vj_string(vj_need(c, "policy")), NULL);
	bool admit = topology_policy_admits(rules.policy, vj_bool(vj_need(c, "preferred")));

	(void)root;
	if (admit != vj_bool(vj_need(c, "expected")))
		vectors_differ(run, "admit %d, recorded %d", admit, !admit);
}

static void run_closest(struct vectors_run *run, const vj *root, const vj *c)
{
	static struct topology_nodes nodes;
	const vj *rows = vj_need(c, "distances");

	(void)root;
	kv_nodes(&nodes, vj_count(rows), rows);
	check_choice(run,
		topology_closer(&nodes, kv_mask(vj_need(c, "current")), kv_mask(vj_need(c, "candidate"))), c);
}

static void run_average(struct vectors_run *run, const vj *root, const vj *c)
{
	static struct topology_nodes nodes;
	const vj *rows = vj_need(c, "distances");
	uint64_t mask = kv_mask(vj_need(c, "mask"));
	double n = node_mask_count(mask), want = vj_double(vj_need(c, "expected")), got;

	(void)root;
	kv_nodes(&nodes, vj_count(rows), rows);
	got = mask ? (double)topology_distance_sum(&nodes, mask) / (n * n) : 0;
	if (got < want || got > want)
		vectors_differ(run, "%.17g, recorded %.17g", got, want);
}

/* ---- masks */

static void check_binary(struct vectors_run *run, uint64_t mask, const char *want)
{
	char text[NODE_MASK_BINARY_MAX];

	node_mask_print_binary(mask, text);
	if (strcmp(text, want) != 0)
		vectors_differ(run, "'%s', recorded '%s'", text, want);
}

static void run_mask_string(struct vectors_run *run, const vj *root, const vj *c)
{
	(void)root;
	check_binary(run, kv_mask(vj_need(c, "bits")), vj_string(vj_need(c, "expected")));
}

/* Ids that no mask can hold leave it as it is. */
static void run_mask_out_of_range(struct vectors_run *run, const vj *root, const vj *c)
{
	uint64_t mask = 0;

	(void)root;
	VJ_FOREACH (id, c)
		mask |= node_mask_of((unsigned)vj_int(id));
	check_binary(run, mask, "00");
}

static void run_mask_and(struct vectors_run *run, const vj *root, const vj *c)
{
	uint64_t mask = UINT64_MAX;

	(void)root;
	VJ_FOREACH (bits, vj_need(c, "masks"))
		mask &= kv_mask(bits);
	check_binary(run, mask, vj_string(vj_need(c, "expected")));
}

static void run_mask_or(struct vectors_run *run, const vj *root, const vj *c)
{
	uint64_t mask = 0;

	(void)root;
	VJ_FOREACH (bits, vj_need(c, "masks"))
		mask |= kv_mask(bits);
	check_binary(run, mask, vj_string(vj_need(c, "expected")));
}

static void run_mask_narrower(struct vectors_run *run, const vj *root, const vj *c)
{
	bool got = node_mask_narrower(kv_mask(vj_need(c, "first")), kv_mask(vj_need(c, "second")));

	(void)root;
	if (got != vj_bool(vj_need(c, "expected")))
		vectors_differ(run, "narrower %d, recorded %d", got, !got);
}

static void run_mask_counts(struct vectors_run *run, const vj *root, const vj *c)
{
	struct node_mask_walk walk;
	uint64_t mask, nodes = 0;
	unsigned n = 0;

	(void)root;
	for (unsigned id = 0; id < vj_unsigned(vj_need(c, "bits")); id++)
		nodes |= node_mask_of(id);
	node_mask_walk_start(&walk, nodes);
	while (node_mask_walk_next(&walk, &mask))
		n++;
	if (n != vj_unsigned(vj_need(c, "expected_masks")))
		vectors_differ(run, "%u masks, recorded %u", n, vj_unsigned(vj_need(c, "expected_masks")));
}

static void run_mask_order(struct vectors_run *run, const vj *root, const vj *c)
{
	struct node_mask_walk walk;
	uint64_t mask, nodes = 0;

	(void)root;
	VJ_FOREACH (bits, c)
		nodes |= kv_mask(bits);
	node_mask_walk_start(&walk, nodes);
	VJ_FOREACH (bits, c) {
		if (!node_mask_walk_next(&walk, &mask) || mask != kv_mask(bits))
			vectors_differ(run, "another mask than the recorded one");
	}
	if (node_mask_walk_next(&walk, &mask))
		vectors_differ(run, "more masks than recorded");
}

/* ---- devices */

/* One resource with the case's devices, those of "allocated" taken. */
static void read_devices(const vj *c, struct device_inventory *ret, uint64_t *ret_nodes)
{
	*ret = (struct device_inventory){0};
	*ret_nodes = 0;
	VJ_FOREACH (numa, vj_need(c, "devices_numa")) {
		struct device device = {.healthy = true};

		if (!vj_is_null(numa))
			device.nodes = node_mask_of(vj_unsigned(numa));
		VJ_FOREACH (name, vj_get(c, "allocated"))
			device.allocated = device.allocated || !strcmp(vj_string(name), vj_key(numa));
		device_inventory_add(ret, "resource", device);
		*ret_nodes |= device.nodes;
	}
}

/* Is `hints` the recorded list? */
static bool same_hints(const struct topology_hints *hints, const vj *want)
{
	struct topology_hints recorded;
	bool same;

	kv_hints(want, &recorded);
	same = recorded.n_items == hints->n_items;
	for (size_t i = 0; same && i < hints->n_items; i++)
		same = recorded.items[i].nodes == hints->items[i].nodes &&
		       recorded.items[i].preferred == hints->items[i].preferred;
	topology_hints_release(&recorded);
	return same;
}

static void device_hints(const struct device_inventory *inventory, uint64_t nodes, const vj *c, bool older,
	struct topology_hints *hints)
{
	const struct kubelet_version version = {.device_hints_on_every_node = older};
	const vj *held_by_container = vj_get(c, "allocated_to_this_container");
	size_t n = vj_unsigned(vj_need(c, "request")), i = 0;
	struct device_manager dm;
	struct device_books books;
	bool held[64] = {false};

	device_manager_init(&dm, inventory, nodes, &version);
	device_books_init(&books, &dm);
	device_books_reset(&books, &dm);
	VJ_FOREACH (device, vj_need(c, "devices_numa")) {
		if (i == ARRAY_SIZE(held))
			vj_die(c, "too many devices");
		VJ_FOREACH (name, held_by_container)
			held[i] = held[i] || !strcmp(vj_string(name), vj_key(device));
		i++;
	}
	if (held_by_container)
		device_manager_hints_again(&dm, &books, 0, held, n, hints);
	else
		device_manager_hints(&dm, &books, 0, n, hints);
	device_books_release(&books);
	device_manager_release(&dm);
}

/*
 * Some of these cases are of kubelets up to 1.35, whose device hints ranged over every NUMA node. A list that
 * differs counts only where a node without such a device exists and the older rule gives what was recorded.
 */
static void run_device_hints(struct vectors_run *run, const vj *root, const vj *c)
{
	uint64_t nodes = kv_mask(vj_need(c, "numa_nodes")), with_devices;
	const vj *want = vj_need(c, "expected_hints");
	struct topology_hints hints = {0};
	struct device_inventory inventory;

	(void)root;
	read_devices(c, &inventory, &with_devices);
	topology_hints_init(&hints, node_mask_count(nodes));
	device_hints(&inventory, nodes, c, true, &hints);
	kv_check_hints(run, "hints of 1.35", &hints, want);
	device_hints(&inventory, nodes, c, false, &hints);
	if (!same_hints(&hints, want) && (nodes & ~with_devices))
		vectors_explain(run, "kubelet up to 1.35: device hints on nodes without a device");
	else
		kv_check_hints(run, "hints", &hints, want);
	topology_hints_release(&hints);
	device_inventory_release(&inventory);
}

static void run_device_allocation(struct vectors_run *run, const vj *root, const vj *c)
{
	const struct topology_hint hint = {.nodes = kv_mask(vj_need(c, "hint"))};
	const struct kubelet_version version = kubelet_version_of(36);
	struct device_inventory inventory;
	struct device_manager dm;
	struct device_books books;
	uint64_t nodes;
	size_t available;

	(void)root;
	read_devices(c, &inventory, &nodes);
	device_manager_init(&dm, &inventory, nodes, &version);
	device_books_init(&books, &dm);
	device_books_reset(&books, &dm);
	if (device_manager_allocate(&dm, &books, 0, vj_unsigned(vj_need(c, "request")), hint, CONTAINER_APP,
		    &available) != DEVICE_TAKE_OK)
		vectors_differ(run, "not allocated");
	VJ_FOREACH (count, vj_need(c, "expected_count_per_numa")) {
		uint64_t node = node_mask_of((unsigned)strtoul(vj_key(count), NULL, 10));
		unsigned n = 0;

		for (size_t i = 0; i < inventory.resources[0].n_devices; i++)
			n += books.allocated[i] && inventory.resources[0].devices[i].nodes == node;
		if (n != vj_unsigned(count))
			vectors_differ(run, "%u devices of NUMA node %s, recorded %u", n, vj_key(count),
				vj_unsigned(count));
	}
	device_books_release(&books);
	device_manager_release(&dm);
	device_inventory_release(&inventory);
}

/* ---- memory */

static void check_memory(struct vectors_run *run, const struct memory_manager *mm, const vj *c,
	struct memory_needs *needs, struct topology_hints *hints)
{
	const vj *existing = vj_get(c, "existing_blocks"), *want = vj_get(c, "expected_hints_per_resource");
	struct memory_block blocks[8];
	size_t n_blocks = 0;

	VJ_FOREACH (block, existing) {
		if (n_blocks == ARRAY_SIZE(blocks))
			vj_die(c, "too many blocks");
		blocks[n_blocks].type = strdup(vj_string(vj_need(block, "type")));
		blocks[n_blocks].bytes = (uint64_t)vj_int(vj_need(block, "size"));
		blocks[n_blocks++].nodes = vj_ids(vj_need(block, "numaAffinity"));
	}
	for (size_t i = 0; i < needs->n_items; i++) {
		if (existing)
			memory_manager_hints_again(blocks, n_blocks, needs, i, hints);
		else
			memory_manager_hints(mm, &mm->now, needs, hints);
		kv_check_hints(
			run, needs->items[i].name, hints, want ? vj_need(want, needs->items[i].name) : NULL);
	}
	for (size_t i = 0; i < n_blocks; i++) {
		free(blocks[i].type);
		hwloc_bitmap_free(blocks[i].nodes);
	}
}

static void run_memory_hints(struct vectors_run *run, const vj *root, const vj *c)
{
	bool guaranteed = !strcmp(vj_string(vj_need(c, "qos")), qos_class_names[QOS_GUARANTEED]);
	const struct kubelet_version version = kubelet_version_of(36);
	struct memory_needs needs = {0};
	struct topology_hints hints = {0};
	struct memory_manager mm;
	struct memory_state state;
	struct pod_request pod;
	struct container_request *container;

	(void)root;
	pod_request_init(&pod);
	container = pod_request_add(&pod, CONTAINER_APP, "c");
	kv_memory_state(vj_get(c, "machine_state"), &state);
	if (memory_manager_init(&mm, &state, &version) < 0)
		vj_die(c, "a state that is too large");
	topology_hints_init(&hints, (unsigned)state.n_nodes);
	VJ_FOREACH (bytes, vj_get(c, "request"))
		resource_list_set(&container->requests, vj_key(bytes), vj_quantity(bytes));
	if (memory_needs_of_container(&mm, container, &needs) < 0)
		vectors_differ(run, "the request is not understood");
	if (guaranteed && needs.n_items == 0)
		vj_die(c, "nothing is requested");
	/* The memory manager gives other pods no hints: kubelet_judge() does not ask it. */
	if (guaranteed)
		check_memory(run, &mm, c, &needs, &hints);
	else if (vj_get(c, "expected_hints_per_resource"))
		vectors_differ(run, "hints for a pod that is not Guaranteed");
	memory_needs_release(&needs);
	topology_hints_release(&hints);
	memory_manager_release(&mm);
	memory_state_release(&state);
	pod_request_release(&pod);
}

/* ---- the file */

static const struct kubelet_section sections[] = {
	{"merge", run_merge},
	{"compare_hints_narrowest", run_compare},
	{"max_of_min_affinity_counts", run_max_of_min},
	{"filter_single_numa_hints", run_filter},
	{"can_admit", run_can_admit},
	{"closest", run_closest},
	{"average_distance", run_average},
	{"bitmask_string", run_mask_string},
	{"bitmask_add_out_of_range.bits", run_mask_out_of_range},
	{"bitmask_and", run_mask_and},
	{"bitmask_or", run_mask_or},
	{"bitmask_narrower", run_mask_narrower},
	{"bitmask_iterate_counts", run_mask_counts},
	{"bitmask_iterate_order.order", run_mask_order},
	{"device_hints", run_device_hints},
	{"device_aligned_allocation", run_device_allocation},
	{"memory_hints", run_memory_hints},
	/* State files and sysfs: the unit tests of their readers replay these. */
	{"cpu_manager_state", NULL},
	{"memory_manager_state", NULL},
	{"kubelet_internal_checkpoint", NULL},
	{"parse_distance_line", NULL},
	/* What the cases refer to. */
	{"topologies", NULL},
	{"numa_infos", NULL},
	{"", NULL},
};

/* The section that reads this member of the file; a name may go on with ".member". */
static const struct kubelet_section *find_section(const char *name)
{
	const struct kubelet_section *tables[] = {kubelet_cpu_sections, sections};

	for (size_t t = 0; t < ARRAY_SIZE(tables); t++)
		for (const struct kubelet_section *s = tables[t]; s->name[0]; s++)
			if (!strncmp(s->name, name, strlen(name)) && strchr(".", s->name[strlen(name)]))
				return s;
	return NULL;
}

static void run_section(struct vectors_run *run, const vj *root, const vj *member)
{
	const struct kubelet_section *section = find_section(vj_key(member));
	const char *dot = section ? strchr(section->name, '.') : NULL;
	const vj *cases = dot ? vj_need(member, dot + 1) : member;
	size_t i = 0;
	char id[96];

	if (!section) {
		vectors_begin(run, vj_key(member));
		vectors_differ(run, "a section that is not known here");
		vectors_end(run);
	}
	if (!section || !section->run)
		return;
	if (dot) {
		vectors_begin(run, section->name);
		section->run(run, root, cases);
		vectors_end(run);
		return;
	}
	VJ_FOREACH (c, cases) {
		snprintf(id, sizeof(id), "%s[%zu]", section->name, i++);
		vectors_begin(run, id);
		section->run(run, root, c);
		vectors_end(run);
	}
}

static void run(struct vectors_run *r, const struct vj_file *file)
{
	VJ_FOREACH (member, file->docs[0]) {
		if (vj_key(member)[0] != '_')
			run_section(r, file->docs[0], member);
	}
}

const struct vectors_format kubelet_cases_format = {"kubelet cases", recognise, run};

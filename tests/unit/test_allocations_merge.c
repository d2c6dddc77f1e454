/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/observe/allocations_merge.h"
#include "agent/observe/state_file.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/vec.h"
#include "scoring/node/manager_state.h"
#include "tests/lib/states.h"

/* A node on which the files list pods, and what shows that they are there. */
struct world {
	char *dir;
	struct allocations files, api;
	struct pod_ref *pods;
	size_t n_pods, pods_size;
	struct pod_evidence evidence;
	struct pods_seen seen;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->dir = test_tmpdir();
	w->files.cpus_known = true;
	w->files.shared = hwloc_bitmap_alloc();
	test_write_file(w->dir, "k/pods/other/x", "");
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	allocations_release(&w->files);
	allocations_release(&w->api);
	pod_refs_free(w->pods, w->n_pods);
	pod_evidence_release(&w->evidence);
	pods_seen_release(&w->seen);
	test_rmtree(&w->dir);
	free(w);
	return 0;
}

/* ---- what the two sources report, as texts */

/* "cpus 4-5", "memory 10@0" (bytes and NUMA nodes), or the id of a device */
static void hold(struct allocation *item, const char *what)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = hwloc_bitmap_alloc();
	struct memory_block *block;
	unsigned long bytes;
	char list[16];

	if (!strncmp(what, "cpus ", 5)) {
		assert_int_equal(hwloc_bitmap_list_sscanf(item->cpus, what + 5), 0);
	} else if (sscanf(what, "memory %lu@%15s", &bytes, list) == 2) {
		block = vec_push(&item->memory, &item->n_memory, &item->memory_size, sizeof(*block));
		assert_int_equal(hwloc_bitmap_list_sscanf(nodes, list), 0);
		*block =
			(struct memory_block){.type = strdup("memory"), .bytes = bytes, .nodes = TAKE(nodes)};
	} else {
		device_blocks_add(
			&item->devices, &item->n_devices, &item->devices_size, "v/nic", nodes, false, what);
	}
}

static struct allocation *add_to_files(struct world *w, const char *uid, const char *container)
{
	return allocations_add_container(&w->files, uid, container);
}

/* The API also lists the pod. */
static struct allocation *add_to_api(struct world *w, const char *pod, const char *container)
{
	struct allocation *item = allocations_add_container(&w->api, "", container);
	struct pod_ref *ref = NULL;

	text_set(&item->namespace, "ns");
	text_set(&item->pod, pod);
	for (size_t i = 0; i < w->n_pods; i++)
		if (!strcmp(w->pods[i].name, pod))
			return item;
	ref = vec_push(&w->pods, &w->n_pods, &w->pods_size, sizeof(*ref));
	ref->namespace = strdup("ns");
	ref->name = strdup(pod);
	return item;
}

/* Containers "POD/CONTAINER WHAT, WHAT; ...", each with what it holds. */
static void add_all(struct world *w,
	struct allocation *(*add)(struct world *w, const char *pod, const char *container), const char *text)
{
	CLEANUP(freep) char *copy = strdup(text);
	char *rest = copy, *part;

	while ((part = strsep(&rest, ";"))) {
		char *pod = part + strspn(part, " "), *what = pod, *container, *one;
		struct allocation *item;

		strsep(&what, " ");
		container = strrchr(pod, '/');
		assert_non_null(container);
		*container++ = '\0';
		item = add(w, pod, container);
		while ((one = strsep(&what, ",")))
			hold(item, one + strspn(one, " "));
	}
}

/* PODs by their UIDs. */
static void in_files(struct world *w, const char *text)
{
	add_all(w, add_to_files, text);
}

/* PODs by their names, in the namespace ns. */
static void in_api(struct world *w, const char *text)
{
	add_all(w, add_to_api, text);
}

static void make_folders(const struct world *w, const char *parent, const char *names)
{
	CLEANUP(freep) char *copy = strdup(names);
	char *rest = copy, *name, path[200];

	while ((name = strsep(&rest, " "))) {
		snprintf(path, sizeof(path), "%s/%s/x", parent, name);
		test_write_file(w->dir, path, "");
	}
}

/* The kubelet's folders of pods, by UID. */
static void folders(const struct world *w, const char *uids)
{
	make_folders(w, "k/pods", uids);
}

/* The folders of pods' logs, "NAMESPACE_POD_UID". */
static void logs(const struct world *w, const char *names)
{
	make_folders(w, "var/log/pods", names);
}

/* ---- the evidence, and what it ends */

static void look(struct world *w, bool fresh, bool settled)
{
	pod_evidence_release(&w->evidence);
	assert_int_equal(pod_evidence_read(w->dir, w->dir, "/k", &w->evidence, NULL, NULL), 0);
	w->evidence.fresh = fresh;
	w->evidence.settled = settled;
	pods_seen_update(&w->seen, &w->evidence, &w->files);
	w->evidence.seen = &w->seen;
}

static void by_files(struct world *w, const char *want)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);

	allocations_end_by_files(&w->files, &w->evidence);
	test_allocations_text(&w->files, &text);
	test_assert_text("left", text.text, want);
}

static void by_api(struct world *w, bool young, const char *want)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);
	const struct pods_listed listed = {&w->api, w->pods, w->n_pods, young};

	allocations_sort(&w->files);
	allocations_sort(&w->api);
	look(w, false, true);
	allocations_end_by_api(&w->files, &listed, &w->evidence);
	test_allocations_text(&w->files, &text);
	test_assert_text("left", text.text, want);
}

static void admit(struct world *w, const char *uid)
{
	char text[256];

	snprintf(text, sizeof(text), "{\"data\":\"{\\\"entries\\\":{\\\"%s\\\":{}}}\",\"checksum\":1}", uid);
	test_write_file(w->dir, "k/allocated_pods_state", text);
}

/* ---- giving back */

/* Two containers share nodes 0 and 1 and the first goes: the kubelet takes it from node 0 as far as that
 * reaches. */
static void a_group_gives_back_as_the_kubelets_does(void **state)
{
	static const char file[] =
		"{\"policyName\":\"Static\",\"machineState\":{"
		"\"0\":{\"numberOfAssignments\":2,\"memoryMap\":{\"memory\":{\"total\":100,"
		"\"systemReserved\":0,\"allocatable\":100,\"reserved\":100,\"free\":0}},\"cells\":[0,1]},"
		"\"1\":{\"numberOfAssignments\":2,\"memoryMap\":{\"memory\":{\"total\":100,"
		"\"systemReserved\":0,\"allocatable\":100,\"reserved\":60,\"free\":40}},\"cells\":[0,1]}},"
		"\"entries\":{\"a\":{\"c\":[{\"numaAffinity\":[0,1],\"type\":\"memory\",\"size\":120}]},"
		"\"b\":{\"c\":[{\"numaAffinity\":[0,1],\"type\":\"memory\",\"size\":40}]}},\"checksum\":0}";
	CLEANUP(kubelet_state_release) struct kubelet_state s = {0};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);
	struct err err = {""};

	(void)state;
	assert_int_equal(state_parse(&state_memory, file, strlen(file), NULL, &s, NULL, &err), 0);
	allocations_give_back(&s.allocations, (const bool[]){true, false});
	test_allocations_text(&s.allocations, &text);
	test_assert_text("one gone", text.text,
		"b/c memory 40@0-1;node 0 [0-1] 1 memory 100-0=100/0+100;"
		"node 1 [0-1] 1 memory 100-0=100/40+60;");
	allocations_give_back(&s.allocations, (const bool[]){true});
	strbuf_reset(&text);
	test_allocations_text(&s.allocations, &text);
	test_assert_text("both gone", text.text,
		"node 0 [0] 0 memory 100-0=100/0+100;node 1 [1] 0 memory 100-0=100/0+100;");
}

/* ---- by the files */

static void a_pod_without_folder_has_ended_and_its_cpus_are_shared(void **state)
{
	struct world *w = *state;

	in_files(w, "gone/c cpus 4-5; there/c cpus 6");
	folders(w, "there");
	look(w, false, true);
	by_files(w, "shared 4-5;there/c cpus 6;");
}

static void without_folders_nothing_is_known_to_have_ended(void **state)
{
	struct world *w = *state;

	test_rmtree(&w->dir);
	w->dir = test_tmpdir();
	in_files(w, "u/c nic0");
	look(w, false, true);
	by_files(w, "shared ;u/c v/nic nic0@;");
}

/* The network plugin is down: the pod is admitted and nothing is made for it yet, however long. */
static void a_pod_that_waits_for_its_folder_holds_what_it_has(void **state)
{
	struct world *w = *state;
	char *folder = NULL;

	in_files(w, "u/c nic0");
	admit(w, "u");
	look(w, true, false);
	by_files(w, "shared ;u/c v/nic nic0@;");
	look(w, false, true);
	by_files(w, "shared ;u/c v/nic nic0@;");
	folders(w, "u");
	look(w, false, true);
	by_files(w, "shared ;u/c v/nic nic0@;");
	assert_true(asprintf(&folder, "%s/k/pods/u", w->dir) > 0);
	test_rmtree(&folder);
	look(w, true, false);
	by_files(w, "shared ;");
}

/* The managers had given a device to its first container when the second was refused. */
static void a_refused_pod_holds_nothing(void **state)
{
	struct world *w = *state;

	in_files(w, "refused/c nic0");
	admit(w, "other");
	look(w, true, false);
	by_files(w, "shared ;refused/c v/nic nic0@;");
	look(w, true, true);
	by_files(w, "shared ;");
}

/* Without the file of admitted pods it waits as long as the files are fresh; for one who looks once, too. */
static void without_admitted_pods_none_waits_for_long(void **state)
{
	struct world *w = *state;

	in_files(w, "u/c nic0");
	look(w, true, false);
	by_files(w, "shared ;u/c v/nic nic0@;");
	look(w, false, false);
	by_files(w, "shared ;");
	pods_seen_release(&w->seen);
	in_files(w, "u/c nic0");
	admit(w, "u");
	look(w, false, false);
	by_files(w, "shared ;");
}

static void a_uid_that_is_a_path_is_no_folder(void **state)
{
	struct world *w = *state;

	in_files(w, "a/b/c nic0");
	look(w, false, true);
	by_files(w, "shared ;a/b/c v/nic nic0@;");
}

static void a_folder_that_cannot_be_looked_at_may_be_there(void **state)
{
	struct world *w = *state;
	CLEANUP(freep) char *folder = NULL;
	bool root = geteuid() == 0;

	in_files(w, "u/c nic0");
	assert_true(asprintf(&folder, "%s/k/pods", w->dir) > 0);
	assert_int_equal(chmod(w->dir, 0755), 0);
	assert_int_equal(chmod(folder, 0), 0);
	assert_true(!root || seteuid(65534) == 0);
	look(w, false, true);
	by_files(w, "shared ;u/c v/nic nic0@;");
	assert_true(!root || seteuid(0) == 0);
	assert_int_equal(chmod(folder, 0755), 0);
}

/* ---- by the API */

/* The kubelet keeps its folder until it is deleted; it lists it no longer. */
static void a_completed_pod_holds_nothing(void **state)
{
	struct world *w = *state;

	in_api(w, "p/c nic1");
	in_files(w, "done/c cpus 4, nic0; running/c nic1");
	folders(w, "done running");
	by_api(w, false, "shared 4;running/c v/nic nic1@;");
	test_assert_text("its UID", w->api.items[0].pod_uid, "running");
}

static void what_init_containers_of_listed_pods_hold_is_kept(void **state)
{
	struct world *w = *state;

	in_api(w, "p/c nic1; q/c"); /* holds something by an init container only */
	in_files(w, "p-uid/c nic1; p-uid/init nic2; q-uid/init nic3");
	folders(w, "q-uid");
	by_api(w, false, "shared ;p-uid/c v/nic nic1@;p-uid/init v/nic nic2@;q-uid/init v/nic nic3@;");
}

/* A pod that has ended under another name cannot be the one that is listed and holds nothing. */
static void logs_tell_a_completed_pod_from_one_with_init_containers(void **state)
{
	struct world *w = *state;

	in_api(w, "q/c");
	in_files(w, "q-uid/init nic3; done/main nic4");
	folders(w, "q-uid done");
	logs(w, "ns_q_q-uid ns_job_done");
	by_api(w, false, "shared ;q-uid/init v/nic nic3@;");
	test_assert_text("its UID", w->api.items[0].pod_uid, "q-uid");
}

/* A pod of the same name was there before; logs of both are. */
static void the_older_pod_of_a_name_has_ended(void **state)
{
	struct world *w = *state;

	in_api(w, "q/c nic1");
	in_files(w, "new/c nic1; old/c nic2");
	logs(w, "ns_q_new ns_q_old");
	by_api(w, false, "shared ;new/c v/nic nic1@;");
}

/* Replicas hold the same memory and no CPU: as many are held as are listed, of those that are there. */
static void of_equal_pods_as_many_are_held_as_are_listed(void **state)
{
	struct world *w = *state;

	in_api(w, "one/c memory 10@0; two/c memory 10@0");
	in_files(w, "a/c memory 10@0; b/c memory 10@0; c/c memory 10@0; d/c memory 10@1");
	folders(w, "b c");
	by_api(w, false, "shared ;b/c memory 10@0;c/c memory 10@0;");
}

/* Pod u has a folder, and containers init and app in the files; p is listed. */
static void u_may_be_p(struct world *w)
{
	in_files(w, "u/app cpus 4; u/init cpus 5");
	folders(w, "u");
}

/* A container that holds something would have been found by it, and one of the same name would be listed with it. */
static void a_listed_pod_that_holds_something_is_another_one(void **state)
{
	static const char *const listed[] = {
		"p/main", "p/main cpus 1", "p/main memory 10@0", "p/main nic0", "p/app"};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(listed); i++) {
		u_may_be_p(w);
		in_api(w, listed[i]);
		by_api(w, false, i == 0 ? "shared ;u/app cpus 4;u/init cpus 5;" : "shared 4-5;");
		allocations_release(&w->files);
		allocations_release(&w->api);
		w->files.cpus_known = true;
		w->files.shared = hwloc_bitmap_alloc();
	}
}

/* The other pod of that name is in another namespace and holds something. */
static void pods_of_one_name_are_told_apart_by_their_namespaces(void **state)
{
	struct world *w = *state;
	struct allocation *other;

	u_may_be_p(w);
	in_api(w, "p/main");
	other = allocations_add_container(&w->api, "", "main");
	text_set(&other->namespace, "elsewhere");
	text_set(&other->pod, "p");
	hold(other, "cpus 1");
	/* Its logs name a pod of a third namespace, which is not listed. */
	in_files(w, "third/c cpus 6");
	folders(w, "third");
	logs(w, "third_p_third");
	by_api(w, false, "shared 6;u/app cpus 4;u/init cpus 5;");
}

/* The listed pod has logs of its own, under another UID. */
static void a_listed_pod_with_logs_of_its_own_is_another_one(void **state)
{
	struct world *w = *state;

	u_may_be_p(w);
	in_api(w, "p/main");
	logs(w, "ns_p_p-uid");
	by_api(w, false, "shared 4-5;");
}

/* A pod of the files is the API's when each container holds the same; one that is not there holds nothing. */
static void a_pod_without_the_container_is_another_one(void **state)
{
	struct world *w = *state;

	in_files(w, "u/other memory 5@0");
	in_api(w, "p/c memory 5@0");
	allocations_sort(&w->files);
	allocations_sort(&w->api);
	look(w, false, true);
	allocations_set_uids(&w->api, &w->files, &w->evidence);
	test_assert_text("UID", w->api.items[0].pod_uid, "");
}

/* The pod that the API lists has got this UID. */
static void assert_uid(const struct world *w, const char *pod, const char *want)
{
	for (size_t i = 0; i < w->api.n_items; i++)
		if (!strcmp(w->api.items[i].pod, pod))
			test_assert_text(pod, w->api.items[i].pod_uid, want);
}

/* Two pods have an equal container, one of them a sidecar as well, which looks like what an init container left. */
static void a_pod_with_a_sidecar_is_not_a_smaller_one(void **state)
{
	struct world *w = *state;

	in_files(w, "a/app memory 5@0; b/app memory 5@0; b/sidecar memory 7@0");
	in_api(w, "p/app memory 5@0; q/app memory 5@0; q/sidecar memory 7@0");
	by_api(w, false, "shared ;a/app memory 5@0;b/app memory 5@0;b/sidecar memory 7@0;");
	assert_uid(w, "p", "a");
	assert_uid(w, "q", "b");
}

/* As above, and what a third pod's init container left hides from the sums that one pod is missing. */
static void nor_where_leftovers_are_as_much(void **state)
{
	struct world *w = *state;

	in_files(w, "c/app memory 5@0; c/init memory 9@0");
	in_api(w, "r/app memory 5@0");
	in_files(w, "a/app memory 5@0; b/app memory 5@0; b/sidecar memory 7@0");
	in_api(w, "p/app memory 5@0; q/app memory 5@0; q/sidecar memory 7@0");
	by_api(w, false,
		"shared ;a/app memory 5@0;b/app memory 5@0;b/sidecar memory 7@0;c/app memory 5@0;"
		"c/init memory 9@0;");
	assert_uid(w, "q", "b");
}

/* What the init container left belongs to the pod that had it. */
static void logs_tell_pods_that_hold_the_same_apart(void **state)
{
	struct world *w = *state;

	in_files(w, "a/app memory 5@0; b/app memory 5@0; b/init memory 7@0");
	in_api(w, "p/app memory 5@0; q/app memory 5@0");
	logs(w, "ns_p_a ns_q_b");
	by_api(w, false, "shared ;a/app memory 5@0;b/app memory 5@0;b/init memory 7@0;");
	assert_uid(w, "p", "a");
	assert_uid(w, "q", "b");
}

/* A kubelet gives CPU 0 of some machines away twice: what the init container left does not go with the pod that has its
 * CPU as well. */
static void two_pods_with_one_cpu_are_two(void **state)
{
	struct world *w = *state;

	in_files(w, "a/app cpus 0; b/app cpus 0; b/init cpus 0-3");
	in_api(w, "p/app cpus 0; q/app cpus 0");
	folders(w, "b");
	by_api(w, false, "shared ;a/app cpus 0;b/app cpus 0;b/init cpus 0-3;");
	assert_uid(w, "p", "a");
	assert_uid(w, "q", "b");
}

static void logs_tell_pods_with_one_cpu_apart(void **state)
{
	struct world *w = *state;

	in_files(w, "a/app cpus 0; b/app cpus 0");
	in_api(w, "p/app cpus 0; q/app cpus 0");
	logs(w, "ns_q_a");
	by_api(w, false, "shared ;a/app cpus 0;b/app cpus 0;");
	assert_uid(w, "p", "b");
	assert_uid(w, "q", "a");
}

/* A pod that has ended held the same, and the kubelet has not forgotten it; its logs name another. */
static void logs_of_another_name_are_of_another_pod(void **state)
{
	struct world *w = *state;

	in_files(w, "ended/app memory 5@0; ended/init memory 7@0; u/app memory 5@0");
	in_api(w, "p/app memory 5@0");
	folders(w, "ended u");
	logs(w, "ns_other_ended");
	by_api(w, false, "shared ;u/app memory 5@0;");
	assert_uid(w, "p", "u");
}

/* It has its state from its files and hears of its pods one after the other. */
static void a_kubelet_that_has_just_started_may_list_a_pod_later(void **state)
{
	struct world *w = *state;

	in_files(w, "later/c cpus 4; gone/c cpus 5");
	folders(w, "later");
	by_api(w, true, "shared 5;later/c cpus 4;");
	by_api(w, false, "shared 4-5;");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* Both sources of a node: one container each, to be changed by a case. */
struct both {
	struct allocations api, files;
};

static struct allocation *add_item(struct allocations *a, const char *uid, const char *pod,
	const char *container, const char *cpus, const char *device)
{
	struct allocation *item = allocations_add(a);
	CLEANUP(cpuset_freep) hwloc_bitmap_t none = hwloc_bitmap_alloc();

	text_set(&item->pod_uid, uid);
	text_set(&item->namespace, *pod ? "ns" : "");
	text_set(&item->pod, pod);
	text_set(&item->container, container);
	hwloc_bitmap_free(item->cpus);
	assert_int_equal(cpuset_parse(cpus, &item->cpus, NULL), 0);
	if (*device)
		device_blocks_add(
			&item->devices, &item->n_devices, &item->devices_size, "v/nic", none, false, device);
	return item;
}

static void add_registered(struct allocations *a, const char *id)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t none = hwloc_bitmap_alloc();

	device_blocks_add(&a->registered, &a->n_registered, &a->registered_size, "v/nic", none, false, id);
}

static void add_memory(struct allocations *a, uint64_t allocatable, uint64_t reserved)
{
	struct memory_node *node =
		vec_push(&a->memory.nodes, &a->memory.n_nodes, &a->memory.nodes_size, sizeof(*node));
	struct memory_table *t = vec_push(&node->tables, &node->n_tables, &node->tables_size, sizeof(*t));

	a->memory_known = true;
	*t = (struct memory_table){
		.type = strdup("memory"), .allocatable = allocatable, .reserved = reserved};
}

static void init(struct both *b)
{
	memset(b, 0, sizeof(*b));
	b->api.cpus_known = b->files.cpus_known = true;
	b->api.devices_known = b->files.devices_known = true;
	b->api.registered_known = b->files.registered_known = true;
}

static void check(struct both *b, int want, const char *text)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(4096);

	assert_int_equal(cross_check(&b->api, &b->files, &out), want);
	test_assert_text("what differs", out.text, text);
	allocations_release(&b->api);
	allocations_release(&b->files);
	init(b);
}

static void only_contradictions_are_told(void **state)
{
	struct both b;

	(void)state;
	init(&b);
	check(&b, 0, "");
	add_item(&b.api, "", "p", "c", "4-5", "");
	add_item(&b.files, "u", "", "c", "4-5", "");
	add_item(&b.files, "u", "", "init", "4-7", "");
	check(&b, 0, "");
	add_item(&b.api, "", "p", "c", "4-5", "");
	check(&b, 1, "CPUs held: '4-5' by the API, '' by the files");
	add_item(&b.api, "", "p", "c", "4-5", "");
	b.files.cpus_known = false;
	check(&b, 0, "");
	add_item(&b.api, "", "p", "c", "", "nic0");
	add_registered(&b.api, "nic0");
	add_registered(&b.api, "nic1");
	add_registered(&b.files, "nic0");
	check(&b, 2,
		"devices held: 1 by the API and not by the files, 'nic0' of v/nic first; devices registered: "
		"1 "
		"by the API and not by the files, 'nic1' of v/nic first");
	add_registered(&b.files, "nic0");
	check(&b, 1, "devices registered: 1 by the files and not by the API, 'nic0' of v/nic first");
	add_memory(&b.api, 100, 10);
	add_memory(&b.files, 100, 20);
	check(&b, 0, "");
	add_memory(&b.api, 90, 30);
	add_memory(&b.files, 100, 20);
	check(&b, 2,
		"memory allocatable: 90 by the API, 100 by the files; memory held: 30 by the API, 20 by the "
		"files");
	allocations_release(&b.api);
	allocations_release(&b.files);
}

static void names_and_uids_meet(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);
	CLEANUP(allocations_release) struct allocations api = {0};
	CLEANUP(allocations_release) struct allocations files = {0};
	const struct pod_evidence none = {0};

	(void)state;
	add_item(&api, "", "one", "c", "4-5", "");
	add_item(&api, "", "one", "sidecar", "", "");
	add_item(&api, "", "two", "c", "", "nic1");
	add_item(&api, "", "three", "c", "", "");
	add_item(&files, "u1", "", "c", "4-5", "");
	add_item(&files, "u1", "", "init", "4-7", "");
	add_item(&files, "u2", "", "c", "", "nic1");
	add_item(&files, "u9", "", "c", "8", "nic9");
	allocations_set_uids(&api, &files, &none);
	allocations_add_from_files(&api, &files, false);
	for (size_t i = 0; i < api.n_items; i++)
		strbuf_addf(&text, "%s=%s ", api.items[i].pod, api.items[i].pod_uid);
	test_assert_text("pods", text.text, "three= one=u1 one=u1 one=u1 two=u2 =u9 ");
	strbuf_reset(&text);
	test_allocations_text(&api, &text);
	test_assert_text("holders", text.text,
		"/c;u1/c cpus 4-5;u1/init cpus 6-7;u1/sidecar;u2/c v/nic nic1@;u9/c cpus 8 v/nic nic9@;");
}

/* A pod of `a` holds this much of node 0. */
static void hold_bytes(struct allocations *a, const char *uid, const char *container, uint64_t bytes)
{
	for (size_t i = 0; i < a->n_items; i++) {
		struct allocation *item = &a->items[i];
		struct memory_block *block;

		if (strcmp(item->pod_uid, uid) != 0 || strcmp(item->container, container) != 0)
			continue;
		block = vec_push(&item->memory, &item->n_memory, &item->memory_size, sizeof(*block));
		assert_non_null(block);
		*block = (struct memory_block){
			.type = strdup("memory"), .bytes = bytes, .nodes = hwloc_bitmap_alloc()};
		assert_non_null(block->type);
		assert_true(block->nodes && hwloc_bitmap_set(block->nodes, 0) == 0);
	}
}

/* What an init container keeps is its pod's: it comes free with the pod. The memory of a container that the API lists is
 * the API's, and that of a pod which may be one of the API's without UID is nobody's twice. */
static void memory_of_init_containers(void **state)
{
	static const struct {
		bool memory, nameless;
		const char *text;
	} cases[] = {
		{true, false, "u1/c cpus 4-5 memory 100@0;u1/init memory 40@0;u9/c memory 7@0;"},
		{true, true, "/c memory 5@0;u1/c cpus 4-5 memory 100@0;u1/init memory 40@0;"},
		{false, false, "u1/c cpus 4-5 memory 100@0;"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);
		CLEANUP(allocations_release) struct allocations api = {0};
		CLEANUP(allocations_release) struct allocations files = {0};

		add_item(&api, "u1", "one", "c", "4-5", "");
		hold_bytes(&api, "u1", "c", 100);
		if (cases[i].nameless) {
			add_item(&api, "", "two", "c", "", "");
			hold_bytes(&api, "", "c", 5);
		}
		add_item(&files, "u1", "", "c", "4-5", "");
		hold_bytes(&files, "u1", "c", 120);
		add_item(&files, "u1", "", "init", "4-5", "");
		hold_bytes(&files, "u1", "init", 40);
		add_item(&files, "u9", "", "c", "", "");
		hold_bytes(&files, "u9", "c", 7);
		allocations_add_from_files(&api, &files, cases[i].memory);
		test_allocations_text(&api, &text);
		test_assert_text("holders", text.text, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_group_gives_back_as_the_kubelets_does),
		TEST(a_pod_without_folder_has_ended_and_its_cpus_are_shared),
		TEST(without_folders_nothing_is_known_to_have_ended),
		TEST(a_pod_that_waits_for_its_folder_holds_what_it_has),
		TEST(a_refused_pod_holds_nothing),
		TEST(without_admitted_pods_none_waits_for_long),
		TEST(a_uid_that_is_a_path_is_no_folder),
		TEST(a_folder_that_cannot_be_looked_at_may_be_there),
		TEST(a_completed_pod_holds_nothing),
		TEST(what_init_containers_of_listed_pods_hold_is_kept),
		TEST(logs_tell_a_completed_pod_from_one_with_init_containers),
		TEST(the_older_pod_of_a_name_has_ended),
		TEST(of_equal_pods_as_many_are_held_as_are_listed),
		TEST(a_listed_pod_that_holds_something_is_another_one),
		TEST(pods_of_one_name_are_told_apart_by_their_namespaces),
		TEST(a_listed_pod_with_logs_of_its_own_is_another_one),
		TEST(a_pod_without_the_container_is_another_one),
		TEST(a_pod_with_a_sidecar_is_not_a_smaller_one),
		TEST(nor_where_leftovers_are_as_much),
		TEST(logs_tell_pods_that_hold_the_same_apart),
		TEST(two_pods_with_one_cpu_are_two),
		TEST(logs_tell_pods_with_one_cpu_apart),
		TEST(logs_of_another_name_are_of_another_pod),
		TEST(a_kubelet_that_has_just_started_may_list_a_pod_later),
		cmocka_unit_test(only_contradictions_are_told),
		cmocka_unit_test(names_and_uids_meet),
		cmocka_unit_test(memory_of_init_containers),
	};

	return cmocka_run_group_tests_name("allocations_ended", tests, NULL, NULL);
}

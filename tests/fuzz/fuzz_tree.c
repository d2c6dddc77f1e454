/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole node: /sys, /proc, the kubelet's files, CDI specs and cgroups as one tree (tests/fuzz/tree.h), mutated together. What
 * `nrtd dump`, `check`, `show` and `fit` do with --sysroot works on any tree: a failure is one line that names a file, what is
 * printed can be parsed, amounts are consistent, and no CPU that the kubelet's cpu_manager_state gives to a pod, or a CDI spec to
 * a claim, is available. tests/fuzz/tree.sh makes a directory of an input, for `nrtd dump --sysroot`.
 */
#include "tests/fuzz/tree_mutator.h"

#include "agent/check/check.h"
#include "agent/observe/fs_root.h"
#include "agent/observe/observe.h"
#include "agent/observe/pod_memory.h"
#include "agent/observe/state_file.h"
#include "agent/publish/pod_annotations.h"
#include "agent/render/dump_doc.h"
#include "agent/render/render.h"
#include "cli/report/fit_report.h"
#include "cli/report/show.h"
#include "common/cleanup.h"
#include "common/hash.h"
#include "common/io/json.h"
#include "common/io/yaml.h"
#include "common/text.h"
#include "scoring/node/node_state_codec.h"

#define CDI_DIR     "/var/run/cdi"
#define OUTPUT_MAX  ((size_t)64 << 20)
#define CPU_SECONDS 8 /* of one input, under sanitizers */

static struct tree_disk disk;
static uint64_t chance; /* a hash of the input: what takes long is done for a part of all inputs */

/* Half of the time would go to remembering who allocated what. The environment's ASAN_OPTIONS have priority. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "malloc_context_size=2:quarantine_size_mb=16:max_malloc_fill_size=256";
}

static struct observe_config observe_config(void)
{
	return (struct observe_config){.sysroot = disk.root,
		.pod_resources = "none",
		.pods_api = "none",
		.state_files = true,
		.cdi_dir = CDI_DIR,
		.cgroup = CGROUP_DIR};
}

static const struct nrt_config nrt_config = {.fingerprint = FINGERPRINT_WITH_EXCLUSIVE_RESOURCES,
	.deprecated_policies = true,
	.node_state = true,
	.pcie_roots = true};

/* ---- what is printed */

/* Lines of printable text. */
static void check_lines(const char *text)
{
	for (; *text; text++)
		fuzz_require(*text == '\n' || ((unsigned char)*text >= ' ' && *text != 0x7f));
}

/* JSON and YAML of the document are read back as the same document. */
static void check_document(const struct doc *d)
{
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT(OUTPUT_MAX), yaml = STRBUF_INIT(OUTPUT_MAX);
	CLEANUP(strbuf_release) struct strbuf again = STRBUF_INIT(OUTPUT_MAX);
	CLEANUP(doc_release) struct doc from_json = DOC_INIT, from_yaml = DOC_INIT;

	fuzz_require(json_print_compact(d, &json) == 0);
	fuzz_require(json_parse_unique(json.text, json.len, &from_json, NULL) == 0);
	fuzz_require(json_print_compact(&from_json, &again) == 0 && !strcmp(again.text, json.text));
	if (chance % 4 != 0)
		return;
	strbuf_reset(&again);
	fuzz_require(
		yaml_print(d, &yaml) == 0 && yaml_parse_unique(yaml.text, yaml.len, &from_yaml, NULL) == 0);
	fuzz_require(json_print_compact(&from_yaml, &again) == 0 && !strcmp(again.text, json.text));
}

/* A failure says in one line which file, or the flag of which process or service. */
static void check_failure(const struct err *err)
{
	fuzz_check_line(err->text);
	fuzz_require(strchr(err->text, '/') || strstr(err->text, "kubelet (pid ") ||
		     strstr(err->text, ".service"));
}

/* ---- dump */

static void check_amounts(const struct inventory *inv)
{
	for (size_t i = 0; i < inv->n_nodes * inv->n_resources; i++) {
		const struct inventory_amount *a = &inv->amounts[i];

		fuzz_require(!a->present || (a->available >= 0 && a->available <= a->allocatable &&
						    a->allocatable <= a->capacity));
	}
}

static void dump(struct observation *o, struct doc *ret_nrt)
{
	CLEANUP(doc_release) struct doc all = {.kind = DOC_LIST}, koordinator = DOC_INIT;
	CLEANUP(kai_pods_release) struct kai_pods pods = {0};
	struct nrt_config with_koordinator = nrt_config;
	const struct hints_config hints = {.max_size = FIT_HINTS_MAX_SIZE, .labels = true};

	nrt_render(&o->node, &nrt_config, ret_nrt, &o->notes);
	doc_copy(ret_nrt, doc_add(&all, NULL));
	with_koordinator.koordinator = true;
	nrt_render(&o->node, &with_koordinator, doc_add(&all, NULL), &o->notes);
	numatopology_render(&o->node, doc_add(&all, NULL), &o->notes);
	kai_render(&o->node, &pods, &o->notes);
	for (size_t i = 0; i < pods.n_items; i++)
		pod_annotation_object(&pods.items[i], doc_add_map(&all, NULL));
	{
		CLEANUP(doc_release) struct doc annotations = DOC_INIT, labels = DOC_INIT;

		hints_make(
			&hints, &o->node, nrt_content_hash(ret_nrt), &annotations, &labels, &o->notes, NULL);
		doc_copy(&annotations, doc_add(&all, NULL));
		doc_copy(&labels, doc_add(&all, NULL));
	}
	machine_to_doc(&o->node.machine, doc_add(&all, NULL));
	inventory_to_doc(o, doc_add(&all, NULL));
	pods_to_doc(o, doc_add(&all, NULL));
	check_document(&all);
}

/* ---- show */

static void show(const struct observation *o)
{
	CLEANUP(show_view_release) struct show_view view;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(OUTPUT_MAX);
	CLEANUP(doc_release) struct doc d = DOC_INIT;

	show_view_init(&view);
	show_view(&o->node, &o->notes, &view);
	fuzz_require(show_text(&view, TERMINAL_WIDTH, false, false, &text) == 0);
	check_lines(text.text);
	strbuf_reset(&text);
	fuzz_require(show_text(&view, TERMINAL_MIN_WIDTH, true, true, &text) == 0);
	strbuf_reset(&text);
	fuzz_require(show_svg(&view, SHOW_SVG_WIDTH, &text) == 0);
	check_lines(text.text);
	show_doc(&view, &d);
	check_document(&d);
}

/* ---- what the kubelet's own file gives out, read without the readers of nrtd */

/* Whether nrtd may know that a pod has ended: the pods' directory exists, without a directory of this pod. */
static bool may_have_ended(const char *kubelet_root, const char *uid)
{
	CLEANUP(freep) char *folders = xasprintf("%.3000s/" PODS_FOLDER, kubelet_root);
	CLEANUP(freep) char *folder = xasprintf("%s/%s", folders, uid);

	return !strchr(uid, '/') && fs_lookup(disk.root, folders, NULL) > 0 &&
	       fs_lookup(disk.root, folder, NULL) == 0;
}

static void add_cpus(const struct doc *list, hwloc_bitmap_t held)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = NULL;

	if (list->kind == DOC_STRING && cpuset_parse(list->text, &set, NULL) == 0)
		cpuset_or(held, held, set);
}

/* The CPUs in the entries of cpu_manager_state, read without nrtd's reader. Of a format that this does not know, no CPU is checked. */
static hwloc_bitmap_t read_held(const char *kubelet_root)
{
	CLEANUP(freep) char *path = xasprintf("%.3000s/" STATE_CPU_FILE, kubelet_root);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(STATE_CPU_FILE_MAX);
	CLEANUP(doc_release) struct doc top = DOC_INIT, data = DOC_INIT;
	hwloc_bitmap_t held = cpuset_new();
	const struct doc *content = &top, *entries;

	if (fs_read(disk.root, path, &text, NULL) < 0 ||
		json_parse_unique(text.text, text.len, &top, NULL) < 0 || top.kind != DOC_MAP)
		return held;
	if (doc_string(doc_get_fold(&top, "data")) && *doc_string(doc_get_fold(&top, "data"))) {
		const char *inner = doc_string(doc_get_fold(&top, "data"));

		if (json_parse_unique(inner, strlen(inner), &data, NULL) < 0 || data.kind != DOC_MAP)
			return held;
		content = &data;
	}
	entries = doc_get_fold(content, "entries");
	if (!entries || entries->kind != DOC_MAP)
		return held;
	DOC_FOREACH (pod, entries) {
		if (pod->kind == DOC_STRING) /* of the first format: a container without its pod */
			add_cpus(pod, held);
		else if (pod->kind == DOC_MAP && !may_have_ended(kubelet_root, pod->key))
			DOC_FOREACH (container, pod)
				add_cpus(container, held);
	}
	return held;
}

/* Adds the CPUs that a CDI spec gives to claims. */
static void add_claimed(const struct tree_entry *spec, hwloc_bitmap_t claimed)
{
	static const char variable[] = "DRA_CPUSET_";
	CLEANUP(doc_release) struct doc top = DOC_INIT;

	if (json_parse_unique(spec->text, spec->len, &top, NULL) < 0)
		return;
	DOC_FOREACH_ITEM (device, doc_get(&top, "devices"))
		DOC_FOREACH_ITEM (env, doc_get(doc_get(device, "containerEdits"), "env")) {
			CLEANUP(cpuset_freep) hwloc_bitmap_t set = NULL;
			const char *text = doc_string(env), *value = text ? strchr(text, '=') : NULL;

			if (value && !strncmp(text, variable, strlen(variable)) &&
				cpuset_parse(value + 1, &set, NULL) == 0)
				cpuset_or(claimed, claimed, set);
		}
}

static hwloc_bitmap_t read_claimed(void)
{
	static const char folder[] = CDI_DIR "/";
	hwloc_bitmap_t claimed = cpuset_new();

	for (size_t i = 0; i < disk.written.n_items; i++) {
		const struct tree_entry *e = &disk.written.items[i];
		const char *name = e->path + strlen(folder);

		if (tree_is_file(e) && !strncmp(e->path, folder, strlen(folder)) && *name != '.' &&
			!strchr(name, '/') && text_ends_with(name, ".json"))
			add_claimed(e, claimed);
	}
	return claimed;
}

static void check_free_cpus(const struct node_state *node, hwloc_const_bitmap_t held)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t claimed = read_claimed();
	int cpu = inventory_resource(&node->inventory, "cpu");

	for (size_t i = 0; cpu >= 0 && i < node->inventory.n_nodes; i++) {
		const struct inventory_amount *a = inventory_amount(&node->inventory, i, (size_t)cpu);
		CLEANUP(cpuset_freep) hwloc_bitmap_t own = machine_own_cpus(&node->machine, i);

		cpuset_andnot(own, own, held);
		cpuset_andnot(own, own, claimed);
		fuzz_require(!a->present || a->available <= (qty_t)cpuset_size(own) * QTY_UNIT);
	}
}

/* ---- fit */

/* The kubelet divides the number of CPUs by that of cores. Where cores have different numbers of CPUs it takes a core with a held
 * CPU for a free one and gives out that CPU again, as nrtd predicts. */
static bool has_equal_cores(const struct machine *m)
{
	size_t first = 0;

	for (size_t i = 0; i < m->n_cpus; i++) {
		size_t n = 0;

		for (size_t k = 0; k < m->n_cpus; k++)
			n += m->cpus[k].core == m->cpus[i].core;
		first = i == 0 ? n : first;
		if (n != first)
			return false;
	}
	return true;
}

static void check_placement(const struct node_report *n, hwloc_const_bitmap_t held)
{
	for (size_t i = 0; i < n->n_containers; i++) {
		CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = NULL;

		fuzz_require(cpuset_parse(n->containers[i].cpus, &cpus, NULL) == 0);
		fuzz_require(!hwloc_bitmap_intersects(cpus, held));
	}
}

/* A pod with a container for each number of CPUs, each with some memory and devices. */
static void make_pod(const struct inventory *inv, const unsigned *cpus, size_t n, struct pod_request *ret)
{
	pod_request_init(ret);
	for (size_t i = 0; i < n; i++) {
		struct container_request *c = pod_request_add(ret, CONTAINER_APP, i > 0 ? "side" : "app");

		for (int limits = 0; limits < 2; limits++) {
			struct resource_list *list = limits ? &c->limits : &c->requests;

			resource_list_append(
				list, "cpu", (struct quantity){.nano = (qty_t)cpus[i] * QTY_UNIT});
			resource_list_append(
				list, "memory", (struct quantity){.nano = ((qty_t)64 << 20) * QTY_UNIT});
			for (size_t k = 0; k < inv->n_resources && i == 0 && n > 1; k++)
				if (strchr(inv->resources[k], '/'))
					resource_list_append(
						list, inv->resources[k], (struct quantity){.nano = QTY_UNIT});
			resource_list_sort(list);
		}
	}
}

/* Reports on the pod; another node state that is `same` gives the same verdict. */
static void fit(const struct node_state *node, const struct node_state *same, const unsigned *cpus,
	size_t n_cpus, hwloc_const_bitmap_t held)
{
	CLEANUP(pod_request_release) struct pod_request pod;
	CLEANUP(pod_report_release) struct pod_report report;
	CLEANUP(node_report_release) struct node_report n, again;
	CLEANUP(victim_pods_release) struct victim_pods pods = {0};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(OUTPUT_MAX);
	CLEANUP(doc_release) struct doc d = DOC_INIT;

	make_pod(&node->inventory, cpus, n_cpus, &pod);
	pod_report_init(&report, &pod);
	node_report_make(&report, node, REPORT_ALL, NULL, &n);
	if (has_equal_cores(&node->machine))
		check_placement(&n, held);
	for (size_t i = 0; i < node->allocations.n_items; i++) {
		const struct allocation *item = &node->allocations.items[i];

		victim_pods_add_item(&pods, i, item->namespace, item->pod, item->pod_uid);
	}
	node_report_add_victims(node, &pod, &pods, &n);
	for (int json = 0; json < 2; json++) {
		CLEANUP(writer_release) struct writer w;

		strbuf_reset(&text);
		writer_init(&w, json ? "json" : "text", true, &text);
		fit_write_node(&w, &report, &n);
		fuzz_require(writer_finish(&w) == 0);
		if (!json)
			check_lines(text.text);
	}
	fuzz_require(json_parse_unique(text.text, text.len, &d, NULL) == 0);
	memset(&again, 0, sizeof(again));
	if (!same)
		return;
	node_report_make(&report, same, REPORT_COPIES, NULL, &again);
	fuzz_require(again.answer == n.answer);
	fuzz_require(again.copies.n == n.copies.n);
}

/* The published node state is read back as the same text, and answers as the node itself. */
static bool read_back(const struct node_state *node, struct node_state *ret)
{
	CLEANUP(strbuf_release)
	struct strbuf text = STRBUF_INIT(NODE_STATE_TEXT_MAX), again = STRBUF_INIT(NODE_STATE_TEXT_MAX);
	const struct derive_config config = {0};
	struct err err = {""};

	if (node_state_print(node, &text) < 0)
		return false;
	fuzz_require(node_state_parse(text.text, ret, &err) == 0);
	fuzz_require(node_state_print(ret, &again) == 0 && !strcmp(text.text, again.text));
	fuzz_require(node_derive(&config, ret, NULL, &err) == 0);
	return true;
}

static void fit_a_pod(const struct node_state *node, hwloc_const_bitmap_t held)
{
	static const struct {
		unsigned cpus[2];
		size_t n;
	} pods[] = {{{2}, 1}, {{3}, 1}, {{1, 2}, 2}, {{1, 1}, 2}};
	size_t at = chance / 8 % ARRAY_SIZE(pods);
	struct node_state same;
	bool readable = read_back(node, &same);

	fit(node, readable ? &same : NULL, pods[at].cpus, pods[at].n, held);
	if (readable)
		node_state_release(&same);
}

/* ---- check */

/* `nrt` is the object that `nrtd dump` prints, or NULL if there is none: the object of `nrtd check` is the same. */
static void check(const struct doc *nrt)
{
	CLEANUP(check_report_release) struct check_report report = {0};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(OUTPUT_MAX);
	CLEANUP(doc_release) struct doc own = DOC_INIT, d = DOC_INIT;
	const struct check_config config = {.observe = observe_config(), .nrt = nrt_config};

	check_host(&config, &report, &own);
	for (size_t i = 0; i < report.n_items; i++)
		for (const char *p = report.items[i].text; *p; p++)
			fuzz_require((unsigned char)*p >= ' ' && *p != 0x7f);
	check_report_text(&report, &text);
	check_lines(text.text);
	check_report_doc(&report, &d);
	check_document(&d);
	fuzz_require((own.kind == DOC_MAP) == (nrt != NULL));
	fuzz_require(!nrt || !strcmp(nrt_content_hash(&own), nrt_content_hash(nrt)));
}

/* ---- one tree */

static void work_on_tree(void)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(doc_release) struct doc nrt = DOC_INIT;
	CLEANUP(cpuset_freep) hwloc_bitmap_t held = NULL;
	const struct observe_config config = observe_config();
	const struct derive_config derive = {0};
	struct err err = {""};

	observation_init(&o);
	if (observe(&config, &o, &err) < 0 || node_derive(&derive, &o.node, &o.notes, &err) < 0) {
		check_failure(&err);
		check(NULL);
		return;
	}
	if (pod_memory_read(config.sysroot, config.cgroup, &o.node, &err) < 0)
		check_failure(&err);
	held = read_held(o.kubelet.root);
	check_amounts(&o.node.inventory);
	check_free_cpus(&o.node, held);
	dump(&o, &nrt);
	show(&o);
	fit_a_pod(&o.node, held);
	if (chance % 2 == 0)
		check(&nrt);
	fuzz_check_notes(&o.notes);
}

static int lowest_free_descriptor(void)
{
	int fd = open("/", O_PATH | O_CLOEXEC);

	close(fd);
	return fd;
}

static void start(void)
{
	const struct observe_config config = observe_config();

	unsetenv("NODE_NAME");
	tree_disk_open(&disk);
	fuzz_require(observe_prepare(&config, NULL) == 0);
}

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tree tree = {0}, complete = {0};
	double begin = fuzz_cpu_seconds();
	int fd;

	if (disk.fd == 0)
		start();
	chance = hash_bytes(data, size, 0);
	tree_parse((const char *)data, size, &tree);
	tree_complete(&tree, &complete);
	tree_release(&tree);
	tree_disk_update(&disk, &complete);
	fd = lowest_free_descriptor();
	work_on_tree();
	fuzz_require(lowest_free_descriptor() == fd);
	fuzz_require(fuzz_cpu_seconds() - begin < CPU_SECONDS);
}

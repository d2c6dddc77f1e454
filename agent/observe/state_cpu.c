/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU manager's state file, cpu_manager_state. */
#include "agent/observe/state_file.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "scoring/node/known_machine.h"

/* ---- the Go structs under the checksum */

static const struct go_type go_cpuset = {.kind = GO_CPUSET, .name = "cpuset.CPUSet"};
static const struct go_type go_map_string = {
	.kind = GO_MAP, .name = "map[string]string", .element = &go_string};
static const struct go_type go_map_map_string = {
	.kind = GO_MAP, .name = "map[string]map[string]string", .element = &go_map_string};

static const struct go_field pod_entry_fields[] = {{"CPUSet", "cpuSet", &go_cpuset}};
static const struct go_type go_pod_entry = GO_STRUCT_OF("state.PodEntry", pod_entry_fields);
static const struct go_type go_pod_entries = {
	.kind = GO_MAP, .name = "state.PodCPUAssignments", .element = &go_pod_entry};

static const struct go_field v1_fields[] = {{"PolicyName", "policyName", &go_string},
	{"DefaultCPUSet", "defaultCpuSet", &go_string}, {"Entries", "entries", &go_map_string},
	{"Checksum", "checksum", &go_checksum}};
static const struct go_field v2_fields[] = {{"PolicyName", "policyName", &go_string},
	{"DefaultCPUSet", "defaultCpuSet", &go_string}, {"Entries", "entries", &go_map_map_string},
	{"Checksum", "checksum", &go_checksum}};
static const struct go_field v3_fields[] = {{"PolicyName", "policyName", &go_string},
	{"DefaultCPUSet", "defaultCpuSet", &go_string}, {"Entries", "entries", &go_map_map_string},
	{"PodEntries", "podEntries", &go_pod_entries}, {"Checksum", "checksum", &go_checksum}};
static const struct go_type go_v1 = GO_STRUCT_OF(NULL, v1_fields);
static const struct go_type go_v2 = GO_STRUCT_OF(NULL, v2_fields);
static const struct go_type go_v3 = GO_STRUCT_OF(NULL, v3_fields);

/* Each version of the struct once had the plain name, and newer kubelets hash the older versions under that
 * name, so that an older kubelet can read the file. */
static const char *const names[] = {"*state.CPUManagerCheckpoint", "*state.CPUManagerCheckpointV1",
	"*state.CPUManagerCheckpointV2", "*state.CPUManagerCheckpointV3", NULL};

/* ---- reading */

/* The state that is being read. */
struct reader {
	struct kubelet_state *state;
	hwloc_bitmap_t default_set;
	hwloc_bitmap_t taken; /* held by the pods read so far */
	struct err clash;     /* the first place where the content contradicts itself */
	size_t n_clashes;
	bool unread; /* the CPUs of some entry cannot be read */
	struct state_doubts *doubts;
	struct err *err;
};

static int parse_cpus(const struct doc *list, hwloc_bitmap_t *ret, struct err *err)
{
	if (list->kind != DOC_STRING)
		return err_set(err, -EINVAL, "a CPU list expected, not %s", doc_kind_name(list));
	return cpuset_parse(list->text, ret, err);
}

static void add_cpu_item(
	struct reader *rd, const char *pod_uid, const char *container, hwloc_const_bitmap_t cpus)
{
	struct allocation *item = allocations_add_container(&rd->state->allocations, pod_uid, container);

	cpuset_copy(item->cpus, cpus);
}

/* Add an item for an entry that holds CPUs and does not say which. */
static void add_unread_item(struct reader *rd, const char *pod_uid, const char *container, const char *where,
	const struct err *why)
{
	allocations_add_container(&rd->state->allocations, pod_uid, container);
	rd->unread = true;
	state_doubt(rd->doubts, "%s: %s; CPUs that no other entry names count as held", where, why->text);
}

/* "pod 'uid', container 'name'"; v1 has container ids only, a pod as a whole has no container. */
static void print_holder(const struct allocation *item, char text[160])
{
	const char *pod = item->pod_uid, *container = item->container;

	text[0] = '\0';
	if (*pod && *container)
		snprintf(text, 160, "pod '%.50s', container '%.70s'", pod, container);
	else if (*pod)
		snprintf(text, 160, "pod '%.50s'", pod);
	else if (*container)
		snprintf(text, 160, "container '%.70s'", container);
}

/* Counts a contradiction, and keeps the text of the first: the CPUs of `item` among `cpus` are `what`. */
static void add_clash(
	struct reader *rd, const struct allocation *item, hwloc_const_bitmap_t cpus, const char *what)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t both = cpuset_new();
	CLEANUP(freep) char *list = NULL;
	char holder[160];

	if (rd->n_clashes++ > 0)
		return;
	cpuset_and(both, item->cpus, cpus);
	list = cpuset_print(both);
	print_holder(item, holder);
	err_set(&rd->clash, 0, "CPUs %.60s of %s are %s", list, holder, what);
}

/* `item`, of the pod whose items begin at `first`, shares CPUs with an earlier pod. */
static void add_pod_clash(struct reader *rd, const struct allocation *item, size_t first)
{
	const struct allocations *a = &rd->state->allocations;
	char holder[160], what[180];

	for (size_t i = 0; i < first; i++) {
		if (!hwloc_bitmap_intersects(a->items[i].cpus, item->cpus))
			continue;
		print_holder(&a->items[i], holder);
		snprintf(what, sizeof(what), "held by %s too", holder);
		add_clash(rd, item, a->items[i].cpus, what);
		return;
	}
}

/*
 * Adds the CPUs of one pod, whose items begin at `first`, to the CPUs taken so far. Records a clash if another pod holds a
 * CPU of this pod, or if the default set has it: a kubelet may hand out a CPU twice on machines whose cores have different
 * numbers of CPUs (scoring/DEFECTS.md, K21). When the first of the two holders has ended, the CPU is in the default set too.
 */
static void add_taken_cpus(struct reader *rd, size_t first)
{
	const struct allocations *a = &rd->state->allocations;

	for (size_t i = first; i < a->n_items; i++) {
		if (hwloc_bitmap_intersects(a->items[i].cpus, rd->default_set))
			add_clash(rd, &a->items[i], rd->default_set, "in the default set too");
		if (hwloc_bitmap_intersects(a->items[i].cpus, rd->taken))
			add_pod_clash(rd, &a->items[i], first);
	}
	for (size_t i = first; i < a->n_items; i++)
		cpuset_or(rd->taken, rd->taken, a->items[i].cpus);
}

/* The pod's set in podEntries; NULL when the pod has none. */
static int read_pod_cpus(
	const struct doc *pod_entries, const char *pod_uid, hwloc_bitmap_t *ret, struct err *err)
{
	struct state_members m = {.map = doc_get(pod_entries, pod_uid), .err = err};
	const char *list;

	*ret = NULL;
	if (!m.map)
		return 0;
	list = state_string(&m, "cpuSet");
	return m.r < 0 ? m.r : cpuset_parse(list, ret, err);
}

/* A container of a pod that has an entry in podEntries, the set `whole`. CPUs of the container outside `whole` become an item of
 * their own, and are what remains in `cpus`. */
static void add_cpus_outside_pod(struct reader *rd, const char *pod_uid, const char *container,
	hwloc_bitmap_t cpus, hwloc_const_bitmap_t whole)
{
	const struct allocations *a = &rd->state->allocations;

	if (hwloc_bitmap_isincluded(cpus, whole))
		return;
	cpuset_andnot(cpus, cpus, whole);
	add_cpu_item(rd, pod_uid, container, cpus);
	add_clash(rd, &a->items[a->n_items - 1], cpus, "not among the pod's");
}

/* A container's entry. `whole`: the pod's set in podEntries; NULL = the pod has no readable entry there. */
static void read_container_cpus(
	struct reader *rd, const char *pod_uid, const struct doc *container, hwloc_const_bitmap_t whole)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = NULL;
	struct err why = {""};
	char where[160];

	if (parse_cpus(container, &cpus, &why) < 0) {
		snprintf(where, sizeof(where), "entries: pod '%.50s': container '%.70s'", pod_uid,
			container->key);
		add_unread_item(rd, pod_uid, container->key, where, &why);
	} else if (whole) {
		add_cpus_outside_pod(rd, pod_uid, container->key, cpus, whole);
	} else {
		add_cpu_item(rd, pod_uid, container->key, cpus);
	}
}

/* entries of v2 to v4: pod -> container -> CPUs. Containers of one pod may share CPUs: an init container's CPUs are reused. */
static void read_cpu_entries(struct reader *rd, const struct doc *entries, const struct doc *pod_entries)
{
	DOC_FOREACH (pod, entries) {
		CLEANUP(cpuset_freep) hwloc_bitmap_t whole = NULL;
		size_t first = rd->state->allocations.n_items;
		struct err why = {""};
		char where[80];

		snprintf(where, sizeof(where), "entries: pod '%.50s'", pod->key);
		if (!*pod->key)
			state_doubt(rd->doubts, "%s: its UID is empty; its CPUs count as held", where);
		if (state_check_object(pod, &why) < 0) {
			add_unread_item(rd, pod->key, "", where, &why);
			continue;
		}
		/* read_pod_cpu_entries() noted the error. */
		read_pod_cpus(pod_entries, pod->key, &whole, NULL);
		DOC_FOREACH (container, pod)
			read_container_cpus(rd, pod->key, container, whole);
		add_taken_cpus(rd, first);
	}
}

/* The kubelet releases a pod in three writes: it removes the last container, returns the CPUs to the default
 * set, and removes the pod's entry. Whether this is the state after the second write. */
static bool is_released(const struct reader *rd, const struct doc *containers, hwloc_const_bitmap_t whole)
{
	return (!containers || containers->n_items == 0) && !hwloc_bitmap_iszero(whole) &&
	       hwloc_bitmap_isincluded(whole, rd->default_set);
}

/* podEntries of v3 and v4: pod -> the CPUs that the pod holds as a whole. Adds an item per pod that is not released. */
static void read_pod_cpu_entries(struct reader *rd, const struct doc *pod_entries, const struct doc *entries)
{
	DOC_FOREACH (pod, pod_entries) {
		CLEANUP(cpuset_freep) hwloc_bitmap_t whole = NULL;
		size_t first = rd->state->allocations.n_items;
		struct err why = {""};
		char where[80];

		snprintf(where, sizeof(where), "podEntries: pod '%.50s'", pod->key);
		if (!*pod->key)
			state_doubt(rd->doubts, "%s: its UID is empty; its CPUs count as held", where);
		if (read_pod_cpus(pod_entries, pod->key, &whole, &why) < 0) {
			add_unread_item(rd, pod->key, "", where, &why);
			continue;
		}
		if (is_released(rd, doc_get(entries, pod->key), whole))
			continue;
		add_cpu_item(rd, pod->key, "", whole);
		add_taken_cpus(rd, first);
	}
}

/* entries of v1: container id -> CPUs. */
static void read_entries_v1(struct reader *rd, const struct doc *entries)
{
	DOC_FOREACH (container, entries) {
		CLEANUP(cpuset_freep) hwloc_bitmap_t cpus = NULL;
		size_t first = rd->state->allocations.n_items;
		struct err why = {""};
		char where[100];

		if (parse_cpus(container, &cpus, &why) < 0) {
			snprintf(where, sizeof(where), "entries: container '%.70s'", container->key);
			add_unread_item(rd, "", container->key, where, &why);
			continue;
		}
		add_cpu_item(rd, "", container->key, cpus);
		add_taken_cpus(rd, first);
	}
}

/* Format v1 has no pods: each entry is a container's CPU list. */
static bool are_entries_v1(const struct doc *entries)
{
	return entries && entries->n_items > 0 && entries->items[0].kind == DOC_STRING;
}

/* Entries that cannot be right do not fail the call: they go to rd->doubts, rd->clash and rd->unread. */
static int read_cpu_content(struct reader *rd, const struct doc *content)
{
	struct state_members m = {.map = content, .err = rd->err};
	const char *policy = state_string(&m, "policyName"), *list = state_string(&m, "defaultCpuSet");
	const struct doc *entries = state_member(&m, "entries", DOC_MAP);
	const struct doc *pod_entries = state_member(&m, "podEntries", DOC_MAP);
	int r;

	if (m.r < 0)
		return m.r;
	if (!*policy)
		return err_set(rd->err, -EINVAL, "no policyName");
	rd->taken = cpuset_new();
	text_set(&rd->state->policy, policy);
	r = cpuset_parse(list, &rd->default_set, rd->err);
	if (r < 0)
		return err_wrap(rd->err, r, "defaultCpuSet");
	/* podEntries first: read_cpu_entries() reads a pod's set there again and drops its error, which is noted by then. */
	if (pod_entries)
		read_pod_cpu_entries(rd, pod_entries, entries);
	if (are_entries_v1(entries))
		read_entries_v1(rd, entries);
	else if (entries)
		read_cpu_entries(rd, entries, pod_entries);
	return 0;
}

/* Note CPUs that the machine does not have now. The kubelet still counts the CPUs that it found at its start. */
static void note_absent_cpus(const struct reader *rd, const struct machine *machine, struct notes *notes)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t absent = cpuset_new();
	CLEANUP(cpuset_freep) hwloc_bitmap_t offline = cpuset_new();
	CLEANUP(freep) char *list = NULL;

	cpuset_or(absent, rd->taken, rd->default_set);
	cpuset_andnot(absent, absent, machine->online);
	if (machine->offline)
		cpuset_and(offline, absent, machine->offline);
	cpuset_andnot(absent, absent, offline);
	if (!hwloc_bitmap_iszero(offline)) {
		list = cpuset_print(offline);
		notes_add(notes, "CPUs %.200s are offline", list);
	}
	if (!hwloc_bitmap_iszero(absent)) {
		freep(&list);
		list = cpuset_print(absent);
		notes_add(notes, "CPUs %.200s do not exist on this machine " ABSENT_FROM_MACHINE, list);
	}
}

/* Entries that cannot be read hold the CPUs that are in no set. The holder has no UID, because any of these entries may hold them. */
static void hold_unread_cpus(struct reader *rd, const struct machine *machine)
{
	hwloc_bitmap_t cpus;

	if (!rd->unread || !machine)
		return;
	cpus = allocations_add_container(&rd->state->allocations, "", "")->cpus;
	cpuset_andnot(cpus, machine->online, rd->taken);
	cpuset_andnot(cpus, cpus, rd->default_set);
}

static int compute_cpu_checksum(
	const struct state_file *file, struct strbuf *text, struct checksum_match *ret)
{
	const struct doc *content = state_file_content(file);
	const struct doc *entries = doc_get_fold(content, "entries");
	const struct doc *pod_entries = doc_get_fold(content, "podEntries");
	struct checksum_shape shapes[3];
	size_t n = 0;

	/* Only maps that are not empty show which struct was hashed. */
	if (!pod_entries || pod_entries->n_items == 0) {
		if (!are_entries_v1(entries))
			shapes[n++] = (struct checksum_shape){&go_v2, names};
		if (are_entries_v1(entries) || !entries || entries->n_items == 0)
			shapes[n++] = (struct checksum_shape){&go_v1, names};
	}
	if (!are_entries_v1(entries))
		shapes[n++] = (struct checksum_shape){&go_v3, names};
	return state_file_checksum(file, content, shapes, n, text, ret);
}

/*
 * A contradiction in a file whose checksum is right is the kubelet's own, which decides by it (scoring/DEFECTS.md, K21).
 * In another file, CPUs that a container or pod holds are not in the shared pool.
 */
static void resolve_clashes(struct reader *rd, bool written_by_kubelet, struct notes *notes)
{
	CLEANUP(freep) char *more = NULL;

	if (rd->n_clashes == 0)
		return;
	if (!written_by_kubelet)
		cpuset_andnot(rd->default_set, rd->default_set, rd->taken);
	if (rd->n_clashes > 1)
		more = xasprintf("; %zu more are like that", rd->n_clashes - 1);
	notes_add(notes, "%s%s%s", rd->clash.text, more ? more : "",
		written_by_kubelet ? "" : "; these CPUs count as held");
}

static void cpu_reader_release(struct reader *rd)
{
	hwloc_bitmap_free(rd->default_set);
	hwloc_bitmap_free(rd->taken);
}

static int read_cpu_state(struct state_file *file, const struct machine *machine, struct kubelet_state *state,
	struct notes *notes, struct err *err)
{
	struct state_doubts doubts = {.notes = notes};
	CLEANUP(cpu_reader_release) struct reader rd = {.state = state, .doubts = &doubts, .err = err};
	struct checksum_match match = {0};
	int r = read_cpu_content(&rd, state_file_content(file));

	if (r < 0)
		return r;
	state_doubts_end(&doubts);
	if (compute_cpu_checksum(file, NULL, &match) < 0)
		notes_add(notes, STATE_NO_CHECKSUM);
	else
		state_file_verify(file, &match, notes);
	resolve_clashes(&rd, match.matches, notes);
	if (machine)
		note_absent_cpus(&rd, machine, notes);
	hold_unread_cpus(&rd, machine);
	/* Policy none keeps no pool: its empty default set does not mean that nothing is shared. */
	if (!hwloc_bitmap_iszero(rd.default_set) || strcmp(state->policy, "none") != 0)
		state->allocations.shared = TAKE(rd.default_set);
	state->allocations.cpus_known = true;
	allocations_sort(&state->allocations);
	return 0;
}

static unsigned find_cpu_format(const struct state_file *file)
{
	if (file->data.kind != DOC_NULL)
		return 4;
	if (state_has_member(&file->top, "podEntries"))
		return 3;
	return are_entries_v1(doc_get_fold(&file->top, "entries")) ? 1 : 2;
}

const struct state_kind state_cpu = {.max = STATE_CPU_FILE_MAX,
	.read = read_cpu_state,
	.checksum = compute_cpu_checksum,
	.format = find_cpu_format};

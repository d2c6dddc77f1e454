/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/observe/allocations.h"

#include <errno.h>
#include <limits.h>

#include "agent/base/fs.h"
#include "agent/base/hash.h"
#include "agent/node/observe/allocations_merge.h"
#include "agent/node/observe/state_file.h"
#include "agent/state/memory_blocks.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/device_index.h"
#include "common/strbuf.h"

/* Four times as long each time: what is being written takes a moment, or a slow disk. */
#define READ_AGAIN_NS   2000000L
#define READ_AGAIN_MAX  3
#define BUSY_PAUSE_NS   120000000L  /* what the kubelet's rate limit wants */
#define JUST_WRITTEN_NS 100000000LL /* the kubelet's two writes of one change are no further apart */
#define TEXT_MAX        (64u << 10)

/* How long after a pod's allocations its folder is made at most, unless it has to wait. */
#define FRESH_S 15
/* How long after them it is in the file of admitted pods at most. */
#define SETTLED_S 2
/* How long after its start the kubelet may not know all its pods. */
#define YOUNG_S 30

void allocations_answer_init(struct allocations_answer *a)
{
	memset(a, 0, sizeof(*a));
	pod_resources_init(&a->api);
}

void allocations_answer_release(struct allocations_answer *a)
{
	allocations_release(&a->all);
	state_policies_release(&a->policies);
	pod_resources_release(&a->api);
	allocations_answer_init(a);
}

/* ---- one moment */

/* What both said, each with its own notes. r is 0, or why it did not say anything. */
struct source_snapshot {
	int files_r, api_r;
	bool api_kept;             /* `api` is what it said last */
	bool moved_on;             /* the files have changed since */
	struct state_files before; /* what the files were before anybody was asked */
	bool gone;                 /* a file that is not there any more has spoken */
	bool others;               /* and what it said was said under other settings */
	/* Before or after what they are of was read: the kubelet was started just now; a file is fresh, and not
	 * settled. */
	bool young, fresh, unsettled;
	struct allocations files;
	struct state_policies policies;
	struct pod_resources api;
	struct notes files_notes, api_notes;
	struct err files_err, api_err;
};

static void source_snapshot_release(struct source_snapshot *m)
{
	allocations_release(&m->files);
	state_policies_release(&m->policies);
	pod_resources_release(&m->api);
	notes_release(&m->files_notes);
	notes_release(&m->api_notes);
}

/* The API's blocks as the memory manager's state. */
static void complete_memory(const struct machine *machine, struct pod_resources *api, struct notes *notes)
{
	uint64_t over = 0;

	if (!api->allocatable_known || api->n_allocatable_memory == 0)
		return;
	memory_state_from_blocks(machine, api->allocatable_memory, api->n_allocatable_memory, &api->held,
		&api->held.memory, &over);
	api->held.memory_known = true;
	if (over > 0)
		notes_add(notes,
			"the pod-resources API lists %llu bytes of memory more than its NUMA nodes have",
			(unsigned long long)over);
}

/* The API's answer as allocations: what is registered, the memory manager's state. */
static void complete_api(const struct machine *machine, struct source_snapshot *m)
{
	struct pod_resources *api = &m->api;
	struct allocations *held = &api->held;

	allocations_sort(held);
	held->cpus_known = held->devices_known = true;
	if (api->allocatable_known) {
		held->registered_known = true;
		held->registered = TAKE(api->allocatable_devices);
		held->n_registered = api->n_allocatable_devices;
		held->registered_size = api->allocatable_devices_size;
		api->n_allocatable_devices = api->allocatable_devices_size = 0;
	}
	complete_memory(machine, api, &m->api_notes);
}

/* The kubelet puts another file in the place of one. */
static struct state_files look_at_files(const struct allocations_query *q)
{
	static const char *const names[] = {STATE_CPU_FILE, STATE_MEMORY_FILE, STATE_DEVICES_FILE};
	struct state_files now = {.known = true};

	static_assert(ARRAY_SIZE(names) == ARRAY_SIZE(now.files), "one each");
	for (size_t i = 0; q->files && i < ARRAY_SIZE(names); i++) {
		CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(PATH_MAX);
		struct stat st;
		uint64_t parts[4];

		strbuf_addf(&path, "%s/%s", q->kubelet_root, names[i]);
		if (fs_stat(q->sysroot, path.text, &st) < 0)
			continue;
		parts[0] = st.st_ino;
		parts[1] = (uint64_t)st.st_size;
		parts[2] = (uint64_t)st.st_mtim.tv_sec;
		parts[3] = (uint64_t)st.st_mtim.tv_nsec;
		now.files[i] = hash_bytes(parts, sizeof(parts), i);
	}
	return now;
}

/* The kubelet has written one. That one has gone is not its doing: it counts as it was. */
static bool is_written(const struct state_files *then, const struct state_files *now)
{
	for (size_t i = 0; i < ARRAY_SIZE(now->files); i++)
		if (now->files[i] > 0 && now->files[i] != then->files[i])
			return true;
	return false;
}

static void read_files(const struct allocations_query *q, struct state_texts *last, struct source_snapshot *m)
{
	int r;

	allocations_release(&m->files);
	state_policies_release(&m->policies);
	notes_release(&m->files_notes);
	r = allocations_from_files(q->sysroot, q->kubelet_root, q->machine, last, &m->files, &m->policies,
		&m->files_notes, &m->files_err);
	m->gone = r > 0;
	if (last && r >= 0 && !last->gone)
		last->settings = q->settings;
	m->others = last && last->settings != q->settings;
	m->files_r = r > 0 ? 0 : r;
}

/* ---- without the pods that have ended */

/* 0 when it is not known. */
static time_t written(const char *sysroot, const char *root, const char *name)
{
	char path[2 * PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%.3000s%.200s", root, name);
	return fs_stat(sysroot, path, &st) == 0 ? st.st_mtime : 0;
}

/* It may have been written in the last seconds: it is not there, or the clock may have been set back. */
static bool younger_than(time_t at, long seconds)
{
	time_t now = time(NULL);

	return at > 0 && (at > now || now - at < seconds);
}

/* When the kubelet last wrote one of its files; 0 when none is there. */
static time_t files_written(const struct allocations_query *q)
{
	static const char *const files[] = {
		"/" STATE_CPU_FILE, "/" STATE_MEMORY_FILE, "/" STATE_DEVICES_FILE};
	time_t last = 0;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		time_t at = written(q->sysroot, q->kubelet_root, files[i]);

		last = at > last ? at : last;
	}
	return last;
}

/* Asked before and after reading, which may take long: what was read is of some moment in between. */
static void note_ages(const struct allocations_query *q, struct source_snapshot *m)
{
	time_t last = files_written(q);

	m->young = m->young || (q->socket && younger_than(written("", q->socket, ""), YOUNG_S));
	m->fresh = m->fresh || younger_than(last, FRESH_S);
	m->unsettled = m->unsettled || younger_than(last, SETTLED_S);
}

/*
 * By what the API lists, or listed last while the files have not changed; else by the files alone. Nobody
 * gives back what a pod has while no kubelet runs, or one that was started with other settings has not said yet
 * what it has.
 */
static void leave_out_ended(const struct allocations_query *q, struct source_snapshot *m)
{
	CLEANUP(pod_evidence_release) struct pod_evidence e = {0};
	CLEANUP(pods_seen_release) struct pods_seen once = {0};
	struct pods_seen *seen = q->seen ? q->seen : &once;
	struct pods_listed listed = {.api = &m->api.held, .pods = m->api.pods, .n_pods = m->api.n_pods};
	bool by_api = m->api_r == 0 || (m->api_kept && !m->moved_on);

	if (m->files_r < 0)
		return;
	pod_evidence_read(q->sysroot, q->kubelet_root, &e, &m->files_notes);
	note_ages(q, m);
	listed.young = m->api_r == 0 ? m->young : q->files_then && q->files_then->young;
	e.fresh = m->fresh;
	e.settled = !m->unsettled;
	e.unattended = m->api_r < 0 && (q->down || m->others);
	pods_seen_update(seen, &e, &m->files);
	e.seen = seen;
	if (by_api) {
		allocations_end_by_api(&m->files, &listed, &e);
		return;
	}
	allocations_end_by_files(&m->files, &e);
	pod_evidence_name(&e, &m->files);
}

static void read_snapshot(const struct allocations_query *q, struct source_snapshot *m)
{
	source_snapshot_release(m);
	*m = (struct source_snapshot){.files_r = -ENOENT, .api_r = -ENOENT, .before = look_at_files(q)};
	pod_resources_init(&m->api);
	note_ages(q, m);
	if (q->files)
		read_files(q, q->last, m);
	if (q->api)
		m->api_r = pod_resources_read(q->api, q->machine, &m->api, &m->api_notes, &m->api_err);
	if (m->api_r == 0)
		complete_api(q->machine, m);
	if (m->api_r == 0)
		leave_out_ended(q, m);
	if (m->api_r == 0 && q->files_then) {
		*q->files_then = m->before;
		q->files_then->young = m->young;
	}
}

/* ---- again, while it is being written */

/* CPUs that are neither in the shared pool nor held. */
static bool cpus_are_missing(const struct machine *machine, const struct allocations *files)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t all = allocations_exclusive_cpus(files);

	if (!files->shared || hwloc_bitmap_iszero(files->shared))
		return false;
	cpuset_or(all, all, files->shared);
	return !hwloc_bitmap_isincluded(machine->online, all);
}

static bool just_written(const struct allocations_query *q)
{
	char path[PATH_MAX];
	struct timespec now;
	struct stat st;
	long long age;

	snprintf(path, sizeof(path), "%s/%s", q->kubelet_root, STATE_CPU_FILE);
	if (fs_stat(q->sysroot, path, &st) < 0 || clock_gettime(CLOCK_REALTIME, &now) < 0)
		return false;
	age = (now.tv_sec - st.st_mtim.tv_sec) * 1000000000LL + now.tv_nsec - st.st_mtim.tv_nsec;
	return age >= 0 && age < JUST_WRITTEN_NS;
}

/* Number of contradictions, which are in `text`. */
static int contradictions(const struct source_snapshot *m, struct strbuf *text)
{
	strbuf_reset(text);
	return m->files_r == 0 && m->api_r == 0 ? cross_check(&m->api.held, &m->files, text) : 0;
}

/* The files read again. Number of contradictions. */
static int read_files_again(const struct allocations_query *q, struct state_texts *last,
	struct source_snapshot *m, struct strbuf *text)
{
	read_files(q, last, m);
	leave_out_ended(q, m);
	return contradictions(m, text);
}

/*
 * The kubelet writes a file whole with each change, so that a file that was removed said what still holds: also
 * what the API does not list. Where the API contradicts it, it does not hold any more. `n` contradictions there are;
 * as many without that file are about something else, as the devices of a kubelet that has just started.
 */
static int forget_gone(
	const struct allocations_query *q, int n, struct source_snapshot *m, struct strbuf *text)
{
	int without = read_files_again(q, NULL, m, text);

	return without < n ? without : read_files_again(q, q->last, m, text);
}

static int read_settled(const struct allocations_query *q, struct source_snapshot *m, struct strbuf *text)
{
	for (int again = 0;; again++) {
		struct timespec pause = {.tv_nsec = READ_AGAIN_NS << 2 * again};
		bool halfway;
		int n;

		read_snapshot(q, m);
		if (m->api_r == -EBUSY)
			pause.tv_nsec = BUSY_PAUSE_NS;
		n = contradictions(m, text);
		halfway = m->files_r == 0 && cpus_are_missing(q->machine, &m->files) && just_written(q);
		if (again == READ_AGAIN_MAX || (n == 0 && !halfway && m->api_r != -EBUSY))
			return n > 0 && m->gone ? forget_gone(q, n, m, text) : n;
		nanosleep(&pause, NULL);
	}
}

/* ---- what it said last */

static void recall(const struct allocations_query *q, struct source_snapshot *m)
{
	int r;

	if (m->api_r == 0 || !q->api || !q->files_then || !q->files_then->known)
		return;
	r = pod_resources_recall(q->api, q->machine, &m->api, &m->api_notes, NULL);
	if (r == 0)
		complete_api(q->machine, m);
	m->api_kept = r == 0;
	m->moved_on = is_written(q->files_then, &m->before);
}

/* ---- together */

static void move_allocations(struct allocations *to, struct allocations *from)
{
	allocations_release(to);
	*to = *from;
	allocations_init(from);
}

/* Which devices there are, if `from` says it. */
static void take_registered(struct allocations *to, struct allocations *from)
{
	if (!from->registered_known)
		return;
	device_blocks_free(to->registered, to->n_registered);
	to->registered_known = true;
	to->registered = TAKE(from->registered);
	to->n_registered = from->n_registered;
	to->registered_size = from->registered_size;
	from->n_registered = from->registered_size = 0;
}

/* The API lists more of some type than the files, less what ended, have reserved. */
static bool holds_more_memory(const struct allocations *api, const struct allocations *files)
{
	for (size_t i = 0; api->memory_known && i < api->memory.n_nodes; i++)
		for (size_t t = 0; t < api->memory.nodes[i].n_tables; t++) {
			const char *type = api->memory.nodes[i].tables[t].type;

			if (memory_state_reserved(&api->memory, type) >
				memory_state_reserved(&files->memory, type))
				return true;
		}
	return false;
}

/* The files report how memory lies in a group of NUMA nodes, and what init containers keep of it. */
static bool files_know_memory(const struct allocations *api, const struct allocations *files)
{
	return files->memory_known && !holds_more_memory(api, files);
}

/* The items of `api` are complete; the files report more of the rest. */
static void take_state(struct allocations *api, struct allocations *files, bool memory)
{
	if (files->cpus_known) {
		hwloc_bitmap_free(api->shared);
		api->shared = TAKE(files->shared);
	}
	if (memory) {
		memory_state_release(&api->memory);
		api->memory = files->memory;
		api->memory_known = true;
		memory_state_init(&files->memory);
	}
	if (!api->registered_known)
		take_registered(api, files);
}

static void put_together(struct source_snapshot *m, struct allocations_answer *a)
{
	a->from_files = m->files_r == 0 &&
			(m->files.cpus_known || m->files.devices_known || m->policies.memory != NULL);
	a->from_api = m->api_r == 0 || m->api_kept;
	a->api_kept = m->api_kept;
	a->policies = m->policies;
	m->policies = (struct state_policies){0};
	if (!a->from_api) {
		move_allocations(&a->all, &m->files);
		return;
	}
	if (a->from_files && m->moved_on) {
		/* The kubelet goes on without its API: its files say who holds what, the API which devices there
		 * are. */
		take_registered(&m->files, &m->api.held);
		move_allocations(&m->api.held, &m->files);
	} else if (a->from_files) {
		bool memory = files_know_memory(&m->api.held, &m->files);

		allocations_join(&m->api.held, &m->files, memory);
		take_state(&m->api.held, &m->files, memory);
	}
	move_allocations(&a->all, &m->api.held);
	a->api = m->api;
	pod_resources_init(&m->api);
}

/* What to say of sources that failed. 0, or -errno when that leaves none. */
static int judge_failures(const struct allocations_query *q, const struct source_snapshot *m,
	struct notes *notes, struct err *err)
{
	bool absent = m->api_r == -ENOENT && !q->api_named;

	if (m->files_r < 0 && q->files && m->api_r < 0)
		return err_set(err, m->files_r, "%s", m->files_err.text);
	if (!q->files && q->api && m->api_r < 0 && !absent && !m->api_kept)
		return err_set(err, m->api_r, "%s", m->api_err.text);
	if (m->files_r < 0 && q->files)
		notes_add(notes, "%s; the pod-resources API alone is used", m->files_err.text);
	if (m->api_kept)
		notes_add(notes, "%s; what the API said last still holds", m->api_err.text);
	else if (m->api_r < 0 && q->api && !absent)
		notes_add(notes, "%s; the state files alone are used", m->api_err.text);
	return 0;
}

int allocations_read(const struct allocations_query *q, struct allocations_answer *ret, struct notes *notes,
	struct err *err)
{
	CLEANUP(source_snapshot_release) struct source_snapshot m = {0};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
	CLEANUP(allocations_answer_release) struct allocations_answer a;
	int n = read_settled(q, &m, &text), r;

	allocations_answer_init(&a);
	recall(q, &m);
	if (m.api_r < 0)
		leave_out_ended(q, &m);
	r = judge_failures(q, &m, notes, err);
	if (r < 0)
		return r;
	if (n > 0)
		notes_add(notes, "the pod-resources API and the state files disagree: %s", text.text);
	notes_move(notes, &m.api_notes, "pod-resources");
	a.contradictions = (unsigned)n;
	put_together(&m, &a);
	for (size_t i = 0; i < m.files_notes.lines.n_items; i++)
		notes_add(notes, "%s", m.files_notes.lines.items[i]);
	*ret = a;
	allocations_answer_init(&a);
	return 0;
}

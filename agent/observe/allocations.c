/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe/allocations.h"

#include <errno.h>

#include "agent/observe/allocations_merge.h"
#include "agent/observe/fs_root.h"
#include "agent/observe/state_file.h"
#include "common/allocation.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/hash.h"
#include "common/io/time.h"
#include "common/strbuf.h"
#include "common/xalloc.h"
#include "scoring/node/manager_state.h"

/* Pauses before the sources are read again. Each pause is four times the previous pause, because the disk may
 * be slow. */
#define READ_AGAIN_NS   2000000L
#define READ_AGAIN_MAX  3
#define BUSY_PAUSE_NS   120000000L /* required by the kubelet's rate limit */
#define JUST_WRITTEN_MS 100        /* the kubelet's two writes of one change are no further apart */
#define SET_BACK_MAX_MS 60000
#define TEXT_MAX        (64u << 10)

/* A pod's directory is made at most this long after the pod's allocations, unless the pod has to wait. */
#define FRESH_S 15
/* The pod is in the file of admitted pods at most this long after its allocations. */
#define SETTLED_S 2
/* For this long after its start the kubelet may not know all its pods. */
#define YOUNG_S 30

/* The first is STATE_CPU_FILE. */
static const char *const state_file_names[] = {STATE_CPU_FILE, STATE_MEMORY_FILE, STATE_DEVICES_FILE};

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

/* ---- both sources at one moment */

/* What each source reports, with its own notes. files_r and api_r are 0, or -errno of a source that does
 * not report. */
struct source_snapshot {
	int files_r, api_r;
	bool api_kept;             /* `api` is the API's last answer */
	bool files_changed;        /* since the API's last answer */
	struct state_files before; /* the files before any source was read */
	bool file_missing;         /* the last content of a missing file was used */
	bool other_settings;       /* the last content was written under other settings */
	/* Before or after the sources were read, the kubelet had just started (young), a file was written
	 * less than FRESH_S ago (fresh), or less than SETTLED_S ago (unsettled). */
	bool young, fresh, unsettled;
	struct allocations files;
	struct state_policies policies;
	struct pod_resources api;
	struct notes files_notes, api_notes;
	struct err files_err, api_err;
};

static void source_snapshot_release(struct source_snapshot *s)
{
	allocations_release(&s->files);
	state_policies_release(&s->policies);
	pod_resources_release(&s->api);
	notes_release(&s->files_notes);
	notes_release(&s->api_notes);
}

/* Make the memory manager's state from the API's blocks. */
static void complete_memory(const struct machine *machine, struct pod_resources *api, struct notes *notes)
{
	uint64_t over;

	if (!api->allocatable_known || api->n_allocatable_memory == 0)
		return;
	over = memory_state_from_blocks(
		machine, api->allocatable_memory, api->n_allocatable_memory, &api->held, &api->held.memory);
	api->held.memory_known = true;
	if (over > 0)
		notes_add(notes,
			"the pod-resources API lists %llu bytes of memory more than its NUMA nodes have",
			(unsigned long long)over);
}

/* Complete the API's allocations: the registered devices, the memory manager's state. */
static void complete_api(const struct machine *machine, struct source_snapshot *s)
{
	struct pod_resources *api = &s->api;
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
	complete_memory(machine, api, &s->api_notes);
}

/*
 * The root directory below which q->kubelet_root is. After the process has ended whose root this was, a directory that does not exist (no
 * process has the id 0): then all files are missing.
 */
static const char *files_root(const struct allocations_query *q)
{
	return q->root_ended ? "/proc/0" : q->sysroot;
}

/* 0 or -errno. */
static int stat_file(const struct allocations_query *q, const char *name, struct stat *ret)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", q->kubelet_root, name);

	return fs_stat(files_root(q), path, ret);
}

/* Never 0, which stands for a missing file. */
static uint64_t hash_identity(const struct stat *st)
{
	const uint64_t parts[] = {st->st_ino, (uint64_t)st->st_size, (uint64_t)st->st_mtim.tv_sec,
		(uint64_t)st->st_mtim.tv_nsec};
	uint64_t hash = hash_bytes(parts, sizeof(parts), 0);

	return hash ? hash : 1;
}

/* The kubelet replaces a file on each write, so a written file has another inode. */
static struct state_files identify_files(const struct allocations_query *q)
{
	struct state_files now = {.known = true, .settings = q->settings, .at_ms = clock_ms(CLOCK_MONOTONIC)};

	static_assert(ARRAY_SIZE(state_file_names) == ARRAY_SIZE(now.files), "one each");
	for (size_t i = 0; q->files && i < ARRAY_SIZE(state_file_names); i++) {
		struct stat st;

		int r = stat_file(q, state_file_names[i], &st);

		now.files[i] = r == 0 ? hash_identity(&st) : fs_is_absent(r) ? 0 : UINT64_MAX;
	}
	return now;
}

/* `last` (NULL = not kept) has the last content of the files, and the hash of the settings that the content was written under: the hash is not
 * renewed while a file is missing. */
static void read_state_files(
	const struct allocations_query *q, struct state_texts *last, struct source_snapshot *s)
{
	int r;

	allocations_release(&s->files);
	state_policies_release(&s->policies);
	notes_release(&s->files_notes);
	r = allocations_from_files(files_root(q), q->kubelet_root, q->sysroot, q->machine, last, &s->files,
		&s->policies, &s->files_notes, &s->files_err);
	s->file_missing = r > 0;
	if (last && r >= 0 && !last->gone)
		last->settings = q->settings;
	s->other_settings = last && last->settings != q->settings;
	s->files_r = r > 0 ? 0 : r;
}

/* ---- removing pods that have ended */

/*
 * Milliseconds since the file was written:
 *   - The caller reads once (`seen` is NULL): since the mtime. An mtime up to SET_BACK_MAX_MS in the future is new, because small
 *     corrections of the clock are frequent; an mtime further in the future is old.
 *   - The file was written between two looks of the caller, or its mtime is in the future: since the caller first saw the file like this.
 *   - Otherwise since the mtime. An old mtime of a file that the caller has not seen before is true: the file was restored.
 */
static int64_t age_ms(struct file_age *seen, const struct stat *st)
{
	int64_t mtime_ms = (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
	int64_t age = clock_ms(CLOCK_REALTIME) - mtime_ms, now = clock_ms(CLOCK_BOOTTIME);
	uint64_t identity = hash_identity(st);

	if (!seen)
		return age < -SET_BACK_MAX_MS ? INT64_MAX : age;
	if (seen->identity != identity)
		*seen = (struct file_age){.identity = identity,
			.since_ms = now,
			.saw_write = seen->looked && age <= SET_BACK_MAX_MS,
			.looked = true};
	return seen->saw_write || age < 0 ? now - seen->since_ms : age;
}

/* The file may have been written in the last `seconds`. `r` of stat(2): a file that cannot be examined may be new. Updates *seen (NULL = the
 * caller reads once). */
static bool is_younger(int r, struct file_age *seen, const struct stat *st, int seconds)
{
	if (r == 0)
		return age_ms(seen, st) < seconds * 1000;
	if (seen && fs_is_absent(r))
		*seen = (struct file_age){.looked = true};
	return !fs_is_absent(r);
}

/* Sets fresh, unsettled and young. Called before and after reading the sources, because reading may take long and the sources show some
 * moment in between. */
static void note_ages(const struct allocations_query *q, struct source_snapshot *s)
{
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(state_file_names); i++) {
		struct file_age *seen = q->ages ? &q->ages->files[i] : NULL;
		int r = stat_file(q, state_file_names[i], &st);

		s->fresh = is_younger(r, seen, &st, FRESH_S) || s->fresh;
		s->unsettled = is_younger(r, seen, &st, SETTLED_S) || s->unsettled;
	}
	/* A starting kubelet makes the socket: the socket is as old as the kubelet. */
	if (q->socket && !q->root_ended && !s->young)
		s->young = is_younger(
			fs_stat("", q->socket, &st), q->ages ? &q->ages->socket : NULL, &st, YOUNG_S);
}

/*
 * Removes ended pods: those that the API does not list (the API's last list also counts as long as the files
 * have not changed since); without a list, those that the files alone show to have ended. Removes nothing
 * while no kubelet runs, because only a kubelet releases resources, nor while a kubelet that was started with
 * other settings has not reported its allocations yet.
 */
static void remove_ended(const struct allocations_query *q, struct source_snapshot *s)
{
	CLEANUP(pod_evidence_release) struct pod_evidence e = {0};
	CLEANUP(pods_seen_release) struct pods_seen once = {0};
	struct pods_seen *seen = q->seen ? q->seen : &once;
	struct pods_listed listed = {.api = &s->api.held, .pods = s->api.pods, .n_pods = s->api.n_pods};

	if (s->files_r < 0)
		return;
	s->files_r = pod_evidence_read(
		q->sysroot, files_root(q), q->kubelet_root, &e, &s->files_notes, &s->files_err);
	if (s->files_r < 0)
		return;
	note_ages(q, s);
	/* Whether the kubelet had just started when the API gave the list that is used below: its answer of now, or its last one. */
	listed.young = s->api_r == 0 ? s->young : q->files_before_answer && q->files_before_answer->young;
	e.fresh = s->fresh;
	e.settled = !s->unsettled;
	e.unattended = s->api_r < 0 && (q->down || s->other_settings);
	pods_seen_update(seen, &e, &s->files);
	e.seen = seen;
	if (s->api_r == 0 || (s->api_kept && !s->files_changed)) {
		allocations_end_by_api(&s->files, &listed, &e);
		return;
	}
	allocations_end_by_files(&s->files, &e);
	pod_evidence_name(&e, &s->files);
}

/* Whether the kubelet has written a file since `then`, up to now. */
static bool is_written_since(const struct allocations_query *q, const struct state_files *then)
{
	const struct state_files now = identify_files(q);

	/* A missing file does not count, because the kubelet never removes a file. */
	for (size_t i = 0; i < ARRAY_SIZE(now.files); i++)
		if (now.files[i] > 0 && now.files[i] != then->files[i])
			return true;
	return false;
}

/* Whether the state files have something to report. Missing files do not. */
static bool files_report(const struct source_snapshot *s)
{
	return s->files_r == 0 &&
	       (s->files.cpus_known || s->files.devices_known || s->policies.memory != NULL);
}

/*
 * Takes the answer of the call in the background; begins a call if none goes on. An answer can be current if its call began after the
 * sign of the change, under the same settings, and no state file was written since: only such an answer is awaited.
 */
static int finish_background_call(const struct allocations_query *q, struct source_snapshot *s)
{
	struct state_files *before = q->files_before_call;

	for (;;) {
		bool is_new_call = !pod_resources_has_begun(q->api), can_be_current;
		int r = 0;

		if (is_new_call) {
			*before = identify_files(q);
			before->young = s->young;
			r = pod_resources_begin(q->api, &s->api_err);
		}
		can_be_current = before->at_ms >= q->sign_ms && before->settings == q->settings &&
				 !is_written_since(q, before);
		pod_resources_set_young(q->api, (s->young || before->young) && !files_report(s));
		if (r == 0)
			r = pod_resources_finish(q->api, can_be_current ? q->until_ms : 0, q->machine,
				&s->api, &s->api_notes, &s->api_err);
		if (r == 0) {
			s->young = s->young || before->young;
			*q->files_before_answer = *before;
		}
		if (is_new_call || r == -EINPROGRESS || (can_be_current && r != -ETIMEDOUT))
			return r;
		/* An earlier call has ended without an answer that can be current. The client keeps its answer as the last one. Call again. */
		pod_resources_release(&s->api);
		notes_release(&s->api_notes);
	}
}

/* Reads the API, in the background if the caller keeps `files_before_call`. 0 or -errno; -ENOENT also without an API. */
static int read_api(const struct allocations_query *q, struct source_snapshot *s)
{
	if (!q->api)
		return -ENOENT;
	if (q->root_ended)
		return err_set(
			&s->api_err, -ENOENT, "%s: the kubelet that made the socket has ended", q->socket);
	if (q->files_before_call)
		return finish_background_call(q, s);
	pod_resources_set_young(q->api, s->young && !files_report(s));
	return pod_resources_read(q->api, q->machine, &s->api, &s->api_notes, &s->api_err);
}

/* For use_last_answer(): the state files before this answer. finish_background_call() has stored those of a call in the background. */
static void remember_files(const struct allocations_query *q, const struct source_snapshot *s)
{
	if (!q->files_before_answer)
		return;
	if (!q->files_before_call)
		*q->files_before_answer = s->before;
	q->files_before_answer->young = s->young;
}

/*
 * Reads the files, then the API. The API's answer is the newer one, so it shows which pods of the files have ended. Without an answer,
 * allocations_read() removes ended pods, after use_last_answer().
 */
static void read_snapshot(const struct allocations_query *q, struct source_snapshot *s)
{
	source_snapshot_release(s);
	*s = (struct source_snapshot){.files_r = -ENOENT, .before = identify_files(q)};
	pod_resources_init(&s->api);
	note_ages(q, s);
	if (q->files)
		read_state_files(q, q->last, s);
	s->api_r = read_api(q, s);
	if (s->api_r < 0)
		return;
	complete_api(q->machine, s);
	remove_ended(q, s);
	remember_files(q, s);
}

/* ---- reading again while the kubelet writes */

/* Whether online CPUs are neither in the shared pool nor held; false without a pool. */
static bool cpus_are_missing(const struct machine *machine, const struct allocations *files)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t all = allocations_exclusive_cpus(files);

	if (!files->shared || hwloc_bitmap_iszero(files->shared))
		return false;
	cpuset_or(all, all, files->shared);
	return !hwloc_bitmap_isincluded(machine->online, all);
}

/* Of cpu_manager_state, which the kubelet writes twice per change. */
static bool just_written(const struct allocations_query *q)
{
	struct stat st;

	return stat_file(q, STATE_CPU_FILE, &st) == 0 &&
	       age_ms(q->ages ? &q->ages->files[0] : NULL, &st) < JUST_WRITTEN_MS;
}

/* Put the contradictions into `text` and return their number. */
static int find_contradictions(const struct source_snapshot *s, struct strbuf *text)
{
	strbuf_reset(text);
	return s->files_r == 0 && s->api_r == 0 ? cross_check(&s->api.held, &s->files, text) : 0;
}

/* Read the files again. Returns the number of contradictions. */
static int read_files_again(const struct allocations_query *q, struct state_texts *last,
	struct source_snapshot *s, struct strbuf *text)
{
	read_state_files(q, last, s);
	remove_ended(q, s);
	return find_contradictions(s, text);
}

/*
 * Drops the last content of a missing file if the API contradicts this content. Otherwise the content is
 * still valid, even if the API does not list all of it, because the kubelet writes the whole file on each
 * change. `n` is the number of contradictions with the content. If there are as many without the content,
 * they have another cause, such as the devices of a kubelet that has just started, and the content stays.
 */
static int forget_missing_file(
	const struct allocations_query *q, int n, struct source_snapshot *s, struct strbuf *text)
{
	int without = read_files_again(q, NULL, s, text);

	return without < n ? without : read_files_again(q, q->last, s, text);
}

/* The kubelet has written its files during each call: reads the files as they are now, and drops the API's answer. */
static void read_written_files(const struct allocations_query *q, struct source_snapshot *s)
{
	if (s->api_r == 0)
		s->api_r = err_set(&s->api_err, -EAGAIN,
			"%s: the kubelet has written its state files during the call", q->socket);
	pod_resources_release(&s->api);
	read_state_files(q, q->last, s);
}

/*
 * Reads both sources until they agree and the kubelet writes nothing meanwhile, but at most READ_AGAIN_MAX times again. Returns the number of
 * contradictions that are left, in `text`.
 */
static int read_settled(const struct allocations_query *q, struct source_snapshot *s, struct strbuf *text)
{
	for (int again = 0;; again++) {
		struct timespec pause = {.tv_nsec = READ_AGAIN_NS << 2 * again};
		bool half_written; /* cpu_manager_state, between the two writes of one change */
		bool written;      /* a state file, since the snapshot's beginning */
		bool busy;         /* the kubelet's rate limit rejected the call */
		int n;

		read_snapshot(q, s);
		busy = s->api_r == -EBUSY &&
		       (!q->files_before_call || clock_ms(CLOCK_MONOTONIC) < q->until_ms);
		if (busy)
			pause.tv_nsec = BUSY_PAUSE_NS;
		n = find_contradictions(s, text);
		half_written = s->files_r == 0 && cpus_are_missing(q->machine, &s->files) && just_written(q);
		written = q->files && q->files_before_call && is_written_since(q, &s->before);
		if (again < READ_AGAIN_MAX && (n > 0 || half_written || written || busy)) {
			nanosleep(&pause, NULL);
			continue;
		}
		if (written) {
			read_written_files(q, s);
			return 0;
		}
		return n > 0 && s->file_missing ? forget_missing_file(q, n, s, text) : n;
	}
}

/* ---- the API's last answer */

/* If the API does not answer now, uses its last answer, and finds out whether the kubelet has written a state file since then. */
static void use_last_answer(const struct allocations_query *q, struct source_snapshot *s)
{
	int r;

	if (s->api_r == 0 || !q->api || !q->files_before_answer || !q->files_before_answer->known)
		return;
	r = pod_resources_recall(q->api, q->machine, &s->api, &s->api_notes, NULL);
	if (r == 0)
		complete_api(q->machine, s);
	s->api_kept = r == 0;
	s->files_changed = is_written_since(q, q->files_before_answer);
}

/* ---- combining both sources */

static void move_allocations(struct allocations *to, struct allocations *from)
{
	allocations_release(to);
	*to = *from;
	allocations_init(from);
}

/* Move the registered devices, if `from` knows them. */
static void move_registered_devices(struct allocations *to, struct allocations *from)
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

/* Whether the API lists more memory of some type than the files reserve after the removal of ended pods. */
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

/* Move everything but the items from the files to `api`, where the files know more. `with_memory`: also the memory manager's state. */
static void move_state(struct allocations *api, struct allocations *files, bool with_memory)
{
	if (files->cpus_known) {
		hwloc_bitmap_free(api->shared);
		api->shared = TAKE(files->shared);
	}
	if (with_memory) {
		memory_state_release(&api->memory);
		api->memory = files->memory;
		api->memory_known = true;
		memory_state_init(&files->memory);
	}
	if (!api->registered_known)
		move_registered_devices(api, files);
}

/* The API counts first, and the files add what the API does not list. Without an answer of the API, the files alone count. */
static void combine_sources(struct source_snapshot *s, struct allocations_answer *a)
{
	a->from_files = files_report(s);
	a->from_api = s->api_r == 0 || s->api_kept;
	a->api_kept = s->api_kept;
	a->policies = s->policies;
	s->policies = (struct state_policies){0};
	if (!a->from_api) {
		a->memory_from_file = s->files.memory_known;
		move_allocations(&a->all, &s->files);
		return;
	}
	if (a->from_files && s->files_changed) {
		/* The kubelet has written the files since its API last answered: take the holdings from the
		 * files and the registered devices from the API's last answer. */
		a->memory_from_file = s->files.memory_known;
		move_registered_devices(&s->files, &s->api.held);
		move_allocations(&s->api.held, &s->files);
	} else if (a->from_files) {
		/* Unlike the API, the files have the split of memory within a group of NUMA nodes, and the memory that
		 * init containers keep. */
		a->memory_from_file = s->files.memory_known && !holds_more_memory(&s->api.held, &s->files);
		allocations_add_from_files(&s->api.held, &s->files, a->memory_from_file);
		move_state(&s->api.held, &s->files, a->memory_from_file);
	}
	move_allocations(&a->all, &s->api.held);
	a->api = s->api;
	pod_resources_init(&s->api);
}

/* Note the sources that failed. 0, or -errno when no source is left. */
static int judge_failures(const struct allocations_query *q, const struct source_snapshot *s,
	struct notes *notes, struct err *err)
{
	bool absent = s->api_r == -ENOENT && !q->api_named;

	/* A transient failure passes soon. Until then the last result is better than one without the files. */
	if (fs_is_transient(s->files_r) && q->files)
		return err_set(err, s->files_r, "%s", s->files_err.text);
	if (s->files_r < 0 && q->files && s->api_r < 0)
		return err_set(err, s->files_r, "%s", s->files_err.text);
	if (!q->files && q->api && s->api_r < 0 && !absent && !s->api_kept)
		return err_set(err, s->api_r, "%s", s->api_err.text);
	if (s->files_r < 0 && q->files)
		notes_add(notes, "%s; the pod-resources API alone is used", s->files_err.text);
	if (s->api_kept)
		notes_add(notes, "%s; the API's last answer is still used", s->api_err.text);
	else if (s->api_r < 0 && q->api && !absent)
		notes_add(notes, "%s; the state files alone are used", s->api_err.text);
	return 0;
}

int allocations_read(const struct allocations_query *q, struct allocations_answer *ret, struct notes *notes,
	struct err *err)
{
	CLEANUP(source_snapshot_release) struct source_snapshot s = {0};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
	CLEANUP(allocations_answer_release) struct allocations_answer a;
	int n = read_settled(q, &s, &text), r;

	allocations_answer_init(&a);
	use_last_answer(q, &s);
	if (s.api_r < 0)
		remove_ended(q, &s);
	r = judge_failures(q, &s, notes, err);
	if (r < 0)
		return r;
	if (n > 0)
		notes_add(notes, "the pod-resources API and the state files disagree: %s", text.text);
	notes_move(notes, &s.api_notes, "pod-resources");
	a.contradictions = (unsigned)n;
	combine_sources(&s, &a);
	for (size_t i = 0; i < s.files_notes.lines.n_items; i++)
		notes_add(notes, "%s", s.files_notes.lines.items[i]);
	*ret = a;
	allocations_answer_init(&a);
	return 0;
}

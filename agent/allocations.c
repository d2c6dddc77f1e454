/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/allocations.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

#include "agent/allocations_merge.h"
#include "agent/cross_check.h"
#include "agent/memory_blocks.h"
#include "agent/model.h"
#include "common/cleanup.h"
#include "common/device_index.h"
#include "common/strbuf.h"

#define READ_AGAIN_MAX  2
#define READ_AGAIN_NS   20000000L
#define BUSY_PAUSE_NS   120000000L  /* what the kubelet's rate limit wants */
#define JUST_WRITTEN_NS 100000000LL /* the kubelet's two writes of one change are no further apart */
#define TEXT_MAX        (64u << 10)

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
struct moment {
	int files_r, api_r;
	struct allocations files;
	struct state_policies policies;
	struct pod_resources api;
	struct notes files_notes, api_notes;
	struct err files_err, api_err;
};

static void moment_release(struct moment *m)
{
	allocations_release(&m->files);
	state_policies_release(&m->policies);
	pod_resources_release(&m->api);
	notes_release(&m->files_notes);
	notes_release(&m->api_notes);
}

/* The API's blocks as the memory manager's state. */
static int complete_memory(const struct machine *machine, struct pod_resources *api, struct notes *notes)
{
	uint64_t over = 0;
	int r;

	if (!api->allocatable_known || api->n_allocatable_memory == 0)
		return 0;
	r = memory_state_from_blocks(machine, api->allocatable_memory, api->n_allocatable_memory, &api->held,
		&api->held.memory, &over);
	if (r < 0)
		return r;
	api->held.memory_known = true;
	if (over > 0)
		notes_add(notes,
			"the pod-resources API lists %llu bytes of memory more than its NUMA nodes have",
			(unsigned long long)over);
	return 0;
}

/* The API's answer as allocations: what is registered, the memory manager's state. */
static int complete_api(const struct machine *machine, struct moment *m)
{
	struct pod_resources *api = &m->api;
	struct allocations *held = &api->held;
	int r = 0;

	allocations_sort(held);
	held->cpus_known = held->devices_known = true;
	if (api->allocatable_known) {
		held->registered_known = true;
		held->registered = TAKE(api->allocatable_devices);
		held->n_registered = api->n_allocatable_devices;
		held->registered_size = api->allocatable_devices_size;
		api->n_allocatable_devices = api->allocatable_devices_size = 0;
	}
	for (size_t i = 0; i < held->n_items && r == 0; i++) {
		struct allocation *item = &held->items[i];

		r = device_blocks_unite(&item->devices, &item->n_devices, &item->devices_size);
	}
	if (r == 0)
		r = device_blocks_unite(&held->registered, &held->n_registered, &held->registered_size);
	if (r < 0)
		return r;
	return complete_memory(machine, api, &m->api_notes);
}

static int read_moment(const struct allocations_query *q, struct moment *m)
{
	moment_release(m);
	*m = (struct moment){.files_r = -ENOENT, .api_r = -ENOENT};
	pod_resources_init(&m->api);
	if (q->files)
		m->files_r = allocations_from_files(q->sysroot, q->kubelet_root, q->machine, &m->files,
			&m->policies, &m->files_notes, &m->files_err);
	if (q->api)
		m->api_r = pod_resources_read(q->api, q->machine, &m->api, &m->api_notes, &m->api_err);
	if (m->api_r == 0)
		m->api_r = complete_api(q->machine, m);
	return m->files_r == -ENOMEM || m->api_r == -ENOMEM ? -ENOMEM : 0;
}

/* ---- again, while it is being written */

/* CPUs that are neither in the shared pool nor held. */
static bool cpus_are_missing(const struct machine *machine, const struct allocations *files)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t all = model_exclusive_cpus(files);

	return all && files->shared && !hwloc_bitmap_iszero(files->shared) &&
	       hwloc_bitmap_or(all, all, files->shared) == 0 &&
	       !hwloc_bitmap_isincluded(machine->online, all);
}

static bool just_written(const struct allocations_query *q)
{
	char path[PATH_MAX];
	struct timespec now;
	struct stat st;
	long long age;

	snprintf(path, sizeof(path), "%s%s/%s", q->sysroot, q->kubelet_root, STATE_CPU_FILE);
	if (stat(path, &st) < 0 || clock_gettime(CLOCK_REALTIME, &now) < 0)
		return false;
	age = (now.tv_sec - st.st_mtim.tv_sec) * 1000000000LL + now.tv_nsec - st.st_mtim.tv_nsec;
	return age >= 0 && age < JUST_WRITTEN_NS;
}

/* Number of contradictions, which are in `text`; -ENOMEM. */
static int contradictions(const struct moment *m, struct strbuf *text)
{
	strbuf_reset(text);
	return m->files_r == 0 && m->api_r == 0 ? cross_check(&m->api.held, &m->files, text) : 0;
}

static int read_settled(const struct allocations_query *q, struct moment *m, struct strbuf *text)
{
	for (int again = 0;; again++) {
		int n, r = read_moment(q, m);
		const struct timespec pause = {.tv_nsec = m->api_r == -EBUSY ? BUSY_PAUSE_NS : READ_AGAIN_NS};
		bool halfway;

		if (r < 0)
			return r;
		n = contradictions(m, text);
		halfway = m->files_r == 0 && cpus_are_missing(q->machine, &m->files) && just_written(q);
		if (n < 0 || again == READ_AGAIN_MAX || (n == 0 && !halfway && m->api_r != -EBUSY))
			return n;
		nanosleep(&pause, NULL);
	}
}

/* ---- together */

static void move_allocations(struct allocations *to, struct allocations *from)
{
	allocations_release(to);
	*to = *from;
	allocations_init(from);
}

/* The items of `api` are complete; the files tell more of the rest. */
static void take_state(struct allocations *api, struct allocations *files)
{
	if (files->cpus_known) {
		hwloc_bitmap_free(api->shared);
		api->shared = TAKE(files->shared);
	}
	if (files->memory_known) {
		memory_state_release(&api->memory);
		api->memory = files->memory;
		api->memory_known = true;
		memory_state_init(&files->memory);
	}
	if (!api->registered_known && files->registered_known) {
		api->registered_known = true;
		api->registered = TAKE(files->registered);
		api->n_registered = files->n_registered;
		api->registered_size = files->registered_size;
		files->n_registered = files->registered_size = 0;
	}
}

static int put_together(struct moment *m, struct allocations_answer *a)
{
	a->from_files = m->files_r == 0 &&
			(m->files.cpus_known || m->files.devices_known || m->policies.memory != NULL);
	a->from_api = m->api_r == 0;
	a->policies = m->policies;
	m->policies = (struct state_policies){0};
	if (!a->from_api) {
		move_allocations(&a->all, &m->files);
		return 0;
	}
	if (a->from_files) {
		int r = allocations_join(&m->api.held, &m->files);

		if (r < 0)
			return r;
		take_state(&m->api.held, &m->files);
	}
	move_allocations(&a->all, &m->api.held);
	a->api = m->api;
	pod_resources_init(&m->api);
	return 0;
}

/* What to say of sources that failed. 0, or -errno when that leaves none. */
static int judge_failures(
	const struct allocations_query *q, const struct moment *m, struct notes *notes, struct err *err)
{
	bool absent = m->api_r == -ENOENT && !q->api_named;

	if (m->files_r < 0 && q->files && m->api_r < 0)
		return err_set(err, m->files_r, "%s", m->files_err.text);
	if (!q->files && q->api && m->api_r < 0 && !absent)
		return err_set(err, m->api_r, "%s", m->api_err.text);
	if (m->files_r < 0 && q->files)
		notes_add(notes, "%s; the pod-resources API alone is used", m->files_err.text);
	if (m->api_r < 0 && q->api && !absent)
		notes_add(notes, "%s; the state files alone are used", m->api_err.text);
	return 0;
}

int allocations_read(const struct allocations_query *q, struct allocations_answer *ret, struct notes *notes,
	struct err *err)
{
	CLEANUP(moment_release) struct moment m = {0};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
	CLEANUP(allocations_answer_release) struct allocations_answer a;
	int n = read_settled(q, &m, &text), r;

	allocations_answer_init(&a);
	if (n < 0)
		return err_set(err, n, "out of memory");
	r = judge_failures(q, &m, notes, err);
	if (r < 0)
		return r;
	if (n > 0)
		notes_add(notes, "the pod-resources API and the state files disagree: %s", text.text);
	notes_move(notes, &m.api_notes, "pod-resources");
	a.contradictions = (unsigned)n;
	if (put_together(&m, &a) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < m.files_notes.n_lines; i++)
		notes_add(notes, "%s", m.files_notes.lines[i]);
	*ret = a;
	allocations_answer_init(&a);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads pods, holdings and allocatable resources from the kubelet's pod-resources API.
 */

#include "common/allocation.h"
#include "common/claim.h"
#include "common/err.h"
#include "common/machine.h"

struct cancel; /* common/io/thread.h */

/* The limits of the kubelet's own client. */
#define POD_RESOURCES_REPLY_MAX   (16u << 20)
#define POD_RESOURCES_DEADLINE_MS 2000u

/* Of calls in the background. Longer, because a kubelet may still work on a call that its client has given up. */
#define POD_RESOURCES_BACKGROUND_DEADLINE_MS 30000u

struct pod_resources {
	/*
	 * What each container holds; items have no UID. A pod that holds CPUs or memory as a whole
	 * (Kubernetes 1.37) has an item with container "" for the part that its containers do not list.
	 * cpus_known and devices_known are set. A device is listed once.
	 */
	struct allocations held;
	struct claims claims; /* merged; without UIDs, CPUs and memory, which the kubelet does not know */
	struct pod_ref *pods; /* every pod on the node, also pods that hold nothing */
	size_t n_pods;
	size_t pods_size;
	bool allocatable_known;          /* false: the kubelet is too old to report the following members */
	hwloc_bitmap_t allocatable_cpus; /* online and not reserved; empty under CPU manager policy none */
	struct memory_block
		*allocatable_memory; /* one per NUMA node and type; none under memory manager policy None */
	size_t n_allocatable_memory;
	size_t allocatable_memory_size;
	struct device_block *allocatable_devices; /* every healthy device */
	size_t n_allocatable_devices;
	size_t allocatable_devices_size;
};

void pod_resources_init(struct pod_resources *p);
void pod_resources_release(struct pod_resources *p);

/* A connection, kept between calls, with the pause that the kubelet's rate limit requires. */
struct pod_resources_client;

/* Nothing is opened yet. `cancel` (NULL = none) must outlive the client, and ends the current call.
 * 0; -ENAMETOOLONG. */
int pod_resources_client_new(
	const char *socket, const struct cancel *cancel, struct pod_resources_client **ret);
/*
 * A client for a caller that a slow API must not delay: pod_resources_begin() makes the calls in a thread, and
 * pod_resources_finish() waits for them. `cancel` ends the waiting, not the calls. An answer for which nobody waits
 * any more is counted in `late_fd`, an eventfd(2) of the caller.
 */
int pod_resources_client_new_background(
	const char *socket, const struct cancel *cancel, int late_fd, struct pod_resources_client **ret);

/* Ends calls in the background. */
void pod_resources_client_free(struct pod_resources_client *c);
void pod_resources_client_freep(struct pod_resources_client **c);

/*
 * Call List and GetAllocatableResources. A NUMA node that `machine` (NULL = not checked) does not have is
 * noted; impossible ids of CPUs and NUMA nodes are noted and ignored. 0; as grpc_call(); -EBUSY (the kubelet's
 * rate limit: no further call before a pause that doubles from 100 ms to 5 s), -EOPNOTSUPP (the kubelet has no
 * such call), -EAGAIN (another failure of the kubelet), -EBADMSG (the bytes are not such a message); with one
 * line that names socket and call. `ret` (as after pod_resources_init()) is untouched on failure.
 */
int pod_resources_read(struct pod_resources_client *c, const struct machine *machine,
	struct pod_resources *ret, struct notes *notes, struct err *err);

/* Begin the same calls in the background. At most one pair of calls is made at a time: the last one must be finished. 0 or
 * -errno with one line. */
int pod_resources_begin(struct pod_resources_client *c, struct err *err);

/* Whether calls in the background have begun and are not finished. */
bool pod_resources_has_begun(const struct pod_resources_client *c);

/*
 * Wait for the answer of the calls in the background until `until_ms` (CLOCK_MONOTONIC). -EINPROGRESS while the calls go on; otherwise
 * they are finished, and the result is that of pod_resources_read().
 */
int pod_resources_finish(struct pod_resources_client *c, int64_t until_ms, const struct machine *machine,
	struct pod_resources *ret, struct notes *notes, struct err *err);

/* The last answer of pod_resources_read() or pod_resources_finish(), for use while the kubelet does not answer. 0; -ENOENT if there was
 * no answer yet. */
int pod_resources_recall(const struct pod_resources_client *c, const struct machine *machine,
	struct pod_resources *ret, struct notes *notes, struct err *err);

/*
 * Whether the answers from now on are those of a kubelet that has just started. pod_resources_read() and pod_resources_finish() then return
 * -EAGAIN for answers that list less than the last ones, which stay.
 */
void pod_resources_set_young(struct pod_resources_client *c, bool young);

/* As pod_resources_read(), from encoded messages: a ListPodResourcesResponse, and an AllocatableResourcesResponse (NULL =
 * none). */
int pod_resources_parse(const void *list, size_t list_len, const void *allocatable, size_t allocatable_len,
	const struct machine *machine, struct pod_resources *ret, struct notes *notes, struct err *err);

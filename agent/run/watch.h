/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reports changed files (inotify) and changed hardware (uevents of the kernel).
 */
#include <stddef.h>
#include <stdbool.h>

#include "common/err.h"
#include "common/vec.h"

/* ---- files. The watches are on folders, never on files, because the kubelet replaces files by renaming. A
 * missing folder is awaited in its nearest existing parent; a folder that is removed and created again is
 * found again. */

struct watch;

/* Watches nothing yet. 0 or -errno with one line. */
int watch_new(struct watch **ret, struct err *err);
void watch_free(struct watch *w);

static inline void watch_freep(struct watch **w)
{
	watch_free(*w);
	*w = NULL;
}

/* Readable when there are events for watch_read(). */
int watch_fd(const struct watch *w);

/*
 * Watches these files (absolute paths, copied) instead of the previous ones. A path that ends in '/' means
 * every file in that folder. Sets *ret_changed if the list has changed, because a change may have been
 * missed. 0; -ENOSPC (the system's limit of watches) with one line: then only some files are watched.
 */
int watch_set(struct watch *w, const struct strv *files, bool *ret_changed, struct err *err);

/* Tries to watch the files that are not watched. Returns whether more files are watched now: they may have changed before. */
bool watch_retry(struct watch *w);

/* Reads all events. Sets *ret_changed if a file has changed or may have changed (events were lost, a folder
 * was created or removed). 0 or -errno with one line; the watches are then unchanged. */
int watch_read(struct watch *w, bool *ret_changed, struct err *err);

/* ---- hardware: a CPU, a memory block, a NUMA node or a PCI device was added, removed, set online or offline. The kernel's
 * uevents reach every network namespace of the first user namespace, also a pod's, without udev. (The monitor
 * of libsystemd receives udev's messages, which stay in the host's network namespace.) Changed hugepages are
 * not reported. */

/* A socket that is readable when there are events for uevents_read(); owned by the caller. -errno with one
 * line. */
int uevents_open(struct err *err);

/* Reads all events. Sets *ret_changed if hardware may have changed: a change was reported, or events were
 * lost. 0 or -errno with one line. */
int uevents_read(int fd, bool *ret_changed, struct err *err);

/* Whether a kernel message ("ACTION@PATH" and "NAME=VALUE" texts, each NUL-terminated) is about a CPU, a
 * memory block, a NUMA node or a PCI device. */
bool uevents_is_hardware(const char *message, size_t len);

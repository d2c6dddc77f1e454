/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * watch: reports that one of some files may have changed, by inotify on their folders, never on the files: the
 * kubelet replaces a file by renaming another over it. A folder that is not there is awaited in the nearest
 * one above it that is; a folder that goes and comes back is found again.
 */
#include <stddef.h>
#include <stdbool.h>

#include "common/err.h"
#include "common/strv.h"

struct watch;

/* Nothing is watched yet. 0 or -errno with one line. */
int watch_new(struct watch **ret, struct err *err);
void watch_free(struct watch *w);

static inline void watch_freep(struct watch **w)
{
	watch_free(*w);
	*w = NULL;
}

/* Readable when there is something to watch_read(). */
int watch_fd(const struct watch *w);

/*
 * Watch these `n` files (absolute paths, copied) instead of those before. A path that ends in '/' means
 * every file in that folder. *ret_changed is set when the files are others than before or a folder is watched
 * again, so that something may have happened unseen. 0; -ENOSPC (the system's limit of watches) with
 * one line: then what can be watched is.
 */
int watch_set(struct watch *w, const struct strv *files, bool *ret_changed, struct err *err);

/* Take what has happened. *ret_changed says whether it concerns a file or may do so (events were lost, a
 * folder came or went). 0 or -errno with one line; the watches are then as before. */
int watch_read(struct watch *w, bool *ret_changed, struct err *err);

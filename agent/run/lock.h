/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Locks a file, so that a node has one publisher. During an update the new process waits until the old one
 * has ended.
 */
#include "common/err.h"

/*
 * Tries to lock the file; creates the file and its folder if necessary. The lock is held until lock_release()
 * or the end of the process. 0; -EWOULDBLOCK (another process holds it, `err` has its process id if known; or
 * the file belongs to another user and may not be opened); -errno with one line. *ret_fd is untouched on
 * failure.
 */
int lock_try(const char *path, int *ret_fd, struct err *err);

/*
 * Removes the file that lock_try() has locked, and unlocks it: another user's nrtd (a service, then a pod)
 * might not be able to open a remaining file. Sets *fd to -1; does nothing if *fd is -1.
 */
void lock_release(const char *path, int *fd);

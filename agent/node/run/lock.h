/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * lock: one publisher a node. Of two that run during an update the younger waits until the elder is gone.
 */
#include "common/err.h"

/*
 * Try to lock the file, which is made when it is not there, with the folder it is in. It is held until
 * lock_release(), or the process ends in any way. 0; -EWOULDBLOCK (another process holds it, `err` names its
 * process id where there was room for it; or the file is another user's and may not be opened); -errno with
 * one line. *ret_fd is untouched on failure.
 */
int lock_try(const char *path, int *ret_fd, struct err *err);

/*
 * Remove the file that lock_try() has locked and let go: another user's nrtd (a service, then a pod) may not
 * be able to open what this one has left. *fd becomes -1; nothing is done when it is that.
 */
void lock_release(const char *path, int *fd);

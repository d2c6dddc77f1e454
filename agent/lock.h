/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * lock: one publisher a node. Of two that run during an update the younger waits until the elder is gone.
 */
#include "common/err.h"

/*
 * Try to lock the file, which is made when it is not there, with the folder it is in. It is held until
 * *ret_fd is closed, or the process ends in any way. 0; -EWOULDBLOCK (another process holds it; `err` names
 * its process id where it left one); -errno with one line. *ret_fd is untouched on failure.
 */
int lock_try(const char *path, int *ret_fd, struct err *err);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * thread: starts threads that receive no signals, and holds the daemon's signals for its event loop.
 */
#include <pthread.h>
#include <stdbool.h>

/* Start a thread, which the caller ends and joins with thread_join(). 0 or -errno. */
int thread_start(pthread_t *ret, void *(*fn)(void *arg), void *arg);

void thread_join(pthread_t thread);

/*
 * Whether a thread was started and not yet joined. During that time the environment must not change:
 * setenv(3) frees the array that getenv(3) in another thread, in any library, may be reading.
 */
bool thread_any(void);

/*
 * Block SIGTERM, SIGINT and SIGHUP until the daemon's event loop reads them. To be called first: by default
 * these signals end the process, and the first process of a container would never receive them. 0 or -errno.
 */
int signals_hold(void);

/* Undo signals_hold(), for a command that is not a daemon. 0 or -errno. */
int signals_release(void);

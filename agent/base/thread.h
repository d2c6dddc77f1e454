/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Threads that get no signal: signals are the business of the thread that starts them.
 */
#include <pthread.h>
#include <stdbool.h>

/* Start a thread, which the caller ends and joins by thread_join(). 0 or -errno. */
int thread_start(pthread_t *ret, void *(*fn)(void *arg), void *arg);

void thread_join(pthread_t thread);

/*
 * Whether one is started and not joined. As long as it is, the environment must stay as it is: setenv(3) frees the
 * list that a getenv(3) of another thread, in any library, may be reading.
 */
bool thread_any(void);

/*
 * From here on SIGTERM, SIGINT and SIGHUP wait for the daemon's event loop. To be called before anything else: by default
 * these signals end the process, and the first process of a container would never receive them. 0 or -errno.
 */
int signals_hold(void);

/* Takes signals_hold() back, for a command that is not a daemon. 0 or -errno. */
int signals_release(void);

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

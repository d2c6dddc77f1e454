/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Threads that get no signal: signals are the business of the thread that starts them.
 */
#include <pthread.h>

/* Start a thread; the caller joins *ret. 0 or -errno. */
int thread_start(pthread_t *ret, void *(*fn)(void *arg), void *arg);

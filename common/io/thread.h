/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * thread: starts threads that receive no signals, ends their waits, and holds locks and signals.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "common/cleanup.h"

/* Start a thread. The caller must make the thread end and then join it with thread_join(). 0 or -errno. */
int thread_start(pthread_t *ret, void *(*fn)(void *arg), void *arg);

void thread_join(pthread_t thread);

/*
 * Whether a thread was started and not yet joined. During that time the environment must not change:
 * setenv(3) frees the array that getenv(3) in another thread, in any library, may be reading.
 */
bool thread_any(void);

/* As pipe2(2) with O_CLOEXEC, for systems without pipe2(2). Not atomic: a program that another thread starts
 * during the call inherits the pipe. 0 or -errno. */
int thread_pipe(int fds[2]);

/* Holds owner->lock until the end of the block. */
#define LOCKED(owner)                                                                             \
	CLEANUP(mutex_unlockp) __attribute__((unused)) pthread_mutex_t *locked_ = &(owner)->lock; \
	pthread_mutex_lock(locked_)

static inline void mutex_unlockp(pthread_mutex_t **mutex)
{
	pthread_mutex_unlock(*mutex);
}

/* Asks threads to end. Wakes threads that wait in cancel_poll(). */
struct cancel {
	atomic_bool requested;
	int fd, write_fd; /* a pipe; `fd` is readable from the request on */
};

/* Call before other threads start programs, which would inherit the pipe. Release with cancel_release(). 0 or
 * -errno. */
int cancel_init(struct cancel *c);
void cancel_release(struct cancel *c);

/* Not initialized yet; may be released. */
#define CANCEL_INIT                      \
	{                                \
		.fd = -1, .write_fd = -1 \
	}

/* From any thread and from signal handlers. */
void cancel_request(struct cancel *c);

/* `c` NULL = never. */
bool cancel_requested(const struct cancel *c);

/*
 * Wait until poll(2) finds one of `events` on `fd` (-1 = none), cancellation is requested (`c` NULL = never),
 * or `ms` have passed. Returns what poll(2) found on `fd`, 0 also after a signal, or -errno.
 */
int cancel_poll(const struct cancel *c, int fd, short events, int ms);

/*
 * Block SIGTERM, SIGINT and SIGHUP until the daemon's event loop reads them. Call first: by default these
 * signals end the process, except in the first process of a container, which never receives them. 0 or
 * -errno.
 */
int signals_hold(void);

/* Undo signals_hold(), for a command that is not a daemon. 0 or -errno. */
int signals_release(void);

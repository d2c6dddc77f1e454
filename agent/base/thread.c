/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/base/thread.h"

#include <signal.h>
#include <stdatomic.h>

static atomic_uint threads;

int thread_start(pthread_t *ret, void *(*fn)(void *arg), void *arg)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	r = pthread_sigmask(SIG_SETMASK, &all, &before);
	if (r == 0) {
		atomic_fetch_add(&threads, 1);
		r = pthread_create(ret, NULL, fn, arg);
		if (r != 0)
			atomic_fetch_sub(&threads, 1);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	return -r;
}

void thread_join(pthread_t thread)
{
	pthread_join(thread, NULL);
	atomic_fetch_sub(&threads, 1);
}

bool thread_any(void)
{
	return atomic_load(&threads) > 0;
}

static int mask_daemon_signals(int how)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	return -pthread_sigmask(how, &signals, NULL);
}

int signals_hold(void)
{
	return mask_daemon_signals(SIG_BLOCK);
}

int signals_release(void)
{
	return mask_daemon_signals(SIG_UNBLOCK);
}

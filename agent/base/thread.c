/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/base/thread.h"

#include <signal.h>

int thread_start(pthread_t *ret, void *(*fn)(void *arg), void *arg)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	r = pthread_sigmask(SIG_SETMASK, &all, &before);
	if (r == 0) {
		r = pthread_create(ret, NULL, fn, arg);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	return -r;
}
